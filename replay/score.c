/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel-replay score FOLDER…: how often the core is right on records whose culprits are known.
 *
 * A decision is right when its target is a culprit of the file at that time. An incident is found
 * when a decision is right about any of its culprits; the time to decide runs from the first of
 * them. Wrong decisions an hour are those in files without a culprit. The core is judged with its
 * defaults of today, not with the thresholds of the recording.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "common/quantile.h"
#include "replay/command.h"
#include "replay/labels.h"
#include "replay/print.h"

#define FAMILIES_MAX 64u
#define NS_PER_MS    1000000u

struct tally {
	char name[LABEL_NAME_MAX];
	uint32_t files, incidents, found, right, wrong;
	uint32_t wrong_without; /* in files without a culprit */
	uint64_t seconds_without;
};

struct score {
	const struct request *request;
	struct tally all, families[FAMILIES_MAX];
	uint32_t family_count;
	double *decide_ms;
	uint32_t decided_count, decided_room;
	uint64_t looks, tasks, bytes;
	char message[REPLAY_MESSAGE_MAX];
};

/* ---- Counting -------------------------------------------------------------------------------- */

/* "lock-exclusive-017" is of the family "lock-exclusive". */
static struct tally *family_of(struct score *s, const char *name)
{
	const char *dash = strrchr(name, '-');
	size_t length = dash ? (size_t)(dash - name) : strlen(name);
	for (uint32_t i = 0; i < s->family_count; i++)
		if (strlen(s->families[i].name) == length &&
			strncmp(s->families[i].name, name, length) == 0)
			return &s->families[i];
	uint32_t next = s->family_count < FAMILIES_MAX - 1 ? s->family_count++ : FAMILIES_MAX - 1;
	snprintf(s->families[next].name, LABEL_NAME_MAX, "%.*s", (int)length, name);
	return &s->families[next];
}

static const struct label_culprit *find_culprit(
	const struct label_file *file, uint64_t key, uint64_t now_ms)
{
	for (uint32_t i = 0; i < file->culprit_count; i++) {
		const struct label_culprit *c = &file->culprits[i];
		if (c->key == key && c->from_ms <= now_ms && now_ms <= c->to_ms)
			return c;
	}
	return NULL;
}

static uint64_t begin_of(const struct label_file *file, uint32_t incident)
{
	uint64_t begin_ms = UINT64_MAX;
	for (uint32_t i = 0; i < file->culprit_count; i++)
		if (file->culprits[i].incident == incident && file->culprits[i].from_ms < begin_ms)
			begin_ms = file->culprits[i].from_ms;
	return begin_ms;
}

static int add_time(struct score *s, double ms)
{
	if (s->decided_count == s->decided_room) {
		s->decided_room = s->decided_room ? 2 * s->decided_room : 64;
		double *grown = realloc(s->decide_ms, s->decided_room * sizeof *grown);
		if (!grown)
			return -1;
		s->decide_ms = grown;
	}
	s->decide_ms[s->decided_count++] = ms;
	return 0;
}

/* Incidents are numbered from 1 in each file; bit n of `found` is for number n. */
static int take_decision(struct score *s, const struct label_file *file, struct tally *family,
	const struct replay *r, uint64_t *found)
{
	uint64_t now_ms = r->verdict.now_ns / NS_PER_MS;
	const struct label_culprit *c = find_culprit(file, r->verdict.decision.target.key, now_ms);
	if (!c) {
		family->wrong++;
		family->wrong_without += file->kind != LABEL_CULPRIT;
		return 0;
	}
	family->right++;
	if (*found >> c->incident % 64 & 1)
		return 0;
	*found |= (uint64_t)1 << c->incident % 64;
	family->found++;
	return add_time(s, (double)(now_ms - begin_of(file, c->incident)));
}

static uint32_t count_incidents(const struct label_file *file)
{
	uint64_t seen = 0;
	for (uint32_t i = 0; i < file->culprit_count; i++)
		seen |= (uint64_t)1 << file->culprits[i].incident % 64;
	return (uint32_t)__builtin_popcountll(seen);
}

static int score_replay(struct score *s, const struct label_file *file, struct replay *r)
{
	struct tally *family = family_of(s, file->name);
	uint64_t found = 0;
	enum replay_step step;
	family->files++;
	family->incidents += count_incidents(file);
	if (file->kind != LABEL_CULPRIT)
		family->seconds_without += file->seconds;
	while ((step = replay_next(r)) == REPLAY_LOOK) {
		s->looks++;
		s->tasks += r->reader.look.ledger.task_count;
		if (r->verdict.decided && take_decision(s, file, family, r, &found) != 0)
			return -1;
	}
	s->bytes += r->size;
	return step == REPLAY_END ? 0 : -1;
}

