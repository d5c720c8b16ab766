/* SPDX-License-Identifier: Apache-2.0 */
/* server_tool.h - runs on a server, by the real binary, in a folder of the test's own. */
#ifndef TEST_SERVER_TOOL_H
#define TEST_SERVER_TOOL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/sim/tool.h"

/* Whatever a run leaves behind lies there. */
extern char server_folder[];

/* Fixtures of a group: the folder comes and goes. */
int server_begin(void **state);
int server_end(void **state);
void server_nothing_left(void);
/* What a case shows in a second, it shows on a slow machine in more. From server_begin on, while this
 * is set, all times of a run grow by a third of the factor of time limits, which have more room. */
extern bool server_stretches;
/* A folder and all that is in it. */
void server_remove(const char *path);
/* The row of a policy; fails the test when there is none. */
json_t *server_row_of(json_t *result, const char *policy);
/* Fails the test when the figure is null. */
double server_median(json_t *row, const char *figure);

#endif
