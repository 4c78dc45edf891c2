/* admin_text.c - text that grows up to a bound; see daemon/admin.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "admin_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_MAX = 2048 };

static bool reserve(struct daemon_text *text, size_t more)
{
    size_t room = text->room ? text->room : 4096;

    while (room < text->length + more)
        room *= 2;
    if (room == text->room)
        return true;
    char *bytes = realloc(text->bytes, room);
    if (!bytes)
        return false;
    text->bytes = bytes;
    text->room = room;
    return true;
}

static void add(struct daemon_text *text, const char *bytes, size_t length)
{
    if (text->is_cut || text->length + length > text->max || !reserve(text, length)) {
        text->is_cut = true;
        return;
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

void daemon_text_add_bytes(struct daemon_text *text, const char *bytes, size_t length)
{
    if (length > 0)
        add(text, bytes, length);
}

void daemon_text_add(struct daemon_text *text, const char *format, ...)
{
    char piece[PIECE_MAX];
    va_list words;

    va_start(words, format);
    int length = vsnprintf(piece, sizeof(piece), format, words);
    va_end(words);
    if (length > 0)
        add(text, piece, (size_t)length < sizeof(piece) ? (size_t)length : sizeof(piece) - 1);
}

void daemon_text_add_word(struct daemon_text *text, const char *bytes, size_t length)
{
    if (length == 0)
        add(text, "-", 1);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c > 0x20 && c < 0x7f && c != '\\')
            add(text, bytes + i, 1);
        else
            daemon_text_add(text, "\\x%02x", c);
    }
}

void daemon_text_end(struct daemon_text *text, const char *words)
{
    size_t line = text->length;

    while (line > 0 && text->bytes[line - 1] != '\n')
        line--;
    text->length = line;
    text->is_cut = false;
    text->max += strlen(words);
    add(text, words, strlen(words));
}

void daemon_text_free(struct daemon_text *text)
{
    free(text->bytes);
    *text = (struct daemon_text){ .length = 0 };
}
