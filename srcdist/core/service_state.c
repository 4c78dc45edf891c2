/* service_state.c - whether a service is up, and complete. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "service_state.h"

#include <stdio.h>

#include "place.h"
#include "service.h"

static void tell_state(const struct srcdist_core *core, const struct srcdist_service *s)
{
    char text[SRCDIST_NAME_MAX + 64];

    if (!core->config.tell)
        return;
    snprintf(text, sizeof(text),
             s->is_up ? "service %s is up" : "service %s is down: no provider has it", s->name);
    core->config.tell(core->config.service_owner,
                      s->is_up ? SRCDIST_TELLS_NEWS : SRCDIST_TELLS_ERROR, text);
}

void srcdist_service_refresh_state(struct srcdist_core *core, uint32_t service)
{
    struct srcdist_service *s = &core->services[service];
    bool was_up = s->is_up;

    s->is_up = srcdist_service_provider(core, service) != SRCDIST_NONE;
    if (was_up != s->is_up) {
        if (s->is_up)
            core->stats.services_up_now++;
        else
            core->stats.services_up_now--;
        tell_state(core, s);
    }
    srcdist_service_announce(core, service);
    if (!was_up && s->is_up)
        srcdist_items_place(core, service);
}

void srcdist_services_tick(struct srcdist_core *core)
{
    for (uint32_t i = 0; i < SRCDIST_SERVICES; i++) {
        const struct srcdist_service *s = &core->services[i];

        /* One that found no room on the backbone tries again. */
        if (s->is_used &&
            (s->is_offered ? s->is_complete != srcdist_service_is_complete(core, i) : s->is_up))
            srcdist_service_announce(core, i);
    }
}
