/* SPDX-License-Identifier: Apache-2.0 */
/* What PostgreSQL clients write, and what the engine is given instead. */
#include "demo-db/server/dialect/dialect.h"
#include "demo-db/server/dialect/lexer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct dialect_context context = {
	.user = "demo", .database = "o'base", .version = "PostgreSQL 15.0", .process = 42
};

static struct dialect translate(const char *sql)
{
	struct dialect d;
	assert_int_equal(dialect_translate(sql, strlen(sql), &context, &d), 0);
	return d;
}

static void assert_sql(const char *from, const char *to)
{
	struct dialect d = translate(from);
	if (d.kind != DIALECT_SQL && d.kind != DIALECT_BEGIN)
		fail_msg("%s: kind %d, %s", from, (int)d.kind, d.message);
	assert_string_equal(d.sql, to);
	dialect_free(&d);
}

static void assert_refused(const char *from, const char *sqlstate)
{
	struct dialect d = translate(from);
	if (d.kind != DIALECT_REFUSED)
		fail_msg("%s: kind %d, not refused", from, (int)d.kind);
	assert_string_equal(d.sqlstate, sqlstate);
	assert_int_not_equal(d.message[0], 0);
	dialect_free(&d);
}

static void the_path_of_a_backup_is_its_text(void **state)
{
	(void)state;
	struct dialect d = translate("Backup TO '/a folder/it''s here' ;");
	assert_int_equal(d.kind, DIALECT_BACKUP);
	assert_string_equal(d.sql, "/a folder/it's here");
	dialect_free(&d);
	d = translate("backup to ''");
	assert_int_equal(d.kind, DIALECT_BACKUP);
	assert_string_equal(d.sql, "");
	dialect_free(&d);
	assert_refused("backup to", "42601");
	assert_refused("backup to $1", "42601");
	assert_refused("backup to name", "42601");
	assert_refused("backup to 'a' 'b'", "42601");
	assert_refused("backup to 'open", "42601");
}

static void a_cast_wraps_the_operand_before_it(void **state)
{
	(void)state;
	assert_sql("select '12'::int", "SELECT pg_int4('12') AS \"int4\"");
	assert_sql("select a.b::text, 1", "SELECT CAST(a.b AS TEXT) AS \"b\", 1 AS \"?column?\"");
	assert_sql("select (1 + 2)::bigint", "SELECT pg_int8((pg_int4(1 + 2))) AS \"int8\"");
	assert_sql("select f(x, (y))::float8 from t", "SELECT pg_float8(f(x, y)) AS \"f\" FROM t");
	assert_sql("select $1::varchar(20)", "SELECT pg_varchar(?1, 20) AS \"varchar\"");
	assert_sql("select a::char, a::character varying(3), a::character(2), a::varchar",
		"SELECT pg_bpchar(a, 1) AS \"a\", pg_varchar(a, 3) AS \"a\", pg_bpchar(a, 2) AS "
		"\"a\", CAST(a AS TEXT) AS \"a\"");
	assert_sql("select a::numeric(8, 2), a::decimal",
		"SELECT pg_exact(a, 8, 2) AS \"a\", pg_exact(a) AS \"a\"");
	assert_sql("create table t (a text default 'x'::varchar(3))",
		"create table t (a text default (CAST('x' AS TEXT)))");
	assert_sql("select x::int::text", "SELECT CAST(pg_int4(x) AS TEXT) AS \"x\"");
	assert_sql("select '1'::timestamp without time zone, 2",
		"SELECT pg_timestamp('1') AS \"timestamp\", 2 AS \"?column?\"");
	assert_sql("select 1 + 2::int", "SELECT pg_int4(1 + pg_int4(2)) AS \"?column?\"");
	assert_sql("select cast(a + 1 as int), cast(b as varchar(3))",
		"SELECT pg_int4((a + 1)) AS \"int4\", pg_varchar(b, 3) AS \"b\"");
	assert_sql("select date '2024-01-01', true::text",
		"SELECT pg_date('2024-01-01') AS \"date\", 'true' AS \"text\"");
	assert_sql("create view v as select a::int / b from t",
		"CREATE VIEW v AS SELECT pg_int4(a) / pg_divisor(b) AS \"?column?\" FROM t");
	assert_refused("select interval '1 day'", "0A000");
	assert_refused("select cast(a as int, b)", "42601");
	assert_refused("select ::int", "42601");
	assert_refused("select 1::no_such_type", "42704");
	assert_refused("select '{}'::int[]", "0A000");
}

