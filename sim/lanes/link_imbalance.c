/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection-pool loop. Many clients share parallel links; each has a pool of connections,
 * hashed onto the links, and sends single requests and now and then a burst. A pool that hands out
 * the most recently returned connection first is sorted by every burst: what crossed the slowest
 * link comes back last and lies on top, so the next requests take that link too, from every client
 * at once. A short congestion of one link so feeds itself, though the links together have capacity
 * to spare. One line, least recently used, cures it. After the incident told by Bronson et al.,
 * Metastable Failures in Distributed Systems, HotOS 2021. Owns its small event loop.
 */
#include <stdlib.h>

#include "sim/base/dist.h"
#include "sim/base/events.h"
#include "sim/base/math.h"
#include "sim/base/memory.h"
#include "sim/base/rng.h"
#include "sim/base/stats.h"
#include "sim/lanes/lanes.h"

const struct sim_key sim_link_imbalance_keys[] = {
	{ "pool", SIM_KEY_CHOICES, "all", 0, 0, "mru|lru|random",
		"which idle connection is taken next" },
	{ "links", SIM_KEY_INT, "4", 2, 64, NULL, "parallel links" },
	{ "clients", SIM_KEY_INT, "50", 1, 10000, NULL, "each with a pool of its own" },
	{ "connections", SIM_KEY_INT, "16", 1, 10000, NULL, "of a pool, spread over the links" },
	{ "load", SIM_KEY_INT, "1200", 1, 1000000, NULL, "single requests a second (Poisson)" },
	{ "bursts_per_s", SIM_KEY_INT, "50", 0, 100000, NULL, "bursts a second (Poisson)" },
	{ "burst", SIM_KEY_INT, "12", 1, 10000, NULL, "requests of a burst" },
	{ "transfer_us", SIM_KEY_INT, "1000", 1, 1000000, NULL, "a request holds its link" },
	{ "server_us", SIM_KEY_INT, "5000", 1, 10000000, NULL,
		"and is worked on before, on average (exponential)" },
	{ "late_ms", SIM_KEY_INT, "50", 1, 1000000, NULL, "a request that takes longer is late" },
	{ "trigger_start_s", SIM_KEY_INT, "30", 0, 100000, NULL,
		"one link slows down, as when a neighbour bursts" },
	{ "trigger_ms", SIM_KEY_INT, "2000", 0, 1000000, NULL, "for so long" },
	{ "trigger_factor", SIM_KEY_INT, "10", 1, 1000, NULL, "to so many times the transfer" },
	{ "duration_s", SIM_KEY_INT, "180", 1, 10000, NULL, "arrivals end here" },
	{ 0 },
};

#define NOBODY UINT32_MAX

enum pool { MRU, LRU, RANDOM };

enum { SINGLE, BURST, WORKED, TRANSFERRED };

struct client {
	uint32_t *idle; /* a ring: taken from the back (MRU), the front (LRU), anywhere */
	size_t head, count;
	uint32_t wait_head, wait_tail; /* requests without a connection */
};

struct request {
	uint64_t arrived_ns;
	uint32_t next; /* waiting behind it */
};

struct links {
	enum pool pool;
	struct sim_rng rng;
	struct sim_events events;
	uint32_t links, client_count, connections; /* connections: of one client */
	struct client *clients;
	uint32_t *request_of; /* by connection */
	struct request *requests;
	struct sim_slab request_slab;
	uint64_t *free_ns; /* of a link */
	uint64_t *carried; /* requests of a link, this second */
	uint64_t load, bursts_per_s, burst, transfer_ns, duration_ns;
	struct sim_dist server;
	uint64_t late_ns, from_ns, until_ns, factor;
};

/* By second. */
struct second {
	uint32_t answered, late;
	uint32_t busiest; /* requests on the busiest link */
};

static uint32_t link_of(const struct links *l, uint32_t connection)
{
	return connection % l->connections % l->links;
}

static uint32_t take_idle(struct links *l, struct client *client)
{
	size_t at = client->head;
	if (l->pool == MRU)
		at = client->head + client->count - 1;
	else if (l->pool == RANDOM)
		at = client->head + sim_rng_below(&l->rng, client->count);
	uint32_t *slot = &client->idle[at % l->connections], taken = *slot;
	if (l->pool != MRU) { /* the one in front takes its place */
		*slot = client->idle[client->head % l->connections];
		client->head++;
	}
	client->count--;
	return taken;
}

static void begin(struct links *l, uint64_t now_ns, struct client *client, uint32_t request)
{
	uint32_t connection = take_idle(l, client);
	l->request_of[connection] = request;
	sim_events_add(&l->events, now_ns + sim_dist_draw(&l->server, &l->rng), SIM_RANK_COMPLETION,
		WORKED, connection, 0);
}

