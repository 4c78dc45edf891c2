/* services.c - see services.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "services.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

static bool is_listed(const struct md_conf_object *daemon, struct rwf_bytes name)
{
    char listed[256];
    size_t i = 0;

    for (; md_conf_list(daemon, "serviceList", i, listed, sizeof(listed)); i++) {
        if (rwf_bytes_equal(rwf_text(listed), name))
            return true;
    }
    return i == 0; /* no list: all of them */
}

/* A service that the configuration puts on another network is not offered on this one. */
static bool is_elsewhere(const struct network *network, const struct md_conf_object *service)
{
    const char *name = md_conf_string(service, "network");

    return name[0] && strcmp(name, network->settings->network) != 0;
}

/* Services share the outbound ring of their loop, so the one that may wait least decides. */
void src_dist_choose_flush_interval(struct network *network)
{
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; i < network->service_count; i++) {
        struct md_conf_object service =
            md_conf_object(network->sd->live_conf, MD_CONF_SERVICE, network->services[i]);
        uint64_t interval_ns = md_conf_time_ns(&service, "rrmpFlushInterval");
        if (interval_ns < least)
            least = interval_ns;
    }
    route_loop_flush_interval_set(network->loop, least == UINT64_MAX ? 0 : least);
}

static unsigned find_service(const struct network *network, const char *name)
{
    unsigned i = 0;

    while (i < network->service_count && strcmp(network->services[i], name) != 0)
        i++;
    return i;
}

void src_dist_service_news(void *owner, const char *name, bool is_known)
{
    struct network *network = owner;

    pthread_mutex_lock(&network->sd->lock);
    unsigned at = find_service(network, name);
    bool is_there = at < network->service_count;
    if (is_known && !is_there && at < SERVICES_MAX)
        snprintf(network->services[network->service_count++], sizeof(network->services[0]), "%s",
                 name);
    else if (!is_known && is_there && at < --network->service_count)
        memcpy(network->services[at], network->services[network->service_count],
               sizeof(network->services[0]));
    src_dist_choose_flush_interval(network);
    pthread_mutex_unlock(&network->sd->lock);
    if (is_known)
        md_log(MD_LOG_NOTICE, "service %s is known now", name);
}

struct named {
    const char *name;
    bool is_it;
};

static void on_service(void *arg, const char *name)
{
    struct named *named = arg;

    named->is_it |= strcmp(named->name, name) == 0;
}

/* serviceList has its name, or a line is about it. */
static bool is_configured(const struct src_dist *sd, const struct md_conf_object *daemon,
                          struct rwf_bytes name, const char *text)
{
    struct named named = { .name = text };

    md_conf_names(sd->conf, MD_CONF_SERVICE, on_service, &named);
    return named.is_it || (md_conf_string(daemon, "serviceList")[0] && is_listed(daemon, name));
}

/* The core takes 0 for its own default; the parameter means at once by it. */
static uint64_t wait_ns(const struct md_conf_object *object, const char *param)
{
    uint64_t time_ns = md_conf_time_ns(object, param);

    return time_ns ? time_ns : 1;
}

#define DETECTION_NS 3500000000ull /* a source that hangs is noticed after up to this */
#define MARGIN_NS    2000000000ull

static void check_mirror(const char *service, const struct srcdist_service_config *config,
                         const struct md_conf_object *daemon)
{
    if (!config->mirror_sequence)
        return;
    if (!config->mirror_group || !config->mirror_hot)
        md_log(MD_LOG_WARNING,
               "service %s: mirrorSequence does nothing without mirrorGroup and mirrorMode hot",
               service);
    if (md_conf_time_ns(daemon, "replayTime") < DETECTION_NS + MARGIN_NS)
        md_log(MD_LOG_WARNING,
               "service %s: replayTime is below 5.5 s, and a source that hangs is noticed after up "
               "to 3.5 s: such a switch may need images",
               service);
}

struct srcdist_service_config src_dist_service_config(void *owner, struct rwf_bytes name)
{
    static const enum srcdist_cache_location locations[] = {
        SRCDIST_CACHE_SRC_APP,
        SRCDIST_CACHE_SRC_DIST,
        SRCDIST_CACHE_NONE,
    };
    struct network *network = owner;
    const struct src_dist *sd = network->sd;
    char text[256];

    snprintf(text, sizeof(text), "%.*s", (int)name.length, (const char *)name.data);
    struct md_conf_object service = md_conf_object(sd->conf, MD_CONF_SERVICE, text);
    struct md_conf_object daemon = md_conf_object(sd->conf, MD_CONF_DAEMON, NULL);
    const char *vendor = md_conf_string(&service, "vendor");
    const char *mirror_group = md_conf_string(&service, "mirrorGroup");
    bool is_delayed = delays_have_name(sd->delays, text);
    struct srcdist_service_config config = {
        .is_refused = !is_listed(&daemon, name) || is_elsewhere(network, &service),
        .is_configured = is_configured(sd, &daemon, name, text) ||
                         delays_have_name(sd->delays, text),
        .id = (uint16_t)md_conf_u64(&service, "serviceId"),
        .data_type = (uint8_t)md_conf_u64(&service, "dataType"),
        .cache_location = locations[md_conf_word(&service, "cacheLocation")],
        .priority = (uint8_t)md_conf_u64(&service, "sourcePriority"),
        .load_factor = (uint16_t)md_conf_u64(&service, "loadFactor"),
        .linger = {
            .close_ns = wait_ns(&service, "closeLinger"),
            .orphan_ns = wait_ns(&service, "orphanLinger"),
            .image_ns = wait_ns(&service, "imageLinger"),
        },
        .takes_dictionaries = md_conf_bool(&service, "dictionaryDownload"),
        .vendor = vendor[0] ? vendor : NULL,
        .mirror_group = mirror_group[0] ? mirror_group : NULL,
        .mirror_hot = md_conf_word(&service, "mirrorMode") == 1,
        .mirror_sequence = md_conf_bool(&service, "mirrorSequence"),
        .is_delayed = is_delayed,
        .delayed = is_delayed ? NULL : delays_of(sd->delays, text, network->index),
    };

    check_mirror(text, &config, &daemon);
    if (config.is_refused)
        md_log(
            MD_LOG_WARNING,
            "service %s is not offered: serviceList is \"%s\", and its own network is %s, here is "
            "%s; add it to serviceList, or give it to this network",
            text, md_conf_string(&daemon, "serviceList"),
            md_conf_string(&service, "network")[0] ? md_conf_string(&service, "network") : "any",
            network->settings->network);
    return config;
}
