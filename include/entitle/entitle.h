/* entitle/entitle.h - who may log in, and who may see what. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENTITLE_ENTITLE_H
#define ENTITLE_ENTITLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * One question, one answer, not necessarily at once.
 *
 * p2ps asks an *authority*: at each login, at each open of an item (batch, cache hit and join of a
 * live item included) and at each post, again whenever the permission data of the item change, and
 * for every login and open item after a reload. An authority that knows says so in ask(); one that
 * must ask somebody else says ENTITLE_PENDING and hands the answer over later, with the ticket of
 * the question, when its owner calls answers(). The owner never waits: a slow authority delays its
 * own login or item.
 *
 * A view is bytes that live as long as the call; an authority copies what it keeps.
 */
struct entitle_view {
    const char *data;
    size_t length;
};

static inline struct entitle_view entitle_text(const char *text)
{
    return (struct entitle_view){ text, strlen(text) };
}

enum entitle_verdict {
    ENTITLE_ALLOW,
    ENTITLE_DENY,
    ENTITLE_PENDING, /* the answer follows through answers() */
};

enum entitle_kind {
    ENTITLE_LOGIN,   /* may `user` log in with this password or token? */
    ENTITLE_ITEM,    /* may `user` see `item` of `service`, given its permission data? */
    ENTITLE_PUBLISH, /* may `user` publish the items of `service`? */
    ENTITLE_POST,    /* may `user` post to `item` of `service`, which he does not publish? */
    ENTITLE_AGAIN,   /* may a login with this proof go on? */
};

/* How it is known that a login is its user's. */
enum entitle_by {
    ENTITLE_BY_NAME, /* it says so, and nothing more is asked of it */
    ENTITLE_BY_PASSWORD,
    ENTITLE_BY_TOKEN,     /* token= of the file */
    ENTITLE_BY_JWT,       /* a signed one */
    ENTITLE_BY_CERT,      /* of its connection */
    ENTITLE_BY_AUTHORITY, /* a process outside says so */
    ENTITLE_BYS,
};

#define ENTITLE_SUM_MAX    65  /* SHA-256 in hexadecimal digits, with its zero */
#define ENTITLE_JTI_MAX    128 /* longer ones are not kept */
#define ENTITLE_SERIAL_MAX 41  /* hexadecimal digits of a certificate's number */

/* The token that a login has shown: tokenhash= and `revoked` lines are about it. */
struct entitle_shown {
    uint64_t issued_s; /* iat of a signed one, since 1970; 0: it has none */
    char sum[ENTITLE_SUM_MAX];
    char jti[ENTITLE_JTI_MAX]; /* of a signed one; "": it has none */
    bool is_signed;            /* it is a signed one, or looks like one */
    bool is_unread; /* and nobody here can read it: it may be any of those that are revoked */
};

