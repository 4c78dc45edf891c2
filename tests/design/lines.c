/* lines.c - see lines.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lines.h"

#include <stdio.h>
#include <stdlib.h>

void *lines_take(void *context, size_t bytes)
{
    (void)context;
    return calloc(1, bytes);
}

void lines_give(void *context, void *memory, size_t bytes)
{
    (void)context;
    (void)bytes;
    free(memory);
}

void print_hex(const uint8_t *bytes, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++)
        printf("%02x", bytes[i]);
    printf("%s\n", length ? "" : "-");
}

uint32_t read_hex(const char *hex, uint8_t *out, uint32_t room)
{
    uint32_t n = 0;

    for (; n < room && hex[2 * n] > ' ' && hex[2 * n + 1] > ' '; n++) {
        unsigned value = 0;

        (void)sscanf(hex + 2 * n, "%2x", &value);
        out[n] = (uint8_t)value;
    }
    return n;
}
