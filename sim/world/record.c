/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records what watched nodes see, and owns the list of files of a run in which all are recorded.
 */
#include <stdio.h>

#include "libcancel/recorder/recorder.h"
#include "sim/world/parts.h"

static struct {
	const char *path; /* NULL: not all are recorded */
	uint32_t count;
	bool failed;
	char failure[CANCEL_TEXT_MAX];
} all;

void sim_world_record_all(const char *path)
{
	all.path = path;
	all.count = 0;
	all.failed = false;
}

uint32_t sim_world_recorded(const char **failure)
{
	*failure = all.failed ? all.failure : NULL;
	return all.count;
}

static void resource_name(const void *arg, uint32_t index, char name[CANCEL_NAME_MAX])
{
	const struct sim_world *w = arg;
	const char *known = index < w->resource_count ? w->resources[index].options.name : NULL;
	snprintf(name, CANCEL_NAME_MAX, "%s", known ? known : "?");
}

/* A class is called as the first client whose tasks are of it. */
static void class_name(const void *arg, uint32_t index, char name[CANCEL_NAME_MAX])
{
	const struct sim_world *w = arg;
	const char *known = NULL;
	for (uint32_t i = w->client_count; i-- > 0;)
		if (w->clients[i].options.class_index == index)
			known = w->clients[i].options.name;
	snprintf(name, CANCEL_NAME_MAX, "%s", known ? known : "?");
}

static const char *choose_path(const struct sim_world *w, char next[RECORDER_PATH_MAX])
{
	if (w->options.record_path)
		return w->options.record_path;
	if (!all.path || all.failed || all.count == SIM_RECORDS_MAX)
		return NULL;
	if (++all.count == 1)
		return all.path;
	snprintf(next, RECORDER_PATH_MAX, "%s-%u", all.path, all.count);
	return next;
}

struct recorder *world_record_start(
	struct sim_world *w, const struct cancel_pipeline_config *config)
{
	char next[RECORDER_PATH_MAX], message[CANCEL_TEXT_MAX];
	const struct recorder_options options = {
		.path = choose_path(w, next),
		.names = { .resource = resource_name, .class_of = class_name, .arg = w },
		.fresh = true,
		.ledgers_only = w->options.ledgers_only,
	};
	if (!options.path)
		return NULL;
	struct recorder *recorder = recorder_open(&options, config, message);
	if (!recorder && !all.failed) {
		all.failed = true;
		snprintf(all.failure, sizeof all.failure, "%s", message);
	}
	return recorder;
}

void world_record(const struct world_node *node, const struct cancel_ledger *ledger)
{
	char message[CANCEL_TEXT_MAX];
	if (!node->recorder)
		return;
	recorder_take(node->recorder, ledger, node->verdict);
	if (!recorder_flush(node->recorder, message) && !all.failed) {
		all.failed = true;
		snprintf(all.failure, sizeof all.failure, "%s", message);
	}
}
