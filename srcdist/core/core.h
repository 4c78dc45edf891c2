/* core.h - what src_dist decides: providers, services, items. No socket, no clock. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_CORE_H
#define SRCDIST_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "delay/delay.h"
#include "marketfeed/marketfeed.h"
#include "rmds/rwf.h"
#include "rmds/rwf_dictionary.h"
#include "rrmp/source.h"

/*
 * One core is one loop of src_dist: one instance on the backbone with provider connections of its
 * own. The shell around it (srcdist/route_loop.c, or a simulator)
 *
 *     gives it the backbone       srcdist_core_backbone()
 *     gives it the providers      srcdist_provider_*()
 *     gives it the time           srcdist_core_tick() when srcdist_core_deadline() has come
 *     ends each turn with         srcdist_core_settle()
 *
 * and the core sends to providers through the link it was given with each.
 */
struct srcdist_core;

/* Texts live as long as the connection. */
struct srcdist_proof {
    bool is_encrypted;
    const char *certificate;     /* a name in the one that the provider has shown, or "" */
    const char *serial;          /* its number: hexadecimal digits without leading zeros, or "" */
    uint64_t certificate_ends_s; /* since 1970; 0: there is none */
};

/*
 * The configuration of a route: how it logs in, and what it takes of the services there.
 * Views and texts live until the next call of uplink().
 */
struct srcdist_uplink {
    bool is_consumer;      /* routeType consumer: a p2ps of another site */
    const char *user;      /* "": src_dist */
    const char *password;  /* "": none */
    const char *token;     /* "": none */
    bool has_qos;          /* services are offered with this quality alone, */
    struct rwf_qos qos;    /* and those that do not have it not at all */
    struct rwf_bytes view; /* payload of requests: the fields that are taken; empty: all */
};

/* How a provider is spoken to. */
struct srcdist_link {
    /* Queue one RWF message. MD_ERR_FULL: no room now; the core tries again later. */
    int (*send)(void *self, struct rwf_bytes message);
    /* End the connection; srcdist_provider_gone() must not be called for it. */
    void (*close)(void *self, const char *reason);
    /* The connection shows this by itself. NULL: it is plain, and has no certificate. */
    void (*proof)(void *self, struct srcdist_proof *out);
    /* The core asks this when a route is about to log in. NULL: an ordinary provider. */
    void (*uplink)(void *self, struct srcdist_uplink *out);
    /* The other site wants a new token: what uplink() says is read anew. False: it cannot be. NULL:
     * there is none. */
    bool (*renew)(void *self);
};

enum srcdist_cache_location {
    SRCDIST_CACHE_SRC_APP,  /* the provider has the images: each request goes to it */
    SRCDIST_CACHE_SRC_DIST, /* we keep them */
    SRCDIST_CACHE_NONE,
};

/* Kinds of sentences for the operator. */
enum srcdist_tone {
    SRCDIST_TELLS_NEWS,
    SRCDIST_TELLS_ERROR,
    SRCDIST_TELLS_REFUSAL, /* of what a provider wants; it may want it often */
};

/* A service is offered a second time under another name, delayed. */
struct srcdist_delayed {
    const char *name; /* of the delayed service */
    uint64_t delay_ns;
    uint64_t bytes_max; /* on the disk */
    bool takes_all;     /* all items that are open, else those that are asked for delayed */
    uint64_t image_bytes_max;
    uint32_t item_limit;
    uint64_t boot; /* a number of this boot of the machine; 0: it is not known */
    struct delay_disk disk;
};

/* Why a p2ps that lost another source gets an image. */
enum srcdist_unaligned {
    SRCDIST_UNALIGNED_NOT_READY,
    SRCDIST_UNALIGNED_TOO_OLD,
    SRCDIST_UNALIGNED_OTHER,
    SRCDIST_UNALIGNED_BEHIND,
    SRCDIST_UNALIGNED_FULL,
    SRCDIST_UNALIGNED_REASONS,
};

