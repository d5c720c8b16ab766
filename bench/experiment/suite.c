/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the order of the experiment: how much the target can take, what is normal (the reference,
 * which fixes the SLO), what each rival is best set to, then every policy under the same schedule
 * of the same seed. Where clients time out, their timeout is the measure, and there is no reference.
 */
#include "bench/experiment/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/report/retry_measure.h"
#include "bench/experiment/attempt.h"
#include "bench/target/data.h"
#include "bench/policies/policy.h"

#define NS_PER_S		1000000000u
#define TRIAL_NS		4000000000u
#define TRIAL_CULPRIT_NS	500000000u /* trials have the culprit sooner */
#define NO_CULPRIT_REFERENCE_NS 10000000000u
#define REFERENCE_SLO_NS	1000000000u /* of the reference, which fixes it: one nobody misses */
#define SEED_STRIDE		1000003u
#define ENTRIES_MAX		(OPTIONS_POLICIES_MAX + 2)

/* One row of the report in the making. */
struct entry {
	char title[OPTIONS_POLICY_BYTES];
	char variant_text[OPTIONS_POLICY_BYTES];
	const struct bench_policy *policy;
	const char *variant;
	double value;
	char setting[64];
	bool culprits, waiting, is_none;
	bool tuned_disturbed;	   /* a trial of its setting was */
	struct measures *measures; /* by repetition */
};

struct suite {
	const struct bench_options *options;
	const struct bench_case *bench_case;
	struct suite_result *result;
	struct case_plan plan;
	char data_dir[DATA_PATH_MAX];
	struct entry entries[ENTRIES_MAX];
	uint32_t entry_count;
	const struct entry *reference; /* the first one; NULL: clients time out */
	uint32_t load_pct;
	double saturation_qps, rate_qps, query_cpu_us;
	uint64_t slo_ns;
	bool rate_disturbed, slo_disturbed; /* what they rest on was, and that is allowed */
	char *error;
};

/* ---- Who takes part -------------------------------------------------------------------------- */

static struct entry *add_entry(struct suite *suite, const char *title,
	const struct bench_policy *policy, bool culprits, bool waiting)
{
	struct entry *entry = &suite->entries[suite->entry_count++];
	*entry = (struct entry){ .policy = policy, .culprits = culprits, .waiting = waiting };
	snprintf(entry->title, sizeof entry->title, "%s", title);
	const char *colon = strchr(title, ':');
	if (colon) {
		snprintf(entry->variant_text, sizeof entry->variant_text, "%s", colon + 1);
		entry->variant = entry->variant_text;
	}
	return entry;
}

static void add_entries(struct suite *suite)
{
	const struct bench_options *options = suite->options;
	const struct bench_case *bench_case = suite->bench_case;
	suite->entry_count = 0;
	suite->reference = NULL;
	if (!suite->plan.timeout_ns)
		suite->reference = add_entry(suite, "reference", &policy_none, false, false);
	if (suite->reference && bench_case->control && !options->batch)
		add_entry(suite, bench_case->control, &policy_none, true, false);
	for (uint32_t i = 0; i < options->policy_count; i++) {
		const struct bench_policy *policy =
			bench_policy_find(options->policies[i], options->target);
		struct entry *entry = add_entry(suite, options->policies[i], policy, true, true);
		entry->is_none = policy == &policy_none;
	}
}

static int alloc_measures(struct suite *suite)
{
	for (uint32_t i = 0; i < suite->entry_count; i++) {
		suite->entries[i].measures = calloc(suite->options->reps, sizeof(struct measures));
		if (!suite->entries[i].measures)
			return -1;
	}
	return 0;
}

static void free_measures(struct suite *suite)
{
	for (uint32_t i = 0; i < suite->entry_count; i++)
		free(suite->entries[i].measures);
	suite->entry_count = 0;
}

/* ---- One run --------------------------------------------------------------------------------- */

/* The load of this entry's runs. */
static double rate_of(const struct suite *suite, const struct entry *entry)
{
	return entry->policy->load_pct ? suite->saturation_qps * entry->policy->load_pct / 100
				       : suite->rate_qps;
}

