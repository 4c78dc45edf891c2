/* private.h - a line and its items; seen by the files of src/delay only. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DELAY_PRIVATE_H
#define DELAY_PRIVATE_H

#include "base/table.h"
#include "chunk.h"

struct delay_item {
    uint32_t number;
    uint32_t next_news;
    /* At the end where messages are put in. */
    uint32_t base;  /* the gap since which it has an image; that of the line: all is taken */
    uint32_t sweep; /* its image was put in during this one */
    bool is_asked;
    bool is_live; /* its stream is open at the provider in this life of the line */
    /* At the other end. */
    bool is_whole;    /* the image has everything since its refresh */
    bool is_in_parts; /* between the first and the last part of a refresh */
    bool is_silent;   /* the parts are of an image that it has */
    bool is_shown;    /* those who take out know it */
    /* News of it that no record stands for. */
    bool is_queued, shows, suspects, ends;
    uint8_t end_state, end_code;
    uint64_t skip_to; /* records before this one are of a life that has ended */
    struct cache_image *image;
    size_t key_length;
    uint8_t key[];
};

struct delay {
    struct delay_config config;
    struct delay_stats stats;
    uint64_t start_ns;
    uint64_t start_wall_ns;
    int64_t wall_offset_ns;
    uint64_t seal_ns; /* a chunk is written when it is that old */
    struct cache *cache;

    struct md_table *table;
    struct delay_item **items; /* by number; NULL: free */
    uint32_t *free;            /* numbers */
    uint32_t free_count, item_room, item_high;
    uint32_t news_first, news_last; /* chain of items; DELAY_NONE: empty */

    struct {
        uint32_t *sizes; /* of chunks by number; 0: lost */
        uint32_t mask;
        uint64_t first; /* the oldest that is kept */
        uint64_t own;   /* the first of this life */
        struct delay_head head;
        uint8_t *bytes;
        size_t size, length; /* of the chunk that is being filled; length 0: none */
        uint64_t count;      /* records ever */
        uint64_t last_ns;    /* of the last record */
        uint32_t gap;
        bool is_full, ends_in_gap;
    } in;

    struct {
        uint64_t chunk; /* that is read, or comes next */
        bool is_open;
        struct delay_head head;
        struct md_rd rest; /* from the record that comes next */
        uint8_t *bytes;
        uint64_t at;     /* the number of that record */
        uint64_t due_ns; /* of the last record: none comes before */
        bool is_waiting; /* for the disk */
    } out;

    struct {
        bool is_on;
        bool is_sweeping; /* for restarts: all items */
        bool is_missed;   /* items that lacked an image still did */
        uint32_t next;
        uint32_t sweep;
        uint64_t due_ns;     /* of the next walk */
        uint64_t first, end; /* chunks of the sweep; end 0: it is not over */
        uint64_t base;       /* a restart needs those from this one on */
        uint64_t since;      /* records before the last sweep */
    } walk;
};

#endif
