/* grant.c - see grant.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "grant.h"

#include "access.h"
#include "login.h"
#include "offer.h"
#include "provider.h"
#include "tell.h"

static void review_offers(struct srcdist_core *core, uint32_t provider)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);

    for (uint32_t i = 0; i < p->offer_count;) {
        const char *name = core->services[p->offers[i].service].name;

        if (srcdist_access_may_publish(core, p, rwf_text(name))) {
            i++;
            continue;
        }
        srcdist_tell(core, SRCDIST_TELLS_REFUSAL,
                     "service %s of provider %s ends: providerAccessFile no longer lets it publish "
                     "it",
                     name, srcdist_party(p).text);
        core->stats.services_refused++;
        srcdist_offer_remove(core, provider, &p->offers[i]); /* the last one takes its place */
    }
}

void srcdist_grants_review(struct srcdist_core *core)
{
    for (uint32_t i = 0; i < core->provider_room; i++) {
        struct srcdist_provider *p = &core->providers[i];

        if (!p->is_used || p->must_go || p->is_own || p->kind != SRCDIST_NON_INTERACTIVE ||
            p->state == SRCDIST_PROVIDER_LOGIN)
            continue;
        struct srcdist_refusal why;
        if (srcdist_access_again(core, p, &why))
            review_offers(core, i);
        else
            srcdist_login_end(core, i, &why);
    }
}
