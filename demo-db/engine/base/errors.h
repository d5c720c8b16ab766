/* SPDX-License-Identifier: Apache-2.0 */
/* errors.h - every error of the engine: its name, number, SQLSTATE and text. */
#ifndef DEMO_DB_ERRORS_H
#define DEMO_DB_ERRORS_H

#ifdef __cplusplus
extern "C" {
#endif

/* name, number, SQLSTATE, text */
#define DB_ERRORS(X)                                                                               \
	X(DB_EINVAL, 1, "22023", "invalid argument")                                               \
	X(DB_ENOMEM, 2, "53200", "out of memory")                                                  \
	X(DB_EIO, 3, "58030", "input/output error")                                                \
	X(DB_EFULL, 4, "53100", "disk full")                                                       \
	X(DB_ECORRUPT, 5, "XX001", "the database is corrupt")                                      \
	X(DB_ENOTADB, 6, "XX001", "the file is not a database")                                    \
	X(DB_EPAGESIZE, 7, "0A000", "only 4096-byte pages are supported")                          \
	X(DB_EINUSE, 8, "55006", "another process or engine uses this data folder")                \
	X(DB_EOPEN, 9, "58030", "cannot open the database")                                        \
	X(DB_EQUEUE, 10, "53000", "the worker queue is full")                                      \
	X(DB_ESESSIONS, 11, "53300", "too many sessions")                                          \
	X(DB_ECONNECTIONS, 12, "53300", "too many connections in transactions")                    \
	X(DB_EBUSY, 13, "55006", "the session already runs a statement")                           \
	X(DB_ESHUTDOWN, 14, "57P01", "the engine is shutting down")                                \
	X(DB_ECANCELLED, 15, "57014", "statement cancelled")                                       \
	X(DB_EDEADLOCK, 16, "40P01", "deadlock detected")                                          \
	X(DB_ESERIALIZE, 17, "40001", "could not serialize access due to a concurrent update")     \
	X(DB_ELOCKTIMEOUT, 18, "55P03", "lock timeout")                                            \
	X(DB_EFAILED, 19, "25P02", "current transaction is aborted, only ROLLBACK is accepted")    \
	X(DB_EACTIVE, 20, "25001", "not allowed inside a transaction block")                       \
	X(DB_EUNSUPPORTED, 21, "0A000", "not supported")                                           \
	X(DB_EDENIED, 22, "42501", "permission denied")                                            \
	X(DB_ESYNTAX, 23, "42601", "syntax error")                                                 \
	X(DB_ENOTABLE, 24, "42P01", "no such table")                                               \
	X(DB_ENOCOLUMN, 25, "42703", "no such column")                                             \
	X(DB_ENOFUNCTION, 26, "42883", "no such function")                                         \
	X(DB_EEXISTS, 27, "42P07", "the relation already exists")                                  \
	X(DB_ECONSTRAINT, 28, "23000", "constraint failed")                                        \
	X(DB_EUNIQUE, 29, "23505", "unique constraint failed")                                     \
	X(DB_ENOTNULL, 30, "23502", "not-null constraint failed")                                  \
	X(DB_EFOREIGNKEY, 31, "23503", "foreign key constraint failed")                            \
	X(DB_ECHECK, 32, "23514", "check constraint failed")                                       \
	X(DB_EMISMATCH, 33, "42804", "datatype mismatch")                                          \
	X(DB_ETOOBIG, 34, "54000", "string, blob or statement too big")                            \
	X(DB_ETABLES, 35, "54000", "too many tables")                                              \
	X(DB_EREADONLY, 36, "25006", "read-only transaction or file")                              \
	X(DB_ESTOPPED, 37, "57014", "the receiver of rows stopped the statement")                  \
	X(DB_ENOTFOUND, 38, "26000", "no such prepared statement")                                 \
	X(DB_ETHREAD, 39, "53000", "cannot start a thread")                                        \
	X(DB_ETHREADSTOP, 40, "57014", "the executing thread was cancelled")                       \
	X(DB_EINTERNAL, 41, "XX000", "internal error")                                             \
	X(DB_ENOBLOCK, 42, "25P01", "only allowed inside a transaction block")                     \
	X(DB_ESQL, 43, "42000", "the statement failed")                                            \
	X(DB_EDIVISION, 44, "22012", "division by zero")                                           \
	X(DB_EREPRESENTATION, 45, "22P02", "invalid input syntax")                                 \
	X(DB_ERANGE, 46, "22003", "value out of range")                                            \
	X(DB_EDATETIME, 47, "22007", "invalid date or time")                                       \
	X(DB_EDATERANGE, 48, "22008", "date or time out of range")                                 \
	X(DB_EREGEX, 49, "2201B", "invalid regular expression")                                    \
	X(DB_ECOLUMNTWICE, 50, "42701", "column specified more than once")                         \
	X(DB_ENOSAVEPOINT, 51, "3B001", "no such savepoint")                                       \
	X(DB_EAMBIGUOUS, 52, "42702", "ambiguous column")                                          \
	X(DB_EGROUPING, 53, "42803", "aggregate in the wrong place")                               \
	X(DB_EREFERENCE, 54, "42P10", "invalid column reference")                                  \
	X(DB_ETRUNCATION, 55, "22001", "value too long")                                           \
	X(DB_EROLLEDBACK, 56, "40000", "the transaction has been rolled back by an error below it")

enum db_error {
	DB_OK = 0,
#define X(name, number, sqlstate, text) name = -(number),
	DB_ERRORS(X)
#undef X
};
const char *db_error_text(int error);
const char *db_error_sqlstate(int error); /* five characters; "00000" for 0 */

#define DB_MESSAGE_MAX 256 /* bytes of an error message, terminator included */

#ifdef __cplusplus
}
#endif

#endif
