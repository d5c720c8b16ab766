-- What psql shows for this is in the file beside it, made by PostgreSQL 15 with record.sh.
drop table if exists t;
\echo :SQLSTATE
drop view if exists v;
drop index if exists i;
create table if not exists t (a int);
create table if not exists t (a int);
create index if not exists i on t (a);
create index if not exists i on t (a);
create view v as select a from t;
drop view if exists v;
drop view if exists v;
begin;
drop table if exists "No Such";
create table if not exists u (a int primary key, b text);
drop table if exists u;
drop table if exists u cascade;
insert into t values (1);
commit;
select * from t;
\set VERBOSITY sqlstate
drop table if exists u;
\set VERBOSITY terse
drop table if exists u;
set client_min_messages = warning;
drop table if exists u;
reset client_min_messages;
drop index if exists i;
drop table if exists public.u;
drop table if exists t;
drop table if exists t; create table t (a int); drop table if exists t; select 1 as one;
