#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Point selects through pgbench over a Unix socket: demo-db beside a stock PostgreSQL 15 of this machine, same rows,
# measured in turn. Ends with a row a mode and status 1 if demo-db is below 0.9 x PostgreSQL in one.
# usage: bench/wire_compare.sh [--scale N] [--seconds N] [--rounds N] [--clients N] [--preset NAME]
set -eu
cd "$(dirname "$0")/.."
scale=10 seconds=5 rounds=3 clients=8 preset=release
while [ $# -gt 0 ]; do
	case $1 in
	--scale) scale=$2 ;;
	--seconds) seconds=$2 ;;
	--rounds) rounds=$2 ;;
	--clients) clients=$2 ;;
	--preset) preset=$2 ;;
	*)
		sed -n '3,5s/^# //p' "$0" >&2
		exit 2
		;;
	esac
	shift 2
done
demo=build/$preset/bin/demo-db
bin=$(ls -d /usr/lib/postgresql/15/bin 2>/dev/null || true)
[ -x "$demo" ] || { echo "wire_compare: build preset $preset first" >&2; exit 2; }
[ -n "$bin" ] || { echo "wire_compare: PostgreSQL 15 is not installed (package postgresql-15)" >&2; exit 2; }

work=$(mktemp -d)
chmod 755 "$work"
demo_pid=
as_postgres() { # PostgreSQL does not run as root
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid postgres --regid postgres --clear-groups "$@"
	else
		"$@"
	fi
}
finish() {
	[ -z "$demo_pid" ] || kill "$demo_pid" 2>/dev/null || true
	[ ! -d "$work/pg/base" ] || as_postgres "$bin/pg_ctl" -D "$work/pg" -m immediate stop >/dev/null 2>&1 || true
	[ -z "$demo_pid" ] || wait "$demo_pid" 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

mkdir "$work/pg" "$work/demo"
[ "$(id -u)" != 0 ] || chown postgres "$work/pg"
echo "PostgreSQL: initdb and pgbench -i -s $scale" >&2
as_postgres "$bin/initdb" -D "$work/pg" -U demo >/dev/null
as_postgres "$bin/pg_ctl" -D "$work/pg" -l "$work/pg/log" -w \
	-o "-c listen_addresses='' -c unix_socket_directories=$work/pg -c port=5599" start >/dev/null
as_postgres "$bin/createdb" -h "$work/pg" -p 5599 -U demo demo
"$bin/pgbench" -q -i -s "$scale" -h "$work/pg" -p 5599 -U demo demo 2>/dev/null >&2
echo "demo-db: init --pgbench-scale $scale" >&2
"$demo" init --data "$work/demo" --pgbench-scale "$scale" >&2
"$demo" serve --data "$work/demo" --port 5598 --listen none --pool-mb $((scale * 20 + 64)) 2>"$work/demo/log" &
demo_pid=$!
until grep -q ready "$work/demo/log"; do
	kill -0 "$demo_pid" || { cat "$work/demo/log" >&2; exit 1; }
	sleep 0.1
done

tps() { # folder, port, mode
	"$bin/pgbench" -n -S -c "$clients" -j 2 -T "$seconds" -M "$3" -s "$scale" -h "$1" -p "$2" -U demo demo 2>/dev/null |
		sed -n 's/^tps = \([0-9]*\).*/\1/p'
}
status=0
printf '%-10s %12s %12s %8s   %s\n' mode "PostgreSQL" "demo-db" ratio "each round, PostgreSQL/demo-db"
for mode in simple prepared; do
	tps "$work/pg" 5599 $mode >/dev/null # warm
	tps "$work/demo" 5598 $mode >/dev/null
	rows=
	round=0
	while [ $round -lt "$rounds" ]; do
		rows="$rows $(tps "$work/pg" 5599 $mode)/$(tps "$work/demo" 5598 $mode)"
		round=$((round + 1))
	done
	echo "$mode $rows" | awk '
		function median(v, n,   i, j, t) {
			for (i = 1; i <= n; i++)
				for (j = i + 1; j <= n; j++)
					if (v[j] < v[i]) { t = v[i]; v[i] = v[j]; v[j] = t }
			return v[int((n + 1) / 2)]
		}
		{
			for (i = 2; i <= NF; i++) { split($i, p, "/"); a[i - 1] = p[1] + 0; b[i - 1] = p[2] + 0; r[i - 1] = p[2] / p[1] }
			ratio = median(r, NF - 1)
			rounds = $0; sub(/^[a-z]+ */, "", rounds)
			printf "%-10s %12d %12d %8.2f   %s\n", $1, median(a, NF - 1), median(b, NF - 1), ratio, rounds
			exit ratio < 0.9
		}' || status=1
done
exit $status
