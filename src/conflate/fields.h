/* fields.h - field lists: the newest value of each field, old values that ripple, whole strings. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONFLATE_FIELDS_H
#define CONFLATE_FIELDS_H

#include "private.h"

void conflate_table_clear(struct conflate_table *table);
/* False: the table is full. */
bool conflate_table_put(struct conflate_table *table, int16_t id, struct rwf_bytes content);
/* The content looks like a part of a string, and the type of the field is not known. */
bool conflate_field_is_doubtful(const struct conflate *c, int16_t id, struct rwf_bytes content);

/* A list, and the set definitions that its set data refers to. */
struct conflate_list {
    struct rwf_bytes bytes;
    const struct rwf_sets *sets;
};

/* The image of a consumer before the update that is folded next. */
void conflate_fields_begin(struct conflate *c, struct rwf_bytes image, bool is_known);
/* Fields that the run has changed already: `list` is its pending update, which `image` contains.
 * False: what it changes cannot be known. */
bool conflate_fields_touch(struct conflate *c, struct rwf_bytes list, bool ripples);
/* Fields that `list` changes. False: as before. */
bool conflate_fields_fold(struct conflate *c, struct rwf_bytes list, bool ripples);
/* True: `fresh` says all that `old` and it change, as an update of the same fields in the same
 * order does; nothing of both needs an image. `ripples`: one of them is not without ripples. */
bool conflate_fields_replace(const struct conflate *c, struct rwf_bytes old, struct rwf_bytes fresh,
                             bool ripples);
/* The list of all of them; its dictionary and template are those of the newest list that has them.
 * An RWF_ERR_. */
int conflate_fields_write(const struct conflate *c, struct rwf_encoder *enc, struct rwf_bytes old,
                          struct rwf_bytes fresh);
/* Both lists as one, without an image. False: not possible. */
bool conflate_fields_merge(struct conflate *c, struct rwf_encoder *enc, struct conflate_list old,
                           bool old_is_whole, struct conflate_list fresh);
/* A list with its set data written out as standard data. False: not possible. */
bool conflate_fields_copy(struct conflate *c, struct rwf_encoder *enc, struct conflate_list from);

#endif
