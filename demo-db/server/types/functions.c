/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the matching of patterns, and that all functions are there.
 */
#include "demo-db/server/types/functions.h"
#include "demo-db/server/types/assign.h"
#include "demo-db/server/types/casts.h"
#include "demo-db/server/types/functions_text.h"
#include "demo-db/server/types/numeric.h"

#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Patterns -------------------------------------------------------------------------------- */

static void free_regex(void *regex)
{
	regfree(regex);
	free(regex);
}

/* The compiled pattern, kept with the statement while its text stays the same; NULL: told why. */
static regex_t *compiled(sqlite3_context *c, const char *pattern, int flags)
{
	regex_t *regex = sqlite3_get_auxdata(c, 0);
	if (regex)
		return regex;
	regex = malloc(sizeof *regex);
	if (!regex) {
		sqlite3_result_error_nomem(c);
		return NULL;
	}
	int failed = regcomp(regex, pattern, REG_EXTENDED | REG_NOSUB | flags);
	if (failed) {
		char why[80];
		regerror(failed, regex, why, sizeof why);
		free(regex);
		cast_refuse(c, "invalid regular expression: %s%s", why, "");
		return NULL;
	}
	sqlite3_set_auxdata(c, 0, regex, free_regex);
	return sqlite3_get_auxdata(c, 0);
}

/* SQLite calls regexp(pattern, text) for text REGEXP pattern. */
static void match(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	static const char like[] = "(?like)", caseless[] = "(?i)";
	const char *pattern = (const char *)sqlite3_value_text(argv[0]);
	const char *text = (const char *)sqlite3_value_text(argv[1]);
	(void)argc;
	if (!pattern || !text)
		return;
	if (strncmp(pattern, like, sizeof like - 1) == 0) {
		sqlite3_result_int(c, functions_like(pattern + sizeof like - 1, text));
		return;
	}
	bool fold = strncmp(pattern, caseless, sizeof caseless - 1) == 0;
	regex_t *regex =
		compiled(c, pattern + (fold ? sizeof caseless - 1 : 0), fold ? REG_ICASE : 0);
	if (regex)
		sqlite3_result_int(c, regexec(regex, text, 0, NULL, 0) == 0);
}

/* ---- The table ------------------------------------------------------------------------------- */

int functions_install(sqlite3 *db)
{
	int rc = casts_install(db);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_function_v2(
			db, "regexp", 2, FUNCTIONS_FLAGS, NULL, match, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = functions_text_install(db);
	if (rc == SQLITE_OK)
		rc = functions_dates_install(db);
	if (rc == SQLITE_OK)
		rc = numeric_install(db);
	if (rc == SQLITE_OK)
		rc = assign_install(db);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "PRAGMA case_sensitive_like = ON", NULL, NULL, NULL);
	return rc;
}
