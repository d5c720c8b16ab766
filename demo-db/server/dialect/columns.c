/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the reading of select lists.
 */
#include "demo-db/server/dialect/columns.h"
#include "demo-db/server/dialect/lexer.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_BYTES 64
#define TAIL_TOKENS    4 /* the last tokens of an item that are looked at */

/* One item of the list, gathered token by token. */
struct item {
	uint32_t tokens;
	struct token first, second;
	struct token tail[TAIL_TOKENS]; /* tail[0] is the last */
	const char *cast_at;		/* the last depth-0 `::`, NULL none */
	struct token cast_type;
	struct token call_type; /* of CAST( … AS type) at the beginning */
	unsigned depth, cases;
	bool plain;	    /* names with dots between them only, so far */
	bool plain_to_cast; /* … up to the cast */
	bool call;	    /* it began with word ( */
	bool after_call;    /* … whose parenthesis has closed */
	bool call_only;	    /* … and nothing but FILTER and OVER came after */
	bool compares;	    /* a comparison or a logical operator at depth 0 */
	bool as;	    /* AS at depth 0 */
	bool other;	    /* an operator at depth 0 that is none of these */
};

struct text {
	char *data;
	size_t bytes, capacity;
	bool failed;
};

static void append(struct text *t, const char *data, size_t bytes)
{
	if (t->capacity - t->bytes <= bytes) {
		size_t capacity = (t->bytes + bytes + 1) * 2;
		char *grown = t->failed ? NULL : realloc(t->data, capacity);
		if (!grown) {
			t->failed = true;
			return;
		}
		t->data = grown;
		t->capacity = capacity;
	}
	memcpy(t->data + t->bytes, data, bytes);
	t->bytes += bytes;
	t->data[t->bytes] = '\0';
}

static bool is_one_of(const struct token *t, const char *const *words)
{
	for (; *words; words++)
		if (token_is(t, *words))
			return true;
	return false;
}

/* ---- Gathering ------------------------------------------------------------------------------- */

static bool compares(const struct token *t)
{
	static const char *const words[] = { "and", "or", "not", "is", "in", "like", "ilike",
		"between", "exists", "glob", "isnull", "notnull", "similar", NULL };
	static const char *const symbols[] = { "=", "<", ">", "<=", ">=", "<>", "!=", "==", NULL };
	if (t->kind == TOKEN_WORD)
		return is_one_of(t, words);
	for (const char *const *s = symbols; *s; s++)
		if (token_is_symbol(t, *s))
			return true;
	return false;
}

/* Part of ~, ~*, !~ or !~*, which compare? (~ at the beginning is another operator.) */
static bool is_match(const struct item *item, const struct token *t)
{
	const struct token *before = &item->tail[0];
	if (token_is_symbol(t, "*"))
		return token_is_symbol(before, "~") && !t->spaced;
	if (token_is_symbol(t, "!"))
		return true;
	return token_is_symbol(t, "~") && item->tokens &&
	       (before->kind != TOKEN_SYMBOL || token_is_symbol(before, ")") ||
		       token_is_symbol(before, "!") || token_is_symbol(before, "~"));
}

/* A type of several words is gathered as the one that means the same. */
static void widen_type(struct token *type, const struct token *t)
{
	bool varying = token_is(t, "varying"), zoned = token_is(t, "with");
	if ((!varying && !zoned) || type->kind != TOKEN_WORD)
		return;
	enum pg_type narrow = pg_type_named(type->text, type->bytes);
	enum pg_type wide = pg_type_varied(narrow, varying, zoned);
	if (wide == narrow)
		return;
	type->text = pg_type_row(wide)->name;
	type->bytes = strlen(type->text);
}

static void note_level_0(struct item *item, const struct token *t)
{
	static const char *const suffixes[] = { "filter", "over", NULL };
	if (t->kind == TOKEN_CAST) {
		item->cast_at = t->text;
		item->plain_to_cast = item->plain;
	} else if (item->cast_at && item->tail[0].kind == TOKEN_CAST) {
		item->cast_type = *t;
	} else {
		widen_type(&item->cast_type, t);
	}
	item->as |= token_is(t, "as");
	if (item->cases == 0)
		item->compares |= compares(t);
	bool word = t->kind == TOKEN_WORD || t->kind == TOKEN_NAME;
	bool dot = token_is_symbol(t, ".");
	bool after_dot = item->tokens == 0 || token_is_symbol(&item->tail[0], ".");
	item->plain = item->plain && (word ? after_dot : dot && !after_dot);
	if (item->after_call && !token_is(t, "as") && !is_one_of(t, suffixes))
		item->call_only &= word && item->tokens > 0 &&
				   (item->as || token_is_symbol(&item->tail[0], ")"));
	bool matches = is_match(item, t);
	item->compares |= matches && item->cases == 0;
	item->other |= t->kind == TOKEN_SYMBOL && !dot && !token_is_symbol(t, "(") &&
		       !token_is_symbol(t, ")") && !compares(t) && !matches;
}

