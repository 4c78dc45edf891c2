/* internal.h - what the files of attach share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_INTERNAL_H
#define ATTACH_INTERNAL_H

#include "attach/attach.h"
#include "attach/shm.h"

/* ---- writing into an outbound ring ---------------------------------------------------------- */

struct outbound_writer {
    struct attach_outbound_map *map; /* NULL: there is none now */
    uint32_t size;
    uint64_t head;      /* what is written */
    uint64_t published; /* what the consumer knows of */
    uint64_t tail;      /* as last read */
    uint64_t claimed;   /* bytes of the open claim, 0 = none */
    bool is_waiting;    /* the daemon was asked to wake us when there is room */
};

void outbound_writer_init(struct outbound_writer *writer, struct attach_outbound_map *map,
                          uint32_t size);
int outbound_claim(struct outbound_writer *writer, const struct backbone_target *target,
                   size_t length, uint8_t **room);
void outbound_commit(struct outbound_writer *writer, size_t length);
/* These topics are wanted from here on; NULL: everything. MD_ERR_FULL. */
int outbound_want(struct outbound_writer *writer, const uint32_t topics[], uint32_t count);
void outbound_publish(struct outbound_writer *writer);

/* ---- reading the inbound ring --------------------------------------------------------------- */

/* The last message of each session that this reader passed; compared with the daemon's table after
 * a lap. */
struct track {
    uint64_t session;
    uint64_t last_seq;
    uint64_t messages;
    bool is_self;
    bool is_seen; /* while comparing */
};

enum { TRACK_SLOTS = 4096, TOUCHED_MAX = 64, PENDING_MAX = 2 * ATTACH_SESSION_MAX + 8 };

struct inbound_reader {
    const struct attach_inbound_map *map; /* NULL: none */
    const uint8_t *data;
    uint64_t size, lag_max, message_max;
    uint64_t cursor;
    bool has_place; /* False: the cursor means nothing until a copy of the table is had */
    uint16_t port;
    bool skips_topics;
    attach_want_fn *want;
    void *want_argument;
    struct attach_counters *counters;

    struct track tracks[ATTACH_SESSION_MAX];
    uint32_t track_count;
    uint16_t slots[TRACK_SLOTS];

    /* Sessions whose messages the batch under way passed; kept only if it was not lapped. */
    struct {
        uint32_t track;
        uint64_t messages, last_seq;
    } touched[TOUCHED_MAX];
    uint32_t touched_count;

    uint8_t *copy; /* private bytes of the batch */
    size_t copy_size;

    /* Events made here: what was missed, daemon up and down. */
    struct backbone_event pending[PENDING_MAX];
    uint32_t pending_first, pending_count;
    struct attach_session_row rows[ATTACH_SESSION_MAX];
};

/* Begin at what is written now; PEER_UP is made for every peer there is. MD_ERR_NOMEM. */
int inbound_start(struct inbound_reader *reader, const struct attach_inbound_map *map,
                  uint16_t port);
void inbound_stop(struct inbound_reader *reader); /* forget the map; pending events stay */
void inbound_fini(struct inbound_reader *reader);
void inbound_pend(struct inbound_reader *reader, struct backbone_event event);
int inbound_read(struct inbound_reader *reader, struct backbone_event events[], int max);
bool inbound_has_more(const struct inbound_reader *reader);

/* ---- one mapping per process ---------------------------------------------------------------- */

/* Take a reference to the mapping of `fd` (which stays the caller's). process may be NULL. */
int process_map(struct attach_process *process, int fd, uint64_t bytes,
                const struct attach_inbound_map **out);
void process_unmap(struct attach_process *process, const struct attach_inbound_map *map,
                   uint64_t bytes);

/* ---- the two kinds of attachment ------------------------------------------------------------ */

struct attach_kind {
    int (*poll)(struct attach *user, uint64_t now_ns, struct backbone_event events[], int max);
    int (*send)(struct attach *user, const struct backbone_target *target,
                const struct attach_piece pieces[], int count, size_t length); /* optional */
    void (*flush)(struct attach *user);
    int (*fd)(const struct attach *user);
    uint64_t (*deadline)(const struct attach *user);
    void (*close)(struct attach *user);
};

/* First member of both kinds. */
struct attach {
    const struct attach_kind *kind;
    struct attach_counters counters;
    struct outbound_writer out;
    uint64_t session;
    uint16_t port;
    size_t message_max;
    bool filters;   /* what nobody wants is left out, and this user says what it wants */
    uint32_t sleep; /* enum attach_sleep */
    uint64_t busy_poll_ns;
    uint64_t idle_since_ns; /* when it found nothing for the first time; UINT64_MAX: it has not */
    bool is_looking;        /* nothing was there, and it does not sleep yet */
    struct attach_refusal refusal;
};

/* After a look that found something or not. True: it is to look again before it sleeps. */
bool attach_looks_again(struct attach *user, uint64_t now_ns, bool has_found);

int attached_open(const struct attach_config *config, struct attach **out);
int in_process_open(const struct attach_config *config, struct attach **out);

#endif
