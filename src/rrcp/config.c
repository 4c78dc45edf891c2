/* config.c - defaults and limits of the engine's configuration, and texts for logs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <string.h>

#include "base/err.h"

void rrcp_config_init(struct rrcp_config *config)
{
    *config = (struct rrcp_config){
        .path_count = 1,
        .arrivals_max = 1024,
        .packet_bytes_max = 1472,
        .send_queue_max = 1024,
        .interface_bits_per_s = 1000 * 1000 * 1000,
        .pool_packets = 65536,
        .hold_ns = 2 * RRCP_S,
        .beacon_min_ns = 10 * RRCP_MS,
        .beacon_max_ns = 1 * RRCP_S,
        .repair_wait_ns = 10 * RRCP_MS,
        .unsent_max = 256,
        .flow_control_timeout_ns = 500 * RRCP_MS,
        .message_bytes_max = 4u << 20,
        .peers_max = 1024,
        .peer_timeout_ns = 3500 * RRCP_MS,
        .tombstone_ns = 60 * RRCP_S,
        .request_wait_ns = 20 * RRCP_MS,
        .request_tries = 7,
        .recover_timeout_ns = 500 * RRCP_MS,
        .missing_max = 4096,
        .jump_max = 1000000,
        .window_packets = 32768,
        .windows_max = 256,
        .reorder_ns = 2 * RRCP_MS,
        .reorder_packets = 64,
        .path_skew_ns = 5 * RRCP_MS,
        .nak_rate = 1000,
        .assembly_bytes_max = 64u << 20,
        .unicast_wait_ns = 100 * RRCP_MS,
        .unicast_tries = 7,
        .unicast_queue_max = 16u << 20,
        .unicast_bytes_max = 64u << 20,
        .cipher = RRCP_CIPHER_AES_128_GCM,
    };
}

static bool within(uint64_t value, uint64_t low, uint64_t high)
{
    return value >= low && value <= high;
}

#define MESH_ADDRESS_MAX 48 /* a name has its place beside it, see MESH_NAME_MAX */

/* The addresses of a node must fit a TLV of its beacon. */
static bool mesh_fits(const struct rrcp_config *c)
{
    const struct rrcp_mesh_config *mesh = &c->mesh;

    if (!mesh->is_on)
        return true;
    if (c->path_count != 1 || c->peers_max > RRCP_MESH_PEERS_MAX ||
        mesh->seed_count > RRCP_MESH_SEEDS_MAX || !within(mesh->self.length, 1, MESH_ADDRESS_MAX))
        return false;
    for (uint32_t i = 0; i < mesh->seed_count; i++)
        if (mesh->seeds[i].length != mesh->self.length)
            return false;
    return true;
}

int rrcp_config_check(const struct rrcp_config *c)
{
    if (!c->network || !c->node || !within(strlen(c->node), 1, RRCP_NODE_NAME_MAX))
        return MD_ERR_RANGE;
    if (!within(c->path_count, 1, 2) || !within(c->arrivals_max, 1, 65536))
        return MD_ERR_RANGE;
    if (!within(c->packet_bytes_max, 256, RRCP_PACKET_BYTES_MAX) || c->headroom_bytes > 256)
        return MD_ERR_RANGE;
    if (!within(c->pool_packets, 128, 1u << 24) || c->pool_high > c->pool_packets ||
        c->pool_low > c->pool_high)
        return MD_ERR_RANGE;
    if (c->completes_late && c->send_queue_max == 0)
        return MD_ERR_RANGE;
    if (!within(c->beacon_min_ns, RRCP_MS, RRCP_S) ||
        !within(c->beacon_max_ns, c->beacon_min_ns, 60 * RRCP_S))
        return MD_ERR_RANGE;
    if (!within(c->peers_max, 1, 65535) || !within(c->request_tries, 1, 20))
        return MD_ERR_RANGE;
    if (!within(c->window_packets, 64, 1u << 20) ||
        (c->window_packets & (c->window_packets - 1)) != 0 || c->missing_max > c->window_packets)
        return MD_ERR_RANGE;
    if (!within(c->jump_max, 1024, 1ull << 32))
        return MD_ERR_RANGE;
    if (!within(c->message_bytes_max, 1, 1u << 30) || c->unsent_max == 0 || c->nak_rate == 0)
        return MD_ERR_RANGE;
    if (!within(c->recover_timeout_ns, RRCP_MS, 60 * RRCP_S) ||
        !within(c->peer_timeout_ns, 10 * RRCP_MS, 3600 * RRCP_S))
        return MD_ERR_RANGE;
    if (c->cipher != RRCP_CIPHER_AES_128_GCM && c->cipher != RRCP_CIPHER_AES_256_GCM)
        return MD_ERR_RANGE;
    if (c->key_count > RRCP_KEY_MAX || (c->congestion && !c->data_rate) || !mesh_fits(c))
        return MD_ERR_RANGE;
    return MD_OK;
}