struct entitle_query {
    enum entitle_kind kind;
    uint8_t domain; /* of the item */
    struct entitle_view user;
    struct entitle_view password;    /* ENTITLE_LOGIN */
    struct entitle_view token;       /* ENTITLE_LOGIN, authentication token */
    struct entitle_view host;        /* address of the client, as text */
    struct entitle_view application; /* id of it, as the login says; as all below of logins */
    struct entitle_view application_name;
    struct entitle_view position;
    struct entitle_view certificate; /* a name in the one that the client has shown; of logins */
    /* Of logins: the number of that one, in hexadecimal digits without leading zeros; the token,
     * NULL: there is none, or nobody has looked; the time since 1970, 0: it is not known, and
     * expires= lets nobody in; whoever is on the way can read the connection. */
    struct entitle_view serial;
    const struct entitle_shown *shown;
    uint64_t now_s;
    bool is_plain;
    bool needs_certificate; /* of the user's own name, or one that cert= of its line fits */
    bool is_token;          /* ENTITLE_LOGIN: `token` says who it is */
    bool is_reissue;        /* ENTITLE_LOGIN: it is open already */
    uint8_t name_type;      /* ENTITLE_LOGIN: as on the wire */
    enum entitle_by by; /* ENTITLE_AGAIN: as the login was answered. ENTITLE_LOGIN: proved already,
                           by whoever asks the rules */
    uint64_t proof;     /* ENTITLE_AGAIN: of the answer to the login */
    bool is_private;    /* ENTITLE_ITEM: a private stream */
    struct entitle_view service;         /* ENTITLE_ITEM, ENTITLE_PUBLISH */
    struct entitle_view item;            /* ENTITLE_ITEM */
    struct entitle_view permission_data; /* ENTITLE_ITEM; ENTITLE_POST: those of the post */
    bool is_lock_known; /* false before the first image: permission_data say nothing */
    /* Of a session that an authority outside (auth=authority) has let in: its roles, commas between
     * them, beside those of the user line; then, for each peset of which it holds codes beside the
     * grant lines, a line feed, the name of the set, a tab, names and codes with commas between
     * them: "rates,fx\nIDN\tLSE,62". */
    struct entitle_view roles;
    struct entitle_view session; /* ENTITLE_AGAIN: that an answer gave it; see there */
    /* ENTITLE_AGAIN: the last one about this session has no answer yet. What only that answer can
     * say is ENTITLE_PENDING, and nobody is asked once more. */
    bool is_asked;
    bool is_alone; /* ENTITLE_LOGIN: no authority outside can be asked, the file alone decides */
    /* For a tool that explains; NULL: nobody hears of the steps that lead to the verdict. `line` of
     * the file has brought the step about, 0: none has. */
    void (*step)(void *self, const char *step, uint32_t line, const char *text);
    void *step_self;
    bool is_proof_given; /* ENTITLE_LOGIN, for the same: password or token are taken as right */
};

/* As AuthenticationErrorCode; jwt/jwt.h has the others. */
enum entitle_token_error {
    ENTITLE_TOKEN_MISSING = 1,
    ENTITLE_TOKEN_REFUSED = 2,
    ENTITLE_TOKEN_REVOKED = 7,
    ENTITLE_TOKEN_OTHER_USER = 9,
    ENTITLE_TOKEN_NOBODY_LOOKED = 10,
};

/* Bits of the user rights of a post, as on the wire. */
enum entitle_post_right {
    ENTITLE_POST_CREATE = 1,
    ENTITLE_POST_DELETE = 2,
    ENTITLE_POST_PERM = 4, /* to change the permission data of the item */
    ENTITLE_POST_ALL = 7,
};

#define ENTITLE_TEXT_MAX 128
#define ENTITLE_HASH_MAX 256 /* of a password */

enum entitle_reason {
    ENTITLE_OTHER,
    ENTITLE_APPLICATION, /* the user may not use it */
    ENTITLE_BUSY,        /* nobody could look, it may ask again */
    ENTITLE_DOWN,        /* the permission system is away */
    ENTITLE_UNKNOWN,     /* it does not know the user */
    ENTITLE_AWAY,        /* the permission system is: a session that it let in ends meanwhile */
    ENTITLE_POSITION,    /* the user may not be there */
    ENTITLE_MOUNTS,      /* the user has as many connections as it allows, here and elsewhere */
};

