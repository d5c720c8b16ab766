/* SPDX-License-Identifier: Apache-2.0 */
/* lane_tool.h - runs on a server, by the real binary, in a folder of the test's own. */
#ifndef TEST_LANE_TOOL_H
#define TEST_LANE_TOOL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/sim/tool.h"

/* Whatever a run leaves behind lies there. */
extern char lane_folder[];

/* Fixtures of a group: the folder comes and goes. */
int lane_begin(void **state);
int lane_end(void **state);
void lane_nothing_left(void);
/* What a lane shows in a second, it shows on a slow machine in more. From lane_begin on, while this
 * is set, all times of a run grow by a third of the factor of time limits, which have more room. */
extern bool lane_stretches;
/* A folder and all that is in it. */
void lane_remove(const char *path);
/* The row of a policy; fails the test when there is none. */
json_t *lane_row_of(json_t *result, const char *policy);
/* Fails the test when the figure is null. */
double lane_median(json_t *row, const char *figure);

#endif
