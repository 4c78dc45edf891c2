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
 *
 * A connection that has not attached yet takes none of these: a uid may hold GUESTS_CONNECTIONS of
 * all kinds, and the last GUESTS_KEPT that rrcpd accepts are kept for its own uid and root.
 * Of the memory for rings a uid gets three quarters.
 *
 * Programs of rrcpd's own uid and of root are subject to the same rate, lest one that crashes again
 * and again uses up the ports. It must not keep the daemons of that uid out: when the uid may not
 * attach now, each daemon has GUESTS_RESERVE attachments by its name, and one more each minute.
 */
enum {
    GUESTS_PLACES = 48,
    GUESTS_CONNECTIONS = GUESTS_PLACES + 8,
    GUESTS_KEPT = 16,
    GUESTS_BURST = 1024,
    GUESTS_MAX = 64,
    GUESTS_RESERVE = 32,
    GUESTS_RESERVES = 64,
    GUESTS_NAME_MAX = 64,
};

struct guest_bucket {
    uint32_t tokens;
    uint64_t filled_ns; /* when tokens were added last; 0: the slot is free */
};

struct guest {
    uid_t uid;
    uint32_t places;
    struct guest_bucket bucket;
};

struct guest_reserve {
    uid_t uid;
    char name[GUESTS_NAME_MAX];
    struct guest_bucket bucket;
};

struct guests {
    struct guest list[GUESTS_MAX];
    struct guest_reserve reserves[GUESTS_RESERVES];
};

/* May the uid, which has `of_uid` of the `of_all` connections, have one more? NULL: it may. Else:
 * the reason, for people. `most` is how many rrcpd accepts. */
const char *guests_connect(uid_t uid, int of_uid, int of_all, int most);

/* May the rings of the uid together have `of_uid` bytes, of the `most` that all users may have? */
bool guests_may_have_rings(uid_t uid, uint64_t of_uid, uint64_t most);

/* Takes one of the attachments that the uid has left; false: it has none now. `daemon` is the name
 * of a daemon, which counts if the uid is rrcpd's own or root; NULL: another program. */
bool guests_attach(struct guests *guests, uid_t uid, const char *daemon, uint64_t now_ns);

/* Takes a place; false: the uid has as many as it may have. */
bool guests_enter(struct guests *guests, uid_t uid, uint64_t now_ns);
void guests_leave(struct guests *guests, uid_t uid);

#endif
