/* SPDX-License-Identifier: Apache-2.0 */
/*
 * picture.h - the picture of a result: goodput and late share over time.
 */
#ifndef BENCH_PICTURE_H
#define BENCH_PICTURE_H

#include "bench/experiment/suite.h"

/* 0, or -1 with one line in error. */
int picture_draw(const struct suite_result *result, const char *folder,
	char error[TARGET_ERROR_MAX]) __attribute__((warn_unused_result));

#endif
