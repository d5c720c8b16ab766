#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every source names its licence in the first lines and is as clang-format leaves it. What clang-format does not decide
# is checked here: the columns of comments, rulers, guards, includes, and sizeof without parentheses for expressions.
# usage: sources.sh SOURCE-DIR CLANG-FORMAT
set -eu
cd "$1"
format=$2
status=0
list=$(find include libcancel demo-db sim replay bench common tests cmake engines -type f \
	\( -name '*.[ch]' -o -name '*.sh' -o -name '*.cmake' -o -name CMakeLists.txt -o -name '*.py' \) | sort)
for file in $list; do
	head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' ||
		{ echo "$file: no SPDX line" >&2; status=1; }
done
# One process a file would take seconds; one for all names the files it complains about.
find include libcancel demo-db sim replay bench common engines tests -name '*.[ch]' -print0 | sort -z |
	xargs -0 "$format" --dry-run -Werror 2>format.log || status=1
grep -oE '^[^ :]+:[0-9]+' format.log | sort -u | sed 's/$/: clang-format would change it/' >&2 || true
rm -f format.log
torn=$(find include libcancel demo-db sim replay bench common engines tests -name '*.[ch]' -exec grep -nE '^ \*[a-zA-Z(]' {} + || true)
if [ -n "$torn" ]; then
	echo "comments torn by a formatter:" >&2
	echo "$torn" >&2
	status=1
fi
long=$(find include libcancel demo-db sim replay bench common engines -name '*.[ch]' -exec wc -l {} + | awk '$1 > 700 && $2 != "total"')
if [ -n "$long" ]; then
	echo "files over 700 lines:" >&2
	echo "$long" >&2
	status=1
fi
# found PATTERN WHAT FILES...: no line of the files may match.
found() {
	pattern=$1 what=$2
	shift 2
	lines=$(grep -nE "$pattern" "$@" | grep -vE 'sizeof\((struct|enum|const|void|char|u?int|size_t|uint[0-9]+_t|max_align_t|wide)' || true)
	[ -z "$lines" ] && return 0
	echo "$lines" | sed "s|\$| <- $what|" >&2
	status=1
}
one_hand=$(find include libcancel tests/libcancel tests/race -name '*.[ch]' | sort)
found '^#include <libcancel/' 'our own headers stand in quotes' $one_hand
found '^/\* ---- .*[^/]$' 'a ruler is one line' $one_hand
found 'sizeof\([a-z_*&]' 'sizeof takes an expression without parentheses' $one_hand
found '^#ifndef [A-Z_]*_H$' 'a guard begins with CANCEL_' /dev/null $(grep -LE '^#ifndef CANCEL_[A-Z_]+_H$' $(echo "$one_hand" | grep '\.h$') || true)
for file in $one_hand; do
	widest=$(LC_ALL=C.UTF-8 wc -L <"$file")
	[ "$widest" -le 100 ] || { echo "$file: a line of $widest columns" >&2; status=1; }
done
exit $status
