/* rmds/backbone.h - applications right on the backbone of their host. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMDS_BACKBONE_H
#define RMDS_BACKBONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rmds/client.h"
#include "rmds/rwf_message.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * An application attaches to the rrcpd of its host and has the data of the backbone without a p2ps
 * between: one copy out of shared memory, and no system call while both sides are busy.
 *
 *     rmds_backbone_options_init(&options, sizeof(options));
 *     options.network = "net1";
 *     rmds_backbone_open(&options, &backbone);
 *     rmds_item_open(backbone, &request, &item);
 *     for (;;) {
 *         while (rmds_backbone_turn(backbone, rmds_now()) > 0)
 *             ;                                        callbacks run in here
 *         poll(descriptor, until rmds_backbone_deadline())
 *     }
 *
 * A backbone and all that belongs to it is one thread's. Either the application's own loop calls
 * rmds_backbone_turn(), or rmds_backbone_start() starts a thread that does; then other threads may
 * call rmds_backbone_post() and rmds_backbone_stop() only, and all the rest is called from
 * callbacks. Callbacks may call every function but close, start, stop and turn. What a callback is
 * given is good until it returns.
 *
 * Nothing is allocated for a message, nothing blocks, every table has a limit. rrcpd decides by the
 * uid of the process what it may do (attachAccess); what it may not do is dropped and counted.
 *
 * Structs that the application fills begin with their size, which the init functions set: those of
 * an older version are accepted by a newer library. Structs that the library passes only grow at
 * their end.
 */
struct rmds_backbone;
struct rmds_item;
struct rmds_offer;
struct rmds_offered;
struct rmds_topic;
struct rmds_bound;

/* ---- the attachment ---- */

struct rmds_backbone_options {
    size_t size;
    const char *network;  /* networkName of rmds.cnf; "net1" */
    const char *instance; /* of the rrcpd; "1" */
    const char *run_dir;  /* "/run/rmds" */
    const char *name;     /* what the operator sees; at most 63 bytes; "application" */
    uint32_t ring_bytes;  /* of the ring towards rrcpd, a power of two from 64 KiB on; 4 MiB */
    uint32_t item_limit;  /* items open at once; 1,000,000 */
    void *owner;          /* first argument of the callbacks below */
    /* The application is on the backbone, or no longer: rrcpd is not there, has ended, or refused
     * it; rmds_backbone_why() says which. It is looked for each second; items become suspect
     * meanwhile. */
    void (*on_link)(void *owner, bool is_up);
    /* A service is new, or has changed. */
    void (*on_service)(void *owner, const char *name, bool is_up);
    /* After RMDS_ERROR_FULL: half of the ring towards rrcpd is free again. */
    void (*on_room)(void *owner);
    /* rrcpd refuses the application: `why` is its sentence. It is asked again each second; the call
     * comes again only with another reason, or after an attachment. */
    void (*on_refused)(void *owner, int error, const char *why);
    /* rrcpd has dropped messages that attachAccess does not let the application send, `count` since
     * it attached; `what` the last one was. At most four calls a second. */
    void (*on_denied)(void *owner, uint64_t count, const char *what);
    /* An rmds.cnf, whose settings of `network` the engine of the backbone takes: it runs inside of
     * the application, which needs no rrcpd. It is a full member of the network then: nothing asks
     * what it may do, and it must be able to read the keys. NULL: attach to rrcpd. */
    const char *configuration;
    /* Gets a sentence when rmds_backbone_open() fails; NULL: none is wanted. */
    char *why;
    size_t why_size;
    /* Somebody has this item open; see rmds_backbone_follow(). */
    void (*on_bound)(void *owner, const struct rmds_bound *bound);
    /* The application looks for messages for this time after the last one, in place of being
     * woken: rmds_backbone_deadline() says "now" meanwhile. That saves a wake-up for each message
     * and takes a CPU. Call sched_yield() between two turns if others share that CPU; the thread
     * of the library does, and sleeps where they need it. 0: the application sleeps at once. */
    uint32_t busy_poll_us;
};

void rmds_backbone_options_init(struct rmds_backbone_options *options, size_t size);

/* RMDS_ERROR_RANGE (an option, or the configuration), RMDS_ERROR_NOMEM, RMDS_ERROR_SYSTEM. That
 * rrcpd is not there yet is no error. The options are copied. */
int rmds_backbone_open(const struct rmds_backbone_options *options, struct rmds_backbone **out);
/* Ends all items and the thread, without callbacks. NULL is allowed. */
void rmds_backbone_close(struct rmds_backbone *backbone);

/* Why the application is not on the backbone: what rrcpd said, or that there is none; "" when it
 * is, and before the first turn. Good until the next turn. */
const char *rmds_backbone_why(const struct rmds_backbone *backbone);

