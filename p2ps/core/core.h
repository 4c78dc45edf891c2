/* core.h - what p2ps decides: clients, services, items, watches. No socket, no clock. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_CORE_H
#define P2PS_CORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/cache.h"
#include "entitle/record.h"
#include "front.h"
#include "marketfeed/marketfeed.h"
#include "omm/directory.h"
#include "omm/item.h"
#include "parties.h"
#include "reason.h"
#include "rmds/rwf_dictionary.h"
#include "rrmp/sink.h"

struct rates;

/*
 * One core is one worker: it has clients of its own, an item table of its own and one requester on
 * each network of the backbone, numbered from 0, and shares nothing mutable with other workers. The
 * shell around it (worker.c, or a simulator)
 *
 *     gives it the backbone        p2ps_core_backbone()
 *     gives it clients' requests   p2ps_client_*()
 *     gives it the time            p2ps_core_tick() when p2ps_core_deadline() has come
 *     ends each turn with          p2ps_core_settle(): what this turn's requests have caused
 *     and, then or some time later, p2ps_core_flush(): every client touched is flushed once
 *
 * and the core calls the fronts (front.h) to send.
 */
struct p2ps_core;

/* A login that waits for its client's turn has so many times loginTimeout. */
#define P2PS_LOGIN_TURNS 12

/* How far a dictionary has been read. */
struct p2ps_dictionary_reading {
    struct rwf_dictionary_cursor cursor;
    const void *of; /* what is read stays the same while it is */
    bool is_last;
};

/*
 * The dictionaries of the process, shared by its workers. Those of providers come over the
 * backbone: each name is fetched once, by the core that was told to.
 */
struct p2ps_dictionaries {
    void *self;
    /* One message for the consumer, with everything he expects. `*reading` is all zero before the
     * first part. MD_ERR_NOT_FOUND: no such dictionary; MD_ERR_AGAIN: it is being fetched. */
    int (*encode)(void *self, const struct omm_dictionary_request *request,
                  struct p2ps_dictionary_reading *reading, uint8_t *out, size_t size,
                  size_t *length);
    /* The other functions may be NULL: no provider's are taken then. */
    /* A service offers it. True: the caller fetches it now, for all. */
    bool (*offered)(void *self, struct rwf_bytes name, struct rwf_bytes version);
    /* A part of what is fetched: a REFRESH. A first one may come again. */
    void (*part)(void *self, struct rwf_bytes name, struct rwf_bytes version, struct rwf_bytes part,
                 bool is_first, bool is_last);
    /* It cannot be had. */
    void (*failed)(void *self, struct rwf_bytes name);
    /* Whether consumers can have it, now or when it has been fetched. */
    bool (*has)(void *self, struct rwf_bytes name);
};

/* How services are spread over several networks. */
struct p2ps_service_policy {
    void *owner;
    /* The network that carries this service, or -1: the first that announces it. May be NULL. */
    int (*network)(void *owner, struct rrmp_view name);
    /* A sentence for the operator. May be NULL. */
    void (*warn)(void *owner, const char *text);
};

#define P2PS_NETWORKS_MAX 8
#define P2PS_PACES_MAX    8

/* How fast; of each address and of each user, over all workers. */
struct p2ps_rate_limits {
    struct p2ps_rate logins;   /* failed or new ones; the next are refused */
    struct p2ps_rate requests; /* names of batches, too; the next wait */
    struct p2ps_rate posts;    /* the next are refused */
};

/* How many items may be open; 0: no limit. */
struct p2ps_item_limits {
    uint64_t host;      /* by one address */
    uint64_t user;      /* by one user */
    uint64_t mount;     /* by one connection */
    uint64_t aggregate; /* distinct ones */
    /* Asked at login for users whose limit is another one; may be NULL. */
    uint64_t (*of_user)(void *self, const char *user);
    void *self;
};

/* Events of the backbone for the operator. */
enum p2ps_note_kind {
    P2PS_NOTE_SERVICE, /* it came, went, or is offered by more or fewer instances */
    P2PS_NOTE_STATE,   /* `state` was sent for `items` of it together: a group, an instance, all */
    P2PS_NOTE_FORGOTTEN, /* no source has offered it for serviceForget; `items` of it were closed */
    P2PS_NOTE_RELEASED,  /* its number on its network is another service's from now on */
    P2PS_NOTE_SLOW,      /* updates of `client` are merged; `text` says why */
    P2PS_NOTE_BEHIND,    /* the worker itself is: updates are merged; `text` says why */
    P2PS_NOTE_CAUGHT_UP, /* it is not any more */
    P2PS_NOTE_KEEPS_UP,  /* they are not any more; `text` says how it was */
};

