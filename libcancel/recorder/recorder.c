/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the buffer of the piece being filled, and the file or the flight it goes to. Every piece of
 * a flight begins anew, so that the oldest can be dropped.
 */
#include "libcancel/recorder/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libcancel/recorder/file.h"

#define KEPT_MAX     128u  /* pieces of a flight: one a second, and one more a decision */
#define SMALL_PIECES 8192u /* bytes of a header or of all names */

struct kept {
	void *bytes;
	size_t size;
	uint64_t first_look, began_ns;
};

struct recorder {
	struct recorder_options options;
	char path[RECORDER_PATH_MAX];
	struct record_config config;
	int file;
	uint64_t file_used;
	bool failed, config_changed, restart;
	int failure; /* errno */

	struct byte_writer piece;
	uint64_t look, piece_first, piece_began_ns, now_ns;
	uint32_t named;	  /* resources whose names were written */
	uint64_t decided; /* serial of a decision whose flight is not written yet */

	struct kept kept[KEPT_MAX]; /* a ring */
	uint32_t kept_first, kept_count;
	size_t kept_bytes;

	size_t block_bytes;
	struct record_state *state;
};

/* ---- Small pieces ---------------------------------------------------------------------------- */

static void set_config(struct recorder *r, const struct cancel_pipeline_config *config)
{
	const struct cancel_policy *policy = config->policy ? config->policy : cancel_policies[0];
	const struct cancel_estimator *estimator =
		config->estimator ? config->estimator : cancel_estimators[0];
	uint32_t task_limit = r->config.pipeline.task_limit;
	r->config.pipeline = *config;
	if (task_limit)
		r->config.pipeline.task_limit = task_limit;
	snprintf(r->config.policy, CANCEL_NAME_MAX, "%s", policy->name);
	snprintf(r->config.estimator, CANCEL_NAME_MAX, "%s", estimator->name);
}

static void put_names(const struct recorder *r, struct byte_writer *out, uint32_t resources)
{
	const struct text_names *names = &r->options.names;
	char name[CANCEL_NAME_MAX];
	size_t begin = record_begin_piece(out);
	for (uint32_t i = 0; i < resources; i++) {
		names->resource(names->arg, i, name);
		record_write_name(out, "resource", i, name);
	}
	for (uint32_t i = 0; i < CANCEL_CLASSES_MAX; i++) {
		names->class_of(names->arg, i, name);
		record_write_name(out, "class", i, name);
	}
	record_end_piece(out, begin, RECORD_NAMES);
}

