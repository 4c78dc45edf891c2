/* backbone/topic.h - messages of bare topics: a name and bytes, which nobody else looks into. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKBONE_TOPIC_H
#define BACKBONE_TOPIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 *   0 u8 64, no type of RRMP   1 u8 version 1 << 4   2 u8 name length, not 0   3 u8 0
 *   4 u32 +1 for each message of this sender on this topic, first 1
 *   8 name, then the message
 *
 * Numbers are big endian. Topic numbers of names are hashes and may collide, with those of services
 * too: each message carries the whole name, and who looks for another one skips it.
 */
#define BACKBONE_TOPIC_TYPE 64u
#define BACKBONE_TOPIC_HEAD 8u

struct backbone_topic {
    const uint8_t *name;
    size_t name_length;
    uint32_t number;
    const uint8_t *message;
    size_t length;
};

/* FNV-1a, 32 bits, of a byte 1 and the name: services have no such names. */
static inline uint32_t backbone_topic_number(const void *name, size_t length)
{
    const uint8_t *p = name;
    uint32_t hash = (2166136261u ^ 1u) * 16777619u;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ p[i]) * 16777619u;
    return hash >= 0xFFFFFFFEu ? 0 : hash;
}

static inline bool backbone_topic_is(const uint8_t *bytes, size_t length)
{
    return length > 0 && bytes[0] == BACKBONE_TOPIC_TYPE;
}

/* False: not such a message, or one that is cut off. */
static inline bool backbone_topic_decode(const uint8_t *bytes, size_t length,
                                         struct backbone_topic *out)
{
    if (length <= BACKBONE_TOPIC_HEAD || bytes[0] != BACKBONE_TOPIC_TYPE || bytes[1] >> 4 != 1 ||
        bytes[2] == 0 || bytes[2] > length - BACKBONE_TOPIC_HEAD)
        return false;
    *out = (struct backbone_topic){
        .name = bytes + BACKBONE_TOPIC_HEAD,
        .name_length = bytes[2],
        .number = (uint32_t)bytes[4] << 24 | (uint32_t)bytes[5] << 16 | (uint32_t)bytes[6] << 8 |
                  bytes[7],
        .message = bytes + BACKBONE_TOPIC_HEAD + bytes[2],
        .length = length - BACKBONE_TOPIC_HEAD - bytes[2],
    };
    return true;
}

/* The head into `out`; the message follows behind it. */
static inline size_t backbone_topic_head(uint8_t *out, const char *name, size_t name_length,
                                         uint32_t number)
{
    const uint8_t head[BACKBONE_TOPIC_HEAD] = {
        BACKBONE_TOPIC_TYPE,     1 << 4,
        (uint8_t)name_length,    0,
        (uint8_t)(number >> 24), (uint8_t)(number >> 16),
        (uint8_t)(number >> 8),  (uint8_t)number,
    };

    memcpy(out, head, sizeof(head));
    memcpy(out + sizeof(head), name, name_length);
    return sizeof(head) + name_length;
}

#endif