struct entitle_answer {
    uint64_t ticket;
    enum entitle_verdict verdict;
    /* Limits of this user (ENTITLE_LOGIN); 0 = none. */
    uint32_t rules_seen;     /* that were looked at for it: what it cost */
    uint32_t mounts_max;     /* connections */
    uint32_t positions_max;  /* that they come from */
    uint32_t items_max;      /* items at a time, of all of them */
    uint32_t messages_per_s; /* that each of them may send */
    uint32_t messages_burst; /* at once */
    uint32_t requests_per_s; /* of items, in place of what is configured for all */
    uint32_t requests_burst; /* at once */
    uint32_t posts_per_s;    /* likewise */
    uint32_t posts_burst;
    uint32_t line;    /* of the file, that decided; 0: none did */
    const char *file; /* of this name, which lives as long as the rules; NULL: it has none */
    uint64_t proof;   /* what a login has proved; for ENTITLE_AGAIN */
    /* ENTITLE_PENDING of entitle_rules_judge(): the password has to fit this, which lives as long
     * as the rules; then ENTITLE_AGAIN says the rest. is_decoy: it is nobody's, and whatever fits
     * is refused, so that a name that is not there takes as long as a wrong password. */
    struct entitle_view hash;
    bool is_decoy;
    /* ENTITLE_PENDING of entitle_rules_judge(): an authority outside says who this is, and then
     * ENTITLE_AGAIN the rest, with ENTITLE_BY_AUTHORITY. */
    bool is_outside;
    const char *roles;     /* that it gave the session; NULL: none. Till the next question */
    const char *session;   /* and its name there, whose end it wants to hear of; NULL: as it was */
    bool is_proved;        /* that it is this user: by a password, a token or the like */
    enum entitle_by by;    /* of a login: how that is known */
    bool is_certified;     /* and a certificate was needed for it: the login ends when that does */
    uint64_t expires_s;    /* the login ends then, in seconds since 1970; 0: it does not */
    uint64_t reissue_s;    /* it should show a new token then */
    uint8_t token_error;   /* of a denial: the token is wrong; a login that was open stays */
    bool is_snapshot_only; /* he gets images, and no updates */
    uint8_t qualities;     /* what his data must be, of enum entitle_quality; 0: anything */
    bool may_post;         /* to some item */
    bool needs_lock;       /* permission data count: ask again when they are known */
    uint8_t post_denied; /* ENTITLE_POST that is allowed: enum entitle_post_right that it has not */
    /* ENTITLE_ITEM that is allowed: the user sees these fields alone, or all but these; ascending,
     * they live as long as the rules. has_fields false: he sees all. */
    bool has_fields;
    bool are_fields_dropped;
    const int16_t *fields;
    uint32_t field_count;
    enum entitle_reason reason;  /* of a denial, where there is a status of its own */
    char user[ENTITLE_TEXT_MAX]; /* whose token it is, if the login said no name */
    char text[ENTITLE_TEXT_MAX]; /* why not; shown to the user */
    /* expires= of the user line, in seconds since 1970; 0: none. A reload may change it. */
    uint64_t user_ends_s;
    /* Of a login with a token, to be shown again with ENTITLE_AGAIN. Till the next question. */
    const struct entitle_shown *shown;
    /* Permission data count for others, who are asked with the next question: ask again when they
     * are known, and let nothing else depend on it. */
    bool wants_lock;
    /* tls= of the user line: a plain connection is refused. */
    bool needs_tls;
    /* Of a login, allowed or not: it shows no secret, and its user line asks for none, or there is
     * no such line. What an authority outside has to say is never by name alone. */
    bool is_by_name;
    /* ENTITLE_AGAIN: an authority outside has been asked once more, and expires_s is the new end of
     * the login. */
    bool is_renewed;
    /* Of an item or a post, whatever the verdict: what is wrong with its permission data, of enum
     * entitle_lock_kind; they are of a service id that no peset has. */
    uint8_t lock_kind;
    bool has_strange_lock;
    uint16_t strange_id;
};

/* qos= of a user line. */
enum entitle_quality {
    ENTITLE_QUALITY_CONFLATED = 1, /* never each update */
    ENTITLE_QUALITY_DELAYED = 2,   /* never real time */
};

#define ENTITLE_ANSWERS_MAX 16 /* that are taken at once */

/*
 * The table an authority implements. `self` is its own. Both functions are called from the thread
 * of the loop that owns the authority only.
 */
enum entitle_news {
    ENTITLE_NEWS_LOGINS = 1, /* every login is asked for again, with ENTITLE_AGAIN */
    ENTITLE_NEWS_DOWN = 2,   /* the authority outside is away: its sessions are told */
    ENTITLE_NEWS_UP = 4,     /* it is back */
};

struct entitle_authority {
    /* Answers *out now, or returns ENTITLE_PENDING and remembers the ticket. */
    enum entitle_verdict (*ask)(void *self, const struct entitle_query *query, uint64_t ticket,
                                struct entitle_answer *out);
    /* Up to `max`, and no more than ENTITLE_ANSWERS_MAX, answers to earlier questions that are
     * known by now. */
    int (*answers)(void *self, struct entitle_answer out[], int max);
    /* Bits of enum entitle_news since it was asked last. May be NULL: never any. */
    unsigned (*news)(void *self);
    /* A session of an answer is over, or never began. May be NULL. */
    void (*ended)(void *self, struct entitle_view session, const char *why);
    void *self;
};

