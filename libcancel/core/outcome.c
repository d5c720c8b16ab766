/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the life of a decision after it was made. It chooses nobody; it tells the pipeline when the
 * last target still has to be waited for, and which one ignored its cancel.
 */
#include "libcancel/core/outcome.h"

#include "libcancel/base/fixed.h"

#include <string.h>

#define GONE_AFTER  2u /* ledgers without it: one may have failed to read a changing slot */
#define EFFECT_NS   1000000000ull  /* a release shows within a second */
#define FOLLOWED_NS 60000000000ull /* a decision is followed for a minute at most */

static void close_record(struct outcome_record *record)
{
	record->outcome.final = true;
	record->changed = true;
}

static struct outcome_record *free_record(struct outcomes *o)
{
	for (uint32_t i = 0; i < CANCEL_CANDIDATES_MAX; i++) {
		if (!o->records[i].used)
			return &o->records[i];
	}
	return NULL;
}

static void make_room(struct outcomes *o)
{
	struct outcome_record *oldest = &o->records[0];
	if (free_record(o))
		return;
	for (uint32_t i = 1; i < CANCEL_CANDIDATES_MAX; i++) {
		if (o->records[i].outcome.serial < oldest->outcome.serial)
			oldest = &o->records[i];
	}
	close_record(oldest);
}

void outcomes_add(struct outcomes *o, const struct cancel_decision *decision, uint32_t slot,
	const struct detect *detect, const struct effect_view *view)
{
	struct outcome_record *record = free_record(o);
	if (!record) /* outcomes_step() left none: it was not called */
		return;
	*record = (struct outcome_record){
		.outcome = { .serial = decision->serial,
			.task = decision->target.task,
			.times = { .onset_ns = decision->onset_ns,
				.suspected_ns = detect->suspected_ns,
				.decided_ns = decision->decided_ns } },
		.slot = slot,
		.used = true,
		.acted = decision->acted,
		.second = decision->escalation,
		.changed = true,
	};
	effect_begin(&record->effect, view, slot, decision->blamed_mask);
	for (uint32_t i = 0; i < CANCEL_CANDIDATES_MAX; i++) {
		struct outcome_record *other = &o->records[i];
		if (other != record && other->used && other->outcome.task == record->outcome.task)
			close_record(other); /* the second attempt takes its place */
	}
	if (record->acted)
		o->last_serial = decision->serial;
}

static void note_release(struct outcomes *o, struct outcome_record *record, uint64_t at_ns)
{
	struct cancel_times *times = &record->outcome.times;
	if (times->released_ns)
		return;
	times->released_ns = at_ns;
	record->changed = true;
	if (!record->acted)
		return;
	o->releases_ns[o->next_release] = fixed_minus(at_ns, times->decided_ns);
	o->next_release = (o->next_release + 1) % RELEASES_MAX;
	if (o->release_count < RELEASES_MAX)
		o->release_count++;
}

static void note_end(struct outcomes *o, struct outcome_record *record, uint64_t at_ns)
{
	note_release(o, record, at_ns);
	record->changed |= !record->ended;
	record->ended = true;
}

static void take_event(
	struct outcomes *o, struct outcome_record *record, const struct cancel_event *event)
{
	struct cancel_outcome *out = &record->outcome;
	record->changed = true;
	switch (event->kind) {
	case CANCEL_EVENT_DELIVERED:
		out->times.delivered_ns = event->at_ns;
		break;
	case CANCEL_EVENT_IGNORED:
		record->ignored = true;
		break;
	case CANCEL_EVENT_ACKNOWLEDGED:
		out->times.acknowledged_ns = event->at_ns;
		break;
	case CANCEL_EVENT_RELEASED:
		note_release(o, record, event->at_ns);
		break;
	case CANCEL_EVENT_ENDED:
		out->wasted_ns = event->wasted_ns;
		note_end(o, record, event->at_ns);
		break;
	case CANCEL_EVENT_RERUN:
		out->reruns++;
		out->rerun_wait_ns = fixed_minus(event->at_ns, out->times.released_ns);
		out->wasted_ns = fixed_max(out->wasted_ns, event->wasted_ns);
		break;
	case CANCEL_EVENT_DROPPED:
		out->dropped = true;
		out->wasted_ns = fixed_max(out->wasted_ns, event->wasted_ns);
		break;
	}
}

void outcomes_take_events(struct outcomes *o, const struct cancel_ledger *ledger)
{
	for (uint32_t e = 0; e < ledger->event_count; e++) {
		for (uint32_t i = 0; i < CANCEL_CANDIDATES_MAX; i++) {
			struct outcome_record *record = &o->records[i];
			if (record->used && !record->outcome.final &&
				record->outcome.task == ledger->events[e].task)
				take_event(o, record, &ledger->events[e]);
		}
	}
}

static bool answered(const struct outcome_record *record)
{
	return record->ended || record->outcome.times.acknowledged_ns ||
	       record->outcome.times.released_ns;
}

static bool had_its_time(
	const struct outcome_record *record, const struct settings *s, uint64_t now_ns)
{
	const struct cancel_times *times = &record->outcome.times;
	uint64_t asked_ns = fixed_max(times->decided_ns, times->delivered_ns);
	return record->ignored || fixed_minus(now_ns, asked_ns) >= s->release_wait_ms * NS_PER_MS;
}

static void exclude(struct history *h, struct outcome_record *record)
{
	h->tasks[record->slot].marks |= MARK_EXCLUDED;
	record->outcome.excluded = true;
	close_record(record);
}

