/* private.h - the core's own tables; seen by the files of p2ps/core only. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_PRIVATE_H
#define P2PS_PRIVATE_H

#include "cache/cache.h"
#include "core.h"
#include "idmap.h"
#include "work.h"

#define P2PS_NONE 0xFFFFFFFFu

/* A stream id of a client that is not an item. */
#define P2PS_STREAM_LOGIN      0xFFFFFFFEu
#define P2PS_STREAM_DIRECTORY  0xFFFFFFFDu
#define P2PS_STREAM_DICTIONARY 0xFFFFFFFCu

#define P2PS_FORMS_MAX         4096
#define P2PS_FORMS_PLAIN       576 /* places that no view takes */
#define P2PS_SERVICES_MAX      1024
#define P2PS_WALKS             31 /* p2ps_item.owes is one of them */
#define P2PS_WALKS_MASK        31u
#define P2PS_WALK_TEXT         512 /* longer ones are cut */
#define P2PS_LAG_TEXT          192
#define P2PS_TEXT_MAX          128
#define P2PS_SPELL_MAX         65536 /* longer updates are merged as they came */
#define P2PS_ID_MAX            80
#define P2PS_TOLD_MAX          70000 /* a status or an answer, with a text of any length */

enum p2ps_watch_state {
    P2PS_WATCH_ASKS,    /* the authority has not answered yet */
    P2PS_WATCH_NEW,     /* wants an image, none has begun */
    P2PS_WATCH_FILLING, /* its image is coming in */
    P2PS_WATCH_STEP,    /* follows */
    P2PS_WATCH_ENDED,   /* its stream id is free; swept at the end of the batch */
};

enum p2ps_watch_flags {
    P2PS_WATCH_SNAPSHOT = 0x01, /* ends with its image */
    P2PS_WATCH_PAUSED = 0x02,   /* no updates until resumed */
    P2PS_WATCH_PRIVATE = 0x04,
    P2PS_WATCH_OWED_IMAGE = 0x08,  /* it missed something for lack of buffers */
    P2PS_WATCH_OWED_STATUS = 0x10, /* the client has no status of the item's present state */
    P2PS_WATCH_MISSED = 0x20,      /* paused, and something changed meanwhile */
    P2PS_WATCH_HAD_IMAGE = 0x40,   /* an image was delivered once */
    P2PS_WATCH_CONFLATED = 0x80,   /* JIT_CONFLATION_STARTED was sent */
    P2PS_WATCH_NO_REFRESH = 0x100, /* wants updates without an image */
    P2PS_WATCH_ASKED = 0x200,      /* the next image answers a request of the client */
    P2PS_WATCH_STANDBY = 0x400,    /* its client follows another p2ps: images, no updates */
    P2PS_WATCH_TOLD_LOST = 0x800,  /* its client knows of a record that could not be made */
    P2PS_WATCH_AHEAD = 0x1000,     /* its image contains the pending update of its rate */
    P2PS_WATCH_BEHIND = 0x2000,    /* updates wait for it: see backlog.h */
};

#define P2PS_WATCH_OWED (P2PS_WATCH_OWED_IMAGE | P2PS_WATCH_OWED_STATUS)
/* Updates are not for such a watch: it gets an image instead. */
#define P2PS_WATCH_HELD_BACK (P2PS_WATCH_OWED_IMAGE | P2PS_WATCH_PAUSED | P2PS_WATCH_STANDBY)

/* One stream of one client on one item: 12 bytes, in the item's array. The client's map of stream
 * ids says which item, and which place in its array. */
struct p2ps_watch {
    union {
        int32_t stream_id;
        uint32_t next_item; /* of one that has ended: the next such watch of the core */
    };
    union {
        struct {
            uint16_t client;
            uint16_t form;
        };
        uint32_t next_place;
    };
    uint16_t flags;         /* enum p2ps_watch_flags */
    uint16_t question : 13; /* the last one asked of the authority about it */
    uint16_t state : 3;     /* enum p2ps_watch_state */
};

_Static_assert(sizeof(struct p2ps_watch) == 12, "there may be tens of millions");

