/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.h - for hosts that are looked at from outside: an adapter tells, look by look, who runs and
 * who holds or waits for which lock or slot; the library judges and names the task to cancel.
 *
 * The calls of cancel.h are made by a server's own threads at the moment something happens. A
 * server that cannot be changed often shows the same facts in a table: PostgreSQL's lock table, a
 * process list. An adapter reads that table some twenty times a second and hands it over:
 *
 *	cancel_start_feed(&config);
 *	rows = cancel_create_resource("rows", CANCEL_LOCK, NULL);
 *	every 50 ms:
 *		cancel_feed_begin(now_ns);
 *		for each session in a transaction:
 *			t = cancel_feed_add_task(&task);
 *			cancel_feed_hold(t, rows, lock, mode, 0);
 *			cancel_feed_wait(t, rows, lock, mode, since_ns);
 *		cancel_feed_completed(0, statements, late, time_ns, NULL);
 *		if (cancel_feed_end(&order))
 *			cancel the statement order.statement of order.subject;
 *
 * What an adapter need not do: it keeps no history. The library matches the tasks and entries of
 * two looks, keeps the cumulative times, and notices what ended by its absence.
 *
 * No thread, no signal, no clock. The library runs only inside these calls; the action is the
 * adapter's code after cancel_feed_end. The time of a look is the adapter's: any monotonic clock in
 * nanoseconds, and every other time is of that clock. Status, decisions, listeners, options and the
 * journal of observe.h work as usual; its snapshots of tasks show nothing, and the calls of
 * cancel.h that need a task count not_running. All calls from cancel_start_feed to cancel_stop are
 * made by one thread at a time. All are cold.
 *
 * The report must be whole: whoever reports one holder or waiter of an instance reports all of
 * them. An instance nobody waits for may be left out.
 */
#ifndef CANCEL_FEED_H
#define CANCEL_FEED_H

#include <cancel/cancel.h>
#include <cancel/observe.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One task of a look. Zero means none, or the default. */
struct cancel_feed_task {
	size_t struct_size;
	uint64_t subject;    /* who: a backend's slot, a connection's number; once in a look */
	uint64_t generation; /* which of its tasks: another generation is another task */
	uint64_t statement;  /* handed back with the order: the cancel must reach this one alone */
	uint64_t key;	     /* shown in every report: a process id */
	uint64_t signature;  /* of what it runs; recognises a culprit that returns */
	uint64_t start_ns;   /* the task began then: it held nothing earlier; 0 unknown */
	uint64_t episode_start_ns; /* of the open episode; 0: it is between statements */
	uint64_t slo_ns;	   /* 0: its class's */
	uint64_t progress_done, progress_expected;
	uint64_t rollback_ns; /* the guess of what undoing would take; 0 unknown */
	uint8_t class_index;  /* of config.classes; too large: class 0, counted */
	/* CANCEL_CANCELLABLE | CANCEL_BACKGROUND | CANCEL_EXEMPT | CANCEL_MAINTENANCE, and
	 * CANCEL_ENDS_SESSION where an order may be carried out between statements, too. */
	uint8_t flags;
	uint8_t rank;	 /* 0: its class's */
	uint64_t origin; /* as in cancel_task_options; 0: the signature */
};

/* What to cancel. Filled by cancel_feed_end. */
struct cancel_order {
	size_t struct_size;			      /* set by the caller */
	uint64_t serial;			      /* of the decision, for cancel_feed_answer */
	uint64_t subject, generation, statement, key; /* as the task was reported in this look */
	enum cancel_reason reason;		      /* CULPRIT or ESCALATION */
	char text[CANCEL_TEXT_MAX];		      /* why, in a line */
};

#ifndef CANCEL_OFF

/* As cancel_start, without threads. The errors are the same, and so is the end: cancel_stop. */
CANCEL_API int cancel_start_feed(const struct cancel_config *config) CANCEL_MUST_CHECK;

/* Begins a look at now_ns. One that was begun and not ended is forgotten. */
CANCEL_API void cancel_feed_begin(uint64_t now_ns);

