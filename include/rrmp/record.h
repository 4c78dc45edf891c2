/* rrmp/record.h - every record src_dist and p2ps exchange over the backbone, byte by byte. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMP_RECORD_H
#define RRMP_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/writer.h"
#include "rrmp/position.h"

#define RRMP_NEVER UINT64_MAX /* a time */

/*
 * One record is one message of the reliable multicast. Everything is big-endian. What follows the
 * described bytes is the RWF message where there is one; elsewhere it is ignored, so that a newer
 * minor version may append. Lengths are checked against what is there; text and names are bytes,
 * not terminated, and may hold anything.
 *
 * Header, 8 bytes, in front of every record:
 *
 *   0 u8  type
 *   1 u8  version << 4 | flags
 *   2 u16 svc      the sending (or, in what requesters send, the addressed) instance's own index
 *                  of the service; 0xFFFF none
 *   4 u32 svcSeq   +1 for each record this instance multicasts on that service's topic, first 1,
 *                  wraps, compared by distance; 0 in every other record
 */
#define RRMP_VERSION       1
#define RRMP_HEADER_SIZE   8
#define RRMP_TICK_SIZE     16 /* what stands before the RWF message in UPDATE, STATUS, GENERIC, ACK */
#define RRMP_SVC_NONE      0xFFFFu
#define RRMP_SVC_INDEXES   4096 /* of one instance: requesters keep a table of so many */
#define RRMP_HANDLE_NONE   0xFFFFFFFFu
#define RRMP_NAME_MAX      255

#define RRMP_TOPIC_CONTROL 0xFFFFFFFFu

enum rrmp_type {
    RRMP_INSTANCE = 1,   /* instance -> all: I live; my services and their last svcSeq */
    RRMP_SERVICE = 2,    /* instance -> all: description of one service */
    RRMP_SVCSTATE = 3,   /* instance -> topic: a status for every item of the service */
    RRMP_GROUP = 4,      /* instance -> topic: a status for a group, or a merge of groups */
    RRMP_QUERY = 5,      /* requester -> all: say INSTANCE or SERVICE again */
    RRMP_REQUEST = 16,   /* requester -> instance: I want this item */
    RRMP_CLOSE = 17,     /* requester -> instance: no more */
    RRMP_POST = 18,      /* requester -> instance */
    RRMP_GENERICUP = 19, /* requester -> instance */
    RRMP_GAPQUERY = 20,  /* requester -> instance: which items were in this range of svcSeq? */
    RRMP_AUDIT = 21,     /* requester -> instance: all I hold in this range of handles */
    RRMP_SUM = 22,       /* requester -> instance: digest of all I hold */
    RRMP_DICTREQ = 23,   /* requester -> instance */
    RRMP_LISTREQ = 24,   /* requester -> instance: which items are bound? */
    RRMP_BIND = 32,      /* instance -> topic: this handle is this key, from this itemSeq on */
    RRMP_IMAGE = 33,     /* instance -> topic, node or requester: one RWF REFRESH */
    RRMP_UPDATE = 34,    /* instance -> topic: one RWF UPDATE */
    RRMP_STATUS = 35,    /* instance -> topic: one RWF STATUS */
    RRMP_GENERIC = 36,   /* instance -> topic: one RWF GENERIC */
    RRMP_UNBIND = 37,    /* instance -> topic: the handle is void */
    RRMP_REFUSE = 38,    /* instance -> requester */
    RRMP_ACK = 39,       /* instance -> requester: one RWF ACK */
    RRMP_GAPITEMS = 40,  /* instance -> requester: answer to GAPQUERY */
    RRMP_AUDITDIFF = 41, /* instance -> requester: answer to AUDIT; id 0: "our sums differ" */
    RRMP_REPLAY = 42,    /* instance -> requester: a message kept for a failover */
    RRMP_DICTPART = 43,  /* instance -> requester: one part of a dictionary */
    RRMP_LISTPART = 44,  /* instance -> requester: answer to LISTREQ */
};

/* Header flags. */
#define RRMP_FLAG_FINAL   1u /* STATUS: the handle is void after it */
#define RRMP_FLAG_GROUP   2u /* STATUS: 16 u16 new group, the message starts at 18 */
#define RRMP_FLAG_PRIVATE 4u /* UPDATE, STATUS, GENERIC: directed, of a private stream */
/* STATUS, GROUP, SVCSTATE: suspect until the next image, whatever the group is told. */
#define RRMP_FLAG_STAYS 8u

