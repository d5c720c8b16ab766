/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h - what the machine gave to others while a run wanted to compute, by the kernel's own
 * counters. bench/machine/machine.c reads Linux's; tests link a fake.
 */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stdbool.h>
#include <sys/types.h>

/* Of a stretch of time, about a second. Amounts are in CPUs: 1 is one CPU all the time. */
struct machine_second {
	bool known;    /* false: this kernel does not say, and all else is zero */
	double cpus;   /* that this process may use */
	double own;    /* used by this process and the server it drives */
	double others; /* used by anybody else, kernel threads and interrupts included */
	double stolen; /* taken by the hypervisor for other machines */
	double waited; /* threads of ours that were ready and got no CPU, on average */
};

struct machine;

/* Starts to watch this process, and `server` if it is over 0. NULL: out of memory. */
struct machine *machine_open(pid_t server);
/* Since the last call, or since machine_open. NULL is watched, too, and known for nothing. */
void machine_read(struct machine *machine, struct machine_second *second);
void machine_close(struct machine *machine);

#endif
