/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how a session's settings and the words of a BEGIN go together. It must not run anything. */
#include "demo-db/server/session/begin_options.h"
#include "demo-db/server/session/backend.h"
#include "demo-db/server/session/services.h"

#include <string.h>

const char *begin_text(const struct backend *backend, const struct dialect *begin)
{
	static const char *const forms[] = { "BEGIN", "BEGIN READ ONLY",
		"BEGIN ISOLATION LEVEL REPEATABLE READ",
		"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" };
	const struct settings *settings = &backend->settings;
	const char *level = settings_get(settings, SETTING_default_transaction_isolation);
	bool snapshot = strncmp(level, "repeatable", 6) == 0 || strncmp(level, "serial", 6) == 0;
	bool read_only = settings_on(settings, SETTING_default_transaction_read_only);
	if (begin && begin->level)
		snapshot = begin->repeatable_read || begin->serializable;
	if (begin && (begin->read_only || begin->read_write))
		read_only = begin->read_only;
	return forms[read_only + 2 * snapshot];
}

void begin_tell(struct backend *backend, const struct dialect *begin, const char *sql)
{
	const char *level = strstr(sql, "REPEATABLE") ? "repeatable read" : "read committed";
	settings_tell(&backend->settings, SETTING_transaction_isolation,
		begin->serializable ? "serializable" : level);
	settings_tell(&backend->settings, SETTING_transaction_read_only,
		strstr(sql, "READ ONLY") ? "on" : "off");
}
