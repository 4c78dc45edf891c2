/* ws_requests.c - what WebSocket consumers say: messages of JSON to the core's requests. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "dictionaries.h"
#include "rssl_front.h"
#include "work.h"
#include "worker.h"
#include "ws_front.h"

#define PEER_MAX 64

/* One message on its way to the core. */
struct asked {
    struct p2ps_mount *mount;
    struct p2ps_core *core;
    uint64_t now_ns;
    const struct json_read *read;
    unsigned *left; /* of the client's share */
    struct rwf_msg msg;
};

/* Answers have no room in its queue: until there is, it has to read before it may ask. */
static void choke(const struct asked *a)
{
    a->mount->is_choked = true;
    a->mount->worker->choked++;
    a->mount->ws->choked_ns = a->now_ns;
}

/* Data leave an eighth of the queue free for answers. False: half of it is in use, what the
 * client asks for waits until it has read. */
static bool has_room(const struct asked *a)
{
    uint32_t max = ws_queue_max(a->mount->ws->conn);

    if (ws_queued(a->mount->ws->conn) <= max - max / 16)
        return true;
    choke(a);
    return false;
}

/* One more request was made. False: the next one waits, for the client's turn or for room. */
static bool goes_on(const struct asked *a)
{
    --*a->left;
    return *a->left > 0 && has_room(a) && p2ps_client_takes(a->core, a->mount->client);
}

static int service_id(void *owner, struct rwf_bytes name)
{
    const struct p2ps_worker *worker = owner;

    return p2ps_core_service_named(worker->core, name);
}

/* ---- requests ---- */

/* A client that says nothing of itself is known by its address. */
static void login(const struct asked *a)
{
    struct omm_login_request request;
    char peer[PEER_MAX];

    int rc = omm_login_request_decode(&a->msg, &request);
    if (rc != RWF_OK && rc != RWF_ERR_NOT_FOUND) { /* that: its name is empty */
        p2ps_client_bad_request(a->core, a->mount->client, a->msg.stream_id, a->msg.domain,
                                "The login request cannot be read");
        return;
    }
    snprintf(peer, sizeof(peer), "%s", net_stream_peer(a->mount->stream));
    char *colon = strrchr(peer, ':');
    if (colon)
        *colon = 0;
    if (request.position.length == 0)
        request.position = rwf_text(peer);
    if (request.application_id.length == 0)
        request.application_id = rwf_text("256");
    request.disable_data_conversion = false;
    request.marketfeed_data = false;
    if (!p2ps_mount_is_in(a->mount))
        a->mount->ws->login_stream = a->msg.stream_id;
    p2ps_client_login(a->core, a->now_ns, a->mount->client, &request);
}

static bool needs_service(const struct rwf_msg *msg)
{
    return msg->domain != RWF_DOMAIN_LOGIN && msg->domain != RWF_DOMAIN_SOURCE &&
           msg->domain != RWF_DOMAIN_DICTIONARY;
}

/* defaultService, or else the first that offers the domain. */
static void default_service(struct asked *a)
{
    const struct p2ps_worker *worker = a->mount->worker;
    const char *name = worker->ws->config.default_service;
    int id = name[0] ? p2ps_core_service_named(a->core, rwf_text(name))
                     : p2ps_core_service_first(a->core, a->msg.domain);

    if (a->read->has_service || id < 0)
        return;
    a->msg.key.flags |= RWF_KEY_HAS_SERVICE_ID;
    a->msg.key.service_id = (uint16_t)id;
}

static void request(struct asked *a)
{
    if (a->msg.domain == RWF_DOMAIN_LOGIN) {
        login(a);
        return;
    }
    if (needs_service(&a->msg))
        default_service(a);
    if (a->msg.domain == RWF_DOMAIN_SOURCE && !(a->msg.key.flags & RWF_KEY_HAS_FILTER)) {
        a->msg.key.flags |= RWF_KEY_HAS_FILTER;
        a->msg.key.filter = OMM_FILTER_INFO | OMM_FILTER_STATE;
    }
    p2ps_rwf_request(a->core, a->now_ns, a->mount->client, &a->msg);
}

/* ---- batches ---- */

static void tell_batch(struct asked *a, int32_t stream_id, const char *what, size_t total,
                       size_t failed)
{
    char text[128];
    struct rwf_state state = { .stream_state = RWF_STREAM_CLOSED, .data_state = RWF_DATA_OK };
    int length = snprintf(text, sizeof(text), "Processed %zu total %s. %zu Ok.", total, what,
                          total - failed);

    if (failed)
        snprintf(text + length, sizeof(text) - (size_t)length, " %zu Failed.", failed);
    state.text = rwf_text(text);
    p2ps_ws_send_status(a->mount, stream_id, a->msg.domain, &state);
}

