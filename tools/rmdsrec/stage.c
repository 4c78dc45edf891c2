/* stage.c - listeners of rmdsrec replay: their connections and what they ask. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "stage.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "omm/item.h"
#include "omm/login.h"
#include "words.h"

/* ---- streams ---- */

static void unlink_watch(struct watch *watch)
{
    struct watch **at = &watch->item->watches;

    while (*at != watch)
        at = &(*at)->next;
    *at = watch->next;
    stage_forgive(watch);
    watch->listener->stage->stats.watches--;
    free(watch);
}

void watch_remove(struct watch *watch)
{
    (void)md_table_remove(watch->listener->streams, &watch->stream_id, sizeof(watch->stream_id));
    unlink_watch(watch);
}

static struct watch *watch_add(struct listener *listener, struct play_item *item, int32_t stream_id)
{
    struct watch *watch = calloc(1, sizeof(*watch));

    if (!watch)
        return NULL;
    *watch = (struct watch){ .listener = listener, .item = item, .stream_id = stream_id };
    if (md_table_put(listener->streams, &watch->stream_id, sizeof(stream_id), watch) != MD_OK) {
        free(watch);
        return NULL;
    }
    watch->next = item->watches;
    item->watches = watch;
    listener->stage->stats.watches++;
    return watch;
}

/* ---- items ---- */

static void refuse(struct listener *listener, const struct omm_item_request *request,
                   unsigned stream_state, unsigned code, const char *text)
{
    const struct rwf_state state = { .stream_state = (uint8_t)stream_state,
                                     .data_state = RWF_DATA_SUSPECT,
                                     .code = (uint8_t)code,
                                     .text = rwf_text(text) };

    stage_send_status(listener, request->stream_id, request->domain, state);
}

static size_t service_index(const struct player *player, uint16_t id)
{
    size_t i = 0;

    while (i < player->service_count && player->services[i].id != id)
        i++;
    return i;
}

static void open_item(struct listener *listener, const struct omm_item_request *request,
                      struct rwf_bytes name)
{
    struct player *player = listener->stage->player;
    size_t service = service_index(player, request->key.service_id);
    struct play_item *item = NULL;
    struct watch *watch =
        md_table_get(listener->streams, &request->stream_id, sizeof(request->stream_id));

    if (service < player->service_count)
        item = player_find(player, service, request->domain, name);
    if (!item) {
        refuse(listener, request, RWF_STREAM_CLOSED, RWF_CODE_NOT_FOUND,
               "the recording does not have it");
        return;
    }
    if (!player->services[service].is_up) {
        refuse(listener, request, RWF_STREAM_CLOSED_RECOVER, RWF_CODE_NONE, "service is down");
        return;
    }
    if (watch && watch->item != item) {
        refuse(listener, request, RWF_STREAM_CLOSED, RWF_CODE_USAGE_ERROR,
               "the stream is open for another item");
        return;
    }
    if (!watch)
        watch = watch_add(listener, item, request->stream_id);
    if (!watch) {
        refuse(listener, request, RWF_STREAM_CLOSED_RECOVER, RWF_CODE_NONE, "out of memory");
        return;
    }
    watch->is_snapshot = !request->is_streaming;
    if (!request->no_refresh)
        stage_send_image(watch, true);
    else if (watch->is_snapshot)
        watch_remove(watch);
}

static void item_request(struct listener *listener, const struct rwf_msg *msg)
{
    struct omm_item_request request;
    struct omm_batch batch;
    struct rwf_bytes name;

    omm_item_request_decode(msg, &request);
    if (!listener->is_logged_in) {
        refuse(listener, &request, RWF_STREAM_CLOSED_RECOVER, RWF_CODE_USAGE_ERROR,
               "not logged in");
        return;
    }
    listener->stage->stats.requests++;
    if (!request.is_batch) {
        open_item(listener, &request, request.key.name);
        return;
    }
    struct omm_item_request one = request;
    if (omm_batch_start(&request, &batch) == RWF_OK) {
        while (omm_batch_next(&batch, &name) > 0) {
            one.stream_id = (int32_t)((uint32_t)one.stream_id + 1);
            open_item(listener, &one, name);
        }
    }
    const struct rwf_state done = { .stream_state = RWF_STREAM_CLOSED,
                                    .data_state = RWF_DATA_OK,
                                    .text = rwf_text("batch done") };
    stage_send_status(listener, request.stream_id, request.domain, done);
}

