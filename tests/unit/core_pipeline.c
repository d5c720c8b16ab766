/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "scripted.h"

#define SLO (10 * MS)

/* Windows in which every arrival wants the lock and none gets it. */
static void block_arrivals(struct scripted *s, uint32_t lock, uint32_t windows)
{
	for (uint32_t i = 0; i < windows && !s->decisions; i++) {
		for (uint32_t k = 0; k < 10; k++)
			scripted_wait(s, scripted_task(s, SLO), lock, 0, CANCEL_EXCLUSIVE);
		scripted_step(s);
	}
}

static void the_holder_of_a_lock_is_cancelled_within_200_ms(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *culprit;

	(void)state;
	scripted_healthy(s, 80);
	culprit = scripted_task(s, 0);
	scripted_hold(s, culprit, lock, 0, CANCEL_EXCLUSIVE);
	block_arrivals(s, lock, 20);
	assert_int_equal(s->cancels, 1);
	assert_int_equal(s->last.target.task, culprit->t.id);
	assert_int_equal(s->last.runner_up.task, 0);
	assert_true(s->last.decided_ns - s->last.onset_ns <= 200 * MS);
	assert_true(s->last.contention_ppm[lock] > 900000);
	scripted_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_holder_of_a_lock_is_cancelled_within_200_ms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
