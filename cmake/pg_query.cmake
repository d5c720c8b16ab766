# SPDX-License-Identifier: Apache-2.0
# PostgreSQL 15's parser as a library, and the server's headers its tree is described in. The tree's layout is that of one
# version: another one must not be taken for it.
find_library(PG_QUERY_LIBRARY libpg_query.a)
find_path(PG_QUERY_INCLUDE pg_query/pg_query_internal.h)
find_path(POSTGRES_SERVER_INCLUDE postgres.h PATHS /usr/include/postgresql/15/server NO_DEFAULT_PATH)
if(NOT PG_QUERY_LIBRARY OR NOT PG_QUERY_INCLUDE OR NOT POSTGRES_SERVER_INCLUDE)
	message(FATAL_ERROR "demo-db's server needs PostgreSQL 15's parser: apt-get install libpg-query-dev postgresql-server-dev-15")
endif()
file(STRINGS ${PG_QUERY_INCLUDE}/pg_query.h pg_query_version REGEX "define PG_MAJORVERSION ")
if(NOT pg_query_version MATCHES "15")
	message(FATAL_ERROR "libpg_query is not PostgreSQL 15's: apt-get install libpg-query-dev, of Debian 12")
endif()
