#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A cancel meant for one statement hits that one, and when it comes late nobody. usage: exact.sh BUILD-FOLDER
set -eu
BUILD=$1
. "$(dirname "$0")/cluster.sh"
make_tree
start_cluster "shared_preload_libraries = 'pg_culprit'"
sql "CREATE EXTENSION pg_culprit"
mkfifo "$work/session"
PGAPPNAME=target psql -XAt <"$work/session" >"$work/target.out" 2>&1 &
clients=$!
exec 9>"$work/session"
running() {
	until_true "SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'target' AND query = '$1' AND state = 'active'"
}
statement() {
	sql "SELECT statement FROM pg_culprit_tasks WHERE pid = $pid"
}
echo "SELECT pg_sleep(0.3), 1;" >&9
running "SELECT pg_sleep(0.3), 1;"
pid=$(sql "SELECT pid FROM pg_stat_activity WHERE application_name = 'target'")
first=$(statement)
echo "SELECT pg_sleep(30), 2;" >&9
running "SELECT pg_sleep(30), 2;"

# For the statement that has ended: asked a hundred times, and the next one runs on.
sql "SELECT count(pg_culprit_cancel($pid, $first)) FROM generate_series(1, 100)" >/dev/null
until_true "SELECT stale > 0 FROM pg_culprit_status"
running "SELECT pg_sleep(30), 2;"
if grep -q ERROR "$work/target.out"; then die "a later statement was hit"; fi

# For the one that runs.
second=$(statement)
[ "$second" -gt "$first" ] || die "the number of the statement has not moved"
expect "asked" "$(sql "SELECT pg_culprit_cancel($pid, $second)")" t
until_true "SELECT state = 'idle' FROM pg_stat_activity WHERE pid = $pid"
grep -q "DETAIL:  An operator asked for it." "$work/target.out" || die "$(cat "$work/target.out")"

# While it is idle nothing is taken, and the next statement completes.
sql "SELECT pg_culprit_cancel($pid, $(statement))" >/dev/null
echo "SELECT 'third', pg_sleep(0.2);" >&9
exec 9>&-
wait "$clients"
clients=
grep -q "^third" "$work/target.out" || die "$(cat "$work/target.out")"
expect "another process" "$(sql "SELECT pg_culprit_cancel(1, 1)")" f
stop_cluster
