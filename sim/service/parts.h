/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h - the inside of a run of services, , for this room only. */
#ifndef SIM_SERVICE_PARTS_H
#define SIM_SERVICE_PARTS_H

#include <cancel/admission/upstream.h>

#include "sim/base/clock.h"
#include "sim/base/events.h"
#include "sim/base/memory.h"
#include "sim/service/service.h"

#define NOBODY UINT32_MAX

/* What happens, and who sees to it. */
#define SERVICE_EVENTS(X)                                                                          \
	X(NEXT, traffic_next)	      /* traffic `who` (user `arg`) sends its next request */      \
	X(ATTEMPT, task_again)	      /* task `who` is sent */                                     \
	X(ARRIVE, call_arrive)	      /* call `who` reaches its server */                          \
	X(WORKED, call_worked)	      /* call `who` has done its own work; arg: generation */      \
	X(ANSWER, call_answer)	      /* the answer of call `who` reaches its caller */            \
	X(TIMEOUT, task_timeout)      /* of task `who`; arg: generation */                         \
	X(REJECTED, server_rejected)  /* service `who`, server `arg`: a worker ends a reject */    \
	X(CHANGE_FROM, change_begins) /* change `who` */                                           \
	X(CHANGE_UNTIL, change_ends)                                                               \
	X(WARM, warm_up_ends) /* totals of services count from here */

enum event_kind {
#define X(event, handler) EVENT_##event,
	SERVICE_EVENTS(X)
#undef X
};
#define X(event, handler) void handler(struct sim_services *s, const struct sim_event *event);
SERVICE_EVENTS(X)
#undef X

/* ---- Tasks and calls ---- */

struct task { /* one attempt of a client */
	uint64_t original, scheduled_ns, sent_ns, user;
	uint32_t generation;
	uint32_t traffic, attempt, live_calls;
	uint32_t priority, key, slot; /* slot: of a closed loop's user */
	bool used, waiting, succeeded, measured;
	struct cancel_retry_aws_call aws;
	uint16_t served[SIM_SERVICES_MAX];
};

enum call_state { CALL_FREE, CALL_SENT, CALL_QUEUED, CALL_WORKING, CALL_CALLING, CALL_ANSWERED };
enum outcome { OUTCOME_OK, OUTCOME_FAILED, OUTCOME_REJECTED };

struct call {
	uint64_t arrival_ns;
	uint32_t generation, next; /* in a queue or a flight's waiters */
	uint32_t task, parent;	   /* parent NOBODY: the client */
	uint32_t pending, made;	   /* calls of the current list: open, made so far */
	uint32_t missed;	   /* refused upstream in the gate's name, to report on arrival */
	uint8_t service, server, resends, list;
	uint8_t state, outcome;
	bool on_worker, owns_flight, delivered;
	struct cancel_dagor_level level; /* rides on the answer */
	bool has_level;
};

struct server {
	struct sim_gate gate;
	uint32_t busy;
	uint32_t head, tail; /* waiting calls */
	uint64_t queued;
	uint64_t rejects_due; /* rejects that wait for a worker */
	bool outage, down;
	double slow;
};

struct cache {
	uint64_t *good_until_ns;
	uint32_t *flight; /* first waiter + 2; 1: a flight without waiters; 0: none */
	struct sim_zipf zipf;
};

struct service {
	struct sim_service_options options;
	struct server *servers;
	struct cancel_upstream *upstream; /* [caller][server], callers are services */
	struct cache cache;
	struct sim_rng rng;
	uint32_t turn;
	double shed;
	uint32_t busy;
	uint64_t busy_since_ns;
	struct sim_probe *probes;
	struct sim_service_result result;
};

struct traffic {
	struct sim_traffic_options options;
	struct sim_budget budget;
	struct sim_rng rng;
	uint64_t originals; /* sent so far */
	double load;
	uint32_t retries;
	uint64_t *schedule_ns; /* PACED: by user */
	struct sim_traffic_window *windows;
	struct sim_traffic_result result;
	struct sim_histogram latency, from_send;
};

struct sim_services {
	struct sim_services_options options;
	struct sim_clock clock;
	struct sim_events events;
	struct service services[SIM_SERVICES_MAX];
	struct traffic *traffics[SIM_TRAFFICS_MAX];
	struct sim_change changes[SIM_CHANGES_MAX];
	uint32_t service_count, traffic_count, change_count;
	struct task *tasks;
	struct call *calls;
	struct sim_slab task_slab, call_slab;
	uint32_t live_calls;
	struct cancel_dagor *levels; /* computes user levels only */
	size_t seconds, bins;
	bool full; /* live_limit was hit */
};

static inline uint64_t now_of(const struct sim_services *s)
{
	return s->clock.now_ns;
}

/* call.c */
void call_send(
	struct sim_services *s, uint32_t task, uint32_t parent, uint32_t service, uint8_t resends);
void server_start(struct sim_services *s, struct service *service, uint32_t server);
void server_down(struct sim_services *s, uint32_t service, uint32_t server);

/* cache.c */
bool cache_hit(struct sim_services *s, struct service *service, struct call *call);
void cache_fill(struct sim_services *s, struct service *service, struct call *call);
/* Waits for another's miss of the same key; false: make the call yourself. */
bool cache_join(struct sim_services *s, struct service *service, uint32_t call);
/* The first of those that waited for `call`'s miss, linked by `next`; NOBODY: none. */
uint32_t cache_land(struct sim_services *s, struct service *service, struct call *call);
void cache_init(struct cache *cache, const struct sim_cache_options *options);
void cache_free(struct cache *cache);
void cache_wipe(struct cache *cache, const struct sim_cache_options *options);

/* client.c */
void traffic_begin(struct sim_services *s, uint32_t traffic);
void task_answered(struct sim_services *s, uint32_t task, enum outcome outcome);
void task_release(struct sim_services *s, uint32_t task);

/* measure.c */
struct sim_probe *probe_now(struct sim_services *s, struct service *service);
void service_busy(struct sim_services *s, struct service *service, int change);
struct sim_traffic_window *window_now(struct sim_services *s, struct traffic *traffic);

#endif
