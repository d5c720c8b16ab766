#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: pure.sh NM FOLDER OBJECT...
# Fails if the objects need anything but each other and the allow-list below (no clock, thread, I/O,
# allocation, libm, qsort), if a source of FOLDER declares a floating-point variable, or if it includes
# anything but its own headers, those of base, the public ones and those of the C library that declare no
# such call.
set -eu
nm=$1 folder=$2
shift 2
# The offset table is the linker's.
allowed='memcpy memset memmove memcmp strcmp strlen _GLOBAL_OFFSET_TABLE_'
defined=$("$nm" --defined-only "$@" | awk 'NF == 3 { print $3 }')
needed=$("$nm" --undefined-only "$@" | awk '$1 == "U" { print $2 }' | sort -u)
status=0
for symbol in $needed; do
	if ! printf '%s\n' $allowed $defined | grep -qx "$symbol"; then
		echo "$folder needs $symbol, which is not on the allow-list ($allowed)"
		status=1
	fi
done
if grep -rnE --include='*.[ch]' '^[^/*]*\b(float|double)\b' "$folder"; then
	echo "$folder: floating point in a decision"
	status=1
fi
own="libcancel/(base|$(basename "$folder"))/"
standard='std(align|bool|def|int)\.h|limits\.h|string\.h'
if grep -rnE --include='*.[ch]' '^[[:space:]]*#[[:space:]]*include' "$folder" |
	grep -vE "include (<cancel/[a-z_/]+\.h>|[<\"]$own[a-z_]+\.h[>\"]|\"[a-z_]+\.h\"|<($standard)>)"; then
	echo "$folder: includes what it must not know"
	status=1
fi
[ -n "$defined" ] || { echo "$folder: no symbols read"; status=1; }
exit $status
