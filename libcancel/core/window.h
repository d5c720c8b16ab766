/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.h - the difference of two ledgers, and what the core remembers of each task meanwhile.
 *
 * All memory of tasks is indexed by slot, so a ledger in any order gives the same window. What the
 * previous ledger said of an entry is kept beside it, at the same position; an entry that moved is
 * looked for among the task's 16.
 */
#ifndef CANCEL_CORE_WINDOW_H
#define CANCEL_CORE_WINDOW_H

#include <cancel/policy.h>

#define NONE	       UINT32_MAX
#define STAMP_ERROR_NS 20000000ull /* two coarse stamps */
#define BLAME_WINDOWS  3u	   /* blame is judged over so many */

/* What the previous ledger said of one entry. `use` is the hold time of a LOCK, the slot time of a
 * QUEUE and the stalls caused of a MEMORY resource: what blame is shared out by. */
struct past_entry {
	uint64_t wait_ns, use_ns;
	uint64_t use_delta_ns; /* of the present window */
	uint32_t instance;
	uint8_t resource;
	uint8_t modes; /* LOCK: held last, kept while nothing is held */
};

/* The rest of an entry, touched only when it evicts or is blamed. */
struct past_usage {
	uint64_t evicted;
	uint64_t recent_milli;		  /* evictions x 1000, half-life 1 s */
	uint32_t blame_us[BLAME_WINDOWS]; /* newest first */
	uint32_t blamed_window;		  /* number of the window blame_us[0] belongs to */
	uint64_t used_ns,
		used_at_ns; /* LOCK, QUEUE: use while contended, half-life 1 s; as of then */
	/* Of the hold that began then: how long its task stood in another queue. */
	uint64_t idle_since_ns, idle_ns;
};

enum past_mark {
	MARK_NAMED = 1u << 0,	 /* chosen in monitor mode */
	MARK_ASKED = 1u << 1,	 /* chosen, and a cancel was delivered or tried */
	MARK_EXCLUDED = 1u << 2, /* ignored two */
};

/* What is kept of a task that has ended, until the class history has taken it in. */
struct past_end {
	uint64_t signature, active_ns;
	uint8_t class_index;
	bool cancelled; /* seen DELIVERING or DELIVERED: its time says nothing of its class */
};

struct past_task {
	uint64_t id;
	struct past_end end;		/* of this task, as of its last ledger */
	struct past_end replaced;	/* of the one whose slot it took in the present window */
	uint64_t seen_since_ns;		/* the first ledger that had it */
	uint64_t done, advanced_ns;	/* progress, and when it last grew */
	uint32_t first_wait, first_use; /* lists of the present window */
	uint8_t entry_count;
	uint8_t marks;	/* enum past_mark */
	bool idle;	/* in no episode */
	bool restarted; /* its progress fell: what it tells is of one part of it */
	bool listed;	/* among the present window's suspects */
};

/* What keeps a waiter waiting, where waiters that bar others give way (barring.h). */
enum way {
	WAY_HELD, /* the holders, as everywhere else */
	WAY_FREE, /* only waiters ahead */
	WAY_BARS, /* it is such a waiter: its own wait is nobody's fault */
};

/* A wait of the present window: one entry whose wait time grew. */
struct waiting {
	uint64_t delta_ns;
	uint64_t since_ns;    /* it still waits, since then; 0 = the wait is over */
	uint64_t acquired_ns; /* it holds the same entry since then; 0 = holds nothing */
	uint64_t blame_ns;    /* of a group: delay to share out this round … */
	uint64_t next_ns;     /* … and in the next */
	uint64_t divisor_ns;  /* of a group: what holders' shares are parts of */
	uint32_t task, entry; /* indices in the ledger */
	uint32_t instance;
	uint32_t group;	     /* the wait that stands for all blocked alike */
	uint32_t next_group; /* of the instance */
	uint32_t next_of_task;
	uint8_t resource, mode, blocked_by; /* LOCK: modes (bits) whose holders it waits for */
	bool bears_slo, overdue;
	uint8_t way; /* enum way */
};

