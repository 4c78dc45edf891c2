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
#include "say.h"

#define FIELDS           "RWFFld"
#define ENUMERATIONS     "RWFEnum"
#define DICTIONARIES_MAX (32ull << 20)
#define BEGIN_NS         (2 * MD_NS_PER_S) /* without a service that has one */
#define PAUSE_MIN_NS     (10 * MD_NS_PER_S)
#define PAUSE_MAX_NS     (600 * MD_NS_PER_S)

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

    if (tap->has_begun)
        return;
    tap->has_begun = true;
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

/* The next one is asked at once, until each one has failed; then all of them again, later. */
static void no_dictionary(struct tap *tap)
{
    struct feed *feed = tap->feed;
    uint64_t pause = 0;

    rwf_dictionary_destroy(feed->dictionary);
    feed->dictionary = NULL;
    tap->dictionary = DICTIONARY_WANTED;
    if (tap->provider_next >= tap->provider_count) {
        pause = tap->dictionary_pause;
        tap->provider_next = 0;
        tap->dictionary_pause = 2 * pause < PAUSE_MAX_NS ? 2 * pause : PAUSE_MAX_NS;
    }
    tap->dictionary_ns = tap->dictionary_left > 0 ? md_clock_mono_ns() + pause : MD_NEVER;
    rec_say(MD_LOG_WARNING,
            "no dictionary from %s%s; without one images have no ripples and no partial "
            "updates",
            tap->dictionary_service, tap->dictionary_left > 0 ? "" : ", which is too long");
    begin_items(tap);
}

static void dictionary_is_whole(struct tap *tap)
{
    struct feed *feed = tap->feed;

    tap->dictionary = DICTIONARY_DONE;
    feed->has_dictionary = true;
    if (cache_ripples_create(&feed->ripples) == MD_OK) {
        cache_ripples_learn(feed->ripples, feed->dictionary);
        rec_keeper_rules_set(feed->keeper, feed->ripples);
    }
    begin_items(tap);
}

static void put_dictionary(struct tap *tap, const char *name, struct rwf_bytes bytes)
{
    struct rmds_service info = { .size = sizeof(info) };
    struct rec_key key = { .domain = RWF_DOMAIN_DICTIONARY,
                           .service = rwf_text(tap->dictionary_service),
                           .name = rwf_text(name) };

    if (rmds_backbone_service(tap->backbone, tap->dictionary_service, &info) == MD_OK)
        key.service_id = info.id;
    tap->feed->now =
        (struct rec_moment){ .mono_ns = md_clock_mono_ns(), .wall_ns = md_clock_wall_ns() };
    feed_record(tap->feed, &key, bytes);
}

/* False: it is of no use. One that begins anew has the fields of before in it no more; enumerations
 * that begin anew would be added to what is there. */
static bool learn(struct tap *tap, const struct rmds_dictionary_event *event, bool is_fields)
{
    struct feed *feed = tap->feed;

    if (event->is_missing || event->bytes.length > tap->dictionary_left)
        return false;
    tap->dictionary_left -= event->bytes.length;
    if (event->is_first && tap->parts > 0) {
        rwf_dictionary_destroy(feed->dictionary);
        feed->dictionary = NULL;
        if (!is_fields || rwf_dictionary_create(&feed->dictionary) != MD_OK)
            return false;
        tap->parts = 0;
    }
    tap->parts++;
    return rwf_dictionary_decode(feed->dictionary, event->message->payload) == RWF_OK;
}

static void take_dictionary(struct tap *tap, const char *name,
                            const struct rmds_dictionary_event *event, rmds_dictionary_fn *then)
{
    bool is_over = event->is_last || event->is_missing;

    if (tap->feed->dictionary && !learn(tap, event, then != NULL)) {
        rwf_dictionary_destroy(tap->feed->dictionary);
        tap->feed->dictionary = NULL;
    }
    if (!tap->feed->dictionary) { /* its rest comes before another one is asked for */
        if (is_over)
            no_dictionary(tap);
        return;
    }
    put_dictionary(tap, name, event->bytes);
    if (!event->is_last)
        return;
    tap->parts = 0;
    if (!then)
        dictionary_is_whole(tap);
    else if (rmds_backbone_dictionary(tap->backbone, tap->dictionary_service, ENUMERATIONS,
                                      RWF_DICTIONARY_NORMAL, then, tap) != MD_OK)
        no_dictionary(tap);
}

static void on_enums(const struct rmds_dictionary_event *event)
{
    take_dictionary(event->user, ENUMERATIONS, event, NULL);
}

static void on_fields(const struct rmds_dictionary_event *event)
{
    take_dictionary(event->user, FIELDS, event, on_enums);
}

static void ask_dictionary(struct tap *tap)
{
    struct feed *feed = tap->feed;

    snprintf(tap->dictionary_service, sizeof(tap->dictionary_service), "%s",
             tap->providers[tap->provider_next++]);
    tap->dictionary = DICTIONARY_ASKED;
    tap->dictionary_ns = MD_NEVER;
    tap->parts = 0;
    if (rwf_dictionary_create(&feed->dictionary) != MD_OK ||
        rmds_backbone_dictionary(tap->backbone, tap->dictionary_service, FIELDS,
                                 RWF_DICTIONARY_NORMAL, on_fields, tap) != MD_OK)
        no_dictionary(tap);
}

/* A service that is up, and has a dictionary. Those above the limit are not asked. */
static void enter_provider(struct tap *tap, const char *name, const struct rmds_service *info)
{
    bool provides = false;

    for (unsigned i = 0; i < info->provided_count; i++)
        provides = provides || (info->provided[i].length == strlen(FIELDS) &&
                                memcmp(info->provided[i].data, FIELDS, strlen(FIELDS)) == 0);
    for (uint32_t i = 0; i < tap->provider_count; i++)
        provides = provides && strcmp(tap->providers[i], name) != 0;
    if (!provides || tap->provider_count == TAP_PROVIDERS)
        return;
    snprintf(tap->providers[tap->provider_count++], sizeof(tap->providers[0]), "%s", name);
    if (tap->dictionary == DICTIONARY_WANTED && tap->dictionary_left > 0) {
        tap->provider_next = tap->provider_count - 1;
        ask_dictionary(tap);
    }
}

void tap_setup_init(struct tap *tap)
{
    tap->begin_ns = tap->dictionary_ns = MD_NEVER;
    tap->dictionary_pause = PAUSE_MIN_NS;
    tap->dictionary_left = DICTIONARIES_MAX;
}

void tap_setup_tick(struct tap *tap, uint64_t now_ns)
{
    if (tap->dictionary == DICTIONARY_WANTED && now_ns >= tap->dictionary_ns)
        ask_dictionary(tap);
    if (now_ns >= tap->begin_ns && tap->dictionary == DICTIONARY_WANTED)
        begin_items(tap);
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
    if (is_up && tap->begin_ns == MD_NEVER)
        tap->begin_ns = feed->now.mono_ns + BEGIN_NS;
    if (is_up)
        enter_provider(tap, name, &info);
    if (is_new && tap->has_begun && !tap->config.follows)
        tap->open_list(tap, service);
}
