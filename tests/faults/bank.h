/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bank.h - an engine with accounts and a ledger of transfers between them, pieces of work on it,
 * and the question whether everything is right: what a test asks after each fault.
 */
#ifndef FAULTS_BANK_H
#define FAULTS_BANK_H

#include "tests/engine/engine_fixture.h"

struct bank {
	struct fixture fixture;
	struct db_session *session; /* does the work */
	struct db_session *other;   /* looks, and works afterwards */
};

/* One statement, or one block from BEGIN to COMMIT: it is done as a whole or not at all. */
struct work {
	const char *name;
	const char *const *statements; /* up to NULL */
	const char *const *undo;       /* brings everything back to where it was */
};
extern const struct work works[];
extern const uint32_t work_count;

void bank_open(struct bank *bank, const struct db_options *options);
void bank_open_sessions(struct bank *bank);
void bank_close_sessions(struct bank *bank);
void bank_close(struct bank *bank);

/* A number that differs when anything in the database does: schema or rows. */
uint64_t bank_state(struct db_session *session);
/* The structure is sound, and each balance is what the ledger says. */
void bank_check(struct db_session *session);
/* Nobody runs, waits or holds anything: no lock, no slot, no memory of a statement, and another
 * session can write at once. */
void bank_check_quiet(struct bank *bank);
/* Each statement must succeed. */
void bank_run(struct db_session *session, const char *const *statements);

/* A backup from its start to its end: what either of them answers. */
int bank_back_up(struct bank *bank, struct db_backup_options options);

#endif
