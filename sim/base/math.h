/* SPDX-License-Identifier: Apache-2.0 */
/*
 * math.h - logarithm, exponential and power from IEEE additions, multiplications and divisions
 * only, so that a run gives the same bits whatever libm or compiler is there (built with
 * -ffp-contract=off). Relative error below 4e-15 for exp, 1e-13 for pow over the ranges used.
 */
#ifndef SIM_BASE_MATH_H
#define SIM_BASE_MATH_H

#include <stdint.h>

double sim_ln(double x);		 /* x > 0, normal */
double sim_exp(double x);		 /* clamped: 0 below -700, 1e304 above 700 */
double sim_pow(double base, double exp); /* base > 0 */
double sim_sqrt(double x);		 /* x >= 0; correctly rounded */
double sim_sin(double x);		 /* |x| < 1e6; error below 1e-10 */
/* Nearest integer, halves away from zero; clamped to the range of int64_t. */
int64_t sim_round(double x);

#endif
