/* users.c - see users.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "users.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* The tally is the first member: who is given it gives it back. */
struct user {
    struct p2ps_tally tally;
    struct user *next;
    uint32_t references;
    char name[];
};

struct p2ps_users {
    pthread_mutex_t lock;
    struct user *first;
    _Atomic uint64_t items;
};

static struct user *add(struct p2ps_users *users, const char *name)
{
    size_t size = strlen(name) + 1;
    struct user *user = calloc(1, sizeof(*user) + size);

    if (!user)
        return NULL;
    memcpy(user->name, name, size);
    user->next = users->first;
    users->first = user;
    return user;
}

static struct p2ps_tally *enter(void *self, const char *name)
{
    struct p2ps_users *users = self;

    pthread_mutex_lock(&users->lock);
    struct user *user = users->first;
    while (user && strcmp(user->name, name) != 0)
        user = user->next;
    if (!user)
        user = add(users, name);
    if (user)
        user->references++;
    pthread_mutex_unlock(&users->lock);
    return user ? &user->tally : NULL;
}

static void leave(void *self, struct p2ps_tally *tally)
{
    struct p2ps_users *users = self;

    pthread_mutex_lock(&users->lock);
    struct user **link = &users->first;
    while (&(*link)->tally != tally)
        link = &(*link)->next;
    struct user *user = *link;
    if (--user->references == 0) {
        *link = user->next;
        free(user);
    }
    pthread_mutex_unlock(&users->lock);
}

int p2ps_users_create(struct p2ps_users **out)
{
    struct p2ps_users *users = calloc(1, sizeof(*users));

    *out = users;
    if (!users)
        return MD_ERR_NOMEM;
    pthread_mutex_init(&users->lock, NULL);
    return MD_OK;
}

void p2ps_users_destroy(struct p2ps_users *users)
{
    if (!users)
        return;
    while (users->first) {
        struct user *user = users->first;
        users->first = user->next;
        free(user);
    }
    pthread_mutex_destroy(&users->lock);
    free(users);
}

struct p2ps_shared p2ps_users_shared(struct p2ps_users *users)
{
    return (struct p2ps_shared){
        .self = users,
        .enter = enter,
        .leave = leave,
        .items = &users->items,
    };
}
