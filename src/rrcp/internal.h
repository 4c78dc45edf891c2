/* internal.h - the engine's state, and what its files call of each other. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_INTERNAL_H
#define RRCP_INTERNAL_H

#include "base/prng.h"
#include "packet.h"
#include "rrcp/rrcp.h"

/*
 * Which file does what:
 *
 *      engine.c    create, input, tick, deadline, output: the order in which the others are asked
 *      packet.c    formats and checks              auth.c     the trailer, replay windows
 *      pool.c      packet buffers, water marks     budget.h   token buckets
 *      sender.c    submit, packing, transmission window, pacing, flow control
 *      beacon.c    beacons, BYE, SOLICIT, HSM      repair.c   NAKs in; repairs and NCFs out
 *      peers.c     table, tombstones, life and death, timer heap
 *      window.c    receive window                  nak.c      which packets to ask for, and when
 *      status.c    STATUS, round trips, flow control's receivers, congestion
 *      unicast.c   the unicast stream              users.c    ports
 *      deliver.c   the queue of events; messages out of packets; reassembly
 *      check.c     the invariants of all these tables: rrcp_check()
 *
 * Sequence numbers are 64 bits and start at 1: they never wrap, so they are compared as numbers.
 */

#define RRCP_US        1000ull
#define RRCP_MS        1000000ull
#define RRCP_S         1000000000ull

#define RRCP_SEQ_MAX   (UINT64_MAX - UINT32_MAX) /* larger ones are nonsense */
#define UNICAST_WINDOW 256
#define CONTROL_QUEUE  512
#define REPAIR_QUEUE   4096
#define PEER_SELF      UINT32_MAX

enum rrcp_stream {
    STREAM_MULTICAST = 0,
    STREAM_UNICAST = 1,
};

/* ---- pool -------------------------------------------------------------------------------- */

enum buffer_kind {
    BUFFER_FREE,
    BUFFER_SEND,    /* transmission window and the packet being filled */
    BUFFER_RECEIVE, /* receive windows */
    BUFFER_UNICAST, /* unicast windows, both directions */
    BUFFER_CONTROL,
    BUFFER_kinds
};

struct rrcp_buffer {
    uint32_t next_free;
    uint16_t references; /* window, queue of events, transport: each holds one */
    uint16_t in_flight;  /* of these, the transport's */
    uint16_t length;
    uint8_t kind;
};

struct rrcp_pool {
    uint8_t *memory;
    bool memory_is_ours;
    size_t memory_bytes;
    uint32_t stride;
    uint32_t headroom;
    struct rrcp_buffer *buffers;
    uint32_t count;
    uint32_t free_head;
    uint32_t use;
    uint32_t high;
    uint32_t low;
    uint32_t kind_use[BUFFER_kinds];
    uint32_t kind_max[BUFFER_kinds];
    bool is_over;
};

/* A token bucket, kept as the time at which it will have been refilled for what was taken. */
struct rrcp_budget {
    uint64_t paid_until_ns;
};

/* ---- queue of events ---------------------------------------------------------------------- */

#define ITEM_PACKET 0 /* other kinds are enum rrcp_event_type */

struct rrcp_item {
    uint16_t kind;
    uint8_t stream;
    uint16_t port;
    uint32_t peer;   /* index, or PEER_SELF; the peer stays until its PEER_DOWN is taken */
    uint32_t buffer; /* reference to give back, or RRCP_BUFFER_NONE */
    uint32_t length; /* PACKET: end of the chunks */
    uint32_t count;
    uint32_t reason;
    const uint8_t *bytes;
    uint64_t session;
    uint64_t seq;
    uint64_t last;
    uint64_t time_ns;
};

/* A message of several packets being put together. */
struct rrcp_assembly {
    uint8_t *bytes;
    uint32_t size; /* of bytes */
    uint32_t total;
    uint32_t have;
    bool is_open;
};

/* ---- receive window ----------------------------------------------------------------------- */

enum slot_state {
    SLOT_EMPTY, /* nothing known: beyond the highest seen, or delivered */
    SLOT_HAVE,
    SLOT_REORDER, /* missing, may just be late */
    SLOT_BACKOFF, /* missing, will be asked for */
    SLOT_HOLDOFF, /* missing, somebody else asked for it */
    SLOT_ASKED,
    SLOT_LOST,
    SLOT_states
};