struct p2ps_item {
    uint32_t sink_item; /* RRMP_ITEM_NONE: the slot is free */
    uint32_t watch_count;
    uint16_t service; /* of the core */
    uint8_t network : 3;
    uint8_t owes : 5; /* a state to its streams: a walk of the core's, + 1; 0: none */
    uint8_t domain;
    uint8_t stream_state : 5; /* as sent to consumers last */
    uint8_t data_state : 3;
    uint8_t code;
    uint8_t watch_step;      /* how often the array of watches has grown: says how long it is */
    uint8_t image_state : 2; /* of the image, as if it were a watch: enum p2ps_watch_state */
    bool is_private : 1;
    bool is_snapshot : 1;    /* the sink ends it by itself */
    bool is_state_known : 1; /* the source has sent a state or an image */
    bool is_unreadable : 1;  /* a record could not be converted since the last image */
    bool has_ended : 1;      /* at the sink: nothing is left to close there */
    bool is_lock_known : 1;  /* an image has come, with permission data or without */
    union {
        struct p2ps_watch *watches;
        uint32_t next_free; /* of a free slot */
    };
    uint8_t *perm_data; /* the last that came, its length in front (u16) */
    union {
        struct cache_image *image; /* NULL: none is kept */
        uint32_t next_empty;       /* while the items without a watch are swept */
    };
};

_Static_assert(sizeof(struct p2ps_item) == 40, "there may be millions");
_Static_assert(P2PS_NETWORKS_MAX <= 8, "p2ps_item has three bits for it");

/* A state of a group, of an instance or of a service on its way to the streams of its items. */
struct p2ps_walk {
    bool is_used;
    uint32_t left;         /* items that owe it */
    uint32_t heard_filter; /* clients with this filter heard it from the directory; 0: none */
    uint32_t serial;       /* of the directory then */
    struct rwf_state state;
    uint8_t text[P2PS_WALK_TEXT];
};

enum p2ps_login_state {
    P2PS_LOGIN_NONE,
    P2PS_LOGIN_ASKED, /* the authority has not answered yet */
    P2PS_LOGIN_OPEN,
    P2PS_LOGIN_REFUSED, /* closed; the connection goes when the status is out */
};

enum p2ps_pause {
    P2PS_PAUSE_NONE,
    P2PS_PAUSE_ALL,
    P2PS_PAUSE_MISSED, /* no updates for the streams that missed some: an image is on its way */
};

/* Why a client is to be disconnected at the end of the batch. */
enum p2ps_doom {
    P2PS_DOOM_NONE,
    P2PS_DOOM_NO_ROOM,   /* for a message that cannot come later */
    P2PS_DOOM_BEHIND,    /* with more than conflateMax streams */
    P2PS_DOOM_NO_MEMORY, /* for what must be known of it */
};

struct p2ps_batch;