/* ---- login, directory, dictionary ---- */

static void send_encoded(struct listener *listener, const struct rwf_encoder *enc)
{
    if (rwf_encoder_error(enc) == RWF_OK)
        stage_send(listener, rwf_encoder_bytes(enc));
    else
        listener->stage->stats.errors++;
}

static void answer_login(struct listener *listener, const struct rwf_msg *msg)
{
    struct stage *stage = listener->stage;
    struct omm_login_request request;
    struct rwf_encoder enc;
    char user[MD_TEXT_DOTTED_MAX + 1];

    if (omm_login_request_decode(msg, &request) != RWF_OK) {
        const struct rwf_state state = { .stream_state = RWF_STREAM_CLOSED,
                                         .data_state = RWF_DATA_SUSPECT,
                                         .code = RWF_CODE_USAGE_ERROR,
                                         .text = rwf_text("no user name") };
        stage_send_status(listener, msg->stream_id, RWF_DOMAIN_LOGIN, state);
        return;
    }
    const struct omm_login_refresh refresh = {
        .stream_id = request.stream_id,
        .is_solicited = true,
        .state = { .stream_state = RWF_STREAM_OPEN,
                   .data_state = RWF_DATA_OK,
                   .text = rwf_text("login accepted") },
        .user = request.user,
        .name_type = request.name_type,
        .application_id = rwf_text("256"),
        .application_name = rwf_text(PROGRAM),
        .position = request.position,
        .allow_suspect_data = true,
        .support_batch = 1,
    };
    if (!listener->is_logged_in)
        fprintf(stderr, PROGRAM ": %s logged in as %s\n",
                client_session_peer(link_session(listener->link)),
                md_text_dotted(request.user.data, request.user.length, user));
    listener->is_logged_in = true;
    if (request.no_refresh)
        return;
    rwf_encoder_init(&enc, stage->message, sizeof(stage->message));
    omm_login_refresh_encode(&enc, &refresh);
    send_encoded(listener, &enc);
}

static void add_domains(const struct player *player, const struct play_service *service,
                        struct omm_service *out)
{
    bool has[256] = { false };

    has[RWF_DOMAIN_DICTIONARY] = player->dictionary != NULL;
    for (uint32_t i = 0; i < player->item_count; i++)
        has[player->items[i]->domain] |= player->items[i]->service == service;
    for (unsigned d = 1; d < 256 && out->capability_count < OMM_CAPABILITY_MAX; d++) {
        if (has[d])
            out->capabilities[out->capability_count++] = (uint8_t)d;
    }
}

void stage_send_directory(struct listener *listener, bool is_update,
                          const struct play_service *only)
{
    struct stage *stage = listener->stage;
    const struct player *player = stage->player;
    struct rwf_encoder enc;
    const struct omm_directory_head head = {
        .stream_id = listener->directory_stream,
        .is_update = is_update,
        .is_solicited = true,
        .is_first = true,
        .is_complete = true,
        .is_streaming = listener->has_directory,
        .filter = listener->directory_filter,
    };

    rwf_encoder_init(&enc, stage->message, sizeof(stage->message));
    omm_directory_encode_start(&enc, &head);
    for (size_t i = 0; i < player->service_count; i++) {
        const struct play_service *ours = &player->services[i];
        struct omm_service service = {
            .id = ours->id,
            .action = is_update ? RWF_MAP_UPDATE : RWF_MAP_ADD,
            .filters = is_update ? OMM_FILTER_STATE
                                 : listener->directory_filter &
                                       (OMM_FILTER_INFO | OMM_FILTER_STATE | OMM_FILTER_LOAD),
            .name = rwf_text(ours->name),
            .vendor = rwf_text("openrmds"),
            .is_source = true,
            .qos_count = 1,
            .qos = { { .timeliness = RWF_TIMELINESS_REALTIME, .rate = RWF_RATE_TICK_BY_TICK } },
            .is_up = ours->is_up,
            .is_accepting = ours->is_up,
            .load_factor = 1,
        };
        if (only && only != ours)
            continue;
        if (player->dictionary) {
            service.provided_count = service.used_count = 2;
            service.provided[0] = service.used[0] = rwf_text("RWFFld");
            service.provided[1] = service.used[1] = rwf_text("RWFEnum");
        }
        add_domains(player, ours, &service);
        omm_directory_encode_service(&enc, &service);
    }
    omm_directory_encode_finish(&enc);
    send_encoded(listener, &enc);
}

