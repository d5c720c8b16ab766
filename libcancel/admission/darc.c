/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DARC: a profile of types and the plan of workers made from it. The caller keeps a queue for each
 * type and asks which one to serve.
 */
#include <cancel/admission/darc.h>

#include "libcancel/base/fixed.h"
#include "libcancel/base/struct_size.h"

#define SAMPLES_DEFAULT	    5000u
#define CHANGE_PPM_DEFAULT  100000u
#define GROUP_MILLI_DEFAULT 2000u

int cancel_darc_init(struct cancel_darc *darc, const struct cancel_darc_options *options)
{
	struct cancel_darc_options o;
	if (!struct_size_read(&o, sizeof o, options) || o.workers < 2 ||
		o.workers > CANCEL_DARC_WORKERS_MAX || !o.types || o.types > CANCEL_DARC_TYPES_MAX)
		return CANCEL_EINVAL;
	*darc = (struct cancel_darc){
		.workers = o.workers,
		.types = o.types,
		.profile_samples = o.profile_samples ? o.profile_samples : SAMPLES_DEFAULT,
		.change_ppm = o.change_ppm ? o.change_ppm : CHANGE_PPM_DEFAULT,
		.group_milli = o.group_milli ? o.group_milli : GROUP_MILLI_DEFAULT,
	};
	return 0;
}

bool cancel_darc_admit(
	const struct cancel_darc *darc, uint64_t now_ns, uint32_t worker, uint32_t type)
{
	(void)now_ns;
	if (worker >= darc->workers)
		return false;
	if (!darc->planned)
		return true;
	if (type >= darc->types || !darc->type[type].mean_ns)
		return worker == darc->workers - 1;
	return darc->type[type].allowed >> worker & 1;
}

/* Does type `a` go before type `b` on a worker that may run both? */
static bool goes_first(
	const struct cancel_darc *darc, const uint64_t *oldest_ns, uint32_t a, uint32_t b)
{
	if (darc->planned && darc->type[a].group != darc->type[b].group)
		return darc->type[a].group < darc->type[b].group;
	return oldest_ns[a] < oldest_ns[b];
}

int cancel_darc_pick(
	const struct cancel_darc *darc, uint64_t now_ns, uint32_t worker, const uint64_t *oldest_ns)
{
	int best = -1;
	for (uint32_t t = 0; t < darc->types; t++) {
		if (oldest_ns[t] == UINT64_MAX || !cancel_darc_admit(darc, now_ns, worker, t))
			continue;
		if (best < 0 || goes_first(darc, oldest_ns, t, (uint32_t)best))
			best = (int)t;
	}
	return best;
}

/* Orders the types seen by mean service time, ties by number; returns how many there are. */
static uint32_t order_types(const struct cancel_darc *darc, uint32_t *order)
{
	uint32_t count = 0;
	for (uint32_t t = 0; t < darc->types; t++) {
		uint32_t at = count;
		if (!darc->type[t].mean_ns)
			continue;
		for (; at && darc->type[order[at - 1]].mean_ns > darc->type[t].mean_ns; at--)
			order[at] = order[at - 1];
		order[at] = t;
		count++;
	}
	return count;
}

static void set_groups(struct cancel_darc *darc, const uint32_t *order, uint32_t count)
{
	uint64_t shortest_ns = 0;
	uint32_t group = 0;
	for (uint32_t t = 0; t < darc->types; t++)
		darc->type[t].group = CANCEL_DARC_TYPES_MAX; /* after all others, until seen */
	for (uint32_t i = 0; i < count; i++) {
		struct cancel_darc_type *type = &darc->type[order[i]];
		const uint64_t limit_ns = fixed_times(shortest_ns, darc->group_milli) / 1000;
		if (!i || type->mean_ns > limit_ns) {
			group += i ? 1 : 0;
			shortest_ns = type->mean_ns;
		}
		type->group = group;
	}
}

/* Gives each group its share of the workers in order of length, rounded, at least one. What comes
 * after the last worker is taken shares the last worker. The longest group gets what is left. */
static void reserve_workers(struct cancel_darc *darc, const uint32_t *order, uint32_t count)
{
	const uint64_t all = darc->workers == 64 ? UINT64_MAX : (UINT64_C(1) << darc->workers) - 1;
	uint32_t next = 0;
	for (uint32_t i = 0, end; i < count; i = end) {
		uint64_t share_ppm = 0;
		for (end = i; end < count; end++) {
			if (darc->type[order[end]].group != darc->type[order[i]].group)
				break;
			share_ppm += darc->type[order[end]].share_ppm;
		}
		const uint32_t first = next < darc->workers ? next : darc->workers - 1;
		const uint64_t rounded = (share_ppm * darc->workers + CANCEL_PPM / 2) / CANCEL_PPM;
		const uint32_t left = darc->workers - first;
		uint32_t wanted = rounded ? (uint32_t)rounded : 1;

		if (wanted > left || end == count)
			wanted = left;
		next = first + wanted;
		const uint64_t from = all >> first << first;
		const uint64_t upto = next == 64 ? UINT64_MAX : (UINT64_C(1) << next) - 1;
		for (uint32_t j = i; j < end; j++) {
			darc->type[order[j]].reserved = from & upto;
			darc->type[order[j]].allowed = from; /* its own, and all longer ones' */
		}
	}
}

static uint32_t share_of(const struct cancel_darc_type *type, uint64_t total_ns)
{
	uint64_t service_ns = type->service_ns;
	for (; total_ns >> 43; total_ns >>= 1) /* keeps the product in 64 bits */
		service_ns >>= 1;
	return total_ns ? (uint32_t)(service_ns * CANCEL_PPM / total_ns) : 0;
}

static void close_profile(struct cancel_darc *darc)
{
	uint32_t order[CANCEL_DARC_TYPES_MAX];
	uint64_t total_ns = 0;
	bool moved = !darc->planned;
	for (uint32_t t = 0; t < darc->types; t++)
		total_ns = fixed_plus(total_ns, darc->type[t].service_ns);
	for (uint32_t t = 0; t < darc->types; t++) {
		const uint32_t now_ppm = share_of(&darc->type[t], total_ns);
		const uint32_t was_ppm = darc->type[t].share_ppm;
		moved |= (now_ppm > was_ppm ? now_ppm - was_ppm : was_ppm - now_ppm) >
			 darc->change_ppm;
		moved |= darc->type[t].count && !darc->type[t].mean_ns;
	}
	for (uint32_t t = 0; t < darc->types; t++) {
		struct cancel_darc_type *type = &darc->type[t];
		if (moved) {
			type->share_ppm = share_of(type, total_ns);
			if (type->count)
				type->mean_ns = type->service_ns / type->count + 1;
		}
		type->count = type->service_ns = 0;
	}
	darc->samples = 0;
	if (!moved)
		return;
	const uint32_t count = order_types(darc, order);
	set_groups(darc, order, count);
	reserve_workers(darc, order, count);
	darc->planned = true;
	darc->plans++;
}

void cancel_darc_observe(
	struct cancel_darc *darc, uint64_t now_ns, uint32_t type, uint64_t service_ns)
{
	(void)now_ns;
	if (type >= darc->types)
		return;
	darc->type[type].count++;
	darc->type[type].service_ns = fixed_plus(darc->type[type].service_ns, service_ns);
	if (++darc->samples >= darc->profile_samples)
		close_profile(darc);
}
