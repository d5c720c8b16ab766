#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the corpus anew with the programs of a build folder: records and labels, then the verdicts and the score of the
# core as it is. The records are the same bytes each time. With --verdicts only the last two.
# usage: make.sh BUILD_DIR [--verdicts]
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
replay=$build/bin/cancel-replay
if [ "${2-}" != --verdicts ]; then
	rm -rf "$here/choose" "$here/report"
	"$build/tests/corpus_make" "$here"
fi
for half in choose report; do
	"$here/verdicts.sh" "$replay" "$here/$half" >"$here/$half/verdicts.txt"
	"$replay" score "$here/$half" >"$here/$half/score.txt"
done
