/* engine.c - see rrcp/rrcp.h: the order in which the parts of the engine are asked. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <string.h>

#include "base/assert.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/writer.h"

#define HANDED_MAX      2048
#define PATH_SILENCE_NS (3500 * RRCP_MS)
#define USELESS_LEAST   64

/* ---- what the parts share ----------------------------------------------------------------- */

void *rrcp_take(struct rrcp *r, size_t bytes)
{
    void *memory = r->env.take(r->env.context, bytes);

    if (!memory)
        return NULL;
    r->counters.memory_bytes += bytes;
    if (r->counters.memory_bytes > r->counters.memory_bytes_high)
        r->counters.memory_bytes_high = r->counters.memory_bytes;
    return memory;
}

void rrcp_give(struct rrcp *r, void *memory, size_t bytes)
{
    if (!memory)
        return;
    r->counters.memory_bytes -= bytes;
    r->env.give(r->env.context, memory, bytes);
}

void rrcp_note(struct rrcp *r, enum rrcp_note note, uint64_t session, uint64_t value)
{
    if (!r->env.note || (r->note_ns[note] != 0 && r->now_ns - r->note_ns[note] < RRCP_S))
        return;
    r->note_ns[note] = r->now_ns ? r->now_ns : 1;
    r->env.note(r->env.context, note, session, value);
}

void rrcp_drop(struct rrcp *r, enum rrcp_drop drop)
{
    r->counters.drop[drop]++;
}

uint64_t rrcp_random(struct rrcp *r, uint64_t limit)
{
    return limit ? md_prng_u64(&r->prng) % limit : 0;
}

uint32_t rrcp_control_make(struct rrcp *r, enum packet_type type, uint8_t **bytes)
{
    uint32_t buffer = RRCP_BUFFER_NONE;

    *bytes = NULL;
    if (r->control_count < CONTROL_QUEUE)
        buffer = rrcp_pool_take(r, BUFFER_CONTROL);
    if (buffer == RRCP_BUFFER_NONE) {
        r->counters.control_dropped++;
        return buffer;
    }
    *bytes = rrcp_pool_bytes(r, buffer);
    rrcp_packet_header(*bytes, type, r->session, r->rules.network_id);
    return buffer;
}

void rrcp_control_send(struct rrcp *r, uint32_t buffer, uint32_t length,
                       const struct rrcp_peer *peer)
{
    struct control *control = &r->controls[(r->control_head + r->control_count++) % CONTROL_QUEUE];

    rrcp_pool_buffer(r, buffer)->length = (uint16_t)length;
    control->buffer = buffer;
    control->is_group = !peer;
    control->path = peer ? peer->path : 0;
    if (peer)
        control->to = peer->address[peer->path];
}

/* ---- create ------------------------------------------------------------------------------- */

static int parts_init(struct rrcp *r)
{
    int err = rrcp_pool_init(r);

    if (!err)
        err = rrcp_sender_init(r);
    if (!err)
        err = rrcp_peers_init(r);
    if (!err)
        err = rrcp_deliver_init(r);
    if (err)
        return err;
    r->handed_max = HANDED_MAX;
    r->handed = rrcp_take(r, HANDED_MAX * sizeof(*r->handed));
    r->handed_to = rrcp_take(r, HANDED_MAX * sizeof(*r->handed_to));
    return r->handed && r->handed_to ? MD_OK : MD_ERR_NOMEM;
}

int rrcp_create(const struct rrcp_config *config, const struct rrcp_env *env, struct rrcp **out)
{
    struct rrcp *r;
    int err = rrcp_config_check(config);

    *out = NULL;
    if (err)
        return err;
    r = env->take(env->context, sizeof(*r));
    if (!r)
        return MD_ERR_NOMEM;
    r->config = *config;
    r->env = *env;
    r->counters.memory_bytes = r->counters.memory_bytes_high = sizeof(*r);
    memcpy(r->node, config->node, strlen(config->node));
    r->config.node = r->node;
    r->prng = md_prng_init(env->seed[0] ^ md_prng_rotate(env->seed[1], 32));
    r->hash_key[0] = md_prng_u64(&r->prng);
    r->hash_key[1] = md_prng_u64(&r->prng);
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
    if (err) {
        rrcp_destroy(r);
        return err;
    }
    rrcp_beacon_init(r);
    *out = r;
    return MD_OK;
}

