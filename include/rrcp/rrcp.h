/* rrcp/rrcp.h - the reliable multicast engine: packets, time and messages in; packets and events
 * out.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_RRCP_H
#define RRCP_RRCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backbone/event.h"

/*
 * One engine is one node of one network. It opens nothing, reads no clock, starts no thread: the
 * shell around it feeds received packets in, sends the packets that the engine hands out, and
 * sleeps until the engine's deadline. The same arguments give the same outputs, byte for byte. An
 * engine belongs to one thread. All times are nanoseconds of a clock that never goes back.
 *
 * The shell's loop, in full:
 *
 *     for (;;) {
 *         n = receive(arrivals);               n may be 0: pass it on, with count 0
 *         rrcp_input(r, now, arrivals, n);
 *         while ((n = rrcp_event(r, events, max)) > 0)
 *             give the events to the users;
 *         for each message of a user, until rrcp_submit returns MD_ERR_FULL
 *             rrcp_submit(r, now, port, &message);
 *         rrcp_tick(r, now);
 *         while ((n = rrcp_output(r, now, packets, max)) > 0)
 *             send(packets);
 *         while ((n = rrcp_event(r, events, max)) > 0)
 *             give the events to the users;    own messages come back to local users this way
 *         sleep until rrcp_deadline(r), or until there is something to receive or to submit
 *     }
 */
struct rrcp;

#define RRCP_NEVER             UINT64_MAX
#define RRCP_ADDRESS_BYTES_MAX 64
#define RRCP_NODE_NAME_MAX     64
#define RRCP_PACKET_BYTES_MAX  9000 /* of any node; a longer one is invalid */
#define RRCP_KEY_MAX           4
#define RRCP_USER_MAX          64
#define RRCP_TOPIC_USER_DOWN   0xfffffffeu /* reserved: only the engine sends to it */
#define RRCP_PORT_RESERVED     65535u      /* of no user: relays send from it (relay/wire.h) */
#define RRCP_BUFFER_NONE       UINT32_MAX
#define RRCP_MESH_SEEDS_MAX    64
#define RRCP_MESH_PEERS_MAX    64
#define RRCP_INTEREST_MAX      256

/*
 * A transport's address of a node. The engine stores and compares it, but never interprets it.
 * Unicast to a node goes to the address from which its packets come, so a transport sends all
 * packets from its unicast socket. A node that restarts on the same host under the same name
 * replaces its former session at once.
 */
struct rrcp_address {
    uint8_t length;      /* 0: no address */
    uint8_t host_length; /* the first so many bytes name the host, the others may change with a
                          * restart; 0: all bytes name the host */
    uint8_t bytes[RRCP_ADDRESS_BYTES_MAX];
};

/* ---- configuration -------------------------------------------------------------------------- */

enum rrcp_flow_control {
    RRCP_FLOW_CONTROL_MAX, /* the sender never waits for a receiver */
    RRCP_FLOW_CONTROL_MIN, /* the sender stays within half a window of each live receiver */
};

enum rrcp_retry {
    RRCP_RETRY_FAST, /* waits scale with round trip and size of the group, up to those configured */
    RRCP_RETRY_FIXED, /* always the configured waits, and those of a large group */
};

enum rrcp_congestion {
    RRCP_CONGESTION_OFF,
    RRCP_CONGESTION_AIMD, /* needs data_rate */
};

struct rrcp_key {
    uint8_t id;
    uint8_t bytes[32];
};

/* Numbers as in the trailer of a packet. */
enum rrcp_cipher {
    RRCP_CIPHER_AES_128_GCM = 2,
    RRCP_CIPHER_AES_256_GCM = 3,
};

/*
 * A mesh: the network has no group, so what is for the group goes to each live peer alone. The
 * shell asks rrcp_group() where that is. Nodes know the addresses of some others (seeds) and learn
 * the rest from them; all addresses of a mesh have the same length.
 */
