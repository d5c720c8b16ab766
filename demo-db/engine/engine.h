/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - the database engine as a library: what the benchmark and the server call.
 *
 * An engine serves one data folder. Clients open sessions; a session runs one statement at a time,
 * asynchronously on the engine's workers (db_submit) or on the calling thread (db_execute). Results
 * arrive through callbacks. Isolation is READ COMMITTED unless a transaction asks for more.
 *
 * Threads: every call may come from any thread; one session is used by one thread at a time, except
 * for db_cancel_session, which is for other threads. Callbacks run on the thread that executes the
 * statement, with no lock of the engine held; on_done may submit the session's next statement. On a
 * worker it runs while the slot is still held: it must be short and wait for no other statement.
 *
 * Errors: 0 or a negative db_error; a result carries the SQLSTATE and one line of text besides.
 * The rules behind all this, one by one: docs/demo-db.md.
 */
#ifndef DEMO_DB_ENGINE_H
#define DEMO_DB_ENGINE_H

#include "demo-db/engine/base/errors.h"

#include <cancel/cancel.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DB_STATEMENTS_MAX 256 /* registered with db_prepare */
#define DB_TABLES_MAX	  512 /* names that can carry a table lock */
#define DB_PRIORITIES	  4   /* levels of the worker queue, 0 served first */
#define DB_TENANTS	  64  /* who share the workers of one priority evenly */
#define DB_RESERVED_SLOTS 2   /* worker slots beyond `workers`, for the resume queue */
#define DB_PAGE_BYTES	  4096

/* ---- The engine ------------------------------------------------------------------------------ */

struct db_engine;
struct db_session;
struct sqlite3;

enum db_io {		/* how pages are read from the file */
	DB_IO_AUTO,	/* O_DIRECT where the file system has it, else buffered with latency */
	DB_IO_DIRECT,	/* O_DIRECT or an error */
	DB_IO_BUFFERED, /* through the operating system's cache, plus read_latency_ns */
	DB_IO_PLAIN,	/* no pool: SQLite's own VFS and caches */
};

struct db_options { /* zero = default, given in brackets; struct_size must be set */
	size_t struct_size;
	const char *data_dir;	    /* required; holds demo.db; made if missing */
	uint64_t pool_bytes;	    /* [64 MiB] page pool */
	enum db_io io;		    /* [auto] */
	uint64_t read_latency_ns;   /* [100 us] of a buffered page read */
	uint32_t read_ahead_pages;  /* [64] of sequential scans; 1 = none */
	uint32_t midpoint_percent;  /* [0] share of the LRU list below the insertion point */
	uint32_t workers;	    /* [8] worker slots; the reserved ones come on top */
	uint32_t queue_limit;	    /* [1024] waiting statements before DB_EQUEUE */
	uint32_t session_limit;	    /* [1024] */
	uint32_t connection_limit;  /* [workers + 256] SQLite connections */
	uint64_t lock_timeout_ns;   /* [60 s] of one lock wait */
	uint64_t deadlock_check_ns; /* [50 ms] a wait this old is looked at */
	uint64_t wal_limit_bytes;   /* [8 MiB] checkpoints keep the log below, readers permitting */
	uint64_t statement_memory_max; /* [16 MiB] largest SQLite cache granted to one statement */
	uint64_t memory_budget_bytes; /* [none] of all grants: a plan beyond it is refused, 53200 */
	uint32_t outgrown_factor;     /* [none] cancel what takes so many times its grant */
	uint32_t gentle_frames;	      /* [64] pool frames all gentle statements together may fill */
	bool no_checkpoint;	      /* no background checkpoints (tests) */
	bool no_action;		      /* tasks get no cancel action and are not cancellable */
	bool sync_commits;	      /* fsync the log at each commit: survive a power cut too */
	bool read_only;
	void (*log)(void *arg, const char *line); /* NULL: stderr; rare lines */
	void *log_arg;
	/* The host's functions and virtual tables, on each new SQLite connection: 0 or an SQLite
	 * error. Any thread; it must not run statements. */
	int (*on_connection)(void *arg, struct sqlite3 *db);
	void *on_connection_arg;
	/* The host's functions, tables and modules that only a request with DB_CONTROL may call or
	 * change, and nobody may redefine. NULL: none. */
	bool (*is_guarded)(const char *name);
	/* The calling thread is about to sleep for a lock inside db_execute: a host whose threads
	 * serve others can let another take over. Takes leaf locks only, calls nothing here. */
	void (*on_wait)(void *arg);
	void *on_wait_arg;
};