void rrcp_destroy(struct rrcp *r)
{
    if (!r)
        return;
    rrcp_unicast_close(r, NULL);
    rrcp_peers_fini(r);
    rrcp_deliver_fini(r);
    rrcp_sender_fini(r);
    rrcp_pool_fini(r);
    rrcp_give(r, r->handed, HANDED_MAX * sizeof(*r->handed));
    rrcp_give(r, r->handed_to, HANDED_MAX * sizeof(*r->handed_to));
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

/* A session stays where it was first seen: one address on each path. */
static bool is_at_home(struct rrcp *r, struct rrcp_peer *peer, const struct rrcp_arrival *arrival)
{
    struct rrcp_address *home = &peer->address[arrival->path & 1];

    if (home->length == 0)
        *home = *arrival->from;
    if (is_same(home, arrival->from))
        return true;
    rrcp_drop(r, RRCP_DROP_ADDRESS);
    rrcp_note(r, RRCP_NOTE_ADDRESS_CHANGED, peer->session, 0);
    return false;
}

static struct rrcp_peer *meet(struct rrcp *r, const struct packet_view *view,
                              const struct rrcp_arrival *arrival)
{
    bool is_beacon = view->type == PACKET_BEACON;

    if (!is_beacon && (view->type != PACKET_DATA || (view->flags & PACKET_FLAG_RETRANS))) {
        if (view->type != PACKET_SOLICIT)
            rrcp_drop(r, RRCP_DROP_UNKNOWN);
        return NULL;
    }
    if (is_beacon && (md_be16(view->bytes + 54) & BEACON_STATE_LEAVING)) {
        rrcp_drop(r, RRCP_DROP_UNKNOWN);
        return NULL;
    }
    return rrcp_peer_meet(r, view->session, md_be64(view->bytes + 24), is_beacon, arrival);
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
    uint64_t seq = md_be64(view->bytes + 24);
    uint64_t held = md_be32(view->bytes + 32);

    if (seq == 0 || seq > RRCP_SEQ_MAX) {
        rrcp_drop(r, RRCP_DROP_JUMP);
        return;
    }
    r->counters.mcast_rcvd++;
    if (view->flags & PACKET_FLAG_RETRANS)
        r->counters.retrans_pkts_rcvd++;
    else {
        peer->echo_tx_time = view->tx_time;
        peer->echo_ns = r->now_ns;
    }
    rrcp_window_data(r, peer, view);
    if (peer->window.missing_count > 0 && held < seq && seq <= peer->window.highest)
        rrcp_window_trail(r, peer, seq - held);
    rrcp_status_data(r, peer);
}

static void dispatch(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view)
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
        rrcp_beacon_input(r, peer, view);
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
        break; /* from strangers too: see arrive() */
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
    }
}

static void refuse(struct rrcp *r, int drop, const struct rrcp_arrival *arrival)
{
    rrcp_drop(r, (enum rrcp_drop)drop);
    if (drop == RRCP_DROP_VERSION)
        rrcp_note(r, RRCP_NOTE_VERSION_UNKNOWN, 0, arrival->bytes[2]);
    if (drop == RRCP_DROP_AUTH_MISSING || drop == RRCP_DROP_AUTH_TAG)
        rrcp_note(r, RRCP_NOTE_AUTH_FAILED, 0, 0);
}

