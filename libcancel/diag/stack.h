/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack.h - where a victim was when it saw its request.
 */
#ifndef CANCEL_DIAG_STACK_H
#define CANCEL_DIAG_STACK_H

#include <cancel/observe.h>

/* On the victim's own thread, at its checkpoint: keeps its return addresses under `task`. The
 * first call in a thread may take a millisecond. */
void stack_capture(uint64_t task);

/* Takes the stack kept under `task` and writes a frame a line into `text`: "function+0x1f
 * (module)". False: there is none (yet). Controller thread. */
bool stack_take(uint64_t task, char text[CANCEL_STACK_MAX]);

/* Is any stack kept? One relaxed load. */
bool stack_waiting(void);

void stacks_lock_for_fork(void);
void stacks_unlock_after_fork(bool child);

#endif