/* A piece of the caller's bytes. */
struct rrmp_view {
    const uint8_t *bytes;
    size_t length;
};

struct rrmp_header {
    uint8_t type; /* enum rrmp_type */
    uint8_t flags;
    uint16_t svc;
    uint32_t svc_seq;
};

/*
 * 1 INSTANCE
 *   8 u64 start, ms since 1970 (shown, never compared)   16 u32 beat counter
 *  20 u16 heartbeat interval, ms                         22 u16 RRMP_INSTANCE_*
 *  24 u32 highest handle index in use + 1                28 u8 name length n, u8 0
 *  30 u16 k services                                     32 name, zero padded to 4
 *  ... k x 16: u16 svc, u16 RRMP_SERVICE_UP|ACCEPTING, u32 topic, u32 description version,
 *      u32 last svcSeq
 */
#define RRMP_INSTANCE_LEAVING    1u
#define RRMP_INSTANCE_INCOMPLETE 2u /* inventory of services not complete yet */

struct rrmp_instance {
    uint64_t start_ms;
    uint32_t beat;
    uint16_t interval_ms;
    uint16_t state;
    uint32_t handles_high;
    uint16_t service_count;
    struct rrmp_view name;
    const uint8_t *services; /* service_count rows of 16 bytes; rrmp_instance_row() reads one */
};

struct rrmp_instance_row {
    uint16_t svc;
    uint16_t state;
    uint32_t topic;
    uint32_t version;
    uint32_t last_seq;
};

/*
 * 2 SERVICE
 *   8 u32 description version   12 u32 topic   16 u16 configured service id, 0 automatic
 *  18 u8  RRMP_SERVICE_* state  19 u8 priority, 0 best   20 u8 kind: 0 sinkDriven, 1 broadcast
 *  21 u8  image from: 0 provider, 1 cache   22 u16 load factor 0..65534
 *  24 u32 open limit, 0 none    28 u32 open window, 0 none said   32 u32 RRMP_FEATURE_*
 *  36 u16 TLV count  38 u8 name length  39 u8 mirror group length
 *  40 name, mirror group, each zero padded to 4
 *  ... TLVs {u8 type, u8 0, u16 length, bytes padded to 4}: enum rrmp_tlv; unknown: skip
 */
#define RRMP_SERVICE_UP          1u
#define RRMP_SERVICE_ACCEPTING   2u
#define RRMP_SERVICE_COMPLETE    4u /* SERVICE of a broadcast source: its inventory is complete */

#define RRMP_FEATURE_POSTS       1u
#define RRMP_FEATURE_PRIVATE     2u
#define RRMP_FEATURE_GENERIC     4u
#define RRMP_FEATURE_SNAPSHOTS   8u    /* snapshots are outside the open limit */
#define RRMP_FEATURE_MIRROR_SEQ  0x10u /* provider numbers equal over the mirror group */
#define RRMP_FEATURE_HOT_STANDBY 0x20u
#define RRMP_FEATURE_ID_IS_TOLD  0x40u /* the id is the provider's, not configured */
#define RRMP_FEATURE_FOLLOW      0x80u /* REQUEST with FOLLOW, LISTREQ; set by the engine */

enum rrmp_tlv {
    RRMP_TLV_CAPABILITIES = 1,  /* u8 each */
    RRMP_TLV_QOS = 2,           /* 5 bytes each */
    RRMP_TLV_DICT_PROVIDED = 3, /* u8 n, name, u8 m, version; one TLV each */
    RRMP_TLV_DICT_USED = 4,     /* u8 n, name; one TLV each */
    RRMP_TLV_VENDOR = 5,
    RRMP_TLV_ITEM_LIST = 6,
    RRMP_TLV_LINKS = 7,      /* LINK of the provider's directory: an RWF map */
    RRMP_TLV_IS_SOURCE = 8,  /* u8 */
    RRMP_TLV_LOAD = 9,       /* LOAD of the provider's directory: an RWF element list */
    RRMP_TLV_SITE_PATH = 10, /* sites that the data came through, "HQ,PARIS"; one TLV each */
};

