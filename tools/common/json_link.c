/* json_link.c - see json_link.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "json_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/err.h"
#include "ws/client.h"
#include "json/read.h"
#include "json/write.h"

#define READ_SIZE    ((size_t)256 << 10)
#define TEXT_MAX     (4u << 20) /* longest text of the server */
#define TEXT_LEAST   (64u << 10)
#define SENT_MAX     61430u /* longest text of ours; the default of wsMaxMsgSize */
#define QUEUE_MAX    (1u << 20)
#define HANDSHAKE_NS (10 * MD_NS_PER_S)
#define SILENCE_NS   (30 * MD_NS_PER_S) /* a server that says nothing for so long is gone */
#define LINGER_NS    (1 * MD_NS_PER_S)  /* for the last frame to be written */

struct json_context {
    struct rwf_dictionary *none; /* with no fields, until there is another */
    const struct rwf_dictionary *dictionary;
    struct json_reader *reader;
    size_t room; /* texts that the reader takes */
    uint8_t bytes[READ_SIZE];
    uint8_t text[SENT_MAX];
};

struct json_link {
    struct md_loop *loop;
    struct json_context *context;
    struct net_stream *stream;
    struct ws_client *client;
    struct md_loop_fd *watch;
    struct md_loop_timer *timer;
    struct json_dial dial;
    int descriptor;  /* that `watch` is for */
    uint64_t due_ns; /* what the timer runs for */
    uint64_t asked_ns;
    uint64_t linger_ns;
    uint64_t bytes_in;
    bool is_connected;
    bool is_over; /* `reason` says why */
    bool is_unread;
    char reason[256];
};

/* ---- what all links share ---- */

int json_context_create(struct json_context **out)
{
    struct json_context *context = malloc(sizeof(*context));

    *out = NULL;
    if (!context)
        return MD_ERR_NOMEM;
    context->reader = NULL;
    context->none = NULL;
    context->room = TEXT_LEAST;
    if (rwf_dictionary_create(&context->none) != MD_OK ||
        json_reader_create(context->room, &context->reader) != MD_OK) {
        json_context_destroy(context);
        return MD_ERR_NOMEM;
    }
    context->dictionary = context->none;
    *out = context;
    return MD_OK;
}

void json_context_destroy(struct json_context *context)
{
    if (!context)
        return;
    json_reader_destroy(context->reader);
    rwf_dictionary_destroy(context->none);
    free(context);
}

void json_context_use(struct json_context *context, const struct rwf_dictionary *dictionary)
{
    context->dictionary = dictionary ? dictionary : context->none;
}

static bool make_room(struct json_context *context, size_t length)
{
    struct json_reader *larger;
    size_t room = context->room;

    while (room < length)
        room *= 2;
    if (room == context->room)
        return true;
    if (json_reader_create(room, &larger) != MD_OK)
        return false;
    json_reader_destroy(context->reader);
    context->reader = larger;
    context->room = room;
    return true;
}

/* ---- texts of the server ---- */

static void send_text(struct json_link *link, const char *text)
{
    (void)ws_client_send(link->client, (const uint8_t *)text, strlen(text));
}

static void take_message(struct json_link *link, const struct json_read *read)
{
    struct rssl_event event = {
        .kind = RSSL_EVENT_MESSAGE,
        .length = (uint32_t)read->message.length,
        .bytes = read->message.data,
    };

    switch (read->kind) {
    case JSON_READ_MESSAGE:
        link->dial.ops.on_messages(link->dial.owner, &event, 1);
        break;
    case JSON_READ_PING:
        send_text(link, "{\"Type\":\"Pong\"}");
        break;
    case JSON_READ_NOTHING:
        if (read->error.text.length)
            link->dial.on_error(link->dial.owner, read->error.text);
        break;
    default:
        link->dial.on_error(link->dial.owner, read->error.text);
        break;
    }
}

static void on_text(void *owner, const uint8_t *text, size_t length)
{
    struct json_link *link = owner;
    struct json_context *context = link->context;
    const struct json_read_context read_context = { .dictionary = context->dictionary };
    struct json_read read;

    link->bytes_in += length;
    if (!make_room(context, length)) {
        ws_client_close(link->client, 1009, "no memory for a text of the server");
        return;
    }
    json_reader_start(context->reader, &read_context, rwf_bytes(text, length));
    while (ws_client_is_open(link->client) && json_reader_next(context->reader, &read))
        take_message(link, &read);
}