static int make_schedule(struct suite *suite, const struct entry *entry, uint32_t rep,
	uint64_t length_ns, const struct case_plan *plan, struct schedule *schedule)
{
	const char *why;
	struct schedule_options options = { .struct_size = sizeof options,
		.seed = suite->options->seed + (uint64_t)rep * SEED_STRIDE,
		.rate_qps = rate_of(suite, entry),
		.length_ns = length_ns,
		.poisson = suite->options->poisson,
		.steps = plan->steps,
		.step_count = plan->step_count };
	if (schedule_make(&options, schedule, &why) == 0)
		return 0;
	snprintf(suite->error, TARGET_ERROR_MAX, "%s", why);
	return -1;
}

static void run_title(
	const struct suite *suite, const struct entry *entry, char *title, size_t size)
{
	if (suite->bench_case->levels_pct[1])
		snprintf(title, size, "%s %u%%", entry->title, suite->load_pct);
	else
		snprintf(title, size, "%s", entry->title);
}

/* An attempt's title, schedule and limit are the caller's. */
static struct run_setup setup_of(struct suite *suite, const struct entry *entry)
{
	return (struct run_setup){ .options = suite->options,
		.plan = &suite->plan,
		.data_dir = suite->data_dir,
		.slo_ns = suite->slo_ns,
		.saturation_qps = suite->saturation_qps,
		.policy = entry->policy,
		.variant = entry->variant,
		.value = entry->value,
		.culprits = entry->culprits,
		.waiting = entry->waiting,
		.quiet = suite->options->quiet };
}

/* ---- Saturation and SLO ---------------------------------------------------------------------- */

static int find_saturation(struct suite *suite)
{
	const struct bench_options *options = suite->options;
	const struct entry entry = { .policy = &policy_none };
	struct run_setup setup = setup_of(suite, &entry);
	struct run_capacity capacity = { 0 };
	if (!options->quiet)
		fprintf(stderr, "measuring saturation\n");
	if (run_saturation(&setup, &capacity, suite->error) != 0)
		return -1;
	if (capacity.disturbance.disturbed && !options->allow_disturbed)
		return disturbance_refuse(
			"saturation", &capacity.disturbance, suite->error, TARGET_ERROR_MAX);
	suite->rate_disturbed = capacity.disturbance.disturbed;
	suite->saturation_qps = capacity.qps;
	suite->query_cpu_us = capacity.query_cpu_us;
	return 0;
}

/* Without a timeout the saturation only serves to find the rate; 0 is then "not measured". */
static int find_rate(struct suite *suite)
{
	const struct bench_options *options = suite->options;
	bool times_out = suite->plan.timeout_ns > 0, given = options->rate_qps > 0;
	double rho = suite->bench_case->levels_pct[0] ? suite->load_pct / 100.0 : suite->plan.rho;
	if (suite->saturation_qps <= 0 && (times_out || !given)) {
		int status = find_saturation(suite);
		if (status != 0)
			return status;
	}
	suite->rate_qps = given ? options->rate_qps : suite->saturation_qps * rho;
	if (!times_out)
		suite->rate_qps = floor(suite->rate_qps);
	else if (!options->quiet)
		fprintf(stderr, "saturation %.1f/s, load %.1f/s\n", suite->saturation_qps,
			suite->rate_qps);
	if (suite->rate_qps > 0)
		return 0;
	snprintf(suite->error, TARGET_ERROR_MAX, "the target answered nothing when saturated");
	return -1;
}

static void fix_slo(struct suite *suite, const struct steadiness *reference)
{
	const struct bench_options *options = suite->options;
	double slo_ms = options->slo_ms > 0 ? options->slo_ms : reference->slo_ms;
	suite->slo_ns = (uint64_t)(slo_ms * 1e6);
	suite->slo_disturbed = reference->disturbance.disturbed;
	if (!options->quiet)
		fprintf(stderr,
			"reference p99 %.3f ms in the median second, SLO %.1f ms, rate %.0f/s\n",
			reference->median_ms, slo_ms, suite->rate_qps);
}

