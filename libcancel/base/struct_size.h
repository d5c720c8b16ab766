/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct_size.h - reads a struct whose caller may have been compiled with an older or a newer
 * header.
 *
 * The first member of such a struct is `size_t struct_size`, the size its caller knows. One rule
 * holds for all of them:
 *	shorter    the caller is older: the members it does not have are zero, which means default
 *	longer     the caller is newer: the members this library does not have are ignored
 *	too short for struct_size itself    the caller has forgotten to set it
 */
#ifndef CANCEL_BASE_STRUCT_SIZE_H
#define CANCEL_BASE_STRUCT_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Copies what both sides know; the rest of `to` is zero, and so is all of it when `from` is NULL.
 * False when the caller has forgotten struct_size: then `to` is all zero, too. */
static inline bool struct_size_read(void *to, size_t to_bytes, const void *from)
{
	size_t from_bytes;
	memset(to, 0, to_bytes);
	if (!from)
		return true;
	memcpy(&from_bytes, from, sizeof from_bytes);
	if (from_bytes < sizeof from_bytes)
		return false;
	memcpy(to, from, from_bytes < to_bytes ? from_bytes : to_bytes);
	return true;
}

#endif
