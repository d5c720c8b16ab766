#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test of the test: in a copy of the tree rooms.sh passes; it fails for an include that no row allows, for a row
# that names a room below it, and for a folder without a row.
# usage: rooms_hold.sh SOURCE-DIR
set -eu
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tests"
cp -R libcancel demo-db sim replay bench "$work/"
[ -d common ] && cp -R common "$work/"
cp -R tests/tidy "$work/tests/"
rooms=$work/tests/tidy/rooms.txt

# refused WHAT TEXT: rooms.sh fails and says TEXT.
refused() {
	if tests/tidy/rooms.sh "$work" 2>"$work/said"; then
		echo "$1: it passed" >&2
		exit 1
	fi
	grep -qF "$2" "$work/said" || { echo "$1: it said something else:" >&2; cat "$work/said" >&2; exit 1; }
}

tests/tidy/rooms.sh "$work"
cp libcancel/core/window.c "$work/window.c"
echo '#include "libcancel/control/options.h"' >>"$work/libcancel/core/window.c"
refused "a forbidden include" "libcancel/core may not include libcancel/control/options.h"
mv "$work/window.c" "$work/libcancel/core/window.c"
cp "$rooms" "$work/rooms.txt"
sed 's|^libcancel/base:.*|& libcancel/core|' "$work/rooms.txt" >"$rooms"
refused "a row that names a room below it" "libcancel/base names libcancel/core"
cp "$work/rooms.txt" "$rooms"
mkdir "$work/sim/attic"
echo 'int attic;' >"$work/sim/attic/attic.c"
refused "a folder without a row" "sim/attic has sources and no row"
