/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes.h - numbers as bytes and back, within bounds.
 *
 * A varint has seven bits a byte, the lowest first; the top bit says that more follow. A signed
 * difference is folded (zigzag: 0, -1, 1, -2 …) so that small ones are short in both directions.
 * Two more codes save what most differences have in common, and every 64-bit difference fits both:
 *
 *	time	a difference in ns. The first byte has a flag, 0 for whole tenths of a
 *		millisecond and 1 for nanoseconds, below six bits of the folded number
 *	scaled	a difference of ids. The first byte has four bits that say by how many times
 *		four bits the number was shifted, below three bits of the folded number
 */
#ifndef CANCEL_RECORD_BYTES_H
#define CANCEL_RECORD_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TENTH_NS     100000 /* a tenth of a millisecond */
#define VARINT_BYTES 10u    /* at most */
#define NUMBER_BYTES 11u    /* at most, of any code here */

struct byte_writer {
	unsigned char *to;
	size_t used, size;
	bool full; /* something did not fit: what was written is of no use */
};

struct byte_reader {
	const unsigned char *from;
	size_t at, size;
	bool bad; /* it ended too soon, or a number has more than 64 bits */
};

static inline uint64_t fold(uint64_t difference)
{
	return difference << 1 ^ (0 - (difference >> 63));
}

static inline uint64_t unfold(uint64_t folded)
{
	return folded >> 1 ^ (0 - (folded & 1));
}

/* ---- Writing --------------------------------------------------------------------------------- */

static inline void put_byte(struct byte_writer *w, unsigned byte)
{
	if (w->used < w->size)
		w->to[w->used++] = (unsigned char)byte;
	else
		w->full = true;
}

static inline void put_varint(struct byte_writer *w, uint64_t number)
{
	while (number > 127) {
		put_byte(w, (unsigned)(number & 127) | 128u);
		number >>= 7;
	}
	put_byte(w, (unsigned)number);
}

/* `low_bits` flags, then the number, whose first bits share their byte. */
static inline void put_flagged(
	struct byte_writer *w, unsigned flags, unsigned low_bits, uint64_t number)
{
	unsigned room = 7 - low_bits;
	unsigned first = flags | (unsigned)(number & ((1u << room) - 1)) << low_bits;
	number >>= room;
	put_byte(w, first | (number ? 128u : 0));
	if (number)
		put_varint(w, number);
}

static inline void put_signed(struct byte_writer *w, uint64_t difference)
{
	put_varint(w, fold(difference));
}

static inline void put_time(struct byte_writer *w, uint64_t difference_ns)
{
	int64_t signed_ns = (int64_t)difference_ns;
	if (signed_ns % TENTH_NS == 0)
		put_flagged(w, 0, 1, fold((uint64_t)(signed_ns / TENTH_NS)));
	else
		put_flagged(w, 1, 1, fold(difference_ns));
}

static inline void put_scaled(struct byte_writer *w, uint64_t difference)
{
	unsigned shift = difference ? (unsigned)__builtin_ctzll(difference) / 4 : 0;
	put_flagged(w, shift, 4, fold((uint64_t)((int64_t)difference >> 4 * shift)));
}

static inline void put_bytes(struct byte_writer *w, const void *bytes, size_t count)
{
	if (count > w->size - w->used) {
		w->full = true;
		return;
	}
	memcpy(w->to + w->used, bytes, count);
	w->used += count;
}

static inline void put_text(struct byte_writer *w, const char *text)
{
	put_bytes(w, text, strlen(text));
}

static inline void put_decimal(struct byte_writer *w, uint64_t number)
{
	char digits[20];
	size_t at = sizeof digits;
	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	put_bytes(w, digits + at, sizeof digits - at);
}

static inline void put_u32(struct byte_writer *w, uint32_t number)
{
	for (unsigned i = 0; i < 4; i++)
		put_byte(w, number >> 8 * i & 255u);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static inline unsigned get_byte(struct byte_reader *r)
{
	if (r->at < r->size)
		return r->from[r->at++];
	r->bad = true;
	return 0;
}

/* The rest of a number whose lowest `shift` bits are known. */
static inline uint64_t get_rest(struct byte_reader *r, uint64_t number, unsigned shift)
{
	for (;; shift += 7) {
		unsigned byte = get_byte(r);
		uint64_t bits = byte & 127u;
		if (shift > 63 || bits << shift >> shift != bits) {
			r->bad = true;
			return 0;
		}
		number |= bits << shift;
		if (!(byte & 128u))
			return number;
	}
}

static inline uint64_t get_varint(struct byte_reader *r)
{
	return get_rest(r, 0, 0);
}

static inline uint64_t get_flagged(struct byte_reader *r, unsigned low_bits, unsigned *flags)
{
	unsigned first = get_byte(r), room = 7 - low_bits;
	uint64_t number = (first & 127u) >> low_bits;
	*flags = first & ((1u << low_bits) - 1);
	return first & 128u ? get_rest(r, number, room) : number;
}

static inline uint64_t get_signed(struct byte_reader *r)
{
	return unfold(get_varint(r));
}

static inline uint64_t get_time(struct byte_reader *r)
{
	unsigned flag;
	uint64_t difference = unfold(get_flagged(r, 1, &flag));
	return flag ? difference : difference * TENTH_NS;
}

static inline uint64_t get_scaled(struct byte_reader *r)
{
	unsigned shift;
	uint64_t difference = unfold(get_flagged(r, 4, &shift));
	return difference << 4 * shift;
}

static inline uint32_t get_u32(struct byte_reader *r)
{
	uint32_t number = 0;
	for (unsigned i = 0; i < 4; i++)
		number |= (uint32_t)get_byte(r) << 8 * i;
	return number;
}

#endif
