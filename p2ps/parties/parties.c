/* parties.c - see parties.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "parties.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/siphash.h"

#define BUCKETS 4096

/* The party is the first member: who is given it gives it back. */
struct entry {
    struct p2ps_party party;
    struct entry *next;  /* of its bucket */
    struct entry *older; /* of those that nobody holds */
    struct entry *newer;
    uint64_t looked_ns; /* p2ps_parties_top() did, and it had done so much */
    uint64_t requests, posts;
    uint32_t references;
    uint32_t positions; /* different ones */
    uint32_t length;
    char name[];
};

/* A position of a user, known by its hash alone: nobody else has the key. */
struct place {
    struct place *next;
    const struct p2ps_party *party;
    uint64_t hash;
    uint32_t logins;
};

struct p2ps_parties {
    pthread_mutex_t lock;
    uint64_t key[2];
    uint64_t now_ns; /* as it was told last */
    _Atomic uint64_t items;
    size_t count, idle_count;
    struct entry *oldest;
    struct entry *newest;
    struct entry *buckets[BUCKETS];
    size_t look_at; /* the bucket that p2ps_parties_top() goes on with */
    unsigned top_count;
    struct p2ps_use top[P2PS_PARTIES_TOP];
    struct place *places[BUCKETS];
};

/* ---- names ---- */

void p2ps_host_of(const char *peer, char out[P2PS_HOST_MAX])
{
    const char *colon = strrchr(peer, ':');
    size_t length = colon ? (size_t)(colon - peer) : strlen(peer);
    struct in6_addr address;

    if (length > 1 && peer[0] == '[') {
        peer++;
        length -= 2;
    }
    if (length >= P2PS_HOST_MAX)
        length = P2PS_HOST_MAX - 1;
    memcpy(out, peer, length);
    out[length] = 0;
    char *zone = strchr(out, '%');
    if (zone)
        *zone = 0;
    if (inet_pton(AF_INET6, out, &address) != 1)
        return;
    char text[INET6_ADDRSTRLEN];
    memset(&address.s6_addr[8], 0, 8);
    if (inet_ntop(AF_INET6, &address, text, sizeof(text)))
        snprintf(out, P2PS_HOST_MAX, "%s/64", text);
}

/* ---- the table ---- */

static struct entry **bucket_of(struct p2ps_parties *parties, const char *name, size_t length)
{
    uint64_t hash = md_siphash(parties->key, name, length);

    return &parties->buckets[hash % BUCKETS];
}

static void unlink_idle(struct p2ps_parties *parties, struct entry *entry)
{
    if (entry->older)
        entry->older->newer = entry->newer;
    else
        parties->oldest = entry->newer;
    if (entry->newer)
        entry->newer->older = entry->older;
    else
        parties->newest = entry->older;
    entry->older = entry->newer = NULL;
    parties->idle_count--;
}

static void link_idle(struct p2ps_parties *parties, struct entry *entry)
{
    entry->older = parties->newest;
    entry->newer = NULL;
    if (parties->newest)
        parties->newest->newer = entry;
    else
        parties->oldest = entry;
    parties->newest = entry;
    parties->idle_count++;
}

/* The entry is in no list but that of its bucket. */
static void forget(struct p2ps_parties *parties, struct entry *entry)
{
    struct entry **link = bucket_of(parties, entry->name, entry->length);

    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
    parties->count--;
    free(entry);
}

static bool is_counted(const struct p2ps_party *party)
{
    return atomic_load_explicit(&party->mounts, memory_order_acquire) ||
           atomic_load_explicit(&party->views, memory_order_acquire) ||
           atomic_load_explicit(&party->posts, memory_order_acquire) ||
           atomic_load_explicit(&party->items, memory_order_acquire);
}

static bool has_debts(const struct p2ps_party *party, uint64_t now_ns)
{
    return atomic_load_explicit(&party->logins.full_ns, memory_order_relaxed) > now_ns ||
           atomic_load_explicit(&party->requests.full_ns, memory_order_relaxed) > now_ns ||
           atomic_load_explicit(&party->post_rate.full_ns, memory_order_relaxed) > now_ns;
}

/* A few of those that nobody holds: they are as many as ever came otherwise. */
static void forget_some(struct p2ps_parties *parties)
{
    for (unsigned i = 0; i < 4 && parties->oldest; i++) {
        bool are_many = parties->idle_count > P2PS_PARTIES_IDLE;
        struct entry *entry = parties->oldest;

        unlink_idle(parties, entry);
        if (!is_counted(&entry->party) && (are_many || !has_debts(&entry->party, parties->now_ns)))
            forget(parties, entry);
        else
            link_idle(parties, entry);
    }
}

