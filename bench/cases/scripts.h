/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scripts.h - what a task beside the load says to a server, and how its client behaves.
 */
#ifndef BENCH_SCRIPTS_H
#define BENCH_SCRIPTS_H

#include "bench/cases/retry_plan.h"

#define SCRIPT_SQL_BYTES 192

/* What it says first, again and again until its time is over, and last; NULL: nothing. */
struct script {
	const char *name, *begin, *end;
	void (*work)(uint32_t round, char sql[SCRIPT_SQL_BYTES]);
	uint32_t think_ms; /* between two rounds of its work */
	uint32_t row_ms;   /* its client takes so long over each row */
	bool operates;	   /* needs the operator's rights */
	bool harmless;	   /* goes on when it was cancelled, and never ends */
};

const struct script *script_find(enum script_id script);
/* Somebody who may be cancelled for it. */
bool script_is_culprit(enum script_id script);

#endif
