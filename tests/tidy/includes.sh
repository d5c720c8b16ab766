#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the pure rooms of the library may include besides their own headers, and who reads clocks. Which room may
# include which is held by rooms.sh.
# usage: includes.sh SOURCE-DIR
set -eu
cd "$1/libcancel"
status=0

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