/*
 * Reports one task; 0 or more: its handle in this look. Errors: EINVAL (no struct_size, or its
 * subject has been reported in this look), ENOMEM (more than config.max_tasks; counted as
 * tasks_refused), ESTATE (no look has begun).
 */
CANCEL_API int cancel_feed_add_task(const struct cancel_feed_task *task);

/*
 * The task holds, or waits for, `amount` of this instance: the mode of a LOCK, the slots of a
 * QUEUE. A LOCK held in several modes is reported once for each. since_ns 0: unknown. Then a wait
 * counts from the look that first saw it; a hold from its longest waiter's start, but not from
 * before the task's own start, nor from before a look in which somebody reported the instance and
 * this task did not hold it: a lock that is handed over does not charge the new holder with what
 * its predecessor did. A wait that has vanished counts for half a look more.
 * A negative handle is ignored, so cancel_feed_add_task's answer may be passed on unchecked. A
 * resource that is none, or a MEMORY, counts as bad_resource or wrong_type; a 17th entry as
 * entries_dropped. */
CANCEL_API void cancel_feed_hold(
	int task, struct cancel_resource r, uint64_t instance, uint64_t amount, uint64_t since_ns);
CANCEL_API void cancel_feed_wait(
	int task, struct cancel_resource r, uint64_t instance, uint64_t amount, uint64_t since_ns);

/*
 * Episodes that have ended since start: how many, how many of them late, and the time they took.
 * Cumulative for the class; a number that falls is ignored until it has risen again. Only those
 * that bear an SLO. latency: CANCEL_HISTOGRAM_MAX counts in the log-linear buckets of policy.h, or
 * NULL; a class without an SLO learns one from them.
 */
CANCEL_API void cancel_feed_completed(uint8_t class_index, uint64_t count, uint64_t late,
	uint64_t active_ns, const uint64_t *latency);

/* Ends the look and judges. True: cancel what *order says, then answer. */
CANCEL_API bool cancel_feed_end(struct cancel_order *order) CANCEL_MUST_CHECK;

/*
 * What became of an order: CANCEL_EVENT_DELIVERED (the host was asked), _IGNORED (it came too late,
 * or could not be sent), _ACKNOWLEDGED (the statement ended by it). The release and the end of the
 * task are seen by the library itself. An unknown serial is ignored.
 */
CANCEL_API void cancel_feed_answer(uint64_t serial, enum cancel_event_kind what, uint64_t at_ns);

#else

CANCEL_MUST_CHECK static inline int cancel_start_feed(const struct cancel_config *config)
{
	(void)config;
	return 0;
}

static inline void cancel_feed_begin(uint64_t now_ns)
{
	(void)now_ns;
}

static inline int cancel_feed_add_task(const struct cancel_feed_task *task)
{
	(void)task;
	return CANCEL_ESTATE;
}

static inline void cancel_feed_hold(
	int task, struct cancel_resource r, uint64_t instance, uint64_t amount, uint64_t since_ns)
{
	(void)task;
	(void)r;
	(void)instance;
	(void)amount;
	(void)since_ns;
}

static inline void cancel_feed_wait(
	int task, struct cancel_resource r, uint64_t instance, uint64_t amount, uint64_t since_ns)
{
	cancel_feed_hold(task, r, instance, amount, since_ns);
}

static inline void cancel_feed_completed(uint8_t class_index, uint64_t count, uint64_t late,
	uint64_t active_ns, const uint64_t *latency)
{
	(void)class_index;
	(void)count;
	(void)late;
	(void)active_ns;
	(void)latency;
}

CANCEL_MUST_CHECK static inline bool cancel_feed_end(struct cancel_order *order)
{
	(void)order;
	return false;
}

static inline void cancel_feed_answer(uint64_t serial, enum cancel_event_kind what, uint64_t at_ns)
{
	(void)serial;
	(void)what;
	(void)at_ns;
}

#endif

#ifdef __cplusplus
}
#endif
#endif
