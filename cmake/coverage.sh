#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The lines of a folder that the tests ran, by file, from what gcov left in a build of the preset coverage. A line
# counts once, however many objects hold it. With a third argument the lines that did not run are printed, too.
# usage: cmake/coverage.sh BUILD FOLDER [missed]
set -eu
build=${1:?usage: cmake/coverage.sh BUILD FOLDER [missed]}
folder=${2:?usage: cmake/coverage.sh BUILD FOLDER [missed]}
root=$(cd "$(dirname "$0")/.." && pwd)
find "$(cd "$build" && pwd)/$folder" -name '*.gcno' | sort | while read -r object; do
	(cd "$build" && gcov --stdout "$object" 2>/dev/null)
done | awk -v root="$root/" -v folder="$folder/" -v missed="${3:-}" '
	{ line = $0; count = line; sub(/:.*/, "", count); gsub(/[ *]/, "", count)
	  rest = substr(line, index(line, ":") + 1); number = rest; sub(/:.*/, "", number); number += 0 }
	rest ~ /^ *0:Source:/ { file = rest; sub(/^ *0:Source:/, "", file); while (sub(/^\.\.\//, "", file)); sub(root, "", file)
	  wanted = index(file, folder) == 1; next }
	!wanted || count == "-" || number == 0 { next }
	{ key = file ":" number; known[key] = 1; if (!(file in files)) files[file] = 0; if (!(key in seen)) { seen[key] = 0; lines[file]++ }
	  text[key] = substr(rest, index(rest, ":") + 1)
	  if (count !~ /^[#=]+$/ && !ran[key]) { ran[key] = 1; files[file]++ } }
	END {
		for (file in lines) { total += lines[file]; done += files[file]
			printf "%6.1f %% %5d of %5d  %s\n", 100 * files[file] / lines[file], files[file], lines[file], file | "sort -n" }
		close("sort -n")
		if (missed) for (key in seen) if (!ran[key]) print key ":" text[key] | "sort -t: -k1,1 -k2,2n"
		close("sort -t: -k1,1 -k2,2n")
		printf "%s: %.1f %% of %d lines\n", folder, total ? 100 * done / total : 0, total
	}'
