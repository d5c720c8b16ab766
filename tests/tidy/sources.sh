#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every source names its licence in the first lines and is as clang-format leaves it.
# usage: sources.sh SOURCE-DIR CLANG-FORMAT
set -eu
cd "$1"
format=$2
status=0
list=$(find include libcancel demo-db sim bench tests cmake -type f \
	\( -name '*.[ch]' -o -name '*.sh' -o -name '*.cmake' -o -name CMakeLists.txt -o -name '*.py' \) | sort)
for file in $list; do
	head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' ||
		{ echo "$file: no SPDX line" >&2; status=1; }
done
# One process a file would take seconds; one for all names the files it complains about.
find include libcancel demo-db sim bench tests -name '*.[ch]' -print0 | sort -z |
	xargs -0 "$format" --dry-run -Werror 2>format.log || status=1
grep -oE '^[^ :]+:[0-9]+' format.log | sort -u | sed 's/$/: clang-format would change it/' >&2 || true
rm -f format.log
long=$(find include libcancel demo-db sim bench -name '*.[ch]' -exec wc -l {} + | awk '$1 > 700 && $2 != "total"')
if [ -n "$long" ]; then
	echo "files over 700 lines:" >&2
	echo "$long" >&2
	status=1
fi
exit $status
