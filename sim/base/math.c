/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementary functions by series. ln: x = m·2^k with m in [√½, √2), ln m = 2·artanh((m−1)/(m+1)).
 * exp: x = k·ln 2 + r, Taylor series of r.
 */
#include "sim/base/math.h"

#include <math.h>
#include <string.h>

#define LN2_HIGH 6.93147180369123816490e-01 /* ln 2 in two parts, the first with 32 bits */
#define LN2_LOW	 1.90821492927058770002e-10
#define PI	 3.14159265358979311600e+00

static uint64_t bits_of(double x)
{
	uint64_t bits;
	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static double from_bits(uint64_t bits)
{
	double x;
	memcpy(&x, &bits, sizeof(x));
	return x;
}

double sim_ln(double x)
{
	uint64_t bits = bits_of(x);
	int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
	double m = from_bits((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
	if (m > 1.41421356237309504880) {
		m *= 0.5;
		exponent++;
	}
	double s = (m - 1.0) / (m + 1.0), square = s * s, sum = 0.0;
	for (int odd = 25; odd >= 1; odd -= 2)
		sum = sum * square + 1.0 / (double)odd;
	return (double)exponent * LN2_HIGH + (2.0 * s * sum + (double)exponent * LN2_LOW);
}

double sim_exp(double x)
{
	if (x < -700.0)
		return 0.0;
	if (x > 700.0)
		return 1e304;
	int64_t k = sim_round(x / (LN2_HIGH + LN2_LOW));
	double r = (x - (double)k * LN2_HIGH) - (double)k * LN2_LOW, sum = 1.0;
	for (int i = 14; i >= 1; i--)
		sum = sum * r / (double)i + 1.0;
	return sum * from_bits((uint64_t)(k + 1023) << 52);
}

double sim_pow(double base, double exp)
{
	return sim_exp(exp * sim_ln(base));
}

double sim_sqrt(double x)
{
	return sqrt(x); /* IEEE 754 requires it correctly rounded: the same bits everywhere */
}

double sim_sin(double x)
{
	int64_t half_turns = sim_round(x / PI);
	double r = x - (double)half_turns * PI, square = r * r, sum = 0.0;
	for (int i = 21; i >= 3; i -= 2)
		sum = (sum + 1.0) * -square / (double)(i * (i - 1));
	double sine = r * (1.0 + sum);
	return half_turns % 2 == 0 ? sine : -sine;
}

int64_t sim_round(double x)
{
	if (x >= 9.2e18)
		return INT64_MAX;
	if (x <= -9.2e18)
		return INT64_MIN;
	return x < 0.0 ? -(int64_t)(0.5 - x) : (int64_t)(x + 0.5);
}
