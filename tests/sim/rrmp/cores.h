/* cores.h - what stands around the cores of src_dist and p2ps: providers and consumers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMPSIM_CORES_H
#define RRMPSIM_CORES_H

#include "omm/directory.h"
#include "omm/item.h"
#include "omm/login.h"
#include "p2ps/core/core.h"
#include "p2ps/core/rwf_forms.h"
#include "rmds/rwf.h"
#include "srcdist/core/core.h"
#include "world.h"

/*
 * Both stand outside the processes. A provider speaks RWF over a link with delays, in order, until
 * it is cut. A consumer is a second front: it has a login, a directory and streams of its own, a
 * bounded output that it may read slowly or not at all, and it judges every message it gets, when
 * it gets it.
 */
#define PROVIDERS_MAX     16 /* in all */
#define CONSUMERS_MAX     48
#define STREAMS_MAX       48 /* of one consumer */
#define POSTS_MAX         8
#define PROVIDER_PRIVATES 32
#define PROVIDER_ASKS     64
#define PARTS_MAX         3
#define GUARDED(item)     ((item) % 4 == 2) /* its messages carry permission data */
#define CROWD_FIRST       100000u           /* items from here on stand still */
#define CROWD_STREAM      (1 << 20)         /* stream ids of requests nobody follows */
#define DIRECTORY_STREAM  2
#define LOGIN_STREAM      1

/* ---- content.c: the payload of each message, a function of item and counter ---- */

enum field {
    FIELD_ITEM = 1,
    FIELD_MAKER = 4, /* the life of the src_dist behind which it was made */
    FIELD_PERMISSION = 5,
    FIELD_MIX = 22,
    FIELD_EIGHTH = 25, /* counter / 8: in images, and in updates when it changes */
    FIELD_COUNTER = 32,
    FIELD_PART = 100, /* and following: in images only */
};

struct content {
    uint32_t item;
    uint32_t counter;
    uint32_t maker;
    uint32_t permission;
    uint32_t mix;
    uint32_t eighth;
    uint32_t parts; /* bits */
    uint32_t count; /* of fields */
    bool has_eighth;
    bool has_permission;
    bool is_read;
};

uint32_t content_mix(uint32_t item, uint32_t counter);
void content_image(struct rwf_encoder *enc, const struct content *content, uint16_t part);
void content_update(struct rwf_encoder *enc, const struct content *content);
bool content_read(const struct rwf_msg *msg, struct content *out);

/* ---- provider.c ---- */

struct word {
    struct blob *blob;  /* NULL: the connection ends here */
    uint32_t item_plus; /* item whose request it answers, + 1 */
    int32_t ask;        /* snapshot stream it answers */
};

struct provider {
    struct world *world;
    uint32_t number;
    uint32_t proc;
    unsigned rank;
    bool is_broadcast;
    bool is_connected;
    bool is_ending; /* its end lies in `words` */
    bool is_ready;  /* its directory is given */
    bool was_here;  /* it has been connected before */
    bool supports_post;
    uint32_t id; /* of the core */
    uint32_t epoch;
    uint32_t down_count[SERVICES_MAX];
    uint64_t to_ns, from_ns; /* when the last byte each way arrives */
    uint64_t silent_until_ns;
    uint64_t jammed_until_ns;
    uint64_t refuses_until_ns; /* items, for now */
    uint64_t rejects_until_ns; /* our login */
    bool service_up[SERVICES_MAX];
    int32_t ids[ITEMS_MAX]; /* of open streams, 0 none */
    bool is_parting[ITEMS_MAX];
    bool is_asked_again[ITEMS_MAX];
    uint64_t asked_ns[ITEMS_MAX]; /* our request is not answered; 0 none */
    int32_t asked_id[ITEMS_MAX];
    uint16_t asked[ITEMS_MAX];         /* requests since the experiment began */
    uint32_t numbered_from[ITEMS_MAX]; /* the counter when its numbers began */
    struct {
        int32_t id;
        uint64_t at_ns;
    } asks[PROVIDER_ASKS]; /* snapshots */
    struct {
        int32_t id;
        uint32_t item;
        uint32_t counter;
    } privates[PROVIDER_PRIVATES];
    struct queue words; /* struct word: reached the src_dist, not taken yet */
};

void providers_start(struct world *world, struct proc *proc);
void providers_lost(struct world *world, struct proc *proc);
/* What they said is given to the core; the time when something is left to give. */
uint64_t providers_turn(struct world *world, struct proc *proc);
void provider_word(struct world *world, struct event *event);
void provider_heard(struct world *world, struct event *event);
void provider_part(struct world *world, const struct event *event);
void provider_better(struct world *world, const struct event *event);
void provider_connect(struct world *world, uint32_t number, uint32_t epoch);
void providers_update(struct world *world, uint32_t item);
void providers_private_update(struct world *world);
/* A provider gave an image of a counter in that range. */
bool item_was_refreshed(const struct world *world, uint32_t item, uint32_t first, uint32_t last);
/* One of the plan's faults, as often as it says; `ticks` in all. */
void providers_faults(struct world *world, uint32_t ticks);
void provider_lose(struct world *world, struct provider *provider, uint64_t pause_ns);
void providers_calm(struct world *world);
void providers_check_end(struct world *world);

/* ---- consumer.c ---- */

enum stream_kind {
    STREAM_FREE,
    STREAM_SHARED,
    STREAM_SNAPSHOT,
    STREAM_PRIVATE,
};

