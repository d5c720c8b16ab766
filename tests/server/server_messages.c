/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of the extended protocol: sequences of messages, and the server must answer each as
 * PostgreSQL 15 does. The sequences are the .msg files of postgres/; the .answers files beside them
 * were made by postgres/record.sh, which runs this program on a real PostgreSQL.
 *
 * A line of a script is sent in one go, its messages between semicolons:
 *
 *	P NAME SQL [OID …]                              Parse
 *	B PORTAL NAME [VALUE …] [: FORMAT …] [: FORMAT …]   Bind; formats of parameters, of columns
 *	DS NAME  DP PORTAL  CS NAME  CP PORTAL          Describe, Close
 *	E PORTAL [ROWS]                                 Execute
 *	S                                               Sync
 *	H TYPE                                          Flush; the answers up to this type are read
 *	Q SQL                                           Query
 *	q SQL                                           … that gets no answer, not even a Z
 *	X                                               Terminate; what is not sent yet may be lost
 *
 * "-" is the unnamed one, null is NULL, \x00\xff are bytes, double quotes hold a text together.
 * A blank line ends the session.
 */
#include "tests/server/fixture.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define WORD_MAX    1024
#define ANSWERS_MAX 32 /* of a line */

static struct wire_client client;

/* ---- Reading a script ----------------------------------------------------------------------- */

enum word_kind { WORD_BARE, WORD_QUOTED, WORD_NONE };

struct word {
	enum word_kind kind;
	char text[WORD_MAX];
};

/* The next word of a message; none: the message ends here. */
static struct word next_word(const char **at)
{
	struct word word = { .kind = WORD_NONE };
	*at += strspn(*at, " ");
	if (**at == ';' || **at == '\0')
		return word;
	bool quoted = **at == '"';
	*at += quoted;
	word.kind = quoted ? WORD_QUOTED : WORD_BARE;
	size_t bytes = strcspn(*at, quoted ? "\"" : " ;");
	assert_true(bytes < sizeof word.text);
	memcpy(word.text, *at, bytes);
	*at += bytes + quoted;
	return word;
}

static bool is_bare(const struct word *word, const char *text)
{
	return word->kind == WORD_BARE && strcmp(word->text, text) == 0;
}

/* ---- Building messages ---------------------------------------------------------------------- */

static struct {
	uint8_t data[8192];
	size_t bytes;
} body;

static void put(const void *data, size_t bytes)
{
	assert_true(body.bytes + bytes <= sizeof body.data);
	memcpy(body.data + body.bytes, data, bytes);
	body.bytes += bytes;
}

static void put16(uint16_t value)
{
	value = htons(value);
	put(&value, sizeof value);
}

static void put32(uint32_t value)
{
	value = htonl(value);
	put(&value, sizeof value);
}

/* Two digits behind \x are a byte. */
static void put_text(const char *text)
{
	for (unsigned byte; *text; text++) {
		bool escaped = sscanf(text, "\\x%2x", &byte) == 1;
		put(escaped ? (const char *)&(uint8_t){ (uint8_t)byte } : text, 1);
		text += escaped ? 3 : 0;
	}
}

/* The next word with its NUL, "-" as an empty one. */
static void put_name(const char **at)
{
	struct word word = next_word(at);
	assert_int_not_equal(word.kind, WORD_NONE);
	put_text(is_bare(&word, "-") ? "" : word.text);
	put("", 1);
}

static void put_value(const struct word *word)
{
	size_t start = body.bytes;
	put32(UINT32_MAX);
	if (is_bare(word, "null"))
		return;
	put_text(word->text);
	uint32_t bytes = htonl((uint32_t)(body.bytes - start - 4));
	memcpy(body.data + start, &bytes, sizeof bytes);
}

/* A count of 16 bits and as many items: the words up to a colon or the end of the message. */
static void put_list(const char **at, void (*put_item)(const struct word *))
{
	size_t count_at = body.bytes;
	uint16_t count = 0;
	put16(0);
	for (struct word word = next_word(at); word.kind != WORD_NONE && !is_bare(&word, ":");
		word = next_word(at), count++)
		put_item(&word);
	count = htons(count);
	memcpy(body.data + count_at, &count, sizeof count);
}

static void put_format(const struct word *word)
{
	put16((uint16_t)strtoul(word->text, NULL, 10));
}

static void put_oid(const struct word *word)
{
	put32((uint32_t)strtoul(word->text, NULL, 10));
}

/* The script has the values first, the message the formats. */
static void put_bind(const char **at)
{
	put_name(at);
	put_name(at);
	size_t start = body.bytes;
	put_list(at, put_value);
	size_t values = body.bytes - start;
	put_list(at, put_format);
	size_t formats = body.bytes - start - values;
	uint8_t turned[sizeof body.data];
	memcpy(turned, body.data + start + values, formats);
	memcpy(turned + formats, body.data + start, values);
	memcpy(body.data + start, turned, values + formats);
	put_list(at, put_format);
}

