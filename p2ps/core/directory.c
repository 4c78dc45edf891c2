/* directory.c - services as consumers see them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/err.h"
#include "base/writer.h"
#include "client.h"
#include "dictionary.h"
#include "directory.h"
#include "item.h"
#include "network.h"
#include "private.h"
#include "qos.h"
#include "rrmp/key.h"
#include "status.h"
#include "tally.h"
#include "watch.h"

#define PART_SIZE 60000 /* holds hundreds of services */

static void add_name(struct rwf_bytes names[], uint8_t *count, struct rwf_bytes name)
{
    for (unsigned i = 0; i < *count; i++) {
        if (rwf_bytes_equal(names[i], name))
            return;
    }
    if (*count < OMM_DICTIONARY_MAX)
        names[(*count)++] = name;
}

static bool has_capability(const struct omm_service *out, uint8_t domain)
{
    return memchr(out->capabilities, domain, out->capability_count) != NULL;
}

/*
 * A consumer that downloads dictionaries waits for a service that has capability 5 and provides
 * what it uses, so each of ours does: p2ps serves both dictionaries itself, and of the others those
 * that a provider has given. One that nobody has would be waited for in vain.
 */
static void add_dictionaries(const struct p2ps_core *core, const struct rrmp_sink_service *in,
                             struct omm_service *out)
{
    const struct p2ps_dictionaries *dictionaries = &core->config.dictionaries;

    add_name(out->provided, &out->provided_count, rwf_text("RWFFld"));
    add_name(out->provided, &out->provided_count, rwf_text("RWFEnum"));
    add_name(out->used, &out->used_count, rwf_text("RWFFld"));
    add_name(out->used, &out->used_count, rwf_text("RWFEnum"));
    for (unsigned i = 0; dictionaries->has && i < in->dict_provided_count; i++) {
        if (dictionaries->has(dictionaries->self, p2ps_bytes(in->dict_provided[i])))
            add_name(out->provided, &out->provided_count, p2ps_bytes(in->dict_provided[i]));
    }
    for (unsigned i = 0; dictionaries->has && i < in->dict_used_count; i++) {
        if (dictionaries->has(dictionaries->self, p2ps_bytes(in->dict_used[i])))
            add_name(out->used, &out->used_count, p2ps_bytes(in->dict_used[i]));
    }
}

static void describe(const struct p2ps_core *core, const struct rrmp_sink_service *in,
                     struct omm_service *out)
{
    out->name = p2ps_bytes(in->name);
    out->vendor = p2ps_bytes(in->vendor);
    out->item_list = p2ps_bytes(in->item_list);
    out->is_source = in->is_source && in->instance_count == 1;
    for (unsigned i = 0; i < in->path_count; i++)
        out->paths[out->path_count++] = p2ps_bytes(in->paths[i]);
    /* Of an application, or of a src_dist without siteName: it begins here. */
    if (in->path_count == 0 && core->config.site && core->config.site[0])
        out->paths[out->path_count++] = rwf_text(core->config.site);
    for (unsigned i = 0; i < in->capability_count; i++)
        out->capabilities[out->capability_count++] = in->capabilities[i];
    if (!has_capability(out, RWF_DOMAIN_DICTIONARY) && out->capability_count < OMM_CAPABILITY_MAX)
        out->capabilities[out->capability_count++] = RWF_DOMAIN_DICTIONARY;
    p2ps_qos_offer(core, in, out);
    add_dictionaries(core, in, out);
}

/* The service as consumers see it; false when it was never announced, or was forgotten. */
static bool load_service(const struct p2ps_core *core, uint16_t index, uint32_t filters,
                         struct omm_service *out)
{
    struct rrmp_sink_service service;

