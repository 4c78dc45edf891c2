/* offer.c - see offer.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "offer.h"

#include "access.h"
#include "description.h"
#include "provider.h"
#include "recovery.h"
#include "service.h"
#include "service_forget.h"
#include "service_state.h"
#include "tell.h"

void srcdist_offer_remove(struct srcdist_core *core, uint32_t provider, struct srcdist_offer *offer)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    uint32_t service = offer->service;

    srcdist_description_forget(offer);
    *offer = p->offers[--p->offer_count];
    srcdist_service_describe_anew(core, service);
    srcdist_service_unsay(core, service, provider);
    srcdist_items_orphaned(core, provider, service);
    if (srcdist_service_offerer(core, service) == SRCDIST_NONE)
        core->services[service].left_ns = core->now_ns;
    srcdist_service_refresh_state(core, service);
}

/* ---- may it ---- */

static void refuse(struct srcdist_core *core, const struct srcdist_provider *p,
                   struct rwf_bytes name, const char *why)
{
    core->stats.services_refused++;
    srcdist_tell_rarely(core, SRCDIST_TALE_SERVICE, "service %.*s of provider %s is refused: %s",
                        (int)(name.length < SRCDIST_NAME_MAX ? name.length : SRCDIST_NAME_MAX),
                        (const char *)name.data, srcdist_party(p).text, why);
}

static void refuse_kind(struct srcdist_core *core, const struct srcdist_provider *p,
                        const struct srcdist_service *s, uint32_t offerer)
{
    struct srcdist_party party = { .text = "" };

    if (offerer != SRCDIST_NONE)
        party = srcdist_party(&core->providers[offerer]);
    core->stats.services_refused++;
    srcdist_tell_rarely(core, SRCDIST_TALE_SERVICE,
                        "service %s of provider %s is refused: it is %s, as %s offers it; a "
                        "service is of one kind",
                        s->name, srcdist_party(p).text,
                        s->is_broadcast ? "broadcast" : "on request",
                        offerer != SRCDIST_NONE ? party.text : s->holder);
}

/* A route is written in the configuration, a publisher without access rules in none. */
static void oust_publishers(struct srcdist_core *core, const struct srcdist_provider *route,
                            uint32_t service)
{
    uint32_t publisher;

    while ((publisher = srcdist_service_offerer(core, service)) != SRCDIST_NONE) {
        struct srcdist_provider *p = srcdist_provider_at(core, publisher);

        core->stats.services_refused++;
        srcdist_tell_rarely(core, SRCDIST_TALE_SERVICE,
                            "service %s of provider %s ends: %s offers it, and a service is of one "
                            "kind",
                            core->services[service].name, srcdist_party(p).text,
                            srcdist_party(route).text);
        srcdist_offer_remove(core, publisher, srcdist_provider_offer(p, (uint16_t)service));
    }
    srcdist_items_become_asked(core, service);
}

/* False: the service is of the other kind, and stays so. */
static bool settle_kind(struct srcdist_core *core, const struct srcdist_provider *p,
                        uint32_t service)
{
    struct srcdist_service *s = &core->services[service];
    bool is_broadcast = p->kind == SRCDIST_NON_INTERACTIVE;
    uint32_t offerer = srcdist_service_offerer(core, service);

    if (s->is_broadcast == is_broadcast)
        return true;
    if (is_broadcast || (offerer != SRCDIST_NONE && core->config.has_access)) {
        refuse_kind(core, p, s, offerer);
        return false;
    }
    oust_publishers(core, p, service);
    s->is_broadcast = false;
    return true;
}

static uint32_t take_service(struct srcdist_core *core, const struct srcdist_provider *p,
                             struct rwf_bytes name)
{
    bool is_broadcast = p->kind == SRCDIST_NON_INTERACTIVE;
    bool is_full = false;
    uint32_t service = srcdist_service_take(core, name, is_broadcast, &is_full);

    if (is_full && srcdist_service_make_room(core, is_broadcast))
        service = srcdist_service_take(core, name, is_broadcast, &is_full);
    if (service == SRCDIST_NONE && is_full)
        refuse(core, p, name, "as many services are known as there is room for");
    return service;
}

struct srcdist_offer *srcdist_offer_add(struct srcdist_core *core, uint32_t provider,
                                        const struct omm_service *service)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    bool is_publisher = p->kind == SRCDIST_NON_INTERACTIVE;
    uint32_t most = is_publisher ? core->config.provider_services_max : SRCDIST_SERVICES;

    if (is_publisher && !p->is_own && !srcdist_access_may_publish(core, p, service->name)) {
        refuse(core, p, service->name,
               "no line of providerAccessFile says allow USER SERVICE * do=publish for it");
        return NULL;
    }
    if (p->offer_count >= most) {
        refuse(core, p, service->name, "it offers as many services as one provider may");
        return NULL;
    }
    uint32_t index = srcdist_service_known(core, service->name);
    if (index == SRCDIST_NONE)
        index = take_service(core, p, service->name);
    if (index == SRCDIST_NONE)
        return NULL;
    /* Data that are not delayed never come under the name of a delayed service. */
    if (core->services[index].config.is_delayed != p->is_own) {
        refuse(core, p, service->name, "it is the delayedService of another one");
        return NULL;
    }
    if (!settle_kind(core, p, index))
        return NULL;
    core->services[index].left_ns = 0;
    struct srcdist_offer *offer = &p->offers[p->offer_count++];
    *offer = (struct srcdist_offer){
        .provider_id = service->id,
        .service = (uint16_t)index,
        .is_accepting = true,
        .open_limit = UINT64_MAX,
    };
    return offer;
}
