/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns calls and casts. A cast is a function of the server's (functions.h) that refuses what
 * PostgreSQL refuses; functions that SQLite has under another name, or that stand for a value of
 * the session, are written as those.
 */
#include "demo-db/server/dialect/tree_kind.h"

#include <stdio.h>
#include <string.h>

#define NOW_SQL	   "strftime('%Y-%m-%d %H:%M:%f','now')"
#define RANDOM_SQL "(abs(random() % 9007199254740992) / 9007199254740992.0)"

/* ---- Casts ----------------------------------------------------------------------------------- */

enum pg_type tree_named_type(struct writer *w, const TypeName *name)
{
	const char *word = name->names ? strVal(llast(name->names)) : "";
	char what[96];
	if (strcmp(word, "interval") == 0) {
		tree_lacks(w, "intervals", name->location);
		return PG_UNKNOWN;
	}
	enum pg_type type = pg_type_named(word, strlen(word));
	if (type == PG_UNKNOWN) {
		snprintf(what, sizeof what, "type \"%.60s\" does not exist", word);
		tree_refuse(w, "42704", what, name->location);
	} else if (name->arrayBounds || name->setof) {
		tree_lacks(w, "array types", name->location);
	} else if (pg_type_row(type)->cast == PG_CAST_REFUSED) {
		snprintf(what, sizeof what, "casts to %s", pg_type_row(type)->spelling);
		tree_lacks(w, what, name->location);
	}
	return type;
}

static const char *text_of(const Node *node)
{
	const A_Const *constant = (const A_Const *)node;
	bool text = IsA(node, A_Const) && !constant->isnull && IsA(&constant->val, String);
	return text ? strVal(&constant->val) : NULL;
}

/* '\x0a1b'::bytea is X'0a1b'. */
static bool write_hex(struct writer *w, const char *text)
{
	if (!text || strncmp(text, "\\x", 2) != 0)
		return false;
	size_t digits = strspn(text + 2, "0123456789abcdefABCDEF");
	if (digits % 2 || text[digits + 2])
		return false;
	tree_put(w, "X'");
	tree_put(w, text + 2);
	tree_put(w, "'");
	return true;
}

/* TRUE and FALSE are numbers in SQLite; their text is not. */
static bool write_bool_text(struct writer *w, Node *node, const char *affinity)
{
	const A_Const *constant = (const A_Const *)node;
	if (strcmp(affinity, "TEXT") != 0 || tree_kind(w, node).type != PG_BOOL)
		return false;
	if (IsA(node, A_Const))
		tree_put(w, boolVal(&constant->val) ? "'true'" : "'false'");
	else
		tree_text(w, node);
	return true;
}

/* A numeric is the text of its digits. */
static void write_exact_cast(struct writer *w, const TypeCast *cast)
{
	bool numeric = tree_kind(w, cast->arg).type == PG_NUMERIC;
	tree_put(w, "pg_exact(");
	if (numeric)
		tree_exact(w, cast->arg);
	else
		tree_expression(w, cast->arg);
	if (cast->typeName->typmods) {
		tree_put(w, ", ");
		tree_put_list(w, cast->typeName->typmods, ", ", tree_expression);
	}
	tree_put(w, ")");
}

/* A regclass in quotes is looked up, an id is named. */
static void write_cast_function(struct writer *w, enum pg_type type, const TypeCast *cast)
{
	bool sized = type == PG_VARCHAR || type == PG_BPCHAR;
	tree_put(w, "pg_");
	tree_put(w, pg_type_row(type)->name);
	if (type == PG_REGCLASS)
		tree_put(w, text_of(cast->arg) ? "_id" : "_name");
	tree_put(w, "(");
	if (sized)
		tree_text(w, cast->arg);
	else if (tree_family(type) == FAMILY_NUMBER)
		tree_number(w, cast->arg);
	else
		tree_expression(w, cast->arg);
	if (sized && cast->typeName->typmods) {
		tree_put(w, ", ");
		tree_put_list(w, cast->typeName->typmods, ", ", tree_expression);
	}
	tree_put(w, ")");
}