static void on_open(void *owner)
{
    struct json_link *link = owner;

    link->dial.ops.on_open(link->dial.owner);
}

/* ---- bytes ---- */

static void end(struct json_link *link, const char *reason)
{
    if (link->is_over)
        return;
    link->is_over = true;
    snprintf(link->reason, sizeof(link->reason), "%s", reason);
}

/* True when there may be more to read. */
static bool read_some(struct json_link *link)
{
    int64_t count = net_stream_read(link->stream, link->context->bytes, READ_SIZE);

    if (count > 0) {
        ws_client_input(link->client, md_clock_mono_ns(), link->context->bytes, (size_t)count);
        return count == (int64_t)READ_SIZE;
    }
    if (count == MD_ERR_AGAIN)
        return false;
    if (ws_client_reason(link->client)[0])
        end(link, ws_client_reason(link->client));
    else if (count == MD_ERR_CLOSED)
        end(link, "the server hung up");
    else
        end(link, net_stream_error(link->stream));
    return false;
}

static void read_all(struct json_link *link)
{
    unsigned reads = 0;

    link->is_unread = false;
    while (!link->is_over && read_some(link)) {
        if (++reads >= link->dial.read_factor && link->dial.read_factor) {
            link->is_unread = true;
            return;
        }
    }
}

static int flush(struct json_link *link)
{
    while (link->is_connected && !link->is_over) {
        struct md_slice out = ws_client_output(link->client);
        if (out.length == 0)
            return MD_OK;
        int64_t taken = net_stream_write(link->stream, &out, 1);
        if (taken < 0) {
            end(link, net_stream_error(link->stream));
            return (int)taken;
        }
        ws_client_sent(link->client, (size_t)taken);
        if ((size_t)taken < out.length)
            return MD_ERR_AGAIN;
    }
    return MD_OK;
}

/* ---- time ---- */

static uint64_t silence_due(const struct json_link *link)
{
    uint64_t heard_ns = ws_client_heard_ns(link->client);
    uint64_t asks_ns = heard_ns + SILENCE_NS / 3;

    if (!ws_client_is_open(link->client))
        return link->linger_ns ? link->linger_ns : ws_client_deadline(link->client);
    return link->asked_ns >= heard_ns ? heard_ns + SILENCE_NS : asks_ns;
}

/* Whoever speaks JSON pings in JSON: the server's answer is a sign of life. */
static void tick(struct json_link *link, uint64_t now_ns)
{
    ws_client_tick(link->client, now_ns);
    if (ws_client_reason(link->client)[0] && link->linger_ns == 0)
        link->linger_ns = now_ns + LINGER_NS;
    if (ws_client_is_open(link->client) && now_ns >= silence_due(link)) {
        if (link->asked_ns >= ws_client_heard_ns(link->client)) {
            ws_client_close(link->client, 1000, "the server says nothing for 30 seconds");
            link->linger_ns = now_ns + LINGER_NS;
        } else {
            link->asked_ns = now_ns;
            send_text(link, "{\"Type\":\"Ping\"}");
        }
    }
    if (ws_client_is_finished(link->client) || (link->linger_ns && now_ns >= link->linger_ns))
        end(link, ws_client_reason(link->client));
}

static void turn(struct json_link *link);

static void on_ready(void *owner, int fd, unsigned events)
{
    (void)fd;
    (void)events;
    turn(owner);
}

static void on_time(void *owner)
{
    struct json_link *link = owner;

    link->due_ns = MD_NEVER;
    turn(link);
}

/* Tell the loop what this link waits for now. */
static void settle(struct json_link *link)
{
    int descriptor = net_stream_descriptor(link->stream);
    bool has_output = link->is_connected && ws_client_output(link->client).length > 0;
    unsigned wants = net_stream_wants(link->stream, has_output);
    unsigned events =
        (wants & NET_READABLE ? MD_LOOP_READ : 0) | (wants & NET_WRITABLE ? MD_LOOP_WRITE : 0);

    if (descriptor != link->descriptor) {
        md_loop_fd_remove(link->watch);
        link->watch = NULL;
        link->descriptor = descriptor;
        if (descriptor >= 0)
            (void)md_loop_fd_add(link->loop, descriptor, events, on_ready, link, &link->watch);
    } else if (link->watch) {
        (void)md_loop_fd_set(link->watch, events);
    }
    uint64_t due_ns = link->is_unread ? 0 : silence_due(link);
    if (descriptor < 0 && due_ns > md_loop_now(link->loop) + NET_POLL_INTERVAL_NS)
        due_ns = md_loop_now(link->loop) + NET_POLL_INTERVAL_NS;
    if (due_ns < link->due_ns) {
        link->due_ns = due_ns;
        (void)md_loop_timer_at(link->timer, due_ns);
    }
}

