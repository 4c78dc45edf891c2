/* authority.h - the dialogue with an authority in another process: who may log in. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_AUTHORITY_H
#define P2PS_AUTHORITY_H

#include "entitle/entitle.h"

/*
 * Lines of JSON both ways, docs/authority.md. An engine: bytes and time in, bytes and answers out.
 * It opens no socket and reads no clock; its owner has one lock around all calls, and
 *
 *     says when the socket is open or closed    p2ps_authority_open(), p2ps_authority_close()
 *     gives it what came                        p2ps_authority_input()
 *     takes what is to be sent                  p2ps_authority_output(), p2ps_authority_sent()
 *     gives it the time at its deadline         p2ps_authority_tick()
 *     asks, and takes the answers               p2ps_authority_ask(), p2ps_authority_answer()
 *     says which sessions have ended            p2ps_authority_end()
 *
 * Nothing but create allocates. An answer of "allow" with a lifetime is remembered under a keyed
 * SHA-256 of all that was asked, so that a storm of equal logins costs one question and the known
 * ones go on without the authority. After a notice that somebody changed his answers count no
 * longer, nor does one that was not used for the last 1,024 notices.
 *
 * It is up from its hello on. It is down without a connection, and while it is silent: a question
 * has found no answer in time, and not a byte has come since it was asked. A question under way is
 * answered with DOWN when its connection ends; a login that comes then may be held until it is
 * back.
 */
struct p2ps_authority;

#define P2PS_AUTHORITY_ASKERS   64
#define P2PS_AUTHORITY_LINE_MAX 65536u
#define P2PS_AUTHORITY_TOKEN    16384u /* longest token or password */
#define P2PS_AUTHORITY_ROLES    256u   /* longest list of roles, and its end */
#define P2PS_AUTHORITY_GRANTS   1024u  /* longest text of grants, and its end */
#define P2PS_AUTHORITY_GIVEN    (P2PS_AUTHORITY_ROLES + P2PS_AUTHORITY_GRANTS)

/* The fate of its sessions while it is away; in any case they are closed when it has been away for
 * the grace. */
enum p2ps_authority_sessions {
    P2PS_AUTHORITY_SUSPECT, /* their logins are told, and when it is back */
    P2PS_AUTHORITY_STAY,    /* they hear nothing */
    P2PS_AUTHORITY_CLOSE,   /* they are closed, and no remembered answer lets anybody in */
};

struct p2ps_authority_config {
    const char *instance;
    enum p2ps_authority_sessions sessions;
    uint64_t grace_ns;   /* authorityGrace; 0: none */
    uint64_t now_ns;     /* it is away since */
    uint64_t timeout_ns; /* authorityTimeout */
    uint32_t window;     /* authorityWindow: questions without an answer, 1..65535 */
    bool holds; /* a login that comes while it is away waits for it, as long as a question */
    uint8_t secret[32];
};

struct md_hist;

struct p2ps_authority_question {
    bool is_renewal;   /* may this session go on? it has no password and no token */
    bool is_reissue;   /* a login that is open shows a new token */
    uint8_t name_type; /* of a login; 0: none is said */
    struct entitle_view user, password, token, host, application, application_name, position;
    struct entitle_view certificate; /* a name in it */
    struct entitle_view session;     /* of a renewal, if an answer gave it one */
    /* Not sent: p2ps judges them when the answer is there. The number of the certificate, what
     * is known of the token (NULL: there is none), the time since 1970. */
    struct entitle_view number;
    const struct entitle_shown *shown;
    uint64_t now_s;
    bool needs_certificate, is_plain;
};

enum p2ps_authority_verdict {
    P2PS_AUTHORITY_ALLOW,
    P2PS_AUTHORITY_DENY,
    P2PS_AUTHORITY_DOWN,  /* nobody can say */
    P2PS_AUTHORITY_BUSY,  /* the window is full */
    P2PS_AUTHORITY_ASKED, /* the answer follows */
};

struct p2ps_authority_answer {
    enum p2ps_authority_verdict verdict;
    enum entitle_reason reason; /* of a denial */
    uint64_t ticket;
    bool has_mounts;
    uint32_t mounts;
    uint64_t expires_s;               /* an allowed session ends then, since 1970; 0: it does not */
    uint64_t serial;                  /* of an allowed session; see p2ps_authority_look() */
    char roles[P2PS_AUTHORITY_GIVEN]; /* "a,b", and grants: see entitle_query.roles; "": none */
    char user[ENTITLE_TEXT_MAX];
    char text[ENTITLE_TEXT_MAX];
    char session[ENTITLE_TEXT_MAX]; /* of an allowed one, that it begins; "": none, or the same */
    /* As it was asked. */
    bool is_renewal, has_token, is_reissue;
    uint8_t name_type;
    char application_name[ENTITLE_TEXT_MAX];
    char host[ENTITLE_TEXT_MAX], application[ENTITLE_TEXT_MAX], position[ENTITLE_TEXT_MAX];
    char certificate[ENTITLE_TEXT_MAX], number[ENTITLE_TEXT_MAX];
    bool has_shown;
    struct entitle_shown shown;
    uint64_t now_s;
    bool needs_certificate, is_plain;
};

