/* csv.h - rows of a CSV, as rmdsrec export writes it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CSV_H
#define CSV_H

#include <stdio.h>

#include "recording/format.h"
#include "rmds/rwf.h"

#define CSV_LINE_MAX (2 * REC_MESSAGE_MAX + 8192) /* the longest message, as digits */
#define CSV_CELLS    8u

struct csv {
    FILE *file;
    uint64_t line; /* the one at hand, from 1 */
    char text[CSV_LINE_MAX];
    struct rwf_bytes cells[CSV_CELLS];
};

/* 1 with a row, 0 at the end, MD_ERR_MALFORMED: not eight cells, MD_ERR_RANGE: a line too long. */
int csv_next(struct csv *csv);
/* "Go on at cell n", ESC [ n `, in the content of a string that is updated in part. The table has
 * the sign for ESC in place of it: no table moves a cursor. The length of the position behind the
 * ESC at `text`, or 0: there is none. */
size_t csv_position(const char *text, size_t length);
#define CSV_ESCAPE "\xe2\x90\x9b"
/*
 * The RMTES string of a cell, in `room` or the cell itself: a byte for each character where its
 * sets have them all, since positions count bytes. Else an escape sequence says that UTF-8 follows;
 * the part of a string cannot have it, or it would write over what the part leaves as it is. False:
 * it is such a part, or `size` bytes are less than twice the cell.
 */
bool csv_rmtes(struct rwf_bytes text, uint8_t *room, size_t size, struct rwf_bytes *out);

/* Whether values of this (base) type are text in a cell; those of others are hexadecimal digits. */
bool csv_has_text(unsigned type);

#endif
