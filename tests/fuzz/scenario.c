/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a scenario file: a lane, or one line that names the file and says what is wrong.
 * Nothing is run; what was accepted must have keys a run can read.
 */
#include "sim/scenario/scenario.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void expect(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char error[SIM_ERROR_MAX] = "";
	if (bytes == 0)
		return 0;
	FILE *file = fmemopen((void *)(uintptr_t)data, bytes, "r");
	expect(file != NULL);
	struct sim_scenario *scenario = sim_scenario_read(file, "fuzz.ini", error);
	fclose(file);
	if (!scenario) {
		expect(strncmp(error, "fuzz.ini:", 9) == 0);
		expect(!strchr(error, '\n'));
		return 0;
	}
	const struct sim_lane *lane = sim_scenario_lane(scenario);
	struct sim_run run = { .lane = lane };
	expect(lane->name && lane->what && lane->run);
	sim_options_init(&run.options, lane->keys);
	sim_scenario_apply(scenario, &run);
	sim_options_free(&run.options);
	sim_scenario_free(scenario);
	return 0;
}
