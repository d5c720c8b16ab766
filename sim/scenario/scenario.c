/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a scenario file: lines, sections, values, each refused with its file and line. Two
 * passes: the sections make the lane's keys (keys.c), then the values are set. build.c makes services
 * of them.
 */
#include "sim/scenario/scenario.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/lanes/lanes.h"
#include "sim/scenario/parts.h"

struct reader {
	struct sim_scenario *scenario;
	FILE *file;
	char *line_text;
	size_t line_capacity;
	unsigned line;
	bool sections_only; /* first pass */
	bool failed;
	char *error;
};

__attribute__((format(printf, 2, 3))) static void refuse(
	struct reader *reader, const char *format, ...)
{
	va_list args;
	if (reader->failed)
		return;
	reader->failed = true;
	int used = snprintf(
		reader->error, SIM_ERROR_MAX, "%.100s:%u: ", reader->scenario->path, reader->line);
	va_start(args, format);
	vsnprintf(reader->error + used, SIM_ERROR_MAX - (size_t)used, format, args);
	va_end(args);
}

/* ---- Sections ---- */

static const struct section *find_section(
	const struct sim_scenario *scenario, enum section_kind kind, const char *name)
{
	for (size_t i = 0; i < scenario->section_count; i++)
		if (scenario->sections[i].kind == kind &&
			strcmp(scenario->sections[i].name, name) == 0)
			return &scenario->sections[i];
	return NULL;
}

static bool good_name(const char *name)
{
	for (const char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && *at != '-' && *at != '_')
			return false;
	return *name != '\0';
}

/* "service app" into kind and name. */
static bool split_section(const char *text, enum section_kind *kind, char *name, size_t name_bytes)
{
	size_t word = strcspn(text, " \t");
	for (*kind = SECTION_SCENARIO; *kind < SECTION_KINDS; (*kind)++) {
		const char *known = section_kind_name(*kind);
		if (strlen(known) == word && strncmp(known, text, word) == 0)
			break;
	}
	text += word + strspn(text + word, " \t");
	snprintf(name, name_bytes, "%s", text);
	bool named = *kind >= SECTION_SERVICE;
	return *kind < SECTION_KINDS && strlen(text) < name_bytes &&
	       (named ? good_name(name) : *name == '\0');
}

static void add_section(struct reader *reader, const char *text)
{
	static const size_t most[SECTION_KINDS] = { 1, 1, 1, 1, SIM_SCENARIO_SERVICES,
		SIM_SCENARIO_CLIENTS, SIM_SCENARIO_CHANGES };
	struct sim_scenario *scenario = reader->scenario;
	struct section section = { .line = reader->line };
	size_t same = 0;
	if (!split_section(text, &section.kind, section.name, sizeof(section.name))) {
		refuse(reader,
			"no section '[%.60s]'; there are scenario, set, sweep, run, service "
			"NAME, clients NAME, change NAME (letters, digits, - and _)",
			text);
		return;
	}
	for (size_t i = 0; i < scenario->section_count; i++) {
		same += scenario->sections[i].kind == section.kind;
		bool clash = strcmp(scenario->sections[i].name, section.name) == 0 &&
			     (section.name[0] || scenario->sections[i].kind == section.kind);
		if (clash || (section.name[0] && strcmp(section.name, "run") == 0)) {
			refuse(reader, "section '[%.60s]' again (or its name is taken, line %u)",
				text, scenario->sections[i].line);
			return;
		}
	}
	if (same >= most[section.kind])
		refuse(reader, "too many sections '%s': at most %zu",
			section_kind_name(section.kind), most[section.kind]);
	else
		scenario->sections[scenario->section_count++] = section;
}

/* ---- Lines ---- */

static void see_section(struct reader *reader, const char *line)
{
	const char *open = line + strspn(line, " \t"), *close = strchr(open, ']');
	char text[SIM_SCENARIO_LINE_MAX + 1];
	if (*open != '[' || !close)
		return;
	snprintf(text, sizeof(text), "%.*s", (int)(close - open - 1), open + 1);
	add_section(reader, text);
}

