/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partition.h - a static partition: each class has its own slots.
 *
 * Purpose: the oldest isolation of all, and the honest floor for the others: a class can fill its
 * own slots and no one else's. Slots a class does not use stay idle, unless `shared` slots are set
 * aside that any class may take once its own are full.
 * Thread safety: none. Cost: O(1).
 * Source: bulkheads; static worker partitioning as compared with in Persephone (SOSP 2021).
 */
#ifndef CANCEL_ADMISSION_PARTITION_H
#define CANCEL_ADMISSION_PARTITION_H

#include <cancel/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CANCEL_PARTITION_CLASSES_MAX 16u

struct cancel_partition_options { /* zero = default, in brackets */
	size_t struct_size;
	uint32_t classes;			      /* required, 1 .. 16 */
	uint32_t slots[CANCEL_PARTITION_CLASSES_MAX]; /* [0] of each class */
	uint32_t shared;			      /* [0] for any class */
};

struct cancel_partition {
	uint32_t classes, shared, shared_used;
	uint32_t slots[CANCEL_PARTITION_CLASSES_MAX];
	uint32_t used[CANCEL_PARTITION_CLASSES_MAX]; /* shared ones included */
};

/* Returns 0, or CANCEL_EINVAL (no struct_size, classes out of range). */
CANCEL_MUST_CHECK int cancel_partition_init(
	struct cancel_partition *partition, const struct cancel_partition_options *options);
/* Takes a slot for a request of `class_index`, if there is one. */
bool cancel_partition_admit(
	struct cancel_partition *partition, uint64_t now_ns, uint32_t class_index);
/* A request of `class_index` ended and gives its slot back. */
void cancel_partition_observe(
	struct cancel_partition *partition, uint64_t now_ns, uint32_t class_index);

#ifdef __cplusplus
}
#endif
#endif
