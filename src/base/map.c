/* map.c - see base/map.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/err.h"

int md_map_init(struct md_map *map, uint32_t size, size_t *memory)
{
    *map = (struct md_map){ .memory = memory, .size = size < 16 ? 16 : size };
    map->cells = malloc((size_t)map->size * sizeof(*map->cells));
    if (!map->cells)
        return MD_ERR_NOMEM;
    for (uint32_t i = 0; i < map->size; i++)
        map->cells[i].value = MD_NIL;
    *memory += (size_t)map->size * sizeof(*map->cells);
    return MD_OK;
}

void md_map_fini(struct md_map *map)
{
    free(map->cells);
    map->cells = NULL;
}

static uint32_t home_of(const struct md_map *map, uint32_t hash)
{
    return (uint32_t)((uint64_t)hash * map->size >> 32);
}

static uint32_t behind(const struct md_map *map, uint32_t i)
{
    return i + 1 == map->size ? 0 : i + 1;
}

/* How far behind its home a cell would stand at i. */
static uint32_t distance(const struct md_map *map, uint32_t home, uint32_t i)
{
    return i >= home ? i - home : i + map->size - home;
}

static void cell_insert(struct md_map *map, uint32_t hash, uint32_t value)
{
    uint32_t i = home_of(map, hash);

    while (map->cells[i].value != MD_NIL)
        i = behind(map, i);
    map->cells[i] = (struct md_map_cell){ .hash = hash, .value = value };
    map->count++;
}

static int map_grow(struct md_map *map)
{
    struct md_map bigger;
    uint64_t size = (uint64_t)map->size + map->size / 4;
    int err = size < MD_NIL ? md_map_init(&bigger, (uint32_t)size, map->memory) : MD_ERR_NOMEM;

    if (err)
        return err;
    for (uint32_t i = 0; i < map->size; i++) {
        if (map->cells[i].value != MD_NIL)
            cell_insert(&bigger, map->cells[i].hash, map->cells[i].value);
    }
    *map->memory -= (size_t)map->size * sizeof(*map->cells);
    free(map->cells);
    *map = bigger;
    return MD_OK;
}

int md_map_put(struct md_map *map, uint64_t hash, uint32_t value)
{
    int err = map->count >= map->size / 5 * 4 ? map_grow(map) : MD_OK;

    if (err == MD_OK)
        cell_insert(map, (uint32_t)hash, value);
    return err;
}

/* No tombstones: what follows the hole moves up if it may. */
void md_map_remove(struct md_map *map, uint64_t hash, uint32_t value)
{
    uint32_t i = home_of(map, (uint32_t)hash);

    while (map->cells[i].value != value || map->cells[i].hash != (uint32_t)hash) {
        MD_ASSERT(map->cells[i].value != MD_NIL);
        i = behind(map, i);
    }
    uint32_t hole = i;
    for (;;) {
        i = behind(map, i);
        if (map->cells[i].value == MD_NIL)
            break;
        uint32_t home = home_of(map, map->cells[i].hash);
        if (distance(map, home, i) >= distance(map, hole, i)) {
            map->cells[hole] = map->cells[i];
            hole = i;
        }
    }
    map->cells[hole].value = MD_NIL;
    map->count--;
}

uint32_t md_map_next(const struct md_map *map, uint64_t hash, uint32_t *cursor)
{
    uint32_t i = home_of(map, (uint32_t)hash) + *cursor;

    for (i = i < map->size ? i : i - map->size; map->cells[i].value != MD_NIL; i = behind(map, i)) {
        (*cursor)++;
        if (map->cells[i].hash == (uint32_t)hash)
            return map->cells[i].value;
    }
    return MD_NIL;
}
