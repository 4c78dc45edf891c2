/* bad_peer.c - a provider or a consumer with bad manners, to see that it harms only itself. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "omm/directory.h"
#include "omm/item.h"
#include "omm/login.h"
#include "rmds/client.h"
#include "rmds/rwf.h"
#include "seqdata.h"

/*
 *     bad_peer provider MODE PORT      offers the service BAD, serves one src_dist after the other
 *         nonsense   answers every request with random bytes in a good frame
 *         ids        answers on streams nobody opened, and sends updates on others
 *         early      sends five updates before each image, then goes on in order
 *         recover    closes every item with CLOSED_RECOVER, for ever
 *         silent     accepts the login, shows its service, answers no request for an item
 *     bad_peer consumer MODE HOST PORT
 *         nonsense   logs in, then sends random bytes in good frames
 *         mutate     sends good messages with a byte changed, logged in or not
 *         logins     logs in ten thousand times on one connection
 *         unknown    opens ten thousand items of a service that there is not, and of one that has
 *                    none of these; says how many were closed
 *     bad_peer publisher MODE HOST PORT      as a non-interactive provider
 *         nonsense, logins   as a consumer
 *         crowd      opens more connections than src_dist takes, and keeps them
 *
 * Standard output: a line for each event a test may want. Ends when it is closed (consumer) or
 * killed.
 */
#define SERVICE_ID  77
#define STREAMS_MAX 64
#define TICK_NS     20000000ull
#define MANY        10000
#define WINDOW      500
#define STAY_NS     4000000000ull
#define CROWD       80

struct stream {
    int32_t id;
    uint32_t count;
    uint64_t item;
    char name[64];
    size_t length;
    bool has_image;
};

struct bad {
    const char *role, *mode;
    struct rmds_channel *channel;
    struct md_prng prng;
    struct stream streams[STREAMS_MAX];
    size_t stream_count;
    uint64_t requests, closed, next_ns, until_ns;
    int32_t sent;
    bool is_open, is_over;
    uint8_t message[4096];
};

static bool is(const struct bad *bad, const char *mode)
{
    return strcmp(bad->mode, mode) == 0;
}

static void say(const char *what, unsigned long long value)
{
    printf("%s %llu\n", what, value);
    fflush(stdout);
}

static void send_encoded(struct bad *bad, const struct rwf_encoder *enc)
{
    struct rwf_bytes bytes = rwf_encoder_bytes(enc);

    if (rwf_encoder_error(enc) == RWF_OK)
        (void)rmds_channel_send(bad->channel, bytes.data, bytes.length);
}

static void send_nonsense(struct bad *bad)
{
    size_t length = 1 + md_prng_below(&bad->prng, 300);

    for (size_t i = 0; i < length; i++)
        bad->message[i] = (uint8_t)md_prng_u32(&bad->prng);
    (void)rmds_channel_send(bad->channel, bad->message, length);
}

/* ---- the provider ---- */

static void accept_login(struct bad *bad, const struct rwf_msg *msg)
{
    struct omm_login_request request;
    struct rwf_encoder enc;

    if (omm_login_request_decode(msg, &request) != RWF_OK)
        return;
    struct omm_login_refresh refresh = {
        .stream_id = msg->stream_id,
        .is_solicited = true,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
        .user = request.user,
        .name_type = request.name_type,
        .allow_suspect_data = true,
    };
    rwf_encoder_init(&enc, bad->message, sizeof(bad->message));
    omm_login_refresh_encode(&enc, &refresh);
    send_encoded(bad, &enc);
}

static void send_directory(struct bad *bad, int32_t stream_id, bool is_solicited)
{
    struct rwf_encoder enc;
    struct omm_directory_head head = {
        .stream_id = stream_id,
        .is_solicited = is_solicited,
        .is_first = true,
        .is_complete = true,
        .is_streaming = true,
        .filter = OMM_FILTER_INFO | OMM_FILTER_STATE,
    };
    struct omm_service service = {
        .id = SERVICE_ID,
        .action = RWF_MAP_ADD,
        .filters = OMM_FILTER_INFO | OMM_FILTER_STATE,
        .name = rwf_text("BAD"),
        .capability_count = 1,
        .capabilities = { RWF_DOMAIN_MARKET_PRICE },
        .qos_count = 1,
        .qos = { { .timeliness = RWF_TIMELINESS_REALTIME, .rate = RWF_RATE_TICK_BY_TICK } },
        .is_up = true,
        .is_accepting = true,
    };

    rwf_encoder_init(&enc, bad->message, sizeof(bad->message));
    omm_directory_encode_start(&enc, &head);
    omm_directory_encode_service(&enc, &service);
    omm_directory_encode_finish(&enc);
    send_encoded(bad, &enc);
}

