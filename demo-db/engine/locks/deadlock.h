/* SPDX-License-Identifier: Apache-2.0 */
/* deadlock.h - finds sessions none of which can ever go on, and ends one wait. */
#ifndef DEMO_DB_DEADLOCK_H
#define DEMO_DB_DEADLOCK_H

#include "demo-db/engine/locks/worker.h"

struct deadlock_search { /* the housekeeper's alone */
	struct deadlock_node *nodes;
	uint32_t capacity;
	uint64_t check_ns; /* waits younger than this are not looked at */
};

void deadlock_destroy(struct deadlock_search *search);
/* One search over table locks, global lock, write lock and worker slots. True: a victim was chosen;
 * its wait ends with DB_EDEADLOCK. Cheap when nobody waits long. */
bool deadlock_resolve(
	struct deadlock_search *search, struct lock_space *space, struct workers *workers);

#endif
