/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.c - reads the byte code of a statement for its loops.
 *
 * A loop is a backward jump (Next, Prev, SorterNext); its body is what lies between target and
 * jump, plus the programs of triggers it calls. A loop over a whole table (it begins with Rewind or
 * Last) runs once a row. Loops over sorters and ephemeral tables run at most once a scanned row.
 * A loop over a range of rowids runs once a rowid in the range, as far as there are rows: its
 * bounds are values or parameters, loaded into the registers it is compared with. A whole-table
 * loop inside another, or any other range scan outside any, makes the scan unknown.
 *
 * Owns that reading.
 */
#include "demo-db/engine/statement/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPS_MAX	       2048 /* of the main program; longer ones stay unknown */
#define CURSORS_MAX    64
#define ROW_BYTES      16 /* SQLite's overhead of a sorter record, about */
#define COLUMN_BYTES   16
#define WRITE_BYTES    128 /* of a page cache, for each row a scan may update */
#define UNKNOWN_ROWS   4096
#define ROWS_PLAUSIBLE (1ull << 40)

enum op_kind {
	OP_OTHER,
	OP_OPEN,
	OP_SORTER,
	OP_EPHEMERAL,
	OP_REWIND,
	OP_NEXT,
	OP_SORTER_NEXT,
	OP_PROGRAM,
	OP_WRITE,
	OP_SEEK,  /* upwards, by rowid */
	OP_ROWID, /* p2: the register */
	OP_ABOVE, /* jumps when register p3 is above (or at) register p1 */
	OP_INTEGER,
	OP_VARIABLE
};

struct op {
	enum op_kind kind;
	int p1, p2, p3;
	bool counted;  /* a Next that counts FULLSCAN_STEP */
	bool plain;    /* no p4: a seek is by rowid */
	int64_t value; /* of OP_INTEGER */
};

struct program {
	struct op ops[OPS_MAX];
	int count;
	uint64_t trigger_ops; /* of all sub-programs together */
	bool fast_path;
};

struct loop {
	int from, to, cursor;
	bool sorter, counted;
};

static enum op_kind kind_of(const char *name)
{
	static const struct {
		const char *name;
		enum op_kind kind;
	} kinds[] = { { "OpenRead", OP_OPEN }, { "OpenWrite", OP_OPEN },
		{ "SorterOpen", OP_SORTER }, { "OpenEphemeral", OP_EPHEMERAL },
		{ "OpenAutoindex", OP_EPHEMERAL }, { "Rewind", OP_REWIND }, { "Last", OP_REWIND },
		{ "Next", OP_NEXT }, { "Prev", OP_NEXT }, { "SorterNext", OP_SORTER_NEXT },
		{ "Program", OP_PROGRAM }, { "Insert", OP_WRITE }, { "Delete", OP_WRITE },
		{ "IdxInsert", OP_WRITE }, { "SeekGE", OP_SEEK }, { "SeekGT", OP_SEEK },
		{ "Rowid", OP_ROWID }, { "Gt", OP_ABOVE }, { "Ge", OP_ABOVE },
		{ "Integer", OP_INTEGER }, { "Int64", OP_INTEGER }, { "Variable", OP_VARIABLE } };
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(name, kinds[i].name) == 0)
			return kinds[i].kind;
	return OP_OTHER;
}