static void send_data(struct bad *bad, struct stream *s, uint8_t class, int32_t id)
{
    uint8_t payload[SEQDATA_IMAGE_MAX];
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = class,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .stream_id = id,
        .container = RWF_TYPE_FIELD_LIST,
        .payload = { .data = payload, .length = SEQDATA_UPDATE_BYTES },
    };

    if (class == RWF_CLASS_REFRESH) {
        msg.flags = RWF_REFRESH_SOLICITED | RWF_REFRESH_COMPLETE;
        msg.state =
            (struct rwf_state){ .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK };
        msg.payload.length = seqdata_image(s->item, s->name, s->length, s->count, payload);
    } else {
        seqdata_update(s->item, ++s->count, payload);
    }
    rwf_encoder_init(&enc, bad->message, sizeof(bad->message));
    rwf_msg_encode(&enc, &msg);
    send_encoded(bad, &enc);
}

static void recover(struct bad *bad, const struct rwf_msg *msg)
{
    struct rwf_encoder enc;
    struct omm_status status = {
        .stream_id = msg->stream_id,
        .domain = msg->domain,
        .state = { .stream_state = RWF_STREAM_CLOSED_RECOVER,
                   .data_state = RWF_DATA_SUSPECT,
                   .text = rwf_text("not now") },
    };

    rwf_encoder_init(&enc, bad->message, sizeof(bad->message));
    omm_status_encode(&enc, &status);
    send_encoded(bad, &enc);
}

static struct stream *stream_new(struct bad *bad, const struct rwf_msg *msg)
{
    struct stream *s = &bad->streams[bad->stream_count];
    struct rwf_bytes name = msg->key.name;

    if (bad->stream_count == STREAMS_MAX || name.length >= sizeof(s->name))
        return NULL;
    bad->stream_count++;
    *s = (struct stream){ .id = msg->stream_id,
                          .item = seqdata_item(name.data, name.length),
                          .length = name.length };
    memcpy(s->name, name.data, name.length);
    return s;
}

static void on_item(struct bad *bad, const struct rwf_msg *msg)
{
    say("requests", ++bad->requests);
    if (is(bad, "silent"))
        return;
    if (is(bad, "recover")) {
        recover(bad, msg);
        return;
    }
    struct stream *s = stream_new(bad, msg);
    if (!s)
        return;
    if (is(bad, "ids")) {
        send_data(bad, s, RWF_CLASS_REFRESH, s->id + 5000);
        send_data(bad, s, RWF_CLASS_UPDATE, s->id + 6000);
    } else if (is(bad, "early")) {
        for (int i = 0; i < 5; i++)
            send_data(bad, s, RWF_CLASS_UPDATE, s->id);
    }
}

static void on_request(struct bad *bad, const struct rwf_msg *msg)
{
    if (msg->msg_class != RWF_CLASS_REQUEST)
        return;
    if (is(bad, "nonsense"))
        send_nonsense(bad);
    else if (msg->domain == RWF_DOMAIN_LOGIN)
        accept_login(bad, msg);
    else if (msg->domain == RWF_DOMAIN_SOURCE)
        send_directory(bad, msg->stream_id, true);
    else if (msg->domain == RWF_DOMAIN_MARKET_PRICE)
        on_item(bad, msg);
}

static void provider_tick(struct bad *bad)
{
    for (size_t i = 0; i < bad->stream_count; i++) {
        struct stream *s = &bad->streams[i];
        if (is(bad, "ids")) {
            send_data(bad, s, RWF_CLASS_UPDATE, s->id + 7000);
        } else if (is(bad, "early")) {
            send_data(bad, s, s->has_image ? RWF_CLASS_UPDATE : RWF_CLASS_REFRESH, s->id);
            s->has_image = true;
        }
    }
}

/* ---- the consumer, the publisher ---- */

