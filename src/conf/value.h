/* value.h - the text of a value against its row. Private to conf. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_CONF_VALUE_H
#define MD_CONF_VALUE_H

#include "conf/table.h"

#define VALUE_WHY_MAX 512

/*
 * Read `text` as the row's type. Numbers, Booleans, words (their index), times (ns), ports go to
 * *number; texts leave it 0. False when it is none of it: `why` then says what was expected, as
 * the end of the sentence that begins with the value: "is not a port (1..65535, ...)".
 */
bool value_parse(const struct md_conf_row *row, const char *text, int64_t *number,
                 char why[VALUE_WHY_MAX]);

/* Type and range of a row, for people: "integer 1..65000", "ms 0..1000". */
void value_describe(const struct md_conf_row *row, char *out, size_t size);

/* Edit distance with transpositions, or `max` + 1 when it is more than `max`. */
unsigned text_distance(const char *a, size_t a_length, const char *b, unsigned max);

#endif
