/* service.c - services as the backbone sees them: joined from what providers offer. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "service.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/writer.h"
#include "delayed.h"
#include "description.h"
#include "dictionary_table.h"
#include "itemkey/itemkey.h"
#include "provider.h"
#include "tell.h"
#include "uplink.h"

uint32_t srcdist_service_find(const struct srcdist_core *core, uint16_t svc)
{
    for (uint32_t i = 0; i < SRCDIST_SERVICES; i++) {
        if (core->services[i].is_offered && core->services[i].svc == svc)
            return i;
    }
    return SRCDIST_NONE;
}

uint32_t srcdist_service_known(const struct srcdist_core *core, struct rwf_bytes name)
{
    for (uint32_t i = 0; i < SRCDIST_SERVICES; i++) {
        const struct srcdist_service *s = &core->services[i];
        if (s->is_used && rwf_bytes_equal(rwf_text(s->name), name))
            return i;
    }
    return SRCDIST_NONE;
}

static bool is_invented(const struct srcdist_service *s)
{
    return s->is_broadcast && !s->config.is_configured;
}

static uint32_t free_place(const struct srcdist_core *core, bool for_invented)
{
    uint32_t found = SRCDIST_NONE;
    uint32_t invented = 0;

    for (uint32_t i = 0; i < SRCDIST_SERVICES; i++) {
        const struct srcdist_service *s = &core->services[i];

        invented += s->is_used && is_invented(s);
        if (!s->is_used && found == SRCDIST_NONE)
            found = i;
    }
    return for_invented && invented >= SRCDIST_SERVICES_INVENTED ? SRCDIST_NONE : found;
}

uint32_t srcdist_service_take(struct srcdist_core *core, struct rwf_bytes name, bool is_broadcast,
                              bool *is_full)
{
    *is_full = false;
    if (name.length == 0 || name.length >= SRCDIST_NAME_MAX || memchr(name.data, 0, name.length))
        return SRCDIST_NONE;
    struct srcdist_service_config config = core->config.service(core->config.service_owner, name);
    if (config.is_refused)
        return SRCDIST_NONE;
    uint32_t service = free_place(core, is_broadcast && !config.is_configured);
    if (service == SRCDIST_NONE) {
        *is_full = true;
        return SRCDIST_NONE;
    }
    struct srcdist_service *s = &core->services[service];
    *s = (struct srcdist_service){ .is_used = true,
                                   .is_broadcast = is_broadcast || config.is_delayed,
                                   .config = config,
                                   .describer = SRCDIST_NONE };
    memcpy(s->name, name.data, name.length);
    core->stats.services_now++;
    srcdist_delay_begin(core, service);
    if (core->config.service_news)
        core->config.service_news(core->config.service_owner, s->name, true);
    return service;
}

uint32_t srcdist_service_offerer(const struct srcdist_core *core, uint32_t service)
{
    for (uint32_t i = 0; i < core->provider_room; i++) {
        struct srcdist_provider *p = &core->providers[i];

        if (p->is_used && srcdist_provider_offer(p, (uint16_t)service))
            return i;
    }
    return SRCDIST_NONE;
}

/* False: this provider cannot be used for the service now. */
static bool has_service_up(const struct srcdist_provider *p, uint32_t service, bool with_room)
{
    if (!p->is_used || p->must_go || p->state != SRCDIST_PROVIDER_READY)
        return false;
    for (uint32_t k = 0; k < p->offer_count; k++) {
        const struct srcdist_offer *offer = &p->offers[k];

        if (offer->service == service && offer->is_up && offer->is_accepting &&
            !(with_room && offer->open_count >= offer->open_limit))
            return true;
    }
    return false;
}

/* `kinds`: a bit for each kind that may be chosen. */
static uint32_t best_provider(const struct srcdist_core *core, uint32_t service, unsigned kinds,
                              bool with_room)
{
    uint32_t best = SRCDIST_NONE;

    for (uint32_t i = 0; i < core->provider_room; i++) {
        const struct srcdist_provider *p = &core->providers[i];

        if (kinds >> p->kind & 1 && has_service_up(p, service, with_room) &&
            (best == SRCDIST_NONE || p->rank < core->providers[best].rank))
            best = i;
    }
    return best;
}

uint32_t srcdist_service_provider(const struct srcdist_core *core, uint32_t service)
{
    return best_provider(core, service, UINT_MAX, false);
}