struct rrcp_mesh_config {
    bool is_on;
    uint32_t seed_count;
    struct rrcp_address self; /* where this node is reached, as others see it */
    struct rrcp_address seeds[RRCP_MESH_SEEDS_MAX];
};

/* rrcp_config_init() sets the defaults named here. The caller must set network and node. */
struct rrcp_config {
    const char *network;   /* the same at all nodes of a network; copied */
    const char *node;      /* `host.instance.rrcpd`, at most RRCP_NODE_NAME_MAX bytes; copied. In a
                              mesh others hear 56 bytes of it (IPv6: 40): see rrcp.md 13 */
    uint64_t session;      /* 0: random, from env's seed */
    uint64_t first_seq;    /* 0: 1; the first sequence number, for tests of large ones */
    uint64_t start_ms;     /* wall clock, ms since 1970; information for others */
    uint16_t unicast_port; /* information for others */
    uint8_t path_count;    /* 1; 2 = redundant pair: group packets go out on both */
    uint32_t arrivals_max; /* 1024: most arrivals of one rrcp_input call */

    /* Properties of the transport */
    uint32_t packet_bytes_max;     /* 1472: payload limit; 256..RRCP_PACKET_BYTES_MAX */
    uint32_t headroom_bytes;       /* 0: free bytes before each packet */
    bool completes_late;           /* rrcp_sent() returns sent buffers, not the next output */
    uint32_t send_queue_max;       /* 1024: with completes_late, most buffers at the transport */
    uint8_t *packet_memory;        /* rrcp_packet_memory_size() bytes; NULL: from env */
    uint64_t interface_bits_per_s; /* 1e9 */

    /* Packet pool */
    uint32_t pool_packets; /* 65536 (maxPktPoolSize) */
    uint32_t pool_high;    /* 0: 85 % of it (pktPoolLimitHigh) */
    uint32_t pool_low;     /* 0: 70 % of it (pktPoolLimitLow) */

    /* Sending */
    uint64_t hold_ns;            /* 2 s (tbchold) */
    uint64_t beacon_min_ns;      /* 10 ms */
    uint64_t beacon_max_ns;      /* 1 s */
    uint64_t data_rate;          /* 0: bytes/s of new data, 0 = no limit (maxDataRate) */
    uint64_t repair_rate;        /* 0: bytes/s; 0 = 20 % of the interface (maxRetransRate); 10,000
                                    at least */
    uint64_t repair_burst_bytes; /* 0: 10 ms of the rate above, and four packets */
    uint64_t repair_wait_ns;     /* 10 ms: a request for a packet that was repaired less than this
                                    ago, or less than a few round trips, is ignored (twait) */
    uint32_t unsent_max;         /* 256: unsent packets at which submit returns full */
    enum rrcp_flow_control flow_control; /* max */
    uint64_t flow_control_timeout_ns;    /* 500 ms */
    enum rrcp_congestion congestion;     /* off */
    uint32_t message_bytes_max;          /* 4 MiB (maxMsgSize) */
    uint64_t hsm_interval_ns;            /* 0: host status messages are off */

    /* Receiving */
    uint32_t peers_max;          /* 1024 */
    uint64_t peer_timeout_ns;    /* 3.5 s */
    uint64_t tombstone_ns;       /* 60 s */
    enum rrcp_retry retry;       /* fast */
    uint64_t request_wait_ns;    /* 20 ms (trreq) */
    uint32_t request_tries;      /* 7 (nrreq) */
    uint64_t recover_timeout_ns; /* 500 ms */
    uint32_t missing_max;        /* 4096 (nmissing) */
    uint64_t jump_max;           /* 1000000 packets (maxJump), and never more than the window */
    uint32_t window_packets;     /* 32768: receive window, power of two */
    uint32_t windows_max;        /* 256: receive windows allocated at a time */
    bool switch_reorder;         /* false (switchReorderFixEnabled) */
    uint64_t reorder_ns;         /* 2 ms */
    uint32_t reorder_packets;    /* 64 */
    uint64_t path_skew_ns;       /* 5 ms, with path_count 2 */
    uint32_t
        nak_rate; /* 1000 NAK packets/s, burst 100; with fewer than 4 receivers up to 4 times */
    uint64_t assembly_bytes_max; /* 64 MiB: memory to reassemble messages */

