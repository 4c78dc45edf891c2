/* table.h - what is known of each field; numbers as text. For src/marketfeed/ alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MARKETFEED_TABLE_H
#define MARKETFEED_TABLE_H

#include <stdatomic.h>

#include "marketfeed/marketfeed.h"

enum mf_class {
    MF_CLASS_UNKNOWN,
    MF_CLASS_NONE, /* of types between which nothing is converted */
    MF_CLASS_REAL,
    MF_CLASS_INT,
    MF_CLASS_UINT,
    MF_CLASS_MS,   /* a time as milliseconds since midnight */
    MF_CLASS_ENUM, /* all from here on are never signed */
    MF_CLASS_DATE,
    MF_CLASS_TIME,
    MF_CLASS_TIME_SECONDS,
    MF_CLASS_TEXT,
    MF_CLASS_BINARY,
};

struct mf_entry {
    uint8_t class; /* enum mf_class */
    bool is_signed;
    uint16_t length; /* the most bytes of a value */
};

struct mf_table {
    _Atomic uint32_t options;       /* packed: a reload may change them while others convert */
    struct mf_entry entries[65536]; /* by field id as uint16_t */
};

struct mf_options mf_table_options(const struct mf_table *table);

/* ---- number.c ---- */

/* Digits with an overflow check. */
struct mf_digits {
    uint64_t value;
    unsigned count;
    bool is_over;
};

void mf_digits_take(struct mf_digits *digits, const uint8_t **p, const uint8_t *end);
struct rwf_bytes mf_strip(struct rwf_bytes text);

/* A number that text stands for; a zero keeps its sign apart. */
struct mf_number {
    uint64_t magnitude;
    uint8_t hint; /* of a real */
    bool is_negative;
    bool is_blank;
};

enum mf_reason mf_number_real(struct rwf_bytes text, struct mf_number *out);
enum mf_reason mf_number_integer(struct rwf_bytes text, struct mf_number *out);

/* Text of a value, of at most `room` bytes of `out`. */
#define MF_NUMBER_MAX 64
struct mf_text {
    uint8_t bytes[MF_NUMBER_MAX];
    unsigned length;
};

enum mf_reason mf_text_real(const struct rwf_real *real, unsigned room, struct mf_text *out);
enum mf_reason mf_text_integer(uint64_t magnitude, bool is_negative, bool is_signed, unsigned room,
                               struct mf_text *out);

/* ---- value.c ---- */

/* Text as the value that RWF has; MF_KEPT or why not. The class is one that is converted. */
enum mf_reason mf_value_read(const struct mf_options *options, const struct mf_entry *entry,
                             struct rwf_bytes text, struct rwf_value *out);

/* The content as text at `out`, which has `size` bytes. MF_RWF: nothing is written. MD_ERR_FULL or
 * MD_OK. A second reason of text is `*more`. */
int mf_value_write(const struct mf_options *options, const struct mf_entry *entry,
                   struct rwf_bytes content, uint8_t *out, size_t size, size_t *length,
                   enum mf_reason *reason, enum mf_reason *more);

static inline void mf_lose(struct mf_losses *losses, int16_t id, enum mf_reason reason)
{
    if (reason == MF_KEPT)
        return;
    losses->by_reason[reason]++;
    if (losses->note)
        losses->note(losses->note_self, id, reason);
}

#endif