static void send_login(struct bad *bad, bool is_publisher)
{
    struct rwf_encoder enc;
    struct omm_login_request login = {
        .stream_id = OMM_LOGIN_STREAM,
        .is_streaming = true,
        .user = rwf_text("bad"),
        .name_type = RWF_NAME_LOGIN_USER,
        .position = rwf_text("127.0.0.1/net"),
        .role = is_publisher ? OMM_ROLE_PROVIDER : OMM_ROLE_CONSUMER,
        .single_open = true,
        .allow_suspect_data = true,
    };

    rwf_encoder_init(&enc, bad->message, sizeof(bad->message));
    omm_login_request_encode(&enc, &login);
    if (is(bad, "mutate")) {
        size_t at = md_prng_below(&bad->prng, (uint32_t)rwf_encoder_bytes(&enc).length);
        bad->message[at] ^= (uint8_t)(1 + md_prng_below(&bad->prng, 255));
    }
    send_encoded(bad, &enc);
}

static void ask(struct bad *bad)
{
    char name[32];
    struct rwf_encoder enc;
    struct omm_item_request request = {
        .stream_id = 5 + bad->sent,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .is_streaming = true,
        .container = RWF_TYPE_NO_DATA,
        .key = { .flags = RWF_KEY_HAS_SERVICE_ID | RWF_KEY_HAS_NAME_TYPE | RWF_KEY_HAS_NAME,
                 .service_id = (uint16_t)(bad->sent % 2 ? 999 : 1),
                 .name_type = RWF_NAME_RIC,
                 .name = { .data = (const uint8_t *)name } },
    };

    request.key.name.length = (size_t)snprintf(name, sizeof(name), "?%d", bad->sent++);
    rwf_encoder_init(&enc, bad->message, sizeof(bad->message));
    omm_item_request_encode(&enc, &request);
    if (is(bad, "mutate")) {
        size_t at = md_prng_below(&bad->prng, (uint32_t)rwf_encoder_bytes(&enc).length);
        bad->message[at] ^= (uint8_t)(1 + md_prng_below(&bad->prng, 255));
    }
    send_encoded(bad, &enc);
}

static void consumer_open(struct bad *bad)
{
    bad->until_ns = rmds_now() + STAY_NS;
    send_login(bad, strcmp(bad->role, "publisher") == 0);
}

static void consumer_tick(struct bad *bad)
{
    if (is(bad, "nonsense")) {
        for (int i = 0; i < 20; i++)
            send_nonsense(bad);
    } else if (is(bad, "mutate")) {
        for (int i = 0; i < 10; i++)
            ask(bad);
        send_login(bad, false);
    } else if (is(bad, "logins")) {
        for (int i = 0; i < 200 && bad->sent < MANY; i++, bad->sent++)
            send_login(bad, strcmp(bad->role, "publisher") == 0);
    } else if (is(bad, "unknown")) {
        while (bad->sent < MANY && (uint64_t)bad->sent < bad->closed + WINDOW)
            ask(bad);
        if (bad->closed == MANY)
            bad->is_over = true;
    }
    if (rmds_now() > bad->until_ns)
        bad->is_over = true;
}

static void on_answer(struct bad *bad, const struct rwf_msg *msg)
{
    bool is_closed = msg->msg_class == RWF_CLASS_STATUS && msg->stream_id >= 5 &&
                     msg->state.stream_state >= RWF_STREAM_CLOSED_RECOVER;

    bad->closed += is_closed;
    bad->requests++; /* answers */
    /* An image is an answer, too, that the provider of all names gave. */
    if (is(bad, "unknown") && msg->msg_class == RWF_CLASS_REFRESH && msg->stream_id >= 5)
        bad->closed++;
}

/* ---- both ---- */

static void handle(struct bad *bad, const struct rmds_event *event)
{
    struct rwf_msg msg;
    bool is_provider = strcmp(bad->role, "provider") == 0;

    if (event->kind == RMDS_EVENT_OPENED) {
        bad->is_open = true;
        if (!is_provider)
            consumer_open(bad);
    } else if (event->kind == RMDS_EVENT_CLOSED) {
        printf("closed %s\n", rmds_channel_reason(bad->channel));
        fflush(stdout);
        bad->is_over = true;
    } else if (event->kind == RMDS_EVENT_MESSAGE &&
               rwf_msg_decode(rwf_bytes(event->bytes, event->length), &msg) == RWF_OK) {
        if (is_provider)
            on_request(bad, &msg);
        else
            on_answer(bad, &msg);
    }
}

