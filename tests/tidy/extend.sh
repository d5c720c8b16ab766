#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What CONTRIBUTING.md says about adding something is true: in a copy of the tree one of each is added with the files
# and rows named there. The copy is built, and its programs and extend.c find all of them.
# usage: extend.sh CMAKE CC SOURCE-DIR
set -eu
cmake=$1 cc=$2 source=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tree" "$work/before"
(cd "$source" && cp -r CMakeLists.txt cmake docs include libcancel demo-db sim replay bench engines "$work/tree")
[ ! -d "$source/common" ] || cp -r "$source/common" "$work/tree"
cp -r "$work/tree/." "$work/before"
cd "$work/tree"

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
echo 'LANE(still_water, "still-water", 0, 0, "Nobody asks, nobody waits")' >>sim/lanes/lanes.def
cat >sim/lanes/still_water.c <<'END'
#include "sim/lanes/lanes.h"

const struct sim_key sim_still_water_keys[] = { { 0 } };

int sim_still_water_run(struct sim_run *run)
{
	sim_note(run->report, "Nothing happens.");
	return 0;
}
END
sed -i 's|^\(	X(server, workers, .*\)|	X(server, patience_s, COUNT, 7, 1, 70, "how long it is patient") \\\n\1|' \
	demo-db/server/config/config.h

echo 'CASE(idle_hour)' >>bench/cases/cases.def
cat >bench/cases/idle_hour.c <<'END'
#include "bench/cases/case.h"

static void plan(const struct bench_options *options, struct case_plan *plan)
{
	(void)options;
	plan->ask = case_ask_read;
}

const struct bench_case case_idle_hour = {
	.name = "idle-hour", .what = { "nothing beside the load" }, .policies = { "none" }, .seconds = 3, .plan = plan
};
END
echo 'POLICY(prayer)' >>bench/policies/policies.def
cat >bench/policies/prayer.c <<'END'
#include "bench/policies/policy.h"

const struct bench_policy policy_prayer = { .name = "prayer", .what = { "hopes for the best" } };
END

# A file each for the policy, the estimator, the lane, the case and the rival; policy.h, config.h and three lists.
changed=$(diff -rq "$work/before" "$work/tree" | wc -l)
if [ "$changed" -ne 10 ]; then
	echo "$changed files changed, 10 were expected:" >&2
	diff -rq "$work/before" "$work/tree" >&2
	exit 1
fi
"$cmake" -S . -B build -G Ninja -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=None -DBUILD_TESTING=OFF >"$work/log" 2>&1 &&
	"$cmake" --build build --target cancel cancel-sim cancel-bench demo-db >>"$work/log" 2>&1 ||
	{ tail -n 40 "$work/log" >&2; exit 1; }
"$cc" -std=c17 -Iinclude "$source/tests/tidy/extend.c" build/libcancel/libcancel.a -o extend -lpthread -lunwind -ldl -lm
CANCEL_PATIENCE_MS=77 CANCEL_POLICY=youngest CANCEL_ESTIMATOR=nothing ./extend
build/bin/cancel-sim lane still-water | grep -q 'Nothing happens.'
build/bin/cancel-bench list | grep -q 'idle-hour  *nothing beside the load'
build/bin/cancel-bench list | grep -q 'prayer  *hopes for the best'
if build/bin/demo-db serve --data data --set server.patience_s=71 2>said; then
	echo "the new setting takes a value out of its range" >&2
	exit 1
fi
grep -q 'patience_s' said
