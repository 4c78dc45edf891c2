/* rules.h - an access file as it is kept: users, roles, and the lines about items. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENTITLE_RULES_H
#define ENTITLE_RULES_H

#include "index.h"

/*
 * The subject of a line. A line about a role has its rights shifted by ENTITLE_OF_ROLES: nobody
 * reaches it by the name that he gives himself.
 */
enum entitle_right {
    ENTITLE_MAY_VIEW = 1,
    ENTITLE_MAY_PUBLISH = 2,
    ENTITLE_MAY_POST = 4,
    ENTITLE_MAY_PRIVATE = 8, /* a private stream */
};
#define ENTITLE_OF_ROLES 4
#define ENTITLE_MAY_LOGIN                                                                          \
    1 /* of a `user` line, a `role` line, and one of entitle_rules.posters                         \
       */

/* Keys of a `user` or a `role` line; a bit each in entitle_keys.set. */
enum entitle_key {
    ENTITLE_KEY_PASSWORD,
    ENTITLE_KEY_TOKEN,
    ENTITLE_KEY_HASH,
    ENTITLE_KEY_ROLE,
    ENTITLE_KEY_MOUNTS,
    ENTITLE_KEY_ITEMS,
    ENTITLE_KEY_MESSAGES,
    ENTITLE_KEY_REQUESTS,
    ENTITLE_KEY_POSTS,
    ENTITLE_KEY_FROM,
    ENTITLE_KEY_APPLICATION,
    ENTITLE_KEY_POSITION,
    ENTITLE_KEY_STREAM,
    ENTITLE_KEY_AUTH,
    ENTITLE_KEY_CERT,
    ENTITLE_KEY_CLAIM,
    ENTITLE_KEY_POST,
    ENTITLE_KEY_TOKENHASH,
    ENTITLE_KEY_EXPIRES,
    ENTITLE_KEY_POSITIONS,
    ENTITLE_KEY_TLS,
    ENTITLE_KEY_QOS,
    ENTITLE_KEYS,
};

struct entitle_rate {
    uint32_t per_second; /* 0: no limit */
    uint32_t burst;
};

struct entitle_keys {
    uint32_t set;
    uint8_t auth; /* a bit for each enum entitle_by that is enough; 0: the secrets of the line */
    uint8_t post_rights; /* enum entitle_post_right */
    uint8_t qualities;   /* enum entitle_quality */
    bool is_disabled;
    bool is_snapshot_only;
    bool needs_tls;
    uint32_t mounts;
    uint32_t positions;
    uint32_t items;
    struct entitle_rate messages;
    struct entitle_rate requests;
    struct entitle_rate posts;
    struct entitle_view password;
    struct entitle_view token;
    struct entitle_view tokenhash; /* SHA-256 of a token, 64 small hexadecimal digits */
    uint64_t expires_s;            /* since 1970; 0: never */
    struct entitle_view hash;      /* of a password */
    struct entitle_view cert;      /* names in certificates: a pattern */
    struct entitle_view claim;     /* of a signed token, that gives the role: NAME:VALUE */
    struct entitle_view roles;     /* as written */
    struct entitle_view from;
    struct entitle_view application;
    struct entitle_view position;
};

/* A user, or a role: its one part is the name. */
struct entitle_user {
    struct entitle_line line;
    struct entitle_keys keys;
    uint32_t roles_at; /* in entitle_rules.numbers: the roles, with those that they contain */
    uint32_t role_count;
};

struct entitle_item {
    struct entitle_line line; /* user or role, service, item */
    struct entitle_view text; /* for the user whom it denies something */
    bool allow;
};

/* A vendor service: the service ids of locks that share one map of codes. Numbers of sets count
 * from 1. */
struct entitle_set {
    struct entitle_view name;
};
#define ENTITLE_SETS_MAX 1024

struct entitle_range {
    uint32_t low;
    uint32_t high;
};

/* The names that codes stand for, as an expression. By set and code once all is read. */
struct entitle_pe {
    struct entitle_view set_name;
    struct entitle_view text;
    struct entitle_range range;
    uint32_t line;
    uint16_t set;
};

struct entitle_grant {
    struct entitle_line line; /* user or role, set */
    struct entitle_view names;
    uint32_t ranges_at; /* in entitle_rules.ranges, by the low end */
    uint32_t range_count;
    bool has_names;
    bool is_all;
};

/* The codes of items that come without a lock. */
struct entitle_map {
    struct entitle_line line; /* service, item */
    struct entitle_view set_name;
    struct entitle_view text;
    uint16_t set;
};

enum { ENTITLE_BY_LOCK = 1, ENTITLE_BY_MAP = 2 };
enum { ENTITLE_DENY_NO_LOCK = 1, ENTITLE_DENY_BAD_LOCK = 2, ENTITLE_DENY_UNKNOWN = 4 };

