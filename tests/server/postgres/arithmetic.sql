-- What psql shows for this is in the file beside it, made by PostgreSQL 15 with record.sh.
\pset null '(null)'
set client_min_messages = warning;
create table m (id int primary key, a numeric(10,2), b numeric(10,4), i int, j bigint, s smallint, f double precision, t text, ok boolean);
insert into m values (1, 10, 3, 7, 9000000000, 3, 2.5, 'x', true), (2, 9, 1.5, 2, 5, 7, -1, 'y', false), (3, 1.25, 0.0001, -7, -5, null, 1e20, '10', null), (4, null, null, null, null, null, null, null, null);
select id, a / 3, a * b, a + i, a - b, -a, a % 3 from m order by id;
select 7::numeric / 2, 1 / 3.0, 10.0 / 4, 1e3 / 7, 2 / 3.00000, 0.1 + 0.2, 1.50, 1.10 * 2, 123456789012345678901234567890 + 1, -7.5 % 2;
select sum(a) / count(*), sum(a), avg(a), avg(i), avg(j), avg(s), avg(f), sum(i), sum(j), sum(s), sum(f), max(a), min(b) from m;
select sum(a) over (order by id), avg(a) over (order by id rows between 1 preceding and current row) from m order by id;
select i + 1, i * s, i / 2, i % 2, j + i, j / 7, s + s, -i, f + i, f / 3, f * a from m order by id;
select i + 2147483647 from m where id = 1;
\echo :SQLSTATE
select j * 9000000000 from m where id = 1;
\echo :SQLSTATE
select s * 32767::smallint from m where id = 1;
\echo :SQLSTATE
select i / 0 from m;
\echo :SQLSTATE
select a / 0 from m;
select a % (i - i) from m;
update m set a = a / 3 returning id, a;
update m set b = b / 3, i = a * 2.5, j = a where id = 2 returning b, i, j;
update m set t = a / 7 where id = 1 returning t;
insert into m (id, a, t) select 10 + id, a / 7, a / 7 from m where id = 1 returning id, a, t;
insert into m (id, i, t) values (20, 2.5 * 1.0, 1.50), (21, 7 / 2.0, 1.0 / 3) returning i, t;
select round(a, 1), round(a / 3, 3), trunc(a / 3, 1), ceil(a / 3), floor(-a / 3), abs(-a), sign(a - 2), round(2.5), round(-2.5), round(i / 2.0), mod(a, 2), round(1234.5, -2) from m where id < 4 order by id;
select coalesce(a, 0), coalesce(a, i), case when id > 1 then a else 1 end, case when ok then i else 0.5 end, greatest(a, b, 2), least(a, i), nullif(a, 0) from m where id < 5 order by id;
select a = 3.33, a > 3, a / 3 > 1, a / 3 = 1.1100000000000000, a between 1 and 3.33, a in (3.33, 3.00), a / 2 in (1.665), i > 2.5, a / 3 < b from m where id < 4 order by id;
select a / 3 q from m where id < 5 order by q desc;
select a / 3 from m where id < 5 order by 1;
select a * 10 / 3 from m where id < 4 order by a / 3 desc;
select distinct x / 2 from (values (1.0), (1.00), (10), (9.5)) v (x) order by 1;
select x / 2, count(*) from (values (1.0), (1.00), (10), (9.5)) v (x) group by x / 2 order by 1;
select max(x / 3), min(x / 3), sum(x / 3), avg(x / 3) from (values (1.0), (10), (9.5)) v (x);
select id, (select avg(a) from m) > a, a - (select max(a) from m) from m where id < 4 order by id;
select a from m where id < 4 union select 2.5 union all select 7 order by 1;
select i from m where id < 4 union select 2.50 order by 1;
select q * 2, q from (select a / 3 as q from m where id < 4) s order by q;
with w (q) as (select a * 1.5 from m where id < 4) select sum(q), q + 1 from w group by q order by q;
with recursive r (n, v) as (select 1, 1.5 union all select n + 1, v * 1.5 from r where n < 5) select * from r;
select 1.5::int, 2.5::int, (a / 3)::int, (a / 3)::text, a::text, a::float8, (a / 3)::numeric(6,1), 12.345::varchar(4), f::text, ok::text, i::numeric, '1.50'::numeric, '1e2'::numeric from m where id < 4 order by id;
select a || 'x', (a / 3) || '', i || 'y', f || '', ok || '!', t || id from m where id < 4 order by id;
select concat(a, '/', i, '/', ok, '/', a / 4) from m where id < 4 order by id;
select extract(year from date '2024-02-29'), extract(second from timestamp '2024-02-29 10:11:12.5'), extract(epoch from timestamp '2024-02-29 10:11:12'), extract(epoch from date '2024-02-29'), date_part('second', timestamp '2024-02-29 10:11:12');
select 1000000::numeric(8,2) * 1000000, 99999999.99::numeric(8,2);
select 123.456::numeric(4,2);
\echo :SQLSTATE
select i = '7', a > '3', '2' + i, a + '0.5', f = '2.5', ok = 't' from m where id = 1;
select i = 'x' from m;
\echo :SQLSTATE
select t = 1 from m;
\echo :SQLSTATE
select ok + 1 from m;
select ok = 1 from m;
select sum(t) from m;
\echo :SQLSTATE
select avg(ok) from m;
select power(2, 3), sqrt(16), 7 / 2, -7 / 2, 7 % -2, 2 + 3 * 4 - 6 / 2;
drop table m;
create table w (id bigserial primary key, i integer, n numeric(20,4));
insert into w (id, i, n) values (3000000000, 1, 12345678901.2345);
select id + 1, id * 2, n * n, n / 7 from w where id = 3000000000;
select i + 2147483647 from w;
select id from w where id in (3000000000, 1) and id between 1 and 4000000000;
drop table w;