static void wait_for_connection(struct links *l, struct client *client, uint32_t request)
{
	l->requests[request].next = NOBODY;
	if (client->wait_head == NOBODY)
		client->wait_head = request;
	else
		l->requests[client->wait_tail].next = request;
	client->wait_tail = request;
}

static uint32_t new_request(struct links *l, uint64_t now_ns)
{
	uint32_t request;
	l->requests = sim_slab_take(&l->request_slab, l->requests, sizeof(*l->requests), &request);
	l->requests[request].arrived_ns = now_ns;
	return request;
}

static void on_arrival(struct links *l, uint64_t now_ns, uint32_t kind)
{
	uint64_t rate = kind == BURST ? l->bursts_per_s : l->load;
	uint64_t count = kind == BURST ? l->burst : 1;
	struct client *client = &l->clients[sim_rng_below(&l->rng, l->client_count)];
	int64_t gap = sim_round(-1e9 / (double)rate * sim_ln(1.0 - sim_rng_unit(&l->rng)));
	uint64_t next_ns = now_ns + (uint64_t)(gap < 1 ? 1 : gap);
	for (uint64_t i = 0; i < count; i++) {
		uint32_t request = new_request(l, now_ns);
		if (client->count > 0)
			begin(l, now_ns, client, request);
		else
			wait_for_connection(l, client, request);
	}
	if (next_ns < l->duration_ns)
		sim_events_add(&l->events, next_ns, SIM_RANK_ARRIVAL, kind, 0, 0);
}

static void on_worked(struct links *l, uint64_t now_ns, uint32_t connection)
{
	uint32_t link = link_of(l, connection);
	bool slow = link == 0 && now_ns >= l->from_ns && now_ns < l->until_ns;
	uint64_t start_ns = l->free_ns[link] > now_ns ? l->free_ns[link] : now_ns;
	l->free_ns[link] = start_ns + l->transfer_ns * (slow ? l->factor : 1);
	l->carried[link]++;
	sim_events_add(
		&l->events, l->free_ns[link], SIM_RANK_COMPLETION, TRANSFERRED, connection, 0);
}

static void on_transferred(
	struct links *l, uint64_t now_ns, uint32_t connection, struct second *second)
{
	struct client *client = &l->clients[connection / l->connections];
	uint32_t request = l->request_of[connection], waits = client->wait_head;
	second->answered++;
	second->late += now_ns - l->requests[request].arrived_ns > l->late_ns;
	sim_slab_give(&l->request_slab, request);
	client->idle[(client->head + client->count++) % l->connections] = connection;
	if (waits == NOBODY)
		return;
	client->wait_head = l->requests[waits].next;
	begin(l, now_ns, client, waits);
}

static void close_second(struct links *l, struct second *second)
{
	for (uint32_t link = 0; link < l->links; link++) {
		if (l->carried[link] > second->busiest)
			second->busiest = (uint32_t)l->carried[link];
		l->carried[link] = 0;
	}
}

/* A pool begins in the order its connections were opened, which differs from client to client. */
static void client_init(struct links *l, uint32_t index)
{
	struct client *client = &l->clients[index];
	*client = (struct client){ .wait_head = NOBODY, .wait_tail = NOBODY };
	client->idle = sim_alloc(l->connections, sizeof(*client->idle));
	for (uint32_t i = 0; i < l->connections; i++) {
		size_t at = sim_rng_below(&l->rng, client->count + 1);
		client->idle[client->count++] = client->idle[at];
		client->idle[at] = index * l->connections + i;
	}
}

static void links_init(struct links *l, struct sim_run *run, uint64_t seed)
{
	uint64_t from_ns = sim_ns(run, "trigger_start_s");
	*l = (struct links){
		.pool = (enum pool)sim_int(run, "pool"),
		.links = (uint32_t)sim_int(run, "links"),
		.client_count = (uint32_t)sim_int(run, "clients"),
		.connections = (uint32_t)sim_int(run, "connections"),
		.load = (uint64_t)sim_int(run, "load"),
		.bursts_per_s = (uint64_t)sim_int(run, "bursts_per_s"),
		.burst = (uint64_t)sim_int(run, "burst"),
		.transfer_ns = sim_ns(run, "transfer_us"),
		.server = { .shape = SIM_EXPONENTIAL, .mean = sim_ns(run, "server_us") },
		.duration_ns = sim_ns(run, "duration_s"),
		.late_ns = sim_ns(run, "late_ms"),
		.from_ns = from_ns,
		.until_ns = from_ns + sim_ns(run, "trigger_ms"),
		.factor = (uint64_t)sim_int(run, "trigger_factor"),
	};
	sim_rng_init(&l->rng, seed, 0);
	sim_events_init(&l->events);
	l->clients = sim_alloc(l->client_count, sizeof(*l->clients));
	l->request_of = sim_alloc((size_t)l->client_count * l->connections, sizeof(*l->request_of));
	l->free_ns = sim_alloc(l->links, sizeof(*l->free_ns));
	l->carried = sim_alloc(l->links, sizeof(*l->carried));
	for (uint32_t i = 0; i < l->client_count; i++)
		client_init(l, i);
}

