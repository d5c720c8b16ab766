#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs each fuzz target, one after the other, from its kept corpus. What it finds stays under BUILD; what deserves to
# be kept is copied to tests/fuzz/corpus by hand.
# usage: tests/fuzz/run.sh BUILD [RUNS [SEED]]      a million runs of each; BUILD is of the preset fuzz
set -eu
build=${1:?usage: tests/fuzz/run.sh BUILD [RUNS [SEED]]}
runs=${2:-1000000}
seed=${3:-1}
sources=$(cd "$(dirname "$0")" && pwd)
failed=0
for corpus in "$sources"/corpus/*/; do
	name=$(basename "$corpus")
	found=$build/corpus/$name
	log=$build/corpus/$name.log
	mkdir -p "$found"
	target=$(find "$build" -name "fuzz_$name" -type f -perm -u+x | head -n 1)
	began=$(date +%s)
	if [ -n "$target" ] && "$target" -runs="$runs" -max_len=4096 -seed="$seed" -artifact_prefix="$found/" -print_final_stats=1 \
		"$found" "$corpus" >"$log" 2>&1; then
		echo "$name: $(sed -n 's/stat::number_of_executed_units: //p' "$log") runs, $(($(date +%s) - began)) s, no finding"
	else
		echo "$name: FAILED, see $log"
		failed=$((failed + 1))
	fi
done
[ "$failed" -eq 0 ]
