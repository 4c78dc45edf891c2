/* base/siphash.h - a keyed hash for tables that strangers fill. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_SIPHASH_H
#define MD_SIPHASH_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t md_siphash_rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static inline void md_siphash_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = md_siphash_rotate(v[1], 13) ^ v[0];
    v[0] = md_siphash_rotate(v[0], 32);
    v[2] += v[3];
    v[3] = md_siphash_rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = md_siphash_rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = md_siphash_rotate(v[1], 17) ^ v[2];
    v[2] = md_siphash_rotate(v[2], 32);
}

/* SipHash-2-4 of Aumasson and Bernstein: without the key no collisions can be made. */
static inline uint64_t md_siphash(const uint64_t key[2], const void *bytes, size_t length)
{
    const uint8_t *p = bytes;
    uint64_t v[4] = { key[0] ^ 0x736f6d6570736575ull, key[1] ^ 0x646f72616e646f6dull,
                      key[0] ^ 0x6c7967656e657261ull, key[1] ^ 0x7465646279746573ull };
    uint64_t word = 0;

    for (size_t words = length / 8; words > 0; words--, p += 8) {
        memcpy(&word, p, 8);
        word = le64toh(word);
        v[3] ^= word;
        md_siphash_round(v);
        md_siphash_round(v);
        v[0] ^= word;
    }
    word = 0;
    memcpy(&word, p, length % 8);
    word = le64toh(word) | (uint64_t)length << 56;
    v[3] ^= word;
    md_siphash_round(v);
    md_siphash_round(v);
    v[0] ^= word;
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++)
        md_siphash_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif
