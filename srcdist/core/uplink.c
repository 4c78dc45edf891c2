/* uplink.c - see uplink.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "uplink.h"

#include <string.h>

#include "provider.h"
#include "tell.h"

#define PATH_MAX_BYTES 200u /* longer ones are of no honest chain of sites */
#define RENEW_AGAIN_S  10u  /* a new token may come that late */

struct srcdist_uplink srcdist_uplink_of(const struct srcdist_core *core, uint32_t provider)
{
    const struct srcdist_provider *p = &core->providers[provider];
    struct srcdist_uplink uplink = { .user = "", .password = "", .token = "" };

    if (p->kind == SRCDIST_INTERACTIVE && p->link->uplink)
        p->link->uplink(p->self, &uplink);
    return uplink;
}

/* ---- the path ---- */

static const char *site_of(const struct srcdist_core *core)
{
    return core->config.site ? core->config.site : "";
}

/* "HQ,PARIS" holds "HQ", but not "PAR". */
static bool holds(struct rwf_bytes path, const char *site)
{
    size_t length = strlen(site);

    for (size_t at = 0, end; at < path.length; at = end + 1) {
        for (end = at; end < path.length && path.data[end] != ','; end++)
            continue;
        if (end - at == length && memcmp(path.data + at, site, length) == 0)
            return true;
    }
    return false;
}

static bool comes_back(const struct srcdist_core *core, const struct omm_service *service)
{
    const char *site = site_of(core);

    for (unsigned i = 0; site[0] && i < service->path_count; i++) {
        if (service->paths[i].length > PATH_MAX_BYTES || holds(service->paths[i], site) ||
            holds(service->paths[i], "*"))
            return true;
    }
    return false;
}

unsigned srcdist_uplink_put_paths(const struct srcdist_core *core, struct md_wr *wr,
                                  const struct omm_service *info)
{
    uint8_t path[PATH_MAX_BYTES + 1 + SRCDIST_SITE_MAX];
    const char *site = site_of(core);
    size_t length = strlen(site);
    unsigned count = 0;

    for (unsigned i = 0; i < info->path_count || (i == 0 && length > 0); i++) {
        struct rwf_bytes before = i < info->path_count ? info->paths[i] : rwf_bytes(NULL, 0);
        size_t at = before.length < PATH_MAX_BYTES ? before.length : PATH_MAX_BYTES;

        if (at > 0)
            memcpy(path, before.data, at);
        if (at > 0 && length > 0)
            path[at++] = ',';
        /* Its length goes along. NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
        memcpy(path + at, site, length);
        rrmp_tlv_put(wr, RRMP_TLV_SITE_PATH, path, at + length);
        count++;
    }
    return count;
}

/* ---- what is taken ---- */

static void refuse(struct srcdist_core *core, uint32_t provider, const struct omm_service *service,
                   const char *why)
{
    const struct srcdist_provider *p = srcdist_provider_at(core, provider);
    struct rwf_bytes path = service->path_count ? service->paths[0] : rwf_bytes(NULL, 0);
    size_t most = path.length < PATH_MAX_BYTES ? path.length : PATH_MAX_BYTES;

    core->stats.services_refused++;
    srcdist_tell_rarely(
        core, SRCDIST_TALE_SERVICE, "service %.*s of provider %s is not taken: %s%s%.*s",
        (int)(service->name.length < SRCDIST_NAME_MAX ? service->name.length : SRCDIST_NAME_MAX),
        (const char *)service->name.data, srcdist_party(p).text, why, most ? "; its path is " : "",
        (int)most, (const char *)path.data);
}

static bool takes_quality(struct omm_service *service, const struct rwf_qos *qos)
{
    static const struct rwf_qos usual = { .timeliness = RWF_TIMELINESS_REALTIME,
                                          .rate = RWF_RATE_TICK_BY_TICK };
    bool has_it = service->qos_count == 0 && omm_qos_compare(&usual, qos) == 0;

    for (unsigned i = 0; i < service->qos_count; i++)
        has_it = has_it || omm_qos_compare(&service->qos[i], qos) == 0;
    service->qos[0] = *qos;
    service->qos_count = 1;
    return has_it;
}

bool srcdist_uplink_admits(struct srcdist_core *core, uint32_t provider,
                           struct omm_service *service)
{
    const struct srcdist_uplink uplink = srcdist_uplink_of(core, provider);

    if (comes_back(core, service)) {
        core->stats.services_looped++;
        refuse(core, provider, service, "it came through this site");
        return false;
    }
    if (uplink.has_qos && !takes_quality(service, &uplink.qos)) {
        refuse(core, provider, service, "it does not have the quality of requestQos");
        return false;
    }
    return true;
}

void srcdist_uplink_view(const struct srcdist_core *core, uint32_t provider,
                         struct omm_item_request *request)
{
    if (!core->providers[provider].has_views || request->is_private || request->payload.length)
        return;
    const struct srcdist_uplink uplink = srcdist_uplink_of(core, provider);
    if (uplink.view.length == 0)
        return;
    request->has_view = true;
    request->container = RWF_TYPE_ELEMENT_LIST;
    request->payload = uplink.view;
}

/* ---- the login ---- */

static uint64_t wall_s(const struct srcdist_core *core)
{
    return core->config.wall_s ? core->config.wall_s() : 0;
}

void srcdist_uplink_granted(const struct srcdist_core *core, struct srcdist_provider *p,
                            const struct omm_login_refresh *refresh)
{
    uint64_t soonest_s = wall_s(core) + RENEW_AGAIN_S; /* the file may have the old one still */

    p->has_views = refresh->support_view;
    p->ceiling = refresh->output_rate;
    p->renew_s =
        refresh->reissue_s && refresh->reissue_s < soonest_s ? soonest_s : refresh->reissue_s;
}

bool srcdist_uplink_renews(struct srcdist_core *core, struct srcdist_provider *p)
{
    if (!p->is_uplink || p->renew_s == 0 || wall_s(core) < p->renew_s || !p->link->renew)
        return false;
    p->renew_s = wall_s(core) + RENEW_AGAIN_S;
    return p->link->renew(p->self);
}

/* ---- how far it is ---- */

void srcdist_uplink_round_trip(struct srcdist_core *core, uint32_t provider,
                               const struct rwf_msg *msg)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    struct rwf_encoder enc;
    struct omm_rtt rtt;

    if (!p->is_uplink || omm_rtt_decode(msg, &rtt) != RWF_OK)
        return;
    p->lag_us = rtt.has_latency ? rtt.latency_us : p->lag_us;
    rtt.has_latency = false;
    srcdist_encoder(core, &enc);
    omm_rtt_encode(&enc, p->login_stream, &rtt);
    srcdist_provider_send(core, provider, &enc);
}
