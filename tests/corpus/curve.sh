#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The curve of a threshold on the half that constants are chosen on.
# usage: curve.sh CANCEL-REPLAY THRESHOLD VALUE...
set -eu
replay=$1 threshold=$2
here=$(cd "$(dirname "$0")" && pwd)
shift 2
echo "| $threshold | precision | recall | wrong decisions an hour | time to decide, median [ms] |"
echo "|---|---|---|---|---|"
for value; do
	"$replay" score --set "$threshold=$value" "$here/choose" | awk -v value="$value" '
		/^precision/ { precision = $2 + 0; recall = $4 + 0; wrong = $9 }
		/^time to decide/ { median = $5 }
		END { printf "| %s | %.4f | %.4f | %s | %s |\n", value, precision, recall, wrong, median }'
done