static void arrive(struct rrcp *r, const struct rrcp_arrival *arrival)
{
    struct packet_view view;
    int drop = rrcp_packet_check(&r->rules, arrival->bytes, arrival->length, &view);

    if (drop < 0 && (view.flags & PACKET_FLAG_AUTH))
        drop = rrcp_auth_verify(r, &view);
    if (drop >= 0) {
        refuse(r, drop, arrival);
        return;
    }
    struct rrcp_peer *peer = rrcp_peer_find(r, view.session);

    if (view.type == PACKET_SOLICIT)
        rrcp_solicit_input(r, &view);
    if (!peer)
        peer = meet(r, &view, arrival);
    if (!peer || !is_at_home(r, peer, arrival))
        return;
    drop = rrcp_auth_replay(r, peer, &view);
    if (drop >= 0) {
        refuse(r, drop, arrival);
        return;
    }
    r->counters.bytes_rcvd += arrival->length;
    peer->heard_ns = r->now_ns;
    peer->path = arrival->path & 1;
    r->is_group_arrival = arrival->is_group;
    if (arrival->is_group)
        peer->group_ns = r->now_ns;
    if (r->config.path_count > 1)
        path_heard(r, peer->path);
    dispatch(r, peer, &view);
    if (peer->state == PEER_LIVE)
        rrcp_peer_arm_earlier(r, peer);
}

void rrcp_input(struct rrcp *r, uint64_t now_ns, const struct rrcp_arrival in[], int count)
{
    MD_ASSERT(count >= 0 && (uint32_t)count <= r->config.arrivals_max);
    r->now_ns = now_ns;
    if (count == 0)
        r->input_empty_ns = now_ns;
    for (int i = 0; i < count; i++)
        arrive(r, &in[i]);
}

/* ---- time --------------------------------------------------------------------------------- */

/* Of a redundant pair one path is silent while the other is not. */
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
    rrcp_peers_tick(r);
    rrcp_sender_tick(r);
    rrcp_beacon_tick(r);
    rrcp_users_tick(r);
    rrcp_sender_ready(r);
    check_paths(r);
    check_repairs(r);
}