    /* Unicast stream */
    uint64_t unicast_wait_ns;   /* 100 ms (tdata) */
    uint32_t unicast_tries;     /* 7 (ndata) */
    uint64_t unicast_queue_max; /* 16 MiB waiting per peer; and 131072 messages, of
                                   each lane but 0 32768. 2 KiB more are for each lane */
    uint64_t unicast_bytes_max; /* 64 MiB waiting for all peers together: of memory */

    /* With key_count > 0 each packet carries a tag, and the engine drops packets without a valid
     * one; env.seal must be set. keys[0] seals; all keys open, so that a key can change without a
     * pause. */
    struct rrcp_key keys[RRCP_KEY_MAX];
    uint32_t key_count;
    enum rrcp_cipher cipher; /* AES-128; of what is sent: what comes may use either */
    bool encrypts;           /* false: packets are authenticated only; what comes may be either */
    uint64_t first_counter;  /* 0; of the first packet, for tests of large ones */

    struct rrcp_mesh_config mesh; /* off; needs path_count 1, and peers_max of
                                   * RRCP_MESH_PEERS_MAX at most */
};

void rrcp_config_init(struct rrcp_config *config);

enum rrcp_note {
    RRCP_NOTE_VERSION_UNKNOWN, /* value: version byte */
    RRCP_NOTE_NAME_DUPLICATE,  /* two live nodes share a name: a configuration error */
    RRCP_NOTE_OVER_ENTERED,    /* value: packets in use */
    RRCP_NOTE_OVER_LEFT,
    RRCP_NOTE_PATH_SILENT, /* value: path */
    RRCP_NOTE_PATH_BACK,
    RRCP_NOTE_GROUP_SILENT, /* heard by unicast but not by multicast: IGMP querier? */
    RRCP_NOTE_PEERS_FULL,
    RRCP_NOTE_ADDRESS_CHANGED, /* packets of a session came from another address: dropped */
    RRCP_NOTE_AUTH_FAILED,
    RRCP_NOTE_REPAIRS_USELESS,    /* repairs arrive as duplicates: see switchReorderFixEnabled */
    RRCP_NOTE_FLOW_RECEIVER_LOST, /* flow control gave up a receiver without progress */
    RRCP_NOTE_USERS_EXHAUSTED,
    RRCP_NOTE_COUNTER_EXHAUSTED, /* 2^47 packets are sealed: begin a new session */
    RRCP_NOTE_MESH_TRANSLATED,   /* a node's packets have another source than its own address */
    RRCP_NOTE_MESH_UNKNOWN,      /* a node that nobody named wants to join the mesh */
    RRCP_NOTE_count
};

/* Fixed text for logs; never NULL. */
const char *rrcp_note_text(enum rrcp_note note);

/* Names the session whose packets a state seals or opens, and its key. */
struct rrcp_seal_id {
    const struct rrcp_key *key;
    uint64_t session; /* of the sender */
    uint32_t network_id;
    enum rrcp_cipher cipher;
    bool is_sender; /* the state seals; false: it opens */
};

#define RRCP_TAG_BYTES 16

/*
 * The cipher, which is not the engine's: seal/seal.h has one. `clear` bytes at the beginning of a
 * packet are authenticated only, the others are encrypted too. A counter is never used twice with
 * the key of one session.
 */
