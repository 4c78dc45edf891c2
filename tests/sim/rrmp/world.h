/* world.h - the simulated backbone of rrmpsim: nodes, processes, time, what is said and when. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMPSIM_WORLD_H
#define RRMPSIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/prng.h"
#include "coverage.h"
#include "lines.h"
#include "numbers.h"
#include "rrmp/key.h"
#include "rrmp/sink.h"
#include "rrmp/source.h"

#define MS             UINT64_C(1000000)
#define SEC            UINT64_C(1000000000)

#define NODES_MAX      16
#define PROCS_MAX      24
#define ITEMS_MAX      400
#define SERVICES_MAX   3 /* with one of non-interactive providers */
#define WATCHES_MAX    300
#define IMAGED_MAX     65536u /* counters of an item */
#define PRIVATES_MAX   8
#define PACES_MAX      3
#define FOLLOWED_FIRST 90000u      /* names of items that followers alone open */
#define PRIVATE        0x40000000u /* user words and items of private streams */
#define SNAPSHOT       0x20000000u /* user words of snapshots */
#define MESSAGE_MAX    65536
#define SERVICE_NAME   "SVC0" /* its last letter counts */

struct world;
struct proc;

/*
 * The network gives what the reliable multicast promises (FIFO per sender and stream, no
 * duplicates, losses told in their place, users' ends told after their last message), over delays,
 * losses beyond repair, partitions and restarts drawn from the seed.
 *
 * The world behind the providers is one counter per item; every provider sees it. The image of an
 * item is a function of its name and counter, so each consumer can be judged by itself.
 */

struct options {
    uint64_t seed;
    const char *scenario; /* NULL: everything drawn from the seed */
    bool is_traced;
    bool checks_each_step; /* else the tables are walked at a cost that is small beside the rest */
    bool is_engine_only;   /* models around the engines instead of the cores of the programs */
    bool has_lines;        /* of filterFile, drawn from the seed */
    bool has_paces;        /* conflateRates, drawn from the seed */
    bool has_followers;    /* recorders beside the p2ps, drawn from the seed */
    bool has_wishes;       /* nodes are not sent what nobody there wants */
};

/*
 * One fault at a time, in a system at rest but for its updates: what a fault may cost is counted,
 * and nobody it does not concern may notice it.
 */
enum experiment {
    EXPERIMENT_NONE,
    EXPERIMENT_LOSS,      /* k records of one source at one node */
    EXPERIMENT_LAP,       /* one p2ps */
    EXPERIMENT_KILL,      /* one src_dist, which comes again or has another beside it */
    EXPERIMENT_DAEMON,    /* the rrcpd of one src_dist */
    EXPERIMENT_REQUESTER, /* one p2ps hangs or dies */
    EXPERIMENT_CONSUMER,  /* one consumer stops, is slow or dies */
    EXPERIMENT_CROWD,     /* one p2ps asks for thousands of items, then another for one */
    EXPERIMENT_count,     /* of those that are drawn */
    EXPERIMENT_MIRROR = EXPERIMENT_count, /* one of two mirrors whose providers number alike */
};

/* What there is outside the processes when they are the cores of the programs. */
struct core_plan {
    enum experiment experiment;
    uint32_t providers; /* interactive ones of each source */
    bool has_broadcast; /* and one that publishes a service of its own */
    uint32_t consumers; /* of each sink */
    uint32_t streams;   /* of each consumer */
    uint32_t window;    /* of each provider */
    uint32_t slow_percent;
    bool sink_cache;
    bool authority_is_late;
    uint32_t crowd;
    uint64_t forget_ns;       /* serviceForget; 0: never */
    bool checks_interest;     /* 20 s after the last fault, not at the end alone */
    bool has_silent_privates; /* providers say nothing on private streams but their image */
    bool is_mirrored; /* all sources stand in for each other, and all providers number alike */
    bool rebalances;  /* items move back to a source that comes again */
    bool is_parted;   /* one p2ps and one source do not hear each other for a while */
    struct numbers numbers;
    /* expected over the run */
    uint32_t silences;
    uint32_t jams;
    uint32_t refusals;
    uint32_t service_downs;
    uint32_t item_ends;
    uint32_t group_moves;
    uint32_t permission_changes;
    uint32_t stops;
    uint32_t consumer_deaths;
};

