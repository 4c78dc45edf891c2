/* catalogue.c - see catalogue.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalogue.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define PLACE_BYTES 44u /* of a chunk in an index */

void rec_catalogue_fini(struct rec_catalogue *catalogue)
{
    for (size_t i = 0; i < catalogue->group_count; i++)
        free(catalogue->groups[i].masks);
    for (uint32_t i = 0; i < catalogue->item_size; i++)
        free(catalogue->items[i]);
    free(catalogue->groups);
    free(catalogue->items);
    free(catalogue->places);
    *catalogue = (struct rec_catalogue){ 0 };
}

/* Room for one more. */
static int reserve(void **array, size_t *size, size_t count, size_t each)
{
    if (count < *size)
        return MD_OK;
    size_t more = *size ? 2 * *size : 64;
    void *moved = realloc(*array, more * each);

    if (!moved)
        return MD_ERR_NOMEM;
    *array = moved;
    *size = more;
    return MD_OK;
}

int rec_catalogue_add(struct rec_catalogue *catalogue, const struct rec_place *place)
{
    const struct rec_preamble *times = &place->preamble;
    void *places = catalogue->places;

    if (times->first_mono_ns > times->last_mono_ns)
        return MD_ERR_MALFORMED;
    if (catalogue->count > 0) {
        const struct rec_place *last = &catalogue->places[catalogue->count - 1];
        if (place->number <= last->number || (place->part == last->part && place->at <= last->at) ||
            times->first_mono_ns < last->preamble.last_mono_ns)
            return MD_ERR_MALFORMED;
    }
    int rc = reserve(&places, &catalogue->size, catalogue->count, sizeof(*place));
    catalogue->places = places;
    if (rc == MD_OK)
        catalogue->places[catalogue->count++] = *place;
    return rc;
}

/* ---- items ---- */

static bool is_same(const struct rec_key *a, const struct rec_key *b)
{
    return a->domain == b->domain && a->service_id == b->service_id &&
           rwf_bytes_equal(a->service, b->service) && rwf_bytes_equal(a->name, b->name);
}

static struct rec_key *copy(const struct rec_key *key)
{
    struct rec_key *made = malloc(sizeof(*made) + key->service.length + key->name.length + 1);
    uint8_t *text = (uint8_t *)(made + 1);

    if (!made)
        return NULL;
    *made = *key;
    if (key->service.length)
        memcpy(text, key->service.data, key->service.length);
    if (key->name.length)
        memcpy(text + key->service.length, key->name.data, key->name.length);
    made->service.data = text;
    made->name.data = text + key->service.length;
    return made;
}

static int grow_items(struct rec_catalogue *catalogue, uint32_t number)
{
    uint32_t size = catalogue->item_size ? catalogue->item_size : 256;

    while (size <= number)
        size *= 2;
    struct rec_key **items = realloc(catalogue->items, size * sizeof(struct rec_key *));
    if (!items)
        return MD_ERR_NOMEM;
    for (uint32_t i = catalogue->item_size; i < size; i++)
        items[i] = NULL;
    catalogue->items = items;
    catalogue->item_size = size;
    return MD_OK;
}

int rec_catalogue_item(struct rec_catalogue *catalogue, uint32_t number, const struct rec_key *key)
{
    if (number == 0 || number > REC_ITEMS_MAX)
        return MD_ERR_MALFORMED;
    if (number >= catalogue->item_size && grow_items(catalogue, number) != MD_OK)
        return MD_ERR_NOMEM;
    if (catalogue->items[number])
        return is_same(catalogue->items[number], key) ? MD_OK : MD_ERR_MALFORMED;
    catalogue->items[number] = copy(key);
    if (!catalogue->items[number])
        return MD_ERR_NOMEM;
    if (number > catalogue->item_count)
        catalogue->item_count = number;
    return MD_OK;
}

/* ---- groups ---- */

static int compare(const void *a, const void *b)
{
    const struct rec_mask *x = a, *y = b;

    return x->number < y->number ? -1 : x->number > y->number;
}

/* `masks` belong to the catalogue from now on, also when this fails. */
static int add_group(struct rec_catalogue *catalogue, struct rec_mask *masks, uint32_t count)
{
    void *groups = catalogue->groups;
    int rc = reserve(&groups, &catalogue->group_size, catalogue->group_count,
                     sizeof(*catalogue->groups));

    catalogue->groups = groups;
    if (rc != MD_OK) {
        free(masks);
        return rc;
    }
    if (count > 0)
        qsort(masks, count, sizeof(*masks), compare);
    catalogue->groups[catalogue->group_count++] =
        (struct rec_group){ .masks = masks, .count = count };
    return MD_OK;
}

int rec_catalogue_look(struct rec_catalogue *catalogue, struct rec_place *place,
                       struct rec_mask *masks, uint32_t count)
{
    int rc = add_group(catalogue, masks, count);

