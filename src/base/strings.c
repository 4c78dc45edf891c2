/* strings.c - see base/strings.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strings.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define STRING_STEP (MD_STRINGS_SHORT / MD_STRINGS_SLOTS)

/* A text with a block of its own has its pointer in a slot of the smallest size. */
static size_t string_class(size_t length)
{
    return length == 0 || length > MD_STRINGS_SHORT ? 0 : (length - 1) / STRING_STEP;
}

int md_strings_init(struct md_strings *strings, uint32_t limit, size_t *memory)
{
    int err = MD_OK;

    strings->memory = memory;
    for (uint32_t i = 0; i < MD_STRINGS_SLOTS && err == MD_OK; i++)
        err = md_slots_init(&strings->slots[i], (i + 1) * STRING_STEP, limit, memory);
    return err;
}

void md_strings_fini(struct md_strings *strings)
{
    for (uint32_t i = 0; i < MD_STRINGS_SLOTS; i++)
        md_slots_fini(&strings->slots[i]);
}

uint32_t md_strings_take(struct md_strings *strings, size_t length)
{
    uint8_t *block = length > MD_STRINGS_SHORT ? malloc(length) : NULL;
    struct md_slots *slots = &strings->slots[string_class(length)];

    if (length > MD_STRINGS_SHORT && !block)
        return MD_NIL;
    uint32_t number = md_slots_take(slots);
    if (number == MD_NIL) {
        free(block);
        return MD_NIL;
    }
    if (block) {
        memcpy(md_slots_at(slots, number), &block, sizeof(block));
        *strings->memory += length;
    }
    return number;
}

void md_strings_give(struct md_strings *strings, uint32_t number, size_t length)
{
    if (length > MD_STRINGS_SHORT) {
        free(md_strings_at(strings, number, length));
        *strings->memory -= length;
    }
    md_slots_give(&strings->slots[string_class(length)], number);
}

uint8_t *md_strings_at(const struct md_strings *strings, uint32_t number, size_t length)
{
    uint8_t *slot = md_slots_at(&strings->slots[string_class(length)], number);
    uint8_t *aside;

    if (length <= MD_STRINGS_SHORT)
        return slot;
    memcpy(&aside, slot, sizeof(aside));
    return aside;
}

size_t md_strings_memory_max(const struct md_strings *strings)
{
    size_t total = 0;

    for (uint32_t i = 0; i < MD_STRINGS_SLOTS; i++)
        total += md_slots_memory_max(&strings->slots[i]);
    return total;
}
