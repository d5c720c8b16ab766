/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a recorder: whose they are, how many there are, and what a flight keeps.
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcancel/recorder/recorder.h"
#include "random_world.h"

static char folder[64], path[128], message[CANCEL_TEXT_MAX];

static void resource_name(const void *arg, uint32_t index, char name[CANCEL_NAME_MAX])
{
	(void)arg;
	snprintf(name, CANCEL_NAME_MAX, "resource %u", index);
}

static void class_name(const void *arg, uint32_t index, char name[CANCEL_NAME_MAX])
{
	(void)arg;
	snprintf(name, CANCEL_NAME_MAX, "class %u", index);
}

static struct recorder *open_recorder(struct recorder_options options)
{
	const struct cancel_pipeline_config config = { .struct_size = sizeof config,
		.task_limit = SCRIPTED_TASKS };
	options.path = path;
	options.names = (struct text_names){ resource_name, class_name, NULL };
	return recorder_open(&options, &config, message);
}

static int prepare(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/cancel-recorder-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof path, "%s/record", folder);
	return 0;
}

static int clean(void **state)
{
	char command[128];
	(void)state;
	snprintf(command, sizeof command, "rm -r %s", folder);
	return system(command);
}

/* PATH, or PATH.N. */
static const char *numbered(unsigned number)
{
	static char name[160];
	snprintf(name, sizeof name, number ? "%s.%u" : "%s", path, number);
	return name;
}

static bool is_there(unsigned number)
{
	return access(numbered(number), F_OK) == 0;
}

/* A file read whole: its looks, and how it ended. */
static uint32_t count_looks(unsigned number, struct record_reader *r)
{
	struct stat there;
	assert_int_equal(stat(numbered(number), &there), 0);
	size_t size = (size_t)there.st_size;
	FILE *in = fopen(numbered(number), "r");
	unsigned char *bytes = malloc(size);
	assert_true(in && bytes && fread(bytes, 1, size, in) == size);
	fclose(in);
	assert_int_equal(record_open(r, bytes, size), 0);
	void *block = calloc(1, record_reader_bytes(r));
	uint32_t looks = 0;
	enum record_item item;
	assert_non_null(block);
	record_attach(r, block);
	while ((item = record_next(r)) != RECORD_ITEM_END) {
		assert_int_not_equal(item, RECORD_ITEM_ERROR);
		looks += item == RECORD_ITEM_LOOK;
	}
	free(block);
	free(bytes);
	return looks;
}

/* `count` windows of a world, recorded; the number that decided somebody. */
static uint32_t record_world(struct recorder *r, uint64_t seed, uint32_t count)
{
	struct random_world w;
	uint32_t decided = 0;
	random_world_begin(&w, seed, true);
	for (uint32_t i = 0; i < count; i++) {
		random_world_step(&w);
		recorder_take(r, &w.s->ledger, &w.s->verdict);
		assert_true(recorder_flush(r, message));
		decided += w.s->verdict.decided;
	}
	random_world_end(&w);
	return decided;
}

static void a_file_is_its_owners_alone_and_has_every_look(void **state)
{
	struct record_reader r;
	struct stat there;
	(void)state;
	struct recorder *recorder = open_recorder((struct recorder_options){ 0 });
	assert_non_null(recorder);
	record_world(recorder, 1, 100);
	recorder_close(recorder);
	assert_int_equal(stat(path, &there), 0);
	assert_int_equal(there.st_mode & 0777, 0600);
	assert_int_equal(count_looks(0, &r), 100);
	assert_string_equal(r.names.resources[2], "resource 2");
	assert_string_equal(r.names.classes[1], "class 1");
}

static void files_are_rotated_and_go_on_where_the_last_one_ended(void **state)
{
	struct record_reader r;
	uint64_t next = 0;
	(void)state;
	struct recorder *recorder = open_recorder((struct recorder_options){ .file_bytes = 2000 });
	assert_non_null(recorder);
	record_world(recorder, 2, 2000);
	recorder_close(recorder);
	assert_false(is_there(RECORDER_FILES));
	for (unsigned i = RECORDER_FILES; i-- > 0;) {
		uint32_t looks = count_looks(i, &r);
		if (next)
			assert_int_equal(r.config.first_look, next);
		next = r.config.first_look + looks;
	}
	assert_int_equal(next, 2001);
}

static void a_file_that_is_there_is_kept_as_the_one_before(void **state)
{
	struct record_reader r;
	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct recorder *recorder = open_recorder((struct recorder_options){ 0 });
		assert_non_null(recorder);
		record_world(recorder, 3, 10 + i);
		recorder_close(recorder);
	}
	assert_int_equal(count_looks(1, &r), 10);
	assert_int_equal(count_looks(0, &r), 11);
}

static void a_second_recorder_of_a_path_is_refused(void **state)
{
	(void)state;
	struct recorder *first = open_recorder((struct recorder_options){ 0 });
	assert_non_null(first);
	record_world(first, 4, 50);
	assert_null(open_recorder((struct recorder_options){ 0 }));
	assert_non_null(strstr(message, "another recorder writes it"));
	assert_false(is_there(1));
	recorder_close(first);
}

static void a_path_that_cannot_be_written_is_said(void **state)
{
	(void)state;
	snprintf(path, sizeof path, "/nonexistent/record");
	assert_null(open_recorder((struct recorder_options){ 0 }));
	assert_non_null(strstr(message, "/nonexistent/record cannot be written: No such file"));
}

static void a_changed_configuration_stands_where_it_changed(void **state)
{
	struct record_reader r;
	struct cancel_pipeline_config config = { .struct_size = sizeof config,
		.explained_ppm = 123456 };
	(void)state;
	struct recorder *recorder = open_recorder((struct recorder_options){ 0 });
	assert_non_null(recorder);
	record_world(recorder, 5, 30);
	recorder_configure(recorder, &config);
	record_world(recorder, 5, 30);
	recorder_close(recorder);
	assert_int_equal(count_looks(0, &r), 60);
	assert_int_equal(r.config.pipeline.explained_ppm, 123456);
}

static void a_flight_writes_only_beside_decisions(void **state)
{
	struct record_reader r;
	(void)state;
	struct recorder *recorder = open_recorder((struct recorder_options){ .flight = true });
	assert_non_null(recorder);
	uint32_t decided = record_world(recorder, 6, 1500);
	recorder_close(recorder);
	assert_in_range(decided, RECORDER_FLIGHT_FILES, 1500);
	assert_false(is_there(0));
	assert_false(is_there(RECORDER_FLIGHT_FILES + 1));
	for (unsigned i = 1; i <= RECORDER_FLIGHT_FILES; i++) {
		uint32_t looks = count_looks(i, &r);
		assert_in_range(looks, 1, 1500);
		assert_true(r.config.flight);
		assert_int_equal(r.config.first_look + looks, r.look_number + 1);
		assert_true(r.look.note.text_bytes > 0); /* the last look is the decision's */
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, clean)
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_its_owners_alone_and_has_every_look),
		TEST(files_are_rotated_and_go_on_where_the_last_one_ended),
		TEST(a_file_that_is_there_is_kept_as_the_one_before),
		TEST(a_second_recorder_of_a_path_is_refused),
		TEST(a_path_that_cannot_be_written_is_said),
		TEST(a_changed_configuration_stands_where_it_changed),
		TEST(a_flight_writes_only_beside_decisions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