struct p2ps_note {
    enum p2ps_note_kind kind;
    struct rwf_bytes service;
    bool is_up;
    bool makes_room; /* it is forgotten before serviceForget, because there are too many */
    uint8_t network; /* of one that is released */
    uint16_t sink_service;
    uint32_t instances;
    uint32_t items;
    struct rwf_state state;
    uint32_t client;
    const char *text;
};

/* Settings of conversions and caches that a reload may change. */
struct p2ps_rules {
    const struct cache_ripples *ripples; /* see cache/cache.h; NULL with rippleFields False */
    bool keeps_pages;                    /* cacheAnsiPages */
    bool allows_native;                  /* allowDisableDataConversion */
    bool fills_post_user_id;             /* postUserId */
    bool hides_reasons;                  /* accessReveal False: why a login is refused */
    bool is_dry_run;                     /* accessDryRun: see dry.h */
    /* True: a login of this user counts as one that says DisableDataConversion. May be NULL. */
    bool (*is_native)(void *self, const char *user);
    void *self;
};

struct p2ps_core_config {
    struct rrmp_sink_config sink; /* of each network */
    struct backbone_send sends[P2PS_NETWORKS_MAX];
    unsigned network_count; /* 0: one, and it is reached through sink.send */
    struct p2ps_service_policy services;
    struct entitle_authority authority;
    struct p2ps_dictionaries dictionaries;
    const char *application_name; /* shown to consumers at login */
    const char
        *site; /* siteName: where services begin that say no path; NULL, "": they have none */
    uint32_t client_limit; /* of this worker */
    struct p2ps_item_limits item_limits;
    struct p2ps_rate_limits rates;
    struct p2ps_parties *parties; /* of all workers; NULL: this core has its own */
    uint32_t views_max;           /* different ones that one client may ask for; 0: no limit */
    uint32_t posts_max;           /* of one client without an answer yet; 0: no limit */
    uint32_t message_max;         /* longest message to a client */
    uint64_t login_timeout_ns;    /* 0: 60 s */
    uint64_t slow_timeout_ns;   /* 0: 10 s. Since something waits for the client, or its socket took
                                   bytes last */
    uint32_t conflate_max;      /* streams of a client that may be behind; 0: 100000 */
    unsigned owed_fill_percent; /* what a client missed is given below this fill; 0: 30. Above it
                                   for slow_time_ns a client's updates are merged */
    unsigned ok_fill_percent;   /* until it is at this one */
    uint64_t slow_time_ns;      /* 0: 100 ms */
    uint64_t trade_backlog;     /* bytes of updates that one client waits for; 0: 16 MiB */
    uint64_t backlog_bytes_max; /* of all that wait; 0: 256 MiB */
    struct p2ps_pace paces[P2PS_PACES_MAX]; /* conflateRates */
    unsigned pace_count;
    const struct rates *exempt; /* updates that are never merged; outlives the core, may be NULL */
    uint64_t pending_bytes_max; /* of updates that are being merged, 0: 64 MiB */
    bool keeps_images;          /* enableCache */
    uint64_t image_bytes_max;   /* for all of them, 0: no limit of its own */
    uint64_t work_bytes_max;    /* items and streams; more are refused at it. 0: no limit */
    unsigned (*field_type)(void *context, int16_t field_id); /* see cache/cache.h; may be NULL */
    void *field_context;
    /* How fields of Marketfeed are converted, with field_context; NULL while no dictionary is
     * known. NULL itself: nothing is converted. */
    const struct mf_table *(*marketfeed)(void *context);
    struct p2ps_rules rules;
    void (*note)(void *owner, const struct p2ps_note *note); /* may be NULL */
    void *note_owner;
    struct entitle_recorder recorder; /* for the audit trail; put() may be NULL */
    uint64_t rtt_interval_ns;         /* 0: no round-trip measurement */
    enum {
        P2PS_CERTIFICATE_IGNORE,  /* tlsUserPolicy */
        P2PS_CERTIFICATE_MATCH,   /* a login needs one of its user */
        P2PS_CERTIFICATE_REPLACE, /* it says who the user is */
    } certificate_policy;
    enum {
        P2PS_ENTRY_LOCKS_FILTER, /* entryLocks: entries are left out of a message */
        P2PS_ENTRY_LOCKS_CLOSE,  /* or the stream is closed */
        P2PS_ENTRY_LOCKS_PASS,   /* or nobody looks */
    } entry_locks;
    uint64_t (*wall_s)(void);   /* seconds since 1970, for tokens that expire; NULL: none does */
    uint64_t service_forget_ns; /* one that no instance offers is deleted then; 0: never */
    uint64_t random;
};

