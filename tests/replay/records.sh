#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Records a lane and a program that links the library, replays both, and tries what cancel-replay refuses.
# usage: records.sh CANCEL-REPLAY CANCEL-SIM PROGRAM
set -eu
replay=$1 sim=$2 program=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
fail() {
	echo "$1" >&2
	exit 1
}
has() { grep -qF -- "$1" "$2" || fail "'$1' is not in: $(head -c 2000 "$2")"; }

# A lane prints the same with and without --record.
lane="lane culprit-storm --load 280 --policy cancel --culprit-retries 0 --format json"
"$sim" $lane >"$work/plain"
"$sim" $lane --record "$work/lane" >"$work/recorded"
cmp "$work/plain" "$work/recorded"
[ "$(stat -c %a "$work/lane")" = 600 ] || fail "a record is not its owner's alone"

# The verdicts again, twice the same; as JSON, too.
"$replay" "$work/lane" >"$work/text"
"$replay" "$work/lane" | cmp - "$work/text"
has "the core gives the verdicts recorded" "$work/text"
has "(culprit) cancelled: " "$work/text"
"$replay" --format json "$work/lane" >"$work/json"
"$replay" --format json "$work/lane" | cmp - "$work/json"
has '"different":0' "$work/json"
[ "$("$replay" --all "$work/lane" | grep -c '^look ')" -gt "$(grep -c '^look ' "$work/text")" ] || fail "--all prints no more"

# Another policy and another threshold, up to the first different cancel.
"$replay" --policy none "$work/lane" >"$work/none"
has "this is the first different cancel" "$work/none"
has "as recorded: task" "$work/none"
! grep -q "decision 1" "$work/none" || fail "the policy none has decided"
"$replay" --set late_tasks=4000000 "$work/lane" >"$work/set"
has "this is the first different cancel" "$work/set"
"$replay" --slo-ms 100000 "$work/lane" >"$work/slo"
has "this is the first different cancel" "$work/slo"
"$replay" --set contention_ratio=2 "$work/lane" >"$work/same"
has "the core gives the verdicts recorded where nothing is changed" "$work/same"

# A program that links the library: each line it logged of a decision is printed again.
CANCEL_RECORD="$work/library" "$program" >"$work/logged"
"$replay" "$work/library" >"$work/library.text"
has "the core gives the verdicts recorded" "$work/library.text"
while read -r line; do has "$line" "$work/library.text"; done <"$work/logged"
[ -s "$work/logged" ]
"$replay" --format json "$work/library" >"$work/library.json"
has '"table \"a\""' "$work/library.json"

# A flight holds what led to the decision.
CANCEL_RECORD="$work/flight" CANCEL_RECORD_FLIGHT=1 "$program" >"$work/logged"
[ ! -e "$work/flight" ] || fail "a flight was written without a decision"
"$replay" "$work/flight.1" >"$work/flight.text" || [ $? = 1 ]
has "$(head -1 "$work/logged")" "$work/flight.text"

# refused WORDS ARGUMENTS…: status 2 and one line with the words.
refused() {
	words=$1
	shift
	status=0
	"$replay" "$@" >/dev/null 2>"$work/error" || status=$?
	[ $status = 2 ] || fail "cancel-replay $*: status $status"
	has "$words" "$work/error"
}
refused "which file?"
refused "No such file" "$work/nothing"
refused "this is no record" "$work/json"
refused "unknown option" --bravest
refused "there is no threshold 'bravest'" --set bravest=1 "$work/lane"
refused "it takes 1 to 1000000" --set explained_ppm=1000001 "$work/lane"
refused "there is no 'bravest'" --policy bravest "$work/lane"
refused "--slo-ms" --slo-ms -1 "$work/lane"
head -c 50000 "$work/lane" >"$work/short"
refused "the file ends in the middle of a piece" "$work/short"
refused "$work/short: byte " "$work/short"
cp "$work/lane" "$work/damaged"
printf X | dd of="$work/damaged" bs=1 seek=30000 conv=notrunc 2>/dev/null
refused "a piece is damaged" "$work/damaged"
refused "it begins with look 1, and the file before it ends with look" "$work/lane" "$work/lane"
