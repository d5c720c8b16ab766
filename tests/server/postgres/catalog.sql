-- What psql shows for this is in the file beside it, made by PostgreSQL 15 with record.sh.
create table city (id integer primary key, name varchar(20) not null, people bigint default 0, area numeric(10,2), at timestamp, code char(3) unique);
create unique index city_name on city (name);
create index city_people on city (people, name);
create view big as select name, people from city where people > 1000000;
create table visit (city_id integer references city (id) on delete cascade, no int, note text, primary key (city_id, no), unique (no, note));
create table types (a smallint, b real, c double precision, d boolean, e bytea, f date, g time, h timestamptz, i uuid, j json, k varchar, l numeric, m timestamp with time zone);
\d
\dt
\dt ci*
\dt nope
\dv
\di
\di city_*
\d city
\d visit
\d types
\d big
\d city_name
\d visit_pkey
\d nope
select 1 as a, 'x'::text as b \gdesc
insert into city (id, name, code) values (1, 'Ulm', 'abc');
begin;
drop table visit;
\dt
rollback;
\dt
