/* rrmp/source.h - the publishing engine: one instance offering services on the backbone. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMP_SOURCE_H
#define RRMP_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backbone/event.h"
#include "backbone/send.h"
#include "rrmp/record.h"

/*
 * An instance is one loop of src_dist attached to one network. The engine knows who wants what,
 * gives out handles and numbers, and answers what requesters ask about losses. It does not know
 * providers, caches or RWF: messages are opaque bytes, item keys are canonical bytes (rrmp/key.h).
 *
 * The caller
 *   feeds    rrmp_source_input() with what the backbone brings, and calls rrmp_source_tick() when
 * rrmp_source_deadline() has come; takes    events with rrmp_source_event() after each of them
 * until it returns 0; publishes by writing straight into the outbound ring: begin gives the room
 * behind the record's header, commit sends.
 *
 * An item lives from the first WANTED event until UNWANTED has been taken (or the caller closed
 * it): its index is stable in between, and free for another item afterwards.
 *
 * One thread. No clock, no I/O. Nothing is allocated per message; new items, requesters and their
 * chunks of the tables are, within the limits of the configuration.
 */
struct rrmp_source;

#define RRMP_ITEM_NONE 0xFFFFFFFFu

/* How long what nobody needs just now is kept. */
struct rrmp_linger {
    uint64_t close_ns;  /* 0: 5 s; an item that nobody watches */
    uint64_t orphan_ns; /* 0: 10 s; the same after our daemon died */
    uint64_t image_ns;  /* 0: 5 ms; images, only when more than 1000 items wait */
};

struct rrmp_source_config {
    const char *name; /* host.instance.src_dist.loop; for people and load balancing */
    struct backbone_send send;
    uint64_t start_ms;       /* wall clock at start; only shown */
    uint64_t random;         /* seed of table hashing and jitter */
    uint32_t item_limit;     /* items open at once; 0: 16777215 */
    uint32_t item_buckets;   /* the item table starts with; it grows; 0: 4096 */
    uint64_t item_bytes_max; /* for all items and their keys, 0: no limit; at it as at item_limit */
    uint32_t item_bytes_extra; /* what the caller keeps for each item */
    uint32_t handle_limit; /* 0: 16777214; handles rest after use, so allow some more than items */
    uint32_t requester_limit;  /* 0: 1024, which is also the most */
    uint32_t gap_log;          /* svcSeq remembered per service, power of two; 0: 262144 */
    uint32_t service_limit;    /* offered at a time; 0: 256 */
    uint32_t ask_limit;        /* snapshots, dictionaries, privates not answered yet; 0: 65536 */
    uint64_t heartbeat_ns;     /* 0: 1 s */
    struct rrmp_linger linger; /* of services that are told nothing else */
    uint64_t handle_rest_ns;   /* 0: 60 s */
    uint64_t requester_ns;     /* 0: 60 s without SUM ends a requester */
    bool unicast_images;       /* usePointToPointData: images to one node go by unicast */
    bool preempts; /* preemptItems: at item_limit less valuable items make room for others */
};

/* Counters, all totals but the levels named `_now`. */
struct rrmp_source_stats {
    uint64_t records_in[64];  /* by record type */
    uint64_t records_out[64]; /* by record type */
    uint64_t records_bad;
    uint64_t senders_ignored;
    uint64_t backbone_refused; /* outbound ring full */
    uint64_t images_multicast;
    uint64_t images_directed;
    uint64_t images_unicast;
    uint64_t gap_queries;
    uint64_t gap_not_held;
    uint64_t requests_refused;
    uint64_t sum_mismatch;
    uint64_t audit_mended;
    uint64_t preempted;  /* items that made room for more valuable ones */
    uint64_t room_looks; /* items looked at for one that makes room */
    uint64_t unknown_handle;
    uint64_t duplicate_name;
    uint64_t posts;
    uint32_t items_now;
    uint32_t bound_now;
    uint32_t requesters_now;
    uint32_t asks_now;
    size_t key_bytes_now;
    size_t memory_now; /* bytes allocated; never above rrmp_source_memory_max() */
};

/* Fails with MD_ERR_RANGE (a limit out of range) or MD_ERR_NOMEM; *out is then NULL. */
int rrmp_source_create(const struct rrmp_source_config *config, struct rrmp_source **out);
void rrmp_source_destroy(struct rrmp_source *source);

