#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the decisions of the core on each record of a folder, and the digest of all its verdicts.
# usage: verdicts.sh CANCEL-REPLAY FOLDER
set -eu
replay=$1
cd "$2"
for record in *.rec; do
	echo "== ${record%.rec}"
	"$replay" "$record" | grep -E '^ *decision|digest'
done
