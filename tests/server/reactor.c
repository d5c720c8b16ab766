/* SPDX-License-Identifier: Apache-2.0 */
/* Leader and followers: nobody waits behind a long service, nobody is served twice at once. */
#include "demo-db/server/net/reactor.h"

#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#define SOURCES 8

struct peer {
	struct reactor_source source;
	int client;
	atomic_uint inside, overlaps, served;
	atomic_ulong bytes;
	struct peer *waits_for; /* its service blocks until that one was served */
	sem_t served_once, gate;
	bool gated, leaves;
	sem_t released;
};

struct fixture {
	struct reactor *reactor;
	struct peer peers[SOURCES];
};

static enum reactor_answer serve(void *arg, struct reactor_source *source)
{
	struct peer *peer = (struct peer *)source;
	char data[256];
	ssize_t got;
	arg = *(struct reactor **)arg;
	if (atomic_fetch_add(&peer->inside, 1))
		atomic_fetch_add(&peer->overlaps, 1);
	while ((got = read(source->fd, data, sizeof data)) > 0)
		atomic_fetch_add(&peer->bytes, (unsigned long)got);
	if (peer->waits_for)
		sem_wait(&peer->waits_for->served_once);
	if (peer->gated)
		sem_wait(&peer->gate);
	atomic_fetch_add(&peer->served, 1);
	atomic_fetch_sub(&peer->inside, 1);
	if (peer->leaves)
		reactor_remove(arg, source);
	sem_post(&peer->served_once);
	return peer->leaves ? REACTOR_GONE : REACTOR_WAIT;
}

static void release(void *arg, struct reactor_source *source)
{
	(void)arg;
	sem_post(&((struct peer *)source)->released);
}

static int start(void **state)
{
	static struct fixture f;
	memset(&f, 0, sizeof f);
	const struct reactor_options options = { .struct_size = sizeof options,
		.threads = 4,
		.serve = serve,
		.release = release,
		.arg = &f.reactor };
	if (reactor_start(&f.reactor, &options))
		return -1;
	for (int i = 0; i < SOURCES; i++) {
		int pair[2];
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair))
			return -1;
		f.peers[i].source.fd = pair[0];
		f.peers[i].client = pair[1];
		sem_init(&f.peers[i].served_once, 0, 0);
		sem_init(&f.peers[i].gate, 0, 0);
		sem_init(&f.peers[i].released, 0, 0);
	}
	*state = &f;
	return 0;
}

static int stop(void **state)
{
	struct fixture *f = *state;
	reactor_stop(f->reactor);
	for (int i = 0; i < SOURCES; i++) {
		close(f->peers[i].source.fd);
		close(f->peers[i].client);
	}
	return 0;
}

static void a_socket_that_becomes_ready_is_served(void **state)
{
	struct fixture *f = *state;
	struct peer *peer = &f->peers[0];
	assert_int_equal(reactor_add(f->reactor, &peer->source), 0);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(write(peer->client, "x", 1), 1);
		sem_wait(&peer->served_once);
	}
	assert_int_equal(atomic_load(&peer->bytes), 100);
	assert_true(peer->source.arrival_ns > 0);
}

static void nobody_waits_behind_a_long_service(void **state)
{
	struct fixture *f = *state;
	struct peer *slow = &f->peers[0], *quick = &f->peers[1];
	slow->waits_for = quick; /* would never end if only one thread served */
	assert_int_equal(reactor_add(f->reactor, &slow->source), 0);
	assert_int_equal(reactor_add(f->reactor, &quick->source), 0);
	assert_int_equal(write(slow->client, "x", 1), 1);
	assert_int_equal(write(quick->client, "x", 1), 1);
	sem_wait(&slow->served_once);
	assert_int_equal(atomic_load(&quick->served), 1);
}

static void an_edge_during_a_service_leads_to_another(void **state)
{
	struct fixture *f = *state;
	struct peer *peer = &f->peers[0];
	peer->gated = true;
	assert_int_equal(reactor_add(f->reactor, &peer->source), 0);
	assert_int_equal(write(peer->client, "x", 1), 1);
	while (!atomic_load(&peer->inside))
		continue;
	reactor_kick(f->reactor, &peer->source);
	reactor_kick(f->reactor, &peer->source);
	sem_post(&peer->gate);
	sem_post(&peer->gate);
	sem_wait(&peer->served_once);
	sem_wait(&peer->served_once);
	assert_int_equal(atomic_load(&peer->served), 2);
	assert_int_equal(atomic_load(&peer->overlaps), 0);
}

static void no_source_is_ever_served_twice_at_once_and_no_byte_is_missed(void **state)
{
	struct fixture *f = *state;
	for (int i = 0; i < SOURCES; i++)
		assert_int_equal(reactor_add(f->reactor, &f->peers[i].source), 0);
	for (int round = 0; round < 2000; round++) {
		for (int i = 0; i < SOURCES; i++) {
			while (write(f->peers[i].client, "x", 1) != 1)
				continue;
			if (round % 7 == i)
				reactor_kick(f->reactor, &f->peers[i].source);
		}
	}
	for (int i = 0; i < SOURCES; i++) {
		while (atomic_load(&f->peers[i].bytes) < 2000)
			sem_wait(&f->peers[i].served_once);
		assert_int_equal(atomic_load(&f->peers[i].overlaps), 0);
	}
}

static void a_removed_source_is_released_once_no_poll_can_know_it(void **state)
{
	struct fixture *f = *state;
	struct peer *peer = &f->peers[0], *other = &f->peers[1];
	peer->leaves = true;
	assert_int_equal(reactor_add(f->reactor, &peer->source), 0);
	assert_int_equal(reactor_add(f->reactor, &other->source), 0);
	assert_int_equal(write(peer->client, "x", 1), 1);
	sem_wait(&peer->served_once);
	sem_wait(&peer->released); /* though no edge ends the poll that may be under way */
	assert_int_equal(write(peer->client, "x", 1), 1);
	assert_int_equal(write(other->client, "x", 1), 1);
	sem_wait(&other->served_once);
	assert_int_equal(atomic_load(&peer->served), 1);
}

static void it_stops_while_idle_and_counts_what_it_did(void **state)
{
	struct fixture *f = *state;
	struct reactor_stats stats;
	assert_int_equal(reactor_add(f->reactor, &f->peers[0].source), 0);
	assert_int_equal(write(f->peers[0].client, "x", 1), 1);
	sem_wait(&f->peers[0].served_once);
	reactor_stats(f->reactor, &stats);
	assert_int_equal(stats.served, 1);
	assert_true(stats.polls >= 1);
	struct reactor *none = NULL;
	const struct reactor_options options = { .struct_size = sizeof options, .threads = 1 };
	assert_int_equal(reactor_start(&none, &options), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_socket_that_becomes_ready_is_served, start, stop),
		cmocka_unit_test_setup_teardown(nobody_waits_behind_a_long_service, start, stop),
		cmocka_unit_test_setup_teardown(
			an_edge_during_a_service_leads_to_another, start, stop),
		cmocka_unit_test_setup_teardown(
			no_source_is_ever_served_twice_at_once_and_no_byte_is_missed, start, stop),
		cmocka_unit_test_setup_teardown(
			a_removed_source_is_released_once_no_poll_can_know_it, start, stop),
		cmocka_unit_test_setup_teardown(
			it_stops_while_idle_and_counts_what_it_did, start, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
