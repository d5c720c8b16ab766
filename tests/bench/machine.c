/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's counters as the bench reads them, with nothing asserted about how busy it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/machine/machine.h"

#define BURN_NS	 100000000u
#define THREADS	 4
#define SLACK_NS 10000000.0 /* of CPU time, for a reading itself */

static uint64_t used_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *burn(void *arg)
{
	(void)arg;
	uint64_t begin_ns = used_ns(CLOCK_THREAD_CPUTIME_ID);
	while (used_ns(CLOCK_THREAD_CPUTIME_ID) < begin_ns + BURN_NS)
		continue;
	return NULL;
}

/* A reading is of a time that the test knows only from outside or from inside: bounds use the one
 * that is safe however long this process was stopped in between. */

static void time_of_threads_that_have_ended_is_ours(void **state)
{
	(void)state;
	pthread_t threads[THREADS];
	struct machine_second second;
	uint64_t begin_ns = used_ns(CLOCK_MONOTONIC);
	struct machine *machine = machine_open(0);
	assert_non_null(machine);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, burn, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	machine_read(machine, &second);
	double length_ns = (double)(used_ns(CLOCK_MONOTONIC) - begin_ns);
	machine_close(machine);
	if (!second.known)
		skip();
	assert_true(second.cpus >= 1);
	assert_true(second.own * length_ns >= THREADS * (double)BURN_NS);
	assert_true(second.others >= 0 && second.stolen >= 0 && second.waited >= 0);
}

static void each_reading_is_of_the_time_since_the_last(void **state)
{
	(void)state;
	struct machine_second second;
	struct machine *machine = machine_open(0);
	burn(NULL);
	machine_read(machine, &second);
	uint64_t before_ns = used_ns(CLOCK_PROCESS_CPUTIME_ID);
	nanosleep(&(struct timespec){ .tv_nsec = BURN_NS }, NULL);
	machine_read(machine, &second);
	uint64_t own_ns = used_ns(CLOCK_PROCESS_CPUTIME_ID) - before_ns;
	machine_close(machine);
	if (!second.known)
		skip();
	assert_true(second.own * BURN_NS <= (double)own_ns + SLACK_NS);
}

static void what_another_process_uses_is_not_ours(void **state)
{
	(void)state;
	struct machine_second second;
	uint64_t outside_ns = used_ns(CLOCK_MONOTONIC);
	struct machine *machine = machine_open(0);
	uint64_t inside_ns = used_ns(CLOCK_MONOTONIC),
		 before_ns = used_ns(CLOCK_PROCESS_CPUTIME_ID);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		for (int i = 0; i < THREADS; i++)
			burn(NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	inside_ns = used_ns(CLOCK_MONOTONIC) - inside_ns;
	machine_read(machine, &second);
	outside_ns = used_ns(CLOCK_MONOTONIC) - outside_ns;
	uint64_t own_ns = used_ns(CLOCK_PROCESS_CPUTIME_ID) - before_ns;
	machine_close(machine);
	if (!second.known)
		skip();
	assert_true(second.own * (double)inside_ns <= (double)own_ns + SLACK_NS);
	assert_true(second.others * (double)outside_ns >= THREADS * (double)BURN_NS / 2);
}

static pid_t start_server(void)
{
	int ends[2];
	char ready;
	assert_int_equal(pipe(ends), 0);
	pid_t server = fork();
	assert_true(server >= 0);
	while (server == 0)
		if (write(ends[1], "r", 1) == 1)
			pause();
	assert_int_equal(read(ends[0], &ready, 1), 1);
	close(ends[0]);
	close(ends[1]);
	return server;
}

static void a_server_is_watched_and_its_end_is_noticed(void **state)
{
	(void)state;
	struct machine_second second;
	pid_t server = start_server();
	struct machine *machine = machine_open(server);
	machine_read(machine, &second);
	bool was_known = second.known;
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	machine_read(machine, &second);
	machine_close(machine);
	assert_false(second.known);
	assert_true(second.others == 0 && second.waited == 0);
	if (!was_known)
		skip();
}

static void a_machine_that_could_not_be_opened_is_known_for_nothing(void **state)
{
	(void)state;
	struct machine_second second = { .known = true };
	machine_read(NULL, &second);
	assert_false(second.known);
	machine_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_of_threads_that_have_ended_is_ours),
		cmocka_unit_test(each_reading_is_of_the_time_since_the_last),
		cmocka_unit_test(what_another_process_uses_is_not_ours),
		cmocka_unit_test(a_server_is_watched_and_its_end_is_noticed),
		cmocka_unit_test(a_machine_that_could_not_be_opened_is_known_for_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
