/* engine.c - the functions of rrcp/rrcp.h: input, time, submit. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "auth.h"
#include "base/assert.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/writer.h"
#include "beacon.h"
#include "challenge.h"
#include "common.h"
#include "config.h"
#include "deliver.h"
#include "doubt.h"
#include "interest.h"
#include "mesh.h"
#include "output.h"
#include "peer_table.h"
#include "peers.h"
#include "pool.h"
#include "receive.h"
#include "repair.h"
#include "request.h"
#include "sender.h"
#include "skip.h"
#include "status.h"
#include "unicast.h"
#include "unicast_queue.h"
#include "unicast_receiver.h"
#include "unicast_sender.h"
#include "users.h"

#define PATH_SILENCE_NS  (3500 * RRCP_MS)
#define GROUP_SILENCE_NS (5 * RRCP_S)
#define USELESS_LEAST    64
#define HASH_DIGITS      8u /* of a name that is too long */

/* ---- create ------------------------------------------------------------------------------- */

static int parts_init(struct rrcp *r)
{
    int err = rrcp_pool_init(r);

    if (!err)
        err = rrcp_sender_init(r);
    if (!err)
        err = rrcp_interest_init(r);
    if (!err)
        err = rrcp_peers_init(r);
    if (!err)
        err = rrcp_deliver_init(r);
    return err ? err : rrcp_output_init(r);
}

/* The name that goes out. In a mesh an answer to a challenge has our address, too, and may not be
 * longer than the challenge: of a long name the end of the host is left out, and a hash of the
 * whole name stands there, so that names that begin alike are not one. */
static void copy_name(char *out, const struct rrcp_config *config)
{
    const char *name = config->node;
    size_t length = strlen(name);
    size_t room = RRCP_NODE_NAME_MAX;
    size_t tail = 0; /* ".instance.rrcpd" */
    uint32_t hash = rrcp_network_id(name);

    if (config->mesh.is_on)
        room = MESH_NAME_MAX(config->mesh.self.length);
    if (length <= room) {
        memcpy(out, name, length + 1);
        return;
    }
    for (int dots = 0; dots < 2 && tail < length; tail++)
        dots += name[length - 1 - tail] == '.';
    if (tail + HASH_DIGITS > room)
        tail = 0;
    size_t host = room - tail - HASH_DIGITS;
    memcpy(out, name, host);
    for (uint32_t i = 0; i < HASH_DIGITS; i++)
        out[host + i] = "0123456789abcdef"[hash >> (28 - 4 * i) & 15];
    memcpy(out + host + HASH_DIGITS, name + length - tail, tail);
}

int rrcp_create(const struct rrcp_config *config, const struct rrcp_env *env, struct rrcp **out)
{
    struct rrcp *r;
    int err = rrcp_config_check(config);

    *out = NULL;
    if (!err && config->key_count > 0 && !env->seal)
        err = MD_ERR_RANGE;
    if (err)
        return err;
    r = env->take(env->context, sizeof(*r));
    if (!r)
        return MD_ERR_NOMEM;
    r->config = *config;
    r->env = *env;
    r->counters.memory_bytes = r->counters.memory_bytes_high = sizeof(*r);
    copy_name(r->node, config);
    r->config.node = r->node;
    r->prng = md_prng_init(env->seed[0] ^ md_prng_rotate(env->seed[1], 32));
    r->hash_key[0] = md_prng_u64(&r->prng);
    r->hash_key[1] = md_prng_u64(&r->prng);
    rrcp_challenge_init(r);
    r->session = config->session;
    while (r->session == 0)
        r->session = md_prng_u64(&r->prng);
    r->rules = (struct packet_rules){
        .network_id = rrcp_network_id(config->network),
        .own_session = r->session,
        .auth = config->key_count > 0,
    };
    r->chunks_end_max = config->packet_bytes_max - (config->key_count ? PACKET_TRAILER_BYTES : 0);
    r->next_port = 1;
    err = parts_init(r);
    if (!err)
        err = rrcp_auth_init(r);
    if (err) {
        rrcp_destroy(r);
        return err;
    }
    rrcp_beacon_init(r);
    rrcp_mesh_init(r);
    *out = r;
    return MD_OK;
}