static struct entry *add(struct p2ps_parties *parties, struct entry **bucket, const char *name,
                         size_t length)
{
    struct entry *entry = calloc(1, sizeof(*entry) + length);

    if (!entry)
        return NULL;
    memcpy(entry->name, name, length);
    entry->length = (uint32_t)length;
    entry->next = *bucket;
    *bucket = entry;
    parties->count++;
    return entry;
}

static struct p2ps_party *enter(struct p2ps_parties *parties, uint64_t now_ns, const char *name,
                                size_t length)
{
    pthread_mutex_lock(&parties->lock);
    parties->now_ns = now_ns > parties->now_ns ? now_ns : parties->now_ns;
    forget_some(parties);
    struct entry **bucket = bucket_of(parties, name, length);
    struct entry *entry = *bucket;
    while (entry && (entry->length != length || memcmp(entry->name, name, length) != 0))
        entry = entry->next;
    if (!entry)
        entry = add(parties, bucket, name, length);
    else if (entry->references == 0)
        unlink_idle(parties, entry);
    if (entry)
        entry->references++;
    pthread_mutex_unlock(&parties->lock);
    return entry ? &entry->party : NULL;
}

struct p2ps_party *p2ps_parties_host(struct p2ps_parties *parties, uint64_t now_ns,
                                     const char *peer)
{
    char name[1 + P2PS_HOST_MAX] = "h";

    p2ps_host_of(peer, name + 1);
    return enter(parties, now_ns, name, strlen(name));
}

struct p2ps_party *p2ps_parties_user(struct p2ps_parties *parties, uint64_t now_ns,
                                     const char *user, const char *peer)
{
    char name[512], host[P2PS_HOST_MAX] = "";

    if (peer)
        p2ps_host_of(peer, host);
    /* A zero byte cannot be in either text. */
    int length = snprintf(name, sizeof(name), "%c%s%c%.300s", peer ? 'n' : 'u', host, 0, user);
    return enter(parties, now_ns, name, (size_t)length);
}

void p2ps_parties_hold(struct p2ps_parties *parties, struct p2ps_party *party)
{
    struct entry *entry = (struct entry *)party;

    if (!party)
        return;
    pthread_mutex_lock(&parties->lock);
    entry->references++;
    pthread_mutex_unlock(&parties->lock);
}

void p2ps_parties_leave(struct p2ps_parties *parties, struct p2ps_party *party)
{
    struct entry *entry = (struct entry *)party;

    if (!party)
        return;
    pthread_mutex_lock(&parties->lock);
    if (--entry->references == 0) {
        link_idle(parties, entry);
        forget_some(parties);
    }
    pthread_mutex_unlock(&parties->lock);
}

/* ---- positions ---- */

/* Where it is linked, or would be. */
static struct place **place_of(struct p2ps_parties *parties, const struct p2ps_party *party,
                               uint64_t hash)
{
    uint64_t mixed = hash ^ (uint64_t)(uintptr_t)party / sizeof(struct entry);
    struct place **link = &parties->places[mixed % BUCKETS];

    while (*link && ((*link)->hash != hash || (*link)->party != party))
        link = &(*link)->next;
    return link;
}

static int add_place(struct place **link, struct entry *entry, uint64_t hash, uint32_t max)
{
    if (max && entry->positions >= max)
        return MD_ERR_FULL;
    *link = calloc(1, sizeof(**link));
    if (!*link)
        return MD_ERR_NOMEM;
    **link = (struct place){ .party = &entry->party, .hash = hash };
    entry->positions++;
    return MD_OK;
}

int p2ps_parties_position(struct p2ps_parties *parties, struct p2ps_party *party,
                          const char *position, uint32_t max)
{
    uint64_t hash = md_siphash(parties->key, position, strlen(position));
    int err = MD_OK;

    pthread_mutex_lock(&parties->lock);
    struct place **link = place_of(parties, party, hash);
    if (!*link)
        err = add_place(link, (struct entry *)party, hash, max);
    if (err == MD_OK)
        (*link)->logins++;
    pthread_mutex_unlock(&parties->lock);
    return err;
}

void p2ps_parties_position_leave(struct p2ps_parties *parties, struct p2ps_party *party,
                                 const char *position)
{
    uint64_t hash = md_siphash(parties->key, position, strlen(position));

    pthread_mutex_lock(&parties->lock);
    struct place **link = place_of(parties, party, hash);
    struct place *place = *link;
    if (place && --place->logins == 0) {
        *link = place->next;
        ((struct entry *)party)->positions--;
        free(place);
    }
    pthread_mutex_unlock(&parties->lock);
}

_Atomic uint64_t *p2ps_parties_items(struct p2ps_parties *parties)
{
    return &parties->items;
}

