/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what the server answers without the engine.
 */
#include "demo-db/server/session/utility.h"
#include "demo-db/server/session/prepare_sql.h"
#include "demo-db/server/session/query_errors.h"
#include "demo-db/server/session/rows.h"
#include "demo-db/server/session/backend.h"
#include "demo-db/server/session/clients.h"
#include "demo-db/server/session/services.h"

#include <string.h>
#include <strings.h>

bool utility_is(const struct statement *statement)
{
	return statement->dialect.kind != DIALECT_SQL && statement->dialect.kind != DIALECT_BEGIN &&
	       statement->dialect.kind != DIALECT_REFUSED;
}

static bool tell(struct backend *backend, const struct settings_error *error)
{
	backend_error(backend, error->sqlstate, error->message, NULL, error->hint, 0);
	return false;
}

static bool in_block(const struct backend *backend)
{
	return db_session_transaction(backend->db) != 'I';
}

/* ---- SET ------------------------------------------------------------------------------------- */

static bool refuse_set(struct backend *backend, const char *name)
{
	char message[SETTINGS_VALUE_MAX + 64];
	snprintf(message, sizeof message, "permission denied to set parameter \"%s\"", name);
	backend_error(backend, "42501", message, NULL,
		"The role needs \"raise\" in the server's configuration.", 0);
	return false;
}

/* Nobody lifts itself above the others, or takes another user's place, unless its role may. */
static bool may_set(struct backend *backend, const struct dialect *d)
{
	bool resets = d->value_default || !*d->value;
	if (strcasecmp(d->name, "cancel.user") == 0 && !resets &&
		!backend_speaks_for_others(backend))
		return refuse_set(backend, "cancel.user");
	if (strcasecmp(d->name, "cancel.priority") == 0 && !resets &&
		strcasecmp(d->value, "system") == 0 && !backend_may_control(backend))
		return refuse_set(backend, "cancel.priority");
	return true;
}

/* SET TRANSACTION and SET SESSION CHARACTERISTICS: what the block already has, or the next gets. */
static bool set_transaction(struct backend *backend, const struct dialect *d)
{
	struct settings_error error;
	bool session = strncasecmp(d->value, "as transaction", 14) == 0;
	bool snapshot = strcasestr(d->value, "serializable") || strcasestr(d->value, "repeatable");
	bool read_only = strcasestr(d->value, "read only") != NULL;
	if (!session && (snapshot || read_only) && in_block(backend)) {
		backend_error(backend, "0A000", "SET TRANSACTION of this kind is not supported",
			NULL, "Say it with BEGIN, or with SET SESSION CHARACTERISTICS.", 0);
		return false;
	}
	if (!session && !in_block(backend))
		query_warn(
			backend, "25P01", "SET TRANSACTION can only be used in transaction blocks");
	if (!session)
		return true;
	if (strcasestr(d->value, "isolation") &&
		settings_set(&backend->settings, "default_transaction_isolation",
			snapshot ? "repeatable read" : "read committed", false, in_block(backend),
			&error))
		return tell(backend, &error);
	bool access = read_only || strcasestr(d->value, "read write");
	if (access && settings_set(&backend->settings, "default_transaction_read_only",
			      read_only ? "on" : "off", false, in_block(backend), &error))
		return tell(backend, &error);
	return true;
}

static bool set(struct backend *backend, const struct dialect *d)
{
	struct settings_error error;
	if (strcmp(d->name, "transaction") == 0)
		return set_transaction(backend, d);
	if (!may_set(backend, d))
		return false;
	if (d->local && !in_block(backend))
		query_warn(backend, "25P01", "SET LOCAL can only be used in transaction blocks");
	if (settings_set(&backend->settings, d->name, d->value_default ? NULL : d->value, d->local,
		    in_block(backend), &error))
		return tell(backend, &error);
	return true;
}