struct p2ps_core_stats {
    uint64_t mounts_total;
    uint64_t mounts_cut_slow;
    uint64_t login_accepted;
    uint64_t login_rejected;
    uint64_t logins_expired; /* closed when their token was too old */
    uint64_t logins_revoked; /* ended by a reload, or by the authority */
    uint64_t reissues_good;  /* new tokens on open logins */
    uint64_t reissues_bad;
    uint64_t requests_in; /* decoded: login, directory, dictionary, item; refused ones, too */
    uint64_t closes_in;
    uint64_t updates_in;
    uint64_t updates_out;
    uint64_t refresh_in;
    uint64_t refresh_out;
    uint64_t status_out;
    uint64_t reasons[P2PS_REASONS];
    uint64_t generic_in;
    uint64_t generic_out;
    uint64_t posts_in;
    uint64_t acks_out;
    uint64_t conflated;
    uint64_t updates_merged;  /* into a pending one of their item and rate */
    uint64_t pending_refused; /* found no room to be pending: sent at once */
    uint64_t pending_bytes_now;
    uint64_t lags;              /* how often the worker was behind */
    uint64_t slow_merged;       /* of clients that were slow, into a pending one of their stream */
    uint64_t backlog_bytes_now; /* of what waits for clients that are slow */
    uint64_t backlog_lost;      /* updates that are never merged: it had no room for them */
    uint64_t decode_errors;
    uint64_t no_buffer_events;
    uint64_t not_entitled;
    uint64_t updates_withheld; /* their own permission data denied them to a watch */
    uint64_t entries_removed;  /* the same of entries, out of messages for a watch */
    uint64_t posts_denied;
    uint64_t dry_run_denied; /* denials that accessDryRun did not enforce */
    uint64_t gaps_seen;
    uint64_t items_recovered;
    uint64_t items_moved;     /* by rebalance or failback */
    uint64_t items_resumed;   /* unseen, at a mirror */
    uint64_t items_preempted; /* their source needed the room for others */
    uint64_t images_from_cache;
    struct mf_counts marketfeed;
    struct cache_stats cache; /* of the images */
    uint64_t services_twice;  /* announced on a second network, too: not used there */
    uint64_t wrong_topic;     /* records of the backbone that stood on another service's topic */
    uint64_t item_bytes_now;  /* less images and watches */
    uint64_t watch_bytes_now; /* with the stream ids of the clients */
    uint64_t work_bytes_now;
    uint64_t refused_no_memory;  /* logins and items */
    uint64_t refused_audit;      /* logins, items and posts: the audit trail is full */
    uint64_t refused_limit;      /* items, views and posts, at a limit of a client, user or host */
    uint64_t logins_throttled;   /* refused at loginRate */
    uint64_t requests_throttled; /* how often a client had to wait at requestRate */
    uint64_t posts_throttled;    /* refused at postRate */
    uint32_t mounts_now;
    uint32_t logins_now; /* open ones */
    uint32_t mounts_slow_now;
    uint32_t items_now;
    uint32_t watches_now;
    uint32_t pending_updates_now;  /* that wait for the turn of their item and rate */
    uint32_t mounts_conflated_now; /* whose updates are merged because they are slow */
    uint32_t backlog_streams_now;  /* with updates that wait for such clients */
};

int p2ps_core_create(const struct p2ps_core_config *config, struct p2ps_core **out);
/* Clients are dropped without a word. NULL is allowed. */
void p2ps_core_destroy(struct p2ps_core *core);

/* New limits; what is open stays open. */
void p2ps_core_item_limits_set(struct p2ps_core *core, const struct p2ps_item_limits *limits);
void p2ps_core_rates_set(struct p2ps_core *core, const struct p2ps_rate_limits *rates);
/* New rules; what they say of logins is for those to come. After a dry run its owner has every
 * login and open item asked for again. */
