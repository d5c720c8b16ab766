/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the record of a run's seconds. */
#include "bench/machine/watch.h"

void watch_begin(struct watch *watch, pid_t server)
{
	*watch = (struct watch){ .machine = machine_open(server) };
}

void watch_second(struct watch *watch)
{
	if (watch->count < WATCH_SECONDS_MAX)
		machine_read(watch->machine, &watch->seconds[watch->count++]);
}

void watch_end(struct watch *watch)
{
	machine_close(watch->machine);
	watch->machine = NULL;
}

void watch_judge(const struct watch *watch, struct disturbance *disturbance)
{
	static const double no_lag[WATCH_SECONDS_MAX];
	disturbance_judge(watch->seconds, no_lag, watch->count, 0, disturbance);
}