static bool reset(struct backend *backend, const struct dialect *d)
{
	struct settings_error error;
	if (strcmp(d->name, "all") == 0)
		settings_reset_all(&backend->settings, in_block(backend));
	else if (settings_set(&backend->settings, d->name, NULL, false, in_block(backend), &error))
		return tell(backend, &error);
	return true;
}

static bool discard(struct backend *backend, const struct dialect *d)
{
	bool all = strcmp(d->name, "all") == 0;
	if (all && in_block(backend)) {
		backend_error(backend, "25001", "DISCARD ALL cannot run inside a transaction block",
			NULL, NULL, 0);
		return false;
	}
	if (all || strncmp(d->name, "temp", 4) == 0) {
		int rc = db_discard_temp(backend->db);
		if (rc) {
			backend_error(backend, db_error_sqlstate(rc),
				"DISCARD TEMP cannot run inside a transaction block", NULL,
				"There are temporary objects that it may use.", 0);
			return false;
		}
	}
	if (all) {
		settings_reset_all(&backend->settings, false);
		backend->query.portal = NULL;
		portal_close_all(&backend->prepared);
		prepared_close_all(&backend->prepared);
	}
	return true;
}

/* ---- SHOW ------------------------------------------------------------------------------------ */

uint16_t utility_columns(const struct statement *statement, struct wire_column columns[3])
{
	static const char *const all[] = { "name", "setting", "description" };
	const struct dialect *d = &statement->dialect;
	bool every = strcmp(d->name, "all") == 0;
	if (d->kind != DIALECT_SHOW)
		return 0;
	for (int i = 0; i < 3; i++)
		columns[i] =
			(struct wire_column){ .name = every ? all[i] : settings_spelling(d->name),
				.type = PG_TEXT,
				.length = -1 };
	return every ? 3 : 1;
}

static void put_row(struct wire_out *out, const char *const *texts, uint16_t count)
{
	wire_begin(out, 'D');
	wire_put16(out, count);
	for (uint16_t i = 0; i < count; i++) {
		wire_put32(out, (uint32_t)strlen(texts[i]));
		wire_put_bytes(out, texts[i], strlen(texts[i]));
	}
	wire_end(out);
}

/* What only the transaction knows. */
static void tell_transaction(struct backend *backend)
{
	if (in_block(backend))
		return;
	settings_tell(&backend->settings, SETTING_transaction_isolation,
		settings_get(&backend->settings, SETTING_default_transaction_isolation));
	settings_tell(&backend->settings, SETTING_transaction_read_only,
		settings_get(&backend->settings, SETTING_default_transaction_read_only));
}

/* The rows of a portal are kept there, since Execute may ask for a part of them. */
static bool show(struct backend *backend, const struct statement *statement)
{
	struct portal *portal = backend->query.portal;
	struct wire_out *out = &backend->output.wire, *rows = portal ? &portal->rows : out;
	struct wire_column columns[3];
	struct settings_error error;
	uint16_t count = utility_columns(statement, columns);
	const char *value = NULL;
	tell_transaction(backend);
	if (count == 1)
		value = settings_show(&backend->settings, statement->dialect.name, &error);
	if (count == 1 && !value)
		return tell(backend, &error);
	if (backend->query.describe)
		wire_row_description(out, columns, count);
	if (portal)
		portal->rows_left = count == 1 ? 1 : SETTING_COUNT;
	if (count == 1) {
		put_row(rows, &value, 1);
		return true;
	}
	for (int i = 0; i < SETTING_COUNT; i++) {
		const char *texts[] = { setting_name((enum setting)i),
			settings_get(&backend->settings, (enum setting)i),
			setting_text((enum setting)i) };
		put_row(rows, texts, 3);
	}
	return true;
}

/* ---- Intake ---------------------------------------------------------------------------------- */

static bool set_paused(struct backend *backend, const struct dialect *d)
{
	if (!backend_may_control(backend)) {
		backend_error(backend, "42501", "permission denied to pause or resume the intake",
			NULL, "The role needs \"raise\" in the server's configuration.", 0);
		return false;
	}
	bool pause = strcmp(d->name, "pause") == 0;
	atomic_store_explicit(&backend->services->admission.paused, pause, memory_order_relaxed);
	if (!pause)
		clients_wake(backend->services->clients);
	return true;
}

