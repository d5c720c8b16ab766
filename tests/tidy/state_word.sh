#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Only state_word.c writes the word of a slot, and only what its table names: tests/model proves the table. The slot's memory
# starts, and in a forked child ends, as FREE (slot.c).
# usage: state_word.sh SOURCE-DIR
set -eu
cd "$1"
writes=$(grep -rnE '(store|cas|add|exchange)_[a-z_]+\(&[a-z_]+(->|\.)state_word\b' libcancel) || true
[ -n "$writes" ] || {
	echo "no write of a slot's word was found" >&2
	exit 1
}
echo "$writes" | awk '
	/^libcancel\/track\/state_word\.c:/ {
		if (!/([a-z]_to|, to|before|STATE_WORD_BOUND)\)*[;)]/) { print $0 ": no move of STATE_WORD_MOVES"; status = 1 }
		next
	}
	/^libcancel\/track\/slot\.c:/ && /\| SLOT_FREE\);/ { next }
	{ print $0 ": only state_word.c writes the word"; status = 1 }
	END { exit status }' >&2
