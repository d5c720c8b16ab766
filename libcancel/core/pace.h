/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pace.h - how many cancels, and how far apart.
 */
#ifndef CANCEL_CORE_PACE_H
#define CANCEL_CORE_PACE_H

#include "libcancel/core/settings.h"
#include "libcancel/core/window.h"

struct pace {
	uint64_t tokens_micro; /* a cancel costs a million */
	uint64_t last_ns;      /* of the last decision, 0 = none yet */
};

void pace_init(struct pace *pace, const struct settings *settings);
void pace_refill(struct pace *pace, const struct window *window, const struct settings *settings);
bool pace_allows(const struct pace *pace, uint64_t now_ns, const struct settings *settings);
void pace_spend(struct pace *pace, uint64_t now_ns);

#endif
