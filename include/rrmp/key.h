/* rrmp/key.h - the canonical item key: equal bytes are the same item. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMP_KEY_H
#define RRMP_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "rrmp/record.h"

/*
 *   u8 domain · u8 members · u8 name type (1 if the message had none)
 *   5 bytes QoS: u8 timeliness << 4 | rate, u16 time info, u16 rate info
 *   u8 n, name · [u32 filter] · [i32 identifier] · [u8 container type - 128, u16 n, bytes]
 *
 * No service id (each network and each p2ps may number services its own way) and no stream id. A
 * range of qualities is resolved before, so a key has exactly one.
 */
#define RRMP_KEY_NAME       1u
#define RRMP_KEY_FILTER     8u
#define RRMP_KEY_IDENTIFIER 16u
#define RRMP_KEY_ATTRIBUTES 32u
#define RRMP_KEY_ALL        (RRMP_KEY_NAME | RRMP_KEY_FILTER | RRMP_KEY_IDENTIFIER | RRMP_KEY_ATTRIBUTES)

#define RRMP_KEY_SIZE_MAX   4096 /* our limit; attributes are small in every known application */

struct rrmp_qos {
    uint8_t timeliness;
    uint8_t rate;
    uint16_t time_info;
    uint16_t rate_info;
};

struct rrmp_key {
    uint8_t domain;
    uint8_t members; /* RRMP_KEY_*; a member not named here is ignored and decodes as zero */
    uint8_t name_type;
    struct rrmp_qos qos;
    struct rrmp_view name; /* at most 255 bytes */
    uint32_t filter;
    int32_t identifier;
    uint8_t attributes_type; /* container type - 128 */
    struct rrmp_view attributes;
};

/* Views point into `bytes`. All of `bytes` must be the key, else MD_ERR_MALFORMED or _SHORT. */
int rrmp_key_decode(const uint8_t *bytes, size_t length, struct rrmp_key *out);

/* Fails the writer if it does not fit, or if a name or the whole is too long. */
void rrmp_key_encode(struct md_wr *wr, const struct rrmp_key *key);

/* XXH3-64, seed 0: for load balancing, digests and quick rejection. Not for hash tables. */
uint64_t rrmp_key_hash(const void *bytes, size_t length);

#endif
