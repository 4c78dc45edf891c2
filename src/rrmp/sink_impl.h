/* rrmp/sink_impl.h - the sink engine's insides, shared by its files and nobody else. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMP_SINK_IMPL_H
#define RRMP_SINK_IMPL_H

#include "base/map.h"
#include "base/prng.h"
#include "base/slots.h"
#include "base/strings.h"
#include "base/wheel.h"
#include "guard.h"
#include "outbox.h"
#include "rrmp/key.h"
#include "rrmp/sink.h"
#include "sink_refusals.h"
#include "state.h"

/*
 *   instances (session, port) --svc--> links (instance, service) --> services by name
 *       |  map: handle -> slot                |  sequence, loss, queues, window
 *       v                                     v
 *     slots: item, last itemSeq, to whom    items: state; at rest one cache line and a key
 *                                             |
 *                                             v
 *                                           work: image under way, held records, timer
 *
 * Item states and what moves them: docs/design/rrmp.md 6.1; each state's rows are handled in
 * sink_records.c and sink_images.c (what the instance sends), sink_items.c (what the caller does)
 * and sink.c (time).
 */

#define SINK_EVENTS           8192u
#define SINK_ITEMS_MAX        0xFFFFFFu
#define SINK_SERVICES_MAX     0x7FFFu
#define SINK_EVENT_RESERVE    1100u /* most events one record, one timer or one call can cause */
#define SINK_ROWS_MAX         1000u /* rows of one answer judged singly; beyond, the whole service */
#define SINK_CHUNK            4096u
#define SINK_CHUNKS           4096u
#define SINK_REFUSED_NS       30000000000ull /* an item said not to be there */
#define SINK_REFUSED_SHORT_NS 1000000000ull  /* the service there has trouble */
#define SINK_PREEMPTED_NS     5000000000ull  /* at least, until a preempted item asks again */
#define SINK_BUCKETS          64u
#define SINK_RUNS             64u
#define SINK_EARLY_MAX        1024u
#define SINK_EARLY_NS         1000000000ull
#define SINK_DICTS            64u
#define SINK_MOVES            256u /* items that move to a better source at one time */
#define SINK_SUMS_IDLE        6u /* it may remember us from before a partition: say what we hold */
#define SINK_DESCRIPTION_MAX  65536u

enum sink_slot_bits {
    SLOT_WAIT = RRMP_SINK_TO_WAIT, /* deliver to those FILLING */
    SLOT_STEP = RRMP_SINK_TO_STEP, /* deliver to those in step */
    SLOT_HOLD = 4,                 /* hold (or, with STEP, hold a copy) until the image is there */
    SLOT_MAPPED = 8,
};

/* By handle; its generation stands in the item. */
struct sink_slot {
    uint32_t last_seq;
    uint32_t item : 24;
    uint32_t bits : 8; /* enum sink_slot_bits; 0: free */
};

struct sink_list {
    uint32_t head;
    uint32_t tail;
};

enum sink_queue {
    QUEUE_NONE,
    QUEUE_NEW,
    QUEUE_RECOVERY,
    QUEUE_BACKGROUND,
};

/* A record kept: held until its image, or an image part that came before its BIND. The event is
 * complete but for the view of the message, which is these bytes. */
struct sink_held {
    struct sink_held *next;
    struct rrmp_sink_event event;
    uint32_t length;
    uint8_t bytes[];
};

struct sink_chain {
    struct sink_held *head;
    struct sink_held *tail;
    uint32_t count;
    size_t bytes;
};

/* The state of an item that waits for an answer, an image or a deadline, or stands by elsewhere.
 * Each has at most one, and room for that is reserved with the item. */
