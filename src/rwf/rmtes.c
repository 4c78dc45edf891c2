/* rmtes.c - see rmds/rwf_rmtes.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rmds/rwf_rmtes.h"

#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/utf8.h"
#include "jisx0208.h"

enum {
    ESC = 0x1b,
    NO_CHARACTER = 0xfffd,
    COMMAND_NUMBER_MAX = 65535, /* the longest field content there is */
};

enum charset {
    CHARSET_ASCII,
    CHARSET_LATIN, /* basic set 2 */
    CHARSET_JIS_LATIN,
    CHARSET_KATAKANA,
    CHARSET_KANJI,
    CHARSET_UNKNOWN_1, /* one byte each */
    CHARSET_UNKNOWN_2, /* two bytes each */
};

/* ---- commands of partial updates ---- */

enum command_kind {
    COMMAND_NONE, /* the bytes are not a command */
    COMMAND_POSITION,
    COMMAND_REPEAT,
    COMMAND_BROKEN,
};

struct command {
    enum command_kind kind;
    size_t number;
    size_t length; /* of the whole sequence */
};

/* The sequence at `content`, which starts with ESC. */
static struct command command_at(const uint8_t *content, size_t length)
{
    struct command command = { .kind = COMMAND_NONE };
    size_t i = 2;

    if (length < 2) {
        command.kind = COMMAND_BROKEN;
        return command;
    }
    if (content[1] != '[')
        return command;
    while (i < length && content[i] >= '0' && content[i] <= '9') {
        command.number = command.number * 10 + (size_t)(content[i++] - '0');
        if (command.number > COMMAND_NUMBER_MAX)
            command.number = COMMAND_NUMBER_MAX;
    }
    if (i < length && content[i] == '`')
        command.kind = COMMAND_POSITION;
    else if (i < length && content[i] == 'b')
        command.kind = COMMAND_REPEAT;
    else
        command.kind = COMMAND_BROKEN;
    command.length = i + 1;
    return command;
}

bool rwf_rmtes_is_partial(const uint8_t *content, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (content[i] != ESC)
            continue;
        struct command command = command_at(content + i, length - i);
        if (command.kind == COMMAND_POSITION || command.kind == COMMAND_REPEAT)
            return true;
    }
    return false;
}

/* The result of one pass over a content. */
struct walk {
    uint8_t *stored; /* NULL: only check */
    size_t capacity;
    size_t filled; /* of the string, by what was there and what was written */
    size_t pos;
    size_t end;       /* of what is written */
    bool has_byte;    /* the byte before `pos` was written by this content: it can be repeated */
    bool is_moved;    /* a position was met: what is not written over stays */
    bool has_command; /* a position, or a repetition */
};

static int walk_position(struct walk *walk, size_t to)
{
    if (to > walk->capacity)
        return MD_ERR_FULL;
    if (walk->stored && to > walk->filled)
        memset(walk->stored + walk->filled, ' ', to - walk->filled);
    walk->pos = to;
    walk->has_byte = false;
    walk->is_moved = true;
    return MD_OK;
}

static int walk_write(struct walk *walk, uint8_t byte, size_t count)
{
    if (count > walk->capacity - walk->pos)
        return MD_ERR_FULL;
    if (walk->stored && count == 1)
        walk->stored[walk->pos] = byte;
    else if (walk->stored)
        memset(walk->stored + walk->pos, byte, count);
    walk->pos += count;
    walk->has_byte = true;
    return MD_OK;
}

/* With `stored` NULL it only checks, which is how a failure leaves the string as it was. */
static int walk(struct walk *walk, const uint8_t *content, size_t length)
{
    uint8_t last = 0; /* the byte that a command repeats */
    int err = MD_OK;

    for (size_t i = 0; i < length && err == MD_OK;) {
        struct command command = { .kind = COMMAND_NONE, .length = 1 };

        if (content[i] == ESC)
            command = command_at(content + i, length - i);
        if (command.kind == COMMAND_BROKEN || (command.kind == COMMAND_REPEAT && !walk->has_byte))
            return MD_ERR_MALFORMED;
        if (command.kind == COMMAND_NONE) {
            last = content[i++];
            err = walk_write(walk, last, 1);
        } else {
            err = command.kind == COMMAND_POSITION ? walk_position(walk, command.number)
                                                   : walk_write(walk, last, command.number);
            walk->has_command = true;
            i += command.length;
        }
        if (walk->pos > walk->end)
            walk->end = walk->pos;
        if (walk->pos > walk->filled)
            walk->filled = walk->pos;
    }
    return err;
}

