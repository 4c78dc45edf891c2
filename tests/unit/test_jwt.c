/* test_jwt.c - tokens: each algorithm, each defect, moved clocks; files of keys. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <openssl/rsa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "jwt/jwt.h"
#include "jwt_sign.h"

#define NOW  1800000000ull
#define GOOD "\"sub\":\"alice\",\"iat\":1800000000,\"exp\":1800003600"

static EVP_PKEY *rsa, *p256, *ed;
static struct jwt_keys *keys;
static char jwks[8192];
static struct jwt_rules rules;
static struct jwt_claims claims;
static uint64_t now_s;
static char token[65536];
static char why[256], warned[4096];

static int make_keys(void **state)
{
    char a[3000], b[1000];

    (void)state;
    rsa = EVP_RSA_gen(2048);
    p256 = EVP_EC_gen("P-256");
    ed = jwt_sign_ed25519();
    jwt_sign_jwk(rsa, "r", a, sizeof(a));
    jwt_sign_jwk(p256, "p", b, sizeof(b));
    snprintf(jwks, sizeof(jwks), "{\"keys\":[%s,%s,%s]}", a, b, JWT_SIGN_JWK);
    return jwt_keys_create(rwf_text(jwks), NULL, NULL, why, sizeof(why), &keys);
}

static int free_keys(void **state)
{
    (void)state;
    jwt_keys_destroy(keys);
    EVP_PKEY_free(rsa);
    EVP_PKEY_free(p256);
    EVP_PKEY_free(ed);
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    now_s = NOW;
    rules = (struct jwt_rules){ .algorithms = JWT_RS256 | JWT_ES256 | JWT_EDDSA,
                                .user_claim = rwf_text("sub"),
                                .skew_s = 60,
                                .life_max_s = 86400 };
    return 0;
}

static enum jwt_verdict judge(const char *text)
{
    return jwt_check(keys, &rules, rwf_text(text), now_s, NULL, NULL, &claims);
}

static enum jwt_verdict signed_by(EVP_PKEY *key, const char *header, const char *body)
{
    jwt_sign(key, header, body, token);
    return judge(token);
}

/* The claims of a token of Ed25519. */
static enum jwt_verdict says(const char *body)
{
    return signed_by(ed, "{\"alg\":\"EdDSA\",\"kid\":\"ed\"}", body);
}

static void each_algorithm_is_taken(void **state)
{
    (void)state;
    assert_int_equal(signed_by(rsa, "{\"alg\":\"RS256\",\"kid\":\"r\"}", "{" GOOD "}"), JWT_GOOD);
    assert_string_equal(claims.user, "alice");
    assert_int_equal(claims.expires_s, NOW + 3660);
    assert_int_equal(signed_by(p256, "{\"alg\":\"ES256\",\"kid\":\"p\"}", "{" GOOD "}"), JWT_GOOD);
    assert_int_equal(signed_by(ed, "{\"alg\":\"EdDSA\",\"kid\":\"ed\"}", "{" GOOD "}"), JWT_GOOD);
    assert_int_equal(signed_by(p256, "{\"typ\":\"JWT\",\"alg\":\"ES256\"}", "{" GOOD "}"),
                     JWT_GOOD);
    assert_string_equal(claims.why, "");
}

static void an_algorithm_that_is_not_allowed_is_refused(void **state)
{
    (void)state;
    rules.algorithms = JWT_ES256;
    assert_int_equal(says("{" GOOD "}"), JWT_SIGNATURE);
    assert_string_equal(claims.why, "algorithm EdDSA");
}

/* The oldest attack: the public key as the secret of both sides. */
static void no_algorithm_is_no_secret(void **state)
{
    static const char *const names[] = { "none",  "None",  "HS256", "HS512",
                                         "RS512", "ES384", "eddsa", "" };
    char header[64];

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(header, sizeof(header), "{\"alg\":\"%s\"}", names[i]);
        assert_int_equal(signed_by(ed, header, "{" GOOD "}"), JWT_SIGNATURE);
    }
    assert_int_equal(signed_by(ed, "{\"kid\":\"ed\"}", "{" GOOD "}"), JWT_MALFORMED);
    assert_int_equal(signed_by(ed, "{\"alg\":7}", "{" GOOD "}"), JWT_MALFORMED);
}

