/* player.h - a recording played: its items and services at the moment, and what comes when. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAYER_H
#define PLAYER_H

#include "base/table.h"
#include "itemlist.h"
#include "omm/directory.h"
#include "recording/images.h"
#include "rmds/rwf_dictionary.h"
#include "source.h"

#define PLAYER_SERVICES_MAX 16

struct watch;

struct play_service {
    char name[256];     /* as it is offered, */
    char recorded[256]; /* and in the recording */
    uint16_t id;        /* ours */
    bool is_up;
};

/* An item of the recording, under whatever numbers it has there. */
struct play_item {
    struct play_service *service;
    uint8_t domain;
    const uint8_t *name;
    uint8_t name_length;
    uint32_t number; /* of its last record */
    bool is_torn;    /* watchers are told that something is missing: its next image goes to them */
    struct watch *watches;
    uint16_t key_length;
    uint8_t key[260]; /* index of the service, domain, name */
};

struct player {
    struct source source;
    struct rwf_dictionary *dictionary; /* NULL: there is none */
    struct cache_ripples *ripples;
    struct rec_folder *folder;
    struct rec_cursor *cursor;
    struct rec_facts facts;
    struct play_service services[PLAYER_SERVICES_MAX];
    size_t service_count;
    struct play_item **by_number; /* NULL: not played */
    struct play_item **items;
    uint32_t item_count;
    struct md_table *table;
    struct rec_record record; /* the next one */
    bool has_record;
};

struct player_config {
    const char *path, *dict, *as; /* `as`: NEW, or OLD=NEW */
    uint16_t first_id;
    bool is_series;              /* with the further files of its series */
    const struct itemlist *only; /* empty: all */
};

/* False: told. */
bool player_open(const struct player_config *config, struct player *player);
void player_close(struct player *player);
/* Images of that moment; the next record is the first one later. MD_ERR_NOMEM. */
int player_seek(struct player *player, uint64_t mono_ns);
/* The record at hand becomes part of the images, and the next one is at hand. */
void player_step(struct player *player);
struct play_item *player_find(const struct player *player, size_t service, uint8_t domain,
                              struct rwf_bytes name);
/* NULL: no image that is whole at the moment. */
const struct cache_image *player_image(const struct player *player, const struct play_item *item);
/* The service of ours that the recording knows by this id. */
struct play_service *player_service(struct player *player, uint16_t recorded_id);

#endif
