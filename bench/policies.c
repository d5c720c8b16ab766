/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the list of policies a run may compare. A new rival is a file and a row here. `cancel` takes a
 * variant: the name of a policy of the library, and after a slash that of an estimator.
 */
#include <stdio.h>
#include <string.h>

#include <cancel/policy.h>

#include "policy.h"

const struct bench_policy *const bench_policies[] = {
	&policy_none,
	&policy_timeout,
	&policy_longest,
	&policy_limit,
	&policy_monitor,
	&policy_cancel,
	NULL,
};

static bool variant_known(const char *variant)
{
	char name[48];
	if (snprintf(name, sizeof name, "%s", variant) >= (int)sizeof name)
		return false;
	char *slash = strchr(name, '/');
	if (slash)
		*slash = '\0';
	if (slash && !cancel_estimator_find(slash + 1))
		return false;
	return (slash && !name[0]) || cancel_policy_find(name) != NULL;
}

const struct bench_policy *bench_policy_find(const char *text)
{
	size_t length = strcspn(text, ":");
	for (const struct bench_policy *const *p = bench_policies; *p; p++) {
		if (strlen((*p)->name) != length || strncmp((*p)->name, text, length) != 0)
			continue;
		if (text[length] == ':' && (!(*p)->takes_variant || !variant_known(text + length + 1)))
			return NULL;
		return *p;
	}
	return NULL;
}
