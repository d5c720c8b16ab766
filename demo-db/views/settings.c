/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.c - cancel_settings: libcancel's options and the server's settings; UPDATE changes those
 * that can change, after a check.
 */
#include "demo-db/server/session/services.h"
#include "demo-db/views/view.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <cancel/observe.h>

#define SPARE_VICTIMS "admission.spare_victims"

static void put(
	struct view_rows *rows, const char *name, const char *value, bool changes, const char *what)
{
	view_text(rows, name);
	view_text(rows, value);
	view_bool(rows, changes);
	view_text(rows, what);
}

static void fill_settings(struct services *services, struct view_rows *rows)
{
	const char *name, *section, *what;
	char value[CONFIG_TEXT_MAX], full[CONFIG_NAME_MAX * 2];
	bool writable;
	_Static_assert(CONFIG_TEXT_MAX >= CANCEL_TEXT_MAX, "one buffer for both");
	for (uint32_t i = 0; cancel_option(i, &name, value, &writable) == 0; i++)
		put(rows, name, value, writable, "of libcancel");
	for (uint32_t i = 0; config_show(&services->config, i, &section, &name, value, &what);
		i++) {
		snprintf(full, sizeof full, "%s.%s", section, name);
		bool changes = strcmp(full, SPARE_VICTIMS) == 0;
		if (changes)
			snprintf(value, sizeof value, "%s",
				atomic_load_explicit(&services->admission.gate.spare_victims,
					memory_order_relaxed)
					? "on"
					: "off");
		put(rows, full, value, changes, what);
	}
}

static int set_spare_victims(
	struct services *services, const char *value, char *message, size_t bytes)
{
	bool on = strcasecmp(value, "on") == 0;
	if (!on && strcasecmp(value, "off") != 0) {
		snprintf(message, bytes, "invalid value for \"%s\": \"%.80s\", must be on or off",
			SPARE_VICTIMS, value);
		return -1;
	}
	atomic_store_explicit(&services->admission.gate.spare_victims, on, memory_order_relaxed);
	return 0;
}

static int update_setting(
	struct services *services, const char *key, const char *value, char *message, size_t bytes)
{
	if (strcmp(key, SPARE_VICTIMS) == 0)
		return set_spare_victims(services, value, message, bytes);
	char choices[CANCEL_TEXT_MAX];
	int status = cancel_set_option(key, value);
	if (status == CANCEL_ESTATE || strchr(key, '.'))
		snprintf(message, bytes, "\"%.60s\" is fixed when the server starts", key);
	else if (status && cancel_option_choices(key, choices) == 0)
		snprintf(message, bytes, "invalid value for \"%.60s\": \"%.80s\", must be %s", key,
			value, choices);
	else if (status)
		snprintf(message, bytes, "there is no setting \"%.60s\"", key);
	return status ? -1 : 0;
}

const struct view view_settings = { .name = "cancel_settings",
	.columns = "name TEXT, value TEXT, changes BOOL, what TEXT",
	.fill = fill_settings,
	.update = update_setting };
