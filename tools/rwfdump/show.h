/* show.h - prints RWF messages and containers as a tree. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RWFDUMP_SHOW_H
#define RWFDUMP_SHOW_H

#include "out.h"
#include "rmds/rwf_dictionary.h"

/* Some 200 kB: not for the stack. */
struct show {
    struct out *out;
    const struct rwf_dictionary *dictionary; /* may be NULL */
    bool has_hex;                            /* print the bytes of every value, too */
    uint64_t broken_count;
    char text[3 * 65536]; /* any string as UTF-8 */
};

/* Where a message comes from; members that are NULL or 0 are not printed. */
struct show_origin {
    const char *time;
    const char *from;
    const char *to;
    uint64_t number;
};

void show_message(struct show *show, struct rwf_bytes bytes, const struct show_origin *origin);

/* A container or primitive that stands alone. */
void show_data(struct show *show, unsigned type, struct rwf_bytes bytes);

#endif
