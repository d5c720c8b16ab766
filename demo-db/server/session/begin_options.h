/* SPDX-License-Identifier: Apache-2.0 */
/*
 * begin_options.h - which BEGIN a client means, with what its session's defaults add.
 */
#ifndef DEMO_DB_BEGIN_OPTIONS_H
#define DEMO_DB_BEGIN_OPTIONS_H

struct backend;
struct dialect;

/* What the engine is asked; static. `begin` NULL: one nobody wrote, which says nothing itself. */
const char *begin_text(const struct backend *backend, const struct dialect *begin);
/* SHOW inside the block tells what it was begun with: `sql` is begin_text's. */
void begin_tell(struct backend *backend, const struct dialect *begin, const char *sql);

#endif
