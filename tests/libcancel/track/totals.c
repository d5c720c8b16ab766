/* SPDX-License-Identifier: Apache-2.0 */
/* What ended counts in one ledger, whenever it ends while one is made. */
#include "test.h"

#include "libcancel/track/totals.h"

#define SLOT 7u

static uint64_t latency[CANCEL_HISTOGRAM_MAX];

static uint64_t completed_after(void (*meanwhile)(void))
{
	struct totals sum;
	totals_begin(&sum, 0);
	if (meanwhile)
		meanwhile();
	totals_end(&sum, 0, latency);
	return sum.completed;
}

static void end_before_and_after_its_slot(void)
{
	totals_episode(SLOT, 10, 20); /* its slot will be found empty: this ledger */
	totals_passed(SLOT + 1);
	totals_episode(SLOT, 10, 20);	  /* read as a live task: the next one */
	totals_episode(SLOT + 1, 10, 20); /* its slot comes now: this ledger */
}

static void an_episode_counts_once_on_either_side_of_the_collector(void **state)
{
	(void)state;
	totals_reset();
	assert_int_equal(completed_after(end_before_and_after_its_slot), 2);
	assert_int_equal(completed_after(NULL), 3);
	assert_int_equal(completed_after(NULL), 3);
}

static void end_without_a_slot(void)
{
	totals_episode(TOTALS_NO_SLOT, 10, 20);
	totals_passed(SLOT + 1);
	totals_episode(TOTALS_NO_SLOT, 30, 20);
}

static void one_without_a_slot_counts_in_the_ledger_being_made(void **state)
{
	(void)state;
	totals_reset();
	assert_int_equal(completed_after(end_without_a_slot), 2);
	totals_episode(TOTALS_NO_SLOT, 10, 20);
	assert_int_equal(completed_after(NULL), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_episode_counts_once_on_either_side_of_the_collector),
		cmocka_unit_test(one_without_a_slot_counts_in_the_ledger_being_made),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