/* ---- Tuning ---------------------------------------------------------------------------------- */

/* The same tasks, with the culprit half a second after the start. */
static void trial_plan(const struct suite *suite, struct case_plan *plan)
{
	uint64_t first_ns = UINT64_MAX;
	*plan = suite->plan;
	plan->step_count = 0;
	for (uint32_t i = 0; i < plan->actor_count; i++)
		if (plan->actors[i].label == LABEL_CULPRIT && plan->actors[i].start_ns < first_ns)
			first_ns = plan->actors[i].start_ns;
	if (first_ns == UINT64_MAX || first_ns < TRIAL_CULPRIT_NS)
		return;
	for (uint32_t i = 0; i < plan->actor_count; i++) {
		uint64_t *start_ns = &plan->actors[i].start_ns;
		*start_ns = *start_ns > first_ns - TRIAL_CULPRIT_NS
				    ? *start_ns - (first_ns - TRIAL_CULPRIT_NS)
				    : 0;
	}
}

static int try_value(struct suite *suite, struct entry *entry, double value, double *goodput_qps)
{
	struct case_plan plan;
	struct schedule schedule;
	struct spans all = { 0 };
	struct measures *measures = calloc(1, sizeof *measures);
	trial_plan(suite, &plan);
	entry->value = value;
	if (!measures || make_schedule(suite, entry, 0, TRIAL_NS, &plan, &schedule) != 0) {
		free(measures);
		return -1;
	}
	struct attempt attempt = { .setup = setup_of(suite, entry),
		.runs = 1 + DISTURBANCE_EXTRA_RUNS,
		.error = suite->error };
	attempt.setup.title = entry->title;
	attempt.setup.plan = &plan;
	attempt.setup.schedule = &schedule;
	attempt.setup.quiet = true;
	int status = attempt_make(&attempt);
	if (status == 0) {
		measure_run(attempt.data, &all, measures);
		*goodput_qps = measures->goodput_qps;
		entry->tuned_disturbed |= attempt.disturbance.disturbed;
	}
	samples_free(attempt.data);
	schedule_free(&schedule);
	free(measures);
	return status;
}

static int tune(struct suite *suite, struct entry *entry)
{
	const struct bench_policy *policy = entry->policy;
	double values[POLICY_CANDIDATES_MAX], best = 0, best_qps = -1, goodput_qps;
	struct policy_basis basis = { .slo_ms = (double)suite->slo_ns / 1e6,
		.saturation_qps =
			fmax(suite->saturation_qps, suite->reference ? suite->rate_qps : 0),
		.timeout_ms = (double)suite->plan.timeout_ns / 1e6 };
	uint32_t count = policy->candidates(&basis, values);
	for (uint32_t i = 0; i < count && count > 1; i++) {
		if (try_value(suite, entry, values[i], &goodput_qps) != 0)
			return -1;
		char text[48];
		policy->describe(values[i], text, sizeof text);
		if (!suite->options->quiet)
			fprintf(stderr, "%-14s trial: %s gives goodput %.0f/s\n", entry->title,
				text, goodput_qps);
		if (goodput_qps > best_qps) {
			best = values[i];
			best_qps = goodput_qps;
		}
	}
	entry->value = count > 1 ? best : values[0];
	policy->describe(entry->value, entry->setting, sizeof entry->setting);
	return 0;
}

/* ---- One repetition -------------------------------------------------------------------------- */

static struct retry_record retry_record_of(const struct suite *suite, const struct samples *data)
{
	const struct case_plan *plan = &suite->plan;
	uint64_t grace_ns = plan->timeout_ns * (plan->retries + 1);
	return (struct retry_record){ .data = data,
		.onset_ns = plan->onset_ns,
		.settled_ns = plan->length_ns > grace_ns ? plan->length_ns - grace_ns : 0,
		.trigger = plan->trigger,
		.priorities = plan->priorities,
		.resends = suite->options->resends,
		.saturation_qps = suite->saturation_qps };
}

