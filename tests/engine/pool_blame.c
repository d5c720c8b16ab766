/* SPDX-License-Identifier: Apache-2.0 */
/* Who is charged for what: evictions to who took the frame, stalls to who evicted the page. */
#include "pool_fake.h"

#include "demo-db/engine/storage/ghost.h"

#include <pthread.h>
#include <semaphore.h>

#define FRAMES 256u
#define PAGES  1200u
#define HOT    131u /* three pages, then two whole windows of read-ahead */

enum { NOBODY, READER, DUMP, OTHER };

static void setup_pool(void **state, struct db_pool **pool, struct pool_reader *reader)
{
	struct db_pool_options options = { .struct_size = sizeof(options),
		.pool_bytes = (size_t)FRAMES * DB_POOL_PAGE_BYTES,
		.resource = { 1 } };
	*pool = fake_pool(&options);
	fake_raw_file(fake_path(state, "raw"), PAGES);
	fake_reader_open(reader, *pool, fake_path(state, "raw"));
}

static void visit(struct pool_reader *reader, uint64_t task, uint32_t first, uint32_t count)
{
	fake_become(task);
	for (uint32_t page = first; page < first + count; page++)
		assert_int_equal(fake_visit(reader, page), page);
	fake_become(NOBODY);
}

static void a_dump_is_charged_for_what_it_evicts_and_for_the_misses_that_follow(void **state)
{
	struct db_pool *pool = NULL;
	struct pool_reader reader, scan;
	setup_pool(state, &pool, &reader);
	fake_reader_open(&scan, pool, fake_path(state, "raw"));
	visit(&reader, READER, 0, HOT);
	visit(&scan, DUMP, 400, 500);
	assert_int_equal(fake_tasks[DUMP].evicted_from[READER], HOT);
	assert_true(fake_tasks[DUMP].evicted_from[DUMP] >= 500 - FRAMES);
	assert_int_equal(fake_tasks[READER].evicted_from[DUMP], 0);
	assert_int_equal(fake_tasks[READER].stalled_by[DUMP], 0);

	/* Page by page: its own read-ahead would hide the misses. */
	fake_become(READER);
	for (uint32_t page = 0; page < HOT; page += 14)
		assert_int_equal(fake_visit(&reader, page), page);
	assert_int_equal(fake_tasks[READER].stalled_by[DUMP], 10);
	assert_int_equal(fake_stats(pool).ghost_hits, 10);
	assert_int_equal(fake_tasks[READER].evicted_from[DUMP], 10);
	fake_become(NOBODY);
	fake_reader_close(&scan);
	fake_reader_close(&reader);
	fake_pool_close(pool);
}

static void the_first_read_of_a_page_is_nobodys_fault(void **state)
{
	struct db_pool *pool = NULL;
	struct pool_reader reader;
	setup_pool(state, &pool, &reader);
	visit(&reader, READER, 0, 100);
	struct fake_task *task = &fake_tasks[READER];
	assert_true(task->slow > 0);
	assert_int_equal(task->stalled_by[NOBODY], task->slow);
	assert_int_equal(task->got, task->slow);
	assert_int_equal(task->gave_up, 0);
	fake_reader_close(&reader);
	fake_pool_close(pool);
}

static void a_page_found_costs_no_call_of_the_library(void **state)
{
	struct db_pool *pool = NULL;
	struct pool_reader reader;
	setup_pool(state, &pool, &reader);
	visit(&reader, READER, 0, HOT);
	fake_reset();
	uint64_t hits = fake_stats(pool).hits;
	visit(&reader, READER, 0, HOT);
	assert_int_equal(fake_stats(pool).hits - hits, HOT);
	assert_int_equal(fake_tasks[READER].slow + fake_tasks[READER].got, 0);
	assert_int_equal(fake_tasks[READER].stalled_by[NOBODY], 0);
	fake_reader_close(&reader);
	fake_pool_close(pool);
}

/* ---- Two threads, one load ----------------------------------------------------------------------
 */

struct meeting {
	struct db_pool *pool;
	struct pool_reader reader;
	sem_t reading, go_on;
	uint32_t number;
};