    if (core->services[index].is_forgotten || !p2ps_service_read(core, index, &service))
        return false;
    *out = (struct omm_service){
        .id = service.id,
        .action = RWF_MAP_ADD,
        .filters = filters & (OMM_FILTER_INFO | OMM_FILTER_STATE |
                              (service.load.length ? OMM_FILTER_LOAD : 0) |
                              (service.links.length ? OMM_FILTER_LINK : 0)),
        .load = p2ps_bytes(service.load),
        .links = p2ps_bytes(service.links),
        .is_up = service.is_up,
        .is_accepting = service.is_up && service.is_accepting,
    };
    /* A service going down also sends a SUSPECT group status: EMA and ETA consumers do not derive
     * it from ServiceState. */
    if (!service.is_up) {
        out->has_status = true;
        out->status =
            omm_state(RWF_STREAM_OPEN, RWF_DATA_SUSPECT, RWF_CODE_NONE, "The service is down");
    }
    describe(core, &service, out);
    return true;
}

/* About so many bytes of a message. */
static uint64_t weight_of(const struct omm_service *service)
{
    uint64_t bytes = 128 + service->name.length + service->vendor.length +
                     service->item_list.length + service->load.length + service->links.length;

    for (unsigned i = 0; i < service->provided_count; i++)
        bytes += service->provided[i].length;
    for (unsigned i = 0; i < service->used_count; i++)
        bytes += service->used[i].length;
    for (unsigned i = 0; i < service->path_count; i++)
        bytes += service->paths[i].length;
    return bytes;
}

/* In parts of at most PART_SIZE; most directories are one. */
static int send_services(const struct p2ps_client *c, const struct omm_directory_head *head,
                         const struct omm_service services[], size_t count)
{
    uint8_t bytes[PART_SIZE];
    struct omm_directory_head part = *head;
    size_t at = 0;

    do {
        struct rwf_encoder enc;
        size_t end = at;

        /* Which services fit is known only when they are encoded: try as the last part first. */
        part.is_complete = true;
        for (int attempt = 0; attempt < 2; attempt++) {
            end = at;
            rwf_encoder_init(&enc, bytes, sizeof(bytes));
            omm_directory_encode_start(&enc, &part);
            while (end < count && omm_directory_encode_service(&enc, &services[end]) == RWF_OK)
                end++;
            omm_directory_encode_finish(&enc);
            if (end == count || head->is_update)
                break;
            part.is_complete = false;
        }
        if (end == at && count > 0)
            return MD_ERR_FULL; /* one service larger than a part cannot be */
        int err = p2ps_tell(c, &enc);
        if (err != MD_OK)
            return err;
        part.is_first = false;
        at = end;
    } while (at < count);
    return MD_OK;
}

static int send_refresh(struct p2ps_core *core, uint32_t client, bool is_solicited,
                        const struct omm_directory_request *request)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    struct omm_service *services = core->directory_scratch;
    size_t count = 0;
    uint64_t bytes = 0;
    struct omm_directory_head head = {
        .stream_id = request->stream_id,
        .is_solicited = is_solicited,
        .is_first = true,
        .is_complete = true,
        .is_streaming = request->is_streaming,
        .has_service_id = request->has_service_id,
        .service_id = request->service_id,
        .filter = request->filter & (OMM_FILTER_INFO | OMM_FILTER_STATE | OMM_FILTER_GROUP),
    };

    core->are_ids_known = true;
    c->directory_serial = ++core->directory_serial;
    for (uint16_t i = 0; i < core->service_count; i++) {
        if (!load_service(core, i, request->filter, &services[count]))
            continue;
        if (request->has_service_id && services[count].id != request->service_id)
            continue;
        p2ps_qos_cut(c, &services[count]);
        head.filter |= services[count].filters;
        bytes += weight_of(&services[count]);
        count++;
    }
    p2ps_work_spend(core, 0, bytes);
    int err = send_services(c, &head, services, count);
    p2ps_client_touch(core, client);
    return err;
}

