/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - GET /metrics in Prometheus' text format and GET /healthz, on a thread of their own.
 *
 * On 127.0.0.1 only. Names follow Prometheus' conventions: base units, _total for counters.
 * /healthz answers 200 "ok" while clients are taken, 503 once the server drains.
 */
#ifndef DEMO_DB_METRICS_H
#define DEMO_DB_METRICS_H

#include "demo-db/server/config/config.h"

struct server;
struct metrics;

/* 0, or -1 with one line in `message`. */
int metrics_start(
	struct metrics **metrics, struct server *server, char message[CONFIG_MESSAGE_MAX]);
void metrics_stop(struct metrics *metrics); /* NULL is fine */

#endif