/* Appends one message. The type of the last answer to read for it; 0: none is awaited. */
static char put_message(const char **at)
{
	struct word word = next_word(at);
	char type = word.text[0], until = 0;
	body.bytes = 0;
	switch (type) {
	case 'P':
		put_name(at);
		put_name(at);
		put_list(at, put_oid);
		break;
	case 'B':
		put_bind(at);
		break;
	case 'D':
	case 'C':
		put(word.text + 1, 1);
		put_name(at);
		break;
	case 'E':
		put_name(at);
		word = next_word(at);
		put32((uint32_t)strtoul(word.text, NULL, 10));
		break;
	case 'H':
		until = next_word(at).text[0];
		break;
	case 'Q':
	case 'q':
		put_name(at);
		until = type == 'Q' ? 'Z' : 0;
		type = 'Q';
		break;
	case 'S':
		until = 'Z';
		break;
	case 'X':
		until = 'X'; /* no answer is of this type: up to the end */
		break;
	default:
		fail_msg("no message is called %s", word.text);
	}
	assert_int_equal(next_word(at).kind, WORD_NONE);
	wire_message(&client, type, body.data, body.bytes);
	return until;
}

/* ---- Asking --------------------------------------------------------------------------------- */

/* Of the types of parameters only their number: PostgreSQL finds out those nobody declared. */
static void show_answer(FILE *out, const char *said)
{
	fputc('\t', out);
	for (const char *at = said; *at; at++) {
		bool types = strncmp(at, "t(", 2) == 0 && (at == said || at[-1] == ' ');
		if (!types) {
			fputc(*at, out);
			continue;
		}
		unsigned count = at[2] != ')';
		for (; *at != ')'; at++)
			count += *at == ',';
		fprintf(out, "t(%u)", count);
	}
	bool told = strstr(said, "E(") || strstr(said, "N(");
	fprintf(out, "%s%s\n", told ? "  " : "", told ? client.last_error : "");
}

static void run_line(const char *line, FILE *out)
{
	char until[ANSWERS_MAX];
	size_t count = 0;
	bool ended = false;
	for (const char *at = line; *at; at += *at == ';') {
		char type = put_message(&at);
		assert_true(count < ANSWERS_MAX);
		if (type)
			until[count++] = type;
	}
	wire_flush(&client);
	for (size_t i = 0; i < count && !ended; i++) {
		const char *said = wire_until(&client, until[i]);
		ended = strstr(said, "EOF") != NULL;
		show_answer(out, ended && until[i] == 'X' ? "EOF" : said);
	}
}

static void begin_session(void)
{
	wire_login(&client, &server, "demo");
}

/* Whatever was not read belongs to no line. */
static void end_session(FILE *out)
{
	if (client.fd < 0)
		return;
	wire_message(&client, 'X', "", 0);
	if (strcmp(wire_until(&client, 'X'), "EOF") != 0)
		show_answer(out, client.said);
	wire_close(&client);
}

/* Copies the script to `out` with the answers below its lines. */
static void run_script(const char *name, FILE *out)
{
	char path[512], line[4096];
	snprintf(path, sizeof path, "%s/%s.msg", SCRIPTS, name);
	FILE *script = fopen(path, "r");
	assert_non_null(script);
	client.fd = -1;
	while (fgets(line, sizeof line, script)) {
		line[strcspn(line, "\n")] = '\0';
		fprintf(out, "%s\n", line);
		if (!*line)
			end_session(out);
		if (!*line || strncmp(line, "--", 2) == 0)
			continue;
		if (client.fd < 0)
			begin_session();
		run_line(line, out);
	}
	end_session(out);
	fclose(script);
}

/* ---- Recording ------------------------------------------------------------------------------ */

static const char *const scripts[] = { "statements", "portals", "failures", "blocks", "mixed" };

/* `where`: the folder of PostgreSQL's socket and its port, as FOLDER:PORT. */
static int record(const char *where)
{
	char path[512];
	unsigned port;
	if (sscanf(where, "%63[^:]:%u", server.dir, &port) != 2)
		return 2;
	server.port = (uint16_t)port;
	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
		begin_session();
		wire_query(&client, "drop schema public cascade; create schema public");
		wire_close(&client);
		snprintf(path, sizeof path, "%s/%s.answers", SCRIPTS, scripts[i]);
		FILE *out = fopen(path, "w");
		if (!out)
			return 1;
		run_script(scripts[i], out);
		fclose(out);
	}
	return 0;
}

/* ---- Comparing ------------------------------------------------------------------------------ */

/* The name of the test is that of the script. */
static void messages_are_answered_as_postgresql_answers_them(void **state)
{
	const char *script = *state;
	char path[128], line[1024];
	snprintf(path, sizeof path, "%s/answers", server.dir);
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	run_script(script, out);
	fclose(out);
	snprintf(line, sizeof line, "diff -U3 %s/%s.answers %s >&2", SCRIPTS, script, path);
	if (system(line) != 0)
		fail_msg("%s.msg is answered otherwise", script);
}

int main(void)
{
	struct CMUnitTest tests[sizeof scripts / sizeof *scripts];
	const char *postgres = getenv("WIRE_POSTGRES");
	if (postgres)
		return record(postgres);
	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
		tests[i] = (struct CMUnitTest){ .name = scripts[i],
			.test_func = messages_are_answered_as_postgresql_answers_them,
			.setup_func = start,
			.teardown_func = stop,
			.initial_state = (void *)(uintptr_t)scripts[i] };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