static void a_divisor_is_looked_at(void **state)
{
	(void)state;
	assert_sql("select a / b, a % 2 from t",
		"SELECT a / pg_divisor(b) AS \"?column?\", a % 2 AS \"?column?\" FROM t");
	assert_sql("select a / 0", "SELECT a / pg_divisor(0) AS \"?column?\"");
	assert_sql("select a / -t.b * c", "SELECT (a / pg_divisor(-t.b)) * c AS \"?column?\"");
	assert_sql("select 1 / (a / (b - 1))",
		"SELECT 1 / pg_divisor(a / pg_divisor(b - 1)) AS \"?column?\"");
	assert_sql("select a / f(b) / c::int",
		"SELECT (a / pg_divisor(f(b))) / pg_divisor(pg_int4(c)) AS \"?column?\"");
	assert_sql("select a / case when b then 1 else 2 end",
		"SELECT a / pg_divisor(CASE WHEN b THEN 1 ELSE 2 END) AS \"?column?\"");
}

static void patterns_and_their_negations(void **state)
{
	(void)state;
	assert_sql("select a ~ b, a !~ 'x'",
		"SELECT a REGEXP b AS \"?column?\", a NOT REGEXP 'x' AS \"?column?\"");
	assert_sql("select a ~* b", "SELECT a REGEXP '(?i)' || b AS \"?column?\"");
	assert_sql("select a not ilike b", "SELECT a NOT REGEXP '(?like)' || b AS \"?column?\"");
	assert_sql("select ~5, 1 - ~a", "SELECT ~5 AS \"?column?\", 1 - (~a) AS \"?column?\"");
	assert_sql("select a operator(pg_catalog.~) '^(t)$' collate pg_catalog.default",
		"SELECT a REGEXP ('^(t)$') AS \"?column?\"");
	assert_sql("select a operator(pg_catalog.=) b", "SELECT a = b AS \"?column?\"");
}

static void tables_take_names_for_their_columns(void **state)
{
	(void)state;
	assert_sql("select n from (values (1), (2)) v (n)",
		"SELECT n FROM (SELECT column1 AS n FROM (VALUES (1), (2))) AS v");
	assert_sql(
		"select 1 from (values (1)) v", "SELECT 1 AS \"?column?\" FROM (VALUES (1)) AS v");
	assert_sql("insert into t default values", "INSERT INTO t DEFAULT VALUES");
	struct dialect d = translate("select i from generate_series(1, 3) i where i > 1");
	assert_non_null(strstr(d.sql, "SELECT n AS i FROM series) AS i WHERE i > 1"));
	dialect_free(&d);
}

#define A "'t.a'"
#define B "'t.b'"

