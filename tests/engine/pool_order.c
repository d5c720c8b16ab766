/* SPDX-License-Identifier: Apache-2.0 */
/* Which page goes next: LRU, pins, read-ahead, the midpoint, the gentle ring. One shard of 64
 * frames, so that the order is exact. */
#include "pool_fake.h"

#include <string.h>

#define FRAMES 64u
#define PAGES  1024u

struct fixture {
	struct db_pool *pool;
	struct pool_reader reader;
};

static struct fixture open_fixture(void **state, struct db_pool_options options)
{
	struct fixture fixture = { 0 };
	options.struct_size = sizeof(options);
	options.pool_bytes = (size_t)FRAMES * DB_POOL_PAGE_BYTES;
	options.shard_count = 1;
	fixture.pool = fake_pool(&options);
	fake_raw_file(fake_path(state, "raw"), PAGES);
	fake_reader_open(&fixture.reader, fixture.pool, fake_path(state, "raw"));
	return fixture;
}

static void close_fixture(struct fixture *fixture)
{
	assert_int_equal(db_pool_verify(fixture->pool), 0);
	fake_reader_close(&fixture->reader);
	fake_pool_close(fixture->pool);
}

/* Visits pages first, first + 10, …: no scan, so no read-ahead. */
static void visit_spread(struct fixture *fixture, uint32_t first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t page = first + i * 10 % PAGES;
		assert_int_equal(fake_visit(&fixture->reader, page), page);
	}
}

static void the_page_used_longest_ago_goes_first(void **state)
{
	struct fixture f = open_fixture(state, (struct db_pool_options){ 0 });
	visit_spread(&f, 0, FRAMES);
	assert_int_equal(fake_stats(f.pool).evictions, 0);
	assert_int_equal(fake_visit(&f.reader, 0), 0); /* used again: now 10 is the oldest */
	assert_int_equal(fake_visit(&f.reader, 1001), 1001);
	assert_int_equal(fake_stats(f.pool).evictions, 1);
	assert_true(fake_resident(&f.reader, 0));
	assert_false(fake_resident(&f.reader, 10));
	assert_true(fake_resident(&f.reader, 20));
	close_fixture(&f);
}

static void a_pinned_page_stays_and_a_pool_of_pinned_pages_is_passed_by(void **state)
{
	struct fixture f = open_fixture(state, (struct db_pool_options){ .read_ahead_pages = 1 });
	void *pinned[FRAMES];
	for (uint32_t i = 0; i < FRAMES; i++)
		assert_int_equal(pool_fetch(&f.reader, i, &pinned[i]), 0);
	void *data = NULL;
	assert_int_equal(pool_fetch(&f.reader, 500, &data), 0);
	assert_null(data);
	uint32_t number = 0;
	assert_int_equal(pool_copy(&f.reader, 500, 0, sizeof(number), &number), sizeof(number));
	assert_int_equal(number, 500);
	assert_int_equal(fake_stats(f.pool).bypasses, 1);

	pool_unfetch(f.pool, pinned[7]);
	assert_int_equal(fake_visit(&f.reader, 500), 500);
	assert_false(fake_resident(&f.reader, 7));
	for (uint32_t i = 0; i < FRAMES; i++) {
		if (i == 7)
			continue;
		assert_int_equal(fake_page_number(pinned[i]), i);
		pool_unfetch(f.pool, pinned[i]);
	}
	close_fixture(&f);
}

static void a_scan_is_read_ahead_in_whole_windows(void **state)
{
	struct fixture f = open_fixture(state, (struct db_pool_options){ .read_ahead_pages = 16 });
	for (uint32_t page = 100; page < 120; page++)
		assert_int_equal(fake_visit(&f.reader, page), page);
	struct db_pool_stats stats = fake_stats(f.pool);
	/* 100 … 103 one by one (the fourth in order makes it a scan), then 16 at once, 119 begins
	 * the next window. */
	assert_int_equal(stats.misses, 5);
	assert_int_equal(stats.reads, 5);
	assert_int_equal(stats.read_ahead, 30);
	assert_int_equal(stats.hits, 15);
	close_fixture(&f);
}

static void a_scan_that_jumps_over_interior_pages_is_still_one(void **state)
{
	struct fixture f = open_fixture(state, (struct db_pool_options){ .read_ahead_pages = 16 });
	const uint32_t pages[] = { 100, 101, 102, 104, 900, 105, 700, 106 };
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		assert_int_equal(fake_visit(&f.reader, pages[i]), pages[i]);
	assert_true(fake_resident(&f.reader, 115));
	close_fixture(&f);
}

static void a_stray_of_a_scan_is_not_read_ahead(void **state)
{
	struct fixture f = open_fixture(state, (struct db_pool_options){ .read_ahead_pages = 16 });
	for (uint32_t page = 100; page < 110; page++)
		assert_int_equal(fake_visit(&f.reader, page), page);
	assert_int_equal(fake_visit(&f.reader, 700), 700);
	assert_false(fake_resident(&f.reader, 701));
	close_fixture(&f);
}

static void point_reads_are_no_scan(void **state)
{
	struct fixture f = open_fixture(state, (struct db_pool_options){ 0 });
	uint32_t x = 1;
	for (int i = 0; i < 500; i++) {
		x = x * 1664525u + 1013904223u;
		fake_visit(&f.reader, (x >> 16) % PAGES);
	}
	assert_int_equal(fake_stats(f.pool).read_ahead, 0);
	close_fixture(&f);
}