static void put_header(
	const struct recorder *r, struct byte_writer *out, uint64_t first_look, uint32_t resources)
{
	struct record_config config = r->config;
	config.first_look = first_look;
	config.flight = r->options.flight;
	record_write_header(out, &config);
	put_names(r, out, resources);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static void write_out(struct recorder *r, const void *bytes, size_t count)
{
	if (r->failed)
		return;
	if (!file_write(r->file, bytes, count)) {
		r->failed = true;
		r->failure = errno;
	}
	r->file_used += count;
}

static void write_small(
	struct recorder *r, void (*put)(const struct recorder *r, struct byte_writer *out))
{
	unsigned char bytes[SMALL_PIECES];
	struct byte_writer out = { .to = bytes, .size = sizeof bytes };
	put(r, &out);
	write_out(r, out.to, out.used);
}

static void put_file_header(const struct recorder *r, struct byte_writer *out)
{
	put_header(r, out, r->look + 1, r->named);
}

static void put_all_names(const struct recorder *r, struct byte_writer *out)
{
	put_names(r, out, r->named);
}

static void put_config_piece(const struct recorder *r, struct byte_writer *out)
{
	record_write_config(out, &r->config);
}

static bool open_file(struct recorder *r)
{
	r->file = file_create(r->path);
	if (r->file < 0)
		return false;
	r->file_used = 0;
	r->restart = true;
	write_small(r, put_file_header);
	errno = r->failure;
	return !r->failed;
}

static void rotate(struct recorder *r)
{
	close(r->file);
	file_rotate(r->path, RECORDER_FILES);
	if (!open_file(r)) {
		r->failed = true;
		r->failure = errno;
	}
}

/* ---- Flight ---------------------------------------------------------------------------------- */

static void drop_oldest(struct recorder *r)
{
	struct kept *oldest = &r->kept[r->kept_first];
	free(oldest->bytes);
	r->kept_bytes -= oldest->size;
	r->kept_first = (r->kept_first + 1) % KEPT_MAX;
	r->kept_count--;
}

static void keep_piece(struct recorder *r)
{
	struct kept piece = {
		.size = r->piece.used, .first_look = r->piece_first, .began_ns = r->piece_began_ns
	};
	while (r->kept_count &&
		(r->kept_count == KEPT_MAX || r->kept_bytes + piece.size > RECORDER_FLIGHT_BYTES ||
			r->now_ns - r->kept[r->kept_first].began_ns > RECORDER_FLIGHT_NS))
		drop_oldest(r);
	piece.bytes = piece.size > RECORDER_FLIGHT_BYTES ? NULL : malloc(piece.size);
	if (!piece.bytes)
		return;
	memcpy(piece.bytes, r->piece.to, piece.size);
	r->kept[(r->kept_first + r->kept_count++) % KEPT_MAX] = piece;
	r->kept_bytes += piece.size;
}

static void write_flight(struct recorder *r)
{
	char path[RECORDER_PATH_MAX + 16];
	unsigned char bytes[SMALL_PIECES];
	struct byte_writer head = { .to = bytes, .size = sizeof bytes };
	if (!r->kept_count)
		return;
	snprintf(path, sizeof path, "%s.%llu", r->path,
		(unsigned long long)((r->decided - 1) % RECORDER_FLIGHT_FILES + 1));
	put_header(r, &head, r->kept[r->kept_first].first_look, r->named);
	r->file = file_create(path);
	if (r->file < 0) {
		r->failed = true;
		r->failure = errno;
		return;
	}
	write_out(r, head.to, head.used);
	for (uint32_t i = 0; i < r->kept_count; i++) {
		const struct kept *piece = &r->kept[(r->kept_first + i) % KEPT_MAX];
		write_out(r, piece->bytes, piece->size);
	}
	close(r->file);
	r->file = -1;
}

/* ---- The piece being filled ------------------------------------------------------------------ */

static void end_piece(struct recorder *r)
{
	if (!r->piece.used)
		return;
	bool anew = r->options.flight || r->restart;
	record_end_piece(&r->piece, 0, anew ? RECORD_RESTART : RECORD_LOOKS);
	if (r->options.flight)
		keep_piece(r);
	else
		write_out(r, r->piece.to, r->piece.used);
	r->restart = false;
	r->piece.used = 0;
}

static void begin_piece(struct recorder *r)
{
	if (r->piece.used)
		return;
	if (r->options.flight || r->restart)
		record_state_restart(r->state);
	record_begin_piece(&r->piece);
	r->piece_first = r->look;
	r->piece_began_ns = r->now_ns;
}

/* What must stand before the next look. */
static void write_changes(struct recorder *r, uint32_t resource_count)
{
	if (r->named >= resource_count && !r->config_changed)
		return;
	end_piece(r);
	if (r->named < resource_count) {
		r->named = resource_count;
		if (!r->options.flight)
			write_small(r, put_all_names);
	}
	if (r->config_changed && !r->options.flight)
		write_small(r, put_config_piece);
	while (r->config_changed && r->kept_count) /* those were judged by other thresholds */
		drop_oldest(r);
	r->config_changed = false;
}

void recorder_take(struct recorder *r, const struct cancel_ledger *ledger,
	const struct cancel_verdict *verdict)
{
	char text[CANCEL_TEXT_MAX];
	struct record_note note = { .has_digest = !r->options.ledgers_only };
	if (r->failed)
		return;
	write_changes(r, ledger->resource_count);
	r->look++;
	r->now_ns = ledger->now_ns;
	begin_piece(r);
	if (note.has_digest)
		note.digest = record_short_digest(verdict);
	if (note.has_digest && verdict->decided) {
		text_of_decision(&verdict->decision, &r->options.names, text);
		note.text = text;
		note.text_bytes = (uint32_t)strlen(text);
	}
	if (!record_write_look(r->state, &r->piece, ledger, &note)) {
		r->failed = true;
		r->failure = EOVERFLOW;
		r->piece.used = 0;
	}
	if (verdict->decided)
		r->decided = verdict->decision.serial;
}

bool recorder_flush(struct recorder *r, char message[CANCEL_TEXT_MAX])
{
	bool had_failed = r->failed;
	if (r->piece.used >= RECORDER_PIECE_BYTES ||
		r->now_ns - r->piece_began_ns >= RECORDER_PIECE_NS ||
		(r->options.flight && r->decided))
		end_piece(r);
	if (r->options.flight && r->decided)
		write_flight(r);
	r->decided = 0;
	if (!r->options.flight && !r->piece.used && r->file_used >= r->options.file_bytes)
		rotate(r);
	if (!r->failed || had_failed)
		return true;
	snprintf(message, CANCEL_TEXT_MAX, "the record %.100s cannot be written and is closed: %s",
		r->path, strerror(r->failure));
	return false;
}

void recorder_configure(struct recorder *r, const struct cancel_pipeline_config *config)
{
	set_config(r, config);
	r->config_changed = true;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static size_t room_for(size_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

static bool take_memory(struct recorder *r, uint32_t task_limit)
{
	size_t state = room_for(record_state_bytes(task_limit));
	size_t piece = RECORDER_PIECE_BYTES + RECORD_PIECE_BYTES +
		       record_look_bytes(task_limit, RECORD_EVENTS_MAX, CANCEL_TEXT_MAX);
	r->block_bytes = state + piece;
	void *block = mmap(NULL, r->block_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (block == MAP_FAILED)
		return false;
	r->state = block;
	record_state_init(r->state, task_limit);
	r->piece = (struct byte_writer){ .to = (unsigned char *)block + state, .size = piece };
	return true;
}

static void release(struct recorder *r)
{
	while (r->kept_count)
		drop_oldest(r);
	if (r->state)
		munmap(r->state, r->block_bytes);
	if (r->file >= 0)
		close(r->file);
	free(r);
}

static struct recorder *refuse(struct recorder *r, char *message, const char *path)
{
	const char *why = errno == EWOULDBLOCK ? "another recorder writes it" : strerror(errno);
	snprintf(message, CANCEL_TEXT_MAX, "the record %.100s cannot be written: %s", path, why);
	if (r)
		release(r);
	return NULL;
}

struct recorder *recorder_open(const struct recorder_options *options,
	const struct cancel_pipeline_config *config, char message[CANCEL_TEXT_MAX])
{
	struct recorder *r = calloc(1, sizeof *r);
	if (!r)
		return refuse(r, message, options->path);
	r->options = *options;
	r->file = -1;
	if (!r->options.file_bytes)
		r->options.file_bytes = RECORDER_FILE_BYTES;
	set_config(r, config);
	if (!r->config.pipeline.task_limit)
		r->config.pipeline.task_limit = 4096;
	errno = strlen(options->path) < sizeof r->path ? 0 : ENAMETOOLONG;
	if (!errno && !take_memory(r, r->config.pipeline.task_limit))
		errno = ENOMEM;
	if (errno)
		return refuse(r, message, options->path);
	strcpy(r->path, options->path);
	if (options->flight)
		return r;
	if (!options->fresh && file_is_left(r->path))
		file_rotate(r->path, RECORDER_FILES);
	return open_file(r) ? r : refuse(r, message, options->path);
}

void recorder_close(struct recorder *r)
{
	if (!r)
		return;
	if (!r->failed && !r->options.flight)
		end_piece(r);
	release(r);
}

void recorder_abandon(struct recorder *r)
{
	if (r)
		release(r);
}
