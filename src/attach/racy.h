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

static inline void racy_load(void *to, const void *from, size_t length)
{
#ifdef ATTACH_ATOMIC_COPY
    const uint8_t *source = from;
    uint8_t *target = to;

    for (size_t i = 0; i < length; i++)
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

    for (size_t i = 0; i < length; i++)
        __atomic_store_n(&target[i], source[i], __ATOMIC_RELAXED);
#else
    memcpy(to, from, length);
#endif
}

#endif