struct rrcp_seal {
    void *context;
    /* Returns a state with the session key, NULL: no memory. `state`: an old one, which becomes the
     * new one (and ends, if that fails); NULL: none. The engine calls it when it first hears a
     * session or a key, never for each packet of a peer. */
    void *(*begin)(void *context, void *state, const struct rrcp_seal_id *id);
    void (*end)(void *context, void *state); /* NULL is allowed */
    /* Writes all `length` bytes to `to`, which may be `from`, and the tag. */
    void (*seal)(void *state, uint64_t counter, uint8_t *to, const uint8_t *from, uint32_t clear,
                 uint32_t length, uint8_t tag[RRCP_TAG_BYTES]);
    /* False: not sealed by a holder of the key. `to` is written if bytes are encrypted. */
    bool (*open)(void *state, uint64_t counter, uint8_t *to, const uint8_t *from, uint32_t clear,
                 uint32_t length, const uint8_t tag[RRCP_TAG_BYTES]);
};

struct rrcp_env {
    void *context;
    /* Returns zeroed memory, or NULL. The engine calls it in rrcp_create, when a peer appears, at
     * its first hole, for a message larger than a packet, and to queue unicast; never per packet.
     */
    void *(*take)(void *context, size_t bytes);
    void (*give)(void *context, void *memory, size_t bytes);
    /* Reports an event to operators, at most once a second for each kind. May be NULL. */
    void (*note)(void *context, enum rrcp_note note, uint64_t session, uint64_t value);
    uint64_t seed[2]; /* of this node's random numbers: jitter, back-off, hash keys, session */
    const struct rrcp_seal *seal; /* NULL without keys; lives as long as the engine */
};

/* Returns the bytes to reserve for config->packet_memory, best aligned to 64. */
size_t rrcp_packet_memory_size(const struct rrcp_config *config);

/*
 * Creates an engine, which rrcp_destroy() frees. MD_ERR_RANGE: a value of the configuration is
 * outside its limits; MD_ERR_NOMEM. The engine copies config and env.
 */
int rrcp_create(const struct rrcp_config *config, const struct rrcp_env *env, struct rrcp **out);
void rrcp_destroy(struct rrcp *r); /* NULL is allowed */

uint64_t rrcp_session(const struct rrcp *r);

/*
 * Changes the keys: from now on keys[0] seals and all open. To change a key without a pause, give
 * each node {old, new}, then {new, old}, then {new}. MD_ERR_RANGE: more than RRCP_KEY_MAX;
 * MD_ERR_STATE: a running engine cannot switch authentication on or off; MD_ERR_NOMEM. After an
 * error the old keys stay.
 */
int rrcp_keys_set(struct rrcp *r, const struct rrcp_key keys[], uint32_t count);

/* ---- packets and time in -------------------------------------------------------------------- */

struct rrcp_arrival {
    const uint8_t *bytes; /* must stay until rrcp_event has returned 0 */
    uint32_t length;
    uint8_t path;    /* the network: 0, or 1 of a redundant pair */
    bool is_group;   /* by multicast or broadcast */
    bool is_invited; /* mesh: the operator names its source, which may introduce itself */
    const struct rrcp_address *from;
};

/*
 * Feeds in packets. count 0: the shell read the network and found it empty; after a pause the
 * engine declares no peer dead before that. The caller must have taken all events (rrcp_event
 * returned 0) since the previous call. In-order messages become events that point into `bytes`. The
 * engine copies a packet that must wait for others, so the caller may reuse its receive buffers as
 * soon as it has taken the events.
 */
void rrcp_input(struct rrcp *r, uint64_t now_ns, const struct rrcp_arrival in[], int count);

/* Runs the timers that are due. */
void rrcp_tick(struct rrcp *r, uint64_t now_ns);

/* Returns the time of the next rrcp_tick(), which may be past. RRCP_NEVER: none needed. */
uint64_t rrcp_deadline(const struct rrcp *r);

/* ---- users and their messages --------------------------------------------------------------- */

struct rrcp_user {
    bool receives; /* false: gets no copy of what other local users multicast */
};

/* Returns the new user's port, 1..65534. No port is used twice. MD_ERR_FULL: RRCP_USER_MAX users;
 * MD_ERR_RANGE: all ports are used up, restart. */
int rrcp_user_add(struct rrcp *r, const struct rrcp_user *user);