/* inih cuts a long line in silence; here it is refused. */
static char *read_line(char *into, int bytes, void *stream)
{
	struct reader *reader = stream;
	if (reader->failed)
		return NULL;
	ssize_t length = getline(&reader->line_text, &reader->line_capacity, reader->file);
	if (length < 0)
		return NULL;
	reader->line++;
	if (strlen(reader->line_text) != (size_t)length) {
		refuse(reader, "a NUL byte; this is no text file");
		return NULL;
	}
	size_t text = strcspn(reader->line_text, "\r\n");
	if (text > SIM_SCENARIO_LINE_MAX || text + 2 > (size_t)bytes) {
		refuse(reader, "the line is too long: %zu bytes, at most %d", text,
			SIM_SCENARIO_LINE_MAX);
		return NULL;
	}
	if (reader->sections_only)
		see_section(reader, reader->line_text);
	snprintf(into, (size_t)bytes, "%s", reader->line_text);
	return reader->failed ? NULL : into;
}

static int skip_value(void *user, const char *section, const char *name, const char *value)
{
	(void)user;
	(void)section;
	(void)name;
	(void)value;
	return 1;
}

/* ---- Values ---- */

static void list_keys(enum section_kind kind, char *text, size_t text_bytes)
{
	const struct sim_key *keys = section_keys(kind);
	size_t used = 0;
	text[0] = '\0';
	for (size_t i = 0; keys[i].name && used < text_bytes; i++)
		used += (size_t)snprintf(
			text + used, text_bytes - used, "%s%s", i > 0 ? ", " : "", keys[i].name);
}

static bool knows_key(enum section_kind kind, const char *name)
{
	for (const struct sim_key *key = section_keys(kind); key->name; key++)
		if (strcmp(key->name, name) == 0)
			return true;
	return false;
}

static void add_pair(struct reader *reader, const char *key, const char *value)
{
	struct sim_scenario *scenario = reader->scenario;
	scenario->pairs = sim_grow(scenario->pairs, &scenario->pair_capacity,
		scenario->pair_count + 1, sizeof(*scenario->pairs));
	scenario->pairs[scenario->pair_count++] = (struct pair){
		.key = sim_copy_text(key),
		.value = sim_copy_text(value),
		.line = reader->line,
	};
}

/* "a,b" or "1..9:2" into the values of a sweep. */
static void expand(struct reader *reader, struct sweep *sweep, const char *text)
{
	const struct sim_key whole = { "sweep", SIM_KEY_INTS, "0", -9e15, 9e15, NULL, "" };
	const struct sim_key table[] = { whole, { 0 } };
	char error[SIM_ERROR_MAX], number[32];
	struct sim_options list;
	sim_options_init(&list, table);
	if (strstr(text, "..") && sim_options_set(&list, "sweep", text, error) == 0) {
		const struct sim_setting *setting = sim_options_find(&list, "sweep");
		sweep->values = sim_alloc(setting->list_count, sizeof(*sweep->values));
		for (size_t i = 0; i < setting->list_count; i++) {
			snprintf(number, sizeof(number), "%lld", (long long)setting->list[i]);
			sweep->values[sweep->count++] = sim_copy_text(number);
		}
	} else if (!strstr(text, "..")) {
		char *copy = sim_copy_text(text), *rest = copy, *item;
		size_t capacity = 0;
		while ((item = strsep(&rest, ","))) {
			sweep->values = sim_grow(
				sweep->values, &capacity, sweep->count + 1, sizeof(*sweep->values));
			item += strspn(item, " \t");
			item[strcspn(item, " \t")] = '\0';
			sweep->values[sweep->count++] = sim_copy_text(item);
		}
		free(copy);
	} else {
		refuse(reader, "'%.60s' is no sweep: a,b,c or a..b or a..b:step", text);
	}
	sim_options_free(&list);
}

static void add_sweep(struct reader *reader, const char *key, const char *value)
{
	struct sim_scenario *scenario = reader->scenario;
	struct sim_options trial;
	char error[SIM_ERROR_MAX];
	if (scenario->base) {
		refuse(reader, "[sweep] is for described services; lists of the lane's own keys "
			       "sweep here");
		return;
	}
	if (scenario->sweep_count >= SIM_SWEEPS_MAX) {
		refuse(reader, "too many sweeps: at most %d", SIM_SWEEPS_MAX);
		return;
	}
	struct sweep *sweep = &scenario->sweeps[scenario->sweep_count++];
	sweep->key = sim_copy_text(key);
	expand(reader, sweep, value);
	sim_options_init(&trial, scenario->keys);
	for (size_t i = 0; !reader->failed && i < sweep->count; i++)
		if (sim_options_set(&trial, key, sweep->values[i], error) < 0)
			refuse(reader, "%.600s", error);
	sim_options_free(&trial);
}

