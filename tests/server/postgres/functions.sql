-- What psql shows for this is in the file beside it, made by PostgreSQL 15 with record.sh.
\set VERBOSITY terse
\pset null '(null)'
set client_min_messages = warning;
select length('héllo'), char_length('abc'), character_length('abc'), octet_length('héllo');
select upper('abc'), lower('ABC'), reverse('abc'), repeat('ab', 3);
select substr('hello', 2, 3), substring('hello' from 2 for 3), substring('hello', 2), left('hello', 2), right('hello', 2), left('hello', -1), right('hello', -2);
select ltrim('  a'), rtrim('a  '), ltrim('xxa', 'x');
select position('l' in 'hello'), strpos('hello', 'l'), strpos('a', 'z'), replace('hello', 'l', 'L');
select concat('a', null, 1), concat_ws('-', 'a', null, 'b'), 'a' || 'b' || 1;
select lpad('5', 3, '0'), rpad('5', 3, '.'), lpad('hello', 2), split_part('a,b,c', ',', 2), split_part('a', ',', 2);
select coalesce(null, 'x'), nullif('a', 'b'), greatest(1, 5, 3), least('b', 'a'), greatest(null, 1);
select starts_with('hello', 'he'), 'hello' like 'h%o', 'hello' like '_ello', 'hello' not like 'x%', 'hello' like 'H%';
select 'Hello' ~ 'ell', 'Hello' ~* 'ELL', 'Hello' !~ 'x', 'Hello' !~* 'HELLO', 'Hello' ilike 'h%';
select abs(-5), sign(-2), mod(10, 3), pi(), sqrt(16), round(1.567, 2);
select count(distinct x), sum(distinct x) from (values (1), (1), (2)) v (x);
select max(x), min(x) from (values ('a'), ('b')) v (x);
select rank() over (order by x), first_value(x) over (order by x) from (values (1), (2), (3)) v (x);
select cast('1' as int), cast(1 as text), cast('2024-01-01' as date);
select current_database(), current_user, session_user, current_schema();
select pg_backend_pid() > 0, version() like 'PostgreSQL 15%';
select now() is not null, random() between 0 and 1;
select bool_and(x), bool_or(x) from (values (true), (false)) v (x);
select date '2024-02-29', timestamp '2024-02-29 12:34:56', time '12:34:56', timestamp '2024-02-29 12:34:56.789';
select extract(year from date '2024-02-29'), extract(month from timestamp '2024-02-29 12:34:56'), extract(dow from date '2024-02-29'), extract(doy from date '2024-02-29');
select date_part('day', date '2024-02-29'), date_part('hour', timestamp '2024-02-29 12:34:56');
select date_trunc('month', timestamp '2024-02-29 12:34:56'), date_trunc('hour', timestamp '2024-02-29 12:34:56');
select current_timestamp is not null, current_time is not null;
select '2024-02-29 12:34:56'::timestamp::date, '2024-02-29'::date::timestamp, '2024-02-29 12:34:56'::timestamp::text;
select '2024-02-29'::date < '2024-03-01', '2024-02-29'::date = '2024-02-29';
create table d (id int primary key, day date, at timestamp default now(), tz timestamptz default current_timestamp);
insert into d (id, day) values (1, '2024-02-29'), (2, date '2024-03-01'), (3, '2024-03-02'::date);
select id, day from d where day > '2024-02-29' order by day;
select day, extract(year from day) from d order by id;
select min(day), max(day) from d;
select id from d where tz <= now() order by id;
drop table d;
