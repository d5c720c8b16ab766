/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the server's process: where its binary is, its folder, its end.
 */
#include "bench/target/server_process.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGUMENTS_MAX (12 + 2 * SERVER_SETTINGS_MAX)
#define READY_MS      30000
#define END_MS	      5000
#define SAID_MAX      1024
#define TREE_FDS      8

static char scratch[SERVER_PATH_MAX];

void server_set(struct server_settings *settings, const char *format, ...)
{
	va_list arguments;
	if (settings->count == SERVER_SETTINGS_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(settings->list[settings->count++], SERVER_SETTING_BYTES, format, arguments);
	va_end(arguments);
}

static int complain(char *error, const char *what, const char *why)
{
	snprintf(error, SERVER_ERROR_MAX, "%.100s: %.140s", what, why);
	return -1;
}

/* ---- Folders --------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *at)
{
	(void)about;
	(void)kind;
	(void)at;
	return remove(path);
}

static void remove_scratch(void)
{
	nftw(scratch, remove_one, TREE_FDS, FTW_DEPTH | FTW_PHYS);
}

const char *server_scratch(char error[SERVER_ERROR_MAX])
{
	const char *tmp = getenv("TMPDIR");
	if (scratch[0])
		return scratch;
	/* a socket's path has 108 bytes */
	int length = snprintf(scratch, sizeof scratch, "%s/cancel-bench-XXXXXX",
		tmp && *tmp && strlen(tmp) < 64 ? tmp : "/tmp");
	if (length < 0 || !mkdtemp(scratch)) {
		complain(error, "cannot make a temporary folder", strerror(errno));
		scratch[0] = '\0';
		return NULL;
	}
	atexit(remove_scratch);
	return scratch;
}

/* demo-db lies where this binary does, or (for one that is not installed) in bin/ beside. */
static int find_binary(char path[SERVER_PATH_MAX], char *error)
{
	static const char *const places[] = { "demo-db", "../bin/demo-db" };
	ssize_t length = readlink("/proc/self/exe", path, SERVER_PATH_MAX - 16);
	char *slash = length > 0 ? memrchr(path, '/', (size_t)length) : NULL;
	if (!slash)
		return complain(error, "cannot find demo-db", "no /proc/self/exe");
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		strcpy(slash + 1, places[i]);
		if (access(path, X_OK) == 0)
			return 0;
	}
	strcpy(slash + 1, places[0]);
	return complain(error, path, strerror(errno));
}

/* ---- Up -------------------------------------------------------------------------------------- */

static void become_server(
	const char *path, const char *const *arguments, int said, int nothing, pid_t parent)
{
	/* an interrupted bench must not leave it behind, and ^C is the bench's to handle */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	setpgid(0, 0);
	dup2(nothing, STDIN_FILENO);
	dup2(nothing, STDOUT_FILENO);
	dup2(said, STDERR_FILENO);
	execv(path, (char *const *)arguments);
	_exit(127);
}

static int spawn(
	struct server_process *server, const char *path, const char *const *arguments, char *error)
{
	int ends[2], nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	pid_t parent = getpid();
	if (nothing < 0 || pipe2(ends, O_CLOEXEC) != 0)
		return complain(error, "cannot start demo-db", strerror(errno));
	server->pid = fork();
	if (server->pid == 0)
		become_server(path, arguments, ends[1], nothing, parent);
	close(ends[1]);
	close(nothing);
	server->said = ends[0];
	if (server->pid > 0)
		return 0;
	close(ends[0]);
	return complain(error, "cannot start demo-db", strerror(errno));
}

/* Its standard error up to the line that says it is ready. */
static int await_ready(struct server_process *server, char *error)
{
	char said[SAID_MAX] = "";
	size_t used = 0;
	struct pollfd readable = { .fd = server->said, .events = POLLIN };
	while (!strstr(said, "ready on")) {
		ssize_t n = poll(&readable, 1, READY_MS) > 0
				    ? read(server->said, said + used, sizeof said - 1 - used)
				    : 0;
		if (n <= 0) {
			said[strcspn(said, "\n")] = '\0';
			return complain(
				error, "demo-db did not start", said[0] ? said : "it said nothing");
		}
		used += (size_t)n;
		said[used] = '\0';
	}
	return 0;
}

int server_process_start(struct server_process *server, const char *data_dir,
	const struct server_settings *settings, char error[SERVER_ERROR_MAX])
{
	char path[SERVER_PATH_MAX], port[8];
	const char *dir = server_scratch(error);
	*server = (struct server_process){ 0 };
	if (!dir || find_binary(path, error) != 0)
		return -1;
	snprintf(server->socket_dir, sizeof server->socket_dir, "%s", dir);
	snprintf(port, sizeof port, "%d", SERVER_PORT);
	const char *arguments[ARGUMENTS_MAX] = { "demo-db", "serve", "--data", data_dir,
		"--socket-dir", server->socket_dir, "--port", port, "--listen", "none" };
	size_t count = 10;
	for (uint32_t i = 0; i < settings->count; i++) {
		arguments[count++] = "--set";
		arguments[count++] = settings->list[i];
	}
	if (spawn(server, path, arguments, error) != 0)
		return -1;
	if (await_ready(server, error) == 0) {
		fcntl(server->said, F_SETFL, O_NONBLOCK);
		return 0;
	}
	server_process_stop(server);
	return -1;
}

/* ---- Down ------------------------------------------------------------------------------------ */

bool server_process_listen(struct server_process *server)
{
	char said[SAID_MAX];
	ssize_t n;
	do
		n = read(server->said, said, sizeof said);
	while (n > 0);
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Its standard error closes when it ends. */
static bool await_end(struct server_process *server, int timeout_ms)
{
	struct pollfd readable = { .fd = server->said, .events = POLLIN };
	while (poll(&readable, 1, timeout_ms) > 0)
		if (!server_process_listen(server))
			return true;
	return false;
}

void server_process_stop(struct server_process *server)
{
	if (server->pid <= 0)
		return;
	kill(server->pid, SIGTERM); /* drain … */
	kill(server->pid, SIGINT);  /* … at once */
	if (!await_end(server, END_MS))
		kill(server->pid, SIGKILL);
	while (waitpid(server->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	close(server->said);
	server->pid = 0;
}

uint64_t server_process_cpu_ns(const struct server_process *server)
{
	clockid_t clock;
	struct timespec used;
	if (clock_getcpuclockid(server->pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
		return 0;
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}
