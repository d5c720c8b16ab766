/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress_bar.h - a bar on standard error for work that has a known size.
 */
#ifndef BENCH_PROGRESS_BAR_H
#define BENCH_PROGRESS_BAR_H

#include <stdint.h>

/* Call with done = total to end it. Without a terminal only the end is printed. */
void progress_bar(const char *what, uint64_t done, uint64_t total);

#endif
