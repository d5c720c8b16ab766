/* SPDX-License-Identifier: Apache-2.0 */
/* What a pool and its layer accept, and what they refuse with which words. */
#include "pool_fake.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void refuse_pool(struct db_pool_options options, const char *words)
{
	struct db_pool *pool = (struct db_pool *)&options;
	options.struct_size = sizeof(options);
	assert_int_equal(db_pool_open(&pool, &options), -EINVAL);
	assert_null(pool);
	if (strstr(db_pool_refusal(), words) == NULL)
		fail_msg("\"%s\" lacks \"%s\"", db_pool_refusal(), words);
}

static void a_pool_of_zero_bytes_is_refused_with_the_numbers(void **state)
{
	(void)state;
	refuse_pool((struct db_pool_options){ .pool_bytes = 0 },
		"0 bytes holds 0 pages of 4096 bytes; 64 to ");
	refuse_pool((struct db_pool_options){ .pool_bytes = 63 * 4096 }, "holds 63 pages");
}

static void options_out_of_range_are_refused(void **state)
{
	(void)state;
	const size_t bytes = 1 << 20;
	refuse_pool((struct db_pool_options){ .pool_bytes = bytes, .shard_count = 3 }, "3 shards");
	refuse_pool((struct db_pool_options){ .pool_bytes = bytes, .read_ahead_pages = 257 },
		"read-ahead of 257 pages");
	refuse_pool((struct db_pool_options){ .pool_bytes = bytes, .midpoint_percent = 91 },
		"91 percent");
}

static void options_of_another_build_are_refused(void **state)
{
	(void)state;
	struct db_pool *pool = NULL;
	struct db_pool_options options = { .struct_size = 8, .pool_bytes = 1 << 20 };
	assert_int_equal(db_pool_open(&pool, &options), -EINVAL);
	assert_non_null(strstr(db_pool_refusal(), "options of 8 bytes"));
}

static void a_layer_name_is_taken_once(void **state)
{
	(void)state;
	struct db_pool *pool = fake_pool(NULL);
	assert_int_equal(db_vfs_register(pool, FAKE_VFS), -EEXIST);
	assert_int_equal(db_vfs_register(pool, "unix"), -EEXIST);
	db_vfs_unregister("unix");
	assert_non_null(sqlite3_vfs_find("unix"));
	fake_pool_close(pool);
	assert_null(sqlite3_vfs_find(FAKE_VFS));
}

static void a_database_of_other_pages_is_refused(void **state)
{
	sqlite3 *db = NULL;
	const char *path = fake_path(state, "db");
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	fake_exec(db, "PRAGMA page_size=8192; CREATE TABLE t(a)");
	sqlite3_close(db);

	struct db_pool *pool = fake_pool(NULL);
	assert_int_equal(
		sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, FAKE_VFS), SQLITE_CANTOPEN);
	sqlite3_close(db);
	assert_non_null(strstr(db_pool_refusal(),
		"pages of 8192 bytes; the page pool holds pages of 4096 bytes only"));
	fake_pool_close(pool);
}

static void another_page_size_cannot_be_asked_for(void **state)
{
	struct db_pool *pool = fake_pool(NULL);
	sqlite3 *db = fake_connect(fake_path(state, "db"), FAKE_VFS);
	char *message = NULL;
	assert_int_equal(
		sqlite3_exec(db, "PRAGMA page_size=1024", NULL, NULL, &message), SQLITE_ERROR);
	assert_non_null(strstr(message, "page_size 1024"));
	sqlite3_free(message);
	fake_exec(db, "PRAGMA page_size=4096");
	assert_int_equal(fake_number(db, "PRAGMA page_size"), 4096);
	sqlite3_close(db);
	fake_pool_close(pool);
}

static void a_database_belongs_to_one_pool_at_a_time(void **state)
{
	struct db_pool *pool = fake_pool(NULL);
	struct db_pool_options options = { .struct_size = sizeof(options), .pool_bytes = 1 << 20 };
	struct db_pool *other = NULL;
	assert_int_equal(db_pool_open(&other, &options), 0);
	assert_int_equal(db_vfs_register(other, "other"), 0);
	const char *path = fake_path(state, "db");
	sqlite3 *first = fake_connect(path, FAKE_VFS);
	sqlite3 *second = NULL;
	assert_int_equal(
		sqlite3_open_v2(path, &second, SQLITE_OPEN_READWRITE, "other"), SQLITE_CANTOPEN);
	sqlite3_close(second);
	assert_non_null(strstr(db_pool_refusal(), "open through another page pool"));
	sqlite3_close(first);
	second = fake_connect(path, "other");
	sqlite3_close(second);
	db_vfs_unregister("other");
	db_pool_close(other);
	fake_pool_close(pool);
}

static void mmap_size_is_answered_and_nothing_is_mapped(void **state)
{
	fake_fill(fake_path(state, "db"), 5000);
	struct db_pool *pool = fake_pool(NULL);
	sqlite3 *db = fake_connect(fake_path(state, "db"), FAKE_VFS);
	assert_int_equal(fake_number(db, "PRAGMA mmap_size"), 2147418112);
	assert_int_equal(fake_number(db, "SELECT sum(n) FROM t"), 5000LL * 5001 / 2);
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	while (fgets(line, sizeof(line), maps) != NULL)
		assert_null(strstr(line, fake_path(state, "db")));
	fclose(maps);
	sqlite3_close(db);
	fake_pool_close(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pool_of_zero_bytes_is_refused_with_the_numbers),
		cmocka_unit_test(options_out_of_range_are_refused),
		cmocka_unit_test(options_of_another_build_are_refused),
		cmocka_unit_test_setup_teardown(
			a_layer_name_is_taken_once, fake_folder, fake_folder_remove),
		cmocka_unit_test_setup_teardown(
			a_database_of_other_pages_is_refused, fake_folder, fake_folder_remove),
		cmocka_unit_test_setup_teardown(
			another_page_size_cannot_be_asked_for, fake_folder, fake_folder_remove),
		cmocka_unit_test_setup_teardown(
			a_database_belongs_to_one_pool_at_a_time, fake_folder, fake_folder_remove),
		cmocka_unit_test_setup_teardown(mmap_size_is_answered_and_nothing_is_mapped,
			fake_folder, fake_folder_remove),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
