/* dictionary.c - consumers download dictionaries from us; those of providers we fetch first. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/err.h"
#include "client.h"
#include "dictionary.h"
#include "network.h"
#include "private.h"
#include "status.h"
#include "tally.h"

#define WAIT_NS 20000000ull /* between two looks at what another worker fetches */

/* ---- to the consumer ---- */

/* Sends the parts for which the client has room. MD_ERR_FULL: the rest waits for more. */
static int send_parts(struct p2ps_core *core, uint32_t client,
                      const struct omm_dictionary_request *request,
                      struct p2ps_dictionary_reading *reading)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    const struct p2ps_dictionaries *dictionaries = &core->config.dictionaries;

    while (!reading->is_last) {
        struct p2ps_dictionary_reading next = *reading;
        size_t length;
        int err = dictionaries->encode(dictionaries->self, request, &next, core->make_buffer,
                                       core->make_size, &length);
        if (err != MD_OK)
            return err == MD_ERR_FULL ? MD_ERR_RANGE : err; /* no buffer of ours holds it */
        if (c->front->fill(c->self) >= core->config.owed_fill_percent)
            return MD_ERR_FULL;
        err = c->front->message(c->self, rwf_bytes(core->make_buffer, length));
        if (err != MD_OK)
            return err;
        *reading = next;
        core->stats.refresh_out++;
        p2ps_work_spend(core, 0, length);
        p2ps_client_touch(core, client);
    }
    return MD_OK;
}

static void refuse(struct p2ps_core *core, uint32_t client, int32_t stream_id, uint8_t stream_state,
                   uint8_t code, const char *text)
{
    struct rwf_state state = omm_state(stream_state, RWF_DATA_SUSPECT, code, text);

    p2ps_status_send(core, client, stream_id, RWF_DOMAIN_DICTIONARY, 0, &state);
}

static bool has_its_share(const struct p2ps_core *core, uint32_t client)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < core->wait_count; i++)
        count += core->waits[i].client == client;
    return count >= P2PS_DICTIONARY_SHARE;
}

static void put_off(struct p2ps_core *core, uint32_t client,
                    const struct omm_dictionary_request *request,
                    const struct p2ps_dictionary_reading *reading, bool is_begun, uint64_t since_ns)
{
    struct p2ps_client *c = p2ps_client_at(core, client);

    if (core->wait_count == P2PS_DICTIONARY_WAITS || has_its_share(core, client) ||
        request->name.length > 255 ||
        p2ps_idmap_put(&c->streams, request->stream_id, P2PS_STREAM_DICTIONARY, 0) != MD_OK) {
        p2ps_idmap_take(&c->streams, request->stream_id);
        refuse(core, client, request->stream_id, RWF_STREAM_CLOSED_RECOVER, RWF_CODE_NO_RESOURCES,
               "Too many wait for dictionaries");
        return;
    }
    struct p2ps_dictionary_wait *w = &core->waits[core->wait_count++];
    w->client = client;
    w->client_serial = c->serial;
    w->request = *request;
    w->reading = *reading;
    w->is_begun = is_begun;
    w->since_ns = since_ns;
    w->name_length = (uint8_t)request->name.length;
    memcpy(w->name, request->name.data, request->name.length);
    if (core->wait_count == 1)
        core->wait_due_ns = core->now_ns + WAIT_NS;
}

/* Its next part has found no room for as long as a slow client has. */
static bool is_hopeless(const struct p2ps_core *core, uint64_t since_ns)
{
    return core->now_ns - since_ns > core->config.slow_timeout_ns;
}

static void give_up(struct p2ps_core *core, uint32_t client, int32_t stream_id)
{
    p2ps_idmap_take(&p2ps_client_at(core, client)->streams, stream_id);
    refuse(core, client, stream_id, RWF_STREAM_CLOSED_RECOVER, RWF_CODE_NO_RESOURCES,
           "No room for the dictionary within slowTimeout");
}

/* `since_ns`: when the last part went out, or it was asked for. */
static void answer(struct p2ps_core *core, uint32_t client,
                   const struct omm_dictionary_request *request,
                   struct p2ps_dictionary_reading reading, uint64_t since_ns)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    uint64_t sent = core->stats.refresh_out;
    int err = send_parts(core, client, request, &reading);

    if (core->stats.refresh_out != sent)
        since_ns = core->now_ns;
    if (err == MD_ERR_AGAIN) {
        put_off(core, client, request, &reading, false, core->now_ns);
    } else if (err == MD_ERR_FULL && is_hopeless(core, since_ns)) {
        give_up(core, client, request->stream_id);
    } else if (err == MD_ERR_FULL) {
        p2ps_client_is_slow(core, client);
        put_off(core, client, request, &reading, true, since_ns);
    } else if (err == MD_ERR_NOT_FOUND) {
        p2ps_idmap_take(&c->streams, request->stream_id);
        refuse(core, client, request->stream_id, RWF_STREAM_CLOSED, RWF_CODE_NOT_FOUND,
               "Unknown dictionary");
    } else if (err != MD_OK) {
        p2ps_client_doom(core, client);
    } else if (!request->is_streaming) {
        p2ps_idmap_take(&c->streams, request->stream_id);
    } else if (p2ps_idmap_put(&c->streams, request->stream_id, P2PS_STREAM_DICTIONARY, 0) !=
               MD_OK) {
        p2ps_client_doom_unknown(core, client);
    }
}

