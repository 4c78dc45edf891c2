/* answers.c - what the engine orders, as messages. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "broken.h"
#include "omm/directory.h"
#include "omm/item.h"
#include "omm/login.h"
#include "provider.h"
#include "seqdata.h"

#define DICTIONARY_PART 20000u /* bytes of a part; a table of a thousand values fits */

static bool send_bytes(struct conn *conn, const void *message, size_t length)
{
    int rc = conn->outq ? rssl_outq_write(conn->outq, message, length) : MD_ERR_STATE;

    if (rc == MD_ERR_FULL && !conn->provider->is_silent) {
        (void)link_flush(conn->link);
        rc = rssl_outq_write(conn->outq, message, length);
    }
    if (rc == MD_OK)
        conn->is_unflushed = true;
    return rc == MD_OK;
}

static bool send_encoded(struct conn *conn, const struct rwf_encoder *enc)
{
    struct rwf_bytes bytes = rwf_encoder_bytes(enc);

    return rwf_encoder_error(enc) == RWF_OK && send_bytes(conn, bytes.data, bytes.length);
}

static struct rwf_encoder encoder(struct conn *conn)
{
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, conn->provider->message, sizeof(conn->provider->message));
    return enc;
}

/* ---- login, directory, dictionary ---- */

static bool send_login(struct conn *conn, const struct fault_action *action)
{
    struct rwf_encoder enc = encoder(conn);
    struct omm_login_refresh refresh = {
        .stream_id = action->stream_id,
        .is_solicited = true,
        .state = { .stream_state = RWF_STREAM_OPEN,
                   .data_state = RWF_DATA_OK,
                   .text = rwf_text("login accepted") },
        .user = rwf_text(conn->user),
        .name_type = RWF_NAME_LOGIN_USER,
        .application_id = rwf_text("256"),
        .application_name = rwf_text("rmdsfault"),
        .single_open = false,
        .allow_suspect_data = true,
        .support_post = true,
        .support_batch = 1,
        .has_authentication = action->renew_ns > 0,
        .authentication_text = rwf_text("by the scenario"),
    };

    if (action->renew_ns > 0)
        refresh.reissue_s = (md_clock_wall_ns() + action->renew_ns) / MD_NS_PER_S;
    omm_login_refresh_encode(&enc, &refresh);
    return send_encoded(conn, &enc);
}

static void fill_service(const struct provider *provider, const struct fault_service_state *state,
                         uint32_t filter, struct omm_service *out)
{
    *out = (struct omm_service){
        .id = state->id,
        .action = RWF_MAP_ADD,
        .filters = filter & (OMM_FILTER_INFO | OMM_FILTER_STATE | OMM_FILTER_LOAD),
        .name = rwf_text(state->name),
        .vendor = rwf_text("openrmds"),
        .is_source = true,
        .capability_count = 7,
        .capabilities = { RWF_DOMAIN_MARKET_PRICE, RWF_DOMAIN_MARKET_BY_ORDER,
                          RWF_DOMAIN_MARKET_BY_PRICE, RWF_DOMAIN_MARKET_MAKER,
                          RWF_DOMAIN_SYMBOL_LIST, RWF_DOMAIN_YIELD_CURVE, RWF_DOMAIN_DICTIONARY },
        .qos_count = 1,
        .qos = { { .timeliness = RWF_TIMELINESS_REALTIME, .rate = RWF_RATE_TICK_BY_TICK } },
        .is_up = state->is_up,
        .is_accepting = state->is_up && !state->is_busy,
        .load_factor = 1,
    };
    if (!provider->dictionary) {
        out->capability_count--;
        return;
    }
    out->provided_count = out->used_count = 2;
    out->provided[0] = out->used[0] = rwf_text("RWFFld");
    out->provided[1] = out->used[1] = rwf_text("RWFEnum");
}

