-- What psql shows for this is in the file beside it, made by PostgreSQL 15 with record.sh.
\set VERBOSITY terse
\pset null '(null)'
set client_min_messages = warning;
select 1, 1.5, 'text', true, false, null, -7, 12345678901;
select 1 as "Mixed Case", 2 as "select", 3 three, 'it''s' as quote;
select 7 / 2, -7 / 2, 7 % 3, -7 % 3, 5 & 3, 5 | 3, ~5, 1 << 4;
select 1 = 1, 1 <> 2, 1 < 2 and 2 < 1, not true, true or false, 1 is null, null is null, 1 + 1 < 3;
select true::text, 't'::boolean, 'off'::bool, 1::boolean, true::int, 0::bool, cast(false as text);
select 1::text, '5'::int + 1, 5.7::int, -5.5::int, 2.5::int, 5.5::text;
select 0.1::float8 + 0.2::float8, 1::float8, 1e20::float8, 1.0::real, 1e100::float8;
create table t (i int, s smallint, l bigint, n numeric(8,2), f double precision, r real, b boolean, v varchar(10), x text, d date, ts timestamp, tz timestamptz, by bytea, u uuid, j json);
insert into t values (1, 2, 3, 4.5, 5.5, 6.5, true, 'vv', 'xx', '2024-02-29', '2024-02-29 12:34:56', '2024-02-29 12:34:56+00', '\x00ff', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"a": 1}');
insert into t (i) values (2);
\x on
select * from t order by i;
\x off
select i, b, n from t where b;
select i from t where not b;
select i from t where b is true;
insert into t (i, n) values (5, 7), (6, '8.5');
select n from t where i >= 5 order by i;
select count(*) from t where x = 'xx' and v = 'vv';
select 'a' < 'b', 'a' < 'B', 'Z' < 'a', 'abc' = 'ABC';
select E'tab\there', E'new\nline', $$dollar's$$, $tag$a$tag$;
select null::int, null::text, coalesce(null, 1), null || 'a';
select (1, 2) < (1, 3), 5 between 1 and 10, 5 not in (1, 2), 'a' in ('a', 'b');
select i from t where i = '1';
select sum(i), count(*) from t where i = any_value_is_not_here;
select 10 / 4, 10::float / 4;
drop table t;
