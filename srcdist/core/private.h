/* private.h - the core's own tables; seen by the files of srcdist/core only. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_PRIVATE_H
#define SRCDIST_PRIVATE_H

#include "cache/cache.h"
#include "core.h"
#include "entitle/entitle.h"
#include "omm/directory.h"
#include "omm/item.h"
#include "omm/login.h"
#include "streams.h"

#define SRCDIST_NONE                0xFFFFFFFFu
#define SRCDIST_SERVICES            256
#define SRCDIST_NAME_MAX            256
#define SRCDIST_GROUPS_MAX          65000 /* of all providers together */
#define SRCDIST_GROUPS_OF_PUBLISHER 4096
/* Services that publishers name and the configuration does not: room is left for routes. */
#define SRCDIST_SERVICES_INVENTED 192
#define SRCDIST_SECRET_MAX        256
#define SRCDIST_SITE_MAX          32 /* of a siteName */
#define SRCDIST_DELAYS            16

/* ---- providers ---- */

enum srcdist_provider_state {
    SRCDIST_PROVIDER_LOGIN,      /* login asked (or, of a non-interactive one, awaited) */
    SRCDIST_PROVIDER_DIRECTORY,  /* logged in, its directory is awaited */
    SRCDIST_PROVIDER_DICTIONARY, /* dictionaries that it lists are under way */
    SRCDIST_PROVIDER_READY,
};

/* INFO of a provider's service, as it came last. */
struct srcdist_description {
    struct omm_service info; /* views point to `text` */
    uint8_t text[];
};

/* A service as this provider calls it. */
struct srcdist_offer {
    uint16_t provider_id; /* the provider's service id */
    uint16_t service;     /* index here */
    bool is_up;
    bool is_accepting;
    bool accepts_status;                     /* the provider takes ConsumerStatus */
    bool was_suspect;                        /* a group or service status was not OK at some time */
    bool counts_snapshots;                   /* as items within its limit */
    uint32_t open_count;                     /* items that are open or on their way */
    uint64_t open_limit;                     /* OpenLimit of its LOAD; UINT64_MAX: none */
    uint8_t sent_role;                       /* as sent: enum omm_mirroring_mode + 1; 0: not sent */
    struct srcdist_description *description; /* NULL: none is kept */
};

/* A group of one provider, and its number on the backbone, which no other provider's group has. */
struct srcdist_group {
    uint16_t number;
    uint8_t length; /* 0: items that are in no group */
    uint8_t bytes[15];
};

struct srcdist_owed_close {
    int32_t stream_id;
    uint8_t domain;
};

enum srcdist_pending_class {
    SRCDIST_PENDING_NEW,      /* a consumer waits for its first image */
    SRCDIST_PENDING_RECOVERY, /* consumers had it, and are to have it again */
    SRCDIST_PENDING_STANDBY,  /* kept ready for a mirror */
    SRCDIST_PENDING_CLASSES,
};

/* A ring of items; `first` and `first + count` go on and on. */
struct srcdist_pending {
    uint32_t *items;
    uint32_t room; /* a power of two, or 0 */
    uint32_t first;
    uint32_t count;
};

/* So many messages a second: a message costs its share of it, and some may come ahead of time. */
struct srcdist_pace {
    uint64_t cost_ns; /* 0: no limit */
    uint64_t ahead_ns;
    uint64_t due_ns; /* all messages so far are paid for then */
    bool is_held;    /* counted as held back */
};

