#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/thresholds.md says what policy.h says: PRINTER prints the page from the rows there.
# usage: thresholds.sh PRINTER PAGE [--write]
set -eu
printer=$1 page=$2
if [ "${3:-}" = --write ]; then
	"$printer" >"$page"
	exit 0
fi
"$printer" | diff -u "$page" - && exit 0
echo "the page is not what policy.h says; to write it: tests/tidy/thresholds.sh $printer $page --write" >&2
exit 1
