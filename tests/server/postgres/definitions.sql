-- What psql shows for this is in the file beside it, made by PostgreSQL 15 with record.sh.
-- What a definition refers to is there when it is made.
\set VERBOSITY terse
set client_min_messages = warning;
create table o (id integer primary key, status text, total integer);
create table line (o_id integer, note text);
insert into o values (1, 'x', 10), (2, 'y', 20);
create view bad as select "nope" from o;
\echo :SQLSTATE
create view bad as select nope from o;
create view bad as select id from nowhere;
\echo :SQLSTATE
create view bad as select o.nope from o;
create view bad as select x.id from o;
create view bad as select id from o where exists (select 1 from line where nope = 1);
create view bad as with c as (select "nope" from o) select * from c;
create view bad (a) as select "nope" from o;
create view bad as select id from o union select "nope" from line;
create view bad as select * from bad;
create temp view bad as select nope from o;
select * from bad;
create view fine as select id, "status" from o where "total" > 5;
create view over_it as select id from fine;
create view bad as select total from fine;
select * from over_it order by id;
begin;
create table young (a integer);
create view of_young as select a from young;
insert into young values (7);
select * from of_young;
rollback;
create view of_young as select a from young;
alter table o add column c integer check ("nope" > 1);
\echo :SQLSTATE
alter table o add column c integer check (c > 5);
insert into o values (3, 'z', 50, 4);
create table bad (a integer references o ("nope"));
\echo :SQLSTATE
create table bad (a integer, foreign key (a) references o (nope));
create table bad (a integer references nowhere (id));
\echo :SQLSTATE
create table bad (a integer references nowhere);
create table bad (a integer primary key, b integer references bad (c));
alter table line add column c integer references o (nope);
alter table line add column c integer references nowhere;
create table tree (a integer primary key, parent integer references tree (a), o integer references o, p integer references "o" ("id"));
insert into tree values (1, null, 1, 2), (2, 1, 1, 2);
select a from tree order by a;