static void hold_the_read(void *arg, uint32_t page, uint32_t count)
{
	struct meeting *meeting = arg;
	(void)page;
	(void)count;
	sem_post(&meeting->reading);
	sem_wait(&meeting->go_on);
}

static void *load_page_zero(void *arg)
{
	struct meeting *meeting = arg;
	fake_become(OTHER);
	meeting->number = fake_visit(&meeting->reader, 0);
	return NULL;
}

static void *release_when_waited_for(void *arg)
{
	struct meeting *meeting = arg;
	struct db_pool_stats stats;
	do
		db_pool_stats(meeting->pool, &stats);
	while (stats.waits == 0);
	sem_post(&meeting->go_on);
	return NULL;
}

static void who_waits_for_anothers_load_blames_the_same_evictor(void **state)
{
	struct meeting meeting = { 0 };
	struct pool_reader reader;
	setup_pool(state, &meeting.pool, &reader);
	fake_reader_open(&meeting.reader, meeting.pool, fake_path(state, "raw"));
	visit(&reader, READER, 0, 100);
	visit(&reader, DUMP, 400, 500);
	fake_reset();

	sem_init(&meeting.reading, 0, 0);
	sem_init(&meeting.go_on, 0, 0);
	struct db_pool_faults faults = { .after_read = hold_the_read, .arg = &meeting };
	db_pool_inject(meeting.pool, &faults);
	pthread_t loader, releaser;
	assert_int_equal(pthread_create(&loader, NULL, load_page_zero, &meeting), 0);
	sem_wait(&meeting.reading);
	assert_int_equal(pthread_create(&releaser, NULL, release_when_waited_for, &meeting), 0);
	visit(&reader, READER, 0, 1);
	pthread_join(loader, NULL);
	pthread_join(releaser, NULL);
	db_pool_inject(meeting.pool, NULL);

	assert_int_equal(meeting.number, 0);
	assert_int_equal(fake_tasks[OTHER].stalled_by[DUMP], 1);
	assert_int_equal(fake_tasks[READER].stalled_by[DUMP], 1);
	assert_int_equal(fake_tasks[READER].got, 1);
	sem_destroy(&meeting.reading);
	sem_destroy(&meeting.go_on);
	fake_reader_close(&meeting.reader);
	fake_reader_close(&reader);
	fake_pool_close(meeting.pool);
}

/* ---- The directory ------------------------------------------------------------------------------
 */

static void the_directory_remembers_the_last_evictions_only(void **state)
{
	(void)state;
	struct ghost_directory ghosts;
	struct cancel_task evictor;
	assert_int_equal(ghost_init(&ghosts, 10), 0);
	for (uint64_t key = 1; key <= 25; key++)
		ghost_remember(&ghosts, key, (struct cancel_task){ 100 + key });
	assert_int_equal(ghosts.count, 10);
	for (uint64_t key = 1; key <= 15; key++)
		assert_false(ghost_take(&ghosts, key, &evictor));
	for (uint64_t key = 16; key <= 25; key++) {
		assert_true(ghost_take(&ghosts, key, &evictor));
		assert_int_equal(evictor.id, 100 + key);
		assert_false(ghost_take(&ghosts, key, &evictor));
		assert_int_equal(evictor.id, 0);
	}
	assert_int_equal(ghosts.count, 0);
	ghost_destroy(&ghosts);
}

static void a_directory_of_none_remembers_nothing(void **state)
{
	(void)state;
	struct ghost_directory ghosts;
	struct cancel_task evictor;
	assert_int_equal(ghost_init(&ghosts, 0), 0);
	ghost_remember(&ghosts, 1, (struct cancel_task){ 7 });
	assert_false(ghost_take(&ghosts, 1, &evictor));
	ghost_destroy(&ghosts);
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, fake_folder, fake_folder_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_dump_is_charged_for_what_it_evicts_and_for_the_misses_that_follow),
		in_folder(the_first_read_of_a_page_is_nobodys_fault),
		in_folder(a_page_found_costs_no_call_of_the_library),
		in_folder(who_waits_for_anothers_load_blames_the_same_evictor),
		cmocka_unit_test(the_directory_remembers_the_last_evictions_only),
		cmocka_unit_test(a_directory_of_none_remembers_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
