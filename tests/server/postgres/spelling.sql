-- What psql shows for this is in the file beside it, made by PostgreSQL 15 with record.sh.
-- What SQLite takes for a name, and PostgreSQL does not.
\set VERBOSITY terse
set client_min_messages = warning;
create table o (id integer primary key, status text, "to" integer);
insert into o values (1, 'x', 10), (2, 'y', 20);
select * from 'o';
\echo :SQLSTATE
select 1 + 1, id from o join 'o' on true;
select o.'id' from o;
select id as 'x' from o;
select id from o as 'x';
insert into 'o' values (3);
insert into o ('id') values (3);
\echo :SQLSTATE
insert into o (id, 'status') select 3, 'z';
insert into o values (1, 'x') on conflict (id) do update set 'status' = 'z';
update 'o' set id = 1;
update o set 'id' = 1;
\echo :SQLSTATE
update o set status = 'a', 'id' = 1;
delete from 'o';
delete from e'o';
create index bad on o ('status');
\echo :SQLSTATE
create index bad on o (id, 'status' desc);
create table 'bad' (a integer);
create table bad ('a' integer);
create table bad (a integer, 'b' text);
create table bad (a integer references 'o');
create view 'bad' as select 1 as a;
drop table 'o';
drop table if exists 'o';
drop index 'bad';
alter table 'o' rename to p;
alter table o rename to 'p';
alter table o add column 'c' integer;
select [id] from o;
\echo :SQLSTATE
select 1 + 1, [id] from o;
select "id", "status" || '[' from [o];
create table bad ([a] integer);
select id from o order by 'status';
\echo :SQLSTATE
select id from o order by id, 'status' desc;
select count(*) from o group by 'status';
\echo :SQLSTATE
select count(*) from o group by 'status' order by 1;
select * from (select id from o order by 'status' limit 1) s;
create table bad (a text default "status");
\echo :SQLSTATE
create table bad (a text default status);
create table bad (a text default status not null, b text);
alter table o add column c text default status;
-- Here the words or the place are others.
\set VERBOSITY sqlstate
create table bad (a text default 'a' || "status");
select `id` from o;
select "id" from `o`;
\set VERBOSITY terse
-- And what both take.
select id, status is distinct from 'x' as other from o order by id;
select extract(year from timestamp '2024-02-03') as y, substring('abc' from 2) as s;
select id, count(*) over (order by 'a') from o order by id;
select id from o order by status || 'x', 'a' || status;
select status from o group by status || 'x', status order by 1;
select "to" as "as", 'from' as "from" from o where "to" = 10;
select id from o where status like 'x' escape '!';
create table fine (a text default 'x', b boolean default true, c text default null, d timestamp default current_timestamp,
  e text default current_user, f date default '2024-02-03', g integer default (1 + 1), h text default upper('x'),
  i integer references o on delete set default);
insert into fine (i) values (1);
select a, b, c, f, g, h from fine;
alter table o add column c text check ('x' <> c) default 'y';
select case 'x' when 'x' then 'y' else 'z' end as c;
