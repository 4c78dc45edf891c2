/* rrmp/source_impl.h - the source engine's insides, shared by its files and nobody else. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMP_SOURCE_IMPL_H
#define RRMP_SOURCE_IMPL_H

#include "base/map.h"
#include "base/prng.h"
#include "base/slots.h"
#include "base/strings.h"
#include "base/wheel.h"
#include "guard.h"
#include "outbox.h"
#include "rrmp/key.h"
#include "rrmp/source.h"
#include "state.h"

/*
 *   requesters --bits--> items <--hash of (svc, key)-- map
 *                         | | \--handle--> handles (24 bits of number, 8 of generation)
 *                         | \--list--> asks: who waits for an image
 *                         \--> work: what only an item has that is not at rest
 *
 * An item is (bound or not) x (has interest, lingers). It is opened upstream from its first WANTED
 * until UNWANTED; `has_image` says the provider has answered once. At rest it is one cache line and
 * its key.
 */

#define SOURCE_ITEMS_MAX      0xFFFFFFu
#define SOURCE_REQUESTERS_MAX 1024u
#define SOURCE_ENDED          256u
#define SOURCE_FAREWELLS      16384u
#define SOURCE_LOSSES         16u
#define SOURCE_WIDE_WORDS     15u
#define SOURCE_EVENTS         1024u
#define SOURCE_EVENT_RESERVE  8u           /* most events one record can cause */
#define SOURCE_IMAGE_BUSY     (16u * 1024) /* bytes of images a turn: rrmp.md 6.2 */
#define SOURCE_IMAGE_IDLE     (256u * 1024)
#define SOURCE_LINGER_MIN     1000u        /* waiting images that make the linger worth it */
#define SOURCE_IMAGE_WAIT_NS  250000000ull /* an image gives way to ticks for no longer */
#define SOURCE_CLOCK_SHIFT    27           /* steps of 134 ms: 32 bits of them are 18 years */

/* Interest of requesters 64..1023; most items never need it. */
struct source_wide {
    uint32_t next_free;
    uint32_t count; /* of both */
    uint32_t active_count;
    uint64_t active[SOURCE_WIDE_WORDS];
    uint64_t standby[SOURCE_WIDE_WORDS];
};

enum ask_kind {
    ASK_FREE,
    ASK_IMAGE,
    ASK_SNAPSHOT,
    ASK_DICTIONARY,
};

struct source_ask {
    uint32_t next; /* of the item, ASK_IMAGE; of the free list */
    uint32_t item;
    uint32_t id; /* the requester's */
    uint16_t requester;
    uint16_t svc;
    uint8_t kind;      /* enum ask_kind */
    bool is_served;    /* the image under way answers it */
    bool is_multicast; /* wants it by multicast */
    bool is_gone;      /* requester gone, the caller is to be told */
    uint16_t part;
    uint32_t tag;
    uint64_t key_hash;
    uint8_t *key; /* SNAPSHOT: kept for its first part */
    uint16_t key_length;
    uint32_t pending_next; /* of the list of those gone */
};

enum image_mode {
    IMAGE_NONE,
    IMAGE_SOLICITED, /* to those served, cut */
    IMAGE_NEWS,      /* to all, numbered */
    IMAGE_DISCARD,   /* nobody takes it: swallow its parts */
};

/* Events about an item that the caller has not taken yet; taken in this order. */
enum item_news {
    NEWS_WANTED = 1,
    NEWS_ACTIVE = 2,
    NEWS_PRIORITY = 4,
    NEWS_IMAGE = 8,
    NEWS_UNWANTED = 16,
};

/* Images wait for room in the ring and must not stand before other news. */
enum news_list {
    LIST_NEWS,
    LIST_IMAGES,
};

/* An item of which something is to be told, whose image is going out, or which lingers. Each has at
 * most one, and room for that is reserved with the item. */