/* Removes a user. All nodes get USER_DOWN after its last message. MD_ERR_NOT_FOUND: no such port.
 */
int rrcp_user_remove(struct rrcp *r, uint64_t now_ns, int port, enum backbone_user_reason reason);

/*
 * Mesh: this node's users want messages of these topics only, and what is directed to it. NULL, or
 * more than RRCP_INTEREST_MAX: everything, as at the start. Topics from RRCP_TOPIC_USER_DOWN on
 * always come. Others may still come, too. What is sent to a node by unicast from now on is behind
 * this: an answer to it is not left out.
 */
void rrcp_interest_set(struct rrcp *r, uint64_t now_ns, const uint32_t topics[], uint32_t count);

#define RRCP_MSG_UNICAST                                                                           \
    0x0001u /* with `session`: by the unicast stream, else multicast DIRECTED */

struct rrcp_msg {
    const uint8_t *bytes; /* copied before the call returns */
    uint32_t length;      /* 0..message_bytes_max */
    uint32_t topic;
    uint64_t session; /* the destination node, perhaps this one; 0: all nodes */
    uint16_t port;    /* the destination user; 0: each subscriber of the topic */
    uint16_t flags;
    uint64_t lane; /* by unicast: those of one lane keep their order, and lanes share the way to the
                    * node; 0 is a lane, too. There are 512 others: some numbers share one */
};

/*
 * Sends `msg` for the user `port`. MD_ERR_FULL: not now; keep it until the event TX_READY (the user
 * sees BUSY). MD_ERR_NOT_FOUND: unknown session, dropped and counted. MD_ERR_RANGE: too long or the
 * reserved topic, dropped and counted. If the unicast queue of its peer is full, the engine drops
 * the message, queues TX_DROPPED and returns 0: one dead peer never blocks the others.
 */
int rrcp_submit(struct rrcp *r, uint64_t now_ns, int port, const struct rrcp_msg *msg);

/* ---- packets out ---------------------------------------------------------------------------- */

struct rrcp_packet {
    uint8_t *bytes; /* the transport may use headroom_bytes before it */
    uint32_t length;
    uint32_t buffer; /* for rrcp_sent() */
    uint8_t path;
    uint8_t type;
    const struct rrcp_address *to; /* NULL: the group */
    uint64_t skipped;              /* mesh: places of the group that do not want it, as bits */
};

/*
 * Returns packets to send now, the most urgent first, and closes the open packet once there is
 * nothing else to send. The packets are views that live until the next rrcp_output(), or with
 * completes_late until rrcp_sent() (`to` only until the next rrcp_output()). 0: nothing to send.
 */
int rrcp_output(struct rrcp *r, uint64_t now_ns, struct rrcp_packet out[], int max);

/*
 * Mesh: the addresses that `to` NULL stands for, each with its places: a packet does not go to an
 * address all of whose places are among those that it skips. They change only when the version
 * does.
 */
uint32_t rrcp_group_version(const struct rrcp *r);
int rrcp_group(const struct rrcp *r, struct rrcp_address out[], uint64_t places[], int max);

/* With completes_late: the transport no longer uses these buffers. */
void rrcp_sent(struct rrcp *r, const uint32_t buffers[], int count);

/* Stops the node: sends what users submitted, then three BYEs, 10 ms apart. Keep the loop running
 * until rrcp_is_stopped(). reason: 1 stop, 2 reconfigure. */
void rrcp_stop(struct rrcp *r, uint64_t now_ns, int reason);
bool rrcp_is_stopped(const struct rrcp *r);

/* ---- events out ----------------------------------------------------------------------------- */

/*
 * Returns events for the users, in order. Events and their bytes are views that live until the next
 * call of any rrcp_ function. 0: no more events.
 */
int rrcp_event(struct rrcp *r, struct backbone_event out[], int max);

/* True: the last rrcp_event() gave nothing but messages of users, none of RRCP_PORT_RESERVED. */
bool rrcp_events_are_plain(const struct rrcp *r);

