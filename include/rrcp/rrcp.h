/* rrcp/rrcp.h - the reliable multicast engine: packets, time and messages in; packets and events
 * out.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_RRCP_H
#define RRCP_RRCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One engine is one node of one network. It opens nothing, reads no clock, starts no thread: the
 * shell around it receives packets and feeds them in, sends what it is handed, and sleeps until
 * the engine's deadline. The same arguments give the same outputs, byte for byte. An engine
 * belongs to one thread. All times are nanoseconds of a clock that never goes back.
 *
 * The shell's loop, in full:
 *
 *     for (;;) {
 *         n = receive(arrivals);               n may be 0: then say so, with count 0
 *         rrcp_input(r, now, arrivals, n);
 *         while ((n = rrcp_event(r, events, max)) > 0)
 *             give the events to the users;
 *         for each message that users want sent, until rrcp_submit says MD_ERR_FULL
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
#define RRCP_KEY_MAX           4
#define RRCP_USER_MAX          64
#define RRCP_TOPIC_USER_DOWN   0xfffffffeu /* reserved: only the engine sends to it */
#define RRCP_BUFFER_NONE       UINT32_MAX

/*
 * A transport's address of a node: stored and compared, never read. Unicast to a node goes to the
 * address its packets come from, so a transport sends everything from its unicast socket. A
 * node that restarts on the same host under the same name replaces its former self at once.
 */
struct rrcp_address {
    uint8_t length;      /* 0: no address */
    uint8_t host_length; /* the first so many bytes name the host, what follows may be another
                          * after a restart; 0: all of them */
    uint8_t bytes[RRCP_ADDRESS_BYTES_MAX];
};

/* ---- what to be -------------------------------------------------------------------------- */

enum rrcp_flow_control {
    RRCP_FLOW_CONTROL_MAX, /* never wait for a receiver */
    RRCP_FLOW_CONTROL_MIN, /* never run further ahead of a live receiver than half the window */
};

enum rrcp_retry {
    RRCP_RETRY_FAST,  /* waits scale with the round trip and the size of the group, up to these: */
    RRCP_RETRY_FIXED, /* the configured waits, and those of a large group */
};

enum rrcp_congestion {
    RRCP_CONGESTION_OFF,
    RRCP_CONGESTION_AIMD, /* needs data_rate */
};

struct rrcp_key {
    uint8_t id;
    uint8_t bytes[32];
};

/* rrcp_config_init() gives every field the default named here; network and node must be set. */
struct rrcp_config {
    const char *network;   /* all nodes of a network have the same; copied */
    const char *node;      /* `host.instance.rrcpd`, at most RRCP_NODE_NAME_MAX bytes; copied */
    uint64_t session;      /* 0: drawn from env's seed */
    uint64_t first_seq;    /* 0: 1; where data begins, for tests of large numbers */
    uint64_t start_ms;     /* wall clock, ms since 1970; information for others */
    uint16_t unicast_port; /* information for others */
    uint8_t path_count;    /* 1; 2 = redundant pair: group packets go out on both */
    uint32_t arrivals_max; /* 1024: most arrivals of one rrcp_input call */

    /* The transport says: */
    uint32_t packet_bytes_max; /* 1472: payload limit; 256..9000 */
    uint32_t headroom_bytes;   /* 0: kept free before each packet's bytes */
    bool completes_late;       /* sent buffers come back by rrcp_sent(), not at the next output */
    uint32_t send_queue_max;   /* 1024: with completes_late, most buffers out at a time */
    uint8_t *packet_memory; /* NULL: the engine takes it from env; else rrcp_packet_memory_size */
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
    uint64_t repair_rate;        /* 0: bytes/s; 0 = 20 % of the interface (maxRetransRate) */
    uint64_t repair_burst_bytes; /* 0: 10 ms of repair_rate */
    uint64_t repair_wait_ns;     /* 10 ms: a repair is not repeated sooner (twait) */
    uint32_t unsent_max;         /* 256: closed packets that may wait before submit says full */
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
    uint64_t jump_max;           /* 1000000 packets (maxJump) */
    uint32_t window_packets;     /* 32768: receive window, power of two */
    uint32_t windows_max;        /* 256: receive windows allocated at a time */
    bool switch_reorder;         /* false (switchReorderFixEnabled) */
    uint64_t reorder_ns;         /* 2 ms */
    uint32_t reorder_packets;    /* 64 */
    uint64_t path_skew_ns;       /* 5 ms, with path_count 2 */
    uint32_t
        nak_rate; /* 1000 NAK packets/s, burst 100; with fewer than 4 receivers up to 4 times */
    uint64_t assembly_bytes_max; /* 64 MiB: fragmented messages being put together */

