#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The steps of ./check, once the packages are there. Each preset runs the labels that say most under it:
# everything under gcc; memory errors under clang's ASan+UBSan; data races under its TSan, where threads
# meet inside one process (the simulator has one thread, and the server's clients are processes apart).
# Faults (tests/faults) come at a part of their moments; with --long, at all of them, and the counts are printed.
set -u
quick=no
long=no
case "${1:-}" in
"") ;;
--quick) quick=yes ;;
--long) long=yes ;;
*)
	echo "usage: ./check [--quick|--long]" >&2
	exit 2
	;;
esac
out=build/check
mkdir -p "$out"
passed=0
failed=0

build() {
	echo "== build $1" >&2
	if cmake --preset "$1" >"$out/$1.configure.log" 2>&1 &&
		cmake --build --preset "$1" >"$out/$1.build.log" 2>&1; then
		return 0
	fi
	echo "build of preset $1 failed:" >&2
	grep -hE 'error|warning|CMake Error' "$out/$1.configure.log" "$out/$1.build.log" | head -40 >&2
	failed=$((failed + 1))
	return 1
}

run_tests() {
	preset=$1
	shift
	echo "== test $preset $*" >&2
	ctest --test-dir "build/$preset" --output-on-failure --no-tests=error "$@" >"$out/$preset.test.log" 2>&1 ||
		grep -vE '^ *[0-9]+/[0-9]+ Test.*Passed' "$out/$preset.test.log" | tail -n 200 >&2
	ran=$(sed -n 's/.*tests passed, [0-9]* tests failed out of \([0-9]*\).*/\1/p' "$out/$preset.test.log")
	bad=$(sed -n 's/.*tests passed, \([0-9]*\) tests failed out of.*/\1/p' "$out/$preset.test.log")
	[ -n "$ran" ] || ran=0
	[ -n "$bad" ] || bad=1
	passed=$((passed + ran - bad))
	failed=$((failed + bad))
	grep -E 'tests passed|Total Test time' "$out/$preset.test.log" >&2
}

build dev && run_tests dev -j2 -LE bench
if [ "$quick" = no ]; then
	build asan && run_tests asan -j2 -L 'unit|db|sim|wire|fault'
	build tsan && run_tests tsan -j2 -L 'race|unit|db'
fi
if [ "$long" = yes ]; then
	for preset in dev asan; do
		run_tests "$preset" -j2 -C long -L fault -V
		grep ': tried: ' "$out/$preset.test.log" >&2
	done
	if build fuzz; then
		tests/fuzz/run.sh build/fuzz 1000000 >&2 && passed=$((passed + 1)) || failed=$((failed + 1))
	fi
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
