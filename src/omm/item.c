/* item.c - see omm/item.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "omm/item.h"

void omm_item_request_decode(const struct rwf_msg *msg, struct omm_item_request *out)
{
    uint16_t flags = msg->flags;

    *out = (struct omm_item_request){
        .stream_id = msg->stream_id,
        .domain = msg->domain,
        .is_streaming = (flags & RWF_REQUEST_STREAMING) != 0,
        .no_refresh = (flags & RWF_REQUEST_NO_REFRESH) != 0,
        .key_in_updates = (flags & RWF_REQUEST_KEY_IN_UPDATES) != 0,
        .conf_info_in_updates = (flags & RWF_REQUEST_CONF_INFO_IN_UPDATES) != 0,
        .is_private = (flags & RWF_REQUEST_PRIVATE_STREAM) != 0,
        .is_qualified = (flags & RWF_REQUEST_QUALIFIED_STREAM) != 0,
        .pause = (flags & RWF_REQUEST_PAUSE) != 0,
        .has_priority = (flags & RWF_REQUEST_HAS_PRIORITY) != 0,
        .priority_class = msg->priority_class,
        .priority_count = msg->priority_count,
        .has_qos = (flags & RWF_REQUEST_HAS_QOS) != 0,
        .has_worst_qos = (flags & RWF_REQUEST_HAS_WORST_QOS) != 0,
        .qos = msg->qos,
        .worst_qos = msg->worst_qos,
        .key = msg->key,
        .is_batch = (flags & RWF_REQUEST_HAS_BATCH) != 0,
        .has_view = (flags & RWF_REQUEST_HAS_VIEW) != 0,
        .container = msg->container,
        .payload = msg->payload,
        .ext_header = msg->ext_header,
    };
}

/* The element of that name in the request's payload: 1, 0 when there is none, or an error. */
static int find_element(const struct omm_item_request *request, const char *name,
                        struct rwf_element *out)
{
    struct rwf_element_list list;

    if (request->container != RWF_TYPE_ELEMENT_LIST)
        return 0;
    int rc = rwf_element_list_decode(request->payload, NULL, &list);
    while (rc >= 0 && (rc = rwf_element_list_next(&list, out)) > 0) {
        if (rwf_element_is(out, name))
            return 1;
    }
    return rc;
}

int omm_batch_start(const struct omm_item_request *request, struct omm_batch *batch)
{
    struct rwf_element element;
    int rc = find_element(request, ":ItemList", &element);

    *batch = (struct omm_batch){ 0 };
    if (rc < 0)
        return rc;
    if (rc == 0 || element.type != RWF_TYPE_ARRAY)
        return RWF_ERR_NOT_FOUND;
    rc = rwf_array_decode(element.content, &batch->names);
    if (rc < 0)
        return rc;
    switch (batch->names.item_type) {
    case RWF_TYPE_ASCII:
    case RWF_TYPE_UTF8:
    case RWF_TYPE_RMTES:
    case RWF_TYPE_BUFFER:
        return batch->names.count ? RWF_OK : RWF_ERR_NOT_FOUND;
    default:
        return RWF_ERR_NOT_FOUND;
    }
}

int omm_batch_next(struct omm_batch *batch, struct rwf_bytes *name)
{
    return rwf_array_next(&batch->names, name);
}

/* Puts `id` in its place in the ascending array; a double is passed over. */
static int insert_field(int16_t fields[], size_t max, size_t *count, int16_t id)
{
    size_t at = *count;

    while (at > 0 && fields[at - 1] > id)
        at--;
    if (at > 0 && fields[at - 1] == id)
        return RWF_OK;
    if (*count == max)
        return RWF_ERR_RANGE;
    memmove(&fields[at + 1], &fields[at], (*count - at) * sizeof(fields[0]));
    fields[at] = id;
    (*count)++;
    return RWF_OK;
}

static int field_id_decode(unsigned type, struct rwf_bytes item, int16_t *id)
{
    int64_t number;
    uint64_t unsigned_number;

    if (type == RWF_TYPE_INT) {
        if (rwf_int_decode(item, &number) != RWF_OK)
            return RWF_ERR_MALFORMED;
    } else {
        if (rwf_uint_decode(item, &unsigned_number) != RWF_OK || unsigned_number > INT16_MAX)
            return RWF_ERR_MALFORMED;
        number = (int64_t)unsigned_number;
    }
    if (number < INT16_MIN || number > INT16_MAX)
        return RWF_ERR_MALFORMED;
    *id = (int16_t)number;
    return RWF_OK;
}

