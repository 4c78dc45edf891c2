/* net_box.h - a box of mail from one thread to another: few letters, a short lock. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCPD_NET_BOX_H
#define RRCPD_NET_BOX_H

#include <pthread.h>

#include "net.h"

/* Each user has at most two letters under way in a direction: there is always room. */
enum { NET_BOX_SIZE = 4 * RRCP_USER_MAX + 16 };

/* One direction of mail. */
struct net_box {
    pthread_mutex_t mutex;
    struct net_mail mail[NET_BOX_SIZE];
    unsigned first, count;
    _Atomic bool has_mail;
};

void net_box_init(struct net_box *box);
void net_box_fini(struct net_box *box);
void net_box_put(struct net_box *box, struct net_mail mail);
bool net_box_take(struct net_box *box, struct net_mail *out);

#endif