struct rrmp_service {
    uint32_t version;
    uint32_t topic;
    uint16_t id;
    uint8_t state;
    uint8_t priority;
    uint8_t kind;
    uint8_t image_from;
    uint16_t load_factor;
    uint32_t open_limit;
    uint32_t open_window;
    uint32_t features;
    uint16_t tlv_count;
    struct rrmp_view name;
    struct rrmp_view mirror_group;
    struct rrmp_view tlvs; /* checked; rrmp_tlv_next() walks it */
};

/*
 * 3 SVCSTATE: 8 u8 stream << 3 | data, 9 u8 code, 10 u8 1 up 2 accepting, 11 u8 1 = has a status
 * for items, 12 u16 text length, 14 u16 0, 16 text. States and codes are those of RWF.
 */
struct rrmp_svcstate {
    uint8_t state;
    uint8_t code;
    uint8_t service_state;
    uint8_t has_status;
    bool stays; /* to send: RRMP_FLAG_STAYS */
    struct rrmp_view text;
};

/* 4 GROUP: 8 u16 group, 10 u16 merged into (0xFFFF status only), 12 u8 state, 13 u8 code,
 * 14 u16 text length, 16 text. */
#define RRMP_GROUP_NONE 0xFFFFu

struct rrmp_group {
    uint16_t group;
    uint16_t merged_into;
    uint8_t state;
    uint8_t code;
    bool stays; /* to send: RRMP_FLAG_STAYS */
    struct rrmp_view text;
};

/* 5 QUERY: 8 u32 RRMP_QUERY_*; svc in the header, 0xFFFF all. */
#define RRMP_QUERY_INSTANCE 1u
#define RRMP_QUERY_SERVICE  2u

struct rrmp_query {
    uint32_t what;
};

/*
 * 16 REQUEST
 *   8 u32 request id, increasing, never 0   12 u16 RRMP_REQUEST_*   14 u8 priority class, u8 0
 *  16 u32 priority count   20 u32 handle if bound, else 0xFFFFFFFF   24 u64 keyHash
 *  32 u32 RESUME: number of the provider's last message delivered (rrmp/position.h)
 *  36 u16 key length, 38 u16 RWF length, 40 key, RWF REQUEST where it matters
 *  POSITION: u16 count behind that number, u8 messages in the digest, u8 0, 2 x u64 digest
 */
#define RRMP_REQUEST_STREAMING 1u
#define RRMP_REQUEST_IMAGE     2u
#define RRMP_REQUEST_PRIVATE   4u
#define RRMP_REQUEST_STANDBY   8u    /* interest only, stay silent */
#define RRMP_REQUEST_MULTICAST 0x10u /* image by multicast, please */
#define RRMP_REQUEST_RECOVERY  0x20u /* not a new consumer */
#define RRMP_REQUEST_RESUME    0x40u
#define RRMP_REQUEST_POSITION  0x80u  /* RESUME, with proof of the place */
#define RRMP_REQUEST_FOLLOW    0x100u /* what others have: opens nothing, leaves no interest */

struct rrmp_request {
    uint32_t id;
    uint16_t flags;
    uint8_t priority_class;
    uint32_t priority_count;
    uint32_t handle;
    uint64_t key_hash;
    uint32_t resume_seq;
    struct rrmp_view key;
    struct rrmp_view message;
    struct rrmp_position position; /* POSITION: its number is resume_seq */
};

/* 17 CLOSE: 8 u32 id of this requester's newest REQUEST for the item, 12 u32 handle,
 * 16 u64 keyHash, 24 u16 key length, 26 u8 RRMP_CLOSE_*, 27 u8 0, 28 key. Of a private
 * stream that the requester does not know: its handle, id 0 and no key. */
#define RRMP_CLOSE_NOBODY  1u
#define RRMP_CLOSE_MOVED   2u
#define RRMP_CLOSE_LEAVING 3u

struct rrmp_close {
    uint32_t id;
    uint32_t handle;
    uint64_t key_hash;
    uint8_t reason;
    struct rrmp_view key;
};

/* 18 POST: 8 u32 post id, 12 u32 handle (0xFFFFFFFF off-stream), 16 u16 1 ack wanted,
 * 18 u16 key length, 20 u64 keyHash, 28 key, RWF POST. */
