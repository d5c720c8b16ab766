/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_fake.h - a stand-in for the library that cancels when a test says so.
 *
 * Linked in its place; keeps the rules an engine must rely on: one current task a thread, an action
 * runs only while its task lives and is not blocked, freeing waits for it. And it checks the
 * engine: whatever it would count as misuse, fake_misuse counts.
 */
#ifndef ENGINE_FAKE_H
#define ENGINE_FAKE_H

#include <cancel/cancel.h>

#define FAKE_TASKS_MAX 256

/* Delivers a cancel to a live task of that key, as the controller would; false: none, or blocked,
 * or not cancellable, or cancelled before. */
bool fake_deliver(uint64_t key, enum cancel_reason reason);
/* To one of the live tasks, chosen by `random`. */
bool fake_deliver_any(uint64_t random, enum cancel_reason reason);

/* What cancel_rerun answers from now on. */
void fake_answer(enum cancel_rerun_answer answer);
/* Runs in cancel_block, before it decides; may deliver. */
void fake_on_block(void (*hook)(void *arg), void *arg);

/* How many things of that type the live task of that key holds, as far as it told. */
uint32_t fake_holds(uint64_t key, enum cancel_resource_type type);
uint64_t fake_misuse(void); /* 0 for a correct host */
uint32_t fake_live_tasks(void);
uint64_t fake_counted(void);	  /* calls of cancel_count_request */
uint64_t fake_blocks(void);	  /* calls of cancel_block */
uint64_t fake_created(void);	  /* tasks so far */
uint64_t fake_acknowledged(void); /* requests seen by their task */
/* Every cancel_progress since fake_progress_forget, in parts per million; returns how many. */
uint32_t fake_progress(uint32_t ppm[], uint32_t limit);
void fake_progress_forget(void);
void fake_reset(void);

#endif
