/* SPDX-License-Identifier: Apache-2.0 */
/* admission.c - answers a transaction that wants to begin. */
#include "demo-db/server/admission/admission.h"

#include <stdio.h>

#define MIB		(1024u * 1024u)
#define LOG_DEBT_BYTES	(8 * MIB)    /* the engine keeps the log below this, readers permitting */
#define WRITE_ASK_BYTES (64 * 1024u) /* what a write of the lowest priority is taken to cost */

int admission_init(struct admission *admission, const struct config *config)
{
	const struct cancel_busy_options busy = { .struct_size = sizeof busy,
		.threshold_ns = config->busy_ms * 1000000u };
	const struct cancel_io_tokens_options tokens = { .struct_size = sizeof tokens,
		.threshold = LOG_DEBT_BYTES,
		.start_ns = cancel_now_ns() };
	pthread_mutex_init(&admission->lock, NULL);
	admission->tokens_on = config->io_tokens != 0;
	if (cancel_busy_init(&admission->busy_all, &busy) ||
		cancel_busy_init(&admission->busy_writers, &busy) ||
		cancel_io_tokens_init(&admission->tokens, &tokens))
		return -1;
	return gate_init(&admission->gate, config);
}

void admission_free(struct admission *admission)
{
	gate_free(&admission->gate);
	pthread_mutex_destroy(&admission->lock);
}

/* ---- Maintenance ----------------------------------------------------------------------------- */

static void note(struct cancel_busy *busy, uint32_t *count, bool begins, uint64_t now_ns)
{
	*count += begins ? 1u : -1u;
	if (*count == (begins ? 1u : 0u))
		cancel_busy_observe(busy, now_ns, begins);
}

void admission_maintenance(struct admission *admission, enum blocks whom, bool begins)
{
	uint64_t now_ns = cancel_now_ns();
	pthread_mutex_lock(&admission->lock);
	if (whom == BLOCKS_ALL)
		note(&admission->busy_all, &admission->blocking_all, begins, now_ns);
	else
		note(&admission->busy_writers, &admission->blocking_writers, begins, now_ns);
	atomic_store_explicit(&admission->maintaining,
		admission->blocking_all || admission->blocking_writers, memory_order_relaxed);
	pthread_mutex_unlock(&admission->lock);
}

static enum admission_answer ask_maintenance(struct admission *admission,
	const struct admission_turn *turn, uint64_t now_ns, struct admission_refusal *refusal)
{
	if (!atomic_load_explicit(&admission->maintaining, memory_order_relaxed))
		return ADMISSION_GO;
	pthread_mutex_lock(&admission->lock);
	bool fine = cancel_busy_admit(&admission->busy_all, now_ns) &&
		    (!turn->writes || cancel_busy_admit(&admission->busy_writers, now_ns));
	pthread_mutex_unlock(&admission->lock);
	if (fine)
		return ADMISSION_GO;
	atomic_fetch_add_explicit(&admission->busy_refused, 1, memory_order_relaxed);
	*refusal = (struct admission_refusal){ .sqlstate = "55P03",
		.message = "BUSY: maintenance has kept others out for too long",
		.hint = "Retry later, or end it: SELECT * FROM cancel_tasks shows it, SELECT "
			"cancel_task(id) cancels it." };
	return ADMISSION_REFUSED;
}

/* ---- The log --------------------------------------------------------------------------------- */

bool admission_tick(struct admission *admission, uint64_t log_bytes, uint64_t now_ns)
{
	pthread_mutex_lock(&admission->lock);
	if (log_bytes < admission->log_bytes)
		admission->drained_bytes += admission->log_bytes - log_bytes;
	admission->log_bytes = log_bytes;
	cancel_io_tokens_observe(&admission->tokens, now_ns, log_bytes, admission->drained_bytes);
	pthread_mutex_unlock(&admission->lock);
	return atomic_load_explicit(&admission->waiting, memory_order_relaxed) > 0 &&
	       !atomic_load_explicit(&admission->paused, memory_order_relaxed);
}

/* Only writes of the lowest priority wait: batch work, by role, program or SET. */
static enum admission_answer ask_log(
	struct admission *admission, struct admission_turn *turn, uint64_t now_ns)
{
	if (turn->priority != PRIORITY_ANALYTICAL || !turn->writes || !admission->tokens_on)
		return ADMISSION_GO;
	pthread_mutex_lock(&admission->lock);
	bool fine = cancel_io_tokens_admit(&admission->tokens, now_ns, WRITE_ASK_BYTES);
	pthread_mutex_unlock(&admission->lock);
	turn->asked_bytes = fine ? WRITE_ASK_BYTES : 0;
	if (!fine && !turn->waiting)
		atomic_fetch_add_explicit(&admission->io_waits, 1, memory_order_relaxed);
	return fine ? ADMISSION_GO : ADMISSION_WAIT;
}

void admission_settle(
	struct admission *admission, struct admission_turn *turn, uint64_t now_ns, uint64_t bytes)
{
	if (!turn->asked_bytes)
		return;
	pthread_mutex_lock(&admission->lock);
	cancel_io_tokens_settle(&admission->tokens, now_ns, turn->asked_bytes, bytes);
	pthread_mutex_unlock(&admission->lock);
	turn->asked_bytes = 0;
}

/* ---- The gate -------------------------------------------------------------------------------- */

static enum admission_answer ask_gate(struct admission *admission,
	const struct admission_turn *turn, uint64_t now_ns, struct admission_refusal *refusal)
{
	struct gate_refusal why;
	if (gate_admit(&admission->gate, now_ns, turn->priority, turn->user_level, &why))
		return ADMISSION_GO;
	refusal->sqlstate = "53000";
	snprintf(refusal->message, sizeof refusal->message,
		"the server is overloaded: %s work of level %u is refused, %u of %u levels are "
		"admitted",
		priority_name(turn->priority), why.level, why.cursor, why.levels);
	snprintf(refusal->hint, sizeof refusal->hint, "retry after %u ms", why.retry_ms);
	return ADMISSION_REFUSED;
}

enum admission_answer admission_ask(struct admission *admission, struct admission_turn *turn,
	uint64_t now_ns, struct admission_refusal *refusal)
{
	if (atomic_load_explicit(&admission->paused, memory_order_relaxed))
		return ADMISSION_WAIT;
	enum admission_answer answer = ask_maintenance(admission, turn, now_ns, refusal);
	if (answer == ADMISSION_GO)
		answer = ask_log(admission, turn, now_ns);
	if (answer == ADMISSION_GO)
		answer = ask_gate(admission, turn, now_ns, refusal);
	if (answer == ADMISSION_REFUSED)
		admission_settle(admission, turn, now_ns, 0);
	return answer;
}