struct sink_work {
    uint32_t item;
    uint32_t tag;            /* of the image expected or under way */
    uint32_t check_seq;      /* an audit says the instance is there; look again later */
    uint32_t standby_id;     /* of the REQUEST to `standby` */
    uint64_t standby_ns;     /* when it was said last */
    uint16_t part;           /* next one of the image under way */
    uint8_t tries;           /* REQUESTs without answer at this instance */
    bool image_stays;        /* the image under way is suspect until the next */
    bool stays_behind;       /* told suspect behind where it stands: it does not end that */
    bool is_replay;          /* what is under way is no image, but goes on where we were */
    bool is_resume;          /* its REQUEST is not answered yet, and asks for that */
    uint8_t stalls;          /* times that nothing came of it while others came */
    uint32_t replay_cost;    /* of what has come of it */
    bool is_bound_since;     /* a follower: its instance bound it after it was asked */
    uint8_t refusals;        /* since its last image; a follower: or since it was bound anywhere */
    bool is_preempted;       /* others took its room, and nobody else has any: it waits, suspect */
    uint32_t preempted_link; /* where that was last */
    struct sink_refusals refused;
    struct sink_chain held;
    struct md_wheel_timer timer;
};

/* An item at rest: 64 bytes, which is one cache line. */
struct sink_item {
    uint32_t link; /* MD_NIL: parked; of a free one: the next */
    uint16_t service : 15;
    uint16_t is_follower : 1; /* it leaves no interest at its instance */
    uint16_t group;
    uint32_t user;
    uint32_t handle;
    uint32_t list_next; /* of its link; while it has none, of its service */
    uint32_t list_prev;
    uint32_t queue_next; /* of one that is dying: the next of these */
    uint32_t queue_prev;
    uint32_t request_id; /* newest sent; 0: none */
    uint32_t stamp;      /* of the last group or service STATE that concerned it */
    uint32_t standby;    /* the link that keeps it ready for us; MD_NIL none */
    uint32_t place;      /* where it is in its provider's stream; MD_NIL: nobody needs to know */
    uint32_t work;       /* MD_NIL: at rest */
    uint32_t key;        /* if has_message followed by its length, 2 bytes, and the RWF REQUEST */
    uint16_t key_length;
    uint16_t priority_count; /* the data format has no larger one */
    uint8_t priority_class;
    uint8_t state : 3;    /* enum rrmp_sink_item_state */
    uint8_t queue : 2;    /* enum sink_queue */
    uint8_t image_to : 2; /* RRMP_SINK_TO_* of the image under way */
    bool in_use : 1;
    bool is_dying : 1;      /* CLOSED was said: freed when that event has been taken */
    bool is_asked : 1;      /* the instance has our interest, as far as we know */
    bool suspect_sent : 1;  /* consumers in step were told suspect */
    bool had_image : 1;     /* consumers had an image */
    bool wants_image : 1;   /* watches NEW wait although LIVE */
    bool wants_more : 1;    /* watches NEW came after the first part of the image under way */
    bool is_image_open : 1; /* FIRST was delivered, LAST not */
    bool in_window : 1;
    bool is_private : 1;
    bool is_snapshot : 1;
    bool is_multicast : 1; /* holding failed: image by multicast */
    bool is_priority_due : 1;
    bool is_ending : 1;   /* a private stream that has to end: its timer says so */
    bool is_resuming : 1; /* its mirror is asked to go on; suspect is held back, or was told */
    bool has_message : 1;
    bool is_wait_told : 1; /* consumers know why they wait for the first image */
};

_Static_assert(sizeof(struct sink_item) == 64, "an item at rest is one cache line");

/* Where an item of mirrored sources is in the stream of its provider. */
struct sink_place {
    uint32_t next_free;
    bool is_regrouped; /* consumers have an older group of it: no image has come since it moved */
    bool is_doubted;   /* its group or service was told suspect, and not fine since */
    bool is_moving;    /* it has left its source for a better one, and stands in `moves` */
    bool is_half_due;  /* it is to move, and had one new number since, */
    uint32_t awaited;  /* which is this one; before it the one that it had, */
    uint64_t await_ns; /* since when; 0: it is not to move */
    struct rrmp_position position;
};

/* An item that moves: consumers hear of it only if that takes too long. */
struct sink_move {
    uint32_t item;
    uint64_t due_ns;
};