static void serve(struct bad *bad)
{
    bad->is_open = bad->is_over = false;
    bad->stream_count = 0;
    while (!bad->is_over) {
        struct rmds_event events[64];
        size_t count;
        uint64_t now = rmds_now();
        while (!bad->is_over && (count = rmds_channel_turn(bad->channel, now, events, 64)) > 0) {
            for (size_t i = 0; i < count; i++)
                handle(bad, &events[i]);
        }
        if (bad->is_open && !bad->is_over && now >= bad->next_ns) {
            bad->next_ns = now + TICK_NS;
            if (strcmp(bad->role, "provider") == 0)
                provider_tick(bad);
            else
                consumer_tick(bad);
        }
        if (bad->is_over)
            break;
        (void)rmds_channel_flush(bad->channel, now);
        struct pollfd fd = { .fd = rmds_channel_descriptor(bad->channel), .events = POLLIN };
        if (rmds_channel_wants(bad->channel) & RMDS_WRITABLE)
            fd.events |= POLLOUT;
        poll(&fd, 1, 10);
    }
    rmds_channel_destroy(bad->channel);
}

static int provide(struct bad *bad, struct rmds_context *context, uint16_t port)
{
    struct rmds_options options;
    struct rmds_listener *listener;

    rmds_options_init(&options);
    options.port = port;
    options.ping_timeout_min_s = 1;
    if (rmds_listen(context, &options, &listener) != 0)
        return 1;
    for (;;) {
        struct pollfd fd = { .fd = rmds_listener_descriptor(listener), .events = POLLIN };
        poll(&fd, 1, -1);
        if (rmds_listener_accept(listener, context, &bad->channel) == 0)
            serve(bad);
    }
}

static int consume(struct bad *bad, struct rmds_context *context, const char *host, uint16_t port)
{
    struct rmds_options options;

    rmds_options_init(&options);
    options.host = host;
    options.port = port;
    options.max_buffers = 4000;
    if (rmds_connect(context, &options, &bad->channel) != 0)
        return 1;
    serve(bad);
    say("sent", (unsigned long long)bad->sent);
    say("answers", bad->requests);
    say("ended", bad->closed);
    return 0;
}

/* One of the crowd; false: its end. */
static bool stand(struct bad *bad, struct rmds_channel *channel)
{
    struct rmds_event events[64];
    uint64_t now = rmds_now();
    size_t count = rmds_channel_turn(channel, now, events, 64);
    bool goes_on = true;

    for (size_t i = 0; i < count; i++) {
        if (events[i].kind == RMDS_EVENT_OPENED)
            say("opened", ++bad->requests);
        goes_on &= events[i].kind != RMDS_EVENT_CLOSED;
    }
    (void)rmds_channel_flush(channel, now);
    return goes_on;
}

/* For ever: whoever started it kills it. */
static int crowd(struct bad *bad, struct rmds_context *context, const char *host, uint16_t port)
{
    struct rmds_channel *all[CROWD] = { 0 };
    struct rmds_options options;

    rmds_options_init(&options);
    options.host = host;
    options.port = port;
    for (size_t i = 0; i < CROWD; i++) {
        if (rmds_connect(context, &options, &all[i]) != 0)
            return 1;
    }
    for (;;) {
        for (size_t i = 0; i < CROWD; i++) {
            if (!all[i] || stand(bad, all[i]))
                continue;
            rmds_channel_destroy(all[i]);
            all[i] = NULL;
            say("closed", ++bad->closed);
        }
        poll(NULL, 0, 10);
    }
}

int main(int argc, char **argv)
{
    static struct bad bad;
    struct rmds_context *context;
    const char *port = argc > 1 ? argv[argc - 1] : "";

    if (argc < 4 || (strcmp(argv[1], "provider") != 0 && argc < 5)) {
        fprintf(stderr, "usage: bad_peer provider MODE PORT | consumer|publisher MODE HOST PORT\n");
        return 2;
    }
    bad.role = argv[1];
    bad.mode = argv[2];
    bad.prng = md_prng_init(7);
    signal(SIGPIPE, SIG_IGN);
    if (rmds_context_create(&context) != 0)
        return 1;
    uint16_t number = (uint16_t)strtoul(port, NULL, 10);
    int rc = strcmp(bad.role, "provider") == 0 ? provide(&bad, context, number)
             : is(&bad, "crowd")               ? crowd(&bad, context, argv[3], number)
                                               : consume(&bad, context, argv[3], number);
    rmds_context_destroy(context);
    return rc;
}
