/* openssl.c - AES-GCM by OpenSSL; see openssl.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "openssl.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/modes.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/writer.h"

/*
 * GCM is OpenSSL's own, below EVP and over EVP's AES: GCM's tables and the key schedule are made
 * when a state gets its key, and a packet sets the nonce and looks nothing up. OpenSSL allocates
 * when a state is made and when a key is derived, never for a packet. README.md has the figures.
 */

#define BLOCK_BYTES 16
#define BLOCKS_MAX  (1 + (RRCP_PACKET_BYTES_MAX + BLOCK_BYTES - 1) / BLOCK_BYTES)

#define FIRSTS      64

/* A packet's key stream: its nonce with 1, 2 and so on behind it, encrypted. The first block is for
 * the tag. */
struct stream {
    uint8_t counters[BLOCKS_MAX][BLOCK_BYTES];
    uint8_t bytes[BLOCKS_MAX][BLOCK_BYTES];
    const uint8_t *first; /* of the present packet */
};

struct openssl {
    EVP_CIPHER *ciphers[2]; /* AES-128, AES-256 */
    struct stream stream;
};

struct state {
    struct openssl *openssl;
    EVP_CIPHER_CTX *aes; /* encrypts whole blocks, each by itself: GCM needs nothing else */
    GCM128_CONTEXT *gcm;

    /* First blocks of the packets with these counters, of which no other block is needed. */
    uint8_t firsts[FIRSTS][BLOCK_BYTES];
    uint64_t firsts_from;
    uint32_t firsts_count;
};

/* ---- key stream --------------------------------------------------------------------------- */

/* Lengths and states are ours: OpenSSL has nothing to refuse. */
static void encrypt_blocks(const struct state *state, uint8_t *to, const uint8_t *from,
                           uint32_t count)
{
    int is_good = EVP_Cipher(state->aes, to, from, count * BLOCK_BYTES);

    MD_ASSERT(is_good >= 0);
}

static void fill_last_bytes(struct stream *stream)
{
    for (uint32_t i = 0; i < BLOCKS_MAX; i++)
        md_put_be32(stream->counters[i] + SEAL_NONCE_BYTES, i + 1);
}

/* Makes the key stream for `length` bytes at once: a call for each part costs more than the part.
 */
static void make_stream(const struct state *state, uint64_t counter, uint32_t length)
{
    struct stream *stream = &state->openssl->stream;
    uint32_t blocks = 1 + (length + BLOCK_BYTES - 1) / BLOCK_BYTES;

    MD_ASSERT(blocks <= BLOCKS_MAX);
    for (uint32_t i = 0; i < blocks; i++)
        md_put_be64(stream->counters[i] + SEAL_NONCE_BYTES - 8, counter);
    encrypt_blocks(state, stream->bytes[0], stream->counters[0], blocks);
    stream->first = stream->bytes[0];
}

/* A packet that is authenticated only needs one block. Counters follow each other, so those of the
 * next packets are made with it; of a counter far from the last ones, which anybody may forge, only
 * that one. */
static void make_first(struct state *state, uint64_t counter)
{
    uint64_t end = state->firsts_from + state->firsts_count;

    if (counter - state->firsts_from >= state->firsts_count) {
        state->firsts_count = counter - end < FIRSTS ? FIRSTS : 1;
        state->firsts_from = counter;
        for (uint32_t i = 0; i < state->firsts_count; i++) {
            memset(state->firsts[i], 0, BLOCK_BYTES);
            md_put_be64(state->firsts[i] + SEAL_NONCE_BYTES - 8, counter + i);
            state->firsts[i][BLOCK_BYTES - 1] = 1;
        }
        encrypt_blocks(state, state->firsts[0], state->firsts[0], state->firsts_count);
    }
    state->openssl->stream.first = state->firsts[counter - state->firsts_from];
}

/* For GCM: the present packet's counters are 1 and more, and are in the stream. The key for tags is
 * made of a block of zeros. */
static void encrypt_block(const unsigned char from[16], unsigned char to[16], const void *key)
{
    const struct state *state = key;
    const struct stream *stream = &state->openssl->stream;
    uint32_t i = md_be32(from + SEAL_NONCE_BYTES);

    if (i == 0)
        encrypt_blocks(state, to, from, 1);
    else
        memcpy(to, i == 1 ? stream->first : stream->bytes[i - 1], BLOCK_BYTES);
}

/* For GCM: encrypts, and decrypts, whole blocks from that counter on. */
static void add_stream(const unsigned char *from, unsigned char *to, size_t count, const void *key,
                       const unsigned char counter[16])
{
    const struct state *state = key;
    const uint8_t *stream = state->openssl->stream.bytes[md_be32(counter + SEAL_NONCE_BYTES) - 1];

    for (size_t i = 0; i < count * BLOCK_BYTES; i += BLOCK_BYTES) {
        uint64_t bytes[2], mask[2];

        memcpy(bytes, from + i, sizeof(bytes));
        memcpy(mask, stream + i, sizeof(mask));
        bytes[0] ^= mask[0];
        bytes[1] ^= mask[1];
        memcpy(to + i, bytes, sizeof(bytes));
    }
}

