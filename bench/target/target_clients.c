/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the sessions of the case's tasks: what a dump client does with its rows, the backup, and
 * stopping them all when a run's time is up.
 */
#include "bench/target/target_inside.h"

#include <stdlib.h>
#include <unistd.h>

#define ROW_BUFFER_BYTES 65536
/* A backup in production is throttled: about 25 MB/s. */
#define BACKUP_STEP_PAGES 64
#define BACKUP_PAUSE_NS	  10000000u
#define HOLD_POLL_NS	  200000u

int target_client_open(struct target *target, struct target_client **client)
{
	struct target_client *made = calloc(1, sizeof *made);
	if (!made)
		return -1;
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
		*client = made;
		return 0;
	}
	db_session_close(made->session);
	fclose(made->sink);
	free(made);
	return -1;
}

void target_client_close(struct target_client *client)
{
	struct target *target = client->target;
	pthread_mutex_lock(&target->lock);
	for (uint32_t i = 0; i < target->client_count; i++)
		if (target->clients[i] == client)
			target->clients[i] = target->clients[--target->client_count];
	pthread_mutex_unlock(&target->lock);
	db_session_close(client->session);
	fclose(client->sink);
	free(client);
}

uint64_t target_client_key(const struct target_client *client)
{
	return db_session_number(client->session);
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
	struct target_client *client = arg;
	for (uint32_t i = 0; i < db_row_columns(row); i++) {
		struct db_value value = db_row_value(row, i);
		putc_unlocked(i ? ',' : '\n', client->sink);
		write_value(client->sink, &value);
	}
	if (client->row_pause_us)
		target_sleep_ns((uint64_t)client->row_pause_us * 1000);
	while (atomic_load_explicit(&client->target->hold_rows, memory_order_acquire) &&
		!atomic_load_explicit(&client->target->stopping, memory_order_relaxed))
		target_sleep_ns(HOLD_POLL_NS);
	return atomic_load_explicit(&client->target->stopping, memory_order_relaxed);
}

void target_hold_rows(struct target *target, bool hold)
{
	atomic_store_explicit(&target->hold_rows, hold, memory_order_release);
}

void target_client_run(struct target_client *client, const char *sql, bool rows_out,
	uint32_t row_pause_us, struct target_answer *answer)
{
	struct target *target = client->target;
	atomic_store(&client->busy, true); /* before the look at stopping: target_stop_clients */
	if (atomic_load(&target->stopping)) {
		atomic_store(&client->busy, false);
		*answer = (struct target_answer){ .status = TARGET_CANCELLED };
		return;
	}
	client->row_pause_us = row_pause_us;
	pthread_mutex_lock(&target->lock);
	client->since_ns = target_now_ns();
	pthread_mutex_unlock(&target->lock);
	struct db_request request = { .struct_size = sizeof request,
		.sql = sql,
		.flags = DB_BACKGROUND,
		.class_index = CLASS_BATCH,
		.on_row = rows_out ? on_client_row : NULL,
		.arg = client };
	struct db_result result = { 0 };
	db_execute(client->session, &request, &result);
	target_fill_answer(answer, &result);
	pthread_mutex_lock(&target->lock);
	client->since_ns = 0;
	pthread_mutex_unlock(&target->lock);
	atomic_store(&client->busy, false);
}

void target_client_ask(struct target_client *client, const struct target_request *question,
	struct target_answer *answer)
{
	struct db_value values[TARGET_ARGS_MAX];
	struct db_request request = { .struct_size = sizeof request,
		.parameters = values,
		.parameter_count = question->arg_count,
		.class_index = CLASS_LOAD };
	struct db_result result = { 0 };
	for (uint32_t i = 0; i < question->arg_count; i++)
		values[i] = (struct db_value){ .type = DB_INTEGER, .integer = question->args[i] };
	if (db_prepare(client->target->engine, question->sql, &request.statement, NULL) != 0) {
		*answer = (struct target_answer){ .status = TARGET_FAILED };
		return;
	}
	db_execute(client->session, &request, &result);
	target_fill_answer(answer, &result);
}

static void on_backup_done(void *arg, int status, const char *message)
{
	struct backup_wait *wait = arg;
	pthread_mutex_lock(&wait->lock);
	wait->answer.status = target_status_of(status, false);
	if (status != 0)
		snprintf(wait->answer.error, sizeof wait->answer.error, "%s %s",
			db_error_sqlstate(status), message ? message : "");
	wait->done = true;
	pthread_cond_signal(&wait->done_changed);
	pthread_mutex_unlock(&wait->lock);
}

void target_backup(struct target *target, struct target_answer *answer)
{
	char path[512];
	snprintf(path, sizeof path, "%s/backup.db", target->options.data_dir);
	struct db_backup_options options = { .struct_size = sizeof options,
		.path = path,
		.table_locks = true,
		.pages_per_step = BACKUP_STEP_PAGES,
		.step_pause_ns = BACKUP_PAUSE_NS,
		.class_index = CLASS_BATCH,
		.key = TARGET_BACKUP_KEY,
		.on_done = on_backup_done,
		.arg = &target->backup };
	target->backup.done = false;
	target->backup.answer = (struct target_answer){ 0 };
	pthread_mutex_lock(&target->lock); /* against target_stop_clients */
	int status = atomic_load(&target->stopping) ? DB_ECANCELLED
						    : db_backup(target->engine, &options);
	target->backup_since_ns = status == 0 ? target_now_ns() : 0;
	pthread_mutex_unlock(&target->lock);
	if (status != 0) {
		*answer = (struct target_answer){ .status = target_status_of(status, false) };
		return;
	}
	pthread_mutex_lock(&target->backup.lock);
	while (!target->backup.done)
		pthread_cond_wait(&target->backup.done_changed, &target->backup.lock);
	*answer = target->backup.answer;
	pthread_mutex_unlock(&target->backup.lock);
	pthread_mutex_lock(&target->lock);
	target->backup_since_ns = 0;
	pthread_mutex_unlock(&target->lock);
	unlink(path);
}

static bool abort_clients(struct target *target)
{
	bool any = false;
	pthread_mutex_lock(&target->lock);
	for (uint32_t i = 0; i < target->client_count; i++) {
		db_abort_session(target->clients[i]->session);
		any = any || atomic_load(&target->clients[i]->busy);
	}
	if (target->backup_since_ns) {
		db_cancel_backup(target->engine);
		any = true;
	}
	pthread_mutex_unlock(&target->lock);
	return any;
}

void target_stop_clients(struct target *target)
{
	atomic_store(&target->stopping, true);
	while (abort_clients(target))
		target_sleep_ns(STOP_POLL_NS);
}