static void add_value(
	struct reader *reader, const struct section *section, const char *name, const char *value)
{
	char key[128], known[SIM_ERROR_MAX / 2];
	if (section->kind == SECTION_SET) {
		add_pair(reader, name, value);
		return;
	}
	if (section->kind == SECTION_SWEEP) {
		add_sweep(reader, name, value);
		return;
	}
	if (!knows_key(section->kind, name)) {
		list_keys(section->kind, known, sizeof(known));
		refuse(reader, "no key '%.40s' in [%s]; it takes %s", name,
			section_kind_name(section->kind), known);
		return;
	}
	snprintf(key, sizeof(key), "%s.%s",
		section->name[0] ? section->name : section_kind_name(section->kind), name);
	add_pair(reader, key, value);
}

static int on_value(void *user, const char *text, const char *name, const char *value)
{
	struct reader *reader = user;
	enum section_kind kind;
	char section_name[40];
	if (reader->failed)
		return 1;
	if (!split_section(text, &kind, section_name, sizeof(section_name))) {
		refuse(reader, "a value before the first section");
		return 1;
	}
	const struct section *section = find_section(reader->scenario, kind, section_name);
	if (!section)
		refuse(reader, "a value outside of a section");
	else if (kind != SECTION_SCENARIO) /* that one was read before */
		add_value(reader, section, name, value);
	return 1;
}

/* ---- The lane it makes ---- */

static const char *header_text(const struct sim_scenario *scenario, const char *key)
{
	return sim_options_find(&scenario->header, key)->text;
}

/* NAME.key for every section that has keys; [run] is there even when the file leaves it out. */
static void make_keys(struct sim_scenario *scenario)
{
	size_t count = 0, capacity = 0;
	char name[128];
	if (!find_section(scenario, SECTION_RUN, ""))
		scenario->sections[scenario->section_count++] =
			(struct section){ .kind = SECTION_RUN };
	for (size_t i = 0; i < scenario->section_count; i++) {
		const struct section *section = &scenario->sections[i];
		const struct sim_key *keys = section_keys(section->kind);
		for (; section->kind >= SECTION_RUN && keys->name; keys++) {
			scenario->keys = sim_grow(
				scenario->keys, &capacity, count + 2, sizeof(*scenario->keys));
			snprintf(name, sizeof(name), "%s.%s",
				section->name[0] ? section->name : "run", keys->name);
			scenario->keys[count] = *keys;
			scenario->keys[count++].name = sim_copy_text(name);
		}
	}
	scenario->keys[count] = (struct sim_key){ 0 };
}

static void make_lane(struct sim_scenario *scenario)
{
	const char *what = header_text(scenario, "what");
	scenario->lane = (struct sim_lane){
		.name = header_text(scenario, "name"),
		.what = *what ? what : "a scenario of services",
		.keys = scenario->keys,
		.seeds = 1,
		.run = scenario_run,
	};
}

/* Sets every value once, to refuse bad ones with their line before anything runs. */
static void check_values(struct reader *reader)
{
	const struct sim_scenario *scenario = reader->scenario;
	struct sim_options trial;
	char error[SIM_ERROR_MAX];
	sim_options_init(&trial, sim_scenario_lane(scenario)->keys);
	for (size_t i = 0; !reader->failed && i < scenario->pair_count; i++) {
		reader->line = scenario->pairs[i].line;
		if (sim_options_set(
			    &trial, scenario->pairs[i].key, scenario->pairs[i].value, error) < 0)
			refuse(reader, "%.600s", error);
	}
	struct sim_run run = { .options = trial, .events_limit = 1 };
	if (!reader->failed && !scenario->base) {
		struct sim_services *services = scenario_build(scenario, &run, 1, error);
		if (!services)
			snprintf(reader->error, SIM_ERROR_MAX, "%.600s", error);
		else
			sim_services_free(services);
		reader->failed = !services;
	}
	sim_options_free(&trial);
}

static void pass(struct reader *reader, ini_handler handler)
{
	rewind(reader->file);
	reader->line = 0;
	reader->sections_only = handler == skip_value;
	int wrong = ini_parse_stream(read_line, reader, handler, reader);
	if (wrong > 0 && !reader->failed) {
		reader->line = (unsigned)wrong;
		refuse(reader, "neither a [section], nor key = value, nor a ; comment");
	}
}