struct rrcp_slot {
    union {
        uint32_t buffer;   /* HAVE */
        uint32_t asked_us; /* ASKED: when */
    };
    uint32_t due_us;   /* engine's microseconds, low 32 bits: compared by distance */
    uint32_t first_us; /* noticed missing */
    uint8_t state;
    uint8_t tries;
    uint8_t confirms; /* NCF(REPAIR_COMING) that were believed */
    uint8_t reason;   /* LOST: why */
};

struct rrcp_window {
    struct rrcp_slot *slots; /* NULL while there was no hole */
    uint64_t *missing;       /* one bit per slot that is REORDER..ASKED */
    uint64_t next;           /* next to deliver */
    uint64_t highest;        /* highest seen or announced */
    uint64_t believed;       /* next seq of its last beacon */
    uint32_t missing_count;
    uint32_t have_count;
    uint64_t due_ns;    /* first request, give-up; RRCP_NEVER */
    uint64_t used_ns;   /* last time there was a hole */
    uint64_t gap_first; /* lost run at `next` not yet told; gap_count 0: none */
    uint64_t gap_count;
    uint32_t gap_reason;
};

/* ---- unicast stream ----------------------------------------------------------------------- */

struct unicast_sent {
    uint64_t sent_ns;
    uint32_t buffer;
    bool is_acked; /* by bitmap: a hint, taken back when the timer fires */
    bool is_again; /* must be sent again */
};

struct unicast_segment {
    struct unicast_segment *next;
    uint8_t bytes[65536 - sizeof(void *)];
};

struct unicast_record {
    uint32_t length;
    uint32_t topic;
    uint16_t source;
    uint16_t destination;
};

struct rrcp_unicast {
    /* what we send */
    uint64_t incarnation;
    uint64_t base;      /* lowest not acknowledged, from 1 */
    uint64_t next;      /* next to be made */
    uint64_t send_next; /* next to be sent for the first time */
    uint64_t resend_due_ns;
    uint64_t recovered; /* fast retransmit done up to here */
    uint32_t tries;
    uint32_t their_window;
    struct unicast_sent sent[UNICAST_WINDOW];
    struct unicast_segment *head; /* messages waiting: records {u32 length, u32 topic, ...} */
    struct unicast_segment *tail;
    uint32_t head_offset;
    uint32_t tail_offset;
    uint64_t queue_bytes;
    uint32_t queue_messages;
    struct unicast_record record; /* of the message at the head, once it is looked at */
    bool has_record;
    uint32_t piece_left; /* of it, not yet packed */
    uint32_t again_count;
    uint32_t peer; /* index */
    bool is_ready; /* in the list of streams with something to send */
    struct rrcp_unicast *ready_next;
    /* what we receive */
    bool is_receiving;
    uint64_t rx_incarnation;
    uint64_t rx_next; /* low 48 bits */
    uint32_t rx_have;
    uint32_t rx_buffer[UNICAST_WINDOW];
    uint32_t rx_unacked;
    uint64_t ack_due_ns;
    uint64_t rx_due_ns;    /* packets ahead of a hole that nobody fills go then */
    uint32_t echo_tx_time; /* of the last packet; 0: none to echo */
    uint64_t echo_ns;      /* when it came */
    bool reset_wanted;     /* tell it that we do not know the stream */
};

/* ---- peers -------------------------------------------------------------------------------- */

enum peer_state {
    PEER_FREE,
    PEER_LIVE,
    PEER_DEAD, /* told nobody yet: its events wait to be taken */
};

enum replay_class { REPLAY_GROUP, REPLAY_UNICAST, REPLAY_count };

struct rrcp_replay {
    uint64_t highest;
    uint64_t seen[1024 / 64];
    bool is_begun;
};

struct rrcp_peer {
    uint64_t session;
    uint32_t index;
    uint32_t order; /* place in the list of live peers */
    enum peer_state state;
    uint32_t hash_next;
    uint32_t heap_place; /* + 1; 0: not in the heap */
    uint64_t due_ns;