/* All of the log into the database, at once: nobody writes meanwhile. The caller's thread does it,
 * so the others are told to poll in its place. */
static bool checkpoint(struct backend *backend)
{
	if (!backend_may_control(backend)) {
		backend_error(backend, "42501", "permission denied to execute CHECKPOINT", NULL,
			"The role needs \"raise\" in the server's configuration.", 0);
		return false;
	}
	if (in_block(backend)) {
		backend_error(backend, "25001", "CHECKPOINT cannot run inside a transaction block",
			NULL, "It would wait for what the block has written.", 0);
		return false;
	}
	/* one at a time: were all threads to wait for the writer, none would serve it */
	if (atomic_exchange_explicit(
		    &backend->services->checkpointing, true, memory_order_acquire)) {
		backend_error(backend, "55006", "another CHECKPOINT is under way", NULL,
			"It will have done the work of this one; retry later if not.", 0);
		return false;
	}
	reactor_blocking(backend->services->reactor);
	int rc = db_checkpoint(backend->services->engine, DB_CHECKPOINT_RESTART);
	atomic_store_explicit(&backend->services->checkpointing, false, memory_order_release);
	if (rc)
		backend_error(backend, db_error_sqlstate(rc), db_error_text(rc), NULL, NULL, 0);
	return rc == 0;
}

static const char *discard_tag(const struct dialect *d)
{
	static const char *const tags[] = { "DISCARD ALL", "DISCARD PLANS", "DISCARD TEMP",
		"DISCARD SEQUENCES" };
	for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
		if (strcasecmp(tags[i] + sizeof "DISCARD", d->name) == 0)
			return tags[i];
	return "DISCARD";
}

static const char *tag_of(const struct dialect *d)
{
	switch (d->kind) {
	case DIALECT_SET:
		return "SET";
	case DIALECT_SHOW:
		return "SHOW";
	case DIALECT_RESET:
		return "RESET";
	case DIALECT_DISCARD:
		return discard_tag(d);
	case DIALECT_PREPARE:
		return "PREPARE";
	case DIALECT_DEALLOCATE:
		return *d->name ? "DEALLOCATE" : "DEALLOCATE ALL";
	case DIALECT_INTAKE:
		return strcmp(d->name, "pause") == 0 ? "PAUSE" : "RESUME";
	case DIALECT_CHECKPOINT:
		return "CHECKPOINT";
	default:
		return d->tag;
	}
}

bool utility_answer(struct backend *backend)
{
	struct query *q = &backend->query;
	const struct dialect *d = &q->statement->dialect;
	bool fine = true;
	if (q->describe_due && d->kind != DIALECT_SHOW)
		wire_empty(&backend->output.wire, 'n');
	q->describe_due = false;
	if (d->kind == DIALECT_SET)
		fine = set(backend, d);
	else if (d->kind == DIALECT_SHOW)
		fine = show(backend, q->statement);
	else if (d->kind == DIALECT_RESET)
		fine = reset(backend, d);
	else if (d->kind == DIALECT_DISCARD)
		fine = discard(backend, d);
	else if (d->kind == DIALECT_PREPARE)
		fine = prepare_sql_prepare(backend, d);
	else if (d->kind == DIALECT_DEALLOCATE)
		fine = prepare_sql_deallocate(backend, d);
	else if (d->kind == DIALECT_INTAKE)
		fine = set_paused(backend, d);
	else if (d->kind == DIALECT_CHECKPOINT)
		fine = checkpoint(backend);
	if (!fine)
		return false;
	if (q->portal)
		rows_keep(backend, tag_of(d), d->kind == DIALECT_SHOW);
	if (q->portal && d->kind == DIALECT_SHOW)
		rows_continue(backend);
	else
		wire_complete(&backend->output.wire, tag_of(d));
	return true;
}
