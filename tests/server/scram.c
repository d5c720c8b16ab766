/* SPDX-License-Identifier: Apache-2.0 */
/* The exchange of RFC 7677 to the letter, and what an attacker would try. */
#include "demo-db/server/net/scram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define SERVER_NONCE  "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
#define FIRST	      "n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
#define WITHOUT_PROOF "c=biws,r=rOprNGfwEbeRWgbNEkqO" SERVER_NONCE ",p="
#define PROOF	      "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="

static const uint8_t salt[16] = { 0x5b, 0x6d, 0x99, 0x68, 0x9d, 0x12, 0x35, 0x8e, 0xec, 0xa0, 0x4b,
	0x14, 0x12, 0x36, 0xfa, 0x81 };

static struct scram begun(const char *password)
{
	struct scram s = { 0 };
	assert_int_equal(scram_verifier_derive(&s.verifier, password, salt, sizeof salt, 4096), 0);
	assert_int_equal(scram_first(&s, FIRST, strlen(FIRST), SERVER_NONCE), 0);
	return s;
}

static void the_exchange_of_the_standard_succeeds(void **state)
{
	(void)state;
	char reply[SCRAM_MESSAGE_MAX];
	struct scram s = begun("pencil");
	assert_string_equal(s.server_first,
		"r=rOprNGfwEbeRWgbNEkqO" SERVER_NONCE ",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096");
	assert_int_equal(
		scram_final(&s, WITHOUT_PROOF PROOF, strlen(WITHOUT_PROOF PROOF), reply), 0);
	assert_string_equal(reply, "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
}

static void another_password_fails(void **state)
{
	(void)state;
	char reply[SCRAM_MESSAGE_MAX];
	struct scram s = begun("pencils");
	assert_int_equal(
		scram_final(&s, WITHOUT_PROOF PROOF, strlen(WITHOUT_PROOF PROOF), reply), -1);
}

static void a_replayed_nonce_fails(void **state)
{
	(void)state;
	char reply[SCRAM_MESSAGE_MAX];
	struct scram s = { 0 };
	assert_int_equal(scram_verifier_derive(&s.verifier, "pencil", salt, sizeof salt, 4096), 0);
	assert_int_equal(scram_first(&s, FIRST, strlen(FIRST), NULL), 0);
	assert_int_equal(
		scram_final(&s, WITHOUT_PROOF PROOF, strlen(WITHOUT_PROOF PROOF), reply), -1);
}

static void a_verifier_survives_its_text_form(void **state)
{
	(void)state;
	char text[SCRAM_VERIFIER_MAX];
	struct scram_verifier made, read;
	assert_int_equal(scram_verifier_derive(&made, "secret", NULL, 0, 4096), 0);
	assert_int_equal(scram_verifier_format(&made, text), 0);
	assert_int_equal(scram_verifier_parse(text, &read), 0);
	assert_int_equal(made.iterations, read.iterations);
	assert_memory_equal(made.salt, read.salt, sizeof made.salt);
	assert_memory_equal(made.stored_key, read.stored_key, sizeof made.stored_key);
	assert_memory_equal(made.server_key, read.server_key, sizeof made.server_key);
	assert_int_equal(scram_verifier_parse("md5abc", &read), -1);
	assert_int_equal(scram_verifier_parse("SCRAM-SHA-256$0:AAAA$A:A", &read), -1);
	text[strlen(text) - 5] = '\0';
	assert_int_equal(scram_verifier_parse(text, &read), -1);
}

static void an_unknown_user_looks_like_a_known_one_and_fails(void **state)
{
	(void)state;
	static const uint8_t secret[SCRAM_KEY_BYTES] = { 1, 2, 3 };
	struct scram_verifier one, again, other;
	assert_int_equal(scram_verifier_make_up(&one, "nobody", secret), 0);
	assert_int_equal(scram_verifier_make_up(&again, "nobody", secret), 0);
	assert_int_equal(scram_verifier_make_up(&other, "nobody2", secret), 0);
	assert_memory_equal(one.salt, again.salt, one.salt_bytes);
	assert_memory_not_equal(one.salt, other.salt, one.salt_bytes);
}

static void malformed_messages_are_refused(void **state)
{
	(void)state;
	static const char *const firsts[] = { "", "n", "n,,", "n,,n=user", "p=tls-unique,,n=,r=a",
		"n,a=admin,n=,r=a", "n,,n=user,r=" };
	static const char *const finals[] = { "", "c=biws", WITHOUT_PROOF, WITHOUT_PROOF "AAAA",
		WITHOUT_PROOF "!!!!", "c=eSws,r=rOprNGfwEbeRWgbNEkqO" SERVER_NONCE ",p=" PROOF };
	char reply[SCRAM_MESSAGE_MAX];
	for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
		struct scram s = begun("pencil");
		assert_int_equal(scram_first(&s, firsts[i], strlen(firsts[i]), NULL), -1);
	}
	for (size_t i = 0; i < sizeof finals / sizeof *finals; i++) {
		struct scram s = begun("pencil");
		assert_int_equal(scram_final(&s, finals[i], strlen(finals[i]), reply), -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_exchange_of_the_standard_succeeds),
		cmocka_unit_test(another_password_fails),
		cmocka_unit_test(a_replayed_nonce_fails),
		cmocka_unit_test(a_verifier_survives_its_text_form),
		cmocka_unit_test(an_unknown_user_looks_like_a_known_one_and_fails),
		cmocka_unit_test(malformed_messages_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