/* For the host's tables and functions: what this thread prepares and steps between `true` and
 * `false` (they nest) reads SQLite's schema and nobody's table, so it takes no locks. */
void db_reads_schema(bool on);
/* For the same: a number that grows when the connection of the statement this thread runs compiles
 * another or compiles it again, which it does before it runs in a changed schema: as long as it is
 * the same, what was looked up in the schema holds. 0: no statement is run. */
uint64_t db_compile_number(void);
/* For a function of a statement that this thread runs: true after so long, false at once when the
 * statement is cancelled. It keeps its worker. */
bool db_sleep(uint64_t ns);
/* How many statements this thread has begun to run. */
uint64_t db_run_number(void);

/* Opens the data folder and starts the workers. 0, or a negative error with one line of at most
 * DB_MESSAGE_MAX bytes in `message` (may be NULL). Nothing is left behind on error. Call
 * cancel_start first for the engine to be tracked. */
int db_open(struct db_engine **engine, const struct db_options *options,
	char *message) CANCEL_MUST_CHECK;
/* Every session must be closed. Waits for background work; leaves no log file behind if it can. */
void db_close(struct db_engine *engine);

/* The resources the engine registered with libcancel; zero ids in a build without it. */
struct db_resources {
	struct cancel_resource table_locks; /* LOCK, instance = table (db_table_name) */
	struct cancel_resource global_lock; /* LOCK */
	struct cancel_resource write_gate;  /* LOCK */
	struct cancel_resource workers;	    /* QUEUE, capacity = workers */
	struct cancel_resource pool;	    /* MEMORY, units = pages */
};
struct db_resources db_resources(const struct db_engine *engine);
const char *db_table_name(const struct db_engine *engine, uint32_t instance); /* NULL: none */

struct db_stats { /* counters since db_open unless said otherwise */
	/* pool; all zero with DB_IO_PLAIN */
	uint64_t pool_frames, pool_used, pool_hits, pool_misses, pool_evictions, pool_read_ahead;
	uint64_t pool_ghost_hits; /* misses of a page somebody evicted recently */
	uint64_t pool_bypasses;	  /* reads that found no free frame */
	uint64_t wal_page_reads;  /* pages read from the log, which pass the pool by */
	bool io_direct;
	char io[40]; /* for results: "O_DIRECT", "buffered + 100 us", "none" */
	/* statements */
	uint64_t statements, commits, rollbacks, errors, cancelled, reruns, rerun_drops;
	uint64_t deadlocks, lock_timeouts, serialization_failures, lock_set_retries;
	/* now */
	uint32_t workers, slots_used, queued, resume_queued, waiting_rerun, sessions, connections;
	uint32_t lock_waiters, gate_waiters, idle_in_transaction;
	uint64_t statement_bytes; /* SQLite memory of running statements */
	uint64_t memory_budget_bytes, memory_granted_bytes; /* of grants, idle ones included */
	uint64_t memory_evicted_bytes; /* clean pages of idle connections given up for others */
	uint64_t memory_refused,
		memory_cancelled; /* plans refused, statements that outgrew theirs */
	/* waits */
	uint64_t lock_waits, lock_wait_ns, gate_waits, gate_wait_ns, global_waits, global_wait_ns;
	/* log and background work */
	uint64_t wal_bytes, wal_bytes_peak, checkpoints, checkpoints_gated, checkpoint_ns;
	uint64_t checkpoint_gated_bytes_peak; /* most that was copied with writers kept out */
	uint64_t log_throttle_ns; /* writers waited so long for a log beyond its limit */
	uint64_t backups, backup_failures;
};
void db_stats(struct db_engine *engine, struct db_stats *stats);

