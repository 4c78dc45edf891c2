/* sds.h - sink_driven_src: what its parts know of each other. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SDS_H
#define SDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/loop.h"
#include "base/prng.h"
#include "base/table.h"
#include "client/session.h"
#include "itemlist.h"
#include "link.h"
#include "marketfeed/marketfeed.h"
#include "rmds/rwf.h"
#include "rmds/rwf_dictionary.h"
#include "sample.h"
#include "wire.h"

#define SERVICES_MAX 16
#define MESSAGE_MAX  65536

/* A client may lag by this much before the publisher waits for it. */
#define SDS_UPDATE_BUFFERS 20000u

/*
 * One thread, one loop. Clients (src_dist, or any consumer) connect, log in, and open items; each
 * open item gets updates at its turn: the schedule says how many there are in a burst, the items
 * take them round robin, and each stream of the item gets the same update.
 */
struct sds;
struct client;
struct item;

/* An item on one stream of one client. */
struct watch {
    struct client *client;
    struct item *item;
    struct watch *next; /* of the item */
    int32_t stream_id;
    bool is_private;
    bool is_told; /* has an image that contains the update under way */
};

struct item {
    struct watch *watches;
    uint64_t hash;                    /* seqdata_item() */
    uint32_t count;                   /* updates made */
    uint32_t step;                    /* next update of the template */
    size_t at;                        /* place in sds->open, SIZE_MAX: none */
    const struct sample_item *sample; /* NULL: the built-in one */
    struct kind_slot *kind;           /* -kinds: one of its items; else NULL */
    struct service *service;
    uint8_t domain;
    uint8_t name_length;
    bool is_silent;   /* all updates of the template were sent, and no -K */
    bool comes_again; /* src_dist refused it for now */
    const char *name;
    char key[300]; /* service id, domain, name, terminated */
};

struct service {
    const char *name;
    uint16_t id;
    bool is_up;
    uint8_t refused_code; /* of the last refusal of src_dist that was told */
};

struct client {
    struct sds *sds;
    struct client *next;
    struct link *link;
    struct rssl_outq *outq;   /* once it is open */
    struct md_table *streams; /* stream id -> watch */
    size_t unflushed;         /* bytes queued since the last flush */
    int32_t login_stream;
    int32_t directory_stream;
    uint32_t directory_filter;
    bool has_directory;
    bool is_logged_in;
    bool is_provider_side; /* we dialed: non-interactive */
    uint32_t next_negative;
};

enum stamp_place { PLACE_UNIFORM, PLACE_FIRST, PLACE_LAST };

struct sds_options {
    const char *address, *host, *user, *profile;
    char password[128]; /* -pw, -pwfile; "" = none */
    bool nodelay, loop, stamps, stamps_all, due, seqdata, seqnum, marketfeed, commands;
    const char *stamp_item; /* "*": any */
    enum stamp_place place;
    uint64_t stamp_rate;
    uint32_t ticks_per_second;
    uint64_t rate;
    double interval_s, stop_s;
    double kinds_rate; /* negative: none */
    uint32_t max_clients;
    uint64_t seed;
    uint32_t drop_every, duplicate_every; /* faults, for tests of checkers */
};

/* Totals; never set back. */
struct sds_stats {
    uint64_t updates;  /* of items */
    uint64_t messages; /* sent: updates times streams */
    uint64_t bytes;    /* of all messages, not framed */
    uint64_t stamped;
    uint64_t refreshes, statuses, requests, closes, posts, generics, errors;
    uint64_t dropped, duplicated; /* by the faults asked for */
};

/* A time of one rate, with an item open all the while, that no word was said of yet. */
struct sds_judged {
    uint64_t from_ns, from_updates;
};

struct sds {
    struct sds_options options;
    struct md_loop *loop;
    struct client_context *context;
    struct wire wire;
    struct net_listener *listener;
    struct md_loop_fd *listen_watch;
    struct rwf_dictionary *dictionary;
    struct mf_table *marketfeed; /* -marketfeed; else NULL */
    struct service services[SERVICES_MAX];
    size_t service_count;
    struct client *clients;
    size_t client_count;
    struct publisher *publisher; /* with -host */
    struct kinds *kinds;         /* with -kinds */
    struct console *console;     /* with -c */
    struct md_table *items;
    struct item **open; /* those that get updates */
    size_t open_count, open_size;
    size_t cursor; /* whose turn it is */
    struct emitter *emitter;
    struct rwf_qos qos;
    uint16_t port;
    struct ticker *ticker;
    struct sample sample;
    const struct sample_item *template; /* -q */
    struct item *stamp_item;
    struct sds_stats stats;
    struct md_prng prng;
    struct itemlist list; /* -f */
    char *counts_path;    /* a file that somebody waits for, or NULL */
    struct md_loop_timer *interval_timer, *stop_timer, *profile_timer;
    struct md_loop_signal *signals[2];
    char *profile;
    const char *profile_at;
    struct sds_judged st_judged, line_judged; /* by `st`, by the lines of -I */
    struct sds_stats line_stats;              /* of the last line of -I */
    uint64_t line_ns, line_cpu_ns;
    uint8_t message[MESSAGE_MAX];
};

