-- What psql shows for this is in the file beside it, made by PostgreSQL 15 with record.sh.
\set VERBOSITY terse
create table t (a integer primary key, b text);
prepare ins as insert into t values ($1, $2);
execute ins (1, 'one');
execute ins (2, 'two');
execute ins (-3, null);
execute ins (1, 'dup');
\echo :SQLSTATE
prepare sel (int) as select * from t where a = $1;
execute sel (1);
execute sel ('2');
execute sel (99);
\set VERBOSITY default
execute sel;
\set VERBOSITY terse
\echo :SQLSTATE
execute nope;
\echo :SQLSTATE
prepare sel as select 1;
\echo :SQLSTATE
deallocate sel;
deallocate prepare ins;
deallocate nope;
\echo :SQLSTATE
execute sel (1);
prepare q as select 1 as one;
execute q;
execute "q";
deallocate all;
execute q;
begin;
prepare inside as select count(*) from t;
execute inside;
rollback;
execute inside;
prepare upd (text, int) as update t set b = $1 where a = $2 returning *;
execute upd ('it''s new', 1);
begin;
execute upd ('twice', 1);
execute nope;
execute upd ('thrice', 1);
rollback;
execute upd ('last', 1);
prepare;
\echo :SQLSTATE
prepare x as begin;
\echo :SQLSTATE
execute upd ('a', 1) nonsense;
\echo :SQLSTATE
drop table t;
