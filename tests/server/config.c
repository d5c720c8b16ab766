/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator writes is taken whole or refused with its line. */
#include "demo-db/server/config/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define VERIFIER                                                                                   \
	"SCRAM-SHA-256$4096:AAECAwQFBgcICQoLDA0ODw==$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" \
	":AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

static struct config config;
static char message[CONFIG_MESSAGE_MAX];

static int read_text(const char *text)
{
	char path[] = "/tmp/demo-config-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	config_init(&config);
	int status = config_read(&config, path, message);
	unlink(path);
	return status;
}

static void assert_refused(const char *text, const char *why)
{
	assert_int_equal(read_text(text), -1);
	if (!strstr(message, why))
		fail_msg("\"%s\" does not say \"%s\"", message, why);
}

static void a_file_sets_what_it_names(void **state)
{
	(void)state;
	assert_int_equal(read_text("[server]\nport = 6000 ; a comment\nlisten = ::1\n"
				   "[admission]\ngate = off\n[cancel]\nmode = act\n"
				   "[users]\nann = " VERIFIER "\n"
				   "[roles]\nann = system raise\nbob = analytical\n"
				   "[programs]\nreport = analytical\n"),
		0);
	assert_int_equal(config.port, 6000);
	assert_string_equal(config.listen, "::1");
	assert_int_equal(config.gate, 0);
	assert_int_equal(config.workers, 8);
	assert_string_equal(config.cancel[0].value, "act");
	assert_non_null(config_find_user(&config, "ann"));
	assert_null(config_find_user(&config, "bob"));
	assert_true(config_find_role(&config, "ann")->raise);
	assert_int_equal(config_find_role(&config, "bob")->priority, PRIORITY_ANALYTICAL);
	assert_int_equal(config_find_program(&config, "report")->priority, PRIORITY_ANALYTICAL);
}

static void mistakes_are_told_with_their_line(void **state)
{
	(void)state;
	assert_refused("[server]\nport = 0\n", ":2: port is 0, but must be 1 to 65535");
	assert_refused("[server]\nport = 6000x\n", "6000x");
	assert_refused("[server]\n\nworkers = -1\n", ":3:");
	assert_refused(
		"[server]\nnonsense = 1\n", "no setting server.nonsense, but listen, port, ");
	assert_refused("[servers]\nport = 1\n", "no section servers, but users, roles, programs, "
						"cancel, server, output, admission");
	assert_refused("[admission]\ngate = maybe\n", "gate is maybe, but must be on or off");
	assert_refused("[users]\nann = secret\n", "not a SCRAM-SHA-256 verifier");
	assert_refused("[roles]\nann = highest\n",
		"ann: \"highest\" is no business priority, but must be one of "
		"system, write, read, analytical, auto, and \"raise\"");
	assert_refused("[programs]\nx = read raise\n", "no business priority");
	assert_refused("gibberish\n", ":1:");
	char text[512];
	snprintf(text, sizeof text, "[cancel]\nslo_ms = read=50,%*swrite=100\n", 200, "");
	assert_refused(text, ":2: longer than"); /* the end of it would have been lost */
	config_init(&config);
	assert_int_equal(config_read(&config, "/tmp", message), -1);
	assert_non_null(strstr(message, "cannot read /tmp"));
	assert_int_equal(config_read(&config, "/no/such/file", message), -1);
	assert_non_null(strstr(message, "/no/such/file"));
}

static void an_outside_address_needs_passwords(void **state)
{
	(void)state;
	config_init(&config);
	assert_int_equal(config_check(&config, message), 0);
	assert_int_equal(config_set(&config, "server", "listen", "0.0.0.0", message), 0);
	assert_true(config_is_open(&config));
	assert_int_equal(config_check(&config, message), -1);
	assert_non_null(strstr(message, "0.0.0.0"));
	assert_int_equal(config_set(&config, "users", "ann", VERIFIER, message), 0);
	assert_int_equal(config_check(&config, message), 0);
	assert_int_equal(config_set(&config, "server", "listen", "127.8.0.1", message), 0);
	assert_false(config_is_open(&config));
}

static void every_setting_can_be_shown(void **state)
{
	(void)state;
	const char *section, *name, *what;
	char value[CONFIG_TEXT_MAX];
	uint32_t count = 0;
	config_init(&config);
	while (config_show(&config, count, &section, &name, value, &what)) {
		assert_true(*section && *name && *what);
		if (strcmp(name, "listen") == 0)
			assert_string_equal(value, "127.0.0.1");
		if (strcmp(name, "gate") == 0)
			assert_string_equal(value, "on");
		count++;
	}
	assert_true(count > 20);
}

static void every_setting_is_in_the_docs(void **state)
{
	static char page[65536];
	const char *section, *name, *what;
	char value[CONFIG_TEXT_MAX];
	(void)state;
	FILE *file = fopen(DOCS "/server.md", "r");
	assert_non_null(file);
	page[fread(page, 1, sizeof page - 1, file)] = '\0';
	fclose(file);
	config_init(&config);
	for (uint32_t i = 0; config_show(&config, i, &section, &name, value, &what); i++)
		if (!strstr(page, name))
			fail_msg("docs/server.md does not know %s.%s", section, name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_sets_what_it_names),
		cmocka_unit_test(mistakes_are_told_with_their_line),
		cmocka_unit_test(an_outside_address_needs_passwords),
		cmocka_unit_test(every_setting_can_be_shown),
		cmocka_unit_test(every_setting_is_in_the_docs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
