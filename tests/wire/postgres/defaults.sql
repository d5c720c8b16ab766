-- What psql shows for this is in the file beside it, made by PostgreSQL 15 with record.sh.
\pset null '(null)'
create table t (id serial primary key, a int default 5, b text default 'it''s!', c varchar(4) default 'abc', d boolean default true, e numeric(6,2) default 1.5, f date default '2024-02-29', g int, h timestamp default now());
insert into t values (default, default, default, default, default, default, default, default, default) returning id, a, b, c, d, e, f, g;
insert into t (a, b, c) values (default, 'x', default), (7, default, 'y') returning id, a, b, c;
insert into t (c, id) values (default, default), ('z', default) returning id, c, g;
insert into t (a, c) values (default, 'too long');
update t set a = default, b = 'new', c = default where id = 3 returning a, b, c;
update t set (a, d) = (default, false), f = default, e = 2.345 where id = 3 returning a, d, e, f;
update t set g = default where id = 3 returning g;
insert into t (id, a) values (3, 1) on conflict (id) do update set a = default, b = default, g = excluded.a returning a, b, g;
update t set nope = default;
select h > '2024-01-01' from t where id = 1;
insert into t default values returning id, a;
begin;
delete from t using (select 2 as n) x where t.id = x.n;
create table u (k int, v text);
insert into u values (1, 'one'), (3, 'three'), (4, 'four');
delete from t using u where u.k = t.id and u.v = 'three' returning t.id;
delete from t as x using u y, u z where y.k = x.id and z.k = y.k and z.v like 'f%';
delete from u using t where t.id = u.k;
delete from t using u;
rollback;
select count(*) from t;
drop table t;