void p2ps_client_directory(struct p2ps_core *core, uint64_t now_ns, uint32_t client,
                           const struct omm_directory_request *request)
{
    struct p2ps_client *c = p2ps_client_at(core, client);

    core->now_ns = now_ns;
    core->stats.requests_in++;
    p2ps_work_spend(core, 1, 0);
    p2ps_tally_ask(core, p2ps_client_at(core, client));
    if (c->login_state != P2PS_LOGIN_OPEN) {
        struct rwf_state state = omm_state(RWF_STREAM_CLOSED_RECOVER, RWF_DATA_SUSPECT,
                                           RWF_CODE_USAGE_ERROR, "log in first");
        p2ps_status_send(core, client, request->stream_id, RWF_DOMAIN_SOURCE, 0, &state);
        return;
    }
    uint32_t held = p2ps_idmap_get(&c->streams, request->stream_id);
    if (held != P2PS_IDMAP_NONE && held != P2PS_STREAM_DIRECTORY) {
        struct rwf_state state = omm_state(RWF_STREAM_CLOSED, RWF_DATA_SUSPECT,
                                           RWF_CODE_USAGE_ERROR, "The stream id is in use");
        p2ps_status_send(core, client, request->stream_id, RWF_DOMAIN_SOURCE, 0, &state);
        return;
    }
    if (request->is_streaming) {
        /* A client has one directory stream: a second one takes the place of the first. */
        if (c->directory_stream != 0 && c->directory_stream != request->stream_id)
            p2ps_idmap_take(&c->streams, c->directory_stream);
        c->directory_stream = 0;
        if (p2ps_idmap_put(&c->streams, request->stream_id, P2PS_STREAM_DIRECTORY, 0) != MD_OK)
            return;
        c->directory_stream = request->stream_id;
        c->directory_filter = request->filter;
        c->directory_service = request->has_service_id ? request->service_id : -1;
        c->directory_serial = ++core->directory_serial; /* it heard nothing of before on it */
    }
    if (request->no_refresh)
        return;
    if (send_refresh(core, client, true, request) != MD_OK)
        p2ps_client_doom(core, client);
}

/* A status for all items of a service, which a refresh cannot carry, may have been among what was
 * missed: each suspect item gets a status of its own. */
static void owe_states(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    uint32_t cursor = 0;
    uint32_t item;

    for (int32_t id; (id = p2ps_idmap_next(&c->streams, &cursor, &item)) != 0;) {
        if (item >= P2PS_STREAM_DICTIONARY || core->items[item].data_state != RWF_DATA_SUSPECT)
            continue;
        uint32_t watch = p2ps_item_watch_find(core, item, client, id);
        if (watch != P2PS_NONE && core->items[item].watches[watch].state != P2PS_WATCH_ASKS)
            p2ps_watch_owe(core, &core->items[item].watches[watch], P2PS_WATCH_OWED_STATUS);
    }
}

void p2ps_directory_owed(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    struct omm_directory_request request = {
        .stream_id = c->directory_stream,
        .is_streaming = true,
        .has_service_id = c->directory_service >= 0,
        .service_id = (uint16_t)c->directory_service,
        .filter = c->directory_filter,
    };

    if (c->directory_stream != 0 && send_refresh(core, client, false, &request) != MD_OK)
        return;
    c->directory_owed = false;
    owe_states(core, client);
}

static void owe_directory(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = p2ps_client_at(core, client);

    core->stats.no_buffer_events++;
    c->directory_owed = true;
    p2ps_client_is_slow(core, client);
}

static bool sees_service(const struct p2ps_client *c, uint16_t service_id)
{
    return c->is_used && c->directory_stream != 0 &&
           (c->directory_service < 0 || c->directory_service == service_id);
}

bool p2ps_directory_is_seen(const struct p2ps_core *core, uint32_t client, uint16_t service)
{
    return sees_service(&core->clients[client], core->services[service].id);
}