/* Each name is a request of its own, on the ids behind that of the batch. False: the names from
 * `at->named` on wait. */
static bool batch(struct asked *a, struct p2ps_ws_waiting *at)
{
    struct json_reader *reader = a->mount->worker->ws->reader;
    int32_t first = a->msg.stream_id;
    size_t count = a->read->count;
    size_t failed = 0;

    if (!p2ps_mount_is_in(a->mount) || first <= 0 || (size_t)(INT32_MAX - first) < count) {
        p2ps_client_bad_request(a->core, a->mount->client, first, a->msg.domain,
                                "A batch needs a login and positive stream ids");
        return true;
    }
    for (size_t i = 0; at->named == 0 && i < count; i++)
        failed += p2ps_client_has_stream(a->core, a->mount->client, first + 1 + (int32_t)i);
    if (at->named == 0)
        tell_batch(a, first, "items from Batch Request", count, failed);
    for (size_t from = at->named; at->named < count && a->mount->client != UINT32_MAX;
         at->named++) {
        if (at->named > from && !goes_on(a))
            return false;
        a->msg.stream_id = first + 1 + (int32_t)at->named;
        if (p2ps_client_has_stream(a->core, a->mount->client, a->msg.stream_id))
            continue;
        a->msg.key.flags |= RWF_KEY_HAS_NAME;
        a->msg.key.name = json_reader_name(reader, at->named);
        request(a);
    }
    return true;
}

/* False: the ids from `at->named` on wait. */
static bool closes(struct asked *a, struct p2ps_ws_waiting *at)
{
    struct json_reader *reader = a->mount->worker->ws->reader;
    size_t count = a->read->count;

    a->msg.domain = RWF_DOMAIN_MARKET_PRICE;
    if (count == 0)
        return true;
    if (!p2ps_mount_is_in(a->mount)) {
        p2ps_client_bad_request(a->core, a->mount->client, (int32_t)json_reader_id(reader, 0),
                                a->msg.domain, "A batch needs a login");
        return true;
    }
    for (size_t from = at->named; at->named < count && a->mount->client != UINT32_MAX;
         at->named++) {
        if (at->named > from && !goes_on(a))
            return false;
        int32_t id = (int32_t)json_reader_id(reader, at->named);

        at->failed += !p2ps_client_has_stream(a->core, a->mount->client, id);
        p2ps_client_close(a->core, a->now_ns, a->mount->client, id);
    }
    if (a->mount->client != UINT32_MAX)
        tell_batch(a, (int32_t)json_reader_id(reader, 0), "stream ids from Batch Close Request",
                   count, at->failed);
    return true;
}

/* ---- messages ---- */

static void post(struct asked *a)
{
    if (!(a->msg.flags & RWF_POST_HAS_KEY) || !a->read->has_service)
        default_service(a);
    p2ps_client_post(a->core, a->now_ns, a->mount->client, &a->msg, a->read->message);
}

static void close_stream(struct asked *a)
{
    bool is_login = p2ps_mount_is_in(a->mount) && a->msg.stream_id == a->mount->ws->login_stream;

    p2ps_client_close(a->core, a->now_ns, a->mount->client, a->msg.stream_id);
    if (is_login)
        ws_close(a->mount->ws->conn, WS_CLOSE_NORMAL, "Normal Closure");
}

static bool message(struct asked *a, struct p2ps_ws_waiting *at)
{
    if (rwf_msg_decode(a->read->message, &a->msg) != RWF_OK)
        return true;
    switch (a->msg.msg_class) {
    case RWF_CLASS_REQUEST:
        if (a->read->kind == JSON_READ_BATCH)
            return batch(a, at);
        request(a);
        break;
    case RWF_CLASS_CLOSE:
        close_stream(a);
        break;
    case RWF_CLASS_POST:
        post(a);
        break;
    case RWF_CLASS_GENERIC:
        p2ps_client_generic(a->core, a->now_ns, a->mount->client, &a->msg, a->read->message);
        break;
    default:
        break; /* not for a server */
    }
    return true;
}

/* False: there is no room for it now. An empty queue takes any answer. */
static bool tell_error(const struct asked *a)
{
    const struct p2ps_ws *ws = a->mount->worker->ws;
    size_t length = json_write_error(a->read->id, &a->read->error, ws->text, ws->text_size);
    bool is_empty = ws_queued(a->mount->ws->conn) == 0;

    if (length > 0 && p2ps_ws_send_text(a->mount, (const char *)ws->text, length))
        return true;
    if (length > 0 && !is_empty)
        return false;
    p2ps_mount_close(a->mount, "no room for the answer to a broken message");
    return true;
}

