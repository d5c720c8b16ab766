/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the table of signatures. */
#include "demo-db/server/dialect/signatures.h"

#include <pthread.h>
#include <string.h>

#define SLOTS 1024

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	uint64_t signature;
	char text[SIGNATURE_TEXT_MAX];
} slots[SLOTS];

void signatures_note(uint64_t signature, const char *sql, size_t bytes)
{
	size_t kept = bytes < SIGNATURE_TEXT_MAX ? bytes : SIGNATURE_TEXT_MAX - 1;
	while (kept < bytes && kept && ((unsigned char)sql[kept] & 0xc0) == 0x80)
		kept--; /* never half a character */
	pthread_mutex_lock(&lock);
	slots[signature % SLOTS].signature = signature;
	memcpy(slots[signature % SLOTS].text, sql, kept);
	slots[signature % SLOTS].text[kept] = '\0';
	pthread_mutex_unlock(&lock);
}

bool signatures_find(uint64_t signature, char text[SIGNATURE_TEXT_MAX])
{
	pthread_mutex_lock(&lock);
	bool known = signature && slots[signature % SLOTS].signature == signature;
	if (known)
		memcpy(text, slots[signature % SLOTS].text, SIGNATURE_TEXT_MAX);
	pthread_mutex_unlock(&lock);
	return known;
}