    uint64_t heard_ns;
    uint64_t path_ns[2];
    uint64_t group_ns;
    uint8_t path; /* heard last */
    struct rrcp_address address[2];
    uint8_t name_length;
    char name[RRCP_NODE_NAME_MAX];
    bool name_conflict;
    uint64_t conflict_ns;
    bool is_group_silent;
    uint16_t beacon_state;
    uint64_t solicit_due_ns;
    struct rrcp_replay *replay; /* REPLAY_count of them; NULL without keys */

    struct rrcp_window window;
    struct rrcp_assembly assembly[2];
    struct rrcp_unicast *unicast;
    uint64_t unicast_incarnation; /* to begin with: after what was before it died */
    uint64_t unicast_rx_next;
    uint64_t unicast_rx_incarnation;

    /* what it sent us: for STATUS */
    bool has_data;   /* since the last STATUS */
    bool has_status; /* it sent a STATUS since our last */
    uint32_t echo_tx_time;
    uint64_t echo_ns;
    uint64_t status_due_ns;
    uint64_t flow_due_ns;
    uint32_t flow_packets;
    uint64_t lost;
    uint64_t repaired;
    uint64_t missed;
    uint64_t naks_sent;
    uint64_t dup_packets;

    /* what it says of our data */
    uint64_t rtt_ns;     /* smoothed; 0: not measured */
    uint64_t rtt_var_ns; /* its mean deviation, smoothed */
    uint64_t their_next;
    uint32_t their_lost;
    uint32_t their_repaired;
    uint64_t their_progress_ns;
    bool is_flow_receiver;
    uint64_t rate_next; /* their_next and their_lost at the last look of congestion control */
    uint32_t rate_lost;
    uint64_t naks_rcvd;
    uint64_t repairs_sent;
    struct rrcp_budget nak_budget;
    struct rrcp_budget repair_budget;
};

struct rrcp_tombstone {
    uint64_t session; /* 0: free */
    uint64_t next;
    uint64_t died_ns;
    uint64_t rx_next;
    uint64_t rx_incarnation;
    uint64_t incarnation;
    bool is_over; /* it left or was replaced: what still comes is old, for a while */
    bool is_replaced;
};

/* ---- sending ------------------------------------------------------------------------------ */

struct sent_slot {
    uint64_t sent_ns;
    uint64_t multicast_ns; /* last repair to all; 0: never */
    uint64_t unicast_ns;   /* last repair to unicast_peer */
    uint32_t buffer;
    uint32_t unicast_peer;
    uint32_t first_asker;
    uint32_t late_asker; /* asked after a repair that then was lost on its way to it */
    bool is_asked;
    bool is_shared; /* asked for by two peers */
    bool has_late;
    uint8_t overrides;
    bool is_queued; /* a repair waits */
};

struct open_packet {
    uint32_t buffer; /* RRCP_BUFFER_NONE: no packet is open */
    uint8_t *bytes;
    uint32_t pos;
    uint32_t end;
    uint16_t chunks;
    uint16_t first_begin;
    bool can_same;
    bool is_looped; /* some local user must see it */
    uint16_t last_source;
    uint16_t last_destination;
    uint32_t last_topic;
};

struct repair {
    uint64_t seq;
    uint64_t ready_ns;
    uint32_t peer; /* PEER_SELF: to the group */
    uint64_t session;
};

struct control {
    uint32_t buffer;
    uint8_t path; /* unicast: which */
    bool is_group;
    struct rrcp_address to;
};

struct not_held_mark {
    uint64_t seq;
    uint64_t time_ns;
};

struct range_builder {
    uint64_t base;
    uint32_t count;
    uint32_t attempt;
    uint32_t wait_ms;
    uint64_t total;
    struct {
        uint32_t offset;
        uint32_t count;
    } ranges[PACKET_RANGES_MAX];
};

struct rrcp_sender {
    struct open_packet open;
    uint64_t first_seq;
    uint64_t next_seq;  /* of the packet being filled */
    uint64_t send_next; /* first closed packet not yet sent */
    uint64_t trail;     /* lowest held */
    struct sent_slot *slots;
    uint32_t slot_mask;
    bool is_ready_wanted;
    bool is_resend_second; /* second path's copy of send_next is due */
    uint64_t rate;         /* bytes/s now; 0: unlimited */
    struct rrcp_budget data_budget;