static bool send_directory(struct conn *conn, const struct fault_action *action)
{
    const struct provider *provider = conn->provider;
    struct rwf_encoder enc = encoder(conn);
    struct omm_service service;
    const struct omm_directory_head head = {
        .stream_id = action->stream_id,
        .is_solicited = action->is_solicited,
        .is_first = true,
        .is_complete = true,
        .is_streaming = action->is_streaming,
        .filter = action->filter,
    };
    size_t count;
    const struct fault_service_state *states = fault_engine_services(provider->engine, &count);

    omm_directory_encode_start(&enc, &head);
    for (size_t i = 0; i < count; i++) {
        if (!states[i].is_there)
            continue;
        fill_service(provider, &states[i], action->filter, &service);
        omm_directory_encode_service(&enc, &service);
    }
    omm_directory_encode_finish(&enc);
    return send_encoded(conn, &enc);
}

/* A change of one service. */
static bool send_service(struct conn *conn, const struct fault_action *action)
{
    struct rwf_encoder enc = encoder(conn);
    struct omm_service service;
    const struct omm_directory_head head = {
        .stream_id = action->stream_id,
        .is_update = true,
        .filter = action->filter,
    };

    fill_service(conn->provider, action->service, action->filter, &service);
    if (action->choice == FAULT_SERVICE_GONE) {
        service.action = RWF_MAP_DELETE;
        service.filters = 0;
    } else if (!action->is_new) {
        service.action = RWF_MAP_UPDATE;
        service.filters = OMM_FILTER_STATE;
    }
    if (action->choice == FAULT_SERVICE_STALE || action->choice == FAULT_SERVICE_OK) {
        bool is_ok = action->choice == FAULT_SERVICE_OK;
        service.has_status = true;
        service.status = (struct rwf_state){
            .stream_state = RWF_STREAM_OPEN,
            .data_state = is_ok ? RWF_DATA_OK : RWF_DATA_SUSPECT,
            .text = rwf_text(is_ok ? "good again, by the scenario" : "stale by the scenario"),
        };
    }
    omm_directory_encode_start(&enc, &head);
    omm_directory_encode_service(&enc, &service);
    omm_directory_encode_finish(&enc);
    return send_encoded(conn, &enc);
}

static bool send_status(struct conn *conn, const struct fault_action *action)
{
    struct rwf_encoder enc = encoder(conn);
    const struct rwf_key key = {
        .flags = RWF_KEY_HAS_NAME | RWF_KEY_HAS_NAME_TYPE | RWF_KEY_HAS_SERVICE_ID,
        .service_id = action->service_id,
        .name = rwf_text(action->to ? action->to : ""),
        .name_type = RWF_NAME_RIC,
    };
    const struct omm_status status = {
        .stream_id = action->stream_id,
        .domain = action->domain,
        .flags = action->is_private ? RWF_STATUS_PRIVATE_STREAM : 0,
        .state = { .stream_state = action->stream_state,
                   .data_state = action->data_state,
                   .code = action->code,
                   .text = rwf_text(action->text ? action->text : "") },
        .key = key.name.length > 0 ? &key : NULL,
    };

    omm_status_encode(&enc, &status);
    return send_encoded(conn, &enc);
}

static bool send_dictionary(struct conn *conn, const struct fault_action *action)
{
    struct provider *provider = conn->provider;
    bool is_fields = action->dictionary == RWF_DICTIONARY_TYPE_FIELDS;
    struct rwf_dictionary_cursor cursor = { .next = 0 };
    const struct rwf_msg head = {
        .stream_id = action->stream_id,
        .flags = RWF_REFRESH_SOLICITED | RWF_REFRESH_CLEAR_CACHE | RWF_REFRESH_HAS_KEY,
        .group_id = rwf_bytes("\0", 2), /* EMA cannot take an empty one */
        .key = { .flags = RWF_KEY_HAS_NAME | RWF_KEY_HAS_FILTER | RWF_KEY_HAS_SERVICE_ID,
                 .service_id = 1,
                 .filter = action->filter,
                 .name = rwf_text(is_fields ? "RWFFld" : "RWFEnum") },
    };

    if (!provider->dictionary) {
        struct fault_action none = *action;
        none.text = "this server has no dictionary";
        return send_status(conn, &none);
    }
    while (!cursor.is_complete) {
        size_t length;
        if (rwf_dictionary_refresh_encode(
                provider->dictionary, (enum rwf_dictionary_type)action->dictionary, action->filter,
                &head, &cursor, provider->message, DICTIONARY_PART, &length) != RWF_OK ||
            !send_bytes(conn, provider->message, length))
            return false;
    }
    return true;
}

