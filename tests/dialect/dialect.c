/* SPDX-License-Identifier: Apache-2.0 */
/* What PostgreSQL clients write, and what the engine is given instead. */
#include "demo-db/server/dialect/dialect.h"
#include "demo-db/server/dialect/lexer.h"

#include <setjmp.h>
#include <stdarg.h>
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
	assert_sql("select '12'::int", "select pg_int4('12')");
	assert_sql("select a.b::text, 1", "select CAST(a.b AS TEXT), 1");
	assert_sql("select (1 + 2)::bigint", "select pg_int8((1 + 2))");
	assert_sql("select f(x, (y))::float8 from t", "select pg_float8(f(x, (y))) from t");
	assert_sql("select $1::varchar(20)", "select pg_varchar(?1, 20)");
	assert_sql("select a::char, a::character varying(3), a::character(2), a::varchar",
		"select pg_bpchar(a, 1), pg_varchar(a, 3), pg_bpchar(a, 2), CAST(a AS TEXT)");
	assert_sql("select a::numeric(8, 2), a::decimal, a::varchar(x)",
		"select pg_numeric(a, 8, 2), pg_numeric(a), CAST(a AS TEXT)");
	assert_sql("create table t (a text default 'x'::varchar(3))",
		"create table t (a text default (CAST('x' AS TEXT)))");
	assert_sql("select x::int::text", "select CAST(pg_int4(x) AS TEXT)");
	assert_sql("select '1'::timestamp without time zone, 2", "select pg_timestamp('1'), 2");
	assert_sql("select 1 + 2::int", "select 1 + pg_int4(2)");
	assert_sql("select cast(a + 1 as int), cast(b as varchar(3))",
		"select pg_int4((a + 1 )), pg_varchar((b ), 3)");
	assert_sql("select date '2024-01-01', true::text", "select pg_date('2024-01-01'), 'true'");
	/* what the file keeps is SQLite's own */
	assert_sql("create view v as select a::int / b from t",
		"create view v as select CAST(a AS INTEGER) / b from t");
	assert_refused("select interval '1 day'", "0A000");
	assert_refused("select cast(a as int, b)", "42601");
	assert_refused("select ::int", "42601");
	assert_refused("select 1::no_such_type", "42704");
	assert_refused("select '{}'::int[]", "0A000");
}

static void a_divisor_is_looked_at(void **state)
{
	(void)state;
	assert_sql("select a / b, a % 2 from t", "select a / pg_divisor(b), a % 2 from t");
	assert_sql("select a / 0", "select a / pg_divisor(0)");
	assert_sql("select a / -t.b * c", "select a / -pg_divisor(t.b) * c");
	assert_sql("select 1 / (a / (b - 1))", "select 1 / pg_divisor((a / pg_divisor((b - 1))))");
	assert_sql(
		"select a / f(b) / c::int", "select a / pg_divisor(f(b)) / pg_divisor(pg_int4(c))");
	assert_sql("select a / case when b then 1 else 2 end",
		"select a / case when b then 1 else 2 end");
}

static void patterns_and_their_negations(void **state)
{
	(void)state;
	assert_sql("select a ~ b, a !~ 'x'", "select a REGEXP b, a NOT REGEXP 'x'");
	assert_sql("select a ~* b", "select a REGEXP '(?i)' || b");
	assert_sql("select a not ilike b", "select a not REGEXP '(?like)' || b");
	assert_sql("select ~5, 1 - ~a", "select ~5, 1 - ~a");
	assert_sql("select a operator(pg_catalog.~) '^(t)$' collate pg_catalog.default",
		"select a REGEXP '^(t)$'");
	assert_sql("select a operator(pg_catalog.=) b", "select a = b");
}

static void tables_take_names_for_their_columns(void **state)
{
	(void)state;
	assert_sql("select n from (values (1), (2)) v (n)",
		"select n from (SELECT column1 AS n FROM (values (1), (2))) v");
	assert_sql("select 1 from (values (1)) v", "select 1 from (values (1)) v");
	assert_sql("insert into t default values", "insert into t default values");
	struct dialect d = translate("select i from generate_series(1, 3) i where i > 1");
	assert_non_null(strstr(d.sql, "SELECT n AS i FROM series) i where i > 1"));
	dialect_free(&d);
}

#define A "'t.a'"
#define B "'t.b'"

