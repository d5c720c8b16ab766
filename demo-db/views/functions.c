/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.c - cancel_task(id), pg_cancel_backend(process), pg_terminate_backend(process) and
 * pg_sleep(seconds), each as SELECT has it. Whether a session may call the first three is the server's to decide, before the statement runs; inside views and triggers nobody may.
 */
#include "demo-db/server/session/clients.h"
#include "demo-db/server/session/services.h"
#include "demo-db/views/view.h"

#define SLEEP_MAX_S 3155760000u /* 100 years */

/* True: on its way; false: it has ended; an error: it may not be cancelled. */
static void cancel_task_function(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	struct cancel_task task = { .id = (uint64_t)sqlite3_value_int64(argv[0]) };
	(void)argc;
	int status = cancel_deliver(task);
	if (status == 0 || status == CANCEL_ENOTASK)
		sqlite3_result_int(result, status == 0);
	else
		sqlite3_result_error(result,
			status == CANCEL_EINVAL ? "this task may not be cancelled"
						: cancel_error_text(status),
			-1);
}

static void cancel_backend_function(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	struct services *services = sqlite3_user_data(result);
	sqlite3_int64 process = sqlite3_value_int64(argv[0]);
	(void)argc;
	bool hit = process > 0 && process <= UINT32_MAX &&
		   clients_cancel_process(services->clients, (uint32_t)process);
	sqlite3_result_int(result, hit);
}

static void terminate_backend_function(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	struct services *services = sqlite3_user_data(result);
	sqlite3_int64 process = sqlite3_value_int64(argv[0]);
	(void)argc;
	bool hit = process > 0 && process <= UINT32_MAX &&
		   clients_end_process(services->clients, (uint32_t)process);
	sqlite3_result_int(result, hit);
}

static void sleep_function(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	double seconds = sqlite3_value_double(argv[0]);
	(void)argc;
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	if (!(seconds > 0))
		seconds = 0;
	if (db_sleep(seconds < SLEEP_MAX_S ? (uint64_t)(seconds * 1e9)
					   : SLEEP_MAX_S * UINT64_C(1000000000)))
		sqlite3_result_text(result, "", 0, SQLITE_STATIC); /* void */
	else
		sqlite3_result_error_code(result, SQLITE_INTERRUPT);
}

int view_functions_install(struct services *services, sqlite3 *db)
{
	static const struct {
		const char *name;
		void (*call)(sqlite3_context *result, int argc, sqlite3_value **argv);
	} functions[] = { { "cancel_task", cancel_task_function },
		{ "pg_cancel_backend", cancel_backend_function },
		{ "pg_terminate_backend", terminate_backend_function },
		{ "pg_sleep", sleep_function } };
	int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY, rc = SQLITE_OK;
	for (size_t i = 0; rc == SQLITE_OK && i < sizeof functions / sizeof *functions; i++)
		rc = sqlite3_create_function_v2(db, functions[i].name, 1, flags, services,
			functions[i].call, NULL, NULL, NULL);
	return rc;
}
