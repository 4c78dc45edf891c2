/* mirror.c - tells providers their role in a mirrored service. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "mirror.h"

#include "base/err.h"
#include "provider.h"
#include "service.h"

/*
 * A service has a mirror when another instance of its group has it up, too, or a second provider of
 * ours. Providers that want to know are told: alone, active before a standby, or standby. Of
 * several providers of one instance one feeds it; the others stand by.
 */

static uint32_t provider_count(const struct srcdist_core *core, uint32_t service)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < core->provider_room; i++) {
        const struct srcdist_provider *p = &core->providers[i];
        for (uint32_t k = 0; p->is_used && !p->must_go && k < p->offer_count; k++)
            count += p->offers[k].service == service && p->offers[k].is_up;
    }
    return count;
}

static enum omm_mirroring_mode role_of(const struct srcdist_core *core, uint32_t provider,
                                       uint32_t service)
{
    const struct srcdist_service *s = &core->services[service];
    bool has_partner =
        s->config.mirror_group && s->is_offered && rrmp_source_has_partner(core->source, s->svc);
    bool has_second = provider_count(core, service) > 1;

    if (!has_partner && !has_second)
        return OMM_MIRROR_ACTIVE_ALONE;
    if (srcdist_service_provider(core, service) != provider)
        return OMM_MIRROR_STANDBY;
    return s->active_count > 0 || !has_partner ? OMM_MIRROR_ACTIVE_WITH_STANDBY
                                               : OMM_MIRROR_STANDBY;
}

/* Sends the role when it changes. A full connection leaves sent_role as it was: the next tick tries
 * again. */
static void tell(struct srcdist_core *core, uint32_t provider, struct srcdist_offer *offer)
{
    const struct srcdist_provider *p = &core->providers[provider];
    enum omm_mirroring_mode role = role_of(core, provider, offer->service);
    struct rwf_encoder enc;

    if (offer->sent_role == (uint8_t)role + 1)
        return;
    srcdist_encoder(core, &enc);
    omm_consumer_status_encode(&enc, p->directory_stream, offer->provider_id, role);
    if (srcdist_provider_send(core, provider, &enc) == MD_OK)
        offer->sent_role = (uint8_t)(role + 1);
}

void srcdist_mirror_tick(struct srcdist_core *core)
{
    for (uint32_t i = 0; i < core->provider_room; i++) {
        struct srcdist_provider *p = &core->providers[i];

        if (!p->is_used || p->must_go || p->kind != SRCDIST_INTERACTIVE ||
            p->state != SRCDIST_PROVIDER_READY)
            continue;
        for (uint32_t k = 0; k < p->offer_count; k++) {
            if (p->offers[k].accepts_status)
                tell(core, i, &p->offers[k]);
        }
    }
}
