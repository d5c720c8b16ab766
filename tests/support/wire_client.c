/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the server process of a test and one naive client. */
#include "wire_client.h"
#include "patience.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define ARGUMENTS_MAX 32
#define PROTOCOL_3    196608u

/* ---- The server ----------------------------------------------------------------------------- */

/* Starts `arguments`; its standard error (and output, if `both`) goes to the returned pipe. */
static pid_t spawn(
	const char *const *arguments, int input, int *output, bool both, uint64_t file_limit_bytes)
{
	int ends[2];
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const struct rlimit limit = { file_limit_bytes, file_limit_bytes };
		if (file_limit_bytes) {
			signal(SIGXFSZ, SIG_IGN); /* the write fails instead */
			setrlimit(RLIMIT_FSIZE, &limit);
		}
		dup2(input, STDIN_FILENO);
		dup2(ends[1], STDERR_FILENO);
		if (both)
			dup2(ends[1], STDOUT_FILENO);
		execv(DEMO_DB_BINARY, (char *const *)arguments);
		_exit(127);
	}
	close(ends[1]);
	*output = ends[0];
	return pid;
}

/* Reads standard error until `word` was said or it ends. */
static bool await_word(struct wire_server *server, const char *word)
{
	size_t used = 0;
	struct pollfd readable = { .fd = server->errors, .events = POLLIN };
	server->said[0] = '\0';
	while (!strstr(server->said, word)) {
		if (used + 1 >= sizeof server->said)
			used = 0;
		if (poll(&readable, 1, (int)patience_s() * 1000) <= 0)
			return false;
		ssize_t n =
			read(server->errors, server->said + used, sizeof server->said - 1 - used);
		if (n <= 0)
			return false;
		used += (size_t)n;
		server->said[used] = '\0';
	}
	return true;
}

void wire_server_restart(struct wire_server *server, const char *const *options)
{
	char port[8];
	const char *arguments[ARGUMENTS_MAX] = { "demo-db", "serve", "--data", server->dir,
		"--port", port, "--listen", "none", "--set", "admission.gate=off" };
	size_t count = 10;
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	snprintf(port, sizeof port, "%u", server->port);
	for (; options && *options; options++)
		arguments[count++] = *options;
	server->pid = spawn(arguments, nothing, &server->errors, false, server->file_limit_bytes);
	close(nothing);
	if (!await_word(server, "ready"))
		fail_msg("the server did not start: %s", server->said);
}

