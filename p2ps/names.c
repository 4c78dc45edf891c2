/* names.c - see names.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/caps.h"
#include "base/err.h"
#include "base/log.h"

#define PEER_MAX 128
#define NAME_MAX 256

/* Shared by who asked and the thread; the last one frees it. */
struct p2ps_name {
    atomic_uint references;
    atomic_bool is_known;
    struct p2ps_name *next;
    char peer[PEER_MAX];
    char text[NAME_MAX];
};

struct p2ps_names {
    p2ps_lookup_fn lookup;
    unsigned waiting_max;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_cond_t ended;
    struct p2ps_name *first; /* questions, oldest first */
    struct p2ps_name **end;
    unsigned waiting;
    atomic_bool stop;
    bool has_ended;    /* the thread */
    bool is_abandoned; /* by destroy: the thread frees everything */
};

static bool ask_system(const char *address, char *name, size_t size)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };

    if (inet_pton(AF_INET, address, &v4.sin_addr) == 1)
        return getnameinfo((const struct sockaddr *)&v4, sizeof(v4), name, (socklen_t)size, NULL, 0,
                           NI_NAMEREQD) == 0;
    return inet_pton(AF_INET6, address, &v6.sin6_addr) == 1 &&
           getnameinfo((const struct sockaddr *)&v6, sizeof(v6), name, (socklen_t)size, NULL, 0,
                       NI_NAMEREQD) == 0;
}

/* "10.1.2.3:40112" or "[fe80::1]:40112" without the port. */
static void address_of(const char *peer, char address[PEER_MAX])
{
    snprintf(address, PEER_MAX, "%s", peer[0] == '[' ? peer + 1 : peer);
    char *end = peer[0] == '[' ? strchr(address, ']') : strrchr(address, ':');
    if (end)
        *end = 0;
}

/* The owner of the address chooses the name in its reverse zone: do not trust it. */
static void make_harmless(char *name)
{
    for (; *name; name++) {
        if (!isalnum((unsigned char)*name) && !strchr(".-_", *name))
            *name = '?';
    }
}

static void answer(struct p2ps_names *names, struct p2ps_name *name)
{
    char address[PEER_MAX];

    address_of(name->peer, address);
    if (!names->lookup(address, name->text, sizeof(name->text)))
        return;
    make_harmless(name->text);
    atomic_store_explicit(&name->is_known, true, memory_order_release);
}

static void forget_all(struct p2ps_names *names)
{
    while (names->first) {
        struct p2ps_name *name = names->first;
        names->first = name->next;
        p2ps_name_release(name);
    }
    pthread_mutex_destroy(&names->lock);
    pthread_cond_destroy(&names->changed);
    pthread_cond_destroy(&names->ended);
    free(names);
}

static struct p2ps_name *next_question(struct p2ps_names *names)
{
    struct p2ps_name *name = names->first;

    names->first = name->next;
    if (!names->first)
        names->end = &names->first;
    names->waiting--;
    return name;
}

static void *run(void *argument)
{
    struct p2ps_names *names = argument;

    md_caps_drop();
    pthread_mutex_lock(&names->lock);
    while (!names->stop) {
        if (!names->first) {
            pthread_cond_wait(&names->changed, &names->lock);
            continue;
        }
        struct p2ps_name *name = next_question(names);
        pthread_mutex_unlock(&names->lock);
        answer(names, name);
        const char *text = p2ps_name_text(name);
        if (text && !atomic_load_explicit(&names->stop, memory_order_acquire))
            md_log(MD_LOG_INFO, "mount: host=%s is %s", name->peer, text);
        p2ps_name_release(name);
        pthread_mutex_lock(&names->lock);
    }
    bool is_abandoned = names->is_abandoned;
    names->has_ended = true;
    pthread_cond_signal(&names->ended);
    pthread_mutex_unlock(&names->lock);
    if (is_abandoned)
        forget_all(names);
    return NULL;
}

int p2ps_names_create(p2ps_lookup_fn lookup, unsigned waiting_max, struct p2ps_names **out)
{
    struct p2ps_names *names = calloc(1, sizeof(*names));

    *out = NULL;
    if (!names)
        return MD_ERR_NOMEM;
    names->lookup = lookup ? lookup : ask_system;
    names->waiting_max = waiting_max;
    names->end = &names->first;
    pthread_mutex_init(&names->lock, NULL);
    pthread_cond_init(&names->changed, NULL);
    pthread_cond_init(&names->ended, NULL);
    if (pthread_create(&names->thread, NULL, run, names) != 0) {
        forget_all(names);
        return MD_ERR_SYS;
    }
    *out = names;
    return MD_OK;
}

void p2ps_names_destroy(struct p2ps_names *names)
{
    struct timespec until;
    int err = 0;

    if (!names)
        return;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    pthread_mutex_lock(&names->lock);
    names->stop = true;
    pthread_cond_signal(&names->changed);
    while (!names->has_ended && err == 0)
        err = pthread_cond_timedwait(&names->ended, &names->lock, &until);
    bool has_ended = names->has_ended;
    pthread_t thread = names->thread;
    names->is_abandoned = !has_ended;
    pthread_mutex_unlock(&names->lock);
    if (!has_ended) {
        pthread_detach(thread);
        return;
    }
    pthread_join(thread, NULL);
    forget_all(names);
}

struct p2ps_name *p2ps_names_ask(struct p2ps_names *names, const char *peer)
{
    struct p2ps_name *name = calloc(1, sizeof(*name));

    if (!name)
        return NULL;
    atomic_init(&name->references, 2);
    snprintf(name->peer, sizeof(name->peer), "%s", peer);
    pthread_mutex_lock(&names->lock);
    bool has_room = names->waiting < names->waiting_max;
    if (has_room) {
        *names->end = name;
        names->end = &name->next;
        names->waiting++;
        pthread_cond_signal(&names->changed);
    }
    pthread_mutex_unlock(&names->lock);
    if (has_room)
        return name;
    free(name);
    return NULL;
}

const char *p2ps_name_text(const struct p2ps_name *name)
{
    return atomic_load_explicit(&name->is_known, memory_order_acquire) ? name->text : NULL;
}

void p2ps_name_release(struct p2ps_name *name)
{
    if (name && atomic_fetch_sub_explicit(&name->references, 1, memory_order_acq_rel) == 1)
        free(name);
}
