/* test_seal.c - AES-GCM of packets against vectors and a second implementation. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>

#include "base/writer.h"
#include "seal/seal.h"

/* By Python's `cryptography`: HKDF-SHA256 and AESGCM as docs/design/rrcp.md, section 12, says.
 * Key 00 01 .. 1f with id 7, network id 0x99bfe84b, session 0x0123456789abcdef, counter
 * 0x123456789a, packet 00 01 .. 3f of which 24 bytes are clear. */
static const uint8_t vector_128_bytes[40] = {
    0x49, 0xfa, 0x10, 0x4d, 0x27, 0xbf, 0x22, 0xc9, 0x3c, 0xf0, 0x1c, 0xeb, 0x42, 0xcb,
    0x18, 0x51, 0x14, 0x4d, 0x50, 0x07, 0x1b, 0x4f, 0x2c, 0x63, 0x11, 0x70, 0x70, 0xc0,
    0xde, 0xa2, 0x49, 0x9c, 0x48, 0xe3, 0xb6, 0xc6, 0x8a, 0x1c, 0x9e, 0xda,
};

static const uint8_t vector_128_tag[16] = {
    0xe2, 0x4f, 0x62, 0x08, 0x4a, 0x0f, 0xb5, 0x6e, 0x7a, 0x67, 0xbf, 0x47, 0x6f, 0x02, 0x6f, 0xaf,
};

static const uint8_t vector_128_auth_tag[16] = {
    0x5f, 0x7b, 0x8d, 0xf9, 0x69, 0x6c, 0x4b, 0x14, 0x41, 0xf4, 0xfc, 0x5e, 0x1a, 0xe4, 0xfe, 0x97,
};

static const uint8_t vector_256_bytes[40] = {
    0x4d, 0x93, 0x1c, 0x80, 0xea, 0xc3, 0x9f, 0xb1, 0xd4, 0x66, 0x0f, 0xa5, 0xd6, 0x5b,
    0xd5, 0xd7, 0xc0, 0x17, 0xdc, 0x59, 0x77, 0xb6, 0x28, 0x00, 0xb8, 0x5e, 0x14, 0x1c,
    0x6b, 0xb3, 0x5c, 0x93, 0x83, 0x2a, 0x25, 0x35, 0x4f, 0x79, 0x14, 0xee,
};

static const uint8_t vector_256_tag[16] = {
    0xc9, 0xd3, 0x88, 0xd7, 0xd1, 0xd5, 0x41, 0xc7, 0xcb, 0x65, 0x6b, 0x80, 0x47, 0xc3, 0xe0, 0x2f,
};

static const uint8_t vector_256_auth_tag[16] = {
    0x8c, 0xe4, 0xf7, 0x02, 0x62, 0x63, 0xed, 0xc1, 0x4b, 0x1e, 0x7c, 0xb5, 0xa2, 0x15, 0x74, 0x39,
};

#define LENGTH 64
#define CLEAR  24

static const uint64_t counter = 0x123456789aull;

static struct rrcp_key key;
static uint8_t packet[LENGTH];
static struct rrcp_seal seal;

static struct rrcp_seal_id identity(enum rrcp_cipher cipher, bool is_sender)
{
    return (struct rrcp_seal_id){ .key = &key,
                                  .session = 0x0123456789abcdefull,
                                  .network_id = 0x99bfe84b,
                                  .cipher = cipher,
                                  .is_sender = is_sender };
}

static void *state_of(enum rrcp_cipher cipher, bool is_sender)
{
    struct rrcp_seal_id id = identity(cipher, is_sender);
    void *state = seal.begin(seal.context, NULL, &id);

    assert_non_null(state);
    return state;
}

/* The cipher of the group of tests that runs. */
static int open_by(enum seal_library library)
{
    key.id = 7;
    for (int i = 0; i < 32; i++)
        key.bytes[i] = (uint8_t)i;
    for (int i = 0; i < LENGTH; i++)
        packet[i] = (uint8_t)i;
    return seal_open_by(library, &seal);
}

static int setup_openssl(void **state)
{
    (void)state;
    return open_by(SEAL_OPENSSL);
}

static int setup_multibuffer(void **state)
{
    (void)state;
    return open_by(SEAL_MULTIBUFFER);
}

static int teardown(void **state)
{
    (void)state;
    seal_close(&seal);
    return 0;
}

