/* rrmp/sink.h - the subscribing engine: one requester that finds, opens and follows items. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMP_SINK_H
#define RRMP_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backbone/event.h"
#include "backbone/send.h"
#include "rrmp/record.h"

/*
 * A requester is one worker of p2ps attached to one network. The engine keeps the directory of
 * services, chooses the instance for each item, opens it there, puts image and updates together,
 * notices every loss and mends it. It does not know consumers, users or RWF.
 *
 * The caller
 *   feeds   rrmp_sink_input() with what the backbone brings, and calls
 *           rrmp_sink_tick() when rrmp_sink_deadline() has come (also after opening items:
 *           requests leave with the next input or tick);
 *   takes   events with rrmp_sink_event() after each of them until it returns 0.
 *
 * Item: one (service, key) open once here, however many consumers watch it. Each consumer's stream
 * (a "watch" below) is the caller's, in one of three states that the events move:
 *
 *   NEW      wants an image, none has begun                            <- a new watch, a reissue
 *   FILLING  an image that answers it is coming in
 *   IN STEP  has the image, follows
 *
 *   event                         watches NEW       FILLING        IN STEP
 *   IMAGE part, FIRST, TO_WAIT    takes it,FILLING  takes it       takes it only if TO_STEP
 *   IMAGE part, others            -                 takes it       takes it only if TO_STEP
 *   MESSAGE TO_STEP               -                 -              takes it
 *   MESSAGE TO_WAIT               -                 takes it       -
 *   IN_STEP                       -                 IN STEP        -
 *   STATE, MESSAGE of a STATUS    takes it, whatever its state
 *
 * IMAGE TO_STEP is a refresh to those who had the item before (unsolicited, or after they had been
 * told suspect); for a watch FILLING the same bytes are its solicited refresh. A FIRST part may
 * come again before the LAST one: the image starts anew. One thread; no clock, no I/O.
 */
struct rrmp_sink;
struct rrmp_sink_event;
struct rrmp_sink_event;

#define RRMP_ITEM_NONE    0xFFFFFFFFu
#define RRMP_SERVICE_NONE 0xFFFFu

struct rrmp_sink_config {
    struct backbone_send send;
    uint64_t random;              /* seed of table hashing, delays */
    uint32_t item_limit;          /* 0: 16777215 */
    uint32_t item_buckets;        /* the item table starts with; it grows; 0: 4096 */
    uint32_t instance_limit;      /* 0: 256, which is also the most */
    uint32_t service_limit;       /* 0: 1024 */
    uint32_t post_limit;          /* maxPosts; 0: 10000 */
    uint32_t open_window_minimum; /* minimumOpenWindow; 0: 100 */
    uint32_t link_limit;          /* (instance, service) pairs; 0: 4096 */
    uint32_t hold_records;        /* per item; 0: 256 */
    size_t hold_bytes_item;       /* 0: 1 MiB */
    size_t hold_bytes;            /* holdLimit; 0: 64 MiB */
    uint64_t instance_timeout_ns; /* 0: 3.5 s */
    uint64_t gap_verify_ns;       /* 0: 500 ms */
    uint64_t request_retry_ns;    /* 0: 5 s, then twice, three times */
    uint64_t failback_ns;         /* to an instance of better priority up so long; 0: never */
    uint32_t move_rate;           /* items/s moved to a better instance; 0: 100 */
    bool rebalances;              /* to where the hash of the item wants it, among equals */
    uint64_t sum_interval_ns;     /* 0: 5 s */
    bool prefers_multicast;       /* ask for images by multicast */
    /* Reads the provider's number of a message. NULL: items never go on at a mirror, they get an
     * image there. */
    void (*mark)(struct rrmp_view message, struct rrmp_mark *mark);
    uint64_t resume_hold_ns; /* suspect is held back so long for it; 0: 200 ms */
};

struct rrmp_sink_stats {
    uint64_t records_in[64];
    uint64_t records_out[64];
    uint64_t records_bad;
    uint64_t senders_ignored;
    uint64_t unknown_handle;
    uint64_t dup_dropped;
    uint64_t svc_seq_jumps;
    uint64_t records_lost; /* by svcSeq */
    uint64_t item_seq_jumps;
    uint64_t gap_queries;
    uint64_t gap_items_hit;
    uint64_t gap_not_held;
    uint64_t list_parts; /* of what instances have bound */
    uint64_t whole_service_recoveries;
    uint64_t requests_sent;
    uint64_t requests_repeated;
    uint64_t refused[4]; /* by scope */
    uint64_t images_multicast;
    uint64_t images_unicast;
    uint64_t images_redundant;
    uint64_t hold_overflows;
    uint64_t failovers;
    uint64_t preempted;      /* items whose room a source needed for others */
    uint64_t moved;          /* items that `rebalance` or `failback` moved */
    uint64_t resumed;        /* items that went on at a mirror, without an image */
    uint64_t resumes_failed; /* items that were to, and got an image */
    uint64_t audits;
    uint64_t audit_mended;
    uint64_t posts_lost;
    uint64_t backbone_refused;
    uint64_t before_instance; /* records dropped because their instance is not announced */
    uint64_t
        wrong_topic; /* records dropped: not on the topic of their service, or of another one */
    uint32_t items_now;
    uint32_t live_now;
    uint32_t queued_now[3]; /* new, recovery, background */
    uint32_t instances_now;
    uint32_t posts_now;
    size_t held_bytes_now;
    size_t key_bytes_now; /* keys and requests of items */
    size_t memory_now;
};

