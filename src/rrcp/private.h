/* private.h - the state of the engine: types, no functions. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_PRIVATE_H
#define RRCP_PRIVATE_H

#include "base/prng.h"
#include "packet.h"
#include "rrcp/rrcp.h"
#include "units.h"
#include "window.h"

/* Sequence numbers have 64 bits and start at 1. They never wrap, so the code compares numbers. */

#define RRCP_SEQ_MAX   (UINT64_MAX - UINT32_MAX) /* a larger one is invalid */
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
    uint16_t references; /* of the window, the queue of events, the transport */
    uint16_t in_flight;  /* references of the transport */
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

/* A token bucket, stored as the time at which all units taken so far will be refilled. */
struct rrcp_budget {
    uint64_t paid_until_ns;
};

/* ---- queue of events ---------------------------------------------------------------------- */

#define ITEM_PACKET 0 /* other kinds are enum backbone_event_type */

struct rrcp_item {
    uint16_t kind;
    uint8_t stream;
    bool is_theirs; /* GAP of a unicast stream: the peer's, not ours */
    uint16_t port;
    uint32_t peer;   /* index, or PEER_SELF; the peer keeps its memory until the user takes its
                        PEER_DOWN */
    uint32_t buffer; /* the item's reference, or RRCP_BUFFER_NONE */
    uint32_t length; /* PACKET: end of the chunks */
    uint32_t count;
    uint32_t reason;
    const uint8_t *bytes;
    uint64_t session;
    uint64_t seq;
    uint64_t last;
    uint64_t time_ns;
};

/* Reassembles a message of several packets. */
struct rrcp_assembly {
    uint8_t *bytes;
    uint32_t size; /* of bytes */
    uint32_t total;
    uint32_t have;
    bool is_open;
};

/* ---- unicast stream ----------------------------------------------------------------------- */

struct unicast_sent {
    uint64_t sent_ns;
    uint32_t buffer;
    bool is_acked; /* by bitmap: a hint, cleared when the timer fires */
    bool is_again; /* must be sent again */
};

struct unicast_segment {
    struct unicast_segment *next;
    uint8_t bytes[8192 - sizeof(void *)];
};

/* Messages that wait in one order. Lanes take turns; see unicast_queue.c. */
struct unicast_lane {
    struct unicast_segment *head; /* records {u32 length, u32 topic, ...}; NULL: no bytes */
    struct unicast_segment *tail;
    uint32_t head_offset;
    uint32_t tail_offset;
    uint64_t bytes;
    uint32_t messages;
    int64_t credit;             /* bytes that it may still send in this turn */
    uint64_t left;              /* rrcp_unicast.bytes_sent when it became empty */
    struct unicast_lane *after; /* of those that wait for their turn */
};

struct unicast_record {
    uint32_t length;
    uint32_t topic;
    uint16_t source;
    uint16_t destination;
};

struct rrcp_unicast {
    /* sending */
    uint64_t incarnation;
    uint64_t base;      /* lowest not acknowledged, from 1 */
    uint64_t next;      /* next to be packed */
    uint64_t send_next; /* next to be sent for the first time */
    uint64_t resend_due_ns;
    uint32_t tries;
    uint32_t their_window;
    struct unicast_sent sent[UNICAST_WINDOW];
    struct unicast_lane plain;  /* rrcp_msg.lane is 0 */
    struct unicast_lane wishes; /* our interest: goes before all others */
    struct unicast_lane *lanes; /* UNICAST_LANES: the others, by a hash; NULL: none was needed */
    struct unicast_lane *turn_first, *turn_last; /* lanes with messages, but `wishes` */
    uint64_t bytes_sent;                         /* of these lanes; an end of all is more */
    uint64_t queue_bytes;                        /* of all */
    uint32_t queue_messages;
    struct unicast_lane *record_lane;
    struct unicast_record record; /* of the message that is being packed */
    bool has_record;
    uint32_t piece_left; /* bytes of that message not yet packed */
    uint32_t again_count;
    uint32_t peer;      /* index */
    uint64_t behind_ns; /* since when acknowledgements contradict earlier ones; 0: they do not */
    bool is_ready;      /* in the list of streams with something to send */
    struct rrcp_unicast *ready_next;
    /* receiving */
    bool is_receiving;
    uint64_t rx_incarnation;
    uint64_t rx_next; /* low 48 bits */
    uint32_t rx_have;
    uint32_t rx_buffer[UNICAST_WINDOW];
    uint32_t rx_unacked;
    uint64_t ack_due_ns;
    uint64_t rx_due_ns;    /* drop packets ahead of a hole that stays open */
    uint32_t echo_tx_time; /* of the last packet; 0: nothing to echo */
    uint64_t echo_ns;      /* arrival of that packet */
    bool reset_wanted;     /* the next UACK says that we do not know the stream */
};