static void gather(struct item *item, const struct token *t)
{
	bool open = token_is_symbol(t, "("), close = token_is_symbol(t, ")");
	if (item->tokens == 0)
		item->first = *t;
	if (item->tokens == 1)
		item->second = *t;
	if (item->tokens == 1 && open && item->first.kind == TOKEN_WORD)
		item->call = item->call_only = true;
	if (item->depth == 0 && !open)
		note_level_0(item, t);
	if (item->depth == 1 && token_is(&item->tail[0], "as") && token_is(&item->first, "cast") &&
		!item->after_call)
		item->call_type = *t;
	widen_type(&item->call_type, t);
	if (open)
		item->plain = false;
	item->cases += token_is(t, "case");
	item->cases -= item->cases && token_is(t, "end");
	item->depth += open;
	item->depth -= close && item->depth;
	item->after_call |= item->call && close && item->depth == 0;
	memmove(item->tail + 1, item->tail, sizeof item->tail - sizeof *item->tail);
	item->tail[0] = *t;
	item->tokens++;
}

/* ---- Judging --------------------------------------------------------------------------------- */

/* Could an operand end with this token, so that a word after it is an alias? */
static bool ends_operand(const struct token *t)
{
	static const char *const operators[] = { "and", "or", "not", "is", "in", "like", "ilike",
		"between", "collate", "escape", "case", "when", "then", "else", "distinct", "all",
		"double", "character", "time", "without", "with", "at", "glob", "interval", NULL };
	if (t->kind == TOKEN_SYMBOL)
		return token_is_symbol(t, ")");
	return t->kind != TOKEN_CAST && !is_one_of(t, operators);
}

static bool has_alias(const struct item *item)
{
	static const char *const never[] = { "end", "null", "true", "false", "isnull", "notnull",
		"precision", "varying", "zone", NULL };
	const struct token *last = &item->tail[0], *before = &item->tail[1];
	if (item->as)
		return true;
	if (item->tokens < 2 || (last->kind != TOKEN_WORD && last->kind != TOKEN_NAME))
		return false;
	return ends_operand(before) && !is_one_of(last, never);
}

static bool is_star(const struct item *item)
{
	return token_is_symbol(&item->tail[0], "*") &&
	       (item->tokens == 1 || token_is_symbol(&item->tail[1], "."));
}

static const struct {
	const char *name;
	enum pg_type type;
} functions[] = {
	{ "count", PG_INT8 },
	{ "row_number", PG_INT8 },
	{ "rank", PG_INT8 },
	{ "dense_rank", PG_INT8 },
	{ "length", PG_INT4 },
	{ "char_length", PG_INT4 },
	{ "octet_length", PG_INT4 },
	{ "strpos", PG_INT4 },
	{ "position", PG_INT4 },
	{ "character_length", PG_INT4 },
	{ "extract", PG_NUMERIC },
	{ "date_part", PG_FLOAT8 },
	{ "date_trunc", PG_TIMESTAMP },
	{ "starts_with", PG_BOOL },
	{ "bool_and", PG_BOOL },
	{ "bool_or", PG_BOOL },
	{ "every", PG_BOOL },
	{ "pg_backend_pid", PG_INT4 },
	{ "avg", PG_FLOAT8 },
	{ "random", PG_FLOAT8 },
	{ "sqrt", PG_FLOAT8 },
	{ "lower", PG_TEXT },
	{ "upper", PG_TEXT },
	{ "trim", PG_TEXT },
	{ "substr", PG_TEXT },
	{ "substring", PG_TEXT },
	{ "replace", PG_TEXT },
	{ "concat", PG_TEXT },
	{ "concat_ws", PG_TEXT },
	{ "left", PG_TEXT },
	{ "right", PG_TEXT },
	{ "lpad", PG_TEXT },
	{ "rpad", PG_TEXT },
	{ "repeat", PG_TEXT },
	{ "reverse", PG_TEXT },
	{ "split_part", PG_TEXT },
	{ "version", PG_TEXT },
	{ "current_database", PG_TEXT },
	{ "current_schema", PG_TEXT },
	{ "string_agg", PG_TEXT },
	{ "group_concat", PG_TEXT },
	{ "now", PG_TIMESTAMPTZ },
	{ "clock_timestamp", PG_TIMESTAMPTZ },
	{ "statement_timestamp", PG_TIMESTAMPTZ },
	{ "transaction_timestamp", PG_TIMESTAMPTZ },
	{ "exists", PG_BOOL },
	{ "cancel_task", PG_BOOL },
	{ "pg_cancel_backend", PG_BOOL },
};

