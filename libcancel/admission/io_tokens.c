/* SPDX-License-Identifier: Apache-2.0 */
/* I/O tokens: from debt and what drained to a number of bytes, dealt out in ticks. */
#include <cancel/admission/io_tokens.h>

#include "libcancel/base/fixed.h"
#include "libcancel/base/struct_size.h"

#define INTERVAL_NS_DEFAULT UINT64_C(15000000000)
#define FLOOR_DEFAULT	    (UINT64_C(1) << 20)
#define TICKS		    60u			/* of 250 ms */
#define BYTES_MAX	    (UINT64_C(1) << 50) /* sums of tokens stay in 63 bits */
#define SCORE_LOW_PPM	    500000u
#define SCORE_MEDIUM_PPM    1000000u
#define SCORE_HIGH_PPM	    2000000u

int cancel_io_tokens_init(
	struct cancel_io_tokens *io, const struct cancel_io_tokens_options *options)
{
	struct cancel_io_tokens_options o;
	if (!struct_size_read(&o, sizeof o, options) || !o.threshold)
		return CANCEL_EINVAL;
	*io = (struct cancel_io_tokens){
		.threshold = o.threshold,
		.interval_ns = o.interval_ns ? o.interval_ns : INTERVAL_NS_DEFAULT,
		.floor = o.floor ? o.floor : FLOOR_DEFAULT,
		.interval_start_ns = o.start_ns,
	};
	return 0;
}

static uint32_t score_of(const struct cancel_io_tokens *io, uint64_t debt)
{
	const uint64_t whole = debt / io->threshold;
	const uint64_t unit =
		io->threshold / CANCEL_PPM + 1; /* rest / threshold, without overflow */
	const uint64_t rest_ppm = io->threshold > UINT64_MAX / CANCEL_PPM
					  ? debt % io->threshold / unit
					  : debt % io->threshold * CANCEL_PPM / io->threshold;
	const uint64_t score_ppm = fixed_plus(fixed_times(whole, CANCEL_PPM), rest_ppm);

	return score_ppm < UINT32_MAX ? (uint32_t)score_ppm : UINT32_MAX;
}

/* Half of what was and half of what is. */
static uint64_t smoothed(uint64_t before, uint64_t value)
{
	return before / 2 + value / 2 + (before % 2 + value % 2) / 2;
}

static uint64_t tokens_for(uint32_t score_ppm, uint64_t drained)
{
	if (score_ppm >= SCORE_HIGH_PPM)
		return drained / 2;
	if (score_ppm < SCORE_MEDIUM_PPM) /* (3 - 2 score) x drained */
		return fixed_part(drained, 3 * CANCEL_PPM - 2 * score_ppm);
	return fixed_part(
		drained, (3 * CANCEL_PPM - score_ppm) / 2); /* (3 - score) / 2 x drained */
}

static void adjust(struct cancel_io_tokens *io, uint64_t debt, uint64_t drained_total)
{
	const uint64_t raw = fixed_minus(drained_total, io->drained_total);
	const uint64_t drained = raw < BYTES_MAX ? raw : BYTES_MAX;
	io->score_ppm = score_of(io, debt);
	io->limited = io->score_ppm >= SCORE_LOW_PPM;
	io->drained_total = drained_total;
	io->drained_smoothed = io->started ? smoothed(io->drained_smoothed, drained) : drained;
	/* While unlimited the tokens follow what drains, so that a limit starts from history. */
	const uint64_t wanted =
		io->limited ? tokens_for(io->score_ppm, io->drained_smoothed) : drained;
	io->tokens_smoothed = io->started ? smoothed(io->tokens_smoothed, wanted) : wanted;
	io->tokens = io->tokens_smoothed > io->floor ? io->tokens_smoothed : io->floor;
	if (!io->limited)
		io->available = 0; /* what was owed is forgiven with the debt */
	io->started = true;
}

/* What the first `tick` ticks of an interval deal out together. */
static uint64_t dealt(const struct cancel_io_tokens *io, uint64_t tick)
{
	return io->tokens / TICKS * tick + io->tokens % TICKS * tick / TICKS;
}

static void deal(struct cancel_io_tokens *io, uint64_t now_ns)
{
	const uint64_t tick_ns = io->interval_ns / TICKS ? io->interval_ns / TICKS : 1;
	/* One tick's worth waits at most. */
	const int64_t cap = (int64_t)(io->tokens / TICKS + (io->tokens % TICKS ? 1 : 0));
	const uint64_t elapsed = fixed_minus(now_ns, io->interval_start_ns) / tick_ns;

	if (elapsed <= io->tick)
		return;
	/* A long gap refills what a gap of one interval would. */
	const uint64_t from = elapsed - io->tick > TICKS ? elapsed - TICKS : io->tick;
	const uint64_t gift = dealt(io, elapsed - from + from % TICKS) - dealt(io, from % TICKS);
	io->tick = elapsed;
	io->available += (int64_t)gift;
	if (io->available > cap)
		io->available = cap;
}

void cancel_io_tokens_observe(
	struct cancel_io_tokens *io, uint64_t now_ns, uint64_t debt, uint64_t drained_total)
{
	if (io->started && fixed_minus(now_ns, io->interval_start_ns) < io->interval_ns)
		return;
	deal(io, now_ns);
	adjust(io, debt, drained_total);
	io->interval_start_ns = now_ns;
	io->tick = 0;
}

bool cancel_io_tokens_admit(struct cancel_io_tokens *io, uint64_t now_ns, uint64_t bytes)
{
	if (!io->limited)
		return true;
	deal(io, now_ns);
	if (io->available <= 0)
		return false;
	io->available -= (int64_t)(bytes < BYTES_MAX ? bytes : BYTES_MAX);
	return true;
}

void cancel_io_tokens_settle(
	struct cancel_io_tokens *io, uint64_t now_ns, uint64_t asked, uint64_t actual)
{
	const int64_t took = (int64_t)(asked < BYTES_MAX ? asked : BYTES_MAX);
	const int64_t owed = (int64_t)(actual < BYTES_MAX ? actual : BYTES_MAX);
	if (!io->limited)
		return;
	deal(io, now_ns);
	io->available += took - owed;
	if (io->available < -(int64_t)BYTES_MAX)
		io->available = -(int64_t)BYTES_MAX;
}
