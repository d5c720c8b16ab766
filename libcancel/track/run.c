/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - owns the library's state as the tracked threads see it. Started and stopped by control/.
 */
#include "libcancel/track/run.h"

#include "libcancel/track/count.h"

struct run run;
_Thread_local bool own_thread;

void run_fault(const char *what)
{
	uint32_t on = RUN_ON;
	count(CANCEL_COUNT_internal_faults);
	if (cas_acq_rel(&run.state, &on, RUN_TURNED_OFF))
		store_release(&run.fault, what);
}