/* What a run does; drawn from the seed, then changed by the scenario. */
struct plan {
    uint32_t node_count;
    uint32_t source_count;
    uint32_t sink_count;
    uint32_t follower_count;
    uint32_t item_count;
    uint32_t service_count;
    uint32_t watch_count; /* per sink */
    uint32_t updates_per_s;
    uint64_t busy_ns;       /* with faults */
    uint64_t delay_ns;      /* greatest of one link */
    uint64_t part_delay_ns; /* greatest between the parts of an image */
    uint32_t loss_ppm;      /* losses beyond repair, per message and link */
    uint32_t loss_run;      /* longest run of them */
    uint32_t unicast_loss_ppm;
    uint32_t kills; /* of processes, expected over the run */
    uint32_t hangs;
    uint32_t node_kills;
    uint32_t partitions;
    uint32_t laps;
    uint32_t provider_losses;
    uint32_t churn_per_s; /* opens, closes, reissues per sink */
    uint32_t group_changes_per_s;
    uint32_t hostile_per_s;
    uint32_t posts_per_s;
    uint32_t ring_bytes; /* outbound ring, drained at ring_rate */
    uint64_t ring_rate;
    uint32_t stalls;       /* of the daemon behind an outbound ring */
    bool drains_meanwhile; /* it takes from a full ring while the process runs */
    bool source_cache;
    bool unicast_images;
    uint32_t gap_log;
    uint32_t window;
    uint32_t hold_records;
    uint32_t handle_limit;
    uint64_t handle_rest_ns;
    uint64_t close_linger_ns;
    struct core_plan core;
};

struct blob {
    uint32_t refs;
    uint32_t length;
    uint8_t bytes[];
};

/* Topics of a process, or of a node; more than that is everything. */
#define WANTS_MAX 8u

struct wants {
    bool is_all;
    uint32_t count;
    uint32_t topics[WANTS_MAX];
};

/* What lies in a process's inbound ring. */
struct entry {
    struct backbone_event event;
    struct blob *blob; /* of a message */
};

/* What a provider tells its src_dist, in order. */
enum feed_kind {
    FEED_REFRESH, /* answer to our request; one part of it */
    FEED_UPDATE,
    FEED_NEWS,   /* unsolicited refresh */
    FEED_CLOSED, /* the provider refuses or ends the item */
    FEED_DOWN,
    FEED_UP,
    FEED_GROUP, /* the provider says a group suspect, then fine again */
};

struct feed {
    enum feed_kind kind;
    uint32_t item;
    uint32_t counter;
    uint32_t epoch; /* of the provider connection */
    uint16_t part;
    uint16_t parts;
};

struct queue {
    void *cells;
    size_t cell_size;
    uint32_t head, tail, size;
};

/* src_dist's view of one item of the world. */
struct upstream {
    bool is_open;    /* at the provider */
    bool is_sending; /* the provider's side: it has the stream open */
    bool is_asked;   /* a refresh is under way */
    bool is_cached;
    bool is_image_due; /* IMAGE_WANTED was said while nothing could be done */
    uint32_t counter;
    uint32_t item; /* the engine's number, RRMP_ITEM_NONE */
};

enum watch_state {
    WATCH_IDLE,
    WATCH_NEW,
    WATCH_FILLING,
    WATCH_STEP,
};

/* One consumer's stream, and all that is known about it to judge it. */
struct watch {
    enum watch_state state;
    uint32_t item; /* of the world */
    uint32_t counter;
    uint16_t part;     /* next one of the image coming in */
    bool has_data;     /* something was delivered since open */
    bool is_suspect;   /* the last state told */
    bool may_jump;     /* told suspect (or asked again) since the last data */
    bool was_told;     /* anything at all said since the open */
    bool awaits_image; /* a state said so: nothing else may end that it is suspect */
    uint64_t opened_ns;
};

/* What runs in a process: one of the engines between models, or a core of a program. */
struct proc_ops {
    void (*start)(struct world *world, struct proc *proc);
    void (*input)(struct world *world, struct proc *proc, const struct backbone_event *events,
                  size_t count);
    /* The ring is empty: what else is to do now, and when next. */
    void (*turn)(struct world *world, struct proc *proc);
    /* The process ends; with the world when `is_killed` is false. */
    void (*fini)(struct world *world, struct proc *proc);
    /* Walks the core's own tables: NULL, or what does not hold. NULL: the engine's are all. */
    const char *(*check)(const struct proc *proc);
};

