/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.h - a hash of text: FNV-1a, 64 bits (Fowler, Noll, Vo).
 */
#ifndef COMMON_HASH_H
#define COMMON_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START 14695981039346656037u

/* Goes on from the hash of what came before; HASH_START: nothing. */
static inline uint64_t hash_bytes(uint64_t hash, const char *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (unsigned char)data[i]) * 1099511628211u;
	return hash;
}

static inline uint64_t hash_text(const char *text)
{
	uint64_t hash = HASH_START;
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211u;
	return hash;
}

#endif
