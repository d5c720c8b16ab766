/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shortage.h - memory, and threads, of which the chosen request is refused: those of the engine, of
 * the library, and of SQLite, which asks through the engine's own allocator. The linker turns the
 * calls aside; the moments are those of moments.h.
 */
#ifndef FAULTS_SHORTAGE_H
#define FAULTS_SHORTAGE_H

#include <stdbool.h>

/* Is this the one? Then errno says ENOMEM. */
bool shortage_refuses(void);
/* SQLite's allocations are moments, too; there are some hundred times as many. */
void shortage_of_sqlite(bool on);

#endif
