#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which folder of the library may know which: sys <- track <- control -> core, diag beside control,
# admission beside core, and shared in front of admission. All of them stand on base.
# usage: includes.sh SOURCE-DIR
set -eu
cd "$1/libcancel"
status=0

# may FOLDER PATTERN: its includes of libcancel/ must match the pattern.
may() {
	wrong=$(grep -rnE --include='*.[ch]' '^#include [<"]libcancel/' "$1" | grep -vE "[<\"]libcancel/($2)" || true)
	[ -z "$wrong" ] && return 0
	echo "$1 may not include:" >&2
	echo "$wrong" >&2
	status=1
}

may base 'base/'
may sys 'sys/'
may track 'base/|sys/|track/'
may diag 'sys/|diag/'
may control 'base/|sys/|track/|control/|diag/|core/'
may core 'base/|core/'
may admission 'base/|admission/'
may shared 'base/|sys/|admission/|shared/'

# The pure folders use no header that brings a clock, a thread or a file.
pure='string|stddef|stdint|stdbool|stdalign|limits'
wrong=$(grep -rnE --include='*.[ch]' '^#include <[a-z_/]+\.h>' base core admission |
	grep -vE "<($pure)\.h>|<cancel/|<libcancel/" || true)
if [ -n "$wrong" ]; then
	echo "base, core and admission may not include:" >&2
	echo "$wrong" >&2
	status=1
fi
wrong=$(grep -nE '^#include <cancel/(cancel|observe|off|paper|admission_shared)\.h>' base core admission --include='*.[ch]' -r || true)
if [ -n "$wrong" ]; then
	echo "base, core and admission know policy.h, error.h and admission.h only:" >&2
	echo "$wrong" >&2
	status=1
fi
# Clocks are read in one file.
wrong=$(grep -nE 'clock_gettime|rdtsc|gettimeofday' -r --include='*.[ch]' . | sed 's|^\./||' | grep -vE '^sys/clock\.|^[a-z/_.]+:[0-9]+:( \*|/\*)' || true)
if [ -n "$wrong" ]; then
	echo "clocks are read in sys/clock only:" >&2
	echo "$wrong" >&2
	status=1
fi
exit $status
