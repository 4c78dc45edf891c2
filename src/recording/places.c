/* places.c - see places.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "places.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/table.h"

#define SERVICES_MAX 65536u

struct place {
    uint32_t items;
    bool is_full;
    uint8_t length;
    char name[256]; /* by which the table finds it */
};

struct rec_places {
    struct md_table *table; /* of services */
    struct place **all;
    uint32_t count, size;
    uint32_t items_max, service_max;
    uint32_t items, services_full;
    uint64_t refused;
    const struct place *last; /* that was full; NULL: none was */
};

int rec_places_create(uint32_t items_max, uint32_t service_max, struct rec_places **out)
{
    struct rec_places *places = calloc(1, sizeof(*places));

    *out = places;
    if (!places)
        return MD_ERR_NOMEM;
    places->items_max = items_max;
    places->service_max = service_max;
    if (md_table_create(64, &places->table) == MD_OK)
        return MD_OK;
    free(places);
    *out = NULL;
    return MD_ERR_NOMEM;
}

void rec_places_destroy(struct rec_places *places)
{
    if (!places)
        return;
    for (uint32_t i = 0; i < places->count; i++)
        free(places->all[i]);
    free(places->all);
    md_table_destroy(places->table);
    free(places);
}

/* NULL: no memory, or too many services. */
static struct place *enter(struct rec_places *places, struct rwf_bytes service)
{
    if (places->count == SERVICES_MAX)
        return NULL;
    if (places->count == places->size) {
        uint32_t size = places->size ? 2 * places->size : 16;
        struct place **all = realloc(places->all, size * sizeof(struct place *));
        if (!all)
            return NULL;
        places->all = all;
        places->size = size;
    }
    struct place *place = calloc(1, sizeof(*place));
    if (!place)
        return NULL;
    place->length = (uint8_t)service.length;
    if (service.length)
        memcpy(place->name, service.data, service.length);
    if (md_table_put(places->table, place->name, place->length, place) != MD_OK) {
        free(place);
        return NULL;
    }
    places->all[places->count++] = place;
    return place;
}

bool rec_places_take(struct rec_places *places, struct rwf_bytes service)
{
    struct place *place =
        service.length > 255
            ? NULL
            : md_table_get(places->table, service.length ? service.data : (const uint8_t *)"",
                           service.length);

    if (service.length <= 255 && !place)
        place = enter(places, service);
    bool has_room = place && places->items < places->items_max;
    if (has_room && places->service_max != 0 && place->items >= places->service_max) {
        places->services_full += !place->is_full;
        place->is_full = true;
        places->last = place;
        has_room = false;
    }
    if (!has_room) {
        places->refused++;
        return false;
    }
    places->items++;
    place->items++;
    return true;
}

bool rec_places_are_taken(const struct rec_places *places)
{
    return places->items >= places->items_max;
}

const char *rec_places_full(const struct rec_places *places, uint32_t *services_full,
                            uint64_t *refused)
{
    *services_full = places->services_full;
    *refused = places->refused;
    return places->last ? places->last->name : "";
}