static void read_ahead_ends_at_the_end_of_the_file(void **state)
{
	struct fixture f = open_fixture(state, (struct db_pool_options){ .read_ahead_pages = 16 });
	for (uint32_t page = PAGES - 6; page < PAGES; page++)
		assert_int_equal(fake_visit(&f.reader, page), page);
	assert_int_equal(fake_visit(&f.reader, PAGES), UINT32_MAX);
	assert_int_equal(fake_stats(f.pool).resident, 6);
	assert_false(fake_resident(&f.reader, PAGES));
	close_fixture(&f);
}

static void read_ahead_keeps_what_is_resident(void **state)
{
	struct fixture f = open_fixture(state, (struct db_pool_options){ .read_ahead_pages = 16 });
	void *pinned = NULL;
	assert_int_equal(pool_fetch(&f.reader, 110, &pinned), 0);
	memset(pinned, 0x5a, DB_POOL_PAGE_BYTES); /* another read of it would overwrite this */
	for (uint32_t page = 100; page < 110; page++)
		assert_int_equal(fake_visit(&f.reader, page), page);
	assert_int_equal(fake_page_number(pinned), 0x5a5a5a5a);
	assert_int_equal(fake_visit(&f.reader, 111), 111);
	for (size_t i = 0; i < DB_POOL_PAGE_BYTES / sizeof(uint32_t); i++)
		((uint32_t *)pinned)[i] = 110;
	pool_unfetch(f.pool, pinned);
	close_fixture(&f);
}

static void a_midpoint_keeps_a_scan_from_the_pages_used_twice(void **state)
{
	struct fixture f = open_fixture(
		state, (struct db_pool_options){ .midpoint_percent = 40, .read_ahead_pages = 8 });
	visit_spread(&f, 5, 40);
	visit_spread(&f, 0, 20);
	visit_spread(&f, 0, 20); /* used twice: young */
	for (uint32_t page = 300; page < 600; page++)
		assert_int_equal(fake_visit(&f.reader, page), page);
	for (uint32_t i = 0; i < 20; i++)
		assert_true(fake_resident(&f.reader, i * 10));
	close_fixture(&f);
}

static void without_a_midpoint_the_same_scan_takes_them_all(void **state)
{
	struct fixture f = open_fixture(state, (struct db_pool_options){ .read_ahead_pages = 8 });
	visit_spread(&f, 0, 20);
	visit_spread(&f, 0, 20);
	for (uint32_t page = 300; page < 600; page++)
		assert_int_equal(fake_visit(&f.reader, page), page);
	for (uint32_t i = 0; i < 20; i++)
		assert_false(fake_resident(&f.reader, i * 10));
	close_fixture(&f);
}

static void a_gentle_scan_stays_in_its_ring(void **state)
{
	struct fixture f = open_fixture(
		state, (struct db_pool_options){ .ring_frames = 16, .read_ahead_pages = 8 });
	visit_spread(&f, 0, 40);
	db_pool_gentle(true);
	for (uint32_t page = 400; page < 900; page++)
		assert_int_equal(fake_visit(&f.reader, page), page);
	db_pool_gentle(false);
	assert_int_equal(fake_stats(f.pool).ring, 16);
	assert_int_equal(fake_stats(f.pool).evictions, 0);
	assert_int_equal(fake_stats(f.pool).ghosts, 0);
	for (uint32_t i = 0; i < 40; i++)
		assert_true(fake_resident(&f.reader, i * 10));
	close_fixture(&f);
}

static void a_page_of_the_ring_that_others_use_leaves_it(void **state)
{
	struct fixture f = open_fixture(
		state, (struct db_pool_options){ .ring_frames = 8, .read_ahead_pages = 1 });
	db_pool_gentle(true);
	assert_int_equal(fake_visit(&f.reader, 400), 400);
	db_pool_gentle(false);
	assert_int_equal(fake_visit(&f.reader, 400), 400);
	assert_int_equal(fake_stats(f.pool).ring, 0);
	db_pool_gentle(true);
	for (uint32_t page = 500; page < 600; page++)
		fake_visit(&f.reader, page);
	db_pool_gentle(false);
	assert_true(fake_resident(&f.reader, 400));
	close_fixture(&f);
}

static void an_idle_ring_gives_its_frames_back(void **state)
{
	struct fixture f = open_fixture(
		state, (struct db_pool_options){ .ring_frames = 16, .read_ahead_pages = 1 });
	db_pool_gentle(true);
	visit_spread(&f, 3, 16);
	db_pool_gentle(false);
	assert_int_equal(fake_stats(f.pool).ring, 16);
	visit_spread(&f, 0, 64);
	assert_int_equal(fake_stats(f.pool).ring, 0);
	close_fixture(&f);
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, fake_folder, fake_folder_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(the_page_used_longest_ago_goes_first),
		in_folder(a_pinned_page_stays_and_a_pool_of_pinned_pages_is_passed_by),
		in_folder(a_scan_is_read_ahead_in_whole_windows),
		in_folder(a_scan_that_jumps_over_interior_pages_is_still_one),
		in_folder(a_stray_of_a_scan_is_not_read_ahead),
		in_folder(point_reads_are_no_scan),
		in_folder(read_ahead_ends_at_the_end_of_the_file),
		in_folder(read_ahead_keeps_what_is_resident),
		in_folder(a_midpoint_keeps_a_scan_from_the_pages_used_twice),
		in_folder(without_a_midpoint_the_same_scan_takes_them_all),
		in_folder(a_gentle_scan_stays_in_its_ring),
		in_folder(a_page_of_the_ring_that_others_use_leaves_it),
		in_folder(an_idle_ring_gives_its_frames_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