/* Fails with MD_ERR_RANGE or MD_ERR_NOMEM; *out is then NULL. */
int rrmp_sink_create(const struct rrmp_sink_config *config, struct rrmp_sink **out);
void rrmp_sink_destroy(struct rrmp_sink *sink);

/* Returns how many events of the backbone were consumed, at least one; less than `count` when the
 * sink's own have to be taken first. Those may point into the messages' bytes, so take all before
 * the bytes go. The bytes are private memory, not the shared ring itself. */
size_t rrmp_sink_input(struct rrmp_sink *sink, uint64_t now_ns, const struct backbone_event *events,
                       size_t count);
/* `input_is_empty`: the inbound ring has been found empty since the deadline; only then is an
 * instance declared dead for its silence. */
void rrmp_sink_tick(struct rrmp_sink *sink, uint64_t now_ns, bool input_is_empty);
uint64_t rrmp_sink_deadline(const struct rrmp_sink *sink);

/* ---- directory ---- */

#define RRMP_SINK_CAPABILITY_MAX 32
#define RRMP_SINK_QOS_MAX        16
#define RRMP_SINK_DICT_MAX       16
#define RRMP_SINK_PATHS_MAX      4

/* All instances of one name, joined: capabilities, qualities and dictionaries as union, up if any
 * is up. Views are valid until the next call that takes input. */
struct rrmp_sink_service {
    struct rrmp_view name;
    uint16_t id;      /* said, else from the name; of its own on this network */
    uint16_t said_id; /* configured, else its provider's, else 0 */
    bool is_id_configured;
    bool is_up;
    bool is_accepting;
    uint32_t features; /* of any */
    uint32_t instance_count;
    uint32_t items_now;
    uint32_t live_now;     /* of these, in step with an instance */
    uint32_t requests_now; /* sent, and not answered yet */
    uint32_t open_limit;
    uint32_t open_window;
    uint16_t load_factor;
    uint8_t capability_count;
    uint8_t qos_count;
    uint8_t dict_provided_count;
    uint8_t dict_used_count;
    bool is_source;
    uint8_t capabilities[RRMP_SINK_CAPABILITY_MAX];
    uint8_t qos[RRMP_SINK_QOS_MAX][5]; /* as in the item key */
    struct rrmp_view dict_provided[RRMP_SINK_DICT_MAX];
    struct rrmp_view dict_version[RRMP_SINK_DICT_MAX]; /* of the provided ones */
    struct rrmp_view dict_used[RRMP_SINK_DICT_MAX];
    struct rrmp_view vendor;
    struct rrmp_view item_list;
    struct rrmp_view load;  /* of the first instance that has it */
    struct rrmp_view links; /* the same */
    uint8_t path_count;
    struct rrmp_view paths[RRMP_SINK_PATHS_MAX]; /* of sites; "*": one that is not known */
};

/* Services are numbered from 0 in the order of their first announcement; false past the last. */
bool rrmp_sink_service(const struct rrmp_sink *sink, uint16_t service,
                       struct rrmp_sink_service *out);
/* The name alone, at the cost of a look; empty past the last. */
struct rrmp_view rrmp_sink_service_name(const struct rrmp_sink *sink, uint16_t service);
/* By name; RRMP_SERVICE_NONE if never announced. */
/* Numbers that services have or had: all are below it. */
uint16_t rrmp_sink_service_count(const struct rrmp_sink *sink);
/* Services that have a number now; service_limit at most: the next is not known. */
uint16_t rrmp_sink_services_now(const struct rrmp_sink *sink);
/* The number is another service's from now on. False: an instance offers the service, or something
 * of it is left: close its items, take the events, and try again in the next turn. */
bool rrmp_sink_service_forget(struct rrmp_sink *sink, uint16_t service);
uint16_t rrmp_sink_service_find(const struct rrmp_sink *sink, struct rrmp_view name);