struct p2ps_authority_stats {
    uint64_t asked, allowed, denied;
    uint64_t cached; /* answered from memory */
    uint64_t held;   /* logins that came while it was away, and waited for it */
    uint64_t timeouts;
    uint64_t late;      /* answers that nobody waited for any more */
    uint64_t busy;      /* questions that found the window full */
    uint64_t notices;   /* logout, again */
    uint64_t bad;       /* lines that ended the connection */
    uint64_t unusable;  /* answers that allowed a login, and were wrong for it: it was refused */
    uint64_t lost;      /* connections */
    uint64_t ends;      /* sessions whose end was written */
    uint64_t closed;    /* sessions that were closed because it is away */
    uint64_t ends_lost; /* and those whose end it did not hear, or may not have heard */
    uint32_t waiting;   /* questions without an answer */
};

int p2ps_authority_create(const struct p2ps_authority_config *config, struct p2ps_authority **out);
void p2ps_authority_destroy(struct p2ps_authority *a); /* NULL is allowed */

/* ---- the connection ---- */
void p2ps_authority_open(struct p2ps_authority *a, uint64_t now_ns);
/* Questions under way are answered with DOWN; those that are held are not. */
void p2ps_authority_close(struct p2ps_authority *a, uint64_t now_ns);
/* NULL, or what is wrong: the connection is to be closed. */
const char *p2ps_authority_input(struct p2ps_authority *a, uint64_t now_ns, const char *bytes,
                                 size_t length);
/* Not before p2ps_authority_sent() or another call that writes. */
const char *p2ps_authority_output(const struct p2ps_authority *a, size_t *length);
void p2ps_authority_sent(struct p2ps_authority *a, size_t length);
uint64_t p2ps_authority_deadline(const struct p2ps_authority *a);
/* NULL, or why the connection is to be closed. */
const char *p2ps_authority_tick(struct p2ps_authority *a, uint64_t now_ns);
/* Records from now on how long answers take, in microseconds, within p2ps_authority_input(). */
void p2ps_authority_took_set(struct p2ps_authority *a, struct md_hist *took_us);
bool p2ps_authority_is_up(const struct p2ps_authority *a);

/* ---- questions ---- */
/* Fills *out but for ASKED. */
enum p2ps_authority_verdict p2ps_authority_ask(struct p2ps_authority *a, uint64_t now_ns,
                                               const struct p2ps_authority_question *question,
                                               unsigned asker, uint64_t ticket,
                                               struct p2ps_authority_answer *out);
bool p2ps_authority_answer(struct p2ps_authority *a, unsigned asker,
                           struct p2ps_authority_answer *out);
/* Once: why the last answer that allowed a login let nobody in; NULL: there was none. */
const char *p2ps_authority_unusable(struct p2ps_authority *a, char user[ENTITLE_TEXT_MAX]);
/* A bit for each asker that has got answers since it was asked last. */
uint64_t p2ps_authority_answered(struct p2ps_authority *a);

/* ---- ends ---- */
/* A session that an answer began is over. Lost, and counted, without a connection, and while more
 * than a MiB waits to be sent; the first line behind lost ones says how many they were. */
void p2ps_authority_end(struct p2ps_authority *a, struct entitle_view session,
                        struct entitle_view reason);

/* ---- notices, and what its being away means ---- */
/* Bits of enum entitle_news since the last call: each session is to be looked at, it is away, it is
 * back. */
unsigned p2ps_authority_news(struct p2ps_authority *a, uint64_t now_ns);
/* Is a session with this serial to be closed, for it is away? One that was let in without it has
 * the serial 0, and stays. */
bool p2ps_authority_closes(struct p2ps_authority *a, uint64_t now_ns, uint64_t serial);

enum p2ps_authority_look {
    P2PS_AUTHORITY_FINE,
    P2PS_AUTHORITY_OUT,   /* the authority has ended the sessions of the user; `text`: why */
    P2PS_AUTHORITY_AGAIN, /* it wants to be asked for them again */
};
/* The notices about a session since the answer with this serial. */
enum p2ps_authority_look p2ps_authority_look(const struct p2ps_authority *a,
                                             struct entitle_view user, uint64_t serial,
                                             char text[ENTITLE_TEXT_MAX]);
/* A session could not be looked at now: they are recalled later. */
void p2ps_authority_owe(struct p2ps_authority *a);

void p2ps_authority_stats(const struct p2ps_authority *a, struct p2ps_authority_stats *out);

#endif