#define RRMP_POST_ACK 1u

struct rrmp_post {
    uint32_t id;
    uint32_t handle;
    uint16_t flags;
    uint64_t key_hash;
    struct rrmp_view key;
    struct rrmp_view message;
};

/* 20 GAPQUERY: 8 u32 first, 12 u32 last svcSeq, 16 u32 query id. */
struct rrmp_gapquery {
    uint32_t first;
    uint32_t last;
    uint32_t id;
};

/* 21 AUDIT: 8 u32 audit id, 12 u32 from, 16 u32 to handle index (exclusive), 20 u16 count,
 * 22 u16 0, 24 count x {u32 handle, u32 itemSeq}: all this requester holds in between. */
struct rrmp_audit {
    uint32_t id;
    uint32_t from;
    uint32_t to;
    uint16_t count;
    const uint8_t *rows; /* count rows of 8 bytes */
};

/* 22 SUM: 8 u32 newest request id sent, 12 u32 items open, 16 u64 XOR of their keyHashes. */
struct rrmp_sum {
    uint32_t newest_id;
    uint32_t count;
    uint64_t key_xor;
};

/* 23 DICTREQ: 8 u32 request id, 12 u32 filter, 16 u8 n, name. */
struct rrmp_dictreq {
    uint32_t id;
    uint32_t filter;
    struct rrmp_view name;
};

/* 24 LISTREQ: 8 u32 id, 12 u32 handle index to begin with. */
struct rrmp_listreq {
    uint32_t id;
    uint32_t from;
};

/*
 * 32 BIND
 *   8 u32 handle   12 u32 itemSeq = cut   16 u64 keyHash   24 u16 group   26 u8 state, u8 code
 *  28 u32 tag of the image or REPLAY that follows by unicast; 0: none follows
 *  32 u16 key length, u16 0   36 u64 session of the node that the image goes to, or
 *     rrmp_replay_session()   44 key
 */
struct rrmp_bind {
    uint32_t handle;
    uint32_t item_seq;
    uint64_t key_hash;
    uint16_t group;
    uint8_t state;
    uint8_t code;
    uint32_t tag;
    uint64_t session;
    struct rrmp_view key;
};

/*
 * 33 IMAGE
 *   8 u32 handle, 0xFFFFFFFF for a snapshot
 *  12 u32 itemSeq: SOLICITED = the cut, takes no number; else its own number
 *  16 u64 keyHash   24 u16 group   26 u8 state, u8 code   28 u16 part, from 0
 *  30 u16 RRMP_IMAGE_*   32 u32 request id if for one requester, else 0
 *  36 u32 tag: number of the image at this instance, the same in all parts
 *  40 u16 key length (FIRST only, else 0), u16 0   44 key, RWF REFRESH
 */
#define RRMP_IMAGE_FIRST     1u
#define RRMP_IMAGE_LAST      2u
#define RRMP_IMAGE_SOLICITED 4u
#define RRMP_IMAGE_SNAPSHOT  8u
#define RRMP_IMAGE_PRIVATE   0x10u
#define RRMP_IMAGE_CACHED    0x20u
#define RRMP_IMAGE_BOUND     0x40u /* a BIND with this tag goes by multicast */
#define RRMP_IMAGE_STAYS     0x80u /* suspect until the next image, whatever its group is told */
#define RRMP_IMAGE_HEADER    44

struct rrmp_image {
    uint32_t handle;
    uint32_t item_seq;
    uint64_t key_hash;
    uint16_t group;
    uint8_t state;
    uint8_t code;
    uint16_t part;
    uint16_t flags;
    uint32_t request_id;
    uint32_t tag;
    struct rrmp_view key;
    struct rrmp_view message;
};

/*
 * 34 UPDATE, 35 STATUS, 36 GENERIC, 19 GENERICUP (itemSeq 0): 8 u32 handle, 12 u32 itemSeq,
 * 16 RWF message (STATUS with RRMP_FLAG_GROUP: 16 u16 group, message at 18).
 */
struct rrmp_tick {
    uint32_t handle;
    uint32_t item_seq;
    uint16_t group; /* RRMP_GROUP_NONE without the flag */
    struct rrmp_view message;
};

