/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache in front of a service's cached calls: entries that expire, and one flight a key when
 * asked for.
 */
#include <stdlib.h>

#include "sim/service/parts.h"

#define FLIGHT_EMPTY  1u /* in the air, nobody waits */
#define FLIGHT_WAITER 2u /* + index of the first that waits */

void cache_wipe(struct cache *cache, const struct sim_cache_options *options)
{
	for (uint32_t key = 0; key < options->keys; key++)
		cache->good_until_ns[key] = 0;
}

void cache_init(struct cache *cache, const struct sim_cache_options *options)
{
	if (options->keys == 0)
		return;
	cache->good_until_ns = sim_alloc(options->keys, sizeof(*cache->good_until_ns));
	cache->flight = sim_alloc(options->keys, sizeof(*cache->flight));
	sim_zipf_init(&cache->zipf, options->keys, options->exponent);
	/* Warm: ages spread evenly, as after a long healthy time. */
	for (uint32_t key = 0; options->starts_warm && key < options->keys; key++)
		cache->good_until_ns[key] = sim_hash(key) % options->ttl_ns;
}

void cache_free(struct cache *cache)
{
	free(cache->good_until_ns);
	free(cache->flight);
	if (cache->zipf.cumulative)
		sim_zipf_free(&cache->zipf);
}

bool cache_hit(struct sim_services *s, struct service *service, struct call *call)
{
	bool hit = service->cache.good_until_ns[s->tasks[call->task].key] > now_of(s);
	service->result.cache_asked++;
	service->result.cache_hit += hit;
	return hit;
}

void cache_fill(struct sim_services *s, struct service *service, struct call *call)
{
	const struct task *task = &s->tasks[call->task];
	const struct sim_cache_options *options = &service->options.cache;
	if (task->waiting || options->fill_late)
		service->cache.good_until_ns[task->key] = now_of(s) + options->ttl_ns;
}

bool cache_join(struct sim_services *s, struct service *service, uint32_t index)
{
	struct call *call = &s->calls[index];
	uint32_t *flight = &service->cache.flight[s->tasks[call->task].key];
	if (!service->options.cache.single_flight)
		return false;
	if (*flight == 0) {
		*flight = FLIGHT_EMPTY;
		call->owns_flight = true;
		return false;
	}
	call->next = *flight == FLIGHT_EMPTY ? NOBODY : *flight - FLIGHT_WAITER;
	*flight = index + FLIGHT_WAITER;
	return true;
}

uint32_t cache_land(struct sim_services *s, struct service *service, struct call *call)
{
	uint32_t *flight = &service->cache.flight[s->tasks[call->task].key];
	uint32_t first = *flight <= FLIGHT_EMPTY ? NOBODY : *flight - FLIGHT_WAITER;
	*flight = 0;
	call->owns_flight = false;
	return first;
}
