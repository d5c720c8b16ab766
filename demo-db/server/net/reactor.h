/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reactor.h - sockets that became ready, and the threads that serve them where they are read.
 *
 * Leader/follower: the thread that polls is the thread that serves, so a short statement costs no
 * hand-over to another thread. One active thread takes a batch from epoll, stamps every socket of
 * it with the batch's time (a query's arrival), and serves one after the other. A standby thread
 * looks every millisecond; when nobody polls and something is ready or the last poll is older than
 * that, all active threads are busy with longer work, and the standby becomes active. A thread that
 * finds nothing ready while another polls goes back to sleep. So there are as many active threads
 * as the work needs, the polling gap stays at about a millisecond, and queuing time is never hidden
 * in a socket's buffer.
 *
 * Sockets are watched edge-triggered: `serve` must read until a read is short, and once the peer
 * has hung up until there is nothing, since bytes and end may be one edge. A source is served
 * by one thread at a time; an edge or a reactor_kick meanwhile leads to another call afterwards.
 */
#ifndef DEMO_DB_REACTOR_H
#define DEMO_DB_REACTOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REACTOR_LEVELS 4 /* priorities; 0 is served first */

struct reactor;

struct reactor_source { /* embedded in a connection; set fd and level, the rest zero */
	int fd;
	_Atomic uint32_t level; /* anyone may change it; read when the source becomes ready */
	_Atomic uint32_t state; /* reactor.c */
	_Atomic bool hung_up;	/* the peer sends no more: what a read leaves is the end */
	uint64_t arrival_ns;	/* when the socket became ready; stable while it is served */
	_Atomic uint64_t edge_ns;
	struct reactor_source *next;
};

enum reactor_answer {
	REACTOR_WAIT, /* serve again at the next edge or kick */
	REACTOR_GONE, /* the source was removed; `release` follows */
};

struct reactor_options {
	size_t struct_size;
	uint32_t threads; /* at most so many serve at once */
	/* Any serving thread; never two at once for one source. */
	enum reactor_answer (*serve)(void *arg, struct reactor_source *source);
	/* A removed source is in nobody's hands any more: its memory may go. NULL: nothing to do.
	 * Any serving thread, or reactor_stop. A poll that began before the removal may still
	 * report the source, so this comes when that poll is over. */
	void (*release)(void *arg, struct reactor_source *source);
	void *arg; /* of both */
};

/* 0 or -1 with errno. */
int reactor_start(struct reactor **reactor, const struct reactor_options *options);
/* Ends the threads once each has finished what it serves. Sources are the caller's to close. */
void reactor_stop(struct reactor *reactor);

/* Watches source->fd (non-blocking). It may be served before this returns. 0 or -1 with errno. */
int reactor_add(struct reactor *reactor, struct reactor_source *source);
/* By the thread that serves it: is room in the socket's send buffer an edge, too? */
int reactor_watch_writable(struct reactor *reactor, struct reactor_source *source, bool wanted);
/* By the thread that serves it, before it closes the descriptor and answers REACTOR_GONE. */
void reactor_remove(struct reactor *reactor, struct reactor_source *source);
/* Has it served once more: a statement ended elsewhere, a timer fired. Any thread. */
void reactor_kick(struct reactor *reactor, struct reactor_source *source);

/* By a thread about to sleep inside `serve` (for a lock): if it was the last one awake, the standby
 * takes over at once and not after a millisecond. Other threads may call it, without effect. */
void reactor_blocking(struct reactor *reactor);

struct reactor_stats {
	uint64_t polls, served, standby_steps; /* since start */
	uint32_t active, ready;
	uint64_t longest_gap_ns; /* between polls while a source was ready, since the last call */
};
void reactor_stats(struct reactor *reactor, struct reactor_stats *stats);

#endif
