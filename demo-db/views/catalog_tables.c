/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what each catalog holds, as a SELECT over SQLite's schema. Object ids are rowids of the
 * schema beyond FIRST_OID (PostgreSQL's first of users' objects); a rowid that is the primary key
 * has no index there and gets an id beyond ROWID_KEY.
 */
#include "demo-db/views/catalog.h"

#define FIRST_OID "16384"
#define ROWID_KEY "1000016384"
#define VISIBLE	  "substr(s.name, 1, 7) <> 'sqlite_'"

/* oid, rel, name, uniq, pk, real: SQLite's own name, NULL for a rowid */
#define INDEXES                                                                                    \
	"(SELECT i.rowid + " FIRST_OID " AS oid, t.rowid + " FIRST_OID                             \
	" AS rel, CASE l.origin WHEN 'pk' THEN t.name || '_pkey' WHEN 'u' THEN t.name || '_' || "  \
	"(SELECT group_concat(name, '_') FROM pragma_index_info(l.name)) || '_key' ELSE l.name "   \
	"END AS name, l.\"unique\" AS uniq, l.origin = 'pk' AS pk, l.name AS real "                \
	"FROM sqlite_schema t JOIN pragma_index_list(t.name) l "                                   \
	"JOIN sqlite_schema i ON i.type = 'index' AND i.name = l.name WHERE t.type = 'table' "     \
	"UNION ALL SELECT t.rowid + " ROWID_KEY ", t.rowid + " FIRST_OID                           \
	", t.name || '_pkey', 1, 1, NULL FROM sqlite_schema t WHERE t.type = 'table' "             \
	"AND (SELECT count(*) FROM pragma_table_info(t.name) WHERE pk) = 1 "                       \
	"AND NOT EXISTS (SELECT 1 FROM pragma_index_list(t.name) WHERE origin = 'pk'))"

/* The column a rowid key stands for. */
#define KEY_COLUMN                                                                                 \
	"(SELECT c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c "                    \
	"WHERE t.rowid + " ROWID_KEY " = x.oid AND c.pk)"

#define LOCKS(mode, granted, where)                                                                \
	"SELECT 'relation', 5, s.rowid + " FIRST_OID ", h.process, CASE h." mode                   \
	" WHEN 'access share' THEN 'AccessShareLock' WHEN 'row exclusive' THEN "                   \
	"'RowExclusiveLock' WHEN 'share' THEN 'ShareLock' ELSE 'AccessExclusiveLock' "             \
	"END, " granted ", 0 FROM cancel_holds h JOIN sqlite_schema s ON s.name = h.table_name "   \
	"WHERE s.type = 'table' AND h." where