/* ---- items ---- */

/* The fields of the image that are in this part. */
static struct rwf_bytes image_part(const struct fault_action *action,
                                   uint8_t out[SEQDATA_IMAGE_MAX])
{
    uint8_t whole[SEQDATA_IMAGE_MAX];
    size_t length = strlen(action->name);
    uint64_t hash = seqdata_item(action->name, length);
    struct rwf_bytes image =
        rwf_bytes(whole, seqdata_image(hash, action->name, length, action->count, whole));
    struct rwf_field_list list;
    struct rwf_field field;
    struct rwf_encoder enc;
    uint32_t count = 0, at = 0;

    for (int rc = rwf_field_list_decode(image, NULL, &list); rc >= 0 && rc <= 1; count++) {
        if ((rc = rwf_field_list_next(&list, &field)) <= 0)
            break;
    }
    uint32_t first = action->part * count / action->parts;
    uint32_t end = (action->part + 1) * count / action->parts;
    rwf_encoder_init(&enc, out, SEQDATA_IMAGE_MAX);
    rwf_field_list_start(&enc, NULL);
    (void)rwf_field_list_decode(image, NULL, &list);
    for (; at < end && rwf_field_list_next(&list, &field) > 0; at++) {
        if (at >= first)
            rwf_field_add_bytes(&enc, field.id, field.content);
    }
    rwf_field_list_finish(&enc);
    return rwf_encoder_bytes(&enc);
}

static bool send_image(struct conn *conn, const struct fault_action *action)
{
    uint8_t part[SEQDATA_IMAGE_MAX];
    struct rwf_encoder enc = encoder(conn);
    bool is_last = action->part + 1 == action->parts;
    const struct rwf_msg msg = {
        .msg_class = RWF_CLASS_REFRESH,
        .domain = action->domain,
        .stream_id = action->stream_id,
        .container = RWF_TYPE_FIELD_LIST,
        .flags = (uint16_t)(RWF_REFRESH_HAS_KEY | RWF_REFRESH_HAS_QOS | RWF_REFRESH_HAS_SEQ_NUM |
                            (is_last ? RWF_REFRESH_COMPLETE : 0) |
                            (action->part == 0 ? RWF_REFRESH_CLEAR_CACHE : 0) |
                            (action->parts > 1 ? RWF_REFRESH_HAS_PART_NUM : 0) |
                            (action->is_solicited ? RWF_REFRESH_SOLICITED : 0) |
                            (action->is_private ? RWF_REFRESH_PRIVATE_STREAM : 0)),
        .seq_num = action->count,
        .part_num = (uint16_t)action->part,
        .qos = { .timeliness = RWF_TIMELINESS_REALTIME, .rate = RWF_RATE_TICK_BY_TICK },
        .state = { .stream_state =
                       action->is_streaming ? RWF_STREAM_OPEN : RWF_STREAM_NON_STREAMING,
                   .data_state = action->data_state },
        .group_id = rwf_bytes("\0", 2),
        .key = { .flags = RWF_KEY_HAS_NAME | RWF_KEY_HAS_NAME_TYPE | RWF_KEY_HAS_SERVICE_ID,
                 .service_id = action->service_id,
                 .name = rwf_text(action->name),
                 .name_type = RWF_NAME_RIC },
        .payload = image_part(action, part),
    };

    rwf_msg_encode(&enc, &msg);
    return send_encoded(conn, &enc);
}

