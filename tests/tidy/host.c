/* SPDX-License-Identifier: Apache-2.0 */
/* A host outside the tree, with functions whose names the library uses inside. */
#include <cancel/admission.h>
#include <cancel/observe.h>

int library_state;
void collect(void);
void log_line(void);
struct slot *slot_take(void);
void window_take(void);

void collect(void)
{
	library_state++;
}

void log_line(void)
{
	library_state++;
}

struct slot *slot_take(void)
{
	return 0;
}

void window_take(void)
{
	library_state++;
}

static void quiet(void *arg, const char *line)
{
	(void)arg;
	(void)line;
}

int main(void)
{
	struct cancel_config config = { .struct_size = sizeof config, .log = quiet };
	struct cancel_status status;
	if (startCancel(&config))
		return 1;
	struct cancel_resource table = createResource("table", CANCEL_LOCK, 0);
	struct cancel_task task = createCancel(0);
	getResource(table, CANCEL_SHARED);
	cancel_read_status(&status);
	freeResource(table, CANCEL_SHARED);
	freeCancel(task);
	return stopCancel() || !task.id || !status.running || !cancel_policy_find("greedy");
}