static void a_key_is_used_for_its_own_algorithm_only(void **state)
{
    (void)state;
    assert_int_equal(signed_by(ed, "{\"alg\":\"EdDSA\",\"kid\":\"r\"}", "{" GOOD "}"), JWT_KEY);
    assert_string_equal(claims.why, "key id \"r\" unknown");
    assert_int_equal(signed_by(rsa, "{\"alg\":\"ES256\",\"kid\":\"p\"}", "{" GOOD "}"),
                     JWT_SIGNATURE);
    assert_int_equal(signed_by(p256, "{\"alg\":\"RS256\",\"kid\":\"r\"}", "{" GOOD "}"),
                     JWT_SIGNATURE);
    assert_int_equal(signed_by(ed, "{\"alg\":\"EdDSA\",\"kid\":\"k9\"}", "{" GOOD "}"), JWT_KEY);
}

static void a_changed_bit_is_seen(void **state)
{
    (void)state;
    jwt_sign(ed, "{\"alg\":\"EdDSA\"}", "{" GOOD "}", token);
    size_t length = strlen(token);
    assert_int_equal(judge(token), JWT_GOOD);
    for (size_t i = 0; i < length; i++) {
        char was = token[i];
        token[i] = was == 'A' ? 'B' : 'A';
        assert_int_not_equal(judge(token), JWT_GOOD);
        assert_string_equal(claims.user, "");
        token[i] = was;
    }
    for (size_t i = 0; i < length; i++) {
        assert_int_not_equal(
            jwt_check(keys, &rules, rwf_bytes(token, i), now_s, NULL, NULL, &claims), JWT_GOOD);
    }
}

static void the_form_is_strict(void **state)
{
    char longer[70000];

    (void)state;
    jwt_sign(p256, "{\"alg\":\"ES256\"}", "{" GOOD "}", token);
    snprintf(longer, sizeof(longer), "%s=", token);
    assert_int_equal(judge(longer), JWT_MALFORMED); /* padding */
    snprintf(longer, sizeof(longer), "%s.", token);
    assert_int_equal(judge(longer), JWT_MALFORMED); /* a fourth part */
    snprintf(longer, sizeof(longer), "%sAAAA", token);
    assert_int_equal(judge(longer), JWT_SIGNATURE); /* 67 bytes */
    assert_int_equal(judge(""), JWT_MALFORMED);
    assert_int_equal(judge(".."), JWT_MALFORMED);
    assert_int_equal(judge("eyJ.eyJ."), JWT_MALFORMED);
    memset(longer, 'a', JWT_TOKEN_MAX + 1);
    longer[JWT_TOKEN_MAX + 1] = 0;
    assert_int_equal(judge(longer), JWT_MALFORMED);
    assert_int_equal(signed_by(ed, "{\"alg\":\"EdDSA\",\"crit\":[\"b64\"]}", "{" GOOD "}"),
                     JWT_MALFORMED);
    assert_int_equal(signed_by(ed, "{\"alg\":\"none\",\"alg\":\"EdDSA\"}", "{" GOOD "}"),
                     JWT_MALFORMED);
    assert_int_equal(signed_by(ed, "[\"EdDSA\"]", "{" GOOD "}"), JWT_MALFORMED);
}

/* A signature in DER is the right one, written in another way. */
static void a_signature_in_der_is_refused(void **state)
{
    unsigned char der[100];
    size_t length = sizeof(der);
    EVP_MD_CTX *context = EVP_MD_CTX_new();

    (void)state;
    jwt_sign(p256, "{\"alg\":\"ES256\"}", "{" GOOD "}", token);
    size_t text = (size_t)(strrchr(token, '.') - token);
    EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, p256);
    EVP_DigestSign(context, der, &length, (unsigned char *)token, text);
    EVP_MD_CTX_free(context);
    jwt_sign_base64url(der, length, token + text + 1);
    assert_int_equal(judge(token), JWT_SIGNATURE);
}

