/* attach/shm.h - the shared memory between rrcpd and its users: layouts, writers, readers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_SHM_H
#define ATTACH_SHM_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backbone/send.h"
#include "rrcp/rrcp.h"

/*
 * Programs use attach/attach.h; this is for rrcpd and for tests. Both rings are wire formats:
 * fixed-width native-endian fields, offsets, records aligned to 8 and never split (a PAD record
 * fills the end). Positions are byte counts since the start and only grow.
 *
 *                        one per daemon                          one per user
 *      rrcpd ──writes──▶ INBOUND ──▶ every user      user ──writes──▶ OUTBOUND ──▶ rrcpd
 *
 * INBOUND is a broadcast ring. The daemon writes each message once and never waits; users map it
 * read-only, each with a cursor of its own. `claimed` is raised before bytes are overwritten and
 * `written` after they are whole, so a reader that copies first and then finds claimed - size still
 * at or before what it copied knows that the copy is whole; otherwise it was lapped. A table of
 * sessions beside the ring, consistent with one position of it, tells a lapped or newly attached
 * reader exactly what it missed.
 *
 * OUTBOUND is a ring with one producer and one consumer. The daemon believes nothing in it.
 */
#define ATTACH_INBOUND_MAGIC  0x4e49434352444d52ull
#define ATTACH_OUTBOUND_MAGIC 0x54554f43u
#define ATTACH_SHM_VERSION    1u
#define ATTACH_SESSION_MAX    1100u /* rows of the session table: peers_max and our own */
#define ATTACH_PAGE           4096u
#define ATTACH_NAME_MAX       64u

/* A fence; the thread sanitizer knows none, so with it an exchange does the same by force. */
static inline void attach_fence(memory_order order)
{
#ifdef __SANITIZE_THREAD__
    _Atomic uint32_t word = 0;

    (void)order;
    (void)atomic_exchange(&word, 1);
#else
    atomic_thread_fence(order);
#endif
}

/* ---- inbound -------------------------------------------------------------------------------- */

enum attach_record_type {
    ATTACH_RECORD_PAD = 0,
    ATTACH_RECORD_MSG = 1,
    ATTACH_RECORD_GAP = 2, /* payload: struct attach_record_gap */
    ATTACH_RECORD_PEER_UP = 3,
    ATTACH_RECORD_PEER_DOWN = 4,  /* flags: reason */
    ATTACH_RECORD_USER_DOWN = 5,  /* src_port; flags: reason */
    ATTACH_RECORD_TX_DROPPED = 6, /* session: destination; dst_port: the sender; seq: messages */
    ATTACH_RECORD_PEER_INFO = 7,  /* payload: node name */
    ATTACH_RECORD_DENIED = 12,    /* dst_port: the sender; seq: messages; payload: text */
};

/* In front of each record's payload. `length` is of the whole record without the padding to 8. */
struct attach_record {
    uint32_t length;
    uint16_t type;
    uint16_t flags; /* MSG, GAP: BACKBONE_FLAG_...; else see the type */
    uint64_t session;
    uint64_t seq;
    uint32_t topic;
    uint16_t src_port;
    uint16_t dst_port;
    uint64_t rx_ns;
};

_Static_assert(sizeof(struct attach_record) == 40, "a layout in shared memory");

struct attach_record_gap {
    uint64_t first, last, count;
    uint32_t reason;
    uint32_t zero;
};

_Static_assert(sizeof(struct attach_record_gap) == 32, "a layout in shared memory");

/* One row of the session table. session 0: free. */
struct attach_session_row {
    uint64_t session;
    uint64_t last_seq; /* of the last MSG of its multicast stream in the ring */
    uint64_t messages; /* MSG records of this session ever written, both streams */
    uint32_t is_self;  /* this node's own session */
    uint32_t name_length;
    char name[ATTACH_NAME_MAX];
};

_Static_assert(sizeof(struct attach_session_row) == 96, "a layout in shared memory");

