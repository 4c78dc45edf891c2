/* network.c - the networks of the backbone, and which of them carries which service. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "itemkey/mark.h"
#include "network.h"
#include "private.h"

/*
 * Each network has a requester of its own, which numbers services, items and instances for itself.
 * Consumers see one directory: a service has one number here and is bound to one network, said by
 * the configuration or the first that announces it. So no item is ever open on two. It moves to
 * another that offers it when nobody has offered it on its own for serviceForget.
 */

#define NOT_BOUND     0xFFFFu
#define NOT_WANTED    0xFFFEu
#define IDS           65535u

#define SERVICES_MANY (P2PS_SERVICES_MAX / 4 * 3) /* those that are gone make room for others */

int p2ps_networks_create(struct p2ps_core *core)
{
    struct p2ps_core_config *config = &core->config;
    int err = MD_OK;

    if (config->network_count == 0) {
        config->network_count = 1;
        config->sends[0] = config->sink.send;
    }
    size_t count = (size_t)config->network_count * P2PS_SERVICES_MAX;
    core->service_map = malloc(count * sizeof(*core->service_map));
    if (!core->service_map)
        return MD_ERR_NOMEM;
    for (size_t i = 0; i < count; i++)
        core->service_map[i] = NOT_BOUND;
    for (unsigned i = 0; i < config->network_count && err == MD_OK; i++) {
        config->sink.send = config->sends[i];
        config->sink.mark = itemkey_mark;
        config->sink.random += i;
        err = rrmp_sink_create(&config->sink, &core->sinks[i]);
    }
    return err;
}

void p2ps_networks_destroy(struct p2ps_core *core)
{
    for (unsigned i = 0; i < core->config.network_count; i++)
        rrmp_sink_destroy(core->sinks[i]);
    free(core->service_map);
}

struct rrmp_sink *p2ps_item_sink(const struct p2ps_core *core, uint32_t item)
{
    return core->sinks[core->items[item].network];
}

/* ---- services ---- */

static void warn(const struct p2ps_core *core, struct rrmp_view name, const char *what)
{
    const struct p2ps_service_policy *policy = &core->config.services;
    char text[RRMP_NAME_MAX + 160];

    if (!policy->warn)
        return;
    snprintf(text, sizeof(text), "service %.*s %s", (int)name.length, (const char *)name.bytes,
             what);
    policy->warn(policy->owner, text);
}

/* The configuration's word on the network of a service: -1 is none. */
static int said_network(const struct p2ps_core *core, struct rrmp_view name)
{
    const struct p2ps_service_policy *policy = &core->config.services;

    return policy->network ? policy->network(policy->owner, name) : -1;
}

/* The service of that name as another network carries it already, or RRMP_SERVICE_NONE. */
static uint16_t find_elsewhere(const struct p2ps_core *core, unsigned network,
                               struct rrmp_view name)
{
    for (unsigned i = 0; i < core->config.network_count; i++) {
        uint16_t there =
            i == network ? RRMP_SERVICE_NONE : rrmp_sink_service_find(core->sinks[i], name);
        if (there != RRMP_SERVICE_NONE && there < P2PS_SERVICES_MAX &&
            core->service_map[i * P2PS_SERVICES_MAX + there] < NOT_WANTED)
            return core->service_map[i * P2PS_SERVICES_MAX + there];
    }
    return RRMP_SERVICE_NONE;
}

/* To consumers it is the same service: its number and its id stay. */
static void take_from(struct p2ps_core *core, uint16_t service, unsigned network,
                      uint16_t sink_service)
{
    struct p2ps_service *s = &core->services[service];

    core->service_map[s->network * P2PS_SERVICES_MAX + s->sink_service] = NOT_WANTED;
    core->service_map[network * P2PS_SERVICES_MAX + sink_service] = service;
    s->network = (uint8_t)network;
    s->sink_service = sink_service;
}

/* Another network that offers the service; RRMP_SERVICE_NONE: none, or its own is configured. */
static uint16_t number_elsewhere(const struct p2ps_core *core, uint16_t service, unsigned *network)
{
    const struct p2ps_service *s = &core->services[service];
    struct rrmp_sink_service here, there;

    if (!rrmp_sink_service(core->sinks[s->network], s->sink_service, &here) ||
        said_network(core, here.name) >= 0)
        return RRMP_SERVICE_NONE;
    for (unsigned i = 0; i < core->config.network_count; i++) {
        uint16_t number =
            i == s->network ? RRMP_SERVICE_NONE : rrmp_sink_service_find(core->sinks[i], here.name);
        if (number >= P2PS_SERVICES_MAX || !rrmp_sink_service(core->sinks[i], number, &there) ||
            there.instance_count == 0)
            continue;
        *network = i;
        return number;
    }
    return RRMP_SERVICE_NONE;
}

