/* client_parts.c - the end of a client's connection, and its buffers. See client_parts.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "client_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void ws_client_end(struct ws_client *c, const char *format, ...)
{
    va_list args;

    if (c->phase == WS_CLIENT_CLOSING)
        return;
    va_start(args, format);
    vsnprintf(c->reason, sizeof(c->reason), format, args);
    va_end(args);
    for (char *at = c->reason; *at; at++)
        *at = (unsigned char)*at < 0x20 || *at == 0x7F ? ' ' : *at;
    c->phase = WS_CLIENT_CLOSING;
    c->kept.length = c->parts.length = 0;
}

int ws_client_keep(struct ws_client_buffer *b, size_t max, const void *bytes, size_t length)
{
    if (b->begin > 0) {
        memmove(b->bytes, b->bytes + b->begin, b->length - b->begin);
        b->length -= b->begin;
        b->begin = 0;
    }
    if (length > max || b->length > max - length)
        return MD_ERR_FULL;
    if (b->length + length > b->room) {
        size_t wanted = b->room ? b->room * 2 : 1024;
        while (wanted < b->length + length)
            wanted *= 2;
        uint8_t *grown = realloc(b->bytes, wanted);
        if (!grown)
            return MD_ERR_NOMEM;
        b->bytes = grown;
        b->room = wanted;
    }
    if (length)
        memcpy(b->bytes + b->length, bytes, length);
    b->length += length;
    return MD_OK;
}
