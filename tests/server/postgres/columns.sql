-- What psql shows for this is in the file beside it, made by PostgreSQL 15 with record.sh.
\set VERBOSITY terse
\pset null '(null)'
set client_min_messages = warning;
create table t (id integer primary key, i integer, s smallint, l bigint, v varchar(3), c char(3), b boolean);
insert into t (id, i) values (1, 'abc');
\echo :SQLSTATE
insert into t (id, i) values (1, '12');
insert into t (id, i) values (2, ' 13 '), (3, '-14');
insert into t (id, i) values (4, '1.5');
\echo :SQLSTATE
insert into t (id, i) values (4, 2147483648);
\echo :SQLSTATE
insert into t (id, i) values (4, -2147483648);
insert into t (id, i) values (5, -2147483649);
insert into t (id, i) values (5, '99999999999');
\echo :SQLSTATE
insert into t (id, s) values (5, 32768);
insert into t (id, s) values (5, '32768');
\echo :SQLSTATE
insert into t (id, l) values (5, 9223372036854775807);
insert into t (id, l) values (6, 9223372036854775808);
\echo :SQLSTATE
insert into t (id, l) values (6, '9223372036854775808');
insert into t values ('six', 1, 2, 3, 'abc', 'abc', true);
\echo :SQLSTATE
insert into t values (6, 1, 2, 3, 'abcd', 'abc', true);
\echo :SQLSTATE
insert into t values (6, 1, 2, 3, 'abc', 'abcd', true);
\echo :SQLSTATE
insert into t values (6, 1, 2, 3, 'abc  ', 'abc  ', 'yes'), (7, 1, 2, 3, 'ab ', 'ab', 'off');
insert into t values (8, 1, 2, 3, '', '', 'maybe');
\echo :SQLSTATE
insert into t values (8, 1, 2, 3, 'äöü', 'äöü', '0'), (9, null, null, null, null, null, null);
select id, i, s, l, '[' || v || ']' as v, '[' || c || ']' as c, b from t order by id;
select v, c from t where id in (6, 7) order by id;
update t set i = 'x' where id = 1;
\echo :SQLSTATE
update t set s = s + 32767, v = 'ok' where id = 6;
\echo :SQLSTATE
update t set v = 'ok', b = 'f', i = i + 1 where id = 6 returning id, v, b, i;
update t set (v, i) = ('more', 1) where id = 6;
update t set (v, i) = ('mor', '7') where id = 6 returning v, i;
update t set (v, i) = (select 'four', 4) where id = 6;
update t set i = 3000000000 where id = 1;
update t as x set v = y.v || 'longer' from t y where y.id = 6 and x.id = 7;
insert into t (id, v) values (6, 'x') on conflict (id) do update set v = 'far too long';
insert into t (id, v) values (6, 'x') on conflict (id) do update set v = excluded.v || 'y' returning v;
insert into t (id, v) values (6, 'far too long') on conflict do nothing;
insert into t (id, v) values (20, 'a'), (21, 'abcd'), (22, 'c');
select count(*) from t where id >= 20;
insert into t (id, i) values (20, 1), (21, 'b'), (22, 3);
insert into t (id, l) select 20 + n, n * 3000000000 from generate_series(1, 2) n;
insert into t (id, i) select 30 + n, n * 3000000000 from generate_series(0, 2) n;
\echo :SQLSTATE
insert into t (id, v) select id + 100, v || v || v || v from t where v is not null order by id;
\echo :SQLSTATE
insert into t (id, v, b) with x (n, w) as (values (40, 'ab'), (41, 'cd')) select n, w, n = 40 from x order by n returning id, v, b;
insert into t (i, id) select 1, 42 union all select 2, 43 on conflict do nothing;
begin;
insert into t (id, i) values (50, 1);
insert into t (id, i) values (51, 'x');
select 1;
\echo :SQLSTATE
commit;
begin;
insert into t (id, i) values (50, 1);
savepoint a;
update t set v = 'too long' where id = 50;
rollback to a;
update t set v = 'fit' where id = 50;
commit;
select id, v from t where id >= 50;
prepare p (int, text) as insert into t (id, v) values ($1, $2);
execute p (60, 'abc');
execute p (61, 'abcd');
\echo :SQLSTATE
select id, v from t where id >= 60;
delete from t;
alter table t add column k smallint;
insert into t (id, k) values (1, 'x');
insert into t (id, k) values (1, 70000);
insert into t (id, k) values (1, 7);
alter table t drop column i;
insert into t values (2, 3, 4, 'abcd', 'c', true, 5);
insert into t values (2, 3, 4, 'abc', 'c', true, 5) returning *;
drop table t;
create table t (v varchar(3), i int);
insert into t values ('abc', 5);
insert into t values (5, 'abc');
insert into t select 'abcd', 6;
select * from t;
drop table t;
create table "Odd Name" ("a ""b" int, "select" varchar(2));
insert into "Odd Name" ("select", "a ""b") values ('ab', 'x');
insert into "Odd Name" ("select", "a ""b") values ('abc', 1);
insert into "Odd Name" values (1, 'ab') returning *;
update "Odd Name" set "select" = 'abc', "a ""b" = 2;
update "Odd Name" set "select" = 'a', "a ""b" = 2 returning *;
drop table "Odd Name";
create table "a.b\c" ("d.e" int, "'" varchar(1));
insert into "a.b\c" ("d.e", "'") values (1, 'xy');
insert into "a.b\c" ("'", "d.e") values ('x', 'z');
insert into "a.b\c" values ('1', 'x');
update "a.b\c" set "d.e" = 'y';
update public."a.b\c" set "'" = 'yy', "d.e" = 7;
drop table "a.b\c";
create temp table n (i int, v varchar(2));
insert into n values (1, 'abc');
insert into n values ('1', 'ab');
insert into n values (1, 'ab', );
insert into n (i, nope) values (1, 2);
update n set i = 1 where;
update n set i = ;
update n set nope = 1;
update n set i = 1, v = case when i is distinct from 1 then 'abc' else 'ab' end;
update n set i = 2, v = case when i is distinct from 1 then 'abc' else 'ab' end;
update n set i = 2, v = case when i is distinct from 1 then 'abc' else 'ab' end;
select * from n;
insert into n (i) values (1 / 0);
insert into n (i, v) values (2, '1' || (4 / 2));
insert into n (i) values ((select max(i) from n) * 10), (abs(-7)), (case when true then 3 end) returning i;