/* Sends an update of one service to all clients with a directory stream. */
static void tell_service(struct p2ps_core *core, const struct omm_service *service)
{
    for (uint32_t i = 0; i < core->client_room; i++) {
        struct p2ps_client *c = &core->clients[i];
        struct omm_service shown = *service;

        if (!sees_service(c, service->id))
            continue;
        struct omm_directory_head head = { .stream_id = c->directory_stream, .is_update = true };
        shown.filters &= c->directory_filter;
        p2ps_qos_cut(c, &shown);
        if (shown.filters == 0)
            continue;
        if (send_services(c, &head, &shown, 1) != MD_OK)
            owe_directory(core, i);
        p2ps_client_touch(core, i);
    }
}

static void note_service(struct p2ps_core *core, uint16_t index)
{
    struct p2ps_service *noted = &core->services[index];
    struct rrmp_sink_service service;

    if (!core->config.note || !p2ps_service_read(core, index, &service) ||
        (noted->is_announced && noted->is_up == service.is_up &&
         noted->instances == service.instance_count))
        return;
    noted->instances = service.instance_count;
    struct p2ps_note note = {
        .kind = P2PS_NOTE_SERVICE,
        .service = p2ps_bytes(service.name),
        .is_up = service.is_up,
        .instances = service.instance_count,
    };
    core->config.note(core->config.note_owner, &note);
}

/* Notes when the last instance stops offering the service, and when one offers it again. */
static void note_absence(struct p2ps_core *core, uint16_t index)
{
    struct p2ps_service *s = &core->services[index];
    struct rrmp_sink_service source;

    if (!p2ps_service_read(core, index, &source))
        return;
    if (source.instance_count > 0) {
        s->gone_ns = 0;
        s->is_forgotten = false;
    } else if (s->gone_ns == 0) {
        s->gone_ns = core->now_ns;
        if (core->config.service_forget_ns &&
            s->gone_ns + core->config.service_forget_ns < core->forget_ns)
            core->forget_ns = s->gone_ns + core->config.service_forget_ns;
    }
}

#define ALL_FILTERS (OMM_FILTER_INFO | OMM_FILTER_STATE | OMM_FILTER_LOAD | OMM_FILTER_LINK)

static uint64_t sum_of(struct p2ps_core *core, const struct omm_service *service, uint32_t filters)
{
    const struct omm_directory_head head = { .is_update = true };
    struct omm_service part = *service;
    struct rwf_encoder enc;

    part.filters &= filters;
    rwf_encoder_init(&enc, core->make_buffer, core->make_size);
    omm_directory_encode_start(&enc, &head);
    omm_directory_encode_service(&enc, &part);
    omm_directory_encode_finish(&enc);
    struct rwf_bytes bytes = rwf_encoder_bytes(&enc);
    return rrmp_key_hash(bytes.data, bytes.length);
}

/* The parts of the service that are not as clients were told last. */
static uint32_t changes_of(struct p2ps_core *core, struct p2ps_service *s,
                           const struct omm_service *service)
{
    static const uint32_t parts[P2PS_SERVICE_PARTS] = { OMM_FILTER_INFO, OMM_FILTER_STATE,
                                                        OMM_FILTER_LOAD, OMM_FILTER_LINK };
    uint32_t changed = 0;

    for (unsigned i = 0; i < P2PS_SERVICE_PARTS; i++) {
        uint64_t sum = sum_of(core, service, parts[i]);
        if (s->told[i] != sum)
            changed |= parts[i];
        s->told[i] = sum;
    }
    return changed;
}

/*
 * EMA Java leaves out all of an update that has INFO, the state too: a consumer that came while the
 * service was down would never ask for its dictionary when it is up. So only what has changed is
 * sent, and the state on its own.
 */
static void tell_changes(struct p2ps_core *core, struct omm_service *service, uint32_t changed)
{
    const uint32_t filters = service->filters;

    service->action = RWF_MAP_UPDATE;
    service->filters = filters & changed & ~(uint32_t)OMM_FILTER_STATE;
    tell_service(core, service);
    service->filters = filters & changed & OMM_FILTER_STATE;
    tell_service(core, service);
}

