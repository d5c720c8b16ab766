# SPDX-License-Identifier: Apache-2.0
# For tests of engines/postgresql: a PostgreSQL of its own with the module installed, in a folder that is removed at the
# end. It listens on a Unix socket in that folder only. Source it with BUILD set to the module's build folder.
. "$(dirname "$0")/skip.sh"
bin=$(pg_config --bindir) share=$(pg_config --sharedir) lib=$(pg_config --pkglibdir)
work=$(mktemp -d)
chmod 755 "$work"
export PGHOST="$work" PGUSER=postgres PGDATABASE=postgres PGOPTIONS=
unset PGPORT PGPASSWORD PGSERVICE
clients=

as_postgres() { # PostgreSQL does not run as root
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid postgres --regid postgres --clear-groups "$@"
	else
		"$@"
	fi
}

finish() {
	for pid in $clients; do kill "$pid" 2>/dev/null || true; done
	[ ! -f "$work/data/postmaster.pid" ] ||
		as_postgres "$work$bin/pg_ctl" -D "$work/data" -m immediate stop >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap finish EXIT

die() {
	echo "$1" >&2
	tail -n 20 "$work/log" >&2 || true
	exit 1
}

# PostgreSQL finds its files beside its program: with copies of the programs and links to the rest, an extension can be
# installed without touching the machine's own.
make_tree() {
	mkdir -p "$work$bin" "$work$share" "$work$lib"
	cp "$bin/postgres" "$bin/initdb" "$bin/pg_ctl" "$work$bin"
	cp -rs "$share/." "$work$share"
	cp -rs "$lib/." "$work$lib"
	make -s -C "$BUILD" install DESTDIR="$work" >"$work/install" 2>&1 || die "$(cat "$work/install")"
}

# start_cluster SETTING... makes the data folder at its first call.
start_cluster() {
	if [ ! -d "$work/data" ]; then
		mkdir "$work/data"
		[ "$(id -u)" != 0 ] || chown postgres "$work" "$work/data"
		as_postgres "$work$bin/initdb" -D "$work/data" -A trust -U postgres --no-sync >"$work/initdb" 2>&1 ||
			die "$(cat "$work/initdb")"
		printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$work'" "fsync = off" \
			>>"$work/data/postgresql.conf"
	fi
	: >"$work/data/postgresql.auto.conf"
	printf '%s\n' "$@" >>"$work/data/postgresql.auto.conf"
	as_postgres "$work$bin/pg_ctl" -D "$work/data" -l "$work/log" -w start >"$work/ctl" 2>&1 || die "no start"
}

stop_cluster() {
	as_postgres "$work$bin/pg_ctl" -D "$work/data" -m fast -w stop >/dev/null || die "no stop"
}

sql() {
	psql -XAtq -v ON_ERROR_STOP=1 -c "$1"
}

# until_true SQL: asks ten times a second until the answer is t.
until_true() {
	tries=$((300 * ${TEST_TIME_FACTOR:-1}))
	while [ "$(sql "$1")" != t ]; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || die "never true: $1"
		sleep 0.1
	done
}

# expect WHAT GOT WANTED
expect() {
	[ "$2" = "$3" ] || die "$1: got '$2', not '$3'"
}