static void measure(const struct suite *suite, const struct samples *data,
	const struct spans *spans, struct measures *measures)
{
	*measures = (struct measures){ 0 };
	if (!suite->plan.timeout_ns) {
		measure_run(data, spans, measures);
		return;
	}
	struct retry_record record = retry_record_of(suite, data);
	retry_measure(&record, measures);
	measures->query_cpu_us = suite->query_cpu_us;
}

static int fill_trace(const struct suite *suite, const struct samples *data, struct trace *trace)
{
	struct span settled = { 0, retry_record_of(suite, data).settled_ns };
	if (suite->plan.timeout_ns)
		return measure_trace(data, settled, RETRY_BIN_NS, trace);
	return measure_trace(data, measure_whole_bins(data), MEASURE_BIN_NS, trace);
}

static int keep_trace(struct suite *suite, const struct entry *entry, const struct attempt *attempt)
{
	struct suite_result *result = suite->result;
	if (result->trace_count == SUMMARY_ROWS_MAX)
		return 0;
	struct suite_trace *trace = &result->traces[result->trace_count++];
	snprintf(trace->policy, sizeof trace->policy, "%s", entry->title);
	trace->disturbed = attempt->disturbance.disturbed;
	if (fill_trace(suite, attempt->data, &trace->bins) == 0)
		return 0;
	snprintf(suite->error, TARGET_ERROR_MAX, "out of memory");
	return -1;
}

/* Without a culprit a policy's run is like the reference, which then only has to fix the SLO. */
static uint64_t reference_ns(const struct suite *suite)
{
	if (!suite->bench_case->has_culprit && suite->plan.length_ns > NO_CULPRIT_REFERENCE_NS)
		return NO_CULPRIT_REFERENCE_NS;
	return suite->plan.length_ns;
}

/* Without `none` nobody knows how long the culprit would run: until the end, then. Without a
 * culprit the ratios cover the time for which there is a reference. A trigger has its time. */
static void default_spans(const struct suite *suite, struct spans *spans)
{
	const struct case_plan *plan = &suite->plan;
	*spans = (struct spans){ 0 };
	if (plan->timeout_ns) {
		if (plan->trigger)
			spans->list[spans->count++] =
				(struct span){ plan->onset_ns, plan->onset_ns + plan->hold_ns };
		return;
	}
	if (!suite->bench_case->has_culprit)
		spans->list[spans->count++] = (struct span){ 0, reference_ns(suite) };
	for (uint32_t i = 0; i < plan->actor_count; i++) {
		const struct actor *actor = &plan->actors[i];
		if (actor->label != LABEL_CULPRIT || actor->start_ns >= plan->length_ns)
			continue;
		spans->list[spans->count++] = (struct span){ actor->start_ns, plan->length_ns };
		return;
	}
}

struct repetition {
	uint32_t number;
	struct schedule schedules[ENTRIES_MAX];
	struct attempt attempts[ENTRIES_MAX];
};

static bool is_reference(const struct suite *suite, uint32_t i)
{
	return suite->reference == &suite->entries[i];
}

static int prepare(struct suite *suite, struct repetition *repetition, uint32_t i)
{
	const struct entry *entry = &suite->entries[i];
	struct attempt *attempt = &repetition->attempts[i];
	bool first = is_reference(suite, i);
	*attempt = (struct attempt){ .setup = setup_of(suite, entry),
		.runs = first ? STEADY_REFERENCES : 1 + DISTURBANCE_EXTRA_RUNS,
		.error = suite->error };
	attempt->setup.schedule = &repetition->schedules[i];
	return make_schedule(suite, entry, repetition->number,
		first ? reference_ns(suite) : suite->plan.length_ns, &suite->plan,
		&repetition->schedules[i]);
}

