/* SPDX-License-Identifier: Apache-2.0 */
/* A session that cannot be opened leaves nothing behind. The linker (--wrap) lets a part fail. */
#include "engine_fixture.h"

#include "demo-db/engine/session/state.h"

int __real_lock_owner_init(struct lock_owner *owner, struct lock_space *space, uint64_t number);
int __wrap_lock_owner_init(struct lock_owner *owner, struct lock_space *space, uint64_t number);
int __real_job_init(struct job *job, bool (*run)(struct job *), struct lock_owner *owner);
int __wrap_job_init(struct job *job, bool (*run)(struct job *), struct lock_owner *owner);

static struct fixture fixture;
static int parts_left = -1; /* so many parts succeed, then one fails; -1: all succeed */

static bool fails(void)
{
	return parts_left >= 0 && parts_left-- == 0;
}

int __wrap_lock_owner_init(struct lock_owner *owner, struct lock_space *space, uint64_t number)
{
	return fails() ? DB_ENOMEM : __real_lock_owner_init(owner, space, number);
}

int __wrap_job_init(struct job *job, bool (*run)(struct job *), struct lock_owner *owner)
{
	return fails() ? DB_ENOMEM : __real_job_init(job, run, owner);
}

static uint32_t count_owners(void)
{
	uint32_t count = 0;
	for (struct lock_owner *owner = fixture.engine->locks.owners; owner;
		owner = owner->next_owner)
		count++;
	return count;
}

static void expect_refusal(int parts, int error)
{
	struct db_stats stats;
	struct db_session *session = NULL;
	uint32_t owners = count_owners();
	parts_left = parts;
	assert_int_equal(db_session_open(fixture.engine, NULL, &session), error);
	parts_left = -1;
	assert_null(session);
	db_stats(fixture.engine, &stats);
	assert_int_equal(stats.sessions, fixture.engine->sessions.count);
	assert_int_equal(count_owners(), owners);
}

static void a_session_whose_parts_fail_is_in_no_list(void **state)
{
	(void)state;
	fixture_open(&fixture, NULL);
	for (int parts = 0; parts < 3; parts++) {
		expect_refusal(parts, DB_ENOMEM);
		assert_int_equal(fixture.engine->sessions.count, 0);
		assert_null(fixture.engine->sessions.first);
	}
	struct db_session *session = open_session(&fixture);
	assert_int_equal(ask(session, "SELECT 1"), 1);
	db_session_close(session);
	fixture_close(&fixture);
}

static void a_session_too_many_is_in_no_list(void **state)
{
	(void)state;
	const struct db_options options = { .session_limit = 1, .io = DB_IO_BUFFERED };
	fixture_open(&fixture, &options);
	struct db_session *session = open_session(&fixture);
	expect_refusal(-1, DB_ESESSIONS);
	assert_int_equal(fixture.engine->sessions.count, 1);
	db_session_close(session);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_whose_parts_fail_is_in_no_list),
		cmocka_unit_test(a_session_too_many_is_in_no_list),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
