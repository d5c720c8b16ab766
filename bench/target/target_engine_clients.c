/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the sessions of the case's tasks: what a dump client does with its rows, the backup, and
 * stopping them all when a run's time is up.
 */
#include "bench/target/target_engine_inside.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROW_BUFFER_BYTES 65536
/* A backup in production is throttled: about 25 MB/s. */
#define BACKUP_STEP_PAGES 64
#define BACKUP_PAUSE_NS	  10000000u
#define HOLD_POLL_NS	  200000u
#define PATH_BYTES	  512

int engine_client_open(struct target *base, bool operates, struct target_client **client)
{
	struct engine_target *target = (struct engine_target *)base;
	(void)operates;
	struct engine_client *made = calloc(1, sizeof *made);
	if (!made)
		return -1;
	made->base.target = base;
	made->target = target;
	made->sink = fopen("/dev/null", "w");
	if (!made->sink || db_session_open(target->engine, NULL, &made->session) != 0) {
		if (made->sink)
			fclose(made->sink);
		free(made);
		return -1;
	}
	setvbuf(made->sink, NULL, _IOFBF, ROW_BUFFER_BYTES);
	pthread_mutex_lock(&target->lock);
	bool room = target->client_count < CLIENTS_MAX;
	if (room)
		target->clients[target->client_count++] = made;
	pthread_mutex_unlock(&target->lock);
	if (room) {
		*client = &made->base;
		return 0;
	}
	db_session_close(made->session);
	fclose(made->sink);
	free(made);
	return -1;
}

void engine_client_close(struct target_client *base)
{
	struct engine_client *client = (struct engine_client *)base;
	struct engine_target *target = client->target;
	pthread_mutex_lock(&target->lock);
	for (uint32_t i = 0; i < target->client_count; i++)
		if (target->clients[i] == client)
			target->clients[i] = target->clients[--target->client_count];
	pthread_mutex_unlock(&target->lock);
	db_session_close(client->session);
	fclose(client->sink);
	free(client);
}

uint64_t engine_client_key(const struct target_client *base)
{
	return db_session_number(((const struct engine_client *)base)->session);
}

/* What a dump client does with a value: writes it as SQL text. */
static void write_value(FILE *sink, const struct db_value *value)
{
	switch (value->type) {
	case DB_NULL:
		fputs("NULL", sink);
		break;
	case DB_INTEGER:
		fprintf(sink, "%lld", (long long)value->integer);
		break;
	case DB_REAL:
		fprintf(sink, "%.17g", value->real);
		break;
	case DB_TEXT:
	case DB_BLOB:
		putc_unlocked('\'', sink);
		for (uint32_t i = 0; i < value->length; i++) {
			int c = ((const unsigned char *)value->data)[i];
			if (c == '\'')
				putc_unlocked(c, sink);
			putc_unlocked(c, sink);
		}
		putc_unlocked('\'', sink);
		break;
	}
}

static int on_client_row(void *arg, const struct db_row *row)
{
	struct engine_client *client = arg;
	for (uint32_t i = 0; i < db_row_columns(row); i++) {
		struct db_value value = db_row_value(row, i);
		putc_unlocked(i ? ',' : '\n', client->sink);
		write_value(client->sink, &value);
	}
	if (client->row_pause_us)
		engine_sleep_ns((uint64_t)client->row_pause_us * 1000);
	while (atomic_load_explicit(&client->target->hold_rows, memory_order_acquire) &&
		!atomic_load_explicit(&client->target->stopping, memory_order_relaxed))
		engine_sleep_ns(HOLD_POLL_NS);
	return atomic_load_explicit(&client->target->stopping, memory_order_relaxed);
}

void target_engine_hold_rows(struct target *base, bool hold)
{
	struct engine_target *target = (struct engine_target *)base;
	atomic_store_explicit(&target->hold_rows, hold, memory_order_release);
}

static void begin_statement(struct engine_client *client, const struct target_request *request)
{
	client->row_pause_us = request->row_pause_us;
	client->callback = request->callback;
	client->arg = request->arg;
	client->token = request->token;
	engine_parameters(request, client->parameters);
	pthread_mutex_lock(&client->target->lock);
	client->since_ns = target_now_ns();
	pthread_mutex_unlock(&client->target->lock);
}

/* The client may be gone as soon as it is not busy. */
static void end_statement(struct engine_client *client, const struct target_answer *answer)
{
	struct engine_target *target = client->target;
	target_callback callback = client->callback;
	void *arg = client->arg;
	uint64_t token = client->token;
	pthread_mutex_lock(&target->lock);
	client->since_ns = 0;
	client->backs_up = false;
	pthread_mutex_unlock(&target->lock);
	atomic_store(&client->busy, false);
	if (callback)
		callback(arg, token, answer);
}