/* ---- Statements ------------------------------------------------------------------------------ */

struct db_statement { /* zero = none */
	uint32_t id;
};

/* Registers one SQL statement; the same text gives the same id. Each connection compiles it once.
 */
int db_prepare(struct db_engine *engine, const char *sql, struct db_statement *statement,
	char *message) CANCEL_MUST_CHECK;

enum db_type { DB_NULL, DB_INTEGER, DB_REAL, DB_TEXT, DB_BLOB };

struct db_value {
	enum db_type type;
	uint32_t length; /* bytes of text or blob */
	union {
		int64_t integer;
		double real;
		const void *data; /* text is UTF-8, not terminated when a parameter */
	};
};

/* A row while its callback runs. Values live until the callback returns. */
struct db_row;
uint32_t db_row_columns(const struct db_row *row);
struct db_value db_row_value(const struct db_row *row, uint32_t column);
int64_t db_row_integer(const struct db_row *row, uint32_t column);
double db_row_real(const struct db_row *row, uint32_t column);
const char *db_row_text(const struct db_row *row, uint32_t column); /* NULL for SQL NULL */
const char *db_row_name(const struct db_row *row, uint32_t column);
const char *db_row_declared(const struct db_row *row, uint32_t column); /* type, or NULL */

/* Forgets the session's temporary objects. DB_EACTIVE inside a block that has some. */
int db_discard_temp(struct db_session *session) CANCEL_MUST_CHECK;

/* Parameters and result columns of a statement, without running it: `on_columns` is called once
 * with a row that has names and declared types but no values (not at all if it returns none).
 * `checks` as in a request. */
typedef int (*db_row_callback)(void *arg, const struct db_row *row);
int db_describe(struct db_session *session, const char *sql, const char *checks,
	uint32_t *parameter_count, db_row_callback on_columns, void *arg,
	char *message) CANCEL_MUST_CHECK;

/* The CREATE VIEW a view was made with; malloc'ed, NULL: there is no such view, or no memory. */
char *db_view_sql(struct db_session *session, const char *name);

enum db_request_flags {
	DB_BACKGROUND = 1u << 0,  /* a background task: bears no SLO, waits longest for a rerun */
	DB_NO_RERUN = 1u << 1,	  /* after a cancel answer 57014, never run it again */
	DB_EXEMPT = 1u << 2,	  /* not cancellable by libcancel */
	DB_GENTLE = 1u << 3,	  /* scan through a small ring of pool frames */
	DB_VIEW = 1u << 4,	  /* a system view: resume queue, bears no SLO, never cancelled */
	DB_HAND_OVER = 1u << 5,	  /* db_execute: when no worker slot is free at once, queue it */
	DB_FAIL_BLOCK = 1u << 6,  /* the host found an error itself: fail the open block */
	DB_CONTROL = 1u << 7,	  /* may use what the host guards (db_options.is_guarded) */
	DB_SPARE_BLOCK = 1u << 8, /* what does not compile leaves an open block as it was */
};

