/* core_pair.h - src_dist and p2ps cores in one process, with a model provider and model clients. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PAIR_H
#define CORE_PAIR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/writer.h"
#include "itemkey/itemkey.h"
#include "p2ps/core/core.h"
#include "p2ps/core/rwf_forms.h"
#include "rmds/rwf_dictionary.h"
#include "rrmp/key.h"
#include "srcdist/core/core.h"

/*
 * The backbone is two arrays of records: src_dist is (1, 1), p2ps is (2, 1). The provider keeps a
 * counter per item, and its image and its updates are a function of it. A client is a second front:
 * each message that the core sends it becomes a letter of the message's stream:
 *
 *     L login            D directory        d change of it       + service added   - deleted
 *     g group            m merge of two     I image              i unsolicited image
 *     U update           S status, stream stays open             ! the same, data suspect
 *     X closed           R closed, recover  A ack                N nak             G generic
 *     T round trip       M encoded message  J conflation started j real time again
 */
#define PAIR_MS          1000000ull
#define PAIR_SEC         1000000000ull
#define PAIR_RECORDS     4096
#define PAIR_RECORD_SIZE 4096
#define PAIR_STREAMS     64
#define PAIR_ITEMS       64
#define PAIR_CLIENTS     4
#define PAIR_LETTERS     512
#define PAIR_HEARD       256
#define PAIR_SERVICE_ID  7
#define PAIR_FIELD       32 /* the counter; field 22 is twice as much */
#define PAIR_UNLIMITED   UINT32_MAX
#define PAIR_ELSEWHERE   9 /* the session of a requester that is no p2ps of ours */

struct pair_line {
    struct {
        struct backbone_target target;
        size_t length;
        uint8_t bytes[PAIR_RECORD_SIZE];
    } sent[PAIR_RECORDS];
    size_t count;
    bool is_full; /* takes nothing, whatever its fill says */
    uint8_t room[65536];
};

struct pair_item {
    bool is_open;
    int32_t stream_id;
    uint8_t domain;
    bool is_private;
    bool is_streaming;
    uint32_t reissues;
    uint32_t counter;
    char name[32];
};

struct pair;

struct pair_provider {
    struct pair *pair;
    bool is_here;
    uint32_t id; /* of the core */
    bool answers;
    bool service_up;
    bool closed; /* by the core */
    bool takes_nothing;
    unsigned parts;
    uint32_t requests;
    uint32_t reissues;
    uint32_t closes;
    uint32_t posts;
    uint8_t post[512]; /* the last one */
    size_t post_length;
    uint16_t asked_container; /* of the last request for an item, and its payload */
    uint8_t asked[256];
    size_t asked_length;
    uint32_t generics;
    bool accepts_status;
    uint64_t role;   /* as told last: enum omm_mirroring_mode */
    uint8_t refusal; /* stream state of the next answers, 0: an image */
    uint8_t nak;
    const char *perm_data;
    uint8_t group;      /* of images; 0: 1 */
    uint16_t container; /* of images, with `payload` in place of fields; 0: fields */
    struct rwf_bytes payload;
    uint16_t conflated;     /* as updates say, 0: they do not */
    bool has_seqs;          /* images and updates bear the counter as sequence number, too */
    const char *dictionary; /* RWFFld, of this version; NULL: none is offered */
    bool has_enums;         /* RWFEnum of the same version is listed, too, and first */
    bool enums_are_refused;
    bool dictionary_is_silent;
    uint32_t open_limit;            /* LOAD of its directory; 0: it has none */
    bool has_links;                 /* LINK */
    bool names_no_domains;          /* no capabilities in the directory */
    uint32_t dictionary_filters[8]; /* as asked */
    size_t dictionary_asks;
    char dictionary_names[8][16]; /* as asked */
    int32_t dictionary_stream;    /* of the last one asked */
    struct pair_item items[PAIR_ITEMS];
    struct {
        size_t length;
        uint8_t bytes[512];
    } heard[PAIR_HEARD];
    size_t heard_count;
};

struct pair_stream {
    int32_t id;
    char letters[PAIR_LETTERS];
    size_t count;
    uint32_t counter; /* as last delivered, by image or update */
    uint8_t code;
    uint8_t data_state;
    uint8_t stream_state;
    uint16_t flags;
    uint16_t container; /* of the last image or update, and its payload if it is short */
    uint8_t payload[256];
    size_t payload_length;
    uint32_t fields;     /* of the last image or update; rows, where it is a vector */
    uint32_t group;      /* of the last image */
    struct rwf_qos qos;  /* the same */
    uint16_t conf_count; /* of the last update; 0: it says nothing of it */
    bool has_key;
    char text[256];
    uint64_t reissue_s; /* of the last login refresh, as all below */
    uint64_t token_error;
    bool has_authentication;
    bool has_permission_expressions;
};

