/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns a file in memory, its reader and the pipelines that judge what it holds.
 */
#include "replay/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcancel/base/histogram.h"

#define FILE_BYTES_MAX (1u << 30)

/* ---- Changes --------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	size_t offset;
	uint64_t min, max;
} thresholds[] = {
#define X(name, fallback, min, max, text)                                                          \
	{ #name, offsetof(struct cancel_pipeline_config, name), min, max },
	CANCEL_THRESHOLDS(X)
#undef X
};
#define THRESHOLDS (sizeof thresholds / sizeof thresholds[0])

static bool read_number(const char *text, uint64_t min, uint64_t max, uint32_t *number)
{
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	*number = (uint32_t)value;
	return text[0] >= '0' && text[0] <= '9' && !*end && !errno && value >= min && value <= max;
}

int replay_change_threshold(struct replay_changes *c, const char *name, const char *text,
	char message[REPLAY_MESSAGE_MAX])
{
	uint32_t value, at = 0;
	while (at < THRESHOLDS && strcmp(thresholds[at].name, name) != 0)
		at++;
	if (at == THRESHOLDS) {
		snprintf(message, REPLAY_MESSAGE_MAX,
			"there is no threshold '%.60s'; docs/thresholds.md lists them", name);
		return -1;
	}
	if (!read_number(text, thresholds[at].min, thresholds[at].max, &value)) {
		snprintf(message, REPLAY_MESSAGE_MAX,
			"%s: '%.60s' is not accepted; it takes %llu to %llu", name, text,
			(unsigned long long)thresholds[at].min,
			(unsigned long long)thresholds[at].max);
		return -1;
	}
	if (c->set_count == REPLAY_SETS_MAX) {
		snprintf(message, REPLAY_MESSAGE_MAX, "at most %d of them", REPLAY_SETS_MAX);
		return -1;
	}
	c->sets[c->set_count].offset = thresholds[at].offset;
	c->sets[c->set_count++].value = value;
	return 0;
}

bool replay_changes_any(const struct replay_changes *c)
{
	return c->defaults || c->policy || c->estimator || c->set_count || c->has_slo;
}

static void apply_changes(const struct replay_changes *c, struct cancel_pipeline_config *config)
{
	if (c->defaults)
		*config = (struct cancel_pipeline_config){ .struct_size = sizeof *config,
			.task_limit = config->task_limit,
			.act = config->act,
			.window_ms = config->window_ms };
	if (c->policy)
		config->policy = c->policy;
	if (c->estimator)
		config->estimator = c->estimator;
	for (uint32_t i = 0; i < c->set_count; i++)
		memcpy((char *)config + c->sets[i].offset, &c->sets[i].value,
			sizeof c->sets[i].value);
}

/* The ledger as it would be with another SLO. Which of the ended were late is known from their
 * latencies, to a bucket's width. */
static void change_slo(struct record_look *look, uint64_t slo_ns)
{
	struct cancel_ledger *l = &look->ledger;
	uint64_t late = 0;
	for (uint32_t i = 0; i < l->task_count; i++)
		if (look->tasks[i].slo_ns)
			look->tasks[i].slo_ns = slo_ns;
	for (uint32_t i = 0; i < CANCEL_HISTOGRAM_MAX; i++)
		if (l->latency[i] && histogram_middle_ns(i) > slo_ns)
			late += l->latency[i];
	l->late = late;
}

/* ---- Files ----------------------------------------------------------------------------------- */

static int fail(struct replay *r, const char *what)
{
	snprintf(r->message, sizeof r->message, "%.300s: %s", r->path, what);
	return -1;
}

static int fail_to_read(struct replay *r)
{
	snprintf(r->message, sizeof r->message, "%.300s: byte %zu: %s", r->path, r->reader.error_at,
		r->reader.error);
	return -1;
}