static void answer_directory(struct listener *listener, const struct rwf_msg *msg)
{
    struct omm_directory_request request;

    (void)omm_directory_request_decode(msg, &request);
    listener->directory_stream = request.stream_id;
    listener->directory_filter = request.filter;
    listener->has_directory = request.is_streaming;
    if (!request.no_refresh)
        stage_send_directory(listener, false, NULL);
}

static void answer_dictionary(struct listener *listener, const struct rwf_msg *msg)
{
    struct stage *stage = listener->stage;
    const struct rwf_dictionary *dictionary = stage->player->dictionary;
    struct rwf_dictionary_cursor cursor = { .next = 0 };
    enum rwf_dictionary_type type = RWF_DICTIONARY_TYPE_NONE;
    struct omm_dictionary_request request;
    const struct rwf_state none = { .stream_state = RWF_STREAM_CLOSED,
                                    .data_state = RWF_DATA_SUSPECT,
                                    .code = RWF_CODE_NOT_FOUND,
                                    .text = rwf_text("no such dictionary") };

    if (omm_dictionary_request_decode(msg, &request) == RWF_OK && dictionary) {
        if (rwf_bytes_equal(request.name, rwf_text("RWFFld")))
            type = RWF_DICTIONARY_TYPE_FIELDS;
        else if (rwf_bytes_equal(request.name, rwf_text("RWFEnum")))
            type = RWF_DICTIONARY_TYPE_ENUMS;
    }
    if (type == RWF_DICTIONARY_TYPE_NONE) {
        stage_send_status(listener, msg->stream_id, RWF_DOMAIN_DICTIONARY, none);
        return;
    }
    const struct rwf_msg head = {
        .stream_id = request.stream_id,
        .flags = RWF_REFRESH_SOLICITED | RWF_REFRESH_CLEAR_CACHE | RWF_REFRESH_HAS_KEY,
        .group_id = rwf_bytes("\0", 2), /* EMA cannot take an empty one */
        .key = msg->key,
    };
    while (!cursor.is_complete) {
        size_t length;
        if (rwf_dictionary_refresh_encode(dictionary, type, request.filter, &head, &cursor,
                                          stage->message, 20000, &length) != RWF_OK) {
            stage->stats.errors++;
            return;
        }
        stage_send(listener, rwf_bytes(stage->message, length));
    }
}

/* ---- messages ---- */

static void on_request(struct listener *listener, const struct rwf_msg *msg)
{
    switch (msg->domain) {
    case RWF_DOMAIN_LOGIN:
        answer_login(listener, msg);
        break;
    case RWF_DOMAIN_SOURCE:
        answer_directory(listener, msg);
        break;
    case RWF_DOMAIN_DICTIONARY:
        answer_dictionary(listener, msg);
        break;
    default:
        item_request(listener, msg);
        break;
    }
}

static void on_close(struct listener *listener, const struct rwf_msg *msg)
{
    struct watch *watch = md_table_get(listener->streams, &msg->stream_id, sizeof(msg->stream_id));

    if (watch)
        watch_remove(watch);
    else if (msg->domain == RWF_DOMAIN_LOGIN)
        link_close(listener->link);
    else if (msg->domain == RWF_DOMAIN_SOURCE)
        listener->has_directory = false;
}

/* A recording takes no contributions. */
static void on_post(struct listener *listener, const struct rwf_msg *msg)
{
    struct stage *stage = listener->stage;
    struct rwf_encoder enc;
    const struct omm_ack ack = { .stream_id = msg->stream_id,
                                 .domain = msg->domain,
                                 .ack_id = msg->post_id,
                                 .has_seq_num = (msg->flags & RWF_POST_HAS_SEQ_NUM) != 0,
                                 .seq_num = msg->seq_num,
                                 .nak_code = RWF_NAK_DENIED_BY_SRC,
                                 .text = rwf_text("a recording takes no posts") };

    if (!(msg->flags & RWF_POST_ACK))
        return;
    rwf_encoder_init(&enc, stage->message, sizeof(stage->message));
    (void)omm_ack_encode(&enc, &ack);
    send_encoded(listener, &enc);
}

