/* feed.h - the consumer of rmdsrec record: its connection, and what comes on it into the keeper. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEED_H
#define FEED_H

#include "base/loop.h"
#include "client/session.h"
#include "itemlist.h"
#include "link.h"
#include "recording/images.h"
#include "rmds/rwf_dictionary.h"
#include "words.h"

#define SERVICES_MAX  16
#define MESSAGE_MAX   65536
#define FIELDS_STREAM 3
#define ENUMS_STREAM  4
#define STREAM_FIRST  5 /* that of item 0; 1 login, 2 directory */

enum feed_state { FEED_DOWN, FEED_LOGIN, FEED_DIRECTORY, FEED_DICTIONARY, FEED_UP };

enum item_state {
    ITEM_WAITING, /* not asked for on this connection */
    ITEM_ASKED,
    ITEM_OPEN, /* its image is there, or a part of it */
    ITEM_REFUSED,
};

struct feed_item {
    const char *name;
    uint8_t name_length;
    uint8_t domain;
    uint8_t service; /* index */
    uint8_t state;   /* enum item_state */
    bool was_open;   /* once at least */
    uint32_t number; /* of the keeper */
};

struct feed_service {
    const char *name;
    uint16_t id;
    bool is_known; /* on this connection */
    bool was_known;
};

struct feed_stats {
    uint64_t logins, lost_connections, refused, errors;
};

struct feed {
    struct md_loop *loop;
    struct client_context *context;
    struct wire wire;
    struct rec_keeper *keeper;
    struct rwf_dictionary *dictionary; /* complete if has_dictionary */
    struct cache_ripples *ripples;
    bool has_dictionary;
    bool has_directory;   /* all of it has come on this connection */
    bool asks_dictionary; /* it was not given on the command line */
    char *host;
    uint16_t port;
    const char *user, *position, *application_id;
    char password[128];
    uint32_t window, pending, next;
    struct feed_service services[SERVICES_MAX];
    size_t service_count;
    size_t teacher; /* the service that is asked for the dictionary */
    struct feed_item *items;
    uint32_t item_count;
    enum feed_state state;
    struct link *link;
    struct md_loop_timer *timer; /* to dial again, or to ask again */
    bool is_over, retry_waits;
    bool starts_over;  /* at the next retry: items before `next` are to be asked for again */
    char reason[160];  /* why there is no connection, told once */
    bool is_refused;   /* the reason is a login that was refused */
    uint64_t pause_ns; /* from the end of this connection to the next dial; 0: the usual one */
    struct feed_stats stats;
    struct rec_moment now; /* of the messages at hand */
    uint8_t message[MESSAGE_MAX];
};

int feed_start(struct feed *feed); /* dial, from now on */
void feed_stop(struct feed *feed);
void feed_fini(struct feed *feed);
/* Open now, and once at least. */
void feed_count_items(const struct feed *feed, uint32_t *open, uint32_t *were_open);
/* A service that was named and that the server does not have; NULL: it has all, or there is no
 * directory of it. */
const struct feed_service *feed_service_missing(const struct feed *feed);
/* The login was refused, or closed: that is the reason of this connection's end. A daemon tries
 * again, after a longer pause if it is for good; a verb ends. */
void feed_refuse(struct feed *feed, const char *why, bool is_for_good);

/* feed.c, for feed_setup.c */
/* MD_ERR_FULL: the queue to the server has no room now. */
int feed_send(struct feed *feed, const struct rwf_encoder *enc);
void feed_ask(struct feed *feed); /* for items, as many as the window allows */
void feed_record(struct feed *feed, const struct rec_key *key, struct rwf_bytes message);

/* feed_setup.c: login, directory, dictionary */
void setup_start(struct feed *feed);
void setup_message(struct feed *feed, const struct rwf_msg *msg, struct rwf_bytes bytes);

#endif