struct entitle_content {
    struct entitle_line line; /* service */
    uint8_t by;
    uint8_t denies;
};

/* Fields that the subject sees, or does not. */
struct entitle_fields {
    struct entitle_line line; /* user or role, service, item */
    uint32_t fids_at;         /* in entitle_rules.fids, ascending */
    uint32_t fid_count;
    bool is_drop;
    bool is_unlimited; /* keep * */
    bool has_twice;    /* an id that is named twice */
    int16_t twice;
};

/* A name in the pe lines of a set. */
struct entitle_pe_name {
    struct entitle_view name;
    uint16_t set;
};

/* Tokens of users who fit, issued before that time. */
struct entitle_recall {
    struct entitle_line line; /* user */
    uint64_t before_s;
};

enum entitle_revoked_by {
    ENTITLE_REVOKED_JTI,
    ENTITLE_REVOKED_SUM,
    ENTITLE_REVOKED_SERIAL,
    ENTITLE_REVOKED_BYS,
};

/* One token, or one certificate. */
struct entitle_revoked {
    struct entitle_view id;
    uint32_t line;
    enum entitle_revoked_by by;
};

/* Grows while a file is read. */
struct entitle_array {
    void *at;
    size_t count;
    size_t room;
};

/* A file that was read, which may be read again for another line that includes it. */
struct entitle_file {
    char *path;
    char *text; /* NULL: it could not be read */
};
#define ENTITLE_FILES_MAX 1024
#define ENTITLE_DEPTH_MAX 8

/* Lines are counted over all files, as if each stood where it is included. From `first` on, until
 * the next piece begins, they are those of that file from `local` on. */
struct entitle_piece {
    uint32_t first;
    uint32_t local;
    uint32_t file;
};

struct entitle_rules {
    char *text; /* the views of all rules point in here, or into files */
    char *path; /* NULL: it is from no file */
    struct entitle_array files;
    struct entitle_array pieces;
    struct entitle_array users;
    struct entitle_array roles;
    struct entitle_array items;
    struct entitle_array posters; /* the subjects of lines that allow a post: entitle_user */
    struct entitle_array numbers; /* of roles: uint32_t */
    struct entitle_array domains; /* sets of them: struct entitle_domains */
    struct entitle_array sets;
    struct entitle_array pes;
    struct entitle_array pe_names; /* each once, sorted; only if a user line has auth=authority */
    struct entitle_array grants;
    struct entitle_array ranges;
    struct entitle_array maps;
    struct entitle_array contents;
    struct entitle_array fields;
    struct entitle_array fids; /* of fields lines: int16_t */
    struct entitle_array recalls;
    struct entitle_array revoked;
    uint16_t *set_of_id; /* by service id of a lock; NULL: there are no sets */
    struct entitle_index by_user;
    struct entitle_index by_role;
    struct entitle_index by_item;
    struct entitle_index by_poster;
    struct entitle_index by_grant;
    struct entitle_index by_map;
    struct entitle_index by_content;
    struct entitle_index by_fields;
    struct entitle_index by_recall;
    struct md_table *by_revoked[ENTITLE_REVOKED_BYS]; /* NULL: no line has one */
    struct md_table *by_token; /* the first user with it; NULL: none has one */
    struct md_table *by_tokenhash;
    struct entitle_view decoy; /* a hash of the file; NULL: it has none */
    bool denies_items;         /* that no line fits */
    bool denies_posts;
    bool asks_outside;      /* a user line has auth=authority */
    bool has_items_default; /* a line says so */
    bool has_posts_default;
    bool has_post_rights; /* a line has post=: without it somebody has none */
    bool has_post_grants; /* a grant line has do=post: codes are needed to post permission data */
};

#define ENTITLE_WORDS_MAX      64
#define ENTITLE_LINES_MAX      4000000
#define ENTITLE_LINE_BYTES_MAX 16384
#define ENTITLE_ROLES_MAX      64 /* of one user, with those that they contain */

/* A file that is being read. */
struct entitle_parse {
    struct entitle_rules *rules;
    entitle_diag_fn diag;
    void *closure;
    int line; /* over all files */
    int mistakes;
    /* Of a file; NULL: of a text alone. */
    const struct entitle_reader *reader;
    entitle_told_fn told;
    void (*lines)(struct entitle_parse *parse, char *text, size_t length);
    uint32_t open[ENTITLE_DEPTH_MAX + 1]; /* numbers of the files that include this one, and its */
    unsigned depth;
};

/* ---- words.c ---- */

/* ENTITLE_WORDS_MAX + 1: too many. *is_open: a quote has no end. */
int entitle_split(const char *line, size_t length, struct entitle_view words[ENTITLE_WORDS_MAX],
                  bool *is_open);
