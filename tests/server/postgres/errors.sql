-- What psql shows for this is in the file beside it, made by PostgreSQL 15 with record.sh.
\set VERBOSITY terse
\pset null '(null)'
set client_min_messages = warning;
create table t (id integer primary key, a integer not null, b text unique, c integer check (c > 0), constraint named check (a < 100));
create table child (t_id integer references t (id));
insert into t values (1, 1, 'x', 1);
selec 1;
\echo :SQLSTATE
select * from nope;
\echo :SQLSTATE
select nope from t;
\echo :SQLSTATE
select t.nope from t;
\echo :SQLSTATE
select x.id from t;
\echo :SQLSTATE
select 1 +;
\echo :SQLSTATE
select 1, 2 +, 3;
\echo :SQLSTATE
select * frm t;
\echo :SQLSTATE
select 1 / 0;
\echo :SQLSTATE
select 1 % 0;
\echo :SQLSTATE
select 1.0 / 0;
\echo :SQLSTATE
select 1 / a from t where a = 1;
select 1 / (a - 1) from t;
\echo :SQLSTATE
update t set a = a / 0;
\echo :SQLSTATE
insert into t values (1, 1, 'y', 1);
\echo :SQLSTATE
insert into t values (2, 1, 'x', 1);
\echo :SQLSTATE
insert into t values (2, null, 'y', 1);
\echo :SQLSTATE
insert into t values (2, 1, 'y', -1);
\echo :SQLSTATE
insert into t values (2, 100, 'y', 1);
\echo :SQLSTATE
insert into child values (1);
select 'abc'::int;
\echo :SQLSTATE
select cast('abc' as integer);
\echo :SQLSTATE
select '12x'::numeric;
\echo :SQLSTATE
select 'maybe'::boolean;
\echo :SQLSTATE
select '2020-13-40'::date;
\echo :SQLSTATE
select 'yesterdayish'::timestamp;
\echo :SQLSTATE
select ''::int;
\echo :SQLSTATE
select 2147483648::int;
\echo :SQLSTATE
select 40000::smallint;
\echo :SQLSTATE
select '99999999999'::int;
\echo :SQLSTATE
select t_id, id from t join child on t.id = child.t_id where nope = 1;
\echo :SQLSTATE
select id from t a, t b;
\echo :SQLSTATE
insert into t (id, nope) values (20, 1);
\echo :SQLSTATE
update t set nope = 1;
\echo :SQLSTATE
update nope set a = 1;
\echo :SQLSTATE
delete from nope;
\echo :SQLSTATE
insert into nope values (1);
\echo :SQLSTATE
set nosuch = 1;
\echo :SQLSTATE
show nosuch;
\echo :SQLSTATE
set statement_timeout = 'x';
\echo :SQLSTATE
drop table child;
drop table t;
\set VERBOSITY sqlstate
select * from nope;
select 1 / 0;
\set ON_ERROR_STOP on
\echo before
select nope;
\echo not reached
