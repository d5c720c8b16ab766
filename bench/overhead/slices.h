/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slices.h - what the two processes of `overhead` say to each other over their pipes.
 *
 * The parent writes one byte: SLICE_GO, or SLICE_END to finish. The child works for SLICE_NS, stops
 * everything, and answers with a slice_result followed by `count` latencies in microseconds
 * (uint32_t).
 */
#ifndef BENCH_SLICES_H
#define BENCH_SLICES_H

#include <stdint.h>

#define SLICE_NS    100000000u
#define SLICE_GO    'g'
#define SLICE_END   'e'
#define SLICE_READY UINT32_MAX /* count of the first answer: the child is up */
#define SLICE_MAX   100000u    /* latencies kept of one slice */

struct slice_result {
	uint64_t answered, elapsed_ns;
	uint32_t count;
};

#endif