struct srcdist_provider {
    bool is_used;
    bool supports_post;
    uint8_t state;         /* enum srcdist_provider_state */
    uint8_t kind;          /* enum srcdist_provider_kind */
    bool refused_not_open; /* that its updates come before their image */
    bool is_own;           /* no connection, but the far end of a delay */
    bool must_go;          /* is cut at the end of the turn, */
    const char *go_reason;
    uint64_t go_ns; /* or then: it has time to read why */
    unsigned rank;
    uint32_t serial;
    int32_t login_stream;
    int32_t directory_stream;
    uint64_t since_ns;   /* of the state */
    uint64_t refused_ns; /* its login was refused: it is heard no more, and is cut later */
    uint64_t grace_until_ns;
    uint64_t updates;
    struct srcdist_misuse misuse;
    uint32_t outstanding;        /* requests not answered yet */
    uint32_t open_window;        /* LOAD of the provider; UINT32_MAX: none */
    uint32_t dictionaries_asked; /* a bit for each of the core's */
    uint32_t item_count;         /* of a publisher: items it publishes */
    uint32_t user_items_max;     /* that its user may publish, 0: no limit */
    struct srcdist_pace pace;
    uint64_t walks_due_ns; /* all its changes of services and groups are paid for then */
    uint64_t ends_s;       /* its login, since 1970; 0: never */
    bool ends_with_certificate;
    bool has_fields;  /* the field dictionary kept here is this provider's, too */
    bool is_uplink;   /* a p2ps of another site, by a route of type consumer */
    bool has_views;   /* it takes requests for some fields */
    uint64_t lag_us;  /* as it told last */
    uint64_t renew_s; /* a new token is due then, since 1970; 0: never */
    uint64_t ceiling; /* its outputRate for us, 0: none is known */
    const struct srcdist_link *link;
    void *self;
    struct srcdist_offer offers[SRCDIST_SERVICES];
    uint32_t offer_count;
    struct srcdist_streams streams;
    struct srcdist_group *groups;
    uint32_t group_count;
    uint32_t group_room;
    struct srcdist_pending pending[SRCDIST_PENDING_CLASSES]; /* what waits for the window */
    uint8_t pending_turn;
    struct srcdist_owed_close *closes; /* CLOSEs the connection had no room for, oldest first */
    uint32_t close_room;
    uint32_t close_count;
    char name[SRCDIST_NAME_MAX];
    char user[SRCDIST_NAME_MAX];
    /* As it logged in, to be judged again by new rules. */
    char application[SRCDIST_NAME_MAX]; /* id of it; empty if it is longer, as the position */
    char position[SRCDIST_NAME_MAX];
    char password[SRCDIST_SECRET_MAX];
    char token[SRCDIST_SECRET_MAX];
};

/* ---- services ---- */

#define SRCDIST_SAID_MAX 8192 /* of LOAD and of LINK each */

/* LOAD or LINK of a provider's service: src_dist passes the bytes on, only consumers read them. */
struct srcdist_said {
    uint8_t *bytes;
    size_t length;
    uint32_t provider; /* that sent it */
};

struct srcdist_service {
    bool is_used;
    bool is_offered; /* to the backbone */
    bool is_up;
    bool is_broadcast;      /* from non-interactive providers; stays until it is forgotten */
    bool is_complete;       /* what is not published by now does not exist */
    uint16_t svc;           /* the source engine's index */
    uint32_t active_count;  /* items somebody takes now */
    uint32_t pending_count; /* items queued for a provider's window */
    uint64_t updates;       /* of its items, ever */
    uint64_t left_ns;       /* no provider offers it any more since then; 0: one does */
    uint32_t describer;     /* the provider that `info` is from, */
    uint32_t describer_serial;
    char holder[SRCDIST_NAME_MAX + 64]; /* and its name */
    struct srcdist_service_config config;
    struct srcdist_delay *delay; /* what is sent goes in there, too; NULL: nowhere */
    struct omm_service info;     /* views point to `text` */
    uint8_t *text;
    size_t text_length;
    struct srcdist_said load;
    struct srcdist_said links;
    char name[SRCDIST_NAME_MAX];
};

/* ---- items ---- */

enum srcdist_item_state {
    SRCDIST_ITEM_FREE,
    SRCDIST_ITEM_WAITING, /* wanted, no provider */
    SRCDIST_ITEM_PENDING, /* queued for the provider's window */
    SRCDIST_ITEM_OPENING, /* asked, no answer yet */
    SRCDIST_ITEM_OPEN,    /* bound, flowing */
    SRCDIST_ITEM_BACKOFF, /* refused for now: asked again at due_ns */
};

