/* provider.c - accepts one consumer, its login, any item, and sends an update each second.
 *
 *     provider PORT
 *     cc provider.c $(pkg-config --cflags --libs openrmds)
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "rmds/client.h"
#include "rmds/rwf.h"

#define BID    22 /* field ids of the dictionary */
#define ASK    25
#define SECOND 1000000000ull

static void send_encoded(struct rmds_channel *channel, struct rwf_encoder *encoder)
{
    struct rwf_bytes bytes = rwf_encoder_bytes(encoder);

    if (rwf_encoder_error(encoder) == RWF_OK)
        rmds_channel_send(channel, bytes.data, bytes.length);
}

static void add_fields(struct rwf_encoder *encoder, int64_t price)
{
    struct rwf_real bid = { .value = price, .hint = 12 }; /* hundredths */
    struct rwf_real ask = { .value = price + 5, .hint = 12 };

    rwf_field_list_start(encoder, NULL);
    rwf_field_add_real(encoder, BID, &bid);
    rwf_field_add_real(encoder, ASK, &ask);
    rwf_field_list_finish(encoder);
}

/* The image, or for a login just "accepted". */
static void refresh(struct rmds_channel *channel, const struct rwf_msg *request, int64_t price)
{
    bool is_login = request->domain == RWF_DOMAIN_LOGIN;
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_REFRESH,
        .domain = request->domain,
        .stream_id = request->stream_id,
        .flags = RWF_REFRESH_HAS_KEY | RWF_REFRESH_SOLICITED | RWF_REFRESH_COMPLETE,
        .container = is_login ? RWF_TYPE_NO_DATA : RWF_TYPE_FIELD_LIST,
        .state = { .stream_state = 1, .data_state = 1, .text = rwf_text("All is well") },
        .key = request->key,
    };
    struct rwf_encoder encoder;
    uint8_t bytes[2048];

    rwf_encoder_init(&encoder, bytes, sizeof(bytes));
    rwf_msg_start(&encoder, &msg);
    if (!is_login)
        add_fields(&encoder, price);
    rwf_msg_finish(&encoder);
    send_encoded(channel, &encoder);
}

static void update(struct rmds_channel *channel, int32_t stream, int64_t price)
{
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_UPDATE,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .stream_id = stream,
        .container = RWF_TYPE_FIELD_LIST,
    };
    struct rwf_encoder encoder;
    uint8_t bytes[256];

    rwf_encoder_init(&encoder, bytes, sizeof(bytes));
    rwf_msg_start(&encoder, &msg);
    add_fields(&encoder, price);
    rwf_msg_finish(&encoder);
    send_encoded(channel, &encoder);
}

/* Serve one consumer until it goes. */
static void serve(struct rmds_channel *channel)
{
    int32_t item = 0;
    int64_t price = 10000;
    uint64_t next = 0;

    for (;;) {
        struct rmds_event events[64];
        size_t count;
        uint64_t now = rmds_now();
        while ((count = rmds_channel_turn(channel, now, events, 64)) > 0) {
            for (size_t i = 0; i < count; i++) {
                struct rwf_msg msg;
                if (events[i].kind == RMDS_EVENT_CLOSED)
                    return;
                if (events[i].kind != RMDS_EVENT_MESSAGE ||
                    rwf_msg_decode(rwf_bytes(events[i].bytes, events[i].length), &msg) != RWF_OK ||
                    msg.msg_class != RWF_CLASS_REQUEST)
                    continue;
                refresh(channel, &msg, price);
                if (msg.domain == RWF_DOMAIN_MARKET_PRICE)
                    item = msg.stream_id;
            }
        }
        if (item && now >= next) {
            update(channel, item, ++price);
            next = now + SECOND;
        }
        rmds_channel_flush(channel, now);
        struct pollfd fd = { .fd = rmds_channel_descriptor(channel), .events = POLLIN };
        if (rmds_channel_wants(channel) & RMDS_WRITABLE)
            fd.events |= POLLOUT;
        poll(&fd, 1, 100);
    }
}

int main(int argc, char **argv)
{
    struct rmds_options options;
    struct rmds_context *context;
    struct rmds_listener *listener;
    struct rmds_channel *channel;

    rmds_options_init(&options);
    options.port = (uint16_t)(argc > 1 ? atoi(argv[1]) : 14002);
    int rc = rmds_context_create(&context);
    if (rc == 0)
        rc = rmds_listen(context, &options, &listener);
    if (rc != 0) {
        fprintf(stderr, "provider: %s\n", rmds_error_text(rc));
        return 1;
    }
    printf("port %u\n", rmds_listener_port(listener));
    fflush(stdout);
    do {
        struct pollfd fd = { .fd = rmds_listener_descriptor(listener), .events = POLLIN };
        poll(&fd, 1, -1);
        rc = rmds_listener_accept(listener, context, &channel);
    } while (rc != 0);
    serve(channel);
    printf("%s\n", rmds_channel_reason(channel));
    rmds_channel_destroy(channel);
    rmds_listener_close(listener);
    rmds_context_destroy(context);
    return 0;
}