void tree_cast(struct writer *w, const TypeCast *cast)
{
	enum pg_type type = tree_named_type(w, cast->typeName);
	if (w->failed)
		return;
	const struct pg_type_row *row = pg_type_row(type);
	bool any_text = (type == PG_VARCHAR || type == PG_BPCHAR) && !cast->typeName->typmods;
	if (type == PG_BYTEA && write_hex(w, text_of(cast->arg)))
		return;
	tree_adopt(w, cast->arg, type);
	if (type == PG_NUMERIC) {
		write_exact_cast(w, cast);
		return;
	}
	if (write_bool_text(w, cast->arg, row->affinity))
		return;
	if (!any_text && (row->cast == PG_CAST_FUNCTION || type == PG_REGCLASS)) {
		write_cast_function(w, type, cast);
		return;
	}
	tree_put(w, "CAST(");
	if (tree_family(type) == FAMILY_TEXT)
		tree_text(w, cast->arg);
	else
		tree_expression(w, cast->arg);
	tree_put(w, " AS ");
	tree_put(w, row->affinity);
	tree_put(w, ")");
}

/* ---- Values of the session ------------------------------------------------------------------- */

static void put_text(struct writer *w, const char *text)
{
	text_append_quoted(&w->out, text, strlen(text));
}

void tree_value_function(struct writer *w, const SQLValueFunction *value)
{
	switch (value->op) {
	case SVFOP_CURRENT_DATE:
		tree_put(w, "current_date");
		break;
	case SVFOP_CURRENT_TIME:
		tree_put(w, "current_time");
		break;
	case SVFOP_CURRENT_TIMESTAMP:
		tree_put(w, "current_timestamp");
		break;
	case SVFOP_CURRENT_ROLE:
	case SVFOP_CURRENT_USER:
	case SVFOP_SESSION_USER:
	case SVFOP_USER:
		put_text(w, w->context->user);
		break;
	case SVFOP_CURRENT_CATALOG:
		put_text(w, w->context->database);
		break;
	case SVFOP_CURRENT_SCHEMA:
		put_text(w, "public");
		break;
	default:
		tree_lacks(w, "LOCALTIME or a precision of a clock", value->location);
	}
}

/* A function without arguments that is a constant of the statement. */
static bool write_session_value(struct writer *w, const char *name)
{
	static const char *const clocks[] = { "now", "clock_timestamp", "statement_timestamp",
		"transaction_timestamp" };
	for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++)
		if (strcmp(name, clocks[i]) == 0) {
			tree_put(w, NOW_SQL);
			return true;
		}
	if (strcmp(name, "version") == 0)
		put_text(w, w->context->version);
	else if (strcmp(name, "current_database") == 0)
		put_text(w, w->context->database);
	else if (strcmp(name, "current_schema") == 0)
		put_text(w, "public");
	else if (strcmp(name, "pg_backend_pid") == 0)
		text_append_format(&w->out, "%u", w->context->process);
	else if (strcmp(name, "random") == 0) /* any 64-bit integer in SQLite */
		tree_put(w, RANDOM_SQL);
	else
		return false;
	return true;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static const char *written_name(const char *name)
{
	static const struct {
		const char *name, *written;
	} names[] = { { "left", "pg_left" }, { "right", "pg_right" }, { "btrim", "trim" },
		{ "string_agg", "group_concat" }, { "substring", "substr" },
		{ "position", "pg_position" }, { "extract", "date_part" } };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i].name) == 0)
			return names[i].written;
	return name;
}

