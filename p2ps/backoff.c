/* backoff.c - see backoff.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "backoff.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/siphash.h"

#define TEXT_MAX     128
#define SECOND_NS    1000000000ull
#define FORGET_NS    (600 * SECOND_NS) /* after that a wrong password is the first again */
#define HOLD_MAX     6                 /* 2^6 seconds */
#define USER_FREE    3u                /* wrong passwords that cost no time */
#define ADDRESS_FREE 20u

/* "10.1.0.7:5122": without the port. */
static size_t address_length(struct entitle_view host)
{
    const char *colon = host.length ? memrchr(host.data, ':', host.length) : NULL;

    return colon ? (size_t)(colon - host.data) : host.length;
}

/* Names and addresses are a stranger's choice; where they stand in the tables is not. An IPv6
 * address counts as its /64, which one host has whole. */
static uint64_t key_of(const struct p2ps_backoff *backoff, struct entitle_view host,
                       const struct entitle_view *user)
{
    uint8_t bytes[INET6_ADDRSTRLEN + TEXT_MAX] = { 0 };
    char text[INET6_ADDRSTRLEN];
    struct in6_addr v6;
    size_t length = address_length(host);
    size_t used = length < sizeof(text) ? length : sizeof(text) - 1;

    if (used)
        memcpy(bytes, host.data, used);
    if (used > 2 && host.data[0] == '[') {
        snprintf(text, sizeof(text), "%.*s", (int)used - 2, host.data + 1);
        if (inet_pton(AF_INET6, text, &v6) == 1) {
            used = 8;
            memcpy(bytes, v6.s6_addr, used);
        }
    }
    if (user) {
        size_t taken = user->length < TEXT_MAX ? user->length : TEXT_MAX;
        bytes[used++] = 0;
        if (taken)
            memcpy(bytes + used, user->data, taken);
        used += taken;
    }
    return md_siphash(backoff->secret, bytes, used);
}

/* Of the address, and of the user if it is not NULL. Looking takes no place from anybody. */
static uint64_t held_until(const struct p2ps_backoff *backoff, struct entitle_view host,
                           const struct entitle_view *user)
{
    uint64_t key = key_of(backoff, host, user);
    const struct p2ps_failures *table = user ? backoff->users : backoff->addresses;

    return table[key % P2PS_FAILURES].key == key ? table[key % P2PS_FAILURES].until_ns : 0;
}

static struct p2ps_failures *failures_of(struct p2ps_backoff *backoff, uint64_t now_ns,
                                         struct entitle_view host, const struct entitle_view *user)
{
    uint64_t key = key_of(backoff, host, user);
    struct p2ps_failures *failures =
        &(user ? backoff->users : backoff->addresses)[key % P2PS_FAILURES];

    if (failures->key != key || now_ns - failures->last_ns > FORGET_NS)
        *failures = (struct p2ps_failures){ .key = key, .last_ns = now_ns };
    return failures;
}

bool p2ps_backoff_holds(const struct p2ps_backoff *backoff, uint64_t now_ns,
                        struct entitle_view host, struct entitle_view user)
{
    return held_until(backoff, host, &user) > now_ns || held_until(backoff, host, NULL) > now_ns;
}

static void count_failure(struct p2ps_failures *failures, uint64_t now_ns, uint32_t free_ones)
{

    failures->last_ns = now_ns;
    if (++failures->count < free_ones)
        return;
    uint32_t step = failures->count - free_ones;
    uint64_t hold_ns = SECOND_NS << (step < HOLD_MAX ? step : HOLD_MAX);
    failures->until_ns = now_ns + (hold_ns < 60 * SECOND_NS ? hold_ns : 60 * SECOND_NS);
}

void p2ps_backoff_count(struct p2ps_backoff *backoff, uint64_t now_ns, struct entitle_view host,
                        struct entitle_view user)
{
    count_failure(failures_of(backoff, now_ns, host, &user), now_ns, USER_FREE);
    count_failure(failures_of(backoff, now_ns, host, NULL), now_ns, ADDRESS_FREE);
}

void p2ps_backoff_forgive(struct p2ps_backoff *backoff, struct entitle_view host,
                          struct entitle_view user)
{
    uint64_t key = key_of(backoff, host, &user);

    if (backoff->users[key % P2PS_FAILURES].key == key)
        backoff->users[key % P2PS_FAILURES] = (struct p2ps_failures){ .key = key };
}
