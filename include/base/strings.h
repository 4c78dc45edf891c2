/* base/strings.h - short strings of bytes by number. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_STRINGS_H
#define MD_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/slots.h"

/*
 * Short strings of bytes by number, in slots of 8, 16, .. 64 bytes; a longer one has a block of its
 * own. Who keeps the number keeps the length.
 */
#define MD_STRINGS_SLOTS 8u
#define MD_STRINGS_SHORT 64u /* longest that stands in a slot */

struct md_strings {
    struct md_slots slots[MD_STRINGS_SLOTS];
    size_t *memory;
};

int md_strings_init(struct md_strings *strings, uint32_t limit, size_t *memory);
/* Longer ones must have been given back. */
void md_strings_fini(struct md_strings *strings);
/* Room for `length` bytes, to be written by the caller; or MD_NIL. */
uint32_t md_strings_take(struct md_strings *strings, size_t length);
void md_strings_give(struct md_strings *strings, uint32_t number, size_t length);
uint8_t *md_strings_at(const struct md_strings *strings, uint32_t number, size_t length);
/* Most bytes that the slots can ever hold. */
size_t md_strings_memory_max(const struct md_strings *strings);

#endif
