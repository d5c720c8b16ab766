/* SPDX-License-Identifier: Apache-2.0 */
\echo Use "CREATE EXTENSION pg_culprit" to load this file. \quit

CREATE FUNCTION pg_culprit_decisions(
	OUT serial bigint, OUT decided_at timestamptz, OUT pid integer, OUT acted boolean,
	OUT lock text, OUT lost float8, OUT blame float8, OUT held_ms float8, OUT late_ms float8,
	OUT delivered_ms float8, OUT released_ms float8, OUT recovered_ms float8, OUT reason text)
RETURNS SETOF record AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;

CREATE FUNCTION pg_culprit_tasks(
	OUT pid integer, OUT statement bigint, OUT slo_ms bigint, OUT exempt boolean, OUT holds bigint, OUT waits bigint)
RETURNS SETOF record AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;

CREATE FUNCTION pg_culprit_status(
	OUT worker_pid integer, OUT overload text, OUT held_back text, OUT late_share float8,
	OUT completed bigint, OUT late bigint, OUT looks bigint, OUT lock_looks bigint,
	OUT lost_rows bigint, OUT last_look_us float8, OUT worst_look_us float8,
	OUT decisions bigint, OUT delivered bigint, OUT ignored bigint, OUT acknowledged bigint,
	OUT stale bigint)
RETURNS SETOF record AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;

-- Cancels this statement of this session, and no later one; true: it was asked.
CREATE FUNCTION pg_culprit_cancel(pid integer, statement bigint)
RETURNS boolean AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;

CREATE VIEW pg_culprit_decisions AS SELECT * FROM pg_culprit_decisions() ORDER BY serial DESC;
CREATE VIEW pg_culprit_tasks AS SELECT * FROM pg_culprit_tasks();
CREATE VIEW pg_culprit_status AS SELECT * FROM pg_culprit_status();

REVOKE ALL ON FUNCTION pg_culprit_cancel(integer, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_culprit_decisions(), pg_culprit_tasks(), pg_culprit_status() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_culprit_decisions(), pg_culprit_tasks(), pg_culprit_status() TO pg_monitor;
GRANT SELECT ON pg_culprit_decisions, pg_culprit_tasks, pg_culprit_status TO pg_monitor;
