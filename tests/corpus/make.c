/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corpus_make FOLDER: makes the corpus anew, FOLDER/choose and FOLDER/report with records and
 * labels. The same bytes on every machine.
 *
 * A label is read from the record: the first look at which a culprit has, or waits for, what it
 * chokes, and the last at which it is there. A scene in which an incident harms nobody is drawn
 * again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/hash.h"
#include "libcancel/record/record.h"
#include "scene.h"

#define ATTEMPTS_MAX   60u
#define CULPRITS_MAX   32u
#define CORPUS_BYTES   30000000u
#define HALF_CULPRITS  120u
#define HALF_SECONDS   10800u
#define LATE_LEAST     10u
#define LATE_SHARE_PCT 10u
#define MS	       1000000u

struct culprit {
	uint64_t key, from_ms, to_ms;
	uint32_t incident;
	uint64_t late_before, late_after, ended_before, ended_after;
};

struct half {
	const char *name;
	FILE *labels;
	uint32_t culprit_files, other_files;
	uint64_t seconds, bytes;
};

struct maker {
	const char *folder;
	struct half halves[2];
	struct scene scene;
	struct culprit culprits[CULPRITS_MAX];
	uint32_t culprit_count;
	void *bytes;
	size_t size;
};

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "corpus_make: %s: %s\n", what, why);
	return -1;
}

/* ---- Labels ---------------------------------------------------------------------------------- */

static const struct cancel_ledger_entry *entry_on(
	const struct cancel_ledger *l, const struct cancel_ledger_task *t, uint32_t resource)
{
	for (uint32_t i = 0; i < t->entry_count; i++)
		if (l->entries[t->first_entry + i].resource == resource)
			return &l->entries[t->first_entry + i];
	return NULL;
}

/* Since when a task chokes; 0: it does not. */
static uint64_t harm_since_ns(
	const struct scene *s, const struct cancel_ledger *l, const struct cancel_ledger_task *t)
{
	const struct cancel_ledger_entry *entry = entry_on(l, t, s->on);
	if (!entry)
		return 0;
	return s->waiter ? entry->waiting_since_ns : entry->held ? entry->held_since_ns : 0;
}

/* Requests that are late: those that ended and those that are there. */
static uint64_t count_late(const struct cancel_ledger *l)
{
	uint64_t late = l->late;
	for (uint32_t i = 0; i < l->task_count; i++) {
		const struct cancel_ledger_task *t = &l->tasks[i];
		late += t->slo_ns && l->now_ns - t->episode_start_ns > t->slo_ns;
	}
	return late;
}

static struct culprit *find(struct maker *m, uint64_t key)
{
	for (uint32_t i = 0; i < m->culprit_count; i++)
		if (m->culprits[i].key == key)
			return &m->culprits[i];
	return NULL;
}

static void take_culprit(
	struct maker *m, const struct cancel_ledger *l, const struct cancel_ledger_task *t)
{
	struct culprit *c = find(m, t->key);
	uint64_t since_ns = c ? 0 : harm_since_ns(&m->scene, l, t);
	if (!c && since_ns && m->culprit_count < CULPRITS_MAX) {
		c = &m->culprits[m->culprit_count++];
		*c = (struct culprit){ .key = t->key,
			.from_ms = since_ns / MS,
			.incident = m->scene.one_incident ? 1 : m->culprit_count,
			.late_before = count_late(l),
			.ended_before = l->completed };
	}
	if (!c)
		return;
	c->to_ms = l->now_ns / MS;
	c->late_after = count_late(l);
	c->ended_after = l->completed;
}

static int read_labels(struct maker *m)
{
	struct record_reader r;
	enum record_item item;
	m->culprit_count = 0;
	if (record_open(&r, m->bytes, m->size) != 0)
		return fail("a record", r.error);
	void *block = calloc(1, record_reader_bytes(&r));
	if (!block)
		return fail("a record", "no memory");
	record_attach(&r, block);
	while ((item = record_next(&r)) == RECORD_ITEM_LOOK)
		for (uint32_t i = 0; i < r.look.ledger.task_count; i++)
			if (m->scene.culprits >> (r.look.tasks[i].key >> 32) & 1)
				take_culprit(m, &r.look.ledger, &r.look.tasks[i]);
	free(block);
	return item == RECORD_ITEM_END ? 0 : fail("a record", r.error);
}

static bool harms(const struct culprit *c)
{
	uint64_t late = c->late_after - c->late_before;
	uint64_t seen = c->ended_after - c->ended_before + late;
	return late >= LATE_LEAST && late * 100 >= seen * LATE_SHARE_PCT;
}

/* Every incident harms; of those with several culprits, the incident as a whole. */
static bool is_good(const struct maker *m)
{
	struct culprit all = { 0 };
	if (!m->scene.culprit)
		return true;
	for (uint32_t i = 0; i < m->culprit_count; i++) {
		const struct culprit *c = &m->culprits[i];
		if (!m->scene.one_incident && !harms(c))
			return false;
		if (i == 0)
			all = *c;
		all.late_after = c->late_after > all.late_after ? c->late_after : all.late_after;
		all.ended_after =
			c->ended_after > all.ended_after ? c->ended_after : all.ended_after;
	}
	return m->culprit_count > 0 && harms(&all);
}

