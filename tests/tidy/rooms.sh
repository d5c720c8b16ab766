#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every folder of sources is a room and has a row in rooms.txt: the rooms whose headers it may include. A row
# names only rooms of rows above it, so no circle of includes goes through two rooms.
# usage: rooms.sh SOURCE-DIR [ROOMS-FILE]
set -eu
rooms=${2:-$(cd "$(dirname "$0")" && pwd)/rooms.txt}
cd "$1"
find include libcancel demo-db bench sim common -name '*.[ch]' 2>/dev/null | sort |
	xargs grep -HnoE '^[[:space:]]*#[[:space:]]*include [<"][^>"]+' /dev/null >"${TMPDIR:-/tmp}/includes.$$"
trap 'rm -f "${TMPDIR:-/tmp}/includes.$$"' EXIT
find include libcancel demo-db bench sim common -name '*.[ch]' 2>/dev/null | sed 's|/[^/]*$||' | sort |
	awk -v rooms="$rooms" -v includes="${TMPDIR:-/tmp}/includes.$$" -v files_max=40 '
	function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
	function complain(text) { print text; status = 1 }
	BEGIN {
		while ((getline line < rooms) > 0) {
			if (line ~ /^(#|$)/) continue
			count = split(line, word, /[: ]+/)
			room = word[1]
			for (i = 2; i <= count; i++) {
				if (word[i] == "") continue
				if (!(word[i] in known)) complain("rooms.txt: " room " names " word[i] ", which no row above it has")
				may[room, word[i]] = 1
			}
			known[room] = 1
		}
	}
	{ files[$0]++ }
	END {
		for (room in files) {
			if (!(room in known)) complain(room " has sources and no row in rooms.txt")
			if (files[room] > files_max) complain(room " has " files[room] " sources, more than " files_max)
		}
		for (room in known)
			if (!(room in files)) complain("rooms.txt: " room " has no sources")
		while ((getline line < includes) > 0) {
			split(line, part, ":")
			from = folder(part[1])
			target = line
			sub(/^.*[<"]/, "", target)
			if (target ~ /^cancel\//) target = "include/" target
			to = target ~ /\// ? folder(target) : from
			if (!(to in files) || to == from || (from, to) in may) continue
			complain(part[1] ":" part[2] ": " from " may not include " target)
		}
		exit status
	}' >&2