bool p2ps_service_can_move(const struct p2ps_core *core, uint16_t service)
{
    unsigned network;

    return number_elsewhere(core, service, &network) != RRMP_SERVICE_NONE;
}

bool p2ps_service_move(struct p2ps_core *core, uint16_t service)
{
    const struct p2ps_service *s = &core->services[service];
    struct rrmp_sink_service here;
    unsigned network = 0;
    uint16_t number = number_elsewhere(core, service, &network);

    if (number == RRMP_SERVICE_NONE ||
        !rrmp_sink_service(core->sinks[s->network], s->sink_service, &here))
        return false;
    warn(core, here.name,
         "has been offered by nobody on its network for serviceForget and is taken from another "
         "one now");
    take_from(core, service, network, number);
    return true;
}

/* That of a forgotten service, too, stays taken: it may come back. */
static bool id_is_taken(const struct p2ps_core *core, uint32_t id)
{
    for (uint16_t i = 0; i < core->service_count; i++) {
        if (core->services[i].id == id)
            return true;
    }
    return false;
}

static uint16_t id_of_name(struct rrmp_view name)
{
    return (uint16_t)(1 + rrmp_topic(name.bytes, name.length) % (IDS - 1));
}

static uint16_t free_id(const struct p2ps_core *core, uint32_t id)
{
    while (id_is_taken(core, id))
        id = id % (IDS - 1) + 1;
    return (uint16_t)id;
}

static struct rrmp_view name_of(const struct p2ps_core *core, const struct p2ps_service *s)
{
    struct rrmp_sink_service service;

    rrmp_sink_service(core->sinks[s->network], s->sink_service, &service);
    return service.name;
}

/*
 * Two services of one id: what is configured counts before what a provider says, and that before
 * what the name gives; of two providers' ids the first name in the alphabet has it. So all p2ps
 * decide alike, whichever they hear of first. No id changes once a consumer may know it.
 */
static bool gives_way(const struct p2ps_core *core, const struct p2ps_service *holder,
                      const struct p2ps_service *newcomer, struct rrmp_view name)
{
    struct rrmp_view other = name_of(core, holder);

    if (core->are_ids_known || holder->id_from == P2PS_ID_CONFIGURED)
        return false;
    if (holder->id_from != newcomer->id_from)
        return newcomer->id_from < holder->id_from;
    size_t length = name.length < other.length ? name.length : other.length;
    int order = memcmp(name.bytes, other.bytes, length);
    return order < 0 || (order == 0 && name.length < other.length);
}

static void move_id(struct p2ps_core *core, struct p2ps_service *loser,
                    const struct p2ps_service *winner, struct rrmp_view name)
{
    loser->id = free_id(core, loser->id_from == P2PS_ID_CONFIGURED ? loser->id : id_of_name(name));
    loser->id_from = P2PS_ID_NAME;
    warn(core, name,
         loser->network != winner->network
             ? "has the id of a service of another network and gets another one; set serviceId"
             : "has the id of another service and gets another one; set serviceId");
}

/* Another service with the id of this one, or NULL. */
static struct p2ps_service *holder_of(struct p2ps_core *core, const struct p2ps_service *s)
{
    for (uint16_t i = 0; i < core->service_count; i++) {
        if (core->services[i].id == s->id && &core->services[i] != s)
            return &core->services[i];
    }
    return NULL;
}

static void choose_id(struct p2ps_core *core, struct p2ps_service *s,
                      const struct rrmp_sink_service *description)
{
    s->id = description->said_id ? description->said_id : id_of_name(description->name);
    s->id_from = description->said_id == 0       ? P2PS_ID_NAME
                 : description->is_id_configured ? P2PS_ID_CONFIGURED
                                                 : P2PS_ID_PROVIDER;
    struct p2ps_service *holder = holder_of(core, s);
    if (!holder)
        return;
    if (gives_way(core, holder, s, description->name))
        move_id(core, holder, s, name_of(core, holder));
    else
        move_id(core, s, holder, description->name);
}

static uint16_t free_number(const struct p2ps_core *core)
{
    uint16_t number = core->services_free > 0 ? 0 : core->service_count;

    while (number < core->service_count && !core->services[number].is_free)
        number++;
    return number;
}

static uint16_t take_new(struct p2ps_core *core, unsigned network, uint16_t sink_service,
                         const struct rrmp_sink_service *description)
{
    uint16_t service = free_number(core);

    if (service == P2PS_SERVICES_MAX)
        return RRMP_SERVICE_NONE;
    if (service == core->service_count)
        core->service_count++;
    else
        core->services_free--;
    core->service_map[network * P2PS_SERVICES_MAX + sink_service] = service;
    core->services[service] = (struct p2ps_service){
        .network = (uint8_t)network,
        .sink_service = sink_service,
        .is_said = said_network(core, description->name) >= 0,
    };
    choose_id(core, &core->services[service], description);
    return service;
}

