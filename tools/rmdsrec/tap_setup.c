/* tap_setup.c - what comes before the items: services, written as a source directory, and the
 * dictionaries that their fields are of. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap_setup.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "omm/directory.h"
#include "rmds/rwf_dictionary.h"

/* ---- the directory ---- */

static struct omm_service describe(const char *name, const struct rmds_service *info)
{
    struct omm_service service = {
        .id = info->id,
        .action = RWF_MAP_ADD,
        .filters = OMM_FILTER_INFO | OMM_FILTER_STATE,
        .name = rwf_text(name),
        .vendor = info->vendor,
        .item_list = info->item_list,
        .is_source = info->is_source,
        .is_up = info->is_up,
        .is_accepting = info->is_accepting,
        .capability_count = info->capability_count,
        .qos_count = info->qos_count,
        .provided_count = info->provided_count,
        .used_count = info->used_count,
    };

    memcpy(service.capabilities, info->capabilities, sizeof(service.capabilities));
    memcpy(service.qos, info->qos, sizeof(service.qos));
    memcpy(service.provided, info->provided, sizeof(service.provided));
    memcpy(service.used, info->used, sizeof(service.used));
    return service;
}

/* One service as p2ps would show it: the first one in a refresh, all further ones in updates. */
static void put_service(struct tap *tap, const char *name, const struct rmds_service *info)
{
    const struct rec_key key = { .domain = RWF_DOMAIN_SOURCE };
    const struct omm_service service = describe(name, info);
    const struct omm_directory_head head = {
        .stream_id = OMM_DIRECTORY_STREAM,
        .is_update = tap->has_directory,
        .is_first = true,
        .is_complete = true,
        .is_streaming = true,
        .filter = service.filters,
    };
    struct feed *feed = tap->feed;
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, feed->message, sizeof(feed->message));
    omm_directory_encode_start(&enc, &head);
    omm_directory_encode_service(&enc, &service);
    omm_directory_encode_finish(&enc);
    if (rwf_encoder_error(&enc) != RWF_OK) {
        feed->stats.errors++;
        return;
    }
    feed_record(feed, &key, rwf_encoder_bytes(&enc));
    tap->has_directory = true;
}

/* ---- the dictionary ---- */

static void begin_items(struct tap *tap)
{
    struct feed *feed = tap->feed;
    int err = MD_OK;

    tap->dictionary = DICTIONARY_DONE;
    if (tap->config.follows && feed->service_count == 0)
        err = rmds_backbone_follow(tap->backbone, NULL);
    for (size_t i = 0; i < feed->service_count && err == MD_OK; i++) {
        if (tap->config.follows)
            err = rmds_backbone_follow(tap->backbone, feed->services[i].name);
        else if (feed->services[i].is_known)
            tap->open_list(tap, &feed->services[i]);
    }
    feed->stats.errors += err != MD_OK;
}

static void no_dictionary(struct tap *tap)
{
    struct feed *feed = tap->feed;

    fprintf(stderr,
            PROGRAM ": %s has no dictionary; images have no ripples and no partial updates\n",
            tap->dictionary_service);
    rwf_dictionary_destroy(feed->dictionary);
    feed->dictionary = NULL;
    begin_items(tap);
}

static void dictionary_is_whole(struct tap *tap)
{
    struct feed *feed = tap->feed;

    feed->has_dictionary = true;
    if (cache_ripples_create(&feed->ripples) == MD_OK) {
        cache_ripples_learn(feed->ripples, feed->dictionary);
        rec_keeper_rules_set(feed->keeper, feed->ripples);
    }
    begin_items(tap);
}

static void take_dictionary(struct tap *tap, const char *name,
                            const struct rmds_dictionary_event *event, rmds_dictionary_fn *then)
{
    struct feed *feed = tap->feed;
    struct rmds_service info = { .size = sizeof(info) };
    struct rec_key key = { .domain = RWF_DOMAIN_DICTIONARY,
                           .service = rwf_text(tap->dictionary_service),
                           .name = rwf_text(name) };

    if (!feed->dictionary)
        return; /* given up */
    if (rmds_backbone_service(tap->backbone, tap->dictionary_service, &info) == MD_OK)
        key.service_id = info.id;
    if (!event->is_missing) {
        feed->now =
            (struct rec_moment){ .mono_ns = md_clock_mono_ns(), .wall_ns = md_clock_wall_ns() };
        feed_record(feed, &key, event->bytes);
    }
    if (event->is_missing ||
        rwf_dictionary_decode(feed->dictionary, event->message->payload) != RWF_OK) {
        no_dictionary(tap);
        return;
    }
    if (!event->is_last)
        return;
    if (!then)
        dictionary_is_whole(tap);
    else if (rmds_backbone_dictionary(tap->backbone, tap->dictionary_service, "RWFEnum",
                                      RWF_DICTIONARY_NORMAL, then, tap) != MD_OK)
        no_dictionary(tap);
}

static void on_enums(const struct rmds_dictionary_event *event)
{
    take_dictionary(event->user, "RWFEnum", event, NULL);
}

static void on_fields(const struct rmds_dictionary_event *event)
{
    take_dictionary(event->user, "RWFFld", event, on_enums);
}

static void ask_dictionary(struct tap *tap, const char *service)
{
    struct feed *feed = tap->feed;

    snprintf(tap->dictionary_service, sizeof(tap->dictionary_service), "%s", service);
    tap->dictionary = DICTIONARY_ASKED;
    if (rwf_dictionary_create(&feed->dictionary) != MD_OK ||
        rmds_backbone_dictionary(tap->backbone, service, "RWFFld", RWF_DICTIONARY_NORMAL, on_fields,
                                 tap) != MD_OK)
        no_dictionary(tap);
}

/* ---- services ---- */

/* One of the feed's; NULL: not one that was named. */
static struct feed_service *named(struct feed *feed, const char *name)
{
    for (size_t i = 0; i < feed->service_count; i++) {
        if (strcmp(feed->services[i].name, name) == 0)
            return &feed->services[i];
    }
    return NULL;
}

void tap_on_service(void *owner, const char *name, bool is_up)
{
    struct tap *tap = owner;
    struct feed *feed = tap->feed;
    struct feed_service *service = named(feed, name);
    struct rmds_service info = { .size = sizeof(info) };

    if ((!service && feed->service_count > 0) ||
        rmds_backbone_service(tap->backbone, name, &info) != MD_OK)
        return;
    feed->now = (struct rec_moment){ .mono_ns = md_clock_mono_ns(), .wall_ns = md_clock_wall_ns() };
    put_service(tap, name, &info);
    bool is_new = service && !service->is_known;
    if (service) {
        service->is_known = true;
        service->id = info.id;
    }
    if (is_up && tap->dictionary == DICTIONARY_WANTED)
        ask_dictionary(tap, name);
    else if (is_new && tap->dictionary == DICTIONARY_DONE && !tap->config.follows)
        tap->open_list(tap, service);
}