struct srcdist_item {
    uint8_t state;   /* enum srcdist_item_state */
    uint8_t backoff; /* times refused in a row */
    bool is_private : 1;
    bool is_active : 1;
    bool is_image_due : 1;     /* the backbone waits for one */
    bool is_asked : 1;         /* the next refresh answers a request of ours */
    bool is_reissued : 1;      /* since the provider last answered */
    bool is_in_parts : 1;      /* between the first and the last part of a refresh */
    bool has_sum : 1;          /* all have that image, and heard nothing since */
    bool suspect_sent : 1;     /* all consumers were sent suspect: the next image is for all */
    bool is_recovery : 1;      /* its consumers had it from another source */
    bool had_image : 1;        /* at some time */
    bool is_counted : 1;       /* in the provider's outstanding ones */
    bool must_republish : 1;   /* NI: its provider was lost; closed if it does not come again */
    bool had_asks : 1;         /* snapshots may wait for its next image */
    bool is_awaited : 1;       /* NI: consumers were sent that it is not published yet */
    bool is_in_offer : 1;      /* in the open_count of its provider's offer */
    bool shares_stream : 1;    /* NI: the provider has other items on its stream id, too */
    bool is_rated : 1;         /* a line of filterFile fits it: see rate.h */
    bool is_followed : 1;      /* its messages are kept: see replay.h */
    bool is_image_for_all : 1; /* the next cached image is for consumers in step, too */
    uint16_t service;
    uint32_t provider; /* P or SRCDIST_NONE */
    int32_t stream_id; /* there, 0 none */
    uint64_t due_ns;   /* while it is pending: its place in the queue */
    union {
        uint64_t permission; /* a hash of the permission data in the image, 0 none */
        uint64_t sum;        /* without an image: of the last refresh */
    };
    struct cache_image *image;
};

_Static_assert(sizeof(struct srcdist_item) == 40, "there are millions of them");

/* A snapshot that is asked upstream, or waits for the re-issue of an open item. */
struct srcdist_ask {
    bool is_used;
    bool is_open; /* an upstream stream of its own */
    bool has_begun;
    uint8_t domain; /* of the stream */
    uint16_t service;
    uint32_t source_ask;               /* the engine's */
    const struct rates_fields *fields; /* that its answer has; NULL: all */
    uint32_t item;                     /* of a re-issue, else SRCDIST_NONE */
    uint32_t provider;
    int32_t stream_id;
    uint64_t due_ns; /* given up then */
    uint32_t next_free;
};

struct srcdist_post {
    bool is_used;
    bool wants_ack;
    uint32_t provider;
    struct rrmp_reply reply;
    uint32_t post_id; /* the consumer's, as p2ps sent it */
    uint64_t due_ns;
    uint32_t next_free;
};

#define SRCDIST_REQUEST_DATA_MAX    256u
#define SRCDIST_REQUEST_DATA_LENGTH 36864u /* what p2ps lets pass, with its head */
#define SRCDIST_ASKS_MAX            4096

/* ---- dictionaries ---- */

enum srcdist_dictionary_state {
    SRCDIST_DICTIONARY_FREE,
    SRCDIST_DICTIONARY_LOADING,
    SRCDIST_DICTIONARY_COMPLETE,
};

struct srcdist_dictionary_part {
    uint8_t *bytes; /* a REFRESH without key */
    size_t length;
};

struct srcdist_dictionary {
    uint8_t state;     /* enum srcdist_dictionary_state */
    bool is_late;      /* no service waits for it any more */
    uint32_t provider; /* while it is loading */
    int32_t stream_id; /* there */
    uint64_t due_ns;   /* of the next part: late then, and later given up */
    struct srcdist_dictionary_part *parts;
    uint32_t part_count;
    char name[64];
    char version[64];            /* "" when it does not say */
    char from[SRCDIST_NAME_MAX]; /* the name of the provider that gave it */
};

/* A requester that is being given one. */
struct srcdist_dictionary_ask {
    uint32_t source_ask; /* the engine's */
    uint32_t next_part;
    uint8_t dictionary;
};

#define SRCDIST_DICTIONARIES    16
#define SRCDIST_DICTIONARY_ASKS 64

/* Records on their way to field lists; the table is NULL with convertMarketfeed False. */
struct srcdist_marketfeed {
    struct mf_table *table; /* of all dictionaries that are known */
    uint8_t *bytes;
    size_t size;
    struct mf_counts before; /* of the last message, which may come again */
};