size_t p2ps_parties_count(struct p2ps_parties *parties)
{
    pthread_mutex_lock(&parties->lock);
    size_t count = parties->count;
    pthread_mutex_unlock(&parties->lock);
    return count;
}

/* ---- for operators ---- */

static uint64_t read64(const _Atomic uint64_t *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

static uint64_t read32(const _Atomic uint32_t *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

/* The growth of a counter in a second, since it was `*before`; 0: nobody looked before. */
static uint64_t rate_of(uint64_t now, uint64_t *before, uint64_t passed_ns)
{
    uint64_t grown = now - *before;

    *before = now;
    return passed_ns ? grown * 1000000000u / passed_ns : 0;
}

static bool is_before(const struct p2ps_use *a, const struct p2ps_use *b)
{
    if (a->refused != b->refused)
        return a->refused > b->refused;
    if (a->items != b->items)
        return a->items > b->items;
    if (a->mounts != b->mounts)
        return a->mounts > b->mounts;
    return strcmp(a->user, b->user) < 0;
}

static void insert(struct p2ps_parties *parties, const struct p2ps_use *use)
{
    unsigned at = parties->top_count;

    while (at > 0 && is_before(use, &parties->top[at - 1]))
        at--;
    if (at == P2PS_PARTIES_TOP)
        return;
    if (parties->top_count < P2PS_PARTIES_TOP)
        parties->top_count++;
    memmove(&parties->top[at + 1], &parties->top[at],
            (parties->top_count - at - 1) * sizeof(parties->top[0]));
    parties->top[at] = *use;
}

static void look(struct p2ps_parties *parties, uint64_t now_ns, struct entry *entry)
{
    const struct p2ps_party *party = &entry->party;
    struct p2ps_use use = {
        .mounts = read32(&party->mounts),
        .items = read64(&party->items),
        .refused = read64(&party->refused),
        .mounts_max = read32(&party->mounts_max),
        .items_max = read64(&party->items_max),
        .requests_max = read32(&party->requests_max),
        .posts_max = read32(&party->posts_max),
    };
    const char *host = entry->name + 1; /* its end is there: a name has a zero in the middle */

    if (entry->name[0] == 'h' || (use.mounts == 0 && use.items == 0 && use.refused == 0))
        return;
    uint64_t passed_ns =
        entry->looked_ns && now_ns > entry->looked_ns ? now_ns - entry->looked_ns : 0;
    entry->looked_ns = now_ns;
    use.requests = rate_of(read64(&party->requests_in), &entry->requests, passed_ns);
    use.posts = rate_of(read64(&party->posts_in), &entry->posts, passed_ns);
    size_t host_length = strlen(host);
    snprintf(use.host, sizeof(use.host), "%s", host);
    snprintf(use.user, sizeof(use.user), "%.*s", (int)(entry->length - host_length - 2),
             host + host_length + 1);
    insert(parties, &use);
}

int p2ps_parties_top(struct p2ps_parties *parties, uint64_t now_ns,
                     struct p2ps_use out[P2PS_PARTIES_TOP])
{
    size_t looked = 0;
    int count = -1;

    pthread_mutex_lock(&parties->lock);
    while (parties->look_at < BUCKETS && looked < P2PS_PARTIES_LOOK) {
        for (struct entry *entry = parties->buckets[parties->look_at]; entry; entry = entry->next) {
            look(parties, now_ns, entry);
            looked++;
        }
        parties->look_at++;
    }
    if (parties->look_at == BUCKETS) {
        count = (int)parties->top_count;
        memcpy(out, parties->top, parties->top_count * sizeof(out[0]));
        parties->look_at = 0;
        parties->top_count = 0;
    }
    pthread_mutex_unlock(&parties->lock);
    return count;
}

/* ---- life ---- */

struct p2ps_parties *p2ps_parties_create(const uint64_t key[2])
{
    struct p2ps_parties *parties = calloc(1, sizeof(*parties));

    if (!parties)
        return NULL;
    parties->key[0] = key[0];
    parties->key[1] = key[1];
    pthread_mutex_init(&parties->lock, NULL);
    return parties;
}

void p2ps_parties_destroy(struct p2ps_parties *parties)
{
    if (!parties)
        return;
    for (size_t i = 0; i < BUCKETS; i++) {
        while (parties->buckets[i]) {
            struct entry *entry = parties->buckets[i];

            parties->buckets[i] = entry->next;
            free(entry);
        }
        while (parties->places[i]) {
            struct place *place = parties->places[i];

            parties->places[i] = place->next;
            free(place);
        }
    }
    pthread_mutex_destroy(&parties->lock);
    free(parties);
}
