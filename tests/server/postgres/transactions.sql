-- What psql shows for this is in the file beside it, made by PostgreSQL 15 with record.sh.
\set VERBOSITY terse
\pset null '(null)'
set client_min_messages = warning;
create table t (a integer primary key, b text);
begin;
insert into t values (1, 'x');
begin;
commit;
commit;
rollback;
begin;
insert into t values (2, 'y');
rollback;
select * from t;
begin;
insert into t values (3, 'z');
insert into t values (1, 'dup');
\echo :SQLSTATE
select 1;
\echo :SQLSTATE
insert into t values (4, 'w');
show application_name;
commit;
select * from t;
begin work;
end work;
begin transaction;
abort;
start transaction;
rollback work;
start transaction isolation level serializable, read only;
show transaction_isolation;
show transaction_read_only;
insert into t values (5, 'r');
\echo :SQLSTATE
rollback;
show transaction_isolation;
begin isolation level repeatable read;
show transaction isolation level;
select count(*) from t;
commit;
begin read only;
select count(*) from t;
delete from t;
commit;
begin;
savepoint a;
insert into t values (10, 'sp');
savepoint b;
insert into t values (11, 'sp');
rollback to savepoint b;
insert into t values (12, 'sp');
release savepoint a;
commit;
select * from t order by a;
begin;
savepoint a;
insert into t values (10, 'dup');
select 1;
rollback to a;
insert into t values (13, 'revived');
rollback work to a;
insert into t values (14, 'revived');
commit;
select * from t order by a;
begin;
rollback to nope;
\echo :SQLSTATE
rollback;
begin;
release nope;
\echo :SQLSTATE
rollback;
savepoint outside;
\echo :SQLSTATE
rollback to outside;
\echo :SQLSTATE
release outside;
\echo :SQLSTATE
select 1\; savepoint implicit;
\echo :SQLSTATE
savepoint;
\echo :SQLSTATE
begin;
savepoint s;
insert into t values (20, 'outer');
savepoint "S";
savepoint S;
insert into t values (21, 'inner');
rollback to s;
release s;
rollback to s;
insert into t values (22, 'after');
rollback to "S";
\echo :SQLSTATE
rollback to s;
insert into t values (23, 'after');
commit;
select * from t order by a;
begin;
savepoint s;
select nope;
savepoint again;
\echo :SQLSTATE
release s;
\echo :SQLSTATE
rollback to s;
select 1 as alive;
select 1 / 0;
commit;
begin;
savepoint s;
create table later (x int);
rollback to s;
select * from later;
rollback to s;
create table later (x int);
insert into later values (1);
commit;
select * from later;
drop table later;
begin; insert into t values (30, 'one'); insert into t values (1, 'dup'); commit;
select * from t where a >= 30;
insert into t values (31, 'a')\; insert into t values (1, 'dup');
select * from t where a >= 30;
insert into t values (32, 'a')\; select count(*) from t\; commit\; select 1 as one;
select * from t where a >= 30;
begin;
create table made (x int);
insert into made values (1);
rollback;
select * from made;
begin;
drop table t;
rollback;
select count(*) from t;
begin;
truncate t;
rollback;
select count(*) from t;
rollback and no chain;
set transaction isolation level serializable;
set session characteristics as transaction isolation level repeatable read;
show default_transaction_isolation;
begin;
show transaction_isolation;
commit;
reset default_transaction_isolation;
lock table t;
begin;
lock table t in share mode;
lock table t in row exclusive mode;
lock table nope;
\echo :SQLSTATE
rollback;
vacuum t;
begin;
vacuum;
\echo :SQLSTATE
rollback;
begin;
select 1 / 0;
\echo :SQLSTATE
select 1;
end;
drop table t;