static int decode_fields(struct rwf_array array, int16_t fields[], size_t max, size_t *count)
{
    struct rwf_bytes item;
    int16_t id = 0;
    int rc;

    if (array.item_type != RWF_TYPE_INT && array.item_type != RWF_TYPE_UINT)
        return RWF_ERR_MALFORMED;
    while ((rc = rwf_array_next(&array, &item)) > 0) {
        int err = field_id_decode(array.item_type, item, &id);
        if (err == RWF_OK)
            err = insert_field(fields, max, count, id);
        if (err < 0)
            return err;
    }
    return rc;
}

int omm_view_decode(const struct omm_item_request *request, int16_t fields[], size_t fields_max,
                    struct omm_view *out)
{
    struct rwf_element element;

    *out = (struct omm_view){ .type = OMM_VIEW_FIELDS };
    int rc = find_element(request, ":ViewType", &element);
    if (rc < 0)
        return RWF_ERR_MALFORMED;
    if (rc == 0 || element.type != RWF_TYPE_UINT ||
        rwf_uint_decode(element.content, &out->type) != RWF_OK)
        return RWF_ERR_NOT_FOUND;
    if (out->type != OMM_VIEW_FIELDS && out->type != OMM_VIEW_ELEMENTS)
        return RWF_ERR_RANGE;
    rc = find_element(request, ":ViewData", &element);
    if (rc < 0)
        return RWF_ERR_MALFORMED;
    if (rc == 0 || element.type != RWF_TYPE_ARRAY)
        return RWF_ERR_NOT_FOUND;
    if (rwf_array_decode(element.content, &out->data) < 0)
        return RWF_ERR_MALFORMED;
    if (out->type == OMM_VIEW_FIELDS)
        return decode_fields(out->data, fields, fields_max, &out->field_count);
    return out->data.item_type == RWF_TYPE_ASCII ? RWF_OK : RWF_ERR_MALFORMED;
}

int omm_item_request_encode(struct rwf_encoder *enc, const struct omm_item_request *request)
{
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_REQUEST,
        .domain = request->domain,
        .stream_id = request->stream_id,
        .container = request->container,
        .priority_class = request->priority_class,
        .priority_count = request->priority_count,
        .qos = request->qos,
        .worst_qos = request->worst_qos,
        .key = request->key,
        .payload = request->payload,
        .ext_header = request->ext_header,
        .flags = (uint16_t)((request->ext_header.length ? RWF_REQUEST_HAS_EXT_HEADER : 0) |
                            (request->is_streaming ? RWF_REQUEST_STREAMING : 0) |
                            (request->no_refresh ? RWF_REQUEST_NO_REFRESH : 0) |
                            (request->key_in_updates ? RWF_REQUEST_KEY_IN_UPDATES : 0) |
                            (request->is_private ? RWF_REQUEST_PRIVATE_STREAM : 0) |
                            (request->is_qualified ? RWF_REQUEST_QUALIFIED_STREAM : 0) |
                            (request->pause ? RWF_REQUEST_PAUSE : 0) |
                            (request->has_priority ? RWF_REQUEST_HAS_PRIORITY : 0) |
                            (request->has_qos ? RWF_REQUEST_HAS_QOS : 0) |
                            (request->has_worst_qos ? RWF_REQUEST_HAS_WORST_QOS : 0) |
                            (request->is_batch ? RWF_REQUEST_HAS_BATCH : 0) |
                            (request->has_view ? RWF_REQUEST_HAS_VIEW : 0)),
    };

    return rwf_msg_encode(enc, &msg);
}

int omm_close_encode(struct rwf_encoder *enc, int32_t stream_id, uint8_t domain)
{
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_CLOSE,
        .domain = domain,
        .stream_id = stream_id,
        .container = RWF_TYPE_NO_DATA,
    };

    return rwf_msg_encode(enc, &msg);
}

int omm_status_encode(struct rwf_encoder *enc, const struct omm_status *status)
{
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_STATUS,
        .domain = status->domain,
        .stream_id = status->stream_id,
        .container = RWF_TYPE_NO_DATA,
        .flags = (uint16_t)(RWF_STATUS_HAS_STATE | status->flags |
                            (status->key ? RWF_STATUS_HAS_KEY : 0)),
        .state = status->state,
    };

    if (status->key)
        msg.key = *status->key;
    return rwf_msg_encode(enc, &msg);
}