/* ---- peers -------------------------------------------------------------------------------- */

enum peer_state {
    PEER_FREE,
    PEER_LIVE,
    PEER_DEAD, /* out of the tables; its events are still queued */
};

enum replay_class { REPLAY_GROUP, REPLAY_UNICAST, REPLAY_count };

enum { CIPHER_count = 2 };

struct rrcp_replay {
    uint64_t highest;
    uint64_t seen[1024 / 64];
};

/* Why a peer is challenged, as bits. */
enum doubt_why {
    DOUBT_BEYOND = 1, /* it claims packets beyond what a claim may move */
    DOUBT_BELOW = 2,  /* all that came for DOUBT_BELOW_NS lies below what was delivered */
    DOUBT_BYE = 4,    /* it says that it leaves */
    DOUBT_RIVAL = 8,  /* another session has its name and has proved its address */
};

#define DOUBT_BELOW_NS (500 * RRCP_MS)

/*
 * A round of three challenges, 100 ms apart. An echo of the round's nonce decides, or the silence
 * until 300 ms after the first.
 */
struct rrcp_doubt {
    uint8_t why;         /* bits of enum doubt_why; 0: no round */
    uint8_t sent;        /* challenges of this round */
    uint32_t round;      /* part of the nonce: an echo of an earlier round decides nothing */
    uint64_t begun_ns;   /* of the last round */
    uint64_t due_ns;     /* next challenge or the end of the round; RRCP_NEVER */
    uint64_t below_ns;   /* since when everything lies below `next`; 0: it does not */
    uint64_t patient_ns; /* no new round because of a rival before this */
    uint64_t rival;      /* session; 0: none */
    uint8_t rival_path;
    struct rrcp_address rival_address;
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
    uint64_t group_ns;
    uint8_t path; /* heard last */
    struct rrcp_address address[2];
    uint8_t name_length;
    char name[RRCP_NODE_NAME_MAX];
    bool is_group_silent;
    uint16_t beacon_state;
    struct rrcp_doubt doubt;
    struct rrcp_replay *replay;                /* REPLAY_count of them; NULL without keys */
    void *openers[RRCP_KEY_MAX][CIPHER_count]; /* env.seal's states, made when first needed */
    uint64_t data_counter[2];                  /* highest of its DATA, by path */
    uint8_t key_id;                            /* of its last packet */

    struct rrcp_window window;
    struct rrcp_assembly assembly[2];
    struct rrcp_unicast *unicast;
    uint64_t unicast_incarnation; /* first one to use: after those of before its death */
    uint64_t unicast_rx_next;
    uint64_t unicast_rx_incarnation;
    bool is_interest_told;     /* what our users want now is in its stream */
    bool is_interest_lost;     /* it may have lost that: to be said again, once a second */
    bool had_interest;         /* it was told of an interest in less than everything */
    uint64_t interest_said_ns; /* when it was told last */
    uint8_t place;             /* mesh: its bit, + 1; 0: none */

    /* its data, for our STATUS */
    bool has_data;   /* data arrived since our last STATUS */
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

    /* our data, by its STATUS */
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
    bool is_over; /* it left or was replaced: for a while its packets are old ones */
    bool is_left; /* it left */
};

/* ---- sending ------------------------------------------------------------------------------ */

struct sent_slot {
    uint64_t sent_ns;
    uint64_t multicast_ns; /* last repair to all; 0: never */
    uint64_t unicast_ns;   /* last repair to unicast_peer */
    uint32_t buffer;
    uint32_t unicast_peer;
    uint32_t first_asker;
    uint32_t late_asker; /* peer that asked again after a repair to all */
    bool is_asked;
    bool is_shared; /* two peers asked for it */
    bool has_late;
    uint8_t overrides;
    bool is_queued; /* a repair is queued */
};

