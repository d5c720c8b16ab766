/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane_session.h - the server of a run and the connections to it, set up as the policy wants.
 */
#ifndef BENCH_LANE_SESSION_H
#define BENCH_LANE_SESSION_H

#include <event2/event.h>

#include "bench/cases/lane.h"
#include "bench/policies/lane_policy.h"
#include "bench/report/lane_measure.h"
#include "bench/target/server_process.h"
#include "bench/target/wire.h"

struct lane_setup {
	const char *title; /* of its progress lines */
	const struct lane_plan *plan;
	const struct lane_policy *policy;
	double saturation_qps, rate_qps;
	uint64_t seed;
	bool poisson, quiet;
	uint32_t connections;
	const char *data_dir;
	uint64_t items;		  /* in it */
	struct lane_trace *trace; /* to be filled; NULL: none is wanted */
};

struct lane_session {
	const struct lane_setup *setup;
	struct server_process server;
	struct event_base *base;
	struct event *timer;
	struct wire_pool *pool, *operators;
	uint64_t start_ns; /* CLOCK_MONOTONIC */
};

/* Started, its hot set read, connections opened. 0, or -1 with a line in error; end it in both
 * cases. */
int lane_session_begin(struct lane_session *session, const struct lane_setup *setup,
	char error[SERVER_ERROR_MAX]) __attribute__((warn_unused_result));
void lane_session_end(struct lane_session *session);

/* From here on SIGINT, SIGTERM and SIGHUP end the run in order, temporary folder included. */
void lane_session_catch_interrupts(void);
bool lane_session_interrupted(void);

/* Since start_ns. */
uint64_t lane_session_now_ns(void *session);
/* Serves the connections until something was heard, or that instant. */
void lane_session_wait(struct lane_session *session, uint64_t until_ns);
/* Asks an operator's statement and waits for it: its first row's columns as numbers. 0, or -1. */
int lane_session_numbers(struct lane_session *session, const char *sql, double *numbers, int count,
	char error[SERVER_ERROR_MAX]) __attribute__((warn_unused_result));
/* What a client asks: who it is, and its question. */
#define LANE_SQL_BYTES 512
void lane_session_question(const struct lane_session *session, const struct crowd_request *request,
	char sql[LANE_SQL_BYTES]);

#endif
