/* qos.c - see qos.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "qos.h"

#include <stdio.h>

#include "itemkey/itemkey.h"

#define QUALITIES_MAX (RRMP_SINK_QOS_MAX + P2PS_PACES_MAX + 1)

/* Those of the providers first: of two that are equal the first is chosen. */
struct list {
    unsigned count;
    struct {
        struct rwf_qos qos; /* as consumers know it */
        struct p2ps_quality is;
    } of[QUALITIES_MAX];
};

static void add(struct list *list, const struct rwf_qos *qos, const struct rwf_qos *source,
                uint8_t pace)
{
    list->of[list->count].qos = *qos;
    list->of[list->count++].is = (struct p2ps_quality){ .source = *source, .pace = pace };
}

static void read(const struct p2ps_core *core, const struct rrmp_sink_service *in,
                 struct list *list)
{
    struct rwf_qos best = { .timeliness = RWF_TIMELINESS_REALTIME, .rate = RWF_RATE_TICK_BY_TICK };

    list->count = 0;
    for (unsigned i = 0; i < in->qos_count && i < RRMP_SINK_QOS_MAX; i++) {
        struct rwf_qos qos = itemkey_qos_unpack(in->qos[i]);

        if (i == 0 || omm_qos_compare(&qos, &best) < 0)
            best = qos;
        add(list, &qos, &qos, P2PS_PACE_NONE);
    }
    if (in->qos_count == 0)
        add(list, &best, &best, P2PS_PACE_NONE);
    unsigned offered = list->count;
    for (unsigned i = 0; i < core->config.pace_count; i++) {
        struct rwf_qos made = best;
        bool is_new = true;

        made.rate = core->config.paces[i].rate;
        made.rate_info = core->config.paces[i].interval_ms;
        for (unsigned k = 0; k < offered; k++)
            is_new &= omm_qos_compare(&made, &list->of[k].qos) != 0;
        if (is_new && omm_qos_compare(&made, &best) > 0)
            add(list, &made, &best, (uint8_t)(i + 1));
    }
}

/* A service whose providers name no quality has none in the directory, unless some are made. */
void p2ps_qos_offer(const struct p2ps_core *core, const struct rrmp_sink_service *in,
                    struct omm_service *out)
{
    struct list list;

    if (core->config.pace_count == 0 && in->qos_count == 0)
        return;
    read(core, in, &list);
    for (unsigned i = 0; i < list.count && out->qos_count < OMM_QOS_MAX; i++)
        out->qos[out->qos_count++] = list.of[i].qos;
    out->supports_qos_range = core->config.pace_count > 0;
}

static bool is_for(const struct p2ps_client *c, const struct rwf_qos *qos)
{
    bool is_conflated = qos->rate == RWF_RATE_JIT_CONFLATED || qos->rate == RWF_RATE_TIME_CONFLATED;
    bool is_delayed = qos->timeliness == RWF_TIMELINESS_DELAYED ||
                      qos->timeliness == RWF_TIMELINESS_DELAYED_UNKNOWN;

    return !(c->qualities & ENTITLE_QUALITY_CONFLATED && !is_conflated) &&
           !(c->qualities & ENTITLE_QUALITY_DELAYED && !is_delayed);
}

void p2ps_qos_cut(const struct p2ps_client *c, struct omm_service *service)
{
    uint8_t kept = 0;

    for (unsigned i = 0; i < service->qos_count; i++) {
        if (is_for(c, &service->qos[i]))
            service->qos[kept++] = service->qos[i];
    }
    service->qos_count = kept;
}

static void read_for(const struct p2ps_core *core, const struct p2ps_client *c,
                     const struct rrmp_sink_service *in, struct list *list)
{
    unsigned kept = 0;

    read(core, in, list);
    for (unsigned i = 0; i < list->count; i++) {
        if (is_for(c, &list->of[i].qos))
            list->of[kept++] = list->of[i];
    }
    list->count = kept;
}

static bool choose(const struct list *list, const struct omm_item_request *request,
                   const struct rwf_qos *source, struct p2ps_quality *out)
{
    const struct rwf_qos *best = NULL;

    for (unsigned i = 0; i < list->count; i++) {
        const struct rwf_qos *qos = &list->of[i].qos;

        if ((source && omm_qos_compare(&list->of[i].is.source, source) != 0) ||
            !omm_qos_is_acceptable(request, qos) || (best && omm_qos_compare(qos, best) >= 0))
            continue;
        best = qos;
        *out = list->of[i].is;
    }
    return best != NULL;
}

bool p2ps_qos_choose(const struct p2ps_core *core, const struct p2ps_client *c,
                     const struct rrmp_sink_service *in, const struct omm_item_request *request,
                     struct p2ps_quality *out)
{
    struct list list;

    read_for(core, c, in, &list);
    return choose(&list, request, NULL, out);
}

bool p2ps_qos_choose_again(const struct p2ps_core *core, const struct p2ps_client *c,
                           const struct rrmp_sink_service *in,
                           const struct omm_item_request *request, const struct rwf_qos *source,
                           uint8_t *pace)
{
    struct p2ps_quality quality;
    struct list list;

    if (core->config.pace_count == 0 || !request->has_qos)
        return true;
    read_for(core, c, in, &list);
    if (choose(&list, request, source, &quality))
        *pace = quality.pace;
    else if (omm_qos_is_acceptable(request, source) && is_for(c, source))
        *pace = P2PS_PACE_NONE; /* the providers list it no more, the stream goes on */
    else
        return false;
    return true;
}

void p2ps_qos_refusal(const struct p2ps_core *core, const struct p2ps_client *c,
                      const struct rrmp_sink_service *in, char *text, size_t size)
{
    struct list list;

    read_for(core, c, in, &list);
    size_t at = (size_t)snprintf(text, size, "%s%s",
                                 c->qualities
                                     ? "The user may not have this quality of service"
                                     : "The service does not provide a matching quality of service",
                                 list.count ? "; it offers" : "");
    for (unsigned i = 0; i < list.count && at < size; i++) {
        char name[64];

        rwf_qos_to_text(&list.of[i].qos, name, sizeof(name));
        at += (size_t)snprintf(text + at, size - at, "%s %s", i ? "," : "", name);
    }
}