const struct catalog_table catalog_tables[] = {
	{ "pg_namespace", "oid int, nspname text, nspowner int",
		"SELECT 2200, 'public', 10 UNION ALL SELECT 11, 'pg_catalog', 10" },
	{ "pg_am", "oid int, amname text", "SELECT 2, 'heap' UNION ALL SELECT 403, 'btree'" },
	{ "pg_roles",
		"oid int, rolname text, rolsuper bool, rolinherit bool, rolcreaterole bool, "
		"rolcreatedb bool, rolcanlogin bool, rolconnlimit int, rolvaliduntil text, "
		"rolreplication bool, rolbypassrls bool",
		"SELECT 10, 'demo', 0, 1, 0, 0, 1, -1, NULL, 0, 0" },
	{ "pg_database",
		"oid int, datname text, datdba int, encoding int, datcollate text, datctype text, "
		"daticulocale text, datlocprovider text, datacl text",
		"SELECT 5, 'demo', 10, 6, 'C.UTF-8', 'C.UTF-8', NULL, 'c', NULL" },
	{ "pg_class",
		"oid int, relname text, relnamespace int, reloftype int, relowner int, relam int, "
		"reltablespace int, reltoastrelid int, relhasindex bool, relpersistence text, "
		"relkind text, relchecks int, relhasrules bool, relhastriggers bool, "
		"relrowsecurity bool, relforcerowsecurity bool, relispartition bool, "
		"relreplident text, relpartbound text",
		"SELECT s.rowid + " FIRST_OID ", s.name, 2200, 0, 10, CASE s.type WHEN 'table' "
		"THEN 2 ELSE 0 END, 0, 0, s.type = 'table', 'p', CASE s.type WHEN 'table' "
		"THEN 'r' ELSE 'v' END, 0, 0, s.type = 'table', 0, 0, 0, 'd', NULL "
		"FROM sqlite_schema s WHERE s.type IN ('table', 'view') AND " VISIBLE
		" UNION ALL SELECT x.oid, x.name, 2200, 0, 10, 403, 0, 0, 0, 'p', 'i', 0, 0, 0, 0, "
		"0, 0, 'n', NULL FROM " INDEXES " x" },
	{ "pg_attribute",
		"attrelid int, attname text, atttypid int, atttypmod int, attnum int, "
		"attnotnull bool, atthasdef bool, attisdropped bool, attcollation int, "
		"attidentity text, attgenerated text",
		"SELECT s.rowid + " FIRST_OID ", c.name, pg_declared_type(c.type), "
		"pg_declared_modifier(c.type), c.cid + 1, c.\"notnull\" OR c.pk, "
		"c.dflt_value IS NOT NULL, 0, 0, '', CASE WHEN c.hidden IN (2, 3) THEN 's' ELSE "
		"'' END FROM sqlite_schema s JOIN pragma_table_xinfo(s.name) c "
		"WHERE s.type IN ('table', 'view') AND c.hidden <> 1 AND " VISIBLE
		" UNION ALL SELECT x.oid, i.name, pg_declared_type(c.type), "
		"pg_declared_modifier(c.type), i.seqno + 1, 0, 0, 0, 0, '', '' "
		"FROM " INDEXES " x JOIN pragma_index_info(x.real) i "
		"JOIN sqlite_schema t ON t.rowid + " FIRST_OID " = x.rel "
		"LEFT JOIN pragma_table_xinfo(t.name) c ON c.cid = i.cid WHERE x.real IS NOT NULL "
		"UNION ALL SELECT x.oid, " KEY_COLUMN ", 23, -1, 1, 0, 0, 0, 0, '', '' "
		"FROM " INDEXES " x WHERE x.real IS NULL" },
	{ "pg_attrdef", "adrelid int, adnum int, adbin text",
		"SELECT s.rowid + " FIRST_OID ", c.cid + 1, c.dflt_value FROM sqlite_schema s "
		"JOIN pragma_table_xinfo(s.name) c WHERE s.type = 'table' AND c.dflt_value IS NOT "
		"NULL AND " VISIBLE },
	{ "pg_type",
		"oid int, typname text, typnamespace int, typowner int, typlen int, typtype text, "
		"typcategory text, typdelim text, typrelid int, typelem int, typarray int, "
		"typnotnull bool, typbasetype int, typtypmod int, typndims int, typcollation int, "
		"typdefault text",
		"SELECT oid, name, 11, 10, bytes, 'b', CASE WHEN name IN ('int2', 'int4', 'int8', "
		"'float4', 'float8', 'numeric', 'oid', 'regclass', 'regtype') THEN 'N' WHEN name "
		"IN ('text', 'varchar', 'bpchar', 'name') THEN 'S' WHEN name IN ('date', 'time', "
		"'timetz', 'timestamp', 'timestamptz') THEN 'D' WHEN name = 'bool' THEN 'B' WHEN "
		"name = 'unknown' THEN 'X' ELSE 'U' END, ',', 0, 0, 0, 0, 0, -1, 0, 0, NULL FROM "
		"(SELECT 0 AS oid, '' AS name, 0 AS bytes WHERE 0"
#define PG_TYPE(id, oid, name, spelling, affinity, cast, length, binary)                           \
	" UNION ALL SELECT " #oid ", '" name "', " #length
#include "demo-db/server/types/pg_types.def"
		")" },
	{ "pg_index",
		"indexrelid int, indrelid int, indnatts int, indnkeyatts int, indisunique bool, "
		"indisprimary bool, indimmediate bool, indisclustered bool, indisvalid bool, "
		"indisreplident bool, indnullsnotdistinct bool, indpred text",
		"SELECT x.oid, x.rel, n.keys, n.keys, x.uniq, x.pk, 1, 0, 1, 0, 0, NULL FROM "
		"(SELECT oid, rel, uniq, pk, real FROM " INDEXES ") x JOIN (SELECT y.oid AS oid, "
		"max(1, (SELECT count(*) FROM pragma_index_info(y.real))) AS keys FROM " INDEXES
		" y) n ON n.oid = x.oid" },
	{ "pg_constraint",
		"oid int, conname text, conrelid int, confrelid int, conindid int, contype text, "
		"condeferrable bool, condeferred bool, conparentid int, condef text",
		"SELECT s.rowid * 1000 + f.id, s.name || '_' || group_concat(f.\"from\", '_') || "
		"'_fkey', s.rowid + " FIRST_OID ", (SELECT r.rowid + " FIRST_OID
		" FROM sqlite_schema r WHERE r.type = 'table' AND r.name = f.\"table\"), 0, 'f', "
		"0, "
		"0, 0, 'FOREIGN KEY (' || group_concat(f.\"from\", ', ') || ') REFERENCES ' || "
		"f.\"table\" || '(' || group_concat(coalesce(f.\"to\", (SELECT p.name FROM "
		"pragma_table_info(f.\"table\") p WHERE p.pk = f.seq + 1)), ', ') || ')' || CASE "
		"f.on_update WHEN 'NO ACTION' THEN '' ELSE ' ON UPDATE ' || f.on_update END || "
		"CASE f.on_delete WHEN 'NO ACTION' THEN '' ELSE ' ON DELETE ' || f.on_delete END "
		"FROM sqlite_schema s JOIN pragma_foreign_key_list(s.name) f "
		"WHERE s.type = 'table' GROUP BY s.rowid, f.id "
		"UNION ALL SELECT x.oid, x.name, x.rel, 0, x.oid, CASE WHEN x.pk THEN 'p' ELSE 'u' "
		"END, 0, 0, 0, NULL FROM " INDEXES " x WHERE x.pk OR substr(x.real, 1, 17) = "
		"'sqlite_autoindex_'" },
	{ "pg_locks",
		"locktype text, database oid, relation oid, pid int, mode text, granted bool, "
		"fastpath bool",
		LOCKS("mode", "1", "held > 0") " UNION ALL " LOCKS(
			"wanted_mode", "0", "waits_ms IS NOT NULL") },
	{ "pg_collation", "oid int, collname text", "SELECT 950, 'C' WHERE 0" },
	{ "pg_auth_members", "roleid int, member int", "SELECT 0, 0 WHERE 0" },
	{ "pg_inherits", "inhrelid int, inhparent int, inhseqno int, inhdetachpending bool",
		"SELECT 0, 0, 0, 0 WHERE 0" },
};
const size_t catalog_table_count = sizeof catalog_tables / sizeof *catalog_tables;