static void links_free(struct links *l)
{
	for (uint32_t i = 0; i < l->client_count; i++)
		free(l->clients[i].idle);
	sim_events_free(&l->events);
	free(l->clients);
	free(l->request_of);
	free(l->requests);
	free(l->request_slab.free);
	free(l->free_ns);
	free(l->carried);
}

/* `seconds` has a row for each second of the duration. */
static void simulate(struct sim_run *run, uint64_t seed, struct second *seconds)
{
	struct links l;
	struct sim_clock clock;
	struct sim_event event;
	size_t at = 0;
	links_init(&l, run, seed);
	sim_clock_init(&clock, l.duration_ns - 1, run->events_limit);
	sim_events_add(&l.events, 0, SIM_RANK_ARRIVAL, SINGLE, 0, 0);
	if (l.bursts_per_s > 0)
		sim_events_add(&l.events, 0, SIM_RANK_ARRIVAL, BURST, 0, 0);
	while (sim_events_take(&l.events, &event) && event.at_ns < l.duration_ns &&
		sim_clock_advance(&clock, event.at_ns)) {
		while (event.at_ns / SIM_NS_PER_S > at)
			close_second(&l, &seconds[at++]);
		if (event.kind == SINGLE || event.kind == BURST)
			on_arrival(&l, event.at_ns, event.kind);
		else if (event.kind == WORKED)
			on_worked(&l, event.at_ns, event.who);
		else
			on_transferred(&l, event.at_ns, event.who, &seconds[at]);
	}
	sim_note_bound(run, sim_clock_bound(&clock), "%s:", sim_choice(run, "pool"));
	links_free(&l);
}

enum { ANSWERED, LATE, BUSIEST, FIGURES };

static void add_phase(
	struct sim_stats *found, const struct second *seconds, size_t from, size_t until)
{
	double answered = 0.0, late = 0.0, busiest = 0.0;
	for (size_t i = from; i < until; i++) {
		answered += seconds[i].answered;
		late += seconds[i].late;
		busiest += seconds[i].busiest;
	}
	if (until <= from || answered <= 0.0)
		return;
	const double values[FIGURES] = { answered / (double)(until - from), 100.0 * late / answered,
		100.0 * busiest / answered };
	sim_stats_add_each(found, values, FIGURES);
}

static void put_row(struct sim_run *run, struct sim_table *table, const char *phase,
	const struct sim_stats *found)
{
	SIM_ROW(table, SIM_TEXT(sim_choice(run, "pool")), SIM_TEXT(phase));
	sim_put_figures(table, found, FIGURES);
}

int sim_link_imbalance_run(struct sim_run *run)
{
	static const char *const swept[] = { "pool", NULL };
	static const char columns[] = "pool|phase|answered_qps|late_pct:1|ci95:1~ +-|"
				      "busiest_link_pct:1 of the requests";
	struct sim_table *table = sim_table(run, "link_imbalance",
		"Before, and long after, one link was slow for a moment", columns);
	struct sim_plot *plot = sim_report_plot(
		run->report, run->lane->what, "second", "late answers, %", SIM_AXIS_LINEAR);
	size_t seconds = (size_t)sim_int(run, "duration_s");
	size_t start = (size_t)sim_int(run, "trigger_start_s");
	size_t end = start + (size_t)sim_int(run, "trigger_ms") / 1000 + 1;
	size_t settled = end + (seconds > end ? (seconds - end) / 2 : 0);
	if (start >= seconds)
		start = seconds;
	for (size_t i = 0; sim_vary(run, swept, i); i++) {
		struct sim_stats before[FIGURES] = { 0 }, after[FIGURES] = { 0 };
		struct sim_series *series =
			sim_plot_series(plot, sim_choice(run, "pool"), SIM_LINES);
		for (uint32_t seed = 0; seed < run->seeds; seed++) {
			struct second *rows = sim_alloc(seconds, sizeof(*rows));
			simulate(run, run->seed + seed, rows);
			add_phase(before, rows, start > 1 ? 1 : 0, start);
			add_phase(after, rows, settled, seconds);
			for (size_t s = 0; seed == 0 && s < seconds; s++)
				sim_plot_point(series, (double)s,
					rows[s].answered > 0
						? 100.0 * rows[s].late / rows[s].answered
						: 100.0);
			free(rows);
		}
		put_row(run, table, "before", before);
		put_row(run, table, "after", after);
	}
	sim_note(run->report, "after: the last half of the time since the trigger ended.");
	return 0;
}
