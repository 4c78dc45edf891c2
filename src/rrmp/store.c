/* store.c - see store.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"

#define CACHE_LINE 64u

static size_t chunk_count(uint32_t limit)
{
    return ((size_t)limit + RRMP_SLOTS_CHUNK - 1) / RRMP_SLOTS_CHUNK;
}

int rrmp_slots_init(struct rrmp_slots *slots, size_t object_size, uint32_t limit, size_t *memory)
{
    MD_ASSERT(object_size >= sizeof(slots->free_head));
    *slots = (struct rrmp_slots){
        .object_size = object_size, .memory = memory, .limit = limit, .free_head = RRMP_NIL
    };
    slots->chunks = calloc(chunk_count(limit), sizeof(*slots->chunks));
    if (!slots->chunks)
        return MD_ERR_NOMEM;
    *memory += chunk_count(limit) * sizeof(*slots->chunks);
    return MD_OK;
}

void rrmp_slots_fini(struct rrmp_slots *slots)
{
    if (!slots->chunks)
        return;
    for (size_t i = 0; i < chunk_count(slots->limit); i++)
        free(slots->chunks[i]);
    free(slots->chunks);
    slots->chunks = NULL;
}

static bool chunk_make(struct rrmp_slots *slots, uint32_t number)
{
    uint8_t **chunk = &slots->chunks[number / RRMP_SLOTS_CHUNK];

    if (!*chunk)
        *chunk = aligned_alloc(CACHE_LINE, RRMP_SLOTS_CHUNK * slots->object_size);
    return *chunk != NULL;
}

int rrmp_slots_reserve(struct rrmp_slots *slots, uint32_t count)
{
    if (count > slots->limit)
        return MD_ERR_NOMEM;
    for (uint32_t n = slots->high; n < count; n = (n / RRMP_SLOTS_CHUNK + 1) * RRMP_SLOTS_CHUNK) {
        if (!chunk_make(slots, n))
            return MD_ERR_NOMEM;
    }
    return MD_OK;
}

uint32_t rrmp_slots_take(struct rrmp_slots *slots)
{
    uint32_t number = slots->free_head;

    if (number != RRMP_NIL) {
        memcpy(&slots->free_head, rrmp_slots_at(slots, number), sizeof(slots->free_head));
    } else {
        if (slots->high >= slots->limit || !chunk_make(slots, slots->high))
            return RRMP_NIL;
        *slots->memory += slots->object_size;
        number = slots->high++;
    }
    memset(rrmp_slots_at(slots, number), 0, slots->object_size);
    slots->count++;
    return number;
}

void rrmp_slots_give(struct rrmp_slots *slots, uint32_t number)
{
    uint8_t *object = rrmp_slots_at(slots, number);

    MD_ASSERT(slots->count > 0);
    memset(object, 0, slots->object_size);
    memcpy(object, &slots->free_head, sizeof(slots->free_head));
    slots->free_head = number;
    slots->count--;
}

size_t rrmp_slots_memory_max(const struct rrmp_slots *slots)
{
    size_t chunks = chunk_count(slots->limit);

    return chunks * (sizeof(*slots->chunks) + RRMP_SLOTS_CHUNK * slots->object_size);
}

/* ---- the map ---- */

int rrmp_map_init(struct rrmp_map *map, uint32_t size, size_t *memory)
{
    *map = (struct rrmp_map){ .memory = memory, .size = size < 16 ? 16 : size };
    map->cells = malloc((size_t)map->size * sizeof(*map->cells));
    if (!map->cells)
        return MD_ERR_NOMEM;
    for (uint32_t i = 0; i < map->size; i++)
        map->cells[i].value = RRMP_NIL;
    *memory += (size_t)map->size * sizeof(*map->cells);
    return MD_OK;
}

void rrmp_map_fini(struct rrmp_map *map)
{
    free(map->cells);
    map->cells = NULL;
}

static uint32_t home_of(const struct rrmp_map *map, uint32_t hash)
{
    return (uint32_t)((uint64_t)hash * map->size >> 32);
}

static uint32_t behind(const struct rrmp_map *map, uint32_t i)
{
    return i + 1 == map->size ? 0 : i + 1;
}

/* How far behind its home a cell would stand at i. */
static uint32_t distance(const struct rrmp_map *map, uint32_t home, uint32_t i)
{
    return i >= home ? i - home : i + map->size - home;
}

