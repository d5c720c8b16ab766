#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Counts what instrumenting demo-db's engine took: places that call the library, lines that mention it,
# resources. Comments do not count. For docs/integrate.md; the paper's figures are in lines added.
# usage: cmake/count_instrumentation.sh [--files] [folder]        default folder: demo-db/engine
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
by_file=no
folder=$top/demo-db/engine
for argument in "$@"; do
	case "$argument" in
	--files) by_file=yes ;;
	-*)
		echo "usage: cmake/count_instrumentation.sh [--files] [folder]" >&2
		exit 2
		;;
	*) folder=$argument ;;
	esac
done
if ! ls "$folder"/*.c >/dev/null 2>&1; then
	echo "no C sources in $folder" >&2
	exit 2
fi

# The source without comments, each line with its file's name before it. Good enough for code that is
# formatted: no comment starts inside a string here.
code() {
	for file in "$folder"/*.[ch]; do
		awk -v file="$(basename "$file")" '
			{
				line = $0
				while (1) {
					if (inside) {
						end = index(line, "*/")
						if (!end) { line = ""; break }
						line = substr(line, end + 2)
						inside = 0
					}
					start = index(line, "/*")
					if (!start) break
					rest = substr(line, start + 2)
					end = index(rest, "*/")
					if (end) line = substr(line, 1, start - 1) substr(rest, end + 2)
					else { line = substr(line, 1, start - 1); inside = 1; break }
				}
				if (line ~ /[^ \t]/) print file ":" line
			}' "$file"
	done
}

calls='createResource createCancel freeCancel bindCancel unbindCancel currentCancel slowByResource slowByResourceAt
getResource getResourceAt freeResource freeResourceAt giveUpResource giveUpResourceAt evictResource missResource
setProgress setCancelAction cancelRequested blockCancel allowCancel rerunCancel'
types='struct cancel_(task|task_options|resource|resource_options|request|ticket)|enum cancel_rerun_answer'
text=$(code)

echo "call                 places"
places=0
pattern=
for call in $calls; do
	count=$(printf '%s\n' "$text" | grep -cE "(^|[^A-Za-z_])$call\(" || true)
	[ "$count" -gt 0 ] && printf '%-20s %6d\n' "$call" "$count"
	places=$((places + count))
	pattern="$pattern|(^|[^A-Za-z_])$call\("
done
mentions=$(printf '%s\n' "$text" | grep -E "$types$pattern" | grep -vE ':#|^engine\.h:')
if [ "$by_file" = yes ]; then
	printf '%s\n' "$mentions" | cut -d: -f1 | sort | uniq -c | awk '{ printf "%-20s %6d lines\n", $2, $1 }'
fi
names=$(printf '%s\n' "$text" | grep -oE 'createResource\("[a-z_]+"' | cut -d'"' -f2 | sort | tr '\n' ' ')
all=$(printf '%s\n' "$text" | wc -l)
echo "total                $places places"
echo "lines                $(printf '%s\n' "$mentions" | wc -l) of $all lines of code"
echo "resources            $(echo "$names" | wc -w): $names"
