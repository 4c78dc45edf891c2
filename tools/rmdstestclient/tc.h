/* tc.h - rmdstestclient: what its parts know of each other. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_H
#define TC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/loop.h"
#include "client/session.h"
#include "itemlist.h"
#include "json_link.h"
#include "latency.h"
#include "link.h"
#include "rmds/rwf.h"
#include "rmds/rwf_dictionary.h"
#include "wire.h"

#define SERVICES_MAX  16
#define HOSTS_MAX     16
#define VIEW_MAX      256
#define STREAM_FIRST  5 /* 1 login, 2 directory, 3 and 4 dictionaries */
#define NO_ITEM       UINT32_MAX
#define MESSAGE_MAX   65536

#define OFFERED_MAX   256 /* services of a directory that are known by name */
#define REFUSALS_MAX  8   /* reasons told together; further ones item by item */
#define REFUSAL_NAMES 3
#define REASON_SIZE   400   /* of a code and its text: a list of rates is long */
#define CHAIN_MAX     10000 /* items that -chain and -story find */

/*
 * One thread, one loop, any number of connections. Each connection opens the list, in an order of
 * its own, or its share of it. The clock of the measurement starts when every item of every
 * connection has its image (or its refusal).
 */
struct tc;

/* Exit codes. */
enum tc_exit {
    TC_OK = 0,
    TC_OPTIONS = 1,
    TC_FILE = 2,
    TC_NO_LOGIN = 3, /* not connected or not logged in, at the end */
    TC_NOT_OPEN = 4, /* not every item was opened */
    TC_SEQUENCE = 5, /* -seqcheck found loss, doubles, disorder or wrong content */
};

struct tc_item {
    const char *name;
    uint64_t hash; /* seqdata_item() */
    uint8_t name_length;
    uint8_t domain;
    uint8_t service; /* index */
    bool is_link;    /* -chain, -story: it names further items */
};

enum slot_state {
    SLOT_WAITING, /* not asked for yet */
    SLOT_ASKED,
    SLOT_OPEN,
    SLOT_DONE,   /* a snapshot is there */
    SLOT_FAILED, /* refused for good */
};

/* What a stream id of a connection stands for: slots[stream id - STREAM_FIRST]. */
struct slot {
    uint32_t item;  /* NO_ITEM: the stream of a batch */
    uint32_t count; /* last sequence number seen */
    uint8_t state;  /* enum slot_state */
    bool has_count;
    bool is_suspect : 1;
    bool is_conflated : 1; /* it was told so: updates may stand for several */
    bool is_counted;       /* among those that are settled, for the start of the clock */
};

enum conn_state {
    CONN_DOWN,
    CONN_CONNECTING,
    CONN_LOGIN,
    CONN_DIRECTORY,
    CONN_DICTIONARY,
    CONN_UP
};

/* How often in a row, and why: what fails each second is not said each second. */
struct failures {
    uint64_t reason; /* hash of the text */
    uint32_t count;
};

struct conn {
    struct tc *tc;
    struct link *link;           /* RSSL */
    struct json_link *json;      /* or JSON; neither: not connected */
    uint64_t json_bytes;         /* that are counted */
    bool is_open;                /* messages may be sent */
    struct md_loop_timer *timer; /* to dial again, to ask again */
    enum conn_state state;
    uint32_t number;
    uint32_t host; /* which of the list is next */
    struct slot *slots;
    uint32_t slot_count;
    uint32_t next; /* slot to ask for next */
    uint32_t pending;
    uint32_t settled; /* slots with an image or a refusal, once each */
    uint32_t wanted;  /* items of this connection */
    uint32_t open;
    bool retry_waits;
    int32_t next_post; /* slot */
    uint16_t service_ids[SERVICES_MAX];
    bool service_known[SERVICES_MAX];
    struct failures failures[HOSTS_MAX];
    char peer[96];
};

struct omm_service;

/* A service of the directory. */
struct offered {
    char name[64];
    uint16_t id;
    bool is_up;
    uint8_t domain_count, domains[32];
};

