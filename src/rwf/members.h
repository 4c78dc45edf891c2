/* members.h - which members each message class has, in wire order: one table for all readers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RWF_MEMBERS_H
#define RWF_MEMBERS_H

#include "rmds/rwf_message.h"
#include "wire.h"

/*
 *  off size
 *   0  u16  H: header bytes that follow this field
 *   2  u8   class in the low 5 bits
 *   3  u8   domain
 *   4  i32  stream id
 *   8  RB15 flags
 *   .  u8   container type - 128
 *   .  ...  the members below
 *  2+H      payload
 */
#define HEADER_FIXED    8
#define HEADER_MIN      10 /* one byte of flags and the container type included */
#define CONTAINER_BASE  128
#define MSG_CLASS_BITS  0x1f
#define MSG_MEMBERS_MAX 10

enum member_kind {
    MEMBER_PRIORITY,      /* u8 class, OB16 count */
    MEMBER_QOS,           /* 1, 3 or 5 bytes */
    MEMBER_WORST_QOS,     /* the same */
    MEMBER_KEY,           /* RB15 length, key */
    MEMBER_EXT_HEADER,    /* buf8 */
    MEMBER_SEQ_NUM,       /* u32 */
    MEMBER_STATE,         /* u8, u8, buf15 */
    MEMBER_GROUP_ID,      /* buf8 */
    MEMBER_PERM_DATA,     /* buf15 */
    MEMBER_POST_USER,     /* u32 address, u32 id */
    MEMBER_PART_NUM,      /* RB15 */
    MEMBER_REQ_KEY,       /* RB15 length, key */
    MEMBER_UPDATE_TYPE,   /* u8 */
    MEMBER_CONF_INFO,     /* RB15 count, u16 time */
    MEMBER_ACK_ID,        /* u32 */
    MEMBER_NAK_CODE,      /* u8 */
    MEMBER_TEXT,          /* buf16 */
    MEMBER_SECONDARY_SEQ, /* u32 */
    MEMBER_POST_ID,       /* u32 */
    MEMBER_POST_RIGHTS,   /* RB15 */
    MEMBER_COUNT,
};

struct member {
    uint16_t flag;    /* 0: always there */
    uint8_t kind;     /* enum member_kind */
    uint8_t room_min; /* not 0: with fewer bytes left the flag is wrong; old senders do that */
};

struct member_table {
    uint16_t flags; /* all HAS_ flags of the class */
    uint16_t key_flag;
    uint8_t count;
    bool has_required; /* some member has no flag */
    struct member member[MSG_MEMBERS_MAX];
};

/* NULL when there is no such class. */
const struct member_table *members_of_class(unsigned msg_class);

/* Reads the fixed part; the cursor then stands on the first member and ends with the header. */
int members_begin(struct rwf_bytes bytes, struct rwf_peek *peek, struct md_rd *rd);

/* Steps over one member. */
void member_skip(struct md_rd *rd, enum member_kind kind);

/* Is the member there? Says no, and clears its flag, when the header has no room for it. */
static inline bool member_is_there(const struct member *m, uint16_t *flags, const struct md_rd *rd)
{
    if (m->flag == 0)
        return true;
    if (!(*flags & m->flag))
        return false;
    if (m->room_min > md_rd_left(rd) && md_rd_ok(rd)) {
        *flags = (uint16_t)(*flags & ~m->flag);
        return false;
    }
    return true;
}

/* The key behind its length. The writer's failure flag also stands for members out of range. */
void key_write(struct md_wr *wr, const struct rwf_key *key);

/* The same up to the type of the attributes, which the caller then writes. */
void key_write_head(struct md_wr *wr, const struct rwf_key *key);

/* The flags a key is written with: no name, no name type, when the name is empty. */
uint16_t key_flags_written(const struct rwf_key *key);

/* RWF_OK when all members are in the limits of the wire. */
int key_check(const struct rwf_key *key);

#endif