/* One descriptor for the life of `backbone`: readable when a turn has something to do. */
int rmds_backbone_descriptor(const struct rmds_backbone *backbone);
/* When a turn is due even if the descriptor is silent; RMDS_NEVER. */
uint64_t rmds_backbone_deadline(const struct rmds_backbone *backbone);
/* Do what can be done now, in bounded pieces. 0: all is done, wait. */
size_t rmds_backbone_turn(struct rmds_backbone *backbone, uint64_t now_ns);

/* Sends what was published now; else with the end of the turn, or after 32 KiB. */
void rmds_backbone_flush(struct rmds_backbone *backbone);

/* A thread of the library takes the turns from now on. */
int rmds_backbone_start(struct rmds_backbone *backbone);
/* Waits for the end of that thread; not from a callback. */
void rmds_backbone_stop(struct rmds_backbone *backbone);
/* From any thread: `call` runs in the thread of the backbone, in order. RMDS_ERROR_FULL: 1,024
 * calls wait already. */
int rmds_backbone_post(struct rmds_backbone *backbone, void (*call)(void *argument),
                       void *argument);

struct rmds_backbone_stats {
    size_t size;
    uint64_t messages; /* taken from the backbone */
    uint64_t bytes;
    uint64_t images; /* passed to callbacks */
    uint64_t updates;
    uint64_t states;
    uint64_t undecodable; /* messages that are not what they should be; the item is told */
    uint64_t overruns;    /* the application was too slow for the ring and lost messages: told */
    uint64_t send_full;   /* the ring towards rrcpd had no room */
    uint32_t items_now;
    uint32_t live_now; /* of these, in step with their source */
    uint64_t behind;   /* bytes of the ring not read when it was looked at last */
    uint64_t behind_max;
    uint64_t topic_messages;  /* passed to callbacks */
    uint64_t senders_refused; /* messages of a topic whose sender is one too many */
    uint64_t denied;          /* messages that rrcpd dropped since it attached: see on_denied */
    uint64_t records_lost;    /* of services, of any item: those that it hit are told */
};

/* `out->size` must be set. */
void rmds_backbone_stats(const struct rmds_backbone *backbone, struct rmds_backbone_stats *out);

/* ---- items ---- */

enum rmds_item_event_kind {
    RMDS_ITEM_IMAGE,  /* one part of it; see is_first, is_last */
    RMDS_ITEM_UPDATE, /* the next one: what was lost is told before, by a STATE */
    RMDS_ITEM_GENERIC,
    RMDS_ITEM_STATE,  /* OPEN and SUSPECT: do not trust the values until the next image, which comes
                         by itself; code RWF_CODE_GAP_DETECTED: messages were lost */
    RMDS_ITEM_CLOSED, /* the last one: `item` is void when the callback returns */
};

struct rmds_item_event {
    enum rmds_item_event_kind kind;
    struct rmds_item *item;
    void *user;
    /* The RWF message without key, group and stream id; empty where the state has no message. */
    struct rwf_bytes bytes;
    const struct rwf_msg *message; /* the same decoded; NULL for raw items and without a message */
    bool is_first;                 /* IMAGE */
    bool is_last;
    struct rwf_state state; /* IMAGE (without its text), STATE, CLOSED */
};

typedef void rmds_item_fn(const struct rmds_item_event *event);

struct rmds_item_request {
    size_t size;
    const char *service;
    const char *name;
    uint8_t domain; /* 6, market price */
    bool is_snapshot;
    bool is_raw;          /* rmds_item_event.message is not wanted */
    bool has_qos;         /* else the best that the service has */
    struct rwf_qos qos;   /* one quality, which the service must have */
    rmds_item_fn *handle; /* called for each event */
    void *user;           /* handed to it */
    /* It has what others have open and keeps nothing open: where nobody has it (any more), it ends
     * with RWF_CODE_NOT_FOUND. rrcpd allows that to who has the word `record` in attachAccess. An
     * item is open once in an attachment, so one that is followed cannot be opened as a consumer
     * there, nor the other way round (RWF_CODE_ALREADY_OPEN): close it first, or attach twice. */
    bool is_follower;
    struct rwf_bytes key; /* that of rmds_bound, in place of name, domain and quality; copied */
    uint32_t bound_at;    /* that of rmds_bound: where a follower asks first; 0: anywhere */
};

void rmds_item_request_init(struct rmds_item_request *request, size_t size);

/*
 * Open an item. A service that nobody offers (yet) is no error: the item waits for it, and is told
 * so by a STATE. RMDS_ERROR_RANGE (a name too long or missing), RMDS_ERROR_FULL (item_limit, or
 * 1,024 names of services, which are entered once and stay), RMDS_ERROR_NOMEM. An item that is open
 * here already is refused by a CLOSED event with code RWF_CODE_ALREADY_OPEN. No callback runs
 * before the next turn.
 */