bool entitle_is(struct entitle_view word, const char *text);
bool entitle_same(struct entitle_view a, struct entitle_view b);
/* The value of `word` if it starts with "key=", without its quotes; data NULL otherwise. */
struct entitle_view entitle_value(struct entitle_view word, const char *key);
/* The next of a list with commas, which it shortens; false behind the last. */
bool entitle_next(struct entitle_view *list, struct entitle_view *one);
bool entitle_lists(struct entitle_view list, struct entitle_view word);
/* The part before the byte, which `rest` loses with it; all of it if the byte is not there. */
struct entitle_view entitle_cut(struct entitle_view *rest, char at);
/* Of all that an authority outside gave a session, see entitle_query.roles: its roles, and names
 * and codes that it holds of a set; empty: none. */
struct entitle_view entitle_given_roles(struct entitle_view given);
struct entitle_view entitle_given_codes(struct entitle_view given, struct entitle_view set);
bool entitle_number(struct entitle_view word, uint32_t *out);
/* The one of `names` that `word` may have been meant as; NULL: none is near. */
const char *entitle_near(struct entitle_view word, const char *const names[], size_t count);

/* One more slot of `size` bytes, all zero, or NULL. */
void *entitle_grow(struct entitle_array *array, size_t size);

/* A mistake in the line that is being read. */
void entitle_complain(struct entitle_parse *parse, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* One more of an array whose struct starts with its line: that line, with its first parts. NULL: no
 * memory, which is a mistake in the line. */
void *entitle_parse_add(struct entitle_parse *parse, struct entitle_array *array, size_t size,
                        const struct entitle_view parts[], unsigned count, uint8_t rights);

/* For %.*s; a word that is a whole file is cut. */
#define ENTITLE_SHOWN(word) ((word).length < 100 ? (int)(word).length : 100), (word).data

/* Tells a step to whoever explains. */
void entitle_say(const struct entitle_query *query, const char *step, uint32_t line,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* ---- include.c ---- */

void entitle_parse_include(struct entitle_parse *parse, const struct entitle_view words[],
                           int count);
/* The file that includes the others. MD_ERR_SYS: it cannot be read, which was told. */
int entitle_include_first(struct entitle_parse *parse, const char *path);
void entitle_include_fini(struct entitle_rules *rules);

/* ---- places.c ---- */

/* "line 7", or "FILE:7" if it is in another file than the line `from`. */
void entitle_line_name(const struct entitle_rules *rules, uint32_t from, uint32_t line, char *out,
                       size_t size);

/* ---- times.c ---- */

#define ENTITLE_TIME_MAX 24

/* "2027-01-31" or "2027-01-31T18:00:00Z" to seconds since 1970, and back. */
bool entitle_time_read(struct entitle_view word, uint64_t *out);
void entitle_time_write(uint64_t time_s, char out[ENTITLE_TIME_MAX]);

/* ---- revoked.c ---- */

void entitle_parse_revoked(struct entitle_parse *parse, const struct entitle_view words[],
                           int count);
/* 64 hexadecimal digits, which become small ones where they stand. */
bool entitle_sum_read(struct entitle_view word);
/* Once all lines are read. MD_ERR_NOMEM. */
int entitle_index_revoked(struct entitle_rules *rules);
void entitle_revoked_fini(struct entitle_rules *rules);
/* NULL: what the login of this user shows is good still; else why not, with the line in *out. */
const char *entitle_refuse_revoked(const struct entitle_rules *rules,
                                   const struct entitle_query *query, struct entitle_answer *out);

/* ---- keys.c ---- */

/* `kind` is "user" or "role". */
void entitle_parse_keys(struct entitle_parse *parse, const char *kind, struct entitle_user *user,
                        const struct entitle_view words[], int count);
/* `keys` takes from `more` each key that it does not have. */
void entitle_inherit_keys(struct entitle_keys *keys, const struct entitle_keys *more);
/* NULL: the user may come from there with that; else why not. */
const char *entitle_keys_refuse(const struct entitle_keys *keys, const struct entitle_query *query,
                                struct entitle_answer *out);

/* ---- proof.c ---- */

/* Of a session: it goes on for as long as the same is asked for. 0: nothing is. */
uint64_t entitle_proof_of(const struct entitle_keys *keys);
/* The query wants a certificate of the user, and has none. */
bool entitle_takes_name(const struct entitle_keys *keys); /* nothing has to be shown */
bool entitle_lacks_certificate(const struct entitle_keys *keys, const struct entitle_query *query);
/* NULL: the login, or what it proved once, is enough, or it is once its password fits the hash:
 * then the answer is ENTITLE_PENDING. Else why not. */
const char *entitle_refuse_proof(const struct entitle_keys *keys, const struct entitle_query *query,
                                 struct entitle_answer *out);
void entitle_ask_for_hash(struct entitle_view hash, bool is_decoy, struct entitle_answer *out);

/* ---- roles.c ---- */

/* Once all lines are read: names of roles become numbers, lines about roles are marked, each user
 * has the keys of its roles. Mistakes go to the diagnosis. MD_ERR_NOMEM. */
int entitle_resolve_roles(struct entitle_parse *parse);

/* The roles that count for a question: those of the user line, which may be NULL, and those of the
 * session, each with what it contains. Unknown ones, and those beyond the most, do not count. */
struct entitle_own_roles {
    const uint32_t *at;
    uint32_t count;
    uint32_t room[ENTITLE_ROLES_MAX];
    bool is_cut; /* those of the session have more than there is room for */
};
void entitle_roles_collect(const struct entitle_rules *rules, const struct entitle_user *user,
                           struct entitle_view session, struct entitle_own_roles *own);
/* The first line about the user or about a role of his. */
uint32_t entitle_first_line(const struct entitle_rules *rules, const struct entitle_index *index,
                            const struct entitle_own_roles *own, struct entitle_view text[],
                            struct entitle_asked *asked, uint32_t *seen);

/* ---- grants.c ---- */

void entitle_parse_peset(struct entitle_parse *parse, const struct entitle_view words[], int count);
void entitle_parse_pe(struct entitle_parse *parse, const struct entitle_view words[], int count);
void entitle_parse_grant(struct entitle_parse *parse, const struct entitle_view words[], int count);
void entitle_parse_map(struct entitle_parse *parse, const struct entitle_view words[], int count);
void entitle_parse_content(struct entitle_parse *parse, const struct entitle_view words[],
                           int count);
/* 0: there is none of this name. */
uint16_t entitle_set_find(const struct entitle_rules *rules, struct entitle_view name);
/* Once all lines are read. MD_ERR_NOMEM. */
int entitle_resolve_content(struct entitle_parse *parse);

/* ---- fields.c ---- */

void entitle_parse_fields(struct entitle_parse *parse, const struct entitle_view words[],
                          int count);
/* Once all lines are read. MD_ERR_NOMEM. */
int entitle_resolve_fields(struct entitle_rules *rules);
void entitle_fini_fields(struct entitle_rules *rules);
/* Says in *out which fields of an item that is allowed the user may see. */
void entitle_judge_fields(const struct entitle_rules *rules, const struct entitle_own_roles *own,
                          const struct entitle_query *query, struct entitle_answer *out);

/* ---- posts.c ---- */

/* "create,delete,perm" or "none". */
bool entitle_read_post_rights(struct entitle_view list, uint8_t *out);
/* [do=view,post] of a grant line. */
void entitle_parse_grant_do(struct entitle_parse *parse, struct entitle_grant *grant,
                            struct entitle_view word);
/* Says in *out which rights a post may use that is allowed. `user` may be NULL. */
void entitle_judge_post_rights(const struct entitle_rules *rules, const struct entitle_user *user,
                               const struct entitle_query *query, struct entitle_answer *out);

/* "62", "144-150". False: it is neither a code nor a range. */
bool entitle_range_read(struct entitle_view word, struct entitle_range *out);
/* A word that begins with a letter. */
bool entitle_is_name(struct entitle_view word);

/* ---- given.c ---- */

/* Once the pe lines are sorted. MD_ERR_NOMEM. */
int entitle_note_names(struct entitle_rules *rules);
bool entitle_has_role(const struct entitle_rules *rules, struct entitle_view name);

/* ---- rules.c ---- */

/* The line that decides about the user; NULL: there is none. */
const struct entitle_user *entitle_user_of(const struct entitle_rules *rules,
                                           struct entitle_view name, uint32_t *seen);

/* ---- content.c ---- */

/* NULL: the permission data of the item, or its codes of the file, allow it to the user with these
 * roles; else why not. */
const char *entitle_judge_content(const struct entitle_rules *rules,
                                  const struct entitle_own_roles *own,
                                  const struct entitle_query *query, struct entitle_answer *out);

/* ---- parse.c ---- */

void entitle_parse_text(struct entitle_parse *parse, char *text, size_t length);

static inline struct entitle_user *entitle_user_at(const struct entitle_array *array, size_t at)
{
    return (struct entitle_user *)array->at + at;
}

static inline struct entitle_item *entitle_item_at(const struct entitle_rules *rules, size_t at)
{
    return (struct entitle_item *)rules->items.at + at;
}

static inline struct entitle_fields *entitle_fields_at(const struct entitle_rules *rules, size_t at)
{
    return (struct entitle_fields *)rules->fields.at + at;
}

#endif