void p2ps_core_rules_set(struct p2ps_core *core, const struct p2ps_rules *rules);

/* How much of what clients do is recorded from now on. */
void p2ps_core_record_level_set(struct p2ps_core *core, enum entitle_level level);

/* ---- the backbone ---- */

void p2ps_core_backbone(struct p2ps_core *core, unsigned network, uint64_t now_ns,
                        const struct backbone_event *events, size_t count);
/* `empty_networks`: bit n is set when the input of network n was found empty since the last tick.
 */
void p2ps_core_tick(struct p2ps_core *core, uint64_t now_ns, uint32_t empty_networks);
uint64_t p2ps_core_deadline(const struct p2ps_core *core);
/* The same, but for merged updates: these need p2ps_core_settle() alone. */
uint64_t p2ps_core_tick_deadline(const struct p2ps_core *core);
void p2ps_core_settle(struct p2ps_core *core, uint64_t now_ns);
/* Merged updates go out next: what others were given may be flushed before. */
bool p2ps_core_is_pace_due(const struct p2ps_core *core, uint64_t now_ns);
/* A shell that flushes by a timer: merged updates wait for it, until p2ps_core_pace() says that
 * those of now may go. They do so in the next turns, until p2ps_core_is_pacing() ends. */
void p2ps_core_pace_waits(struct p2ps_core *core, bool waits);
void p2ps_core_pace(struct p2ps_core *core, uint64_t now_ns);
bool p2ps_core_is_pacing(const struct p2ps_core *core);
/* So many bytes of the inbound ring of a network, of `max` at which the worker is lapped, wait to
 * be read. Behind a quarter of them all updates are merged, until it has caught up. */
void p2ps_core_lag(struct p2ps_core *core, uint64_t now_ns, uint64_t bytes, uint64_t max);
/* So many streams were told states in this turn that the backbone is not read any further in it. */
bool p2ps_core_is_spent(const struct p2ps_core *core);
/* Some of what clients asked for waits for the next turn (work.h), which should be soon: the
 * deadline has come, too. */
bool p2ps_core_has_work(const struct p2ps_core *core);
void p2ps_core_flush(struct p2ps_core *core);
/* p2ps_core_flush() left clients with long messages: the next turn begins without waiting. */
bool p2ps_core_has_output(const struct p2ps_core *core);
/* Only those with a full frame or more; the others wait for p2ps_core_flush(). */
void p2ps_core_flush_full(struct p2ps_core *core);

/* ---- clients ---- */

/* A connection is open. `address` is for permission and log, `address_v4` for post user info.
 * MD_ERR_FULL at client_limit: refuse it. */
int p2ps_client_add(struct p2ps_core *core, uint64_t now_ns, const struct p2ps_front *front,
                    void *self, const char *address, uint32_t address_v4, uint32_t *client);
/* The connection has ended, whoever ended it; the second one says why. */
void p2ps_client_gone(struct p2ps_core *core, uint64_t now_ns, uint32_t client);
void p2ps_client_lost(struct p2ps_core *core, uint64_t now_ns, uint32_t client, const char *why);
/* The client does not read the answers that fill its output: it is cut like one that is slow. */
void p2ps_client_unread(struct p2ps_core *core, uint64_t now_ns, uint32_t client);
/* There is room in the client's output again, or it made progress. */
void p2ps_client_writable(struct p2ps_core *core, uint64_t now_ns, uint32_t client);

/*
 * A front asks this before each request: false says that the client's turn is over, or that a batch
 * of its is half done. The request, and all behind it, is kept back then, and so is the client's
 * input; the core calls the front's resume() when it is the client's turn again.
 */
bool p2ps_client_takes(struct p2ps_core *core, uint32_t client);

/* Requests of the client. Views need to live for the call only; those of a batch until
 * p2ps_client_takes() is true again, or resume() is called, or the client is gone. */
void p2ps_client_login(struct p2ps_core *core, uint64_t now_ns, uint32_t client,
                       const struct omm_login_request *request);
void p2ps_client_directory(struct p2ps_core *core, uint64_t now_ns, uint32_t client,
                           const struct omm_directory_request *request);
void p2ps_client_dictionary(struct p2ps_core *core, uint64_t now_ns, uint32_t client,
                            const struct omm_dictionary_request *request);
void p2ps_client_item(struct p2ps_core *core, uint64_t now_ns, uint32_t client,
                      const struct omm_item_request *request);