    if (rc != MD_OK)
        return rc;
    place->group = (uint32_t)catalogue->group_count - 1;
    place->bit = 0;
    place->is_known = true;
    return MD_OK;
}

const struct rec_mask *rec_group_find(const struct rec_group *group, uint32_t number)
{
    const struct rec_mask wanted = { .number = number };

    if (group->count == 0)
        return NULL;
    return bsearch(&wanted, group->masks, group->count, sizeof(wanted), compare);
}

/* ---- an index ---- */

int rec_index_head_get(struct md_rd *rd, struct rec_index_head *head)
{
    head->count = md_rd_u32(rd);
    head->before = md_rd_u64(rd);
    return md_rd_ok(rd) && head->count > 0 && head->count <= REC_INDEX_CHUNKS ? MD_OK
                                                                              : MD_ERR_MALFORMED;
}

static struct rec_place get_place(struct md_rd *rd)
{
    struct rec_place place = { .at = md_rd_u64(rd), .number = md_rd_u64(rd) };

    place.preamble.first_mono_ns = md_rd_u64(rd);
    place.preamble.last_mono_ns = md_rd_u64(rd);
    place.preamble.first_wall_ns = md_rd_u64(rd);
    place.preamble.records = md_rd_u32(rd);
    return place;
}

static struct rec_place *find_place(const struct rec_catalogue *catalogue,
                                    const struct rec_place *wanted)
{
    size_t low = 0, high = catalogue->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (catalogue->places[middle].number < wanted->number)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == catalogue->count)
        return NULL;
    struct rec_place *place = &catalogue->places[low];
    bool is_it =
        place->number == wanted->number && place->at == wanted->at && place->part == wanted->part;
    return is_it ? place : NULL;
}

static int take_places(struct rec_catalogue *catalogue, uint32_t part, struct md_rd rd,
                       uint32_t count, bool adds)
{
    for (uint32_t i = 0; i < count; i++) {
        struct rec_place place = get_place(&rd);
        if (!md_rd_ok(&rd))
            return MD_ERR_MALFORMED;
        place.part = part;
        place.group = (uint32_t)catalogue->group_count - 1;
        place.bit = (uint8_t)i;
        place.is_known = true;
        if (adds) {
            int rc = rec_catalogue_add(catalogue, &place);
            if (rc != MD_OK)
                return rc;
            continue;
        }
        struct rec_place *known = find_place(catalogue, &place);
        if (!known)
            continue; /* that chunk is damaged */
        known->group = place.group;
        known->bit = place.bit;
        known->is_known = true;
    }
    return MD_OK;
}

int rec_catalogue_index(struct rec_catalogue *catalogue, uint32_t part, struct rwf_bytes index,
                        bool adds)
{
    struct md_rd rd = md_rd_init(index.data, index.length);
    struct rec_index_head head;

    if (rec_index_head_get(&rd, &head) != MD_OK)
        return MD_ERR_MALFORMED;
    struct md_rd places = md_rd_sub(&rd, (size_t)head.count * PLACE_BYTES);
    uint32_t count = md_rd_u32(&rd);
    if (!md_rd_ok(&rd) || count > md_rd_left(&rd) / 25) /* the least bytes of an item */
        return MD_ERR_MALFORMED;
    struct rec_mask *masks = calloc(count ? count : 1, sizeof(*masks));
    int rc = masks ? MD_OK : MD_ERR_NOMEM;
    for (uint32_t i = 0; i < count && rc == MD_OK; i++) {
        struct rec_key key;
        masks[i].number = md_rd_u32(&rd);
        rec_key_get(&rd, &key);
        masks[i].records = md_rd_u64(&rd);
        masks[i].images = md_rd_u64(&rd);
        /* In order, so each number comes once. */
        bool is_good = md_rd_ok(&rd) && (i == 0 || masks[i].number > masks[i - 1].number);
        rc = is_good ? rec_catalogue_item(catalogue, masks[i].number, &key) : MD_ERR_MALFORMED;
    }
    if (rc != MD_OK) {
        free(masks);
        return rc;
    }
    rc = add_group(catalogue, masks, count);
    return rc == MD_OK ? take_places(catalogue, part, places, head.count, adds) : rc;
}

void rec_catalogue_cut(struct rec_catalogue *catalogue, size_t places, size_t groups)
{
    if (places == 0 && groups == 0) {
        rec_catalogue_fini(catalogue);
        return;
    }
    catalogue->count = places;
    while (catalogue->group_count > groups)
        free(catalogue->groups[--catalogue->group_count].masks);
}

size_t rec_catalogue_after(const struct rec_catalogue *catalogue, uint64_t mono_ns)
{
    size_t low = 0, high = catalogue->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (catalogue->places[middle].preamble.last_mono_ns <= mono_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