int rwf_rmtes_apply(uint8_t *stored, size_t capacity, size_t *stored_length, const uint8_t *content,
                    size_t length)
{
    struct walk pass = { .capacity = capacity, .filled = *stored_length };

    MD_ASSERT(*stored_length <= capacity);
    int err = walk(&pass, content, length);
    if (err != MD_OK)
        return err;
    if (!pass.has_command) { /* nearly always */
        if (length)
            memcpy(stored, content, length);
        *stored_length = length;
        return MD_OK;
    }
    bool replaces = !pass.is_moved;
    pass = (struct walk){ .stored = stored, .capacity = capacity, .filled = *stored_length };
    walk(&pass, content, length);
    if (replaces || pass.end > *stored_length)
        *stored_length = pass.end;
    return MD_OK;
}

/* ---- UTF-8 ---- */

struct text {
    char *bytes;
    size_t size;
    size_t length;
    bool full;
};

static void put_bytes(struct text *text, const void *bytes, size_t length)
{
    if (text->full || length > text->size - text->length) {
        text->full = true;
        return;
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

static void put_char(struct text *text, uint32_t c)
{
    uint8_t utf8[4];

    put_bytes(text, utf8, (size_t)(md_utf8_put(utf8, c) - utf8));
}

static size_t convert_utf8(const uint8_t *p, size_t left, struct text *text)
{
    size_t length = md_utf8_length(p, left);

    if (length == 0) {
        put_char(text, NO_CHARACTER);
        return 1;
    }
    put_bytes(text, p, length);
    return length;
}

/* ---- the character sets ---- */

/*
 * Basic set 2 is Latin-1 but for these; five are signs of the vendor's own that Unicode does not
 * have, and are shown as applications with the vendor's library show them.
 */
static const struct {
    uint8_t byte;
    char sign; /* "_" and this, or 0 */
    uint16_t unicode;
} latin_exceptions[] = {
    { 0xa4, 'r', 0 },    { 0xa6, 'w', 0 },    { 0xa8, 0, 0x00a4 }, { 0xac, 0, 0x215b },
    { 0xad, 0, 0x215c }, { 0xae, 0, 0x215d }, { 0xaf, 0, 0x215e }, { 0xb4, 't', 0 },
    { 0xb8, 0, 0x2407 }, { 0xd0, 'p', 0 },    { 0xd7, 0, 0x0152 }, { 0xdd, 0, 0x0178 },
    { 0xde, 0, 0x21e7 }, { 0xf0, 'u', 0 },    { 0xf7, 0, 0x0153 }, { 0xfd, 0, 0x00ff },
    { 0xfe, 0, 0x21e9 },
};

static void put_latin(struct text *text, uint8_t byte)
{
    for (size_t i = 0; i < sizeof(latin_exceptions) / sizeof(latin_exceptions[0]); i++) {
        if (latin_exceptions[i].byte != byte)
            continue;
        if (!latin_exceptions[i].sign) {
            put_char(text, latin_exceptions[i].unicode);
        } else {
            put_char(text, '_');
            put_char(text, (uint8_t)latin_exceptions[i].sign);
        }
        return;
    }
    put_char(text, byte);
}

static uint32_t kanji(uint8_t row, uint8_t column)
{
    uint16_t c;

    if (row < 0x21 || row >= 0x21 + RWF_JISX0208_ROWS || column < 0x21 || column > 0x7e)
        return NO_CHARACTER;
    c = rwf_jisx0208[row - 0x21][column - 0x21];
    return c ? c : NO_CHARACTER;
}

/* The character of `set` at `p`, the high bit of its bytes apart; returns the bytes it took. */
static size_t convert(enum charset set, const uint8_t *p, size_t left, struct text *text)
{
    uint8_t byte = p[0] & 0x7f;

    switch (set) {
    case CHARSET_ASCII:
    case CHARSET_JIS_LATIN: /* its yen sign and overline are shown as ASCII, as ETA does */
        put_char(text, byte == 0x7f ? NO_CHARACTER : byte);
        return 1;
    case CHARSET_LATIN:
        if (byte == 0x20 || byte == 0x7f)
            put_char(text, byte == 0x20 ? ' ' : NO_CHARACTER);
        else
            put_latin(text, byte | 0x80);
        return 1;
    case CHARSET_KATAKANA:
        if (byte == 0x20)
            put_char(text, ' ');
        else
            put_char(text, byte <= 0x5f ? 0xff61u + byte - 0x21 : NO_CHARACTER);
        return 1;
    case CHARSET_UNKNOWN_1:
        put_char(text, NO_CHARACTER);
        return 1;
    case CHARSET_KANJI:
    case CHARSET_UNKNOWN_2:
        if (byte == 0x20) {
            put_char(text, ' ');
            return 1;
        }
        if (left < 2 || (p[1] & 0x7f) < 0x21) {
            put_char(text, NO_CHARACTER);
            return 1;
        }
        put_char(text, set == CHARSET_KANJI ? kanji(byte, p[1] & 0x7f) : NO_CHARACTER);
        return 2;
    }
    return 1;
}

/* ---- the ISO 2022 state ---- */

struct shift_state {
    enum charset set[4];
    uint8_t left;  /* which of them bytes 20..7E mean */
    uint8_t right; /* and bytes A0..FF */
    bool utf8;
};

static enum charset one_byte_set(uint8_t final)
{
    switch (final) {
    case 0x42:
        return CHARSET_ASCII;
    case 0x4a:
        return CHARSET_JIS_LATIN;
    case 0x49:
    case 0x32:
        return CHARSET_KATAKANA;
    case 0x31:
        return CHARSET_LATIN;
    case 0x33:
        return CHARSET_KANJI; /* the set G3 starts with */
    }
    return CHARSET_UNKNOWN_1;
}

static enum charset two_byte_set(uint8_t final)
{
    return final == 0x42 || final == 0x33 || final == 0x34 ? CHARSET_KANJI : CHARSET_UNKNOWN_2;
}

/* Obeys the escape sequence at `p`; returns its length (to the end of the string, if unfinished).
 */
static size_t escape(struct shift_state *state, const uint8_t *p, size_t left)
{
    size_t slot;

    if (left < 2)
        return left;
    switch (p[1]) {
    case 0x6e:
        state->left = 2;
        return 2;
    case 0x6f:
        state->left = 3;
        return 2;
    case 0x7e:
        state->right = 1;
        return 2;
    case 0x7d:
        state->right = 2;
        return 2;
    case 0x7c:
        state->right = 3;
        return 2;
    case 0x25: /* another coding system; UTF-8 is the only one known */
    case 0x26: /* announces a revision of the designation that follows */
        if (left >= 3 && p[1] == 0x25 && p[2] == 0x30)
            state->utf8 = true;
        return left < 3 ? left : 3;
    case 0x28:
    case 0x29:
    case 0x2a:
    case 0x2b:
        if (left < 3)
            return left;
        state->set[p[1] - 0x28] = one_byte_set(p[2]);
        return 3;
    case 0x24:
        if (left >= 3 && (p[2] == 0x40 || p[2] == 0x41 || p[2] == 0x42)) { /* short form, for G0 */
            state->set[0] = p[2] == 0x41 ? CHARSET_UNKNOWN_2 : CHARSET_KANJI;
            return 3;
        }
        if (left < 4)
            return left;
        slot = (size_t)(p[2] - 0x28);
        if (p[2] >= 0x28 && slot < 4)
            state->set[slot] = two_byte_set(p[3]);
        return 4;
    }
    return 2;
}

/* Applies one control byte or one character at `p`; returns the bytes it took. */
static size_t step(struct shift_state *state, const uint8_t *p, size_t left, struct text *text)
{
    if (p[0] == 0x0e || p[0] == 0x0f) {
        state->left = p[0] == 0x0e;
        return 1;
    }
    if (p[0] < 0x20) {
        put_char(text, p[0]);
        return 1;
    }
    if (p[0] < 0x80)
        return convert(state->set[state->left], p, left, text);
    if (p[0] >= 0xa0)
        return convert(state->set[state->right], p, left, text);
    if ((p[0] == 0x8e || p[0] == 0x8f) && left >= 2 && (p[1] & 0x7f) >= 0x20)
        return 1 + convert(state->set[p[0] == 0x8e ? 2 : 3], p + 1, left - 1, text);
    put_char(text, NO_CHARACTER);
    return 1;
}

/* The last character once more, `count` times: what repeating its byte comes to. */
static void repeat(struct text *text, size_t from, size_t count)
{
    char last[8];
    size_t length = text->length - from;

    if (length == 0 || length > sizeof(last))
        return;
    memcpy(last, text->bytes + from, length);
    while (count-- > 0 && !text->full)
        put_bytes(text, last, length);
}

/* How many bytes at `p` stand for themselves, as nearly all bytes of nearly all strings do. */
static size_t plain_length(const struct shift_state *state, const uint8_t *p, size_t left)
{
    size_t length = 0;

    if (!state->utf8 && state->set[state->left] != CHARSET_ASCII)
        return 0;
    while (length < left && p[length] >= 0x20 && p[length] < 0x7f)
        length++;
    return length;
}

static int to_utf8(const uint8_t *string, size_t length, char *out, size_t size,
                   size_t *text_length, bool keeps_positions)
{
    struct shift_state state = {
        .set = { CHARSET_ASCII, CHARSET_LATIN, CHARSET_KATAKANA, CHARSET_KANJI },
        .left = 0,
        .right = 1,
    };
    struct text text = { .bytes = out, .size = size };
    size_t last = 0; /* where the last character starts in the text */

    for (size_t i = 0; i < length && string[i] != 0 && !text.full;) {
        const uint8_t *p = string + i;
        size_t left = length - i;
        struct command command = { .kind = COMMAND_NONE };
        size_t plain = plain_length(&state, p, left);

        if (plain > text.size - text.length)
            plain = text.size - text.length;
        if (plain > 0) {
            put_bytes(&text, p, plain);
            last = text.length - 1;
            i += plain;
            continue;
        }
        if (p[0] == ESC)
            command = command_at(p, left);
        if (command.kind == COMMAND_POSITION || command.kind == COMMAND_REPEAT) {
            if (command.kind == COMMAND_REPEAT)
                repeat(&text, last, command.number);
            else if (keeps_positions)
                put_bytes(&text, p, command.length);
            i += command.length;
        } else if (p[0] == ESC && !state.utf8) {
            i += escape(&state, p, left);
        } else {
            last = text.length;
            i += state.utf8 ? convert_utf8(p, left, &text) : step(&state, p, left, &text);
        }
    }
    *text_length = text.length;
    return text.full ? MD_ERR_FULL : MD_OK;
}

int rwf_rmtes_to_utf8(const uint8_t *string, size_t length, char *out, size_t size,
                      size_t *text_length)
{
    return to_utf8(string, length, out, size, text_length, false);
}

int rwf_rmtes_update_to_utf8(const uint8_t *content, size_t length, char *out, size_t size,
                             size_t *text_length)
{
    return to_utf8(content, length, out, size, text_length, true);
}

/* The byte of basic set 2 for a character, or 0. */
static uint8_t latin_byte(uint32_t c)
{
    bool is_taken = c > 0xff;

    if (c <= 0xa0)
        return 0;
    for (size_t i = 0; i < sizeof(latin_exceptions) / sizeof(latin_exceptions[0]); i++) {
        if (latin_exceptions[i].unicode == c)
            return latin_exceptions[i].byte;
        is_taken = is_taken || latin_exceptions[i].byte == c;
    }
    return is_taken ? 0 : (uint8_t)c;
}

/* Two or three bytes of legal UTF-8; 0: more. */
static uint32_t character(const uint8_t *p, size_t length)
{
    if (length == 2)
        return (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
    return length == 3 ? (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu) : 0;
}

int rwf_rmtes_from_utf8(const uint8_t *text, size_t length, uint8_t *string, size_t size,
                        size_t *string_length)
{
    size_t count = 0;

    for (size_t i = 0; i < length; count++) {
        size_t step = md_utf8_length(text + i, length - i);
        uint8_t byte = step == 1 ? text[i] : step ? latin_byte(character(text + i, step)) : 0;

        if (byte == 0 && step != 1)
            return MD_ERR_RANGE;
        if (count == size)
            return MD_ERR_FULL;
        string[count] = byte;
        i += step;
    }
    *string_length = count;
    return MD_OK;
}