    /* Unicast stream */
    uint64_t unicast_wait_ns;   /* 100 ms (tdata) */
    uint32_t unicast_tries;     /* 7 (ndata) */
    uint64_t unicast_queue_max; /* 16 MiB waiting per peer; and 4096 messages */
    uint64_t unicast_bytes_max; /* 64 MiB waiting for all peers together */

    /* Authentication: with key_count > 0 every packet carries a trailer and must carry one.
     * keys[0] signs; the others are accepted, so that keys can be changed without a pause. */
    struct rrcp_key keys[RRCP_KEY_MAX];
    uint32_t key_count;
};

void rrcp_config_init(struct rrcp_config *config);

enum rrcp_note {
    RRCP_NOTE_VERSION_UNKNOWN, /* value: version byte */
    RRCP_NOTE_NAME_DUPLICATE,  /* two live nodes have one name: a configuration error */
    RRCP_NOTE_OVER_ENTERED,    /* value: packets in use */
    RRCP_NOTE_OVER_LEFT,
    RRCP_NOTE_PATH_SILENT, /* value: path */
    RRCP_NOTE_PATH_BACK,
    RRCP_NOTE_GROUP_SILENT, /* heard by unicast but not by multicast: IGMP querier? */
    RRCP_NOTE_PEERS_FULL,
    RRCP_NOTE_ADDRESS_CHANGED, /* a session came from another address: dropped */
    RRCP_NOTE_AUTH_FAILED,
    RRCP_NOTE_REPAIRS_USELESS,    /* repairs arrive as duplicates: see switchReorderFixEnabled */
    RRCP_NOTE_FLOW_RECEIVER_LOST, /* a receiver made no progress and no longer holds us up */
    RRCP_NOTE_USERS_EXHAUSTED,
    RRCP_NOTE_count
};

/* Fixed text for logs; never NULL. */
const char *rrcp_note_text(enum rrcp_note note);

struct rrcp_env {
    void *context;
    /* Zeroed memory, or NULL. Called by rrcp_create, when a peer appears, at its first hole, for a
     * message larger than a packet, and when unicast messages must wait; never per packet. */
    void *(*take)(void *context, size_t bytes);
    void (*give)(void *context, void *memory, size_t bytes);
    /* Something an operator should read; at most one a second of a kind and peer. May be NULL. */
    void (*note)(void *context, enum rrcp_note note, uint64_t session, uint64_t value);
    uint64_t seed[2]; /* randomness of this node: jitter, back-off, hash keys, session */
};

/* Bytes to reserve for config->packet_memory; 64-byte alignment is wanted. */
size_t rrcp_packet_memory_size(const struct rrcp_config *config);

/*
 * On success *out is the caller's, to give back with rrcp_destroy(). MD_ERR_RANGE: a value of the
 * configuration is outside its limits; MD_ERR_NOMEM. config and env are copied.
 */
int rrcp_create(const struct rrcp_config *config, const struct rrcp_env *env, struct rrcp **out);
void rrcp_destroy(struct rrcp *r); /* NULL is allowed */

uint64_t rrcp_session(const struct rrcp *r);

/*
 * Change the keys: from now on keys[0] signs and all are accepted. To change a key without a pause
 * give every node {old, new}, then {new, old}, then {new}. MD_ERR_RANGE: more than RRCP_KEY_MAX;
 * MD_ERR_STATE: authentication cannot be switched on or off in a running engine.
 */
int rrcp_keys_set(struct rrcp *r, const struct rrcp_key keys[], uint32_t count);

/* ---- packets and time in ----------------------------------------------------------------- */

