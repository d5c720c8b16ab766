-- What psql shows for this is in the file beside it, made by PostgreSQL 15 with record.sh.
\pset null '(null)'
set client_min_messages = warning;
create table s (id serial primary key, d date, ts timestamp, tz timestamptz, t time, u uuid, p timestamp(0), w timestamp with time zone);
insert into s (d) values ('2024-02-29'), ('2024-2-9'), ('2024/02/29'), ('20240229'), (' 2024-02-29 '), ('02/29/2024'), ('2-29-2024'), ('Feb 29, 2024'), ('29 February 2024'), ('29-Feb-2024'), ('2024-Feb-29'), ('february 29 2024'), ('2024-02-29 23:59:59'), ('2024-02-29T12:00:00Z'), ('epoch'), ('infinity'), ('-infinity'), ('0999-01-01'), ('1/2/99'), ('1/2/07'), (null), ('2024.02.29') returning d;
insert into s (d) values ('abc');
\echo :SQLSTATE
insert into s (d) values ('');
insert into s (d) values ('2024-13-01');
\echo :SQLSTATE
insert into s (d) values ('2024-02-30');
insert into s (d) values ('2023-02-29');
insert into s (d) values ('2024-00-10');
insert into s (d) values ('2024-01-32');
insert into s (d) values ('13/13/2024');
insert into s (d) values ('2024-02-29 25:00:00');
insert into s (d) values ('2024-02-29x');
insert into s (d) values ('2024-02');
insert into s (d) values ('2024-02-29 nonsense');
insert into s (d) values ('Febtember 3, 2024');
insert into s (ts) values ('2024-02-29'), ('2024-02-29 12:34'), ('2024-02-29 12:34:56'), ('2024-02-29T12:34:56'), ('2024-02-29 12:34:56.5'), ('2024-02-29 12:34:56.123456'), ('2024-02-29 12:34:56.1234567'), ('2024-02-29 12:34:56.120000'), ('2024-02-29 1:02:03 PM'), ('2024-02-29 12:30 am'), ('2024-02-29 12:34:56+02'), ('Feb 29 2024 8:00'), ('epoch'), ('infinity'), ('20240229 101112'), ('20240229T101112'), ('2024-02-29 23:59:60'), ('2024-02-29 23:59:59.9999999') returning ts;
insert into s (ts) values ('yesterdayish');
\echo :SQLSTATE
insert into s (ts) values ('2024-02-29 24:01:00');
\echo :SQLSTATE
insert into s (ts) values ('2024-02-29 12:60:00');
insert into s (ts) values ('2024-02-29 12:34:61');
insert into s (ts) values ('2024-02-29 12:34:56 dinner time');
insert into s (ts) values ('2024-02-29 13:00 pm');
insert into s (tz) values ('2024-02-29'), ('2024-02-29 12:34:56'), ('2024-02-29 12:34:56+00'), ('2024-02-29 12:34:56Z'), ('2024-02-29 00:34:56+02'), ('2024-02-29 23:34:56-05:30'), ('2024-02-29 12:34:56 +0130'), ('2024-02-29 12:34:56.25 UTC'), ('2024-12-31 23:30:00-01'), ('2024-01-01 00:30 +01') returning tz;
insert into s (tz) values ('noon');
\echo :SQLSTATE
insert into s (w) values ('2024-02-29T12:34:56.789Z') returning w;
insert into s (w) values ('x');
insert into s (t) values ('12:34'), ('12:34:56'), ('12:34:56.5'), ('1:02 pm'), ('00:00:00'), ('2024-02-29 10:11:12'), ('24:00:00') returning t;
insert into s (t) values ('25:00');
\echo :SQLSTATE
insert into s (t) values ('noonish');
\echo :SQLSTATE
insert into s (u) values ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'), ('A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'), ('{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}'), ('a0eebc999c0b4ef8bb6d6bb9bd380a11'), ('a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11') returning u;
insert into s (u) values ('a0eebc99');
\echo :SQLSTATE
insert into s (u) values ('g0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11');
insert into s (u) values ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11x');
insert into s (p) values ('2024-02-29 12:34:56.5'), ('2024-02-29 12:34:56.4'), ('2024-12-31 23:59:59.7') returning p;
update s set d = '2024-02-31' where d = '2024-02-29';
update s set d = '3/1/2024' where d = '2024-02-29';
select d, count(*) from s where d > '2024-02-09' and d < '2025-01-01' group by d order by d;
select max(ts), min(ts) from s where ts > '2024-02-29 12:00:00' and ts < '2024-03-01 00:00:00';
insert into s (d, ts, tz) select d, d, d from s where d = '2024-02-09' returning d, ts, tz;
insert into s (ts, d, t) values ('2024-05-06 07:08:09'::timestamp, '2024-05-06 07:08:09'::timestamp, '2024-05-06 07:08:09'::timestamp) returning ts, d, t;
insert into s (d, ts, tz) values (date '2024-01-02', timestamp '2024-01-02 03:04', date '2024-01-02') returning d, ts, tz;
insert into s (d, ts, tz) values ('today', 'now', now()), (current_date, current_timestamp, current_timestamp);
select d = current_date, ts > '2020-01-01', tz > '2020-01-01' from s order by id desc limit 2;
select '2024-2-9'::date, 'Feb 9, 2024'::date, '2024-02-09'::timestamp, '2024-02-09 10:00+02'::timestamptz, cast('20240209 1011' as timestamp), '10:11 pm'::time, 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid;
select 'x'::timestamptz;
select 'x'::time;
select 'x'::uuid;
\echo :SQLSTATE
select extract(year from ts), date_part('second', ts), date_part('hour', ts), date_trunc('hour', ts) from s where ts = '2024-02-29 12:34:56.5';
drop table s;
