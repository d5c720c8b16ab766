/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.h - services that call each other, and the clients that call them.
 *
 * A service has servers, a server has workers and one queue. A request enters at one service; each
 * call does its own work on a worker, then makes the calls its service declares, in order, and
 * answers. A task succeeds when every call of its tree did, before its client gave up. Work for a
 * client that has left is done all the same. Gates stand at servers, budgets at clients (admission/).
 *
 * A run is a function of its description and seed; ties at one instant as in base/events.h. It ends at
 * duration_ns or at a bound that the result names.
 */
#ifndef SIM_SERVICE_H
#define SIM_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/admission/budget.h"
#include "sim/admission/gate.h"
#include "sim/base/dist.h"
#include "sim/base/histogram.h"
#include "sim/base/patience.h"

#define SIM_SERVICES_MAX 12
#define SIM_SERVERS_MAX	 16 /* of a service */
#define SIM_CALLS_MAX	 6  /* call lists of a service */
#define SIM_TRAFFICS_MAX 16
#define SIM_CHANGES_MAX	 64

struct sim_services; /* opaque */

/* ---- Services ---- */

enum sim_balance {
	SIM_BALANCE_ROUND_ROBIN,
	SIM_BALANCE_RANDOM,
	SIM_BALANCE_LEAST, /* the shortest queue */
};

struct sim_call_list { /* made one after the other: the next list when all of this one answered */
	uint32_t callee, count;
	bool sequential; /* within the list too; else all at once */
	bool cached;	 /* only on a miss of the service's cache */
	bool with_next;	 /* at once with the next list; neither sequential nor cached */
};

struct sim_cache_options {
	uint32_t keys;	    /* 0: no cache */
	uint64_t ttl_ns;    /* an entry is good for so long */
	double exponent;    /* Zipf, of the keys asked for */
	bool fill_late;	    /* an answer that comes after the client left still fills it */
	bool single_flight; /* one miss for a key at a time; the others wait for its answer */
	bool starts_warm;
};

struct sim_service_options { /* zero = default, in brackets */
	const char *name;
	uint32_t servers, workers; /* [1] [1] workers of one server */
	struct sim_dist work;	   /* own work of a call */
	bool holds_worker;	   /* a call keeps its worker until its own calls have answered */
	uint64_t queue_limit;	   /* [none] waiting calls of one server; more are rejected */
	uint64_t reject_cost_ns;   /* a reject takes a worker for so long, ahead of the queue */
	uint64_t net_ns;	   /* one way, to and from it */
	uint32_t resends;	   /* a caller resends a rejected call so many times, elsewhere */
	enum sim_balance balance;
	struct sim_gate_options gate;
	struct sim_call_list calls[SIM_CALLS_MAX];
	uint32_t call_lists;
	struct sim_cache_options cache;
};

/* ---- Clients ---- */

enum sim_loop {
	SIM_LOOP_FIXED,	  /* open: every 1/rate */
	SIM_LOOP_POISSON, /* open: at random, at the rate */
	SIM_LOOP_PACED,	 /* `users` that each keep to a schedule of users/rate, but wait for answers
			  */
	SIM_LOOP_CLOSED, /* `users` that think between answer and request */
};

struct sim_traffic_options { /* zero = default */
	const char *name;
	uint32_t service; /* where requests enter */
	enum sim_loop loop;
	double rate_qps;
	uint32_t users; /* PACED, CLOSED; users of the user priority otherwise [1,000,000] */
	struct sim_dist think;
	uint64_t start_ns, stop_ns; /* [0, the run's end) */
	uint64_t burst_every_ns; /* not 0: `burst` requests at once so often, instead of the rate */
	uint32_t burst;
	uint64_t day_ns; /* not 0: the rate follows a day, its peak peak_ratio times the mean */
	double peak_ratio;
	struct sim_patience patience;
	enum sim_budget_kind budget;
	double budget_rate; /* BUCKET: a second; FINAGLE, ENVOY: a share; 0: the kind's own */
	uint64_t budget_burst;
	uint32_t business, business_levels; /* levels [business, business + levels) in turn */
};