static void what_is_stored_goes_through_its_column_s_type(void **state)
{
	(void)state;
	assert_sql("insert into public.t as x (a, b) values ((1 + 2) * 3, f(4, 5)) returning a",
		"insert into t as x (a, b) values (pg_assign((1 + 2) * 3, " A
		"), pg_assign(f(4, 5), " B ")) returning a");
	assert_sql("insert into \"o'\"\"x\" values ('y')",
		"insert into \"o'\"\"x\" values (pg_assign('y', 'o''\"x', 0))");
	assert_sql("insert into t (a) values (1, 2)",
		"insert into t (a) values (pg_assign(1, " A "), pg_assign(2, NULL))");
	assert_sql("insert into t (a, b) values (1, 2), (3, 4) on conflict (a) do update set b = 5 "
		   "where t.a = 6;",
		"insert into t (a, b) SELECT pg_assign(column1, " A "), pg_assign(column2, " B ") "
		"FROM (values (1, 2), (3, 4)) WHERE true on conflict "
		"(a) do update set b = pg_assign(5, " B ") where t.a = 6");
	assert_sql("insert into t select a, b from u order by a returning b",
		"insert into t WITH pg_source(c1, c2) AS (select a, b from u order by a NULLS "
		"LAST) SELECT pg_assign(c1, 't', 0), pg_assign(c2, "
		"'t', 1) FROM pg_source returning b");
	assert_sql("insert into t (a) select distinct * from u",
		"insert into t (a) WITH pg_source(c1) AS (select distinct * from u) SELECT "
		"pg_assign(c1, " A ") FROM pg_source");
	assert_sql("insert into t select distinct * from u",
		"insert into t select distinct * from u"); /* only the schema knows how many */
	assert_sql("update t as x set a = y is distinct from 1, b = 2 / c from u where true",
		"update t as x set a = pg_assign(y is distinct from 1, " A
		"), b = pg_assign(2 / pg_divisor(c), " B ") from u where true");
	assert_sql("update only t set (a, b) = (1, (2)), a = 3",
		"update only t set (a, b) = (pg_assign(1, " A "), pg_assign((2), " B
		")), a = pg_assign(3, " A ")");
	assert_sql("update t set (a, b) = (select 1, 2), b = 3",
		"update t set (a, b) = (WITH pg_source(c1, c2) AS (select 1, 2) SELECT "
		"pg_assign(c1, " A "), pg_assign(c2, " B ") FROM pg_source), b = "
		"pg_assign(3, " B ")");
	assert_sql("with x as (select 1) insert into t (a) values (2)",
		"with x as (select 1) insert into t (a) values (pg_assign(2, " A "))");
	assert_sql("update \"a.b\\c\" set \"d'.\" = 1",
		"update \"a.b\\c\" set \"d'.\" = pg_assign(1, 'a\\.b\\\\c.d''.')");
	assert_sql("insert into t (a, b) values (default, (default))",
		"insert into t (a, b) values (pg_assign(pg_default('t.a'), 't.a'), "
		"pg_assign((default), 't.b'))");
	assert_sql("insert into t values (1, default, default), (default, 2, f(3, default));",
		"insert into t SELECT pg_assign(column1, 't', 0), pg_assign(column2, 't', 1), "
		"pg_assign(column3, 't', 2) FROM (values (1, pg_default('t', 1), pg_default('t', "
		"2)), (pg_default('t', 0), 2, f(3, default)))");
	assert_sql("update t set a = default, (b, a) = (default, 1), b = default where a = 1",
		"update t set a = pg_assign(pg_default('t.a'), 't.a'), (b, a) = "
		"(pg_assign(pg_default('t.b'), 't.b'), pg_assign(1, 't.a')), b = "
		"pg_assign(pg_default('t.b'), 't.b') where a = 1");
	/* what is no statement stays what it is */
	assert_sql("insert into t values", "insert into t values");
	assert_sql(
		"insert into t (a) values (1,)", "insert into t (a) values (pg_assign(1, " A "),)");
	assert_sql("insert into t (a) select (1",
		"insert into t (a) WITH pg_source(c1) AS (select (1");
	assert_sql("update t set a = where true", "update t set a = where true");
	assert_sql("update t set a, b = 1", "update t set a, b = pg_assign(1, " B ")");
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
		"delete from t as x WHERE EXISTS (SELECT 1 FROM u, v join w using (k) where x.a = "
		"u.a) returning x.a");
	assert_sql("delete from t using u where a = f / b;",
		"delete from t WHERE EXISTS (SELECT 1 FROM u where a = f / pg_divisor(b))");
	assert_sql("delete from t using u where (a = 1",
		"delete from t WHERE EXISTS (SELECT 1 FROM u where (a = 1");
	assert_sql("delete from t where a in (select a from u join v using (a))",
		"delete from t where a in (select a from u join v using (a))");
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
	assert_sql("select 0xe+oid from t",
		"WITH pg_common1 AS (SELECT*FROM t) select 0xe+oid from pg_common1 AS t");
	assert_sql("select 1e+5, 1E-5, .5e5", "select 1e+5, 1E-5, .5e5");
}

