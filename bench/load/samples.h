/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples.h - everything one run leaves behind: what became of each request, what the case's own
 * tasks did, what was cancelled. Times are nanoseconds since the run's start unless they say so.
 */
#ifndef BENCH_SAMPLES_H
#define BENCH_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/load/clients.h"
#include "bench/load/schedule.h"
#include "bench/machine/watch.h"

#define RUN_TASKS_MAX	2048
#define RUN_CANCELS_MAX 512
#define RUN_WHY_MAX	320
#define RUN_NAME_MAX	24

/* What the case says about one of its own tasks: only a culprit may be cancelled. */
enum task_label {
	LABEL_VICTIM, /* a request of the load */
	LABEL_CULPRIT,
	LABEL_BYSTANDER, /* long, but harmless */
	LABEL_WAITING,	 /* a background job that is itself held up: not the cure */
};

struct task_record { /* one execution of one actor */
	char name[RUN_NAME_MAX];
	enum task_label label;
	uint64_t key;	   /* the target's name for it while it ran */
	uint64_t start_ns; /* it was due then */
	uint64_t end_ns;   /* 0: still running when the run ended */
	bool completed, cancelled;
	uint64_t taken_ns; /* when it had what it wanted; 0: it never had */
	uint64_t held_ns;  /* so long */
	uint32_t reruns;
	uint64_t rerun_start_ns; /* 0: never rerun */
	uint64_t work;		 /* rows it read or wrote */
};

struct cancel_record {
	uint64_t serial; /* of the library's decision; 0: a kill or a timeout */
	enum task_label label;
	char name[RUN_NAME_MAX];
	uint64_t key;
	uint64_t suspected_ns, decided_ns, delivered_ns, acknowledged_ns, released_ns; /* 0: no */
	uint64_t wasted_ns;
	char why[RUN_WHY_MAX];
};

struct samples {
	const struct schedule *schedule;
	struct outcome *outcomes; /* schedule->count of them */
	uint64_t slo_ns;	  /* UINT64_MAX: clients leave, and what is answered is in time */
	uint64_t length_ns;
	struct task_record tasks[RUN_TASKS_MAX];
	uint32_t task_count;
	struct cancel_record cancels[RUN_CANCELS_MAX];
	uint32_t cancel_count;
	/* Cancelled victims past half of the table: only counted, so that a culprit finds room. */
	uint64_t cancels_unrecorded, unrecorded_wasted_ns;
	uint64_t decisions;	     /* of the library, those of monitor mode included */
	uint64_t resource_overloads; /* windows whose verdict named a resource */
	uint64_t regular_overloads;
	uint64_t reruns;
	struct watch watch;
	const char *io; /* how the target reads its file; static */
	/* Of clients that time out, and of a target that is a process of its own. */
	struct clients_counts counts;
	uint32_t in_flight_max;
	double target_cpu_s, own_cpu_s;
	double reject_ms, reject_cpu_us; /* NAN: nothing was refused, or it was not measured */
};

int samples_make(struct samples **data, const struct schedule *schedule, uint64_t slo_ns)
	__attribute__((warn_unused_result));
void samples_free(struct samples *data);

#endif
