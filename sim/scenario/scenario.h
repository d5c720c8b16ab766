/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenario.h - a lane written by a user in an INI file (docs/lanes.md shows how).
 *
 * Either it presets an existing lane ([scenario] lane = NAME and a section [set]), or it describes
 * services, clients and changes of its own ([service NAME], [clients NAME], [change NAME],
 * [sweep]). Either way the result is a lane: every key can still be set on the command line, as
 * NAME.key.
 */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include <stdio.h>

#include "sim/report/lane.h"

#define SIM_SCENARIO_LINE_MAX 196 /* bytes of a line; inih's limit */
#define SIM_SCENARIO_TEXT_MAX 120
#define SIM_SECTIONS_MAX      (SIM_SCENARIO_SERVICES + SIM_SCENARIO_CLIENTS + SIM_SCENARIO_CHANGES + 4)
#define SIM_SCENARIO_SERVICES 12
#define SIM_SCENARIO_CLIENTS  16
#define SIM_SCENARIO_CHANGES  64
#define SIM_SWEEPS_MAX	      2

struct sim_scenario;

/* Reads and checks the file. NULL with one line in `error`: file, line, what is accepted. */
struct sim_scenario *sim_scenario_load(const char *path, char *error);
/* The same from an open file that can be rewound; `path` is its name in errors. */
struct sim_scenario *sim_scenario_read(FILE *file, const char *path, char *error);
void sim_scenario_free(struct sim_scenario *scenario);

/* The lane to run. */
const struct sim_lane *sim_scenario_lane(const struct sim_scenario *scenario);
/* The file's values into a run of that lane: options, seed, seeds, context. */
void sim_scenario_apply(struct sim_scenario *scenario, struct sim_run *run);

#endif
