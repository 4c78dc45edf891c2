/* state.h - what an authority's engine knows; seen by the files of this folder only. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_AUTHORITY_STATE_H
#define P2PS_AUTHORITY_STATE_H

#include <string.h>

#include "memory.h"

#define SECOND_NS   1000000000ull
#define NOTICES_MAX 1024u /* that are known one by one; older ones: all are asked for again */
#define NONE        UINT32_MAX
#define OUTPUT_MAX  (4u << 20)
#define ENDS_MAX    (1u << 20) /* bytes that wait: no end of a session is added to more */
#define SECRETS_MAX (1u << 20) /* bytes of passwords and tokens of logins that are held */

struct slot {
    uint32_t next, before; /* in the list of the free, the waiting, the held or the answered */
    uint64_t id;           /* 0: it is not asked */
    uint64_t due_ns, asked_ns;
    /* Of one that is held: the password, and behind it the token, in the secrets. */
    uint64_t secret_at;
    uint32_t password_length, token_length;
    unsigned asker;
    char sum[AUDIT_SUM_SIZE];
    bool has_name; /* the login said who it is */
    struct p2ps_authority_answer answer;
};

struct list {
    uint32_t first, last;
};

struct notice {
    char user[ENTITLE_TEXT_MAX];
    char text[ENTITLE_TEXT_MAX];
    uint64_t hash;   /* of the user */
    uint64_t serial; /* it is about sessions with a lower one */
    bool is_logout, is_all;
};

struct p2ps_authority {
    struct p2ps_authority_config config;
    struct slot *slots;
    struct list free, waiting, answered[P2PS_AUTHORITY_ASKERS];
    struct list held; /* logins, until it is back or they are due; the first one is due first */
    char *secrets;    /* theirs, in the same order: a ring; NULL: none is held */
    uint64_t secrets_from, secrets_to;
    uint64_t answered_bits;
    struct p2ps_authority_memory memory;
    struct notice notices[NOTICES_MAX]; /* the one of serial N at N % NOTICES_MAX */
    uint64_t questions, serial;
    bool is_open, is_greeted, is_silent, recalls;
    bool was_up, told_up; /* at the last event; when news were taken */
    bool has_closed;      /* since it is away: sessions were told to go */
    uint64_t down_since_ns;
    bool owes_recall;     /* a renewal found no answer */
    const char *unusable; /* the last answer that was; NULL: it was told */
    char unusable_user[ENTITLE_TEXT_MAX];
    uint64_t opened_ns, heard_ns, ping_ns;
    uint64_t pings;
    char *output;
    size_t output_used, output_sent;
    uint64_t ends_waiting; /* in the output since it was empty last */
    uint64_t ends_untold;  /* lost on this connection, and it does not know yet */
    char input[P2PS_AUTHORITY_LINE_MAX];
    size_t input_used;
    struct p2ps_authority_stats stats;
    struct md_hist *took_us; /* NULL: nobody wants to know */
};

static inline struct entitle_view authority_view(const char *text)
{
    return (struct entitle_view){ text, strlen(text) };
}

/* As a text of an answer; what is too long is cut. */
static inline void authority_copy(char out[ENTITLE_TEXT_MAX], struct entitle_view text)
{
    size_t length = text.length < ENTITLE_TEXT_MAX ? text.length : ENTITLE_TEXT_MAX - 1;

    if (length)
        memcpy(out, text.data, length);
    out[length] = 0;
}

static inline bool authority_is(struct entitle_view text, const char *word)
{
    return text.length == strlen(word) && memcmp(text.data, word, text.length) == 0;
}

#endif
