/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the recorder of the running library, and what its files call resources and classes.
 */
#include "libcancel/control/recording.h"

#include <stdio.h>

#include "libcancel/control/log.h"
#include "libcancel/recorder/recorder.h"
#include "libcancel/track/library_state.h"

static struct recorder *recorder;

static void resource_name(const void *arg, uint32_t index, char name[CANCEL_NAME_MAX])
{
	(void)arg;
	cancel_resource_name((int)index, name);
}

static void class_name(const void *arg, uint32_t index, char name[CANCEL_NAME_MAX])
{
	(void)arg;
	bool known = index < load_relaxed(&library_state.class_count);
	snprintf(name, CANCEL_NAME_MAX, "%s", known ? library_state.classes[index].name : "?");
}

const struct text_names library_names = { .resource = resource_name, .class_of = class_name };

int recording_start(const struct options *o)
{
	char message[CANCEL_TEXT_MAX];
	const struct recorder_options options = {
		.path = o->record, .names = library_names, .flight = o->record_flight
	};
	recorder = NULL;
	if (!o->record[0])
		return 0;
	recorder = recorder_open(&options, &o->pipeline, message);
	if (recorder)
		return 0;
	log_line("%s", message);
	return o->record_must ? CANCEL_EINVAL : 0;
}

void recording_stop(void)
{
	recorder_close(recorder);
	recorder = NULL;
}

void recording_abandon(void)
{
	recorder_abandon(recorder);
	recorder = NULL;
}

bool recording_is_on(void)
{
	return recorder != NULL;
}

void recording_configure(const struct cancel_pipeline_config *config)
{
	if (recorder)
		recorder_configure(recorder, config);
}

void recording_take(const struct cancel_ledger *ledger, const struct cancel_verdict *verdict)
{
	if (recorder)
		recorder_take(recorder, ledger, verdict);
}

void recording_flush(void)
{
	char message[CANCEL_TEXT_MAX];
	if (recorder && !recorder_flush(recorder, message))
		log_line("%s", message);
}
