/* SPDX-License-Identifier: Apache-2.0 */
/* What a run of services counts over time: probes of services, windows of traffics. */
#include "sim/service/parts.h"

struct sim_probe *probe_now(struct sim_services *s, struct service *service)
{
	static struct sim_probe nowhere; /* past the end, or no probes: counted for nobody */
	if (!service->probes)
		return &nowhere;
	size_t bin = now_of(s) / s->options.bin_ns;
	return bin < s->bins ? &service->probes[bin] : &nowhere;
}

/* Worker time up to now goes to the bins it was spent in. */
void service_busy(struct sim_services *s, struct service *service, int change)
{
	uint64_t from_ns = service->busy_since_ns, now_ns = now_of(s);
	while (service->probes && service->busy > 0 && from_ns < now_ns) {
		size_t bin = from_ns / s->options.bin_ns;
		uint64_t until_ns = (bin + 1) * s->options.bin_ns;
		until_ns = until_ns < now_ns ? until_ns : now_ns;
		if (bin < s->bins)
			service->probes[bin].busy_ns += (until_ns - from_ns) * service->busy;
		from_ns = until_ns;
	}
	service->busy_since_ns = now_ns;
	service->busy = (uint32_t)((int64_t)service->busy + change);
}

struct sim_traffic_window *window_now(struct sim_services *s, struct traffic *traffic)
{
	static struct sim_traffic_window nowhere;
	size_t second = now_of(s) / SIM_NS_PER_S;
	return second < s->seconds ? &traffic->windows[second] : &nowhere;
}
