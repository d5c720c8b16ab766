/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the exchange's messages and the derivation of keys. Hashes, random numbers, base64 and the
 * constant-time comparison are OpenSSL's.
 */
#include "demo-db/server/net/scram.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#define NONCE_BYTES 18

static int hmac(const uint8_t key[SCRAM_KEY_BYTES], const char *text, uint8_t out[SCRAM_KEY_BYTES])
{
	unsigned bytes = 0;
	const void *mac = HMAC(EVP_sha256(), key, SCRAM_KEY_BYTES, (const uint8_t *)text,
		strlen(text), out, &bytes);
	return mac && bytes == SCRAM_KEY_BYTES ? 0 : -1;
}

static void encode64(const uint8_t *data, size_t bytes, char *text)
{
	EVP_EncodeBlock((uint8_t *)text, data, (int)bytes);
}

/* Decodes all of `text` into at most `capacity` bytes; returns how many, -1 if malformed. */
static int decode64(const char *text, size_t characters, uint8_t *data, size_t capacity)
{
	uint8_t block[3 * SCRAM_MESSAGE_MAX / 4];
	if (characters == 0 || characters % 4 || characters / 4 * 3 > sizeof block)
		return -1;
	int bytes = EVP_DecodeBlock(block, (const uint8_t *)text, (int)characters);
	for (size_t at = characters; bytes > 0 && text[at - 1] == '='; at--)
		bytes--;
	if (bytes <= 0 || (size_t)bytes > capacity)
		return -1;
	memcpy(data, block, (size_t)bytes);
	return bytes;
}

/* ---- Verifiers ------------------------------------------------------------------------------- */

int scram_verifier_derive(struct scram_verifier *v, const char *password, const uint8_t *salt,
	uint32_t salt_bytes, uint32_t iterations)
{
	uint8_t salted[SCRAM_KEY_BYTES], client_key[SCRAM_KEY_BYTES];
	if (salt_bytes > SCRAM_SALT_MAX || iterations == 0)
		return -1;
	*v = (struct scram_verifier){ .iterations = iterations,
		.salt_bytes = salt_bytes ? salt_bytes : 16 };
	if (salt_bytes)
		memcpy(v->salt, salt, salt_bytes);
	else if (RAND_bytes(v->salt, (int)v->salt_bytes) != 1)
		return -1;
	if (PKCS5_PBKDF2_HMAC(password, (int)strlen(password), v->salt, (int)v->salt_bytes,
		    (int)iterations, EVP_sha256(), sizeof salted, salted) != 1 ||
		hmac(salted, "Client Key", client_key) || hmac(salted, "Server Key", v->server_key))
		return -1;
	SHA256(client_key, sizeof client_key, v->stored_key);
	OPENSSL_cleanse(salted, sizeof salted);
	OPENSSL_cleanse(client_key, sizeof client_key);
	return 0;
}

int scram_verifier_make_up(
	struct scram_verifier *v, const char *user, const uint8_t secret[SCRAM_KEY_BYTES])
{
	uint8_t salt[SCRAM_KEY_BYTES];
	*v = (struct scram_verifier){
		.iterations = SCRAM_ITERATIONS, .salt_bytes = 16, .made_up = true
	};
	if (hmac(secret, user, salt) || RAND_bytes(v->stored_key, SCRAM_KEY_BYTES) != 1 ||
		RAND_bytes(v->server_key, SCRAM_KEY_BYTES) != 1)
		return -1;
	memcpy(v->salt, salt, v->salt_bytes);
	return 0;
}

int scram_verifier_format(const struct scram_verifier *v, char text[SCRAM_VERIFIER_MAX])
{
	char salt[4 * SCRAM_SALT_MAX / 3 + 5], stored[64], server[64];
	encode64(v->salt, v->salt_bytes, salt);
	encode64(v->stored_key, SCRAM_KEY_BYTES, stored);
	encode64(v->server_key, SCRAM_KEY_BYTES, server);
	int bytes = snprintf(text, SCRAM_VERIFIER_MAX, SCRAM_MECHANISM "$%u:%s$%s:%s",
		v->iterations, salt, stored, server);
	return bytes < SCRAM_VERIFIER_MAX ? 0 : -1;
}

int scram_verifier_parse(const char *text, struct scram_verifier *v)
{
	static const char prefix[] = SCRAM_MECHANISM "$";
	char *at;
	*v = (struct scram_verifier){ 0 };
	if (strncmp(text, prefix, sizeof prefix - 1) != 0)
		return -1;
	unsigned long iterations = strtoul(text + sizeof prefix - 1, &at, 10);
	if (*at != ':' || iterations == 0 || iterations > 10000000)
		return -1;
	const char *salt = at + 1, *stored = strchr(salt, '$');
	const char *server = stored ? strchr(stored, ':') : NULL;
	if (!server)
		return -1;
	int salt_bytes = decode64(salt, (size_t)(stored - salt), v->salt, SCRAM_SALT_MAX);
	stored++;
	int stored_bytes =
		decode64(stored, (size_t)(server - stored), v->stored_key, SCRAM_KEY_BYTES);
	server++;
	int server_bytes = decode64(server, strlen(server), v->server_key, SCRAM_KEY_BYTES);
	if (salt_bytes <= 0 || stored_bytes != SCRAM_KEY_BYTES || server_bytes != SCRAM_KEY_BYTES)
		return -1;
	v->iterations = (uint32_t)iterations;
	v->salt_bytes = (uint32_t)salt_bytes;
	return 0;
}