static void on_open(void *owner)
{
    struct listener *listener = owner;

    listener->outq = client_session_outq(link_session(listener->link));
}

static void on_messages(void *owner, const struct rssl_event *events, size_t count)
{
    struct listener *listener = owner;
    struct rwf_msg msg;

    for (size_t i = 0; i < count; i++) {
        if (events[i].kind != RSSL_EVENT_MESSAGE)
            continue;
        if (rwf_msg_decode(rwf_bytes(events[i].bytes, events[i].length), &msg) != RWF_OK)
            listener->stage->stats.errors++;
        else if (msg.msg_class == RWF_CLASS_REQUEST)
            on_request(listener, &msg);
        else if (msg.msg_class == RWF_CLASS_CLOSE)
            on_close(listener, &msg);
        else if (msg.msg_class == RWF_CLASS_POST)
            on_post(listener, &msg);
    }
}

/* ---- connections ---- */

static void forget(struct listener *listener)
{
    struct md_table_walk walk = { 0 };
    struct watch *watch;

    while ((watch = md_table_next(listener->streams, &walk)) != NULL)
        unlink_watch(watch);
    md_table_destroy(listener->streams);
    link_destroy(listener->link);
    free(listener);
}

static void on_closed(void *owner, const char *reason)
{
    struct listener *listener = owner;
    struct listener **at = &listener->stage->listeners;

    fprintf(stderr, PROGRAM ": %s: %s\n", client_session_peer(link_session(listener->link)),
            reason);
    while (*at != listener)
        at = &(*at)->next;
    *at = listener->next;
    forget(listener);
}

static const struct link_ops link_ops = {
    .on_open = on_open,
    .on_messages = on_messages,
    .on_closed = on_closed,
};

static void serve(struct stage *stage, struct client_session *session)
{
    struct listener *listener = calloc(1, sizeof(*listener));

    if (!listener || md_table_create(1024, &listener->streams) != MD_OK ||
        link_create(stage->loop, session, &link_ops, listener, &listener->link) != MD_OK) {
        if (listener)
            md_table_destroy(listener->streams);
        free(listener);
        client_session_destroy(session);
        fprintf(stderr, PROGRAM ": no memory for another client\n");
        return;
    }
    listener->stage = stage;
    listener->next = stage->listeners;
    stage->listeners = listener;
    link_start(listener->link);
}

static void on_accept(void *owner, int fd, unsigned events)
{
    struct stage *stage = owner;
    struct net_stream *stream;

    (void)fd;
    (void)events;
    while (net_listener_accept(stage->port, &stream) == MD_OK) {
        struct rssl_config config = rssl_config_default(RSSL_ROLE_SERVER);
        struct client_session *session;
        config.max_buffers = config.guaranteed_buffers = stage->buffers;
        config.component = PROGRAM;
        config.ping_timeout_min_s = 1;
        if (client_session_serve(stage->context, stream, &config, md_clock_mono_ns(), &session) ==
            MD_OK)
            serve(stage, session);
    }
}

bool stage_open(struct stage *stage, const char *address, uint16_t port)
{
    const struct net_stream_options options = { .nodelay = true,
                                                .tls = stage->wire.tls,
                                                .is_plain = stage->wire.is_plain };

    if (stage->wire.transport->listen(&options, address, port, &stage->port) != MD_OK) {
        fprintf(stderr, PROGRAM ": cannot listen on port %u: %s\n", port, net_error());
        return false;
    }
    return md_loop_timer_create(stage->loop, stage_pay, stage, &stage->payer) == MD_OK &&
           md_loop_fd_add(stage->loop, net_listener_descriptor(stage->port), MD_LOOP_READ,
                          on_accept, stage, &stage->port_watch) == MD_OK;
}

void stage_close(struct stage *stage)
{
    md_loop_fd_remove(stage->port_watch);
    net_listener_close(stage->port);
    while (stage->listeners) {
        struct listener *listener = stage->listeners;
        stage->listeners = listener->next;
        (void)link_flush(listener->link);
        forget(listener);
    }
    md_loop_timer_destroy(stage->payer);
}
