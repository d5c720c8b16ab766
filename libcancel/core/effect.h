/* SPDX-License-Identifier: Apache-2.0 */
/*
 * effect.h - whether what a target gave back has reached those who waited for it, and how long that
 * takes. A hold that has left the ledger may still be in the way: pages are read in again, a host
 * tells of a release before it is done.
 */
#ifndef CANCEL_CORE_EFFECT_H
#define CANCEL_CORE_EFFECT_H

#include "libcancel/core/attribute.h"
#include "libcancel/core/settings.h"

#define BLAMED_MAX  4u /* instances remembered of a target: those with most of its blame */
#define DRAINS_KEPT 4u /* of a resource */

struct blamed_instance {
	uint64_t delay_ppm; /* of the waiters there at the decision: how many waited, x 1e6 */
	uint64_t blame_us;
	uint32_t number;
	uint32_t share_ppm; /* the target's part of it */
	uint8_t resource;
};

struct effect {
	struct blamed_instance blamed[BLAMED_MAX];
	uint32_t count;
};

/* How long resources took from a release until it showed, the last few of each. */
struct drains {
	uint64_t last_ns[CANCEL_RESOURCES_MAX][DRAINS_KEPT];
	uint32_t count[CANCEL_RESOURCES_MAX]; /* ever */
};

/* What an effect is seen by. */
struct effect_view {
	const struct cancel_ledger *ledger;
	const struct window *window;
	const struct history *history;
	struct contended *contended;
	const struct attribution *attribution;
};

/* Remembers what the task in this slot is blamed for among the resources of `mask`. */
void effect_begin(
	struct effect *effect, const struct effect_view *view, uint32_t slot, uint64_t mask);
/* Nobody waits there any more, others have taken the room, or noticeably fewer wait. */
bool effect_shows(const struct effect *effect, const struct effect_view *view);
/* Marks the instances: until the effect shows, nobody else is to blame there. */
void effect_bar(const struct effect *effect, const struct effect_view *view);
/* How long to wait for it after the release. */
uint64_t effect_wait_ns(const struct effect *effect, const struct drains *drains,
	const struct effect_view *view, const struct settings *settings);
void effect_learn(const struct effect *effect, struct drains *drains, uint64_t took_ns);

#endif
