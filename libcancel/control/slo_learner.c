/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slo_learner.c - owns the learning of SLOs: three times the 99th percentile of the first 30 s, or
 * of the first 100 episodes where those take longer. Detection is off for a class until then.
 *
 * Three times: a latency the class reaches by itself one time in a hundred must be far from late,
 * or one busy second makes everybody suspicious.
 */
#include "libcancel/control/slo_learner.h"

#include "libcancel/base/histogram.h"
#include "libcancel/control/log.h"
#include "libcancel/track/library_state.h"

#define LEARN_NS	30000000000u
#define LEARN_EPISODES	100u
#define LEARN_FACTOR	3u
#define LEARN_QUANTILE	990000u	 /* ppm */
#define SLO_SMALLEST_NS 1000000u /* below a millisecond the scheduler decides who is late */

static uint64_t started_ns;
static _Atomic uint64_t learned_ns[CANCEL_CLASSES_MAX];

void slo_learner_forget(uint32_t index)
{
	store_relaxed(&learned_ns[index], 0);
}

uint64_t slo_learner_learned_ns(uint32_t index)
{
	return load_relaxed(&learned_ns[index]);
}

void slo_learner_start(const struct options *o, uint64_t now_ns)
{
	bool some_given = false, some_missing = false;
	for (uint32_t i = 0; i < o->class_count; i++) {
		slo_learner_forget(i);
		if (o->classes[i].slo_ns)
			some_given = true;
		else
			some_missing = true;
	}
	started_ns = now_ns;
	store_relaxed(&library_state.learning, some_missing);
	if (!some_given)
		log_line("no class has an SLO: learning 3 x the p99 of the first 30 s; until then "
			 "nothing is judged");
}

/* True: this class needs no more. */
static bool learn_class(uint32_t index, slo_reader read)
{
	static uint64_t counts[CANCEL_HISTOGRAM_MAX]; /* controller thread only */
	struct library_class *class = &library_state.classes[index];
	if (load_relaxed(&class->slo_ns))
		return true;
	read(index, counts);
	uint64_t episodes = histogram_total(counts);
	if (episodes < LEARN_EPISODES)
		return false;
	uint64_t slo_ns = LEARN_FACTOR * histogram_quantile_ns(counts, LEARN_QUANTILE);
	if (slo_ns < SLO_SMALLEST_NS)
		slo_ns = SLO_SMALLEST_NS;
	store_relaxed(&class->slo_ns, slo_ns);
	store_relaxed(&learned_ns[index], slo_ns);
	log_line("class %s: SLO %.1f ms learned, 3 x the p99 of %llu episodes", class->name,
		(double)slo_ns / 1e6, (unsigned long long)episodes);
	return true;
}

void slo_learner_step(uint64_t now_ns, slo_reader read)
{
	bool missing = false;
	if (!load_relaxed(&library_state.learning) || now_ns - started_ns < LEARN_NS)
		return;
	for (uint32_t i = 0; i < load_relaxed(&library_state.class_count); i++)
		if (!learn_class(i, read))
			missing = true;
	store_relaxed(&library_state.learning, missing);
}
