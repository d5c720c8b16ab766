/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.h - the library's own errors, one list with their text.
 *
 * Fallible calls return 0 or one of these negative numbers.
 */
#ifndef CANCEL_ERROR_H
#define CANCEL_ERROR_H

#define CANCEL_MUST_CHECK __attribute__((warn_unused_result))

#define CANCEL_ERRORS(X)                                                                           \
	X(CANCEL_EINVAL, 1, "invalid argument")                                                    \
	X(CANCEL_ENOMEM, 2, "out of memory")                                                       \
	X(CANCEL_ESTATE, 3, "already started, or not started")                                     \
	X(CANCEL_ETHREAD, 4, "cannot start a thread")                                              \
	X(CANCEL_EREQUESTED, 5, "a cancel was delivered: abort now")                               \
	X(CANCEL_ENOTASK, 6, "no such task, or no current task")                                   \
	X(CANCEL_EBUSY, 7, "not now: the task is blocked, or the delivery queue is full")

enum cancel_error {
#define X(name, number, text) name = -(number),
	CANCEL_ERRORS(X)
#undef X
};

#endif
