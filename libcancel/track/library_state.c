/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library_state.c - owns the library's state as the tracked threads see it. Started and stopped by
 * control/.
 */
#include "libcancel/track/library_state.h"

#include "libcancel/track/count.h"

struct library_state library_state;
_Thread_local bool own_thread;

void library_disable(const char *what)
{
	uint32_t on = LIBRARY_ON;
	count(CANCEL_COUNT_internal_faults);
	if (cas_acq_rel(&library_state.phase, &on, LIBRARY_TURNED_OFF))
		store_release(&library_state.disabled_by, what);
}