/* server.c: connections */
struct client *sds_client_create(struct sds *sds, struct client_session *session);
struct rssl_config sds_rssl_config(enum rssl_role role);
int sds_server_start(struct sds *sds, char *error, size_t error_size);
void sds_server_stop(struct sds *sds);
void sds_clients_flush(struct sds *sds);
void sds_client_drop_all(struct sds *sds); /* orderly */
int sds_send(struct client *client, const void *message, size_t length);
void sds_client_message(struct client *client, const struct rssl_event *event); /* requests.c */
void sds_client_opened(struct client *client);                                  /* requests.c */

/* requests.c: what clients ask */
void sds_client_forget(struct client *client); /* its watches */
void sds_service_set(struct sds *sds, struct service *service, bool is_up);
struct item *sds_item_find(struct sds *sds, const char *name);
struct item *sds_item_take(struct sds *sds, struct service *service, uint8_t domain,
                           struct rwf_bytes name);
struct watch *sds_watch_add(struct client *client, struct item *item, int32_t stream_id);
void sds_watch_remove(struct watch *watch);

/* publish.c: the non-interactive way */
int sds_hosts_dial(struct sds *sds);
void sds_hosts_lost(struct sds *sds); /* dial again after a while */
void sds_hosts_stop(struct sds *sds);
void sds_publish_all(struct client *client); /* logged in: services, images */
/* src_dist has refused the login, or an item. */
void sds_login_refused(struct client *client, const struct rwf_msg *msg);
void sds_item_refused(struct client *client, const struct rwf_msg *msg);
/* -pw and -pwfile into the options; an exit code. */
int sds_password_read(struct sds *sds, const char *password, const char *path);

/* ticker.c: the bursts */
int ticker_create(struct sds *sds, struct ticker **out);
void ticker_destroy(struct ticker *ticker);
void ticker_set_rate(struct ticker *ticker, uint64_t rate);
void ticker_set_ticks(struct ticker *ticker, uint32_t ticks_per_second);
/* What was wanted, given up, and how late the latest burst was. */
struct ticker_stats {
    uint64_t wanted;
    uint64_t skipped;
    uint64_t late_max_ns; /* of the bursts since the last call */
    uint64_t late_sum_ns, bursts;
    uint64_t blocked; /* times a full queue stopped a burst */
    uint64_t rate;
    uint32_t ticks_per_second;
};
void ticker_stats(struct ticker *ticker, struct ticker_stats *out);

/* answers.c: what clients are told */
void sds_answer_login(struct client *client, const struct rwf_msg *msg);
void sds_answer_directory(struct client *client, const struct rwf_msg *msg);
struct sds_directory {
    bool is_update; /* of the states alone */
    bool is_streaming;
    bool has_service_id;
    uint16_t service_id;
};
void sds_send_directory(struct client *client, const struct sds_directory *what);
/* A field list of the item as a Marketfeed record at `out`; empty if it cannot be one. */
struct rwf_bytes sds_record(struct sds *sds, const struct item *item, const struct mf_head *head,
                            struct rwf_bytes fields, uint8_t *out, size_t size);
void sds_answer_dictionary(struct client *client, const struct rwf_msg *msg);
/* `key`: that of the request, or NULL. */
void sds_send_image(struct watch *watch, bool is_solicited, bool is_streaming,
                    const struct rwf_key *key);
void sds_send_status(struct client *client, int32_t stream_id, uint8_t domain, bool is_private,
                     unsigned stream_state, unsigned data_state, unsigned code, const char *text);

/* emit.c: one update of one item to all who watch it. False: a queue is full, nothing was sent to
 * the streams not yet served; ask again with the same arguments. */
struct emitter;
int emitter_create(struct sds *sds, struct emitter **out);
void emitter_destroy(struct emitter *emitter);
bool emitter_update(struct emitter *emitter, struct item *item, bool is_stamped, uint64_t due_ns);
/* This stream got an image that contains the update under way, if that was still to come. */
void emitter_told(struct emitter *emitter, struct watch *watch);
/* The streams of the update under way; false as above. */
bool emitter_resume(struct emitter *emitter);
void emitter_forget(struct emitter *emitter, const struct watch *watch);

/* kinds_send.c: items of every kind of data change */
int kinds_start(struct sds *sds, double per_second);
void kinds_stop(struct sds *sds);
void kinds_step(struct sds *sds, struct item *item); /* one update, now */

/* kinds.c: what they hold */
void kinds_take(struct sds *sds, struct item *item); /* a new item: is it one of them? */
struct rwf_bytes kinds_image(struct sds *sds, const struct item *item, uint16_t *container);
/* False: what was posted is not for this item. */
bool kinds_post(struct sds *sds, struct item *item, const struct rwf_msg *msg);
void kinds_list(FILE *out);

/* counts.c: a file with the count of each item, written when no burst is under way */
void sds_counts_ask(struct sds *sds, const char *path);
void sds_counts_write(struct sds *sds);

/* commands.c */
void sds_command(struct sds *sds, char *line);
int sds_console_start(struct sds *sds);
void sds_console_stop(struct sds *sds);
void sds_print_stats(struct sds *sds);
void sds_judge_from(struct sds *sds, uint64_t now_ns); /* another rate, or the first item: anew */
void sds_line_start(struct sds *sds);                  /* -I: the header */
void sds_line(struct sds *sds);

#endif
