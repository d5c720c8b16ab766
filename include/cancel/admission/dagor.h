/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dagor.h - the DAGOR gate: priority admission steered by queuing time.
 *
 * Purpose: keep a server at its saturation throughput under overload by refusing the lowest
 * priorities, the same ones for every request of a window. A priority is a compound level,
 * business x user_levels + user, 0 the highest. The gate admits levels below its cursor.
 * Each window it averages what it observed, shrinks or grows the expected number of admitted
 * requests, and turns that number into a cursor by prefix sums over the histogram of *requested*
 * levels. The highest level is never refused (cursor >= 1: our rule).
 *
 * Signal: queuing time, arrival to start of processing, average over 20 ms in a window of 1 s or
 * 2000 observed requests, whichever comes first. The response-time variant (DAGOR_r) averages
 * response times over 250 ms instead; it is here to show what that signal gets wrong.
 * Expected count, alpha = 5 %, beta = 1 %, N the requests of the window, refused ones included:
 *   accumulating  N_exp starts at the first N; overloaded N_exp -= alpha N_exp;
 *                 healthy N_exp = min(N, N_exp + beta N), and N where nothing was refused
 *   memoryless    N_exp = N_adm - alpha N_adm, or N_adm + beta N (the paper's text)
 *   fraction      f starts at 1; f -= alpha f, or min(1, f + beta); N_exp = f N
 * With few levels the memoryless rule never reopens (beta N is less than a level); with 128 user
 * levels all three work. Without "and N where nothing was refused" (ours) a gate that never saw
 * overload would refuse half of a load that doubles. N_exp is kept in millionths of a request,
 * shares of it rounded down. A window with requests but nothing admitted counts as healthy; one
 * where requests were admitted and none was observed (a stall) moves nothing; one without requests
 * moves nothing.
 *
 * Thread safety: none (see cancel/admission_shared.h). Cost: admit and observe O(1); the call that
 * closes a window walks the levels in use (up to 8192) once. 32 KiB.
 * Source: Zhou et al., Overload Control for Scaling WeChat Microservices, SoCC 2018: 4.1 signal,
 * 4.2.1-4.2.2 priorities, 4.2.3 Algorithm 1, 4.2.4 the level on replies.
 */
#ifndef CANCEL_ADMISSION_DAGOR_H
#define CANCEL_ADMISSION_DAGOR_H

#include <cancel/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CANCEL_DAGOR_LEVELS_MAX 8192u /* 64 business levels x 128 user levels */

enum cancel_dagor_rule {
	CANCEL_DAGOR_ACCUMULATING,
	CANCEL_DAGOR_MEMORYLESS,
	CANCEL_DAGOR_FRACTION,
};

enum cancel_dagor_signal {
	CANCEL_DAGOR_QUEUING_TIME,
	CANCEL_DAGOR_RESPONSE_TIME,
};

struct cancel_dagor_options { /* zero = default, in brackets */
	size_t struct_size;
	uint32_t business_levels; /* [64] */
	uint32_t user_levels;	  /* [128] 1: bare business levels; the product <= 8192 */
	enum cancel_dagor_rule rule;
	enum cancel_dagor_signal signal;
	uint64_t window_ns;	  /* [1 s] */
	uint32_t window_requests; /* [2000] observed requests that close a window early */
	uint64_t threshold_ns;	  /* [20 ms; 250 ms for response times] */
	uint32_t alpha_ppm;	  /* [50000] */
	uint32_t beta_ppm;	  /* [10000] */
	uint64_t rotate_ns;	  /* [1 h] how long a user keeps its user level */
	uint64_t salt;		  /* [0] the same on all servers that compute levels */
	uint64_t start_ns;	  /* [0] start of the first window */
};

/* What rides on a reply. The serial tells replies that overtook each other apart; the age lets the
 * receiver drop what an idle gate has not renewed. No common clock is needed. */
struct cancel_dagor_level {
	uint32_t cursor; /* levels below it are admitted */
	uint64_t serial; /* of the window that set it; grows by one a window */
	uint64_t age_ns; /* since a window last closed */
};

struct cancel_dagor {
	uint32_t levels, business_levels, user_levels;
	uint32_t window_requests, alpha_ppm, beta_ppm;
	enum cancel_dagor_rule rule;
	uint64_t window_ns, threshold_ns, rotate_ns, salt;

	uint32_t cursor;	 /* 1 .. levels; levels below it are admitted */
	uint64_t cursor_set_ns;	 /* when the last window closed */
	uint64_t expected_micro; /* N_exp in millionths; valid once `windows` > 0 */
	uint32_t fraction_ppb;	 /* f of the fraction rule, in 1e-9 */
	uint64_t windows;	 /* closed with a verdict: the serial of the level */
	bool overloaded;	 /* that verdict, of the last window */

	uint64_t window_start_ns;
	uint64_t requests, admitted, observed, missed; /* in this window */
	uint64_t delay_sum_ns;
	uint32_t histogram[CANCEL_DAGOR_LEVELS_MAX]; /* requested, by level */
};

/* Returns 0, or CANCEL_EINVAL (no struct_size, too many levels, a share over 100 %). */
CANCEL_MUST_CHECK int cancel_dagor_init(
	struct cancel_dagor *gate, const struct cancel_dagor_options *options);
/* The compound level of a request: `business` (0 the highest) and a hash of the user that changes
 * each rotate_ns. Compute it once, where a task enters, and copy it to every call the task makes:
 * then all servers shed the same tasks. Values past the last level count as the last. */
uint32_t cancel_dagor_priority(
	const struct cancel_dagor *gate, uint64_t now_ns, uint32_t business, uint64_t user);
/* Counts one request and says whether it may enter. `priority` is a compound level. */
bool cancel_dagor_admit(struct cancel_dagor *gate, uint64_t now_ns, uint32_t priority);
/* One admitted request began processing after `delay_ns` of queuing (or, in the response-time
 * variant, ended `delay_ns` after it arrived). */
void cancel_dagor_observe(struct cancel_dagor *gate, uint64_t now_ns, uint64_t delay_ns);
/* `count` requests were refused upstream in this gate's name (see cancel_upstream_take_shed). They
 * count in N, spread evenly over the levels not admitted. Without this a gate whose callers shed
 * for it sees only what it admits, takes it for all there is and opens wide. */
void cancel_dagor_missed(struct cancel_dagor *gate, uint64_t now_ns, uint64_t count);
/* The level to put on a reply. */
struct cancel_dagor_level cancel_dagor_current_level(
	const struct cancel_dagor *gate, uint64_t now_ns);

#ifdef __cplusplus
}
#endif
#endif