/* Another network has it: it stays there unless it was deleted and is offered here. */
static uint16_t take_deleted(struct p2ps_core *core, unsigned network, uint16_t sink_service,
                             const struct rrmp_sink_service *description, uint16_t service)
{
    uint16_t *map = &core->service_map[network * P2PS_SERVICES_MAX + sink_service];

    if (core->services[service].is_forgotten && description->instance_count > 0) {
        take_from(core, service, network, sink_service);
        return service;
    }
    if (*map == NOT_BOUND) {
        core->stats.services_twice++;
        warn(core, description->name,
             "is announced on two networks and taken from the first; set its network to say "
             "which");
    }
    *map = NOT_WANTED;
    return RRMP_SERVICE_NONE;
}

uint16_t p2ps_service_bind(struct p2ps_core *core, unsigned network, uint16_t sink_service)
{
    struct rrmp_sink_service description;

    if (sink_service >= P2PS_SERVICES_MAX)
        return RRMP_SERVICE_NONE;
    uint16_t *map = &core->service_map[network * P2PS_SERVICES_MAX + sink_service];
    if (*map < NOT_WANTED)
        return *map;
    if (!rrmp_sink_service(core->sinks[network], sink_service, &description))
        return RRMP_SERVICE_NONE;
    int said = said_network(core, description.name);
    if (said >= 0 && (unsigned)said != network) {
        *map = NOT_WANTED;
        return RRMP_SERVICE_NONE;
    }
    uint16_t held = said >= 0 ? RRMP_SERVICE_NONE : find_elsewhere(core, network, description.name);
    if (held != RRMP_SERVICE_NONE)
        return take_deleted(core, network, sink_service, &description, held);
    return take_new(core, network, sink_service, &description);
}

/* ---- services that nobody offers make room ---- */

/* Another network that has the service, too, may bring it from now on. */
static void let_others_bring(struct p2ps_core *core, struct rrmp_view name)
{
    for (unsigned i = 0; i < core->config.network_count; i++) {
        uint16_t there = rrmp_sink_service_find(core->sinks[i], name);
        uint16_t *map = &core->service_map[i * P2PS_SERVICES_MAX + there % P2PS_SERVICES_MAX];

        if (there < P2PS_SERVICES_MAX && *map == NOT_WANTED)
            *map = NOT_BOUND;
    }
}

/* Clients may stand by for the next service with this number, but have not said so. */
static void forget_standby(struct p2ps_core *core, uint16_t service)
{
    for (uint32_t i = 0; core->has_standby && i < core->client_room; i++)
        core->clients[i].standby_services[service / 64] &= ~(1ull << (service % 64));
}

bool p2ps_service_release(struct p2ps_core *core, uint16_t service)
{
    struct p2ps_service *s = &core->services[service];
    uint8_t bytes[RRMP_NAME_MAX];
    struct rrmp_view name = name_of(core, s);
    struct p2ps_note note = {
        .kind = P2PS_NOTE_RELEASED,
        .service = rwf_bytes(bytes, name.length),
        .network = s->network,
        .sink_service = s->sink_service,
    };

    memcpy(bytes, name.bytes, name.length);
    if (s->items > 0 || !rrmp_sink_service_forget(core->sinks[s->network], s->sink_service))
        return false;
    let_others_bring(core, (struct rrmp_view){ bytes, name.length });
    forget_standby(core, service);
    core->service_map[s->network * P2PS_SERVICES_MAX + s->sink_service] = NOT_BOUND;
    *s = (struct p2ps_service){ .is_forgotten = true, .is_free = true };
    core->services_free++;
    if (core->config.note)
        core->config.note(core->config.note_owner, &note);
    return true;
}

bool p2ps_services_are_many(const struct p2ps_core *core)
{
    bool are_many = core->service_count > core->services_free + SERVICES_MANY;

    for (unsigned i = 0; i < core->config.network_count; i++)
        are_many = are_many || rrmp_sink_services_now(core->sinks[i]) > SERVICES_MANY;
    return are_many;
}

void p2ps_services_unwanted_forget(struct p2ps_core *core)
{
    struct rrmp_sink_service there;

    for (unsigned i = 0; i < core->config.network_count; i++) {
        for (uint16_t number = 0; number < rrmp_sink_service_count(core->sinks[i]); number++) {
            uint16_t *map = &core->service_map[i * P2PS_SERVICES_MAX + number];

            if (*map == NOT_WANTED && rrmp_sink_service(core->sinks[i], number, &there) &&
                there.instance_count == 0 && rrmp_sink_service_forget(core->sinks[i], number))
                *map = NOT_BOUND;
        }
    }
}

