/* SPDX-License-Identifier: Apache-2.0 */
/* shortage_sqlite.c - SQLite's allocator, where the engine installs its own; see shortage.h. */
#include "shortage.h"

#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>

static bool of_sqlite;

void shortage_of_sqlite(bool on)
{
	of_sqlite = on;
}

static sqlite3_mem_methods engine_methods;

static void *allocate(int bytes)
{
	return of_sqlite && shortage_refuses() ? NULL : engine_methods.xMalloc(bytes);
}

static void *reallocate(void *memory, int bytes)
{
	return of_sqlite && shortage_refuses() ? NULL : engine_methods.xRealloc(memory, bytes);
}

int __real_sqlite3_config(int option, ...);
int __wrap_sqlite3_config(int option, ...);
int __wrap_sqlite3_config(int option, ...)
{
	va_list arguments;
	va_start(arguments, option);
	if (option == SQLITE_CONFIG_MEMSTATUS) {
		int on = va_arg(arguments, int);
		va_end(arguments);
		return __real_sqlite3_config(option, on);
	}
	sqlite3_mem_methods *methods = va_arg(arguments, sqlite3_mem_methods *);
	va_end(arguments);
	if (option == SQLITE_CONFIG_MALLOC) {
		engine_methods = *methods;
		methods->xMalloc = allocate;
		methods->xRealloc = reallocate;
	}
	return __real_sqlite3_config(option, methods);
}
