-- What psql shows for this is in the file beside it, made by PostgreSQL 15 with record.sh.
\pset null '(null)'
set client_min_messages = warning;
create table n (id serial primary key, i int, a numeric(8,2), b numeric(3), c numeric, d numeric(2,2), e decimal(10,4), f double precision, g real, t text, v varchar(4));
insert into n (i) values (2.5), (-2.5), (2.4), (1e3), (-0.4) returning i;
insert into n (i) values (1e10);
\echo :SQLSTATE
insert into n (i) values (round(2.5)), (7 / 2.0), (abs(-2.7)) returning i;
insert into n (a) values (1.239), (1.005), (-1.005), (2.675), (1234.5), (7), ('8.5'), (' 8.555 '), (0.004), (-0.005), ('1e2'), (999999.99), (123456.785) returning a;
insert into n (a) values (999999.995);
\echo :SQLSTATE
insert into n (a) values (-1000000);
insert into n (a) values ('abc');
\echo :SQLSTATE
insert into n (a) values ('');
insert into n (b) values (999.4), (-999), (0.5), (1.5), (2.5) returning b;
insert into n (b) values (999.5);
insert into n (b) values (1000);
insert into n (d) values (0.994), (-0.99), (0) returning d;
insert into n (d) values (1);
\echo :SQLSTATE
insert into n (d) values (0.995);
insert into n (c) values (12345.678), ('0.25'), (3) returning c;
insert into n (c) values ('1,5');
insert into n (e) values (1.00005), (3) returning e;
update n set a = a * 1.5, b = b + 0.6 where b = 2 returning a, b;
update n set a = 1e9 where b = 3;
update n set b = 1000 - b where b = 3 returning b;
update n set (a, b) = (select 2.345, 99.5) where b = 997 returning a, b;
insert into n (a, e) select x * 0.111, x / 3.0 from generate_series(1, 3) x returning a, e;
insert into n (a) select x * 400000 from generate_series(1, 3) x;
select count(*), min(a), max(a) from n where a is not null;
insert into n (f) values (1), (1.5), ('2.5'), (' 3e2 '), ('-4') returning f;
insert into n (f) values ('abc');
\echo :SQLSTATE
insert into n (f) values ('1e400');
\echo :SQLSTATE
insert into n (g) values (1.5), (0.1), (1.23456789), (16777217), ('2.5') returning g;
insert into n (g) values ('x');
insert into n (g) values ('1e39');
insert into n (f, g) values ('NaN', 'Infinity'), ('-Infinity', 'NaN') returning f, g;
insert into n (t) values (5), (-1.5), ('x'), (1 + 1) returning t;
insert into n (v) values (1234), (-1.5), ('abcd  ') returning v;
insert into n (v) values (12345);
\echo :SQLSTATE
insert into n (v) values (123456 / 100) returning v;
begin;
update n set a = 1e7;
select 1;
rollback;
select 'abcdef'::varchar(3), 'abcdef'::char(3), 'ab '::varchar(2) || '|', 'ab '::char(4) || '|', cast('abcdef' as character varying(2)), 12345::varchar(3);
select 1.239::numeric(8,2), '2.345'::numeric(8,2), cast(0.5 as numeric(3)), 1234.56::decimal(4), null::numeric(4,1);
select 1234567::numeric(8,2);
\echo :SQLSTATE
select '1e400'::float8;
insert into n (a) values ('12.345'::numeric(8,1) + 0.04) returning a;
drop table n;