void rrcp_destroy(struct rrcp *r)
{
    if (!r)
        return;
    rrcp_unicast_close(r, NULL);
    rrcp_auth_fini(r);
    rrcp_peers_fini(r);
    rrcp_unicast_segments_free(r);
    rrcp_deliver_fini(r);
    rrcp_interest_fini(r);
    rrcp_sender_fini(r);
    rrcp_pool_fini(r);
    rrcp_output_fini(r);
    r->env.give(r->env.context, r, sizeof(*r));
}

uint64_t rrcp_session(const struct rrcp *r)
{
    return r->session;
}

const struct rrcp_counters *rrcp_counters(const struct rrcp *r)
{
    return &r->counters;
}

/* ---- input -------------------------------------------------------------------------------- */

static bool is_same(const struct rrcp_address *a, const struct rrcp_address *b)
{
    return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* True: the beacon echoes a nonce that a session which was not known on this path got from us. */
static bool has_proof(const struct rrcp *r, const struct packet_view *view,
                      const struct rrcp_arrival *arrival)
{
    return view->type == PACKET_BEACON && rrcp_challenge_holds(r, view, arrival, STRANGER_ROUND);
}

/* Asks a session that speaks to the group for the first time, or on a path for the first time,
 * whether it can be reached there. */
static void ask_stranger(struct rrcp *r, const struct packet_view *view,
                         const struct rrcp_arrival *arrival)
{
    bool is_leaving =
        view->type == PACKET_BEACON && (md_be16(view->beacon->state) & BEACON_STATE_LEAVING);

    if (view->type != PACKET_SOLICIT)
        rrcp_drop(r, RRCP_DROP_UNKNOWN);
    if (r->config.mesh.is_on) {
        if (!is_leaving && rrcp_mesh_admits(r, view, arrival))
            rrcp_challenge_stranger(r, view->session, arrival);
        return;
    }
    if (arrival->is_group && !is_leaving && !(view->flags & PACKET_FLAG_RETRANS) &&
        (view->type == PACKET_BEACON || view->type == PACKET_DATA))
        rrcp_challenge_stranger(r, view->session, arrival);
}

static bool is_home(const struct rrcp_peer *peer, const struct rrcp_arrival *arrival)
{
    return peer && is_same(&peer->address[arrival->path & 1], arrival->from);
}

/* False: the session has another address on this path, or has not proved this one yet. */
static bool is_at_home(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view,
                       const struct rrcp_arrival *arrival)
{
    struct rrcp_address *home = &peer->address[arrival->path & 1];

    if (home->length == 0) {
        if (!has_proof(r, view, arrival)) {
            ask_stranger(r, view, arrival);
            return false;
        }
        *home = *arrival->from;
    }
    if (is_same(home, arrival->from))
        return true;
    rrcp_drop(r, RRCP_DROP_ADDRESS);
    rrcp_note(r, RRCP_NOTE_ADDRESS_CHANGED, peer->session, 0);
    return false;
}

static struct rrcp_peer *find_namesake(struct rrcp *r, const struct packet_view *view)
{
    uint8_t length = view->beacon->name_length;

    for (uint32_t i = 0; i < r->live_count; i++) {
        struct rrcp_peer *peer = r->peers[r->live[i]];

        if (peer->name_length == length && memcmp(peer->name, view->beacon + 1, length) == 0)
            return peer;
    }
    return NULL;
}

static struct rrcp_peer *meet(struct rrcp *r, const struct packet_view *view,
                              const struct rrcp_arrival *arrival)
{
    struct rrcp_peer *namesake;

    if (!has_proof(r, view, arrival)) {
        ask_stranger(r, view, arrival);
        return NULL;
    }
    if ((md_be16(view->beacon->state) & BEACON_STATE_LEAVING) ||
        (r->config.mesh.is_on && !rrcp_mesh_admits(r, view, arrival))) {
        rrcp_drop(r, RRCP_DROP_UNKNOWN);
        return NULL;
    }
    namesake = find_namesake(r, view);
    if (!namesake) {
        struct rrcp_peer *peer = rrcp_peer_meet(r, view, arrival);

        if (peer)
            rrcp_beacon_hasten(r);
        return peer;
    }
    rrcp_drop(r, RRCP_DROP_NAME);
    rrcp_doubt_rival(r, namesake, view->session, arrival);
    rrcp_peer_arm_earlier(r, namesake);
    return NULL;
}

static void path_heard(struct rrcp *r, uint8_t path)
{
    r->path_ns[path] = r->now_ns;
    if (r->path_is_silent[path]) {
        r->path_is_silent[path] = false;
        rrcp_note(r, RRCP_NOTE_PATH_BACK, r->session, path);
    }
}

static void data_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view)
{
    uint64_t seq = md_be64(view->data->seq);
    uint64_t held = md_be32(view->data->held);

    if (seq == 0 || seq > RRCP_SEQ_MAX) {
        rrcp_drop(r, RRCP_DROP_JUMP);
        return;
    }
    r->counters.mcast_rcvd++;
    if (view->flags & PACKET_FLAG_RETRANS) {
        r->counters.retrans_pkts_rcvd++;
    } else if (r->is_fresh_arrival) {
        peer->echo_tx_time = view->tx_time;
        peer->echo_ns = r->now_ns;
    }
    rrcp_receive_data(r, peer, view);
    if (peer->window.missing_count > 0 && held < seq && seq <= peer->window.highest)
        rrcp_receive_trail(r, peer, seq - held);
    if (r->is_fresh_arrival)
        rrcp_status_data(r, peer);
}

