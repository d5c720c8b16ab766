/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who gains by logging in again: user priorities drawn by session against a hash of the user that
 * rotates. One overloaded server behind a gate with 128 user levels; some users log in anew when
 * rejected.
 */
#include <stdlib.h>

#include <cancel/admission/dagor.h>

#include "sim/base/memory.h"
#include "sim/base/rng.h"
#include "sim/base/stats.h"
#include "sim/lanes/lanes.h"
#include "sim/setups/single_keys.h"

const struct sim_key sim_gaming_keys[] = {
	{ "scheme", SIM_KEY_CHOICES, "all", 0, 0, "user-hash|fixed-hash|session-dice",
		"a hash of the user that rotates, one that never does, dice thrown at each login" },
	{ "users", SIM_KEY_INT, "1000", 1, 1000000, NULL, "users, equally active" },
	{ "gamers_pct", SIM_KEY_INT, "20", 0, 100, NULL, "of them log in anew when rejected" },
	{ "relogins", SIM_KEY_INT, "3", 0, 100, NULL, "logins a gamer tries for one request" },
	{ "rotations", SIM_KEY_INT, "24", 1, 1000, NULL, "rotations simulated" },
	{ "rotate_s", SIM_KEY_INT, "100", 1, 100000, NULL,
		"a rotation lasts (the paper: an hour)" },
	{ "warm_up_s", SIM_KEY_INT, "200", 0, 100000, NULL,
		"whole rotations' worth, not measured: the gate settles" },
	SIM_KEY_LOAD("600"),
	SIM_KEYS_SERVER,
	{ 0 },
};

enum scheme { USER_HASH, FIXED_HASH, SESSION_DICE };

struct user {
	uint32_t sent, succeeded;
	uint32_t session;
	bool gamer;
};

struct game {
	enum scheme scheme;
	struct cancel_dagor gate;
	struct user *users;
	uint64_t user_count, interval_ns, warm_up_ns, seed;
	uint64_t relogins;
};

static struct user *user_of(struct game *game, uint64_t original)
{
	return &game->users[sim_hash(original ^ game->seed) % game->user_count];
}

static uint32_t level_of(struct game *game, uint64_t now_ns, const struct user *user)
{
	uint64_t id = (uint64_t)(user - game->users);
	/* A session lasts a rotation at most: the dice get their best form. */
	if (game->scheme == SESSION_DICE)
		return cancel_dagor_priority(
			&game->gate, now_ns, 0, sim_hash(id ^ game->seed) + user->session);
	return cancel_dagor_priority(&game->gate, game->scheme == USER_HASH ? now_ns : 0, 0, id);
}

static bool admit(void *state, uint64_t now_ns, const struct sim_attempt *attempt)
{
	struct game *game = state;
	struct user *user = user_of(game, attempt->original);
	if (attempt->attempt == 0 && now_ns >= game->warm_up_ns)
		user->sent++;
	return cancel_dagor_admit(&game->gate, now_ns, level_of(game, now_ns, user));
}

static bool allow_retry(void *state, uint64_t now_ns, const struct sim_attempt *attempt)
{
	struct game *game = state;
	struct user *user = user_of(game, attempt->original);
	if (!user->gamer)
		return false;
	user->session++;
	game->relogins += now_ns >= game->warm_up_ns;
	return true;
}

static void observe_queuing(void *state, uint64_t now_ns, uint64_t queuing_ns)
{
	struct game *game = state;
	cancel_dagor_observe(&game->gate, now_ns, queuing_ns);
}

static void served(void *state, const struct sim_attempt *attempt, uint64_t done_ns, bool in_time)
{
	struct game *game = state;
	(void)done_ns;
	if (in_time && attempt->original * game->interval_ns >= game->warm_up_ns)
		user_of(game, attempt->original)->succeeded++;
}

static int game_init(struct sim_run *run, struct game *game, uint64_t seed)
{
	struct cancel_dagor_options options = {
		.struct_size = sizeof(options),
		.business_levels = 1,
		.rotate_ns = sim_ns(run, "rotate_s"),
		.salt = seed,
	};
	uint64_t gamers_pct = (uint64_t)sim_int(run, "gamers_pct");
	*game = (struct game){
		.scheme = (enum scheme)sim_int(run, "scheme"),
		.user_count = (uint64_t)sim_int(run, "users"),
		.interval_ns = SIM_NS_PER_S / (uint64_t)sim_int(run, "load"),
		.warm_up_ns = sim_ns(run, "warm_up_s"),
		.seed = sim_hash(seed),
	};
	game->users = sim_alloc(game->user_count, sizeof(*game->users));
	for (uint64_t i = 0; i < game->user_count; i++)
		game->users[i].gamer = sim_hash(i ^ ~game->seed) % 100 < gamers_pct;
	return cancel_dagor_init(&game->gate, &options);
}

/* ---- What it comes to ---- */

enum {
	HONEST,
	GAMER,
	RELOGINS,
	GOODPUT,
	LOW,
	MEDIAN,
	HIGH,
	STARVED,
	FIGURES
}; /* LOW …: honest users */