static void what_is_stored_goes_through_its_column_s_type(void **state)
{
	(void)state;
	assert_sql("insert into public.t as x (a, b) values ((1 + 2) * 3, f(4, 5)) returning a",
		"INSERT INTO t AS x (a, b) VALUES (pg_assign(pg_int4((pg_int4(1 + 2)) * 3), "
		"'t.a'), pg_assign(f(4, 5), 't.b')) RETURNING a");
	assert_sql("insert into \"o'\"\"x\" values ('y')",
		"INSERT INTO \"o'\"\"x\" VALUES (pg_assign('y', 'o''\"x', 0))");
	assert_sql("insert into t (a) values (1, 2)",
		"INSERT INTO t (a) VALUES (pg_assign(1, 't.a'), pg_assign(2, NULL))");
	assert_sql("insert into t (a, b) values (1, 2), (3, 4) on conflict (a) do update set b = 5 "
		   "where t.a = 6;",
		"INSERT INTO t (a, b) SELECT pg_assign(column1, 't.a'), pg_assign(column2, 't.b') "
		"FROM (VALUES (1, 2), (3, 4)) WHERE true ON CONFLICT (a) DO UPDATE SET b = "
		"pg_assign(5, 't.b') WHERE t.a = 6");
	assert_sql("insert into t select a, b from u order by a returning b",
		"INSERT INTO t WITH pg_source(c1, c2) AS (SELECT a, b FROM u ORDER BY a NULLS "
		"LAST) SELECT pg_assign(c1, 't', 0), pg_assign(c2, 't', 1) FROM pg_source "
		"RETURNING b");
	assert_sql("insert into t (a) select distinct * from u",
		"INSERT INTO t (a) WITH pg_source(c1) AS (SELECT DISTINCT * FROM u) SELECT "
		"pg_assign(c1, 't.a') FROM pg_source");
	assert_sql("insert into t select distinct * from u",
		"INSERT INTO t SELECT DISTINCT * FROM u"); /* only the schema knows how many */
	assert_sql("update t as x set a = y is distinct from 1, b = 2 / c from u where true",
		"UPDATE t AS x SET a = pg_assign(y IS NOT 1, 't.a'), b = pg_assign(2 / "
		"pg_divisor(c), 't.b') FROM u WHERE true");
	assert_sql("update only t set (a, b) = (1, (2)), a = 3",
		"UPDATE t SET (a, b) = (pg_assign(1, 't.a'), pg_assign(2, 't.b')), a = "
		"pg_assign(3, 't.a')");
	assert_sql("update t set (a, b) = (select 1, 2), b = 3",
		"UPDATE t SET (a, b) = (WITH pg_source(c1, c2) AS (SELECT 1 AS \"?column?\", 2 AS "
		"\"?column?\") SELECT pg_assign(c1, 't.a'), pg_assign(c2, 't.b') FROM pg_source), "
		"b = pg_assign(3, 't.b')");
	assert_sql("with x as (select 1) insert into t (a) values (2)",
		"WITH x AS (SELECT 1 AS \"?column?\") INSERT INTO t (a) VALUES (pg_assign(2, "
		"'t.a'))");
	assert_sql("update \"a.b\\c\" set \"d'.\" = 1",
		"UPDATE \"a.b\\c\" SET \"d'.\" = pg_assign(1, 'a\\.b\\\\c.d''.')");
	assert_sql("insert into t (a, b) values (default, (default))",
		"INSERT INTO t (a, b) VALUES (pg_assign(pg_default('t.a'), 't.a'), "
		"pg_assign(pg_default('t.b'), 't.b'))");
	assert_sql("insert into t values (1, default), (default, 2);",
		"INSERT INTO t SELECT pg_assign(column1, 't', 0), pg_assign(column2, 't', 1) FROM "
		"(VALUES (1, pg_default('t', 1)), (pg_default('t', 0), 2))");
	assert_sql("update t set a = default, (b, a) = (default, 1), b = default where a = 1",
		"UPDATE t SET a = pg_assign(pg_default('t.a'), 't.a'), (b, a) = "
		"(pg_assign(pg_default('t.b'), 't.b'), pg_assign(1, 't.a')), b = "
		"pg_assign(pg_default('t.b'), 't.b') WHERE a = 1");
	assert_refused("insert into t values (1, f(3, default))", "42601");
	assert_refused("insert into t values", "42601");
	assert_refused("insert into t (a) values (1,)", "42601");
	assert_refused("insert into t (a) select (1", "42601");
	assert_refused("update t set a = where true", "42601");
	assert_refused("update t set a, b = 1", "42601");
}

static void assert_split(const char *from, const char *sql, const char *rest)
{
	struct dialect d = translate(from);
	assert_string_equal(d.sql, sql);
	assert_string_equal(d.rest, rest);
	dialect_free(&d);
}

