/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - a decision in words.
 */
#ifndef CANCEL_CONTROL_TEXT_H
#define CANCEL_CONTROL_TEXT_H

#include <cancel/observe.h>

/* "task 812 (dump) cancelled: 61 % of execution time lost to page_pool; gain 0.93; runner-up
 * 0.04". Gains are those on the most contended resource. */
void text_of_decision(const struct cancel_decision *d, char text[CANCEL_TEXT_MAX]);

/* "task 812 (dump) has ignored two cancels and is left alone; what it holds stays barred". */
void text_of_excluded(const struct cancel_decision *d, char text[CANCEL_TEXT_MAX]);

/* "nothing cancelled: task 7 (backup) carries 83 %, but …"; "" when nothing is held back. */
void text_of_held(const struct cancel_verdict *v, char text[CANCEL_TEXT_MAX]);

#endif
