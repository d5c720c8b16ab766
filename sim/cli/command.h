/* SPDX-License-Identifier: Apache-2.0 */
/* command.h - the commands of cancel-sim; each returns the exit status. */
#ifndef SIM_CLI_COMMAND_H
#define SIM_CLI_COMMAND_H

#include "sim/report/lane.h"

#define SIM_EXIT_FAULT 1 /* the machine: no memory, a full disk, gnuplot missing */
#define SIM_EXIT_USAGE 2 /* bad input; one line was printed */

/* argv[0] is the lane's name or number. */
int sim_command_lane(int argc, char **argv);
int sim_command_list(int argc, char **argv);
int sim_command_speed(int argc, char **argv);
/* argv[0] is a scenario file. */
int sim_command_run(int argc, char **argv);

/* What `speed` runs: a lane in all but the registry, for its results differ from run to run. */
extern const struct sim_lane sim_lane_speed;

#endif
