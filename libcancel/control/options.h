/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - every option in one table: its range, its environment variable, may it change live.
 */
#ifndef CANCEL_CONTROL_OPTIONS_H
#define CANCEL_CONTROL_OPTIONS_H

#include <cancel/observe.h>

#define OPTION_PATH_MAX 256

struct options {       /* as they are in force: nothing is 0 for "default" any more */
	uint32_t mode; /* enum cancel_mode */
	uint32_t window_ms, max_tasks, rerun_max_ms, action_max_ms;
	uint32_t thread_cancel, no_precise, always_precise, record_flight; /* 0 or 1 */
	char policy[CANCEL_NAME_MAX], estimator[CANCEL_NAME_MAX];
	char journal[OPTION_PATH_MAX], record[OPTION_PATH_MAX];
	bool record_must; /* the host gave the path: it must work */
	struct cancel_pipeline_config pipeline;
	uint32_t class_count;
	struct {
		char name[CANCEL_NAME_MAX];
		uint64_t slo_ns;
		bool exempt, by_name;
		uint8_t rank;
	} classes[CANCEL_CLASSES_MAX];
	void (*log)(void *arg, const char *line);
	void *log_arg;
};

/* Says one line about an override that does not parse, or a threshold out of its range. */
typedef void (*option_complaint)(const struct options *o, const char *line);

/* The host's configuration under the environment's overrides. 0 or CANCEL_EINVAL. */
int options_read(struct options *o, const struct cancel_config *config, option_complaint complain);

/* Sets one option by name. 0, CANCEL_EINVAL, or CANCEL_ESTATE: `live` and fixed at start. */
int options_set(struct options *o, const char *name, const char *value, bool live);

/* What an option takes, as text; CANCEL_ENOTASK: there is no such option. */
int options_choices(const struct options *o, const char *name, char text[CANCEL_TEXT_MAX]);

/* Text of option `index`; CANCEL_ENOTASK past the end. */
int options_text(const struct options *o, uint32_t index, const char **name,
	char value[CANCEL_TEXT_MAX], bool *writable);

#endif
