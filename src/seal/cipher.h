/* cipher.h - what seal.c wants of a library that has AES-GCM. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEAL_CIPHER_H
#define SEAL_CIPHER_H

#include "rrcp/rrcp.h"

#define SEAL_NONCE_BYTES   12
#define SEAL_KEY_BYTES_MAX 32

/* The states are those of struct rrcp_seal, which calls seal and open itself. */
struct seal_cipher {
    const char *library;
    void *context;
    void *(*begin)(void *context, void *state, const uint8_t *key, bool is_256);
    void (*end)(void *state); /* NULL is allowed */
    void (*close)(void *context);
    void (*seal)(void *state, uint64_t counter, uint8_t *to, const uint8_t *from, uint32_t clear,
                 uint32_t length, uint8_t tag[RRCP_TAG_BYTES]);
    bool (*open)(void *state, uint64_t counter, uint8_t *to, const uint8_t *from, uint32_t clear,
                 uint32_t length, const uint8_t tag[RRCP_TAG_BYTES]);
};

#endif
