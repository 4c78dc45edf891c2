/* fuzz_entitle_lock.c - any bytes as permission data. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "entitle/lock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool holds(void *self, uint16_t service, uint32_t code)
{
    ++*(unsigned *)self;
    return (service ^ code) & 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[64];
    unsigned codes = 0;
    struct entitle_lock_reader reader = {
        .holds = holds,
        .text = text,
        .text_size = sizeof(text),
        .self = &codes,
    };
    enum entitle_lock_kind kind =
        entitle_lock_read((struct entitle_view){ (const char *)data, size }, &reader);

    if (kind != ENTITLE_LOCK_FINE && (reader.is_open || reader.is_null))
        abort();
    if (reader.is_null && codes > 0)
        abort();
    if (strlen(text) >= sizeof(text) || strlen(entitle_lock_kind_name(kind)) == 0)
        abort();
    return 0;
}
