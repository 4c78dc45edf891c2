/* delay/delay.h - a service n seconds later: its messages in a line, its images of then. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DELAY_DELAY_H
#define DELAY_DELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/cache.h"

/*
 * One line is one delayed service. What the provider sends is put in at one end, as the backbone
 * carries it; what was put in at least delay_ns ago comes out at the other, in order, and is
 * applied to the line's own images, which are those of then: the line never has the image of now
 * outside its records. The end of an item (CLOSED, revoked, no longer there) is not delayed.
 *
 * The records stand in chunks, numbered from 1, which the caller's table of functions keeps on a
 * disk: each is written once, whole, with a checksum. When bytes_max is reached, the line takes
 * nothing until it has drained by an eighth; all items are then suspect from that place on, until
 * an image of them was put in again and has come out.
 *
 * After a restart the chunks that are left are read again. The age of a record of an earlier life
 * is what both clocks agree on: by the monotonic clock of the same boot (of an earlier boot: since
 * this boot), and by the wall clock; where they differ the record counts as the younger one. It
 * comes out at the latest delay_ns after the restart.
 *
 * One thread. No clock; nothing is allocated for a message of an item that has an image.
 */
struct delay;

enum delay_kind {
    DELAY_REFRESH = 1,
    DELAY_IMAGE, /* as a refresh, but for items that lack one: others have it already */
    DELAY_UPDATE,
    DELAY_STATUS, /* the stream stays open */
};

/* Where chunks are kept. */
struct delay_disk {
    void *context;
    /* The first chunk behind `after`, when the line is made. MD_ERR_NOT_FOUND: there is none. */
    int (*next)(void *context, uint64_t after, uint64_t *chunk, size_t *length);
    /* Takes all of it, or none. */
    int (*write)(void *context, uint64_t chunk, const uint8_t *bytes, size_t length);
    /* MD_ERR_AGAIN: not yet. Any other error: the chunk is lost. */
    int (*read)(void *context, uint64_t chunk, uint8_t *bytes, size_t size, size_t *length);
    void (*remove)(void *context, uint64_t chunk);
};

struct delay_config {
    uint64_t delay_ns;
    uint64_t bytes_max;  /* on the disk, at least four times chunk_bytes and message_max */
    size_t chunk_bytes;  /* a chunk is written when it has so many, 0: 256 KiB */
    size_t message_max;  /* 0: 4 MiB */
    uint32_t item_limit; /* 0: 16777215 */
    bool takes_all;      /* else only items that delay_ask() named */
    uint64_t boot;       /* a number of this boot of the machine */
    uint64_t identity;   /* of the service: chunks of another one are not read */
    uint64_t wall_ns;    /* the wall clock when the line is made */
    struct delay_disk disk;
    struct cache_config cache;
};

struct delay_stats {
    uint64_t taken;       /* records put in */
    uint64_t dropped;     /* messages that found no room, or whose item waits for an image */
    uint64_t gaps;        /* times that all items became suspect */
    uint64_t chunks_lost; /* not written, not read, or not whole */
    uint32_t items_now;
    uint64_t bytes_now; /* on the disk and on the way to it */
    uint64_t image_bytes_now;
};

/* MD_ERR_RANGE: bytes_max is too small for the rest. */
int delay_create(const struct delay_config *config, uint64_t now_ns, struct delay **out);
/* Writes what is not written yet. NULL is allowed. */
void delay_destroy(struct delay *d);
/* The wall clock has been set meanwhile, perhaps. */
void delay_wall_set(struct delay *d, uint64_t now_ns, uint64_t wall_ns);

/* ---- putting in ---- */

#define DELAY_NONE 0xFFFFFFFFu

/* The item of this key, or DELAY_NONE. Its number stands until DELAY_EVENT_END was taken. */
uint32_t delay_find(const struct delay *d, struct rwf_bytes key);
/* Its key, as long as it is known. */
struct rwf_bytes delay_key(const struct delay *d, uint32_t item);
/* Somebody asks for the delayed item: it is taken from now on. DELAY_NONE: too many. */
uint32_t delay_ask(struct delay *d, struct rwf_bytes key);
/* A message of an item whose stream is open at its provider. An item is made for the first part
 * of a refresh, with takes_all. */
void delay_put(struct delay *d, uint64_t now_ns, struct rwf_bytes key, enum delay_kind kind,
               bool is_first, bool is_last, struct rwf_bytes message);
/* The item has ended, as RWF states say; what of it is in the line goes nowhere. */
void delay_end(struct delay *d, uint64_t now_ns, uint32_t item, uint8_t state, uint8_t code);
/* An item whose image the line lacks, one after the other; `is_missing`: its updates are not taken
 * until it is put in, else it is for restarts. DELAY_NONE: none now. */
uint32_t delay_wants(struct delay *d, uint64_t now_ns, bool *is_missing);

/* ---- taking out ---- */

enum delay_event_kind {
    DELAY_EVENT_NONE,
    DELAY_EVENT_MESSAGE, /* of an item that has been shown, or begins to be */
    DELAY_EVENT_IMAGE,   /* the item is new: its image by delay_image_part() */
    DELAY_EVENT_SUSPECT, /* records of it are lost */
    DELAY_EVENT_END,
};

struct delay_event {
    enum delay_event_kind kind;
    uint32_t item;
    struct rwf_bytes key;
    struct rwf_bytes message;
    enum delay_kind is; /* the message */
    uint8_t state;      /* END: as delay_end() had it */
    uint8_t code;
};

/* The next event that is due, the same until delay_done(); the bytes are good until the next call.
 */
void delay_next(struct delay *d, uint64_t now_ns, struct delay_event *event);
void delay_done(struct delay *d, const struct delay_event *event);
int delay_image_part(const struct delay *d, uint32_t item, struct cache_cursor *cursor,
                     uint8_t *out, size_t size, size_t *length, bool *is_last);
/* Those who take out have forgotten all items: each is new again. */
void delay_show_again(struct delay *d);

/* ---- the rest ---- */

void delay_tick(struct delay *d, uint64_t now_ns);
/* `takes`: somebody takes out now. */
uint64_t delay_deadline(const struct delay *d, uint64_t now_ns, bool takes);
/* When the oldest record that is not out was put in; 0: there is none. */
uint64_t delay_oldest(const struct delay *d);
void delay_stats(const struct delay *d, struct delay_stats *out);

#endif
