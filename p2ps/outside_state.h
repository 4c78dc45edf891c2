/* outside_state.h - what outside.c and its thread share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_OUTSIDE_STATE_H
#define P2PS_OUTSIDE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/loop.h"
#include "base/thread.h"
#include "outside.h"
#include "outside_log.h"

#define OUTSIDE_READ 65536

struct outside_asker {
    struct p2ps_outside *outside;
    unsigned index;
    struct entitle_authority inner;
    char roles[ENTITLE_ANSWERS_MAX + 1]
              [P2PS_AUTHORITY_GIVEN];                         /* of its answers; the last: of ask */
    char sessions[ENTITLE_ANSWERS_MAX + 1][ENTITLE_TEXT_MAX]; /* likewise */
    struct entitle_shown shown[ENTITLE_ANSWERS_MAX + 1];      /* likewise */
    _Atomic unsigned news;
    _Atomic bool has_answers;
    void (*wake)(void *owner);
    void *owner;
};

struct p2ps_outside {
    struct p2ps_outside_config config;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    uid_t uid;            /* who may own the process, too */
    pthread_mutex_t lock; /* around the engine, and what is below it */
    struct p2ps_authority *authority;
    bool is_up;
    struct outside_asker askers[P2PS_AUTHORITY_ASKERS];
    /* Of the thread. */
    struct md_thread thread;
    struct md_loop *loop;
    struct md_loop_wake *wake;
    struct md_loop_timer *timer;
    struct md_loop_fd *watch;
    int fd;
    uint64_t connect_ns, distance_ns; /* the next attempt, and the one after it */
    uint64_t up_since_ns;
    struct p2ps_outside_log log;
    char buffer[OUTSIDE_READ];
};

/* Begins to connect. */
int p2ps_outside_thread_start(struct p2ps_outside *o);
void p2ps_outside_thread_end(struct p2ps_outside *o);

#endif
