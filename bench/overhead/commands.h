/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.h - the commands of cancel-bench that have a file of their own. argv[0] is the command.
 */
#ifndef BENCH_COMMANDS_H
#define BENCH_COMMANDS_H

int command_micro(int argc, char **argv);
int command_overhead(int argc, char **argv);
int command_slices(int argc, char **argv); /* the measured process of overhead; not for users */
int command_count(int argc, char **argv);  /* the counted process of overhead; not for users */

#endif