struct open_packet {
    uint32_t buffer; /* RRCP_BUFFER_NONE: no packet is open */
    uint8_t *bytes;
    uint32_t pos;
    uint32_t end;
    uint16_t chunks;
    uint16_t first_begin;
    bool can_same;
    bool is_looped;  /* a local user gets it too */
    uint64_t wanted; /* mesh: peers that want a message in it */
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
    uint8_t path; /* of a unicast packet */
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
    uint64_t rate; /* present limit in bytes/s; 0: none */
    struct rrcp_budget data_budget;

    uint32_t start_beacons; /* left to send before data may flow */
    uint64_t beacon_due_ns;
    uint64_t beacon_wait_ns;
    uint32_t beacon_counter;
    uint64_t beacon_sent_ns;
    uint64_t pad_due_ns;
    uint64_t hsm_due_ns;
    int stop_reason; /* 0: not stopping */
    uint32_t byes_left;
    bool is_lingering; /* the BYEs are out, receivers may still ask whether they are true */
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
    uint32_t
        asked_recently; /* decaying counts: packets with a request, and with one of a second peer */
    uint32_t shared_recently;
    struct not_held_mark not_held[256];
    uint64_t rtt_ns; /* smoothed over all peers; used for a peer not measured yet */
};

/* Limits what strangers may cause: one bucket for each of so many groups of addresses. */
#define ADDRESS_BUCKETS 256
#define RECENT_SLOTS    256
#define OPENER_SLOTS    64

/* A flood of one class takes nothing from another. */
enum key_class {
    KEY_UNICAST,
    KEY_GROUP,
    KEY_PROOF,  /* a BEACON that echoes our nonce */
    KEY_MEMBER, /* mesh: its pass is right */
    KEY_count
};

struct rrcp_strangers {
    struct rrcp_budget challenge_budget; /* in all */
    struct rrcp_budget answer_budget;
    struct rrcp_budget challenge_by[ADDRESS_BUCKETS];
    struct rrcp_budget answer_by[ADDRESS_BUCKETS];
    struct rrcp_budget creation_by[ADDRESS_BUCKETS];
    struct rrcp_budget key_budget[KEY_count]; /* session keys made for packets of strangers */
    struct rrcp_budget key_by[KEY_count][ADDRESS_BUCKETS];
    /* Session keys of sessions that are no peers yet. */
    struct {
        uint64_t session;
        uint8_t key;
        uint8_t cipher;
        void *opener;
    } openers[OPENER_SLOTS];
    struct {
        uint64_t session;
        uint64_t sent_ns;
        uint8_t path;
    } recent[RECENT_SLOTS]; /* sessions challenged a moment ago */
};

/* ---- mesh --------------------------------------------------------------------------------- */

#define MESH_BOOK_MAX (RRCP_MESH_SEEDS_MAX + RRCP_MESH_PEERS_MAX)

struct mesh_entry {
    struct rrcp_address address;
    uint64_t session;  /* of the live peer there; 0: there is none */
    uint64_t named_ns; /* when a peer named it last, or was lost */
    uint64_t since_ns; /* its peer is live, or is not, since then */
    uint64_t probe_due_ns;
    uint32_t tries; /* probes since it had a peer */
    bool is_seed;   /* of the configuration: never forgotten */
};

struct rrcp_mesh {
    struct mesh_entry entries[MESH_BOOK_MAX];
    uint32_t count;
    uint32_t turn;    /* whose probe is looked at next */
    uint32_t version; /* of the list of live peers */
    uint32_t named;   /* place in the list of live peers that the next beacon begins with */
    uint64_t due_ns;  /* next probe; RRCP_NEVER */
    struct rrcp_budget probe_budget;
    struct rrcp_address refused_from, refused_self; /* the last session that was not admitted */
};

/* ---- interest ----------------------------------------------------------------------------- */

#define INTEREST_SLOTS 32768 /* at most half of them are in use */
#define SKIP_RUN_MAX   1024  /* numbers in a row that one SKIP adds to those seen */