struct db_result {
	int status; /* 0 or a negative db_error */
	char sqlstate[6];
	const char *message; /* one line, "" if none; lives until on_done returns */
	int error_offset;    /* byte of the SQL text the error points at, -1 unknown */
	const char *tag;     /* SELECT, INSERT, BEGIN … as PostgreSQL's command tag names it */
	uint64_t rows;	     /* returned */
	int64_t changes;     /* rows inserted, updated, deleted */
	bool cancelled;	     /* ended by a cancel (libcancel's or a client's) */
	bool by_library;     /* … by libcancel */
	bool while_idle;     /* … that hit the block before this statement came */
	uint32_t reruns;     /* times it was run again after a cancel */
	char transaction;    /* state afterwards: 'I' idle, 'T' in a block, 'E' failed block */
	/* Where the time went. All count from arrival_ns; their sum is done_ns - arrival_ns less
	 * what the callbacks and the scheduler took. */
	uint64_t arrival_ns, start_ns, done_ns;
	uint64_t queue_ns, lock_ns, gate_ns, execute_ns, commit_ns, rerun_wait_ns;
	uint64_t memory_peak_bytes;
};

/* Everything it points to must live until on_done. Zero = default. */
struct db_request {
	size_t struct_size;
	struct db_statement statement; /* or, when zero, … */
	const char *sql;	       /* … one statement of text, NUL-terminated */
	const char *checks; /* queries that must compile, or it does not run; NULL: none */
	const struct db_value *parameters;
	uint32_t parameter_count;
	uint32_t flags;	     /* enum db_request_flags */
	uint64_t arrival_ns; /* cancel_now_ns() it was due; 0 = now. Latency counts from here */
	uint64_t slo_ns;     /* 0: the class's */
	uint64_t lock_timeout_ns; /* of each of its lock waits; 0: the session's */
	uint64_t signature;	  /* of what it runs; 0: hash of the SQL text */
	uint64_t sql_hash;	  /* the same for the same text, to find it again; 0: computed */
	uint64_t key;		  /* the host's name for the task; 0: the session's number */
	uint64_t expected_rows;	  /* rows it will examine, for its progress; 0: from the plan */
	/* In place of SQL: a function of the host that occupies a worker slot, such as a report or
	 * a compression. It touches no SQLite and returns 0 or a negative db_error. Only
	 * pthread_cancel can stop it (cancel_config.thread_cancel): it is enabled while it runs,
	 * deferred as POSIX has it, and the function cleans up after itself. */
	int (*function)(void *arg);
	uint8_t class_index;	    /* of cancel_config.classes */
	uint8_t priority;	    /* [0] < DB_PRIORITIES */
	uint8_t tenant;		    /* [0] < DB_TENANTS */
	db_row_callback on_columns; /* once before the first row, also when there is none */
	db_row_callback on_row;	    /* non-zero stops the statement; NULL: rows are counted only.
				     * Once a row was handed out the statement is not rerunnable */
	/* Once, when it first has a worker slot, on the thread that is about to run it: how long it
	 * waited for that slot. */
	void (*on_start)(void *arg, uint64_t now_ns, uint64_t queued_ns);
	void (*on_done)(void *arg, const struct db_result *result);
	void *arg; /* of them all */
};

/* ---- Sessions -------------------------------------------------------------------------------- */

enum db_task_unit {
	DB_TASK_TRANSACTION, /* one task a transaction; in autocommit, a statement */
	DB_TASK_SESSION,     /* one task a session */
};

struct db_session_options {
	size_t struct_size;
	enum db_task_unit task_unit;
	uint64_t lock_timeout_ns; /* 0: the engine's */
	uint64_t key;		  /* of DB_TASK_SESSION */
	uint8_t class_index;	  /* of DB_TASK_SESSION */
	bool read_only;
};

int db_session_open(struct db_engine *engine, const struct db_session_options *options,
	struct db_session **session) CANCEL_MUST_CHECK;
/* Rolls back what is open. The session must run nothing; cancel and await on_done first. */
void db_session_close(struct db_session *session);
uint64_t db_session_number(const struct db_session *session);  /* never reused */
char db_session_transaction(const struct db_session *session); /* 'I', 'T', 'E' */
/* Its block was cancelled while it was idle and its client does not know: the next statement but
 * ROLLBACK, whatever it is, answers that. A host that refuses statements of a failed block by
 * itself asks first. */
