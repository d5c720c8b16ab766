/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the policies: given the eligible candidates, which one goes.
 *
 * The default is the multi-objective policy of Atropos (SOSP 2025): among candidates no other
 * dominates, the largest sum of gains weighted by contention. With weights that do not depend on
 * the candidates a dominated one never has the largest sum, so here the dominance step decides
 * nothing by itself; it explains, and it matters to `published`, which normalises over those that
 * are left.
 */
#include "libcancel/core/choose.h"

#include "libcancel/base/fixed.h"

#include <string.h>

#define NS_PER_S 1000000000ull

uint64_t choose_score(const struct cancel_choice *choice, const struct cancel_candidate *candidate)
{
	uint64_t sum = 0;
	for (uint32_t r = 0; r < choice->resource_count; r++) {
		if (choice->contention_ppm[r])
			sum = fixed_plus(sum, fixed_scale(candidate->gain_micro[r],
						      choice->contention_ppm[r], CANCEL_PPM));
	}
	return sum;
}

static bool dominates(const struct cancel_choice *choice, const struct cancel_candidate *a,
	const struct cancel_candidate *b)
{
	bool more = false;
	for (uint32_t r = 0; r < choice->resource_count; r++) {
		if (choice->contention_ppm[r] == 0)
			continue;
		if (a->gain_micro[r] < b->gain_micro[r])
			return false;
		more |= a->gain_micro[r] > b->gain_micro[r];
	}
	return more;
}

/* Larger value first, then the older task. */
static bool precedes(uint64_t a_value, const struct cancel_candidate *a, uint64_t b_value,
	const struct cancel_candidate *b)
{
	if (a_value != b_value)
		return a_value > b_value;
	return a->sequence < b->sequence;
}

uint32_t choose_best(const struct cancel_choice *choice, uint32_t best[CANCEL_CANDIDATES_MAX])
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < choice->candidate_count; i++) {
		const struct cancel_candidate *c = &choice->candidates[i];
		uint32_t at = count;

		for (; at > 0; at--) {
			const struct cancel_candidate *b = &choice->candidates[best[at - 1]];
			if (!precedes(c->score_micro, c, b->score_micro, b))
				break;
			if (at < CANCEL_CANDIDATES_MAX)
				best[at] = best[at - 1];
		}
		if (at < CANCEL_CANDIDATES_MAX)
			best[at] = i;
		if (count < CANCEL_CANDIDATES_MAX)
			count++;
	}
	return count;
}

void choose_mark_dominated(struct cancel_candidate *candidates, const struct cancel_choice *choice)
{
	uint32_t best[CANCEL_CANDIDATES_MAX];
	uint32_t count = choose_best(choice, best);
	for (uint32_t i = 0; i < choice->candidate_count; i++)
		candidates[i].dominated = false;
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t j = 0; j < count; j++) {
			if (dominates(choice, &candidates[best[j]], &candidates[best[i]]))
				candidates[best[i]].dominated = true;
		}
	}
}

typedef uint64_t (*value_fn)(
	const struct cancel_choice *choice, const struct cancel_candidate *candidate, uint64_t aid);

/* The candidate with the largest value; the older of equals; -1 of none. */
static int largest(const struct cancel_choice *choice, value_fn value, uint64_t aid)
{
	uint64_t best_value = 0;
	int best = -1;
	for (uint32_t i = 0; i < choice->candidate_count; i++) {
		const struct cancel_candidate *c = &choice->candidates[i];
		uint64_t v = value(choice, c, aid);

		if (best < 0 || precedes(v, c, best_value, &choice->candidates[best])) {
			best = (int)i;
			best_value = v;
		}
	}
	return best;
}

static uint64_t weighted_gain(
	const struct cancel_choice *choice, const struct cancel_candidate *c, uint64_t aid)
{
	(void)aid;
	return c->dominated ? 0 : choose_score(choice, c);
}

static int multi_objective(const struct cancel_choice *choice)
{
	return largest(choice, weighted_gain, 0);
}

static uint64_t gain_on(
	const struct cancel_choice *choice, const struct cancel_candidate *c, uint64_t resource)
{
	(void)choice;
	return c->gain_micro[resource];
}

/* The paper's ablation: the largest gain on the single most contended resource. */
static int greedy(const struct cancel_choice *choice)
{
	uint32_t top = 0;
	for (uint32_t r = 1; r < choice->resource_count; r++) {
		if (choice->contention_ppm[r] > choice->contention_ppm[top])
			top = r;
	}
	return largest(choice, gain_on, top);
}

