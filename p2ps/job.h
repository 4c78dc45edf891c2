/* job.h - a login that waits for a thread of credentials.h, then for its worker. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_JOB_H
#define P2PS_JOB_H

#include "audit/audit.h"
#include "tokens.h"

#define P2PS_JOB_TEXT     128
#define P2PS_PASSWORD_MAX 512 /* of crypt(3), with its zero */

/* A text of a login that outlives the question. */
struct p2ps_text {
    size_t length;
    char bytes[P2PS_JOB_TEXT];
};

struct p2ps_job {
    struct p2ps_job *next;
    unsigned worker;
    bool is_decoy, fits;
    char password[P2PS_PASSWORD_MAX];
    char hash[ENTITLE_HASH_MAX];
    char sum[AUDIT_SUM_SIZE];
    struct p2ps_text user, host, application, position, certificate, serial;
    bool needs_certificate;
    bool has_token_user; /* the user is whose token it is */
    bool is_plain;
    struct entitle_shown shown;
    bool is_shown;             /* there is a token, and this is of it */
    struct p2ps_token *result; /* not a password: a signed token, and what it turned out to be */
    struct entitle_answer answer;
    size_t token_length;
    char token[];
};

struct p2ps_jobs {
    struct p2ps_job *first;
    struct p2ps_job **end;
};

/* Of a password `sum` is its keyed one; NULL: a signed token waits. NULL: no memory. */
struct p2ps_job *p2ps_job_create(const struct entitle_query *query,
                                 const struct entitle_answer *answer, struct entitle_view user,
                                 const char *sum);
void p2ps_job_forget(struct p2ps_job *job);
/* The question again, without its secrets; as long as the job lives. */
struct entitle_query p2ps_job_query(const struct p2ps_job *job);

void p2ps_job_append(struct p2ps_jobs *list, struct p2ps_job *job);
struct p2ps_job *p2ps_job_next(struct p2ps_jobs *list); /* NULL: there is none */

void p2ps_text_copy(struct p2ps_text *out, struct entitle_view text);
struct entitle_view p2ps_text_view(const struct p2ps_text *text);

#endif
