/* SPDX-License-Identifier: Apache-2.0 */
/* sql.c - the functions behind the views. Each first makes sure that there is shared memory. */
#include "pg_culprit.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#define DECISION_COLUMNS 13

PG_FUNCTION_INFO_V1(pg_culprit_decisions);
PG_FUNCTION_INFO_V1(pg_culprit_tasks);
PG_FUNCTION_INFO_V1(pg_culprit_status);
PG_FUNCTION_INFO_V1(pg_culprit_cancel);

static void require_preload(void)
{
	if (!pg_culprit_shared)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				       errmsg("pg_culprit is not loaded"),
				       errhint("Add pg_culprit to shared_preload_libraries and "
					       "restart the server.")));
}

static void put(ReturnSetInfo *result, Datum *values, bool *nulls)
{
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

static Datum ms_or_null(double ms, bool *null)
{
	*null = ms < 0;
	return Float8GetDatum(ms);
}

Datum pg_culprit_decisions(PG_FUNCTION_ARGS)
{
	require_preload();
	InitMaterializedSRF(fcinfo, 0);
	LWLockAcquire(pg_culprit_shared->lock, LW_SHARED);
	struct pg_culprit_decision *copy = palloc(sizeof pg_culprit_shared->decisions);
	memcpy(copy, pg_culprit_shared->decisions, sizeof pg_culprit_shared->decisions);
	LWLockRelease(pg_culprit_shared->lock);
	for (int i = 0; i < PG_CULPRIT_DECISIONS; i++) {
		const struct pg_culprit_decision *d = &copy[i];
		Datum values[DECISION_COLUMNS];
		bool nulls[DECISION_COLUMNS] = { false };
		int n = 0;
		if (!d->serial)
			continue;
		values[n++] = Int64GetDatum((int64)d->serial);
		values[n++] = TimestampTzGetDatum(d->decided_at);
		values[n++] = Int32GetDatum(d->pid);
		values[n++] = BoolGetDatum(d->acted);
		values[n++] = CStringGetTextDatum(d->lock);
		values[n++] = Float8GetDatum(d->lost);
		values[n++] = Float8GetDatum(d->blame);
		values[n++] = Float8GetDatum(d->held_ms);
		values[n++] = Float8GetDatum(d->late_ms);
		values[n] = ms_or_null(d->delivered_ms, &nulls[n]);
		n++;
		values[n] = ms_or_null(d->released_ms, &nulls[n]);
		n++;
		values[n] = ms_or_null(d->recovered_ms, &nulls[n]);
		n++;
		values[n++] = CStringGetTextDatum(d->text);
		put((ReturnSetInfo *)fcinfo->resultinfo, values, nulls);
	}
	return (Datum)0;
}

Datum pg_culprit_tasks(PG_FUNCTION_ARGS)
{
	require_preload();
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < pg_culprit_shared->slot_count; i++) {
		struct pg_culprit_slot *s = &pg_culprit_shared->slots[i];
		uint64 pid = pg_atomic_read_u64(&s->pid);
		if (!pid)
			continue;
		Datum values[] = {
			Int32GetDatum((int32)pid),
			Int64GetDatum((int64)pg_atomic_read_u64(&s->generation)),
			Int64GetDatum((int64)pg_atomic_read_u64(&s->slo_ms)),
			BoolGetDatum(pg_atomic_read_u64(&s->exempt) != 0 ||
				     pg_atomic_read_u64(&s->spared) != 0),
			Int64GetDatum((int64)pg_atomic_read_u64(&s->holds)),
			Int64GetDatum((int64)pg_atomic_read_u64(&s->waits)),
		};
		bool nulls[lengthof(values)] = { false };
		put((ReturnSetInfo *)fcinfo->resultinfo, values, nulls);
	}
	return (Datum)0;
}

Datum pg_culprit_status(PG_FUNCTION_ARGS)
{
	uint64 stale = 0;
	require_preload();
	InitMaterializedSRF(fcinfo, 0);
	LWLockAcquire(pg_culprit_shared->lock, LW_SHARED);
	struct pg_culprit_status s = pg_culprit_shared->status;
	LWLockRelease(pg_culprit_shared->lock);
	for (int i = 0; i < pg_culprit_shared->slot_count; i++)
		stale += pg_atomic_read_u64(&pg_culprit_shared->slots[i].stale);
	Datum values[] = {
		Int32GetDatum(s.worker_pid),
		CStringGetTextDatum(s.overload),
		CStringGetTextDatum(s.held_back),
		Float8GetDatum(s.late_share),
		Int64GetDatum((int64)s.completed),
		Int64GetDatum((int64)s.late),
		Int64GetDatum((int64)s.looks),
		Int64GetDatum((int64)s.lock_looks),
		Int64GetDatum((int64)s.lost_rows),
		Float8GetDatum(s.last_look_us),
		Float8GetDatum(s.worst_look_us),
		Int64GetDatum((int64)s.decisions),
		Int64GetDatum((int64)s.delivered),
		Int64GetDatum((int64)s.ignored),
		Int64GetDatum((int64)s.acknowledged),
		Int64GetDatum((int64)stale),
	};
	bool nulls[lengthof(values)] = { false };
	nulls[0] = s.worker_pid == 0;
	put((ReturnSetInfo *)fcinfo->resultinfo, values, nulls);
	return (Datum)0;
}

Datum pg_culprit_cancel(PG_FUNCTION_ARGS)
{
	int32 pid = PG_GETARG_INT32(0);
	uint64 statement = (uint64)PG_GETARG_INT64(1);
	require_preload();
	for (int i = 0; i < pg_culprit_shared->slot_count; i++) {
		struct pg_culprit_slot *s = &pg_culprit_shared->slots[i];
		if (pid <= 0 || pg_atomic_read_u64(&s->pid) != (uint64)pid)
			continue;
		if (pg_atomic_read_u64(&s->spared) & PG_CULPRIT_SPARED_DEAF)
			break;
		PG_RETURN_BOOL(pg_culprit_cancel_statement(
			s, pid, statement, PG_CULPRIT_CANCEL, "An operator asked for it."));
	}
	PG_RETURN_BOOL(false);
}