/* ---- states ------------------------------------------------------------------------------- */

static void end(void *state)
{
    struct state *s = state;

    if (!s)
        return;
    CRYPTO_gcm128_release(s->gcm);
    EVP_CIPHER_CTX_free(s->aes);
    OPENSSL_cleanse(s->firsts, sizeof(s->firsts));
    free(s);
}

static struct state *create_state(struct openssl *openssl)
{
    struct state *state = calloc(1, sizeof(*state));

    if (!state)
        return NULL;
    state->openssl = openssl;
    state->aes = EVP_CIPHER_CTX_new();
    return state;
}

/* The tables of GCM are made of the key. */
static bool set_key(struct state *state, const uint8_t *key, bool is_256)
{
    const EVP_CIPHER *cipher = state->openssl->ciphers[is_256];

    if (!state->aes || EVP_CipherInit_ex2(state->aes, cipher, key, NULL, true, NULL) != 1)
        return false;
    state->firsts_count = 0;
    CRYPTO_gcm128_release(state->gcm);
    state->gcm = CRYPTO_gcm128_new(state, encrypt_block);
    return state->gcm != NULL;
}

static void *begin(void *context, void *old, const uint8_t *key, bool is_256)
{
    struct state *state = old ? old : create_state(context);

    if (state && set_key(state, key, is_256))
        return state;
    end(state);
    ERR_clear_error();
    return NULL;
}

/* ---- packets ------------------------------------------------------------------------------ */

/* The nonce, and what is authenticated only. */
static void begin_packet(struct state *state, uint64_t counter, uint8_t *to, const uint8_t *from,
                         uint32_t clear, uint32_t length)
{
    uint8_t nonce[SEAL_NONCE_BYTES] = { 0 };

    md_put_be64(nonce + SEAL_NONCE_BYTES - 8, counter);
    if (clear < length)
        make_stream(state, counter, length - clear);
    else
        make_first(state, counter);
    CRYPTO_gcm128_setiv(state->gcm, nonce, sizeof(nonce));
    CRYPTO_gcm128_aad(state->gcm, from, clear);
    if (to && to != from)
        memcpy(to, from, clear);
}

static void seal_packet(void *state, uint64_t counter, uint8_t *to, const uint8_t *from,
                        uint32_t clear, uint32_t length, uint8_t tag[RRCP_TAG_BYTES])
{
    struct state *s = state;

    begin_packet(s, counter, to, from, clear, length);
    if (clear < length)
        CRYPTO_gcm128_encrypt_ctr32(s->gcm, from + clear, to + clear, length - clear, add_stream);
    CRYPTO_gcm128_tag(s->gcm, tag, RRCP_TAG_BYTES);
}

static bool open_packet(void *state, uint64_t counter, uint8_t *to, const uint8_t *from,
                        uint32_t clear, uint32_t length, const uint8_t tag[RRCP_TAG_BYTES])
{
    struct state *s = state;

    begin_packet(s, counter, to, from, clear, length);
    if (clear < length)
        CRYPTO_gcm128_decrypt_ctr32(s->gcm, from + clear, to + clear, length - clear, add_stream);
    return CRYPTO_gcm128_finish(s->gcm, tag, RRCP_TAG_BYTES) == 0;
}

/* ---- opening ------------------------------------------------------------------------------ */

static void close_openssl(void *context)
{
    struct openssl *openssl = context;

    EVP_CIPHER_free(openssl->ciphers[0]);
    EVP_CIPHER_free(openssl->ciphers[1]);
    OPENSSL_cleanse(&openssl->stream, sizeof(openssl->stream));
    free(openssl);
}

int seal_openssl_open(struct seal_cipher *out)
{
    struct openssl *openssl = calloc(1, sizeof(*openssl));

    if (!openssl)
        return MD_ERR_NOMEM;
    fill_last_bytes(&openssl->stream);
    openssl->ciphers[0] = EVP_CIPHER_fetch(NULL, "AES-128-ECB", NULL);
    openssl->ciphers[1] = EVP_CIPHER_fetch(NULL, "AES-256-ECB", NULL);
    if (!openssl->ciphers[0] || !openssl->ciphers[1]) {
        close_openssl(openssl);
        ERR_clear_error();
        return MD_ERR_SYS;
    }
    *out = (struct seal_cipher){ .library = "OpenSSL",
                                 .context = openssl,
                                 .begin = begin,
                                 .end = end,
                                 .close = close_openssl,
                                 .seal = seal_packet,
                                 .open = open_packet };
    return 0;
}
