/* SPDX-License-Identifier: Apache-2.0 */
/* Reading an options struct that may be older (shorter) or newer (longer) than ours. */
#ifndef CANCEL_ADMISSION_OPTIONS_H
#define CANCEL_ADMISSION_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Copies what both sides know; the rest of `to` stays zero, which means default. NULL is all
 * defaults. False when the caller forgot struct_size, the first member of every options struct. */
static inline bool options_read(void *to, size_t to_bytes, const void *from)
{
	memset(to, 0, to_bytes);
	if (!from)
		return true;
	size_t from_bytes;
	memcpy(&from_bytes, from, sizeof from_bytes);
	if (from_bytes < sizeof from_bytes)
		return false;
	memcpy(to, from, from_bytes < to_bytes ? from_bytes : to_bytes);
	return true;
}

#endif
