/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the tables of policies and estimators by name, made from the rows of policy.h.
 */
#include <string.h>

#include "libcancel/core/choose.h"
#include "libcancel/core/estimate.h"

static const struct cancel_policy policies[] = {
#define X(symbol, name, what) { name, what, policy_##symbol },
	CANCEL_POLICIES(X)
#undef X
};

static const struct cancel_estimator estimators[] = {
#define X(symbol, name, what) { name, what, estimator_##symbol },
	CANCEL_ESTIMATORS(X)
#undef X
};

enum {
#define X(symbol, name, what) POLICY_##symbol,
	CANCEL_POLICIES(X)
#undef X
};

enum {
#define X(symbol, name, what) ESTIMATOR_##symbol,
	CANCEL_ESTIMATORS(X)
#undef X
};

const struct cancel_policy *const cancel_policies[] = {
#define X(symbol, name, what) &policies[POLICY_##symbol],
	CANCEL_POLICIES(X)
#undef X
		NULL,
};

const struct cancel_estimator *const cancel_estimators[] = {
#define X(symbol, name, what) &estimators[ESTIMATOR_##symbol],
	CANCEL_ESTIMATORS(X)
#undef X
		NULL,
};

const struct cancel_policy *cancel_policy_find(const char *name)
{
	for (uint32_t i = 0; cancel_policies[i]; i++) {
		if (strcmp(cancel_policies[i]->name, name) == 0)
			return cancel_policies[i];
	}
	return NULL;
}

const struct cancel_estimator *cancel_estimator_find(const char *name)
{
	for (uint32_t i = 0; cancel_estimators[i]; i++) {
		if (strcmp(cancel_estimators[i]->name, name) == 0)
			return cancel_estimators[i];
	}
	return NULL;
}
