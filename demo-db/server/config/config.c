/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the reading and checking of what an operator wrote.
 */
#include "demo-db/server/config/config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ini.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct entry {
	const char *section, *name;
	enum config_kind kind;
	size_t offset;
	uint64_t value, least, most;
	const char *text, *what;
};

#define LINE_MAX_BYTES (INI_MAX_LINE - 1) /* inih cuts a longer one without a word */

#define NUMBER_COUNT(value)  value
#define NUMBER_SWITCH(value) value
#define NUMBER_TEXT(value)   0
#define STRING_COUNT(value)  NULL
#define STRING_SWITCH(value) NULL
#define STRING_TEXT(value)   value

static const struct entry entries[] = {
#define X(section, name, kind, value, least, most, what)                                           \
	{ #section, #name, CONFIG_##kind, offsetof(struct config, name), NUMBER_##kind(value),     \
		least, most, STRING_##kind(value), what },
	CONFIG(X)
#undef X
};
#define ENTRIES (sizeof entries / sizeof *entries)

static void *field(const struct config *config, const struct entry *entry)
{
	return (char *)config + entry->offset;
}

void config_init(struct config *config)
{
	memset(config, 0, sizeof *config);
	for (size_t i = 0; i < ENTRIES; i++) {
		if (entries[i].kind == CONFIG_TEXT)
			snprintf(
				field(config, &entries[i]), CONFIG_TEXT_MAX, "%s", entries[i].text);
		else
			*(uint64_t *)field(config, &entries[i]) = entries[i].value;
	}
}

static int complain(char *message, const char *format, const char *what, const char *value)
{
	snprintf(message, CONFIG_MESSAGE_MAX, format, what, value);
	return -1;
}

static void append(char *message, const char *separator, const char *text)
{
	size_t used = strlen(message);
	snprintf(message + used, CONFIG_MESSAGE_MAX - used, "%s%s", separator, text);
}

/* ---- Settings -------------------------------------------------------------------------------- */

static int set_count(uint64_t *to, const struct entry *entry, const char *value, char *message)
{
	char *end;
	errno = 0;
	unsigned long long number = strtoull(value, &end, 10);
	if (value[0] < '0' || value[0] > '9' || *end || errno || number < entry->least ||
		number > entry->most) {
		snprintf(message, CONFIG_MESSAGE_MAX, "%s is %.60s, but must be %llu to %llu",
			entry->name, value, (unsigned long long)entry->least,
			(unsigned long long)entry->most);
		return -1;
	}
	*to = number;
	return 0;
}

static int set_switch(uint64_t *to, const struct entry *entry, const char *value, char *message)
{
	bool on = strcasecmp(value, "on") == 0 || strcmp(value, "1") == 0;
	if (!on && strcasecmp(value, "off") != 0 && strcmp(value, "0") != 0)
		return complain(message, "%s is %.60s, but must be on or off", entry->name, value);
	*to = on;
	return 0;
}

static int set_text(char *to, const struct entry *entry, const char *value, char *message)
{
	if (strlen(value) >= CONFIG_TEXT_MAX)
		return complain(message, "%s is %.60s…, but must be shorter than 256 bytes",
			entry->name, value);
	strcpy(to, value);
	return 0;
}

static int set_entry(
	struct config *config, const struct entry *entry, const char *value, char *message)
{
	void *to = field(config, entry);
	switch (entry->kind) {
	case CONFIG_COUNT:
		return set_count(to, entry, value, message);
	case CONFIG_SWITCH:
		return set_switch(to, entry, value, message);
	case CONFIG_TEXT:
		break;
	}
	return set_text(to, entry, value, message);
}

/* ---- Lists ----------------------------------------------------------------------------------- */

/* The name of a new entry of a list; NULL: too long, or the list is full. */
static int take_name(char *to, uint32_t count, const char *name, char *message)
{
	if (!*name || strlen(name) >= CONFIG_NAME_MAX)
		return complain(message, "the name %.60s%s is empty or too long", name, "");
	if (count == CONFIG_LISTS_MAX)
		return complain(message, "too many entries: %.60s%s", name, "");
	strcpy(to, name);
	return 0;
}

static int add_user(struct config *config, const char *name, const char *value, char *message)
{
	struct config_user *user = &config->users[config->user_count];
	if (take_name(user->name, config->user_count, name, message))
		return -1;
	if (scram_verifier_parse(value, &user->verifier))
		return complain(message,
			"user %s: not a SCRAM-SHA-256 verifier (demo-db password %s makes one)",
			name, name);
	config->user_count++;
	return 0;
}

static int refuse_priority(const char *name, const char *value, bool may_raise, char *message)
{
	complain(message, "%.60s: \"%.60s\" is no business priority, but must be one of", name,
		value);
	for (unsigned i = 0; i <= PRIORITY_AUTO; i++)
		append(message, i ? ", " : " ", priority_name((enum priority)i));
	if (may_raise)
		append(message, ", ", "and \"raise\" may follow");
	return -1;
}

static int add_role(struct config_role *roles, uint32_t *count, const char *name, const char *value,
	bool may_raise, char *message)
{
	struct config_role *role = &roles[*count < CONFIG_LISTS_MAX ? *count : 0];
	char word[CONFIG_NAME_MAX];
	if (*count == CONFIG_LISTS_MAX || take_name(role->name, *count, name, message))
		return complain(
			message, "too many roles or programs, or a bad name: %s%s", name, "");
	size_t bytes = strcspn(value, " \t");
	snprintf(word, sizeof word, "%.*s", (int)(bytes < 40 ? bytes : 40), value);
	const char *rest = value + bytes + strspn(value + bytes, " \t");
	role->priority = priority_find(word);
	role->raise = strcmp(rest, "raise") == 0;
	if (role->priority > PRIORITY_AUTO || (*rest && !(may_raise && role->raise)))
		return refuse_priority(name, value, may_raise, message);
	(*count)++;
	return 0;
}

static int add_option(struct config *config, const char *name, const char *value, char *message)
{
	struct config_option *option = &config->cancel[config->cancel_count];
	if (take_name(option->name, config->cancel_count, name, message))
		return -1;
	if (strlen(value) >= sizeof option->value)
		return complain(message, "%s is too long%s", name, "");
	strcpy(option->value, value);
	config->cancel_count++;
	return 0;
}

static int refuse_section(const char *section, char *message)
{
	const char *last = "";
	complain(message, "there is no section %.60s, but %s", section,
		"users, roles, programs, cancel");
	for (size_t i = 0; i < ENTRIES; i++) {
		if (strcmp(entries[i].section, last) != 0)
			append(message, ", ", entries[i].section);
		last = entries[i].section;
	}
	return -1;
}

/* Names what there is instead. */
static int refuse_name(const char *section, const char *name, char *message)
{
	bool known = false;
	complain(message, "there is no setting %.60s.%.60s", section, name);
	for (size_t i = 0; i < ENTRIES; i++) {
		if (strcmp(entries[i].section, section) != 0)
			continue;
		append(message, known ? ", " : ", but ", entries[i].name);
		known = true;
	}
	return known ? -1 : refuse_section(section, message);
}

int config_set(struct config *config, const char *section, const char *name, const char *value,
	char message[CONFIG_MESSAGE_MAX])
{
	for (size_t i = 0; i < ENTRIES; i++)
		if (strcmp(entries[i].section, section) == 0 && strcmp(entries[i].name, name) == 0)
			return set_entry(config, &entries[i], value, message);
	if (strcmp(section, "users") == 0)
		return add_user(config, name, value, message);
	if (strcmp(section, "roles") == 0)
		return add_role(config->roles, &config->role_count, name, value, true, message);
	if (strcmp(section, "programs") == 0)
		return add_role(
			config->programs, &config->program_count, name, value, false, message);
	if (strcmp(section, "cancel") == 0)
		return add_option(config, name, value, message);
	return refuse_name(section, name, message);
}

/* ---- The file -------------------------------------------------------------------------------- */

struct reading {
	struct config *config;
	char *message;
};

static int on_line(void *user, const char *section, const char *name, const char *value)
{
	struct reading *reading = user;
	return config_set(reading->config, section, name, value, reading->message) == 0;
}

/* The first line the parser would cut short, 0: none. Sets errno when the file cannot be read. */
static int find_long_line(FILE *file)
{
	int line = 1, byte;
	size_t bytes = 0;
	errno = 0;
	while ((byte = getc(file)) != EOF && bytes < LINE_MAX_BYTES) {
		bytes = byte == '\n' ? 0 : bytes + 1;
		line += byte == '\n';
	}
	rewind(file);
	return bytes < LINE_MAX_BYTES ? 0 : line;
}

static int parse_file(FILE *file, struct reading *reading)
{
	int line = find_long_line(file);
	if (errno)
		return -1;
	if (line) {
		snprintf(reading->message, CONFIG_MESSAGE_MAX, "longer than %d bytes",
			LINE_MAX_BYTES - 1);
		return line;
	}
	return ini_parse_file(file, on_line, reading);
}

int config_read(struct config *config, const char *path, char message[CONFIG_MESSAGE_MAX])
{
	char why[CONFIG_MESSAGE_MAX] = "not of the form name = value";
	struct reading reading = { .config = config, .message = why };
	FILE *file = fopen(path, "r");
	int line = file ? parse_file(file, &reading) : -1;
	if (line < 0)
		complain(message, "cannot read %.150s: %.80s", path, strerror(errno));
	if (file)
		fclose(file);
	if (line <= 0)
		return line;
	snprintf(message, CONFIG_MESSAGE_MAX, "%.100s:%d: %.500s", path, line, why);
	return -1;
}

bool config_is_open(const struct config *config)
{
	struct in_addr v4;
	struct in6_addr v6;
	if (!config->listen[0] || strcmp(config->listen, "none") == 0 ||
		strcmp(config->listen, "localhost") == 0)
		return false;
	if (inet_pton(AF_INET, config->listen, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 != 127;
	return inet_pton(AF_INET6, config->listen, &v6) != 1 ||
	       memcmp(&v6, &in6addr_loopback, sizeof v6) != 0;
}

int config_check(const struct config *config, char message[CONFIG_MESSAGE_MAX])
{
	if (config_is_open(config) && config->user_count == 0)
		return complain(message,
			"listening on %s needs passwords: give users in the configuration%s",
			config->listen, "");
	if (config->statement_mb > config->budget_mb)
		return complain(
			message, "memory.statement_mb is over memory.budget_mb%s%s", "", "");
	if (config->soft_kb > config->hard_mb * 1024)
		return complain(message, "output.soft_kb is over output.hard_mb%s%s", "", "");
	return 0;
}

const struct config_user *config_find_user(const struct config *config, const char *name)
{
	for (uint32_t i = 0; i < config->user_count; i++)
		if (strcmp(config->users[i].name, name) == 0)
			return &config->users[i];
	return NULL;
}

static const struct config_role *find_role(
	const struct config_role *roles, uint32_t count, const char *name)
{
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(roles[i].name, name) == 0)
			return &roles[i];
	return NULL;
}

const struct config_role *config_find_role(const struct config *config, const char *name)
{
	return find_role(config->roles, config->role_count, name);
}

const struct config_role *config_find_program(const struct config *config, const char *name)
{
	return find_role(config->programs, config->program_count, name);
}

bool config_show(const struct config *config, uint32_t index, const char **section,
	const char **name, char value[CONFIG_TEXT_MAX], const char **what)
{
	if (index >= ENTRIES)
		return false;
	const struct entry *entry = &entries[index];
	*section = entry->section;
	*name = entry->name;
	*what = entry->what;
	if (entry->kind == CONFIG_TEXT)
		snprintf(value, CONFIG_TEXT_MAX, "%s", (char *)field(config, entry));
	else if (entry->kind == CONFIG_SWITCH)
		strcpy(value, *(uint64_t *)field(config, entry) ? "on" : "off");
	else
		snprintf(value, CONFIG_TEXT_MAX, "%llu",
			(unsigned long long)*(uint64_t *)field(config, entry));
	return true;
}
