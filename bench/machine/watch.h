/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h - what the machine and the generator did in each second of a run.
 */
#ifndef BENCH_WATCH_H
#define BENCH_WATCH_H

#include "bench/machine/disturbance.h"
#include "bench/machine/machine.h"

#define WATCH_SECONDS_MAX 7200 /* further ones are not judged */

struct watch {
	struct machine *machine;
	struct machine_second seconds[WATCH_SECONDS_MAX];
	uint32_t count;
};

/* `server`: a process of the run beside this one; 0: there is none. */
void watch_begin(struct watch *watch, pid_t server);
/* A second has ended. */
void watch_second(struct watch *watch);
void watch_end(struct watch *watch);
void watch_judge(const struct watch *watch, struct disturbance *disturbance);

#endif
