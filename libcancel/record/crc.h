/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crc.h - CRC-32 (IEEE 802.3, reflected polynomial 0xedb88320), four bits a step.
 */
#ifndef CANCEL_RECORD_CRC_H
#define CANCEL_RECORD_CRC_H

#include <stddef.h>
#include <stdint.h>

#define CRC32_START 0u

/* Goes on from the CRC of what came before. */
static inline uint32_t crc32_of(uint32_t crc, const unsigned char *bytes, size_t count)
{
	static const uint32_t table[16] = { 0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu,
		0x76dc4190u, 0x6b6b51f4u, 0x4db26158u, 0x5005713cu, 0xedb88320u, 0xf00f9344u,
		0xd6d6a3e8u, 0xcb61b38cu, 0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu };
	crc = ~crc;
	for (size_t i = 0; i < count; i++) {
		crc ^= bytes[i];
		crc = table[crc & 15] ^ crc >> 4;
		crc = table[crc & 15] ^ crc >> 4;
	}
	return ~crc;
}

#endif