static enum pg_type type_of_call(const struct token *name)
{
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (token_is(name, functions[i].name))
			return functions[i].type;
	return PG_UNKNOWN;
}

static enum pg_type type_of_literal(const struct token *t)
{
	switch (t->kind) {
	case TOKEN_NUMBER:
		if (memchr(t->text, '.', t->bytes) || memchr(t->text, 'e', t->bytes))
			return PG_NUMERIC;
		return t->bytes < 10 ? PG_INT4 : PG_INT8;
	case TOKEN_STRING:
	case TOKEN_ESCAPE:
	case TOKEN_DOLLAR:
		return PG_TEXT;
	default:
		break;
	}
	if (token_is(t, "true") || token_is(t, "false"))
		return PG_BOOL;
	if (token_is(t, "current_timestamp"))
		return PG_TIMESTAMPTZ;
	return token_is(t, "current_date") ? PG_DATE : PG_UNKNOWN;
}

/* date '2024-02-29' */
static bool is_typed_literal(const struct item *item)
{
	return item->second.kind == TOKEN_STRING && item->first.kind == TOKEN_WORD &&
	       pg_type_named(item->first.text, item->first.bytes) != PG_UNKNOWN;
}

static enum pg_type type_of(const struct item *item, bool alias)
{
	bool single = item->tokens == 1u + (alias ? 1u + item->as : 0u);
	bool literal = item->first.kind != TOKEN_NAME && item->first.kind != TOKEN_PARAMETER;
	if (item->compares) /* it binds loosest */
		return PG_BOOL;
	if (item->cast_at && !item->other && !item->compares)
		return pg_type_named(item->cast_type.text, item->cast_type.bytes);
	if (item->call && item->call_only && item->call_type.text)
		return pg_type_named(item->call_type.text, item->call_type.bytes);
	if (item->call && item->call_only)
		return type_of_call(&item->first);
	if (is_typed_literal(item) && item->tokens == 2u + (alias ? 1u + item->as : 0u))
		return pg_type_named(item->first.text, item->first.bytes);
	return single && literal ? type_of_literal(&item->first) : PG_UNKNOWN;
}

static void lower(char name[NAME_MAX_BYTES], const struct token *t)
{
	bool quoted = t->kind == TOKEN_NAME;
	const char *from = t->text + quoted;
	size_t bytes = t->bytes - 2u * quoted;
	bytes = bytes < NAME_MAX_BYTES ? bytes : NAME_MAX_BYTES - 1;
	for (size_t i = 0; i < bytes; i++)
		name[i] = quoted ? from[i] : (char)tolower((unsigned char)from[i]);
	name[bytes] = '\0';
}

static bool is_constant(const struct token *t)
{
	static const char *const words[] = { "null", "true", "false", NULL };
	return is_one_of(t, words);
}

static void name_of_type(const struct token *t, char name[NAME_MAX_BYTES])
{
	const struct pg_type_row *row = pg_type_row(pg_type_named(t->text, t->bytes));
	if (row || t->kind != TOKEN_WORD)
		snprintf(name, NAME_MAX_BYTES, "%s", row ? row->name : "text");
	else
		lower(name, t);
}

/* PostgreSQL's name for an expression without an alias. */
static void figure_name(const struct item *item, char name[NAME_MAX_BYTES])
{
	static const char *const words[] = { "case", "exists", "current_timestamp", "current_date",
		"current_time", "current_user", "session_user", "current_catalog", NULL };
	bool call = item->call && item->call_only && !token_is(&item->first, "cast");
	strcpy(name, "?column?");
	if (item->other || (item->compares && !token_is(&item->first, "exists")))
		return;
	if (item->cast_at && item->plain_to_cast && item->tokens > 2 &&
		item->tail[1].kind == TOKEN_CAST && !is_constant(&item->first))
		lower(name, &item->tail[2]);
	else if (item->cast_at)
		name_of_type(&item->cast_type, name);
	else if (item->call_type.text && item->call_only)
		name_of_type(&item->call_type, name);
	else if (is_typed_literal(item))
		name_of_type(&item->first, name);
	else if (call || is_one_of(&item->first, words))
		lower(name, &item->first);
}