int rmds_item_open(struct rmds_backbone *backbone, const struct rmds_item_request *request,
                   struct rmds_item **out);
/* No event of it follows. */
void rmds_item_close(struct rmds_item *item);

/* ---- what others have open ---- */

struct rmds_bound {
    const char *service;
    struct rwf_bytes key; /* for rmds_item_request.key */
    uint8_t domain;
    struct rwf_bytes name; /* of no byte: it has none */
    struct rwf_qos qos;
    bool is_plain;     /* domain, name and quality say all: no filter, identifier or attributes */
    uint32_t bound_at; /* for rmds_item_request.bound_at: the src_dist that has it; 0: not known */
};

/*
 * From now on `on_bound` is called for each item of the service that somebody has open: for all of
 * them, for each one that is opened later, and for those that are not open here once more after
 * messages were lost. It may be called twice for an item before that is open here. NULL: all
 * services. It asks the sources which items those are, part by part; they send nothing more than
 * that. RMDS_ERROR_RANGE, RMDS_ERROR_NOMEM, RMDS_ERROR_FULL: 1,024 names of services.
 */
int rmds_backbone_follow(struct rmds_backbone *backbone, const char *service);

/* ---- services, dictionaries ---- */

/* Good until the next turn. */
struct rmds_service {
    size_t size;
    uint16_t id; /* the configured one, its provider's, or one made of its name */
    bool is_up;
    bool is_accepting;
    bool is_source; /* it is the origin of its data */
    uint8_t capability_count;
    uint8_t capabilities[32]; /* domains */
    uint8_t qos_count;
    struct rwf_qos qos[16];
    uint8_t provided_count; /* dictionaries */
    struct rwf_bytes provided[16];
    uint8_t used_count;
    struct rwf_bytes used[16];
    struct rwf_bytes vendor;
    struct rwf_bytes item_list;
};

/* `out->size` must be set. RMDS_ERROR_NOT_FOUND: no source has ever offered it here. */
int rmds_backbone_service(const struct rmds_backbone *backbone, const char *name,
                          struct rmds_service *out);

struct rmds_dictionary_event {
    void *user;
    struct rwf_bytes bytes;        /* one part: an RWF REFRESH; empty if it is missing */
    const struct rwf_msg *message; /* the same decoded */
    bool is_first;                 /* anew, too: what came before is void */
    bool is_last;
    bool is_missing; /* no source of the service has it; nothing follows */
};

typedef void rmds_dictionary_fn(const struct rmds_dictionary_event *event);

/* A dictionary of a service that is known, from one of its sources; `filter`: enum
 * rwf_dictionary_verbosity. RMDS_ERROR_NOT_FOUND: the service is not known, RMDS_ERROR_FULL: 16 are
 * under way. */
int rmds_backbone_dictionary(struct rmds_backbone *backbone, const char *service, const char *name,
                             uint32_t filter, rmds_dictionary_fn *handle, void *user);

/* ---- services of the application's own ---- */

/*
 * An application may be the source of a service, in place of a src_dist and its provider. Consumers
 * of every p2ps, and applications, find the service by its name. Several sources may offer one
 * service: then `priority` and load decide.
 *
 * Interactive: an item is there while somebody wants it; `on_open` and `on_image` ask for it.
 * Broadcast: items are there from rmds_offer_add() on.
 */
struct rmds_offer_options {
    size_t size;
    const char *service;
    uint16_t id;      /* 0: made of the name; else the rule of attachAccess must be `all` */
    uint8_t priority; /* 0 is best */
    bool is_broadcast;
    bool is_down;           /* offered, but not up yet: rmds_offer_state() */
    struct rwf_qos qos;     /* of all its items; realtime, tick by tick */
    const uint8_t *domains; /* that it has; NULL: market price */
    size_t domain_count;
    const char *dictionary;  /* that fields are of; "RWFFld" */
    const char *enumeration; /* "RWFEnum" */
    void *owner;             /* first argument of the callbacks */
    /* Somebody wants an item that was not wanted before; false: there is no such item. */
    bool (*on_open)(void *owner, struct rmds_offered *item);
    /* Somebody waits for its image: send it by rmds_offered_image(), now or later. */
    void (*on_image)(void *owner, struct rmds_offered *item);
    /* The item was wanted by nobody for some seconds, and is void after the return. Interactive
     * services only, and not for items that the application has ended. */
    void (*on_close)(void *owner, struct rmds_offered *item);
};

void rmds_offer_options_init(struct rmds_offer_options *options, size_t size);
/* RMDS_ERROR_RANGE, RMDS_ERROR_NOMEM, RMDS_ERROR_FULL (256 services), RMDS_ERROR_EXISTS. */
int rmds_offer_open(struct rmds_backbone *backbone, const struct rmds_offer_options *options,
                    struct rmds_offer **out);
