/* store.c - see store.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"

static size_t chunk_count(uint32_t limit)
{
    return ((size_t)limit + RRMP_SLOTS_CHUNK - 1) / RRMP_SLOTS_CHUNK;
}

int rrmp_slots_init(struct rrmp_slots *slots, size_t object_size, uint32_t limit, size_t *memory)
{
    object_size = (object_size + 7) & ~(size_t)7;
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

uint32_t rrmp_slots_take(struct rrmp_slots *slots)
{
    uint32_t number = slots->free_head;

    if (number != RRMP_NIL) {
        memcpy(&slots->free_head, rrmp_slots_at(slots, number), sizeof(slots->free_head));
    } else {
        if (slots->high >= slots->limit)
            return RRMP_NIL;
        uint8_t **chunk = &slots->chunks[slots->high / RRMP_SLOTS_CHUNK];
        if (!*chunk) {
            *chunk = malloc(RRMP_SLOTS_CHUNK * slots->object_size);
            if (!*chunk)
                return RRMP_NIL;
            *slots->memory += RRMP_SLOTS_CHUNK * slots->object_size;
        }
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

int rrmp_map_init(struct rrmp_map *map, uint32_t size, size_t *memory)
{
    uint32_t cells = 16;

    while (cells < size && cells < 1u << 30)
        cells *= 2;
    *map = (struct rrmp_map){ .memory = memory, .mask = cells - 1 };
    map->cells = malloc((size_t)cells * sizeof(*map->cells));
    if (!map->cells)
        return MD_ERR_NOMEM;
    for (uint32_t i = 0; i < cells; i++)
        map->cells[i].value = RRMP_NIL;
    *memory += (size_t)cells * sizeof(*map->cells);
    return MD_OK;
}

void rrmp_map_fini(struct rrmp_map *map)
{
    free(map->cells);
    map->cells = NULL;
}

static void cell_insert(struct rrmp_map *map, uint32_t hash, uint32_t value)
{
    uint32_t i = hash & map->mask;

    while (map->cells[i].value != RRMP_NIL)
        i = (i + 1) & map->mask;
    map->cells[i] = (struct rrmp_map_cell){ .hash = hash, .value = value };
    map->count++;
}

int rrmp_map_put(struct rrmp_map *map, uint64_t hash, uint32_t value)
{
    if (map->count >= map->mask / 4 * 3) {
        struct rrmp_map bigger;
        int err = rrmp_map_init(&bigger, (map->mask + 1) * 2, map->memory);
        if (err)
            return err;
        for (uint32_t i = 0; i <= map->mask; i++) {
            if (map->cells[i].value != RRMP_NIL)
                cell_insert(&bigger, map->cells[i].hash, map->cells[i].value);
        }
        *map->memory -= ((size_t)map->mask + 1) * sizeof(*map->cells);
        free(map->cells);
        *map = bigger;
    }
    cell_insert(map, (uint32_t)hash, value);
    return MD_OK;
}

/* Linear probing without tombstones: what follows the hole moves up if it may. */
void rrmp_map_remove(struct rrmp_map *map, uint64_t hash, uint32_t value)
{
    uint32_t i = (uint32_t)hash & map->mask;

    while (map->cells[i].value != value || map->cells[i].hash != (uint32_t)hash) {
        MD_ASSERT(map->cells[i].value != RRMP_NIL);
        i = (i + 1) & map->mask;
    }
    uint32_t hole = i;
    for (;;) {
        i = (i + 1) & map->mask;
        if (map->cells[i].value == RRMP_NIL)
            break;
        uint32_t home = map->cells[i].hash & map->mask;
        if (((i - home) & map->mask) >= ((i - hole) & map->mask)) {
            map->cells[hole] = map->cells[i];
            hole = i;
        }
    }
    map->cells[hole].value = RRMP_NIL;
    map->count--;
}

uint32_t rrmp_map_next(const struct rrmp_map *map, uint64_t hash, uint32_t *cursor)
{
    for (;;) {
        const struct rrmp_map_cell *cell = &map->cells[*cursor & map->mask];

        if (cell->value == RRMP_NIL)
            return RRMP_NIL;
        (*cursor)++;
        if (cell->hash == (uint32_t)hash)
            return cell->value;
    }
}

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
