/* SPDX-License-Identifier: Apache-2.0 */
/* Prints docs/thresholds.md from the rows of policy.h; tests/tidy/thresholds.sh compares the
 * two. */
#include <inttypes.h>
#include <stdio.h>

#include <cancel/policy.h>

static void print_row(
	const char *name, uint32_t fallback, uint32_t min, uint32_t max, const char *text)
{
	printf("| `%s` | %" PRIu32 " | ", name, fallback);
	if (max == UINT32_MAX)
		printf("at least %" PRIu32, min);
	else
		printf("%" PRIu32 " to %" PRIu32, min, max);
	printf(" | %s |\n", text);
}

int main(void)
{
	puts("# Thresholds\n");
	puts("When the core suspects an overload, which resource counts, who is a candidate, and "
	     "how fast it "
	     "may cancel. Each is a\nfield of `struct cancel_pipeline_config`, an option that may "
	     "be changed "
	     "while the library runs (`cancel_set_option`),\nand an environment variable, "
	     "`CANCEL_` and the "
	     "name in capitals. `ppm` are millionths. In the struct 0 means the\ndefault. "
	     "[policy.md](policy.md) says why each default is what it is.\n");
	puts("| threshold | default | range | meaning |\n|---|---|---|---|");
#define X(name, fallback, min, max, text) print_row(#name, fallback, min, max, text);
	CANCEL_THRESHOLDS(X)
#undef X
	return 0;
}