static void a_good_one_says_when_it_was_issued_and_which_it_is(void **state)
{
    char text[400], id[200];

    (void)state;
    assert_int_equal(says("{" GOOD ",\"jti\":\"t-\\u0031\"}"), JWT_GOOD);
    assert_int_equal(claims.issued_s, 1800000000);
    assert_string_equal(claims.id, "t-1");
    assert_int_equal(says("{\"sub\":\"a\",\"exp\":1800003600,\"jti\":7}"), JWT_GOOD);
    assert_int_equal(claims.issued_s, 0);
    assert_string_equal(claims.id, "");
    memset(id, 'x', sizeof(id));
    for (int length = JWT_ID_MAX; length <= JWT_ID_MAX + 1; length++) {
        snprintf(text, sizeof(text), "{" GOOD ",\"jti\":\"%.*s\"}", length, id);
        assert_int_equal(says(text), JWT_GOOD);
        assert_int_equal(strlen(claims.id), length == JWT_ID_MAX ? JWT_ID_MAX : 0);
    }
}

static void claims_are_strict(void **state)
{
    static const char *const bodies[] = {
        "{}",
        "[]",
        "{\"sub\":\"alice\"}",
        "{\"sub\":\"alice\",\"exp\":\"1800003600\"}",
        "{\"sub\":\"alice\",\"exp\":-1}",
        "{\"sub\":\"alice\",\"exp\":1e12}",
        "{\"sub\":\"alice\",\"exp\":99999999999999999999}",
        "{" GOOD ",\"exp\":1800003601}",
        "{" GOOD ",\"s\\u0075b\":\"root\"}",
        "{" GOOD ",\"nbf\":\"now\"}",
        "{" GOOD ",\"a\":[[[[[[[[1]]]]]]]]}",
        "{" GOOD "} {}",
        "{\"exp\":1800003600}",
        "{\"exp\":1800003600,\"sub\":\"\"}",
        "{\"exp\":1800003600,\"sub\":7}",
        "{\"exp\":1800003600,\"sub\":[\"alice\"]}",
        "{\"exp\":1800003600,\"sub\":\"a\\u0000b\"}",
        "{\"exp\":1800003600,\"sub\":\"a\\nb\"}",
        "{\"exp\":1800003600,\"sub\":\"\xff\"}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        assert_int_equal(says(bodies[i]), JWT_MALFORMED);
        assert_string_equal(claims.user, "");
    }
    assert_int_equal(says("{\"exp\":1800003600.75,\"sub\":\"a\\/\\u00e9\"}"), JWT_GOOD);
    assert_string_equal(claims.user, "a/\xc3\xa9");
}

static void a_name_has_127_bytes_at_most(void **state)
{
    char body[400], name[129];

    (void)state;
    for (int length = 127; length <= 128; length++) {
        memset(name, 'n', (size_t)length);
        name[length] = 0;
        snprintf(body, sizeof(body), "{\"exp\":1800003600,\"sub\":\"%s\"}", name);
        assert_int_equal(says(body), length == 127 ? JWT_GOOD : JWT_MALFORMED);
    }
}

/* Each edge of a token's life, with the skew. */
static void the_clock_decides(void **state)
{
    static const struct {
        int64_t now;
        enum jwt_verdict verdict;
    } times[] = { { -61, JWT_TOO_EARLY }, { -60, JWT_GOOD },      { 0, JWT_GOOD },
                  { 3600, JWT_GOOD },     { 3659, JWT_GOOD },     { 3660, JWT_EXPIRED },
                  { 3661, JWT_EXPIRED },  { 999999, JWT_EXPIRED } };

    (void)state;
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        now_s = NOW + (uint64_t)times[i].now;
        assert_int_equal(says("{" GOOD ",\"nbf\":1800000000}"), times[i].verdict);
    }
    now_s = NOW + 3672;
    assert_int_equal(says("{" GOOD "}"), JWT_EXPIRED);
    assert_string_equal(claims.why, "expired 72 s ago (skew 60 s)");
    now_s = NOW;
    assert_int_equal(says("{" GOOD ",\"nbf\":1800000061}"), JWT_TOO_EARLY);
    assert_string_equal(claims.why, "it begins in 61 s (skew 60 s)");
}

