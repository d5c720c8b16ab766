-- What psql shows for this is in the file beside it, made by PostgreSQL 15 with record.sh.
\pset null '(null)'
set client_min_messages = warning;
create table g (k text, n numeric, m numeric(6,1), i int, v varchar(3), b boolean, d date, u uuid);
insert into g values ('a', 1, 2, 3, 'x', true, '2024-01-02', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'), ('a', 2.5, 3.5, null, null, null, null, null), ('b', 7, 1, 1, 'y', false, '2023-01-02', null);
select max(n), max(m), min(i) from g group by k order by k \gdesc
select max(n), max(m), min(i) from g group by k order by k;
select coalesce(i, n), case when k = 'a' then i else m end, sum(n), sum(m), sum(i), count(*) from g group by k, i, n, m \gdesc
select coalesce(i, n) as c, case when k = 'a' then i else m end, sum(n), sum(m), sum(i) from g group by k, i, n, m order by c;
select i + 1, i / 2, i * 1.5, n + i, m / 3, -i, i::bigint + 1, b and true, k || v, d + 1, d - d, not b, i is null, i = 3 from g \gdesc
select avg(i), avg(n), sum(i::bigint), max(d), min(u::text), bool_and(b), string_agg(k, ',') from g \gdesc
select 1, 1.5, 'x', null, true, 3000000000, 1e3, 12345678901234567890 \gdesc
select * from g \gdesc
select g.*, i + 1 as j from g \gdesc
select s.* from (select k, sum(i) as t, max(n) as x from g group by k) s \gdesc
with w as (select k, i * 2 as j from g) select w.j + 1, k from w \gdesc
select i from g union all select 1.5 \gdesc
select null union select 1 \gdesc
select (select max(i) from g), exists (select 1 from g), i in (1, 2) from g \gdesc
select row_number() over (order by k), sum(i) over (), lag(i) over (order by k), first_value(n) over (order by k) from g \gdesc
select length(k), upper(v), now(), current_date, round(n, 2), abs(i), abs(n), floor(m), greatest(i, 2), nullif(i, 3), least(n, i) from g \gdesc
select a.k, b.i from g a join g b using (k) left join g c on c.i = b.i \gdesc
insert into g (k, i) values ('z', 5) returning k, i + 1, n, coalesce(n, 0) \gdesc
update g set i = i + 1 where k = 'b' returning *, i * 2 \gdesc
delete from g where k = 'zz' returning k, n / 2 \gdesc
select coalesce(null, null), coalesce(d, '2020-01-01') from g \gdesc
select case when i = 1 then 'one' else k end, case k when 'a' then 1 when 'b' then 2.5 end from g order by 1, 2;
drop table g;
create table p (a int, b text);
insert into p values (1, 'x');
prepare q as select * from p;
execute q;
drop table p;
create table p (a text, b int);
insert into p values ('y', 2);
execute q;
\echo :SQLSTATE
prepare r as select a from p;
execute r;
alter table p add c int;
execute r;
drop table p;
create table p (a text);
insert into p values ('z');
execute r;
drop table p;
execute r;
\echo :SQLSTATE
create table e (i int, n numeric(6,2), d date, b bool, t text);
prepare p1 (int, numeric, date) as insert into e (i, n, d) values ($1, $2, $3) returning *;
execute p1 (1, 2.5, '2024-2-9');
execute p1 ('7', '1.005', 'Feb 1, 2024');
execute p1 (1.5, 1, '2024-01-01');
prepare p2 as select * from e where d = $1 and n > $2 and b is not true;
execute p2 ('2024-2-9', 1);
execute p2 (null, 1);
prepare p3 as select $1 + i, n * $2 from e order by i;
execute p3 (2, 1.50);
insert into e (b, t) values ('t', 1.50), ('false', 'x');
select b::int, t, b::text, not b, case when b then 1 end from e where t is not null order by t;
select 1 where 1;
\echo :SQLSTATE
select * from e where i;
select * from e where t or b;
select i from e a join e c on a.i;
select case when i then 1 end from e;
delete from e where n;
select true and 1;
select * from e where 'true' and 'yes' order by i limit 1;
select '5' * '6';
\echo :SQLSTATE
select -'5';
select 1 in (null, 1), 2 not in (1, null), null = null;
drop table e;