struct source_work {
    uint32_t item;
    uint32_t list_next[2];
    uint32_t image_tag;
    uint16_t image_part;
    uint8_t image_path; /* enum backbone_path */
    uint64_t image_session;
    uint64_t image_due_ns;
    const uint8_t *request; /* RWF REQUEST of the opener, until WANTED is taken */
    size_t request_length;
    struct md_wheel_timer timer;
};

/* Published items at rest: 64 bytes, which is one cache line. */
struct source_item {
    uint32_t handle; /* of a free one: the next */
    uint32_t item_seq;
    uint16_t svc;
    uint16_t group;
    uint32_t asks;
    uint64_t active; /* requesters 0..63 */
    uint64_t standby;
    uint32_t wide; /* the others; MD_NIL: none */
    uint32_t work; /* MD_NIL: at rest */
    uint32_t key;
    uint16_t key_length;
    uint16_t owner;          /* of a private stream */
    uint32_t requested;      /* newest REQUEST of anyone, by source_clock() */
    uint32_t stamp;          /* of the last gap query it was listed in; of a private stream, */
    uint16_t priority_count; /* which is in none, the id of the request it answers */
    uint8_t priority_class;  /* the data format has no larger count */
    uint8_t news;            /* enum item_news */
    uint8_t lists;           /* bits of enum news_list */
    uint8_t image_mode;      /* of the image between FIRST and LAST; enum image_mode */
    bool in_use : 1;
    bool is_private : 1;
    bool image_cached : 1;
    bool has_image : 1; /* the provider has sent an image once */
    bool is_kept : 1;   /* made by the caller */
    bool is_lingering : 1;
    bool is_recovery : 1;
    bool told_active : 1;
    bool image_told : 1;  /* IMAGE_WANTED taken, no image since */
    bool is_bind_due : 1; /* its first image is under way: followers may have to be told */
};

_Static_assert(sizeof(struct source_item) == 64, "an item at rest is one cache line");

/* The item's number, or HANDLE_FREE | generation when the handle is free or rests: the generation
 * of one in use stands in the item. */
struct source_handle {
    uint32_t word;
};

#define HANDLE_FREE 0xFF000000u

struct source_requester {
    uint32_t next_free;
    uint64_t session;
    uint16_t port;
    uint8_t in_use;
    uint8_t mismatches;  /* SUMs running that differ */
    uint8_t after_reset; /* the unicast stream was reset: less patience */
    uint32_t newest_id;
    uint32_t sum_count;
    uint64_t sum_xor;
    uint64_t heard_ns; /* last SUM or REQUEST */
};

struct source_service {
    bool in_use;
    bool is_withdrawn;
    uint64_t withdrawn_ns;
    uint32_t svc_seq;
    uint32_t topic;
    uint32_t version;
    uint32_t *gap_log;  /* NULL: withdrawn */
    uint32_t log_first; /* the log knows nothing of what came before this number */
    struct rrmp_linger linger;
    uint8_t *blob; /* the encoded description */
    size_t blob_length;
    struct rrmp_service description; /* views into blob */
    bool is_due;                     /* SERVICE to be sent */
    uint64_t partner_ns;             /* another instance said it has the service up; 0 none */
    uint64_t sent_ns;
    uint64_t followed_until_ns; /* requesters want to see each BIND */
};

struct source_rest {
    uint32_t index;
    uint64_t until_ns;
};

/* The search for an item that makes room: see source_room.c. */
struct source_room {
    uint32_t next;   /* the item it goes on at; a round goes over all, from the first to the last */
    uint32_t lowest; /* rank of those looked at in this round */
    uint32_t floor;  /* no item that may go ranks lower; 0: not known */
    uint32_t looks;  /* left in this millisecond */
    uint64_t looks_ns; /* when it began */
};

enum source_room_found {
    ROOM_NONE,  /* nothing is worth less than the request */
    ROOM_LATER, /* not known yet: enough was looked at for now */
    ROOM_MADE,  /* an item was closed, and is gone soon */
};

