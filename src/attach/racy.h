/* racy.h - copies to and from memory that the other side may be changing at this moment. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_RACY_H
#define ATTACH_RACY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A reader of the inbound ring copies bytes that the writer may be overwriting, and throws the copy
 * away when `claimed` shows that it was lapped. In the words of the C standard that is a data race
 * unless every access is atomic, so the header fields of a record are stored and loaded as relaxed
 * atomics: on the machines we run on that is the same instruction as a plain access.
 *
 * Payload is copied with memcpy(). An atomic copy, word by word, would cost a third of the reader's
 * time and buy nothing: the copy goes to private memory, no branch and no address depends on a byte
 * of it before attach_fence() and the check of `claimed`, and memcpy() is an opaque call or moves
 * of whole registers: it neither reads a byte twice to decide something nor invents a store. The
 * fences order the copy against `claimed` in both directions (see attach/shm.h).
 *
 * Under the thread sanitizer both directions are word-atomic. Each other race then still shows.
 */
#if defined(__SANITIZE_THREAD__)
#define ATTACH_ATOMIC_COPY 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ATTACH_ATOMIC_COPY 1
#endif
#endif

/* The shared side starts at a multiple of 8 bytes, as every record and payload does. */
static inline void racy_load(void *to, const void *from, size_t length)
{
#ifdef ATTACH_ATOMIC_COPY
    const uint8_t *source = from;
    uint8_t *target = to;
    size_t i = 0;

    for (; i + 8 <= length; i += 8) {
        uint64_t word =
            __atomic_load_n((const uint64_t *)(const void *)(source + i), __ATOMIC_RELAXED);
        memcpy(target + i, &word, 8);
    }
    for (; i < length; i++)
        target[i] = __atomic_load_n(&source[i], __ATOMIC_RELAXED);
#else
    memcpy(to, from, length);
#endif
}

static inline void racy_store(void *to, const void *from, size_t length)
{
#ifdef ATTACH_ATOMIC_COPY
    const uint8_t *source = from;
    uint8_t *target = to;
    size_t i = 0;

    for (; i + 8 <= length; i += 8) {
        uint64_t word;

        memcpy(&word, source + i, 8);
        __atomic_store_n((uint64_t *)(void *)(target + i), word, __ATOMIC_RELAXED);
    }
    for (; i < length; i++)
        __atomic_store_n(&target[i], source[i], __ATOMIC_RELAXED);
#else
    memcpy(to, from, length);
#endif
}

#endif
