/* SPDX-License-Identifier: Apache-2.0 */
/* tool.h - runs the real cancel-sim and keeps what it printed. */
#ifndef TEST_SIM_TOOL_H
#define TEST_SIM_TOOL_H

#include <jansson.h>
#include <stdbool.h>

struct tool_result {
	int status;	    /* exit status; 128 + number when a signal ended it */
	char *out, *error;  /* what it printed; never NULL */
	size_t error_lines; /* line feeds in `error` */
};

/* `arguments` as a shell would split them at spaces; no quoting. Ends the test when it cannot run.
 */
struct tool_result tool_run(const char *arguments);
/* May change the words of a call before it is made; NULL, as it is at first: nothing does. */
extern void (*tool_prepare)(char **words);
void tool_free(struct tool_result *result);
/* Runs, expects status 0 and JSON; the caller decrefs. */
json_t *tool_json(const char *arguments);
/* Runs, expects status 2, one line on stderr that holds `needle`, and nothing on stdout. */
void tool_refuses(const char *arguments, const char *needle);
/* A file's text, or NULL; free(). */
char *tool_read_file(const char *path);

#endif
