-- What psql shows for this is in the file beside it, made by PostgreSQL 15 with record.sh.
\pset null '(null)'
set client_min_messages = warning;
create table t (id int primary key, n numeric(10,2), d date, b boolean, s text, f float);
insert into t values (1, 2.50, '2024-01-02', true, 'a', 1.5), (2, 7, '2024-03-01', false, 'b', null);
create view v as select id, n / 3 as q, n, d + 1 as e, d - date '2024-01-01' as days, b and id > 1 as c, s || 'x' as x, id + 1 as j, id::bigint * 2 as k, count(*) over () as m, f * 2 as g from t;
create view w (a, z) as select sum(q), max(e) from v group by n;
select * from v order by id;
select * from v \gdesc
select q * 2, e - 1, days / 2, c::text, j + 1, g / 2 from v order by id;
select a + 1, z from w order by 1;
select * from w \gdesc
create view u as select 1.50 as one, 'x' as two, null as three, true as four, coalesce(n, 0) as five from t;
select * from u \gdesc
select one * 2, five / 2 from u order by 2;
drop view u;
drop view w;
drop view v;
drop table t;
-- what pg_dump begins with, and other spellings
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SELECT pg_catalog.set_config('search_path', '', false);
SELECT pg_catalog.set_config('search_path', 'public', false);
SET check_function_bodies = false;
SET xmloption = content;
SET row_security = off;
SET default_table_access_method = heap;
CREATE TABLE public.t (id integer NOT NULL, n numeric(10,2) DEFAULT 0.00);
ALTER TABLE public.t OWNER TO demo;
INSERT INTO public.t VALUES (1, 2.50), (2, DEFAULT), (3, 2.50);
select N'Rock', count(distinct n), sum(distinct n), avg(distinct n) from t;
select n, count(*) from t group by 1 having sum(n) > 2 order by 2 desc, 1;
select id from t where id = any (array[1, 3]) and id <> all (array[3]);
table t order by id limit 1;
select x, y from (values (1, 'a'), (2, 'b')) v (x, y) join t on t.id = v.x order by x;
select 'a%b' like 'a!%b' escape '!', 'x' between 'a' and 'z', (1, 2) = (1, 2), 1 is distinct from null;
(select 1 union select 2) except select 2;
select 1 union (select 2 intersect select 3) order by 1;
drop table t;