void wire_server_start(struct wire_server *server, const char *const *options)
{
	const char *tmp = getenv("TMPDIR");
	snprintf(server->dir, sizeof server->dir, "%s/demo-wire-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(server->dir));
	server->port = wire_free_port();
	wire_server_restart(server, options);
}

static int await_end(struct wire_server *server)
{
	int status = 0;
	char rest[512];
	while (read(server->errors, rest, sizeof rest) > 0)
		continue; /* it must not block on a full pipe */
	close(server->errors);
	while (waitpid(server->pid, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	server->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int wire_server_stop(struct wire_server *server)
{
	kill(server->pid, SIGTERM);
	return await_end(server);
}

void wire_server_kill(struct wire_server *server)
{
	kill(server->pid, SIGKILL);
	await_end(server);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
	(void)status;
	(void)kind;
	(void)at;
	return remove(path);
}

void wire_server_clean(struct wire_server *server)
{
	if (server->pid)
		wire_server_kill(server);
	nftw(server->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int wire_run(const char *const *arguments, const char *input, char *said, size_t bytes)
{
	int ends[2], output, status;
	size_t used = 0;
	ssize_t n = 1;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid_t pid = spawn(arguments, ends[0], &output, true, 0);
	close(ends[0]);
	assert_int_equal(write(ends[1], input, strlen(input)), (ssize_t)strlen(input));
	close(ends[1]);
	while (n > 0 && used + 1 < bytes) {
		n = read(output, said + used, bytes - 1 - used);
		used += n > 0 ? (size_t)n : 0;
	}
	said[used] = '\0';
	close(output);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

uint16_t wire_free_port(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (void *)&at, sizeof at), 0);
	assert_int_equal(getsockname(fd, (void *)&at, &bytes), 0);
	close(fd);
	return ntohs(at.sin_port);
}

/* ---- The connection -------------------------------------------------------------------------- */

static void begin(struct wire_client *client, int fd)
{
	const struct timeval limit = { .tv_sec = patience_s() };
	memset(client, 0, sizeof *client);
	client->fd = fd;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

void wire_open(struct wire_client *client, const struct wire_server *server)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(at.sun_path, sizeof at.sun_path, "%s/.s.PGSQL.%u", server->dir, server->port);
	assert_int_equal(connect(fd, (void *)&at, sizeof at), 0);
	begin(client, fd);
}

void wire_open_tcp(struct wire_client *client, uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (void *)&at, sizeof at), 0);
	begin(client, fd);
}

void wire_close(struct wire_client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
	free(client->in);
	free(client->said);
	client->in = NULL;
	client->said = NULL;
}

/* ---- Sending --------------------------------------------------------------------------------- */

void wire_flush(struct wire_client *client)
{
	size_t sent = 0;
	while (sent < client->out_bytes) {
		ssize_t n = send(
			client->fd, client->out + sent, client->out_bytes - sent, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break; /* the reading side will tell */
		sent += (size_t)n;
	}
	client->out_bytes = 0;
}

void wire_raw(struct wire_client *client, const void *data, size_t bytes)
{
	const uint8_t *from = data;
	while (bytes) {
		size_t room = sizeof client->out - client->out_bytes;
		size_t part = bytes < room ? bytes : room;
		memcpy(client->out + client->out_bytes, from, part);
		client->out_bytes += part;
		from += part;
		bytes -= part;
		if (bytes)
			wire_flush(client);
	}
}

static void put32(uint8_t *at, uint32_t value)
{
	value = htonl(value);
	memcpy(at, &value, 4);
}

static void put16(uint8_t *at, uint16_t value)
{
	value = htons(value);
	memcpy(at, &value, 2);
}

void wire_message(struct wire_client *client, char type, const void *body, size_t bytes)
{
	uint8_t head[5] = { (uint8_t)type };
	put32(head + 1, (uint32_t)bytes + 4);
	wire_raw(client, head, 5);
	wire_raw(client, body, bytes);
}

/* A message of texts (each with its NUL), words of 16 and of 32 bits, by a format of s, h and w. */
static void put_message(struct wire_client *client, char type, const char *format, ...)
{
	static uint8_t body[32768];
	size_t used = 0;
	va_list arguments;
	va_start(arguments, format);
	for (; *format; format++) {
		if (*format == 's') {
			const char *text = va_arg(arguments, const char *);
			size_t bytes = strlen(text) + 1;
			assert_true(used + bytes + 8 < sizeof body);
			memcpy(body + used, text, bytes);
			used += bytes;
		} else if (*format == 'h') {
			put16(body + used, (uint16_t)va_arg(arguments, int));
			used += 2;
		} else if (*format == 'w') {
			put32(body + used, va_arg(arguments, uint32_t));
			used += 4;
		} else {
			body[used++] = (uint8_t)va_arg(arguments, int);
		}
	}
	va_end(arguments);
	wire_message(client, type, body, used);
}

void wire_startup(struct wire_client *client, const char *const *pairs)
{
	uint8_t body[1024];
	size_t used = 8;
	for (; *pairs; pairs++) {
		strcpy((char *)body + used, *pairs);
		used += strlen(*pairs) + 1;
	}
	body[used++] = 0;
	put32(body, (uint32_t)used);
	put32(body + 4, PROTOCOL_3);
	wire_raw(client, body, used);
}

void wire_login(struct wire_client *client, const struct wire_server *server, const char *user)
{
	const char *const pairs[] = { "user", user, "database", "demo", NULL };
	wire_open(client, server);
	wire_startup(client, pairs);
	assert_string_equal(wire_talk(client), "Z(I)");
}

void wire_parse(struct wire_client *client, const char *name, const char *sql)
{
	put_message(client, 'P', "ssh", name, sql, 0);
}

void wire_bind(struct wire_client *client, const char *portal, const char *statement,
	const char *const *values, uint16_t count, int result_format)
{
	uint8_t body[8192];
	size_t used = 0;
	strcpy((char *)body, portal);
	used = strlen(portal) + 1;
	strcpy((char *)body + used, statement);
	used += strlen(statement) + 1;
	put16(body + used, 0);
	put16(body + used + 2, count);
	used += 4;
	for (uint16_t i = 0; i < count; i++) {
		size_t bytes = values[i] ? strlen(values[i]) : 0;
		put32(body + used, values[i] ? (uint32_t)bytes : UINT32_MAX);
		memcpy(body + used + 4, values[i] ? values[i] : "", bytes);
		used += 4 + bytes;
	}
	put16(body + used, 1);
	put16(body + used + 2, (uint16_t)result_format);
	wire_message(client, 'B', body, used + 4);
}

void wire_describe(struct wire_client *client, char target, const char *name)
{
	put_message(client, 'D', "bs", target, name);
}

void wire_execute(struct wire_client *client, const char *portal, uint32_t rows)
{
	put_message(client, 'E', "sw", portal, rows);
}

void wire_close_named(struct wire_client *client, char target, const char *name)
{
	put_message(client, 'C', "bs", target, name);
}

void wire_sync(struct wire_client *client)
{
	wire_message(client, 'S', "", 0);
}

void wire_send_query(struct wire_client *client, const char *sql)
{
	wire_message(client, 'Q', sql, strlen(sql) + 1);
	wire_flush(client);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static void say(struct wire_client *client, const char *format, ...)
{
	char part[600];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(part, sizeof part, format, arguments);
	va_end(arguments);
	size_t bytes = strlen(part);
	if (client->said_bytes + bytes + 1 > client->said_room) {
		client->said_room = (client->said_bytes + bytes + 1) * 2;
		client->said = realloc(client->said, client->said_room);
		assert_non_null(client->said);
	}
	memcpy(client->said + client->said_bytes, part, bytes + 1);
	client->said_bytes += bytes;
}

static uint32_t get32(const uint8_t *at)
{
	uint32_t value;
	memcpy(&value, at, 4);
	return ntohl(value);
}

static unsigned get16(const uint8_t *at)
{
	return (unsigned)at[0] << 8 | at[1];
}

/* A whole message in client->in; its bytes, 0 at the end of the connection. */
static size_t read_message(struct wire_client *client)
{
	for (;;) {
		size_t wanted = client->in_bytes >= 5 ? get32(client->in + 1) + 1u : 5;
		if (client->in_bytes >= 5 && client->in_bytes >= wanted)
			return wanted;
		if (client->in_room < wanted + 4096) {
			client->in_room = wanted + 65536;
			client->in = realloc(client->in, client->in_room);
			assert_non_null(client->in);
		}
		ssize_t n = recv(client->fd, client->in + client->in_bytes,
			client->in_room - client->in_bytes, 0);
		if (n < 0 && errno == EINTR)
			continue; /* the test was stopped and goes on */
		if (n < 0 && errno == EAGAIN)
			fail_msg("the server said nothing for %u s after: %s", patience_s(),
				client->said ? client->said : "");
		if (n <= 0)
			return 0;
		client->in_bytes += (size_t)n;
	}
}

static void say_row(struct wire_client *client, const uint8_t *at)
{
	unsigned count = get16(at);
	at += 2;
	client->rows++;
	say(client, "D(");
	for (unsigned i = 0; i < count; i++) {
		uint32_t bytes = get32(at);
		at += 4;
		if (bytes == UINT32_MAX) {
			say(client, "%s~", i ? "," : "");
			continue;
		}
		say(client, "%s%.*s", i ? "," : "", (int)(bytes < 500 ? bytes : 500),
			(const char *)at);
		at += bytes;
	}
	say(client, ") ");
}

static void say_columns(struct wire_client *client, const uint8_t *at)
{
	unsigned count = get16(at);
	at += 2;
	say(client, "T(");
	for (unsigned i = 0; i < count; i++) {
		const char *name = (const char *)at;
		at += strlen(name) + 1 + 6;
		say(client, "%s%s:%u", i ? "," : "", name, get32(at));
		at += 12;
	}
	say(client, ") ");
}

static void say_report(struct wire_client *client, char type, const uint8_t *at)
{
	const char *sqlstate = "";
	client->last_detail[0] = client->last_hint[0] = '\0';
	client->last_position = 0;
	for (; *at; at += strlen((const char *)at) + 1) {
		const char *text = (const char *)at + 1;
		if (*at == 'C')
			sqlstate = text;
		else if (*at == 'M')
			snprintf(client->last_error, sizeof client->last_error, "%s", text);
		else if (*at == 'D')
			snprintf(client->last_detail, sizeof client->last_detail, "%s", text);
		else if (*at == 'H')
			snprintf(client->last_hint, sizeof client->last_hint, "%s", text);
		else if (*at == 'P')
			client->last_position = atoi(text);
	}
	say(client, "%c(%s) ", type, sqlstate);
}

static void note_status(struct wire_client *client, const uint8_t *at)
{
	const char *name = (const char *)at, *value = name + strlen(name) + 1;
	if (strcmp(name, "cancel.level") == 0)
		snprintf(client->level, sizeof client->level, "%s", value);
}

static void say_types(struct wire_client *client, const uint8_t *at)
{
	unsigned count = get16(at);
	say(client, "t(");
	for (unsigned i = 0; i < count; i++)
		say(client, "%s%u", i ? "," : "", get32(at + 2 + 4 * i));
	say(client, ") ");
}

static void say_message(struct wire_client *client, char type, const uint8_t *at)
{
	switch (type) {
	case 'R':
		break;
	case 'S':
		note_status(client, at);
		break;
	case 'K':
		client->process = get32(at);
		client->secret = get32(at + 4);
		break;
	case 'T':
		say_columns(client, at);
		break;
	case 'D':
		say_row(client, at);
		break;
	case 'E':
	case 'N':
		say_report(client, type, at);
		break;
	case 't':
		say_types(client, at);
		break;
	case 'C':
		say(client, "C(%s) ", (const char *)at);
		break;
	case 'Z':
		say(client, "Z(%c) ", *at);
		break;
	default:
		say(client, "%c ", type);
	}
}

const char *wire_until(struct wire_client *client, char type)
{
	char last = 0;
	client->said_bytes = 0;
	say(client, "%s", "");
	wire_flush(client);
	while (last != type) {
		size_t bytes = read_message(client);
		if (bytes == 0) {
			say(client, "EOF ");
			break;
		}
		last = (char)client->in[0];
		say_message(client, last, client->in + 5);
		client->in_bytes -= bytes;
		memmove(client->in, client->in + bytes, client->in_bytes);
	}
	if (client->said_bytes)
		client->said[client->said_bytes - 1] = '\0';
	return client->said;
}

const char *wire_talk(struct wire_client *client)
{
	return wire_until(client, 'Z');
}

const char *wire_query(struct wire_client *client, const char *sql)
{
	wire_send_query(client, sql);
	return wire_talk(client);
}

void wire_cancel(const struct wire_server *server, uint32_t process, uint32_t secret)
{
	struct wire_client client;
	uint8_t packet[16];
	put32(packet, 16);
	put32(packet + 4, 80877102u);
	put32(packet + 8, process);
	put32(packet + 12, secret);
	wire_open(&client, server);
	wire_raw(&client, packet, sizeof packet);
	assert_string_equal(wire_talk(&client), "EOF");
	wire_close(&client);
}
