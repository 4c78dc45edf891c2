/* crowd.h - clients that count what they get, for tests of what many of them do to a core. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CROWD_H
#define CROWD_H

#include "core_pair.h"
#include "p2ps/core/client.h"
#include "p2ps/core/work.h"

#define KEPT_MAX 8

/* A client that counts what it gets, and whose front keeps requests back. */
struct crowd {
    struct pair *pair;
    uint32_t id;
    uint32_t puts;
    uint32_t statuses;
    uint8_t stream_state; /* of the last one */
    uint8_t code;
    uint32_t naks[256]; /* answers to posts, by their code */
    uint32_t directories;
    uint32_t groups; /* statuses of groups on its directory stream */
    uint32_t parts;  /* of dictionaries, since the last flush */
    uint32_t parts_all;
    uint32_t parts_room; /* so many between two flushes; 0: any number */
    uint32_t flushes;
    bool is_full;        /* more would not make its next write worth more */
    bool takes_no_parts; /* of a dictionary: they are longer than its queue */
    bool closed;
    uint8_t names[64 * 1024]; /* of its batch: they live as long as the batch */
    struct kept {
        bool is_close;
        int32_t stream_id;
        const char *name;
    } kept[KEPT_MAX];
    unsigned kept_count;
    unsigned kept_next;
};

/* Each is freed by the test. The first two log in. */
struct crowd *come(struct pair *pair);
struct crowd *come_as(struct pair *pair, const char *peer, const char *user);
struct crowd *connect_from(struct pair *pair, const char *peer);
void say_login(struct crowd *c, const char *user);

/* A request at once, and one as a front does it: in order, when the core takes it. */
void ask(struct crowd *c, const struct kept *what);
void say(struct crowd *c, struct kept what);
/* A batch of `count` names on the streams behind `stream_id`. */
void batch(struct crowd *c, int32_t stream_id, int first, int count);

/* A turn in which the backbone takes all and answers nothing. */
void turn(struct pair *pair);
unsigned turns_until_done(struct pair *pair);
/* Turns until `ns` have passed, one a millisecond. */
void turns_for(struct pair *pair, uint64_t ns);

uint32_t watches(const struct pair *pair);
uint32_t streams(const struct crowd *c);
bool is_in(const struct crowd *c);

#endif