/* The features that a link must offer for a request. */
struct sink_wish {
    uint16_t service;
    bool is_private;
    bool is_follower;
    struct rrmp_view key;
    uint64_t key_hash;
    const struct sink_work *work; /* where it was refused */
};

/* One service at one instance. */
struct sink_link {
    uint32_t next_free;
    uint32_t service_next; /* links of the same service */
    uint32_t instance;
    uint16_t service;
    uint16_t svc;
    uint32_t topic; /* of its multicast records: the hash of its service's name */
    bool in_use;
    uint16_t row_state; /* of the last INSTANCE or SVCSTATE: up, accepting */
    uint32_t version;   /* of the description held; 0 none */
    uint32_t next_seq;  /* of the multicast records; known from the first INSTANCE on */
    uint32_t begin_seq; /* has_begun: the service is wanted, and none of its records has come */
    bool has_begun;     /* since; next_seq was this, and is far behind (sink_topics.c) */
    uint32_t item_count;
    uint32_t items;           /* all of them */
    uint32_t runs[SINK_RUNS]; /* where those of a few groups begin in that list */
    uint32_t standby_count;   /* items of other links it keeps ready */
    uint64_t up_ns;           /* usable since */
    uint32_t window_used;
    uint32_t resumes_used; /* of these: see sink_resume_may_ask() */
    uint8_t *blob;
    size_t blob_length;
    struct rrmp_service description; /* views into blob */
    uint8_t capabilities[32];        /* bit set of domains; all zero: any */
    bool has_capabilities;

    struct sink_list fresh;
    struct sink_list background;
    struct sink_list recovery[SINK_BUCKETS];
    uint64_t recovery_busy;
    uint8_t turn; /* of the 5 : 4 : 1 */

    bool is_unsure; /* it was down when records were lost: no request until its state is heard */
    bool is_in_doubt;
    uint32_t lost_first;
    uint32_t lost_last;
    uint32_t query_id;
    uint64_t doubt_ns;
    uint64_t verify_due_ns;
    uint64_t whole_ns;        /* last recovery of the whole service */
    uint64_t pause_ns;        /* grows when those follow each other */
    uint64_t paused_until_ns; /* recovery requests rest until then */
    uint64_t list_ns; /* what it has bound is asked for then; RRMP_NEVER: it is not followed */
    uint64_t list_heard_ns;
    uint64_t list_began_ns; /* from its beginning; 0: never */
    uint32_t list_parts;    /* since then */
    uint32_t list_from;     /* RRMP_LIST_END: all of it is known */
    uint32_t list_id;
    uint8_t list_tries; /* LISTREQs without an answer */
    bool list_again;    /* from its beginning, when this one has come to its end */
};

struct sink_instance {
    uint32_t next_free;
    bool in_use;
    bool is_leaving;
    uint64_t session;
    uint16_t port;
    uint16_t svc_count; /* size of links */
    bool was_silent;    /* said nothing for its time: it may wake with its old port */
    uint32_t *links;    /* by svc; MD_NIL none */
    char *name;
    size_t name_length;
    uint64_t name_hash;
    uint64_t heard_ns;
    struct sink_slot **map;
    uint32_t map_high;
    uint32_t newest_id;
    uint32_t sum_count;
    uint64_t sum_xor;
    uint64_t sum_due_ns;
    bool sum_again;
    uint8_t sums_idle; /* sent since it appeared, without a request of ours */
    uint32_t audit_id; /* 0: none under way */
    uint32_t audit_from;
    uint64_t audit_due_ns;
    uint32_t stray_handle; /* of a private stream there that is nobody's here, closed last */
    uint64_t stray_due_ns; /* when that is said again */
};

struct sink_service {
    struct rrmp_view name; /* of no byte: the number is free */
    uint16_t id;
    uint32_t links;
    uint32_t apart; /* the items that have no link */
    uint32_t item_count;
    uint32_t parked_count;
    uint32_t live_count;
    uint32_t regrouped_count; /* items of which consumers have an older group */
    bool was_up;
    bool is_event_due;
    bool is_followed;
    bool has_followers; /* items that follow were opened */
    bool is_wanted;     /* its records are to come, since */
    uint64_t wanted_ns;
};

