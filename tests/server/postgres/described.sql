-- What psql shows for this is in the file beside it, made by PostgreSQL 15 with record.sh.
\pset null '(null)'
create table t (b bool, y bytea, i2 smallint, i4 integer, i int, i8 bigint, x text, o oid, na name, j json, jb jsonb, f4 real, f8 double precision, c bpchar, v varchar, vv character varying, d date, ti time, tz time with time zone, ts timestamp, tt timestamp without time zone, tsz timestamptz, tstz timestamp with time zone, n numeric, de decimal, u uuid, rc regclass, rt regtype);
select * from t \gdesc
select attname, atttypid, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 't'::regclass and attnum > 0 order by attnum;
select a.attname, t.typname from pg_attribute a join pg_type t on t.oid = a.atttypid where a.attrelid = 't'::regclass and a.attnum > 0 order by a.attnum;
\d t
insert into t (u, ti, j, jb, o, na) values ('A0EEBC99-9c0b4ef8bb6d6bb9bd380a11', '1:02 pm', '{"a": 1}', '{"a": 1}', 26, 'name');
select u, ti, j, jb, o, na from t;
insert into t (o) values ('x');
create table k (id serial primary key, big bigint, u uuid);
select * from k \gdesc
select '1'::int2, '1'::int4, '1'::int8, '1'::bool, '1'::float4, '1'::float8, '1'::numeric, '1'::text, '1'::varchar, '1'::bpchar, '1'::oid, '1'::name, '1'::json, '1'::jsonb, '\x31'::bytea \gdesc
select 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid, '12:00'::time, '2024-02-29'::date, '2024-02-29'::timestamp, '2024-02-29'::timestamptz, '2024-02-29'::timestamp with time zone \gdesc
select date '2024-02-29', time '12:00', timestamp '2024-02-29', timestamptz '2024-02-29', bool 't', bytea '\x31', uuid 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' \gdesc
select int4 '5', numeric '1.5', text 'x', json '1' \gdesc
select int4 '5' + 1 as six, text 'x' || 'y' as xy, bool 'off' as no;
select integer '5x';
select smallint '40000', 1;
prepare p (uuid, int2) as select count(*) from k where u = $1 and id = $2;
execute p ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 1);
drop table t;
drop table k;