/* Is `instance` (of events and item infos) the one at (session, port)? */
bool rrmp_sink_instance_is(const struct rrmp_sink *sink, uint16_t instance, uint64_t session,
                           uint16_t port);
/* The name of that instance, "vega.1.src_dist"; empty for none. Valid until the next input. */
struct rrmp_view rrmp_sink_instance_name(const struct rrmp_sink *sink, uint16_t instance);

/* ---- items ---- */

struct rrmp_sink_open {
    uint16_t service;
    struct rrmp_view key;     /* canonical; copied */
    struct rrmp_view message; /* RWF REQUEST where it matters; copied; usually empty */
    uint8_t priority_class;
    uint32_t priority_count;
    bool is_snapshot; /* no interest is left: the item ends by itself with its image or REFUSED */
    bool is_private;  /* never shared; ends with CLOSED on any loss */
    /* It has what others have open, and ends with NOT_FOUND where nobody does: it opens nothing,
     * and keeps nothing open. */
    bool is_follower;
    uint32_t bound_at; /* a follower: `instance` of BOUND + 1, which is asked first; 0: any */
    uint32_t user;     /* the caller's word, returned in every event of the item */
};

/*
 * Open an item. MD_ERR_EXISTS: it is open, *item is set and nothing else happened (not for
 * snapshots and private streams, which are always new). MD_ERR_FULL: at itemLimit; MD_ERR_AGAIN:
 * take events first. A service without usable instance parks the item: STATE says so.
 */
int rrmp_sink_item_open(struct rrmp_sink *sink, uint64_t now_ns, const struct rrmp_sink_open *open,
                        uint32_t *item);
/* From now on BOUND events name the items of the service that instances have bound: all of them
 * now, each one that is bound later, and all again behind a loss. Those that are open here are not
 * left out of a list. */
void rrmp_sink_follow(struct rrmp_sink *sink, uint64_t now_ns, uint16_t service);
/* The open, shared item of this key, or RRMP_ITEM_NONE. */
uint32_t rrmp_sink_item_find(const struct rrmp_sink *sink, uint16_t service, struct rrmp_view key);
/* Nobody watches it any more. No event of it follows. */
void rrmp_sink_item_close(struct rrmp_sink *sink, uint64_t now_ns, uint32_t item);
/* A watch is NEW: an image is wanted (again). Cheap to call for each; one is asked for. */
void rrmp_sink_item_want_image(struct rrmp_sink *sink, uint64_t now_ns, uint32_t item);
/* The priority that all watches of it give it together; the instance hears of a change within a
 * second. */
void rrmp_sink_item_priority(struct rrmp_sink *sink, uint64_t now_ns, uint32_t item,
                             uint8_t priority_class, uint32_t priority_count);

enum rrmp_sink_item_state {
    RRMP_SINK_PARKED,  /* no usable instance */
    RRMP_SINK_QUEUED,  /* waits for its turn */
    RRMP_SINK_ASKED,   /* REQUEST sent */
    RRMP_SINK_FILLING, /* bound, image not complete */
    RRMP_SINK_LIVE,    /* in step with the instance */
};

struct rrmp_sink_item {
    enum rrmp_sink_item_state state;
    uint16_t service;
    uint16_t instance; /* index here, 0xFFFF none */
    uint16_t group;    /* at that instance */
    bool suspect_sent; /* consumers were told suspect and no refresh has come since */
    bool had_image;    /* consumers had an image at some time */
    bool is_private;
    uint8_t priority_class;
    uint16_t priority_count;
    uint32_t user;
    struct rrmp_view key;
    struct rrmp_view message; /* as it was opened with; stays where it is while the item lasts */
};

/* Answers for an item that has ended, too, until all events were taken. */
bool rrmp_sink_item_info(const struct rrmp_sink *sink, uint32_t item, struct rrmp_sink_item *out);
/* For an operator: the item's handle at its instance, and the number of its last record. False: it
 * has none there. */
bool rrmp_sink_item_trace(const struct rrmp_sink *sink, uint32_t item, uint32_t *handle,
                          uint32_t *item_seq);
/* The next item a STATE event of scope group or service is about, after `item` (RRMP_ITEM_NONE:
 * the first); RRMP_ITEM_NONE ends. Ask while handling that event; opening and closing items
 * meanwhile is allowed, except the one passed as `item`. */
uint32_t rrmp_sink_item_next(const struct rrmp_sink *sink, const struct rrmp_sink_event *event,
                             uint32_t item);

/* ---- posts, generic, dictionaries ---- */

/*
 * item RRMP_ITEM_NONE: off-stream, to the instance chosen for (service, key). With wants_ack
 * exactly one ACK or POST_LOST event with `cookie` follows, within 20 s. Fails, and no event
 * follows, with MD_ERR_FULL (maxPosts), MD_ERR_UNSUPPORTED (the source takes no posts),
 * MD_ERR_NOT_FOUND (no instance), MD_ERR_AGAIN (outbound ring full).
 */