static void a_list_of_objects_is_the_first_and_a_rest(void **state)
{
	(void)state;
	assert_split("drop table if exists a, public.\"b,\", c cascade;", "drop table if exists a",
		"drop table if exists  public.\"b,\", c cascade;");
	assert_split("drop index i, j", "drop index i", "drop index  j");
	assert_split("truncate table only public.a, b restart identity", "DELETE FROM a",
		"TRUNCATE  b restart identity");
	assert_refused("drop table if exists pgbench_accounts, pgbench_branches", "0A000");
	char many[2048] = "drop table a";
	for (int i = 0; i < 300; i++)
		strcat(many, ", b");
	assert_refused(many, "54000");
}

static void the_last_values_are_of_the_refused_row_where_that_is_sure(void **state)
{
	static const char *const sure[] = { "insert into t values (1)",
		"insert into t (a) values (1), (2) on conflict do nothing",
		"update t set a = 1, b = b is distinct from c where d" };
	static const char *const unsure[] = { "insert into t select 1", "delete from t",
		"insert into t values (1) on conflict (a) do update set b = 2",
		"update t set a = 1 from u", "update t set (a, b) = (1, 2) from u", "select 1" };
	(void)state;
	for (size_t i = 0; i < sizeof sure / sizeof *sure; i++) {
		struct dialect d = translate(sure[i]);
		assert_true(d.stores_last);
		dialect_free(&d);
	}
	for (size_t i = 0; i < sizeof unsure / sizeof *unsure; i++) {
		struct dialect d = translate(unsure[i]);
		assert_false(d.stores_last);
		dialect_free(&d);
	}
}

static void a_delete_may_use_other_tables(void **state)
{
	(void)state;
	assert_sql("delete from t as x using u, v join w using (k) where x.a = u.a returning x.a",
		"DELETE FROM t AS x WHERE EXISTS (SELECT 1 FROM u, (v JOIN w USING (k)) WHERE x.a "
		"= u.a) RETURNING x.a");
	assert_sql("delete from t using u where a = f / b;",
		"DELETE FROM t WHERE EXISTS (SELECT 1 FROM u WHERE a = (f / pg_divisor(b)))");
	assert_refused("delete from t using u where (a = 1", "42601");
	assert_sql("delete from t where a in (select a from u join v using (a))",
		"DELETE FROM t WHERE a IN (SELECT a FROM u JOIN v USING (a))");
}

static void the_grammar_tells_where_a_statement_is_wrong(void **state)
{
	static const struct {
		const char *sql, *message;
		size_t place;
	} wrong[] = { { "select 1 +", "syntax error at end of input", 11 },
		{ "select 'ä', from t", "syntax error at or near \"from\"", 14 },
		{ "explain select a b c from t", "syntax error at or near \"c\"", 20 },
		{ "select 'a'::nope", "type \"nope\" does not exist", 13 },
		{ "select a @> b from t", "operator @> is not supported", 10 } };
	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct dialect d = translate(wrong[i].sql);
		assert_int_equal(d.kind, DIALECT_REFUSED);
		assert_string_equal(d.message, wrong[i].message);
		assert_int_equal(d.place, wrong[i].place);
		dialect_free(&d);
	}
}

static void what_sqlite_would_answer_otherwise_is_refused(void **state)
{
	static const char *const refused[] = { "select distinct on (a) a, b from t",
		"select a from t order by a fetch first 1 row with ties", "select a[1] from t",
		"select a = any (b) from t", "select a > all (select b from u) from t",
		"select sum(a) from t group by rollup (b)", "select a from t except all select 1",
		"select string_agg(a, ',' order by b) from t", "select b'101'",
		"with x as (delete from t returning a) select a from x",
		"select a from t, lateral (select 1) x", "select 1 into u",
		"select a into u from t", "select a similar to 'b' from t",
		"select a from t tablesample system (1)", "create materialized view v as select 1",
		"select json '{}' @> '{}'" };
	(void)state;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		assert_refused(refused[i], "0A000");
}