/* The time of day, since 1970, that p2ps ends logins by; pair_pass() moves it. */
extern uint64_t pair_wall_ns;

/* The protocol of the clients cannot say records of this class; 0: it can say all. */
extern uint8_t pair_unmade_class;

/* How often a record was made in a form. */
extern uint32_t pair_makes;

struct pair_client {
    struct pair *pair;
    uint32_t id;
    bool closed;                 /* by the core */
    uint64_t certificate_ends_s; /* 0: it has shown none */
    const char *serial;          /* of that certificate; NULL: none */
    char reason[192];
    uint32_t room; /* messages it takes; PAIR_UNLIMITED */
    uint32_t room_max;
    uint32_t queued; /* since the last flush */
    bool has_ceiling;
    const char *unit; /* of its output; NULL: percent */
    uint64_t used, used_max;
    uint32_t flushes;
    uint32_t group[2]; /* of the last change: the group, and what it was merged into */
    uint8_t group_state;
    uint8_t group_stream_state;
    uint32_t filters;                    /* of the first service of the last directory message */
    struct rwf_qos offered[OMM_QOS_MAX]; /* its qualities */
    unsigned offered_count;
    bool offers_range;
    char path[256];       /* its first path, as told last; "": none */
    bool is_offered_up;   /* as its state said last */
    uint8_t said[2][128]; /* its LOAD and LINK */
    size_t said_length[2];
    struct omm_rtt rtt; /* the last one */
    bool drains;        /* each flush makes all its room free again */
    struct pair_stream streams[PAIR_STREAMS];
};

struct pair {
    uint64_t now_ns;
    unsigned network;      /* of the p2ps core, that this backbone is */
    const char *service;   /* its name; NULL: RDFD */
    uint16_t service_id;   /* 0: PAIR_SERVICE_ID */
    bool is_id_automatic;  /* serviceId 0 */
    uint16_t provider_id;  /* of the service at its provider; 0: 99 */
    uint8_t data_type;     /* of the service, as the source is configured */
    struct pair_line down; /* from src_dist */
    struct pair_line up;   /* from p2ps */
    struct pair_line moving;
    struct srcdist_core *source;
    struct p2ps_core *sink;
    struct pair_provider provider;
    struct pair_client clients[PAIR_CLIENTS];
    /* The authority answers at once, or late. */
    bool authority_is_late;
    bool authority_denies;
    uint32_t authority_asked;    /* so often */
    uint32_t authority_rules;    /* it looks at for each answer */
    uint32_t authority_mounts;   /* that each user may have, 0: any */
    uint32_t authority_items;    /* the same of items */
    uint32_t authority_requests; /* a second, that each user may make, 0: as configured */
    uint32_t authority_posts;    /* the same of posts */
    bool authority_denies_posts;
    bool authority_denies_no_lock; /* items whose image has no permission data */
    bool authority_is_busy;        /* why it denies */
    bool authority_snapshots_only;
    uint8_t authority_qualities;
    const char *authority_ends_user;             /* after a reload */
    const char *authority_user;                  /* whose token it is; NULL: whose-token */
    bool authority_proves;                       /* that a user is who it says */
    enum entitle_by authority_by;                /* how that is known */
    uint64_t authority_expires_s;                /* logins, since 1970; 0: never */
    uint64_t authority_renews_until_s;           /* that it says anew of a session; 0: nothing */
    uint8_t authority_token_error;               /* why it denies a token */
    uint64_t authority_user_ends_s;              /* expires= of each user; 0: none */
    uint32_t authority_positions;                /* that each user may be at; 0: any */
    bool authority_needs_tls;                    /* of each user */
    const struct entitle_shown *authority_shown; /* the token of a login */
    struct entitle_query authority_saw;          /* the last question about a login */
    bool authority_needs_certificate;            /* of a login */
    bool authority_saw_token; /* the last login that it was asked about came by one */
    const char *authority_denies_item;
    /* One in another process. */
    bool authority_is_outside, authority_is_down;
    bool authority_is_over; /* it is down for so long that sessions end */
    unsigned authority_news;
    const char *authority_file;         /* whose line 7 decides */
    struct entitle_rules *rules;        /* that answer in its place; NULL: none do */
    const char *authority_roles;        /* that it gives each session */
    const char *authority_denies_roles; /* items to sessions with these */
    const char *authority_session;      /* that it gives each login */
    const char *authority_renewed;      /* that it gives a session when it is asked again */
    unsigned authority_ended;           /* sessions, and of the last one: */
    char authority_ended_last[128], authority_ended_why[128], authority_asked_session[128];
    const char *authority_denies_data; /* one byte of permission data */
    const char *authority_denies_user; /* that data to this user only */
    struct entitle_answer late[PAIR_STREAMS];
    size_t late_count;
    bool answers_now;
    uint32_t messages; /* of requests on their way to src_dist */
    bool source_caches;
    const struct rwf_dictionary *fields; /* that the source begins with; it ripples by them */
    bool converts_marketfeed;            /* the source, by these */
    uint32_t open_window;                /* providerOpenWindow */
    uint64_t session;                    /* of the source; 0: 1 */
    struct pair *mirror;                 /* another source on the same network */
    bool is_hot;                         /* mirrorMode */
    bool is_numbered;                    /* mirrorSequence */
    uint8_t priority;                    /* sourcePriority */
    bool is_dead;                        /* the source; what it still says is lost */
    const char *name;                    /* of the source, when it has a mirror */
    uint64_t source_item_bytes;          /* item_bytes_max */
    void (*tune)(struct srcdist_core_config *source); /* before the source is made; may be NULL */
    bool lose_down;                                   /* records of src_dist are lost */
    uint32_t elsewhere;  /* parts of images that went to another requester alone */
    uint32_t resumes;    /* p2ps asked so often to go on behind a sequence number, */
    uint32_t resume_seq; /* and last behind this one */
    uint32_t settles;    /* in which nothing moved */
};