struct sink_post {
    uint32_t next_free;
    uint32_t instance;
    uint32_t id;
    bool in_use;
    uint64_t cookie;
    struct md_wheel_timer timer;
};

struct sink_dict {
    bool in_use;
    uint16_t service;
    uint32_t link;
    uint32_t instance; /* that was asked */
    uint32_t request_id;
    uint32_t filter;
    uint16_t part;
    uint8_t tries;
    uint8_t name_length;
    uint8_t name[RRMP_NAME_MAX];
    uint64_t cookie;
    uint64_t due_ns;
};

/* Parts of an image that came by unicast before its BIND. */
struct sink_early {
    uint32_t instance;
    uint32_t handle;
    uint32_t tag;
    uint64_t since_ns;
    struct sink_chain parts;
    bool is_whole;
};

/* An event, or a chain of held records that are handed out one by one in its place. What a tick
 * sets is one cache line. */
struct sink_event_cell {
    struct sink_held *chain;
    struct rrmp_sink_event event;
};

struct rrmp_sink {
    struct rrmp_sink_config config;
    struct rrmp_sink_stats stats;
    struct rrmp_outbox outbox;
    struct rrmp_guard guard;
    uint64_t seed;
    uint64_t random;
    uint64_t session; /* 0: not attached */
    uint16_t port;
    uint64_t now_ns;

    struct md_slots instances;
    struct md_slots links;
    struct md_slots items;
    struct md_slots works;
    struct md_slots places;
    struct md_strings keys;
    struct md_slots posts;
    struct md_map instance_map;
    struct md_map item_map;     /* by service and key; not private streams and snapshots */
    struct md_map request_map;  /* by id of REQUEST: items asked for, and those kept ready */
    struct md_wheel wheel;      /* of works */
    struct md_wheel post_wheel; /* of posts */
    struct sink_service *services;
    uint16_t service_count; /* numbers that were ever used */
    uint16_t services_now;
    uint32_t last_instance; /* remembered for the next record */

    struct sink_event_cell *events;
    uint32_t event_head;
    uint32_t event_tail;
    struct sink_held *spent; /* handed out by the last call, freed by the next */
    uint32_t dying;

    struct sink_early early[SINK_EARLY_MAX];
    uint32_t early_count;
    struct sink_dict dicts[SINK_DICTS];
    uint32_t dict_count; /* in use */

    uint32_t next_id;
    uint32_t next_query;
    uint32_t next_post;
    uint32_t next_stamp;
    bool has_scoped; /* a STATE of a group or service waits: no other may stamp its items anew */
    uint64_t query_due_ns; /* QUERY INSTANCE to all; RRMP_NEVER none */
    uint64_t service_query_ns;
    uint64_t parked_check_ns;           /* each second: what is parked may have a place */
    bool filters;                       /* what nobody wants is left out */
    uint64_t topics_ns;                 /* each second: what is wanted no more */
    uint64_t mirror_ns;                 /* when the next items are looked at */
    uint32_t mirror_item;               /* where that goes on */
    bool move_waits;                    /* an item that was looked at waits to be moved */
    uint64_t move_ns;                   /* up to when move_rate has given credit: */
    uint64_t move_credit;               /* for moves, MOVE_COST each */
    struct sink_move moves[SINK_MOVES]; /* in order of their times */
    uint32_t move_head, move_tail;
    uint64_t hold_ns;     /* suspect is held back until then; RRMP_NEVER: of no item */
    uint64_t hold_end_ns; /* at most so long, while replays come */
    uint64_t replay_ns;   /* when the last part of any replay came */
    uint32_t hold_item;   /* where telling it goes on */
    uint32_t replay_cost; /* of a usual replay */
    uint64_t gate_ns;     /* replays are under way, if one is heard by then; RRMP_NEVER: none is */
    bool may_send;        /* a queue may have something to send */
};