/* Private streams that have ended, and when that is said again: see source_farewell.c. */
struct source_farewells {
    struct source_farewell {
        uint64_t session;
        uint64_t said_ns;
        uint32_t handle;
        uint32_t item_seq;
        uint16_t port;
        uint16_t svc;
    } * kept;       /* SOURCE_FAREWELLS, from the first one on */
    uint32_t count; /* ever */
    uint64_t due_ns;
    uint64_t lost[SOURCE_LOSSES]; /* sessions that something was dropped for */
    uint32_t lost_count;          /* more than SOURCE_LOSSES: all */
    uint32_t next;                /* where saying them goes on */
    bool is_lost_again;           /* since that began */
};

struct rrmp_source {
    struct rrmp_source_config config;
    struct rrmp_source_stats stats;
    struct rrmp_outbox outbox;
    struct rrmp_guard guard;
    uint64_t seed;
    uint64_t random;
    uint64_t session; /* 0: not attached */
    uint16_t port;
    bool is_leaving;
    char *name;

    struct source_service *services; /* service_room of them */
    uint32_t service_room;
    uint32_t services_now;  /* that are offered: service_limit at most */
    uint16_t service_count; /* indexes that were ever used */
    struct md_slots items;
    struct md_slots works;
    struct md_slots wides;
    struct md_strings keys;
    struct md_slots asks;
    struct md_slots requesters;
    struct md_map item_map;
    struct md_map requester_map;
    struct md_wheel wheel; /* works of lingering items */

    struct md_slots handles; /* chunks only: a number once used stays */
    uint64_t *handle_free;   /* one bit per index: free now */
    uint32_t handle_words;
    uint32_t handle_hint; /* no free bit in words below */
    struct source_rest *rest;
    uint32_t rest_size; /* power of two */
    uint32_t rest_head;
    uint32_t rest_tail;

    uint32_t list_head[2]; /* items with news; enum news_list */
    uint32_t list_tail[2];
    uint32_t gone_head; /* asks to be told gone */
    uint32_t ending;    /* the item whose UNWANTED was just taken */
    struct source_room room;
    struct rrmp_source_event *events;
    uint32_t event_head;
    uint32_t event_tail;

    uint32_t next_tag;
    uint32_t stamp;
    bool binds_wait; /* items' is_bind_due, for which the ring had no room */
    uint32_t image_due_count;
    uint32_t private_count;
    size_t image_budget;
    bool has_published; /* an update went out this turn */

    /* Users that have ended: their unicast stream may still carry what they said before. */
    struct {
        uint64_t session;
        uint16_t port;
    } ended[SOURCE_ENDED];
    uint32_t ended_count;

    struct source_farewells farewells;

    uint32_t beat;
    uint32_t beats_fast; /* so many more at 100 ms */
    uint64_t beat_due_ns;
    uint64_t beat_sent_ns;
    bool beat_wanted;
    uint64_t requester_check_ns;
    uint32_t standby_item; /* where the look for standby interest not said again goes on */

    /* The open reservation. */
    enum { OPEN_NONE, OPEN_NUMBERED, OPEN_PLAIN } open_kind;
    uint8_t open_type;
    uint16_t open_svc;
    size_t open_header;
    uint32_t open_item;
    uint32_t open_ask;
    bool open_takes_number;
    bool open_is_image;
    bool open_is_last;
    uint32_t open_log;
    uint64_t now_ns;
};

static inline struct source_item *source_item_at(const struct rrmp_source *source, uint32_t number)
{
    return md_slots_at(&source->items, number);
}

static inline bool source_item_exists(const struct rrmp_source *source, uint32_t number)
{
    return number < source->items.high && source_item_at(source, number)->in_use;
}

static inline struct rrmp_view source_key(const struct rrmp_source *source,
                                          const struct source_item *item)
{
    return (struct rrmp_view){
        .bytes = md_strings_at(&source->keys, item->key, item->key_length),
        .length = item->key_length,
    };
}

static inline uint64_t source_key_hash(const struct rrmp_source *source,
                                       const struct source_item *item)
{
    struct rrmp_view key = source_key(source, item);

    return rrmp_key_hash(key.bytes, key.length);
}