struct attach_inbound_map {
    uint64_t magic;
    uint32_t version;
    uint32_t data_offset;
    uint64_t size;    /* of the data: a power of two */
    uint64_t lag_max; /* how far a reader may be behind (userQLimit) */
    uint64_t session; /* this node's own */
    uint64_t message_max;
    uint8_t pad0[16];
    alignas(64) _Atomic uint64_t claimed;
    alignas(64) _Atomic uint64_t written;
    alignas(64) _Atomic uint64_t table_version; /* odd while the table is being changed */
    _Atomic uint64_t table_position;            /* `written` to which the table belongs */
    _Atomic uint32_t table_count;               /* rows in use or free below this */
    alignas(ATTACH_PAGE) struct attach_session_row rows[ATTACH_SESSION_MAX];
};

/* The daemon's side. */
struct attach_inbound_writer;

struct attach_inbound_config {
    uint64_t size; /* power of two, at least 4 x message_max */
    uint64_t lag_max;
    uint64_t session;
    uint64_t message_max;
};

int attach_inbound_create(const struct attach_inbound_config *config,
                          struct attach_inbound_writer **out);
void attach_inbound_destroy(struct attach_inbound_writer *writer); /* NULL is allowed */

/* A sealed descriptor to hand to users: it can be mapped for reading only. The writer's. */
int attach_inbound_fd(const struct attach_inbound_writer *writer);

/* Write what the engine says as records; readers see them after attach_inbound_publish(). */
void attach_inbound_put(struct attach_inbound_writer *writer, const struct backbone_event *event);

/* Make what was put visible. False: there was nothing new. */
bool attach_inbound_publish(struct attach_inbound_writer *writer);
uint64_t attach_inbound_position(const struct attach_inbound_writer *writer);

/* ---- outbound ------------------------------------------------------------------------------- */

enum attach_outbound_type {
    ATTACH_OUTBOUND_PAD = 0,
    ATTACH_OUTBOUND_SEND = 32,
    ATTACH_OUTBOUND_WANT = 33, /* payload: the topics that it wants from here on, u32 each */
};

#define ATTACH_OUTBOUND_UNICAST    1u /* SEND */
#define ATTACH_OUTBOUND_EVERYTHING 1u /* WANT; without topics */

/* A user that sleeps is woken for this. */
enum attach_sleep {
    ATTACH_SLEEP_NOT = 0,
    ATTACH_SLEEP_ANY = 1,    /* whatever comes */
    ATTACH_SLEEP_OTHERS = 2, /* its own messages alone are no reason, unless it falls behind */
};

struct attach_outbound_record {
    uint32_t length; /* of the whole record without the padding to 8 */
    uint16_t type;
    uint16_t flags;
    uint64_t dst_session; /* 0: everybody */
    uint32_t topic;
    uint16_t dst_port;
    uint16_t zero;
};

_Static_assert(sizeof(struct attach_outbound_record) == 24, "a layout in shared memory");

struct attach_outbound_map {
    uint32_t magic;
    uint32_t size; /* of the data: a power of two */
    uint8_t pad0[56];
    alignas(64) _Atomic uint64_t head;          /* producer */
    alignas(64) _Atomic uint64_t tail;          /* consumer */
    alignas(64) _Atomic uint32_t daemon_sleeps; /* consumer: ring the doorbell */
    alignas(64) _Atomic uint32_t reader_sleeps; /* enum attach_sleep: wake this user */
    _Atomic uint32_t producer_waits;            /* it found the ring full: wake it at a half */
    _Atomic uint64_t cursor;                    /* its position, for statistics only */
    alignas(ATTACH_PAGE) uint8_t data[];
};

_Static_assert(offsetof(struct attach_outbound_map, data) == ATTACH_PAGE, "a layout");

/* A new ring in a sealed memfd (of fixed size). size: a power of two, 64 KiB .. 1 GiB. */
int attach_outbound_create(uint32_t size, int *fd, struct attach_outbound_map **out);
size_t attach_outbound_map_bytes(uint32_t size);

/* The daemon's side of a user's ring: a value. Reads everything once, believes nothing. */
struct attach_outbound_reader {
    struct attach_outbound_map *map;
    uint32_t size; /* our own knowledge, not the user's */
    uint64_t head; /* as last read */
    uint64_t tail;
    uint32_t record_bytes; /* of the record peeked */
    bool is_final;         /* head was read for the last time */
    bool wants_all;        /* ATTACH_PEEK_WANT: everything */
};

