/* rwf_encode.h - the encoder: messages and containers, nested in place, in the caller's buffer. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMDS_RWF_ENCODE_H
#define RMDS_RWF_ENCODE_H

#include "rmds/rwf_container.h"
#include "rmds/rwf_message.h"
#include "rmds/rwf_types.h"
#include "rmds/rwf_value.h"

/*
 * Write straight through and look at the result once, where it matters:
 *
 *     rwf_encoder_init(&enc, buffer, sizeof(buffer));
 *     rwf_msg_start(&enc, &msg);
 *     rwf_map_start(&enc, &info);
 *     while (rows are left) {
 *         struct rwf_mark mark = rwf_encoder_mark(&enc);
 *         rwf_map_entry_start(&enc, &entry);
 *         rwf_field_list_start(&enc, NULL);
 *         rwf_field_add_real(&enc, 22, &bid);
 *         rwf_field_list_finish(&enc);
 *         if (rwf_map_entry_finish(&enc) < 0) {
 *             rwf_encoder_rollback(&enc, &mark);    this row goes into the next part
 *             break;
 *         }
 *     }
 *     rwf_map_finish(&enc);
 *     rc = rwf_msg_finish(&enc);
 *     bytes = rwf_encoder_bytes(&enc);
 *
 * The first call that fails marks the encoder; later calls return the same error and do nothing.
 * rwf_encoder_rollback() returns to a mark and clears the failure. Room for what _finish() writes
 * is set aside by _start(): finishing a container never fails for lack of room. So a container that
 * was rolled back to its last whole entry can always be closed, and the next message of the split
 * goes on with that entry.
 *
 * Errors: RWF_ERR_FULL, RWF_ERR_RANGE (a value, length or count that the wire cannot carry),
 * RWF_ERR_STATE (calls out of order, set data that does not match its definition), RWF_ERR_DEPTH.
 */

enum rwf_lengths {
    RWF_LENGTHS_SHORTEST = 0, /* every length in its shortest form (default) */
    RWF_LENGTHS_RESERVED = 1, /* nested lengths in the long form, as ETA writes them */
};

/* Set enc->lengths behind rwf_encoder_init() to have the long form. */

/* One open message or container. The encoder's own. */
struct rwf_level {
    uint8_t kind;
    uint8_t phase;
    uint8_t item_type;
    uint8_t set_left;
    uint16_t container;
    uint16_t list_container;
    uint16_t item_length;
    uint32_t count;
    uint32_t hint;
    bool slot_is_open;
    bool has_length;
    bool has_hint;
    bool has_standard;
    uint8_t *flags_at;
    uint8_t *count_at;
    uint8_t *length_at;
    uint8_t *set_length_at;
    size_t set_entry;
    const struct rwf_set_def *set;
    const struct rwf_msg *msg;
};

struct rwf_encoder {
    uint8_t *start;
    uint8_t *pos;
    uint8_t *end; /* of what may be written now; less than the buffer while lengths are open */
    int err;
    uint8_t depth;
    uint8_t lengths; /* enum rwf_lengths */
    struct rwf_level level[RWF_DEPTH_MAX + 1];
};

struct rwf_mark {
    uint8_t *pos;
    uint8_t *end;
    uint8_t depth;
    struct rwf_level level;
};

void rwf_encoder_init(struct rwf_encoder *enc, void *buffer, size_t size);

/* The bytes written so far. */
static inline struct rwf_bytes rwf_encoder_bytes(const struct rwf_encoder *enc)
{
    return rwf_bytes(enc->start, (size_t)(enc->pos - enc->start));
}

/* RWF_OK or the first error since the start or the last rollback. */
static inline int rwf_encoder_error(const struct rwf_encoder *enc)
{
    return enc->err;
}

/* Room for entries that is left now. */
static inline size_t rwf_encoder_left(const struct rwf_encoder *enc)
{
    return (size_t)(enc->end - enc->pos);
}

/* A mark is good until the container it was taken in is finished. */
struct rwf_mark rwf_encoder_mark(const struct rwf_encoder *enc);
void rwf_encoder_rollback(struct rwf_encoder *enc, const struct rwf_mark *mark);