/*
 * Take what the backbone brings: returns how many events were consumed, less than `count` only when
 * the source's own have to be taken first. Messages that are not for this instance cost one
 * compare. The bytes are private memory, not the shared ring itself.
 */
size_t rrmp_source_input(struct rrmp_source *source, uint64_t now_ns,
                         const struct backbone_event *events, size_t count);
/* `input_is_empty`: the inbound ring was found empty since the deadline; only then are requesters
 * declared dead by time, so that our own lag does not look like their death. */
void rrmp_source_tick(struct rrmp_source *source, uint64_t now_ns, bool input_is_empty);
uint64_t rrmp_source_deadline(const struct rrmp_source *source);

/* ---- services ---- */

/* The caller fills everything but version and topic; views are copied. MD_ERR_FULL: service_limit
 * are offered, or all indexes rest: one that was withdrawn is another service's a minute later. */
int rrmp_source_service_offer(struct rrmp_source *source, uint64_t now_ns,
                              const struct rrmp_service *description, uint16_t *svc);
/* Indexes that a new service could have now. */
uint32_t rrmp_source_services_free(const struct rrmp_source *source, uint64_t now_ns);
/* A new description (state included); announced at once, version +1. The name stays. */
int rrmp_source_service_change(struct rrmp_source *source, uint64_t now_ns, uint16_t svc,
                               const struct rrmp_service *description);
/* UNBIND of all its items, which end with UNWANTED events. The same name may be offered again;
 * another one gets the index a minute later. */
void rrmp_source_service_withdraw(struct rrmp_source *source, uint64_t now_ns, uint16_t svc);
/* How long the service waits, where that differs from the configuration of the source. */
void rrmp_source_service_linger(struct rrmp_source *source, uint16_t svc,
                                const struct rrmp_linger *linger);
/* SVCSTATE: a transient status for all items of the service. MD_ERR_FULL: try again. */
int rrmp_source_service_status(struct rrmp_source *source, uint16_t svc,
                               const struct rrmp_svcstate *status);
/* GROUP: a status for a group of items, or a merge, or both. MD_ERR_FULL: try again. */
int rrmp_source_group_status(struct rrmp_source *source, uint16_t svc,
                             const struct rrmp_group *status);

/* ---- events ---- */

enum rrmp_source_event_kind {
    /* `item` is wanted: open it upstream. `key`, `message` (may be empty) say what. */
    RRMP_SOURCE_WANTED,
    /* Nobody wants `item` any more, closeLinger has passed: close it upstream. The index is given
     * back when the next event is taken. */
    RRMP_SOURCE_UNWANTED,
    /* An image of `item` is due: from the cache now (rrmp_source_image_begin), or by re-issue on
     * the open upstream stream. Said once until an image has gone out. */
    RRMP_SOURCE_IMAGE_WANTED,
    /* Highest priority class and count over all requesters has changed. */
    RRMP_SOURCE_PRIORITY,
    /* The interest changed between active, standby only and none (`flag`: any active). An item
     * without active interest publishes nothing; its upstream stream stays until UNWANTED. */
    RRMP_SOURCE_ACTIVE,
    /* A snapshot of `key`: answer `ask` with image parts or a refusal. `item` is the open item of
     * that key, or RRMP_ITEM_NONE. */
    RRMP_SOURCE_SNAPSHOT,
    /* `ask` is void: its requester is gone. */
    RRMP_SOURCE_ASK_GONE,
    /* A post: `item` or RRMP_ITEM_NONE with `key`; `flag`: answer `reply` with one ack. */
    RRMP_SOURCE_POST,
    /* A generic message up the stream of `item`. */
    RRMP_SOURCE_GENERIC,
    /* The dictionary named by `key` with `filter`: answer `ask` with parts. */
    RRMP_SOURCE_DICTIONARY,
    /* A requester that lost its source wants to go on with `item` at `position`: answer `reply`
     * with a replay, or with rrmp_source_resume_refuse(). */
    RRMP_SOURCE_RESUME,
};

/* To whom a post's acknowledgement goes; plain data, may be kept. */
struct rrmp_reply {
    uint64_t session;
    uint16_t port;
    uint16_t svc;
    uint32_t id;
};