/* Of one live peer. Its bit stands for it in every set of peers. */
struct interest_peer {
    uint64_t session;
    uint64_t since;     /* packets before it were sent, or not, to another peer with the same bit */
    uint64_t run_first; /* packets that it was not sent and was not told of yet */
    uint64_t due_ns;    /* when it is to be told; RRCP_NEVER */
    uint32_t run_count;
    uint32_t version; /* of its interest */
    uint32_t count;
    uint32_t topics[RRCP_INTEREST_MAX];
};

struct interest_topic {
    uint32_t topic;
    bool is_used;
    uint64_t peers; /* that want it */
};

struct rrcp_interest {
    uint64_t live;     /* peers */
    uint64_t filtered; /* those that do not want everything */
    uint64_t pending;  /* those with a run */
    uint64_t due_ns;
    uint32_t used;          /* slots of the table */
    bool is_all;            /* our own users want everything */
    uint32_t first_version; /* everything: they had not said anything */
    uint32_t version;
    uint32_t count;
    uint32_t topics[RRCP_INTEREST_MAX];
    struct interest_peer peers[RRCP_MESH_PEERS_MAX];
    struct interest_topic table[INTEREST_SLOTS];
    uint64_t skipped[]; /* by sequence number, like the window of sent packets and for longer: the
                           peers that the packet was not sent to */
};

struct user_slot {
    uint16_t port; /* 0: free */
    bool receives;
    bool is_leaving; /* its USER_DOWN is not sent yet */
    uint8_t reason;
};

struct rrcp {
    struct rrcp_config config;
    struct rrcp_env env;
    char node[RRCP_NODE_NAME_MAX + 1];
    struct packet_rules rules;
    uint64_t session;
    uint64_t hash_key[2];
    uint64_t nonce_key[2];
    uint64_t pass_key[RRCP_KEY_MAX][2]; /* of each key */
    struct md_prng prng;
    struct rrcp_counters counters;
    uint64_t now_ns;
    uint8_t other_version; /* of the last packet that was refused for it; 0: none */
    struct rrcp_address other_version_from;
    bool is_group_arrival;   /* the present packet came by the group */
    bool is_fresh_arrival;   /* and, with keys, is no repetition of an earlier one */
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
    struct rrcp_strangers strangers;
    struct rrcp_mesh mesh;
    struct rrcp_interest *interest; /* NULL but in a mesh */
    uint32_t window_count;
    struct rrcp_unicast *unicast_ready; /* streams with something to pack or send */
    struct rrcp_unicast *unicast_ready_tail;
    struct rrcp_budget nak_out_budget;
    struct rrcp_budget status_budget;
    uint64_t path_ns[2];
    bool path_is_silent[2];
    uint64_t unicast_bytes;           /* memory of the segments in lanes */
    struct unicast_segment *segments; /* spare ones */
    uint32_t segment_count;
    struct rrcp_unicast *self_unicast;
    uint64_t useless_second_ns;
    uint64_t useless_repairs;
    uint64_t useful_repairs;

    struct rrcp_item *items;
    uint32_t item_mask;
    uint32_t item_head;
    uint32_t item_tail;
    uint32_t way_tail; /* what was delivered to make room in the pool lies before it */
    uint32_t walk_pos; /* offset in the packet at the head; 0: not begun */
    struct packet_chunk walk_chunk;
    bool are_odd; /* the last events are not all messages of users */
    struct rrcp_assembly self_assembly[2];
    uint64_t assembly_bytes;
    uint32_t release_count; /* packets at the head that the last rrcp_event() finished */
    struct rrcp_peer *release_peer;

    struct control controls[CONTROL_QUEUE];
    uint32_t control_head;
    uint32_t control_count;
    uint32_t *handed; /* buffers of the last rrcp_output(), released by the next */
    uint32_t handed_count;
    uint32_t handed_max;
    uint32_t flight_count; /* buffers that the transport has */
    struct rrcp_address *handed_to;
    void *sealer; /* env.seal's state of our own session */
    uint64_t auth_counter;
    uint8_t *
        sealed; /* with `encrypts`, unless the transport completes late: packets on their way out */
    uint8_t *opened; /* encrypted packets of the present arrivals */
    size_t opened_size;
    size_t opened_use;
    uint64_t note_ns[RRCP_NOTE_count];
};

#endif