struct p2ps_client {
    /* Each update reads these: they stand together. */
    const struct p2ps_front *front;
    void *self;
    uint64_t updates_out;
    bool is_touched;
    uint8_t pause_all; /* enum p2ps_pause */
    bool is_merging;   /* it is slow: its updates wait, see slow.h */
    bool is_above;     /* its output is above outputThresholdBreach, as seen last */
    /* The rest. */
    bool is_used;
    bool is_slow;
    bool single_open;
    bool allow_suspect;
    bool permission_expressions;
    bool wants_native;     /* DisableDataConversion */
    bool wants_marketfeed; /* MarketfeedData */
    bool wants_rtt;
    bool directory_streaming;
    bool directory_owed;
    uint8_t closing;  /* enum p2ps_doom */
    bool is_resuming; /* the streams that missed something while all was paused wait for images */
    bool is_standing; /* its streams are told one by one whether they stand by */
    bool is_busy;     /* in the ring of clients whose requests wait */
    bool is_dropping; /* in the ring of clients whose streams are let go */
    bool is_gone;     /* hung up; the slot is free when its streams are */
    bool is_standby;  /* for all services: it follows another p2ps */
    uint8_t login_state; /* enum p2ps_login_state */
    uint8_t login_name_type;
    bool login_no_refresh;
    int32_t login_stream;
    int32_t directory_stream;
    uint32_t directory_filter;
    uint32_t directory_serial; /* of its last refresh */
    int32_t directory_service; /* -1: all */
    uint32_t serial;           /* of this use of the slot */
    uint32_t item_streams;
    uint32_t views;       /* that it was the first to ask for */
    uint32_t posts_open;  /* without an answer yet */
    uint32_t user_ends_s; /* expires= of its user, since 1970; 0: never */
    uint64_t item_limit;  /* of its user, 0: none */
    uint32_t owed_count;  /* watches with OWED flags */
    uint32_t owed_cursor; /* in `streams`: where to look for them next */
    uint64_t opened_ns;
    uint64_t slow_since_ns;
    uint64_t rtt_sent_ns;
    uint64_t rtt_latency_us;
    struct p2ps_misuse misuse;
    uint32_t address_v4;
    uint32_t busy_next; /* in the ring */
    uint32_t drop_next;
    uint32_t drop_cursor;          /* in `streams` */
    struct p2ps_idmap_walk walk;   /* over `streams`, while is_resuming or is_standing */
    struct p2ps_batch *batch;      /* half done; NULL: none */
    const struct p2ps_front *door; /* while its streams are let go: `front` and `self` before */
    void *door_self;
    bool is_slow_listed;     /* in the list of slow ones */
    uint16_t login_question; /* the last one asked of the authority about it */
    uint16_t check_question; /* the same after a reload */
    uint64_t standby_services[P2PS_SERVICES_MAX / 64]; /* it follows another p2ps for these */
    struct p2ps_idmap streams;
    struct p2ps_party *host;
    struct p2ps_party *party;       /* of its user; NULL before the login */
    bool is_mount;                  /* and counted there */
    bool is_held : 1;               /* its login is refused, a second later */
    bool is_checking : 1;           /* the answer to its last check is awaited */
    bool is_asking : 1;             /* the answer to its login, or to its new token, is awaited */
    bool ends_with_certificate : 1; /* `expires_s` is that one's end */
    bool has_token : 1;             /* it came by one */
    bool is_owed_first : 1;         /* images and states go before what waits, in this turn */
    bool has_position : 1;          /* and counted there, as one of its user's */
    bool is_filling : 1;            /* in the list of clients whose output waits for more */
    bool is_parked : 1;             /* its requests wait for a token */
    bool is_parked_listed : 1;      /* in the list of those */
    bool has_ceiling : 1;           /* as its front has said last */
    uint32_t file_items;            /* items= of its user in the access file; 0: none */
    uint64_t proof;                 /* of its login; see entitle/entitle.h */
    uint64_t expires_s;             /* its token or certificate, since 1970; 0: never */
    struct entitle_shown *shown;    /* the token of its login; NULL: there was none */
    uint64_t reissue_s;             /* a new one should come */
    char *roles;                    /* that an authority outside gave it: see session.c */
    struct p2ps_rate requests;      /* of its user, in place of those for all; 0: those */
    struct p2ps_rate post_rate;
    uint8_t proved_by; /* enum entitle_by; until the answer is there, what it shows */
    bool is_proved;    /* that it is this user */
    bool is_outside;   /* an authority outside has let it in */
    bool is_told_down; /* that this one is away */
    bool may_post;
    bool is_snapshot_only;
    uint8_t qualities; /* what its data must be, of enum entitle_quality; 0: anything */
    char user[P2PS_TEXT_MAX];
    char position[P2PS_TEXT_MAX];
    char application[P2PS_TEXT_MAX];
    char application_id[P2PS_ID_MAX];
    char address[72];
};

_Static_assert(sizeof(struct p2ps_client) == 1024, "each update finds its clients by a shift");

/* A post that waits for its answer. */
struct p2ps_post {
    uint32_t client;
    uint32_t client_serial;
    struct p2ps_party *host; /* who paid for it */
    struct p2ps_party *party;
    int32_t stream_id;
    uint8_t domain;
    bool has_seq_num;
    bool is_private;
    bool is_used;
    uint32_t post_id;
    uint32_t seq_num;
    uint32_t next_free;
};

/* A consumer that waits for a dictionary that is being fetched. */
struct p2ps_dictionary_wait {
    uint32_t client;
    uint32_t client_serial;
    struct omm_dictionary_request request; /* its name is `name` */
    struct p2ps_dictionary_reading reading;
    uint64_t since_ns; /* the last part went out, or it was asked for */
    bool is_begun;     /* parts went out, the rest waits for room */
    uint8_t name_length;
    uint8_t name[255];
};

#define P2PS_DICTIONARY_WAITS 256
#define P2PS_DICTIONARY_SHARE 8 /* of one client */

/* Where the id of a service comes from; the first ones count most. */
enum p2ps_id_from {
    P2PS_ID_CONFIGURED,
    P2PS_ID_PROVIDER,
    P2PS_ID_NAME,
};

#define P2PS_SERVICE_PARTS 4

