#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Keeps a server under load for so many minutes: pgbench, culprits, cancels, clients that come and go or die. At the
# end of each round the server is killed under load and started again. Looked at: whether the balances of pgbench's
# tables agree and the database is sound after each kill; and whether memory, file descriptors, the log of changes and
# the server's own log stay flat between the first quiet moment of a round and the last.
# usage: tests/soak/server.sh BUILD [MINUTES [MINUTES_OF_A_ROUND]]      60 and 5
set -u
build=${1:?usage: tests/soak/server.sh BUILD [MINUTES [MINUTES_OF_A_ROUND]]}
minutes=${2:-60}
round=${3:-5}
server=$(find "$(cd "$build" && pwd)/bin" -name demo-db -perm -u+x | head -n 1)
work=$(mktemp -d "${TMPDIR:-/tmp}/soak-XXXXXX")
data=$work/data
rss_growth_kb=32768 # caches fill, and so does the pool of connections
fds_growth=32
wal_limit_kb=16384  # twice the limit of the log
log_lines_a_minute=60
failures=0
pid=

say() { echo "$(date +%T) $*"; }
complain() {
	say "FAILED: $*"
	failures=$((failures + 1))
}
sql() { psql -h "$data" -p 5433 -U demo -d demo -AtqX -c "$1" 2>&1; }
paused() { [ -e "$work/pause" ]; }
ended() { [ -e "$work/stop" ]; }

# ---- The load: each goes on until the end, and does nothing while there is a pause -------------------------------

forever() {
	until ended; do
		if paused; then sleep 0.2; else "$@" >/dev/null 2>&1; fi
	done
}
transfers() { timeout -k 1 30 pgbench -h "$data" -p 5433 -U demo -n -c 4 -T 5 demo || sleep 0.2; }
culprit() {
	timeout -s INT -k 1 3 psql -h "$data" -p 5433 -U demo -d demo -X -c \
		'SELECT count(*) FROM pgbench_accounts a, pgbench_accounts b WHERE a.abalance + b.aid < 0' || sleep 0.5
}
hog() {
	timeout -k 1 20 psql -h "$data" -p 5433 -U demo -d demo -X -c 'BEGIN' -c 'LOCK TABLE pgbench_tellers' \
		-c 'UPDATE pgbench_accounts SET filler = filler WHERE aid < 5000' -c 'ROLLBACK'
	sleep 2
}
canceller() {
	sql 'SELECT cancel_task(id) FROM cancel_tasks LIMIT 1'
	sleep 0.3
}
visitor() { sql 'SELECT count(*) FROM pgbench_branches'; }
dying_visitor() { timeout -s KILL 0.3 psql -h "$data" -p 5433 -U demo -d demo -X -c 'SELECT sum(abalance) FROM pgbench_accounts, pgbench_tellers'; }

# ---- The server ---------------------------------------------------------------------------------------------------

start() {
	CANCEL_MODE=act "$server" serve --data "$data" --listen none >>"$work/server.log" 2>&1 &
	pid=$!
	tries=0
	until [ "$(sql 'SELECT 1')" = 1 ]; do
		tries=$((tries + 1))
		if [ "$tries" -gt 300 ]; then
			complain "the server does not answer after its start: $(tail -n 1 "$work/server.log")"
			return 1
		fi
		sleep 0.2
	done
}

# Nobody is connected but who asks: then figures can be compared.
quiet() {
	: >"$work/pause"
	tries=0
	while [ "$(sql 'SELECT count(*) FROM cancel_sessions')" != 1 ] && [ "$tries" -lt 300 ]; do
		tries=$((tries + 1))
		sleep 0.2
	done
	[ "$tries" -lt 300 ] || complain "sessions stay although all clients are gone"
}
check_balances() {
	quiet
	found=$(sql 'SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT coalesce(sum(delta), 0) FROM pgbench_history),
		(SELECT sum(tbalance) FROM pgbench_tellers) = (SELECT coalesce(sum(delta), 0) FROM pgbench_history),
		(SELECT sum(bbalance) FROM pgbench_branches) = (SELECT coalesce(sum(delta), 0) FROM pgbench_history),
		(SELECT count(*) FROM pgbench_history) > 0')
	case $found in
	't|t|t|t' | '1|1|1|1') ;;
	*) complain "the balances do not agree: $found" ;;
	esac
	sound=$(sql 'PRAGMA integrity_check')
	[ "$sound" = ok ] || complain "the database is not sound: $sound"
	rm -f "$work/pause"
}

wal_kb() { echo $(($(stat -c %s "$data/demo.db-wal" 2>/dev/null || echo 0) / 1024)); }
sample() {
	quiet
	rss=$(sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$pid/status")
	fds=$(find "/proc/$pid/fd" -mindepth 1 2>/dev/null | wc -l)
	wal_before=$(wal_kb) # long reads pin it, and pgbench writes fast meanwhile
	checkpoint=$(sql CHECKPOINT)
	[ -z "$checkpoint" ] || [ "$checkpoint" = CHECKPOINT ] || complain "CHECKPOINT: $checkpoint"
	wal=$(wal_kb)
	lines=$(wc -l <"$work/server.log")
	cancelled=$(sql 'SELECT count(*) FROM cancel_decisions')
	say "$(sql 'SELECT count(*) FROM pgbench_history') transfers, $cancelled decisions; memory ${rss:=0} kB, $fds descriptors, log of changes $wal_before kB, $wal after a checkpoint, $lines lines of log"
	rm -f "$work/pause"
}

one_round() {
	lines_before=$(wc -l <"$work/server.log")
	sleep "$1"
	sample
	first_rss=$rss
	first_fds=$fds
	sleep $((round * 60 - 2 * $1 > 0 ? round * 60 - 2 * $1 : $1))
	sample
	[ "$rss" -le $((first_rss + rss_growth_kb)) ] || complain "memory grew from $first_rss to $rss kB"
	[ "$fds" -le $((first_fds + fds_growth)) ] || complain "descriptors grew from $first_fds to $fds"
	[ "$wal" -le "$wal_limit_kb" ] || complain "the log of changes has $wal kB"
	[ $((lines - lines_before)) -le $((log_lines_a_minute * round)) ] || complain "the server wrote $((lines - lines_before)) lines"
	check_balances
	sleep "$1" # under load again
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	start && check_balances
}

# ---- All of it ----------------------------------------------------------------------------------------------------

: >"$work/server.log"
"$server" init --data "$data" --pgbench-scale 1 >"$work/init.log" 2>&1 || complain "init: $(tail -n 1 "$work/init.log")"
start || exit 1
loads=
for load in transfers culprit hog canceller visitor dying_visitor; do
	forever "$load" &
	loads="$loads $!"
done
rounds=0
end=$(($(date +%s) + minutes * 60))
while [ "$(date +%s)" -lt "$end" ]; do
	one_round $((round * 6))
	rounds=$((rounds + 1))
done
check_balances
: >"$work/stop"
kill -TERM "$pid"
wait "$pid" 2>/dev/null || complain "the server did not end in order"
for load in $loads; do wait "$load"; done
echo "$rounds rounds of $round minutes, each ended by kill -9: $failures failures"
[ "$failures" -eq 0 ] && rm -rf "$work" || echo "what there is to see is in $work"
[ "$failures" -eq 0 ]