int rrmp_sink_post(struct rrmp_sink *sink, uint64_t now_ns, uint32_t item, uint16_t service,
                   struct rrmp_view key, struct rrmp_view message, bool wants_ack, uint64_t cookie);
int rrmp_sink_generic(struct rrmp_sink *sink, uint32_t item, struct rrmp_view message);
/* Parts come as DICTIONARY events with `cookie`. Repeated elsewhere when its instance dies; a
 * DICTIONARY event with code NOT_FOUND when nobody has it. */
int rrmp_sink_dictionary(struct rrmp_sink *sink, uint64_t now_ns, uint16_t service,
                         struct rrmp_view name, uint32_t filter, uint64_t cookie);

/* ---- events ---- */

enum rrmp_sink_event_kind {
    RRMP_SINK_IMAGE,     /* one part: message, part, flags of RRMP_IMAGE_*, state, code, group */
    RRMP_SINK_MESSAGE,   /* type RRMP_UPDATE, RRMP_STATUS or RRMP_GENERIC, and the RWF message */
    RRMP_SINK_IN_STEP,   /* watches FILLING are in step */
    RRMP_SINK_STATE,     /* state, code, text for: see scope */
    RRMP_SINK_CLOSED,    /* the item has ended: type RRMP_STATUS and the RWF message, or type 0
                            and state, code, text; its index is free at the next input or tick */
    RRMP_SINK_MERGE,     /* group of (instance, service) merged into group2 */
    RRMP_SINK_DIRECTORY, /* `service` is new or changed; see rrmp_sink_service() */
    RRMP_SINK_ACK,       /* answer to the post with `cookie`: an RWF ACK */
    RRMP_SINK_POST_LOST, /* no answer will come: code says why (a NAK code of RWF) */
    RRMP_SINK_BOUND,     /* items of a service that is followed. type RRMP_BIND: `message` is a key;
                            RRMP_LISTPART: it holds keys, see rrmp_list_next() */
    RRMP_SINK_DICTIONARY, /* one part for `cookie`; flags of RRMP_DICT_*; name and version */
};

enum rrmp_sink_scope {
    RRMP_SINK_SCOPE_ITEM,
    RRMP_SINK_SCOPE_GROUP,   /* items of `group` at (instance, service); rrmp_sink_item_next() */
    RRMP_SINK_SCOPE_SERVICE, /* items at (instance, service); rrmp_sink_item_next() */
};

#define RRMP_SINK_TO_WAIT 1u /* watches NEW (at FIRST) and FILLING */
#define RRMP_SINK_TO_STEP 2u /* watches in step */

/* In `flags` of STATE: some of the group are suspect by themselves, and are not among the items. */
#define RRMP_SINK_STATE_PARTIAL 1u

struct rrmp_sink_event {
    uint8_t kind;  /* enum rrmp_sink_event_kind */
    uint8_t scope; /* enum rrmp_sink_scope, of STATE */
    uint8_t to;    /* RRMP_SINK_TO_*, of IMAGE and MESSAGE */
    uint8_t type;  /* enum rrmp_type, of MESSAGE */
    uint8_t state; /* RWF stream state << 3 | data state */
    uint8_t code;  /* RWF status code; NAK code of POST_LOST */
    uint16_t flags;
    uint16_t part;
    uint16_t service;
    uint16_t instance;
    uint16_t group;
    uint16_t group2; /* of MERGE; of STATE for a group: where the record merged it to */
    uint32_t item;
    uint32_t item_seq;
    uint32_t stamp;           /* of STATE: which items it is about */
    uint32_t user;            /* of the item */
    struct rrmp_view message; /* or text */
    /* Of MESSAGE, nothing that follows is set. */
    uint64_t cookie;
    struct rrmp_view name; /* DICTIONARY */
    struct rrmp_view version;
};

/* Up to `max` events, in order. Their views are valid until the next call of any function of the
 * sink or until the input's bytes go, whichever is first. */
size_t rrmp_sink_event(struct rrmp_sink *sink, struct rrmp_sink_event *events, size_t max);

const struct rrmp_sink_stats *rrmp_sink_stats(const struct rrmp_sink *sink);
size_t rrmp_sink_memory_max(const struct rrmp_sink *sink);
/* Most bytes that one more item takes, its key and held messages aside. */
size_t rrmp_sink_item_bytes(void);

/* For tests: walks all tables. NULL, or the first condition that does not hold (base/check.h). */
const char *rrmp_sink_check(const struct rrmp_sink *sink);

#endif
