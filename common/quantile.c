/* SPDX-License-Identifier: Apache-2.0 */
#include "common/quantile.h"

#include <stdlib.h>

static int by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static int by_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

void sort_doubles(double *values, size_t count)
{
	qsort(values, count, sizeof *values, by_double);
}

void sort_u32(uint32_t *values, size_t count)
{
	qsort(values, count, sizeof *values, by_u32);
}

size_t quantile_index(size_t count, double p)
{
	double exact = p * (double)count;
	size_t rank = (size_t)exact;
	if ((double)rank < exact)
		rank++;
	if (rank > count)
		rank = count;
	return rank > 0 ? rank - 1 : 0;
}

double quantile_of(const double *sorted, size_t count, double p)
{
	return count ? sorted[quantile_index(count, p)] : 0;
}
