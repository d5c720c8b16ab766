#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The verdicts on the corpus are those that stand beside it, to the byte.
# usage: holds.sh CANCEL-REPLAY FOLDER
set -eu
here=$(cd "$(dirname "$0")" && pwd)
found=$(mktemp)
trap 'rm -f "$found"' EXIT
"$here/verdicts.sh" "$1" "$2" >"$found"
cmp -s "$found" "$2/verdicts.txt" && exit 0
echo "the core judges otherwise than $2/verdicts.txt; if that is meant, tests/corpus/make.sh BUILD_DIR --verdicts" >&2
diff "$2/verdicts.txt" "$found" | head -20 >&2
exit 1
