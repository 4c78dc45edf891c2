/* rwf_message.h - decoded messages of all eight classes; peek, patch and splice encoded ones. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMDS_RWF_MESSAGE_H
#define RMDS_RWF_MESSAGE_H

#include "rmds/rwf_types.h"

/* Members count only when their RWF_KEY_HAS_ flag is set. */
struct rwf_key {
    uint16_t flags; /* enum rwf_key_flags */
    uint16_t service_id;
    struct rwf_bytes name; /* up to 255 bytes */
    uint8_t name_type;     /* RWF_NAME_RIC when absent */
    uint32_t filter;
    int32_t identifier;
    uint16_t attrib_type; /* container type */
    struct rwf_bytes attrib;
};

/* Equal members (an absent name type equals RIC); attributes compare as bytes. */
bool rwf_key_equal(const struct rwf_key *a, const struct rwf_key *b);

/*
 * A message of any class. `flags` is the wire's flag word of that class (rwf_types.h) and says
 * which optional members are there; the decoder leaves absent ones zero, the encoder does not look
 * at them. Classes in brackets.
 */
struct rwf_msg {
    uint8_t msg_class; /* enum rwf_class */
    uint8_t domain;
    uint16_t flags;
    int32_t stream_id;
    uint16_t container;          /* type of the payload, RWF_TYPE_NO_DATA if none */
    uint8_t update_type;         /* [update] */
    uint8_t nak_code;            /* [ack] */
    uint32_t seq_num;            /* [refresh update ack generic post] */
    uint32_t secondary_seq_num;  /* [generic] */
    uint16_t part_num;           /* [refresh generic post] */
    uint16_t conf_count;         /* [update] */
    uint16_t conf_time_ms;       /* [update] */
    uint8_t priority_class;      /* [request]; 1 when absent */
    uint16_t priority_count;     /* [request]; 1 when absent */
    uint16_t post_rights;        /* [post] enum rwf_post_rights */
    uint32_t post_id;            /* [post] */
    uint32_t ack_id;             /* [ack] */
    uint32_t post_user_addr;     /* [refresh status update post] IPv4, host order */
    uint32_t post_user_id;       /* [refresh status update post] */
    struct rwf_qos qos;          /* [request refresh] */
    struct rwf_qos worst_qos;    /* [request] */
    struct rwf_state state;      /* [refresh status] */
    struct rwf_bytes group_id;   /* [refresh status] */
    struct rwf_bytes perm_data;  /* [refresh status update generic post] */
    struct rwf_bytes text;       /* [ack] */
    struct rwf_bytes ext_header; /* all */
    struct rwf_key key;          /* all but close; key.flags is 0 when absent */
    struct rwf_key req_key;      /* [refresh status generic] HAS_REQ_KEY */
    struct rwf_bytes payload;    /* still encoded; empty when there is none */
};

/*
 * Decodes the header of the message that fills `bytes`. Nothing is copied: strings, payload and
 * key attributes are views of the caller's bytes. Reads no payload byte.
 */
int rwf_msg_decode(struct rwf_bytes bytes, struct rwf_msg *msg);

/* True when the class has a key and this message carries one (a request always does). */
bool rwf_msg_has_key(const struct rwf_msg *msg);

/* Encoding: rwf_msg_encode(), rwf_msg_start() in rwf_encode.h. */

/* ---- peek ---- */

/* The fields a forwarding server needs of each message. */
struct rwf_peek {
    uint8_t msg_class;
    uint8_t domain;
    uint16_t flags;
    int32_t stream_id;
    uint16_t container;
    uint16_t members_at;   /* offset of the first member behind the container type */
    uint32_t payload_at;   /* offset of the payload = length of the whole header */
    size_t payload_length; /* up to the end of the message */
};

/* Some nanoseconds; checks the fixed part of the header and that header and message are whole. */
int rwf_peek(struct rwf_bytes bytes, struct rwf_peek *peek);

/* The same, and the sequence number: 1, *number is set; 0: the message has none. */
int rwf_peek_seq_num(struct rwf_bytes bytes, struct rwf_peek *peek, uint32_t *number);

/* The same of an UPDATE alone, which nearly all messages are; reads no more than it needs. Any
 * other message is RWF_ERR_MALFORMED. */
