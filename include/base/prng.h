/* base/prng.h - seeded random numbers; the same seed gives the same numbers everywhere. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_PRNG_H
#define MD_PRNG_H

#include <stdbool.h>
#include <stdint.h>

/* xoshiro256** by Blackman and Vigna, its state filled from the seed by splitmix64. Not for keys.
 */
struct md_prng {
    uint64_t state[4];
};

static inline uint64_t md_mix64(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static inline uint64_t md_splitmix64(uint64_t *state)
{
    return md_mix64(*state += 0x9e3779b97f4a7c15ull);
}

static inline struct md_prng md_prng_init(uint64_t seed)
{
    struct md_prng prng;

    for (int i = 0; i < 4; i++)
        prng.state[i] = md_splitmix64(&seed);
    return prng;
}

static inline uint64_t md_prng_rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static inline uint64_t md_prng_u64(struct md_prng *prng)
{
    uint64_t *s = prng->state;
    uint64_t result = md_prng_rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = md_prng_rotate(s[3], 45);
    return result;
}

static inline uint32_t md_prng_u32(struct md_prng *prng)
{
    return (uint32_t)(md_prng_u64(prng) >> 32);
}

/* From 0 to limit - 1; 0 for a limit of 0 or 1. The bias is below limit / 2^32. */
static inline uint32_t md_prng_below(struct md_prng *prng, uint32_t limit)
{
    return (uint32_t)((uint64_t)md_prng_u32(prng) * limit >> 32);
}

/* True `ppm` times in a million. */
static inline bool md_prng_chance(struct md_prng *prng, uint32_t ppm)
{
    return md_prng_below(prng, 1000000) < ppm;
}

/* From 0 up to, but without, 1. */
static inline double md_prng_unit(struct md_prng *prng)
{
    return (double)(md_prng_u64(prng) >> 11) * 0x1p-53;
}

#endif
