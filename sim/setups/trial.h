/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial.h - runs of an engine as lanes make them: one a seed, with one line when it is refused and
 * one note when a bound cuts it short.
 */
#ifndef SIM_SETUPS_TRIAL_H
#define SIM_SETUPS_TRIAL_H

#include "sim/report/lane.h"
#include "sim/service/service.h"
#include "sim/world/world.h"

/* ---- Worlds that the core watches ----------------------------------------------------------- */

/* The names in the rows of policy.h, as choices of a key. */
#define SIM_CHOICE(symbol, name, what) "|" name
#define SIM_CHOOSERS		       (&(CANCEL_POLICIES(SIM_CHOICE))[1])
#define SIM_ESTIMATORS		       (&(CANCEL_ESTIMATORS(SIM_CHOICE))[1])

#define SIM_KEYS_WATCH_TIMES                                                                       \
	SIM_KEY("deliver_ms", REAL, "1", 0.001, 1000000,                                           \
		"from a verdict to the host's cancel action"),                                     \
		SIM_KEY("ack_ms", REAL, "5", 0.001, 1000000,                                       \
			"from the action to the task's next checkpoint"),                          \
		SIM_KEY("rollback_pct", REAL, "10", 0.0001, 100000,                                \
			"undoing takes so much of the work done"),                                 \
		SIM_KEY("window_ms", INT, "50", 1, 1000, "the controller's window"),               \
		SIM_KEY("pause_ms", INT, "100", 1, 1000000, "between two cancels")
#define SIM_KEYS_WATCH                                                                             \
	SIM_KEYS_WATCH_TIMES,                                                                      \
		{ "choose", SIM_KEY_CHOICE, "multi-objective", 0, 0, SIM_CHOOSERS,                 \
			"how the core chooses" },                                                  \
	{                                                                                          \
		"estimator", SIM_KEY_CHOICE, "proportional", 0, 0, SIM_ESTIMATORS,                 \
			"how the core predicts use"                                                \
	}

/* Those keys into the options of a world that is watched; `pipeline` must outlive it. Who is chosen,
 * and how use is predicted, is left to a lane that sweeps the two. */
void sim_watch_read(const struct sim_run *run, struct sim_world_options *options,
	struct cancel_pipeline_config *pipeline);

struct sim_trial { /* of one seed */
	struct sim_run *run;
	const void *variant; /* of the lane */
	char subject[64];    /* [a run] who stopped at a bound */
	/* From the keys of SIM_KEYS_WATCH, `duration_s` and the seed. */
	struct sim_world_options options;
	struct cancel_pipeline_config pipeline;
	struct sim_world *world;
	struct sim_result result;
};

struct sim_world_lane {
	void (*describe)(struct sim_trial *trial); /* changes the options; NULL: as they are */
	bool (*build)(struct sim_trial *trial);	   /* resources, scripts, clients of the world */
	void (*read)(struct sim_trial *trial, void *found);
};

/* Every seed of one variant. 0, or -1 after sim_fail. */
int sim_trials(
	struct sim_run *run, const struct sim_world_lane *lane, const void *variant, void *found);
/* Runs a world and reads its result. -1 after sim_fail, also when it was not made and `why` says
 * so. `subject` is NULL, or who stopped at a bound. */
int sim_play_world(struct sim_run *run, struct sim_world *world, const char *why,
	struct sim_result *result, const char *subject);

/* A client that sends requests: at random, `load` a second, with the objective `slo_ms`. */
struct sim_client_options sim_requests(const struct sim_run *run, const char *name);
/* A long task with a signature of its own, sent once, that reports its progress and may be
 * cancelled. */
struct sim_client_options sim_background_task(
	const char *name, uint32_t script, uint64_t signature, uint64_t first_ns);
/* A request draws its first argument from the distribution at `arg`. */
void sim_draw_dist(void *arg, struct sim_rng *rng, uint64_t sequence, uint64_t *args);
/* Decisions that named a task of `client`. */
uint64_t sim_decisions_on(const struct sim_result *result, uint32_t client);
/* Answered within the objective, in percent of the originals. */
double sim_in_slo_pct(const struct sim_client_totals *totals);

/* ---- Services ------------------------------------------------------------------------------- */

/* Runs them. -1 after sim_fail; then they are freed. `subject` as above. */
int sim_play_services(struct sim_run *run, struct sim_services *services, const char *subject);
/* Options of a run of `duration_ns`. */
struct sim_services_options sim_services_of(
	const struct sim_run *run, uint64_t duration_ns, uint64_t seed);

#endif