bool db_session_untold(const struct db_session *session);
uint32_t db_session_savepoints(const struct db_session *session); /* that its block has set */

/* Queues the statement; on_done follows exactly once, always from a worker. A negative return
 * means it was not taken and no callback will run (DB_EBUSY, DB_EQUEUE, DB_EINVAL …). */
int db_submit(struct db_session *session, const struct db_request *request) CANCEL_MUST_CHECK;

/* Runs the statement and returns its status. On the calling thread, without a hand-over, once a
 * worker slot is free; on_done, if any, runs before the return. `result` may be NULL; its message
 * lives until the session's next statement. */
int db_execute(
	struct db_session *session, const struct db_request *request, struct db_result *result);
/* With DB_HAND_OVER: DB_QUEUED when no slot was free. Then the request must live on, and on_done
 * follows from a worker; it is not called for what ran at once. For a thread that serves others. */
#define DB_QUEUED 1

/* The client's own cancel, by any thread while the session is open. Hits the statement that runs
 * now or waits, never the next one; true if there was one. It ends with 57014, without a rerun. */
bool db_cancel_session(struct db_session *session);
/* The same, and a transaction that is idle between statements is rolled back at once. */
bool db_abort_session(struct db_session *session);
/* Other than 0 from the moment a cancel, anybody's, hits the statement that runs; for callbacks
 * that wait for something. Lives as long as the session. */
const _Atomic uint8_t *db_session_cancelled(const struct db_session *session);

enum db_wait {
	DB_WAIT_NONE,
	DB_WAIT_QUEUE,
	DB_WAIT_GLOBAL,
	DB_WAIT_TABLE,
	DB_WAIT_GATE,
	DB_WAIT_RERUN
};

/* What runs now, for a rival policy or a system view. */
struct db_activity {
	uint64_t session_number, key, signature;	   /* signature: while it runs */
	uint64_t statement_start_ns, transaction_start_ns; /* arrivals; 0 = none */
	struct db_session *session; /* valid only while its owner keeps it open */
	enum db_wait waiting;
	uint32_t waiting_table; /* DB_WAIT_TABLE: instance */
	uint8_t class_index;
	bool running, in_transaction, gentle, background;
};
/* Fills at most `limit` entries in order of session number; returns how many there are. */
uint32_t db_activities(struct db_engine *engine, struct db_activity *activities, uint32_t limit);

/* ---- Background work ------------------------------------------------------------------------- */

struct db_backup_options { /* zero = default */
	size_t struct_size;
	/* Required. Written under a temporary name, then renamed; never over the engine's own
	 * files, or beside another database's log. */
	const char *path;
	uint32_t pages_per_step; /* [256] */
	uint64_t step_pause_ns;	 /* [0] between steps, to stretch it */
	bool keep_exclusive;	 /* hold the global lock exclusively to the end */
	bool table_locks;	 /* also hold ACCESS SHARE on every table */
	bool exempt;		 /* not cancellable by libcancel */
	bool no_rerun;		 /* a cancel by libcancel ends it; else it starts again when calm */
	uint8_t class_index;
	uint64_t key;
	uint64_t signature; /* 0: one of the engine's */
	/* On the backup's thread; may be NULL; may start the next backup. */
	void (*on_done)(void *arg, int status, const char *message);
	void *arg;
};
/* Starts a backup task; one at a time (DB_EBUSY). db_close waits for it. */
int db_backup(struct db_engine *engine, const struct db_backup_options *options) CANCEL_MUST_CHECK;
bool db_cancel_backup(struct db_engine *engine);

enum db_checkpoint_mode { DB_CHECKPOINT_PASSIVE, DB_CHECKPOINT_RESTART, DB_CHECKPOINT_TRUNCATE };
/* One checkpoint now, on this thread; RESTART and TRUNCATE wait for the write lock. */
int db_checkpoint(struct db_engine *engine, enum db_checkpoint_mode mode) CANCEL_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