struct rrcp_arrival {
    const uint8_t *bytes; /* must stay until rrcp_event has returned 0 */
    uint32_t length;
    uint8_t path;  /* network it came from: 0, or 1 of a redundant pair */
    bool is_group; /* came by multicast or broadcast */
    const struct rrcp_address *from;
};

/*
 * Packets arrived. count 0 says: the network was looked at and nothing was there; a node that was
 * itself paused must not declare others dead before it has said so. All events must have been
 * taken (rrcp_event returned 0) since the call before. In-order messages become events that point
 * into `bytes`; a packet that must wait for others is copied into the pool, so the caller may use
 * its receive buffers again as soon as the events are taken.
 */
void rrcp_input(struct rrcp *r, uint64_t now_ns, const struct rrcp_arrival in[], int count);

/* Time has passed. */
void rrcp_tick(struct rrcp *r, uint64_t now_ns);

/* When rrcp_tick() is wanted next, absolute; RRCP_NEVER = not at all. May lie in the past. */
uint64_t rrcp_deadline(const struct rrcp *r);

/* ---- users and their messages ------------------------------------------------------------ */

struct rrcp_user {
    bool receives; /* false: needs no copy of what other local users multicast */
};

enum rrcp_user_reason {
    RRCP_USER_REASON_DETACHED = 1,
    RRCP_USER_REASON_DIED = 2,
    RRCP_USER_REASON_VIOLATED = 3, /* wrote nonsense into its ring */
};

/* The new user's port, 1..65534 and never the same twice; MD_ERR_FULL (RRCP_USER_MAX users) or
 * MD_ERR_RANGE (ports used up: restart). */
int rrcp_user_add(struct rrcp *r, const struct rrcp_user *user);

/* The user is gone; all nodes are told after its last message. MD_ERR_NOT_FOUND: no such port. */
int rrcp_user_remove(struct rrcp *r, uint64_t now_ns, int port, enum rrcp_user_reason reason);

#define RRCP_MSG_UNICAST                                                                           \
    0x0001u /* with `session`: by the unicast stream, else multicast DIRECTED */

struct rrcp_msg {
    const uint8_t *bytes; /* copied before the call returns */
    uint32_t length;      /* 0..message_bytes_max */
    uint32_t topic;
    uint64_t session; /* of the one node it is for; 0 = everybody; may be the own */
    uint16_t port;    /* of the one user it is for; 0 = every subscriber of the topic */
    uint16_t flags;
};

/*
 * Send `msg` as the user `port`. 0; MD_ERR_FULL: not now, keep it, an event TX_READY will say when
 * (for a user: BUSY); MD_ERR_NOT_FOUND: session not known, dropped and counted; MD_ERR_RANGE: too
 * long or the reserved topic, dropped and counted. Unicast that finds its peer's queue full is
 * dropped with an event TX_DROPPED and the result 0: one dead peer never holds up the others.
 */
int rrcp_submit(struct rrcp *r, uint64_t now_ns, int port, const struct rrcp_msg *msg);

/* ---- packets out ------------------------------------------------------------------------- */

struct rrcp_packet {
    uint8_t *bytes; /* headroom_bytes before it are the transport's to use */
    uint32_t length;
    uint32_t buffer; /* for rrcp_sent() */
    uint8_t path;
    uint8_t type;
    const struct rrcp_address *to; /* NULL: the group */
};

/*
 * Packets to put on the network now, most urgent first; closes the packet being filled once there
 * is nothing else to send. The packets are views that live until the next rrcp_output(), or with
 * completes_late until rrcp_sent() (`to` only until the next rrcp_output()). 0: nothing to send.
 */
int rrcp_output(struct rrcp *r, uint64_t now_ns, struct rrcp_packet out[], int max);

/* With completes_late: the transport has done with these buffers. */
void rrcp_sent(struct rrcp *r, const uint32_t buffers[], int count);

/* Leave: flushes what is there and sends BYE three times, 10 ms apart; keep the loop running until
 * rrcp_is_stopped(). reason: 1 stop, 2 reconfigure. */
void rrcp_stop(struct rrcp *r, uint64_t now_ns, int reason);
bool rrcp_is_stopped(const struct rrcp *r);

/* ---- events out -------------------------------------------------------------------------- */

