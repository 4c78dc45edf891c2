/* answers.c - what clients are told: login, services, dictionaries, images, states. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "omm/directory.h"
#include "omm/item.h"
#include "omm/login.h"
#include "sds.h"
#include "seqdata.h"

static bool send_encoded(struct client *client, const struct rwf_encoder *enc)
{
    if (rwf_encoder_error(enc) != RWF_OK) {
        client->sds->stats.errors++;
        return false;
    }
    struct rwf_bytes bytes = rwf_encoder_bytes(enc);
    return sds_send(client, bytes.data, bytes.length) == MD_OK;
}

void sds_answer_login(struct client *client, const struct rwf_msg *msg)
{
    struct sds *sds = client->sds;
    struct omm_login_request request;
    struct rwf_encoder enc;
    char user[MD_TEXT_DOTTED_MAX + 1];

    if (omm_login_request_decode(msg, &request) != RWF_OK) {
        sds_send_status(client, msg->stream_id, RWF_DOMAIN_LOGIN, false, RWF_STREAM_CLOSED,
                        RWF_DATA_SUSPECT, RWF_CODE_USAGE_ERROR, "no user name");
        return;
    }
    struct omm_login_refresh refresh = {
        .stream_id = request.stream_id,
        .is_solicited = true,
        .state = { .stream_state = RWF_STREAM_OPEN,
                   .data_state = RWF_DATA_OK,
                   .text = rwf_text("login accepted") },
        .user = request.user,
        .name_type = request.name_type,
        .application_id = rwf_text("256"),
        .application_name = rwf_text("sink_driven_src"),
        .position = request.position,
        .single_open = false,
        .allow_suspect_data = true,
        .support_post = true,
        .support_batch = 1,
    };
    if (!client->is_logged_in)
        fprintf(stderr, "sink_driven_src: %s logged in as %s\n",
                client_session_peer(link_session(client->link)),
                md_text_dotted(request.user.data, request.user.length, user));
    client->is_logged_in = true;
    client->login_stream = request.stream_id;
    if (request.no_refresh)
        return;
    rwf_encoder_init(&enc, sds->message, sizeof(sds->message));
    omm_login_refresh_encode(&enc, &refresh);
    send_encoded(client, &enc);
}

static void fill_service(const struct sds *sds, const struct service *service, uint32_t filter,
                         struct omm_service *out)
{
    *out = (struct omm_service){
        .id = service->id,
        .action = RWF_MAP_ADD,
        .filters = filter & (OMM_FILTER_INFO | OMM_FILTER_STATE | OMM_FILTER_LOAD),
        .name = rwf_text(service->name),
        .vendor = rwf_text("openrmds"),
        .is_source = true,
        .accepting_consumer_status = false,
        .capability_count = sds->kinds ? 8 : 7,
        .capabilities = { 5, 6, 7, 8, 9, 10, 22, RWF_DOMAIN_HISTORY },
        .qos_count = 1,
        .qos = { sds->qos },
        .is_up = service->is_up,
        .is_accepting = service->is_up,
        .load_factor = 1,
    };
    if (sds->dictionary) {
        out->provided_count = out->used_count = 2;
        out->provided[0] = out->used[0] = rwf_text("RWFFld");
        out->provided[1] = out->used[1] = rwf_text("RWFEnum");
    }
    /* Without the dictionary's domain when there is none to give. */
    if (!sds->dictionary) {
        out->capability_count--;
        memmove(out->capabilities, out->capabilities + 1, out->capability_count);
    }
}

void sds_send_directory(struct client *client, const struct sds_directory *what)
{
    struct sds *sds = client->sds;
    struct rwf_encoder enc;
    struct omm_service service;
    struct omm_directory_head head = {
        .stream_id = client->directory_stream,
        .is_update = what->is_update,
        .is_solicited = !client->is_provider_side,
        .is_first = true,
        .is_complete = true,
        .is_streaming = what->is_streaming,
        .has_service_id = what->has_service_id,
        .service_id = what->service_id,
        .filter = client->directory_filter,
    };

    rwf_encoder_init(&enc, sds->message, sizeof(sds->message));
    omm_directory_encode_start(&enc, &head);
    for (size_t i = 0; i < sds->service_count; i++) {
        if (what->has_service_id && sds->services[i].id != what->service_id)
            continue;
        fill_service(sds, &sds->services[i],
                     what->is_update ? OMM_FILTER_STATE : client->directory_filter, &service);
        if (what->is_update)
            service.action = RWF_MAP_UPDATE;
        omm_directory_encode_service(&enc, &service);
    }
    omm_directory_encode_finish(&enc);
    send_encoded(client, &enc);
}

void sds_answer_directory(struct client *client, const struct rwf_msg *msg)
{
    struct omm_directory_request request;

    (void)omm_directory_request_decode(msg, &request);
    client->directory_stream = request.stream_id;
    client->directory_filter = request.filter;
    client->has_directory = request.is_streaming;
    struct sds_directory what = {
        .is_streaming = request.is_streaming,
        .has_service_id = request.has_service_id,
        .service_id = request.service_id,
    };
    if (!request.no_refresh)
        sds_send_directory(client, &what);
}

void sds_service_set(struct sds *sds, struct service *service, bool is_up)
{
    struct sds_directory what = { .is_update = true,
                                  .has_service_id = true,
                                  .service_id = service->id };

    service->is_up = is_up;
    for (struct client *client = sds->clients; client; client = client->next) {
        if (client->has_directory && client->outq)
            sds_send_directory(client, &what);
    }
    sds_clients_flush(sds);
}