static void a_life_has_an_end(void **state)
{
    (void)state;
    assert_int_equal(says("{\"sub\":\"a\",\"exp\":1800086400}"), JWT_GOOD);
    assert_int_equal(says("{\"sub\":\"a\",\"exp\":1800086401}"), JWT_EXPIRED);
    assert_string_equal(claims.why, "it lives 86401 s, 86400 s are allowed");
    assert_int_equal(says("{\"sub\":\"a\",\"iat\":1799999000,\"exp\":1800086000}"), JWT_EXPIRED);
    assert_int_equal(says("{\"sub\":\"a\",\"exp\":999999999999999}"), JWT_EXPIRED);
}

static void issuer_audience_and_scope_must_fit(void **state)
{
    (void)state;
    rules.issuer = rwf_text("https://login.firm.example/");
    rules.audience = rwf_text("rmds");
    rules.scope = rwf_text("data");
#define ISS "\"iss\":\"https:\\/\\/login.firm.example/\""
    assert_int_equal(says("{" GOOD "," ISS ",\"aud\":\"rmds\",\"scope\":\"data\"}"), JWT_GOOD);
    assert_int_equal(says("{" GOOD "," ISS ",\"aud\":[\"x\",\"rmds\"],\"scope\":\"x data y\"}"),
                     JWT_GOOD);
    assert_int_equal(says("{" GOOD "," ISS ",\"aud\":\"rmds\",\"scope\":[\"data\"]}"), JWT_GOOD);
    assert_int_equal(says("{" GOOD ",\"aud\":\"rmds\",\"scope\":\"data\"}"), JWT_AUDIENCE);
    assert_int_equal(says("{" GOOD ",\"iss\":\"evil\",\"aud\":\"rmds\",\"scope\":\"data\"}"),
                     JWT_AUDIENCE);
    assert_string_equal(claims.why, "issuer \"evil\", wanted \"https://login.firm.example/\"");
    assert_int_equal(says("{" GOOD "," ISS ",\"aud\":\"x\",\"scope\":\"data\"}"), JWT_AUDIENCE);
    assert_string_equal(claims.why, "audience \"x\", wanted \"rmds\"");
    assert_int_equal(says("{" GOOD "," ISS ",\"aud\":[\"rm\",\"ds\"],\"scope\":\"data\"}"),
                     JWT_AUDIENCE);
    assert_int_equal(says("{" GOOD "," ISS ",\"scope\":\"data\"}"), JWT_AUDIENCE);
    assert_int_equal(says("{" GOOD "," ISS ",\"aud\":\"rmds\"}"), JWT_SCOPE);
    assert_int_equal(says("{" GOOD "," ISS ",\"aud\":\"rmds\",\"scope\":\"database\"}"), JWT_SCOPE);
}

/* Its text reaches the consumer, and a log. */
static void a_refusal_quotes_no_control_bytes(void **state)
{
    (void)state;
    rules.audience = rwf_text("rmds");
    assert_int_equal(says("{" GOOD ",\"aud\":\"a\\u001b[2J\\nb\"}"), JWT_AUDIENCE);
    assert_string_equal(claims.why, "audience \"a?[2J?b\", wanted \"rmds\"");
    assert_int_equal(signed_by(ed, "{\"alg\":\"\\r\\n\"}", "{" GOOD "}"), JWT_SIGNATURE);
    assert_string_equal(claims.why, "algorithm ??");
}

struct told {
    char text[256];
};

