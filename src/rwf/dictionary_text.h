/* dictionary_text.h - lines and words of a dictionary file; for src/rwf/dictionary*.c alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RWF_DICTIONARY_TEXT_H
#define RWF_DICTIONARY_TEXT_H

#include "dictionary_store.h"

/* Goes through a text line by line; blanks are spaces and tabs, a CR before the LF is no part. */
struct text_scan {
    const char *file;
    const char *next;     /* the start of the next line */
    const char *text_end; /* the end of the text */
    const char *pos;      /* in the present line */
    const char *end;
    unsigned line; /* from 1 */
    struct rwf_dictionary_error *error;
};

struct text_scan text_begin(const char *file, const void *text, size_t length,
                            struct rwf_dictionary_error *error);
bool text_next_line(struct text_scan *scan);

/* Step over blanks; false at the end of the line. */
bool text_skip_blanks(struct text_scan *scan);

/* The next bytes up to a blank; empty at the end of the line. */
struct store_view text_word(struct text_scan *scan);

/* The rest of the line, without blanks around it. */
struct store_view text_rest(struct text_scan *scan);

/* The text between the mark at the present position and the next such mark. */
bool text_between(struct text_scan *scan, char mark, struct store_view *inside);

/* A decimal number within limits, which a blank, '(' or ')' or the end of the line follows. */
bool text_number(struct text_scan *scan, long min, long max, long *number);

bool text_is(struct store_view view, const char *word);
bool text_starts_with(struct store_view view, const char *word);

/*
 * The error "FILE:LINE: BEFORE 'FOUND'AFTER" at `line`; unprintable bytes of `found` become '?',
 * and it is cut when long. Returns `err`.
 */
int text_fail(const struct text_scan *scan, unsigned line, int err, const char *before,
              struct store_view found, const char *after);
/* The same with a number. */
int text_fail_number(const struct text_scan *scan, unsigned line, int err, const char *before,
                     long number, const char *after);

#endif
