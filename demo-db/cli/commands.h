/* SPDX-License-Identifier: Apache-2.0 */
/* commands.h - the subcommands of demo-db. Each gets its own argv; returns the exit status. */
#ifndef DEMO_DB_COMMANDS_H
#define DEMO_DB_COMMANDS_H

#define EXIT_USAGE 2 /* bad input: one line has said what */

int command_serve(int argc, char **argv);
int command_init(int argc, char **argv);
int command_password(int argc, char **argv);

#endif