/* All of them, as connection 0 sees them. */
struct services {
    struct offered list[OFFERED_MAX];
    size_t count, more;
    bool is_complete;
    bool is_missing[SERVICES_MAX]; /* one of ours: told that it is not among them */
};

/* Items that were closed for one reason. */
struct refusal {
    uint64_t hash;
    uint64_t count; /* not told yet */
    char reason[REASON_SIZE];
    char names[REFUSAL_NAMES * 34];
};

struct tc_options {
    const char *user, *password, *position, *application_id, *lmfile, *json, *stats, *counts;
    const char *hosts[HOSTS_MAX];
    uint16_t ports[HOSTS_MAX];
    size_t host_count;
    unsigned decode, log, window, read_factor, receive_buffer, batch, conns;
    double interval_s, secs, discard_s, drain_s, timeout_s, post_rate, want_rate;
    unsigned slow_us;
    bool times, seqcheck, pages, exit_when_open, snapshot, split, rtt, nodelay, commands,
        no_shuffle;
    uint64_t seed;
    int16_t view[VIEW_MAX];
    size_t view_count;
    const char *post_fields; /* -pf: NAME=VALUE,... */
    const char *view_names;  /* -vnames, until they are ids: see view.c */
    bool has_qos, has_worst_qos;
    struct rwf_qos qos, worst_qos;
    bool shows_sent, shows_states;
    bool download;
    bool lists_services;
};

struct tc_stats {
    uint64_t updates, refreshes, statuses, generics, acks, naks, bytes, errors;
    uint64_t logins, lost_connections;
    uint64_t timed; /* updates with the time in them */
    /* -seqcheck */
    uint64_t checked, gaps, missing, duplicates, reorders, wrong, early;
    uint64_t resyncs, told_missing; /* an image, or a merged update, jumped ahead: that was told */
    uint64_t ended_behind;          /* items whose last updates are missing, by -counts */
    uint64_t suspects;
    uint64_t rtt;
};

struct tc {
    struct tc_options options;
    struct md_loop *loop;
    struct client_context *context;
    struct json_context *json; /* -ct websocket; else NULL */
    struct wire wire;
    struct rwf_dictionary *dictionary;
    bool has_dictionary;         /* all of it, or there is none to be had */
    struct page_view_set *pages; /* -page; else NULL */
    struct chain *chain;         /* -chain, -story; else NULL */
    struct itemlist list;
    struct tc_item *items;
    size_t item_count;
    const char *services[SERVICES_MAX];
    size_t service_count;
    struct conn *conns;
    uint64_t wanted, settled, failed; /* slots of all connections */
    uint64_t started_ns, open_ns, measure_ns;
    bool is_measuring;
    bool is_over;
    bool is_draining;      /* measured; what is still under way is waited for */
    bool ended_logged_out; /* when the measurement ended, if is_draining */
    bool has_no_counts;
    struct tc_stats stats;
    struct tc_stats at_measure; /* when the measurement began */
    struct tc_stats at_end;     /* when it ended, if is_draining */
    uint64_t ended_ns, quiet_since_ns, quiet_updates;
    struct tc_stats printed; /* by the last statistics line */
    uint64_t printed_ns, printed_cpu_ns;
    struct latency *latency;  /* every time stamp */
    struct latency *sampled;  /* one each tenth of a second: the published method */
    struct latency *interval; /* since the last statistics line */
    struct seconds *seconds;
    struct latency *posts; /* post to acknowledgement */
    uint64_t sample_due_ns;
    uint64_t discarded;
    FILE *lmfile, *stats_file;
    uint64_t lmstart_ns;
    bool has_lmhead; /* which names the item that carries the times, so is written with the first */
    struct md_loop_timer *interval_timer, *end_timer, *measure_timer, *flush_timer, *post_timer,
        *drain_timer, *wait_timer;
    struct md_loop_signal *signals[2];
    struct console *console;
    char *hosts;         /* -h, cut */
    uint32_t complaints; /* printed so far */
    struct services offered;
    struct refusal refusals[REFUSALS_MAX];
    size_t refusal_count;
    char answer_for_now[128]; /* last answer to a request that is repeated */
    uint32_t next_post_id;
    uint64_t post_ns[4096]; /* when, by id modulo */
    uint64_t posts_sent;
    uint8_t message[MESSAGE_MAX];
};