/* Which lane it presets is needed before the values are read. */
static void find_base(struct reader *reader)
{
	struct sim_scenario *scenario = reader->scenario;
	const char *name = header_text(scenario, "lane");
	if (!*name)
		return;
	scenario->base = sim_lane_find(name);
	if (!scenario->base) {
		refuse(reader, "unknown lane '%.40s'; see cancel-sim list", name);
		return;
	}
	for (size_t i = 0; i < scenario->section_count; i++) {
		reader->line = scenario->sections[i].line;
		if (scenario->sections[i].kind >= SECTION_RUN)
			refuse(reader, "a scenario that presets lane '%.40s' describes no services",
				name);
	}
}

static int on_header(void *user, const char *text, const char *name, const char *value)
{
	struct reader *reader = user;
	char error[SIM_ERROR_MAX];
	if (strcmp(text, "scenario") == 0 && !reader->failed &&
		sim_options_set(&reader->scenario->header, name, value, error) < 0)
		refuse(reader, "%.600s", error);
	return 1;
}

static void check_sections(struct reader *reader)
{
	struct sim_scenario *scenario = reader->scenario;
	size_t counts[SECTION_KINDS] = { 0 };
	for (size_t i = 0; i < scenario->section_count; i++)
		counts[scenario->sections[i].kind]++;
	if (scenario->base)
		return;
	reader->line = reader->line > 0 ? reader->line : 1;
	if (counts[SECTION_SET] > 0)
		refuse(reader, "[set] needs [scenario] lane = NAME");
	if (counts[SECTION_SERVICE] == 0 || counts[SECTION_CLIENTS] == 0)
		refuse(reader, "at least one [service NAME] and one [clients NAME] are needed, or "
			       "[scenario] lane = NAME");
}

struct sim_scenario *sim_scenario_read(FILE *file, const char *path, char *error)
{
	struct sim_scenario *scenario = sim_alloc(1, sizeof(*scenario));
	struct reader reader = { .scenario = scenario, .file = file, .error = error };
	ini_allow_multiline = false;
	scenario->path = sim_copy_text(path);
	sim_options_init(&scenario->header, section_keys(SECTION_SCENARIO));
	pass(&reader, skip_value);
	if (!reader.failed)
		pass(&reader, on_header);
	if (!reader.failed)
		find_base(&reader);
	if (!reader.failed)
		check_sections(&reader);
	if (!reader.failed && !scenario->base)
		make_keys(scenario);
	make_lane(scenario);
	if (!reader.failed)
		pass(&reader, on_value);
	if (!reader.failed)
		check_values(&reader);
	free(reader.line_text);
	if (!reader.failed)
		return scenario;
	sim_scenario_free(scenario);
	return NULL;
}

struct sim_scenario *sim_scenario_load(const char *path, char *error)
{
	FILE *file = fopen(path, "r");
	if (!file) {
		snprintf(error, SIM_ERROR_MAX, "cannot read '%.120s': %s", path, strerror(errno));
		return NULL;
	}
	struct sim_scenario *scenario = sim_scenario_read(file, path, error);
	fclose(file);
	return scenario;
}

void sim_scenario_free(struct sim_scenario *scenario)
{
	for (size_t i = 0; i < scenario->pair_count; i++) {
		free(scenario->pairs[i].key);
		free(scenario->pairs[i].value);
	}
	for (size_t i = 0; i < scenario->sweep_count; i++) {
		for (size_t j = 0; j < scenario->sweeps[i].count; j++)
			free(scenario->sweeps[i].values[j]);
		free(scenario->sweeps[i].values);
		free(scenario->sweeps[i].key);
	}
	for (struct sim_key *key = scenario->keys; key && key->name; key++)
		free((char *)(uintptr_t)key->name);
	free(scenario->pairs);
	free(scenario->keys);
	sim_options_free(&scenario->header);
	free(scenario->path);
	free(scenario);
}

const struct sim_lane *sim_scenario_lane(const struct sim_scenario *scenario)
{
	return scenario->base ? scenario->base : &scenario->lane;
}

void sim_scenario_apply(struct sim_scenario *scenario, struct sim_run *run)
{
	char error[SIM_ERROR_MAX];
	for (size_t i = 0; i < scenario->pair_count; i++)
		if (sim_options_set(&run->options, scenario->pairs[i].key, scenario->pairs[i].value,
			    error) < 0)
			abort(); /* checked on loading */
	const struct sim_setting *seeds = sim_options_find(&scenario->header, "seeds");
	run->seed = (uint64_t)sim_options_find(&scenario->header, "seed")->integer;
	if (seeds->given || !scenario->base)
		run->seeds = (uint32_t)seeds->integer;
	run->context = scenario;
}
