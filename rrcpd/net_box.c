/* net_box.c - see net_box.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "net_box.h"

void net_box_init(struct net_box *box)
{
    pthread_mutex_init(&box->mutex, NULL);
}

void net_box_fini(struct net_box *box)
{
    pthread_mutex_destroy(&box->mutex);
}

void net_box_put(struct net_box *box, struct net_mail mail)
{
    pthread_mutex_lock(&box->mutex);
    if (box->count < NET_BOX_SIZE)
        box->mail[(box->first + box->count++) % NET_BOX_SIZE] = mail;
    atomic_store_explicit(&box->has_mail, true, memory_order_release);
    pthread_mutex_unlock(&box->mutex);
}

bool net_box_take(struct net_box *box, struct net_mail *out)
{
    if (!atomic_load_explicit(&box->has_mail, memory_order_acquire))
        return false;
    pthread_mutex_lock(&box->mutex);
    bool has_one = box->count > 0;
    if (has_one) {
        *out = box->mail[box->first];
        box->first = (box->first + 1) % NET_BOX_SIZE;
        box->count--;
    }
    if (box->count == 0)
        atomic_store_explicit(&box->has_mail, false, memory_order_relaxed);
    pthread_mutex_unlock(&box->mutex);
    return has_one;
}