uint32_t srcdist_service_asked(const struct srcdist_core *core, uint32_t service)
{
    return best_provider(core, service, 1u << SRCDIST_INTERACTIVE, false);
}

uint32_t srcdist_service_asked_with_room(const struct srcdist_core *core, uint32_t service)
{
    return best_provider(core, service, 1u << SRCDIST_INTERACTIVE, true);
}

/* ---- the description ---- */

static bool has_paths_of(const struct omm_service *info, const struct omm_service *other)
{
    unsigned found = 0;

    for (unsigned i = 0; i < other->path_count; i++) {
        for (unsigned k = 0; k < info->path_count; k++) {
            if (rwf_bytes_equal(other->paths[i], info->paths[k])) {
                found++;
                break;
            }
        }
    }
    return found == other->path_count;
}

/* Apart from the paths: each provider has its own. */
static bool is_alike(const struct omm_service *a, const struct omm_service *b)
{
    if (a->capability_count != b->capability_count || a->qos_count != b->qos_count ||
        a->provided_count != b->provided_count || a->used_count != b->used_count ||
        a->is_source != b->is_source || !rwf_bytes_equal(a->vendor, b->vendor) ||
        !rwf_bytes_equal(a->item_list, b->item_list) ||
        memcmp(a->capabilities, b->capabilities, a->capability_count) != 0)
        return false;
    for (unsigned i = 0; i < a->qos_count; i++) {
        if (omm_qos_compare(&a->qos[i], &b->qos[i]) != 0)
            return false;
    }
    for (unsigned i = 0; i < a->provided_count; i++) {
        if (!rwf_bytes_equal(a->provided[i], b->provided[i]))
            return false;
    }
    for (unsigned i = 0; i < a->used_count; i++) {
        if (!rwf_bytes_equal(a->used[i], b->used[i]))
            return false;
    }
    return true;
}

bool srcdist_service_is_described(const struct srcdist_core *core, uint32_t service,
                                  const struct omm_service *info)
{
    const struct srcdist_service *s = &core->services[service];

    return s->text && is_alike(&s->info, info) && has_paths_of(&s->info, info) &&
           has_paths_of(info, &s->info); /* in any order */
}

/* The provider that described the service, if it still offers it. */
static const struct srcdist_provider *describer_of(const struct srcdist_core *core,
                                                   uint32_t service)
{
    const struct srcdist_service *s = &core->services[service];

    if (s->describer == SRCDIST_NONE)
        return NULL;
    struct srcdist_provider *p = &core->providers[s->describer];
    bool is_it = p->is_used && p->serial == s->describer_serial;
    return is_it && srcdist_provider_offer(p, (uint16_t)service) ? p : NULL;
}

/* False: the one that described the service goes before this provider. One that can be used goes
 * before one that cannot: the path that is told is one that items take. */
static bool may_describe(const struct srcdist_core *core, uint32_t service, uint32_t provider)
{
    const struct srcdist_provider *before = describer_of(core, service);
    const struct srcdist_provider *p = &core->providers[provider];

    if (!before || before == p)
        return true;
    bool is_usable = has_service_up(p, service, false);
    if (is_usable != has_service_up(before, service, false))
        return is_usable;
    return p->rank < before->rank;
}

/* More than one provider offers it. */
static bool is_shared(const struct srcdist_core *core, uint32_t service)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < core->provider_room; i++) {
        const struct srcdist_provider *p = &core->providers[i];

        for (uint32_t k = 0; p->is_used && k < p->offer_count; k++)
            count += p->offers[k].service == service;
    }
    return count > 1;
}

static void note_describer(struct srcdist_core *core, uint32_t service, uint32_t provider)
{
    struct srcdist_service *s = &core->services[service];
    struct srcdist_party party = srcdist_party(&core->providers[provider]);

    s->describer = provider;
    s->describer_serial = core->providers[provider].serial;
    snprintf(s->holder, sizeof(s->holder), "%.*s", (int)sizeof(s->holder) - 1, party.text);
}

static void refuse_description(struct srcdist_core *core, uint32_t service, uint32_t provider)
{
    core->stats.descriptions_refused++;
    srcdist_tell_rarely(core, SRCDIST_TALE_DESCRIPTION,
                        "service %s: the description of provider %s is refused: it is not that of "
                        "%s",
                        core->services[service].name,
                        srcdist_party(&core->providers[provider]).text,
                        core->services[service].holder);
}

