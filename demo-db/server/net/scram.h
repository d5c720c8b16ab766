/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scram.h - SCRAM-SHA-256, the server's side, as PostgreSQL clients speak it.
 *
 * The server keeps verifiers, never passwords. An unknown user goes through the same exchange with
 * a made-up verifier, so that names cannot be probed. One exchange, one caller; the cryptography is
 * OpenSSL's. Without channel binding (there is no TLS here to bind to).
 * Source: RFC 5802, RFC 7677; PostgreSQL documentation, "SASL Authentication".
 */
#ifndef DEMO_DB_SCRAM_H
#define DEMO_DB_SCRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCRAM_MECHANISM	   "SCRAM-SHA-256"
#define SCRAM_KEY_BYTES	   32
#define SCRAM_SALT_MAX	   64
#define SCRAM_ITERATIONS   4096
#define SCRAM_VERIFIER_MAX 256 /* characters, terminator included */
#define SCRAM_MESSAGE_MAX  1024

struct scram_verifier {
	uint32_t iterations, salt_bytes;
	uint8_t salt[SCRAM_SALT_MAX];
	uint8_t stored_key[SCRAM_KEY_BYTES], server_key[SCRAM_KEY_BYTES];
	bool made_up; /* of a user who does not exist: the exchange runs and fails */
};

/* PostgreSQL's text form: SCRAM-SHA-256$iterations:salt$stored:server. 0 or -1. */
int scram_verifier_parse(const char *text, struct scram_verifier *verifier);
int scram_verifier_format(const struct scram_verifier *verifier, char text[SCRAM_VERIFIER_MAX]);
/* Derives a verifier (about 2 ms at 4096 iterations). salt_bytes 0: sixteen random ones. */
int scram_verifier_derive(struct scram_verifier *verifier, const char *password,
	const uint8_t *salt, uint32_t salt_bytes, uint32_t iterations);
/* A verifier nobody can satisfy. The salt depends on the name and on `secret`, which the caller
 * draws once, so that a name answers alike every time. */
int scram_verifier_make_up(
	struct scram_verifier *verifier, const char *user, const uint8_t secret[SCRAM_KEY_BYTES]);

struct scram {
	struct scram_verifier verifier;
	char client_first_bare[SCRAM_MESSAGE_MAX], server_first[SCRAM_MESSAGE_MAX];
	char nonce[SCRAM_MESSAGE_MAX];
	char binding; /* 'n' or 'y', as the client said */
};

/* The client's first message → ours. `server_nonce` NULL: random. 0, or -1 on a malformed one. */
int scram_first(struct scram *scram, const char *message, size_t bytes, const char *server_nonce);
/* The client's proof → our signature in `reply`. 0: authenticated; -1: malformed or wrong. */
int scram_final(
	struct scram *scram, const char *message, size_t bytes, char reply[SCRAM_MESSAGE_MAX]);

#endif
