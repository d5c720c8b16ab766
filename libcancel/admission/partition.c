/* SPDX-License-Identifier: Apache-2.0 */
/* The static partition: counts of slots. */
#include <cancel/admission/partition.h>

#include "libcancel/base/struct_size.h"

int cancel_partition_init(
	struct cancel_partition *partition, const struct cancel_partition_options *options)
{
	struct cancel_partition_options o;
	if (!struct_size_read(&o, sizeof o, options) || !o.classes ||
		o.classes > CANCEL_PARTITION_CLASSES_MAX)
		return CANCEL_EINVAL;
	*partition = (struct cancel_partition){ .classes = o.classes, .shared = o.shared };
	memcpy(partition->slots, o.slots, sizeof partition->slots);
	return 0;
}

bool cancel_partition_admit(
	struct cancel_partition *partition, uint64_t now_ns, uint32_t class_index)
{
	(void)now_ns;
	if (class_index >= partition->classes)
		return false;
	if (partition->used[class_index] >= partition->slots[class_index]) {
		if (partition->shared_used >= partition->shared)
			return false;
		partition->shared_used++;
	}
	partition->used[class_index]++;
	return true;
}

void cancel_partition_observe(
	struct cancel_partition *partition, uint64_t now_ns, uint32_t class_index)
{
	(void)now_ns;
	if (class_index >= partition->classes || !partition->used[class_index])
		return;
	if (partition->used[class_index] > partition->slots[class_index])
		partition->shared_used--;
	partition->used[class_index]--;
}