struct rrmp_source_event {
    enum rrmp_source_event_kind kind;
    uint16_t svc;
    bool flag;
    bool is_private;
    bool is_recovery; /* WANTED: not a new consumer, but one being moved */
    uint8_t priority_class;
    uint32_t priority_count;
    uint32_t item;
    uint32_t ask;
    uint32_t filter;
    uint64_t key_hash;
    struct rrmp_reply reply;
    struct rrmp_position position;
    struct rrmp_view key;     /* valid while the item lives; else until the input's bytes go */
    struct rrmp_view message; /* points into the input */
};

/* Up to `max` events, in order. Views into input bytes end with those. */
size_t rrmp_source_event(struct rrmp_source *source, struct rrmp_source_event *events, size_t max);

/* ---- items ---- */

/* A broadcast service's item that nobody asked for yet: exists from its provider's first refresh.
 * MD_ERR_EXISTS with *item set if it is there; MD_ERR_FULL at the limit. */
int rrmp_source_item_add(struct rrmp_source *source, uint16_t svc, struct rrmp_view key,
                         uint32_t *item);
/* It is not kept any more: it ends with UNWANTED when nobody has it. */
void rrmp_source_item_drop(struct rrmp_source *source, uint64_t now_ns, uint32_t item);
/* The open item of this key, or RRMP_ITEM_NONE. */
uint32_t rrmp_source_item_find(const struct rrmp_source *source, uint16_t svc,
                               struct rrmp_view key);

struct rrmp_source_item {
    uint16_t svc;
    uint16_t group;
    bool is_active; /* somebody takes its records */
    bool is_bound;  /* has a handle */
    bool is_private;
    bool is_image_due;
    bool is_kept; /* made by rrmp_source_item_add(), not yet dropped */
    uint8_t priority_class;
    uint32_t priority_count;
    uint32_t handle;
    uint32_t item_seq; /* the last number given out */
    uint32_t requester_count;
    uint64_t key_hash;
    struct rrmp_view key;
};

/* False if there is no such item. */
bool rrmp_source_item_info(const struct rrmp_source *source, uint32_t item,
                           struct rrmp_source_item *out);

/*
 * The item ends for good (provider said CLOSED, or the caller drops it): bound, a final STATUS with
 * `message` (an RWF STATUS; may be empty); not bound, a REFUSE with state, code and text to each
 * who waits. No UNWANTED follows: the index is free on return.
 * scope: RRMP_REFUSE_FINAL, _NOT_HERE or _LATER (with wait_ms) towards those who wait unbound.
 */
struct rrmp_ending {
    uint8_t state;
    uint8_t code;
    uint8_t scope;
    uint32_t wait_ms;
    struct rrmp_view text;
    struct rrmp_view message;
};
int rrmp_source_item_close(struct rrmp_source *source, uint64_t now_ns, uint32_t item,
                           const struct rrmp_ending *ending);

/* ---- publishing ----
 *
 * begin: MD_OK and *room, `length` bytes at most, behind the header already in the ring;
 * MD_ERR_FULL: the ring is full, nothing has happened, come back with the same message;
 * MD_ERR_STATE: nobody takes it (not wanted, not bound yet): drop it, all is well.
 * Then commit with the true length, or 0 to send nothing. The number counts up at commit.
 */

/* Something will soon be published of it: it is brought into the cache. Any number will do. */
void rrmp_source_publish_soon(const struct rrmp_source *source, uint32_t item);

/* type: RRMP_UPDATE, RRMP_STATUS or RRMP_GENERIC. A STATUS of an item not bound yet is preceded by
 * a BIND without image, so that those who wait are told. */
int rrmp_source_publish_begin(struct rrmp_source *source, uint32_t item, uint8_t type,
                              size_t length, uint8_t **room);
/* A STATUS that says suspect, until the next image: that its group is fine does not change it. */
int rrmp_source_suspect_begin(struct rrmp_source *source, uint32_t item, size_t length,
                              uint8_t **room);
void rrmp_source_publish_commit(struct rrmp_source *source, size_t length);

