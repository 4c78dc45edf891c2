/* provider.c - accepts one consumer, its login, any item of service EXAMPLE, and sends an update
 * each second. A generic message comes back as it is.
 *
 *     provider PORT
 *     cc provider.c $(pkg-config --cflags --libs openrmds) -o provider
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "rmds/client.h"
#include "rmds/rwf.h"

#define BID          22 /* field ids of the dictionary */
#define ASK          25
#define SECOND       1000000000ull

#define SERVICE_ID   1
#define SERVICE_NAME "EXAMPLE"

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

static void part_start(struct rwf_encoder *encoder, uint8_t id)
{
    struct rwf_filter_entry part = { .action = RWF_FILTER_SET, .id = id };

    rwf_filter_entry_start(encoder, &part);
    rwf_element_list_start(encoder, NULL);
}

static void part_finish(struct rwf_encoder *encoder)
{
    rwf_element_list_finish(encoder);
    rwf_filter_entry_finish(encoder);
}

/* The directory: one service, which is up and has market prices. */
static void add_service(struct rwf_encoder *encoder)
{
    static const uint8_t id[] = { SERVICE_ID };
    struct rwf_map_info map = { .key_type = RWF_TYPE_UINT, .container = RWF_TYPE_FILTER_LIST };
    struct rwf_map_entry service = { .action = RWF_MAP_ADD, .key = rwf_bytes(id, sizeof(id)) };
    struct rwf_filter_list_info parts = { .container = RWF_TYPE_ELEMENT_LIST };
    struct rwf_value domain = rwf_value_uint(RWF_DOMAIN_MARKET_PRICE);

    rwf_map_start(encoder, &map);
    rwf_map_entry_start(encoder, &service);
    rwf_filter_list_start(encoder, &parts);
    part_start(encoder, 1);
    rwf_element_add_ascii(encoder, "Name", rwf_text(SERVICE_NAME));
    rwf_element_start(encoder, rwf_text("Capabilities"), RWF_TYPE_ARRAY);
    rwf_array_start(encoder, RWF_TYPE_UINT, 0);
    rwf_array_add(encoder, &domain);
    rwf_array_finish(encoder);
    rwf_element_finish(encoder);
    part_finish(encoder);
    part_start(encoder, 2);
    rwf_element_add_uint(encoder, "ServiceState", 1);
    rwf_element_add_uint(encoder, "AcceptingRequests", 1);
    part_finish(encoder);
    rwf_filter_list_finish(encoder);
    rwf_map_entry_finish(encoder);
    rwf_map_finish(encoder);
}

static unsigned container_of(unsigned domain)
{
    if (domain == RWF_DOMAIN_LOGIN)
        return RWF_TYPE_NO_DATA;
    return domain == RWF_DOMAIN_SOURCE ? RWF_TYPE_MAP : RWF_TYPE_FIELD_LIST;
}

/* The image, the directory, or for a login just "accepted". */
static void refresh(struct rmds_channel *channel, const struct rwf_msg *request, int64_t price)
{
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_REFRESH,
        .domain = request->domain,
        .stream_id = request->stream_id,
        .flags = RWF_REFRESH_HAS_KEY | RWF_REFRESH_SOLICITED | RWF_REFRESH_COMPLETE,
        .container = (uint16_t)container_of(request->domain),
        .state = { .stream_state = 1, .data_state = 1, .text = rwf_text("All is well") },
        .key = request->key,
    };
    struct rwf_encoder encoder;
    uint8_t bytes[2048];

    rwf_encoder_init(&encoder, bytes, sizeof(bytes));
    rwf_msg_start(&encoder, &msg);
    if (msg.container == RWF_TYPE_MAP)
        add_service(&encoder);
    if (msg.container == RWF_TYPE_FIELD_LIST)
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
                    rwf_msg_decode(rwf_bytes(events[i].bytes, events[i].length), &msg) != RWF_OK)
                    continue;
                if (msg.msg_class == RWF_CLASS_GENERIC) /* the answer is the question */
                    rmds_channel_send(channel, events[i].bytes, events[i].length);
                if (msg.msg_class != RWF_CLASS_REQUEST)
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