/*
 * Bytes that are already encoded, where a container may stand: as payload of an open message or
 * as data of an open entry.
 */
int rwf_raw_add(struct rwf_encoder *enc, struct rwf_bytes bytes);

/* ---- messages ---- */

/*
 * The whole message, payload as given. Flags without content (empty permission data, conflation
 * count and time both 0, status without group id, nak code 0, empty text, empty name) are cleared.
 */
int rwf_msg_encode(struct rwf_encoder *enc, const struct rwf_msg *msg);

/* The header; then encode the payload in place (msg->payload is not looked at) and finish. */
int rwf_msg_start(struct rwf_encoder *enc, const struct rwf_msg *msg);
int rwf_msg_finish(struct rwf_encoder *enc);

/*
 * The same with key attributes in place: encode them between these two calls (the key must have
 * RWF_KEY_HAS_ATTRIB, key.attrib is not looked at), then the payload, then rwf_msg_finish().
 * *msg must live until rwf_msg_attrib_finish().
 */
int rwf_msg_attrib_start(struct rwf_encoder *enc, const struct rwf_msg *msg);
int rwf_msg_attrib_finish(struct rwf_encoder *enc);

/* The key alone, without its length, as the bytes of a key (for hashes and tables). */
int rwf_key_encode(const struct rwf_key *key, uint8_t *out, size_t size, size_t *length);
int rwf_key_decode(struct rwf_bytes bytes, struct rwf_key *key);

/* ---- field list ---- */

/* A list of standard data alone when info is NULL: the frequent form. */
int rwf_field_list_start(struct rwf_encoder *enc, const struct rwf_field_list_info *info);

/*
 * With set data. The entries of the definition come first, in its order, then (flag
 * HAS_STANDARD_DATA) the others. `set_data`, if it has bytes, is written as the set data.
 */
int rwf_field_list_start_set(struct rwf_encoder *enc, const struct rwf_field_list_info *info,
                             const struct rwf_sets *sets, const struct rwf_bytes *set_data);
int rwf_field_list_finish(struct rwf_encoder *enc);

/* Content as it stands: a pre-encoded value or container, a string; empty is blank. */
int rwf_field_add_bytes(struct rwf_encoder *enc, int16_t id, struct rwf_bytes content);
int rwf_field_add(struct rwf_encoder *enc, int16_t id, const struct rwf_value *value);
int rwf_field_add_int(struct rwf_encoder *enc, int16_t id, int64_t value);
int rwf_field_add_uint(struct rwf_encoder *enc, int16_t id, uint64_t value);
int rwf_field_add_real(struct rwf_encoder *enc, int16_t id, const struct rwf_real *value);
int rwf_field_add_enum(struct rwf_encoder *enc, int16_t id, uint16_t value);
int rwf_field_add_date(struct rwf_encoder *enc, int16_t id, const struct rwf_date *value);
int rwf_field_add_time(struct rwf_encoder *enc, int16_t id, const struct rwf_time *value);
int rwf_field_add_datetime(struct rwf_encoder *enc, int16_t id, const struct rwf_datetime *value);

/* An array or container in place. */
int rwf_field_start(struct rwf_encoder *enc, int16_t id, unsigned type);
int rwf_field_finish(struct rwf_encoder *enc);

/* ---- element list ---- */

int rwf_element_list_start(struct rwf_encoder *enc, const struct rwf_element_list_info *info);
int rwf_element_list_start_set(struct rwf_encoder *enc, const struct rwf_element_list_info *info,
                               const struct rwf_sets *sets, const struct rwf_bytes *set_data);
int rwf_element_list_finish(struct rwf_encoder *enc);

/* type RWF_TYPE_NO_DATA: the name alone. */
int rwf_element_add_bytes(struct rwf_encoder *enc, struct rwf_bytes name, unsigned type,
                          struct rwf_bytes content);
int rwf_element_add(struct rwf_encoder *enc, struct rwf_bytes name, const struct rwf_value *value);