static void dispatch(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view,
                     const struct rrcp_arrival *arrival)
{
    switch ((enum packet_type)view->type) {
    case PACKET_DATA:
        data_input(r, peer, view);
        break;
    case PACKET_UDATA:
        rrcp_udata_input(r, peer, view);
        break;
    case PACKET_UACK:
        rrcp_uack_input(r, peer, view);
        break;
    case PACKET_BEACON:
        rrcp_beacon_input(r, peer, view, arrival);
        break;
    case PACKET_NAK:
        rrcp_nak_input(r, peer, view);
        break;
    case PACKET_NCF:
        rrcp_ncf_input(r, peer, view);
        break;
    case PACKET_BYE:
        rrcp_bye_input(r, peer, view);
        break;
    case PACKET_SOLICIT:
        rrcp_solicit_input(r, peer, view, arrival);
        break;
    case PACKET_STATUS:
        if (peer->echo_tx_time == 0) {
            peer->echo_tx_time = view->tx_time;
            peer->echo_ns = r->now_ns;
        }
        rrcp_status_input(r, peer, view);
        break;
    case PACKET_HSM:
        r->counters.hsm_rcvd++;
        break;
    case PACKET_SKIP:
        if (r->is_fresh_arrival) {
            peer->echo_tx_time = view->tx_time;
            peer->echo_ns = r->now_ns;
        }
        rrcp_skip_input(r, peer, view);
        break;
    }
}

static void refuse(struct rrcp *r, int drop, const struct rrcp_arrival *arrival)
{
    rrcp_drop(r, (enum rrcp_drop)drop);
    if (drop == RRCP_DROP_VERSION) {
        r->other_version = ((const struct packet_header *)(const void *)arrival->bytes)->version;
        r->other_version_from = *arrival->from;
        rrcp_note(r, RRCP_NOTE_VERSION_UNKNOWN, 0, r->other_version);
    }
    if (drop == RRCP_DROP_AUTH_MISSING || drop == RRCP_DROP_AUTH_TAG)
        rrcp_note(r, RRCP_NOTE_AUTH_FAILED, 0, 0);
}

/* -1: a member of the group sent the packet, if there are keys, and its fields are well formed.
 * Before the tag is checked nothing behind the header is read, but the echo of a stranger's BEACON.
 */
static int check(struct rrcp *r, const struct rrcp_arrival *arrival, struct packet_view *view,
                 struct rrcp_peer **peer)
{
    int drop = rrcp_packet_head(&r->rules, arrival->bytes, arrival->length, view);

    if (drop >= 0)
        return drop;
    *peer = rrcp_peer_find(r, view->session);
    if (r->rules.auth)
        drop = rrcp_auth_open(r, *peer, view, arrival);
    return drop < 0 ? rrcp_packet_body(view) : drop;
}

