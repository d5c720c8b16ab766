/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the phases before a session: startup packet, SCRAM exchange, the greeting. Clients of the
 * Unix socket and of loopback are trusted; others prove a password.
 */
#include "demo-db/server/session/startup.h"
#include "demo-db/server/session/clients.h"
#include "demo-db/server/session/services.h"
#include "common/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROTOCOL_MAJOR	3
#define AUTH_OK		0
#define AUTH_SASL	10
#define AUTH_SASL_NEXT	11
#define AUTH_SASL_FINAL 12

static void put_auth(struct wire_out *out, uint32_t code, const char *data, size_t bytes)
{
	wire_begin(out, 'R');
	wire_put32(out, code);
	wire_put_bytes(out, data, bytes);
	wire_end(out);
}

/* ---- The session ----------------------------------------------------------------------------- */

static int open_session(struct client *client)
{
	const struct config *config = &client->backend.services->config;
	const struct db_session_options options = { .struct_size = sizeof options,
		.task_unit = config->judge_sessions ? DB_TASK_SESSION : DB_TASK_TRANSACTION,
		.key = client->backend.process,
		.class_index = PRIORITY_READ };
	struct db_session *session;
	int rc = db_session_open(client->backend.services->engine, &options, &session);
	if (rc)
		client_fatal(client, db_error_sqlstate(rc), db_error_text(rc));
	else
		clients_open_session(client->backend.services->clients, client, session);
	return rc;
}

static void greet(struct client *client)
{
	struct wire_out *out = &client->backend.output.wire;
	put_auth(out, AUTH_OK, NULL, 0);
	settings_report(&client->backend.settings, out);
	wire_begin(out, 'K');
	wire_put32(out, client->backend.process);
	wire_put32(out, client->secret);
	wire_end(out);
	wire_ready(out, 'I');
}

static void begin_session(struct client *client)
{
	struct settings *settings = &client->backend.settings;
	client->backend.role =
		config_find_role(&client->backend.services->config, client->backend.user);
	client->backend.user_hash = hash_text(client->backend.user);
	if (*settings_get(settings, SETTING_cancel_user) &&
		!backend_speaks_for_others(&client->backend)) {
		client_fatal(client, "42501", "permission denied to set parameter \"cancel.user\"");
		return;
	}
	if (!clients_admit_session(client->backend.services, client)) {
		client_fatal(client, "53300", "sorry, too many clients already");
		return;
	}
	if (open_session(client))
		return;
	settings_tell(settings, SETTING_session_authorization, client->backend.user);
	settings_tell(settings, SETTING_is_superuser,
		client->backend.role && client->backend.role->raise ? "on" : "off");
	client->state = CLIENT_READY;
	timer_set(&client->backend.timer, TIMER_NOTHING, 0, 0);
	greet(client);
}

/* ---- Passwords ------------------------------------------------------------------------------- */

static void ask_password(struct client *client)
{
	static const char mechanisms[] = SCRAM_MECHANISM "\0";
	const struct services *services = client->backend.services;
	const struct config_user *user = config_find_user(&services->config, client->backend.user);
	client->scram = calloc(1, sizeof *client->scram);
	/* for users there are, too: the time it takes tells nothing */
	int status = client->scram ? scram_verifier_make_up(&client->scram->verifier,
					     client->backend.user, services->scram_secret)
				   : -1;
	if (status == 0 && user)
		client->scram->verifier = user->verifier;
	if (status) {
		client_fatal(client, "53200", "out of memory");
		return;
	}
	put_auth(&client->backend.output.wire, AUTH_SASL, mechanisms, sizeof mechanisms);
	client->state = CLIENT_PASSWORD;
}

static void refuse_password(struct client *client)
{
	char message[128];
	snprintf(message, sizeof message, "password authentication failed for user \"%s\"",
		client->backend.user);
	client_fatal(client, "28P01", message);
}

/* SASLInitialResponse: the mechanism's name, a length, the client's first message. */
static void first_message(struct client *client, const uint8_t *data, size_t bytes)
{
	const uint8_t *nul = memchr(data, 0, bytes);
	size_t head = nul ? (size_t)(nul - data) + 5 : 0;
	if (!nul || head > bytes || strcmp((const char *)data, SCRAM_MECHANISM) != 0 ||
		scram_first(client->scram, (const char *)data + head, bytes - head, NULL)) {
		client_fatal(client, "08P01", "malformed SASL response");
		return;
	}
	const char *reply = client->scram->server_first;
	put_auth(&client->backend.output.wire, AUTH_SASL_NEXT, reply, strlen(reply));
	client->state = CLIENT_PROOF;
}

static void last_message(struct client *client, const uint8_t *data, size_t bytes)
{
	char reply[SCRAM_MESSAGE_MAX];
	if (scram_final(client->scram, (const char *)data, bytes, reply)) {
		refuse_password(client);
		return;
	}
	put_auth(&client->backend.output.wire, AUTH_SASL_FINAL, reply, strlen(reply));
	free(client->scram);
	client->scram = NULL;
	begin_session(client);
}