static inline struct sink_item *sink_item_at(const struct rrmp_sink *sink, uint32_t number)
{
    return md_slots_at(&sink->items, number);
}

static inline struct sink_link *sink_link_at(const struct rrmp_sink *sink, uint32_t number)
{
    return md_slots_at(&sink->links, number);
}

static inline struct sink_instance *sink_instance_at(const struct rrmp_sink *sink, uint32_t number)
{
    return md_slots_at(&sink->instances, number);
}

extern const struct sink_work sink_work_none;

/* Its work, or one in which nothing is under way. */
static inline const struct sink_work *sink_work_of(const struct rrmp_sink *sink,
                                                   const struct sink_item *item)
{
    return item->work == MD_NIL ? &sink_work_none
                                : (const struct sink_work *)md_slots_at(&sink->works, item->work);
}

/* A key with a REQUEST behind it has a block of its own, whatever its length. */
#define SINK_STRING_LONG (MD_STRINGS_SHORT + 1u)

static inline struct rrmp_view sink_key(const struct rrmp_sink *sink, const struct sink_item *item)
{
    size_t length = item->has_message ? SINK_STRING_LONG : item->key_length;

    return (struct rrmp_view){
        .bytes = md_strings_at(&sink->keys, item->key, length),
        .length = item->key_length,
    };
}

static inline uint64_t sink_key_hash(const struct rrmp_sink *sink, const struct sink_item *item)
{
    struct rrmp_view key = sink_key(sink, item);

    return rrmp_key_hash(key.bytes, key.length);
}

/* Its interest is in the digest that its instance has of us. */
static inline bool sink_item_is_summed(const struct sink_item *item)
{
    return !item->is_private && !item->is_snapshot && !item->is_follower;
}

static inline bool sink_item_exists(const struct rrmp_sink *sink, uint32_t number)
{
    if (number >= sink->items.high)
        return false;
    const struct sink_item *item = sink_item_at(sink, number);
    return item->in_use && !item->is_dying;
}

/* sink_events.c */
struct rrmp_sink_event *sink_event_put(struct rrmp_sink *sink, enum rrmp_sink_event_kind kind);
struct rrmp_sink_event *sink_item_event(struct rrmp_sink *sink, enum rrmp_sink_event_kind kind,
                                        uint32_t item);
/* A MESSAGE: what is made most often. */
void sink_tick_event(struct rrmp_sink *sink, uint32_t item, uint8_t type, uint8_t to, uint32_t seq,
                     struct rrmp_view message);
bool sink_event_room(const struct rrmp_sink *sink);
void sink_chain_put_event(struct rrmp_sink *sink, struct sink_chain *chain);
bool sink_chain_add(struct rrmp_sink *sink, struct sink_chain *chain,
                    const struct rrmp_sink_event *event, struct rrmp_view message);
void sink_chain_free(struct rrmp_sink *sink, struct sink_chain *chain);
void sink_event_forget(struct rrmp_sink *sink, uint32_t item);
void sink_dying_free(struct rrmp_sink *sink);
void sink_events_fini(struct rrmp_sink *sink);

/* sink_items.c: an item's place, its states */
int sink_name_put(struct rrmp_sink *sink, const struct rrmp_sink_open *open, uint32_t item);
/* From now on the item is found by this id of a REQUEST. False: no memory. */
bool sink_request_put(struct rrmp_sink *sink, uint32_t id, uint32_t item);
void sink_request_remove(struct rrmp_sink *sink, uint32_t id, uint32_t item);
void sink_item_remove(struct rrmp_sink *sink, uint32_t item);
/* From now on it is not at rest. */
struct sink_work *sink_work_take(struct rrmp_sink *sink, uint32_t item);
/* Back to rest if nothing is under way. */
void sink_work_settle(struct rrmp_sink *sink, uint32_t item);
void sink_timer_set(struct rrmp_sink *sink, uint32_t item, uint64_t due_ns);
void sink_timer_cancel(struct rrmp_sink *sink, uint32_t item);
void sink_held_free(struct rrmp_sink *sink, const struct sink_item *item);
uint32_t sink_item_lookup(const struct rrmp_sink *sink, uint16_t service, struct rrmp_view key);
uint32_t sink_item_by_request(const struct rrmp_sink *sink, uint16_t service, uint64_t key_hash,
                              uint32_t request_id);