/* False: nothing comes of the packet. */
static bool may_speak(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view,
                      const struct rrcp_arrival *arrival)
{
    int drop;

    if (!is_at_home(r, peer, view, arrival))
        return false;
    drop = rrcp_auth_replay(r, peer, view);
    if (drop >= 0)
        refuse(r, drop, arrival);
    return drop < 0;
}

static void arrive(struct rrcp *r, const struct rrcp_arrival *arrival)
{
    struct packet_view view;
    struct rrcp_peer *peer = NULL;
    int drop = check(r, arrival, &view, &peer);

    if (drop >= 0) {
        refuse(r, drop, arrival);
        return;
    }
    if (view.type == PACKET_SOLICIT && !is_home(peer, arrival))
        rrcp_solicit_input(r, NULL, &view, arrival); /* unknown nodes may ask, too */
    if (!peer)
        peer = meet(r, &view, arrival);
    if (!peer || !may_speak(r, peer, &view, arrival))
        return;
    r->counters.bytes_rcvd += arrival->length;
    r->is_group_arrival = arrival->is_group;
    if (r->is_fresh_arrival && rrcp_mesh_shows_life(r, &view)) {
        peer->heard_ns = r->now_ns;
        peer->path = arrival->path & 1;
        if (arrival->is_group || r->config.mesh.is_on)
            peer->group_ns = r->now_ns;
        if (r->config.path_count > 1)
            path_heard(r, peer->path);
    }
    dispatch(r, peer, &view, arrival);
    if (peer->state == PEER_LIVE)
        rrcp_peer_arm_earlier(r, peer);
}

void rrcp_input(struct rrcp *r, uint64_t now_ns, const struct rrcp_arrival in[], int count)
{
    MD_ASSERT(count >= 0 && (uint32_t)count <= r->config.arrivals_max);
    r->now_ns = now_ns;
    rrcp_auth_begin(r);
    if (count == 0)
        r->input_empty_ns = now_ns;
    for (int i = 0; i < count; i++)
        arrive(r, &in[i]);
}

uint8_t rrcp_other_version(const struct rrcp *r, struct rrcp_address *from)
{
    *from = r->other_version_from;
    return r->other_version;
}

/* ---- time --------------------------------------------------------------------------------- */

/* The peer is silent too long. It must not die of our own pause: we must have listened since. */
static bool is_dead(const struct rrcp *r, const struct rrcp_peer *peer)
{
    uint64_t due_ns = peer->heard_ns + r->config.peer_timeout_ns;

    if (r->now_ns < due_ns)
        return false;
    return r->input_empty_ns >= due_ns || r->now_ns - due_ns > r->config.peer_timeout_ns;
}

static void check_group(struct rrcp *r, struct rrcp_peer *peer)
{
    bool is_silent = peer->heard_ns > peer->group_ns + GROUP_SILENCE_NS;

    if (is_silent && !peer->is_group_silent)
        rrcp_note(r, RRCP_NOTE_GROUP_SILENT, peer->session, 0);
    peer->is_group_silent = is_silent;
}

static void peer_tick(struct rrcp *r, struct rrcp_peer *peer)
{
    if (is_dead(r, peer)) {
        rrcp_peer_lose(r, peer, BACKBONE_DOWN_TIMEOUT);
        return;
    }
    rrcp_receive_below_tick(r, peer);
    rrcp_doubt_tick(r, peer);
    if (peer->state != PEER_LIVE)
        return;
    if (peer->window.due_ns <= r->now_ns)
        rrcp_request_tick(r, peer);
    rrcp_status_tick(r, peer);
    if (peer->unicast) {
        rrcp_unicast_receiver_tick(r, peer);
        rrcp_unicast_sender_tick(r, peer);
    }
    if (peer->window.slots && peer->window.missing_count == 0 && peer->window.have_count == 0 &&
        r->now_ns >= peer->window.used_ns + WINDOW_KEEP_NS)
        rrcp_receive_close(r, peer);
    check_group(r, peer);
    rrcp_peer_arm(r, peer);
    rrcp_peer_postpone(r, peer);
}

