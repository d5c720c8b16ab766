#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Without the preload every function gives one clear error; settings without sense are refused; DROP EXTENSION works.
# usage: preload.sh BUILD-FOLDER
set -eu
BUILD=$1
. "$(dirname "$0")/cluster.sh"
make_tree
start_cluster
sql "CREATE EXTENSION pg_culprit"
for view in pg_culprit_decisions pg_culprit_tasks pg_culprit_status "pg_culprit_cancel(1, 1)"; do
	if sql "SELECT * FROM $view" >"$work/out" 2>&1; then die "$view answers without the preload"; fi
	grep -q "ERROR:  pg_culprit is not loaded" "$work/out" || die "$(cat "$work/out")"
	grep -q "HINT:  Add pg_culprit to shared_preload_libraries" "$work/out" || die "$(cat "$work/out")"
done
stop_cluster
start_cluster "shared_preload_libraries = 'pg_culprit'" "max_prepared_transactions = 4"
refused() {
	if sql "$1" >"$work/out" 2>&1; then die "accepted: $1"; fi
	expect "$1" "$(head -n 1 "$work/out")" "$2"
}
refused "SET pg_culprit.slo = -1" "ERROR:  -1 ms is outside the valid range for parameter \"pg_culprit.slo\" (0 .. 3600000)"
refused "SET pg_culprit.nonsense = 1" "ERROR:  invalid configuration parameter name \"pg_culprit.nonsense\""
refused "ALTER SYSTEM SET pg_culprit.mode = 'kill'" "ERROR:  invalid value for parameter \"pg_culprit.mode\": \"kill\""
sql "CREATE ROLE nobody LOGIN"
refused "SET ROLE nobody; SELECT * FROM pg_culprit_status" "ERROR:  permission denied for view pg_culprit_status"
refused "SET ROLE nobody; SET pg_culprit.slo = '1ms'" "ERROR:  permission denied to set parameter \"pg_culprit.slo\""

# The queries of a trigger are part of its statement: one statement counts as one.
sql "CREATE TABLE parent (i int PRIMARY KEY); CREATE TABLE child (i int REFERENCES parent); INSERT INTO parent VALUES (1)"
sql "ALTER ROLE nobody SET pg_culprit.slo = '10s'; GRANT ALL ON parent, child TO nobody"
before=$(sql "SELECT completed FROM pg_culprit_status")
psql -XAtq -U nobody -c "INSERT INTO child VALUES (1)" || die "no insert"
until_true "SELECT completed > $before FROM pg_culprit_status"
expect "statements counted" "$(sql "SELECT completed - $before FROM pg_culprit_status")" 1

# A prepared transaction holds the lock: nobody can be cancelled, and the server goes on.
sql "CREATE TABLE t (i int)"
psql -XAtq -c "BEGIN" -c "LOCK TABLE t IN ACCESS EXCLUSIVE MODE" -c "PREPARE TRANSACTION 'p'"
(sql "SET lock_timeout = '500ms'; SELECT * FROM t" >/dev/null 2>&1 || true)
until_true "SELECT lock_looks > 0 FROM pg_culprit_status"
sql "ROLLBACK PREPARED 'p'"

# The worker ends and comes back; no session notices.
worker=$(sql "SELECT worker_pid FROM pg_culprit_status")
sql "SELECT pg_terminate_backend($worker)" >/dev/null
until_true "SELECT worker_pid <> $worker FROM pg_culprit_status"
sql "ALTER SYSTEM SET pg_culprit.enabled = off" && sql "SELECT pg_reload_conf()" >/dev/null
sql "DROP EXTENSION pg_culprit"
stop_cluster
if grep -E "PANIC|terminated by signal" "$work/log"; then die "something crashed"; fi