void srcdist_service_describe(struct srcdist_core *core, uint32_t service, uint32_t provider,
                              const struct omm_service *info)
{
    struct srcdist_service *s = &core->services[service];

    if (!may_describe(core, service, provider)) {
        const struct srcdist_provider *before = describer_of(core, service);
        /* One of a better rank has its turn when it can be used. */
        if (core->providers[provider].rank >= before->rank &&
            !(s->text && is_alike(&s->info, info)))
            refuse_description(core, service, provider);
        return;
    }
    note_describer(core, service, provider);
    if (srcdist_service_is_described(core, service, info))
        return;
    size_t text_size = srcdist_description_size(info);
    uint8_t *text = malloc(text_size + 1);
    if (!text)
        return;
    /* Consumers know it by its number: who of several describes it does not change that. */
    uint16_t id = s->text && s->info.id && is_shared(core, service) ? s->info.id : info->id;
    free(s->text);
    s->text = text;
    s->text_length = text_size;
    s->info = srcdist_description_copy(info, text);
    s->info.id = id;
    s->info.name = rwf_text(s->name);
}

/* `p` comes before `other` where the description of one of them is taken. */
static bool goes_before(const struct srcdist_provider *p, const struct srcdist_provider *other,
                        uint32_t service)
{
    bool is_usable = has_service_up(p, service, false);

    if (is_usable != has_service_up(other, service, false))
        return is_usable;
    return p->rank < other->rank || (p->rank == other->rank && p->serial < other->serial);
}

/* The provider that goes before the others that offer the service, and whose description is kept.
 */
static struct srcdist_offer *next_describer(struct srcdist_core *core, uint32_t service,
                                            uint32_t *provider)
{
    struct srcdist_offer *best = NULL;

    for (uint32_t i = 0; i < core->provider_room; i++) {
        struct srcdist_provider *p = &core->providers[i];
        struct srcdist_offer *offer =
            p->is_used && !p->must_go ? srcdist_provider_offer(p, (uint16_t)service) : NULL;

        if (!offer || !offer->description ||
            (best && !goes_before(p, &core->providers[*provider], service)))
            continue;
        best = offer;
        *provider = i;
    }
    return best;
}

void srcdist_service_describe_anew(struct srcdist_core *core, uint32_t service)
{
    uint32_t provider;
    const struct srcdist_offer *offer = next_describer(core, service, &provider);

    if (!offer || !may_describe(core, service, provider))
        return;
    struct omm_service info = offer->description->info;
    if (core->services[service].text)
        info.id = core->services[service].info.id; /* consumers know the service by it */
    srcdist_service_describe(core, service, provider, &info);
}

static size_t put_text(uint8_t *out, struct rwf_bytes text)
{
    size_t length = text.length > 255 ? 255 : text.length;

    out[0] = (uint8_t)length;
    memcpy(out + 1, text.data, length);
    return length + 1;
}

static void put_used(struct md_wr *wr, uint16_t *count, const struct omm_service *info)
{
    uint8_t bytes[256];

    for (unsigned i = 0; i < info->used_count; i++) {
        rrmp_tlv_put(wr, RRMP_TLV_DICT_USED, bytes, put_text(bytes, info->used[i]));
        (*count)++;
    }
}

/* Announces only dictionaries that the provider lists and src_dist has. */
static void put_provided(struct srcdist_core *core, struct md_wr *wr, uint16_t *count,
                         const struct srcdist_service *s)
{
    uint8_t bytes[512];

    for (unsigned i = 0; s->config.takes_dictionaries && i < s->info.provided_count; i++) {
        const char *version = srcdist_dictionary_version(core, s->info.provided[i]);
        if (!version)
            continue;
        size_t length = put_text(bytes, s->info.provided[i]);
        length += put_text(bytes + length, rwf_text(version));
        rrmp_tlv_put(wr, RRMP_TLV_DICT_PROVIDED, bytes, length);
        (*count)++;
    }
}

/* ---- what only consumers read ---- */

static void forget_said(struct srcdist_said *said)
{
    free(said->bytes);
    *said = (struct srcdist_said){ .bytes = NULL };
}

static void keep_said(struct srcdist_said *said, uint32_t provider, struct rwf_bytes bytes)
{
    uint8_t *copy = bytes.length <= SRCDIST_SAID_MAX ? malloc(bytes.length + 1) : NULL;

    forget_said(said);
    if (!copy || bytes.length == 0) {
        free(copy);
        return;
    }
    memcpy(copy, bytes.data, bytes.length);
    *said = (struct srcdist_said){ copy, bytes.length, provider };
}

