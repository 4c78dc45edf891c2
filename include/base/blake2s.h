/* base/blake2s.h - keyed BLAKE2s (RFC 7693): authentication of packets. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_BLAKE2S_H
#define MD_BLAKE2S_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MD_BLAKE2S_KEY_MAX 32
#define MD_BLAKE2S_OUT_MAX 32

/* Hash `length` bytes to `out_length` (1..32) bytes, under a key of 0..32 bytes. */
void md_blake2s(void *out, size_t out_length, const void *key, size_t key_length, const void *bytes,
                size_t length);

/* Are these equal? Takes as long whether they are or not. */
bool md_equal_constant_time(const void *a, const void *b, size_t length);

#endif
