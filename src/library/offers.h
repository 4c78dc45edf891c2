/* offers.h - services of the application's own, and who wants what of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBRARY_OFFERS_H
#define LIBRARY_OFFERS_H

#include "items.h"
#include "rrmp/source.h"

enum { LIBRARY_OFFERS_MAX = 4096 };

/* An item of a service of ours, or a snapshot that waits for its answer. */
struct rmds_offered {
    uint32_t next_free; /* the slots' while it is free */
    uint32_t number;
    uint32_t source_item; /* RRMP_ITEM_NONE: a snapshot */
    uint32_t ask;         /* of a snapshot */
    uint32_t serial;      /* of all that were: a callback may end an item, and make another of it */
    struct rmds_offer *offer;
    void *user;
    char *name;
    uint8_t domain;
    bool is_due : 1;    /* its image is to be asked for when there is room */
    bool has_image : 1; /* the source asks by itself from then on */
    bool has_parts : 1; /* of a snapshot: some were sent */
    bool is_broken : 1; /* a snapshot that cannot be answered any more: its consumer asks anew */
    bool is_kept;       /* broadcast */
    uint32_t due_next;  /* of those that are due, by number */
    bool is_opened;     /* a snapshot that the application was told of: on_close follows */
};

struct rmds_offer {
    struct rmds_backbone *backbone;
    struct rmds_offer_options options;
    char name[LIBRARY_NAME_MAX + 1];
    char dictionary[LIBRARY_NAME_MAX + 1], enumeration[LIBRARY_NAME_MAX + 1];
    uint8_t domains[RRMP_SINK_CAPABILITY_MAX];
    uint16_t svc;
    bool is_up;
};

struct library_source {
    struct rrmp_source *source;                    /* from the first offer on */
    struct rmds_offer *offers[LIBRARY_OFFERS_MAX]; /* by svc */
    struct md_slots slots;
    size_t memory;
    uint32_t last_serial;
    struct rmds_offered **items; /* by number of the source */
    uint32_t item_room;
    uint32_t due_first, due_last;
    bool is_full; /* the application waits for room */
};

void library_offered_give(struct rmds_offered *item); /* tells the application of its end */
/* After a callback: it is still the item that it was. */
bool library_offered_lives(const struct rmds_offered *item, uint32_t serial);
void library_offered_free(struct rmds_offered *item);
void library_offered_due(struct rmds_offered *item); /* its image is asked for in its turn */
void library_offered_undue(struct rmds_offered *item);
void library_offered_ask(struct rmds_offered *item); /* for its image, now or when there is room */
bool library_source_has_room(const struct rmds_backbone *backbone);
void library_source_ask_due(struct rmds_backbone *backbone);
void library_source_fini(struct rmds_backbone *backbone);
void library_source_input(struct rmds_backbone *backbone, uint64_t now_ns,
                          const struct backbone_event *events, size_t count);
void library_source_settle(struct rmds_backbone *backbone, uint64_t now_ns, bool input_is_empty);
uint64_t library_source_deadline(const struct rmds_backbone *backbone);

#endif