    uint32_t start_beacons; /* still to send before data may flow */
    uint64_t beacon_due_ns;
    uint64_t beacon_wait_ns;
    uint32_t beacon_counter;
    uint64_t beacon_sent_ns;
    uint64_t pad_due_ns;
    uint64_t solicit_answer_ns; /* RRCP_NEVER: none wanted */
    uint64_t hsm_due_ns;
    int stop_reason; /* 0: not stopping */
    uint32_t byes_left;
    uint64_t bye_due_ns;
    bool is_stopped;

    uint64_t flow_next; /* lowest next expected of the active receivers; UINT64_MAX: none */
    uint64_t flow_due_ns;
    uint64_t rate_up_ns;
    uint64_t rate_down_ns;
    bool is_cut;
    uint64_t data_ns; /* when data was last sent */

    struct repair repairs[REPAIR_QUEUE];
    uint32_t repair_head;
    uint32_t repair_count;
    uint64_t repair_rate;
    struct rrcp_budget repair_budget;
    struct rrcp_budget nak_in_budget;
    uint32_t asked_recently; /* decaying counts: packets asked for, and by a second peer too */
    uint32_t shared_recently;
    struct not_held_mark not_held[256];
    uint64_t rtt_ns; /* smoothed over all peers; stands in for one not yet measured */
};

struct user_slot {
    uint16_t port; /* 0: free */
    bool receives;
    bool is_leaving; /* its USER_DOWN waits to be sent */
    uint8_t reason;
};

struct rrcp {
    struct rrcp_config config;
    struct rrcp_env env;
    char node[RRCP_NODE_NAME_MAX + 1];
    struct packet_rules rules;
    uint64_t session;
    uint64_t hash_key[2];
    struct md_prng prng;
    struct rrcp_counters counters;
    uint64_t now_ns;
    bool is_group_arrival;   /* the packet being looked at came by the group */
    uint64_t input_empty_ns; /* when the network was last found empty */
    uint32_t chunks_end_max; /* packet limit without trailer */

    struct rrcp_pool pool;
    struct rrcp_sender sender;

    struct user_slot users[RRCP_USER_MAX];
    uint32_t next_port;
    uint32_t receiver_count;
    uint32_t leaving_count;

    struct rrcp_peer **peers; /* by index */
    uint32_t peer_slots;      /* indices ever used */
    uint32_t *live;           /* indices of live peers */
    uint32_t live_count;
    uint32_t *hash; /* session -> index + 1 */
    uint32_t hash_mask;
    uint32_t *heap; /* indices, by due_ns */
    uint32_t heap_count;
    struct rrcp_peer *last_peer;
    struct rrcp_tombstone *tombstones;
    uint32_t tombstone_next;
    struct rrcp_budget creation_budget;
    uint32_t window_count;
    struct rrcp_unicast *unicast_ready; /* streams with something to pack or send */
    struct rrcp_unicast *unicast_ready_tail;
    struct rrcp_budget nak_out_budget;
    struct rrcp_budget status_budget;
    uint64_t path_ns[2];
    bool path_is_silent[2];
    uint64_t unicast_bytes;
    struct rrcp_unicast *self_unicast;
    uint64_t useless_second_ns;
    uint64_t useless_repairs;
    uint64_t useful_repairs;

    struct rrcp_item *items;
    uint32_t item_mask;
    uint32_t item_head;
    uint32_t item_tail;
    uint32_t walk_pos; /* in the packet at the head; 0: not begun */
    struct packet_chunk walk_chunk;
    struct rrcp_assembly self_assembly[2];
    uint64_t assembly_bytes;
    uint32_t release_count; /* packets at the head whose messages the last rrcp_event gave */
    struct rrcp_peer *release_peer;

    struct control controls[CONTROL_QUEUE];
    uint32_t control_head;
    uint32_t control_count;
    uint32_t *handed; /* buffers handed out by the last rrcp_output, to be given back */
    uint32_t handed_count;
    uint32_t handed_max;
    uint32_t flight_count; /* with completes_late */
    struct rrcp_address *handed_to;
    uint64_t auth_counter;
    uint64_t note_ns[RRCP_NOTE_count];
};

/* ---- engine.c ----------------------------------------------------------------------------- */

