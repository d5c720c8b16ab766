/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a configuration file: settings within their ranges, or one line that names the file
 * and says what is wrong. What was accepted can be shown, and read again from what is shown.
 */
#include "demo-db/server/config/config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void expect(bool holds)
{
	if (!holds)
		abort();
}

/* A file that only this process has, and its path. */
static int make_file(const uint8_t *data, size_t bytes, char path[64])
{
	int file = memfd_create("configuration", MFD_CLOEXEC);
	expect(file >= 0 && write(file, data, bytes) == (ssize_t)bytes);
	snprintf(path, 64, "/proc/self/fd/%d", file);
	return file;
}

static void show_and_set_again(const struct config *config)
{
	static struct config again;
	const char *section, *name, *what;
	char value[CONFIG_TEXT_MAX], same[CONFIG_TEXT_MAX], message[CONFIG_MESSAGE_MAX];
	config_init(&again);
	for (uint32_t i = 0; config_show(config, i, &section, &name, value, &what); i++) {
		expect(section && name && what && memchr(value, '\0', sizeof(value)));
		expect(config_set(&again, section, name, value, message) == 0);
		expect(config_show(&again, i, &section, &name, same, &what));
		expect(strcmp(value, same) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct config config;
	char path[64], message[CONFIG_MESSAGE_MAX] = "";
	int file = make_file(data, bytes, path);
	config_init(&config);
	int rc = config_read(&config, path, message);
	close(file);
	if (rc) {
		expect(message[0] && !strchr(message, '\n'));
		return 0;
	}
	expect(config.user_count <= CONFIG_LISTS_MAX && config.role_count <= CONFIG_LISTS_MAX &&
		config.program_count <= CONFIG_LISTS_MAX &&
		config.cancel_count <= CONFIG_LISTS_MAX);
	show_and_set_again(&config);
	if (config_check(&config, message))
		expect(message[0] && !strchr(message, '\n'));
	return 0;
}
