/* guests.h - how many places of rrcpd one uid may hold, and how often it may attach. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCPD_GUESTS_H
#define RRCPD_GUESTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Members of the group may attach and are no friends of each other for that. Of the 64 places a
 * uid gets 48, unless it is that of rrcpd itself or root. Each attachment uses up one of the 65,534
 * ports of a session: a uid may attach GUESTS_BURST times at once and then once a second, which
 * needs eighteen hours for all of them.
 */
enum { GUESTS_PLACES = 48, GUESTS_BURST = 1024, GUESTS_MAX = 64 };

struct guest {
    uid_t uid;
    uint32_t places;
    uint32_t tokens;
    uint64_t filled_ns; /* when tokens were added last; 0: the slot is free */
};

struct guests {
    struct guest list[GUESTS_MAX];
};

/* Takes one of the attachments that the uid has left; false: it has none now. */
bool guests_attach(struct guests *guests, uid_t uid, uint64_t now_ns);

/* Takes a place; false: the uid has as many as it may have. */
bool guests_enter(struct guests *guests, uid_t uid, uint64_t now_ns);
void guests_leave(struct guests *guests, uid_t uid);

#endif
