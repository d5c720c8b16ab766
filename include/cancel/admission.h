/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admission.h - admission gates, retry budgets and isolation rivals.
 *
 * Shared by every object: pure, the caller passes now_ns (nanoseconds of one monotonic clock of
 * its choice); no clock, lock, allocation or libm; the same calls give the same answers. Structs
 * are public only so that they can be embedded: their fields may be read, never written.
 *   X_init(&x, &options)     0 or CANCEL_EINVAL; zero in an option means its default
 *   X_admit(&x, now_ns, …)   may this go ahead?
 *   X_observe(&x, now_ns, …) what became of it
 * Options carry struct_size first (the rule is in cancel.h); NULL options are all defaults. Units
 * come last in names. Nothing here is thread-safe by itself; cancel/admission_shared.h wraps what
 * servers share.
 */
#ifndef CANCEL_ADMISSION_H
#define CANCEL_ADMISSION_H

/* Priority admission steered by queuing time, and the caller's side of it. */
#include <cancel/admission/dagor.h>
#include <cancel/admission/upstream.h>
/* Retry budgets. */
#include <cancel/admission/bucket.h>
#include <cancel/admission/retry_aws.h>
#include <cancel/admission/retry_envoy.h>
#include <cancel/admission/retry_finagle.h>
#include <cancel/admission/retry_grpc.h>
#include <cancel/admission/retry_sre.h>
/* Overload control by queuing delay, response time, credits and throughput. */
#include <cancel/admission/breakwater.h>
#include <cancel/admission/codel.h>
#include <cancel/admission/protego.h>
#include <cancel/admission/seda.h>
/* Isolation among classes of requests. */
#include <cancel/admission/darc.h>
#include <cancel/admission/parties.h>
#include <cancel/admission/partition.h>
#include <cancel/admission/pbox.h>
/* What a server puts in front of CPUs, disks and memory. */
#include <cancel/admission/busy.h>
#include <cancel/admission/io_tokens.h>
#include <cancel/admission/memory_gate.h>
#include <cancel/admission/output_limit.h>
#include <cancel/admission/slots.h>
#include <cancel/admission/work_queue.h>

#endif
