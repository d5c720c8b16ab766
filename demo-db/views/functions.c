/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.c - SELECT cancel_task(id) and pg_cancel_backend(process). Whether a session may call
 * them is the server's to decide, before the statement runs; inside views and triggers nobody may.
 */
#include "demo-db/server/session/clients.h"
#include "demo-db/server/session/services.h"
#include "demo-db/views/view.h"

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

int view_functions_install(struct services *services, sqlite3 *db)
{
	int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY;
	int rc = sqlite3_create_function_v2(
		db, "cancel_task", 1, flags, services, cancel_task_function, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_function_v2(db, "pg_cancel_backend", 1, flags, services,
			cancel_backend_function, NULL, NULL, NULL);
	return rc;
}