void sds_answer_dictionary(struct client *client, const struct rwf_msg *msg)
{
    struct sds *sds = client->sds;
    struct omm_dictionary_request request;
    struct rwf_dictionary_cursor cursor = { .next = 0 };
    enum rwf_dictionary_type type = RWF_DICTIONARY_TYPE_NONE;

    if (omm_dictionary_request_decode(msg, &request) == RWF_OK && sds->dictionary) {
        if (rwf_bytes_equal(request.name, rwf_text("RWFFld")))
            type = RWF_DICTIONARY_TYPE_FIELDS;
        else if (rwf_bytes_equal(request.name, rwf_text("RWFEnum")))
            type = RWF_DICTIONARY_TYPE_ENUMS;
    }
    if (type == RWF_DICTIONARY_TYPE_NONE) {
        sds_send_status(client, msg->stream_id, RWF_DOMAIN_DICTIONARY, false, RWF_STREAM_CLOSED,
                        RWF_DATA_SUSPECT, RWF_CODE_NOT_FOUND, "no such dictionary");
        return;
    }
    struct rwf_msg head = {
        .stream_id = request.stream_id,
        .flags = RWF_REFRESH_SOLICITED | RWF_REFRESH_CLEAR_CACHE | RWF_REFRESH_HAS_KEY,
        .group_id = rwf_bytes("\0", 2), /* EMA cannot take an empty one */
        .key = msg->key,
    };
    while (!cursor.is_complete) {
        size_t length;
        /* Parts of about 16 kB, as a real provider sends; a table of a thousand values fits. */
        if (rwf_dictionary_refresh_encode(sds->dictionary, type, request.filter, &head, &cursor,
                                          sds->message, 20000, &length) != RWF_OK ||
            sds_send(client, sds->message, length) != MD_OK) {
            sds->stats.errors++;
            return;
        }
    }
}

/* The payload: the convention's, the sample's, or the built-in stock image. */
static struct rwf_bytes image_of(const struct item *item, uint8_t *buffer)
{
    if (item->sample && item->sample->image)
        return rwf_bytes(item->sample->image, item->sample->image_length);
    return rwf_bytes(buffer,
                     seqdata_image(item->hash, item->name, item->name_length, item->count, buffer));
}

void sds_send_image(struct watch *watch, bool is_solicited, bool is_streaming,
                    const struct rwf_key *key)
{
    struct sds *sds = watch->client->sds;
    uint8_t buffer[SEQDATA_IMAGE_MAX];
    uint8_t record[MESSAGE_MAX];
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_REFRESH,
        .domain = watch->item->domain,
        .stream_id = watch->stream_id,
        .container = RWF_TYPE_FIELD_LIST,
        .flags = (uint16_t)(RWF_REFRESH_COMPLETE | RWF_REFRESH_CLEAR_CACHE | RWF_REFRESH_HAS_KEY |
                            RWF_REFRESH_HAS_QOS | (is_solicited ? RWF_REFRESH_SOLICITED : 0) |
                            (watch->is_private ? RWF_REFRESH_PRIVATE_STREAM : 0) |
                            (sds->options.seqnum ? RWF_REFRESH_HAS_SEQ_NUM : 0)),
        .seq_num = watch->item->count,
        .qos = sds->qos,
        .state = { .stream_state = is_streaming ? RWF_STREAM_OPEN : RWF_STREAM_NON_STREAMING,
                   .data_state = RWF_DATA_OK },
        .group_id = rwf_bytes("\0", 2),
    };

    msg.payload = watch->item->kind ? kinds_image(sds, watch->item, &msg.container)
                                    : image_of(watch->item, buffer);
    if (sds->marketfeed && !watch->item->kind) {
        const struct mf_head head = { .is_image = true };
        msg.container = MF_CONTAINER;
        msg.payload = sds_record(sds, watch->item, &head, msg.payload, record, sizeof(record));
    }
    msg.key = (struct rwf_key){
        .flags = RWF_KEY_HAS_NAME | RWF_KEY_HAS_NAME_TYPE | RWF_KEY_HAS_SERVICE_ID,
        .service_id = watch->item->service->id,
        .name = rwf_bytes(watch->item->name, watch->item->name_length),
        .name_type = RWF_NAME_RIC,
    };
    if (key) {
        msg.key = *key;
        msg.key.flags |= RWF_KEY_HAS_NAME;
        msg.key.name = rwf_bytes(watch->item->name, watch->item->name_length);
    }
    rwf_encoder_init(&enc, sds->message, sizeof(sds->message));
    rwf_msg_encode(&enc, &msg);
    if (send_encoded(watch->client, &enc))
        emitter_told(sds->emitter, watch);
    sds->stats.refreshes++;
}

void sds_send_status(struct client *client, int32_t stream_id, uint8_t domain, bool is_private,
                     unsigned stream_state, unsigned data_state, unsigned code, const char *text)
{
    struct rwf_encoder enc;
    struct omm_status status = {
        .stream_id = stream_id,
        .domain = domain,
        .flags = (uint16_t)(is_private ? RWF_STATUS_PRIVATE_STREAM : 0),
        .state = { .stream_state = (uint8_t)stream_state,
                   .data_state = (uint8_t)data_state,
                   .code = (uint8_t)code,
                   .text = rwf_text(text) },
    };

    rwf_encoder_init(&enc, client->sds->message, sizeof(client->sds->message));
    omm_status_encode(&enc, &status);
    send_encoded(client, &enc);
    client->sds->stats.statuses++;
}