enum rrcp_event_type {
    RRCP_EVENT_MSG = 1,
    RRCP_EVENT_GAP = 2,
    RRCP_EVENT_PEER_UP = 3,
    RRCP_EVENT_PEER_DOWN = 4,
    RRCP_EVENT_USER_DOWN = 5,
    RRCP_EVENT_TX_DROPPED = 6, /* session: destination; destination_port: the sender; count */
    RRCP_EVENT_PEER_INFO = 7,  /* bytes, length: the node's name */
    RRCP_EVENT_TX_READY = 8,   /* rrcp_submit said full and would no longer */
};

enum rrcp_gap_reason {
    RRCP_GAP_NOT_HELD = 1,      /* its sender no longer has it */
    RRCP_GAP_TIMEOUT = 2,       /* asked for in vain */
    RRCP_GAP_TOO_LARGE = 3,     /* more in a row than nmissing */
    RRCP_GAP_POOL = 4,          /* we had no room */
    RRCP_GAP_OVERRUN = 5,       /* made by readers of the inbound ring, never by the engine */
    RRCP_GAP_REJOIN = 6,        /* the peer was away and is back */
    RRCP_GAP_UNICAST_RESET = 7, /* unicast stream: started anew, messages may be lost */
};

enum rrcp_down_reason {
    RRCP_DOWN_TIMEOUT = 1,
    RRCP_DOWN_BYE = 2,
    RRCP_DOWN_REPLACED = 3, /* the node restarted: same name, new session */
};

#define RRCP_EVENT_UNICAST  0x0001u /* came by the unicast stream (MSG, GAP) */
#define RRCP_EVENT_DIRECTED 0x0002u /* was for this node only */

struct rrcp_event {
    uint16_t type;
    uint16_t flags;
    uint16_t source_port; /* MSG; USER_DOWN: the user that is gone */
    uint16_t destination_port;
    uint32_t topic;
    uint32_t length;
    const uint8_t *bytes;
    uint64_t session; /* the sender's */
    uint64_t seq;     /* MSG: of the packet that ended it; GAP: first packet missing */
    uint64_t last;    /* GAP: last packet missing */
    uint64_t time_ns; /* when it arrived here */
    uint32_t count;   /* GAP: packets; TX_DROPPED: messages */
    uint32_t reason;  /* GAP, PEER_DOWN, USER_DOWN */
};

/*
 * What the users must be told, in order. Events and their bytes are views that live until the next
 * call of any rrcp_ function. 0: nothing (more).
 */
int rrcp_event(struct rrcp *r, struct rrcp_event out[], int max);

/* ---- what happened ----------------------------------------------------------------------- */

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
    RRCP_DROP_TARGET,  /* meant for another session */
    RRCP_DROP_ADDRESS, /* session pinned to another address */
    RRCP_DROP_PEERS,   /* peer table or creation budget full */
    RRCP_DROP_JUMP,    /* too far ahead to be believed without a beacon */
    RRCP_DROP_TOMBSTONE,
    RRCP_DROP_UNKNOWN, /* unicast from a session we do not know */
    RRCP_DROP_WINDOW,  /* no room in window or pool */
    RRCP_DROP_count
};

const char *rrcp_drop_name(enum rrcp_drop drop);

/* Moves of a missing packet between its states; for tests and for the curious. */
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
    uint64_t byes_sent, byes_rcvd, hsm_sent, hsm_rcvd;
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
    uint64_t memory_bytes, memory_bytes_high; /* taken from env */
};

/* Always up to date; lives as long as the engine. */
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
    uint32_t their_lost;     /* packets of ours it says it lost */
    uint64_t their_next_seq; /* what of ours it expects next; 0: never said */
    uint64_t heard_ns;
};

/* Peer number `index` (0..peers_now-1); false past the end. */
bool rrcp_peer_info(const struct rrcp *r, uint32_t index, struct rrcp_peer_info *out);

/*
 * For simulators, unit tests and fuzzers, between two calls of the engine: walks every table. NULL
 * when all invariants hold; else the broken one, as fixed text. Programs do not call it: it takes
 * longer the more the engine holds.
 */
const char *rrcp_check(const struct rrcp *r);

#endif
