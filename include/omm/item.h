/* omm/item.h - requests for items, with batches and views, and the short answers to them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OMM_ITEM_H
#define OMM_ITEM_H

#include "rmds/rwf.h"

/* A request; views point into the message. */
struct omm_item_request {
    int32_t stream_id;
    uint8_t domain;
    bool is_streaming;
    bool no_refresh;
    bool key_in_updates;
    bool conf_info_in_updates;
    bool is_private;
    bool is_qualified; /* a tunnel stream */
    bool pause;
    bool has_priority;
    uint8_t priority_class;
    uint16_t priority_count;
    bool has_qos;
    bool has_worst_qos;
    struct rwf_qos qos;
    struct rwf_qos worst_qos;
    struct rwf_key key;
    bool is_batch;
    bool has_view;
    uint16_t container; /* of the payload */
    struct rwf_bytes payload;
    struct rwf_bytes ext_header;
};

void omm_item_request_decode(const struct rwf_msg *msg, struct omm_item_request *out);

/* The names of a batch: start, then next() returns 1 with a name, 0 at the end, or an error.
 * RWF_ERR_NOT_FOUND from start: no :ItemList, or of a wrong type, or empty. */
struct omm_batch {
    struct rwf_array names;
};
int omm_batch_start(const struct omm_item_request *request, struct omm_batch *batch);
int omm_batch_next(struct omm_batch *batch, struct rwf_bytes *name);

#define OMM_VIEW_FIELDS_MAX 4096

/* A view by field ids, ascending and without doubles, or by element names. */
enum omm_view_type {
    OMM_VIEW_FIELDS = 1,
    OMM_VIEW_ELEMENTS = 2,
};

struct omm_view {
    uint64_t type;         /* as asked; only the two above are known */
    struct rwf_array data; /* of the names of OMM_VIEW_ELEMENTS, for rwf_array_next() */
    size_t field_count;    /* OMM_VIEW_FIELDS */
};

/*
 * The view of a request, field ids written to `fields`. RWF_ERR_NOT_FOUND: no view data in the
 * payload; RWF_ERR_RANGE: unknown view type, or more fields than `fields_max`; RWF_ERR_MALFORMED:
 * broken.
 */
int omm_view_decode(const struct omm_item_request *request, int16_t fields[], size_t fields_max,
                    struct omm_view *out);

/* A request of ours, to a provider. Writes what the struct says; `payload` as given. */
int omm_item_request_encode(struct rwf_encoder *enc, const struct omm_item_request *request);

int omm_close_encode(struct rwf_encoder *enc, int32_t stream_id, uint8_t domain);

static inline struct rwf_state omm_state(uint8_t stream, uint8_t data, uint8_t code,
                                         const char *text)
{
    return (struct rwf_state){
        .stream_state = stream,
        .data_state = data,
        .code = code,
        .text = rwf_text(text),
    };
}

/* A status of one stream, with the key when `key` is not NULL. `flags` are added: PRIVATE_STREAM,
 * QUALIFIED_STREAM, CLEAR_CACHE of enum rwf_status_flags. */
struct omm_status {
    int32_t stream_id;
    uint8_t domain;
    uint16_t flags;
    struct rwf_state state;
    const struct rwf_key *key;
};
int omm_status_encode(struct rwf_encoder *enc, const struct omm_status *status);

/* The answer to a post: nak_code RWF_NAK_NONE says yes. */
struct omm_ack {
    int32_t stream_id;
    uint8_t domain;
    bool is_private;
    uint32_t ack_id;
    bool has_seq_num;
    uint32_t seq_num;
    uint8_t nak_code;
    struct rwf_bytes text;
    const struct rwf_key *key; /* NULL: none */
};
int omm_ack_encode(struct rwf_encoder *enc, const struct omm_ack *ack);

/* A request for a dictionary. */
struct omm_dictionary_request {
    int32_t stream_id;
    bool is_streaming;
    bool no_refresh;
    bool has_service_id;
    uint16_t service_id;
    struct rwf_bytes name;
    uint32_t filter; /* 0 INFO, 3 MINIMAL, 7 NORMAL, 15 VERBOSE */
};
/* RWF_ERR_NOT_FOUND when the key has no name. */
int omm_dictionary_request_decode(const struct rwf_msg *msg, struct omm_dictionary_request *out);
int omm_dictionary_request_encode(struct rwf_encoder *enc,
                                  const struct omm_dictionary_request *request);

/* True when `offered` is within the range asked: best `qos`, worst `worst_qos` (or exactly qos when
 * there is no worst one). A request without QoS accepts anything. */
bool omm_qos_is_acceptable(const struct omm_item_request *request, const struct rwf_qos *offered);

/* -1 when `a` is better than `b`, 1 when worse, 0 when as good: timeliness first, then rate. */
int omm_qos_compare(const struct rwf_qos *a, const struct rwf_qos *b);

#endif
