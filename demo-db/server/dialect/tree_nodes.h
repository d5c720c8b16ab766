/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_nodes.h - the nodes of PostgreSQL 15's parse tree, and how libpg_query makes one.
 *
 * The only file that includes PostgreSQL's headers; for tree*.c alone. Their macros for the printf
 * family are PostgreSQL's own functions, which nobody here wants.
 */
#ifndef DEMO_DB_TREE_NODES_H
#define DEMO_DB_TREE_NODES_H

#include <postgres.h>

#include <catalog/pg_class.h>
#include <nodes/nodeFuncs.h>
#include <nodes/parsenodes.h>
#include <nodes/pg_list.h>
/* in this order */
#include <pg_query.h>
#include <pg_query/pg_query_internal.h>

#undef snprintf
#undef sprintf
#undef vsnprintf
#undef fprintf
#undef printf
#undef strerror

/* libpg_query counts LimitOption from DEFAULT: its WITH TIES has the number the headers give to
 * that. */
#define TREE_LIMIT_WITH_TIES 2

#endif
