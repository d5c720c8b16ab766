/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the start of libcancel: a class of tasks for each business priority, and the options of the
 * configuration's [cancel] section. The environment's CANCEL_… variables win over the file.
 */
#include "demo-db/server/runtime.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cancel/observe.h>

static bool started;

/* What the library says while it starts waits until its options are checked: one that it does not
 * take is an error of ours, in one line. */
static struct {
	pthread_mutex_t lock;
	bool keeping;
	char kept[8 * CANCEL_TEXT_MAX];
	size_t bytes;
} said = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void on_line(void *arg, const char *line)
{
	(void)arg;
	pthread_mutex_lock(&said.lock);
	size_t room = sizeof said.kept - said.bytes;
	int bytes = said.keeping ? snprintf(said.kept + said.bytes, room, "libcancel: %s\n", line)
				 : fprintf(stderr, "libcancel: %s\n", line);
	if (said.keeping && bytes > 0)
		said.bytes += (size_t)bytes < room ? (size_t)bytes : room - 1;
	pthread_mutex_unlock(&said.lock);
}

static void keep_lines(void)
{
	pthread_mutex_lock(&said.lock);
	said.keeping = true;
	said.bytes = 0;
	pthread_mutex_unlock(&said.lock);
}

static void let_go_of_lines(void)
{
	pthread_mutex_lock(&said.lock);
	if (said.bytes)
		fputs(said.kept, stderr);
	said.keeping = false;
	pthread_mutex_unlock(&said.lock);
}

/* CANCEL_NAME of an option. */
static void variable_of(const char *name, char *variable, size_t bytes)
{
	size_t at = (size_t)snprintf(variable, bytes, "CANCEL_");
	for (; *name && at + 1 < bytes; name++)
		variable[at++] = (char)toupper((unsigned char)*name);
	variable[at] = '\0';
}

/* Options can be fixed at start, so they go in by the environment. Returns which were there before:
 * bit i for option i. */
static uint64_t lend_environment(const struct config *config)
{
	uint64_t own = 0;
	char variable[CONFIG_NAME_MAX + 8];
	for (uint32_t i = 0; i < config->cancel_count; i++) {
		variable_of(config->cancel[i].name, variable, sizeof variable);
		if (getenv(variable))
			own |= (uint64_t)1 << i;
		else
			setenv(variable, config->cancel[i].value, 0);
	}
	return own;
}

/* Did the library take it? */
static bool is_in_force(const struct config_option *option)
{
	const char *name;
	char value[CANCEL_TEXT_MAX];
	bool writable;
	for (uint32_t i = 0; cancel_option(i, &name, value, &writable) == 0; i++)
		if (strcmp(name, option->name) == 0)
			return writable ? cancel_set_option(name, option->value) == 0
					: strcmp(value, option->value) == 0;
	return false;
}

static void refuse_option(const struct config_option *option, char message[CONFIG_MESSAGE_MAX])
{
	char choices[CANCEL_TEXT_MAX];
	if (cancel_option_choices(option->name, choices))
		snprintf(message, CONFIG_MESSAGE_MAX,
			"cancel.%s = %.100s: libcancel has no option of this name", option->name,
			option->value);
	else
		snprintf(message, CONFIG_MESSAGE_MAX, "cancel.%s is %.100s, but must be %s",
			option->name, option->value, choices);
}

static int check_options(
	const struct config *config, uint64_t own, char message[CONFIG_MESSAGE_MAX])
{
	for (uint32_t i = 0; i < config->cancel_count; i++) {
		const struct config_option *option = &config->cancel[i];
		if ((own >> i & 1) || is_in_force(option))
			continue;
		refuse_option(option, message);
		return -1;
	}
	return 0;
}

static void forget_environment(const struct config *config, uint64_t own)
{
	char variable[CONFIG_NAME_MAX + 8];
	for (uint32_t i = 0; i < config->cancel_count; i++) {
		variable_of(config->cancel[i].name, variable, sizeof variable);
		if (!(own >> i & 1))
			unsetenv(variable);
	}
}

int runtime_start(const struct config *config, char message[CONFIG_MESSAGE_MAX])
{
	_Static_assert(CONFIG_LISTS_MAX <= 64, "a bit for each option");
	struct cancel_class classes[PRIORITY_LEVELS];
	for (unsigned i = 0; i < PRIORITY_LEVELS; i++)
		classes[i] = (struct cancel_class){ .name = priority_name((enum priority)i),
			.exempt = i == PRIORITY_SYSTEM,
			.by_name = i == PRIORITY_ANALYTICAL };
	/* a task for each session in a transaction, and one for each statement at work */
	uint64_t tasks = config->connections + config->reserved + config->workers + 256;
	const struct cancel_config options = { .struct_size = sizeof options,
		.classes = classes,
		.class_count = PRIORITY_LEVELS,
		.log = on_line,
		.max_tasks = (uint32_t)(tasks < 4096 ? 4096 : tasks) };
	uint64_t own = lend_environment(config);
	keep_lines();
	int status = cancel_start(&options);
	forget_environment(config, own);
	if (status) {
		let_go_of_lines();
		snprintf(message, CONFIG_MESSAGE_MAX, "cannot start libcancel: %s",
			cancel_error_text(status));
		return -1;
	}
	started = true;
	status = check_options(config, own, message);
	if (status == 0) /* else they stay kept to the end, which is near */
		let_go_of_lines();
	return status;
}

void runtime_stop(void)
{
	if (started)
		cancel_stop();
	started = false;
}
