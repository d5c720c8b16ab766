/* SPDX-License-Identifier: Apache-2.0 */
/*
 * labels.h - what is known of the records in a folder: FOLDER/labels.txt.
 *
 *	# a comment
 *	file NAME KIND SECONDS what it shows
 *	culprit INCIDENT KEY FROM_MS TO_MS
 *
 * NAME is the record's, without ".rec". KIND is culprit, decoy or healthy; SECONDS how long it is.
 * A line of a culprit belongs to the file above it: the task with that KEY is to be cancelled, from
 * when to when in the record's own clock. Of the tasks of one INCIDENT (from 1) any will do.
 */
#ifndef REPLAY_LABELS_H
#define REPLAY_LABELS_H

#include "replay/replay.h"

#define LABEL_NAME_MAX 64

enum label_kind { LABEL_CULPRIT, LABEL_DECOY, LABEL_HEALTHY };

struct label_culprit {
	uint32_t incident;
	uint64_t key, from_ms, to_ms;
};

struct label_file {
	char name[LABEL_NAME_MAX];
	enum label_kind kind;
	uint32_t seconds;
	struct label_culprit *culprits;
	uint32_t culprit_count;
};

struct labels {
	struct label_file *files;
	uint32_t count;
};

/* 0, or -1 with "FILE:LINE: …". */
int labels_read(struct labels *labels, const char *folder, char message[REPLAY_MESSAGE_MAX]);
void labels_free(struct labels *labels);

#endif