/* conn.c */
void conn_raise_limits(unsigned conns); /* of descriptors */
int conn_create(struct tc *tc, struct conn *conn, uint32_t number);
void conn_destroy(struct conn *conn);
void conn_dial(struct conn *conn);
void conn_ask(struct conn *conn);                      /* for as many items as the window allows */
void conn_again(struct conn *conn, struct slot *slot); /* in a second */
int conn_send(struct conn *conn, const struct rwf_encoder *enc);
void conn_pause(struct conn *conn, bool pause);
void conn_close_item(struct conn *conn, struct slot *slot);
void conn_post(struct conn *conn);

/* channel.c: the bytes of a connection, RSSL or JSON */
/* The hosts in turn, and of a host its addresses. */
int channel_dial(struct conn *conn, uint32_t attempt, const struct link_ops *ops);
void channel_end(struct conn *conn);
int channel_write(struct conn *conn, struct rwf_bytes message);
void channel_flush(struct conn *conn);
void channel_close(struct conn *conn);         /* in good order; on_closed follows */
uint64_t channel_new_bytes(struct conn *conn); /* of texts, since it was asked */

/* posts.c: the payload of a post. False: -pf has a mistake, told */
bool posts_fill(struct tc *tc, struct rwf_encoder *enc, uint64_t now_ns);

/* view.c: the fields that are asked for */
bool view_parse(const char *ids, const char *names, struct tc_options *options);
/* Find the ids of -vnames in the dictionary. False: it has not all of them, told. */
bool view_resolve(struct tc *tc);
void view_add(const struct tc *tc, struct rwf_encoder *enc); /* to a request */

/* qos.c: the rate that is asked for, or the best and the worst. False: it is none. */
bool qos_parse(const char *text, struct tc_options *options);

/* setup.c: login, directory, dictionary */
void setup_start(struct conn *conn);
bool setup_message(struct conn *conn, const struct rwf_msg *msg); /* false: not one of these */

/* services.c */
void services_clear(struct services *services);
void services_note(struct services *services, const struct omm_service *service);
void services_tell(struct conn *conn); /* which of ours is not among them, once */
int services_print(struct services *services, FILE *out);

/* waits.c */
int waits_start(struct tc *tc);
void waits_end(struct tc *tc); /* the run is over: what was still waited for */
bool refusals_note(struct tc *tc, const struct tc_item *item, const char *reason);
void refusals_tell(struct tc *tc); /* those that refusals_note() kept back */

/* data.c: items */
void data_message(struct conn *conn, const struct rssl_event *event);

/* show.c: a payload as text on standard output; false: it is broken */
/* Words of a server in a line of ours: what would move the cursor of a terminal is a dot. */
const char *show_words(struct rwf_bytes text, char *out, size_t size);
bool show_payload(const struct tc *tc, unsigned container, struct rwf_bytes payload);

/* chain.c: the items that are there so far name further ones */
int chain_create(struct tc *tc, bool is_story);
void chain_destroy(struct chain *chain);
void chain_image(struct conn *conn, const struct tc_item *item, const struct rwf_msg *msg);
void chain_end(const struct tc *tc); /* what was found */
bool chain_is_whole(const struct tc *tc);

/* decode.c: as deep as asked for; false: it cannot be decoded */
bool decode_payload(struct tc *tc, const struct tc_item *item, const struct rwf_msg *msg);

/* report.c */
void report_settled(struct tc *tc); /* one slot more has its image or its refusal */
void report_line(struct tc *tc);
void report_latency(struct tc *tc, const struct tc_item *item, uint64_t now_ns, uint64_t stamp_us);
int report_open(struct tc *tc);
void report_end(struct tc *tc);
int report_exit_code(const struct tc *tc);
void report_complain(struct tc *tc, const struct conn *conn, const struct tc_item *item,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* counts.c: with the publisher's counts, when all has drained */
bool counts_are_there(const struct tc *tc);
void counts_compare(struct tc *tc);

/* commands.c */
int console_start(struct tc *tc);
void console_stop(struct tc *tc);

#endif
