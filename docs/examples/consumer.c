/* consumer.c - logs in, finds a service by its name, opens one item and prints its prices.
 *
 *     consumer HOST PORT USER SERVICE ITEM
 *     cc consumer.c $(pkg-config --cflags --libs openrmds) -o consumer
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "rmds/client.h"
#include "rmds/rwf.h"

#define LOGIN_STREAM     1
#define DIRECTORY_STREAM 2
#define ITEM_STREAM      5

struct consumer {
    struct rmds_channel *channel;
    const char *user, *service, *item;
    bool is_item_open, is_missing;
};

/* Some fields of the dictionary, all of type REAL. A program that wants every field asks for the
 * dictionary on domain RWF_DOMAIN_DICTIONARY (name "RWFFld") and fills one with
 * rwf_dictionary_decode(). */
static const struct {
    int16_t id;
    const char *name;
} fields[] = { { 22, "BID" }, { 25, "ASK" }, { 6, "TRDPRC_1" }, { 32, "ACVOL_1" } };

static void request(struct consumer *me, uint8_t domain, int32_t stream, const struct rwf_key *key)
{
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_REQUEST,
        .domain = domain,
        .stream_id = stream,
        .flags = RWF_REQUEST_STREAMING,
        .container = RWF_TYPE_NO_DATA,
        .key = *key,
    };
    struct rwf_encoder encoder;
    uint8_t bytes[1024];

    rwf_encoder_init(&encoder, bytes, sizeof(bytes));
    if (rwf_msg_encode(&encoder, &msg) == RWF_OK)
        rmds_channel_send(me->channel, bytes, rwf_encoder_bytes(&encoder).length);
}

static void log_in(struct consumer *me)
{
    struct rwf_key key = { .flags = RWF_KEY_HAS_NAME | RWF_KEY_HAS_NAME_TYPE,
                           .name = rwf_text(me->user),
                           .name_type = RWF_NAME_LOGIN_USER };

    request(me, RWF_DOMAIN_LOGIN, LOGIN_STREAM, &key);
}

static void ask_directory(struct consumer *me)
{
    struct rwf_key key = { .flags = RWF_KEY_HAS_FILTER,
                           .filter = RWF_SERVICE_INFO | RWF_SERVICE_STATE };

    request(me, RWF_DOMAIN_SOURCE, DIRECTORY_STREAM, &key);
}

/* The id of a service is a matter of the server: its name is what is known. */
static void on_directory(struct consumer *me, const struct rwf_msg *msg)
{
    struct rwf_service service;

    if (me->is_item_open)
        return;
    if (rwf_service_find(msg, me->service, &service) > 0) {
        struct rwf_key key = { .flags = RWF_KEY_HAS_SERVICE_ID | RWF_KEY_HAS_NAME,
                               .service_id = service.id,
                               .name = rwf_text(me->item) };
        printf("service %s has id %u\n", me->service, service.id);
        request(me, RWF_DOMAIN_MARKET_PRICE, ITEM_STREAM, &key);
        me->is_item_open = true;
    } else if (!me->is_missing) {
        struct rwf_services services;
        int rc = rwf_services_start(msg, &services);
        printf("service %s is not offered here yet; there are:", me->service);
        while (rc >= 0 && (rc = rwf_services_next(&services, &service)) > 0) {
            if (service.has_name)
                printf(" %.*s", (int)service.name.length, (const char *)service.name.data);
        }
        printf("\n");
        me->is_missing = true;
    }
}

static void print_prices(struct consumer *me, const struct rwf_msg *msg)
{
    struct rwf_field_list list;
    struct rwf_field field;
    struct rwf_real real;
    char text[RWF_TEXT_MAX];

    printf("%s %s", me->item, rwf_class_name(msg->msg_class));
    int rc = rwf_field_list_decode(msg->payload, NULL, &list);
    while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0) {
        for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
            if (field.id == fields[i].id && rwf_real_decode(field.content, &real) == RWF_OK) {
                rwf_real_to_text(&real, text, sizeof(text));
                printf("  %s %s", fields[i].name, text);
            }
        }
    }
    printf(rc < 0 ? "  (broken)\n" : "\n");
}

static void print_state(const char *what, const struct rwf_msg *msg)
{
    char text[256];

    rwf_state_to_text(&msg->state, text, sizeof(text));
    printf("%s: %s\n", what, text);
}

static void message(struct consumer *me, const struct rmds_event *event)
{
    struct rwf_msg msg;

    if (rwf_msg_decode(rwf_bytes(event->bytes, event->length), &msg) != RWF_OK)
        return;
    bool has_state = msg.msg_class == RWF_CLASS_REFRESH ||
                     (msg.msg_class == RWF_CLASS_STATUS && (msg.flags & RWF_STATUS_HAS_STATE));
    if (has_state && msg.domain != RWF_DOMAIN_SOURCE)
        print_state(msg.stream_id == LOGIN_STREAM ? "login" : me->item, &msg);
    if (msg.domain == RWF_DOMAIN_LOGIN && msg.msg_class == RWF_CLASS_REFRESH)
        ask_directory(me);
    else if (msg.domain == RWF_DOMAIN_SOURCE)
        on_directory(me, &msg);
    else if (msg.stream_id == ITEM_STREAM && msg.container == RWF_TYPE_FIELD_LIST)
        print_prices(me, &msg);
}

/* Everything that came; False: the connection is closed. */
static bool turn(struct consumer *me)
{
    struct rmds_event events[64];
    size_t count;
    bool is_open = true;

    while ((count = rmds_channel_turn(me->channel, rmds_now(), events, 64)) > 0) {
        for (size_t i = 0; i < count; i++) {
            if (events[i].kind == RMDS_EVENT_OPENED)
                log_in(me);
            if (events[i].kind == RMDS_EVENT_MESSAGE)
                message(me, &events[i]);
            is_open &= events[i].kind != RMDS_EVENT_CLOSED;
        }
    }
    rmds_channel_flush(me->channel, rmds_now());
    return is_open;
}

int main(int argc, char **argv)
{
    struct rmds_options options;
    struct rmds_context *context;

    if (argc != 6) {
        fprintf(stderr, "usage: consumer HOST PORT USER SERVICE ITEM\n");
        return 2;
    }
    struct consumer me = { .user = argv[3], .service = argv[4], .item = argv[5] };
    setvbuf(stdout, NULL, _IOLBF, 0); /* a line is seen when it is written, also through a pipe */
    rmds_options_init(&options);
    options.host = argv[1];
    options.port = (uint16_t)atoi(argv[2]);
    int rc = rmds_context_create(&context);
    if (rc == 0)
        rc = rmds_connect(context, &options, &me.channel);
    if (rc != 0) {
        fprintf(stderr, "consumer: %s\n", rmds_error_text(rc));
        return 1;
    }
    while (turn(&me)) {
        unsigned wants = rmds_channel_wants(me.channel);
        struct pollfd fd = { .fd = rmds_channel_descriptor(me.channel),
                             .events = (short)((wants & RMDS_READABLE ? POLLIN : 0) |
                                               (wants & RMDS_WRITABLE ? POLLOUT : 0)) };
        poll(&fd, 1, 1000); /* pings need a turn now and then */
    }
    fprintf(stderr, "consumer: %s\n", rmds_channel_reason(me.channel));
    rmds_channel_destroy(me.channel);
    rmds_context_destroy(context);
    return 1;
}