void *rrcp_take(struct rrcp *r, size_t bytes);
void rrcp_give(struct rrcp *r, void *memory, size_t bytes);
void rrcp_note(struct rrcp *r, enum rrcp_note note, uint64_t session, uint64_t value);
void rrcp_drop(struct rrcp *r, enum rrcp_drop drop);
/* From 0 to limit - 1. */
uint64_t rrcp_random(struct rrcp *r, uint64_t limit);
/* A buffer with the header of `type`, to be filled and queued; RRCP_BUFFER_NONE: no room. */
uint32_t rrcp_control_make(struct rrcp *r, enum packet_type type, uint8_t **bytes);
/* Queue it; peer NULL: to the group. */
void rrcp_control_send(struct rrcp *r, uint32_t buffer, uint32_t length,
                       const struct rrcp_peer *peer);

static inline void rrcp_moved(struct rrcp *r, enum rrcp_transition transition)
{
    r->counters.transitions[transition]++;
}

static inline uint32_t rrcp_us(uint64_t now_ns)
{
    return (uint32_t)(now_ns / RRCP_US);
}

static inline uint64_t rrcp_clamp(uint64_t value, uint64_t low, uint64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static inline uint64_t rrcp_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- config.c ----------------------------------------------------------------------------- */

/* MD_ERR_RANGE when a value lies outside its limits. */
int rrcp_config_check(const struct rrcp_config *config);

/* ---- pool.c ------------------------------------------------------------------------------- */

int rrcp_pool_init(struct rrcp *r);
void rrcp_pool_fini(struct rrcp *r);
/* One reference to the caller; RRCP_BUFFER_NONE when that kind may have no more. */
uint32_t rrcp_pool_take(struct rrcp *r, enum buffer_kind kind);
void rrcp_pool_hold(struct rrcp *r, uint32_t buffer);
void rrcp_pool_give(struct rrcp *r, uint32_t buffer);
/* How many more the kind may have now. */
uint32_t rrcp_pool_room(const struct rrcp *r, enum buffer_kind kind);

static inline uint8_t *rrcp_pool_bytes(const struct rrcp *r, uint32_t buffer)
{
    return r->pool.memory + (size_t)buffer * r->pool.stride + r->pool.headroom;
}

static inline struct rrcp_buffer *rrcp_pool_buffer(struct rrcp *r, uint32_t buffer)
{
    return &r->pool.buffers[buffer];
}

/* ---- budget: rate units per second, burst units ------------------------------------------- */

static inline uint64_t rrcp_budget_wait(const struct rrcp_budget *b, uint64_t now_ns)
{
    return b->paid_until_ns > now_ns ? b->paid_until_ns - now_ns : 0;
}

/* Pay for `units`; may go into debt, which rrcp_budget_wait() tells. */
static inline void rrcp_budget_pay(struct rrcp_budget *b, uint64_t now_ns, uint64_t units,
                                   uint64_t rate, uint64_t burst)
{
    uint64_t burst_ns = burst * RRCP_S / rate;
    uint64_t floor_ns = now_ns > burst_ns ? now_ns - burst_ns : 0;

    if (b->paid_until_ns < floor_ns)
        b->paid_until_ns = floor_ns;
    b->paid_until_ns += units * RRCP_S / rate;
}

/* Pay if there is something left. */
static inline bool rrcp_budget_take(struct rrcp_budget *b, uint64_t now_ns, uint64_t units,
                                    uint64_t rate, uint64_t burst)
{
    if (rrcp_budget_wait(b, now_ns) > 0)
        return false;
    rrcp_budget_pay(b, now_ns, units, rate, burst);
    return true;
}

/* ---- sender.c ----------------------------------------------------------------------------- */

int rrcp_sender_init(struct rrcp *r);
void rrcp_sender_fini(struct rrcp *r);
void rrcp_sender_close_packet(struct rrcp *r); /* the open one, if any */
/* The next data packet that may go now, or RRCP_BUFFER_NONE. */
uint32_t rrcp_sender_output(struct rrcp *r);
void rrcp_sender_tick(struct rrcp *r);
uint64_t rrcp_sender_deadline(const struct rrcp *r);
/* The window's slot of a held packet, or NULL. */
struct sent_slot *rrcp_sender_slot(struct rrcp *r, uint64_t seq);
/* Events: submit works again. */
void rrcp_sender_ready(struct rrcp *r);
int rrcp_sender_submit(struct rrcp *r, uint16_t port, const struct rrcp_msg *msg);
/* `held` of the header of a packet about to leave. */
uint32_t rrcp_sender_held(const struct rrcp *r, uint64_t seq);

/* ---- beacon.c ----------------------------------------------------------------------------- */

void rrcp_beacon_init(struct rrcp *r);
void rrcp_beacon_data_sent(struct rrcp *r); /* restart the schedule */
void rrcp_beacon_tick(struct rrcp *r);
uint64_t rrcp_beacon_deadline(const struct rrcp *r);
void rrcp_beacon_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view);
void rrcp_bye_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view);
void rrcp_solicit_input(struct rrcp *r, const struct packet_view *view);
void rrcp_solicit_send(struct rrcp *r, struct rrcp_peer *peer);