/* The configuration of a service. */
struct srcdist_service_config {
    bool is_refused;         /* not in serviceList */
    bool is_configured;      /* the configuration names it: never forgotten */
    bool takes_dictionaries; /* those the provider lists with the service */
    uint16_t id;             /* 0: automatic */
    uint8_t data_type;       /* its domain, if the provider names none; 0: none */
    enum srcdist_cache_location cache_location;
    uint8_t priority; /* sourcePriority, 0 best */
    uint16_t load_factor;
    uint32_t open_window; /* towards p2ps, 0: none */
    struct rrmp_linger linger;
    const char *vendor;       /* NULL: the provider's */
    const char *mirror_group; /* NULL: none */
    bool mirror_hot;
    bool mirror_sequence;
    bool is_delayed;                       /* the delayed one of another service: nobody else's */
    const struct srcdist_delayed *delayed; /* outlives the core; NULL: no delayed service */
};

/* Settings that a reload may change. */
struct srcdist_rules {
    bool keeps_pages; /* cacheAnsiPages */
    bool ripples;     /* rippleFields: old values move on in images, as dictionaries say */
    struct mf_options marketfeed;
};

struct srcdist_core_config {
    struct rrmp_source_config source;
    void *service_owner;
    /* A sentence for the operator. May be NULL. */
    void (*tell)(void *owner, enum srcdist_tone tone, const char *text);
    struct srcdist_service_config (*service)(void *owner, struct rwf_bytes name);
    /* A service is known now, or is forgotten. May be NULL. */
    void (*service_news)(void *owner, const char *name, bool is_known);
    uint64_t service_forget_ns;   /* serviceForget: what publishers left; 0: never */
    const char *user;             /* our login at providers */
    const char *position;         /* "address/host" */
    const char *application_name; /* "src_dist" */
    const char *site;             /* siteName, "" or NULL: none, and nothing is said of sites */
    const char *instance_id;      /* NULL: not sent */
    uint32_t open_window;         /* providerOpenWindow, 0: 500 */
    uint32_t provider_limit;      /* connections, 0: 64 */
    uint32_t publisher_limit;     /* of these, that connected to us; 0: all */
    bool has_access;              /* providerAccessFile: nobody without rules, see access_set() */
    uint64_t (*wall_s)(void); /* seconds since 1970; NULL: who expires at some time is not let in */
    uint32_t user_sessions_max;          /* of a user without mounts=, 0: no limit */
    uint32_t provider_services_max;      /* that one of them may offer, 0: 64 */
    uint32_t provider_items_max;         /* that one of them may publish, 0: no limit */
    uint64_t login_ns;                   /* they have that long to log in, 0: 10 s */
    uint32_t post_limit;                 /* 0: 10000 */
    uint32_t message_max;                /* 0: 4 MiB */
    uint64_t image_bytes_max;            /* of all images kept, 0: no limit */
    const struct rwf_dictionary *fields; /* until providers have their own; may be NULL */
    bool converts_marketfeed;            /* convertMarketfeed: with the fields that are known */
    struct srcdist_rules rules;
    uint64_t dictionary_bytes_max; /* dictionaryLimit, 0: 64 MiB */
    uint64_t republish_ns;         /* NI items not seen again after this: closed. 0: 60 s */
    uint64_t grace_ns;             /* NI: unknown items are awaited this long. 0: 10 s */
    bool has_rates;                /* items have rates from the start: memory is planned for them */
    uint64_t pending_bytes_max;    /* of updates that are being merged, 0: 64 MiB */
    uint64_t replay_ns;            /* replayTime, 0: 8 s */
    uint64_t replay_bytes;         /* replayBytes, 0: 256 MiB */
    uint32_t resume_limit;         /* p2ps and items that wait to go on here, 0: 16384 */
};

