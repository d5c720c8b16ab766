-- What psql shows for this is in the file beside it, made by PostgreSQL 15 with record.sh.
\pset null '(null)'
set client_min_messages = warning;
create table d (id int primary key, d date, e date, ts timestamp, tz timestamptz, c time);
insert into d values (1, '2012-08-31', '2012-07-30', '2012-08-31 01:00:00', '2024-02-29 12:00:00+02', '10:00'), (2, '2024-02-28', '2024-03-01', '2012-07-30 01:00:00.25', '2024-01-01 00:00:00+00', '23:59:59'), (3, null, '1999-12-31', '1999-12-31 23:59:59.999999', null, null);
select date '2012-08-31' - date '2012-07-30', date '2012-08-31' + 1, 1 + date '2012-02-28', date '2024-03-01' - 1;
select d - e, d + id, d - 1, e - d, id + d, d - date '2000-01-01', d - '2000-01-01' from d order by id;
select ts - timestamp '2012-07-30 00:00:00', ts - ts, tz - tz, timestamp '2012-08-31 01:00:00' - timestamp '2012-08-01 02:03:04.5', timestamp '2012-07-30 01:00:00' - timestamp '2012-08-31 02:00:00' from d order by id;
select ts - d, d - ts from d where id = 1;
select sum(d) from d;
\echo :SQLSTATE
select avg(ts) from d;
select d + e from d;
\echo :SQLSTATE
select d * 2 from d;
select -d from d;
select ts + 1 from d;
select d + 1.5 from d;
select min(d), max(ts), max(tz), count(distinct d) from d;
select d = '2012-8-31', d > '2012-08-30', ts >= d, ts = '20120831 010000', d in ('Feb 28, 2024', '2012-08-31'), d between '2012-01-01' and '2013-01-01', c = '10:00:00' from d order by id;
select id from d where ts = '2012-08-31 1:00';
select d = 'nonsense' from d;
\echo :SQLSTATE
select d = 1 from d;
\echo :SQLSTATE
select coalesce(d, e), case when id = 1 then d else ts end, greatest(d, e), least(ts, '2000-01-01'), coalesce(d, '2001-1-1') from d order by id;
select d from d union select ts from d order by 1;
update d set d = e + 10, ts = d where id = 1 returning d, ts;
select d::text || '!', d || 'x', ts || '' from d where id = 1;
select x - date '2024-01-01' from (select d + 1 as x from d) s order by 1;
drop table d;