struct proc {
    const struct proc_ops *ops;
    bool is_source;
    bool is_alive;
    uint32_t serial; /* of this life of any process */
    uint32_t node;
    uint16_t port;
    uint64_t session; /* attached to; 0 not */
    struct wants wants;
    uint64_t hung_until_ns;
    uint64_t woke_ns;
    uint64_t tick_at_ns;
    uint64_t restart_ns;
    uint32_t number;
    uint32_t unchecked_turns;
    uint32_t eager_turns;  /* in a row, due at once */
    struct queue inbox;    /* struct entry */
    uint64_t heard[4];     /* bits of attachments whose INSTANCE came and whose end did not */
    uint64_t end_heard_ns; /* when the last of such ends came */
    const struct rrmp_source *source; /* for who looks on; NULL in a sink */
    const struct rrmp_sink *sink;
    struct srcdist_core *srcdist;
    struct p2ps_core *p2ps;
    struct follower *follower;
    uint64_t states_seen; /* of services and groups */
    /* ---- the models around the engines ---- */
    struct rrmp_source *own_source;
    struct rrmp_sink *own_sink;
    struct queue feeds; /* struct feed; sources */
    /* outbound ring */
    uint8_t *room;
    uint64_t ring_used;
    uint64_t ring_ns; /* drained until then; in the future: its daemon stalls */
    /* source */
    uint16_t svc[SERVICES_MAX];
    struct upstream *upstream; /* ITEMS_MAX */
    uint32_t epoch;
    bool is_provider_up;
    uint64_t last_feed_ns;
    struct {
        bool is_open;
        bool is_solicited;
        uint32_t item, counter;
        uint16_t part, parts;
    } image; /* one that met a full ring */
    /* sink */
    struct watch watches[WATCHES_MAX];
    uint32_t sink_item[ITEMS_MAX]; /* the engine's number of an item of the world */
    uint32_t posts_open;
    uint32_t snapshots_open;
    struct {
        bool is_open;
        bool has_data;
        uint32_t item; /* the engine's */
        uint32_t number;
        uint32_t counter;
    } privates[PRIVATES_MAX]; /* of both kinds of process */
    uint32_t next_private;
};

struct node {
    bool is_up;
    uint64_t session;
    uint16_t next_port;
    bool hears[NODES_MAX];         /* we have told our users PEER_UP of it */
    uint64_t cut_until[NODES_MAX]; /* we do not hear it */
    uint64_t cut_since[NODES_MAX];
    uint64_t last_ns[NODES_MAX][2]; /* FIFO towards us: multicast, unicast */
    uint32_t losing[NODES_MAX][2];  /* so many more are lost */
    uint64_t losing_until[NODES_MAX][2];
    bool gap_due[NODES_MAX][2];
    bool filters;                      /* it says what it wants */
    struct wants said;                 /* to the others, last */
    struct wants wanted_at[NODES_MAX]; /* as this node knows */
};

enum event_kind {
    EVENT_DELIVER, /* an entry reaches a node */
    EVENT_TICK,    /* a process runs */
    EVENT_UPDATE,  /* the world moves */
    EVENT_CHURN,   /* consumers do things */
    EVENT_FAULT,   /* something breaks */
    EVENT_FEED,    /* a provider's word reaches its src_dist */
    EVENT_RESTART,
    EVENT_NODE_UP,
    EVENT_PEER_DOWN,
    EVENT_HEAL,
    EVENT_LOSS_END, /* the search for what is missing is given up */
    EVENT_PROVIDER_UP,
    EVENT_HOSTILE,
    EVENT_WORD,     /* bytes of a provider reach its src_dist */
    EVENT_HEARD,    /* bytes of a src_dist reach its provider */
    EVENT_PART,     /* a provider goes on with an image */
    EVENT_BETTER,   /* a provider says what it said suspect or down to be well again */
    EVENT_CONSUMER, /* a consumer connects */
    EVENT_DRAIN,    /* a consumer reads */
    EVENT_WISH,     /* a node says to another one what it wants */
};

struct event {
    uint64_t at_ns;
    uint64_t order;
    enum event_kind kind;
    uint32_t a, b;
    uint64_t c;
    struct entry entry;
    struct feed feed;
};

struct world_item {
    uint32_t counter;
    uint16_t service;
    uint8_t key[256];
    uint16_t key_length;
    uint16_t parts;
    uint8_t group;
    uint8_t permission;
    bool is_refused;         /* the provider does not know it */
    uint64_t changed_ns[64]; /* when each of the last counters came */
    /* Bits of counters of which a provider gave an image. */
    uint8_t refreshed[IMAGED_MAX / 8];
    struct item_rate rate;
};

/* A life of a process at a daemon. */
struct attach {
    uint64_t session;
    uint16_t port;
    uint32_t serial;
};

#define ATTACHES_MAX 256
#define OVERHEARD    64 /* records of all kinds, for who changes a few bytes and says them again */

#define CODE_STAYS   77u /* of states that say STAYS, between models */

struct outside;
struct follower;

/* conflateRates of all p2ps: see paces.h. */
struct paces {
    bool is_on;
    uint32_t count;
    uint32_t interval[PACES_MAX]; /* ms; 0: JIT */
    uint64_t pending_bytes;       /* 0: as the core has it */
    struct rates *exempt;
    struct md_prng random;
    uint64_t disturbed_ns[ITEMS_MAX]; /* when something else than a merged update came last */
};