/* Its own of an item that is not at rest. */
static inline struct source_work *source_work_of(const struct rrmp_source *source,
                                                 const struct source_item *item)
{
    return md_slots_at(&source->works, item->work);
}

static inline const struct source_wide *source_wide_of(const struct rrmp_source *source,
                                                       const struct source_item *item)
{
    return md_slots_at(&source->wides, item->wide);
}

static inline bool source_item_is_active(const struct rrmp_source *source,
                                         const struct source_item *item)
{
    return item->active != 0 ||
           (item->wide != MD_NIL && source_wide_of(source, item)->active_count > 0);
}

/* Requesters with interest of either kind. */
static inline uint32_t source_interest_count(const struct rrmp_source *source,
                                             const struct source_item *item)
{
    int near = __builtin_popcountll(item->active) + __builtin_popcountll(item->standby);

    return (uint32_t)near + (item->wide != MD_NIL ? source_wide_of(source, item)->count : 0);
}

static inline uint32_t source_clock(uint64_t ns)
{
    return (uint32_t)(ns >> SOURCE_CLOCK_SHIFT);
}

static inline bool source_was_requested_within(const struct source_item *item, uint64_t now_ns,
                                               uint64_t time_ns)
{
    return source_clock(now_ns) - item->requested < source_clock(time_ns);
}

static inline struct source_ask *source_ask_at(const struct rrmp_source *source, uint32_t number)
{
    return md_slots_at(&source->asks, number);
}

static inline struct source_requester *source_requester_at(const struct rrmp_source *source,
                                                           uint32_t number)
{
    return md_slots_at(&source->requesters, number);
}

/* source_out.c: destinations, numbers, sending */
struct backbone_target source_topic_target(const struct rrmp_source *source, uint16_t svc);
struct backbone_target source_owner_target(const struct rrmp_source *source,
                                           const struct source_item *item);
bool source_multicast(struct rrmp_source *source, uint16_t svc, uint32_t log_handle,
                      struct rrmp_record *record);
void source_unicast(struct rrmp_source *source, uint64_t session, uint16_t port,
                    const struct rrmp_record *record);
void source_number(struct rrmp_source *source, uint16_t svc, uint32_t log_handle);
uint8_t *source_open_room(struct rrmp_source *source, uint32_t number,
                          const struct backbone_target *target, uint8_t type, size_t header,
                          size_t length);
uint32_t source_open_numbered(struct rrmp_source *source, uint16_t svc, uint32_t log_handle);
/* Without an image. */
struct rrmp_record source_bind_record(const struct rrmp_source *source,
                                      const struct source_item *item);
int source_bind_send(struct rrmp_source *source, const struct source_item *item,
                     struct rrmp_record *bind, size_t following);

/* source_announce.c: heartbeat, INSTANCE, SERVICE */
void source_heartbeat(struct rrmp_source *source, uint64_t now_ns);
void source_service_say(struct rrmp_source *source, uint16_t svc);

/* source_room.c: room for this request at the limit */
enum source_room_found source_room_make(struct rrmp_source *source, uint64_t now_ns,
                                        const struct rrmp_request *request);
/* The item is new, or may be worth less than before. */
void source_room_note(struct rrmp_source *source, uint32_t number);
/* False: an item that may go ranks below what the search believes to be the lowest. */
bool source_room_is_true(const struct rrmp_source *source, uint32_t number);
uint16_t source_priority_count(const struct rrmp_request *request);

/* source_events.c: the item whose UNWANTED was taken goes */
void source_ending_free(struct rrmp_source *source);

/* source_images.c: a part of an image went out on this path; its last part did */
void source_image_count(struct rrmp_source *source, enum backbone_path path);
void source_image_done(struct rrmp_source *source, uint32_t number);

/* source_items.c: items, interest, handles */
uint32_t source_item_lookup(const struct rrmp_source *source, uint16_t svc, struct rrmp_view key);
uint32_t source_item_create(struct rrmp_source *source, uint16_t svc, struct rrmp_view key,
                            bool is_private);
