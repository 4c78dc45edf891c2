/* lock.c - permission data, as text. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "entitle/lock.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "conf/options.h"
#include "rules.h"

static size_t read_hex(const char *word, char *out, size_t size)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    size_t length = strlen(word);
    unsigned byte;

    if (length == 0 || length % 2 || length / 2 > size || strspn(word, digits) != length)
        return 0;
    for (size_t i = 0; i < length / 2; i++) {
        sscanf(word + 2 * i, "%2x", &byte);
        out[i] = (char)byte;
    }
    return length / 2;
}

static size_t read_base64(const char *word, char *out, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t length = strcspn(word, "="), used = 0;
    uint32_t bits = 0;

    if (length % 4 == 1 || strspn(word + length, "=") != strlen(word + length))
        return 0;
    for (size_t i = 0; i < length; i++) {
        const char *digit = strchr(digits, word[i]);

        if (!digit || used == size)
            return 0;
        bits = bits << 6 | (uint32_t)(digit - digits);
        if (i % 4 != 0)
            out[used++] = (char)(bits >> (6 - 2 * (i % 4)));
    }
    return used;
}

size_t access_lock_read(const char *word, char *out, size_t size)
{
    size_t length = read_hex(word, out, size);

    return length ? length : read_base64(word, out, size);
}

static bool holds_nothing(void *self, uint16_t service, uint32_t code)
{
    (void)self;
    (void)service;
    (void)code;
    return false;
}

int access_lock(const char *const words[], size_t count)
{
    int code = MD_EXIT_OK;
    char lock[32768], text[4096];

    for (size_t i = 0; i < count; i++) {
        struct entitle_lock_reader reader = { .holds = holds_nothing,
                                              .text = text,
                                              .text_size = sizeof(text) };
        size_t length = access_lock_read(words[i], lock, sizeof(lock));
        enum entitle_lock_kind kind =
            entitle_lock_read((struct entitle_view){ lock, length }, &reader);

        if (length && kind == ENTITLE_LOCK_FINE) {
            printf("%s  %s%s\n", words[i], text, reader.is_null ? "(needs nothing)" : "");
            continue;
        }
        printf("%s  %s%s\n", words[i],
               length ? "these permission data " : "this is neither hexadecimal digits nor base64",
               length ? entitle_lock_kind_name(kind) : "");
        code = MD_EXIT_FILE;
    }
    return code;
}
