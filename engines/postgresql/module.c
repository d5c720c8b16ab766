/* SPDX-License-Identifier: Apache-2.0 */
/* module.c - owns the settings, the shared memory and the registration of the worker. */
#include "pg_culprit.h"

#include "access/twophase.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

void _PG_init(void);

struct pg_culprit_shared *pg_culprit_shared;
bool pg_culprit_enabled = true, pg_culprit_end_idle, pg_culprit_exempt;
int pg_culprit_mode = PG_CULPRIT_MONITOR, pg_culprit_window_ms = 50, pg_culprit_slo_ms;

static shmem_request_hook_type next_request;
static shmem_startup_hook_type next_startup;

static const struct config_enum_entry modes[] = {
	{ "monitor", PG_CULPRIT_MONITOR, false },
	{ "act", PG_CULPRIT_ACT, false },
	{ NULL, 0, false },
};

/* Prepared transactions hold locks, too. */
static int slots_wanted(void)
{
	return MaxBackends + NUM_AUXILIARY_PROCS + max_prepared_xacts;
}

static Size bytes_wanted(void)
{
	return add_size(offsetof(struct pg_culprit_shared, slots),
		mul_size(slots_wanted(), sizeof(struct pg_culprit_slot)));
}

static void on_request(void)
{
	if (next_request)
		next_request();
	RequestAddinShmemSpace(add_size(bytes_wanted(), PG_CACHE_LINE_SIZE));
	RequestNamedLWLockTranche("pg_culprit", 1);
}

static void on_startup(void)
{
	bool found;
	if (next_startup)
		next_startup();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	pg_culprit_shared = ShmemInitStruct("pg_culprit", bytes_wanted(), &found);
	if (!found) {
		memset(pg_culprit_shared, 0, bytes_wanted());
		pg_culprit_shared->lock = &GetNamedLWLockTranche("pg_culprit")->lock;
		pg_culprit_shared->slot_count = slots_wanted();
		for (int i = 0; i < pg_culprit_shared->slot_count; i++)
			pg_atomic_write_u64(&pg_culprit_shared->slots[i].generation, 1);
	}
	LWLockRelease(AddinShmemInitLock);
}

static void on_slo(int value, void *extra)
{
	pg_culprit_publish_settings(value, pg_culprit_exempt);
}

static void on_exempt(bool value, void *extra)
{
	pg_culprit_publish_settings(pg_culprit_slo_ms, value);
}

static void define_settings(void)
{
	DefineCustomBoolVariable("pg_culprit.enabled", "Looks for culprits.", NULL,
		&pg_culprit_enabled, true, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("pg_culprit.mode",
		"Whether a culprit is named only (monitor) or cancelled (act).", NULL,
		&pg_culprit_mode, PG_CULPRIT_MONITOR, modes, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("pg_culprit.window", "Time between two looks at the locks.", NULL,
		&pg_culprit_window_ms, 50, 10, 60000, PGC_POSTMASTER, GUC_UNIT_MS, NULL, NULL,
		NULL);
	DefineCustomIntVariable("pg_culprit.slo",
		"Longest latency of a statement that is on time; 0: it is never late.",
		"Set it for the roles or databases of applications.", &pg_culprit_slo_ms, 0, 0,
		3600000, PGC_SUSET, GUC_UNIT_MS, NULL, on_slo, NULL);
	DefineCustomBoolVariable("pg_culprit.exempt", "Statements are never cancelled.",
		"They are named all the same.", &pg_culprit_exempt, false, PGC_SUSET, 0, NULL,
		on_exempt, NULL);
	DefineCustomBoolVariable("pg_culprit.end_idle_sessions",
		"Ends a culprit that is idle in a transaction.",
		"Such a session cannot be cancelled, only ended.", &pg_culprit_end_idle, false,
		PGC_SIGHUP, 0, NULL, NULL, NULL);
	MarkGUCPrefixReserved("pg_culprit");
}

static void register_worker(void)
{
	BackgroundWorker worker;
	memset(&worker, 0, sizeof worker);
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = 5;
	strlcpy(worker.bgw_library_name, "pg_culprit", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "pg_culprit_worker_main", BGW_MAXLEN);
	strlcpy(worker.bgw_name, "pg_culprit", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "pg_culprit", BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
}

void _PG_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	define_settings();
	next_request = shmem_request_hook;
	shmem_request_hook = on_request;
	next_startup = shmem_startup_hook;
	shmem_startup_hook = on_startup;
	pg_culprit_install_hooks();
	register_worker();
}