/* 37 UNBIND: 8 u32 handle, 12 u32 itemSeq, 16 u8 RRMP_UNBIND_*. */
#define RRMP_UNBIND_IDLE      1u /* no interest left */
#define RRMP_UNBIND_DROPPED   2u /* limit, pre-emption */
#define RRMP_UNBIND_REBOUND   3u
#define RRMP_UNBIND_WITHDRAWN 4u

struct rrmp_unbind {
    uint32_t handle;
    uint32_t item_seq;
    uint8_t reason;
};

/* 38 REFUSE: 8 u32 request id, 12 u8 state, 13 u8 code, 14 u8 RRMP_REFUSE_*, 15 u8 0,
 * 16 u32 wait ms (LATER), 20 u64 keyHash, 28 u16 text length, 30 u16 0, 32 text. */
#define RRMP_REFUSE_FINAL    1u /* the source says so */
#define RRMP_REFUSE_NOT_HERE 2u /* try another instance */
#define RRMP_REFUSE_LATER    3u

struct rrmp_refuse {
    uint32_t request_id;
    uint8_t state;
    uint8_t code;
    uint8_t scope;
    uint32_t wait_ms;
    uint64_t key_hash;
    struct rrmp_view text;
};

/* 39 ACK: 8 u32 post id, 12 u32 0, 16 RWF ACK. */
struct rrmp_ack {
    uint32_t post_id;
    struct rrmp_view message;
};

/* 40 GAPITEMS: 8 u32 query id, 12 u32 first, 16 u32 last svcSeq answered, 20 u16 RRMP_GAPITEMS_*,
 * 22 u16 count, 24 count x {u32 handle, u32 itemSeq now; 0xFFFFFFFF: the handle is void now}. */
#define RRMP_GAPITEMS_NOT_HELD 1u
#define RRMP_GAPITEMS_MORE     2u
#define RRMP_GAPITEMS_SERVICE  4u /* a service or group record was among them */

struct rrmp_gapitems {
    uint32_t id;
    uint32_t first;
    uint32_t last;
    uint16_t flags;
    uint16_t count;
    const uint8_t *rows; /* count rows of 8 bytes */
};

/* 41 AUDITDIFF: 8 u32 audit id, 12 u16 count, 14 u16 0, 16 count x {u32 handle, u32 itemSeq,
 * u8 RRMP_AUDIT_*, 3 x u8 0}. Audit id 0 without rows: the SUMs differ, please audit. */
#define RRMP_AUDIT_UNKNOWN 1u /* no such handle here */
#define RRMP_AUDIT_BEHIND  2u /* you are behind */
#define RRMP_AUDIT_ENTERED 3u /* your interest was missing and is entered now */

struct rrmp_auditdiff {
    uint32_t id;
    uint16_t count;
    const uint8_t *rows; /* count rows of 12 bytes */
};

/*
 * 42 REPLAY
 *   8 u32 handle   12 u32 itemSeq = cut   16 u32 tag   20 u16 RRMP_REPLAY_*   22 u16 part
 *  24 u32 request id   28 u32 0   32 u64 keyHash   40 RWF message; a LAST may have none
 */
#define RRMP_REPLAY_FIRST   1u
#define RRMP_REPLAY_LAST    2u
#define RRMP_REPLAY_STATUS  4u /* the message is a STATUS, */
#define RRMP_REPLAY_GENERIC 8u /* or a GENERIC; else an UPDATE */
#define RRMP_REPLAY_HEADER  40u

struct rrmp_replay {
    uint32_t handle;
    uint32_t item_seq;
    uint32_t tag;
    uint16_t flags;
    uint16_t part; /* from 0, wraps */
    uint32_t request_id;
    uint64_t key_hash;
    struct rrmp_view message;
};

/* The `session` of a BIND whose tag is that of a REPLAY to this requester. */
uint64_t rrmp_replay_session(uint64_t session, uint16_t port);

/* 43 DICTPART: 8 u32 request id, 12 u16 part, 14 u16 RRMP_DICT_*, 16 u8 n, name, u8 m, version,
 * RWF REFRESH of the dictionary domain. */
#define RRMP_DICT_LAST    1u
#define RRMP_DICT_UNKNOWN 2u