/* A service, its network, and its description as it was sent to clients last. */
struct p2ps_service {
    uint16_t sink_service; /* its number on that network */
    uint8_t network;
    bool is_announced;
    uint32_t instances; /* that offered it when it was noted last */
    bool is_up;
    bool is_accepting;
    bool is_forgotten; /* its deletion was sent; its number and id are its own for now */
    bool is_closing;   /* its items are being closed, and none is opened */
    bool is_free;      /* no service has this number; it is forgotten, too */
    bool is_said;      /* the configuration names its network: it makes no room */
    uint16_t id;
    uint64_t told[P2PS_SERVICE_PARTS]; /* sums of INFO, STATE, LOAD and LINK */
    uint8_t id_from;                   /* enum p2ps_id_from */
    uint64_t gone_ns;                  /* since when no instance offers it; 0: one does */
    uint32_t items;                    /* of the core */
    uint32_t pending;                  /* merged updates of them that wait for their turn */
    /* The last offer of its instances: the service keeps it while it has none. */
    uint8_t capability_count;
    uint8_t qos_count;
    uint8_t capabilities[RRMP_SINK_CAPABILITY_MAX];
    uint8_t qos[RRMP_SINK_QOS_MAX][5];
};

/* A service whose items are being closed, because it is forgotten or moves. */
struct p2ps_closing {
    bool is_on;
    bool makes_room; /* it is forgotten because there are too many */
    bool moves;      /* to another network */
    uint16_t service;
    uint32_t next;  /* the item that is looked at next */
    uint32_t items; /* that were closed */
};

struct p2ps_withheld;
struct p2ps_pacing;
struct p2ps_backlog;
struct conflate;

