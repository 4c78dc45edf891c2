/* private.h - the engine's scratch memory; seen by the files of src/conflate only. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONFLATE_PRIVATE_H
#define CONFLATE_PRIVATE_H

#include "conflate/conflate.h"

#define CONFLATE_FIELDS_MAX 4096 /* of a list, longer ones are not merged */
#define CONFLATE_ROWS_MAX   4096 /* of a map */
#define CONFLATE_BUCKETS    8192
#define CONFLATE_STRINGS    16384  /* bytes of strings that partial contents made */
#define CONFLATE_COUNT_MAX  32767u /* of conflation information */
#define CONFLATE_TIME_MAX   65535u
#define CONFLATE_SIZE_MAX   131072 /* of a merged message; a longer one is not made */

/* Fields by id. */
struct conflate_table {
    uint16_t index[65536]; /* place in `list` + 1; 0: none */
    unsigned count;
    struct {
        int16_t id;
        struct rwf_bytes content;
    } list[CONFLATE_FIELDS_MAX];
};

/* A key of two maps, and what each says of it. */
struct conflate_row {
    struct rwf_map_entry old;
    struct rwf_map_entry fresh;
    bool has_old;
    bool has_fresh;
};

struct conflate {
    struct conflate_config config;
    uint64_t key[2];
    struct conflate_table now;   /* of the update that is being made */
    struct conflate_table image; /* of `image_bytes`, once a field of it was wanted */
    struct rwf_bytes image_bytes;
    const struct rwf_sets *sets; /* of the list that is read */
    bool is_image_known;         /* fields that `image_bytes` lacks do not exist */
    bool is_image_read;
    struct conflate_row rows[CONFLATE_ROWS_MAX];
    unsigned row_count;
    uint16_t buckets[CONFLATE_BUCKETS]; /* place in `rows` + 1 */
    size_t string_length;
    uint8_t strings[CONFLATE_STRINGS];
    uint8_t out[CONFLATE_SIZE_MAX];
    uint8_t noted[CONFLATE_SIZE_MAX]; /* what conflate_out() gives: adding does not touch it */
};

/* Flags of updates that are merged. All other, those that are not known too, are of updates that
 * pass. */
#define CONFLATE_FLAGS                                                                             \
    ((unsigned)RWF_UPDATE_HAS_KEY | RWF_UPDATE_HAS_SEQ_NUM | RWF_UPDATE_HAS_CONF_INFO |            \
     RWF_UPDATE_DO_NOT_RIPPLE | RWF_UPDATE_DISCARDABLE)

static inline bool conflate_may_try(const struct rwf_msg *msg)
{
    return msg->msg_class == RWF_CLASS_UPDATE && !(msg->flags & ~CONFLATE_FLAGS);
}

/* Updates that this one stands for. */
static inline uint32_t conflate_count_of(const struct rwf_msg *msg)
{
    return msg->flags & RWF_UPDATE_HAS_CONF_INFO && msg->conf_count ? msg->conf_count : 1;
}

static inline uint32_t conflate_count_sum(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

/* A provider that merges says how long its run was. */
static inline uint64_t conflate_begin_of(const struct rwf_msg *msg, uint64_t now_ns)
{
    uint64_t before_ns =
        msg->flags & RWF_UPDATE_HAS_CONF_INFO ? (uint64_t)msg->conf_time_ms * 1000000 : 0;

    return before_ns < now_ns ? now_ns - before_ns : 0;
}

/* Count and time of the run, if its updates say them. */
static inline void conflate_head_info(const struct conflate_pending *pending, uint64_t time_ms,
                                      struct rwf_msg *head)
{
    if (!pending->has_info)
        return;
    head->flags |= RWF_UPDATE_HAS_CONF_INFO;
    head->conf_count =
        (uint16_t)(pending->count < CONFLATE_COUNT_MAX ? pending->count : CONFLATE_COUNT_MAX);
    head->conf_time_ms = (uint16_t)(time_ms < CONFLATE_TIME_MAX ? time_ms : CONFLATE_TIME_MAX);
}

/* ---- run.c: heads ---- */
struct conflate_head conflate_head_of(const struct rwf_msg *msg);
/* `fresh` goes into the run. */
void conflate_head_take(struct conflate_head *head, const struct rwf_msg *fresh);
uint32_t conflate_head_time(const struct conflate_pending *pending, uint64_t now_ns);
struct rwf_msg conflate_head_msg(const struct conflate_pending *pending,
                                 const struct conflate_head *head);

#endif
