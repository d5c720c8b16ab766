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
# What a host may call: every name before a parenthesis, but for comments and inline functions (off.h has no others).
declared=$(find "$include" -name '*.h' ! -name off.h -exec cat {} + |
	sed -e 's|/\*.*||' -e '/^[[:space:]]*\*/d' -e '/^static inline/d' |
	grep -oE 'cancel_[a-z_0-9]+\(' | tr -d '(' | sort -u)
[ "$(echo "$declared" | wc -l)" -gt 100 ] || { echo "found too few declarations to compare" >&2; status=1; }
for name in $declared; do
	echo "$exported" | grep -qx "$name" || { echo "declared, not exported: $name" >&2; status=1; }
done
wrong=$($nm --defined-only "$static" | awk 'NF == 3 && $2 ~ /[A-TV-Z]/ && $3 !~ /^cancel_/ { print $3 }')
if [ -n "$wrong" ]; then
	echo "global in the static library, but not cancel_*: $wrong" >&2
	status=1
fi
exit $status
