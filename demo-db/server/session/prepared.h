/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepared.h - one session's statements: translated once, found again by name or by text, and the
 * portals bound to them.
 *
 * A statement is shared by its names, its portals and the cache of simple queries; the last one to
 * let go frees it. All tables are bounded, and so is the memory they hold. One session, one caller.
 */
#ifndef DEMO_DB_PREPARED_H
#define DEMO_DB_PREPARED_H

#include "demo-db/server/dialect/priority.h"
#include "demo-db/server/dialect/dialect.h"
#include "demo-db/server/types/values.h"

#define PREPARED_NAMES_MAX   4096 /* named statements of a session */
#define PREPARED_PORTALS_MAX 256
#define PREPARED_BUCKETS     64
#define PREPARED_CACHE	     64		 /* simple queries kept translated … */
#define PREPARED_CACHED_MAX  (64u << 10) /* … none longer than that */
#define PREPARED_BYTES_MAX   (16u << 20) /* all named statements' texts */
#define PORTAL_MEMORY_MAX    (64u << 10) /* of values; more is given back at once */

struct statement {
	uint32_t references;
	char *source; /* as the client wrote it */
	size_t source_bytes;
	uint64_t hash;		 /* of the source, for the cache */
	uint64_t schema_version; /* whose tables it was translated for */
	struct dialect dialect;
	struct statement *rest; /* runs behind it, as part of it; NULL: none */
	struct statement_kind kind;
	bool conditional;	       /* DROP IF EXISTS, CREATE IF NOT EXISTS */
	uint64_t signature;	       /* of what it runs, literals left out */
	uint16_t type_count;	       /* parameters whose type Parse gave */
	enum pg_type *types;	       /* of them; PG_UNKNOWN: not given */
	uint16_t used_count;	       /* the highest $n of the text */
	uint16_t parameter_count;      /* that, or as many as have a type if those are more */
	bool has_gaps;		       /* perhaps not every $n up to that is used */
	uint16_t literal_count;	       /* of them numbers taken out of a simple query */
	bool is_described;	       /* the client was told: */
	struct wire_column *described; /* result columns, names owned */
	uint16_t described_count;
};

struct portal {
	struct portal *next;
	char *name; /* "" unnamed */
	struct statement *statement;
	struct db_value *values;
	uint16_t value_count;
	uint16_t *formats; /* of the result: none: text; one: for all */
	uint16_t format_count;
	void *memory; /* of values, their bytes and the formats; kept for the next Bind */
	size_t memory_bytes;
	uint32_t savepoints;  /* that were set when it was bound */
	bool describe_next;   /* a Describe waits for the first row to tell the types */
	bool started;	      /* it has run; if it returns rows, Execute asks for more of them */
	bool returns_rows;    /* … which is known then */
	struct wire_out rows; /* DataRows not sent yet */
	size_t rows_at;
	uint64_t rows_left;
	char tag[64];
};

struct prepared_name {
	struct prepared_name *next;
	struct statement *statement;
	char name[]; /* NUL-terminated */
};

struct prepared {
	struct prepared_name *names[PREPARED_BUCKETS];
	uint32_t name_count;
	size_t named_bytes, kept_bytes; /* texts of named statements; rows portals keep */
	struct statement *unnamed;
	struct portal unnamed_portal; /* in use when its statement is set */
	struct portal *portals;
	uint32_t portal_count;
	struct statement *cache[PREPARED_CACHE];
	struct statement *passing; /* a simple query too long for it */
	bool describe_waits;	   /* some portal's describe_next is set */
};

/* The translation of an INSERT without a list of columns (dialect.unlisted) with that list;
 * malloc'ed, NULL: memory is out, or it is none any more. */
char *statement_with_columns(
	const struct statement *statement, const char *list, struct dialect_context context);
/* Translates. NULL when memory is out; what the dialect refuses is a statement too. */
struct statement *statement_new(
	const char *source, size_t bytes, const struct dialect_context *context);
enum refresh { REFRESH_FINE, REFRESH_CHANGED, REFRESH_NO_MEMORY };
#define STATEMENT_CHANGED "cached plan must not change result type"
/* Translates it again if the schema is another one; what it returns must have the same types. */
enum refresh statement_refresh(struct statement *statement, const struct dialect_context *context);
/* The first parameter whose type nobody can know: none was given, and the text does not use it.
 * 0: there is none. */
uint16_t statement_untyped(const struct statement *statement);
struct statement *statement_share(struct statement *statement);
void statement_free(struct statement *statement); /* lets go; NULL is fine */

void prepared_free(struct prepared *prepared);
/* The statement of a simple query, `literals` numbers taken out of it, from the cache or translated
 * into it. Not shared: valid until the next call, or prepared_let_pass. */
struct statement *prepared_simple(struct prepared *prepared, const char *source, size_t bytes,
	uint64_t hash, uint32_t literals, const struct dialect_context *context);

/* Whoever wanted the last simple query has shared it: a long one need not be kept. */
void prepared_let_pass(struct prepared *prepared);

/* "" names the unnamed statement. put takes the caller's reference; -1: too many,
 * too long in all, or no memory. */
struct statement *prepared_find(struct prepared *prepared, const char *name);
int prepared_put(struct prepared *prepared, const char *name, struct statement *statement);
void prepared_close(struct prepared *prepared, const char *name);
void prepared_close_all(struct prepared *prepared); /* those with a name */

struct portal *portal_find(struct prepared *prepared, const char *name);
/* An empty one of that name, replacing the unnamed; NULL: it exists, too many, or no memory. */
struct portal *portal_open(
	struct prepared *prepared, const char *name, struct statement *statement);
/* Room in the portal for `bytes`; what was there is gone. NULL when memory is out. */
void *portal_memory(struct portal *portal, size_t bytes);
void portal_close(struct prepared *prepared, const char *name);
/* Its rows have all been sent. */
void portal_drop_rows(struct prepared *prepared, struct portal *portal);
void portal_close_all(struct prepared *prepared); /* at the end of a transaction */
/* A block has so many savepoints now. Rolled back to the last of them: what was bound since is
 * gone. Released: it belongs to the one before. */
void portal_keep_savepoints(struct prepared *prepared, uint32_t savepoints, bool rolled_back);

#endif
