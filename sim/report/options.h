/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - the keys a lane understands, their bounds, and the values of one run.
 *
 * A lane declares its keys in a table ended by a key without a name. The command line
 * (`--load 280`, `--set load=280`) and scenario files set them through one parser, so a bad value
 * is refused with the same words everywhere. In names `-` and `_` are the same.
 */
#ifndef SIM_REPORT_OPTIONS_H
#define SIM_REPORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_LIST_MAX  4096 /* values in one list */
#define SIM_ERROR_MAX 768  /* bytes of an error line */

enum sim_key_kind {
	SIM_KEY_INT,
	SIM_KEY_REAL,
	SIM_KEY_FLAG,	 /* yes, no (also true, false, 1, 0) */
	SIM_KEY_CHOICE,	 /* one of `choices` */
	SIM_KEY_INTS,	 /* a list: "140,280" or "140..299" or "140..299:10" */
	SIM_KEY_CHOICES, /* a list of choices; "all" is every one */
	SIM_KEY_REALS,	 /* a list: "0.1,0.5,60" */
	SIM_KEY_TEXT,	 /* anything of at most `max` bytes */
};

struct sim_key {
	const char *name; /* unit last: timeout_ms */
	enum sim_key_kind kind;
	const char *fallback; /* its value when not given, in the form a user writes */
	double min, max;      /* INT, INTS, REAL, REALS; inclusive, within ±9e15 */
	const char *choices;  /* CHOICE, CHOICES: "none|budget|dagor" */
	const char *what;     /* one line */
};

/* A key of a kind that takes no choices, for headers that share some between lanes. */
#define SIM_KEY(name, kind, fallback, min, max, what)                                              \
	{                                                                                          \
		name, SIM_KEY_##kind, fallback, min, max, NULL, what                               \
	}

struct sim_setting {
	const struct sim_key *key;
	char *text;
	char *choices;	 /* CHOICE, CHOICES: each ended by a zero byte; else NULL */
	bool given;	 /* by the user, not the fallback */
	int64_t integer; /* INT; FLAG 0/1; CHOICE: index into choices */
	double real;	 /* REAL */
	int64_t *list;	 /* INTS; CHOICES: indices */
	double *reals;	 /* REALS */
	size_t list_count, list_capacity;
};

struct sim_options {
	struct sim_setting *settings;
	size_t count;
};

/* All keys at their fallbacks. A fallback that does not parse is a fault of the lane: aborts. */
void sim_options_init(struct sim_options *options, const struct sim_key *keys);
void sim_options_free(struct sim_options *options);
/* 0, or -1 with one line in `error` (SIM_ERROR_MAX bytes): name, value, accepted range. */
int sim_options_set(struct sim_options *options, const char *name, const char *value, char *error);
/* NULL when there is no such key. */
const struct sim_setting *sim_options_find(const struct sim_options *options, const char *name);
/* "1 … 100000" or "none, budget, dagor": what a key accepts, for help and errors. */
void sim_key_range(const struct sim_key *key, char *text, size_t text_bytes);
/* The i-th choice into `text`; false past the last one. */
bool sim_key_choice(const struct sim_key *key, size_t index, char *text, size_t text_bytes);
/* A whole decimal number within [min, max]; false otherwise. */
bool sim_parse_int(const char *text, int64_t min, int64_t max, int64_t *value);

#endif
