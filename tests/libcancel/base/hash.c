/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "libcancel/base/hash.h"

#define BUCKETS 64u
#define KEYS	(BUCKETS * 64u)

/* Keys that differ in their high bits only must not meet in one bucket of a table. */
static void every_input_bit_reaches_the_low_bits(void **state)
{
	(void)state;
	for (uint32_t shift = 0; shift < 64 - 12; shift += 4) {
		uint32_t counts[BUCKETS] = { 0 };
		for (uint64_t key = 0; key < KEYS; key++)
			counts[hash_mix(key << shift) % BUCKETS]++;
		for (uint32_t b = 0; b < BUCKETS; b++)
			assert_in_range(counts[b], KEYS / BUCKETS / 2, KEYS / BUCKETS * 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_input_bit_reaches_the_low_bits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
