/* job.c - see job.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"

#include <stdlib.h>
#include <string.h>

void p2ps_job_append(struct p2ps_jobs *list, struct p2ps_job *job)
{
    job->next = NULL;
    if (!list->first)
        list->end = &list->first;
    *list->end = job;
    list->end = &job->next;
}

struct p2ps_job *p2ps_job_next(struct p2ps_jobs *list)
{
    struct p2ps_job *job = list->first;

    if (job)
        list->first = job->next;
    return job;
}

void p2ps_job_forget(struct p2ps_job *job)
{
    free(job->result);
    explicit_bzero(job, sizeof(*job) + job->token_length);
    free(job);
}

void p2ps_text_copy(struct p2ps_text *out, struct entitle_view text)
{
    out->length = text.length < sizeof(out->bytes) ? text.length : sizeof(out->bytes);
    if (out->length)
        memcpy(out->bytes, text.data, out->length);
}

struct entitle_view p2ps_text_view(const struct p2ps_text *text)
{
    return (struct entitle_view){ text->bytes, text->length };
}

struct p2ps_job *p2ps_job_create(const struct entitle_query *query,
                                 const struct entitle_answer *answer, struct entitle_view user,
                                 const char *sum)
{
    size_t token_length = sum ? 0 : query->token.length;
    struct p2ps_job *job = calloc(1, sizeof(*job) + token_length);

    if (!job)
        return NULL;
    if (!sum) {
        job->result = calloc(1, sizeof(*job->result));
        if (!job->result) {
            free(job);
            return NULL;
        }
        job->token_length = token_length;
        memcpy(job->token, query->token.data, token_length);
    }
    job->is_decoy = answer->is_decoy;
    job->answer = *answer;
    job->answer.hash = (struct entitle_view){ NULL, 0 };
    job->answer.file = NULL; /* these rules may be gone before the answer is taken */
    job->answer.line = 0;
    job->has_token_user = query->user.length == 0;
    if (sum) {
        memcpy(job->password, query->password.data, query->password.length);
        memcpy(job->hash, answer->hash.data, answer->hash.length);
        memcpy(job->sum, sum, sizeof(job->sum));
    }
    p2ps_text_copy(&job->user, user);
    p2ps_text_copy(&job->host, query->host);
    p2ps_text_copy(&job->application, query->application);
    p2ps_text_copy(&job->position, query->position);
    p2ps_text_copy(&job->certificate, query->certificate);
    p2ps_text_copy(&job->serial, query->serial);
    job->needs_certificate = query->needs_certificate;
    job->is_plain = query->is_plain;
    job->is_shown = query->shown != NULL;
    if (query->shown)
        job->shown = *query->shown;
    return job;
}

struct entitle_query p2ps_job_query(const struct p2ps_job *job)
{
    return (struct entitle_query){
        .user = p2ps_text_view(&job->user),
        .host = p2ps_text_view(&job->host),
        .application = p2ps_text_view(&job->application),
        .position = p2ps_text_view(&job->position),
        .certificate = p2ps_text_view(&job->certificate),
        .serial = p2ps_text_view(&job->serial),
        .needs_certificate = job->needs_certificate,
        .is_plain = job->is_plain,
        .shown = job->is_shown ? &job->shown : NULL,
    };
}
