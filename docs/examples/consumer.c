/* consumer.c - logs in, opens one item and says what comes.
 *
 *     consumer HOST PORT USER SERVICE-ID ITEM
 *     cc consumer.c $(pkg-config --cflags --libs openrmds)
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "rmds/client.h"
#include "rmds/rwf.h"

#define LOGIN_STREAM 1
#define ITEM_STREAM  5

static void request(struct rmds_channel *channel, uint8_t domain, int32_t stream,
                    const struct rwf_key *key)
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
        rmds_channel_send(channel, bytes, rwf_encoder_bytes(&encoder).length);
}

static void log_in(struct rmds_channel *channel, const char *user)
{
    struct rwf_key key = { .flags = RWF_KEY_HAS_NAME | RWF_KEY_HAS_NAME_TYPE,
                           .name = rwf_text(user),
                           .name_type = RWF_NAME_LOGIN_USER };

    request(channel, RWF_DOMAIN_LOGIN, LOGIN_STREAM, &key);
}

static void open_item(struct rmds_channel *channel, const char *service, const char *item)
{
    struct rwf_key key = { .flags = RWF_KEY_HAS_SERVICE_ID | RWF_KEY_HAS_NAME,
                           .service_id = (uint16_t)atoi(service),
                           .name = rwf_text(item) };

    request(channel, RWF_DOMAIN_MARKET_PRICE, ITEM_STREAM, &key);
}

static void message(struct rmds_channel *channel, const struct rmds_event *event, char **argv)
{
    struct rwf_msg msg;

    if (rwf_msg_decode(rwf_bytes(event->bytes, event->length), &msg) != RWF_OK)
        return;
    printf("%s %s, stream %d, %zu bytes of payload\n", rwf_domain_name(msg.domain),
           rwf_class_name(msg.msg_class), msg.stream_id, msg.payload.length);
    if (msg.domain == RWF_DOMAIN_LOGIN && msg.msg_class == RWF_CLASS_REFRESH)
        open_item(channel, argv[4], argv[5]);
}

int main(int argc, char **argv)
{
    struct rmds_options options;
    struct rmds_context *context;
    struct rmds_channel *channel;

    if (argc != 6) {
        fprintf(stderr, "usage: consumer HOST PORT USER SERVICE-ID ITEM\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); /* a line is seen when it is written, also through a pipe */
    rmds_options_init(&options);
    options.host = argv[1];
    options.port = (uint16_t)atoi(argv[2]);
    int rc = rmds_context_create(&context);
    if (rc == 0)
        rc = rmds_connect(context, &options, &channel);
    if (rc != 0) {
        fprintf(stderr, "consumer: %s\n", rmds_error_text(rc));
        return 1;
    }
    for (bool closed = false; !closed;) {
        struct rmds_event events[64];
        size_t count;
        while ((count = rmds_channel_turn(channel, rmds_now(), events, 64)) > 0) {
            for (size_t i = 0; i < count; i++) {
                if (events[i].kind == RMDS_EVENT_OPENED)
                    log_in(channel, argv[3]);
                if (events[i].kind == RMDS_EVENT_MESSAGE)
                    message(channel, &events[i], argv);
                closed |= events[i].kind == RMDS_EVENT_CLOSED;
            }
        }
        rmds_channel_flush(channel, rmds_now());
        unsigned wants = rmds_channel_wants(channel);
        struct pollfd fd = { .fd = rmds_channel_descriptor(channel),
                             .events = (short)((wants & RMDS_READABLE ? POLLIN : 0) |
                                               (wants & RMDS_WRITABLE ? POLLOUT : 0)) };
        if (!closed)
            poll(&fd, 1, 1000); /* pings need a turn now and then */
    }
    fprintf(stderr, "consumer: %s\n", rmds_channel_reason(channel));
    rmds_channel_destroy(channel);
    rmds_context_destroy(context);
    return 1;
}