static int load(struct replay *r)
{
	struct stat there;
	int file = open(r->path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return fail(r, strerror(errno));
	const char *error = NULL;
	if (fstat(file, &there) != 0)
		error = strerror(errno);
	else if (!S_ISREG(there.st_mode))
		error = "not a regular file";
	else if (there.st_size > FILE_BYTES_MAX)
		error = "over 1 GiB: no recorder writes such a file";
	if (!error) {
		r->size = (size_t)there.st_size;
		r->bytes = malloc(r->size + 1);
		if (!r->bytes || read(file, r->bytes, r->size) != (ssize_t)r->size)
			error = r->bytes ? "it cannot be read whole" : "no memory";
	}
	close(file);
	return error ? fail(r, error) : 0;
}

static void resource_name(const void *arg, uint32_t index, char name[CANCEL_NAME_MAX])
{
	const struct record_names *names = arg;
	bool known = index < CANCEL_RESOURCES_MAX && names->resources[index][0];
	snprintf(name, CANCEL_NAME_MAX, "%s", known ? names->resources[index] : "?");
}

static void class_name(const void *arg, uint32_t index, char name[CANCEL_NAME_MAX])
{
	const struct record_names *names = arg;
	bool known = index < CANCEL_CLASSES_MAX && names->classes[index][0];
	snprintf(name, CANCEL_NAME_MAX, "%s", known ? names->classes[index] : "?");
}

static int open_reader(struct replay *r)
{
	if (load(r) != 0)
		return -1;
	if (record_open(&r->reader, r->bytes, r->size) != 0)
		return fail_to_read(r);
	void *block = calloc(1, record_reader_bytes(&r->reader));
	if (!block)
		return fail(r, "no memory");
	record_attach(&r->reader, block);
	r->names = (struct text_names){ resource_name, class_name, &r->reader.names };
	return 0;
}

static void close_reader(struct replay *r)
{
	free(r->reader.state);
	free(r->bytes);
	r->reader.state = NULL;
	r->bytes = NULL;
}

/* ---- Pipelines ------------------------------------------------------------------------------- */

/* The configuration as recorded. A policy that is not built in is a host's own. */
static int find_policy(struct replay *r, struct cancel_pipeline_config *config)
{
	const struct record_config *c = &r->reader.config;
	*config = c->pipeline;
	config->policy = cancel_policy_find(c->policy);
	config->estimator = cancel_estimator_find(c->estimator);
	if (!config->policy && !r->changes.policy && !r->changes.defaults) {
		snprintf(r->message, sizeof r->message,
			"%.300s: the policy '%s' is the host's own: choose another with --policy",
			r->path, c->policy);
		return -1;
	}
	if (!config->estimator && !r->changes.estimator && !r->changes.defaults) {
		snprintf(r->message, sizeof r->message,
			"%.300s: the estimator '%s' is the host's own: choose another with "
			"--estimator",
			r->path, c->estimator);
		return -1;
	}
	return 0;
}

static struct cancel_pipeline *make_pipeline(const struct cancel_pipeline_config *config)
{
	size_t bytes = cancel_pipeline_bytes(config);
	struct cancel_pipeline *pipeline = bytes ? malloc(bytes) : NULL;
	if (pipeline && cancel_pipeline_init(pipeline, bytes, config) != 0) {
		free(pipeline);
		return NULL;
	}
	return pipeline;
}

static void free_pipelines(struct replay *r)
{
	free(r->pipeline);
	free(r->unchanged);
	r->pipeline = NULL;
	r->unchanged = NULL;
}

static int begin_pipelines(struct replay *r)
{
	struct cancel_pipeline_config config;
	free_pipelines(r);
	if (find_policy(r, &config) != 0)
		return -1;
	if (replay_changes_any(&r->changes) && !r->changes.alone) {
		r->unchanged = make_pipeline(&config);
		if (!r->unchanged)
			return fail(r, "its configuration is out of range");
	}
	apply_changes(&r->changes, &config);
	r->pipeline = make_pipeline(&config);
	return r->pipeline ? 0 : fail(r, "its configuration is out of range");
}

static int configure(struct replay *r)
{
	struct cancel_pipeline_config config;
	if (find_policy(r, &config) != 0)
		return -1;
	if (r->unchanged && cancel_pipeline_configure(r->unchanged, &config) != 0)
		return fail(r, "a changed configuration is out of range");
	apply_changes(&r->changes, &config);
	return cancel_pipeline_configure(r->pipeline, &config) == 0
		       ? 0
		       : fail(r, "a changed configuration is out of range");
}

/* ---- The whole ------------------------------------------------------------------------------- */

int replay_open(struct replay *r, const char *path, const struct replay_changes *changes)
{
	*r = (struct replay){ .path = path, .changes = *changes };
	return open_reader(r) == 0 ? begin_pipelines(r) : -1;
}

int replay_open_next(struct replay *r, const char *path)
{
	uint64_t last = r->reader.look_number;
	close_reader(r);
	r->path = path;
	if (open_reader(r) != 0)
		return -1;
	if (r->reader.config.first_look == last + 1)
		return configure(r);
	snprintf(r->message, sizeof r->message,
		"%.300s: it begins with look %llu, and the file before it ends with look %llu",
		path, (unsigned long long)r->reader.config.first_look, (unsigned long long)last);
	return -1;
}

void replay_close(struct replay *r)
{
	close_reader(r);
	free_pipelines(r);
}

static void judge(struct replay *r)
{
	struct record_look *look = &r->reader.look;
	if (!r->looks++)
		r->first_ns = look->ledger.now_ns;
	if (r->unchanged)
		cancel_pipeline_step(r->unchanged, &look->ledger, &r->recorded);
	if (r->changes.has_slo)
		change_slo(look, r->changes.slo_ns);
	cancel_pipeline_step(r->pipeline, &look->ledger, &r->verdict);
}

enum replay_step replay_next(struct replay *r)
{
	for (;;) {
		switch (record_next(&r->reader)) {
		case RECORD_ITEM_LOOK:
			judge(r);
			return REPLAY_LOOK;
		case RECORD_ITEM_CONFIG:
			if (configure(r) != 0)
				return REPLAY_ERROR;
			break;
		case RECORD_ITEM_END:
			return REPLAY_END;
		case RECORD_ITEM_ERROR:
			fail_to_read(r);
			return REPLAY_ERROR;
		}
	}
}

bool replay_is_as_recorded(const struct replay *r)
{
	const struct record_note *note = &r->reader.look.note;
	const struct cancel_verdict *v = r->unchanged ? &r->recorded : &r->verdict;
	char text[CANCEL_TEXT_MAX] = "";
	if (!note->has_digest)
		return true;
	if (v->decided)
		text_of_decision(&v->decision, &r->names, text);
	return note->digest == record_short_digest(v) && strlen(text) == note->text_bytes &&
	       (!note->text || memcmp(text, note->text, note->text_bytes) == 0);
}