/* ---- repair.c ----------------------------------------------------------------------------- */

void rrcp_nak_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view);
/* The next repair that may go now: a buffer (one reference to the caller) and whereto (NULL: the
 * group); RRCP_BUFFER_NONE: none. */
uint32_t rrcp_repair_output(struct rrcp *r, const struct rrcp_peer **to);
uint64_t rrcp_repair_deadline(const struct rrcp *r);

/* Write ranges after `pos`; returns the end. */
uint32_t rrcp_ranges_write(const struct range_builder *b, uint8_t *bytes, uint32_t pos);
/* False: another range does not fit, or lies too far from the base. */
bool rrcp_ranges_add(struct range_builder *b, uint64_t first, uint64_t count);

/* ---- peers.c ------------------------------------------------------------------------------ */

int rrcp_peers_init(struct rrcp *r);
void rrcp_peers_fini(struct rrcp *r);
struct rrcp_peer *rrcp_peer_find(struct rrcp *r, uint64_t session);
/* A new peer that expects `next`, and its PEER_UP; NULL: no room, or dropped. */
struct rrcp_peer *rrcp_peer_meet(struct rrcp *r, uint64_t session, uint64_t next, bool is_beacon,
                                 const struct rrcp_arrival *arrival);
void rrcp_peer_lose(struct rrcp *r, struct rrcp_peer *peer, enum rrcp_down_reason reason);
void rrcp_peer_free(struct rrcp *r, struct rrcp_peer *peer); /* its PEER_DOWN was taken */
#define PEER_STEP_NS                                                                               \
    (50 * RRCP_US) /* one whose timer cannot act yet is looked at again after this */

/* When its earliest timer is due. */
uint64_t rrcp_peer_due(const struct rrcp *r, const struct rrcp_peer *peer);
/* Its timers changed. */
void rrcp_peer_arm(struct rrcp *r, struct rrcp_peer *peer);
/* The same, but only what became due earlier; later is found out in time. */
void rrcp_peer_arm_earlier(struct rrcp *r, struct rrcp_peer *peer);
void rrcp_peers_tick(struct rrcp *r);
uint64_t rrcp_peers_deadline(const struct rrcp *r);
struct rrcp_tombstone *rrcp_tombstone_find(struct rrcp *r, uint64_t session);

/* ---- window.c ----------------------------------------------------------------------------- */

void rrcp_window_data(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view);
/* Everything below `next_seq` was sent: what of it was not seen is missing. */
void rrcp_window_announce(struct rrcp *r, struct rrcp_peer *peer, uint64_t next_seq);
/* Nothing below `trail` is held any more. */
void rrcp_window_trail(struct rrcp *r, struct rrcp_peer *peer, uint64_t trail);
/* One missing packet will not come. */
void rrcp_window_lose(struct rrcp *r, struct rrcp_peer *peer, uint64_t seq,
                      enum rrcp_gap_reason reason);
/* Deliver what can be. */
void rrcp_window_drain(struct rrcp *r, struct rrcp_peer *peer);
/* Deliver all there is, with gaps for what is not; nothing is missing afterwards. */
void rrcp_window_finish(struct rrcp *r, struct rrcp_peer *peer, enum rrcp_gap_reason reason);
void rrcp_window_close(struct rrcp *r, struct rrcp_peer *peer);
void rrcp_window_gap(struct rrcp *r, struct rrcp_peer *peer); /* tell the pending one */