static void on_client_done(void *arg, const struct db_result *result)
{
	struct target_answer answer;
	engine_fill_answer(&answer, result);
	end_statement(arg, &answer);
}

static void end_unasked(struct engine_client *client, int status)
{
	struct target_answer answer = { .status = engine_status(status, false) };
	snprintf(answer.error, sizeof answer.error, "%s", db_error_text(status));
	end_statement(client, &answer);
}

static struct db_request request_of(
	struct engine_client *client, const struct target_request *request)
{
	return (struct db_request){ .struct_size = sizeof(struct db_request),
		.sql = request->sql,
		.parameters = client->parameters,
		.parameter_count = request->arg_count,
		.flags = DB_BACKGROUND,
		.class_index = CLASS_BATCH,
		.on_row = request->rows_out ? on_client_row : NULL,
		.arg = client };
}

static void backup_path(const struct engine_target *target, char path[PATH_BYTES])
{
	snprintf(path, PATH_BYTES, "%s/" TARGET_BACKUP_NAME, target->options.data_dir);
}

static void on_backup_done(void *arg, int status, const char *message)
{
	struct engine_client *client = arg;
	char path[PATH_BYTES];
	struct target_answer answer = { .status = engine_status(status, false) };
	if (status != 0)
		snprintf(answer.error, sizeof answer.error, "%s %s", db_error_sqlstate(status),
			message ? message : "");
	backup_path(client->target, path);
	unlink(path);
	end_statement(client, &answer);
}

static int back_up(struct engine_client *client)
{
	struct engine_target *target = client->target;
	char path[PATH_BYTES];
	backup_path(target, path);
	struct db_backup_options options = { .struct_size = sizeof options,
		.path = path,
		.table_locks = true,
		.pages_per_step = BACKUP_STEP_PAGES,
		.step_pause_ns = BACKUP_PAUSE_NS,
		.class_index = CLASS_BATCH,
		.key = db_session_number(client->session),
		.on_done = on_backup_done,
		.arg = client };
	pthread_mutex_lock(&target->lock); /* against engine_stop_clients */
	client->backs_up = true;
	int status = atomic_load(&target->stopping) ? DB_ECANCELLED
						    : db_backup(target->engine, &options);
	pthread_mutex_unlock(&target->lock);
	return status;
}

void engine_client_ask(struct target_client *base, const struct target_request *request)
{
	struct engine_client *client = (struct engine_client *)base;
	atomic_store(&client->busy, true); /* before the look at stopping: engine_stop_clients */
	begin_statement(client, request);
	int status = DB_ECANCELLED;
	if (!atomic_load(&client->target->stopping)) {
		struct db_request asked = request_of(client, request);
		asked.on_done = on_client_done;
		status = strcmp(request->sql, TARGET_BACKUP) == 0
				 ? back_up(client)
				 : db_submit(client->session, &asked);
	}
	if (status != 0)
		end_unasked(client, status);
}

void target_engine_execute(struct target_client *base, const struct target_request *request,
	struct target_answer *answer)
{
	struct engine_client *client = (struct engine_client *)base;
	struct db_result result = { 0 };
	struct target_request quiet = *request;
	quiet.callback = NULL;
	atomic_store(&client->busy, true);
	begin_statement(client, &quiet);
	struct db_request asked = request_of(client, request);
	if (request->arg_count) { /* a question of the load: prepared, and of its class */
		asked.class_index = CLASS_LOAD;
		asked.flags = 0;
		result.status =
			db_prepare(client->target->engine, request->sql, &asked.statement, NULL);
	}
	if (atomic_load(&client->target->stopping))
		result.status = DB_ECANCELLED;
	else if (result.status == 0)
		db_execute(client->session, &asked, &result);
	engine_fill_answer(answer, &result);
	end_statement(client, answer);
}

static bool abort_clients(struct engine_target *target)
{
	bool any = false;
	pthread_mutex_lock(&target->lock);
	for (uint32_t i = 0; i < target->client_count; i++) {
		struct engine_client *client = target->clients[i];
		if (client->backs_up)
			db_cancel_backup(target->engine);
		else
			db_abort_session(client->session);
		any = any || atomic_load(&client->busy);
	}
	pthread_mutex_unlock(&target->lock);
	return any;
}

void engine_stop_clients(struct target *base)
{
	struct engine_target *target = (struct engine_target *)base;
	atomic_store(&target->stopping, true);
	while (abort_clients(target))
		engine_sleep_ns(STOP_POLL_NS);
}