/* One part of an image of an item, or of an answer to a snapshot. */
struct rrmp_part {
    bool is_first;
    bool is_last;
    bool is_cached;    /* from a cache: all parts must follow each other without another record */
    bool is_solicited; /* it answers IMAGE_WANTED; else all who have the item take it as news */
    bool stays;        /* suspect until the next one, which is awaited */
    uint8_t state;     /* RWF stream state << 3 | data state, after the image */
    uint8_t code;
    uint16_t group;
};

/*
 * One part. Who gets it, by which path, bound how, is decided at the first part. A refresh that
 * nobody waits for goes to all as unsolicited, whatever is_solicited says. After MD_ERR_FULL inside
 * an image either continue later or abort it: IMAGE_WANTED comes again.
 */
int rrmp_source_image_begin(struct rrmp_source *source, uint64_t now_ns, uint32_t item,
                            const struct rrmp_part *part, size_t length, uint8_t **room);
void rrmp_source_image_abort(struct rrmp_source *source, uint32_t item);
/* The image cannot be had now: who waits for it is sent away for a second. */
void rrmp_source_image_refuse(struct rrmp_source *source, uint64_t now_ns, uint32_t item);
/* Bytes of images that may still be written in this turn (reset by each tick and input). */
size_t rrmp_source_image_budget(const struct rrmp_source *source);

/* ---- answers to one requester; committed with rrmp_source_publish_commit() ---- */

int rrmp_source_snapshot_begin(struct rrmp_source *source, uint32_t ask,
                               const struct rrmp_part *part, size_t length, uint8_t **room);
/* REFUSE instead of an answer; ends the ask. */
int rrmp_source_refuse(struct rrmp_source *source, uint32_t ask, const struct rrmp_ending *ending);
/* part: RRMP_DICT_* flags; the last part ends the ask. */
int rrmp_source_dictionary_begin(struct rrmp_source *source, uint32_t ask, uint16_t flags,
                                 struct rrmp_view name, struct rrmp_view version, size_t length,
                                 uint8_t **room);
/* There is no such dictionary here; ends the ask. */
int rrmp_source_dictionary_unknown(struct rrmp_source *source, uint32_t ask);

/* ---- to go on where another source was ---- */

struct rrmp_replay_to {
    uint32_t item;
    uint32_t tag;
    uint32_t cut; /* all up to this number is replayed */
    uint16_t part;
    uint64_t key_hash;
    struct rrmp_reply reply;
};

/* Binds the item for this requester; the replay follows, up to now. MD_ERR_FULL: nothing has
 * happened, later; MD_ERR_STATE: the requester does not want it any more. */
int rrmp_source_resume_begin(struct rrmp_source *source, uint64_t now_ns, uint32_t item,
                             const struct rrmp_reply *reply, struct rrmp_replay_to *out);
/* The next message of it: `flags` of RRMP_REPLAY_*, FIRST aside. */
int rrmp_source_replay_begin(struct rrmp_source *source, struct rrmp_replay_to *to, uint16_t flags,
                             size_t length, uint8_t **room);
/* Sends it; unlike others it may have no bytes. */
void rrmp_source_replay_commit(struct rrmp_source *source, size_t length);
/* The requester waits for an image instead. */
void rrmp_source_resume_refuse(struct rrmp_source *source, uint32_t item,
                               const struct rrmp_reply *reply);
/* A requester keeps the item ready here for the loss of another source. */
bool rrmp_source_has_standby(const struct rrmp_source *source, uint32_t item);

int rrmp_source_ack_begin(struct rrmp_source *source, const struct rrmp_reply *reply, size_t length,
                          uint8_t **room);

/* ---- the rest ---- */

/* Say LEAVING and UNBIND nothing: requesters move on USER_DOWN or on this. */
void rrmp_source_leave(struct rrmp_source *source, uint64_t now_ns);
const struct rrmp_source_stats *rrmp_source_stats(const struct rrmp_source *source);
size_t rrmp_source_memory_max(const struct rrmp_source *source);
/* Most bytes that one more item takes, its key aside. */
size_t rrmp_source_item_bytes(void);
/* Another instance on the network has this service up, too. */
bool rrmp_source_has_partner(const struct rrmp_source *source, uint16_t svc);
/* At item_limit or item_bytes_max. */
bool rrmp_source_is_full(const struct rrmp_source *source);

/* For tests: walks all tables. NULL, or the first condition that does not hold (base/check.h). */
const char *rrmp_source_check(const struct rrmp_source *source);

#endif
