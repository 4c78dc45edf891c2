/* player.c - see player.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "player.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "dictionary.h"
#include "words.h"

#define PART_MAX   60000u
#define IMAGES_MAX (4ull << 30) /* bytes of all images of the moment */

static unsigned field_type(void *context, int16_t id)
{
    const struct player *player = context;
    const struct rwf_field_def *def =
        player->dictionary ? rwf_dictionary_field(player->dictionary, id) : NULL;

    return def ? def->rwf_type : 0;
}

/* ---- items and services ---- */

static bool is_named(const struct itemlist *list, struct rwf_bytes name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (rwf_bytes_equal(name, rwf_bytes(list->entries[i].name, list->entries[i].name_length)))
            return true;
    }
    return list->count == 0;
}

/* The name that a recorded one is offered by. */
static void rename_service(struct play_service *service, const char *as)
{
    const char *equals = as ? strchr(as, '=') : NULL;
    size_t old = equals ? (size_t)(equals - as) : 0;

    if (as && !equals)
        snprintf(service->name, sizeof(service->name), "%s", as);
    else if (equals && strlen(service->recorded) == old && memcmp(service->recorded, as, old) == 0)
        snprintf(service->name, sizeof(service->name), "%s", equals + 1);
    else
        memcpy(service->name, service->recorded, sizeof(service->name));
}

static struct play_service *take_service(struct player *player, struct rwf_bytes name,
                                         const struct player_config *config)
{
    for (size_t i = 0; i < player->service_count; i++) {
        if (rwf_bytes_equal(name, rwf_text(player->services[i].recorded)))
            return &player->services[i];
    }
    if (player->service_count == PLAYER_SERVICES_MAX)
        return NULL;
    struct play_service *service = &player->services[player->service_count];
    snprintf(service->recorded, sizeof(service->recorded), "%.*s", (int)name.length,
             (const char *)name.data);
    rename_service(service, config->as);
    service->id = (uint16_t)(config->first_id + player->service_count++);
    service->is_up = true;
    return service;
}

static size_t make_key(uint8_t out[260], size_t service, uint8_t domain, struct rwf_bytes name)
{
    out[0] = (uint8_t)service;
    out[1] = domain;
    if (name.length)
        memcpy(out + 2, name.data, name.length);
    return 2 + name.length;
}

struct play_item *player_find(const struct player *player, size_t service, uint8_t domain,
                              struct rwf_bytes name)
{
    uint8_t key[260];

    if (name.length > 255)
        return NULL;
    return md_table_get(player->table, key, make_key(key, service, domain, name));
}

static struct play_item *make_item(struct player *player, struct play_service *service,
                                   const struct rec_key *key)
{
    struct play_item *item = calloc(1, sizeof(*item));
    size_t index = (size_t)(service - player->services);

    if (!item)
        return NULL;
    item->service = service;
    item->domain = key->domain;
    item->key_length = (uint16_t)make_key(item->key, index, key->domain, key->name);
    item->name = item->key + 2;
    item->name_length = (uint8_t)key->name.length;
    if (md_table_put(player->table, item->key, item->key_length, item) != MD_OK) {
        free(item);
        return NULL;
    }
    player->items[player->item_count++] = item;
    return item;
}

static bool list_items(struct player *player, const struct player_config *config)
{
    size_t size = (size_t)player->facts.items + 1;

    player->by_number = calloc(size, sizeof(struct play_item *));
    player->items = calloc(size, sizeof(struct play_item *));
    if (!player->by_number || !player->items || md_table_create(size, &player->table) != MD_OK)
        return false;
    for (uint32_t i = 1; i < size; i++) {
        const struct rec_key *key = rec_reader_item(player->source.reader, i);
        if (!key || key->domain <= RWF_DOMAIN_DICTIONARY || !is_named(config->only, key->name))
            continue;
        struct play_service *service = take_service(player, key->service, config);
        if (!service)
            continue;
        struct play_item *item =
            player_find(player, (size_t)(service - player->services), key->domain, key->name);
        if (!item && !(item = make_item(player, service, key)))
            return false;
        player->by_number[i] = item;
        item->number = i;
    }
    return true;
}

/* ---- open and close ---- */

/* Whether a new name is for one service that there is; else told. */
static bool is_renamed(const struct player *player, const char *as)
{
    const char *equals = as ? strchr(as, '=') : NULL;

    if (!as || (!equals && player->service_count == 1))
        return true;
    for (size_t i = 0; equals && i < player->service_count; i++) {
        if (rwf_bytes_equal(rwf_bytes(as, (size_t)(equals - as)),
                            rwf_text(player->services[i].recorded)))
            return true;
    }
    fprintf(stderr, PROGRAM ": -as %s: the recording has %s\n", as,
            equals ? "no such service" : "several services; give OLD=NEW");
    return false;
}

