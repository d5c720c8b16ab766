/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signatures.h - the text behind a statement's signature, for views and reports.
 *
 * A bounded table for the whole process: each statement is noted when it is translated; a newer one
 * takes an older one's place. Any thread; not on the path of a statement that is in a cache.
 */
#ifndef DEMO_DB_SIGNATURES_H
#define DEMO_DB_SIGNATURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIGNATURE_TEXT_MAX 160

void signatures_note(uint64_t signature, const char *sql, size_t bytes);
/* False: it is not known any more. */
bool signatures_find(uint64_t signature, char text[SIGNATURE_TEXT_MAX]);

#endif
