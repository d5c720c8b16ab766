/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h - is the library running? And what only it may set: limits, classes, learned SLOs.
 */
#ifndef CANCEL_TRACK_RUN_H
#define CANCEL_TRACK_RUN_H

#include <cancel/observe.h>

#include "libcancel/sys/order.h"

enum run_state {
	RUN_OFF, /* never started, stopped, or in a forked child */
	RUN_ON,
	RUN_TURNED_OFF, /* by itself, after an internal inconsistency: until the next start */
};

struct run_class {
	char name[CANCEL_NAME_MAX]; /* written at start */
	_Atomic uint64_t slo_ns;    /* given at start, or stored by the controller once learned */
	_Atomic bool exempt;
};

struct run {
	_Atomic uint32_t state;	    /* enum run_state; start, stop and run_fault store, release */
	_Atomic uint32_t max_tasks; /* the rest: start stores before state is released */
	_Atomic uint32_t class_count;
	_Atomic bool thread_cancel;
	_Atomic bool learning; /* latencies of classes without an SLO are kept; controller */
	struct run_class classes[CANCEL_CLASSES_MAX];
	const char *_Atomic fault; /* what turned it off; the controller logs it */
};
extern internal struct run run;

/* This is one of the library's own threads: it runs an action or a listener. */
extern internal _Thread_local bool own_thread __attribute__((tls_model("initial-exec")));

static inline bool run_is_on(void)
{
	return load_acquire(&run.state) == RUN_ON;
}

/* An inconsistency of our own: count, remember why, turn off. Never stops the host. */
void run_fault(const char *what);

#endif