/* False: the message, or the rest of a batch, waits. */
static bool answer(struct asked *a, struct p2ps_ws_waiting *at)
{
    static const char pong[] = "{\"Type\":\"Pong\"}";
    enum json_read_kind kind = a->read->kind;

    if (kind == JSON_READ_CLOSES)
        return closes(a, at);
    if (kind == JSON_READ_MESSAGE || kind == JSON_READ_BATCH)
        return message(a, at);
    p2ps_work_spend(a->core, 1, 0);
    bool is_said = true;
    if (kind == JSON_READ_BAD)
        is_said = tell_error(a);
    else if (kind == JSON_READ_PING)
        is_said = p2ps_ws_send_text(a->mount, pong, sizeof(pong) - 1);
    if (!is_said)
        choke(a);
    return is_said;
}

/* ---- turns ---- */

static void start(const struct p2ps_mount *mount, struct rwf_bytes text, size_t done)
{
    const struct p2ps_ws *ws = mount->worker->ws;
    const struct json_read_context context = {
        .dictionary = p2ps_dictionary_types(ws->config.dictionaries),
        .catches_keys = ws->config.catches_keys,
        .catches_fields = ws->config.catches_fields,
        .service_id = service_id,
        .owner = mount->worker,
    };

    json_reader_start(ws->reader, &context, text);
    json_reader_skip(ws->reader, done);
}

/* Reads the frame once for all of `left` requests. False: the messages from `at` on wait. */
static bool serve(struct p2ps_mount *mount, uint64_t now_ns, struct rwf_bytes text, unsigned left,
                  struct p2ps_ws_waiting *at)
{
    struct json_reader *reader = mount->worker->ws->reader;
    struct json_read read;
    struct asked a = {
        .mount = mount,
        .core = mount->worker->core,
        .now_ns = now_ns,
        .read = &read,
        .left = &left,
    };

    if (!has_room(&a))
        return false;
    start(mount, text, at->done);
    p2ps_work_spend(a.core, 0, text.length);
    for (bool is_first = true; json_reader_next(reader, &read); is_first = false) {
        if (!is_first && !goes_on(&a))
            return false;
        a.msg = (struct rwf_msg){ 0 };
        if (!answer(&a, at))
            return false;
        at->done++;
        at->named = at->failed = 0;
        if (mount->client == UINT32_MAX)
            return true;
    }
    return true;
}

static void keep(struct p2ps_mount *mount, struct rwf_bytes text, const struct p2ps_ws_waiting *at)
{
    struct p2ps_ws_waiting *waiting = &mount->ws->waiting;

    *waiting = *at;
    if (ws_hold_input(mount->ws->conn, 0, text.length))
        waiting->text = malloc(text.length);
    waiting->length = text.length;
    if (!waiting->text) {
        if (waiting->length)
            (void)ws_hold_input(mount->ws->conn, waiting->length, 0);
        p2ps_mount_close(mount, "no memory to keep its requests");
        return;
    }
    memcpy(waiting->text, text.data, text.length);
}

void p2ps_ws_requests_drop(struct p2ps_mount *mount)
{
    struct p2ps_ws_waiting *waiting = &mount->ws->waiting;

    if (waiting->text)
        ws_hold_input(mount->ws->conn, waiting->length, 0);
    free(waiting->text);
    waiting->text = NULL;
}

bool p2ps_ws_requests(struct p2ps_mount *mount, uint64_t now_ns, struct rwf_bytes text)
{
    struct p2ps_ws_waiting at = { 0 };

    if (text.length == 0)
        return true;
    if (!mount->is_choked && p2ps_client_takes(mount->worker->core, mount->client) &&
        (serve(mount, now_ns, text, UINT_MAX, &at) || mount->client == UINT32_MAX))
        return true;
    keep(mount, text, &at);
    return false;
}

bool p2ps_ws_requests_more(struct p2ps_mount *mount, uint64_t now_ns)
{
    struct p2ps_ws_waiting *waiting = &mount->ws->waiting;
    struct rwf_bytes text = rwf_bytes(waiting->text, waiting->length);

    if (!serve(mount, now_ns, text, P2PS_SHARE_ASKS, waiting) && mount->client != UINT32_MAX)
        return true;
    p2ps_ws_requests_drop(mount);
    return false;
}
