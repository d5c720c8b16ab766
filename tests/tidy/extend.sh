#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What CONTRIBUTING.md says of the library is true: in a copy of it a policy and an estimator are added with a file and
# a row each, and a threshold with a row. Then the copy is built, and extend.c finds all three.
# usage: extend.sh CC SOURCE-DIR
set -eu
cc=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$source/include" "$source/libcancel" "$work"
cp -r "$work" "$work.before"
trap 'rm -rf "$work" "$work.before"' EXIT
cd "$work"

# row LIST TEXT: a first row of the list in policy.h.
row() {
	sed -i "/^#define $1(X)/a\\	X($2) \\\\" include/cancel/policy.h
}

row CANCEL_POLICIES 'youngest, "youngest", "the youngest of the eligible"'
cat >libcancel/core/policies/youngest.c <<'END'
#include "libcancel/core/choose.h"

int policy_youngest(const struct cancel_choice *choice)
{
	return (int)choice->candidate_count - 1;
}
END
row CANCEL_ESTIMATORS 'nothing, "nothing", "nothing is left to do"'
cat >libcancel/core/estimators/nothing.c <<'END'
#include "libcancel/core/estimate.h"

uint64_t estimator_nothing(const struct cancel_estimate_input *in)
{
	return in->used_micro - in->used_micro;
}
END
row CANCEL_THRESHOLDS 'patience_ms, 70, 10, 700, "how long it is patient"'

changed=$(diff -rq "$work.before" "$work" | wc -l)
if [ "$changed" -ne 3 ]; then
	echo "$changed files changed: two new ones and policy.h were expected" >&2
	exit 1
fi
find libcancel -name '*.c' | xargs -P 2 -n 8 sh -c 'for file; do
	"$0" -std=c17 -D_GNU_SOURCE -Iinclude -I. -Wall -Wextra -Werror -c "$file" -o "$(echo "$file" | tr / _).o" || exit 255
done' "$cc"
$cc -std=c17 -D_GNU_SOURCE -Iinclude "$source/tests/tidy/extend.c" ./*.o -o extend -lpthread -lunwind -ldl
CANCEL_PATIENCE_MS=77 CANCEL_POLICY=youngest CANCEL_ESTIMATOR=nothing ./extend
