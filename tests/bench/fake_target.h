/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_target.h - the target `engine` without an engine. Questions are answered at once, on the
 * thread that asks; while a client runs a statement that begins with HOLD they are kept, and
 * answered when that statement ends: by a kill, by target_stop_clients, or, when the target acts,
 * once FAKE_PATIENCE questions are kept.
 */
#ifndef FAKE_TARGET_H
#define FAKE_TARGET_H

#include "bench/target/target.h"

#define FAKE_HOLD     "HOLD"
#define FAKE_PATIENCE 40

/* Set before target_open; all zero by default. */
struct fake_settings {
	bool refuse_open, reject_all;
};
extern struct fake_settings fake_settings;

#endif
