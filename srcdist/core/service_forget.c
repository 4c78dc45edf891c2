/* service_forget.c - see service_forget.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "service_forget.h"

#include <string.h>

#include "item_end.h"
#include "service.h"
#include "tell.h"

/* Its items end with it; requesters look for the service elsewhere. */
static void forget(struct srcdist_core *core, uint32_t service, const char *why)
{
    struct srcdist_service *s = &core->services[service];

    core->stats.services_forgotten++;
    srcdist_tell(core, SRCDIST_TELLS_NEWS, "service %s is forgotten: %s", s->name, why);
    if (s->is_offered)
        rrmp_source_service_withdraw(core->source, core->now_ns, s->svc);
    s->is_offered = false;
    for (uint32_t i = 0; i < core->item_room; i++) {
        if (core->items[i].state != SRCDIST_ITEM_FREE && core->items[i].service == service)
            srcdist_item_forget(core, i);
    }
    if (core->config.service_news)
        core->config.service_news(core->config.service_owner, s->name, false);
    srcdist_service_give(core, service);
}

/* A stranger pushes out nothing that a route or the configuration names. */
static bool may_go(const struct srcdist_service *s, bool for_broadcast)
{
    return s->is_used && s->left_ns != 0 && !s->config.is_configured &&
           (s->is_broadcast || !for_broadcast);
}

bool srcdist_service_make_room(struct srcdist_core *core, bool for_broadcast)
{
    uint32_t oldest = SRCDIST_NONE;

    for (uint32_t i = 0; i < SRCDIST_SERVICES; i++) {
        if (may_go(&core->services[i], for_broadcast) &&
            (oldest == SRCDIST_NONE || core->services[i].left_ns < core->services[oldest].left_ns))
            oldest = i;
    }
    if (oldest == SRCDIST_NONE)
        return false;
    forget(core, oldest, "another one needs its place, and no provider has it");
    return true;
}

void srcdist_services_forget_tick(struct srcdist_core *core)
{
    for (uint32_t i = 0; core->config.service_forget_ns && i < SRCDIST_SERVICES; i++) {
        if (may_go(&core->services[i], true) &&
            core->now_ns - core->services[i].left_ns >= core->config.service_forget_ns)
            forget(core, i, "no provider has had it for serviceForget");
    }
}
