/* engine.h - a server that fails on command: script, time and events in, actions out. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAULT_ENGINE_H
#define FAULT_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "script.h"

/*
 * The engine knows clients, streams and services, plays the script, and decides what each request
 * is answered. It opens no socket, reads no clock and knows no byte of the wire: the owner hands it
 * what clients do and does what it orders. All tables have an upper bound; what does not fit is
 * refused and counted.
 */
#define FAULT_CLIENTS_MAX  64u
#define FAULT_STREAMS_MAX  20000u
#define FAULT_SERVICES_MAX 16u
#define FAULT_RULES_MAX    64u
#define FAULT_LATE_MAX     256u /* answers to login, directory and dictionary that are delayed */
#define FAULT_SEEN_MAX     1024u
#define FAULT_BURST_MAX    2000u /* updates of one call */
#define FAULT_PLAY_MAX     256u  /* statements of one call */
#define FAULT_NEVER        UINT64_MAX

/* What a client did. `client` is the owner's number of the connection. */
struct fault_event {
    enum fault_seen kind; /* never REISSUE: the engine knows which requests are that */
    unsigned client;
    int32_t stream_id;
    uint32_t filter; /* directory, dictionary */
    uint16_t service_id;
    uint8_t domain;
    uint8_t dictionary; /* enum rwf_dictionary_type */
    uint8_t code;       /* exit: as of wait(2), 128 + signal */
    bool is_streaming, is_private, no_refresh;
    bool wants_info;  /* an item: how many updates each one stands for */
    const char *name; /* user, item; NULL: none */
};

enum fault_act {
    FAULT_ACT_LOGIN,      /* accept it */
    FAULT_ACT_DIRECTORY,  /* the whole directory */
    FAULT_ACT_SERVICE,    /* a change of one service: `service`, `choice` */
    FAULT_ACT_DICTIONARY, /* `dictionary` with `filter` */
    FAULT_ACT_IMAGE,      /* part `part` of `parts` */
    FAULT_ACT_UPDATE,
    FAULT_ACT_STATUS,
    FAULT_ACT_BROKEN,  /* `choice`: enum fault_broken */
    FAULT_ACT_FRAME,   /* `choice`: enum fault_frame, behind what is queued */
    FAULT_ACT_DROP,    /* end the connection when what is queued is written */
    FAULT_ACT_LISTEN,  /* is_on */
    FAULT_ACT_SILENCE, /* is_on: read, write and accept nothing */
    FAULT_ACT_VERSION, /* of the dictionaries: `text` */
    FAULT_ACT_SAY,     /* `text` */
    FAULT_ACT_STEP,    /* a statement is done: is_on, or why not in `text` */
    FAULT_ACT_DONE,    /* the script is over: is_on, or why not in `text` */
};

struct fault_service_state {
    char name[64];
    uint16_t id;
    bool is_there, is_up, is_busy;
};

struct fault_action {
    enum fault_act kind;
    unsigned client;
    int32_t stream_id;
    uint32_t filter, count, part, parts;
    uint16_t service_id;
    uint8_t domain, dictionary, choice;
    uint8_t stream_state, data_state, code; /* of a status, as the wire numbers them */
    uint16_t merged;                        /* an update: it stands for so many; 0: for itself */
    uint16_t merged_ms;                     /* in so long */
    uint64_t renew_ns; /* a login: so long from now on its token is to be renewed; 0: never */
    bool is_on, is_new, is_streaming, is_private, is_solicited;
    uint16_t line;    /* of the statement */
    const char *name; /* of the item */
    const char *to;   /* redirected: the other item */
    const char *text;
    const struct fault_service_state *service;
};

/* Does it, or returns false: the output of that client is full. It must not call the engine. */
typedef bool (*fault_act_fn)(void *owner, const struct fault_action *action);

struct fault_engine_config {
    const char *const *services;
    size_t service_count;
    const struct fault_script *script; /* copied; NULL: none */
    bool is_live; /* no end: fault_engine_push() may follow, and a failed statement ends nothing */
    fault_act_fn act;
    void *owner;
};

struct fault_engine_stats {
    uint64_t updates, lost, doubled, swapped; /* of streams */
    uint64_t refused;                         /* streams, answers or rules that had no room */
    uint64_t merged;                          /* updates that went into another one */
    uint64_t full;                            /* updates that waited for a client */
    uint64_t dropped;                         /* clients with no room for what must be sent */
};

struct fault_engine;

/* MD_ERR_NOMEM, or MD_ERR_RANGE: too many services. */
int fault_engine_create(const struct fault_engine_config *config, uint64_t now_ns,
                        struct fault_engine **out);
void fault_engine_destroy(struct fault_engine *engine); /* NULL is allowed */

void fault_engine_event(struct fault_engine *engine, uint64_t now_ns,
                        const struct fault_event *event);
void fault_engine_tick(struct fault_engine *engine, uint64_t now_ns);
uint64_t fault_engine_deadline(const struct fault_engine *engine);

/* One more statement, live. MD_ERR_FULL: too many wait. */
int fault_engine_push(struct fault_engine *engine, uint64_t now_ns, const struct fault_step *step);

const struct fault_service_state *fault_engine_services(const struct fault_engine *engine,
                                                        size_t *count);
const struct fault_engine_stats *fault_engine_stats(const struct fault_engine *engine);
size_t fault_engine_streams(const struct fault_engine *engine);

#endif