static void cell_insert(struct rrmp_map *map, uint32_t hash, uint32_t value)
{
    uint32_t i = home_of(map, hash);

    while (map->cells[i].value != RRMP_NIL)
        i = behind(map, i);
    map->cells[i] = (struct rrmp_map_cell){ .hash = hash, .value = value };
    map->count++;
}

static int map_grow(struct rrmp_map *map)
{
    struct rrmp_map bigger;
    uint64_t size = (uint64_t)map->size + map->size / 4;
    int err = size < RRMP_NIL ? rrmp_map_init(&bigger, (uint32_t)size, map->memory) : MD_ERR_NOMEM;

    if (err)
        return err;
    for (uint32_t i = 0; i < map->size; i++) {
        if (map->cells[i].value != RRMP_NIL)
            cell_insert(&bigger, map->cells[i].hash, map->cells[i].value);
    }
    *map->memory -= (size_t)map->size * sizeof(*map->cells);
    free(map->cells);
    *map = bigger;
    return MD_OK;
}

int rrmp_map_put(struct rrmp_map *map, uint64_t hash, uint32_t value)
{
    int err = map->count >= map->size / 5 * 4 ? map_grow(map) : MD_OK;

    if (err == MD_OK)
        cell_insert(map, (uint32_t)hash, value);
    return err;
}

/* No tombstones: what follows the hole moves up if it may. */
void rrmp_map_remove(struct rrmp_map *map, uint64_t hash, uint32_t value)
{
    uint32_t i = home_of(map, (uint32_t)hash);

    while (map->cells[i].value != value || map->cells[i].hash != (uint32_t)hash) {
        MD_ASSERT(map->cells[i].value != RRMP_NIL);
        i = behind(map, i);
    }
    uint32_t hole = i;
    for (;;) {
        i = behind(map, i);
        if (map->cells[i].value == RRMP_NIL)
            break;
        uint32_t home = home_of(map, map->cells[i].hash);
        if (distance(map, home, i) >= distance(map, hole, i)) {
            map->cells[hole] = map->cells[i];
            hole = i;
        }
    }
    map->cells[hole].value = RRMP_NIL;
    map->count--;
}

uint32_t rrmp_map_next(const struct rrmp_map *map, uint64_t hash, uint32_t *cursor)
{
    uint32_t i = home_of(map, (uint32_t)hash) + *cursor;

    for (i = i < map->size ? i : i - map->size; map->cells[i].value != RRMP_NIL;
         i = behind(map, i)) {
        (*cursor)++;
        if (map->cells[i].hash == (uint32_t)hash)
            return map->cells[i].value;
    }
    return RRMP_NIL;
}

/* ---- strings ---- */

#define STRING_STEP (RRMP_STRINGS_SHORT / RRMP_STRINGS_SLOTS)

/* Whose own block it is stands in a slot of the smallest size. */
static size_t string_class(size_t length)
{
    return length == 0 || length > RRMP_STRINGS_SHORT ? 0 : (length - 1) / STRING_STEP;
}

int rrmp_strings_init(struct rrmp_strings *strings, uint32_t limit, size_t *memory)
{
    int err = MD_OK;

    strings->memory = memory;
    for (uint32_t i = 0; i < RRMP_STRINGS_SLOTS && err == MD_OK; i++)
        err = rrmp_slots_init(&strings->slots[i], (i + 1) * STRING_STEP, limit, memory);
    return err;
}

void rrmp_strings_fini(struct rrmp_strings *strings)
{
    for (uint32_t i = 0; i < RRMP_STRINGS_SLOTS; i++)
        rrmp_slots_fini(&strings->slots[i]);
}

uint32_t rrmp_strings_take(struct rrmp_strings *strings, size_t length)
{
    uint8_t *block = length > RRMP_STRINGS_SHORT ? malloc(length) : NULL;
    struct rrmp_slots *slots = &strings->slots[string_class(length)];

    if (length > RRMP_STRINGS_SHORT && !block)
        return RRMP_NIL;
    uint32_t number = rrmp_slots_take(slots);
    if (number == RRMP_NIL) {
        free(block);
        return RRMP_NIL;
    }
    if (block) {
        memcpy(rrmp_slots_at(slots, number), &block, sizeof(block));
        *strings->memory += length;
    }
    return number;
}

void rrmp_strings_give(struct rrmp_strings *strings, uint32_t number, size_t length)
{
    if (length > RRMP_STRINGS_SHORT) {
        free(rrmp_strings_at(strings, number, length));
        *strings->memory -= length;
    }
    rrmp_slots_give(&strings->slots[string_class(length)], number);
}