static inline int rwf_peek_update_seq_num(struct rwf_bytes bytes, uint32_t *number)
{
    const uint8_t *p = bytes.data;

    if (bytes.length < 10 || (p[2] & 0x1f) != RWF_CLASS_UPDATE)
        return RWF_ERR_MALFORMED;
    const uint32_t head = 2u + ((uint32_t)p[0] << 8 | p[1]);
    const uint32_t at = 11u + (p[8] >> 7); /* behind one byte of flags, or two, and two types */
    const bool has_number = (p[at - 3] & RWF_UPDATE_HAS_SEQ_NUM) != 0;

    if (head > bytes.length || at > head)
        return RWF_ERR_SHORT;
    if (!has_number)
        return 0;
    if (at + 4 > head)
        return RWF_ERR_SHORT;
    p += at;
    *number = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    return 1;
}

/* A member of the encoded message: its first byte (the length byte, if it has one) to behind it. */
struct rwf_span {
    uint32_t at; /* 0: not there */
    uint32_t length;
};

/* Where the members stand, without decoding them. */
struct rwf_layout {
    struct rwf_peek peek;
    struct rwf_span seq_num;
    struct rwf_span state;
    struct rwf_span group_id;
    struct rwf_span perm_data;
    struct rwf_span qos;
    struct rwf_span key;      /* with its length */
    struct rwf_span key_body; /* flags and members of the key */
};

int rwf_layout_decode(struct rwf_bytes bytes, struct rwf_layout *layout);

/* ---- patch in place ---- */

/* The message must have passed rwf_peek() or been made by the encoder. */
/* 0: too short to have one. */
static inline int32_t rwf_peek_stream_id(struct rwf_bytes msg)
{
    const uint8_t *p = msg.data;

    if (msg.length < 8)
        return 0;
    return (int32_t)((uint32_t)p[4] << 24 | (uint32_t)p[5] << 16 | (uint32_t)p[6] << 8 | p[7]);
}

static inline void rwf_patch_stream_id(uint8_t *msg, int32_t stream_id)
{
    uint32_t id = (uint32_t)stream_id;

    msg[4] = (uint8_t)(id >> 24);
    msg[5] = (uint8_t)(id >> 16);
    msg[6] = (uint8_t)(id >> 8);
    msg[7] = (uint8_t)id;
}

/*
 * Sets and clears bits of the flag word, e.g. RWF_REFRESH_SOLICITED. For bits without a member.
 * RWF_ERR_RANGE when the word would change its length (only possible with bits from 0x80 up).
 */
int rwf_patch_flags(uint8_t *msg, size_t length, uint16_t set, uint16_t clear);

/* ---- splice: a copy with other header members, payload untouched ---- */

enum rwf_splice_op {
    RWF_SPLICE_STREAM_ID = 0x001,       /* stream_id */
    RWF_SPLICE_STRIP_KEY = 0x002,       /* no key at all; a request keeps an empty one */
    RWF_SPLICE_SET_KEY = 0x004,         /* `key` replaces or becomes the key */
    RWF_SPLICE_SERVICE_ID = 0x008,      /* service_id into the key the message has, if it has one */
    RWF_SPLICE_STRIP_SERVICE = 0x010,   /* no service id in the key the message has */
    RWF_SPLICE_GROUP_ID = 0x020,        /* group_id (refresh, status); empty strips it */
    RWF_SPLICE_FLAGS = 0x040,           /* flags_set, flags_clear: bits without a member */
    RWF_SPLICE_STRIP_CONF_INFO = 0x080, /* update: no conflation information */
    RWF_SPLICE_SEQ_NUM = 0x100,         /* seq_num into the member, if the message has one */
    RWF_SPLICE_STRIP_PERM_DATA = 0x200, /* no permission data */
    RWF_SPLICE_QOS = 0x400,             /* `qos` (request, refresh) replaces or becomes the QoS */
};

struct rwf_splice {
    uint32_t ops; /* enum rwf_splice_op, any together */
    int32_t stream_id;
    uint16_t service_id;
    uint16_t flags_set;
    uint16_t flags_clear;
    uint32_t seq_num;
    struct rwf_bytes group_id;
    const struct rwf_key *key;
    struct rwf_qos qos;
};

/*
 * Copies the message to `out` with the changes. Every member not named, unknown trailing members
 * and unknown flag bits included, keeps its bytes. *length is the length of the result; when it is
 * RWF_ERR_FULL, the length that would do. The result is at most RWF_SPLICE_GROWTH (plus the bytes
 * of key and group id given) longer than the message.
 */
#define RWF_SPLICE_GROWTH 64

int rwf_splice(struct rwf_bytes msg, const struct rwf_splice *splice, uint8_t *out, size_t size,
               size_t *length);

/* The new header alone; the payload to send behind it is msg from *payload_at on. */
int rwf_splice_head(struct rwf_bytes msg, const struct rwf_splice *splice, uint8_t *out,
                    size_t size, size_t *length, size_t *payload_at);

#endif