static void queries_keep_their_meaning_in_sqlite_s_grammar(void **state)
{
	(void)state;
	assert_sql("select 1 union (select 2 intersect select 3 order by 1)",
		"SELECT 1 AS \"?column?\" UNION SELECT * FROM (SELECT 2 AS \"?column?\" INTERSECT "
		"SELECT 3 AS \"?column?\" ORDER BY 1 NULLS LAST)");
	assert_sql("values (1), (2) order by 1 limit 1",
		"SELECT * FROM (VALUES (1), (2)) ORDER BY 1 NULLS LAST LIMIT 1");
	assert_sql("select * from a, b full join c on b.x = c.x",
		"SELECT * FROM a, (b FULL JOIN c ON b.x = c.x)");
	assert_sql("select x from t as u (x)",
		"SELECT x FROM (WITH u(x) AS (SELECT * FROM t) SELECT * FROM u) AS u");
	assert_sql("select a from t where a = any (array[1, 2]) and b like 'x!%' escape '!'",
		"SELECT a FROM t WHERE (a IN (1, 2)) AND (b LIKE 'x!%' ESCAPE '!')");
	assert_sql("create table u as select count(*) from t",
		"CREATE TABLE u AS SELECT count(*) AS \"count\" FROM t");
	assert_sql("create temp view v (a) as (select 1)",
		"CREATE TEMP VIEW v (a) AS SELECT 1 AS \"?column?\"");
}

static void depth_is_bounded(void **state)
{
	(void)state;
	char *sql = malloc(1 << 20);
	assert_non_null(sql);
	for (int kind = 0; kind < 3; kind++) {
		static const char *const units[] = { "(select ", "1 + ", "not " };
		strcpy(sql, "select ");
		for (int i = 0; i < 5000; i++)
			strcat(sql + i * (int)strlen(units[kind]), units[kind]);
		strcat(sql, "1");
		for (int i = 0; kind == 0 && i < 5000; i++)
			strcat(sql + 40000, ")");
		struct dialect d = translate(sql);
		assert_int_equal(d.kind, DIALECT_REFUSED);
		dialect_free(&d);
	}
	free(sql);
}

static void a_hidden_column_s_name_in_too_many_parentheses_is_refused(void **state)
{
	(void)state;
	char sql[4096] = "select oid, 1";
	for (int i = 0; i < 300; i++)
		strcat(sql, "::int");
	strcat(sql, " from t");
	assert_refused(sql, "54001");
}

static void what_sqlite_reads_as_other_tokens_is_refused_or_cut_alike(void **state)
{
	(void)state;
	assert_refused("select rowid \xef\xbb\xbf"
		       "from t",
		"42601");
	assert_refused("\xef\xbb\xbfselect 1", "42601");
	assert_refused("select 0xe+oid from t", "42601");
	assert_sql("select 1e+5, 1E-5, .5e5", "SELECT '100000' AS \"?column?\", '0.00001' AS "
					      "\"?column?\", '50000' AS \"?column?\"");
}

static void the_catalog_s_own_spellings(void **state)
{
	(void)state;
	assert_sql("select c.oid::pg_catalog.regclass from pg_catalog.pg_class c where c.oid = "
		   "'1'::regclass",
		"WITH pg_common1 AS (SELECT*FROM pg_class) SELECT pg_regclass_name(c.oid) AS "
		"\"oid\" FROM pg_common1 AS c WHERE c.oid = pg_regclass_id('1')");
	assert_sql("select x[1] from pg_catalog.pg_policy", "SELECT NULL WHERE 0");
	assert_sql("select 'pg_catalog.pg_policy' from t",
		"SELECT 'pg_catalog.pg_policy' AS \"?column?\" FROM t");
	assert_sql("select array(select rolname from pg_catalog.pg_auth_members) as m, 1",
		"SELECT '{}' AS \"m\", 1 AS \"?column?\"");
}