/* During silence no update is made. */
static bool send_update(struct conn *conn, const struct fault_action *action)
{
    uint8_t payload[SEQDATA_UPDATE_BYTES];
    uint8_t broken[512 + FAULT_NOISE];
    struct rwf_encoder enc = encoder(conn);
    const struct rwf_msg msg = {
        .msg_class = RWF_CLASS_UPDATE,
        .domain = action->domain,
        .stream_id = action->stream_id,
        .container = RWF_TYPE_FIELD_LIST,
        .flags =
            (uint16_t)(RWF_UPDATE_HAS_SEQ_NUM | (action->merged ? RWF_UPDATE_HAS_CONF_INFO : 0)),
        .update_type = RWF_UPDATE_QUOTE,
        .conf_count = action->merged,
        .conf_time_ms = action->merged_ms,
        .seq_num = action->count,
        .payload = rwf_bytes(payload, sizeof(payload)),
    };

    if (conn->provider->is_silent && action->kind == FAULT_ACT_UPDATE)
        return false;
    seqdata_update(seqdata_item(action->name, strlen(action->name)), action->count, payload);
    rwf_msg_encode(&enc, &msg);
    if (action->kind == FAULT_ACT_UPDATE)
        return send_encoded(conn, &enc);
    struct rwf_bytes bytes = rwf_encoder_bytes(&enc);
    size_t length =
        fault_break((enum fault_broken)action->choice, bytes.data, bytes.length, broken);
    return send_bytes(conn, broken, length);
}

/* Behind what is queued, as it stands. A client that does not read now is disconnected: behind a
 * part of a frame, another one would be its contents. */
static bool send_frame(struct conn *conn, const struct fault_action *action)
{
    uint8_t bytes[FAULT_NOISE];
    size_t length = fault_break_frame((enum fault_frame)action->choice, bytes);

    if (conn->provider->is_silent)
        return true;
    conn->is_unflushed = false;
    return conn->outq && link_flush(conn->link) == MD_OK &&
           client_session_write_raw(link_session(conn->link), bytes, length) == MD_OK;
}

bool fault_answer(struct conn *conn, const struct fault_action *action)
{
    switch (action->kind) {
    case FAULT_ACT_LOGIN:
        return send_login(conn, action);
    case FAULT_ACT_DIRECTORY:
        return send_directory(conn, action);
    case FAULT_ACT_SERVICE:
        return send_service(conn, action);
    case FAULT_ACT_DICTIONARY:
        return send_dictionary(conn, action);
    case FAULT_ACT_IMAGE:
        return send_image(conn, action);
    case FAULT_ACT_STATUS:
        return send_status(conn, action);
    case FAULT_ACT_FRAME:
        return send_frame(conn, action);
    default:
        return send_update(conn, action);
    }
}

/* The stream of a batch; its items have streams of their own. */
void fault_batch_done(struct conn *conn, int32_t stream_id, uint8_t domain)
{
    const struct fault_action action = {
        .kind = FAULT_ACT_STATUS,
        .stream_id = stream_id,
        .domain = domain,
        .stream_state = RWF_STREAM_CLOSED,
        .data_state = RWF_DATA_OK,
        .text = "batch done",
    };

    (void)send_status(conn, &action);
}

/* A post is taken as it is and, if that is asked for, acknowledged. */
void fault_post_done(struct conn *conn, const struct rwf_msg *msg)
{
    struct rwf_encoder enc = encoder(conn);
    const struct omm_ack ack = {
        .stream_id = msg->stream_id,
        .domain = msg->domain,
        .ack_id = msg->post_id,
        .has_seq_num = (msg->flags & RWF_POST_HAS_SEQ_NUM) != 0,
        .seq_num = msg->seq_num,
    };

    if (!(msg->flags & RWF_POST_ACK))
        return;
    omm_ack_encode(&enc, &ack);
    (void)send_encoded(conn, &enc);
}
