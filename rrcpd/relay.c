/* relay.c - see relay.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "relay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "net_relay.h"

struct relay {
    struct attach_settings settings;
    struct md_conf_object object; /* of the other network */
    char process[96];
    char texts[2 * FORWARD_NAMES_MAX][256];
    struct forward_name names[2 * FORWARD_NAMES_MAX];
    size_t service_count, topic_count;
    struct net_relay *net;
};

/* Its own network. */
static struct md_conf_object network_of(const struct md_conf *conf)
{
    return md_conf_object(conf, MD_CONF_RRCP, md_conf_network(conf));
}

const char *relay_to(const struct md_conf *conf)
{
    struct md_conf_object object = network_of(conf);

    return md_conf_string(&object, "relayTo");
}

/* Returns how many, or -1: too many. */
static int read_names(struct relay *relay, const struct md_conf *conf, const char *param, size_t at)
{
    struct md_conf_object object = network_of(conf);
    char name[256];
    int count = 0;

    while (md_conf_list(&object, param, (size_t)count, name, sizeof(name))) {
        if (count == FORWARD_NAMES_MAX)
            return -1;
        snprintf(relay->texts[at], sizeof(relay->texts[at]), "%s", name);
        relay->names[at] = (struct forward_name){ relay->texts[at], strlen(relay->texts[at]) };
        at++;
        count++;
    }
    return count;
}

static int read_lists(struct relay *relay, const struct md_conf *conf, char *why, size_t why_size)
{
    int services = read_names(relay, conf, "relayServices", 0);
    int topics = services < 0 ? -1 : read_names(relay, conf, "relayTopics", (size_t)services);

    if (services < 0 || topics < 0) {
        snprintf(why, why_size, "relay%s: there are more than %d names",
                 services < 0 ? "Services" : "Topics", FORWARD_NAMES_MAX);
        return MD_ERR_RANGE;
    }
    if (services + topics == 0) {
        snprintf(why, why_size,
                 "relayServices: nothing is named; a relay forwards the services "
                 "of relayServices and the topics of relayTopics alone");
        return MD_ERR_RANGE;
    }
    relay->service_count = (size_t)services;
    relay->topic_count = (size_t)topics;
    return MD_OK;
}

struct search {
    const char *name;
    bool is_found;
};

static void look_at_name(void *arg, const char *name)
{
    struct search *search = arg;

    search->is_found |= strcmp(name, search->name) == 0;
}

/* Some line has to be about it: a wrong letter would join whoever uses the default group. */
static bool is_known(const struct md_conf *conf, const struct md_conf_object *network)
{
    struct search search = { .name = network->name };

    md_conf_names(conf, MD_CONF_RRCP, look_at_name, &search);
    return search.is_found;
}

static int check_networks(const struct md_conf *conf, const struct md_conf_object *own,
                          const struct md_conf_object *other, char *why, size_t why_size)
{
    const char *to = relay_to(conf);

    if (strcmp(to, md_conf_network(conf)) == 0)
        snprintf(why, why_size, "relayTo: %s is the network of this rrcpd itself", to);
    else if (!is_known(conf, other))
        snprintf(why, why_size,
                 "relayTo: no line is about a network %s; write its multicastAddress, or its "
                 "transport and peers, as *%s.rrcp*multicastAddress : ...",
                 to, to);
    else if (md_conf_bool(own, "disconnectOnGaps") || md_conf_bool(other, "disconnectOnGaps"))
        snprintf(why, why_size,
                 "disconnectOnGaps: a relay does not leave a network for a gap, it tells the "
                 "gap to the other one; write False for both networks of a relay");
    else
        return MD_OK;
    return MD_ERR_RANGE;
}

/* The packets of both would come to each socket. */
static int check_groups(const struct attach_settings *own, const struct attach_settings *other,
                        char *why, size_t why_size)
{
    const struct attach_node_config *a = &own->node, *b = &other->node;

    if (a->uses_mesh || b->uses_mesh || a->udp.group_port != b->udp.group_port ||
        strcmp(a->group[0], b->group[0]) != 0)
        return MD_OK;
    snprintf(why, why_size,
             "multicastAddress: networks %s and %s have the same, and the same multicastPort; "
             "the two networks of a relay need groups of their own",
             own->network, other->network);
    return MD_ERR_RANGE;
}

static void warn_of_list(const struct md_conf_object *own, const struct md_conf_object *other,
                         const char *param)
{
    if (md_conf_is_set(other, param) &&
        strcmp(md_conf_string(own, param), md_conf_string(other, param)) != 0)
        md_log(MD_LOG_WARNING,
               "%s of network %s is not read: what a relay forwards, both ways, is named at its "
               "own network, %s",
               param, other->name, own->name);
}

int relay_read(const struct md_conf *conf, const struct attach_settings *own, char *why,
               size_t why_size, struct relay **out)
{
    struct relay *relay = calloc(1, sizeof(*relay));
    const char *to = relay_to(conf);
    struct md_conf_object first = network_of(conf);

    *out = NULL;
    snprintf(why, why_size, "out of memory");
    if (!relay)
        return MD_ERR_NOMEM;
    relay->object = md_conf_object(conf, MD_CONF_RRCP, to);
    warn_of_list(&first, &relay->object, "relayServices");
    warn_of_list(&first, &relay->object, "relayTopics");
    int err = check_networks(conf, &first, &relay->object, why, why_size);
    if (!err)
        err = read_lists(relay, conf, why, why_size);
    if (!err)
        err = attach_settings_read(conf, to, &relay->settings, why, why_size);
    if (!err)
        err = check_groups(own, &relay->settings, why, why_size);
    if (err) {
        free(relay);
        return err;
    }
    *out = relay;
    return MD_OK;
}

const struct attach_settings *relay_settings(const struct relay *relay)
{
    return &relay->settings;
}

uint64_t relay_queue_bytes(const struct attach_settings *own, const struct attach_settings *other)
{
    return forward_queue_bytes(0, own->node.engine.message_bytes_max) +
           forward_queue_bytes(0, other->node.engine.message_bytes_max);
}

int relay_start(struct relay *relay, const struct net_config *first, char *why, size_t why_size)
{
    struct net_config configs[FORWARD_SIDES] = { *first, *first };
    struct forward_config names = { .services = relay->names,
                                    .service_count = relay->service_count,
                                    .topics = relay->names + relay->service_count,
                                    .topic_count = relay->topic_count };

    if (first->node.uses_verbs || relay->settings.node.uses_verbs) {
        snprintf(why, why_size, "transport: a relay has UDP or a mesh on both sides, no verbs");
        return MD_ERR_RANGE;
    }
    snprintf(relay->process, sizeof(relay->process), "%s.%s", first->process,
             relay->settings.network);
    configs[0].inbound_bytes = configs[1].inbound_bytes = 0;
    configs[1].node = relay->settings.node;
    configs[1].object = relay->object;
    configs[1].busy_poll_ns = relay->settings.busy_poll_ns;
    configs[1].process = relay->process;
    configs[1].is_second = true;
    return net_relay_start(configs, &names, why, why_size, &relay->net);
}

struct net *relay_net(const struct relay *relay, int side)
{
    return net_relay_net(relay->net, side);
}

void relay_destroy(struct relay *relay)
{
    if (!relay)
        return;
    net_relay_destroy(relay->net);
    free(relay);
}