void srcdist_service_say(struct srcdist_core *core, uint32_t service, uint32_t provider,
                         const struct omm_service *said)
{
    if (said->filters & OMM_FILTER_LOAD)
        keep_said(&core->services[service].load, provider, said->load);
    if (said->filters & OMM_FILTER_LINK)
        keep_said(&core->services[service].links, provider, said->links);
}

void srcdist_service_unsay(struct srcdist_core *core, uint32_t service, uint32_t provider)
{
    struct srcdist_service *s = &core->services[service];

    if (s->load.provider == provider)
        forget_said(&s->load);
    if (s->links.provider == provider)
        forget_said(&s->links);
}

static void free_texts(struct srcdist_service *s)
{
    free(s->text);
    forget_said(&s->load);
    forget_said(&s->links);
}

void srcdist_service_give(struct srcdist_core *core, uint32_t service)
{
    struct srcdist_service *s = &core->services[service];

    MD_ASSERT(!s->is_up && !s->is_offered && s->active_count == 0);
    srcdist_delay_leave(core, service);
    free_texts(s);
    *s = (struct srcdist_service){ .is_used = false };
    core->stats.services_now--;
}

void srcdist_services_destroy(struct srcdist_core *core)
{
    for (uint32_t i = 0; i < SRCDIST_SERVICES; i++)
        free_texts(&core->services[i]);
}

static void put_said(struct md_wr *wr, uint16_t *count, uint8_t type,
                     const struct srcdist_said *said)
{
    if (said->length == 0)
        return;
    rrmp_tlv_put(wr, type, said->bytes, said->length);
    (*count)++;
}

/* The description's variable part. */
static struct rrmp_view tlvs_of(struct srcdist_core *core, const struct srcdist_service *s,
                                uint8_t *out, size_t size, uint16_t *count)
{
    struct md_wr wr = md_wr_init(out, size);
    const struct omm_service *info = &s->info;
    uint8_t qos[OMM_QOS_MAX * 5];
    uint8_t is_source = info->is_source;
    struct rwf_bytes vendor = s->config.vendor ? rwf_text(s->config.vendor) : info->vendor;

    *count = 2;
    if (info->capability_count == 0 && s->config.data_type)
        rrmp_tlv_put(&wr, RRMP_TLV_CAPABILITIES, &s->config.data_type, 1);
    else
        rrmp_tlv_put(&wr, RRMP_TLV_CAPABILITIES, info->capabilities, info->capability_count);
    rrmp_tlv_put(&wr, RRMP_TLV_IS_SOURCE, &is_source, 1);
    for (unsigned i = 0; i < info->qos_count; i++)
        itemkey_qos_pack(&info->qos[i], qos + (size_t)i * 5);
    if (info->qos_count) {
        rrmp_tlv_put(&wr, RRMP_TLV_QOS, qos, (size_t)info->qos_count * 5);
        (*count)++;
    }
    put_provided(core, &wr, count, s);
    put_used(&wr, count, info);
    if (vendor.length) {
        rrmp_tlv_put(&wr, RRMP_TLV_VENDOR, vendor.data, vendor.length);
        (*count)++;
    }
    if (info->item_list.length) {
        rrmp_tlv_put(&wr, RRMP_TLV_ITEM_LIST, info->item_list.data, info->item_list.length);
        (*count)++;
    }
    put_said(&wr, count, RRMP_TLV_LOAD, &s->load);
    put_said(&wr, count, RRMP_TLV_LINKS, &s->links);
    *count = (uint16_t)(*count + srcdist_uplink_put_paths(core, &wr, info));
    if (!md_wr_ok(&wr))
        *count = 0;
    return (struct rrmp_view){ out, md_wr_ok(&wr) ? md_wr_length(&wr) : 0 };
}

static bool any_post_support(const struct srcdist_core *core, uint32_t service)
{
    uint32_t provider = srcdist_service_provider(core, service);

    return provider != SRCDIST_NONE && core->providers[provider].supports_post;
}

bool srcdist_service_in_grace(const struct srcdist_core *core, uint32_t service)
{
    for (uint32_t i = 0; i < core->provider_room; i++) {
        const struct srcdist_provider *p = &core->providers[i];

        if (!p->is_used || p->kind != SRCDIST_NON_INTERACTIVE || core->now_ns >= p->grace_until_ns)
            continue;
        for (uint32_t k = 0; k < p->offer_count; k++) {
            if (p->offers[k].service == service)
                return true;
        }
    }
    return false;
}