void p2ps_directory_changed(struct p2ps_core *core, uint16_t index)
{
    struct p2ps_service *s = &core->services[index];
    struct omm_service service;

    note_absence(core, index);
    p2ps_service_remember(core, index);
    note_service(core, index);
    if (!load_service(core, index, ALL_FILTERS, &service))
        return;
    uint32_t changed = changes_of(core, s, &service);
    if (s->is_announced)
        tell_changes(core, &service, changed);
    else
        tell_service(core, &service);
    s->is_announced = true;
    s->is_up = service.is_up;
    s->is_accepting = service.is_accepting;
}

void p2ps_directory_delete(struct p2ps_core *core, uint16_t index, uint32_t items, bool makes_room)
{
    struct p2ps_service *s = &core->services[index];
    struct omm_service service;

    if (!load_service(core, index, OMM_FILTER_INFO | OMM_FILTER_STATE, &service))
        return;
    const struct p2ps_note note = {
        .kind = P2PS_NOTE_FORGOTTEN,
        .service = service.name,
        .makes_room = makes_room,
        .items = items,
    };
    service.action = RWF_MAP_DELETE;
    s->is_forgotten = true;
    s->is_announced = false;
    tell_service(core, &service);
    if (core->config.note)
        core->config.note(core->config.note_owner, &note);
}

void p2ps_directory_status(struct p2ps_core *core, uint16_t index, const struct rwf_state *state)
{
    struct omm_service service;

    if (!load_service(core, index, OMM_FILTER_STATE, &service))
        return;
    service.action = RWF_MAP_UPDATE;
    service.has_status = true;
    service.status = *state;
    tell_service(core, &service);
}

static struct rwf_bytes group_id(uint8_t bytes[4], uint16_t instance, uint16_t group)
{
    md_put_be16(bytes, instance);
    md_put_be16(bytes + 2, group);
    return rwf_bytes(bytes, 4);
}

static int send_group(struct p2ps_core *core, const struct p2ps_client *c, uint16_t service_id,
                      const struct omm_group *change)
{
    const struct omm_directory_head head = { .stream_id = c->directory_stream, .is_update = true };
    struct rwf_encoder enc;

    p2ps_encoder(core, &enc);
    omm_directory_encode_start(&enc, &head);
    omm_directory_encode_group(&enc, service_id, change);
    omm_directory_encode_finish(&enc);
    return p2ps_tell(c, &enc);
}

/* Group changes are not repeated. A client without room would keep a wrong state, so it is
 * disconnected. */
static void tell_group(struct p2ps_core *core, uint16_t index, const struct omm_group *change)
{
    for (uint32_t i = 0; i < core->client_room; i++) {
        struct p2ps_client *c = &core->clients[i];

        if (!sees_service(c, core->services[index].id) || !(c->directory_filter & OMM_FILTER_GROUP))
            continue;
        if (send_group(core, c, core->services[index].id, change) != MD_OK)
            p2ps_client_doom(core, i);
        p2ps_client_touch(core, i);
    }
}

void p2ps_directory_group(struct p2ps_core *core, uint16_t index, uint16_t instance, uint16_t group,
                          const struct rwf_state *state)
{
    uint8_t bytes[4];
    const struct omm_group change = {
        .group = group_id(bytes, instance, group),
        .has_status = true,
        .status = *state,
    };

    tell_group(core, index, &change);
}

void p2ps_directory_merge(struct p2ps_core *core, uint16_t index, uint16_t instance, uint16_t group,
                          uint16_t into)
{
    uint8_t bytes[4];
    uint8_t into_bytes[4];
    const struct omm_group change = {
        .group = group_id(bytes, instance, group),
        .merged_to = group_id(into_bytes, instance, into),
    };

    tell_group(core, index, &change);
}
