#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Proves what lifecycle.pml promises: spin goes through every order of the steps. Prints what it took.
#	promises  the promises hold, and nobody is stuck when calls and cancels cease
#	ends      every run of so many calls and cancels comes to its end, if no thread is left out for ever
#	guards    each guard of the code is needed: without it one of the above fails
# usage: lifecycle.sh promises|ends|guards TRANSITIONS [TASKS]
#	TRANSITIONS is the program made from transitions.c; TASKS [2], at most 3, use the slot in turn.
# Environment: SPIN [spin], CC [cc].
set -eu
usage() {
	echo "usage: lifecycle.sh promises|ends|guards TRANSITIONS [TASKS]" >&2
	exit 2
}
[ $# -ge 2 ] && [ -x "$2" ] || usage
here=$(cd "$(dirname "$0")" && pwd)
what=$1
transitions=$(realpath "$2")
tasks=${3:-2}
case "$tasks" in [123]) ;; *) usage ;; esac
spin=${SPIN:-spin}
command -v "$spin" >/dev/null || {
	echo "spin is missing: cmake/setup.sh check installs it" >&2
	exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cp "$here/lifecycle.pml" .
"$transitions" >transitions.pml

# make_checker NAME "DEFINES OF THE MODEL" "DEFINES OF THE CHECKER"
make_checker() {
	# shellcheck disable=SC2086
	"$spin" $2 -a lifecycle.pml >spin.log 2>&1 && ${CC:-cc} -O2 -w -DMEMLIM=2000 -DCOLLAPSE $3 -o "$1" pan.c || {
		cat spin.log >&2
		exit 1
	}
}
make_promises() { make_checker promises "-DTASKS=$tasks" -DSAFETY; }
make_ends() { make_checker ends "-DTASKS=$tasks -DCALLS=3 -DCANCELS=2" "-DNP -DNOREDUCE"; }

# check NAME GUARD: the checker's report in report; true: it saw everything and found no error.
check() {
	case "$1" in
	promises) LEFT_OUT=$2 ./promises -m300000 -w22 >report ;;
	ends) LEFT_OUT=$2 ./ends -l -f -m10000 -w22 >report ;;
	esac
	grep -q 'errors: 0$' report && ! grep -qE 'not completed|depth too small|out of memory' report
}
found_error() { grep -qE '^pan:[0-9]+: (assertion violated|invalid end state|non-progress cycle)' report; }

prove() {
	"make_$1"
	check "$1" 0 || {
		cat report >&2
		[ ! -f lifecycle.pml.trail ] || "./$1" -r -n >&2 || true
		exit 1
	}
	awk -v what="$1" -v tasks="$tasks" '
		/depth reached/ { depth = $6 + 0 }
		/states, stored/ { states = $1 }
		/total actual memory usage/ { megabytes = $1 }
		/elapsed time/ { seconds = $4 }
		END { printf "%s, %d tasks in turn: %d states, depth %d, %.0f s, %.0f MB: no error\n",
			what, tasks, states, depth, seconds, megabytes }' report
}

guards() {
	make_promises
	make_ends
	sed -n 's/^#define GUARD_\([A-Z_]*\) *\([0-9]*\).*/\2 \1/p' lifecycle.pml >guards
	count=0
	while read -r number name; do
		if check promises "$number" && check ends "$number" || ! found_error; then
			echo "without $name ($number) no promise fails" >&2
			exit 1
		fi
		echo "without $name: $(sed -n 's/^pan:[0-9]*: \(.*\) (at depth.*/\1/p' report | head -n 1)"
		count=$((count + 1))
	done <guards
	[ "$count" -ge 8 ] || { echo "only $count guards were found in lifecycle.pml" >&2; exit 1; }
	echo "$count guards, each needed"
}

case "$what" in
promises | ends) prove "$what" ;;
guards) guards ;;
*) usage ;;
esac
