/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack.c - owns the captured stacks; the only file that uses libunwind.
 *
 * The victim captures its own stack, in ordinary code: no signal, so no EINTR in the host and no
 * question of what is safe in a handler. It only stores addresses; names are looked up later, on
 * the controller thread, by dladdr (exported names of the module; else module and offset, which
 * addr2line understands).
 */
#include "libcancel/diag/stack.h"

#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "libcancel/sys/order.h"

#define STACKS_KEPT 16
#define OWN_FRAMES  3 /* stack_capture, acknowledge and cancel_requested: not the host's */

struct stack {
	uint64_t task; /* 0: free */
	int depth;
	void *frames[CANCEL_FRAMES_MAX];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* leaf; of the two below */
static struct stack stacks[STACKS_KEPT];
static uint32_t next;
static _Atomic uint32_t waiting; /* stacks in the table; changed under the lock */

void stack_capture(uint64_t task)
{
	struct stack s = { .task = task };
	s.depth = unw_backtrace(s.frames, CANCEL_FRAMES_MAX);
	pthread_mutex_lock(&lock);
	struct stack *to = &stacks[next++ % STACKS_KEPT];
	if (!to->task)
		add_relaxed(&waiting, 1);
	*to = s;
	pthread_mutex_unlock(&lock);
}

static bool take(uint64_t task, struct stack *s)
{
	bool found = false;
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < STACKS_KEPT && !found; i++) {
		if (stacks[i].task != task)
			continue;
		*s = stacks[i];
		stacks[i].task = 0;
		add_relaxed(&waiting, UINT32_MAX);
		found = true;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

static int write_frame(char *to, size_t room, const void *address)
{
	Dl_info info = { 0 };
	if (!dladdr(address, &info) || !info.dli_fname)
		return snprintf(to, room, "%p\n", address);
	const char *slash = strrchr(info.dli_fname, '/');
	const char *module = slash ? slash + 1 : info.dli_fname;
	if (info.dli_sname)
		return snprintf(to, room, "%s+0x%zx (%s)\n", info.dli_sname,
			(size_t)((const char *)address - (const char *)info.dli_saddr), module);
	return snprintf(to, room, "%s+0x%zx\n", module,
		(size_t)((const char *)address - (const char *)info.dli_fbase));
}

bool stack_waiting(void)
{
	return load_relaxed(&waiting) != 0;
}

bool stack_take(uint64_t task, char text[CANCEL_STACK_MAX])
{
	struct stack s;
	size_t used = 0;
	if (!take(task, &s))
		return false;
	text[0] = '\0';
	for (int i = OWN_FRAMES; i < s.depth; i++) {
		int n = write_frame(text + used, CANCEL_STACK_MAX - used, s.frames[i]);
		if (n < 0 || (size_t)n >= CANCEL_STACK_MAX - used) {
			text[used] = '\0'; /* whole lines only */
			break;
		}
		used += (size_t)n;
	}
	return true;
}

void stacks_lock_for_fork(void)
{
	pthread_mutex_lock(&lock);
}

void stacks_unlock_after_fork(bool child)
{
	if (child) {
		memset(stacks, 0, sizeof stacks);
		store_relaxed(&waiting, 0);
	}
	pthread_mutex_unlock(&lock);
}