static void seals_as(enum rrcp_cipher cipher, uint32_t clear, const uint8_t *bytes,
                     const uint8_t *tag)
{
    void *sender = state_of(cipher, true);
    uint8_t out[LENGTH];
    uint8_t made[RRCP_TAG_BYTES];

    seal.seal(sender, counter, out, packet, clear, LENGTH, made);
    assert_memory_equal(out, packet, clear);
    if (clear < LENGTH)
        assert_memory_equal(out + clear, bytes, LENGTH - clear);
    assert_memory_equal(made, tag, RRCP_TAG_BYTES);
    seal.end(seal.context, sender);
}

static void packets_are_sealed_as_another_implementation_does(void **state)
{
    (void)state;
    seals_as(RRCP_CIPHER_AES_128_GCM, CLEAR, vector_128_bytes, vector_128_tag);
    seals_as(RRCP_CIPHER_AES_128_GCM, LENGTH, NULL, vector_128_auth_tag);
    seals_as(RRCP_CIPHER_AES_256_GCM, CLEAR, vector_256_bytes, vector_256_tag);
    seals_as(RRCP_CIPHER_AES_256_GCM, LENGTH, NULL, vector_256_auth_tag);
}

static void a_sealed_packet_opens_and_one_with_any_bit_flipped_does_not(void **state)
{
    void *sender = state_of(RRCP_CIPHER_AES_128_GCM, true);
    void *receiver = state_of(RRCP_CIPHER_AES_128_GCM, false);
    uint8_t wire[LENGTH + RRCP_TAG_BYTES];
    uint8_t out[LENGTH];

    (void)state;
    seal.seal(sender, counter, wire, packet, CLEAR, LENGTH, wire + LENGTH);
    for (size_t bit = 0; bit < 8 * sizeof(wire); bit++) {
        wire[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(seal.open(receiver, counter, out, wire, CLEAR, LENGTH, wire + LENGTH));
        wire[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_false(seal.open(receiver, counter + 1, out, wire, CLEAR, LENGTH, wire + LENGTH));
    assert_false(seal.open(receiver, counter, out, wire, CLEAR + 1, LENGTH, wire + LENGTH));
    assert_true(seal.open(receiver, counter, out, wire, CLEAR, LENGTH, wire + LENGTH));
    assert_memory_equal(out, packet, LENGTH);
    seal.end(seal.context, sender);
    seal.end(seal.context, receiver);
}

static void another_session_network_key_or_cipher_has_another_key(void **state)
{
    struct rrcp_key other = key;
    void *sender = state_of(RRCP_CIPHER_AES_128_GCM, true);
    uint8_t wire[LENGTH + RRCP_TAG_BYTES];
    uint8_t out[LENGTH];
    void *receiver = NULL;

    (void)state;
    other.id = 8;
    seal.seal(sender, counter, wire, packet, CLEAR, LENGTH, wire + LENGTH);
    for (int i = 0; i < 5; i++) {
        struct rrcp_seal_id id = identity(RRCP_CIPHER_AES_128_GCM, false);

        id.session += i == 1;
        id.network_id += i == 2;
        id.key = i == 3 ? &other : &key;
        id.cipher = i == 4 ? RRCP_CIPHER_AES_256_GCM : RRCP_CIPHER_AES_128_GCM;
        receiver = seal.begin(seal.context, receiver, &id); /* one state, used again and again */
        assert_non_null(receiver);
        assert_int_equal(seal.open(receiver, counter, out, wire, CLEAR, LENGTH, wire + LENGTH),
                         i == 0);
    }
    seal.end(seal.context, sender);
    seal.end(seal.context, receiver);
}

/* ---- OpenSSL's AES-GCM -------------------------------------------------------------------- */

#define LONGEST 9000

static void derive(uint8_t *out, size_t length)
{
    static const uint8_t salt[8] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef };
    uint8_t info[11] = { 'r', 'r', 'c', 'p', '1', 0x99, 0xbf, 0xe8, 0x4b, 7 };
    EVP_PKEY_CTX *hkdf = EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, NULL);

    info[10] = length == 32 ? RRCP_CIPHER_AES_256_GCM : RRCP_CIPHER_AES_128_GCM;
    assert_int_equal(EVP_PKEY_derive_init(hkdf), 1);
    assert_int_equal(EVP_PKEY_CTX_set_hkdf_md(hkdf, EVP_sha256()), 1);
    assert_int_equal(EVP_PKEY_CTX_set1_hkdf_salt(hkdf, salt, sizeof(salt)), 1);
    assert_int_equal(EVP_PKEY_CTX_set1_hkdf_key(hkdf, key.bytes, sizeof(key.bytes)), 1);
    assert_int_equal(EVP_PKEY_CTX_add1_hkdf_info(hkdf, info, sizeof(info)), 1);
    assert_int_equal(EVP_PKEY_derive(hkdf, out, &length), 1);
    EVP_PKEY_CTX_free(hkdf);
}

static void seal_by_evp(EVP_CIPHER_CTX *gcm, uint64_t at, uint8_t *to, const uint8_t *from,
                        int clear, int length, uint8_t *tag)
{
    uint8_t nonce[12] = { 0 };
    int count;

    md_put_be64(nonce + 4, at);
    assert_int_equal(EVP_EncryptInit_ex(gcm, NULL, NULL, NULL, nonce), 1);
    assert_int_equal(EVP_EncryptUpdate(gcm, NULL, &count, from, clear), 1);
    memcpy(to, from, (size_t)clear);
    if (clear < length)
        assert_int_equal(EVP_EncryptUpdate(gcm, to + clear, &count, from + clear, length - clear),
                         1);
    assert_int_equal(EVP_EncryptFinal_ex(gcm, to + length, &count), 1);
    assert_int_equal(EVP_CIPHER_CTX_ctrl(gcm, EVP_CTRL_AEAD_GET_TAG, RRCP_TAG_BYTES, tag), 1);
}

/* In place or not; counters that follow each other, leave some out, go back and come twice. */
static void lengths_agree(enum rrcp_cipher cipher, const EVP_CIPHER *evp, size_t key_bytes)
{
    static uint8_t from[LONGEST], expected[LONGEST], out[LONGEST];
    EVP_CIPHER_CTX *gcm = EVP_CIPHER_CTX_new();
    void *sender = state_of(cipher, true);
    void *receiver = state_of(cipher, false);
    uint8_t tag[RRCP_TAG_BYTES], made[RRCP_TAG_BYTES];
    uint8_t session_key[32];
    uint64_t at = counter;

    derive(session_key, key_bytes);
    assert_int_equal(EVP_EncryptInit_ex(gcm, evp, NULL, session_key, NULL), 1);
    for (int i = 0; i < LONGEST; i++)
        from[i] = (uint8_t)(i * 7 + i / 256);
    for (int length = 24; length <= LONGEST; length += length < 200 ? 1 : length < 3200 ? 37 : 725)
        for (int clear = 24; clear <= 48; clear += 8) {
            int end = clear == 48 || clear > length ? length : clear;

            at += length % 7 == 3 ? 100 : length % 7 == 5 ? -90ull : (uint64_t)(clear % 16 == 0);
            seal_by_evp(gcm, at, expected, from, end, length, tag);
            seal.seal(sender, at, out, from, (uint32_t)end, (uint32_t)length, made);
            assert_memory_equal(out, expected, (size_t)length);
            assert_memory_equal(made, tag, RRCP_TAG_BYTES);
            memcpy(out, from, (size_t)length);
            seal.seal(sender, at, out, out, (uint32_t)end, (uint32_t)length, made);
            assert_memory_equal(out, expected, (size_t)length);
            assert_true(seal.open(receiver, at, end < length ? out : NULL, expected, (uint32_t)end,
                                  (uint32_t)length, tag));
            if (end < length)
                assert_memory_equal(out, from, (size_t)length);
        }
    seal.end(seal.context, sender);
    seal.end(seal.context, receiver);
    EVP_CIPHER_CTX_free(gcm);
}

static void packets_of_every_length_are_sealed_as_by_evp(void **state)
{
    (void)state;
    lengths_agree(RRCP_CIPHER_AES_128_GCM, EVP_aes_128_gcm(), 16);
    lengths_agree(RRCP_CIPHER_AES_256_GCM, EVP_aes_256_gcm(), 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_are_sealed_as_another_implementation_does),
        cmocka_unit_test(packets_of_every_length_are_sealed_as_by_evp),
        cmocka_unit_test(a_sealed_packet_opens_and_one_with_any_bit_flipped_does_not),
        cmocka_unit_test(another_session_network_key_or_cipher_has_another_key),
    };
    int failed = cmocka_run_group_tests_name("OpenSSL", tests, setup_openssl, teardown);

#ifdef RMDS_MULTIBUFFER
    if (open_by(SEAL_MULTIBUFFER) != 0) {
        puts("libipsec-mb is not installed, or not for this processor: see test_seal_libraries");
        return failed;
    }
    seal_close(&seal);
    failed += cmocka_run_group_tests_name("libipsec-mb", tests, setup_multibuffer, teardown);
#else
    (void)setup_multibuffer;
#endif
    return failed;
}
