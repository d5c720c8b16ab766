/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - a decision in words.
 */
#ifndef CANCEL_RECORDER_TEXT_H
#define CANCEL_RECORDER_TEXT_H

#include <cancel/observe.h>

/* What resources and classes are called, by index. Each call fills in a text, "?" for unknown. */
struct text_names {
	void (*resource)(const void *arg, uint32_t index, char name[CANCEL_NAME_MAX]);
	void (*class_of)(const void *arg, uint32_t index, char name[CANCEL_NAME_MAX]);
	const void *arg;
};

/* "task 812 (dump) cancelled: 61 % of execution time lost to page_pool; gain 0.93; runner-up
 * 0.04". Gains are those on the most contended resource. */
void text_of_decision(const struct cancel_decision *d, const struct text_names *names,
	char text[CANCEL_TEXT_MAX]);

/* "task 812 (dump) has ignored two cancels and is left alone; what it holds stays barred". */
void text_of_excluded(const struct cancel_decision *d, const struct text_names *names,
	char text[CANCEL_TEXT_MAX]);

/* "nothing cancelled: task 7 (backup) carries 83 %, but …"; "" when nothing is held back. */
void text_of_held(
	const struct cancel_verdict *v, const struct text_names *names, char text[CANCEL_TEXT_MAX]);

#endif