enum { ATTACH_PEEK_NOTHING, ATTACH_PEEK_MESSAGE, ATTACH_PEEK_WANT };

void attach_outbound_reader_init(struct attach_outbound_reader *reader,
                                 struct attach_outbound_map *map, uint32_t size);

/*
 * The next message: ATTACH_PEEK_MESSAGE and *out with `bytes` in the ring (the user may still
 * change them; copy before looking), ATTACH_PEEK_WANT with the topics as `bytes`, whole and at most
 * BACKBONE_TOPICS_MAX of them, ATTACH_PEEK_NOTHING, or MD_ERR_MALFORMED, the user broke its ring.
 * The record is passed over by attach_outbound_take(); the space is the producer's again after
 * attach_outbound_release().
 */
int attach_outbound_peek(struct attach_outbound_reader *reader, struct rrcp_msg *out);
void attach_outbound_take(struct attach_outbound_reader *reader);
void attach_outbound_release(struct attach_outbound_reader *reader);
/* The user has gone: what its ring says now is the end of it, whatever it writes afterwards.
 * MD_ERR_MALFORMED: it says what cannot be. */
int attach_outbound_end(struct attach_outbound_reader *reader);
/* The producer found the ring full and half of it is free again: wake it (told once). */
bool attach_outbound_wake(struct attach_outbound_reader *reader);
bool attach_outbound_waiting(struct attach_outbound_reader *reader); /* looks at shared memory */

/* ---- the attach socket ---------------------------------------------------------------------- */

#define ATTACH_PROTOCOL_MAGIC 0x54415252u

enum attach_request_kind {
    ATTACH_REQUEST_ATTACH = 1,
    ATTACH_REQUEST_DETACH = 2,
};

#define ATTACH_REQUEST_SENDS_ONLY  1u /* wants no copy of what local users send */
#define ATTACH_REQUEST_APPLICATION 2u /* attachAccess holds for it, also under a daemon's uid */
#define ATTACH_REQUEST_CONTROL     4u /* wants control topics and what is sent to it, no data */
#define ATTACH_REQUEST_WANTS       8u /* says in its ring what it wants; CONTROL until then */

struct attach_request {
    uint32_t magic;
    uint32_t version;
    uint32_t kind;
    uint32_t flags;
    uint32_t outbound_bytes;
    uint32_t zero;
    char name[ATTACH_NAME_MAX]; /* zero padded */
};

_Static_assert(sizeof(struct attach_request) == 88, "a layout on the attach socket");

#define ATTACH_REPLY_FILTERS 1u /* what nobody here wants is left out; WANT records are read */

/* With result 0 four descriptors come along, in the order of enum attach_reply_fd. */
struct attach_reply {
    uint32_t magic;
    uint32_t version;
    int32_t result; /* 0 or enum md_err */
    uint16_t port;
    uint16_t zero;
    uint64_t session;
    uint64_t inbound_bytes; /* of the whole mapping */
    uint32_t outbound_bytes;
    uint32_t flags; /* ATTACH_REPLY_ */
    char why[128];  /* for people, when refused */
};

_Static_assert(sizeof(struct attach_reply) == 168, "a layout on the attach socket");

enum attach_reply_fd {
    ATTACH_FD_INBOUND,
    ATTACH_FD_OUTBOUND,
    ATTACH_FD_WAKE,     /* read end of a pipe: readable when the reader sleeps and is rung */
    ATTACH_FD_DOORBELL, /* eventfd: write 8 bytes to wake a daemon that sleeps */
    ATTACH_FD_COUNT
};

/* A request as received: 0, or MD_ERR_MALFORMED. The name comes out zero-terminated. */
int attach_request_check(const void *bytes, size_t length, struct attach_request *out);

/* `<run_dir>/rrcpd.<network>.<instance>/attach`; MD_ERR_RANGE when it does not fit. */
int attach_socket_path(char *out, size_t size, const char *run_dir, const char *network,
                       const char *instance);

#endif
