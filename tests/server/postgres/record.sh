#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the .out and .answers files: what psql shows, and what the messages of the .msg files get, when a real PostgreSQL 15
# (Debian's postgresql-15) answers. Build the dev preset first: its test of the messages sends them.
# usage: tests/server/postgres/record.sh
set -eu
cd "$(dirname "$0")"
messages=../../../build/dev/tests/test_wire_server_messages
[ -x "$messages" ] || { echo "record: $messages is not built (cmake --build --preset dev)" >&2; exit 2; }
bin=/usr/lib/postgresql/15/bin
[ -x "$bin/postgres" ] || { echo "record: PostgreSQL 15 is not installed (package postgresql-15)" >&2; exit 2; }
work=$(mktemp -d)
chmod 755 "$work"
as_postgres() { # PostgreSQL does not run as root
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid postgres --regid postgres --clear-groups "$@"
	else
		"$@"
	fi
}
finish() {
	[ ! -d "$work/pg/base" ] || as_postgres "$bin/pg_ctl" -D "$work/pg" -m immediate stop >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap finish EXIT
mkdir "$work/pg"
[ "$(id -u)" != 0 ] || chown postgres "$work/pg"
as_postgres "$bin/initdb" -D "$work/pg" -U demo -E UTF8 --locale=C.UTF-8 -A trust >/dev/null
as_postgres "$bin/pg_ctl" -D "$work/pg" -l "$work/pg/log" -w \
	-o "-c listen_addresses='' -c unix_socket_directories=$work/pg -c port=5599 -c timezone=UTC" start >/dev/null
new_database() {
	psql -X -q -h "$work/pg" -p 5599 -U demo -d postgres -c 'drop database if exists demo' -c 'create database demo' 2>/dev/null
}
for script in *.sql; do
	new_database
	psql -X -a -h "$work/pg" -p 5599 -U demo -d demo -f "$script" >"${script%.sql}.out" 2>&1 || true
done
new_database
WIRE_POSTGRES="$work/pg:5599" "$messages"
