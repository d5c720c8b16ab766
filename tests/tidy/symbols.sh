#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The shared library exports cancel_* and nothing else, and everything the public headers declare;
# the installed static one keeps every other name to itself.
# usage: symbols.sh NM SHARED STATIC INCLUDE-DIR
set -eu
nm=$1 shared=$2 static=$3 include=$4
status=0
exported=$($nm -D --defined-only "$shared" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }')
wrong=$(echo "$exported" | grep -v '^cancel_' || true)
if [ -n "$wrong" ]; then
	echo "exported, but not cancel_*: $wrong" >&2
	status=1
fi
declared=$(cat "$include"/cancel/cancel.h "$include"/cancel/observe.h |
	grep -oE '^CANCEL_API .*' | grep -oE 'cancel_[a-z_0-9]+\(' | tr -d '(' | sort -u)
for name in $declared; do
	echo "$exported" | grep -qx "$name" || { echo "declared, not exported: $name" >&2; status=1; }
done
wrong=$($nm --defined-only "$static" | awk 'NF == 3 && $2 ~ /[A-TV-Z]/ && $3 !~ /^cancel_/ { print $3 }')
if [ -n "$wrong" ]; then
	echo "global in the static library, but not cancel_*: $wrong" >&2
	status=1
fi
exit $status
