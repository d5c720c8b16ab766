/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moments.h - a countable row of moments, one of which is chosen. A test arms it, whoever the
 * linker has turned aside asks at each moment whether it is the one.
 */
#ifndef FAULTS_MOMENTS_H
#define FAULTS_MOMENTS_H

#include <stdbool.h>
#include <stdint.h>

/* From now on count, of any thread; the `k`th is the one. */
void moments_arm(uint64_t k);
/* True once, at the kth; false while nothing is armed. */
bool moments_pass(void);
/* How many there have been; the same once more when it is asked again. Less than k: there is no kth. */
uint64_t moments_disarm(void);

#endif