static uint64_t weighted_usage(
	const struct cancel_choice *choice, const struct cancel_candidate *c, uint64_t aid)
{
	uint64_t sum = 0;
	(void)aid;
	for (uint32_t r = 0; r < choice->resource_count; r++) {
		if (choice->contention_ppm[r])
			sum = fixed_plus(sum, fixed_scale(c->used_micro[r],
						      choice->contention_ppm[r], CANCEL_PPM));
	}
	return sum;
}

/* The paper's other ablation: usage so far in place of usage to come. */
static int current_usage(const struct cancel_choice *choice)
{
	return largest(choice, weighted_usage, 0);
}

/* As the authors' code: each gain divided by the sum over the non-dominated. It reverses the
 * paper's own example, and a bystander can change the choice; kept for comparison. */
static int published(const struct cancel_choice *choice)
{
	uint64_t sums[CANCEL_RESOURCES_MAX] = { 0 }, best_value = 0;
	int best = -1;
	for (uint32_t i = 0; i < choice->candidate_count; i++) {
		for (uint32_t r = 0; r < choice->resource_count; r++) {
			if (!choice->candidates[i].dominated)
				sums[r] = fixed_plus(sums[r], choice->candidates[i].gain_micro[r]);
		}
	}
	for (uint32_t i = 0; i < choice->candidate_count; i++) {
		const struct cancel_candidate *c = &choice->candidates[i];
		uint64_t value = 0;

		if (c->dominated)
			continue;
		for (uint32_t r = 0; r < choice->resource_count; r++) {
			if (sums[r])
				value += fixed_scale(
					c->gain_micro[r], choice->contention_ppm[r], sums[r]);
		}
		if (best < 0 || precedes(value, c, best_value, &choice->candidates[best])) {
			best = (int)i;
			best_value = value;
		}
	}
	return best;
}

static uint64_t relieved_share(
	const struct cancel_choice *choice, const struct cancel_candidate *c, uint64_t aid)
{
	/* Of unknown remaining time: assume it will go on for the second that counts in full. */
	uint64_t remaining_ns = c->remaining_ns ? fixed_min(c->remaining_ns, NS_PER_S) : NS_PER_S;
	uint64_t sum = 0;

	(void)aid;
	for (uint32_t r = 0; r < choice->resource_count; r++)
		sum += (uint64_t)choice->contention_ppm[r] * c->blame_ppm[r] / CANCEL_PPM;
	return fixed_scale(sum, remaining_ns, 1000);
}

/* Of the time lost, how much this one's end would give back within a second. */
static int relief(const struct cancel_choice *choice)
{
	return largest(choice, relieved_share, 0);
}

static uint64_t age(
	const struct cancel_choice *choice, const struct cancel_candidate *c, uint64_t aid)
{
	(void)choice;
	(void)aid;
	return c->age_ns;
}

static int longest(const struct cancel_choice *choice)
{
	return largest(choice, age, 0);
}

static int none(const struct cancel_choice *choice)
{
	(void)choice;
	return -1;
}

#define POLICY(variable, label, text, function)                                                    \
	static const struct cancel_policy variable = {                                             \
		.name = label, .what = text, .choose = function                                    \
	}

POLICY(multi_objective_policy, "multi-objective",
	"largest gain weighted by contention over all resources (the paper)", multi_objective);
POLICY(greedy_policy, "greedy", "largest gain on the most contended resource", greedy);
POLICY(current_usage_policy, "current-usage", "multi-objective on usage so far", current_usage);
POLICY(published_policy, "published",
	"gains divided by the candidates' sum, as the authors' published code", published);
POLICY(relief_policy, "relief", "most of the lost time given back within a second", relief);
POLICY(longest_policy, "longest", "the oldest of the eligible", longest);
POLICY(none_policy, "none", "judge, and cancel nobody", none);

const struct cancel_policy *const cancel_policies[] = {
	&multi_objective_policy,
	&greedy_policy,
	&current_usage_policy,
	&published_policy,
	&relief_policy,
	&longest_policy,
	&none_policy,
	NULL,
};

const struct cancel_policy *cancel_policy_find(const char *name)
{
	for (uint32_t i = 0; cancel_policies[i]; i++) {
		if (strcmp(cancel_policies[i]->name, name) == 0)
			return cancel_policies[i];
	}
	return NULL;
}
