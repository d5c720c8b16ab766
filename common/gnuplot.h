/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gnuplot.h - a picture drawn by gnuplot, which reads its script from a pipe.
 */
#ifndef COMMON_GNUPLOT_H
#define COMMON_GNUPLOT_H

#include <stdio.h>

struct gnuplot {
	FILE *script; /* NULL: it could not be started */
	void (*on_pipe)(int);
};

void gnuplot_open(struct gnuplot *gnuplot);
/* Waits until it has drawn. Its status, -1 if it was not started. */
int gnuplot_close(struct gnuplot *gnuplot);
/* A string of its language: single quotes, doubled inside. */
void gnuplot_quote(FILE *script, const char *text);

#endif