static double share_pct(const struct user *user)
{
	return user->sent > 0 ? 100.0 * user->succeeded / user->sent : 0.0;
}

/* `series` may be NULL: the shares of honest users, sorted, by percent of them. */
static void count_users(struct game *game, struct sim_stats *found, struct sim_series *series)
{
	uint64_t *shares = sim_alloc(game->user_count, sizeof(*shares)), starved = 0;
	double sent[2] = { 0.0 }, succeeded[2] = { 0.0 };
	size_t honest = 0;
	for (uint64_t i = 0; i < game->user_count; i++) {
		const struct user *user = &game->users[i];
		sent[user->gamer] += user->sent;
		succeeded[user->gamer] += user->succeeded;
		if (user->gamer || user->sent == 0)
			continue;
		shares[honest++] = (uint64_t)(1000.0 * share_pct(user));
		starved += user->succeeded == 0;
	}
	if (sent[0] > 0.0)
		sim_stats_add(&found[HONEST], 100.0 * succeeded[0] / sent[0]);
	if (sent[1] > 0.0)
		sim_stats_add(&found[GAMER], 100.0 * succeeded[1] / sent[1]);
	sim_stats_add(&found[LOW], (double)sim_percentile(shares, honest, 5.0) / 1e3);
	sim_stats_add(&found[MEDIAN], (double)sim_percentile(shares, honest, 50.0) / 1e3);
	sim_stats_add(&found[HIGH], (double)sim_percentile(shares, honest, 95.0) / 1e3);
	sim_stats_add(&found[STARVED], honest > 0 ? 100.0 * (double)starved / (double)honest : 0.0);
	for (uint32_t percent = 1; series && honest > 0 && percent <= 100; percent++)
		sim_plot_point(series, percent,
			(double)sim_percentile(shares, honest, (double)percent) / 1e3);
	free(shares);
}

static int play(
	struct sim_run *run, uint64_t seed, struct sim_stats *found, struct sim_series *series)
{
	struct game *game = sim_alloc(1, sizeof(*game));
	struct sim_policy policy = { .state = game,
		.admit = admit,
		.allow_retry = allow_retry,
		.observe_queuing = observe_queuing };
	struct sim_causal_options options = { .policy = &policy,
		.retry_on_reject = true,
		.served = served,
		.served_state = game,
		.events_limit = run->events_limit };
	uint64_t measured_s =
		(uint64_t)sim_int(run, "rotations") * (uint64_t)sim_int(run, "rotate_s");
	struct sim_single single = sim_single_read(run, (uint64_t)sim_int(run, "load"));
	struct sim_windows windows;
	int status = game_init(run, game, seed);
	if (status == 0) {
		uint64_t goodput = 0, warm_s = (uint64_t)sim_int(run, "warm_up_s");
		single.retries = (uint32_t)sim_int(run, "relogins");
		single.duration_ns = (warm_s + measured_s) * SIM_NS_PER_S;
		sim_causal(&single, &options, &windows, NULL);
		for (size_t second = warm_s; second < windows.count; second++)
			goodput += windows.rows[second].goodput;
		sim_stats_add(&found[GOODPUT], (double)goodput / (double)measured_s);
		sim_stats_add(&found[RELOGINS], (double)game->relogins / (double)measured_s);
		count_users(game, found, series);
		sim_note_bound(run, windows.bound, "%s:", sim_choice(run, "scheme"));
		sim_windows_free(&windows);
	}
	free(game->users);
	free(game);
	return status;
}

static const char columns[] =
	"scheme|honest_pct:1 success|gamer_pct:1 success|gamer_ci95:1~ +-|"
	"relogins_per_s:1|goodput_qps:1|p5_pct:1 honest users|median_pct:1 honest users|"
	"p95_pct:1 honest users|starved_pct:1 honest users";

int sim_gaming_run(struct sim_run *run)
{
	struct sim_table *table = sim_table(run, "gaming",
		"Success of honest users and of those who log in anew; a user's share over all "
		"rotations",
		columns);
	struct sim_plot *plot =
		sim_report_plot(run->report, "What an honest user gets over all rotations",
			"honest users, %, the worst first", "success, %", SIM_AXIS_LINEAR);
	static const char *const swept[] = { "scheme", NULL };
	for (size_t i = 0; sim_vary(run, swept, i); i++) {
		struct sim_stats found[FIGURES] = { 0 };
		struct sim_series *series =
			sim_plot_series(plot, sim_choice(run, "scheme"), SIM_LINES);
		for (uint32_t seed = 0; seed < run->seeds; seed++)
			if (play(run, run->seed + seed, found, seed == 0 ? series : NULL) < 0)
				return sim_fail(run, "these settings make no gate");
		sim_key_row(run, table, swept);
		sim_put_figures(table, found, FIGURES);
	}
	sim_note(run->report, "A relogin is a login, the request of the highest priority; its own "
			      "cost is not charged here, so the dice look better than they are.");
	sim_note(run->report,
		"p5, median, p95: an honest user's success over %s rotations; "
		"starved: not one success.",
		sim_text(run, "rotations"));
	return 0;
}