static bool is_column(const struct item *item)
{
	static const char *const words[] = { "null", "true", "false", "case", "current_timestamp",
		"current_date", "current_time", "current_user", "session_user", "current_catalog",
		NULL };
	return item->plain && !is_one_of(&item->first, words);
}

/* ---- The list -------------------------------------------------------------------------------- */

struct list {
	struct lexer lexer;
	struct token token;
	struct text out;
	const char *copied; /* up to here the source is in `out` */
	struct columns *columns;
	bool placed; /* no `*` so far: the next item's place is known */
};

static void step(struct list *l)
{
	l->token = lexer_next(&l->lexer);
}

static void end_item(struct list *l, const struct item *item)
{
	struct columns *columns = l->columns;
	char name[NAME_MAX_BYTES];
	bool alias = has_alias(item), star = is_star(item);
	if (item->tokens == 0)
		return;
	l->placed = l->placed && !star && columns->count < COLUMNS_TYPED_MAX;
	if (l->placed)
		columns->types[columns->count++] = type_of(item, alias);
	if (alias || star || is_column(item))
		return;
	figure_name(item, name);
	const char *end = item->tail[0].text + item->tail[0].bytes;
	append(&l->out, l->copied, (size_t)(end - l->copied));
	append(&l->out, " AS \"", 5);
	for (const char *at = name; *at; at++)
		append(&l->out, *at == '"' ? "\"\"" : at, *at == '"' ? 2 : 1);
	append(&l->out, "\"", 1);
	l->copied = end;
}

static bool ends_list(const struct token *t)
{
	static const char *const words[] = { "from", "where", "group", "having", "order", "limit",
		"offset", "union", "except", "intersect", "window", "for", "into", "fetch", NULL };
	return t->kind == TOKEN_END || t->kind == TOKEN_BAD || token_is_symbol(t, ";") ||
	       is_one_of(t, words);
}

static void skip_distinct(struct list *l)
{
	unsigned depth = 0;
	if (token_is(&l->token, "all") || token_is(&l->token, "distinct"))
		step(l);
	if (!token_is(&l->token, "on"))
		return;
	do {
		step(l);
		depth += token_is_symbol(&l->token, "(");
		depth -= depth && token_is_symbol(&l->token, ")");
	} while (depth && l->token.kind != TOKEN_END && l->token.kind != TOKEN_BAD);
	step(l);
}

/* FROM of IS DISTINCT FROM */
static bool is_distinct_from(const struct item *item, const struct token *t)
{
	return token_is(t, "from") && item->tokens > 1 && token_is(&item->tail[0], "distinct");
}

static void read_list(struct list *l)
{
	struct item item = { .plain = true };
	skip_distinct(l);
	while (item.depth || !ends_list(&l->token) || is_distinct_from(&item, &l->token)) {
		if (l->token.kind == TOKEN_END || l->token.kind == TOKEN_BAD)
			return;
		if (item.depth == 0 && token_is_symbol(&l->token, ",")) {
			end_item(l, &item);
			item = (struct item){ .plain = true };
		} else {
			gather(&item, &l->token);
		}
		step(l);
	}
	end_item(l, &item);
}

/* To the first depth-0 `word`, which is stepped over. */
static bool find_list(struct list *l, const char *word)
{
	unsigned depth = 0;
	while (l->token.kind != TOKEN_END && l->token.kind != TOKEN_BAD) {
		if (depth == 0 && token_is(&l->token, word)) {
			step(l);
			return true;
		}
		depth += token_is_symbol(&l->token, "(");
		depth -= depth && token_is_symbol(&l->token, ")");
		step(l);
	}
	return false;
}

int columns_read(const char *sql, size_t bytes, struct columns *columns)
{
	static const char *const selects[] = { "select", "with", NULL };
	static const char *const changes[] = { "insert", "update", "delete", NULL };
	struct list l = { .lexer = { .at = sql, .end = sql + bytes },
		.copied = sql,
		.columns = columns,
		.placed = true };
	*columns = (struct columns){ .count = 0 };
	step(&l);
	if (is_one_of(&l.token, selects)
			? find_list(&l, "select")
			: is_one_of(&l.token, changes) && find_list(&l, "returning"))
		read_list(&l);
	append(&l.out, l.copied, (size_t)(sql + bytes - l.copied));
	columns->sql = l.out.data;
	return l.out.failed ? -1 : 0;
}