uint32_t sink_item_by_standby(const struct rrmp_sink *sink, uint16_t service, uint64_t key_hash,
                              uint32_t request_id);
void sink_item_set_state(struct rrmp_sink *sink, uint32_t item, enum rrmp_sink_item_state state);
void sink_item_tell(struct rrmp_sink *sink, uint32_t item, uint8_t state, uint8_t code,
                    struct rrmp_view text);
/* Start over with this item where it is: unmap, queue. */
void sink_item_requeue(struct rrmp_sink *sink, uint32_t item, enum sink_queue queue);
/* Consumers may have wrong values: send suspect, then request the item again. */
void sink_item_lost(struct rrmp_sink *sink, uint32_t item, uint8_t code);
/* Find an instance and queue there, or park. `suspect_sent`: consumers know already. */
void sink_item_place(struct rrmp_sink *sink, uint32_t item, enum sink_queue queue);
/* Leave the instance, saying CLOSE if it may still believe in our interest. */
void sink_item_leave(struct rrmp_sink *sink, uint32_t item, uint8_t reason);
void sink_item_end(struct rrmp_sink *sink, uint32_t item, uint8_t state, uint8_t code, uint8_t type,
                   struct rrmp_view message);
/* A private stream cannot be mended: it ends with its timer, which is due now. */
void sink_private_end(struct rrmp_sink *sink, uint32_t item, uint8_t reason);
/* Not there for `time_ns`. */
void sink_item_refuse_at(struct rrmp_sink *sink, uint32_t item, uint32_t link, uint64_t time_ns);
/* Where only instances are left that refused it, they are asked again; where none is left at all,
 * they are not: those who did not refuse it may come back first. */
void sink_item_forgive(struct rrmp_sink *sink, uint32_t item);
void sink_item_unmap(struct rrmp_sink *sink, uint32_t item);
bool sink_item_map(struct rrmp_sink *sink, uint32_t item, uint32_t handle, uint32_t seq,
                   uint8_t bits);
void sink_window_leave(struct rrmp_sink *sink, struct sink_item *item);
void sink_unask(struct rrmp_sink *sink, struct sink_item *item);

/* sink_open.c: the RWF REQUEST it was opened with */
struct rrmp_view sink_item_message(const struct rrmp_sink *sink, const struct sink_item *item);
/* The number is free again. */
void sink_item_give(struct rrmp_sink *sink, uint32_t item);

/* sink_lists.c */
void sink_list_init(struct sink_link *link);
/* A new item, without a link. */
void sink_list_put(struct rrmp_sink *sink, uint32_t item);
void sink_list_take(struct rrmp_sink *sink, uint32_t item);
void sink_item_set_link(struct rrmp_sink *sink, uint32_t item, uint32_t link);
void sink_item_set_group(struct rrmp_sink *sink, uint32_t item, uint16_t group);
/* The items of a link, or those among which all of the group are. Before an item is put elsewhere
 * its next one is looked up. */
uint32_t sink_run_first(const struct rrmp_sink *sink, uint32_t link, uint16_t group);
uint32_t sink_run_next(const struct rrmp_sink *sink, uint32_t item, uint16_t group);

/* sink_queue.c */
void sink_queue_put(struct rrmp_sink *sink, uint32_t item, enum sink_queue queue);
void sink_queue_remove(struct rrmp_sink *sink, uint32_t item);
void sink_queues_serve(struct rrmp_sink *sink);
bool sink_request_send(struct rrmp_sink *sink, uint32_t item);
bool sink_link_sendable(const struct rrmp_sink *sink, const struct sink_link *link);