static inline struct rrcp_slot *rrcp_window_slot(const struct rrcp *r, const struct rrcp_window *w,
                                                 uint64_t seq)
{
    return &w->slots[seq & (r->config.window_packets - 1)];
}

/* ---- the size of the group ---------------------------------------------------------------- */

#define CROWD_FULL 8

/*
 * How far the waits that spread a group's requests apply: from 0, where the sender and one receiver
 * are alone and there is nobody to wait for, to CROWD_FULL with so many other receivers or more.
 */
static inline uint32_t rrcp_crowd(const struct rrcp *r)
{
    uint32_t others = r->live_count > 0 ? r->live_count - 1 : 0;

    return r->config.retry == RRCP_RETRY_FIXED || others > CROWD_FULL ? CROWD_FULL : others;
}

/* What one receiver may take of a rate that is meant for `CROWD_SHARES` of them at a time. */
#define CROWD_SHARES 4

static inline uint32_t rrcp_crowd_share(const struct rrcp *r, uint32_t rate)
{
    uint64_t receivers = rrcp_clamp(r->live_count, 1, CROWD_SHARES);

    return r->config.retry == RRCP_RETRY_FIXED
               ? rate
               : (uint32_t)((uint64_t)rate * CROWD_SHARES / receivers);
}

/* ---- nak.c -------------------------------------------------------------------------------- */

void rrcp_nak_schedule(struct rrcp *r, struct rrcp_peer *peer, struct rrcp_slot *slot);
void rrcp_nak_tick(struct rrcp *r, struct rrcp_peer *peer);
void rrcp_ncf_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view);

/* ---- status.c ----------------------------------------------------------------------------- */

void rrcp_status_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view);
void rrcp_status_tick(struct rrcp *r, struct rrcp_peer *peer);
void rrcp_status_data(struct rrcp *r, struct rrcp_peer *peer); /* data came from it */
void rrcp_rtt_sample(struct rrcp *r, struct rrcp_peer *peer, uint64_t rtt_ns);
void rrcp_flow_look(struct rrcp *r); /* recompute the slowest active receiver */
void rrcp_rate_tick(struct rrcp *r); /* congestion control */

/* ---- unicast.c ---------------------------------------------------------------------------- */

int rrcp_unicast_submit(struct rrcp *r, uint16_t port, const struct rrcp_msg *msg);
void rrcp_udata_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view);
void rrcp_uack_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view);
void rrcp_unicast_tick(struct rrcp *r, struct rrcp_peer *peer);
uint64_t rrcp_unicast_deadline(const struct rrcp_peer *peer);
/* The next unicast packet that may go now, and whereto. */
uint32_t rrcp_unicast_output(struct rrcp *r, const struct rrcp_peer **to);
void rrcp_unicast_close(struct rrcp *r, struct rrcp_peer *peer);
void rrcp_unicast_self(struct rrcp *r); /* messages to ourselves become events */

/* ---- users.c ------------------------------------------------------------------------------ */

void rrcp_users_tick(struct rrcp *r); /* USER_DOWNs that waited */
struct user_slot *rrcp_user_find(struct rrcp *r, int port);

/* ---- deliver.c ---------------------------------------------------------------------------- */

int rrcp_deliver_init(struct rrcp *r);
void rrcp_deliver_fini(struct rrcp *r);
/* A new item at the tail. There is always room: see rrcp_deliver_init(). */
struct rrcp_item *rrcp_deliver_add(struct rrcp *r, uint16_t kind, uint32_t peer, uint64_t session);
void rrcp_deliver_packet(struct rrcp *r, uint32_t peer, uint64_t session, enum rrcp_stream stream,
                         const uint8_t *bytes, uint32_t end, uint64_t seq, uint32_t buffer);
void rrcp_assembly_give(struct rrcp *r, struct rrcp_assembly *assembly);

/* ---- auth.c ------------------------------------------------------------------------------- */

void rrcp_auth_sign(struct rrcp *r, uint8_t *bytes, uint32_t length);
/* -1, or enum rrcp_drop. */
int rrcp_auth_verify(struct rrcp *r, const struct packet_view *view);
int rrcp_auth_replay(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view);

#endif
