/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_session.h - the server of a run and the connections to it, set up as the policy wants.
 */
#ifndef BENCH_SERVER_SESSION_H
#define BENCH_SERVER_SESSION_H

#include <event2/event.h>

#include "bench/cases/case.h"
#include "bench/policies/policy.h"
#include "bench/report/retry_measure.h"
#include "bench/target/server_process.h"
#include "bench/target/wire.h"

struct server_setup {
	const char *title; /* of its progress lines */
	const struct retry_plan *plan;
	const struct bench_policy *policy;
	double saturation_qps, rate_qps;
	uint64_t seed;
	bool poisson, quiet;
	uint32_t connections;
	const char *data_dir;
	uint64_t items;	     /* in it */
	struct trace *trace; /* to be filled; NULL: none is wanted */
};

struct server_session {
	const struct server_setup *setup;
	struct server_process server;
	struct event_base *base;
	struct event *timer;
	struct wire_pool *pool, *operators;
	uint64_t start_ns; /* CLOCK_MONOTONIC */
};

/* Started, its hot set read, connections opened. 0, or -1 with a line in error; end it in both
 * cases. */
int server_session_begin(struct server_session *session, const struct server_setup *setup,
	char error[SERVER_ERROR_MAX]) __attribute__((warn_unused_result));
void server_session_end(struct server_session *session);

/* From here on SIGINT, SIGTERM and SIGHUP end the run in order, temporary folder included. */
void server_session_catch_interrupts(void);
bool server_session_interrupted(void);

/* Since start_ns. */
uint64_t server_session_now_ns(void *session);
/* Serves the connections until something was heard, or that instant. */
void server_session_wait(struct server_session *session, uint64_t until_ns);
/* Asks an operator's statement and waits for it: its first row's columns as numbers. 0, or -1. */
int server_session_numbers(struct server_session *session, const char *sql, double *numbers,
	int count, char error[SERVER_ERROR_MAX]) __attribute__((warn_unused_result));
/* What a client asks: who it is, and its question. */
#define SESSION_SQL_BYTES 512
void server_session_question(const struct server_session *session,
	const struct clients_request *request, char sql[SESSION_SQL_BYTES]);

#endif