static int score_file(struct score *s, const char *folder, const struct label_file *file)
{
	struct replay *r = malloc(sizeof *r);
	char path[REPLAY_MESSAGE_MAX / 2];
	if (!r)
		return -1;
	snprintf(path, sizeof path, "%s/%s.rec", folder, file->name);
	struct replay_changes changes = s->request->changes;
	changes.defaults = true;
	changes.alone = true;
	int status = replay_open(r, path, &changes);
	if (status == 0)
		status = score_replay(s, file, r);
	snprintf(s->message, sizeof s->message, "%s", r->message[0] ? r->message : "no memory");
	replay_close(r);
	free(r);
	return status;
}

static int score_folder(struct score *s, const char *folder)
{
	struct labels labels;
	int status = labels_read(&labels, folder, s->message);
	for (uint32_t i = 0; status == 0 && i < labels.count; i++)
		status = score_file(s, folder, &labels.files[i]);
	labels_free(&labels);
	return status;
}

/* ---- Printing -------------------------------------------------------------------------------- */

static void add_up(struct score *s)
{
	for (uint32_t i = 0; i < s->family_count; i++) {
		const struct tally *t = &s->families[i];
		s->all.files += t->files;
		s->all.incidents += t->incidents;
		s->all.found += t->found;
		s->all.right += t->right;
		s->all.wrong += t->wrong;
		s->all.wrong_without += t->wrong_without;
		s->all.seconds_without += t->seconds_without;
	}
	sort_doubles(s->decide_ms, s->decided_count);
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 1;
}

static double an_hour(const struct tally *t)
{
	return t->seconds_without ? t->wrong_without * 3600.0 / (double)t->seconds_without : 0;
}

static double bytes_a_task(const struct score *s)
{
	return s->tasks ? (double)s->bytes / (double)s->tasks : 0;
}

static void print_text(const struct score *s)
{
	printf("%-20s %5s %9s %6s %6s %6s %8s %9s\n", "family", "files", "incidents", "found",
		"right", "wrong", "hours", "wrong/h");
	for (uint32_t i = 0; i <= s->family_count; i++) {
		const struct tally *t = i < s->family_count ? &s->families[i] : &s->all;
		printf("%-20s %5u %9u %6u %6u %6u %8.2f %9.2f\n",
			i < s->family_count ? t->name : "all", t->files, t->incidents, t->found,
			t->right, t->wrong, (double)t->seconds_without / 3600, an_hour(t));
	}
	printf("\nprecision %.4f, recall %.4f, wrong decisions an hour %.2f (in %.2f h without a "
	       "culprit)\ntime to decide: median %.0f ms, p95 %.0f ms\n%" PRIu64
	       " looks, %.1f tasks a look, %.1f bytes a task and look\n",
		share(s->all.right, s->all.right + s->all.wrong),
		share(s->all.found, s->all.incidents), an_hour(&s->all),
		(double)s->all.seconds_without / 3600,
		quantile_of(s->decide_ms, s->decided_count, 0.5),
		quantile_of(s->decide_ms, s->decided_count, 0.95), s->looks,
		s->looks ? (double)s->tasks / (double)s->looks : 0, bytes_a_task(s));
}

static void print_tally(const struct tally *t)
{
	printf("\"files\":%u,\"incidents\":%u,\"found\":%u,\"right\":%u,\"wrong\":%u,"
	       "\"wrong_without_culprit\":%u,\"hours_without_culprit\":%.3f",
		t->files, t->incidents, t->found, t->right, t->wrong, t->wrong_without,
		(double)t->seconds_without / 3600);
}

static void print_json(const struct score *s)
{
	printf("{\"precision\":%.4f,\"recall\":%.4f,\"wrong_an_hour\":%.3f,"
	       "\"decide_ms\":{\"median\":%.0f,\"p95\":%.0f},\n",
		share(s->all.right, s->all.right + s->all.wrong),
		share(s->all.found, s->all.incidents), an_hour(&s->all),
		quantile_of(s->decide_ms, s->decided_count, 0.5),
		quantile_of(s->decide_ms, s->decided_count, 0.95));
	print_tally(&s->all);
	printf(",\n\"looks\":%" PRIu64
	       ",\"tasks_a_look\":%.2f,\"bytes_a_task\":%.2f,\n\"families\":{",
		s->looks, s->looks ? (double)s->tasks / (double)s->looks : 0, bytes_a_task(s));
	for (uint32_t i = 0; i < s->family_count; i++) {
		printf("%s\n", i ? "," : "");
		print_string(stdout, s->families[i].name);
		printf(":{");
		print_tally(&s->families[i]);
		printf("}");
	}
	puts("}}");
}

int command_score(const struct request *request)
{
	struct score *s = calloc(1, sizeof *s);
	int status = 0;
	if (!s)
		return refuse("no memory");
	s->request = request;
	for (int i = 0; status == 0 && i < request->count; i++)
		status = score_folder(s, request->arguments[i]);
	if (status != 0) {
		status = refuse("%s", s->message);
	} else {
		add_up(s);
		if (request->json)
			print_json(s);
		else
			print_text(s);
	}
	free(s->decide_ms);
	free(s);
	return status;
}