/* The first one fixes the SLO. 0; -1; or DISTURBANCE_EXIT_STATUS: none is to be had. */
static int take_reference(struct suite *suite, struct repetition *repetition)
{
	struct entry *entry = &suite->entries[0];
	struct attempt *attempt = &repetition->attempts[0];
	/* The seconds of a case without a culprit differ: there are steps in its load. */
	const struct stability_rules rules = { .slo_ratio = suite->options->slo_ratio,
		.floor_ms = OPTIONS_SLO_FLOOR_MS,
		.is_alike = suite->bench_case->has_culprit };
	attempt->reference = &rules;
	if (attempt_make(attempt) != 0)
		return -1;
	if (attempt->disturbance.disturbed && !suite->options->allow_disturbed)
		return disturbance_refuse(attempt->setup.title, &attempt->disturbance, suite->error,
			TARGET_ERROR_MAX);
	suite->result->summary.io = attempt->data->io;
	if (repetition->number == 0)
		fix_slo(suite, &attempt->steadiness);
	attempt->data->slo_ns = suite->slo_ns;
	struct spans all = { 0 };
	measure_run(attempt->data, &all, &entry->measures[repetition->number]);
	return 0;
}

static int run_one(struct suite *suite, struct repetition *repetition, uint32_t i)
{
	struct entry *entry = &suite->entries[i];
	char title[OPTIONS_POLICY_BYTES + 16];
	if (repetition->number == 0 && entry->policy->candidates && tune(suite, entry) != 0)
		return -1;
	if (prepare(suite, repetition, i) != 0)
		return -1;
	run_title(suite, entry, title, sizeof title);
	repetition->attempts[i].setup.title = title;
	return is_reference(suite, i) ? take_reference(suite, repetition)
				      : attempt_make(&repetition->attempts[i]);
}

static int measure_all(struct suite *suite, struct repetition *repetition, struct spans *spans)
{
	int status = 0;
	for (uint32_t i = 0; i < suite->entry_count; i++)
		if (suite->entries[i].is_none && suite->reference)
			measure_spans(repetition->attempts[i].data, spans);
	for (uint32_t i = 0; status == 0 && i < suite->entry_count; i++) {
		const struct attempt *attempt = &repetition->attempts[i];
		struct entry *entry = &suite->entries[i];
		struct measures *measures = &entry->measures[repetition->number];
		measure(suite, attempt->data, spans, measures);
		measures->disturbance = attempt->disturbance;
		if (repetition->number == 0)
			status = keep_trace(suite, entry, attempt);
	}
	if (repetition->number == 0)
		suite->result->spans = *spans;
	return status;
}

/* Without its reference a later repetition is left out. */
static int leave_out(struct suite *suite, uint32_t rep)
{
	for (uint32_t i = 0; i < suite->entry_count; i++)
		suite->entries[i].measures[rep] = (struct measures){ .missing = true };
	if (!suite->options->quiet)
		fprintf(stderr, "repetition %u is left out: %s\n", rep + 1, suite->error);
	return 0;
}

/* Policies take turns within a repetition, so that what changes slowly on the machine hits all. */
static int repeat_once(struct suite *suite, uint32_t rep)
{
	static struct repetition repetition;
	struct spans spans;
	int status = 0;
	repetition = (struct repetition){ .number = rep };
	default_spans(suite, &spans);
	for (uint32_t i = 0; status == 0 && i < suite->entry_count; i++)
		status = run_one(suite, &repetition, i);
	if (status == 0)
		status = measure_all(suite, &repetition, &spans);
	for (uint32_t i = 0; i < suite->entry_count; i++) {
		samples_free(repetition.attempts[i].data);
		schedule_free(&repetition.schedules[i]);
	}
	return status == DISTURBANCE_EXIT_STATUS && rep > 0 ? leave_out(suite, rep) : status;
}

/* ---- One load level -------------------------------------------------------------------------- */

