/* blake2s.c - see base/blake2s.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/blake2s.h"

#include <string.h>

#include "base/assert.h"

#define BLOCK_BYTES 64

/* RFC 7693, section 2.6 and 2.7. */
static const uint32_t iv[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

static const uint8_t sigma[10][16] = {
    { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
    { 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3 },
    { 11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4 },
    { 7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8 },
    { 9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13 },
    { 2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9 },
    { 12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11 },
    { 13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10 },
    { 6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5 },
    { 10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0 },
};

static uint32_t rotate(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

static uint32_t load(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline __attribute__((always_inline)) void mix(uint32_t *v, int a, int b, int c, int d,
                                                      uint32_t x, uint32_t y)
{
    v[a] += v[b] + x;
    v[d] = rotate(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = rotate(v[b] ^ v[c], 12);
    v[a] += v[b] + y;
    v[d] = rotate(v[d] ^ v[a], 8);
    v[c] += v[d];
    v[b] = rotate(v[b] ^ v[c], 7);
}

/* One round: four columns, four diagonals. */
static inline __attribute__((always_inline)) void mix_all(uint32_t *v, const uint32_t *m,
                                                          const uint8_t *s)
{
    mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
    mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
    mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
    mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
    mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
    mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
    mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
    mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
}

static void compress(uint32_t h[8], const uint8_t *block, uint64_t counter, bool is_last)
{
    uint32_t m[16];
    uint32_t v[16];

    for (int i = 0; i < 16; i++)
        m[i] = load(block + 4 * i);
    for (int i = 0; i < 8; i++) {
        v[i] = h[i];
        v[i + 8] = iv[i];
    }
    v[12] ^= (uint32_t)counter;
    v[13] ^= (uint32_t)(counter >> 32);
    if (is_last)
        v[14] = ~v[14];
    /* Written out, so that the message's words come from fixed places: three times as fast. */
    mix_all(v, m, sigma[0]);
    mix_all(v, m, sigma[1]);
    mix_all(v, m, sigma[2]);
    mix_all(v, m, sigma[3]);
    mix_all(v, m, sigma[4]);
    mix_all(v, m, sigma[5]);
    mix_all(v, m, sigma[6]);
    mix_all(v, m, sigma[7]);
    mix_all(v, m, sigma[8]);
    mix_all(v, m, sigma[9]);
    for (int i = 0; i < 8; i++)
        h[i] ^= v[i] ^ v[i + 8];
}

void md_blake2s(void *out, size_t out_length, const void *key, size_t key_length, const void *bytes,
                size_t length)
{
    const uint8_t *p = bytes;
    uint8_t block[BLOCK_BYTES] = { 0 };
    uint8_t digest[MD_BLAKE2S_OUT_MAX];
    uint64_t counter = 0;
    uint32_t h[8];

    MD_ASSERT(out_length >= 1 && out_length <= MD_BLAKE2S_OUT_MAX);
    MD_ASSERT(key_length <= MD_BLAKE2S_KEY_MAX);
    memcpy(h, iv, sizeof(h));
    h[0] ^= 0x01010000 ^ (uint32_t)(key_length << 8) ^ (uint32_t)out_length;
    if (key_length > 0) {
        memcpy(block, key, key_length);
        counter = BLOCK_BYTES;
        compress(h, block, counter, length == 0);
        memset(block, 0, sizeof(block));
    }
    for (; length > BLOCK_BYTES; length -= BLOCK_BYTES, p += BLOCK_BYTES) {
        counter += BLOCK_BYTES;
        compress(h, p, counter, false);
    }
    if (length > 0 || key_length == 0) {
        if (length > 0)
            memcpy(block, p, length);
        compress(h, block, counter + length, true);
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 4; j++)
            digest[4 * i + j] = (uint8_t)(h[i] >> (8 * j));
    memcpy(out, digest, out_length);
}

bool md_equal_constant_time(const void *a, const void *b, size_t length)
{
    const uint8_t *x = a;
    const uint8_t *y = b;
    uint8_t difference = 0;

    for (size_t i = 0; i < length; i++)
        difference |= (uint8_t)(x[i] ^ y[i]);
    return difference == 0;
}