/* ---- The startup packet ---------------------------------------------------------------------- */

/* Settings ride along by name; "options" (-c name=value) too. */
static int take_setting(struct client *client, const char *name, const char *value)
{
	struct settings_error error;
	if (strcmp(name, "user") == 0 || strcmp(name, "database") == 0 ||
		strcmp(name, "replication") == 0 || strncmp(name, "_pq_.", 5) == 0)
		return 0;
	if (settings_start(&client->backend.settings, name, value, &error) == 0)
		return 0;
	client_fatal(client, error.sqlstate, error.message);
	return -1;
}

static int take_options(struct client *client, const char *options)
{
	char word[SETTINGS_VALUE_MAX];
	int used;
	while (sscanf(options, " %255s%n", word, &used) == 1) {
		char *name = word;
		options += used;
		if (strcmp(word, "-c") == 0) {
			if (sscanf(options, " %255s%n", word, &used) != 1)
				break;
			options += used;
		} else if (strncmp(word, "-c", 2) == 0 || strncmp(word, "--", 2) == 0) {
			name += 2;
		}
		char *value = strchr(name, '=');
		if (!value) {
			client_fatal(client, "22023", "invalid command-line argument in options");
			return -1;
		}
		*value = '\0';
		if (take_setting(client, name, value + 1))
			return -1;
	}
	return 0;
}

static int take_settings(struct client *client, const struct wire_message *message)
{
	for (const char *at = message->startup.pairs; *at;) {
		const char *value = at + strlen(at) + 1;
		int status = strcmp(at, "options") == 0 ? take_options(client, value)
							: take_setting(client, at, value);
		if (status)
			return -1;
		at = value + strlen(value) + 1;
	}
	return 0;
}

static int take_name(struct client *client, char to[CONFIG_NAME_MAX], const char *name)
{
	if (!name || !*name) {
		client_fatal(client, "28000", "no user name was given in the startup packet");
		return -1;
	}
	if (strlen(name) >= CONFIG_NAME_MAX || !wire_utf8_valid(name, strlen(name))) {
		client_fatal(
			client, "42622", "a name in the startup packet is too long or no UTF-8");
		return -1;
	}
	strcpy(to, name);
	return 0;
}

/* A minor version or option of the protocol that is newer: say what is spoken here. */
static void negotiate(struct client *client, const struct wire_message *message)
{
	uint32_t unknown = 0;
	for (const char *at = message->startup.pairs; *at;) {
		const char *value = at + strlen(at) + 1;
		unknown += strncmp(at, "_pq_.", 5) == 0;
		at = value + strlen(value) + 1;
	}
	if ((message->startup.protocol & 0xffff) == 0 && unknown == 0)
		return;
	struct wire_out *out = &client->backend.output.wire;
	wire_begin(out, 'v');
	wire_put32(out, PROTOCOL_MAJOR << 16);
	wire_put32(out, unknown);
	for (const char *at = message->startup.pairs; *at;) {
		if (strncmp(at, "_pq_.", 5) == 0)
			wire_put_text(out, at);
		at += strlen(at) + 1;
		at += strlen(at) + 1;
	}
	wire_end(out);
}

static void start(struct client *client, const struct wire_message *message)
{
	if (message->startup.protocol >> 16 != PROTOCOL_MAJOR) {
		client_fatal(
			client, "0A000", "unsupported frontend protocol: version 3 is spoken here");
		return;
	}
	const char *user = wire_startup_value(message, "user");
	const char *database = wire_startup_value(message, "database");
	if (take_name(client, client->backend.user, user) ||
		take_name(client, client->backend.database,
			database && *database ? database : user) ||
		take_settings(client, message))
		return;
	negotiate(client, message);
	if (client->trusted)
		begin_session(client);
	else
		ask_password(client);
}

static void first_packet(struct client *client, const struct wire_message *message)
{
	switch (message->kind) {
	case WIRE_SSL_REQUEST:
	case WIRE_GSS_REQUEST:
		wire_put8(&client->backend.output.wire, 'N');
		break;
	case WIRE_CANCEL_REQUEST:
		clients_cancel_request(
			client->backend.services, message->cancel.process, message->cancel.secret);
		client->state = CLIENT_LEAVING;
		break;
	default:
		start(client, message);
	}
}

void startup_message(struct client *client, const struct wire_message *message)
{
	if (client->state == CLIENT_STARTUP)
		first_packet(client, message);
	else if (message->kind != WIRE_PASSWORD)
		client_fatal(client, "08P01", "expected a password message");
	else if (client->state == CLIENT_PASSWORD)
		first_message(client, message->body.data, message->body.bytes);
	else
		last_message(client, message->body.data, message->body.bytes);
}
