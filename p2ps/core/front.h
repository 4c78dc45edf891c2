/* front.h - how a client is spoken to: what a protocol plugs in to p2ps. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_FRONT_H
#define P2PS_FRONT_H

#include "omm/login.h"
#include "rmds/rwf.h"

struct p2ps_front;
struct p2ps_party;

/*
 * A front is one protocol towards clients: RSSL with RWF messages, or WebSocket with JSON. It turns
 * the client's bytes into the request structs of omm and hands them to the core (core.h); the core
 * tells it what to send, as RWF for administrative messages, and as *made* bytes for items.
 * Nothing above a front knows frames; nothing below the core knows watch lists.
 *
 *     record    what came for an item from the backbone: an RWF message without key and group
 *     form      how some watches want it: as it came, with the key, a view of some fields
 *     made      the record in one form, made once for all watches of that form
 */
enum p2ps_form_flags {
    P2PS_FORM_KEY = 1,         /* the key goes into every update */
    P2PS_FORM_VIEW = 2,        /* `fields` only */
    P2PS_FORM_CONF = 4,        /* updates say how they were conflated, if they were */
    P2PS_FORM_NATIVE = 16,     /* Marketfeed records as they come, by DisableDataConversion 1 */
    P2PS_FORM_MARKETFEED = 32, /* MarketPrice as Marketfeed records, by MarketfeedData 1 */
    P2PS_FORM_BARE = 8,  /* no permission data, by ProvidePermissionExpressions 0 of the login */
    P2PS_FORM_DROP = 64, /* of a view: all fields but `fields` */
    P2PS_FORM_IMPOSED = 128, /* the view is all that may be seen: what it cannot be made of is not
                                given at all */
};

#define P2PS_PACE_NONE 0 /* each update */

/* A rate that consumers may choose: the rate of a QoS. */
struct p2ps_pace {
    uint8_t rate;         /* enum rwf_rate: JIT_CONFLATED or TIME_CONFLATED */
    uint16_t interval_ms; /* of the second */
};

struct p2ps_form {
    uint8_t flags; /* enum p2ps_form_flags */
    uint8_t pace;  /* number of its rate, see pace.h; P2PS_PACE_NONE: each update */
    struct p2ps_pace rate;
    bool states_qos; /* consumers can choose: each refresh says what they have */
    uint16_t field_count;
    uint32_t watch_count; /* 0: the slot is free */
    uint32_t owner;       /* the client that asked for this view first */
    uint32_t owner_serial;
    struct p2ps_party *host; /* of a view: who paid for it */
    struct p2ps_party *party;
    const struct p2ps_front *front;
    int16_t *fields; /* ascending */
    /* A form that was asked for, cut to what may be seen: it is made as the form `seen`, and goes
     * back to the form `asked` when all may be seen. */
    bool is_cut;
    uint16_t asked;
    uint16_t seen;
};

struct p2ps_record {
    struct rwf_bytes message;
    struct rwf_peek peek;
    uint32_t item;
    bool is_private;
    uint8_t group[4];          /* group id towards clients, of refreshes */
    const struct rwf_key *key; /* the item's, with the service id clients know; refreshes have it,
                                  updates when the form has P2PS_FORM_KEY */
    const struct rwf_qos *qos; /* of the item's stream at its source; where `key` is */
};

struct p2ps_made {
    const uint8_t *bytes;
    size_t length;         /* 0: this form has nothing to say about this record */
    uint32_t state_at;     /* refreshes: offset of the state, 0 if none */
    uint32_t solicited_at; /* the same of what says that nobody asked for it; of JSON only */
    bool is_vital;         /* may be neither dropped nor given later */
    bool is_rwf;           /* a message of RWF as it came, in no form */
    bool is_broken;        /* the record cannot be made in this form */
    bool is_uncut;         /* because what may not be seen cannot be told from the rest of it */
};

struct p2ps_front {
    const char *name;
    /* True: a state of a group or a service goes to each of its streams. False: the clients know
     * from the directory which streams it is for. */
    bool tells_each_stream;
    /* Messages are several times as long as RWF: such clients are flushed after all others, and in
     * a turn only P2PS_TURN_LONG of them besides those that are full, so that the others do not
     * wait for their system calls. */
    bool is_long;

    /* The record in `form`. Bytes are either the record's own or written to `out`; they stay good
     * until the next record. MD_ERR_FULL when `size` is too small, else as the codec says. */
    int (*make)(const struct p2ps_form *form, const struct p2ps_record *record, uint8_t *out,
                size_t size, struct p2ps_made *made);

    /* Queue `made` for one stream of one client. `solicited`, `snapshot`: patch a refresh so.
     * MD_ERR_FULL: no room now; some of it is kept for vital and administrative messages, so that
     * a client that falls behind can still get a status. MD_ERR_MALFORMED: `is_rwf`, and the
     * protocol cannot say this message. Called for every message of every watch. */
    int (*put)(void *self, const struct p2ps_made *made, int32_t stream_id, bool solicited,
               bool snapshot);

    /* Administrative messages; each MD_OK or MD_ERR_FULL (nothing was queued: it will be asked
     * again when there is room). The login refresh says what the protocol can do; all others are
     * RWF as it goes out, stream id already in it. */
    int (*login_refresh)(void *self, const struct omm_login_refresh *refresh);
    int (*message)(void *self, struct rwf_bytes message);

    /* Send what is queued; once per batch for each client that got something. */
    void (*flush)(void *self);
    /* So much is queued that waiting for more would not make fewer system calls. */
    bool (*is_full)(const void *self);
    /* How much of the client's output is in use, in percent. */
    unsigned (*fill)(const void *self);
    /* The same in figures, and what they count: "output buffers". May be NULL: in percent. */
    const char *(*queue)(const void *self, uint64_t *used, uint64_t *max);
    /* It is sent no more than so many bytes a second: to be behind is not its fault. May be NULL:
     * none is. */
    bool (*has_ceiling)(const void *self);
    /* Send what is queued, then end the connection. p2ps_client_gone() must not be called. */
    void (*close)(void *self, const char *reason);

    /* The client has logged in: what it holds is this user's, too. Its front holds the party as
     * long as it counts there (p2ps_parties_hold). May be NULL. */
    void (*user)(void *self, const char *name, struct p2ps_party *user);

    /* The name in the certificate that the client has shown, "": none; and when that ends, in
     * seconds since 1970. May be NULL: clients have none. */
    const char *(*certificate)(const void *self, uint64_t *expires_s);
    /* The number of that certificate; likewise. */
    const char *(*serial)(const void *self);

    /* Hands over the next request of the client that was kept back, because p2ps_client_takes() had
     * said no; false: none is left. May be NULL: no request is ever kept back. */
    bool (*resume)(void *self);
};

#endif
