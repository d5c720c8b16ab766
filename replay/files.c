/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel-replay FILE…: the verdicts of a record, as they were or as they would have been.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "replay/command.h"
#include "replay/print.h"

struct run {
	struct replay replay;
	struct printer printer;
	struct print_summary summary;
	char stopped[CANCEL_TEXT_MAX * 3];
};

static const char *decision_words(
	const struct replay *r, const struct cancel_verdict *v, char text[CANCEL_TEXT_MAX])
{
	if (!v->decided)
		return "nothing was decided";
	text_of_decision(&v->decision, &r->names, text);
	return text;
}

/* After another cancel the world would have gone another way than its record. */
static bool parts_from_record(struct run *run)
{
	const struct replay *r = &run->replay;
	const struct cancel_verdict *now = &r->verdict, *then = &r->recorded;
	char recorded[CANCEL_TEXT_MAX];
	if (!r->unchanged || !(now->cancel || then->cancel))
		return false;
	if (now->decided == then->decided && now->cancel == then->cancel &&
		now->decision.target.task == then->decision.target.task)
		return false;
	snprintf(run->stopped, sizeof run->stopped,
		"this is the first different cancel, at look %" PRIu64 "; as recorded: %s. From "
		"here on the record is of another course of things",
		r->reader.look_number, decision_words(r, then, recorded));
	run->summary.stopped = run->stopped;
	return true;
}

static void take_look(struct run *run)
{
	const struct replay *r = &run->replay;
	run->summary.looks++;
	run->summary.decisions += r->verdict.decided;
	run->summary.recorded |= r->reader.look.note.has_digest;
	run->summary.digest = run->summary.digest * 31 + record_digest(&r->verdict);
	run->summary.different += !replay_is_as_recorded(r);
	print_look(&run->printer, r);
}

/* 0 at the end of the file or where the ways part, -1 with a message. */
static int run_file(struct run *run)
{
	for (;;) {
		switch (replay_next(&run->replay)) {
		case REPLAY_LOOK:
			take_look(run);
			if (parts_from_record(run))
				return 0;
			break;
		case REPLAY_END:
			return 0;
		case REPLAY_ERROR:
			return -1;
		}
	}
}

static int run_files(struct run *run, const struct request *request)
{
	int status = run_file(run);
	for (int i = 1; status == 0 && !run->summary.stopped && i < request->count; i++) {
		status = replay_open_next(&run->replay, request->arguments[i]);
		if (status == 0)
			status = run_file(run);
	}
	return status;
}

int command_files(const struct request *request)
{
	struct run *run = calloc(1, sizeof *run);
	if (!run)
		return refuse("no memory");
	run->printer =
		(struct printer){ .out = stdout, .json = request->json, .all = request->all };
	if (replay_open(&run->replay, request->arguments[0], &request->changes) != 0) {
		refuse("%s", run->replay.message);
		replay_close(&run->replay);
		free(run);
		return REPLAY_USAGE;
	}
	run->summary.first_look = run->replay.reader.config.first_look;
	run->summary.changed = replay_changes_any(&request->changes);
	print_begin(&run->printer);
	int status = run_files(run, request) == 0 ? 0 : refuse("%s", run->replay.message);
	print_end(&run->printer, &run->summary);
	if (status == 0 && run->summary.different && run->summary.first_look == 1)
		status = REPLAY_FAULT;
	replay_close(&run->replay);
	free(run);
	return status;
}
