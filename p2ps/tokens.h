/* tokens.h - what signed tokens (JWT) are checked against: the keys of a file, and parameters. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_TOKENS_H
#define P2PS_TOKENS_H

#include "conf/conf.h"
#include "entitle/entitle.h"
#include "jwt/jwt.h"

/* jwksFile and the parameters jwt*, as they are in force. Any thread may check; the control loop
 * reads the file again, at a reload and when it has changed. */
struct p2ps_tokens;
struct p2ps_tokens_fresh;

int p2ps_tokens_create(struct p2ps_tokens **out);
void p2ps_tokens_destroy(struct p2ps_tokens *tokens); /* NULL is allowed */

/* Reads file and parameters, and changes nothing. MD_ERR_MALFORMED, MD_ERR_SYS: `why` names the
 * file or the parameter. */
int p2ps_tokens_read(struct p2ps_tokens *tokens, const struct md_conf_object *object, char *why,
                     size_t size, struct p2ps_tokens_fresh **out);
/* `fresh`: what p2ps_tokens_read() gave. */
void p2ps_tokens_commit(struct p2ps_tokens_fresh *fresh);
void p2ps_tokens_discard(struct p2ps_tokens_fresh *fresh);
/* Once a second at most: reads the file again if its time or its size is another one. */
void p2ps_tokens_look(struct p2ps_tokens *tokens, uint64_t now_ns);

/* It is a signed token, and there are keys. */
bool p2ps_tokens_takes(struct p2ps_tokens *tokens, struct entitle_view token);

/* Finds what `revoked` lines may be about, of a token that is not checked here. A signed one that
 * cannot be read, or has too many parts, may be any. */
void p2ps_tokens_show(struct entitle_view token, struct entitle_shown *out);

/* When a login that ends then should show a new token (tokenReissueAt). Any thread. */
uint64_t p2ps_tokens_reissue(struct p2ps_tokens *tokens, uint64_t wall_s, uint64_t expires_s);

/* Tells the log what is wrong with a token, in growing distance: who sends such ones without end
 * must not drive all else out of it, and the audit trail has each. Any thread. */
void p2ps_tokens_say(struct p2ps_tokens *tokens, uint64_t now_ns, struct entitle_view host,
                     const char *which, const char *why);

struct p2ps_token {
    uint8_t error; /* enum jwt_verdict; 0: it is good */
    char user[ENTITLE_TEXT_MAX];
    char why[ENTITLE_TEXT_MAX]; /* not; shown to the consumer */
    uint64_t expires_s;         /* since 1970 */
    uint64_t reissue_s;         /* when a new one should come */
    size_t claims_length;       /* of its texts, as entitle_rules_claimed_roles() wants them */
    bool is_cut;                /* some had no room: where roles are given by them it is refused */
    char claims[8192];
    struct entitle_shown shown; /* what a `revoked` line may be about */
};
/* Takes as long as a signature does: not for the loop of a worker. */
void p2ps_tokens_check(struct p2ps_tokens *tokens, struct entitle_view token, uint64_t wall_s,
                       struct p2ps_token *out);

#define P2PS_TOKEN_ROLES 1024 /* bytes: names of all roles that a token gives, with commas */

/* A token that was checked says who it is and which roles that gives, the rules say the rest.
 * `login` is of the user who was logged in before, if any; the answer's roles stand in `roles`. */
void p2ps_tokens_answer(const struct p2ps_token *token, const struct entitle_rules *rules,
                        const struct entitle_query *login, char roles[P2PS_TOKEN_ROLES],
                        struct entitle_answer *out);

#endif
