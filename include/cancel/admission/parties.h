/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parties.h - PARTIES: move resources between classes until each meets its latency goal.
 *
 * Purpose: partition resources (workers, pool pages, disk share …) among classes that each have a
 * goal for their tail latency, by trial and error. Each step (1 s) a class's slack is
 * (goal - p99) / goal. A class below 0.05 for two steps is in trouble: the worst gets one unit of
 * one resource, from what is free or else from the class with the most slack. If the next step
 * shows no lower p99 the unit goes back and another resource is tried. When none is in trouble, a
 * class above 0.2 for two steps gives one unit up; if it then drops below 0.05 it gets it back.
 * The object only keeps the allocation; the caller applies it.
 * Thread safety: none. Cost: O(classes x resources) a step. Slack in parts per million.
 * Source: Chen, Delimitrou, Martinez, PARTIES, ASPLOS 2019, 4.
 */
#ifndef CANCEL_ADMISSION_PARTIES_H
#define CANCEL_ADMISSION_PARTIES_H

#include <cancel/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CANCEL_PARTIES_CLASSES_MAX   8u
#define CANCEL_PARTIES_RESOURCES_MAX 4u

struct cancel_parties_options { /* zero = default, in brackets */
	size_t struct_size;
	uint32_t classes;			      /* required, 1 .. 8 */
	uint32_t resources;			      /* required, 1 .. 4 */
	uint32_t units[CANCEL_PARTIES_RESOURCES_MAX]; /* of each resource; >= classes */
	uint64_t goal_ns[CANCEL_PARTIES_CLASSES_MAX]; /* tail latency each class wants */
	uint32_t low_ppm;			      /* [50000] */
	uint32_t high_ppm;			      /* [200000] */
	uint64_t step_ns;			      /* [1 s] */
	uint64_t start_ns;			      /* [0] */
};

enum cancel_parties_trial {
	CANCEL_PARTIES_NONE,
	CANCEL_PARTIES_MORE, /* a class got a unit: has its latency fallen? */
	CANCEL_PARTIES_LESS, /* a class gave a unit up: is it still well? */
};

struct cancel_parties {
	uint32_t classes, resources;
	uint64_t goal_ns[CANCEL_PARTIES_CLASSES_MAX];
	int64_t low_ppm, high_ppm;
	uint64_t step_ns, next_step_ns;

	uint32_t held[CANCEL_PARTIES_CLASSES_MAX][CANCEL_PARTIES_RESOURCES_MAX];
	uint32_t free[CANCEL_PARTIES_RESOURCES_MAX];
	uint64_t p99_ns[CANCEL_PARTIES_CLASSES_MAX]; /* of the last step */
	uint8_t low_steps[CANCEL_PARTIES_CLASSES_MAX], high_steps[CANCEL_PARTIES_CLASSES_MAX];
	uint8_t turn[CANCEL_PARTIES_CLASSES_MAX]; /* resource a class tries next */
	enum cancel_parties_trial trial;
	uint32_t trial_class, trial_resource;
	int32_t trial_donor; /* -1: what was free */
	uint64_t trial_p99_ns;
	uint64_t stuck; /* steps in which a class in trouble could be given nothing */
};

/* Units are dealt evenly at first, the remainder to the first classes.
 * Returns 0, or CANCEL_EINVAL (no struct_size, counts out of range, fewer units than classes, a
 * class without a goal). */
CANCEL_MUST_CHECK int cancel_parties_init(
	struct cancel_parties *parties, const struct cancel_parties_options *options);
/* The tail latencies of the last while, one a class (0: no requests). Returns true when the
 * allocation changed: apply `held`. Does nothing before a step is over. */
bool cancel_parties_observe(
	struct cancel_parties *parties, uint64_t now_ns, const uint64_t *p99_ns);
/* May a request of `class_index` take `in_use` + 1 units of `resource`? */
bool cancel_parties_admit(const struct cancel_parties *parties, uint64_t now_ns,
	uint32_t class_index, uint32_t resource, uint32_t in_use);

#ifdef __cplusplus
}
#endif
#endif