/* NULL: it is not taken from that network. */
static const struct p2ps_service *service_of(const struct p2ps_core *core, unsigned network,
                                             uint16_t sink_service)
{
    uint16_t service = sink_service < P2PS_SERVICES_MAX
                           ? core->service_map[network * P2PS_SERVICES_MAX + sink_service]
                           : NOT_BOUND;

    return service < NOT_WANTED ? &core->services[service] : NULL;
}

bool p2ps_core_service_is_taken(const struct p2ps_core *core, unsigned network,
                                uint16_t sink_service)
{
    return service_of(core, network, sink_service) != NULL;
}

uint16_t p2ps_core_service_id(const struct p2ps_core *core, unsigned network, uint16_t sink_service)
{
    const struct p2ps_service *service = service_of(core, network, sink_service);

    return service ? service->id : 0;
}

bool p2ps_core_service_is_forgotten(const struct p2ps_core *core, unsigned network,
                                    uint16_t sink_service)
{
    const struct p2ps_service *service = service_of(core, network, sink_service);

    return service && service->is_forgotten;
}

struct rrmp_view p2ps_service_name(const struct p2ps_core *core, uint16_t service)
{
    if (service >= core->service_count || core->services[service].is_free)
        return (struct rrmp_view){ 0 };
    const struct p2ps_service *s = &core->services[service];
    return rrmp_sink_service_name(core->sinks[s->network], s->sink_service);
}

bool p2ps_service_read(const struct p2ps_core *core, uint16_t service,
                       struct rrmp_sink_service *out)
{
    if (service >= core->service_count || core->services[service].is_free)
        return false;
    const struct p2ps_service *s = &core->services[service];
    if (!rrmp_sink_service(core->sinks[s->network], s->sink_service, out))
        return false;
    out->id = s->id;
    if (out->instance_count == 0) {
        out->capability_count = s->capability_count;
        out->qos_count = s->qos_count;
        memcpy(out->capabilities, s->capabilities, sizeof(s->capabilities));
        memcpy(out->qos, s->qos, sizeof(s->qos));
    }
    return true;
}

void p2ps_service_asked_forget(struct p2ps_core *core)
{
    core->asked_service = RRMP_SERVICE_NONE;
}

const struct rrmp_sink_service *p2ps_service_asked(struct p2ps_core *core, uint16_t service)
{
    bool is_known = core->asked_service == service && core->work.resuming != P2PS_NONE;

    if (!is_known && !p2ps_service_read(core, service, &core->asked)) {
        p2ps_service_asked_forget(core);
        return NULL;
    }
    core->asked_service = service;
    return &core->asked;
}

void p2ps_service_remember(struct p2ps_core *core, uint16_t service)
{
    struct p2ps_service *s = &core->services[service];
    struct rrmp_sink_service now;

    if (!p2ps_service_read(core, service, &now) || now.instance_count == 0)
        return;
    s->capability_count = now.capability_count;
    s->qos_count = now.qos_count;
    memcpy(s->capabilities, now.capabilities, sizeof(s->capabilities));
    memcpy(s->qos, now.qos, sizeof(s->qos));
}

uint16_t p2ps_service_find(const struct p2ps_core *core, uint16_t service_id)
{
    for (uint16_t i = 0; i < core->service_count; i++) {
        const struct p2ps_service *s = &core->services[i];

        if (s->id == service_id && !s->is_forgotten && !s->is_closing)
            return i;
    }
    return RRMP_SERVICE_NONE;
}

bool p2ps_service_is_closing(const struct p2ps_core *core, uint16_t service_id)
{
    return core->closing.is_on && core->services[core->closing.service].id == service_id;
}

struct rwf_bytes p2ps_core_service_name(const struct p2ps_core *core, uint16_t id)
{
    uint16_t service = p2ps_service_find(core, id);
    struct rrmp_sink_service info;

    if (service == RRMP_SERVICE_NONE || !p2ps_service_read(core, service, &info))
        return rwf_bytes(NULL, 0);
    return p2ps_bytes(info.name);
}

int p2ps_core_service_named(const struct p2ps_core *core, struct rwf_bytes name)
{
    struct rrmp_sink_service info;

    for (uint16_t i = 0; i < core->service_count; i++) {
        if (!core->services[i].is_forgotten && p2ps_service_read(core, i, &info) &&
            rwf_bytes_equal(p2ps_bytes(info.name), name))
            return info.id;
    }
    return -1;
}

int p2ps_core_service_first(const struct p2ps_core *core, uint8_t domain)
{
    struct rrmp_sink_service info;
    int first = -1;

    for (uint16_t i = 0; i < core->service_count; i++) {
        if (core->services[i].is_forgotten || !p2ps_service_read(core, i, &info) || !info.is_up ||
            !memchr(info.capabilities, domain, info.capability_count))
            continue;
        if (first < 0 || info.id < first)
            first = info.id;
    }
    return first;
}
