/* base/mailbox.h - letters from any thread to the one that owns the box. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_MAILBOX_H
#define MD_MAILBOX_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * For what is rare: connections that change threads, orders, new settings. A short lock guards the
 * box, so it is never used on the data path; to look into an empty one costs a load. A letter is a
 * struct of one size that begins with its kind, an unsigned. Letters are taken in the order in
 * which they came. The sender wakes the owner by itself, after it has put the letter.
 *
 * A letter of which only the newest counts (settings, "stop") replaces the one of its kind that
 * still waits, and so always has room.
 */
struct md_mailbox {
    pthread_mutex_t lock;
    uint8_t *letters;
    size_t letter_size;
    unsigned queue_max; /* letters that md_mailbox_put() lets wait */
    unsigned places;
    unsigned first, count;
    _Atomic bool has_mail;
};

/* Room for `queue_max` letters, and for one of each of `kinds_replaced` kinds. MD_ERR_NOMEM. */
int md_mailbox_init(struct md_mailbox *box, size_t letter_size, unsigned queue_max,
                    unsigned kinds_replaced);
void md_mailbox_fini(struct md_mailbox *box); /* of a zeroed box, too */

/* False: full, nothing was put. */
bool md_mailbox_put(struct md_mailbox *box, const void *letter);
/* True: an older letter of this kind had not been taken; `old` has it now. */
bool md_mailbox_replace(struct md_mailbox *box, const void *letter, void *old);
/* A letter of this kind waits. */
bool md_mailbox_holds(struct md_mailbox *box, unsigned kind);

/* The owner's. False: empty. */
bool md_mailbox_take(struct md_mailbox *box, void *letter);

#endif