struct srcdist_core_stats {
    uint64_t messages_in;
    uint64_t updates_in;
    uint64_t updates_out;
    uint64_t refresh_in;
    uint64_t refresh_out;
    uint64_t status_in;
    uint64_t status_out;
    uint64_t requests_out;
    uint64_t reissues_out;
    uint64_t closes_out;
    uint64_t posts_out;
    uint64_t acks_in;
    uint64_t decode_errors;
    uint64_t unknown_streams;
    uint64_t backbone_refused;
    uint64_t updates_filtered; /* by their type, or since no field of them was left */
    uint64_t updates_merged;   /* into one that was pending */
    uint64_t pending_updates_now;
    uint64_t pending_bytes_now;
    uint64_t cache_applied;
    uint64_t cache_failed;
    struct mf_counts marketfeed;
    uint64_t resumed;  /* items that a p2ps went on with here, without an image */
    uint64_t replayed; /* messages sent again for that */
    uint64_t resumes_refused[SRCDIST_UNALIGNED_REASONS]; /* an image was sent, and why */
    uint64_t replay_cut;        /* blocks dropped before replayTime, for replayBytes */
    uint64_t replay_items_now;  /* items whose messages are kept */
    uint64_t replay_bytes_now;  /* for these messages, */
    uint64_t replay_bytes_max;  /* of so many */
    uint64_t replay_memory_now; /* all memory for it */
    uint64_t logins_refused;    /* of publishers, as the following */
    uint64_t logins_ended;      /* they expired, or new rules do not let them in any more */
    uint64_t services_refused;
    uint64_t services_looped; /* not taken: they came through this site already */
    uint64_t descriptions_refused;
    uint64_t services_forgotten;
    uint64_t items_refused;
    uint64_t items_preempted;      /* they made room for more valuable ones */
    uint64_t request_data_refused; /* private streams: too many with data waited */
    uint64_t items_taken_over;     /* by a newer session of the same user */
    uint64_t messages_held;        /* times that one had sent more than its user may */
    uint64_t places_given;         /* connections without login that made room */
    uint64_t dictionaries_failed;
    uint64_t dictionary_conflicts; /* a provider has another version of one */
    uint64_t dictionary_bytes;
    struct delay_stats delayed; /* of all delayed services */
    uint64_t delayed_behind_us; /* the oldest record that is not out was put in so long ago */
    uint32_t providers_now;
    uint32_t services_now;
    uint32_t services_up_now;
    uint32_t dictionaries_now;
    uint32_t items_now;
    uint32_t pending_now;
    uint32_t open_now;
    struct cache_stats cache; /* of the images */
    uint64_t item_bytes_now;  /* less images */
};

int srcdist_core_create(const struct srcdist_core_config *config, struct srcdist_core **out);
void srcdist_core_destroy(struct srcdist_core *core); /* NULL is allowed */
void srcdist_core_rules_set(struct srcdist_core *core, const struct srcdist_rules *rules);

struct entitle_rules;
/* The rules of providerAccessFile, which the core destroys; NULL: there are none that can be used,
 * nobody publishes. Who is logged in and what he offers is judged anew. */
void srcdist_core_access_set(struct srcdist_core *core, uint64_t now_ns,
                             struct entitle_rules *access);

struct rates;
/* The lines of filterFile, which the core destroys; NULL: everything goes out as it comes. Open
 * items get an image with other fields or types. MD_ERR_NOMEM: as before, `rules` are destroyed. */
int srcdist_core_rates_set(struct srcdist_core *core, uint64_t now_ns, struct rates *rules);

/* The time of day: for delayed services, and for texts about them. */
void srcdist_core_wall_set(struct srcdist_core *core, uint64_t now_ns, uint64_t wall_ns);

/* ---- the backbone ---- */

void srcdist_core_backbone(struct srcdist_core *core, uint64_t now_ns,
                           const struct backbone_event *events, size_t count);
