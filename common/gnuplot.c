/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gnuplot.h"

#include <signal.h>

/* It may be missing: its status tells, and no signal. */
void gnuplot_open(struct gnuplot *gnuplot)
{
	gnuplot->on_pipe = signal(SIGPIPE, SIG_IGN);
	gnuplot->script = popen("gnuplot 2>/dev/null", "w");
}

int gnuplot_close(struct gnuplot *gnuplot)
{
	int status = gnuplot->script ? pclose(gnuplot->script) : -1;
	signal(SIGPIPE, gnuplot->on_pipe);
	return status;
}

void gnuplot_quote(FILE *script, const char *text)
{
	fputc('\'', script);
	for (; *text; text++) {
		if (*text == '\'')
			fputc('\'', script);
		fputc(*text, script);
	}
	fputc('\'', script);
}