/* Functions of PostgreSQL's that are not there. */
static bool is_missing(const char *name)
{
	static const char *const names[] = { "age", "array_agg", "array_length", "cbrt", "corr",
		"currval", "decode", "div", "encode", "format", "gcd", "initcap", "json_agg",
		"json_build_object", "jsonb_agg", "jsonb_build_object", "lastval", "lcm",
		"make_date", "md5", "mode", "nextval", "overlay", "percentile_cont", "regexp_match",
		"regexp_matches", "regexp_replace", "regexp_split_to_array",
		"regexp_split_to_table", "row_to_json", "setval", "stddev", "stddev_pop",
		"stddev_samp", "string_to_array", "timezone", "to_char", "to_date", "to_json",
		"to_jsonb", "to_number", "to_timestamp", "translate", "unnest", "var_pop",
		"var_samp", "variance", "width_bucket" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* set_config('search_path', …), which pg_dump begins with: there is one schema. */
static bool write_set_config(struct writer *w, const FuncCall *call, const char *name)
{
	if (strcmp(name, "set_config") != 0)
		return false;
	const char *setting = list_length(call->args) == 3 ? text_of(linitial(call->args)) : NULL;
	if (setting && strcmp(setting, "search_path") == 0)
		tree_expression(w, lsecond(call->args));
	else
		tree_lacks(w, "set_config of a setting other than search_path", call->location);
	return true;
}

static bool refuse_call(struct writer *w, const FuncCall *call)
{
	char what[96];
	const char *schema =
		list_length(call->funcname) > 1
			? strVal(list_nth(call->funcname, list_length(call->funcname) - 2))
			: "public";
	snprintf(what, sizeof what, "function %.60s", strVal(llast(call->funcname)));
	if (call->agg_within_group)
		tree_lacks(w, "WITHIN GROUP", call->location);
	else if (is_missing(strVal(llast(call->funcname))))
		tree_lacks(w, what, call->location);
	else if (call->agg_order)
		tree_lacks(w, "ORDER BY in an aggregate", call->location);
	else if (call->func_variadic)
		tree_lacks(w, "VARIADIC", call->location);
	if (strcmp(schema, "pg_catalog") != 0 && strcmp(schema, "public") != 0) {
		snprintf(what, sizeof what, "schema \"%.60s\" does not exist", schema);
		tree_refuse(w, "3F000", what, call->location);
	}
	return w->failed;
}

/* As a result shows it: a boolean is t or f. */
static void write_shown(struct writer *w, Node *node)
{
	if (tree_kind(w, node).type == PG_BOOL) {
		tree_put(w, "CASE ");
		tree_operand(w, node);
		tree_put(w, " WHEN 0 THEN 'f' WHEN 1 THEN 't' END");
	} else {
		tree_text(w, node);
	}
}

static void write_arguments(struct writer *w, const FuncCall *call, const char *name)
{
	static const char *const texts[] = { "concat", "concat_ws", "string_agg" };
	bool text = false;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		text |= strcmp(name, texts[i]) == 0;
	if (strcmp(name, "position") == 0 && list_length(call->args) == 2) {
		tree_expression(w, lsecond(call->args)); /* the grammar turns them round */
		tree_put(w, ", ");
		tree_expression(w, linitial(call->args));
	} else {
		tree_put_list(w, call->args, ", ", text ? write_shown : tree_expression);
	}
}

void tree_call(struct writer *w, const FuncCall *call)
{
	const char *name = strVal(llast(call->funcname));
	if (refuse_call(w, call))
		return;
	if (write_set_config(w, call, name) ||
		(!call->args && !call->agg_star && write_session_value(w, name)))
		return;
	if (!tree_write_typed_call(w, call, name)) {
		tree_put_name(w, written_name(name));
		tree_put(w, call->agg_distinct ? "(DISTINCT " : "(");
		tree_put(w, call->agg_star ? "*" : "");
		write_arguments(w, call, name);
		tree_put(w, ")");
	}
	if (call->agg_filter) {
		tree_put(w, " FILTER (WHERE ");
		tree_expression(w, call->agg_filter);
		tree_put(w, ")");
	}
	if (call->over) {
		tree_put(w, " OVER ");
		tree_window(w, call->over);
	}
}