static void add_rows(struct suite *suite)
{
	struct summary *summary = &suite->result->summary;
	for (uint32_t i = 0; i < suite->entry_count; i++) {
		const struct entry *entry = &suite->entries[i];
		if (summary->row_count == SUMMARY_ROWS_MAX)
			return;
		struct summary_row *row = &summary->rows[summary->row_count++];
		snprintf(row->policy, sizeof row->policy, "%s", entry->title);
		snprintf(row->setting, sizeof row->setting, "%s", entry->setting);
		row->what = entry->policy->what[suite->options->target];
		row->load_pct = suite->load_pct;
		row->rate_qps = rate_of(suite, entry);
		row->rho = suite->saturation_qps > 0 ? row->rate_qps / suite->saturation_qps : 0;
		row->slo_ms = (double)suite->slo_ns / 1e6;
		row->disturbed =
			suite->rate_disturbed || suite->slo_disturbed || entry->tuned_disturbed;
		summary_fill(row, entry->measures,
			suite->reference ? suite->reference->measures : NULL, suite->options->reps);
	}
}

static int run_level(struct suite *suite)
{
	bench_case_plan(suite->bench_case, suite->options, &suite->plan);
	suite->slo_ns = suite->plan.slo_ns ? suite->plan.slo_ns : REFERENCE_SLO_NS;
	int status = find_rate(suite);
	suite->plan.rate_qps = suite->rate_qps;
	bench_case_plan(suite->bench_case, suite->options, &suite->plan);
	add_entries(suite);
	if (status == 0 && alloc_measures(suite) != 0) {
		snprintf(suite->error, TARGET_ERROR_MAX, "out of memory");
		status = -1;
	}
	for (uint32_t rep = 0; status == 0 && rep < suite->options->reps; rep++)
		status = repeat_once(suite, rep);
	if (status == 0)
		add_rows(suite);
	free_measures(suite);
	return status;
}

static void fill_head(struct suite *suite)
{
	const struct bench_options *options = suite->options;
	const char *const *what = suite->bench_case->what;
	struct summary *summary = &suite->result->summary;
	suite->result->plan = suite->plan;
	summary->case_name = suite->bench_case->name;
	summary->what = suite->plan.what ? suite->plan.what : what[options->target];
	summary->options = options;
	summary->plan = suite->plan.timeout_ns ? &suite->result->plan : NULL;
	summary->wire = options->target == SERVER_TARGET && what[ENGINE_TARGET];
	summary->saturation_qps = suite->saturation_qps;
	summary->seconds = (uint32_t)(suite->plan.length_ns / NS_PER_S);
	summary->rate_qps = suite->rate_qps;
	if (summary->row_count) {
		summary->slo_ms = summary->rows[0].slo_ms;
		if (!summary->plan)
			summary->rate_qps = summary->rows[0].rate_qps;
	}
	summary->rho = suite->saturation_qps > 0 ? summary->rate_qps / suite->saturation_qps
						 : options->rho;
}

int suite_run(const struct bench_options *options, const struct bench_case *bench_case,
	struct suite_result *result, char error[TARGET_ERROR_MAX])
{
	struct suite *suite = calloc(1, sizeof *suite);
	*result = (struct suite_result){ 0 };
	if (!suite) {
		snprintf(error, TARGET_ERROR_MAX, "out of memory");
		return -1;
	}
	suite->options = options;
	suite->bench_case = bench_case;
	suite->result = result;
	suite->error = error;
	bench_case_plan(bench_case, options, &suite->plan);
	data_prepare(options, suite->plan.pool_mb, suite->plan.archive_pools, suite->data_dir,
		&suite->plan.data);
	int status = 0;
	uint32_t level = 0;
	do {
		suite->load_pct = bench_case->levels_pct[level] ? bench_case->levels_pct[level]
								: (uint32_t)(options->rho * 100);
		status = run_level(suite);
		level++;
	} while (status == 0 && level < CASE_LEVELS_MAX && bench_case->levels_pct[level]);
	fill_head(suite);
	free(suite);
	return status;
}

void suite_free(struct suite_result *result)
{
	for (uint32_t i = 0; i < result->trace_count; i++)
		trace_free(&result->traces[i].bins);
	result->trace_count = 0;
}
