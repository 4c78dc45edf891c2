/* chunk.h - records of a line in a chunk: a head with a checksum, then one record after the other.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DELAY_CHUNK_H
#define DELAY_CHUNK_H

#include "base/cursor.h"
#include "base/writer.h"
#include "delay/delay.h"

#define DELAY_CHUNK_HEAD  76u
#define DELAY_RECORD_HEAD 16u
#define DELAY_KEY_MAX     4096u

/* Kinds of records beside enum delay_kind. */
#define DELAY_GAP  5 /* of all items: what follows needs an image first */
#define DELAY_TORN 6 /* the same of one item */
#define DELAY_END  7 /* the item has ended */

struct delay_head {
    uint64_t number;
    uint64_t first; /* the number of its first record */
    uint64_t boot;
    uint64_t identity;
    uint64_t mono_ns; /* both clocks when it was begun */
    uint64_t wall_ns;
    uint32_t count; /* of records */
};

struct delay_record {
    uint8_t kind;
    bool is_first, is_last;
    uint64_t mono_ns; /* it was put in */
    struct rwf_bytes key;
    struct rwf_bytes message;
};

static inline size_t delay_record_size(size_t key_length, size_t message_length)
{
    return DELAY_RECORD_HEAD + key_length + message_length;
}

/* The head of a chunk whose records stand behind it: `length` with the head. */
void delay_chunk_seal(uint8_t *bytes, size_t length, const struct delay_head *head);
/* MD_ERR_MALFORMED: torn, changed, or none of ours. */
int delay_chunk_read(const uint8_t *bytes, size_t length, struct delay_head *head,
                     struct md_rd *records);
void delay_record_put(struct md_wr *wr, const struct delay_record *record);
/* False: no whole record is left. */
bool delay_record_next(struct md_rd *rd, struct delay_record *record);

#endif
