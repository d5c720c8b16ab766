/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the list of policies a run may compare. A new rival is a row of policies.def, and a file if it is more
 * than flags.
 * `cancel` takes a variant: the name of a policy of the library, and after a slash that of an
 * estimator.
 */
#include <stdio.h>
#include <string.h>

#include <cancel/policy.h>

#include "bench/base/options.h"
#include "bench/policies/policy.h"

const struct bench_policy *const bench_policies[] = {
#define POLICY(name) &policy_##name,
#define FLAGS(...)   &(const struct bench_policy){ __VA_ARGS__ },
#include "bench/policies/policies.def"
#undef POLICY
#undef FLAGS
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

const struct bench_policy *bench_policy_find(const char *text, enum bench_target target)
{
	size_t length = strcspn(text, ":");
	for (const struct bench_policy *const *p = bench_policies; *p; p++) {
		if (strlen((*p)->name) != length || strncmp((*p)->name, text, length) != 0)
			continue;
		if (text[length] == ':' && (target == SERVER_TARGET || !(*p)->takes_variant ||
						   !variant_known(text + length + 1)))
			return NULL;
		return (*p)->what[target] ? *p : NULL;
	}
	return NULL;
}

static void add_policy(struct bench_options *options, const char *name)
{
	if (options->target == ENGINE_TARGET && strcmp(name, "reference") == 0)
		return; /* always runs */
	if (!bench_policy_find(name, options->target))
		bench_refuse(
			"unknown policy '%s' of this target; 'cancel-bench list' names them", name);
	for (uint32_t i = 0; i < options->policy_count; i++)
		if (strcmp(options->policies[i], name) == 0)
			bench_refuse("policy '%s' is named twice", name);
	if (options->policy_count == OPTIONS_POLICIES_MAX)
		bench_refuse("more than %d policies", OPTIONS_POLICIES_MAX);
	snprintf(options->policies[options->policy_count++], OPTIONS_POLICY_BYTES, "%s", name);
}

void options_policies(struct bench_options *options, const char *list)
{
	char name[OPTIONS_POLICY_BYTES];
	options->policy_count = 0;
	for (const char *at = list; *at;) {
		size_t length = strcspn(at, ",");
		if (length == 0 || length >= sizeof name)
			bench_refuse("'%s' is not a list of policies", list);
		memcpy(name, at, length);
		name[length] = '\0';
		add_policy(options, name);
		at += length;
		if (*at == ',' && !*++at)
			bench_refuse("'%s' is not a list of policies", list);
	}
}