uint8_t *rrmp_strings_at(const struct rrmp_strings *strings, uint32_t number, size_t length)
{
    uint8_t *slot = rrmp_slots_at(&strings->slots[string_class(length)], number);
    uint8_t *aside;

    if (length <= RRMP_STRINGS_SHORT)
        return slot;
    memcpy(&aside, slot, sizeof(aside));
    return aside;
}

size_t rrmp_strings_memory_max(const struct rrmp_strings *strings)
{
    size_t total = 0;

    for (uint32_t i = 0; i < RRMP_STRINGS_SLOTS; i++)
        total += rrmp_slots_memory_max(&strings->slots[i]);
    return total;
}

/* ---- timers ---- */

static struct rrmp_timer *timer_at(const struct rrmp_wheel *wheel, uint32_t number)
{
    uint8_t *object = rrmp_slots_at(wheel->slots, number);

    return (struct rrmp_timer *)(void *)(object + wheel->offset);
}

void rrmp_wheel_init(struct rrmp_wheel *wheel, const struct rrmp_slots *slots, size_t offset)
{
    memset(wheel, 0, sizeof(*wheel));
    wheel->slots = slots;
    wheel->offset = offset;
    for (size_t i = 0; i < RRMP_WHEEL_SLOTS; i++)
        wheel->heads[i] = RRMP_NIL;
}

void rrmp_wheel_set(struct rrmp_wheel *wheel, uint32_t number, uint64_t due_ns)
{
    struct rrmp_timer *timer = timer_at(wheel, number);
    uint64_t step = due_ns / RRMP_WHEEL_STEP_NS + 1;

    rrmp_wheel_cancel(wheel, number);
    if (step <= wheel->position)
        step = wheel->position + 1;
    timer->slot = (uint16_t)(step % RRMP_WHEEL_SLOTS);
    timer->due_ns = due_ns;
    timer->is_set = true;
    timer->prev = RRMP_NIL;
    timer->next = wheel->heads[timer->slot];
    if (timer->next != RRMP_NIL)
        timer_at(wheel, timer->next)->prev = number;
    wheel->heads[timer->slot] = number;
    wheel->busy[timer->slot / 64] |= 1ull << timer->slot % 64;
    wheel->count++;
}

void rrmp_wheel_cancel(struct rrmp_wheel *wheel, uint32_t number)
{
    struct rrmp_timer *timer = timer_at(wheel, number);

    if (!timer->is_set)
        return;
    if (timer->prev != RRMP_NIL)
        timer_at(wheel, timer->prev)->next = timer->next;
    else
        wheel->heads[timer->slot] = timer->next;
    if (timer->next != RRMP_NIL)
        timer_at(wheel, timer->next)->prev = timer->prev;
    if (wheel->heads[timer->slot] == RRMP_NIL)
        wheel->busy[timer->slot / 64] &= ~(1ull << timer->slot % 64);
    timer->is_set = false;
    wheel->count--;
}

uint32_t rrmp_wheel_expire(struct rrmp_wheel *wheel, uint64_t now_ns)
{
    uint64_t last = now_ns / RRMP_WHEEL_STEP_NS;

    if (wheel->count == 0) {
        wheel->position = last;
        return RRMP_NIL;
    }
    if (last > wheel->position + RRMP_WHEEL_SLOTS)
        wheel->position = last - RRMP_WHEEL_SLOTS; /* one turn visits every slot */
    /* The slot at `position` may hold more that are due: it is left only when none is. */
    for (;;) {
        uint32_t number = wheel->heads[wheel->position % RRMP_WHEEL_SLOTS];

        while (number != RRMP_NIL) {
            struct rrmp_timer *timer = timer_at(wheel, number);

            if (timer->due_ns <= now_ns) {
                rrmp_wheel_cancel(wheel, number);
                return number;
            }
            number = timer->next;
        }
        if (wheel->position >= last)
            return RRMP_NIL;
        wheel->position++;
    }
}

uint64_t rrmp_wheel_deadline(const struct rrmp_wheel *wheel)
{
    if (wheel->count == 0)
        return UINT64_MAX;
    for (uint64_t i = 0; i < RRMP_WHEEL_SLOTS; i++) {
        uint64_t slot = (wheel->position + i) % RRMP_WHEEL_SLOTS;

        if (slot % 64 == 0 && wheel->busy[slot / 64] == 0) {
            i += 63;
            continue;
        }
        if (wheel->busy[slot / 64] & 1ull << slot % 64)
            return (wheel->position + i) * RRMP_WHEEL_STEP_NS;
    }
    return UINT64_MAX;
}