int omm_ack_encode(struct rwf_encoder *enc, const struct omm_ack *ack)
{
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_ACK,
        .domain = ack->domain,
        .stream_id = ack->stream_id,
        .container = RWF_TYPE_NO_DATA,
        .flags = (uint16_t)((ack->is_private ? RWF_ACK_PRIVATE_STREAM : 0) |
                            (ack->has_seq_num ? RWF_ACK_HAS_SEQ_NUM : 0) |
                            (ack->nak_code ? RWF_ACK_HAS_NAK_CODE : 0) |
                            (ack->text.length ? RWF_ACK_HAS_TEXT : 0) |
                            (ack->key ? RWF_ACK_HAS_KEY : 0)),
        .ack_id = ack->ack_id,
        .seq_num = ack->seq_num,
        .nak_code = ack->nak_code,
        .text = ack->text,
    };

    if (ack->key)
        msg.key = *ack->key;
    return rwf_msg_encode(enc, &msg);
}

int omm_dictionary_request_decode(const struct rwf_msg *msg, struct omm_dictionary_request *out)
{
    *out = (struct omm_dictionary_request){
        .stream_id = msg->stream_id,
        .is_streaming = (msg->flags & RWF_REQUEST_STREAMING) != 0,
        .no_refresh = (msg->flags & RWF_REQUEST_NO_REFRESH) != 0,
        .has_service_id = (msg->key.flags & RWF_KEY_HAS_SERVICE_ID) != 0,
        .service_id = msg->key.service_id,
        .filter = 7,
    };
    if (!(msg->key.flags & RWF_KEY_HAS_NAME))
        return RWF_ERR_NOT_FOUND;
    out->name = msg->key.name;
    if (msg->key.flags & RWF_KEY_HAS_FILTER)
        out->filter = msg->key.filter;
    return RWF_OK;
}

int omm_dictionary_request_encode(struct rwf_encoder *enc,
                                  const struct omm_dictionary_request *request)
{
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_REQUEST,
        .domain = RWF_DOMAIN_DICTIONARY,
        .stream_id = request->stream_id,
        .container = RWF_TYPE_NO_DATA,
        .flags = (uint16_t)((request->is_streaming ? RWF_REQUEST_STREAMING : 0) |
                            (request->no_refresh ? RWF_REQUEST_NO_REFRESH : 0)),
        .key = {
            .flags = (uint16_t)(RWF_KEY_HAS_NAME | RWF_KEY_HAS_FILTER |
                                (request->has_service_id ? RWF_KEY_HAS_SERVICE_ID : 0)),
            .service_id = request->service_id,
            .name = request->name,
            .filter = request->filter,
        },
    };

    return rwf_msg_encode(enc, &msg);
}

/* Bigger is worse. Real time, then delayed by a known time, then by an unknown one. */
static uint64_t timeliness_rank(const struct rwf_qos *qos)
{
    switch (qos->timeliness) {
    case RWF_TIMELINESS_REALTIME:
        return 0;
    case RWF_TIMELINESS_DELAYED:
        return 1 + (uint64_t)qos->time_info;
    case RWF_TIMELINESS_DELAYED_UNKNOWN:
        return UINT32_MAX;
    default:
        return UINT64_MAX;
    }
}

static uint64_t rate_rank(const struct rwf_qos *qos)
{
    switch (qos->rate) {
    case RWF_RATE_TICK_BY_TICK:
        return 0;
    case RWF_RATE_JIT_CONFLATED:
        return 1;
    case RWF_RATE_TIME_CONFLATED:
        return 2 + (uint64_t)qos->rate_info;
    default:
        return UINT64_MAX;
    }
}

int omm_qos_compare(const struct rwf_qos *a, const struct rwf_qos *b)
{
    uint64_t left = timeliness_rank(a);
    uint64_t right = timeliness_rank(b);

    if (left == right) {
        left = rate_rank(a);
        right = rate_rank(b);
    }
    return (left > right) - (left < right);
}

static bool is_within(uint64_t best, uint64_t offered, uint64_t worst)
{
    return best <= offered && offered <= worst;
}

bool omm_qos_is_acceptable(const struct omm_item_request *request, const struct rwf_qos *offered)
{
    if (!request->has_qos)
        return true;
    const struct rwf_qos *worst = request->has_worst_qos ? &request->worst_qos : &request->qos;
    return is_within(timeliness_rank(&request->qos), timeliness_rank(offered),
                     timeliness_rank(worst)) &&
           is_within(rate_rank(&request->qos), rate_rank(offered), rate_rank(worst));
}
