/* encode_list.h - field lists and element lists alike: set data, standard data, entries in place.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RWF_ENCODE_LIST_H
#define RWF_ENCODE_LIST_H

#include "encoder.h"

/* All return RWF_OK, or the error that the encoder has from now on. */

/* Behind flags and info, which `wr` has: the set data if any, else the count. */
int list_begin(struct rwf_encoder *enc, struct md_wr *wr, uint8_t flags, uint16_t set_id,
               const struct rwf_sets *sets, const struct rwf_bytes *set_data);
/* A list with open set data, or with an entry open, cannot be finished. */
int list_finish(struct rwf_encoder *enc, enum level_kind kind);

/* Where an entry may be added now: RWF_OK for standard data, 1 for set data. */
int list_place(struct rwf_encoder *enc, enum level_kind kind);

/* The next value of the set data: field id or name must be those of the definition. */
int list_add_set_value(struct rwf_encoder *enc, enum rwf_set_kind kind, int16_t field_id,
                       struct rwf_bytes name, const struct rwf_value *value);
/* The same for content that is encoded already. */
int list_add_set_bytes(struct rwf_encoder *enc, enum rwf_set_kind kind, int16_t field_id,
                       struct rwf_bytes name, struct rwf_bytes content);

/* Writes the length and the content of a standard value, or of an item of an array; the encoder
 * keeps it when the entry is written. */
int list_write_value(struct md_wr *wr, const struct rwf_value *value);
int list_entry_written(struct rwf_encoder *enc, int rc, const struct md_wr *wr);

/* An entry whose content is written in place. */
int list_start_set_entry(struct rwf_encoder *enc, enum rwf_set_kind kind, int16_t field_id,
                         struct rwf_bytes name, unsigned type);
int list_start_entry(struct rwf_encoder *enc, unsigned type);
int list_finish_entry(struct rwf_encoder *enc, enum level_kind kind);

#endif
