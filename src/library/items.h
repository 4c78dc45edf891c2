/* items.h - the items of an application and their events. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBRARY_ITEMS_H
#define LIBRARY_ITEMS_H

#include "backbone/event.h"
#include "base/slots.h"
#include "rmds/backbone.h"
#include "rrmp/sink.h"

enum { LIBRARY_NAME_MAX = 255, LIBRARY_SERVICES_MAX = 1024, LIBRARY_DICTIONARIES_MAX = 16 };

/*
 *      WAITING   not with the sink yet: its service is not known, or the turn has not come
 *      NEW       wants an image, none has begun
 *      FILLING   an image is coming in
 *      STEP      has the image, follows
 *      ENDED     nothing more is told of it; given back when the events of the batch are taken
 */
enum library_item_state {
    LIBRARY_WAITING,
    LIBRARY_NEW,
    LIBRARY_FILLING,
    LIBRARY_STEP,
    LIBRARY_ENDED
};

struct rmds_item {
    uint32_t next_free; /* the slots' while it is free */
    uint32_t number;
    uint32_t sink_item;
    uint16_t service; /* ours */
    uint8_t state;    /* enum library_item_state */
    bool is_raw : 1;
    bool is_snapshot : 1;
    bool has_qos : 1;
    bool is_told : 1;     /* that nobody offers its service */
    bool wants_again : 1; /* an image, when the pause is over */
    bool is_follower : 1;
    struct rmds_backbone *backbone;
    rmds_item_fn *handle;
    void *user;
    struct rmds_item *next; /* of those that wait for the same, or have ended */
    uint8_t *key;           /* while it waits */
    uint16_t key_length;
    uint32_t bound_at; /* of a follower: of the sink's open */
};

struct library_list {
    struct rmds_item *first, *last;
};

struct library_service {
    char name[LIBRARY_NAME_MAX + 1];
    uint16_t sink_service; /* RRMP_SERVICE_NONE: not announced yet */
    uint8_t qos[5];        /* the best that it has */
    struct library_list waiting;
    bool is_followed;
};

struct library_dictionary {
    rmds_dictionary_fn *handle; /* NULL: free */
    void *user;
};

struct library_items {
    struct rrmp_sink *sink;
    struct md_slots slots;
    size_t memory;
    struct library_service **services;
    uint16_t service_count, service_last; /* last: the one looked for last */
    struct library_list to_open, ended;
    uint32_t again_count, again_next; /* items that want an image again; the next one looked at */
    uint64_t again_ns;                /* when they are asked for; 0: there are none */
    bool has_closed_waiting;          /* items that wait for their service were closed */
    bool follows_all;
    struct library_dictionary dictionaries[LIBRARY_DICTIONARIES_MAX];
};

/* In a second, at the latest two. */
void library_item_again(struct rmds_item *item);
void library_item_not_again(struct rmds_item *item);
void library_items_again(struct library_items *items, uint64_t now_ns);

/* services.c */
/* NULL: never named here. */
struct library_service *library_service_find(struct library_items *items, const char *name);
/* The service of this name, entered if it is new; NULL: there is no room, or no memory. */
struct library_service *library_service(struct library_items *items, const char *name);

/* follow.c: events of the sink; the service may be one to follow */
void library_bound(struct rmds_backbone *backbone, const struct rrmp_sink_event *event);
void library_follow_maybe(struct library_items *items, uint64_t now_ns, uint16_t sink_service);
void library_dictionary(struct rmds_backbone *backbone, const struct rrmp_sink_event *event);

int library_items_init(struct rmds_backbone *backbone, uint64_t random);
void library_items_fini(struct rmds_backbone *backbone);
/* Takes events of the backbone. */
void library_items_input(struct rmds_backbone *backbone, uint64_t now_ns,
                         const struct backbone_event *events, size_t count);
/* Opens and closes what callbacks asked for, ticks. False: not all could be opened now. */
bool library_items_settle(struct rmds_backbone *backbone, uint64_t now_ns, bool input_is_empty);
uint64_t library_items_deadline(const struct rmds_backbone *backbone);

#endif
