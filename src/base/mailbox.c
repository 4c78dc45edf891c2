/* mailbox.c - see base/mailbox.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mailbox.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"

int md_mailbox_init(struct md_mailbox *box, size_t letter_size, unsigned queue_max,
                    unsigned kinds_replaced)
{
    *box = (struct md_mailbox){ .letter_size = letter_size,
                                .queue_max = queue_max,
                                .places = queue_max + kinds_replaced };
    box->letters = calloc(box->places, letter_size);
    if (!box->letters)
        return MD_ERR_NOMEM;
    pthread_mutex_init(&box->lock, NULL);
    return MD_OK;
}

void md_mailbox_fini(struct md_mailbox *box)
{
    if (!box->letters)
        return;
    pthread_mutex_destroy(&box->lock);
    free(box->letters);
    box->letters = NULL;
}

/* Letter number i of those that wait. */
static uint8_t *letter_at(const struct md_mailbox *box, unsigned i)
{
    return box->letters + (size_t)((box->first + i) % box->places) * box->letter_size;
}

static void append(struct md_mailbox *box, const void *letter)
{
    MD_ASSERT(box->count < box->places);
    memcpy(letter_at(box, box->count++), letter, box->letter_size);
    atomic_store_explicit(&box->has_mail, true, memory_order_release);
}

static uint8_t *find(const struct md_mailbox *box, unsigned kind)
{
    for (unsigned i = 0; i < box->count; i++) {
        uint8_t *letter = letter_at(box, i);
        if (memcmp(letter, &kind, sizeof(kind)) == 0)
            return letter;
    }
    return NULL;
}

bool md_mailbox_put(struct md_mailbox *box, const void *letter)
{
    pthread_mutex_lock(&box->lock);
    bool has_room = box->count < box->queue_max;
    if (has_room)
        append(box, letter);
    pthread_mutex_unlock(&box->lock);
    return has_room;
}

bool md_mailbox_replace(struct md_mailbox *box, const void *letter, void *old)
{
    unsigned kind;

    memcpy(&kind, letter, sizeof(kind));
    pthread_mutex_lock(&box->lock);
    uint8_t *waiting = find(box, kind);
    if (waiting) {
        memcpy(old, waiting, box->letter_size);
        memcpy(waiting, letter, box->letter_size);
    } else {
        append(box, letter);
    }
    pthread_mutex_unlock(&box->lock);
    return waiting != NULL;
}

bool md_mailbox_holds(struct md_mailbox *box, unsigned kind)
{
    pthread_mutex_lock(&box->lock);
    bool is_there = find(box, kind) != NULL;
    pthread_mutex_unlock(&box->lock);
    return is_there;
}

bool md_mailbox_take(struct md_mailbox *box, void *letter)
{
    if (!atomic_load_explicit(&box->has_mail, memory_order_acquire))
        return false;
    pthread_mutex_lock(&box->lock);
    bool has_one = box->count > 0;
    if (has_one) {
        memcpy(letter, letter_at(box, 0), box->letter_size);
        box->first = (box->first + 1) % box->places;
        box->count--;
    }
    if (box->count == 0)
        atomic_store_explicit(&box->has_mail, false, memory_order_relaxed);
    pthread_mutex_unlock(&box->lock);
    return has_one;
}
