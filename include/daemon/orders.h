/* daemon/orders.h - requests of rmdsctl that the threads of a daemon execute, each on its own data.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_ORDERS_H
#define DAEMON_ORDERS_H

#include "daemon/daemon.h"

/*
 * An order goes to every thread of the daemon that owns data. Woken by its own means, a thread does
 * a bounded step of its part in each turn until the part is done, and writes the lines of its part
 * of the answer. One order at a time is under way; DAEMON_ORDERS_MAX wait at most.
 */
#define DAEMON_ORDERS_MAX  16
#define DAEMON_THREADS_MAX 64

struct daemon_orders;

/* Written by one thread while it has the order. */
struct daemon_order_part {
    struct daemon_text text;
    uint32_t cursor; /* where its next step goes on */
    uint64_t found, shown;
};

/* The fields that the threads of the program read. */
struct daemon_order {
    unsigned kind;      /* of the program's table */
    char words[2][256]; /* of the request; "": none */
    unsigned numbers[2];
    bool is_all;
    struct daemon_order_part parts[DAEMON_THREADS_MAX];

    struct daemon_orders *orders; /* the rest belongs to daemon_orders_open() and the like */
    struct daemon_order *next;
    struct daemon_request *request;
    _Atomic unsigned left; /* threads that are not done */
};

/* One kind of order, for its answer. */
struct daemon_order_kind {
    const char *list;    /* "list LIST" asks for it; NULL: another verb does */
    const char *header;  /* first line */
    const char *outcome; /* of the log, behind the number found: "listed" */
    const char *missing; /* the answer when nothing was found */
};

struct daemon_orders_config {
    struct daemon *daemon;
    unsigned thread_count;
    void (*wake)(void *owner, unsigned thread); /* so that it calls daemon_orders_work() */
    void *owner;
    const struct daemon_order_kind *kinds;
    unsigned kind_count;
    unsigned trace;    /* the kind that daemon_orders_trace() asks for */
    const char *lists; /* of the error: "p2ps lists mounts and items" */
};

/* On the control loop; daemon->orders is set. MD_ERR_NOMEM or MD_ERR_SYS. */
int daemon_orders_open(const struct daemon_orders_config *config);
/* When the threads have ended; NULL is allowed. */
void daemon_orders_close(struct daemon *daemon);

/* A new order for the request, to be filled in; NULL: too many wait, the request was refused. */
struct daemon_order *daemon_order_create(struct daemon_request *request, unsigned kind);
void daemon_order_word(struct daemon_order *order, unsigned number, const char *word); /* or NULL */
/* On its way; the request is answered when all threads are done. */
void daemon_order_post(struct daemon_order *order);

/* Verbs for the table of daemon_admin_open(): "list LIST [SERVICE]", "trace SERVICE ITEM". */
void daemon_orders_list(void *owner, struct daemon_request *request);
void daemon_orders_trace(void *owner, struct daemon_request *request);

/*
 * On the loop of that thread, when it was woken: `step` does a bounded part and says whether the
 * thread's part is complete. With `is_over` the thread has nothing to say any more. True: there is
 * more to do, wake the thread again.
 */
typedef bool (*daemon_step_fn)(void *owner, const struct daemon_order *order,
                               struct daemon_order_part *part);
bool daemon_orders_work(const struct daemon *daemon, unsigned thread, bool is_over,
                        daemon_step_fn step, void *owner);

#endif
