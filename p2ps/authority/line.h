/* line.h - one line of the authority's protocol: a JSON object of texts, numbers, lists of texts.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_AUTHORITY_LINE_H
#define P2PS_AUTHORITY_LINE_H

#include "entitle/entitle.h"

#define AUTHORITY_MEMBERS_MAX 32u

enum authority_kind {
    AUTHORITY_TEXT,
    AUTHORITY_NUMBER, /* a whole one, not negative */
    AUTHORITY_LIST,   /* of texts; `text` has them with commas between */
    AUTHORITY_OBJECT, /* of texts; `text` has a name, a tab and its text, a line feed between two */
    AUTHORITY_WORD,   /* true, false, null */
};

struct authority_member {
    struct entitle_view name;
    enum authority_kind kind;
    struct entitle_view text; /* without escapes */
    uint64_t number;
    bool is_odd; /* AUTHORITY_OBJECT: control characters are in it besides */
};

struct authority_line {
    struct authority_member members[AUTHORITY_MEMBERS_MAX];
    unsigned count;
};

/* Reads the bytes of a line, without its newline, and writes into them: texts lose their escapes.
 * NULL: it was read; else what is wrong with it. */
const char *authority_line_read(char *bytes, size_t length, struct authority_line *line);
/* NULL: the line has no member of that name and kind. */
const struct authority_member *authority_line_find(const struct authority_line *line,
                                                   const char *name, enum authority_kind kind);

bool authority_has_control(struct entitle_view text);

/* A line that is being written. is_full: something did not fit, or is no UTF-8; it is worthless. */
struct authority_out {
    char *bytes;
    size_t size;
    size_t used;
    bool is_full;
};

/* ,"name":"value"; the first member of an object without its comma. */
void authority_out_text(struct authority_out *out, const char *name, struct entitle_view value);
void authority_out_number(struct authority_out *out, const char *name, uint64_t value);
void authority_out_word(struct authority_out *out, const char *name, const char *word);
void authority_out_end(struct authority_out *out);

#endif
