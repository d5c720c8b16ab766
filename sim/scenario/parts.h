/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h - the inside of a scenario, for this room only. */
#ifndef SIM_SCENARIO_PARTS_H
#define SIM_SCENARIO_PARTS_H

#include "sim/scenario/scenario.h"
#include "sim/service/service.h"

enum section_kind {
	SECTION_SCENARIO,
	SECTION_SET,
	SECTION_SWEEP,
	SECTION_RUN,
	SECTION_SERVICE, /* from here on they have names */
	SECTION_CLIENTS,
	SECTION_CHANGE,
	SECTION_KINDS,
};

struct section {
	enum section_kind kind;
	char name[40];
	unsigned line;
};

struct pair { /* a value of the file, for the lane's options */
	char *key, *value;
	unsigned line;
};

struct sweep {
	char *key;
	char **values;
	size_t count;
};

struct sim_scenario {
	char *path;
	struct section sections[SIM_SECTIONS_MAX];
	size_t section_count;
	struct sim_options header;   /* of [scenario] */
	struct sim_lane lane;	     /* of a described one */
	const struct sim_lane *base; /* of a preset one; else NULL */
	struct sim_key *keys;	     /* of a described one: NAME.key, ended by a nameless one */
	struct pair *pairs;
	size_t pair_count, pair_capacity;
	struct sweep sweeps[SIM_SWEEPS_MAX];
	size_t sweep_count;
};

/* What a section of this kind takes; ended by a nameless key. */
const struct sim_key *section_keys(enum section_kind kind);
const char *section_kind_name(enum section_kind kind);

/* build.c: services as the run's options describe them. NULL with a line in `error`. */
struct sim_services *scenario_build(
	const struct sim_scenario *scenario, const struct sim_run *run, uint64_t seed, char *error);
/* How long its probes are. */
uint64_t scenario_bin_ns(uint64_t duration_ns);
/* run.c */
int scenario_run(struct sim_run *run);

#endif