/* ------------------------------------------------------------------------------------------
 * The rules of an access file. Format, one entry a line, `!` or `#` starts a comment line:
 *
 *     default items allow|deny            default posts allow|deny
 *     role  NAME [role=ROLE,...] [KEY=VALUE ...]
 *     user  NAME [role=ROLE,...] [password=WORD] [token=WORD] [KEY=VALUE ...] [disabled]
 *     allow SUBJECT SERVICE ITEM [do=view,post,private,publish] [domain=6,7]
 *     deny  SUBJECT SERVICE ITEM [do=...] [domain=...] [text="..."]
 *
 * NAME of a user and the three patterns may hold `*` (any run of characters) and `?` (any one). A
 * SUBJECT is a user, or `@ROLE`. The first `user` line that fits the name decides a login: the
 * password (or token) must be equal if the line has one, or fit its hash=, of crypt(5); a name that
 * no line fits is refused.
 *
 * The first `allow` or `deny` line about the user or one of his roles, with do=view, or without
 * do=, that fits decides an item; without one the default does, which is to allow. A post needs
 * that, and the same of the lines with do=post; a `deny` without do= is one of them. The first one
 * with do=publish decides whether a service may be published; its ITEM is `*`, and a service that
 * no line fits may not.
 *
 *     peset   SET ids=257,258             lock ids that share one map of codes
 *     pe      SET 62,144-150 EXPRESSION   what codes stand for: names with & | ( )
 *     grant   SUBJECT SET NAME,62,100-199,* [do=view,post]
 *     content SERVICE lock|map|both|none [nolock=] [badlock=] [unknownpe=]
 *     map     SERVICE ITEM SET EXPRESSION codes of items that come without a lock
 *
 *     fields  SUBJECT SERVICE ITEM keep|drop 22,25,1000-1040
 *
 * The first `fields` line about the user or one of his roles that fits says which fields of an
 * item he sees; ids only, `*` is all.
 *
 * Where a `content` line says so, an item needs what its name needs, and that the codes of its
 * permission data are granted: see entitle/lock.h.
 *
 *     revoked user=PATTERN before=TIME | jti=ID | sha256=HEX | cert=SERIAL
 *
 * A login with such a token or certificate is refused, and ends at a reload.
 *
 * Keys: mounts= positions= items= messages= requests= posts= from= application= position= tls=
 * stream= qos= auth= post= expires=; see docs/access-file.md. Those of a role hold for users that
 * do not have them.
 */
struct entitle_rules;

/* Where a mistake is, and what was expected; `line` counts from 1. */
typedef void (*entitle_diag_fn)(void *closure, int line, const char *text);

/*
 * Reads the rules from `text`. Every mistake is told to `diag`; with at least one the result is
 * MD_ERR_MALFORMED and *out is NULL. At most 4,000,000 lines, each at most 16 KiB.
 */
int entitle_rules_create(const char *text, size_t length, entitle_diag_fn diag, void *closure,
                         struct entitle_rules **out);

/* Gets the text of a file from malloc(), for the first one and for those that it includes. NULL:
 * `why` says why not, without the name. */
struct entitle_reader {
    char *(*read)(void *self, const char *path, size_t *length, char *why, size_t size);
    void *self;
};

/* A mistake, and the file that it is in. Line 0: the file could not be read. */
typedef void (*entitle_told_fn)(void *closure, const char *file, int line, const char *text);

/*
 * The same of the file at `path`, where a line
 *
 *     include PATH
 *
 * stands for the lines of that file, whose name is relative to the one it stands in. It may include
 * others, 8 deep. A file that cannot be read is a mistake of the line; MD_ERR_SYS: the first one.
 */
int entitle_rules_create_from(const char *path, const struct entitle_reader *reader,
                              entitle_told_fn told, void *closure, struct entitle_rules **out);
/* The line of a file that a step, a warning or entitle_rules_about() names; an answer has both. The
 * name lives as long as the rules; NULL: they are from no file. */
