/* base/copy.h - copying messages of ordinary length without a call. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_COPY_H
#define BASE_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MD_COPY_LEAST 16u
#define MD_COPY_MOST  192u

static inline bool md_copy_can(size_t length)
{
    return length - MD_COPY_LEAST <= MD_COPY_MOST - MD_COPY_LEAST;
}

/*
 * memcpy() for a message of some tens of bytes, whose length differs from call to call: in steps
 * of 16 bytes, the last of which overlaps the one before. Nothing outside the `length` bytes, for
 * which md_copy_can() is true, is read or written.
 */
static inline void md_copy(uint8_t *to, const uint8_t *from, size_t length)
{
    size_t last = length - 16;
    for (size_t at = 0; at < last; at += 16)
        memcpy(to + at, from + at, 16);
    memcpy(to + last, from + last, 16);
}

#endif
