/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library_state.h - is the library running? And what only it may set: limits, classes, learned
 * SLOs.
 */
#ifndef CANCEL_TRACK_LIBRARY_STATE_H
#define CANCEL_TRACK_LIBRARY_STATE_H

#include <cancel/observe.h>

#include "libcancel/sys/order.h"

enum library_phase {
	LIBRARY_OFF, /* never started, stopped, or in a forked child */
	LIBRARY_ON,
	LIBRARY_FED,	    /* looks are handed in; no thread tracks a task */
	LIBRARY_TURNED_OFF, /* by itself, after an internal inconsistency: until the next start */
};

struct library_class {
	char name[CANCEL_NAME_MAX]; /* written at start */
	_Atomic uint64_t slo_ns;    /* given at start, or stored by the controller once learned */
	_Atomic bool exempt;
	_Atomic uint8_t rank;
};

struct library_state {
	_Atomic uint32_t
		phase; /* enum library_phase; start, stop and library_disable store, release */
	_Atomic uint32_t max_tasks; /* the rest: start stores before state is released */
	_Atomic uint32_t class_count;
	_Atomic bool thread_cancel;
	_Atomic bool learning; /* latencies of classes without an SLO are kept; controller */
	struct library_class classes[CANCEL_CLASSES_MAX];
	const char *_Atomic disabled_by; /* what turned it off; the controller logs it */
};
extern internal struct library_state library_state;

/* This is one of the library's own threads: it runs an action or a listener. */
extern internal _Thread_local bool own_thread __attribute__((tls_model("initial-exec")));

static inline bool library_is_on(void)
{
	return load_acquire(&library_state.phase) == LIBRARY_ON;
}

/* Resources may be declared: on, or fed. */
static inline bool library_has_resources(void)
{
	uint32_t phase = load_acquire(&library_state.phase);
	return phase == LIBRARY_ON || phase == LIBRARY_FED;
}

/* An inconsistency of our own: count, remember why, turn off. Never stops the host. */
void library_disable(const char *what);

#endif
