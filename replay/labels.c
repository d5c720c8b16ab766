/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads labels.txt.
 */
#include "replay/labels.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define LINE_ROOM 512

static const char *const kind_names[] = { "culprit", "decoy", "healthy" };

static void *grow(void *array, uint32_t count, size_t size)
{
	if (count & (count - 1)) /* grows at powers of two */
		return array;
	void *grown = realloc(array, (count ? 2u * count : 1u) * size);
	if (!grown)
		free(array);
	return grown;
}

static const char *add_file(struct labels *labels, const char *line)
{
	char kind[16];
	struct label_file file = { 0 };
	if (sscanf(line, "file %63s %15s %" SCNu32, file.name, kind, &file.seconds) != 3)
		return "a file's line is: file NAME KIND SECONDS what";
	if (strchr(file.name, '/'))
		return "a name has no folder";
	while (file.kind <= LABEL_HEALTHY && strcmp(kind, kind_names[file.kind]) != 0)
		file.kind++;
	if (file.kind > LABEL_HEALTHY)
		return "a kind is one of culprit, decoy, healthy";
	labels->files = grow(labels->files, labels->count, sizeof *labels->files);
	if (!labels->files) {
		labels->count = 0;
		return "no memory";
	}
	labels->files[labels->count++] = file;
	return NULL;
}

static const char *add_culprit(struct labels *labels, const char *line)
{
	struct label_culprit c;
	if (sscanf(line, "culprit %" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu64, &c.incident,
		    &c.key, &c.from_ms, &c.to_ms) != 4)
		return "a culprit's line is: culprit INCIDENT KEY FROM_MS TO_MS";
	if (!labels->count || labels->files[labels->count - 1].kind != LABEL_CULPRIT)
		return "a culprit belongs to a file of kind culprit above it";
	struct label_file *file = &labels->files[labels->count - 1];
	file->culprits = grow(file->culprits, file->culprit_count, sizeof *file->culprits);
	if (!file->culprits) {
		file->culprit_count = 0;
		return "no memory";
	}
	file->culprits[file->culprit_count++] = c;
	return NULL;
}

static const char *take_line(struct labels *labels, const char *line)
{
	if (line[0] == '#' || line[0] == '\n')
		return NULL;
	if (strncmp(line, "file ", 5) == 0)
		return add_file(labels, line);
	if (strncmp(line, "culprit ", 8) == 0)
		return add_culprit(labels, line);
	return "neither a file nor a culprit";
}

int labels_read(struct labels *labels, const char *folder, char message[REPLAY_MESSAGE_MAX])
{
	char path[REPLAY_MESSAGE_MAX / 2], line[LINE_ROOM];
	const char *error = NULL;
	unsigned number = 0;
	*labels = (struct labels){ 0 };
	snprintf(path, sizeof path, "%s/labels.txt", folder);
	FILE *in = fopen(path, "r");
	if (!in) {
		snprintf(message, REPLAY_MESSAGE_MAX, "%s: %s", path, strerror(errno));
		return -1;
	}
	while (!error && fgets(line, sizeof line, in)) {
		number++;
		error = take_line(labels, line);
	}
	fclose(in);
	if (!error)
		return 0;
	snprintf(message, REPLAY_MESSAGE_MAX, "%s:%u: %s", path, number, error);
	labels_free(labels);
	return -1;
}

void labels_free(struct labels *labels)
{
	for (uint32_t i = 0; i < labels->count; i++)
		free(labels->files[i].culprits);
	free(labels->files);
	*labels = (struct labels){ 0 };
}