/* ---- life, and the backbone ---- */

uint8_t *pair_reserve(void *context, const struct backbone_target *target, size_t length);
void pair_commit(void *context, size_t length);
unsigned pair_fill(void *context);
uint64_t pair_session(const struct pair *pair);
bool pair_move(struct pair *pair, struct pair_line *line, uint64_t from, bool lose);

/* Another requester asks for a snapshot of the item; its answers are only counted. */
void pair_snapshot_elsewhere(struct pair *pair, const char *name);

/* Until nothing moves any more; no time passes. */
void pair_settle(struct pair *pair);
void pair_pass(struct pair *pair, uint64_t time_ns);
void pair_create_source(struct pair *pair);
void pair_create(struct pair *pair, struct p2ps_core_config config);
void pair_destroy(struct pair *pair);

/* For cmocka: *state is a pair of this configuration. */
int pair_setup(void **state, struct p2ps_core_config config);
int pair_teardown(void **state);

/* ---- the provider ---- */

void pair_say(struct pair_provider *p, struct rwf_encoder *enc);
void pair_fields(struct rwf_encoder *enc, uint32_t counter, bool whole);
void pair_say_image_part(struct pair_provider *p, const struct pair_item *it, bool is_solicited,
                         unsigned part);
void pair_say_image(struct pair_provider *p, const struct pair_item *it, bool is_solicited);
void pair_say_status(struct pair_provider *p, const struct pair_item *it, uint8_t stream_state,
                     uint8_t data_state, uint8_t code);
struct pair_item *pair_item(struct pair *pair, const char *name);

/* The next update of that item, published but not delivered yet. */
void pair_update(struct pair *pair, const char *name);

/* One link, "feed", which is up. */
struct rwf_bytes pair_links(uint8_t *bytes, size_t size);
void pair_say_directory(struct pair_provider *p, bool is_update);

/* LOAD alone. */
void pair_say_load(struct pair *pair, uint32_t open_limit);

/* A change of a group of the provider's items: a status, or, with `into`, a merge. */
void pair_say_group_state(struct pair *pair, uint16_t group, uint16_t into, uint8_t stream_state,
                          uint8_t data_state);
void pair_say_group(struct pair *pair, uint16_t group, uint16_t into, uint8_t data_state);

/* Three fields, in two messages; or a table of enumerated values. */
void pair_say_dictionary(struct pair_provider *p, int32_t stream_id, uint32_t filter,
                         enum rwf_dictionary_type type);
void pair_answer(struct pair_provider *p, struct pair_item *it);
bool pair_provider_turn(struct pair_provider *p);
void pair_provider_comes(struct pair *pair);
void pair_provider_goes(struct pair *pair);

/* ---- clients ---- */

struct pair_stream *pair_stream(struct pair_client *c, int32_t id);
struct pair_client *pair_client_comes(struct pair *pair, unsigned n);
struct omm_login_request pair_login_request(void);
void pair_login(struct pair_client *c);

/* A client that is logged in. */
struct pair_client *pair_client(struct pair *pair, unsigned n);
struct omm_item_request pair_request(int32_t stream_id, const char *name);
void pair_ask_item(struct pair_client *c, const struct omm_item_request *request);
void pair_open(struct pair_client *c, int32_t stream_id, const char *name);
const char *pair_heard(struct pair_client *c, int32_t stream_id);

#endif