static void the_catalog_s_own_spellings(void **state)
{
	(void)state;
	assert_sql("select c.oid::pg_catalog.regclass from pg_catalog.pg_class c where c.oid = "
		   "'1'::regclass",
		"WITH pg_common1 AS (SELECT*FROM pg_class) select pg_regclass_name(c.oid) from "
		"pg_common1 c where c.oid = pg_regclass_id('1')");
	assert_sql("select x[1] from pg_catalog.pg_policy", "SELECT NULL WHERE 0");
	assert_sql("select 'pg_catalog.pg_policy' from t", "select 'pg_catalog.pg_policy' from t");
	assert_sql("select array(select rolname from pg_catalog.pg_auth_members) as m, 1",
		"select '{}' as m, 1");
}

static void nulls_are_the_greatest(void **state)
{
	(void)state;
	assert_sql("select a from t order by a", "select a from t order by a NULLS LAST");
	assert_sql("select a from t order by a desc, b nulls first, f(c, d) limit 3",
		"select a from t order by a desc NULLS FIRST, b nulls first, f(c, d) NULLS LAST "
		"limit 3");
	assert_sql(
		"select (select a from u order by 1), row_number() over (partition by x order by "
		"b rows 1 preceding) from t order by (a + 1)::int;",
		"select (select a from u order by 1 NULLS LAST), row_number() over (partition by x "
		"order by b NULLS LAST rows 1 preceding) from t order by pg_int4((a + 1)) NULLS "
		"LAST");
	assert_sql(
		"select a from t order by a for update", "select a from t order by a NULLS LAST");
	assert_sql("create view v as select a from t order by a",
		"create view v as select a from t order by a");
	assert_sql("select a from t group by a", "select a from t group by a");
}

static void words_that_stand_elsewhere_here(void **state)
{
	(void)state;
	assert_sql("table t", "SELECT * FROM t");
	assert_sql("for share nowait;", "");
	assert_sql("select a from t fetch first 2 rows only", "select a from t LIMIT 2");
	assert_sql("select a from t limit all", "select a from t LIMIT -1");
	assert_sql("select substring(a from 2 for 3)", "select substr(a , 2 , 3)");
	assert_sql("select left(a, 2) from t left join u on true",
		"select pg_left(a, 2) from t left join u on true");
	assert_sql("select extract(year from d)", "select date_part('year' , d)");
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
	assert_sql("explain select a::int from t", "EXPLAIN QUERY PLAN select pg_int4(a) from t");
	assert_sql("EXPLAIN QUERY PLAN select 1", "EXPLAIN QUERY PLAN select 1");
	assert_refused("explain analyze select 1", "0A000");
	assert_refused("explain (costs off) select 1", "0A000");
}

static void values_that_mean_something_else_here_are_rewritten(void **state)
{
	(void)state;
	assert_sql("select '\\x0aFF'::bytea", "select X'0aFF'");
	assert_sql("select '\\x0'::bytea", "select CAST('\\x0' AS BLOB)");
	assert_sql("select random() < 1, t.random() from t",
		"select (abs(random() % 9007199254740992) / 9007199254740992.0) < 1, t.random() "
		"from t");
}

static void parameters_keep_their_numbers(void **state)
{
	(void)state;
	assert_sql("update t set a = $2 where b = $1 and c = $2",
		"update t set a = pg_assign(?2, 't.a') where b = ?1 and c = "
		"?2");
}

static void strings_of_every_spelling_become_plain_ones(void **state)
{
	(void)state;
	assert_sql("select E'a\\'b\\nc''d'", "select 'a''b\nc''d'");
	assert_sql("select $$it's$$", "select 'it''s'");
	assert_sql("select $q$a$$b$q$, $1", "select 'a$$b', ?1");
	assert_sql("select 'a;b' ;", "select 'a;b'");
	assert_refused("select 'open", "42601");
}

static void constants_of_the_session_are_written_in(void **state)
{
	(void)state;
	assert_sql("select current_user", "select 'demo'");
	assert_sql("select current_database()", "select 'o''base'");
	assert_sql("select pg_backend_pid()", "select 42");
	assert_sql("select pg_catalog.version()", "select 'PostgreSQL 15.0'");
	assert_sql("select t.now, now from t", "select t.now, now from t");
	assert_sql("values (now())", "values (strftime('%Y-%m-%d %H:%M:%f','now'))");
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
	assert_sql("select serial from t", "select serial from t");
}

static void row_locks_are_void(void **state)
{
	(void)state;
	assert_sql("select a from t where b = 1 for update", "select a from t where b = 1");
	assert_sql("select a from t for share of t nowait", "select a from t");
	assert_sql("update t set a = 1", "update t set a = pg_assign(1, 't.a')");
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

static void deep_nesting_is_an_error(void **state)
{
	(void)state;
	char sql[400] = "select ";
	memset(sql + 7, '(', 300);
	sql[307] = '\0';
	assert_refused(sql, "54001");
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
		cmocka_unit_test(deep_nesting_is_an_error),
		cmocka_unit_test(a_string_of_statements_is_cut_at_its_semicolons),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
