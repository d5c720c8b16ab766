/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.h - a record judged again: each ledger goes through the core as it did when it was
 * recorded, or under another configuration.
 */
#ifndef REPLAY_REPLAY_H
#define REPLAY_REPLAY_H

#include "libcancel/record/record.h"
#include "libcancel/recorder/text.h"

#define REPLAY_FAULT	   1 /* exit status: the verdicts differ, or no memory */
#define REPLAY_USAGE	   2 /* bad input; one line was printed */
#define REPLAY_MESSAGE_MAX 512
#define REPLAY_SETS_MAX	   32

/* What is to be another than at recording. */
struct replay_changes {
	bool defaults; /* today's policy, estimator and thresholds in place of the recorded */
	const struct cancel_policy *policy;	  /* NULL: as recorded */
	const struct cancel_estimator *estimator; /* NULL: as recorded */
	struct {
		size_t offset; /* in struct cancel_pipeline_config */
		uint32_t value;
	} sets[REPLAY_SETS_MAX];
	uint32_t set_count;
	bool has_slo, alone; /* alone: without the verdict as it would be unchanged */
	uint64_t slo_ns;     /* of every task that bears one */
};

/* 0, or -1 with one line in `message`. */
int replay_change_threshold(struct replay_changes *changes, const char *name, const char *value,
	char message[REPLAY_MESSAGE_MAX]);
bool replay_changes_any(const struct replay_changes *changes);

struct replay {
	const char *path;
	struct replay_changes changes;
	void *bytes;
	size_t size;
	struct record_reader reader;
	struct text_names names;
	struct cancel_pipeline *pipeline;
	struct cancel_verdict verdict;
	/* With changes: the verdict without them, from a pipeline of its own. */
	struct cancel_pipeline *unchanged;
	struct cancel_verdict recorded;
	uint64_t first_ns; /* of the first look: times are shown from there */
	uint64_t looks;
	char message[REPLAY_MESSAGE_MAX];
};

/* Each gives 0, or -1 with `message`. A later file goes on where the earlier ended. */
int replay_open(struct replay *r, const char *path, const struct replay_changes *changes);
int replay_open_next(struct replay *r, const char *path);
void replay_close(struct replay *r);

enum replay_step { REPLAY_LOOK, REPLAY_END, REPLAY_ERROR };
/* Judges the next look. */
enum replay_step replay_next(struct replay *r);

/* Was the last look's verdict the recorded one? True where none was recorded. */
bool replay_is_as_recorded(const struct replay *r);

#endif
