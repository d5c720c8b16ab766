/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane.h - a lane is one question put to the simulator, with a table as its answer.
 *
 * lanes/lanes.h says how to add one. `run` reads its keys, simulates, and fills run->report; it
 * prints nothing itself and depends on nothing but its keys and seeds, so a run can be repeated to
 * the byte.
 */
#ifndef SIM_REPORT_LANE_H
#define SIM_REPORT_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/clock.h"
#include "sim/report/options.h"
#include "sim/report/report.h"

#define SIM_SEEDS_MAX 1000

struct sim_run;

struct sim_lane {
	const char *name;
	int number;		    /* short form on the command line; 0 = none */
	uint32_t seeds;		    /* repetitions by default; 0 = no randomness enters */
	const char *what;	    /* the question, one line */
	const struct sim_key *keys; /* ended by a key without a name; may be NULL */
	/* 0, or negative after sim_fail. */
	int (*run)(struct sim_run *run);
};

struct sim_run {
	const struct sim_lane *lane;
	struct sim_options options;
	struct sim_report *report;
	uint64_t seed;	       /* of the first repetition; the i-th uses seed + i */
	uint32_t seeds;	       /* repetitions, at least 1 */
	uint64_t events_limit; /* bound of one simulated run */
	bool progress;	       /* draw the bar */
	void *context;	       /* of a lane made from a file */
	char error[SIM_ERROR_MAX];
};

/* Values of this run; asking for a key the lane has not declared aborts. */
int64_t sim_int(const struct sim_run *run, const char *key);	  /* INT, FLAG, CHOICE (index) */
double sim_real(const struct sim_run *run, const char *key);	  /* REAL */
bool sim_flag(const struct sim_run *run, const char *key);	  /* FLAG */
const char *sim_text(const struct sim_run *run, const char *key); /* as written */
bool sim_given(const struct sim_run *run, const char *key);	  /* set by the user */
size_t sim_count(const struct sim_run *run, const char *key);	  /* INTS, CHOICES, REALS: length */
int64_t sim_item(const struct sim_run *run, const char *key, size_t index); /* INTS, CHOICES */

/* The name of a CHOICE or of one of CHOICES, by its index. */
const char *sim_name(const struct sim_run *run, const char *key, int64_t choice);
/* A time whose unit ends the key: _s, _ms, _us, _ns. */
uint64_t sim_ns(const struct sim_run *run, const char *key);
/* The combinations of the values of list keys (`keys` ends with NULL), one by one from index 0 on,
 * where the last key changes first. Until the next one, sim_int and sim_real give the current value
 * of such a key. False past the last. Moves the progress bar. */
bool sim_vary(struct sim_run *run, const char *const *keys, size_t index);
/* How many there are. */
size_t sim_combinations(const struct sim_run *run, const char *const *keys);
/* The current value is the first of its list: what makes no difference is run with that one only. */
bool sim_first(const struct sim_run *run, const char *key);
/* The name of the current value of CHOICE or CHOICES. */
const char *sim_choice(const struct sim_run *run, const char *key);
/* A row that begins with the current values of keys. */
void sim_key_row(const struct sim_run *run, struct sim_table *table, const char *const *keys);

/* One error line; returns -1, for `return sim_fail(run, …)`. */
__attribute__((format(printf, 2, 3))) int sim_fail(struct sim_run *run, const char *format, ...);
/* Moves the progress bar of a sweep (stderr, only where someone looks). */
void sim_progress(const struct sim_run *run, size_t done, size_t total);
/* Notes "… stopped at its bound on the BOUND", unless there is none; `format` NULL: no subject. */
__attribute__((format(printf, 3, 4))) void sim_note_bound(
	struct sim_run *run, const char *bound, const char *format, ...);

#endif
