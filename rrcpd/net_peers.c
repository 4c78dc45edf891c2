/* net_peers.c - what the log says of the other nodes: who is heard, who is down, what is lost. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/table.h"
#include "net_private.h"

#define STRANGERS_NS 10000000000ull

struct peer_name {
    char text[RRCP_NODE_NAME_MAX + 1];
};

static const char *const gap_words[] = {
    [RRCP_GAP_NOT_HELD] = "its sender no longer has them",
    [RRCP_GAP_TIMEOUT] = "asked for in vain for recoverTimeout",
    [RRCP_GAP_TOO_LARGE] = "more in a row than nmissing",
    [RRCP_GAP_POOL] = "no room for them in the packet pool",
    [RRCP_GAP_REJOIN] = "it was away and is back",
    [RRCP_GAP_UNICAST_RESET] = "its unicast stream began anew",
};

int net_peers_create(struct net *net)
{
    return md_int_table_create(64, &net->peer_names);
}

void net_peers_destroy(struct net *net)
{
    struct md_table_walk walk = { 0 };
    struct peer_name *name;

    if (!net->peer_names)
        return;
    while ((name = md_int_table_next(net->peer_names, &walk, NULL)) != NULL)
        free(name);
    md_int_table_destroy(net->peer_names);
}

static const char *name_of(const struct net *net, uint64_t session)
{
    const struct peer_name *name = md_int_table_get(net->peer_names, session);

    return name ? name->text : "without a name";
}

static void is_heard(struct net *net, const struct rrcp_event *event)
{
    struct peer_name *name = md_int_table_get(net->peer_names, event->session);

    if (!name) {
        name = calloc(1, sizeof(*name));
        if (!name || md_int_table_put(net->peer_names, event->session, name) != 0) {
            free(name);
            return;
        }
    }
    snprintf(name->text, sizeof(name->text), "%.*s", (int)event->length,
             (const char *)event->bytes);
    md_log(MD_LOG_NOTICE, "node %s is heard (session %016llx)", name->text,
           (unsigned long long)event->session);
}

static void is_down(struct net *net, const struct rrcp_event *event)
{
    const char *name = name_of(net, event->session);

    if (event->reason == RRCP_DOWN_BYE)
        md_log(MD_LOG_NOTICE, "node %s has left the network", name);
    else if (event->reason == RRCP_DOWN_REPLACED)
        md_log(MD_LOG_WARNING, "node %s is down: it was started anew", name);
    else
        md_log(MD_LOG_WARNING, "node %s is down: silent for peerTimeout", name);
    free(md_int_table_remove(net->peer_names, event->session));
}

/* Dropped without a peer that could be named: said at once, then not all the time. */
void net_strangers_tell(struct net *net, uint64_t now_ns)
{
    static const enum rrcp_drop kinds[] = { RRCP_DROP_SIZE,  RRCP_DROP_MAGIC, RRCP_DROP_VERSION,
                                            RRCP_DROP_TYPE,  RRCP_DROP_FLAGS, RRCP_DROP_SESSION,
                                            RRCP_DROP_BODY,  RRCP_DROP_COUNT, RRCP_DROP_CHUNKS,
                                            RRCP_DROP_RANGES };
    const struct rrcp_counters *counters = rrcp_counters(net->engine);
    uint64_t count = 0;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        count += counters->drop[kinds[i]];
    if (count == net->strangers || now_ns < net->strangers_at_ns)
        return;
    md_log(MD_LOG_WARNING, "packets that are none of ours: %llu dropped (who sends to this group?)",
           (unsigned long long)(count - net->strangers));
    net->strangers = count;
    net->strangers_at_ns = now_ns + STRANGERS_NS;
}

void net_peers_event(struct net *net, const struct rrcp_event *event)
{
    switch (event->type) {
    case RRCP_EVENT_PEER_INFO:
        is_heard(net, event);
        break;
    case RRCP_EVENT_PEER_DOWN:
        is_down(net, event);
        break;
    case RRCP_EVENT_GAP:
        md_log(MD_LOG_WARNING, "node %s: %u packets are lost for good: %s",
               name_of(net, event->session), event->count,
               event->reason < sizeof(gap_words) / sizeof(gap_words[0]) && gap_words[event->reason]
                   ? gap_words[event->reason]
                   : "no reason given");
        break;
    default:
        break;
    }
}
