/* members.c - the header layout of each message class; see members.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "members.h"

#define ROOM_POST_USER 8
#define ROOM_ANY       1

static const struct member_table tables[] = {
    [RWF_CLASS_REQUEST] = {
        .flags = RWF_REQUEST_HAS_PRIORITY | RWF_REQUEST_HAS_QOS | RWF_REQUEST_HAS_WORST_QOS |
                 RWF_REQUEST_HAS_EXT_HEADER,
        .key_flag = 0,
        .has_required = true,
        .count = 5,
        .member = {
            { RWF_REQUEST_HAS_PRIORITY, MEMBER_PRIORITY, 0 },
            { RWF_REQUEST_HAS_QOS, MEMBER_QOS, 0 },
            { RWF_REQUEST_HAS_WORST_QOS, MEMBER_WORST_QOS, 0 },
            { 0, MEMBER_KEY, 0 },
            { RWF_REQUEST_HAS_EXT_HEADER, MEMBER_EXT_HEADER, 0 },
        },
    },
    [RWF_CLASS_REFRESH] = {
        .flags = RWF_REFRESH_HAS_SEQ_NUM | RWF_REFRESH_HAS_PERM_DATA | RWF_REFRESH_HAS_QOS |
                 RWF_REFRESH_HAS_KEY | RWF_REFRESH_HAS_EXT_HEADER |
                 RWF_REFRESH_HAS_POST_USER_INFO | RWF_REFRESH_HAS_PART_NUM |
                 RWF_REFRESH_HAS_REQ_KEY,
        .key_flag = RWF_REFRESH_HAS_KEY,
        .has_required = true,
        .count = 10,
        .member = {
            { RWF_REFRESH_HAS_SEQ_NUM, MEMBER_SEQ_NUM, 0 },
            { 0, MEMBER_STATE, 0 },
            { 0, MEMBER_GROUP_ID, 0 },
            { RWF_REFRESH_HAS_PERM_DATA, MEMBER_PERM_DATA, 0 },
            { RWF_REFRESH_HAS_QOS, MEMBER_QOS, 0 },
            { RWF_REFRESH_HAS_KEY, MEMBER_KEY, 0 },
            { RWF_REFRESH_HAS_EXT_HEADER, MEMBER_EXT_HEADER, 0 },
            { RWF_REFRESH_HAS_POST_USER_INFO, MEMBER_POST_USER, ROOM_POST_USER },
            { RWF_REFRESH_HAS_PART_NUM, MEMBER_PART_NUM, ROOM_ANY },
            { RWF_REFRESH_HAS_REQ_KEY, MEMBER_REQ_KEY, ROOM_ANY },
        },
    },
    [RWF_CLASS_STATUS] = {
        .flags = RWF_STATUS_HAS_STATE | RWF_STATUS_HAS_GROUP_ID | RWF_STATUS_HAS_PERM_DATA |
                 RWF_STATUS_HAS_KEY | RWF_STATUS_HAS_EXT_HEADER | RWF_STATUS_HAS_POST_USER_INFO |
                 RWF_STATUS_HAS_REQ_KEY,
        .key_flag = RWF_STATUS_HAS_KEY,
        .count = 7,
        .member = {
            { RWF_STATUS_HAS_STATE, MEMBER_STATE, 0 },
            { RWF_STATUS_HAS_GROUP_ID, MEMBER_GROUP_ID, 0 },
            { RWF_STATUS_HAS_PERM_DATA, MEMBER_PERM_DATA, 0 },
            { RWF_STATUS_HAS_KEY, MEMBER_KEY, 0 },
            { RWF_STATUS_HAS_EXT_HEADER, MEMBER_EXT_HEADER, 0 },
            { RWF_STATUS_HAS_POST_USER_INFO, MEMBER_POST_USER, ROOM_POST_USER },
            { RWF_STATUS_HAS_REQ_KEY, MEMBER_REQ_KEY, ROOM_ANY },
        },
    },
    [RWF_CLASS_UPDATE] = {
        .flags = RWF_UPDATE_HAS_SEQ_NUM | RWF_UPDATE_HAS_CONF_INFO | RWF_UPDATE_HAS_PERM_DATA |
                 RWF_UPDATE_HAS_KEY | RWF_UPDATE_HAS_EXT_HEADER | RWF_UPDATE_HAS_POST_USER_INFO,
        .key_flag = RWF_UPDATE_HAS_KEY,
        .has_required = true,
        .count = 7,
        .member = {
            { 0, MEMBER_UPDATE_TYPE, 0 },
            { RWF_UPDATE_HAS_SEQ_NUM, MEMBER_SEQ_NUM, 0 },
            { RWF_UPDATE_HAS_CONF_INFO, MEMBER_CONF_INFO, 0 },
            { RWF_UPDATE_HAS_PERM_DATA, MEMBER_PERM_DATA, 0 },
            { RWF_UPDATE_HAS_KEY, MEMBER_KEY, 0 },
            { RWF_UPDATE_HAS_EXT_HEADER, MEMBER_EXT_HEADER, 0 },
            { RWF_UPDATE_HAS_POST_USER_INFO, MEMBER_POST_USER, ROOM_POST_USER },
        },
    },
    [RWF_CLASS_CLOSE] = {
        .flags = RWF_CLOSE_HAS_EXT_HEADER,
        .key_flag = 0,
        .count = 1,
        .member = {
            { RWF_CLOSE_HAS_EXT_HEADER, MEMBER_EXT_HEADER, 0 },
        },
    },
    [RWF_CLASS_ACK] = {
        .flags = RWF_ACK_HAS_NAK_CODE | RWF_ACK_HAS_TEXT | RWF_ACK_HAS_SEQ_NUM | RWF_ACK_HAS_KEY |
                 RWF_ACK_HAS_EXT_HEADER,
        .key_flag = RWF_ACK_HAS_KEY,
        .has_required = true,
        .count = 6,
        .member = {
            { 0, MEMBER_ACK_ID, 0 },
            { RWF_ACK_HAS_NAK_CODE, MEMBER_NAK_CODE, 0 },
            { RWF_ACK_HAS_TEXT, MEMBER_TEXT, 0 },
            { RWF_ACK_HAS_SEQ_NUM, MEMBER_SEQ_NUM, 0 },
            { RWF_ACK_HAS_KEY, MEMBER_KEY, 0 },
            { RWF_ACK_HAS_EXT_HEADER, MEMBER_EXT_HEADER, 0 },
        },
    },
    [RWF_CLASS_GENERIC] = {
        .flags = RWF_GENERIC_HAS_SEQ_NUM | RWF_GENERIC_HAS_SECONDARY_SEQ_NUM |
                 RWF_GENERIC_HAS_PERM_DATA | RWF_GENERIC_HAS_KEY | RWF_GENERIC_HAS_EXT_HEADER |
                 RWF_GENERIC_HAS_PART_NUM | RWF_GENERIC_HAS_REQ_KEY,
        .key_flag = RWF_GENERIC_HAS_KEY,
        .count = 7,
        .member = {
            { RWF_GENERIC_HAS_SEQ_NUM, MEMBER_SEQ_NUM, 0 },
            { RWF_GENERIC_HAS_SECONDARY_SEQ_NUM, MEMBER_SECONDARY_SEQ, 0 },
            { RWF_GENERIC_HAS_PERM_DATA, MEMBER_PERM_DATA, 0 },
            { RWF_GENERIC_HAS_KEY, MEMBER_KEY, 0 },
            { RWF_GENERIC_HAS_EXT_HEADER, MEMBER_EXT_HEADER, 0 },
            { RWF_GENERIC_HAS_PART_NUM, MEMBER_PART_NUM, ROOM_ANY },
            { RWF_GENERIC_HAS_REQ_KEY, MEMBER_REQ_KEY, ROOM_ANY },
        },
    },
    [RWF_CLASS_POST] = {
        .flags = RWF_POST_HAS_SEQ_NUM | RWF_POST_HAS_POST_ID | RWF_POST_HAS_PERM_DATA |
                 RWF_POST_HAS_KEY | RWF_POST_HAS_EXT_HEADER | RWF_POST_HAS_PART_NUM |
                 RWF_POST_HAS_POST_USER_RIGHTS,
        .key_flag = RWF_POST_HAS_KEY,
        .has_required = true,
        .count = 8,
        .member = {
            { 0, MEMBER_POST_USER, 0 },
            { RWF_POST_HAS_SEQ_NUM, MEMBER_SEQ_NUM, 0 },
            { RWF_POST_HAS_POST_ID, MEMBER_POST_ID, 0 },
            { RWF_POST_HAS_PERM_DATA, MEMBER_PERM_DATA, 0 },
            { RWF_POST_HAS_KEY, MEMBER_KEY, 0 },
            { RWF_POST_HAS_EXT_HEADER, MEMBER_EXT_HEADER, 0 },
            { RWF_POST_HAS_PART_NUM, MEMBER_PART_NUM, ROOM_ANY },
            { RWF_POST_HAS_POST_USER_RIGHTS, MEMBER_POST_RIGHTS, ROOM_ANY },
        },
    },
};

const struct member_table *members_of_class(unsigned msg_class)
{
    if (msg_class < RWF_CLASS_REQUEST || msg_class > RWF_CLASS_POST)
        return NULL;
    return &tables[msg_class];
}

int members_begin(struct rwf_bytes bytes, struct rwf_peek *peek, struct md_rd *rd)
{
    int rc = rwf_peek(bytes, peek);

    if (rc < 0)
        *rd = md_rd_init(NULL, 0);
    else
        *rd = md_rd_init(bytes.data + peek->members_at, peek->payload_at - peek->members_at);
    return rc;
}

void member_skip(struct md_rd *rd, enum member_kind kind)
{
    struct rwf_state state;
    struct rwf_qos qos;

    switch (kind) {
    case MEMBER_PRIORITY:
        md_rd_u8(rd);
        wire_rd_ob16(rd);
        break;
    case MEMBER_QOS:
    case MEMBER_WORST_QOS:
        wire_rd_qos(rd, &qos);
        break;
    case MEMBER_KEY:
    case MEMBER_REQ_KEY:
    case MEMBER_PERM_DATA:
        wire_rd_buf15(rd);
        break;
    case MEMBER_EXT_HEADER:
    case MEMBER_GROUP_ID:
        wire_rd_buf8(rd);
        break;
    case MEMBER_SEQ_NUM:
    case MEMBER_SECONDARY_SEQ:
    case MEMBER_POST_ID:
    case MEMBER_ACK_ID:
        md_rd_u32(rd);
        break;
    case MEMBER_STATE:
        wire_rd_state(rd, &state);
        break;
    case MEMBER_POST_USER:
        md_rd_u64(rd);
        break;
    case MEMBER_PART_NUM:
    case MEMBER_POST_RIGHTS:
        wire_rd_rb15(rd);
        break;
    case MEMBER_UPDATE_TYPE:
    case MEMBER_NAK_CODE:
        md_rd_u8(rd);
        break;
    case MEMBER_CONF_INFO:
        wire_rd_rb15(rd);
        md_rd_u16(rd);
        break;
    case MEMBER_TEXT:
        wire_rd_buf16(rd);
        break;
    case MEMBER_COUNT:
        break;
    }
}
