#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds cancel-sim once more with the other compiler and compares what lanes print and record, byte for byte.
# usage: compilers.sh SOURCE_DIR THIS_COMPILER_ID THIS_BINARY     77: the other compiler is not there
set -eu
source_dir=$1
id=$2
binary=$3
case $id in
Clang) other=gcc ;;
*) other=clang ;;
esac
command -v "$other" >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

flags="-std=c17 -O1 -w -ffp-contract=off -D_GNU_SOURCE -include $work/version.h"
echo '#define CANCEL_SIM_VERSION "test"' >"$work/version.h"
flags="$flags -I$source_dir -I$source_dir/include $(pkg-config --cflags jansson inih)"
find "$source_dir/sim" "$source_dir/common" "$source_dir/libcancel/base" "$source_dir/libcancel/core" \
	"$source_dir/libcancel/record" "$source_dir/libcancel/recorder" "$source_dir/libcancel/admission" -name '*.c' | sort |
	nl -w1 -s' ' | sed "s#\([0-9]*\) \(.*\)#$other $flags -c \2 -o $work/\1.o#" |
	xargs -P2 -I{} sh -c '{}'
"$other" "$work"/*.o -o "$work/cancel-sim" $(pkg-config --libs jansson inih) -lm

while read -r command; do
	"$binary" $command >"$work/this" 2>&1
	"$work/cancel-sim" $command >"$work/that" 2>&1
	cmp -s "$work/this" "$work/that" || {
		echo "gcc and clang differ: cancel-sim $command" >&2
		diff "$work/this" "$work/that" | head -5 >&2
		exit 1
	}
	[ -s "$work/this" ]
done <<'COMMANDS'
lane 1 --format json
lane 2 --format csv
lane 3 --format json
lane hidden-capacity
lane trigger-intensity --load 250,280
lane healing-time --format json
lane composition --scenario outage --format csv
lane culprit-storm --load 280 --policy cancel --culprit-retries 0 --format json
lane zombies --storm-s 60 --overload-s 30 --load 280 --policy cancel --format json
lane many-culprits --seeds 1 --culprits 5 --duration-s 16 --format json
lane convoy --duration-s 15 --holder-s 4 --format json
lane wrong-progress --seeds 1 --duration-s 17 --format csv
lane no-culprit --load-pct 95 --duration-s 10 --format json
lane cancel-tree --seeds 1 --duration-s 13 --format json
lane lifecycle --trigger cache-wipe,failover --cure none,shed --load 280 --format csv
lane signals --seeds 1 --duration-s 30 --format json
lane fan-out --part depth,reject --seeds 1 --measure-s 5 --format json
lane gaming --rotations 4 --format json
lane cache-loss --seeds 1 --cure none,single-flight --duration-s 60 --format json
lane omission --format json
lane link-imbalance --seeds 1 --duration-s 60 --format json
COMMANDS

# What is recorded is the same, too, and with it every verdict.
lane="lane many-culprits --seeds 1 --culprits 5 --duration-s 16"
"$binary" $lane --record "$work/this" >/dev/null
"$work/cancel-sim" $lane --record "$work/that" >/dev/null
cmp "$work/this" "$work/that"