/* ---- One record ------------------------------------------------------------------------------ */

static int run_scene(struct scene *s, const char *path)
{
	const struct cancel_pipeline_config monitor = { .struct_size = sizeof monitor };
	const char *why = NULL;
	struct sim_world_options options = s->options;
	options.pipeline = &monitor;
	options.record_path = path;
	struct sim_world *w = sim_world_new(&options, &why);
	if (!w)
		return fail(path, why);
	bool built = sim_world_resources(w, s->resources, SCENE_RESOURCES) &&
		     sim_world_scripts(w, s->scripts, s->script_count) &&
		     sim_world_clients(w, s->clients, s->client_count);
	int status = built ? sim_world_run(w) : fail(path, "the scene does not fit a world");
	struct sim_result result;
	sim_world_result(w, &result);
	if (built && status != 0)
		fail(path, result.broken ? result.broken : result.bound);
	sim_world_free(w);
	return status;
}

static int load(struct maker *m, const char *path)
{
	struct stat there;
	free(m->bytes);
	m->bytes = NULL;
	FILE *in = fopen(path, "r");
	if (!in || stat(path, &there) != 0)
		return fail(path, strerror(errno));
	m->size = (size_t)there.st_size;
	m->bytes = malloc(m->size);
	bool whole = m->bytes && fread(m->bytes, 1, m->size, in) == m->size;
	fclose(in);
	return whole ? 0 : fail(path, "it cannot be read");
}

static void write_label(struct maker *m, struct half *half, const char *name)
{
	const struct scene *s = &m->scene;
	fprintf(half->labels, "file %s %s %u %s\n", name,
		s->culprit ? "culprit"
		: s->decoy ? "decoy"
			   : "healthy",
		s->seconds, s->what);
	for (uint32_t i = 0; i < m->culprit_count; i++) {
		const struct culprit *c = &m->culprits[i];
		fprintf(half->labels, "culprit %u %llu %llu %llu\n", c->incident,
			(unsigned long long)c->key, (unsigned long long)c->from_ms,
			(unsigned long long)c->to_ms);
	}
	half->bytes += m->size;
	half->culprit_files += s->culprit;
	half->other_files += !s->culprit;
	half->seconds += s->culprit ? 0 : s->seconds;
}

static int make_file(struct maker *m, const struct scene_family *family, uint32_t number)
{
	char name[64], path[512];
	snprintf(name, sizeof name, "%s-%03u", family->name, number);
	struct half *half = &m->halves[sim_hash(hash_text(name)) & 1];
	snprintf(path, sizeof path, "%s/%s/%s.rec", m->folder, half->name, name);
	for (uint32_t attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
		scene_build(&m->scene, family, number, attempt);
		if (run_scene(&m->scene, path) != 0 || chmod(path, 0644) != 0 ||
			load(m, path) != 0 || read_labels(m) != 0)
			return -1;
		if (is_good(m)) {
			write_label(m, half, name);
			return 0;
		}
	}
	return fail(name, "no scene of the family harms anybody");
}

/* ---- All of them ----------------------------------------------------------------------------- */

static int open_half(struct maker *m, struct half *half, const char *name)
{
	char path[512];
	half->name = name;
	snprintf(path, sizeof path, "%s/%s", m->folder, name);
	if (mkdir(path, 0755) != 0 && errno != EEXIST)
		return fail(path, strerror(errno));
	snprintf(path, sizeof path, "%s/%s/labels.txt", m->folder, name);
	half->labels = fopen(path, "w");
	if (!half->labels)
		return fail(path, strerror(errno));
	fprintf(half->labels,
		"# Made by corpus_make; tests/corpus/README.md says what stands here.\n");
	return 0;
}

static int close_half(struct half *half)
{
	int status = fclose(half->labels);
	printf("%s: %u files with a culprit, %u without in %.2f hours, %.1f MB\n", half->name,
		half->culprit_files, half->other_files, (double)half->seconds / 3600,
		(double)half->bytes / 1e6);
	if (half->culprit_files < HALF_CULPRITS || half->seconds < HALF_SECONDS)
		return fail(half->name, "fewer than 120 files with a culprit or 3 hours without");
	return status;
}

int main(int argc, char **argv)
{
	static struct maker m;
	int status = 0;
	if (argc != 2) {
		fputs("usage: corpus_make FOLDER\n", stderr);
		return 2;
	}
	m.folder = argv[1];
	if (open_half(&m, &m.halves[0], "choose") != 0 ||
		open_half(&m, &m.halves[1], "report") != 0)
		return 1;
	for (const struct scene_family *f = scene_families; status == 0 && f->name; f++)
		for (uint32_t i = 1; status == 0 && i <= f->count; i++)
			status = make_file(&m, f, i);
	free(m.bytes);
	if (status == 0)
		status = close_half(&m.halves[0]) | close_half(&m.halves[1]);
	if (status == 0 && m.halves[0].bytes + m.halves[1].bytes > CORPUS_BYTES)
		status = fail(m.folder, "more than 30 MB");
	return status == 0 ? 0 : 1;
}