static void nulls_are_the_greatest(void **state)
{
	(void)state;
	assert_sql("select a from t order by a", "SELECT a FROM t ORDER BY a NULLS LAST");
	assert_sql("select a from t order by a desc, b nulls first, f(c, d) limit 3",
		"SELECT a FROM t ORDER BY a DESC NULLS FIRST, b NULLS FIRST, f(c, d) NULLS LAST "
		"LIMIT 3");
	assert_sql(
		"select (select a from u order by 1), row_number() over (partition by x order by "
		"b rows 1 preceding) from t order by (a + 1)::int;",
		"SELECT (SELECT a FROM u ORDER BY 1 NULLS LAST) AS \"a\", row_number() OVER "
		"(PARTITION BY x ORDER BY b NULLS LAST ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) "
		"AS \"row_number\" FROM t ORDER BY pg_int4((a + 1)) NULLS LAST");
	assert_sql(
		"select a from t order by a for update", "SELECT a FROM t ORDER BY a NULLS LAST");
	assert_sql("create view v as select a from t order by a",
		"CREATE VIEW v AS SELECT a FROM t ORDER BY a NULLS LAST");
	assert_sql("select a from t group by a", "SELECT a FROM t GROUP BY a");
}

static void words_that_stand_elsewhere_here(void **state)
{
	(void)state;
	assert_sql("table t", "SELECT * FROM t");
	assert_sql("select a from t fetch first 2 rows only", "SELECT a FROM t LIMIT 2");
	assert_sql("select a from t limit all", "SELECT a FROM t");
	assert_sql("select substring(a from 2 for 3)", "SELECT substr(a, 2, 3) AS \"substring\"");
	assert_sql("select left(a, 2) from t left join u on true",
		"SELECT pg_left(a, 2) AS \"left\" FROM t LEFT JOIN u ON true");
	assert_sql("select extract(year from d)",
		"SELECT pg_scaled(date_part('year', d), 0) AS \"extract\"");
	assert_sql("create table t (a timestamp default now())",
		"create table t (a timestamp default (strftime('%Y-%m-%d %H:%M:%f','now')))");
	assert_sql("create table t (a text default 'x'::text)",
		"create table t (a text default (CAST('x' AS TEXT)))");
	assert_sql(
		"create table t (a text default 'x' || 'y' not null, b text default upper('z'), c "
		"integer default -1 check (c < 1 + 1), d text default 'x'::text)",
		"create table t (a text DEFAULT ('x' || 'y') not null, b text DEFAULT "
		"(upper('z')), c integer default -1 check (c < 1 + 1), d text default (CAST('x' "
		"AS TEXT)))");
	assert_sql("alter table t add a text default f(1, (2))",
		"alter table t add a text DEFAULT (f(1, (2)))");
	assert_sql("create table t (a int primary key, b int)",
		"create table t (a int4 primary key NOT NULL, b int4)");
	assert_sql("create table t (a bigint generated by default as identity primary key)",
		"create table t (a INTEGER primary key NOT NULL)");
	assert_sql("drop table t cascade", "drop table t");
	assert_refused("create or replace view v as select 1", "0A000");
	assert_refused("alter table t alter column a set not null", "0A000");
	assert_sql("alter table if_only rename to t", "alter table if_only rename to t");
}

static void explain_shows_the_plan(void **state)
{
	(void)state;
	assert_sql("explain select a::int from t",
		"EXPLAIN QUERY PLAN SELECT pg_int4(a) AS \"a\" FROM t");
	assert_sql("EXPLAIN QUERY PLAN select 1", "EXPLAIN QUERY PLAN SELECT 1 AS \"?column?\"");
	assert_refused("explain analyze select 1", "0A000");
	assert_refused("explain (costs off) select 1", "0A000");
}

static void values_that_mean_something_else_here_are_rewritten(void **state)
{
	(void)state;
	assert_sql("select '\\x0aFF'::bytea", "SELECT X'0aFF' AS \"bytea\"");
	assert_sql("select '\\x0'::bytea", "SELECT CAST('\\x0' AS BLOB) AS \"bytea\"");
	assert_sql("select random()",
		"SELECT (abs(random() % 9007199254740992) / 9007199254740992.0) AS \"random\"");
	assert_sql(
		"select - -1, 2 - -1", "SELECT 1 AS \"?column?\", pg_int4(2 - -1) AS \"?column?\"");
	assert_refused("select t.random() from t", "3F000");
}