static void turn(struct json_link *link)
{
    if (!link->is_connected && !link->is_over) {
        int rc = net_stream_ready(link->stream);
        link->is_connected = rc == MD_OK;
        if (rc != MD_OK && rc != MD_ERR_AGAIN)
            end(link, net_stream_error(link->stream));
    }
    if (link->is_connected && !link->is_over) {
        (void)flush(link);
        read_all(link);
    }
    if (!link->is_over)
        tick(link, md_clock_mono_ns());
    (void)flush(link);
    if (link->is_over)
        link->dial.ops.on_closed(link->dial.owner, link->reason);
    else
        settle(link);
}

/* ---- life ---- */

static int make_client(struct json_link *link)
{
    static const struct ws_client_ops ops = { .opened = on_open, .message = on_text };
    char host[300];
    struct ws_client_config config = {
        .host = host,
        .path = "/WebSocket",
        .protocol = "tr_json2",
        .message_max = TEXT_MAX,
        .queue_max = QUEUE_MAX,
        .handshake_ns = HANDSHAKE_NS,
    };
    bool is_v6 = strchr(link->dial.host, ':') != NULL;

    snprintf(host, sizeof(host), "%s%.256s%s:%u", is_v6 ? "[" : "", link->dial.host,
             is_v6 ? "]" : "", link->dial.port);
    if (getrandom(config.key, sizeof(config.key), 0) != (ssize_t)sizeof(config.key) ||
        getrandom(&config.seed, sizeof(config.seed), 0) != (ssize_t)sizeof(config.seed))
        return MD_ERR_SYS;
    return ws_client_create(&config, md_clock_mono_ns(), &ops, link, &link->client);
}

int json_link_dial(struct md_loop *loop, struct json_context *context, const struct json_dial *dial,
                   struct json_link **out)
{
    struct json_link *link = calloc(1, sizeof(*link));

    *out = NULL;
    if (!link)
        return MD_ERR_NOMEM;
    link->loop = loop;
    link->context = context;
    link->dial = *dial;
    link->descriptor = -1;
    link->due_ns = MD_NEVER;
    int rc = make_client(link);
    if (rc == MD_OK)
        rc = md_loop_timer_create(loop, on_time, link, &link->timer);
    if (rc == MD_OK)
        rc = dial->transport->dial(&dial->options, dial->host, dial->port, &link->stream);
    if (rc != MD_OK) {
        json_link_destroy(link);
        return rc;
    }
    *out = link;
    return MD_OK;
}

void json_link_destroy(struct json_link *link)
{
    if (!link)
        return;
    md_loop_fd_remove(link->watch);
    md_loop_timer_destroy(link->timer);
    ws_client_destroy(link->client);
    net_stream_close(link->stream);
    free(link);
}

void json_link_start(struct json_link *link)
{
    link->due_ns = 0;
    (void)md_loop_timer_at(link->timer, 0);
}

/* ---- messages of the owner ---- */

int json_link_send(struct json_link *link, struct rwf_bytes message)
{
    struct json_context *context = link->context;
    const struct json_write_context write_context = { .dictionary = context->dictionary };
    struct json_written written;
    struct rwf_peek peek;
    char *text = (char *)context->text;

    if (rwf_peek(message, &peek) != RWF_OK)
        return MD_ERR_RANGE;
    int head = snprintf(text, SENT_MAX, "{\"ID\":%d", peek.stream_id);
    int rc = json_write_message(&write_context, message, context->text + head,
                                SENT_MAX - (size_t)head, &written);
    if (rc != RWF_OK)
        return rc;
    return ws_client_send(link->client, context->text, (size_t)head + written.length);
}

int json_link_flush(struct json_link *link)
{
    int rc = flush(link);

    if (link->is_over)
        json_link_start(link); /* on_closed in a turn of its own */
    else if (rc != MD_OK)
        settle(link);
    return rc;
}

void json_link_close(struct json_link *link)
{
    ws_client_close(link->client, 1000, "closed by this side");
    json_link_start(link); /* the rest in a turn of its own, so that callers may go on using it */
}

uint64_t json_link_bytes_in(const struct json_link *link)
{
    return link->bytes_in;
}