static bool load(const struct player_config *config, struct player *player)
{
    struct cache_config cache = {
        .field_type = field_type, .context = player, .bytes_max = IMAGES_MAX, .keeps_pages = true
    };
    char error[512];

    player->dictionary = config->dict ? NULL : source_dictionary(player->source.reader);
    if (!player->dictionary &&
        tool_dictionary_load(config->dict, &player->dictionary, error, sizeof(error)) != MD_OK) {
        fprintf(stderr, PROGRAM ": %s; no dictionary is offered\n", error);
        if (config->dict)
            return false;
    }
    if (player->dictionary && cache_ripples_create(&player->ripples) == MD_OK) {
        cache_ripples_learn(player->ripples, player->dictionary);
        cache.ripples = player->ripples;
    }
    rec_reader_facts(player->source.reader, &player->facts);
    if (!list_items(player, config) ||
        rec_folder_create(player->source.reader, &cache, REC_WAITS, &player->folder) != MD_OK ||
        rec_cursor_create(player->source.reader, &player->cursor) != MD_OK) {
        fprintf(stderr, PROGRAM ": out of memory\n");
        return false;
    }
    if (player->item_count > 0)
        return is_renamed(player, config->as);
    fprintf(stderr, PROGRAM ": %s has none of these items\n", config->path);
    return false;
}

bool player_open(const struct player_config *config, struct player *player)
{
    *player = (struct player){ .record = { .kind = 0 } };
    return source_open(config->path, false, config->is_series, &player->source) &&
           load(config, player);
}

void player_close(struct player *player)
{
    rec_cursor_destroy(player->cursor);
    rec_folder_destroy(player->folder);
    for (uint32_t i = 0; i < player->item_count; i++)
        free(player->items[i]);
    free(player->items);
    free(player->by_number);
    md_table_destroy(player->table);
    rwf_dictionary_destroy(player->dictionary);
    cache_ripples_destroy(player->ripples);
    source_close(&player->source);
}

/* ---- the moment ---- */

static void take_next(struct player *player)
{
    player->has_record = rec_cursor_next(player->cursor, &player->record) > 0;
}

/* Services that the directory says are down then. */
static void find_states(struct player *player)
{
    static uint8_t part[PART_MAX];
    struct cache_cursor cursor = { 0 };
    const struct cache_image *image = NULL;
    bool is_last = false;

    for (uint32_t i = 1; i <= player->facts.items && !image; i++) {
        const struct rec_key *key = rec_reader_item(player->source.reader, i);
        if (key && key->domain == RWF_DOMAIN_SOURCE)
            image = rec_folder_image(player->folder, i);
    }
    while (image && !is_last) {
        struct omm_directory directory;
        struct omm_service service;
        struct rwf_msg msg;
        size_t length;
        if (cache_image_part(image, &cursor, part, sizeof(part), &length, &is_last) != MD_OK ||
            rwf_msg_decode(rwf_bytes(part, length), &msg) != RWF_OK ||
            omm_directory_start(&msg, &directory) != RWF_OK)
            return;
        while (omm_directory_next(&directory, &service) > 0) {
            struct play_service *ours = player_service(player, service.id);
            if (ours && service.filters & OMM_FILTER_STATE)
                ours->is_up = service.is_up;
        }
    }
}

int player_seek(struct player *player, uint64_t mono_ns)
{
    int rc = rec_folder_seek(player->folder, mono_ns, 0);

    if (rc != MD_OK)
        return rc;
    for (size_t i = 0; i < player->service_count; i++)
        player->services[i].is_up = true;
    find_states(player);
    rc = rec_cursor_seek(player->cursor, mono_ns);
    take_next(player);
    return rc;
}

void player_step(struct player *player)
{
    if (player->record.number <= player->facts.items && player->by_number[player->record.number])
        player->by_number[player->record.number]->number = player->record.number;
    rec_folder_apply(player->folder, &player->record);
    take_next(player);
}

const struct cache_image *player_image(const struct player *player, const struct play_item *item)
{
    return rec_folder_image(player->folder, item->number);
}

struct play_service *player_service(struct player *player, uint16_t recorded_id)
{
    for (uint32_t i = 1; i <= player->facts.items; i++) {
        const struct rec_key *key = rec_reader_item(player->source.reader, i);
        if (player->by_number[i] && key->service_id == recorded_id)
            return player->by_number[i]->service;
    }
    return NULL;
}
