/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scene.h - the worlds of the corpus: a server with workers, tables and a page pool, requests with
 * an SLO, and what a family puts beside them.
 *
 * A scene is a function of its name alone: the name's hash is the seed of all that is drawn.
 */
#ifndef CORPUS_SCENE_H
#define CORPUS_SCENE_H

#include "sim/world/world.h"

#define SCENE_CLIENTS 40
#define SCENE_SCRIPTS 40
#define SCENE_TABLES  8u
#define SCENE_GRAIN   100000u /* ns: times are whole tenths of a millisecond */
#define SCENE_WHAT    200

enum scene_resource { WORKERS, TABLES, POOL, DEVICE, SCENE_RESOURCES };

struct scene_draw { /* of a client's requests: args are a service time and a table */
	struct sim_dist service;
	uint32_t tables;
};

struct scene {
	char what[SCENE_WHAT];
	bool culprit, decoy; /* neither: healthy */
	uint32_t seconds;
	struct sim_rng rng;
	struct sim_world_options options;
	struct sim_resource_options resources[SCENE_RESOURCES];
	struct sim_step steps[SCENE_SCRIPTS][8];
	struct sim_script scripts[SCENE_SCRIPTS];
	struct sim_client_options clients[SCENE_CLIENTS];
	struct scene_draw draws[SCENE_CLIENTS];
	uint32_t script_count, client_count;

	/* The requests, as drawn. */
	uint32_t workers;
	double load; /* share of the workers that requests keep busy */
	uint64_t service_ns, slo_ns;
	uint32_t rate; /* a second */

	/* Which clients' tasks are culprits, on what; all of one client, or of all, one incident. */
	uint64_t culprits; /* bit by client */
	enum scene_resource on;
	bool waiter;	   /* it is the wait that harms */
	bool one_incident; /* of all culprits together */
};

struct scene_family {
	const char *name;
	uint32_t count;
	double rate_most; /* requests a second: what a record takes grows with them */
	void (*build)(struct scene *s);
};
extern const struct scene_family scene_families[]; /* ends with a NULL name */

/* `attempt` is drawn with the name: another one is another scene of the family. */
void scene_build(
	struct scene *s, const struct scene_family *family, uint32_t number, uint32_t attempt);

/* ---- Parts of scenes (parts.c) --------------------------------------------------------------- */

uint32_t draw_between(struct scene *s, uint32_t least, uint32_t most);
uint64_t draw_ns(struct scene *s, double least_s, double most_s); /* whole grains, evenly by size */
bool draw_chance(struct scene *s, uint32_t percent);

/* Workers, tables and pool; the options of the world. */
void add_server(struct scene *s, double rate_most);
/* Requests of the drawn load: of each hundred so many use a table, shared or exclusive. */
void add_requests(
	struct scene *s, uint32_t shared_percent, uint32_t exclusive_percent, uint32_t tables);
/* The same requests at another rate, from when to when. */
void add_burst(struct scene *s, uint64_t from_ns, uint64_t until_ns, double load);
/* A script of these steps. */
uint32_t add_script(struct scene *s, const struct sim_step *steps, uint32_t count);
/* One task, at a time; returns its client. */
uint32_t add_task(struct scene *s, const char *name, uint32_t script, uint64_t at_ns);
/* So many harmless tasks, each on a worker, for most of the scene. */
void add_long_tasks(struct scene *s, uint32_t count);
void add_culprit(struct scene *s, uint32_t client);
void say(struct scene *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
