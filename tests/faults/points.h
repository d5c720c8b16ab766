/* SPDX-License-Identifier: Apache-2.0 */
/*
 * points.h - the checkpoints of the engine: every place where a statement, a commit or a backup
 * looks for a cancel, or goes to where a cancel must find it. They are counted, and at the chosen
 * one something happens.
 *
 * The linker turns the calls aside (--wrap); the engine knows nothing of it. SQLite's progress
 * handler is installed to be called as often as SQLite can, not every thousandth operation.
 */
#ifndef FAULTS_POINTS_H
#define FAULTS_POINTS_H

#include <stdbool.h>
#include <stdint.h>

/* From now on count; at the `k`th call `fire`, on the thread that got there. */
void points_arm(uint64_t k, void (*fire)(void *arg), void *arg);
/* The test's own checkpoint: between two statements, for example. */
void points_pass(void);
/* moments_disarm tells how many there have been. */

#endif