/* ---- What happens to them ---- */

enum sim_change_kind {
	SIM_CHANGE_OUTAGE, /* service (server, or all at -1): no work starts */
	SIM_CHANGE_SLOW,   /* service (server): work takes `value` times as long */
	SIM_CHANGE_DOWN, /* service (server): its queue and running work fail, it takes no calls */
	SIM_CHANGE_LOAD, /* traffic: its rate times `value` */
	SIM_CHANGE_RETRIES, /* traffic: `value` retries */
	SIM_CHANGE_SHED,    /* service: rejects a share `value` at random */
	SIM_CHANGE_WIPE,    /* service: its cache is emptied, at `from_ns` */
};

struct sim_change { /* from from_ns on, until before until_ns */
	enum sim_change_kind kind;
	uint32_t target;
	int32_t server;
	uint64_t from_ns, until_ns;
	double value;
};

struct sim_services_options {
	uint64_t duration_ns; /* at most a week */
	uint64_t warm_up_ns;  /* totals count requests from here on */
	uint64_t seed, events_limit;
	uint64_t bin_ns;     /* of the probes; 0: none */
	uint32_t live_limit; /* [2,000,000] calls alive at once: a bound */
};

struct sim_services *sim_services_new(const struct sim_services_options *options);
void sim_services_free(struct sim_services *services);
/* Each returns an index, or -1: full, or out of range. Callees may be added later than callers. */
int sim_services_add(struct sim_services *services, const struct sim_service_options *options);
int sim_services_traffic(struct sim_services *services, const struct sim_traffic_options *options);
int sim_services_change(struct sim_services *services, const struct sim_change *change);
/* 0; -1 with *why when the description does not hold together (an unknown callee, a cycle). */
int sim_services_run(struct sim_services *services, const char **why);

/* ---- Results ---- */

struct sim_traffic_window { /* one second */
	uint32_t originals, attempts, goodput, rejected, timed_out;
};

struct sim_traffic_result {
	const struct sim_traffic_window *windows;
	size_t window_count;
	/* Of originals scheduled after the warm-up. */
	uint64_t originals, attempts, succeeded, failed; /* failed: out of patience and retries */
	const struct sim_histogram *latency;   /* of successes, from the scheduled start */
	const struct sim_histogram *from_send; /* the same from the moment of sending */
};

struct sim_probe { /* a service during bin_ns */
	uint64_t arrivals, rejected, started, answered;
	uint64_t queuing_sum_ns, queuing_min_ns; /* of calls started; min UINT64_MAX: none */
	uint64_t response_sum_ns;		 /* of calls answered */
	uint64_t busy_ns;			 /* worker time, waiting for own calls included */
	uint64_t work_ns;			 /* own work begun, what a CPU would see */
};

struct sim_service_result { /* counts from the warm-up on; probes all */
	const struct sim_probe *probes;
	size_t probe_count;
	uint64_t arrivals, first_arrivals; /* first: without resends and retries */
	uint64_t rejected, refused_upstream, shed_at_head;
	uint64_t served, wasted; /* calls whose own work was done; those of tasks that failed */
	uint64_t queued_max;
	uint64_t cache_asked, cache_hit;
	uint32_t cursor, levels; /* DAGOR, of the first server */
};

void sim_services_traffic_result(
	const struct sim_services *services, uint32_t traffic, struct sim_traffic_result *result);
void sim_services_result(
	const struct sim_services *services, uint32_t service, struct sim_service_result *result);
/* Calls that have not ended: 0 once everything has drained. */
uint32_t sim_services_alive(const struct sim_services *services);
uint64_t sim_services_events(const struct sim_services *services);
const char *sim_services_bound(const struct sim_services *services);

#endif