struct p2ps_core {
    struct p2ps_core_config config;
    struct rrmp_sink *sinks[P2PS_NETWORKS_MAX]; /* network_count of them */
    struct p2ps_core_stats stats;
    struct rrmp_sink_service asked; /* of asked_service: see p2ps_service_asked() */
    uint16_t asked_service;         /* RRMP_SERVICE_NONE: nothing was read */
    struct p2ps_client *clients;
    uint32_t client_room; /* more than may be connected: some are being let go */
    uint32_t client_next; /* where to look for a free slot first */
    uint32_t clients_used;
    uint32_t client_serial;
    struct p2ps_item *items;
    uint32_t item_room;
    uint32_t item_free; /* first free slot, P2PS_NONE */
    /* The watches that have ended since the last sweep, by item and place; P2PS_NONE: none. */
    uint32_t ended_item;
    uint32_t ended_place;
    uint32_t empty_item; /* those without a watch; P2PS_NONE but within a sweep */
    struct p2ps_form *forms;
    uint32_t form_count;
    uint32_t view_count; /* of them, views */
    struct p2ps_work work;
    struct p2ps_walk walks[P2PS_WALKS];
    uint32_t walks_now;
    uint32_t walk_items; /* that owe a state */
    uint32_t walk_next;  /* where to look for them next */
    struct p2ps_closing closing;
    uint32_t directory_serial; /* grows with each refresh of the directory */
    uint64_t idmap_key[2];
    uint32_t *touched;
    uint32_t touched_count;
    uint32_t long_logins_now; /* of clients with long messages */
    uint32_t late_count; /* the first of them: long messages that a flush left to the next turn */
    uint32_t *held;      /* clients whose output waits for more, and some that were flushed since */
    uint32_t held_count;
    uint64_t held_ns; /* when it goes out; UINT64_MAX: none is held */
    uint32_t *slow;   /* clients that are slow, and some that were */
    uint32_t slow_count;
    struct p2ps_post *posts;
    uint32_t post_room;
    uint32_t post_free;
    uint32_t post_count; /* without an answer yet */
    struct p2ps_service services[P2PS_SERVICES_MAX];
    uint16_t service_count; /* numbers that were ever used */
    uint16_t services_free; /* of them */
    bool has_standby;       /* a client has said for one service that it stands by */
    bool are_ids_known;     /* by a consumer: they stay */
    uint64_t forget_ns;     /* when the next one is to be forgotten; UINT64_MAX: none */
    uint64_t room_ns;       /* when it is looked at next whether there are too many */
    uint16_t *service_map;  /* P2PS_SERVICES_MAX of each network: the core's number, or none yet */
    struct p2ps_dictionary_wait *waits; /* for dictionaries, P2PS_DICTIONARY_WAITS */
    uint32_t wait_count;
    uint64_t wait_due_ns; /* when they are looked at next */
    uint16_t questions;   /* asked of the authority about items */
    bool needs_locks;     /* it has said once that permission data count */
    bool is_outside_down; /* the authority outside is away */
    uint64_t perm_bytes;  /* of permission data remembered */
    struct {
        const char *file;
        uint32_t line;
    } decided;                      /* of the last denial: the rule; line 0: none */
    struct p2ps_withheld *withheld; /* NULL: nothing is recorded */
    uint64_t sweep_ns;              /* when timers of clients are next looked at */
    uint64_t wall_s;                /* seconds since 1970, when they were */
    struct cache *cache;            /* NULL: images are the source's business */
    struct p2ps_pacing *pacing;
    bool pace_waits; /* for the shell's flushes; */
    bool is_pacing;  /* those that were due at `pace_until_ns` go out */
    uint64_t pace_until_ns;
    bool is_paced; /* consumers can choose rates, or the worker is behind, or was: see pace.h */
    struct p2ps_lag {
        bool is_on;
        bool is_resuming;        /* streams that were told hear that it is over */
        uint64_t drain_until_ns; /* the ring is read before merged updates go out; 0: not so full */
        uint64_t since_ns;
        uint64_t since_s;
        uint64_t bytes; /* the most since then */
        uint64_t max;
        uint32_t told;   /* streams that heard that they are conflated, since the core began */
        uint8_t eighths; /* of the inbound ring that wait now: see P2PS_TURN_ASKS */
        uint32_t item;   /* that is looked at next */
        uint32_t streams;
        uint64_t merged_before;
        uint64_t calm_ns;   /* since when next to nothing waits; 0: more does */
        uint64_t hold_ns;   /* so long it must not, and then what was told stays as it is */
        uint64_t ended_ns;  /* 0: it never was behind */
        uint64_t resume_ns; /* when streams begin to hear that it is over */
        uint64_t text_ns;   /* `text` was made then; 0: not since it began */
        char text[P2PS_LAG_TEXT];
    } lag;
    uint32_t ceilings_now; /* clients that have one */
    uint16_t pace_skips;   /* rates whose watches the present record is not for */
    struct conflate *merger;
    uint8_t *run_buffer; /* of merge.c */
    struct p2ps_backlog *backlog;
    uint32_t merging_now; /* clients whose updates are merged because they are slow */
    struct rwf_bytes
        spelled; /* the present update without anything that ripples; no data: as it is */
    uint8_t *spell_buffer;
    uint64_t spell_epoch;  /* `spelled` is of the record of that epoch, */
    uint64_t exempt_epoch; /* and `is_exempt` of the one of this */
    bool is_exempt;
    uint64_t note_s; /* when clients were noted last, and how many in that second */
    uint32_t note_count;
    uint8_t *part; /* of an image out of the cache */
    size_t part_size;
    uint8_t *make_buffer;
    size_t make_size;
    size_t make_used;       /* by forms of the present record */
    struct p2ps_made *made; /* by form, of the record `made_epoch` */
    uint64_t *made_epoch;
    uint64_t epoch;
    struct p2ps_converted {
        uint64_t epoch;
        bool is_made;
        struct p2ps_record record;
    } converted;           /* between Marketfeed and RWF, of the record `epoch` */
    uint8_t *entry_buffer; /* a message less the entries that a watch may not see */
    size_t entry_size;
    uint8_t *entry_sets; /* by watch of the present item: which message it gets */
    uint32_t entry_room; /* as many as an item has had watches */
    bool has_entry_sets; /* the present record is for watches of one number only: */
    uint8_t entry_set;
    bool is_unreadable;        /* it could not be converted */
    bool is_unmade;            /* a form could not be made of it */
    bool tells_unreadable;     /* and clients are told so now */
    struct rwf_key record_key; /* of the present record, once a form asked for it */
    struct rwf_qos record_qos;
    uint8_t told[P2PS_TOLD_MAX];              /* see p2ps_encoder() */
    struct omm_service *directory_scratch;    /* as many as there may be services */
    int16_t view_fields[OMM_VIEW_FIELDS_MAX]; /* of the request being read */
    struct p2ps_parties *parties;
    struct p2ps_parties *own_parties; /* when nothing is shared */
    uint32_t *parked;                 /* clients whose requests wait for a token, and some more */
    uint32_t parked_count;
    uint64_t parked_ns; /* when the first of them may go on; UINT64_MAX: none waits */
    uint64_t now_ns;
};

/* A client whose connection is there. */
static inline bool p2ps_client_is_here(const struct p2ps_client *c)
{
    return c->is_used && !c->is_gone;
}

static inline struct rwf_bytes p2ps_bytes(struct rrmp_view view)
{
    return rwf_bytes(view.bytes, view.length);
}

#endif