static void tell(void *self, struct rwf_bytes name, struct rwf_bytes value)
{
    struct told *told = self;
    size_t used = strlen(told->text);

    snprintf(told->text + used, sizeof(told->text) - used, "%.*s=%.*s ", (int)name.length,
             (const char *)name.data, (int)value.length, (const char *)value.data);
}

static void texts_of_a_good_token_are_told(void **state)
{
    struct told told = { "" };

    (void)state;
    jwt_sign(ed, "{\"alg\":\"EdDSA\"}",
             "{" GOOD ",\"groups\":[\"rates\",7,\"fx\"],\"scope\":\"a b\",\"o\":{\"x\":\"y\"}}",
             token);
    assert_int_equal(jwt_check(keys, &rules, rwf_text(token), now_s, tell, &told, &claims),
                     JWT_GOOD);
    assert_string_equal(told.text, "sub=alice groups=rates groups=fx scope=a scope=b ");
    told.text[0] = 0;
    now_s += 9999;
    assert_int_equal(jwt_check(keys, &rules, rwf_text(token), now_s, tell, &told, &claims),
                     JWT_EXPIRED);
    assert_string_equal(told.text, "");
}

static void claims_that_nobody_has_signed_are_told_to_a_tool(void **state)
{
    static const char *const odd[] = { "", "{", "[]", "{\"a\":\"x\",\"a\":\"y\"}",
                                       "{\"a\":\"x\\u0000y\"}" };
    struct told told = { "" };

    (void)state;
    assert_true(jwt_claims_tell(rwf_text("{\"groups\":[\"rates\",7,\"fx\"],\"scope\":\"a b\"}"),
                                tell, &told));
    assert_string_equal(told.text, "groups=rates groups=fx scope=a scope=b ");
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        assert_false(jwt_claims_tell(rwf_text(odd[i]), tell, &told));
}

static void an_opaque_token_is_none(void **state)
{
    (void)state;
    assert_true(jwt_is_like(rwf_text("eyJhbGciOiJub25lIn0.e30.")));
    assert_true(jwt_is_like(rwf_text("eyJh.b.c")));
    assert_false(jwt_is_like(rwf_text("5f1e7c")));
    assert_false(jwt_is_like(rwf_text("eyJh.b")));
    assert_false(jwt_is_like(rwf_text("eyJh.b.c.d.e")));
    assert_false(jwt_is_like(rwf_text("")));
}

/* ---- files of keys ---- */

/* Whoever has checked it: its signature is of no account here. */
static void what_a_token_says_can_be_read_to_refuse_it(void **state)
{
    static const struct {
        const char *claims;
        bool is_read;
        uint64_t issued_s;
        const char *id;
    } cases[] = {
        { "{\"iat\":1800000000,\"jti\":\"t-1\"}", true, 1800000000, "t-1" },
        { "{\"iat\":1800000000.9,\"sub\":\"x\"}", true, 1800000000, "" },
        { "{}", true, 0, "" },
        { "{\"iat\":\"1800000000\"}", false, 0, "" },
        { "{\"iat\":-1}", false, 0, "" },
        { "{\"iat\":1,\"iat\":2}", false, 0, "" },
        { "{\"jti\":\"a\",\"jti\":\"b\"}", false, 0, "" },
        { "{\"jt\\u0069\":\"a\"}", false, 0, "" },
        { "{\"jti\":7}", false, 0, "" },
        { "{\"jti\":\"a\\u0000b\"}", false, 0, "" },
        { "[1]", false, 0, "" },
        { "{\"iat\":1", false, 0, "" },
    };
    struct jwt_claims said;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t used = (size_t)sprintf(token, "eyJhbGciOiJub25lIn0.");
        used += jwt_sign_base64url(cases[i].claims, strlen(cases[i].claims), token + used);
        used += (size_t)sprintf(token + used, ".AAAA");
        assert_int_equal(jwt_peek(rwf_bytes((uint8_t *)token, used), &said), cases[i].is_read);
        if (!cases[i].is_read)
            continue;
        assert_int_equal(said.issued_s, cases[i].issued_s);
        assert_string_equal(said.id, cases[i].id);
        assert_string_equal(said.user, "");
    }
    assert_false(jwt_peek(rwf_text("opaque"), &said));
    assert_false(jwt_peek(rwf_text("eyJ.a.b.c.d"), &said));
}

