/* SPDX-License-Identifier: Apache-2.0 */
/* What a session keeps is bounded in bytes, too. */
#include "demo-db/server/session/prepared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct dialect_context context = { .user = "u", .database = "d", .version = "v" };
static struct prepared prepared;

static int clean(void **state)
{
	(void)state;
	prepared_free(&prepared);
	memset(&prepared, 0, sizeof prepared);
	return 0;
}

/* `select 1` and a comment; the caller's. */
static char *text_of(size_t bytes)
{
	char *text = malloc(bytes + 1);
	assert_non_null(text);
	memset(text, ' ', bytes);
	memcpy(text, "select 1", 8);
	text[bytes] = '\0';
	return text;
}

static struct statement *simple(const char *text)
{
	return prepared_simple(&prepared, text, strlen(text), strlen(text), 0, &context);
}

static void a_short_query_is_kept_and_a_long_one_passes(void **state)
{
	char *text = text_of(PREPARED_CACHED_MAX), *longer = text_of(PREPARED_CACHED_MAX + 1);
	(void)state;
	struct statement *kept = simple(text);
	prepared_let_pass(&prepared);
	assert_ptr_equal(simple(text), kept);
	struct statement *passing = statement_share(simple(longer));
	prepared_let_pass(&prepared);
	assert_int_equal(passing->references, 1); /* nobody else has it */
	statement_free(passing);
	free(text);
	free(longer);
}

static int put(const char *name, const char *text)
{
	return prepared_put(&prepared, name, statement_new(text, strlen(text), &context));
}

static void named_statements_have_a_budget(void **state)
{
	char *text = text_of(PREPARED_BYTES_MAX / 2);
	(void)state;
	assert_int_equal(put("a", text), 0);
	assert_int_equal(put("b", text), 0);
	assert_int_equal(put("c", "x"), -1);
	assert_null(prepared_find(&prepared, "c"));
	assert_int_equal(put("", text), 0); /* the unnamed one is for what comes now */
	prepared_close(&prepared, "a");
	assert_int_equal(put("c", "x"), 0);
	prepared_close_all(&prepared);
	assert_int_equal(prepared.named_bytes, 0);
	free(text);
}

static void a_portal_gives_large_values_back(void **state)
{
	(void)state;
	assert_int_equal(put("", "select 1"), 0);
	struct portal *portal = portal_open(&prepared, "", prepared_find(&prepared, ""));
	assert_non_null(portal_memory(portal, 100));
	portal_close(&prepared, "");
	assert_int_equal(portal->memory_bytes, 100); /* for the next Bind */
	portal = portal_open(&prepared, "", prepared_find(&prepared, ""));
	assert_non_null(portal_memory(portal, PORTAL_MEMORY_MAX + 1));
	portal_close(&prepared, "");
	assert_null(portal->memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_short_query_is_kept_and_a_long_one_passes, clean),
		cmocka_unit_test_teardown(named_statements_have_a_budget, clean),
		cmocka_unit_test_teardown(a_portal_gives_large_values_back, clean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
