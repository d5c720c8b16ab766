/* SPDX-License-Identifier: Apache-2.0 */
/*
 * darc.h - DARC: workers reserved for short requests.
 *
 * Purpose: keep short requests from queuing behind long ones without preemption. Types of requests
 * are profiled (how often, how long), sorted by mean service time, grouped with types that are
 * alike (within 2 x), and each group gets workers in proportion to its share of the work, at least
 * one. A group may also run on the workers of groups with longer types (steal), never on those of
 * shorter ones. Before the first plan everything runs anywhere, in order of arrival; after it, a
 * type never seen runs on the last worker only.
 * A reserved worker may idle while long requests wait: that is the price.
 * Thread safety: none. Cost: admit O(1), pick O(types), the observation that re-plans
 * O(types^2 + types x workers). Times in ns.
 * Source: Demoulin et al., When Idling is Ideal (Persephone), SOSP 2021, 3; the grouping factor
 * and the profile's length are options there too.
 */
#ifndef CANCEL_ADMISSION_DARC_H
#define CANCEL_ADMISSION_DARC_H

#include <cancel/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CANCEL_DARC_TYPES_MAX	16u
#define CANCEL_DARC_WORKERS_MAX 64u

struct cancel_darc_options { /* zero = default, in brackets */
	size_t struct_size;
	uint32_t workers;	  /* required, 2 .. 64 */
	uint32_t types;		  /* required, 1 .. 16 */
	uint32_t profile_samples; /* [5000] completions between plans */
	uint32_t change_ppm;	  /* [100000] a share of the work moved so far: plan again */
	uint32_t group_milli;	  /* [2000] types within this factor share a group */
};

struct cancel_darc_type {
	uint64_t count;	     /* completions in this profile */
	uint64_t service_ns; /* their sum */
	uint64_t mean_ns;    /* of the last full profile, 0: never seen */
	uint32_t share_ppm;  /* of the work, at the last plan */
	uint32_t group;	     /* rank of its group, 0 the shortest */
	uint64_t reserved;   /* bit w: worker w is reserved for its group */
	uint64_t allowed;    /* those, and those it may steal */
};

struct cancel_darc {
	uint32_t workers, types, profile_samples, change_ppm, group_milli;
	bool planned;
	uint64_t samples; /* in this profile */
	uint64_t plans;
	struct cancel_darc_type type[CANCEL_DARC_TYPES_MAX];
};

/* Returns 0, or CANCEL_EINVAL (no struct_size, workers or types out of range). */
CANCEL_MUST_CHECK int cancel_darc_init(
	struct cancel_darc *darc, const struct cancel_darc_options *options);
/* May `worker` run a request of `type`? */
bool cancel_darc_admit(
	const struct cancel_darc *darc, uint64_t now_ns, uint32_t worker, uint32_t type);
/* Which type a free `worker` should take: the shortest group that may run on it, within a group
 * the oldest request. `oldest_ns[t]` is when the oldest waiting request of type t arrived,
 * UINT64_MAX for none. Returns -1 for none: the worker idles. */
int cancel_darc_pick(const struct cancel_darc *darc, uint64_t now_ns, uint32_t worker,
	const uint64_t *oldest_ns);
/* A request of `type` was served in `service_ns`. */
void cancel_darc_observe(
	struct cancel_darc *darc, uint64_t now_ns, uint32_t type, uint64_t service_ns);

#ifdef __cplusplus
}
#endif
#endif