void p2ps_client_dictionary(struct p2ps_core *core, uint64_t now_ns, uint32_t client,
                            const struct omm_dictionary_request *request)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    uint32_t index = p2ps_idmap_get(&c->streams, request->stream_id);

    core->now_ns = now_ns;
    core->stats.requests_in++;
    p2ps_work_spend(core, 1, 0);
    p2ps_tally_ask(core, p2ps_client_at(core, client));
    if (c->login_state != P2PS_LOGIN_OPEN)
        refuse(core, client, request->stream_id, RWF_STREAM_CLOSED_RECOVER, RWF_CODE_USAGE_ERROR,
               "log in first");
    else if (index != P2PS_IDMAP_NONE && index != P2PS_STREAM_DICTIONARY)
        refuse(core, client, request->stream_id, RWF_STREAM_CLOSED, RWF_CODE_USAGE_ERROR,
               "The stream id is in use");
    else if (!request->no_refresh) {
        p2ps_dictionary_closed(core, client, request->stream_id); /* it begins anew */
        answer(core, client, request, (struct p2ps_dictionary_reading){ 0 }, now_ns);
    }
}

/* ---- clients that wait ---- */

static bool is_there(const struct p2ps_core *core, const struct p2ps_dictionary_wait *w)
{
    const struct p2ps_client *c = &core->clients[w->client];

    return c->is_used && !c->closing && c->serial == w->client_serial &&
           c->login_state == P2PS_LOGIN_OPEN;
}

static bool has_room(const struct p2ps_core *core, uint32_t client)
{
    const struct p2ps_client *c = &core->clients[client];

    return c->front->fill(c->self) < core->config.owed_fill_percent;
}

#define ANSWERS 4 /* at a time; the others soon */

static void answer_waiting(struct p2ps_core *core)
{
    uint32_t count = core->wait_count;
    unsigned answers = 0;

    core->wait_due_ns = core->now_ns + WAIT_NS;
    core->wait_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        /* answer() puts a client that must wait on back, at this place or before it. */
        struct p2ps_dictionary_wait w = core->waits[i];

        if (!is_there(core, &w))
            continue;
        if (w.is_begun && is_hopeless(core, w.since_ns)) {
            give_up(core, w.client, w.request.stream_id);
            continue;
        }
        if (answers == ANSWERS || (w.is_begun && !has_room(core, w.client))) {
            core->waits[core->wait_count++] = w;
            continue;
        }
        w.request.name = rwf_bytes(w.name, w.name_length);
        uint64_t before = core->stats.refresh_out;
        answer(core, w.client, &w.request, w.reading, w.since_ns);
        answers += core->stats.refresh_out != before;
    }
    if (answers == ANSWERS)
        core->wait_due_ns = core->now_ns;
}

static bool is_sent_to(const struct p2ps_dictionary_wait *w, const struct p2ps_core *core,
                       uint32_t client)
{
    return w->client == client && w->client_serial == core->clients[client].serial && w->is_begun;
}

bool p2ps_dictionaries_go_on(struct p2ps_core *core, uint32_t client)
{
    bool has_more = false;

    for (uint32_t i = core->wait_count; i-- > 0;) {
        struct p2ps_dictionary_wait w = core->waits[i];

        if (!is_sent_to(&w, core, client) || !is_there(core, &w) || !has_room(core, client))
            continue;
        core->waits[i] = core->waits[--core->wait_count]; /* the loop has seen that one */
        w.request.name = rwf_bytes(w.name, w.name_length);
        answer(core, client, &w.request, w.reading, w.since_ns);
    }
    for (uint32_t i = 0; i < core->wait_count; i++)
        has_more |= is_sent_to(&core->waits[i], core, client);
    return has_more;
}

void p2ps_dictionary_closed(struct p2ps_core *core, uint32_t client, int32_t stream_id)
{
    for (uint32_t i = core->wait_count; i-- > 0;) {
        if (core->waits[i].client == client && core->waits[i].request.stream_id == stream_id)
            core->waits[i] = core->waits[--core->wait_count];
    }
}

void p2ps_dictionaries_tick(struct p2ps_core *core)
{
    if (core->wait_count && core->now_ns >= core->wait_due_ns)
        answer_waiting(core);
}

/* ---- from the provider ---- */

void p2ps_dictionaries_offered(struct p2ps_core *core, uint16_t service)
{
    const struct p2ps_dictionaries *dictionaries = &core->config.dictionaries;
    const struct p2ps_service *s = &core->services[service];
    struct rrmp_sink_service description;

    if (!dictionaries->offered || !p2ps_service_read(core, service, &description) ||
        !description.is_up)
        return;
    for (unsigned i = 0; i < description.dict_provided_count; i++) {
        struct rwf_bytes name = p2ps_bytes(description.dict_provided[i]);

        if (!dictionaries->offered(dictionaries->self, name,
                                   p2ps_bytes(description.dict_version[i])))
            continue;
        if (rrmp_sink_dictionary(core->sinks[s->network], core->now_ns, s->sink_service,
                                 description.dict_provided[i], RWF_DICTIONARY_NORMAL, 0) != MD_OK)
            dictionaries->failed(dictionaries->self, name);
    }
}

void p2ps_dictionary_event(struct p2ps_core *core, const struct rrmp_sink_event *event)
{
    const struct p2ps_dictionaries *dictionaries = &core->config.dictionaries;
    struct rwf_bytes name = p2ps_bytes(event->name);
    bool is_last = (event->flags & RRMP_DICT_LAST) != 0;

    if (event->flags & RRMP_DICT_UNKNOWN)
        dictionaries->failed(dictionaries->self, name);
    else
        dictionaries->part(dictionaries->self, name, p2ps_bytes(event->version),
                           p2ps_bytes(event->message), event->part == 0, is_last);
    if (is_last)
        answer_waiting(core);
}
