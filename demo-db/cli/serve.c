/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.c - `demo-db serve`: options over the configuration file, signals, the wait for the end.
 *
 * SIGTERM, SIGINT and SIGHUP drain; a second one ends what is left at once.
 */
#include "demo-db/cli/commands.h"
#include "demo-db/server/server.h"
#include "demo-db/views/view.h"

#include <argp.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *section, *setting, *value, *what;
} named[] = {
	/* options that are settings of the file, too */
	{ "listen", "server", "listen", "ADDR", "address to listen on, or none [127.0.0.1]" },
	{ "port", "server", "port", "N", "TCP port, and the suffix of the socket [5433]" },
	{ "socket-dir", "server", "socket_dir", "DIR",
		"folder of the Unix socket [the data folder]" },
	{ "workers", "server", "workers", "N", "statements that run at once [8]" },
	{ "pool-mb", "server", "pool_mb", "N", "page pool [64]" },
	{ "connections", "server", "connections", "N", "sessions at once [256]" },
	{ "service-ms", "server", "service_ms", "N",
		"pin capacity: each SELECT keeps its worker so long [0]" },
	{ "metrics-port", "metrics", "metrics_port", "N",
		"http://127.0.0.1:N/metrics and /healthz [none]" },
};
#define NAMED (sizeof named / sizeof *named)

enum { KEY_CONFIG = 256, KEY_SET, KEY_NAMED };

struct arguments {
	struct config config;
	const char *data, *file;
	const char *values[NAMED];
	const char *sets[CONFIG_LISTS_MAX];
	size_t set_count;
};

static error_t parse(int key, char *value, struct argp_state *state)
{
	struct arguments *a = state->input;
	if (key >= KEY_NAMED && key < KEY_NAMED + (int)NAMED) {
		a->values[key - KEY_NAMED] = value;
		return 0;
	}
	switch (key) {
	case 'D':
		a->data = value;
		return 0;
	case KEY_CONFIG:
		a->file = value;
		return 0;
	case KEY_SET:
		if (a->set_count == CONFIG_LISTS_MAX)
			argp_error(state, "too many --set");
		a->sets[a->set_count++] = value;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument %s", value);
		return 0;
	case ARGP_KEY_END:
		if (!a->data)
			argp_error(state, "--data is missing");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* SECTION.NAME=VALUE */
static int apply_set(struct config *config, const char *text, char *message)
{
	char section[CONFIG_NAME_MAX], name[CONFIG_NAME_MAX];
	const char *dot = strchr(text, '.'), *equals = strchr(text, '=');
	if (!dot || !equals || dot > equals || (size_t)(dot - text) >= sizeof section ||
		(size_t)(equals - dot - 1) >= sizeof name) {
		snprintf(message, CONFIG_MESSAGE_MAX, "--set %.100s: not SECTION.NAME=VALUE", text);
		return -1;
	}
	snprintf(section, sizeof section, "%.*s", (int)(dot - text), text);
	snprintf(name, sizeof name, "%.*s", (int)(equals - dot - 1), dot + 1);
	return config_set(config, section, name, equals + 1, message);
}

/* The file first, then what the command line says. */
static int read_all(struct arguments *a, char *message)
{
	struct config *config = &a->config;
	config_init(config);
	if (a->file && config_read(config, a->file, message))
		return -1;
	for (size_t i = 0; i < NAMED; i++)
		if (a->values[i] && config_set(config, named[i].section, named[i].setting,
					    a->values[i], message))
			return -1;
	for (size_t i = 0; i < a->set_count; i++)
		if (apply_set(config, a->sets[i], message))
			return -1;
	if (strlen(a->data) >= sizeof config->data_dir) {
		snprintf(message, CONFIG_MESSAGE_MAX, "the data folder's name is too long");
		return -1;
	}
	strcpy(config->data_dir, a->data);
	return config_check(config, message);
}

#define SIGNAL_DRAINED SIGUSR1 /* to the thread that waits for a second signal */

static void wait_for(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGHUP); /* its terminal is gone */
	sigaddset(signals, SIGNAL_DRAINED);
}

/* A second signal while the server drains. */
static void *hurry(void *arg)
{
	sigset_t signals;
	int signal;
	wait_for(&signals);
	sigwait(&signals, &signal);
	if (signal == SIGNAL_DRAINED)
		return NULL;
	fprintf(stderr, "demo-db: ending at once\n");
	server_force(arg);
	return NULL;
}

static void end(struct server *server)
{
	pthread_t thread;
	bool waiting = pthread_create(&thread, NULL, hurry, server) == 0;
	server_drain(server);
	if (waiting) {
		pthread_kill(thread, SIGNAL_DRAINED);
		pthread_join(thread, NULL);
	}
	server_stop(server);
}

static void say_ready(const struct config *config)
{
	char where[CONFIG_TEXT_MAX + 32] = "";
	const char *dir = config->socket_dir[0] ? config->socket_dir : config->data_dir;
	if (config->listen[0] && strcmp(config->listen, "none") != 0)
		snprintf(where, sizeof where, " and %s port %u", config->listen,
			(unsigned)config->port);
	fprintf(stderr, "demo-db: ready on %s/.s.PGSQL.%u%s\n", dir, (unsigned)config->port, where);
}

/* glibc takes larger and larger blocks from its heaps once it has seen one of the size freed, and
 * what a client's megabytes leave there is not given back. */
static void keep_heaps_small(void)
{
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	mallopt(M_TRIM_THRESHOLD, 8 << 20);
}

static int serve(const struct config *config)
{
	const struct server_views views = { views_install, views_are_guarded };
	char message[CONFIG_MESSAGE_MAX];
	struct server *server;
	sigset_t signals;
	int signal;
	wait_for(&signals);
	pthread_sigmask(SIG_BLOCK, &signals, NULL); /* before any thread: they inherit it */
	keep_heaps_small();
	if (server_start(&server, config, &views, message)) {
		fprintf(stderr, "demo-db serve: %s\n", message);
		return EXIT_USAGE;
	}
	say_ready(config);
	do
		sigwait(&signals, &signal);
	while (signal == SIGNAL_DRAINED);
	fprintf(stderr, "demo-db: draining\n");
	end(server);
	return 0;
}

int command_serve(int argc, char **argv)
{
	struct argp_option options[NAMED + 4] = {
		{ "data", 'D', "DIR", 0, "data folder, made if missing (required)", 0 },
		{ "config", KEY_CONFIG, "FILE", 0, "settings, users and roles; see docs/server.md",
			0 },
		{ "set", KEY_SET, "SECTION.NAME=VALUE", 0, "any setting of the file", 0 },
	};
	for (size_t i = 0; i < NAMED; i++)
		options[3 + i] = (struct argp_option){ named[i].name, KEY_NAMED + (int)i,
			named[i].value, 0, named[i].what, 0 };
	const struct argp argp = { .options = options,
		.parser = parse,
		.doc = "Serves a data folder to PostgreSQL clients: over a Unix socket and on "
		       "loopback "
		       "without passwords, on another address only with them.\v"
		       "SIGTERM drains: sessions end when their transaction does. A second one "
		       "ends "
		       "them at once. CANCEL_… variables set libcancel's options "
		       "(docs/operations.md)." };
	static struct arguments arguments; /* users and roles make it large */
	char message[CONFIG_MESSAGE_MAX];
	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	if (read_all(&arguments, message)) {
		fprintf(stderr, "demo-db serve: %s\n", message);
		return EXIT_USAGE;
	}
	return serve(&arguments.config);
}
