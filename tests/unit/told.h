/* told.h - what a core tells a client in RWF, taken apart for the fronts of tests. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TOLD_H
#define TESTS_TOLD_H

#include "omm/directory.h"
#include "omm/item.h"
#include "omm/login.h"
#include "rmds/rwf.h"

#define TOLD_SERVICES 4096

/* The calls that a test wants to hear; each says what message() of the front is to return. */
struct told {
    int (*status)(void *self, const struct omm_status *status);
    int (*ack)(void *self, const struct omm_ack *ack);
    int (*rtt)(void *self, int32_t stream_id, const struct omm_rtt *rtt);
    int (*directory)(void *self, const struct omm_directory_head *head,
                     const struct omm_service services[], size_t count);
    int (*group)(void *self, int32_t stream_id, uint16_t service_id, const struct omm_group *group);
    int (*other)(void *self, struct rwf_bytes bytes); /* a part of a dictionary */
};

static inline int told_status(void *self, const struct told *told, const struct rwf_msg *msg)
{
    const struct omm_status status = {
        .stream_id = msg->stream_id,
        .domain = msg->domain,
        .flags = msg->flags &
                 (RWF_STATUS_PRIVATE_STREAM | RWF_STATUS_QUALIFIED_STREAM | RWF_STATUS_CLEAR_CACHE),
        .state = msg->state,
        .key = msg->flags & RWF_STATUS_HAS_KEY ? &msg->key : NULL,
    };

    return told->status(self, &status);
}

static inline int told_ack(void *self, const struct told *told, const struct rwf_msg *msg)
{
    const struct omm_ack ack = {
        .stream_id = msg->stream_id,
        .domain = msg->domain,
        .is_private = (msg->flags & RWF_ACK_PRIVATE_STREAM) != 0,
        .ack_id = msg->ack_id,
        .has_seq_num = (msg->flags & RWF_ACK_HAS_SEQ_NUM) != 0,
        .seq_num = msg->seq_num,
        .nak_code = msg->flags & RWF_ACK_HAS_NAK_CODE ? msg->nak_code : 0,
        .text = msg->text,
    };

    return told->ack(self, &ack);
}

/* A service whose only news is of its groups is told as that. */
static inline int told_directory(void *self, const struct told *told, const struct rwf_msg *msg)
{
    static struct omm_service services[TOLD_SERVICES];
    const struct omm_directory_head head = {
        .stream_id = msg->stream_id,
        .is_update = msg->msg_class == RWF_CLASS_UPDATE,
        .is_solicited =
            msg->msg_class == RWF_CLASS_REFRESH && (msg->flags & RWF_REFRESH_SOLICITED) != 0,
    };
    struct omm_directory directory;
    struct omm_group group;
    size_t count = 0;
    int rc = omm_directory_start(msg, &directory);

    while (rc >= 0 && count < TOLD_SERVICES &&
           omm_directory_next(&directory, &services[count]) > 0) {
        if (omm_directory_group(&directory, &group) > 0)
            return told->group(self, msg->stream_id, services[count].id, &group);
        count++;
    }
    return told->directory(self, &head, services, count);
}

static inline int told_take(void *self, const struct told *told, struct rwf_bytes bytes)
{
    struct omm_rtt rtt;
    struct rwf_msg msg;

    if (rwf_msg_decode(bytes, &msg) != RWF_OK)
        return told->other(self, bytes); /* some tests have dictionaries of any bytes */
    if (msg.msg_class == RWF_CLASS_STATUS)
        return told_status(self, told, &msg);
    if (msg.msg_class == RWF_CLASS_ACK)
        return told_ack(self, told, &msg);
    if (msg.msg_class == RWF_CLASS_GENERIC && omm_rtt_decode(&msg, &rtt) == RWF_OK)
        return told->rtt(self, msg.stream_id, &rtt);
    if (msg.domain == RWF_DOMAIN_SOURCE)
        return told_directory(self, told, &msg);
    return told->other(self, bytes);
}

#endif
