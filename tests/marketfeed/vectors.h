/* vectors.h - what the judges of the single files share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MARKETFEED_VECTORS_H
#define MARKETFEED_VECTORS_H

#include <stdbool.h>

#include "rmds/rwf.h"
#include "rmds/rwf_dictionary.h"

#define VECTOR_COLUMNS_MAX 10
#define VECTOR_BYTES_MAX   (1 << 20)

/* One line of a file. */
struct vector {
    char *columns[VECTOR_COLUMNS_MAX];
    unsigned count;
    const struct rwf_dictionary *dictionary;
    char reason[4096]; /* why it failed */
};

/* A buffer whose end is the end of its memory: the byte behind it cannot be read. */
struct vector_bytes {
    uint8_t *map;
    size_t size;
    struct rwf_bytes bytes;
};

/* Hex as bytes; "-" and "" are none. */
struct vector_bytes vector_hex(const char *hex, size_t digits);
struct vector_bytes vector_copy(struct rwf_bytes bytes);
void vector_free(struct vector_bytes *bytes);

/* False, and the reason is kept. */
bool vector_fail(struct vector *vector, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Whether `found` is what the column says. */
bool vector_equals(struct vector *vector, const char *what, struct rwf_bytes found,
                   struct rwf_bytes expected);

/* One judge a file; false: the line failed. */
bool vector_ripple(struct vector *vector);
bool vector_partial(struct vector *vector);
bool vector_ansi(struct vector *vector);
bool vector_records(struct vector *vector);
bool vector_values(struct vector *vector);
bool vector_malformed(struct vector *vector);
bool vector_messages(struct vector *vector);

#endif
