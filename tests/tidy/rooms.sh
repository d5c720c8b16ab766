#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every folder of sources is a room and has a row in rooms.txt, which names the rooms whose headers it may include.
# A row names only rooms of rows above it, so no circle of units (a .c and its .h) goes through two rooms.
# usage: rooms.sh SOURCE-DIR
set -eu
cd "$1"
includes=$(mktemp)
trap 'rm -f "$includes"' EXIT
sources() { find libcancel demo-db sim bench replay $([ -d common ] && echo common) -name '*.[ch]' | sort; }
sources | xargs grep -nE '^[[:space:]]*#[[:space:]]*include [<"]' /dev/null >"$includes"
sources | sed 's|/[^/]*$||' | awk -v rooms=tests/tidy/rooms.txt -v includes="$includes" -v files_max=40 '
	function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
	function complain(text) { print text; status = 1 }
	BEGIN {
		while ((getline line < rooms) > 0) {
			if (line ~ /^(#|$)/) continue
			count = split(line, word, /[: ]+/)
			for (i = 2; i <= count; i++) {
				if (word[i] == "") continue
				if (!(word[i] in known)) complain("rooms.txt: " word[1] " names " word[i] ", which no row above has")
				may[word[1], word[i]] = 1
			}
			known[word[1]] = 1
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
			sub(/^[^<"]*[<"]/, "", target)
			sub(/[>"].*$/, "", target)
			to = target ~ /\// ? folder(target) : from
			if (to in files && to != from && !((from, to) in may))
				complain(part[1] ":" part[2] ": " from " may not include " target)
		}
		exit status
	}' >&2