const char *rrcp_note_text(enum rrcp_note note)
{
    switch (note) {
    case RRCP_NOTE_VERSION_UNKNOWN:
        return "packets of an unknown protocol version are dropped";
    case RRCP_NOTE_NAME_DUPLICATE:
        return "duplicate node name: a second live node has the name of another and is refused";
    case RRCP_NOTE_OVER_ENTERED:
        return "packet pool over its high mark: users must wait";
    case RRCP_NOTE_OVER_LEFT:
        return "packet pool under its low mark again";
    case RRCP_NOTE_PATH_SILENT:
        return "one of the redundant networks is silent";
    case RRCP_NOTE_PATH_BACK:
        return "packets arrive again on the silent network";
    case RRCP_NOTE_GROUP_SILENT:
        return "multicast from a node lost, its unicast is heard: check IGMP querier";
    case RRCP_NOTE_PEERS_FULL:
        return "peer table or creation budget full: new nodes are ignored";
    case RRCP_NOTE_ADDRESS_CHANGED:
        return "packets of a known session from another address are dropped";
    case RRCP_NOTE_AUTH_FAILED:
        return "packets without a valid authentication trailer are dropped";
    case RRCP_NOTE_REPAIRS_USELESS:
        return "repairs arrive as duplicates: the network reorders, see switchReorderFixEnabled";
    case RRCP_NOTE_FLOW_RECEIVER_LOST:
        return "flow control drops a receiver that makes no progress";
    case RRCP_NOTE_USERS_EXHAUSTED:
        return "all user ports of this run are used up: restart rrcpd";
    case RRCP_NOTE_COUNTER_EXHAUSTED:
        return "the packet counters of this session are nearly used up: a new session is needed";
    case RRCP_NOTE_MESH_TRANSLATED:
        return "a node behind address translation is refused";
    case RRCP_NOTE_MESH_UNKNOWN:
        return "a node that is not in peers, and that no member has named, is refused";
    case RRCP_NOTE_count:
        break;
    }
    return "?";
}

const char *rrcp_drop_name(enum rrcp_drop drop)
{
    static const char *const names[RRCP_DROP_count] = {
        [RRCP_DROP_SIZE] = "size",
        [RRCP_DROP_MAGIC] = "magic",
        [RRCP_DROP_VERSION] = "version",
        [RRCP_DROP_NETWORK] = "network",
        [RRCP_DROP_TYPE] = "type",
        [RRCP_DROP_SESSION] = "session",
        [RRCP_DROP_OWN] = "own",
        [RRCP_DROP_FLAGS] = "flags",
        [RRCP_DROP_AUTH_MISSING] = "auth missing",
        [RRCP_DROP_AUTH_TAG] = "auth tag",
        [RRCP_DROP_REPLAY] = "replay",
        [RRCP_DROP_BODY] = "body",
        [RRCP_DROP_COUNT] = "count",
        [RRCP_DROP_CHUNKS] = "chunks",
        [RRCP_DROP_RANGES] = "ranges",
        [RRCP_DROP_TARGET] = "target",
        [RRCP_DROP_ADDRESS] = "address",
        [RRCP_DROP_PEERS] = "peers",
        [RRCP_DROP_JUMP] = "jump",
        [RRCP_DROP_TOMBSTONE] = "tombstone",
        [RRCP_DROP_UNKNOWN] = "unknown",
        [RRCP_DROP_WINDOW] = "window",
        [RRCP_DROP_NAME] = "name",
    };

    return (unsigned)drop < RRCP_DROP_count ? names[drop] : "?";
}

const char *rrcp_transition_name(enum rrcp_transition transition)
{
    static const char *const names[RRCP_TRANSITION_count] = {
        "missing-reorder", "missing-backoff", "missing-lost",  "reorder-backoff", "reorder-asked",
        "reorder-have",    "reorder-holdoff", "backoff-asked", "backoff-have",    "backoff-holdoff",
        "backoff-lost",    "holdoff-asked",   "holdoff-have",  "holdoff-lost",    "asked-asked",
        "asked-have",      "asked-confirmed", "asked-busy",    "asked-lost",      "lost-have",
    };

    return (unsigned)transition < RRCP_TRANSITION_count ? names[transition] : "?";
}