void p2ps_client_close(struct p2ps_core *core, uint64_t now_ns, uint32_t client, int32_t stream_id);
/* POST and GENERIC go on to the source as RWF messages: decoded, and the bytes. */
void p2ps_client_post(struct p2ps_core *core, uint64_t now_ns, uint32_t client,
                      const struct rwf_msg *msg, struct rwf_bytes bytes);
void p2ps_client_generic(struct p2ps_core *core, uint64_t now_ns, uint32_t client,
                         const struct rwf_msg *msg, struct rwf_bytes bytes);
/* A request that could not be decoded: closes the stream, the connection stays. */
void p2ps_client_bad_request(struct p2ps_core *core, uint32_t client, int32_t stream_id,
                             uint8_t domain, const char *text);

/* Every login is closed, with the advice to go elsewhere. Nothing may follow but flush and destroy.
 */
void p2ps_core_leave(struct p2ps_core *core, uint64_t now_ns);

/* The authority has answers, which a tick would take, too. */
void p2ps_core_answers(struct p2ps_core *core, uint64_t now_ns);

/* Rules were reloaded: every login and open item is asked for again. */
void p2ps_core_entitle_again(struct p2ps_core *core, uint64_t now_ns);

/* Counts of what a client does more often than it should; p2ps logs them. */
struct p2ps_misuse {
    uint64_t logins;  /* when it was logged in already */
    uint64_t views;   /* refused: it has too many different ones, or its host has */
    uint64_t posts;   /* refused for the same */
    uint64_t refused; /* requests for an unknown service, beyond a limit, or the like */
};

/* A client as monitors show it; false past the last or for a free slot. */
struct p2ps_client_info {
    bool is_used;
    const char *user;
    const char *position;
    const char *application;
    const char *application_id;
    const char *address;
    uint32_t streams;
    uint64_t updates_out;
    uint64_t rtt_us;         /* there and back, when last measured; 0: never */
    bool is_slow;            /* something waits for it */
    bool is_merging;         /* its updates are merged because it is slow */
    uint64_t first_slow_s;   /* the first time that they were, since 1970; 0: never */
    const uint32_t *reasons; /* by enum p2ps_reason: what it was told */
    uint64_t merged;         /* of its updates, into pending ones */
    uint64_t lost;           /* updates that are never merged and found no room */
    uint64_t worst_lag_ns;   /* that an update has waited */
    uint64_t behind_bytes;   /* that wait now */
    bool is_in;              /* its login is open */
    bool has_asked;          /* for a login, at least */
    struct p2ps_misuse misuse;
    void *self;
};
bool p2ps_client_info(const struct p2ps_core *core, uint32_t client, struct p2ps_client_info *out);

/* Walks all tables: NULL, or the first condition that does not hold. See base/check.h. */
const char *p2ps_core_check(const struct p2ps_core *core);

/* True: the stream id is in use. */
bool p2ps_client_has_stream(const struct p2ps_core *core, uint32_t client, int32_t stream_id);

/* The name of the service with that id, empty: there is none. */
struct rwf_bytes p2ps_core_service_name(const struct p2ps_core *core, uint16_t id);
/* The id of a service, -1: there is none. The second one: the lowest of those that are up and
 * offer the domain. */
int p2ps_core_service_named(const struct p2ps_core *core, struct rwf_bytes name);
int p2ps_core_service_first(const struct p2ps_core *core, uint8_t domain);

const struct p2ps_core_stats *p2ps_core_stats(const struct p2ps_core *core);
/* Logins of clients with long messages: they are WebSockets. */
uint32_t p2ps_core_long_logins(const struct p2ps_core *core);
/* The addresses and users that it counts. */
struct p2ps_parties *p2ps_core_parties(const struct p2ps_core *core);
const struct rrmp_sink *p2ps_core_sink(const struct p2ps_core *core, unsigned network);
/* Is the service of that network the one that consumers get? Another may offer it, too. */
bool p2ps_core_service_is_taken(const struct p2ps_core *core, unsigned network,
                                uint16_t sink_service);
/* The id that consumers see, 0 for one that is not taken. By its number on that network. */
uint16_t p2ps_core_service_id(const struct p2ps_core *core, unsigned network,
                              uint16_t sink_service);
/* Deleted from the directory until somebody offers it again? By its number on that network. */
bool p2ps_core_service_is_forgotten(const struct p2ps_core *core, unsigned network,
                                    uint16_t sink_service);

#endif