/* The service is up, or down: then its consumers go to another source, or wait. */
void rmds_offer_state(struct rmds_offer *offer, bool is_up);
/* Ends the service and its items, without callbacks. Not from a callback of its own. */
void rmds_offer_close(struct rmds_offer *offer);

/* Broadcast: an item that the service has. RMDS_ERROR_EXISTS, RMDS_ERROR_RANGE, RMDS_ERROR_FULL. */
int rmds_offer_add(struct rmds_offer *offer, const char *name, uint8_t domain,
                   struct rmds_offered **out);

const char *rmds_offered_name(const struct rmds_offered *item);
uint8_t rmds_offered_domain(const struct rmds_offered *item);
bool rmds_offered_is_wanted(const struct rmds_offered *item); /* somebody takes its updates */
/* A snapshot of an item that is open begins with the pointer of that item. */
void rmds_offered_set_user(struct rmds_offered *item, void *user);
void *rmds_offered_user(const struct rmds_offered *item);

struct rmds_data {
    size_t size;
    uint16_t container;       /* RWF_TYPE_FIELD_LIST */
    struct rwf_bytes payload; /* encoded, see rmds/rwf_encode.h */
    uint8_t update_type;      /* updates; 0 */
    struct rwf_state state;   /* images; open and OK */
    bool is_first;            /* images of several parts; both true */
    bool is_last;
    bool has_seq_num; /* a number of the source's own */
    uint32_t seq_num;
    struct rwf_bytes perm_data; /* for p2ps to judge who may see it */
};

void rmds_data_init(struct rmds_data *data, size_t size);

/*
 * 0 if nobody takes it, too: then it costs next to nothing. RMDS_ERROR_FULL: the ring towards rrcpd
 * has no room; nothing was sent, `on_room` follows. An image that finds no room is asked for anew.
 * RMDS_ERROR_RANGE: with key and head longer than maxMsgSize or a quarter of the ring. Nothing was
 * sent then, and who waits for the image goes on waiting: send it in parts, or end the item. What
 * cannot be encoded is RMDS_ERROR_RANGE, too: who waits for it is sent away for a second.
 */
int rmds_offered_image(struct rmds_offered *item, const struct rmds_data *data);
int rmds_offered_update(struct rmds_offered *item, const struct rmds_data *data);
/* A state without data: suspect, OK again. */
int rmds_offered_state(struct rmds_offered *item, const struct rwf_state *state);
/* The item ends: `state` is CLOSED, or CLOSED_RECOVER if it is to be asked for again. It is void
 * after the return. */
int rmds_offered_end(struct rmds_offered *item, const struct rwf_state *state);

/* ---- bare topics ---- */

/*
 * A topic is a name and a stream of messages, which are bytes to everybody but the application. All
 * attachments of the network that subscribe hear it, those of the sender's host too, but not the
 * sender's own. Each sender's messages come in order, once, or their loss is told; there is no
 * image of before.
 */
enum rmds_topic_event_kind {
    RMDS_TOPIC_MESSAGE,
    RMDS_TOPIC_LOST, /* `lost` messages of the sender are missing; 0: perhaps some, the last ones */
    RMDS_TOPIC_GONE, /* the sender has ended, or cannot be heard any more */
};

struct rmds_topic_event {
    enum rmds_topic_event_kind kind;
    struct rmds_topic *topic;
    void *user;
    uint64_t sender; /* a number that no other sender on this host has while it lives */
    struct rwf_bytes bytes;
    uint32_t lost;
    uint64_t received_ns; /* when rrcpd read it, rmds_now(); 0 unknown */
};

typedef void rmds_topic_fn(const struct rmds_topic_event *event);

/* Up to 255 bytes of name, 1,024 topics, 1,024 senders of a topic: further ones are not heard, and
 * counted. In a mesh others send it from when they have heard of it, a round trip later.
 * RMDS_ERROR_EXISTS: subscribed
 * already. */
int rmds_topic_subscribe(struct rmds_backbone *backbone, const char *name, rmds_topic_fn *handle,
                         void *user, struct rmds_topic **out);
/* No event of it follows. May be called in a callback of it. */
void rmds_topic_unsubscribe(struct rmds_topic *topic);
/* RMDS_ERROR_FULL: the ring towards rrcpd has no room; `on_room` follows. RMDS_ERROR_RANGE: too
 * long. RMDS_ERROR_NOMEM: 1,024 names, which are entered once and stay. RMDS_ERROR_CLOSED: not
 * attached. It goes on its way with the turn or rmds_backbone_flush().
 */
int rmds_topic_publish(struct rmds_backbone *backbone, const char *name, const void *bytes,
                       size_t length);

#ifdef __cplusplus
}
#endif

#endif
