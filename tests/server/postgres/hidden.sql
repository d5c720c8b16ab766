-- What psql shows for this is in the file beside it, made by PostgreSQL 15 with record.sh.
-- rowid, oid and _rowid_, which SQLite has in every table.
\set VERBOSITY terse
\pset null '(null)'
set client_min_messages = warning;
create table o (id integer primary key, status text);
create table plain (a integer, b text);
create table named (oid integer, rowid text, _rowid_ integer, a integer);
create table keyed (oid integer primary key, note text);
create view v as select id, status from o;
create view w as select oid, note from keyed;
insert into o values (1, 'x'), (2, 'y');
insert into plain values (10, 'p'), (20, 'q');
insert into named values (5, 'five', 50, 10), (6, 'six', 60, 20);
insert into keyed values (10, 'ten'), (20, 'twenty');
-- They are no columns of a table that has none of that name …
select rowid from o;
\echo :SQLSTATE
select oid from o;
select _rowid_ from o;
select "rowid" from o;
select o.rowid from o;
select o."oid" from o;
select x.rowid from o x;
select rowid, id from o where id = 1;
select id from o where rowid = 1;
select id from o where o.oid in (1, 2);
select id from o order by rowid;
select id from o order by o.rowid desc;
select count(*) from o group by rowid;
select count(*) from o group by id having max(rowid) > 1;
select max(rowid) from o;
select id from o where rowid between 1 and 2;
select id from o where exists (select 1 from plain where rowid = 1);
select id from o where id in (select rowid from plain);
select id from o where (select count(*) from plain where plain.rowid = o.id) > 0;
select (select rowid from plain limit 1);
select id from o join plain on rowid = id;
select id from o join plain on plain.rowid = o.id;
select id from o left join plain on o.rowid = a;
select id from o, plain where o.rowid = a;
select rowid from (select id from o) s;
select s.rowid from (select id from o) s;
select rowid from v;
select v.oid from v;
with c as (select id from o) select rowid from c;
with c as (select rowid from o) select 1 from c;
select id from o union select rowid from plain;
select case when rowid = 1 then 'a' end from o;
select sum(id) over (order by rowid) from o;
values ((select rowid from o));
select * from o limit (select rowid from o limit 1);
-- … also where another table of the statement has one,
select o.rowid from o, named;
select o.oid from o join keyed on keyed.oid = o.id;
select named.rowid, plain.rowid from named join plain on named.a = plain.a;
select (select o.oid from o limit 1) from keyed;
select id from o where exists (select 1 from keyed where o.oid = keyed.oid);
select w.oid, v.oid from w, v;
-- … and not in what changes it.
insert into o (rowid, status) values (3, 'z');
\echo :SQLSTATE
insert into plain (a, oid) values (3, 4);
insert into plain (rowid) select id from o;
insert into o (id, status) select rowid, 'z' from plain;
insert into o values (3, 'z') returning rowid;
insert into o values (3, 'z') returning o.oid;
insert into o values (1, 'z') on conflict (id) do update set status = rowid;
insert into o values (1, 'z') on conflict (id) do update set status = excluded.rowid;
insert into o values (1, 'z') on conflict (id) do update set rowid = 7;
insert into o values (1, 'z') on conflict (id) do update set status = 'z' where o.rowid = 1;
update o set rowid = 7;
\echo :SQLSTATE
update o set status = 'z', oid = 7 where id = 1;
update o set status = rowid;
update o set status = 'z' where rowid = 1;
update o set status = 'z' where o.oid = 1;
update o as x set status = 'z' where x.oid = 1;
update o set status = 'z' from plain where rowid = id;
update o set status = 'z' from plain where plain.rowid = id;
update o set status = 'z' from keyed where o.oid = keyed.oid;
update o set status = (select b from plain where rowid = id);
update o set status = 'z' where id = 1 returning rowid;
update plain set (a, b) = (1, rowid);
delete from o where rowid = 1;
\echo :SQLSTATE
delete from o where o."rowid" = 1;
delete from plain where oid > 0;
delete from plain where a in (select rowid from o);
delete from plain using o where rowid = id;
delete from plain using keyed where plain.oid = keyed.oid;
delete from plain where a = 10 returning _rowid_;
delete from plain where exists (select 1 from keyed where rowid = 10);
-- Nor in what is defined by it.
create table bad (a integer check (rowid > 0));
\echo :SQLSTATE
create table bad (a integer, check (a > 0 and bad.oid > 0));
create table bad as select rowid from o;
create index bad on o (rowid);
\echo :SQLSTATE
create view bad as select rowid from o;
\echo :SQLSTATE
create view bad as select o.oid from o, keyed;
create view bad as select id from o where rowid = 1;
create view bad as select oid from v;
alter table plain add column c integer check (rowid > 0);
alter table plain rename column rowid to c;
alter table plain drop column rowid;
explain select rowid from o;
explain update o set status = 'z' where rowid = 1;
prepare p as select id from o where id = $1 order by id;
-- Where the words or the place are others.
\set VERBOSITY sqlstate
select ROWID from o;
insert into o values (1, 'z') on conflict (rowid) do nothing;
create index bad on o (id) where rowid > 0;
create index bad on o ((rowid + 1));
create table bad (a integer, unique (rowid));
create table bad (a integer, primary key (oid));
create table bad (a integer references o (rowid));
create table bad (a text default rowid);
select id from o join plain using (rowid);
\set VERBOSITY terse
select * from o order by id;
select * from plain order by a;
-- Columns of these names are columns.
select rowid, oid, _rowid_ from named order by oid;
select "rowid", n."oid", n._rowid_ from named n order by n.rowid;
select n."rowid", n.oid, N._ROWID_ from named n where rowid = 'five' order by n.rowid;
select * from named order by rowid;
select max(oid), min(rowid) from named;
select rowid, count(*) from named group by rowid having min(oid) > 0 order by rowid;
select oid from keyed order by oid desc;
select oid, note from w order by oid;
select keyed.oid, o.id from keyed join o on o.id = keyed.oid / 10 order by keyed.oid;
select oid, id from keyed join o on id = oid / 10 order by oid;
select oid from keyed left join plain on plain.a = oid order by oid;
select a, (select rowid from named n where n.a = plain.a) as r from plain order by a;
select a from plain where exists (select 1 from keyed where oid = a) order by a;
select a from plain where a in (select oid from keyed) order by a;
select n.rowid, k.oid from named n join keyed k on k.oid = n.a order by k.oid;
select n.rowid, k.oid from (named n join keyed k on k.oid = n.a) order by k.oid;
select oid from keyed union select id from o order by oid;
with c as (select oid from keyed) select oid from c order by oid;
select oid from (select oid from keyed) s order by oid;
select s.oid from (select oid, note from keyed) as s, o where o.id = 1 order by s.oid;
select case when rowid = 'five' then oid end as c from named order by oid;
select sum(oid) over (order by rowid) from named order by oid;
select distinct oid from keyed order by oid;
select k.* from keyed k order by k.oid;
alter table keyed rename to keyed_too;
select oid, note from w order by oid;
alter table keyed_too rename to keyed;
-- So are names given in the statement.
select id as rowid from o order by rowid;
select id as oid, count(*) from o group by oid order by oid;
select status as rowid, count(*) from o group by rowid order by rowid;
select s.rowid from (select id as rowid from o) s order by s.rowid;
select rowid from (select id as rowid from o) s where rowid = 2;
with c (rowid) as (select id from o) select rowid from c order by rowid;
with recursive r (oid) as (select 1 union all select oid + 1 from r where oid < 3) select oid from r;
with recursive r (oid) as (select 1 union all select r.oid + 1 from r join o on o.id = r.oid) select oid from r;
select a, (select count(*) from keyed where oid = x.rowid) as n from (select a, a as rowid from plain) x order by a;
select v.oid from (values (1), (2)) v (oid) order by v.oid;
select rowid from generate_series(1, 2) as g (rowid);
select id, id * 2 as oid from o order by oid desc;
select o.id as "rowid" from o union select a from plain order by "rowid" limit 1;
-- And they are changed.
insert into keyed values (30);
update keyed set note = 'thirty' where oid = 30 and note is null;
delete from keyed where keyed.oid = 30 returning oid, note;
insert into named (oid, rowid, a) values (7, 'seven', 30) returning oid, rowid, _rowid_;
insert into keyed values (10, 'again') on conflict (oid) do update set note = excluded.note || keyed.oid returning oid, note;
insert into keyed (oid, note) select oid, rowid from named where oid = 5 returning oid;
insert into plain (a, b) select oid, rowid from named where rowid = 'six';
update named set rowid = 'new', oid = oid + 1 where rowid = 'seven' returning oid, rowid;
update named set (oid, rowid) = (9, 'nine') where named.oid = 8;
update o set status = keyed.note from keyed where keyed.oid = 20 and o.id = 2;
update o set status = (select note from keyed where oid = 10) where id = 1;
update o set status = status || 'r' where id in (select oid - 4 from keyed where oid = 5) returning id, status as rowid;
delete from plain where a in (select oid from named where rowid = 'six');
delete from plain using keyed where keyed.oid = plain.a and keyed.oid = 20;
delete from named where oid = 9 returning rowid;
delete from keyed where oid = 5;
select * from o order by id;
select * from plain order by a;
select * from named order by oid;
select * from keyed order by oid;
create table checked (oid integer check (oid > 0), rowid text default 'r', unique (rowid));
insert into checked (oid) values (0);
insert into checked (oid) values (1) returning oid, rowid;
create index by_rowid on named (rowid);
create index by_oid on named (oid) where oid > 5;
create view of_named as select rowid, n.oid from named n where oid > 5;
select rowid, oid from of_named order by oid;
alter table named add column b integer check (oid > 0);
drop view of_named;
alter table named rename column rowid to r;
select r, oid from named order by oid;
select rowid from named;
delete from named where rowid = 1;
create table plain_too (oid integer, rowid text);
insert into plain_too select oid, note as rowid from keyed;
select oid, rowid from plain_too order by oid;
prepare by_key as select note from keyed where oid = $1;
execute by_key (20);
create table rowid (oid integer);
insert into rowid values (1);
select rowid.oid from rowid;
select oid from rowid where rowid.oid = 1;
delete from rowid where oid = 1;
drop table rowid;
