/* SPDX-License-Identifier: Apache-2.0 */
/* Running the real binary from a test. CANCEL_SIM is its path, set by CMake. */
#include "tool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS_MAX 64

char *tool_read_file(const char *path)
{
	char *text = NULL;
	size_t bytes = 0, got;
	char block[4096];
	FILE *file = fopen(path, "r");
	if (!file)
		return NULL;
	FILE *memory = open_memstream(&text, &bytes);
	while ((got = fread(block, 1, sizeof(block), file)) > 0)
		fwrite(block, 1, got, memory);
	fclose(file);
	fclose(memory);
	return text;
}

void (*tool_prepare)(char **words);

static void child(char *const *arguments, const char *out, const char *error)
{
	int out_file = open(out, O_WRONLY | O_TRUNC), error_file = open(error, O_WRONLY | O_TRUNC);
	if (out_file < 0 || error_file < 0 || dup2(out_file, 1) < 0 || dup2(error_file, 2) < 0)
		_exit(126);
	execv(CANCEL_SIM, arguments);
	_exit(127);
}

static void temporary(char *name)
{
	int file = mkstemp(name);
	assert_true(file >= 0);
	close(file);
}

struct tool_result tool_run(const char *text)
{
	char out[] = "/tmp/cancel-sim-out-XXXXXX", error[] = "/tmp/cancel-sim-err-XXXXXX";
	char *copy = strdup(text), *rest = copy, *word,
	     *arguments[ARGUMENTS_MAX + 2] = { CANCEL_SIM };
	size_t count = 1;
	int status = 0;
	while ((word = strsep(&rest, " ")))
		if (*word && count <= ARGUMENTS_MAX)
			arguments[count++] = word;
	if (tool_prepare)
		tool_prepare(arguments);
	temporary(out);
	temporary(error);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		child(arguments, out, error);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	struct tool_result result = {
		.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
		.out = tool_read_file(out),
		.error = tool_read_file(error),
	};
	for (const char *at = result.error; *at; at++)
		result.error_lines += *at == '\n';
	unlink(out);
	unlink(error);
	free(copy);
	return result;
}

void tool_free(struct tool_result *result)
{
	free(result->out);
	free(result->error);
}

json_t *tool_json(const char *arguments)
{
	struct tool_result result = tool_run(arguments);
	json_error_t where;
	if (result.status != 0)
		fail_msg("cancel-sim %s: status %d: %s", arguments, result.status, result.error);
	json_t *root = json_loads(result.out, 0, &where);
	if (!root)
		fail_msg("cancel-sim %s: line %d: %s", arguments, where.line, where.text);
	tool_free(&result);
	return root;
}

void tool_refuses(const char *arguments, const char *needle)
{
	struct tool_result result = tool_run(arguments);
	if (result.status != 2 || !strstr(result.error, needle) || result.error_lines != 1 ||
		result.out[0])
		fail_msg("cancel-sim %s: status %d, wanted '%s', said: %s%s", arguments,
			result.status, needle, result.error, result.out);
	tool_free(&result);
}
