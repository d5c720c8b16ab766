/* SPDX-License-Identifier: Apache-2.0 */
/* Breakwater's server side: the credit pool and how it is dealt out. */
#include <cancel/admission/breakwater.h>

#include "libcancel/base/fixed.h"
#include "libcancel/base/struct_size.h"

#define TARGET_NS_DEFAULT  80000u
#define RTT_NS_DEFAULT	   10000u
#define ADD_PPM_DEFAULT	   1000u
#define CUT_PPM_DEFAULT	   20000u
#define CLIENT_MAX_DEFAULT 64u
#define CUT_MAX_PPM	   500000u /* at most half a round trip */

int cancel_breakwater_init(
	struct cancel_breakwater *server, const struct cancel_breakwater_options *options)
{
	struct cancel_breakwater_options o;
	if (!struct_size_read(&o, sizeof o, options) || o.cut_ppm > CANCEL_PPM)
		return CANCEL_EINVAL;
	if (!o.target_ns)
		o.target_ns = TARGET_NS_DEFAULT;
	if (!o.min_credits)
		o.min_credits = 1;
	if (!o.start_credits)
		o.start_credits = o.min_credits;
	*server = (struct cancel_breakwater){
		.target_ns = o.target_ns,
		.drop_ns = o.drop_ns ? o.drop_ns : fixed_times(o.target_ns, 2),
		.rtt_ns = o.rtt_ns ? o.rtt_ns : RTT_NS_DEFAULT,
		.add_ppm = o.add_ppm ? o.add_ppm : ADD_PPM_DEFAULT,
		.cut_ppm = o.cut_ppm ? o.cut_ppm : CUT_PPM_DEFAULT,
		.min_credits = o.min_credits,
		.client_max = o.client_max ? o.client_max : CLIENT_MAX_DEFAULT,
		.pool_micro = (uint64_t)o.start_credits * CANCEL_PPM,
		.next_update_ns = o.start_ns,
	};
	return 0;
}

void cancel_breakwater_join(
	struct cancel_breakwater *server, struct cancel_breakwater_client *client)
{
	client->credits = 0;
	server->clients++;
}

void cancel_breakwater_leave(
	struct cancel_breakwater *server, struct cancel_breakwater_client *client)
{
	server->issued = fixed_minus(server->issued, client->credits);
	client->credits = 0;
	server->clients = (uint32_t)fixed_minus(server->clients, 1);
}

void cancel_breakwater_observe(struct cancel_breakwater *server, uint64_t now_ns, uint64_t delay_ns)
{
	const uint64_t floor_micro = (uint64_t)server->min_credits * CANCEL_PPM;
	const uint64_t most = (uint64_t)server->clients * server->client_max;
	const uint64_t limit_micro = fixed_times(most, CANCEL_PPM);
	if (now_ns < server->next_update_ns)
		return;
	server->next_update_ns = fixed_plus(now_ns, server->rtt_ns);
	if (delay_ns >= server->target_ns) {
		const uint64_t over_ns = delay_ns - server->target_ns;
		const uint64_t cut_ppm = fixed_times(over_ns, server->cut_ppm) / server->target_ns;
		const uint32_t bounded_ppm =
			cut_ppm < CUT_MAX_PPM ? (uint32_t)cut_ppm : CUT_MAX_PPM;
		server->pool_micro -= fixed_part(server->pool_micro, bounded_ppm);
	} else {
		server->pool_micro += (uint64_t)server->clients * server->add_ppm;
	}
	if (server->pool_micro > limit_micro)
		server->pool_micro = limit_micro;
	if (server->pool_micro < floor_micro)
		server->pool_micro = floor_micro;
}

bool cancel_breakwater_admit(
	const struct cancel_breakwater *server, uint64_t now_ns, uint64_t delay_ns)
{
	(void)now_ns;
	return delay_ns < server->drop_ns;
}

uint32_t cancel_breakwater_grant(
	struct cancel_breakwater *server, struct cancel_breakwater_client *client, uint32_t demand)
{
	const uint64_t pool = server->pool_micro / CANCEL_PPM;
	const uint64_t open = fixed_minus(pool, server->issued);
	const uint64_t share = server->clients ? open / server->clients : 0;
	const uint64_t wanted = demand + (share ? share : 1); /* a little more: overcommitment */
	uint64_t credits = client->credits;
	if (server->issued < pool)
		credits = wanted < credits + open ? wanted : credits + open;
	else if (server->issued > pool && credits)
		credits--;
	if (credits > wanted)
		credits = wanted;
	if (credits > server->client_max)
		credits = server->client_max;
	server->issued = fixed_minus(server->issued, client->credits) + credits;
	client->credits = (uint32_t)credits;
	return client->credits;
}