struct window_resource {
	uint64_t wait_ns;	 /* all waits of SLO-bearing tasks */
	uint64_t active_wait_ns; /* the part of tasks still in the ledger */
	uint64_t use_ns;	 /* see past_entry */
	uint64_t evicted;
};

struct window {
	uint64_t start_ns, now_ns, length_ns;
	uint32_t number; /* from 1 */
	uint64_t completed, late;
	uint64_t active_ns; /* of SLO-bearing tasks in open episodes */
	uint64_t wait_ns;   /* over all resources */
	/* When the earliest of late_in_flight passed its SLO, 0 = none; and the earliest of the
	 * other tasks. */
	uint64_t first_late_ns, first_late_task, other_late_ns;
	uint64_t slo_ns; /* the smallest SLO of those who waited, 0 = nobody */
	uint32_t in_flight, late_in_flight;
	uint32_t stale_in_flight; /* late for over a second, and running all the same */
	uint32_t wait_count;
	bool overdue;  /* somebody waits for more than three times its SLO */
	bool overflow; /* more waits than fit: nobody is blamed in this window */
	uint32_t resource_count;
	struct window_resource resources[CANCEL_RESOURCES_MAX];
};

struct window_totals {
	uint64_t wait_ns, use_ns, evicted;
};

struct total { /* cumulative; what it was over the last ledgers */
	uint64_t highest;
	uint32_t falls; /* ledgers in a row that were below */
};

struct history_totals {
	struct total wait, use, evicted;
};

/* Memory across ledgers. The arrays are taken from the pipeline's block. */
struct history {
	uint32_t task_limit, wait_limit;
	uint8_t *seen; /* by slot: 0 = never used, else the epoch of the last ledger that had it */
	struct past_task *tasks;
	struct past_entry *entries; /* CANCEL_ENTRIES_MAX a slot */
	struct past_usage *usage;   /* likewise */
	struct waiting *waits;
	uint8_t epoch;
	bool started;
	uint32_t number;
	uint64_t now_ns, completed, late;
	struct total active; /* time of ended and open episodes */
	uint32_t decay_q32;  /* of this window: 2^-length at a half-life of a second, saturated */
	struct history_totals totals[CANCEL_RESOURCES_MAX];
	uint64_t recent_milli[CANCEL_RESOURCES_MAX]; /* evictions of all tasks, half-life 1 s */
};

/* Called for each task that the previous ledger had and this one has not, in slot order. */
typedef void (*window_ended_fn)(void *arg, const struct past_end *end);

/* Takes the difference to the previous ledger. False for the first ledger, or when time stood
 * still: then there is no window. */
bool window_take(struct history *history, const struct cancel_ledger *ledger, struct window *window,
	window_ended_fn ended, void *arg);

/* What is left of a value after so long, at a half-life of a second. */
uint64_t window_decayed(uint64_t value, uint64_t elapsed_ns);

/* Whether the last ledger had this task. */
bool window_has(const struct history *history, uint32_t slot, uint64_t id);

static inline struct past_entry *past_entries(const struct history *h, uint32_t slot)
{
	return &h->entries[(size_t)slot * CANCEL_ENTRIES_MAX];
}

static inline struct past_usage *past_usages(const struct history *h, uint32_t slot)
{
	return &h->usage[(size_t)slot * CANCEL_ENTRIES_MAX];
}

/* The entries of a task that lie inside the ledger and the table. */
static inline uint32_t window_entry_count(
	const struct cancel_ledger *ledger, const struct cancel_ledger_task *task)
{
	uint32_t count = task->entry_count;
	if (task->first_entry >= ledger->entry_count)
		return 0;
	if (count > CANCEL_ENTRIES_MAX)
		count = CANCEL_ENTRIES_MAX;
	if (count > ledger->entry_count - task->first_entry)
		count = ledger->entry_count - task->first_entry;
	return count;
}

#endif
