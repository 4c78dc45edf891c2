/* ws_requests.c - what WebSocket consumers say: messages of JSON to the core's requests. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "dictionaries.h"
#include "rssl_front.h"
#include "worker.h"
#include "ws_front.h"

#define PEER_MAX 64

/* One message on its way to the core. */
struct asked {
    struct p2ps_mount *mount;
    struct p2ps_core *core;
    uint64_t now_ns;
    const struct json_read *read;
    struct rwf_msg msg;
};

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

    if (omm_login_request_decode(&a->msg, &request) != RWF_OK) {
        p2ps_client_bad_request(a->core, a->mount->client, a->msg.stream_id, a->msg.domain,
                                "The login request has no name that can be read");
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
 * `*named` on wait. */
static bool batch(struct asked *a, size_t *named)
{
    struct json_reader *reader = a->mount->worker->ws->reader;
    int32_t first = a->msg.stream_id;
    size_t count = a->read->count;
    size_t failed = 0;

    if (!a->mount->ws->is_logged_in || first <= 0 || (size_t)(INT32_MAX - first) < count) {
        p2ps_client_bad_request(a->core, a->mount->client, first, a->msg.domain,
                                "A batch needs a login and positive stream ids");
        return true;
    }
    for (size_t i = 0; *named == 0 && i < count; i++)
        failed += p2ps_client_has_stream(a->core, a->mount->client, first + 1 + (int32_t)i);
    if (*named == 0)
        tell_batch(a, first, "items from Batch Request", count, failed);
    for (size_t from = *named; *named < count && a->mount->client != UINT32_MAX; ++*named) {
        if (*named > from && !p2ps_client_takes(a->core, a->mount->client))
            return false;
        a->msg.stream_id = first + 1 + (int32_t)*named;
        if (p2ps_client_has_stream(a->core, a->mount->client, a->msg.stream_id))
            continue;
        a->msg.key.flags |= RWF_KEY_HAS_NAME;
        a->msg.key.name = json_reader_name(reader, *named);
        request(a);
    }
    return true;
}

static void closes(struct asked *a)
{
    struct json_reader *reader = a->mount->worker->ws->reader;
    size_t failed = 0;

    for (size_t i = 0; i < a->read->count && a->mount->client != UINT32_MAX; i++) {
        int32_t id = (int32_t)json_reader_id(reader, i);

        failed += !p2ps_client_has_stream(a->core, a->mount->client, id);
        p2ps_client_close(a->core, a->now_ns, a->mount->client, id);
    }
    a->msg.domain = RWF_DOMAIN_MARKET_PRICE;
    if (a->read->count && a->mount->client != UINT32_MAX)
        tell_batch(a, (int32_t)json_reader_id(reader, 0), "stream ids from Batch Close Request",
                   a->read->count, failed);
}

/* ---- messages ---- */

static void post(struct asked *a)
{
    if (!(a->msg.flags & RWF_POST_HAS_KEY) || !a->read->has_service)
        default_service(a);
    p2ps_client_post(a->core, a->now_ns, a->mount->client, &a->msg, a->read->message);
}

static bool message(struct asked *a, size_t *named)
{
    if (rwf_msg_decode(a->read->message, &a->msg) != RWF_OK)
        return true;
    switch (a->msg.msg_class) {
    case RWF_CLASS_REQUEST:
        if (a->read->kind == JSON_READ_BATCH)
            return batch(a, named);
        request(a);
        break;
    case RWF_CLASS_CLOSE:
        p2ps_client_close(a->core, a->now_ns, a->mount->client, a->msg.stream_id);
        if (a->mount->ws->is_logged_in && a->msg.stream_id == a->mount->ws->login_stream)
            ws_close(a->mount->ws->conn, WS_CLOSE_NORMAL, "Normal Closure");
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

static void tell_error(const struct asked *a)
{
    const struct p2ps_ws *ws = a->mount->worker->ws;
    size_t length = json_write_error(a->read->id, &a->read->error, ws->text, ws->text_size);

    if (length == 0 || !p2ps_ws_send_text(a->mount, (const char *)ws->text, length))
        p2ps_mount_close(a->mount, "no room for the answer to a broken message");
}

/* False: the rest of a batch waits. */
static bool answer(struct p2ps_mount *mount, uint64_t now_ns, const struct json_read *read,
                   size_t *named)
{
    static const char pong[] = "{\"Type\":\"Pong\"}";
    struct asked a = {
        .mount = mount,
        .core = mount->worker->core,
        .now_ns = now_ns,
        .read = read,
    };

    if (read->kind == JSON_READ_BAD)
        tell_error(&a);
    else if (read->kind == JSON_READ_PING)
        p2ps_ws_send_text(mount, pong, sizeof(pong) - 1);
    else if (read->kind == JSON_READ_CLOSES)
        closes(&a);
    else if (read->kind != JSON_READ_NOTHING)
        return message(&a, named);
    return true;
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

static void keep(struct p2ps_mount *mount, struct rwf_bytes text, size_t done, size_t named)
{
    struct p2ps_ws_waiting *waiting = &mount->ws->waiting;

    waiting->text = malloc(text.length);
    if (!waiting->text) {
        p2ps_mount_close(mount, "no memory to keep its requests");
        return;
    }
    memcpy(waiting->text, text.data, text.length);
    waiting->length = text.length;
    waiting->done = done;
    waiting->named = named;
}

bool p2ps_ws_requests(struct p2ps_mount *mount, uint64_t now_ns, struct rwf_bytes text)
{
    struct json_reader *reader = mount->worker->ws->reader;
    struct json_read read;
    size_t done = 0;
    size_t named = 0;

    if (text.length == 0)
        return true;
    start(mount, text, 0);
    while (mount->client != UINT32_MAX) {
        if (!p2ps_client_takes(mount->worker->core, mount->client)) {
            keep(mount, text, done, 0);
            return false;
        }
        if (!json_reader_next(reader, &read))
            return true;
        if (!answer(mount, now_ns, &read, &named)) {
            keep(mount, text, done, named);
            return false;
        }
        done++;
    }
    return true;
}

bool p2ps_ws_requests_more(struct p2ps_mount *mount, uint64_t now_ns)
{
    struct p2ps_ws_waiting *waiting = &mount->ws->waiting;
    struct json_read read;

    start(mount, rwf_bytes(waiting->text, waiting->length), waiting->done);
    if (json_reader_next(mount->worker->ws->reader, &read)) {
        if (answer(mount, now_ns, &read, &waiting->named)) {
            waiting->done++;
            waiting->named = 0;
        }
        if (mount->client != UINT32_MAX)
            return true;
    }
    free(waiting->text);
    waiting->text = NULL;
    return false;
}