bool srcdist_service_is_complete(const struct srcdist_core *core, uint32_t service)
{
    const struct srcdist_service *s = &core->services[service];

    return s->is_broadcast && !s->config.is_delayed && s->is_up &&
           !srcdist_service_in_grace(core, service);
}

void srcdist_service_announce(struct srcdist_core *core, uint32_t service)
{
    struct srcdist_service *s = &core->services[service];
    uint8_t *tlv_bytes = core->scratch;

    s->is_complete = srcdist_service_is_complete(core, service);
    bool is_id_told = s->config.id == 0 && s->info.id != 0;
    struct rrmp_service description = {
        .id = is_id_told ? s->info.id : s->config.id,
        .state = (uint8_t)((s->is_up ? RRMP_SERVICE_UP | RRMP_SERVICE_ACCEPTING : 0) |
                           (s->is_complete ? RRMP_SERVICE_COMPLETE : 0)),
        .priority = s->config.priority,
        /* A delayed service is asked: requests say which live items are to be kept open. */
        .kind = s->is_broadcast && !s->config.is_delayed,
        .image_from = s->config.cache_location == SRCDIST_CACHE_SRC_DIST,
        .load_factor = s->config.load_factor,
        .open_window = s->config.open_window,
        .features = RRMP_FEATURE_GENERIC | RRMP_FEATURE_SNAPSHOTS |
                    (any_post_support(core, service) ? RRMP_FEATURE_POSTS : 0) |
                    (s->is_broadcast ? 0 : RRMP_FEATURE_PRIVATE) |
                    (s->config.mirror_sequence ? RRMP_FEATURE_MIRROR_SEQ : 0) |
                    (s->config.mirror_hot ? RRMP_FEATURE_HOT_STANDBY : 0) |
                    (is_id_told ? RRMP_FEATURE_ID_IS_TOLD : 0),
        .name = srcdist_view(rwf_text(s->name)),
    };

    if (s->config.mirror_group)
        description.mirror_group = srcdist_view(rwf_text(s->config.mirror_group));
    description.tlvs = tlvs_of(core, s, tlv_bytes, sizeof(core->scratch), &description.tlv_count);
    if (s->is_offered) {
        rrmp_source_service_change(core->source, core->now_ns, s->svc, &description);
        return;
    }
    if (!s->text || (s->info.capability_count == 0 && s->config.data_type == 0))
        return; /* no INFO yet */
    if (is_invented(s) &&
        rrmp_source_services_free(core->source, core->now_ns) <= core->config.source.service_limit)
        return; /* indexes are kept for routes, until those that were withdrawn have rested */
    if (rrmp_source_service_offer(core->source, core->now_ns, &description, &s->svc) == MD_OK)
        s->is_offered = true;
    if (s->is_offered)
        rrmp_source_service_linger(core->source, s->svc, &s->config.linger);
}

void srcdist_service_status(struct srcdist_core *core, uint32_t service,
                            const struct rwf_state *state, bool stays)
{
    struct srcdist_service *s = &core->services[service];
    /* Its last provider may just be going: p2ps look for another source at once. */
    bool is_up = s->is_up && (!s->config.mirror_sequence ||
                              srcdist_service_provider(core, service) != SRCDIST_NONE);
    struct rrmp_svcstate status = {
        .state = rwf_state_byte(state->stream_state, state->data_state),
        .code = state->code,
        .service_state = is_up ? RRMP_SERVICE_UP | RRMP_SERVICE_ACCEPTING : 0,
        .has_status = 1,
        .stays = stays,
        .text = srcdist_view(state->text),
    };

    if (s->is_offered)
        rrmp_source_service_status(core->source, s->svc, &status);
}

bool srcdist_service_info(const struct srcdist_core *core, uint32_t service,
                          struct srcdist_service_info *out)
{
    *out = (struct srcdist_service_info){ 0 };
    if (service >= SRCDIST_SERVICES)
        return false;
    const struct srcdist_service *s = &core->services[service];
    *out = (struct srcdist_service_info){ .is_used = s->is_used,
                                          .name = s->name,
                                          .id = s->info.id,
                                          .is_up = s->is_up,
                                          .state = s->is_up ? "up" : "down",
                                          .is_broadcast = s->is_broadcast,
                                          .active = s->active_count,
                                          .pending = s->pending_count,
                                          .load = s->config.load_factor,
                                          .updates = s->updates };
    return true;
}