static void warn(void *self, const char *text)
{
    (void)self;
    snprintf(warned + strlen(warned), sizeof(warned) - strlen(warned), "%s\n", text);
}

static int read_keys(const char *text, unsigned *count)
{
    struct jwt_keys *made;
    int err;

    warned[0] = why[0] = 0;
    err = jwt_keys_create(rwf_text(text), warn, NULL, why, sizeof(why), &made);
    *count = err == MD_OK ? jwt_keys_count(made) : 0;
    if (err == MD_OK)
        jwt_keys_destroy(made);
    return err;
}

static void keys_that_are_of_no_use_are_passed_over(void **state)
{
    static const char *const useless[] = {
        "7",
        "{}",
        "{\"kty\":\"oct\",\"k\":\"AAAA\"}",
        "{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}",
        "{\"kty\":\"RSA\",\"e\":\"AQAB\"}",
        "{\"kty\":\"EC\",\"crv\":\"P-384\",\"x\":\"AAAA\",\"y\":\"AAAA\"}",
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\","
        "\"y\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\"}",
        "{\"kty\":\"OKP\",\"crv\":\"X25519\",\"x\":\"11qYAYKxCrfVS_"
        "7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}",
        "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"11qY\"}",
        "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"use\":\"enc\","
        "\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}",
        "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"alg\":\"RS256\","
        "\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}",
        "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"d\":\"" JWT_SIGN_SEED "\","
        "\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}",
        "{\"kty\":\"OKP\",\"kty\":\"OKP\",\"crv\":\"Ed25519\","
        "\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}",
    };
    char text[2000];
    unsigned count;

    (void)state;
    for (size_t i = 0; i < sizeof(useless) / sizeof(useless[0]); i++) {
        snprintf(text, sizeof(text), "{\"keys\":[%s,%s]}", useless[i], JWT_SIGN_JWK);
        assert_int_equal(read_keys(text, &count), MD_OK);
        assert_int_equal(count, 1);
        assert_int_equal(strncmp(warned, "key 1 is passed over: ", 22), 0);
    }
}

static void a_file_without_a_key_is_refused(void **state)
{
    static const char *const files[] = { "",
                                         "{}",
                                         "[]",
                                         "{\"keys\":{}}",
                                         "{\"keys\":[]}",
                                         "{\"keys\":[7]}",
                                         "{\"keys\":[],\"keys\":[]}" };
    unsigned count;

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        assert_int_equal(read_keys(files[i], &count), MD_ERR_MALFORMED);
        assert_true(why[0] != 0);
    }
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_algorithm_is_taken),
        TEST(an_algorithm_that_is_not_allowed_is_refused),
        TEST(no_algorithm_is_no_secret),
        TEST(a_key_is_used_for_its_own_algorithm_only),
        TEST(a_changed_bit_is_seen),
        TEST(the_form_is_strict),
        TEST(a_signature_in_der_is_refused),
        TEST(a_good_one_says_when_it_was_issued_and_which_it_is),
        TEST(claims_are_strict),
        TEST(a_name_has_127_bytes_at_most),
        TEST(the_clock_decides),
        TEST(a_life_has_an_end),
        TEST(issuer_audience_and_scope_must_fit),
        TEST(a_refusal_quotes_no_control_bytes),
        TEST(texts_of_a_good_token_are_told),
        TEST(claims_that_nobody_has_signed_are_told_to_a_tool),
        TEST(an_opaque_token_is_none),
        TEST(what_a_token_says_can_be_read_to_refuse_it),
        TEST(keys_that_are_of_no_use_are_passed_over),
        TEST(a_file_without_a_key_is_refused),
    };

    return cmocka_run_group_tests(tests, make_keys, free_keys);
}