static void parameters_keep_their_numbers(void **state)
{
	(void)state;
	assert_sql("update t set a = $2 where b = $1 and c = $2",
		"UPDATE t SET a = pg_assign(?2, 't.a') WHERE (b = ?1) AND (c = ?2)");
}

static void strings_of_every_spelling_become_plain_ones(void **state)
{
	(void)state;
	assert_sql("select E'a\\'b\\nc''d'", "SELECT 'a''b\nc''d' AS \"?column?\"");
	assert_sql("select $$it's$$", "SELECT 'it''s' AS \"?column?\"");
	assert_sql("select $q$a$$b$q$, $1", "SELECT 'a$$b' AS \"?column?\", ?1 AS \"?column?\"");
	assert_sql("select 'a;b' ;", "SELECT 'a;b' AS \"?column?\"");
	assert_refused("select 'open", "42601");
}

static void constants_of_the_session_are_written_in(void **state)
{
	(void)state;
	assert_sql("select current_user", "SELECT 'demo' AS \"current_user\"");
	assert_sql("select current_database()", "SELECT 'o''base' AS \"current_database\"");
	assert_sql("select pg_backend_pid()", "SELECT 42 AS \"pg_backend_pid\"");
	assert_sql("select pg_catalog.version()", "SELECT 'PostgreSQL 15.0' AS \"version\"");
	assert_sql("select t.now, now from t", "SELECT t.now, now FROM t");
	assert_sql("values (now())", "VALUES (strftime('%Y-%m-%d %H:%M:%f','now'))");
}

static void definitions_lose_what_sqlite_has_not(void **state)
{
	(void)state;
	assert_sql("CREATE TABLE t(id SERIAL, k INTEGER, PRIMARY KEY (id))",
		"CREATE TABLE t(id INTEGER, k INTEGER, PRIMARY KEY (id))");
	assert_sql("create table t(a int) with (fillfactor=100)", "create table t(a int4)");
	assert_sql("create table t(serial int, \"int\" text)",
		"create table t(serial int4, \"int\" text)");
	assert_sql("alter table t add column serial int", "alter table t add column serial int4");
	assert_sql("create index i on t using btree (a)", "create index i on t (a)");
	assert_sql("create table public.t(b bytea)", "create table t(b BLOB)");
	assert_sql("select serial from t", "SELECT serial FROM t");
}

static void row_locks_are_void(void **state)
{
	(void)state;
	assert_sql("select a from t where b = 1 for update", "SELECT a FROM t WHERE b = 1");
	assert_sql("select a from t for share of t nowait", "SELECT a FROM t");
	assert_sql("update t set a = 1", "UPDATE t SET a = pg_assign(1, 't.a')");
}

