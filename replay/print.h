/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print.h - verdicts as text or JSON, the same bytes for the same verdicts.
 */
#ifndef REPLAY_PRINT_H
#define REPLAY_PRINT_H

#include <stdio.h>

#include "replay/replay.h"

struct printer {
	FILE *out;
	bool json, all; /* all: every look, not only those that bring news */
	uint32_t lines;
	/* What was printed last. */
	enum cancel_overload overload;
	char held[CANCEL_TEXT_MAX];
};

void print_begin(struct printer *p);
/* The last look of a replay. */
void print_look(struct printer *p, const struct replay *r);

struct print_summary {
	uint64_t looks, decisions, different; /* different: verdicts that are not as recorded */
	uint64_t digest;		      /* of all verdicts */
	bool recorded, changed; /* verdicts were recorded; judged under another configuration */
	uint64_t first_look;
	const char *stopped; /* why it ended early, or NULL */
};
void print_end(struct printer *p, const struct print_summary *summary);
void print_string(FILE *out, const char *text); /* as JSON has it, in quotes */

#endif