/* Sentences that a provider can cause, told at growing distance: see tell.h. */
enum srcdist_tale_kind {
    SRCDIST_TALE_LOGIN,
    SRCDIST_TALE_SERVICE,
    SRCDIST_TALE_DESCRIPTION,
    SRCDIST_TALE_ITEMS,
    SRCDIST_TALE_PLACE,
    SRCDIST_TALE_TAKEN,
    SRCDIST_TALE_DELAY,
    SRCDIST_TALE_REPLAY,
    SRCDIST_TALE_RESUME,
    SRCDIST_TALES,
};

struct srcdist_tale {
    uint64_t next_ns;
    uint64_t pause_ns;
    uint64_t kept; /* not told since the last one */
};

struct srcdist_core {
    struct srcdist_core_config config;
    struct srcdist_core_stats stats;
    struct rrmp_source *source;
    struct entitle_rules *access; /* NULL: none can be used */
    uint64_t secret;              /* of tables whose keys providers choose */
    struct srcdist_tale tales[SRCDIST_TALES];
    struct cache *cache;
    struct srcdist_rates *rates;     /* NULL: everything goes out as it comes */
    struct srcdist_replay *replay;   /* NULL: no item is followed */
    struct srcdist_resumes *resumes; /* p2ps that wait to go on here; NULL: none ever did */
    struct srcdist_delay *delays[SRCDIST_DELAYS];
    unsigned delay_count;
    uint64_t wall_offset_ns; /* of the wall clock */
    struct {
        uint32_t next;       /* item to look at */
        bool is_on;          /* items behind it have the old rules */
        bool has_rules;      /* newer ones came meanwhile: */
        struct rates *rules; /* may be NULL */
    } review;
    uint64_t groups_taken[(SRCDIST_GROUPS_MAX + 63) / 64]; /* bits */
    uint8_t group_marks[65536]; /* 1 + the place in the batch that groups.c walks for; else 0 */
    uint32_t group_next;        /* looked at next: a number rests before it is used again */
    struct srcdist_provider *providers;
    uint32_t provider_room;
    uint32_t provider_serial;
    struct srcdist_service services[SRCDIST_SERVICES];
    struct srcdist_item *items; /* by the source engine's item index */
    uint32_t item_room;
    struct srcdist_ask asks[SRCDIST_ASKS_MAX];
    uint32_t ask_free;
    uint32_t asks_now;
    struct srcdist_dictionary dictionaries[SRCDIST_DICTIONARIES];
    struct cache_ripples *ripples; /* as these say */
    struct srcdist_marketfeed marketfeed;
    uint8_t field_types[65536]; /* by field id, as these say: enum rwf_type, 0: not known */
    struct srcdist_dictionary_ask dictionary_asks[SRCDIST_DICTIONARY_ASKS];
    uint32_t dictionary_ask_count;
    uint64_t dictionary_due_ns; /* when the next parts may go out */
    struct srcdist_post *posts;
    uint32_t post_room;
    uint32_t post_free;
    uint32_t *image_queue;
    uint32_t image_queue_room;
    uint32_t image_queue_first;
    uint32_t image_queue_count;
    uint64_t sweep_ns;
    uint64_t now_ns;
    uint64_t walk_ns;   /* `walk_left` is of this time */
    uint32_t walk_left; /* steps in search of an item that shares a stream */
    uint32_t sweep_item;
    struct srcdist_request_data *request_data[SRCDIST_REQUEST_DATA_MAX]; /* see request_data.h */
    uint32_t request_data_count;
    uint8_t scratch[65536];
    uint8_t *part; /* one part of an image on its way */
    size_t part_size;
};

/* For one message of ours: until the next one. */
static inline void srcdist_encoder(struct srcdist_core *core, struct rwf_encoder *enc)
{
    rwf_encoder_init(enc, core->scratch, sizeof(core->scratch));
}

static inline struct rrmp_view srcdist_view(struct rwf_bytes bytes)
{
    return (struct rrmp_view){ bytes.data, bytes.length };
}

#endif
