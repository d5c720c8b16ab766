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
 * Options carry struct_size first; NULL options are all defaults. Units come last in names.
 * Nothing here is thread-safe by itself; cancel/admission_shared.h wraps what servers share.
 */
#ifndef CANCEL_ADMISSION_H
#define CANCEL_ADMISSION_H

#include <cancel/admission/bucket.h> /* token bucket: retry budget, rate limit */
#include <cancel/admission/dagor.h>  /* priority gate steered by queuing time */

#endif