/* ---- statistics ----------------------------------------------------------------------------- */

#define RRCP_RECOVER_BUCKETS 20 /* recover_us[i]: holes open for less than 2^i microseconds */

enum rrcp_drop {
    RRCP_DROP_SIZE,
    RRCP_DROP_MAGIC,
    RRCP_DROP_VERSION,
    RRCP_DROP_NETWORK,
    RRCP_DROP_TYPE,
    RRCP_DROP_SESSION, /* 0 */
    RRCP_DROP_OWN,     /* our own multicast, looped back */
    RRCP_DROP_FLAGS,
    RRCP_DROP_AUTH_MISSING,
    RRCP_DROP_AUTH_TAG,
    RRCP_DROP_REPLAY,
    RRCP_DROP_BODY,
    RRCP_DROP_COUNT,
    RRCP_DROP_CHUNKS,
    RRCP_DROP_RANGES,
    RRCP_DROP_TARGET,  /* for another session */
    RRCP_DROP_ADDRESS, /* the session has another address */
    RRCP_DROP_PEERS,   /* peer table or creation budget full */
    RRCP_DROP_JUMP,    /* too far ahead for a claim; the sender is asked */
    RRCP_DROP_TOMBSTONE,
    RRCP_DROP_UNKNOWN, /* of a session that has not proved its address, or not on this path */
    RRCP_DROP_NAME,    /* of a session with the name of another that lives */
    RRCP_DROP_WINDOW,  /* no room in window or pool */
    RRCP_DROP_count
};

const char *rrcp_drop_name(enum rrcp_drop drop);

/* Changes of state of a missing packet. */
enum rrcp_transition {
    RRCP_TRANSITION_MISSING_REORDER,
    RRCP_TRANSITION_MISSING_BACKOFF,
    RRCP_TRANSITION_MISSING_LOST,
    RRCP_TRANSITION_REORDER_BACKOFF,
    RRCP_TRANSITION_REORDER_ASKED,
    RRCP_TRANSITION_REORDER_HAVE,
    RRCP_TRANSITION_REORDER_HOLDOFF,
    RRCP_TRANSITION_BACKOFF_ASKED,
    RRCP_TRANSITION_BACKOFF_HAVE,
    RRCP_TRANSITION_BACKOFF_HOLDOFF,
    RRCP_TRANSITION_BACKOFF_LOST,
    RRCP_TRANSITION_HOLDOFF_ASKED,
    RRCP_TRANSITION_HOLDOFF_HAVE,
    RRCP_TRANSITION_HOLDOFF_LOST,
    RRCP_TRANSITION_ASKED_ASKED,
    RRCP_TRANSITION_ASKED_HAVE,
    RRCP_TRANSITION_ASKED_CONFIRMED,
    RRCP_TRANSITION_ASKED_BUSY,
    RRCP_TRANSITION_ASKED_LOST,
    RRCP_TRANSITION_LOST_HAVE,
    RRCP_TRANSITION_count
};

const char *rrcp_transition_name(enum rrcp_transition transition);