void source_item_free(struct rrmp_source *source, uint32_t number);
void source_item_news(struct rrmp_source *source, uint32_t number, enum item_news news);
/* From now on it is not at rest. */
struct source_work *source_work_take(struct rrmp_source *source, uint32_t number);
/* Back to rest if nothing is under way. */
void source_work_settle(struct rrmp_source *source, uint32_t number);
bool source_interest_get(const struct rrmp_source *source, const struct source_item *item,
                         uint32_t requester, bool *is_active);
bool source_interest_set(struct rrmp_source *source, uint32_t number, uint32_t requester,
                         bool is_active);
void source_interest_clear(struct rrmp_source *source, uint32_t number, uint32_t requester);
/* Interest may have ended: UNBIND, linger, news. */
void source_item_settle(struct rrmp_source *source, uint64_t now_ns, uint32_t number);
bool source_handle_take(struct rrmp_source *source, uint64_t now_ns, uint32_t number);
void source_handle_give(struct rrmp_source *source, uint64_t now_ns, uint32_t number);
/* The item of a handle if it is current, or MD_NIL. */
uint32_t source_handle_item(const struct rrmp_source *source, uint32_t handle);
void source_unbind(struct rrmp_source *source, uint64_t now_ns, uint32_t number, uint8_t reason);

/* source_asks.c */
uint32_t source_ask_add(struct rrmp_source *source, enum ask_kind kind, uint32_t requester,
                        uint16_t svc, uint32_t id);
void source_ask_free(struct rrmp_source *source, uint32_t number);
uint32_t source_ask_image(struct rrmp_source *source, uint32_t item, uint32_t requester,
                          uint32_t id, bool is_multicast);
void source_asks_drop(struct rrmp_source *source, uint32_t item, uint32_t requester);
void source_asks_drop_all(struct rrmp_source *source, uint32_t item);
bool source_asks_wait(const struct rrmp_source *source, const struct source_item *item);
void source_asks_of_gone(struct rrmp_source *source, uint32_t requester);
void source_refuse(struct rrmp_source *source, uint32_t requester, uint16_t svc, uint32_t id,
                   uint64_t key_hash, const struct rrmp_ending *ending);

/* source_requests.c: what requesters send */
void source_record_in(struct rrmp_source *source, uint64_t now_ns,
                      const struct backbone_event *message, const struct rrmp_record *record);
void source_requester_gone(struct rrmp_source *source, uint64_t now_ns, uint32_t requester);
/* The user has ended: whatever still comes of it is ignored. */
void source_user_ended(struct rrmp_source *source, uint64_t session, uint16_t port);

/* source_farewell.c: the end of private streams */
void source_farewell_keep(struct rrmp_source *source, const struct source_item *item);
void source_farewell_say(struct rrmp_source *source, const struct source_item *item);
/* Something for this session is lost: its ends are said again in a moment. */
void source_farewells_lost(struct rrmp_source *source, uint64_t session);
void source_farewells_tick(struct rrmp_source *source);
void source_farewells_forget(struct rrmp_source *source);

struct rrmp_source_event *source_event_put(struct rrmp_source *source,
                                           enum rrmp_source_event_kind kind);

uint32_t source_requester_find(const struct rrmp_source *source, uint64_t session, uint16_t port);
void source_request_image(struct rrmp_source *source, uint32_t item, uint32_t requester,
                          uint32_t id, bool is_multicast);

/* source_gap.c: losses and audits */
void source_listreq(struct rrmp_source *source, uint64_t now_ns, uint32_t requester,
                    const struct rrmp_record *record);
void source_bind_tell(struct rrmp_source *source, struct source_item *item);
void source_binds_tick(struct rrmp_source *source);
void source_gapquery(struct rrmp_source *source, const struct backbone_event *message,
                     const struct rrmp_record *record);
void source_audit(struct rrmp_source *source, uint64_t now_ns, uint32_t requester,
                  const struct rrmp_record *record);
void source_sum(struct rrmp_source *source, uint64_t now_ns, uint32_t requester,
                const struct rrmp_record *record);

#endif
