/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantile.h - values in order, and the one at a rank.
 */
#ifndef COMMON_QUANTILE_H
#define COMMON_QUANTILE_H

#include <stddef.h>
#include <stdint.h>

void sort_doubles(double *values, size_t count);
void sort_u32(uint32_t *values, size_t count);
/* Where the p-quantile of so many sorted values lies, by the nearest rank; count > 0. */
size_t quantile_index(size_t count, double p);
/* The p-quantile itself; 0 for none. */
double quantile_of(const double *sorted, size_t count, double p);

#endif
