/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the extended copy of extend.sh: what was added is chosen and set by name. */
#include <stdio.h>
#include <string.h>

#include <cancel/observe.h>

static int is_in_force(const char *wanted, const char *expected)
{
	char value[CANCEL_TEXT_MAX];
	const char *name;
	bool writable;
	for (uint32_t i = 0; cancel_option(i, &name, value, &writable) == 0; i++)
		if (strcmp(name, wanted) == 0 && strcmp(value, expected) == 0)
			return 1;
	fprintf(stderr, "%s is not %s\n", wanted, expected);
	return 0;
}

int main(void)
{
	struct cancel_config config = { .struct_size = sizeof config };
	if (startCancel(&config))
		return 1;
	int right = is_in_force("policy", "youngest") && is_in_force("estimator", "nothing") &&
		    is_in_force("patience_ms", "77");
	return stopCancel() || !right;
}
