/* users.c - local users and their ports. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "users.h"

#include "base/err.h"
#include "common.h"
#include "sender.h"

#define PORT_MAX 65534

struct user_slot *rrcp_user_find(struct rrcp *r, int port)
{
    for (int i = 0; i < RRCP_USER_MAX && port > 0; i++)
        if (r->users[i].port == port)
            return &r->users[i];
    return NULL;
}

int rrcp_user_add(struct rrcp *r, const struct rrcp_user *user)
{
    struct user_slot *slot = NULL;

    for (int i = 0; i < RRCP_USER_MAX && !slot; i++)
        if (r->users[i].port == 0)
            slot = &r->users[i];
    if (!slot)
        return MD_ERR_FULL;
    if (r->next_port > PORT_MAX) {
        rrcp_note(r, RRCP_NOTE_USERS_EXHAUSTED, r->session, r->next_port);
        return MD_ERR_RANGE;
    }
    *slot = (struct user_slot){ .port = (uint16_t)r->next_port++, .receives = user->receives };
    if (user->receives)
        r->receiver_count++;
    return slot->port;
}

/* Sends USER_DOWN to all, local users included, behind the user's last message. False: full. */
static bool say_goodbye(struct rrcp *r, struct user_slot *slot)
{
    uint8_t reason = slot->reason;
    struct rrcp_msg msg = { .bytes = &reason, .length = 1, .topic = RRCP_TOPIC_USER_DOWN };

    if (rrcp_sender_submit(r, slot->port, &msg) != MD_OK)
        return false;
    *slot = (struct user_slot){ 0 };
    return true;
}

int rrcp_user_remove(struct rrcp *r, uint64_t now_ns, int port, enum backbone_user_reason reason)
{
    struct user_slot *slot = rrcp_user_find(r, port);

    r->now_ns = now_ns;
    if (!slot || slot->is_leaving)
        return MD_ERR_NOT_FOUND;
    if (slot->receives)
        r->receiver_count--;
    slot->receives = false;
    slot->reason = (uint8_t)reason;
    slot->is_leaving = true;
    r->leaving_count++;
    rrcp_users_tick(r);
    return MD_OK;
}

void rrcp_users_tick(struct rrcp *r)
{
    for (int i = 0; i < RRCP_USER_MAX && r->leaving_count > 0; i++)
        if (r->users[i].is_leaving && say_goodbye(r, &r->users[i]))
            r->leaving_count--;
}