struct rrcp_counters {
    uint64_t mcast_sent, mcast_rcvd, unicast_sent, unicast_rcvd; /* data packets */
    uint64_t bytes_sent, bytes_rcvd, msgs_sent, msgs_rcvd;
    uint64_t gaps_detected, packets_missing, packets_repaired;
    uint64_t packets_lost[8]; /* by rrcp_gap_reason */
    uint64_t retrans_req_sent, retrans_req_rcvd, retrans_pkts_sent, retrans_pkts_rcvd;
    uint64_t dup_packets, dup_repairs, reordered_packets, reorder_false_loss;
    uint64_t beacons_sent, beacons_rcvd, status_sent, status_rcvd, solicits_sent, solicits_rcvd;
    uint64_t doubts;       /* rounds of challenges to known peers */
    uint64_t keys_refused; /* packets of strangers beyond the budget for session keys */
    uint64_t challenges_refused, answers_sent, answers_refused, echoes_rcvd, byes_false, rejoins;
    uint64_t byes_sent, byes_rcvd, hsm_sent, hsm_rcvd;
    uint64_t mesh_probes, mesh_refused, mesh_full, mesh_forgotten;
    uint64_t interests_sent, interests_rcvd;
    uint64_t packets_skipped; /* each counts for each peer that it was not sent to */
    uint64_t skipped_rcvd;    /* numbers that others say they did not send us */
    uint64_t skips_sent, skips_rcvd, skips_refused;
    uint64_t ncf_sent[4], ncf_rcvd[4]; /* by reason 1..3 */
    uint64_t nak_damped, nak_bad, nak_dropped_rate, nak_override;
    uint64_t repairs_unicast, repairs_multicast, repairs_busy;
    uint64_t unicast_retrans, unicast_resets, unicast_dropped, unicast_unknown;
    uint64_t uacks_sent, uacks_rcvd;
    uint64_t drop[RRCP_DROP_count];
    uint64_t peers_up, peers_down, peer_name_conflicts;
    uint64_t peers_now, pool_use, pool_high, over_entered, over_left;
    uint64_t assembly_refused, submit_full, submit_bad, control_dropped;
    uint64_t flow_receivers_lost, rate_cuts;
    uint64_t transitions[RRCP_TRANSITION_count];
    uint64_t recover_us[RRCP_RECOVER_BUCKETS];
    uint64_t recover_us_sum;
    uint64_t memory_bytes, memory_bytes_high; /* taken from env */
};

/* The counters are always up to date and live as long as the engine. */
const struct rrcp_counters *rrcp_counters(const struct rrcp *r);

struct rrcp_peer_info {
    uint64_t session;
    struct rrcp_address address;
    char name[RRCP_NODE_NAME_MAX + 1];
    uint64_t next_seq;    /* next expected from it */
    uint64_t highest_seq; /* highest seen */
    uint64_t packets_missing, packets_repaired, packets_lost;
    uint64_t naks_sent, naks_rcvd, repairs_sent, dup_packets;
    uint32_t rtt_us;         /* 0: not measured */
    uint32_t missing_now;    /* holes */
    uint32_t their_lost;     /* our packets that it reports lost */
    uint64_t their_next_seq; /* our packet that it expects next; 0: no report yet */
    uint64_t heard_ns;
    int key_id; /* of the key that seals its packets; -1: none */
};

/* Describes peer number `index` (0..peers_now-1). False: no such peer. */
bool rrcp_peer_info(const struct rrcp *r, uint32_t index, struct rrcp_peer_info *out);

struct rrcp_mesh_info {
    struct rrcp_address address;
    uint64_t session;  /* of the live peer there; 0: there is none */
    uint64_t since_ns; /* when that began; 0: before the first time the engine was told */
    bool is_seed;
    uint32_t probes; /* since it had a peer */
};

/* Describes address number `index` that a node of a mesh knows. False: no such address. */
bool rrcp_mesh_info(const struct rrcp *r, uint32_t index, struct rrcp_mesh_info *out);

/* The last node that RRCP_NOTE_MESH_... was about: the source of its packets, and the address that
 * it says it has. */
void rrcp_mesh_refused(const struct rrcp *r, struct rrcp_address *from, struct rrcp_address *self);

/* Where the last packet of another protocol version came from, and its version. 0: there was none.
 */
uint8_t rrcp_other_version(const struct rrcp *r, struct rrcp_address *from);

/*
 * For simulators, unit tests and fuzzers, between two calls of the engine: walks every table. NULL
 * when all invariants hold; else the broken one, as fixed text. Programs do not call it: it takes
 * longer the more the engine holds.
 */
const char *rrcp_check(const struct rrcp *r);

/* For the same: all that packets may change but counters, limits and the queue of packets that
 * leave, as a number. */
uint64_t rrcp_digest(const struct rrcp *r);

#endif