static void transactions_begin_in_every_form(void **state)
{
	(void)state;
	assert_sql("BEGIN", "BEGIN");
	assert_sql("begin work;", "BEGIN");
	assert_sql("start transaction isolation level serializable, read only",
		"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
	assert_sql("begin transaction read write", "BEGIN");
	assert_sql("end", "COMMIT");
	assert_sql("abort", "ROLLBACK");
	assert_sql("rollback to savepoint s", "ROLLBACK TO s");
	assert_refused("begin nonsense", "42601");
	assert_refused("commit and chain", "0A000");
}

static void settings_are_told_apart(void **state)
{
	(void)state;
	struct dialect d = translate("SET application_name TO 'my ''app'");
	assert_int_equal(d.kind, DIALECT_SET);
	assert_string_equal(d.name, "application_name");
	assert_string_equal(d.value, "my 'app");
	d = translate("set local Cancel.Priority = low;");
	assert_true(d.local);
	assert_string_equal(d.name, "cancel.priority");
	assert_string_equal(d.value, "low");
	d = translate("set time zone default");
	assert_string_equal(d.name, "timezone");
	assert_true(d.value_default);
	d = translate("show transaction isolation level");
	assert_int_equal(d.kind, DIALECT_SHOW);
	assert_string_equal(d.name, "transaction_isolation");
	assert_refused("set x", "42601");
	assert_refused("set role admin", "0A000");
}

static void what_is_not_there_is_refused_by_name(void **state)
{
	(void)state;
	assert_refused("copy t from stdin", "0A000");
	assert_refused("create function f() returns int", "0A000");
	assert_refused("create or replace procedure p()", "0A000");
	assert_sql("drop table if exists a", "drop table if exists a");
	assert_sql("truncate table pgbench_history", "DELETE FROM pgbench_history");
}

static void maintenance_of_one_table_is_no_work(void **state)
{
	(void)state;
	struct dialect d = translate("vacuum analyze pgbench_branches");
	assert_int_equal(d.kind, DIALECT_NO_WORK);
	assert_string_equal(d.tag, "VACUUM");
	assert_sql("vacuum", "vacuum");
}

static void comments_alone_are_empty(void **state)
{
	(void)state;
	assert_int_equal(translate(" -- nothing\n /* at /* all */ */ ;").kind, DIALECT_EMPTY);
	assert_int_equal(translate("").kind, DIALECT_EMPTY);
	assert_refused("select /* open", "42601");
}

static void a_string_of_statements_is_cut_at_its_semicolons(void **state)
{
	(void)state;
	const char *sql = "select ';'; -- ;\nselect 2;";
	size_t first = lexer_statement_bytes(sql, strlen(sql));
	assert_int_equal(first, 11);
	assert_int_equal(
		lexer_statement_bytes(sql + first, strlen(sql) - first), strlen(sql) - first);
	const char *trigger =
		"create trigger x after insert on t begin update t set a = case when 1 "
		"then 2 end; end; select 1";
	assert_int_equal(lexer_statement_bytes(trigger, strlen(trigger)), strlen(trigger) - 9);
	const char *number = "select 1e";
	assert_int_equal(lexer_statement_bytes(number, strlen(number)), strlen(number));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_path_of_a_backup_is_its_text),
		cmocka_unit_test(a_cast_wraps_the_operand_before_it),
		cmocka_unit_test(a_divisor_is_looked_at),
		cmocka_unit_test(patterns_and_their_negations),
		cmocka_unit_test(tables_take_names_for_their_columns),
		cmocka_unit_test(what_is_stored_goes_through_its_column_s_type),
		cmocka_unit_test(a_list_of_objects_is_the_first_and_a_rest),
		cmocka_unit_test(the_last_values_are_of_the_refused_row_where_that_is_sure),
		cmocka_unit_test(a_delete_may_use_other_tables),
		cmocka_unit_test(the_grammar_tells_where_a_statement_is_wrong),
		cmocka_unit_test(what_sqlite_would_answer_otherwise_is_refused),
		cmocka_unit_test(queries_keep_their_meaning_in_sqlite_s_grammar),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(a_hidden_column_s_name_in_too_many_parentheses_is_refused),
		cmocka_unit_test(what_sqlite_reads_as_other_tokens_is_refused_or_cut_alike),
		cmocka_unit_test(the_catalog_s_own_spellings),
		cmocka_unit_test(nulls_are_the_greatest),
		cmocka_unit_test(words_that_stand_elsewhere_here),
		cmocka_unit_test(explain_shows_the_plan),
		cmocka_unit_test(values_that_mean_something_else_here_are_rewritten),
		cmocka_unit_test(parameters_keep_their_numbers),
		cmocka_unit_test(strings_of_every_spelling_become_plain_ones),
		cmocka_unit_test(constants_of_the_session_are_written_in),
		cmocka_unit_test(definitions_lose_what_sqlite_has_not),
		cmocka_unit_test(row_locks_are_void),
		cmocka_unit_test(transactions_begin_in_every_form),
		cmocka_unit_test(settings_are_told_apart),
		cmocka_unit_test(what_is_not_there_is_refused_by_name),
		cmocka_unit_test(maintenance_of_one_table_is_no_work),
		cmocka_unit_test(comments_alone_are_empty),
		cmocka_unit_test(a_string_of_statements_is_cut_at_its_semicolons),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
