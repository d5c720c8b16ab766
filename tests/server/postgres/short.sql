-- What psql shows for this is in the file beside it, made by PostgreSQL 15 with record.sh.
\set VERBOSITY terse
\pset null '(null)'
create table t (id int primary key, a varchar(3) default 'abc', "B c" int, d date);
insert into t values (1);
insert into t values (2, 'two'), (3, 'x') returning *;
insert into t values (4, 'four');
\echo :SQLSTATE
begin;
insert into t values (4, default, 6);
insert into t select 5, 'v';
insert into t values (1, 'dup') on conflict (id) do update set a = excluded.a, "B c" = 9 returning *;
insert into t values (1);
\echo :SQLSTATE
insert into t values (9);
commit;
begin;
insert into t values (6);
savepoint s;
insert into t values (7, 'long');
rollback to s;
insert into t values (7, 'seven');
rollback to s;
insert into t values (8, 'e');
commit;
insert into t values (10); insert into t values (11, 'y'); select count(*) from t;
insert into t values (12), (13); insert into t values (12);
select * from t order by id;
prepare p as insert into t values ($1, $2);
execute p (20, 'p');
drop table t;
create table t (a varchar(3), id int, n int default 7);
insert into t values ('q');
select * from t order by id;
insert into nope values (1);
drop table t;
