/* directory.c - what providers offer. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "directory.h"

#include "access.h"
#include "base/err.h"
#include "delayed.h"
#include "description.h"
#include "dictionary.h"
#include "groups.h"
#include "offer.h"
#include "provider.h"
#include "recovery.h"
#include "service.h"
#include "service_state.h"
#include "uplink.h"
#include "upstream.h"

void srcdist_directory_ask(struct srcdist_core *core, uint32_t provider)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    struct rwf_encoder enc;
    struct omm_directory_request request = {
        .stream_id = OMM_DIRECTORY_STREAM,
        .is_streaming = true,
        .filter = 0x3F, /* real providers want INFO and STATE, and give what they have */
    };

    p->directory_stream = OMM_DIRECTORY_STREAM;
    srcdist_encoder(core, &enc);
    omm_directory_request_encode(&enc, &request);
    srcdist_provider_send(core, provider, &enc);
}

/* ---- one service of one provider ---- */

static struct srcdist_offer *offer_by_id(struct srcdist_provider *p, uint16_t provider_id)
{
    for (uint32_t i = 0; i < p->offer_count; i++) {
        if (p->offers[i].provider_id == provider_id)
            return &p->offers[i];
    }
    return NULL;
}

static void apply_load(struct srcdist_core *core, uint32_t provider, struct srcdist_offer *offer,
                       const struct omm_service *service)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);

    if (service->has_open_limit)
        offer->open_limit = service->open_limit;

    if (service->has_open_window)
        p->open_window =
            service->open_window > UINT32_MAX ? UINT32_MAX : (uint32_t)service->open_window;
    srcdist_items_pump(core, provider);
}

static void apply_state(struct srcdist_core *core, uint32_t provider, struct srcdist_offer *offer,
                        const struct omm_service *service)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    bool was_usable = offer->is_up && offer->is_accepting;

    offer->is_up = service->is_up;
    /* A non-interactive provider cannot be asked: requests are answered from its images. */
    offer->is_accepting = p->kind == SRCDIST_NON_INTERACTIVE || service->is_accepting;
    bool is_usable = offer->is_up && offer->is_accepting;
    if (was_usable != is_usable)
        srcdist_service_describe_anew(core, offer->service);
    if (was_usable && !is_usable) {
        srcdist_walk_charge(core, p);
        srcdist_items_orphaned(core, provider, offer->service);
    }
}

static void tell_status(struct srcdist_core *core, uint32_t provider, uint32_t service,
                        const struct rwf_state *status)
{
    if (srcdist_state_ends_streams(status))
        srcdist_items_tell_end(core, provider, service, status);
    else
        srcdist_service_status(core, service, status, false);
    srcdist_delay_states(core, provider, service, status);
}

static int apply_service(struct srcdist_core *core, uint32_t provider,
                         struct omm_directory *directory, struct omm_service *service)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    struct srcdist_offer *offer = offer_by_id(p, service->id);

    if (service->action == RWF_MAP_DELETE) {
        if (!offer)
            return MD_OK;
        srcdist_walk_charge(core, p);
        srcdist_offer_remove(core, provider, offer);
        return MD_OK;
    }
    if (service->filters & OMM_FILTER_INFO && !srcdist_uplink_admits(core, provider, service)) {
        if (offer)
            srcdist_offer_remove(core, provider, offer);
        return MD_OK;
    }
    if (!offer && service->filters & OMM_FILTER_INFO)
        offer = srcdist_offer_add(core, provider, service);
    if (!offer)
        return MD_OK; /* not one of ours */
    if (service->filters & OMM_FILTER_INFO) {
        srcdist_description_keep(offer, service);
        offer->accepts_status = service->accepting_consumer_status;
        offer->counts_snapshots = !service->supports_out_of_band_snapshots;
    }
    if (service->filters & OMM_FILTER_STATE)
        apply_state(core, provider, offer, service);
    if (service->filters & OMM_FILTER_INFO)
        srcdist_service_describe(core, offer->service, provider, service);
    if (service->filters & OMM_FILTER_LOAD)
        apply_load(core, provider, offer, service);
    uint32_t index = offer->service;
    if (service->has_status)
        srcdist_walk_charge(core, p);
    srcdist_service_say(core, index, provider, service);
    if (p->state == SRCDIST_PROVIDER_READY)
        srcdist_service_refresh_state(core, index);
    if (service->has_status)
        tell_status(core, provider, index, &service->status);
    if (service->has_status && srcdist_state_ends_streams(&service->status))
        srcdist_items_cut(core, provider, index);
    if (service->has_status && service->status.data_state != RWF_DATA_OK)
        offer->was_suspect = true;
    srcdist_groups_apply(core, provider, offer, directory);
    return MD_OK;
}

/* A refresh with CLEAR_CACHE is complete: a service that it does not name is gone. */
static void forget_unnamed(struct srcdist_core *core, uint32_t provider, const uint64_t named[])
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);

    for (uint32_t i = 0; i < p->offer_count;) {
        uint16_t id = p->offers[i].provider_id;

        if (named[id / 64] >> (id % 64) & 1)
            i++;
        else
            srcdist_offer_remove(core, provider, &p->offers[i]); /* the last one takes its place */
    }
}

int srcdist_directory_message(struct srcdist_core *core, uint32_t provider,
                              const struct rwf_msg *msg)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    struct omm_directory directory;
    struct omm_service service;
    uint64_t named[65536 / 64] = { 0 };
    bool is_refresh = msg->msg_class == RWF_CLASS_REFRESH;
    unsigned changes = 0;

    if (msg->msg_class == RWF_CLASS_STATUS && msg->flags & RWF_STATUS_HAS_STATE &&
        msg->state.stream_state != RWF_STREAM_OPEN) {
        srcdist_provider_drop(core, provider, "the provider closed its directory");
        return MD_OK;
    }
    if ((!is_refresh && msg->msg_class != RWF_CLASS_UPDATE) || p->state == SRCDIST_PROVIDER_LOGIN)
        return MD_OK;
    if (is_refresh && p->state == SRCDIST_PROVIDER_DIRECTORY) {
        srcdist_provider_set_state(core, provider,
                                   p->kind == SRCDIST_INTERACTIVE ? SRCDIST_PROVIDER_DICTIONARY
                                                                  : SRCDIST_PROVIDER_READY);
        p->directory_stream = msg->stream_id;
    }
    int rc = omm_directory_start(msg, &directory);
    while (rc >= 0 && (rc = omm_directory_next(&directory, &service)) > 0) {
        named[service.id / 64] |= 1ull << (service.id % 64);
        if (srcdist_changes_too_many(core, provider, ++changes))
            continue;
        apply_service(core, provider, &directory, &service);
    }
    if (rc < 0) {
        core->stats.decode_errors++;
        return MD_ERR_MALFORMED;
    }
    if (is_refresh && msg->flags & RWF_REFRESH_CLEAR_CACHE && msg->flags & RWF_REFRESH_COMPLETE)
        forget_unnamed(core, provider, named);
    if (p->kind == SRCDIST_INTERACTIVE)
        srcdist_dictionaries_ask(core, provider);
    return MD_OK;
}

void srcdist_directory_lost(struct srcdist_core *core, uint32_t provider)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);

    while (p->offer_count > 0)
        srcdist_offer_remove(core, provider, &p->offers[p->offer_count - 1]);
}