struct world {
    struct options options;
    struct plan plan;
    struct lines lines;
    struct paces paces;
    struct {
        bool is_on;
        uint32_t name_length; /* of items, at least: lists of several parts */
        struct md_prng random;
    } follow;
    struct {
        bool is_on;
        struct md_prng random;
    } wishes;
    struct md_prng random;
    uint64_t now_ns;
    uint64_t order;
    struct event *heap;
    size_t heap_count, heap_size;
    struct node nodes[NODES_MAX];
    struct proc procs[PROCS_MAX];
    uint32_t proc_count;
    struct world_item items[ITEMS_MAX];
    bool is_calm;  /* no more faults */
    bool is_quiet; /* no more updates */
    uint64_t next_session;
    uint32_t serial;
    struct attach attaches[ATTACHES_MAX];
    uint32_t attach_count;
    struct blob *overheard[OVERHEARD];
    struct outside *outside; /* providers and consumers of the cores; NULL: engines only */
    uint64_t hash;           /* of everything delivered: the run's fingerprint */
    uint64_t calm_ns;
    uint32_t told_suspect;
    char failure[400];
    struct coverage *coverage;
};

/* Behind the p2ps come the followers. */
static inline uint32_t world_sinks_end(const struct world *world)
{
    return world->plan.source_count + world->plan.sink_count;
}

/* network.c */
void world_push(struct world *world, struct event *event);
void world_schedule(struct world *world, uint64_t at_ns, enum event_kind kind, uint32_t a,
                    uint32_t b);
void network_send(struct world *world, struct proc *from, const struct backbone_target *target,
                  const uint8_t *bytes, size_t length);
void network_deliver(struct world *world, uint32_t node, struct entry *entry);
void network_notice(struct world *world, uint32_t node, const struct backbone_event *notice);
void network_notice_at(struct world *world, uint32_t from, uint32_t to, int stream,
                       const struct backbone_event *notice);
void network_wish(struct world *world, uint32_t from, uint32_t to, struct blob *blob);
void network_user_down(struct world *world, struct proc *proc);
void network_node_down(struct world *world, uint32_t node);
void network_node_up(struct world *world, uint32_t node);
void network_cut(struct world *world, uint32_t from, uint32_t to, uint64_t until_ns);
void network_heal(struct world *world, uint32_t from, uint32_t to);
void network_loss_end(struct world *world, const struct event *event);
void network_peer_down_event(struct world *world, const struct event *event);
struct blob *blob_take(const uint8_t *bytes, size_t length);
void blob_give(struct blob *blob);
struct backbone_send proc_send(struct world *world, struct proc *proc);

/* process.c */
void queue_init(struct queue *queue, size_t cell_size);
void queue_fini(struct queue *queue);
void *queue_put(struct queue *queue);
void *queue_head(struct queue *queue);
void queue_pop(struct queue *queue);
void proc_start(struct world *world, struct proc *proc);
void proc_kill(struct world *world, struct proc *proc);
void proc_fini(struct world *world, struct proc *proc);
void proc_attach(struct world *world, struct proc *proc);
void proc_run(struct world *world, struct proc *proc);
void proc_soon(struct world *world, struct proc *proc, uint64_t at_ns);

/* Has that life of a src_dist said INSTANCE to this process, and is not known to have ended? */
bool proc_hears(const struct world *world, const struct proc *proc, uint32_t serial);

/* model_source.c */
extern const struct proc_ops model_source_ops;
void source_feed_put(struct world *world, struct proc *proc, struct feed feed);
void source_update(struct world *world, uint32_t item);
void source_privates(struct world *world, struct proc *proc);
void source_provider(struct world *world, struct proc *proc, bool is_up);
uint32_t message_put(uint8_t *out, uint8_t kind, uint32_t item, uint32_t counter, uint16_t part,
                     uint16_t parts);

/* model_sink.c */
extern const struct proc_ops model_sink_ops;
void sink_churn(struct world *world, struct proc *proc);
void sink_check_end(struct world *world, struct proc *proc);

/* plan.c */
void plan_make(struct world *world);
const char *plan_scenario(size_t index); /* NULL past the last */
bool plan_is_of_all(const struct options *options, size_t index);
uint32_t world_between(struct world *world, uint32_t low, uint32_t high);

/* fault.c */
struct proc *world_any_proc(struct world *world);
void world_lap(struct world *world, struct proc *proc);
void world_faults(struct world *world);
void world_hostile(struct world *world);

/* rrmpsim.c */
void world_fail(struct world *world, const char *rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void world_trace(struct world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool world_chance(struct world *world, uint32_t ppm);

#endif