/* Operations of a look-up or a change by key. Whatever is not here may take its time. */
static bool is_on_fast_path(const char *name)
{
	static const char *const names[] = { "Init", "Transaction", "Goto", "Halt", "HaltIfNull",
		"OpenRead", "OpenWrite", "Variable", "Integer", "Int64", "Real", "String8", "Null",
		"SoftNull", "SeekRowid", "NotExists", "MustBeInt", "NewRowid", "Rowid", "Column",
		"RealAffinity", "Affinity", "Copy", "SCopy", "ResultRow", "IsNull", "NotNull",
		"Noop", "Add", "Subtract", "Multiply", "Eq", "Ne", "Lt", "Le", "Gt", "Ge",
		"MakeRecord", "Insert", "Delete", "IdxInsert", "IdxDelete", "NoConflict" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static bool read_program(struct program *program, sqlite3 *db, const char *sql)
{
	char *text = sqlite3_mprintf("EXPLAIN %s", sql);
	sqlite3_stmt *stmt = NULL;
	bool fits = true;
	program->count = 0;
	program->trigger_ops = 0;
	program->fast_path = true;
	if (text && sqlite3_prepare_v2(db, text, -1, &stmt, NULL) == SQLITE_OK) {
		while (sqlite3_step(stmt) == SQLITE_ROW) {
			if (sqlite3_column_int(stmt, 0) != program->count) { /* addresses restart */
				program->trigger_ops++;
				program->fast_path = false;
				continue;
			}
			const char *name = (const char *)sqlite3_column_text(stmt, 1);
			fits = program->count < OPS_MAX && name; /* NULL: no memory */
			if (!fits)
				break;
			program->fast_path = program->fast_path && is_on_fast_path(name);
			program->ops[program->count++] = (struct op){ .kind = kind_of(name),
				.p1 = sqlite3_column_int(stmt, 2),
				.p2 = sqlite3_column_int(stmt, 3),
				.p3 = sqlite3_column_int(stmt, 4),
				.plain = sqlite3_column_type(stmt, 5) == SQLITE_NULL,
				.value = sqlite3_column_int64(
					stmt, strcmp(name, "Int64") == 0 ? 5 : 2),
				.counted = sqlite3_column_int(stmt, 6) ==
					   SQLITE_STMTSTATUS_FULLSCAN_STEP };
		}
	}
	sqlite3_finalize(stmt);
	sqlite3_free(text);
	return fits && program->count > 0;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static uint64_t largest_rowid(sqlite3 *db, const char *table)
{
	uint64_t rows = 0;
	sqlite3_stmt *stmt = NULL;
	char *text = sqlite3_mprintf("SELECT max(rowid) FROM \"%w\"", table);
	if (text && sqlite3_prepare_v2(db, text, -1, &stmt, NULL) == SQLITE_OK &&
		sqlite3_step(stmt) == SQLITE_ROW) {
		int64_t largest = sqlite3_column_int64(stmt, 0);
		if (largest > 0 && (uint64_t)largest < ROWS_PLAUSIBLE)
			rows = (uint64_t)largest;
	}
	sqlite3_finalize(stmt);
	sqlite3_free(text);
	return rows;
}

/* Of the table that owns a root page of the main database, table or index alike; 0 unknown. */
static uint64_t rows_at_root(sqlite3 *db, int root)
{
	uint64_t rows = 0;
	sqlite3_stmt *stmt = NULL;
	const char *sql = "SELECT tbl_name FROM sqlite_schema WHERE rootpage=?1";
	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK) {
		sqlite3_bind_int(stmt, 1, root);
		if (sqlite3_step(stmt) == SQLITE_ROW) {
			const char *name = (const char *)sqlite3_column_text(stmt, 0);
			rows = name ? largest_rowid(db, name) : 0;
		}
	}
	sqlite3_finalize(stmt);
	return rows;
}

static uint64_t rows_of_cursor(sqlite3 *db, const struct program *program, int cursor)
{
	for (int i = 0; i < program->count; i++)
		if (program->ops[i].kind == OP_OPEN && program->ops[i].p1 == cursor &&
			program->ops[i].p3 == 0)
			return rows_at_root(db, program->ops[i].p2);
	return 0;
}

/* ---- Loops ----------------------------------------------------------------------------------- */

static bool is_ephemeral(const struct program *program, int cursor)
{
	for (int i = 0; i < program->count; i++)
		if (program->ops[i].kind == OP_EPHEMERAL && program->ops[i].p1 == cursor)
			return true;
	return false;
}

static bool is_rewound(const struct program *program, int cursor)
{
	for (int i = 0; i < program->count; i++)
		if (program->ops[i].kind == OP_REWIND && program->ops[i].p1 == cursor)
			return true;
	return false;
}

static uint32_t find_loops(const struct program *program, struct loop loops[CURSORS_MAX])
{
	uint32_t count = 0;
	for (int i = 0; i < program->count && count < CURSORS_MAX; i++) {
		const struct op *op = &program->ops[i];
		if ((op->kind != OP_NEXT && op->kind != OP_SORTER_NEXT) || op->p2 >= i)
			continue;
		loops[count++] = (struct loop){ .from = op->p2,
			.to = i,
			.cursor = op->p1,
			.sorter = op->kind == OP_SORTER_NEXT,
			.counted = op->counted };
	}
	return count;
}

static bool is_inside(const struct loop *loops, uint32_t count, const struct loop *inner)
{
	for (uint32_t i = 0; i < count; i++)
		if (&loops[i] != inner && loops[i].from <= inner->from && loops[i].to > inner->to)
			return true;
	return false;
}

static uint64_t body_ops(const struct program *program, const struct loop *loop)
{
	uint64_t ops = (uint64_t)(loop->to - loop->from + 1);
	for (int i = loop->from; i <= loop->to; i++)
		if (program->ops[i].kind == OP_PROGRAM)
			return ops + program->trigger_ops;
	return ops;
}

/* ---- Ranges of rowids ------------------------------------------------------------------------ */

/* What one operation of the whole program loads into a register. */
static struct plan_bound loaded_into(const struct program *program, int reg)
{
	struct plan_bound bound = { .kind = BOUND_NONE };
	for (int i = 0; i < program->count; i++) {
		const struct op *op = &program->ops[i];
		if ((op->kind != OP_INTEGER && op->kind != OP_VARIABLE) || op->p2 != reg)
			continue;
		if (bound.kind != BOUND_NONE)
			return (struct plan_bound){ .kind = BOUND_UNKNOWN };
		bound = op->kind == OP_INTEGER ? (struct plan_bound){ BOUND_VALUE, op->value }
					       : (struct plan_bound){ BOUND_PARAMETER, op->p1 };
	}
	if (bound.kind == BOUND_NONE)
		bound.kind = BOUND_UNKNOWN; /* computed */
	return bound;
}

/* Where the loop begins: after Rewind at no bound; false: neither there nor at a rowid. */
static bool find_low(const struct program *program, const struct loop *loop, struct plan_bound *low)
{
	if (is_rewound(program, loop->cursor))
		return true;
	for (int i = 0; i < loop->from; i++) {
		const struct op *op = &program->ops[i];
		if (op->kind != OP_SEEK || op->p1 != loop->cursor)
			continue;
		*low = loaded_into(program, op->p3);
		return op->plain;
	}
	return false;
}

/* The loop ends when the rowid, loaded just before, is above a register. */
static void find_high(
	const struct program *program, const struct loop *loop, struct plan_bound *high)
{
	for (int i = loop->from; i < loop->to; i++) {
		const struct op *rowid = &program->ops[i], *above = &program->ops[i + 1];
		if (rowid->kind == OP_ROWID && rowid->p1 == loop->cursor &&
			above->kind == OP_ABOVE && above->p3 == rowid->p2 && above->p2 > loop->to)
			*high = loaded_into(program, above->p1);
	}
}

/* The only loop of the statement, over a table: then its bounds are the plan's. */
static bool read_range(
	struct plan *plan, sqlite3 *db, const struct program *program, const struct loop *loop)
{
	struct plan_bound low = { .kind = BOUND_NONE }, high = { .kind = BOUND_NONE };
	if (loop->sorter || is_ephemeral(program, loop->cursor) || !find_low(program, loop, &low))
		return false;
	find_high(program, loop, &high);
	uint64_t rows = rows_of_cursor(db, program, loop->cursor);
	if (!rows || (low.kind == BOUND_NONE && high.kind == BOUND_NONE))
		return false;
	plan->low = low;
	plan->high = high;
	plan->scan_rows = rows;
	plan->scan_ops = rows * body_ops(program, loop);
	return true;
}

static int64_t value_of(const struct plan_bound *bound, int64_t none,
	const struct db_value *parameters, uint32_t parameter_count, bool *known)
{
	if (bound->kind == BOUND_NONE)
		return none;
	if (bound->kind == BOUND_VALUE)
		return bound->value;
	uint64_t at = (uint64_t)bound->value - 1;
	if (bound->kind == BOUND_PARAMETER && at < parameter_count &&
		parameters[at].type == DB_INTEGER)
		return parameters[at].integer;
	*known = false;
	return none;
}

uint64_t plan_rows(
	const struct plan *plan, const struct db_value *parameters, uint32_t parameter_count)
{
	bool known = true;
	int64_t last = (int64_t)plan->scan_rows;
	int64_t low = value_of(&plan->low, 1, parameters, parameter_count, &known);
	int64_t high = value_of(&plan->high, last, parameters, parameter_count, &known);
	low = low < 1 ? 1 : low;
	high = high > last ? last : high;
	return known && low <= high ? (uint64_t)(high - low) + 1 : 0;
}

/* ---- The scan phase -------------------------------------------------------------------------- */

/* One loop's part of the scan phase; false: it makes the scan unknown. */
static bool add_scan(struct plan *plan, sqlite3 *db, const struct program *program,
	const struct loop *loop, bool inside)
{
	bool whole = is_rewound(program, loop->cursor);
	if (!whole)
		return inside; /* a look-up for each outer row is part of that row's body */
	uint64_t rows = rows_of_cursor(db, program, loop->cursor);
	if (inside || !rows)
		return false;
	plan->scan_rows += rows;
	plan->scan_ops += rows * body_ops(program, loop);
	plan->counts_steps = plan->counts_steps || loop->counted;
	return true;
}

static void read_loops(struct plan *plan, sqlite3 *db, const struct program *program)
{
	struct loop loops[CURSORS_MAX];
	uint32_t count = find_loops(program, loops);
	bool known = true;
	if (count == 1 && read_range(plan, db, program, &loops[0]))
		return;
	for (uint32_t i = 0; i < count && known; i++)
		if (!loops[i].sorter && !is_ephemeral(program, loops[i].cursor))
			known = add_scan(
				plan, db, program, &loops[i], is_inside(loops, count, &loops[i]));
	if (!known)
		plan->scan_rows = plan->scan_ops = 0;
	for (uint32_t i = 0; i < count; i++)
		if (loops[i].sorter || is_ephemeral(program, loops[i].cursor))
			plan->later_ops += plan->scan_rows * body_ops(program, &loops[i]);
}

static void read_memory(struct plan *plan, const struct program *program)
{
	bool known = plan->scan_rows && plan->low.kind == BOUND_NONE;
	uint64_t rows = known ? plan->scan_rows : UNKNOWN_ROWS;
	bool writes = false;
	for (int i = 0; i < program->count; i++) {
		const struct op *op = &program->ops[i];
		writes = writes || (op->kind == OP_WRITE && !is_ephemeral(program, op->p1));
		if (op->kind != OP_SORTER && op->kind != OP_EPHEMERAL)
			continue;
		uint64_t columns = op->p2 > 0 ? (uint64_t)op->p2 : 1;
		plan->sorters++;
		plan->grant_bytes += rows * (ROW_BYTES + columns * COLUMN_BYTES);
	}
	if (writes && known)
		plan->grant_bytes += plan->scan_rows * WRITE_BYTES;
}

void plan_make(struct plan *plan, sqlite3 *db, const char *sql)
{
	*plan = (struct plan){ .made = true };
	struct program *program = malloc(sizeof(*program));
	if (program && read_program(program, db, sql)) {
		plan->fast_path = program->fast_path;
		read_loops(plan, db, program);
		read_memory(plan, program);
	}
	free(program);
}