/* The frequent ones, named by a C string. */
int rwf_element_add_int(struct rwf_encoder *enc, const char *name, int64_t value);
int rwf_element_add_uint(struct rwf_encoder *enc, const char *name, uint64_t value);
int rwf_element_add_ascii(struct rwf_encoder *enc, const char *name, struct rwf_bytes text);
int rwf_element_add_qos(struct rwf_encoder *enc, const char *name, const struct rwf_qos *qos);
int rwf_element_add_state(struct rwf_encoder *enc, const char *name, const struct rwf_state *state);

int rwf_element_start(struct rwf_encoder *enc, struct rwf_bytes name, unsigned type);
int rwf_element_finish(struct rwf_encoder *enc);

/* ---- map, vector, series, filter list ---- */

/*
 * info->set_defs and info->summary are written when their flag is set. With HAS_SUMMARY and
 * summary.data == NULL the summary is encoded in place: between _start() and rwf_summary_finish().
 */
int rwf_summary_finish(struct rwf_encoder *enc);

int rwf_map_start(struct rwf_encoder *enc, const struct rwf_map_info *info);
int rwf_map_finish(struct rwf_encoder *enc);

/* entry->data as given. */
int rwf_map_add(struct rwf_encoder *enc, const struct rwf_map_entry *entry);

/* Data in place; entry->data is not looked at. */
int rwf_map_entry_start(struct rwf_encoder *enc, const struct rwf_map_entry *entry);
int rwf_map_entry_finish(struct rwf_encoder *enc);

int rwf_vector_start(struct rwf_encoder *enc, const struct rwf_vector_info *info);
int rwf_vector_finish(struct rwf_encoder *enc);
int rwf_vector_add(struct rwf_encoder *enc, const struct rwf_vector_entry *entry);
int rwf_vector_entry_start(struct rwf_encoder *enc, const struct rwf_vector_entry *entry);
int rwf_vector_entry_finish(struct rwf_encoder *enc);

int rwf_series_start(struct rwf_encoder *enc, const struct rwf_series_info *info);
int rwf_series_finish(struct rwf_encoder *enc);
int rwf_series_add(struct rwf_encoder *enc, struct rwf_bytes data);
int rwf_series_entry_start(struct rwf_encoder *enc);
int rwf_series_entry_finish(struct rwf_encoder *enc);

int rwf_filter_list_start(struct rwf_encoder *enc, const struct rwf_filter_list_info *info);
int rwf_filter_list_finish(struct rwf_encoder *enc);

/* The entry's own container type is written when has_container is set. */
int rwf_filter_add(struct rwf_encoder *enc, const struct rwf_filter_entry *entry);
int rwf_filter_entry_start(struct rwf_encoder *enc, const struct rwf_filter_entry *entry);
int rwf_filter_entry_finish(struct rwf_encoder *enc);

/* ---- array: within rwf_field_start() or rwf_element_start() of type ARRAY ---- */

/* item_length 0: each item has its own length. */
int rwf_array_start(struct rwf_encoder *enc, unsigned item_type, uint16_t item_length);
int rwf_array_finish(struct rwf_encoder *enc);
int rwf_array_add(struct rwf_encoder *enc, const struct rwf_value *value);
int rwf_array_add_bytes(struct rwf_encoder *enc, struct rwf_bytes content);

/* ---- set definitions ---- */

/*
 * A definition block for info->set_defs, written to the caller's buffer:
 * start, then per definition set_def_start and its entries; *length at the end.
 */
struct rwf_set_writer {
    uint8_t *start;
    uint8_t *pos;
    uint8_t *end;
    uint8_t *def_count_at;
    uint8_t *entry_count_at;
    int err;
};

void rwf_set_writer_init(struct rwf_set_writer *writer, void *buffer, size_t size);
int rwf_set_writer_def(struct rwf_set_writer *writer, uint16_t id);
int rwf_set_writer_field(struct rwf_set_writer *writer, int16_t field_id, unsigned type);
int rwf_set_writer_element(struct rwf_set_writer *writer, struct rwf_bytes name, unsigned type);

/* The block; empty after an error, which is in *err. */
struct rwf_bytes rwf_set_writer_bytes(const struct rwf_set_writer *writer, int *err);

#endif
