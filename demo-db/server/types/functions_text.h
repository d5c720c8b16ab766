/* SPDX-License-Identifier: Apache-2.0 */
/* functions_text.h - functions of texts and sets; see functions.h. */
#ifndef DEMO_DB_FUNCTIONS_TEXT_H
#define DEMO_DB_FUNCTIONS_TEXT_H

#include <sqlite3.h>
#include <stdbool.h>

#define FUNCTIONS_FLAGS (SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS)

int functions_text_install(sqlite3 *db);
/* ILIKE: % any, _ one character, \ takes the next as it is; ASCII case is ignored. */
bool functions_like(const char *pattern, const char *text);

#endif
