/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probes.h - static probes for bpftrace and SystemTap, where <sys/sdt.h> is there; a nop each
 * until somebody attaches.
 *
 *	cancel:window(now_ns, overload, late_share_ppm)
 *	cancel:decided(serial, task, key, acted)
 *	cancel:delivered(task, reason)
 *	cancel:acknowledged(task)
 *	cancel:released(task)
 */
#ifndef CANCEL_DIAG_PROBES_H
#define CANCEL_DIAG_PROBES_H

#if defined(__has_include)
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define PROBE1(name, a)		 DTRACE_PROBE1(cancel, name, a)
#define PROBE2(name, a, b)	 DTRACE_PROBE2(cancel, name, a, b)
#define PROBE3(name, a, b, c)	 DTRACE_PROBE3(cancel, name, a, b, c)
#define PROBE4(name, a, b, c, d) DTRACE_PROBE4(cancel, name, a, b, c, d)
#endif
#endif

#ifndef PROBE1
#define PROBE1(name, a)		 ((void)(a))
#define PROBE2(name, a, b)	 ((void)(a), (void)(b))
#define PROBE3(name, a, b, c)	 ((void)(a), (void)(b), (void)(c))
#define PROBE4(name, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))
#endif

#endif