/* ---- The exchange ---------------------------------------------------------------------------- */

/* The attribute `name` of a comma-separated message; bytes of its value, or -1. */
static int attribute(const char *message, char name, const char **value)
{
	for (const char *at = message; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (at[0] != name || at[1] != '=')
			continue;
		*value = at + 2;
		return (int)strcspn(*value, ",");
	}
	return -1;
}

static int copy_message(char *to, const char *message, size_t bytes)
{
	if (bytes >= SCRAM_MESSAGE_MAX || memchr(message, 0, bytes))
		return -1;
	memcpy(to, message, bytes);
	to[bytes] = '\0';
	return 0;
}

static int random_nonce(char *text)
{
	uint8_t raw[NONCE_BYTES];
	if (RAND_bytes(raw, sizeof raw) != 1)
		return -1;
	encode64(raw, sizeof raw, text);
	return 0;
}

/* gs2 header: "n,," or "y,,"; a channel binding or an authorisation name is refused. */
static const char *skip_header(struct scram *scram, const char *message)
{
	scram->binding = message[0];
	if ((message[0] != 'n' && message[0] != 'y') || message[1] != ',' || message[2] != ',')
		return NULL;
	return message + 3;
}

int scram_first(struct scram *scram, const char *message, size_t bytes, const char *server_nonce)
{
	char text[SCRAM_MESSAGE_MAX], own[NONCE_BYTES * 2], salt[4 * SCRAM_SALT_MAX / 3 + 5];
	const char *client_nonce;
	if (copy_message(text, message, bytes))
		return -1;
	const char *bare = skip_header(scram, text);
	int nonce_bytes = bare ? attribute(bare, 'r', &client_nonce) : -1;
	if (nonce_bytes <= 0 || nonce_bytes > SCRAM_MESSAGE_MAX / 4)
		return -1;
	if (!server_nonce && random_nonce(own))
		return -1;
	snprintf(scram->client_first_bare, sizeof scram->client_first_bare, "%s", bare);
	snprintf(scram->nonce, sizeof scram->nonce, "%.*s%s", nonce_bytes, client_nonce,
		server_nonce ? server_nonce : own);
	encode64(scram->verifier.salt, scram->verifier.salt_bytes, salt);
	int written = snprintf(scram->server_first, sizeof scram->server_first, "r=%s,s=%s,i=%u",
		scram->nonce, salt, scram->verifier.iterations);
	return written < SCRAM_MESSAGE_MAX ? 0 : -1;
}

/* ClientKey = ClientProof XOR HMAC(StoredKey, AuthMessage); it must hash to StoredKey. */
static bool proof_holds(const struct scram *scram, const char *auth, const uint8_t *proof)
{
	uint8_t signature[SCRAM_KEY_BYTES], hash[SCRAM_KEY_BYTES];
	if (hmac(scram->verifier.stored_key, auth, signature))
		return false;
	for (size_t i = 0; i < SCRAM_KEY_BYTES; i++)
		signature[i] ^= proof[i];
	SHA256(signature, sizeof signature, hash);
	return CRYPTO_memcmp(hash, scram->verifier.stored_key, sizeof hash) == 0;
}

/* The final message must repeat our nonce and the header the client began with. */
static bool repeats(const struct scram *scram, const char *text)
{
	const char *nonce, *header;
	int nonce_bytes = attribute(text, 'r', &nonce),
	    header_bytes = attribute(text, 'c', &header);
	const char *expected = scram->binding == 'n' ? "biws" : "eSws"; /* "n,," and "y,," */
	return nonce_bytes == (int)strlen(scram->nonce) && header_bytes == 4 &&
	       memcmp(nonce, scram->nonce, (size_t)nonce_bytes) == 0 &&
	       memcmp(header, expected, 4) == 0;
}

int scram_final(
	struct scram *scram, const char *message, size_t bytes, char reply[SCRAM_MESSAGE_MAX])
{
	char text[SCRAM_MESSAGE_MAX], auth[3 * SCRAM_MESSAGE_MAX], signature64[64];
	uint8_t proof[SCRAM_KEY_BYTES], signature[SCRAM_KEY_BYTES];
	const char *proof64;
	if (copy_message(text, message, bytes) || !repeats(scram, text))
		return -1;
	int proof_bytes = attribute(text, 'p', &proof64);
	if (proof_bytes <= 0 ||
		decode64(proof64, (size_t)proof_bytes, proof, sizeof proof) != SCRAM_KEY_BYTES)
		return -1;
	snprintf(auth, sizeof auth, "%s,%s,%.*s", scram->client_first_bare, scram->server_first,
		(int)(proof64 - 3 - text), text);
	if (!proof_holds(scram, auth, proof) || scram->verifier.made_up ||
		hmac(scram->verifier.server_key, auth, signature))
		return -1;
	encode64(signature, sizeof signature, signature64);
	snprintf(reply, SCRAM_MESSAGE_MAX, "v=%s", signature64);
	return 0;
}