struct rrmp_dictpart {
    uint32_t request_id;
    uint16_t part;
    uint16_t flags;
    struct rrmp_view name;
    struct rrmp_view version;
    struct rrmp_view message;
};

/* 44 LISTPART: 8 u32 id of the LISTREQ, 12 u32 index to go on with, RRMP_LIST_END: there is none,
 * 16 u16 count, 18 u16 0, 20 count x {u16 length, item key}: bound items of the service. */
#define RRMP_LIST_END 0xFFFFFFFFu

struct rrmp_listpart {
    uint32_t id;
    uint32_t next;
    uint16_t count;
    struct rrmp_view keys; /* checked; rrmp_list_next() walks it */
};

/* One decoded record: the header says which member is meant. All views point into the input. */
struct rrmp_record {
    struct rrmp_header header;
    union {
        struct rrmp_instance instance;
        struct rrmp_service service;
        struct rrmp_svcstate svcstate;
        struct rrmp_group group;
        struct rrmp_query query;
        struct rrmp_request request;
        struct rrmp_close close;
        struct rrmp_post post;
        struct rrmp_gapquery gapquery;
        struct rrmp_audit audit;
        struct rrmp_sum sum;
        struct rrmp_dictreq dictreq;
        struct rrmp_listreq listreq;
        struct rrmp_bind bind;
        struct rrmp_image image;
        struct rrmp_tick tick; /* UPDATE STATUS GENERIC GENERICUP */
        struct rrmp_unbind unbind;
        struct rrmp_refuse refuse;
        struct rrmp_ack ack;
        struct rrmp_gapitems gapitems;
        struct rrmp_auditdiff auditdiff;
        struct rrmp_replay replay;
        struct rrmp_dictpart dictpart;
        struct rrmp_listpart listpart;
    } u;
};

/*
 * Decode and validate one record. MD_ERR_SHORT: cut off; MD_ERR_MALFORMED: bytes that are not
 * legal; MD_ERR_UNSUPPORTED: another major version or an unknown type. Allocates nothing.
 */
int rrmp_record_decode(const uint8_t *bytes, size_t length, struct rrmp_record *out);

/*
 * Append one record. A message view with bytes NULL and a length leaves room for the caller to
 * fill. The writer fails when it does not fit; lengths beyond their fields fail it too.
 */
void rrmp_record_encode(struct md_wr *wr, const struct rrmp_record *record);

/* Bytes rrmp_record_encode() writes for this record, message included; an upper bound. */
size_t rrmp_record_size(const struct rrmp_record *record);

/* Row `index` (below service_count) of an INSTANCE. */
struct rrmp_instance_row rrmp_instance_row(const struct rrmp_instance *instance, size_t index);
void rrmp_instance_row_put(uint8_t out[16], const struct rrmp_instance_row *row);

/* The next TLV of a decoded SERVICE: true and *type, *value; `rest` starts as a copy of .tlvs. */
bool rrmp_tlv_next(struct rrmp_view *rest, uint8_t *type, struct rrmp_view *value);
/* Append one TLV, padded; for building .tlvs. */
void rrmp_tlv_put(struct md_wr *wr, uint8_t type, const void *bytes, size_t length);

/* The next key of a decoded LISTPART; false: no more. `rest` starts as a copy of .keys. */
bool rrmp_list_next(struct rrmp_view *rest, struct rrmp_view *key);

/* Fixed names for traces and counters; never NULL. */
const char *rrmp_type_name(uint8_t type);

/* FNV-1a, 32 bits, of the service name; the two reserved topics become 0. */
uint32_t rrmp_topic(const void *name, size_t length);

/* The 16 bytes before a tick, into room the caller has checked. */
static inline void rrmp_tick_put(uint8_t *p, uint8_t type, uint8_t flags, uint16_t svc,
                                 uint32_t svc_seq, uint32_t handle, uint32_t item_seq)
{
    uint32_t first =
        (uint32_t)type << 24 | (uint32_t)(uint8_t)(RRMP_VERSION << 4 | flags) << 16 | svc;

    md_put_be64(p, (uint64_t)first << 32 | svc_seq);
    md_put_be64(p + 8, (uint64_t)handle << 32 | item_seq);
}

#endif
