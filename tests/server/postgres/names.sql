-- What psql shows for this is in the file beside it, made by PostgreSQL 15 with record.sh.
-- A name that is no column, in every place of a statement a name can stand in.
\set VERBOSITY terse
\pset null '(null)'
set client_min_messages = warning;
create table o (id integer primary key, status text, total integer);
create table line (o_id integer, note text);
insert into o values (1, 'x', 10), (2, 'y', 20);
insert into line values (1, 'a');
delete from o where "x" = 'x';
\echo :SQLSTATE
delete from o where "status" = "x";
select "stauts" from o;
\echo :SQLSTATE
select status || ":" from o;
select o."stauts" from o;
select "o"."stauts" from "o";
select id from o order by "nope";
select id from o order by lower("nope"), id;
select id from o group by "nope";
select id from o group by id having "nope" > 1;
select count("nope") from o;
select id from o where id in ("nope");
select id from o where id in (select "nope" from line);
select id from o where exists (select 1 from line where "nope" = id);
select id from o where id between "nope" and 3;
select id from o where status like "x%";
select id from o join line on "nope" = o_id;
select id from o left join line on o_id = id and line."nope" = 'a';
select (select "nope");
select case when "nope" then 1 end from o;
select "nope"::text from o;
select sum(total) over (partition by "nope") from o;
select id from o limit "nope";
with c as (select "nope" from o) select 1 from c;
with c as (select id from o) select "nope" from c;
with c as (select "nope" from o) select 1;
with c as (select 1 as a), d as (select "nope" from c) select a from c;
with c as (select "nope" from o) delete from line;
select "nope" from (select id from o) s;
select s."nope" from (select id from o) s;
select id from o union select "nope" from line;
values ("draft");
insert into o values (3, "draft", 1);
\echo :SQLSTATE
insert into o ("id", "stauts") values (3, 'a');
\echo :SQLSTATE
insert into o (id, status) select o_id, "nope" from line;
insert into o values (3, 'a', 1) returning "nope";
insert into o values (1, 'a', 1) on conflict (id) do update set status = "nope";
insert into o values (1, 'a', 1) on conflict (id) do update set "nope" = 'a';
\echo :SQLSTATE
insert into o values (1, 'a', 1) on conflict (id) do update set status = excluded."nope";
insert into o values (1, 'a', 1) on conflict (id) do update set status = 'a' where "nope" = 1;
update o set status = "draft";
\echo :SQLSTATE
update o set "stauts" = 'draft';
\echo :SQLSTATE
update o set status = 'a', "nope" = 2 where id = 1;
update o set status = 'draft' where "nope" = 1;
update o set status = 'draft' from line where "nope" = id;
update o set (status, total) = ('draft', "nope");
update o set (status, total) = (select note, "nope" from line);
update o set status = (select "nope" from line);
update o set status = 'draft' returning "nope";
delete from o using line where "nope" = id;
delete from o where id = 1 returning "nope";
create table bad (a integer check ("nope" > 1));
\echo :SQLSTATE
create table bad (a integer, check (a > 1 and "nope" = 'x'));
create table bad (a text, b text generated always as ("nope") stored);
create table bad (a integer, foreign key ("nope") references o (id));
\echo :SQLSTATE
create table bad as select "nope" from o;
create index bad on o ("nope");
\echo :SQLSTATE
create unique index bad on o (id, "nope");
alter table o rename column "nope" to c;
\echo :SQLSTATE
alter table o drop column "nope";
\echo :SQLSTATE
explain select "nope" from o;
-- Here the words or the place are others.
\set VERBOSITY sqlstate
create index bad on o (lower("nope"));
create index bad on o (id) where "nope" > 1;
insert into o values (3, "draft", 1), (4, 'a', "b");
insert into o values (1, 'a', 1) on conflict ("nope") do nothing;
select id from o join line using ("nope");
create table bad (a text, unique ("nope"));
create table bad (a text, primary key ("nope"));
\set VERBOSITY terse
-- Names in quotes that are columns.
select "o"."id", "status" as "Nice" from "o" order by "Nice" desc;
select id from o where "status" = 'x';
update "o" set "status" = "status" || ':' where "id" = 1 returning "status";
insert into "o" ("id", "total") values (3, 1) on conflict ("id") do nothing;
select count(*) from o;