uint32_t entitle_rules_place(const struct entitle_rules *rules, uint32_t line, const char **file);
void entitle_rules_destroy(struct entitle_rules *rules); /* NULL is allowed */

/*
 * The rules of the file at `path`, which `param` names. A file that every user may write is
 * refused; one that every user may read is a WARNING in the log. Anything but MD_OK: `why` has the
 * first mistake, with file and line, and the log the others.
 */
int entitle_rules_read(const char *param, const char *path, char *why, size_t size,
                       struct entitle_rules **out);
/* One of its files, as it was read. */
struct entitle_seen {
    const char *path;
    const char *text; /* NULL: it could not be read */
    size_t length;
    uint64_t stamp; /* as entitle_file_stamp() */
};
/* The same; `see` gets each file that the rules are made of. */
int entitle_rules_read_and(const char *param, const char *path, char *why, size_t size,
                           void (*see)(void *self, const struct entitle_seen *seen), void *self,
                           struct entitle_rules **out);
/* Another one when the file has changed; 0: there is none. */
uint64_t entitle_file_stamp(const char *path);

/* The verdict of the rules. ENTITLE_PENDING: a login whose password is kept as a hash, see
 * entitle_answer.hash. `rules` NULL allows everything. */
enum entitle_verdict entitle_rules_judge(const struct entitle_rules *rules,
                                         const struct entitle_query *query,
                                         struct entitle_answer *out);

/* Lines that may not do what their writer thinks: those behind one that decides before them, field
 * ids that are named twice, a missing default, denials that deny posts, too, users that no line is
 * about, secrets in clear, granted codes that no pe line has. Each is told to `diag`, in no order.
 */
void entitle_rules_review(const struct entitle_rules *rules, entitle_diag_fn diag, void *closure);
/* The same of lines that say nothing any more at this time: expires= that is past. */
void entitle_rules_review_times(const struct entitle_rules *rules, uint64_t now_s,
                                entitle_diag_fn diag, void *closure);
/* Each user whose name is no pattern, and each pattern of names, in the order of the file. */
void entitle_rules_users(const struct entitle_rules *rules,
                         void (*user)(void *self, struct entitle_view name, bool is_pattern),
                         void *self);

/* Each line that is about this user or a role of his: the user line that decides, roles, grants,
 * what is allowed and denied. False: no user line fits. */
bool entitle_rules_about(const struct entitle_rules *rules, struct entitle_view name,
                         void (*line)(void *self, uint32_t line), void *self);
/* The limits of this user, those of his roles included, as the answer to a login has them. False:
 * no user line fits. */
bool entitle_rules_limits(const struct entitle_rules *rules, struct entitle_view name,
                          struct entitle_answer *out);
/* An item, or a post, for which there is no line is denied. */
bool entitle_rules_denies(const struct entitle_rules *rules, enum entitle_kind kind);

/* False: the rules let nobody log in, or nobody publish anything (ENTITLE_PUBLISH). */
bool entitle_rules_open_to_any(const struct entitle_rules *rules, enum entitle_kind kind);

/* Rules to swap on reload while other threads ask: store with release. NULL allows everything. */
typedef _Atomic(const struct entitle_rules *) entitle_rules_slot;

/* A user line has a hash= in place of a password. */
bool entitle_rules_has_hashes(const struct entitle_rules *rules);

/* The roles that a signed token gives: `claims` is name, zero, value, zero, and so on; `out` gets
 * their names, commas between them, or "". False: there was no room for all. */
bool entitle_rules_claimed_roles(const struct entitle_rules *rules, struct entitle_view claims,
                                 char *out, size_t size);
/* Some role is given by claims. */
bool entitle_rules_has_claims(const struct entitle_rules *rules);
/* Of the roles and grants of a session (entitle_query.roles) the first that counts for nothing:
 * "role", "peset" (there is none), "name" (in no pe line of its set) or "code" (it is neither one,
 * nor a range). NULL: all count. */
const char *entitle_rules_unknown(const struct entitle_rules *rules, struct entitle_view given,
                                  struct entitle_view *which);

/* An authority that answers at once from what *slot holds when it is asked; it refuses whose
 * password is kept as a hash. */
struct entitle_authority entitle_rules_authority(entitle_rules_slot *slot);

#endif
