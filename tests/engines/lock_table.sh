#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A client that locks a table others need is named in monitor mode and cancelled, alone, in act mode; one that is idle in
# its transaction is left alone until it may be ended. usage: lock_table.sh BUILD-FOLDER
set -eu
BUILD=$1
. "$(dirname "$0")/cluster.sh"
make_tree
start_cluster "shared_preload_libraries = 'pg_stat_statements,auto_explain,pg_culprit'"
sql "CREATE EXTENSION pg_culprit; CREATE TABLE t (i int); INSERT INTO t VALUES (1);
	CREATE ROLE app LOGIN; GRANT ALL ON t TO app; ALTER ROLE app SET pg_culprit.slo = '50ms'"
sql "CREATE ROLE migration LOGIN; GRANT ALL ON t TO migration"
expect "a superuser is spared" "$(sql "SELECT exempt FROM pg_culprit_tasks WHERE pid = pg_backend_pid()")" t

# Statements that are on time, for some seconds: detection knows what is healthy, and its warm-up is over.
echo "SELECT i FROM t" >"$work/read.sql"
healthy() {
	pgbench -n -U app -c 2 -T 4 -f "$work/read.sql" >/dev/null 2>&1 || die "pgbench failed"
}

# Ten clients that read the table once a moment until they are ended.
start_readers() {
	for i in 1 2 3 4 5 6 7 8 9 10; do
		yes 'SELECT i FROM t; SELECT pg_sleep(0.01);' | psql -XAtq -U app >/dev/null 2>"$work/reader$i" &
		clients="$clients $!"
	done
}
end_readers() {
	for pid in $clients; do kill "$pid" 2>/dev/null || true; done
	wait
	clients=
	for i in 1 2 3 4 5 6 7 8 9 10; do
		if grep -q ERROR "$work/reader$i"; then die "a reader was hit: $(cat "$work/reader$i")"; fi
	done
}

# culprit SQL: in the background; what it is told goes to culprit.out.
culprit() {
	(psql -XAtq -U migration -c "$1" >"$work/culprit.out" 2>&1 || true) &
	culprit=$!
}

expect "worker" "$(sql "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'pg_culprit'")" 1
healthy

# Monitor.
culprit "BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE; SELECT 'pid', pg_backend_pid(); SELECT pg_sleep(6); COMMIT"
until_true "SELECT count(*) = 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation = 't'::regclass"
holder=$(sql "SELECT pid FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation = 't'::regclass")
start_readers
until_true "SELECT count(*) > 0 FROM pg_culprit_decisions"
expect "named" "$(sql "SELECT DISTINCT pid, acted, lock FROM pg_culprit_decisions")" "$holder|f|relation"
expect "shown" "$(sql "SELECT holds > 0 FROM pg_culprit_tasks WHERE pid = $holder")" t
wait "$culprit"
if grep -q ERROR "$work/culprit.out"; then die "monitor mode has cancelled: $(cat "$work/culprit.out")"; fi
end_readers

# Act.
sql "ALTER SYSTEM SET pg_culprit.mode = act" && sql "SELECT pg_reload_conf()" >/dev/null
healthy
culprit "BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(60); COMMIT"
until_true "SELECT count(*) = 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation = 't'::regclass"
start_readers
wait "$culprit"
grep -q "ERROR:  canceling statement because others wait for it" "$work/culprit.out" || die "$(cat "$work/culprit.out")"
grep -q "DETAIL:  .*relation" "$work/culprit.out" || die "no detail: $(cat "$work/culprit.out")"
grep -q "HINT:" "$work/culprit.out" || die "no hint"
until_true "SELECT acted AND delivered_ms IS NOT NULL AND released_ms IS NOT NULL FROM pg_culprit_decisions LIMIT 1"
expect "delivered" "$(sql "SELECT delivered FROM pg_culprit_status")" 1
end_readers

# Idle in its transaction: held back, and ended only behind the switch.
healthy
mkfifo "$work/idle"
psql -XAtq -U migration <"$work/idle" >"$work/culprit.out" 2>&1 &
culprit=$!
exec 9>"$work/idle"
echo "BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE;" >&9
until_true "SELECT count(*) = 1 FROM pg_stat_activity WHERE state = 'idle in transaction' AND usename = 'migration'"
start_readers
until_true "SELECT held_back LIKE '%idle-holder' FROM pg_culprit_status"
expect "left alone" "$(sql "SELECT delivered FROM pg_culprit_status")" 1
expect "still there" "$(sql "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction' AND usename = 'migration'")" 1
sql "ALTER SYSTEM SET pg_culprit.end_idle_sessions = on" && sql "SELECT pg_reload_conf()" >/dev/null
until_true "SELECT count(*) = 0 FROM pg_stat_activity WHERE usename = 'migration'"
echo "SELECT 1;" >&9 || true
exec 9>&-
wait "$culprit" || true
grep -q "idle-in-transaction timeout" "$work/culprit.out" || die "not told: $(cat "$work/culprit.out")"
end_readers
stop_cluster