/* One stream, and what is needed to judge what comes on it. */
struct stream {
    enum stream_kind kind;
    int32_t id;
    uint32_t item;
    uint32_t counter;
    uint32_t maker; /* of the last data */
    uint32_t eighth;
    uint32_t parts; /* bits of the image coming in */
    uint32_t part_count;
    uint8_t group[4];
    bool has_group;
    bool has_view;
    bool has_key; /* in updates */
    bool is_paused;
    bool is_filling;
    bool has_data;
    bool wants; /* one solicited refresh */
    bool is_suspect;
    bool is_conflated;
    bool may_jump; /* it was told, or asked for it */
    bool was_told; /* anything, since `asked_ns` */
    bool was_denied_late;
    uint64_t asked_ns;
    uint64_t resumed_ns;
    uint8_t pace;      /* its rate (paces.h) + 1; 0: each update */
    bool has_no_rate;  /* it has asked for one that nobody offers */
    uint64_t paced_ns; /* its last update that may be merged */
    uint32_t paced_to; /* what had come when it chose another rate: an update may be on its way */
    uint64_t early_ns; /* one that came before its turn */
};

struct consumer_post {
    bool is_open;
    int32_t stream_id;
    uint32_t id;
    uint32_t seq;
    uint64_t at_ns;
};

struct consumer {
    struct world *world;
    uint32_t number;
    uint32_t proc; /* the p2ps it is at */
    uint32_t id;   /* there */
    uint32_t epoch;
    bool is_connected;
    bool is_in; /* login accepted */
    bool is_out;
    bool single_open;
    bool allow_suspect;
    bool is_low;       /* may not see permission 1 */
    bool hears_groups; /* by its directory */
    int service;       /* whose directory it follows; -1 all */
    bool is_slow;
    bool is_bystander; /* of an experiment: nothing may happen to it */
    bool pause_all;
    uint32_t room; /* messages */
    uint32_t queued;
    uint32_t drained; /* in each turn of a slow one */
    uint64_t stopped_until_ns;
    uint64_t since_ns; /* connected */
    int32_t next_id;
    uint32_t next_post;
    bool has_directory;
    bool knows_service[SERVICES_MAX];
    bool service_up[SERVICES_MAX];
    struct stream streams[STREAMS_MAX];
    struct consumer_post posts[POSTS_MAX];
};

struct outside {
    struct provider providers[PROVIDERS_MAX];
    uint32_t provider_count;
    struct consumer consumers[CONSUMERS_MAX];
    uint32_t consumer_count;
    uint16_t service_id[SERVICES_MAX];   /* as first told by any p2ps: R17 */
    uint64_t trouble_ns;                 /* when last a provider kept back what the world moved */
    uint8_t moves[PROCS_MAX][ITEMS_MAX]; /* state of items when last looked at, + 1 */
    uint32_t private_count;
    struct {
        bool is_late;
        uint64_t at_ns;
        struct entitle_answer answer;
    } answers[PROCS_MAX][64];
    uint32_t answer_count[PROCS_MAX];
    uint64_t checked_ns[PROCS_MAX]; /* when a p2ps was last looked at */
    struct {
        bool is_on;
        uint64_t at_ns;
        uint32_t lost;     /* records */
        uint32_t images;   /* multicast since */
        uint32_t suspects; /* items told suspect at the node hit */
        bool was_told[PROCS_MAX][ITEMS_MAX];
        bool keeps_source; /* the fault takes no src_dist away */
        bool is_single_asked;
        bool is_single_answered;
        uint32_t node;
        uint32_t sink;
        uint64_t single_ns;
        uint64_t resumed; /* items, before it began */
        bool has_begun_again;
    } test; /* the experiment */
};

extern const struct p2ps_front consumer_front;

void outside_make(struct world *world);
void outside_fini(struct world *world);
void consumer_come(struct world *world, uint32_t number);
void consumer_drain(struct world *world, uint32_t number);
void consumers_lost(struct world *world, const struct proc *proc);
void consumers_churn(struct world *world);
void consumers_faults(struct world *world, uint32_t ticks);
void consumers_calm(struct world *world);
void consumers_check(struct world *world, const struct proc *proc);
void consumers_check_end(struct world *world);
void consumer_end(struct consumer *c);
struct stream *consumer_open(struct consumer *c, uint32_t item);
struct stream *consumer_stream(struct consumer *c, int32_t id);
bool consumer_wants_info(const struct consumer *c);
void consumer_stop(struct consumer *c, uint64_t time_ns);
void consumer_follow(struct consumer *c);
void consumer_leave(struct consumer *c);
void consumer_ask_crowd(struct consumer *c, uint32_t item, int32_t stream_id);
uint32_t item_number(struct rwf_bytes name);
uint16_t service_number(struct rwf_bytes name);
bool is_item(const struct world *world, uint32_t item);

/* ---- core_source.c, core_sink.c: the processes ---- */
extern const struct proc_ops core_source_ops;
extern const struct proc_ops core_sink_ops;
void cores_look(struct world *world);
/* The image of an item, by the engine's number, that the src_dist keeps. False: none. */
bool core_source_image(const struct proc *proc, uint32_t item, struct content *out);
void cores_check_interest(struct world *world);
void cores_check_end(struct world *world);

/* ---- experiment.c ---- */
void experiment_plan(struct world *world);
void experiment_step(struct world *world);
void experiment_calm(struct world *world);
void experiment_told(struct consumer *c, struct stream *s);
void experiment_data(struct consumer *c, struct stream *s, uint32_t counter);
void experiment_news(struct consumer *c, struct stream *s); /* an image nobody asked for */
void experiment_crowd_answered(struct consumer *c, int32_t stream_id);
void experiment_check_end(struct world *world);
void experiment_record(struct world *world, const struct backbone_target *target,
                       const uint8_t *bytes, size_t length);

#endif