/* sink_directory.c */
uint32_t sink_instance_find(struct rrmp_sink *sink, uint64_t session, uint16_t port);
void sink_instance_in(struct rrmp_sink *sink, const struct backbone_event *message,
                      const struct rrmp_record *record);
void sink_service_in(struct rrmp_sink *sink, const struct backbone_event *message,
                     const struct rrmp_record *record);
void sink_instance_gone(struct rrmp_sink *sink, uint32_t instance);
void sink_link_state(struct rrmp_sink *sink, uint32_t link, uint16_t state);
void sink_parked_check(struct rrmp_sink *sink);
void sink_service_changed(struct rrmp_sink *sink, uint16_t service);
/* Another instance has the service, too. */
bool sink_link_has_other(const struct rrmp_sink *sink, uint32_t link);

/* sink_choice.c */
struct sink_wish sink_wish_of(const struct rrmp_sink *sink, const struct sink_item *item);
bool sink_wish_is_refused_at(const struct rrmp_sink *sink, const struct sink_wish *wish,
                             uint32_t link);
/* wish NULL: for anything. */
bool sink_link_usable(const struct rrmp_sink *sink, const struct sink_wish *wish, uint32_t link);
uint32_t sink_wish_choose(const struct rrmp_sink *sink, const struct sink_wish *wish);
uint32_t sink_link_choose(const struct rrmp_sink *sink, const struct sink_item *item);

/* sink_loss.c */
void sink_link_lost(struct rrmp_sink *sink, uint32_t link, uint32_t first, uint32_t last);
void sink_link_recover(struct rrmp_sink *sink, uint32_t link);
void sink_gapitems_in(struct rrmp_sink *sink, uint32_t instance, const struct rrmp_record *record);
void sink_auditdiff_in(struct rrmp_sink *sink, uint32_t instance, const struct rrmp_record *record);
void sink_item_check(struct rrmp_sink *sink, uint32_t item);
void sink_sums(struct rrmp_sink *sink, bool at_once);
void sink_repeat_unanswered(struct rrmp_sink *sink, uint32_t instance, bool is_reset);
uint64_t sink_loss_tick(struct rrmp_sink *sink);

/* sink_records.c */
void sink_record_in(struct rrmp_sink *sink, const struct backbone_event *message);
struct sink_slot *sink_slot_find(const struct rrmp_sink *sink, const struct sink_instance *instance,
                                 uint32_t handle);
/* Has what the slot of the handle, or its item, says brought into the cache. */
void sink_slot_fetch(const struct sink_instance *instance, uint32_t handle);
void sink_slot_item_fetch(const struct rrmp_sink *sink, const struct sink_instance *instance,
                          uint32_t handle);

/* sink_images.c */
void sink_image_in(struct rrmp_sink *sink, uint32_t instance, uint32_t link,
                   const struct rrmp_record *record);
void sink_bind_in(struct rrmp_sink *sink, uint32_t instance, uint32_t link,
                  const struct rrmp_record *record);
bool sink_hold(struct rrmp_sink *sink, uint32_t item, const struct rrmp_sink_event *event,
               struct rrmp_view message);
void sink_early_expire(struct rrmp_sink *sink, uint32_t instance, bool all);
/* Parts by unicast before their BIND: `event` is complete but for whom it goes to. */
void sink_early_keep(struct rrmp_sink *sink, const struct rrmp_sink_event *event, uint32_t handle,
                     uint32_t tag, bool is_first, bool is_last);
/* Those of the item's tag, in their order; they are the caller's then. NULL: there are none. */
struct sink_early *sink_early_find(struct rrmp_sink *sink, uint32_t instance, uint32_t handle,
                                   uint32_t tag);
void sink_early_drop(struct rrmp_sink *sink, struct sink_early *early);

/* QUERY INSTANCE, soon. */
void sink_query_later(struct rrmp_sink *sink, uint64_t spread_ns);
/* To an instance; queued behind others when the ring is full. */
void sink_send(struct rrmp_sink *sink, uint32_t instance, const struct rrmp_record *record);

#endif
