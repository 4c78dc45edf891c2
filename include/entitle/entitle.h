/* entitle/entitle.h - who may log in, and who may see what. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENTITLE_ENTITLE_H
#define ENTITLE_ENTITLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One question, one answer, not necessarily at once.
 *
 * p2ps asks an *authority*: at each login, and at each open of an item (batch, cache hit and join
 * of a live item included), again whenever the permission data of the item change, and for every
 * open item after a reload. An authority that knows says so in ask(); one that must ask somebody
 * else says ENTITLE_PENDING and hands the answer over later, with the ticket of the question, when
 * its owner calls answers(). The owner never waits: a slow authority delays its own login or item.
 *
 * A view is bytes that live as long as the call; an authority copies what it keeps.
 */
struct entitle_view {
    const char *data;
    size_t length;
};

enum entitle_verdict {
    ENTITLE_ALLOW,
    ENTITLE_DENY,
    ENTITLE_PENDING, /* the answer follows through answers() */
};

enum entitle_kind {
    ENTITLE_LOGIN,   /* may `user` log in with this password or token? */
    ENTITLE_ITEM,    /* may `user` see `item` of `service`, given its permission data? */
    ENTITLE_PUBLISH, /* may `user` publish the items of `service`? */
};

struct entitle_query {
    enum entitle_kind kind;
    uint8_t domain; /* of the item */
    struct entitle_view user;
    struct entitle_view password;        /* ENTITLE_LOGIN */
    struct entitle_view token;           /* ENTITLE_LOGIN, authentication token */
    struct entitle_view host;            /* address of the client, as text */
    struct entitle_view service;         /* ENTITLE_ITEM, ENTITLE_PUBLISH */
    struct entitle_view item;            /* ENTITLE_ITEM */
    struct entitle_view permission_data; /* ENTITLE_ITEM, empty before the first image */
};

#define ENTITLE_TEXT_MAX 128

struct entitle_answer {
    uint64_t ticket;
    enum entitle_verdict verdict;
    /* Limits of this user (ENTITLE_LOGIN); 0 = none. */
    uint32_t rules_seen;         /* that were looked at for it: what it cost */
    uint32_t mounts_max;         /* connections */
    uint32_t items_max;          /* items at a time, of all of them */
    uint32_t messages_per_s;     /* that each of them may send */
    uint32_t messages_burst;     /* at once */
    bool is_proved;              /* that it is this user: by a password, a token or the like */
    char text[ENTITLE_TEXT_MAX]; /* why not; shown to the user */
};

/*
 * The table an authority implements. `self` is its own. Both functions are called from the thread
 * of the loop that owns the authority only.
 */
struct entitle_authority {
    /* Answers *out now, or returns ENTITLE_PENDING and remembers the ticket. */
    enum entitle_verdict (*ask)(void *self, const struct entitle_query *query, uint64_t ticket,
                                struct entitle_answer *out);
    /* Up to `max` answers to earlier questions that are known by now. */
    int (*answers)(void *self, struct entitle_answer out[], int max);
    void *self;
};

/* ------------------------------------------------------------------------------------------
 * The rules of an access file. Format, one entry a line, `!` or `#` starts a comment line:
 *
 *     user  NAME [password=WORD] [token=WORD] [mounts=N] [items=N] [messages=N[/BURST]]
 *     allow USER SERVICE ITEM [do=view,publish]
 *     deny  USER SERVICE ITEM [do=view,publish]
 *
 * NAME and the three patterns may hold `*` (any run of characters) and `?` (any one). The first
 * `user` line that fits the name decides a login: the password (or token) must be equal if the
 * line has one; a name that no line fits is refused. A user without a password line needs none.
 * The first `allow` or `deny` line with do=view, or without do=, that fits decides an item; an item
 * that no line fits is allowed. The first one with do=publish decides whether a service may be
 * published; its ITEM is `*`, and a service that no line fits may not.
 *
 * items= bounds the items that a user has open in p2ps, and those that he publishes; messages=
 * bounds what he publishes.
 */
struct entitle_rules;

/* Where a mistake is, and what was expected; `line` counts from 1. */
typedef void (*entitle_diag_fn)(void *closure, int line, const char *text);

/*
 * Reads the rules from `text`. Every mistake is told to `diag`; with at least one the result is
 * MD_ERR_MALFORMED and *out is NULL. At most 1,000,000 lines, each at most 4,096 bytes.
 */
int entitle_rules_create(const char *text, size_t length, entitle_diag_fn diag, void *closure,
                         struct entitle_rules **out);
void entitle_rules_destroy(struct entitle_rules *rules); /* NULL is allowed */

/*
 * The rules of the file at `path`, which `param` names. A file that every user may write is
 * refused; one that every user may read is a WARNING in the log. Anything but MD_OK: `why` has the
 * first mistake, with file and line, and the log the others.
 */
int entitle_rules_read(const char *param, const char *path, char *why, size_t size,
                       struct entitle_rules **out);

/* The verdict of the rules; never ENTITLE_PENDING. `rules` NULL allows everything. */
enum entitle_verdict entitle_rules_judge(const struct entitle_rules *rules,
                                         const struct entitle_query *query,
                                         struct entitle_answer *out);

/* False: the rules let nobody log in, or nobody publish anything (ENTITLE_PUBLISH). */
bool entitle_rules_open_to_any(const struct entitle_rules *rules, enum entitle_kind kind);

/* Rules to swap on reload while other threads ask: store with release. NULL allows everything. */
typedef _Atomic(const struct entitle_rules *) entitle_rules_slot;

/* An authority that answers at once from what *slot holds when it is asked. */
struct entitle_authority entitle_rules_authority(entitle_rules_slot *slot);

#endif