static void peers_tick(struct rrcp *r)
{
    while (r->heap_count > 0 && r->peers[r->heap[0]]->due_ns <= r->now_ns)
        peer_tick(r, r->peers[r->heap[0]]);
}

/* Notes that one path of a redundant pair is silent while the other is not. */
static void check_paths(struct rrcp *r)
{
    for (uint8_t path = 0; path < 2 && r->config.path_count > 1; path++) {
        uint64_t other_ns = r->path_ns[1 - path];

        if (!r->path_is_silent[path] && other_ns > r->path_ns[path] + PATH_SILENCE_NS) {
            r->path_is_silent[path] = true;
            rrcp_note(r, RRCP_NOTE_PATH_SILENT, r->session, path);
        }
    }
}

static void check_repairs(struct rrcp *r)
{
    if (r->now_ns - r->useless_second_ns < RRCP_S)
        return;
    if (r->useless_repairs > USELESS_LEAST && r->useless_repairs > 20 * r->useful_repairs &&
        !r->config.switch_reorder)
        rrcp_note(r, RRCP_NOTE_REPAIRS_USELESS, r->session, r->useless_repairs);
    r->useless_second_ns = r->now_ns;
    r->useless_repairs = r->useful_repairs = 0;
}

void rrcp_tick(struct rrcp *r, uint64_t now_ns)
{
    r->now_ns = now_ns;
    peers_tick(r);
    rrcp_sender_tick(r);
    rrcp_beacon_tick(r);
    rrcp_users_tick(r);
    rrcp_sender_ready(r);
    check_paths(r);
    check_repairs(r);
    rrcp_auth_tick(r);
}

uint64_t rrcp_deadline(const struct rrcp *r)
{
    uint64_t due_ns = rrcp_peers_deadline(r);

    due_ns = rrcp_min(due_ns, rrcp_sender_deadline(r));
    due_ns = rrcp_min(due_ns, rrcp_beacon_deadline(r));
    return rrcp_min(due_ns, rrcp_repair_deadline(r));
}

/* ---- interest ----------------------------------------------------------------------------- */

void rrcp_interest_set(struct rrcp *r, uint64_t now_ns, const uint32_t topics[], uint32_t count)
{
    struct rrcp_interest *i = r->interest;
    bool is_all = !topics || count > RRCP_INTEREST_MAX;

    r->now_ns = now_ns;
    if (is_all)
        count = 0;
    if (!i || (is_all == i->is_all && count == i->count &&
               (count == 0 || memcmp(topics, i->topics, count * sizeof(*topics)) == 0)))
        return;
    i->is_all = is_all;
    i->count = count;
    if (count > 0)
        memcpy(i->topics, topics, count * sizeof(*topics));
    i->version++;
    for (uint32_t p = 0; p < r->live_count; p++) {
        r->peers[r->live[p]]->is_interest_told = false;
        (void)rrcp_unicast_tell_interest(r, r->peers[r->live[p]]);
    }
}

/* ---- submit ------------------------------------------------------------------------------- */

int rrcp_submit(struct rrcp *r, uint64_t now_ns, int port, const struct rrcp_msg *msg)
{
    int err;

    r->now_ns = now_ns;
    if (msg->topic == RRCP_TOPIC_USER_DOWN || msg->length > r->config.message_bytes_max ||
        (msg->flags & ~RRCP_MSG_UNICAST) != 0 ||
        ((msg->flags & RRCP_MSG_UNICAST) && msg->session == 0)) {
        r->counters.submit_bad++;
        return MD_ERR_RANGE;
    }
    if (msg->flags & RRCP_MSG_UNICAST) {
        err = rrcp_unicast_submit(r, (uint16_t)port, msg);
    } else if (msg->session != 0 && msg->session != r->session &&
               !rrcp_peer_find(r, msg->session)) {
        r->counters.unicast_unknown++;
        err = MD_ERR_NOT_FOUND;
    } else {
        err = rrcp_sender_submit(r, (uint16_t)port, msg);
    }
    if (err == MD_ERR_FULL)
        r->counters.submit_full++;
    if (err == MD_ERR_RANGE)
        r->counters.submit_bad++;
    return err;
}