uint64_t rrcp_deadline(const struct rrcp *r)
{
    uint64_t due_ns = rrcp_peers_deadline(r);

    due_ns = rrcp_min(due_ns, rrcp_sender_deadline(r));
    due_ns = rrcp_min(due_ns, rrcp_beacon_deadline(r));
    return rrcp_min(due_ns, rrcp_repair_deadline(r));
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

/* ---- output ------------------------------------------------------------------------------- */

/* The header fields that are known only now, and the trailer. */
static void finish_packet(struct rrcp *r, uint8_t *bytes, uint32_t length, uint8_t path)
{
    bool auth = r->config.key_count > 0;

    bytes[4] = (uint8_t)(auth ? bytes[4] | PACKET_FLAG_AUTH : bytes[4]);
    bytes[5] = path;
    md_put_be16(bytes + 6, (uint16_t)(length + (auth ? PACKET_TRAILER_BYTES : 0)));
    md_put_be32(bytes + 20, rrcp_us(r->now_ns));
    if (bytes[3] == PACKET_DATA)
        md_put_be32(bytes + 32, rrcp_sender_held(r, md_be64(bytes + 24)));
    if (auth)
        rrcp_auth_sign(r, bytes, length);
}

/* Hand out one packet; its reference goes with it. */
static void emit(struct rrcp *r, struct rrcp_packet *out, uint32_t buffer, uint8_t path,
                 const struct rrcp_address *to)
{
    struct rrcp_buffer *meta = rrcp_pool_buffer(r, buffer);
    uint8_t *bytes = rrcp_pool_bytes(r, buffer);

    finish_packet(r, bytes, meta->length, path);
    meta->in_flight++;
    *out = (struct rrcp_packet){
        .bytes = bytes,
        .length = md_be16(bytes + 6),
        .buffer = buffer,
        .path = path,
        .type = bytes[3],
    };
    if (to) {
        r->handed_to[r->handed_count] = *to;
        out->to = &r->handed_to[r->handed_count];
    }
    r->handed[r->handed_count++] = buffer;
    r->flight_count++;
    r->counters.bytes_sent += out->length;
}

/* To the group: on both networks of a redundant pair. Returns how many packets. */
static int emit_group(struct rrcp *r, struct rrcp_packet *out, uint32_t buffer)
{
    uint32_t length = rrcp_pool_buffer(r, buffer)->length;
    uint32_t copy = RRCP_BUFFER_NONE;
    int n = 0;

    if (r->config.path_count > 1)
        copy = rrcp_pool_take(r, BUFFER_CONTROL);
    if (copy != RRCP_BUFFER_NONE) {
        memcpy(rrcp_pool_bytes(r, copy), rrcp_pool_bytes(r, buffer), length);
        rrcp_pool_buffer(r, copy)->length = (uint16_t)length;
    }
    emit(r, &out[n++], buffer, 0, NULL);
    if (copy != RRCP_BUFFER_NONE)
        emit(r, &out[n++], copy, 1, NULL);
    return n;
}

static int emit_to(struct rrcp *r, struct rrcp_packet *out, uint32_t buffer,
                   const struct rrcp_peer *peer)
{
    if (!peer)
        return emit_group(r, out, buffer);
    emit(r, out, buffer, peer->path, &peer->address[peer->path]);
    return 1;
}

static int control_output(struct rrcp *r, struct rrcp_packet *out)
{
    struct control *control = &r->controls[r->control_head];

    r->control_head = (r->control_head + 1) % CONTROL_QUEUE;
    r->control_count--;
    if (control->is_group)
        return emit_group(r, out, control->buffer);
    emit(r, out, control->buffer, control->path, &control->to);
    return 1;
}

static void give_back(struct rrcp *r, uint32_t buffer)
{
    struct rrcp_buffer *meta = rrcp_pool_buffer(r, buffer);

    MD_ASSERT(meta->in_flight > 0);
    meta->in_flight--;
    r->flight_count--;
    rrcp_pool_give(r, buffer);
}

void rrcp_sent(struct rrcp *r, const uint32_t buffers[], int count)
{
    MD_ASSERT(r->config.completes_late);
    for (int i = 0; i < count; i++)
        give_back(r, buffers[i]);
}

/* The most urgent packet, which may be two on a redundant pair. 0: none. */
static int output_one(struct rrcp *r, struct rrcp_packet *out, bool *has_data)
{
    const struct rrcp_peer *to = NULL;
    uint32_t buffer;

    if (r->control_count > 0)
        return control_output(r, out);
    buffer = rrcp_repair_output(r, &to);
    if (buffer == RRCP_BUFFER_NONE)
        buffer = rrcp_unicast_output(r, &to);
    if (buffer == RRCP_BUFFER_NONE) {
        buffer = rrcp_sender_output(r);
        *has_data |= buffer != RRCP_BUFFER_NONE;
    }
    return buffer == RRCP_BUFFER_NONE ? 0 : emit_to(r, out, buffer, to);
}

int rrcp_output(struct rrcp *r, uint64_t now_ns, struct rrcp_packet out[], int max)
{
    int paths = r->config.path_count;
    bool has_data = false;
    int n = 0;

    r->now_ns = now_ns;
    for (uint32_t i = 0; i < r->handed_count && !r->config.completes_late; i++)
        give_back(r, r->handed[i]);
    r->handed_count = 0;
    if (max > HANDED_MAX)
        max = HANDED_MAX;
    while (n + paths <= max) {
        if (r->config.completes_late &&
            r->flight_count + (uint32_t)paths > r->config.send_queue_max)
            break;
        int packets = output_one(r, &out[n], &has_data);

        if (packets == 0)
            break;
        n += packets;
    }
    if (has_data)
        rrcp_beacon_data_sent(r);
    rrcp_sender_ready(r);
    return n;
}
