/* SPDX-License-Identifier: Apache-2.0 */
/* admission.c - cancel_admission: the gate, a row a business priority. */
#include "demo-db/server/session/services.h"
#include "demo-db/views/view.h"

#include <stdlib.h>
#include <string.h>

static uint64_t load(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* How much of a priority's levels is below the cursor. */
static uint32_t admitted_levels(uint32_t cursor, unsigned priority)
{
	uint32_t first = priority * GATE_USER_LEVELS;
	if (cursor <= first)
		return 0;
	return cursor - first < GATE_USER_LEVELS ? cursor - first : GATE_USER_LEVELS;
}

static void fill_admission(struct services *services, struct view_rows *rows)
{
	struct admission *admission = &services->admission;
	struct gate *gate = &admission->gate;
	struct cancel_dagor_stats stats = { .cursor = PRIORITY_LEVELS * GATE_USER_LEVELS };
	uint64_t now_ns = cancel_now_ns();
	if (gate->dagor)
		cancel_dagor_shared_stats(gate->dagor, &stats);
	for (unsigned i = 0; i < PRIORITY_LEVELS; i++) {
		view_text(rows, priority_name((enum priority)i));
		view_integer(rows, (int64_t)load(&gate->offered[i]));
		view_integer(rows, (int64_t)load(&gate->refused[i]));
		view_real(rows, 100.0 * admitted_levels(stats.cursor, i) / GATE_USER_LEVELS);
		view_bool(rows, gate->dagor != NULL);
		view_integer(rows, stats.cursor);
		view_integer(rows, (int64_t)stats.windows);
		view_bool(rows, stats.overloaded);
		view_ms(rows, stats.mean_delay_ns);
		view_bool(rows, load(&gate->spare_until_ns) > now_ns);
		view_integer(rows, (int64_t)load(&gate->spared));
		view_bool(rows, load(&gate->regular_until_ns) > now_ns);
		view_bool(rows, atomic_load_explicit(&admission->paused, memory_order_relaxed));
		view_integer(rows, atomic_load_explicit(&admission->waiting, memory_order_relaxed));
		view_integer(rows, (int64_t)load(&admission->busy_refused));
		view_integer(rows, (int64_t)load(&admission->io_waits));
	}
}

const struct view view_admission = { .name = "cancel_admission",
	.columns = "priority TEXT, offered BIGINT, refused BIGINT, admitted_pct FLOAT8, gate BOOL, "
		   "cursor BIGINT, windows BIGINT, overloaded BOOL, mean_queue_ms FLOAT8, sparing "
		   "BOOL, spared BIGINT, regular_overload BOOL, paused BOOL, waiting BIGINT, busy "
		   "BIGINT, io_waits BIGINT",
	.fill = fill_admission };