static void settle(struct outcome_record *record, uint64_t now_ns)
{
	const struct cancel_outcome *out = &record->outcome;
	bool over = out->times.recovered_ns &&
		    (!record->acted || record->ended || out->reruns || out->dropped);
	if (over || fixed_minus(now_ns, out->times.decided_ns) >= FOLLOWED_NS)
		close_record(record);
}

/* The answer to a cancel is a release; its effect is that others get on. */
static bool awaits_effect(const struct outcome_record *record)
{
	const struct cancel_times *times = &record->outcome.times;
	return record->used && record->acted && times->released_ns && times->effective_ns == 0;
}

static void note_effect(
	struct outcomes *o, struct outcome_record *record, const struct effect_view *view)
{
	struct cancel_times *times = &record->outcome.times;
	if (!awaits_effect(record) || view->contended->overflow ||
		!effect_shows(&record->effect, view))
		return;
	times->effective_ns = view->window->now_ns;
	record->changed = true;
	effect_learn(
		&record->effect, &o->drains, fixed_minus(times->effective_ns, times->released_ns));
}

static void note_helpless(struct outcomes *o, struct outcome_record *record,
	const struct settings *s, const struct effect_view *view)
{
	uint64_t released_ns = record->outcome.times.released_ns;
	if (record->helpless || !awaits_effect(record) ||
		fixed_minus(view->window->now_ns, released_ns) <
			effect_wait_ns(&record->effect, &o->drains, view, s))
		return;
	record->helpless = true;
	o->fresh_helpless++;
}

void outcomes_step(struct outcomes *o, struct history *h, const struct detect *detect,
	const struct settings *s, const struct effect_view *view)
{
	uint64_t now_ns = view->window->now_ns;
	o->fresh_helpless = 0;
	for (uint32_t i = 0; i < CANCEL_CANDIDATES_MAX; i++) {
		struct outcome_record *record = &o->records[i];
		struct cancel_outcome *out = &record->outcome;
		struct cancel_times *times = &out->times;
		if (!record->used || out->final)
			continue;
		record->missing = window_has(h, record->slot, out->task) ? 0 : record->missing + 1;
		if (record->missing >= GONE_AFTER)
			note_end(o, record, now_ns);
		note_effect(o, record, view);
		note_helpless(o, record, s, view);
		if (detect->ended && times->recovered_ns == 0) {
			times->recovered_ns = fixed_max(detect->recovered_ns, times->decided_ns);
			record->changed = true;
		}
		if (record->acted && record->second && !answered(record) &&
			had_its_time(record, s, now_ns))
			exclude(h, record);
		else
			settle(record, now_ns);
	}
	make_room(o);
}

void outcomes_report(struct outcomes *o, struct cancel_verdict *verdict)
{
	for (uint32_t i = 0; i < CANCEL_CANDIDATES_MAX; i++) {
		struct outcome_record *record = &o->records[i];
		if (!record->used || !record->changed)
			continue;
		record->changed = false;
		record->used = !record->outcome.final;
		verdict->outcomes[verdict->outcome_count++] = record->outcome;
	}
}

static const struct outcome_record *last_acted(const struct outcomes *o)
{
	for (uint32_t i = 0; i < CANCEL_CANDIDATES_MAX; i++) {
		if (o->records[i].used && o->last_serial &&
			o->records[i].outcome.serial == o->last_serial)
			return &o->records[i];
	}
	return NULL;
}

void outcomes_bar(
	const struct outcomes *o, const struct settings *s, const struct effect_view *view)
{
	uint64_t now_ns = view->window->now_ns, most_ns = s->drain_wait_ms * NS_PER_MS;
	for (uint32_t i = 0; i < CANCEL_CANDIDATES_MAX; i++) {
		const struct outcome_record *record = &o->records[i];
		const struct cancel_times *times = &record->outcome.times;
		bool holds = record->used && record->acted && times->acknowledged_ns &&
			     times->released_ns == 0;
		if (holds && fixed_minus(now_ns, times->acknowledged_ns) < most_ns)
			effect_bar(&record->effect, view);
		else if (awaits_effect(record) &&
			 fixed_minus(now_ns, times->released_ns) <
				 effect_wait_ns(&record->effect, &o->drains, view, s))
			effect_bar(&record->effect, view);
	}
}

bool outcomes_await_release(const struct outcomes *o, const struct settings *s, uint64_t now_ns)
{
	const struct outcome_record *record = last_acted(o);
	return record && !record->ended && !record->outcome.times.released_ns &&
	       !had_its_time(record, s, now_ns);
}

bool outcomes_just_released(const struct outcomes *o, uint64_t now_ns)
{
	const struct outcome_record *record = last_acted(o);
	uint64_t released_ns = record ? record->outcome.times.released_ns : 0;
	return released_ns && fixed_minus(now_ns, released_ns) < EFFECT_NS;
}

bool outcomes_escalation_due(
	const struct outcomes *o, uint64_t task, const struct settings *s, uint64_t now_ns)
{
	for (uint32_t i = 0; i < CANCEL_CANDIDATES_MAX; i++) {
		const struct outcome_record *record = &o->records[i];
		if (record->used && record->acted && !record->second && !record->outcome.final &&
			record->outcome.task == task)
			return !answered(record) && had_its_time(record, s, now_ns);
	}
	return false;
}

uint64_t outcomes_median_release_ns(const struct outcomes *o)
{
	uint64_t values_ns[RELEASES_MAX];
	memcpy(values_ns, o->releases_ns, sizeof values_ns);
	return fixed_median(values_ns, o->release_count);
}