void srcdist_core_tick(struct srcdist_core *core, uint64_t now_ns, bool input_is_empty);
uint64_t srcdist_core_deadline(const struct srcdist_core *core);
/* Ends a turn: handles events of the source engine, sends images and dictionaries. */
void srcdist_core_settle(struct srcdist_core *core, uint64_t now_ns);
/* Tell the backbone that we leave, log out at interactive providers, send the others away. */
void srcdist_core_leave(struct srcdist_core *core, uint64_t now_ns);

/* ---- providers ---- */

enum srcdist_provider_kind {
    SRCDIST_INTERACTIVE,     /* we connected: we log in and ask */
    SRCDIST_NON_INTERACTIVE, /* it connected: it logs in and publishes */
};

/* The channel is open. `rank`: which of several providers of a service is preferred, 0 best.
 * MD_ERR_FULL at the limit; a publisher that has not logged in makes room for another one. */
int srcdist_provider_add(struct srcdist_core *core, uint64_t now_ns,
                         enum srcdist_provider_kind kind, unsigned rank, const char *name,
                         const struct srcdist_link *link, void *self, uint32_t *provider);
/* The connection has ended, whoever ended it. */
void srcdist_provider_gone(struct srcdist_core *core, uint64_t now_ns, uint32_t provider);

/*
 * One message of the provider. MD_ERR_FULL: the backbone takes no more now: stop reading this
 * provider and offer the same message again later. MD_ERR_MALFORMED: cut the connection.
 */
int srcdist_provider_message(struct srcdist_core *core, uint64_t now_ns, uint32_t provider,
                             struct rwf_bytes bytes);

/*
 * A message that comes a few messages later: what it needs is brought into the cache, `step` 0
 * where its stream is looked up, `step` 1, some messages later, its item.
 */
void srcdist_provider_expect(const struct srcdist_core *core, uint32_t provider,
                             struct rwf_bytes bytes, unsigned step);

/* Misuse by a provider, counted since it connected; for the log. */
struct srcdist_misuse {
    uint64_t wrong_streams;  /* messages on streams that were never open */
    uint64_t early_updates;  /* before the image */
    uint64_t refusals;       /* items it refused for now */
    uint64_t unanswered;     /* requests it left without an answer for long */
    uint64_t shared_streams; /* items published on the stream id of another item */
};

struct srcdist_provider_info {
    bool is_used;
    bool is_logged_in;
    const char *name;
    const char *user; /* of a publisher */
    const char *state;
    const char *kind; /* "interactive" or "non-interactive" */
    uint32_t services;
    uint32_t streams;
    uint32_t outstanding;
    uint64_t updates;
    struct srcdist_misuse misuse;
    uint64_t lag_us;  /* as a p2ps has measured: its message and our answer; 0: it has not */
    uint64_t ceiling; /* its outputRate for us; 0: none is known */
};
bool srcdist_provider_info(const struct srcdist_core *core, uint32_t provider,
                           struct srcdist_provider_info *out);

/* False past the last place of a service. */
struct srcdist_service_info {
    bool is_used;
    const char *name;
    uint16_t id;
    bool is_up;
    const char *state; /* "up" or "down" */
    bool is_broadcast; /* from non-interactive providers */
    uint32_t active;   /* items somebody takes now */
    uint32_t pending;  /* items queued for a provider's window */
    uint16_t load;     /* the factor that src_dist announces to all p2ps */
    uint64_t updates;  /* that providers sent for its items */
};
bool srcdist_service_info(const struct srcdist_core *core, uint32_t service,
                          struct srcdist_service_info *out);

const struct srcdist_core_stats *srcdist_core_stats(const struct srcdist_core *core);
const struct rrmp_source *srcdist_core_source(const struct srcdist_core *core);

/* For tests: walks all tables. NULL, or the first condition that does not hold (base/check.h). It
 * holds after srcdist_core_settle(). */
const char *srcdist_core_check(const struct srcdist_core *core);

#endif
