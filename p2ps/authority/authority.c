/* authority.c - see authority.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "authority.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "away.h"
#include "base/err.h"
#include "base/table.h"
#include "line.h"
#include "output.h"
#include "put.h"
#include "slots.h"
#include "state.h"

#define PING_NS  (5 * SECOND_NS)
#define QUIET_NS (15 * SECOND_NS) /* three pings */
#define HELLO_NS (5 * SECOND_NS)

/* ---- answers ---- */

bool p2ps_authority_answer(struct p2ps_authority *a, unsigned asker,
                           struct p2ps_authority_answer *out)
{
    struct list *list = &a->answered[asker];
    uint32_t at = list->first;

    if (at == NONE)
        return false;
    *out = a->slots[at].answer;
    authority_take_out(a, list, at);
    authority_append(a, &a->free, at);
    return true;
}

uint64_t p2ps_authority_answered(struct p2ps_authority *a)
{
    uint64_t bits = a->answered_bits;

    a->answered_bits = 0;
    return bits;
}

const char *p2ps_authority_unusable(struct p2ps_authority *a, char user[ENTITLE_TEXT_MAX])
{
    const char *why = a->unusable;

    a->unusable = NULL;
    authority_copy(user, authority_view(a->unusable_user));
    return why;
}

/* ---- questions ---- */

static void fill(const struct p2ps_authority_question *question, uint64_t ticket,
                 struct p2ps_authority_answer *out)
{
    *out = (struct p2ps_authority_answer){
        .ticket = ticket,
        .is_renewal = question->is_renewal,
        .has_token = question->token.length > 0,
        .needs_certificate = question->needs_certificate,
        .is_plain = question->is_plain,
        .is_reissue = question->is_reissue,
        .name_type = question->name_type,
        .now_s = question->now_s,
    };
    authority_copy(out->user, question->user);
    authority_copy(out->host, question->host);
    authority_copy(out->application, question->application);
    authority_copy(out->application_name, question->application_name);
    authority_copy(out->position, question->position);
    authority_copy(out->certificate, question->certificate);
    authority_copy(out->number, question->number);
    out->has_shown = question->shown != NULL;
    if (question->shown)
        out->shown = *question->shown;
    authority_copy(out->session, question->session);
}

/* A notice forgets nothing by itself: what is found is compared with the notices since. */
static bool remembers(struct p2ps_authority *a, uint64_t now_ns, const char *sum,
                      struct p2ps_authority_answer *out)
{
    struct p2ps_authority_answer found = *out;
    char text[ENTITLE_TEXT_MAX];

    if (authority_is_over(a, now_ns) ||
        !p2ps_authority_memory_find(&a->memory, now_ns, sum, &found) ||
        p2ps_authority_look(a, authority_view(found.user), found.serial, text) !=
            P2PS_AUTHORITY_FINE)
        return false;
    *out = found;
    out->serial = a->serial;
    p2ps_authority_memory_renew(&a->memory, sum, a->serial);
    a->stats.cached++;
    return true;
}

static bool is_too_long(const struct p2ps_authority_question *question)
{
    return question->password.length > P2PS_AUTHORITY_TOKEN ||
           question->token.length > P2PS_AUTHORITY_TOKEN ||
           question->user.length >= ENTITLE_TEXT_MAX;
}

/* There is no room for it, or nobody to ask. */
static enum p2ps_authority_verdict nobody_asks(struct p2ps_authority *a,
                                               const struct p2ps_authority_question *question)
{
    bool is_up = p2ps_authority_is_up(a);

    a->stats.busy += is_up;
    a->owes_recall |= question->is_renewal;
    return is_up ? P2PS_AUTHORITY_BUSY : P2PS_AUTHORITY_DOWN;
}

enum p2ps_authority_verdict p2ps_authority_ask(struct p2ps_authority *a, uint64_t now_ns,
                                               const struct p2ps_authority_question *question,
                                               unsigned asker, uint64_t ticket,
                                               struct p2ps_authority_answer *out)
{
    char sum[AUDIT_SUM_SIZE] = "";
    uint32_t at = a->free.first;

    fill(question, ticket, out);
    out->serial = a->serial;
    if (is_too_long(question)) {
        authority_copy(out->text, authority_view("the user name, password or token is too long"));
        return out->verdict = P2PS_AUTHORITY_DENY;
    }
    if (!question->is_renewal)
        p2ps_authority_memory_sum(a->config.secret, question, sum);
    if (remembers(a, now_ns, sum, out))
        return out->verdict = P2PS_AUTHORITY_ALLOW;
    if (at == NONE)
        return out->verdict = nobody_asks(a, question);
    struct slot *slot = &a->slots[at];
    *slot = (struct slot){ .next = slot->next,
                           .before = slot->before,
                           .asker = asker,
                           .has_name = question->user.length > 0,
                           .answer = *out };
    memcpy(slot->sum, sum, sizeof(slot->sum));
    switch (authority_put(a, now_ns, question, at)) {
    case AUTHORITY_IS_PUT:
        return out->verdict = P2PS_AUTHORITY_ASKED;
    case AUTHORITY_IS_FULL:
        break;
    case AUTHORITY_IS_NO_TEXT:
        authority_copy(out->text, authority_view(AUTHORITY_NO_TEXT));
        return out->verdict = P2PS_AUTHORITY_DENY;
    }
    return out->verdict = nobody_asks(a, question);
}

/* ---- the connection, and time ---- */

void p2ps_authority_open(struct p2ps_authority *a, uint64_t now_ns)
{
    struct authority_out out;

    a->is_open = true;
    a->opened_ns = a->heard_ns = now_ns;
    a->ping_ns = now_ns + PING_NS;
    out = authority_begin(a);
    authority_out_text(&out, "hello", authority_view("openrmds-access"));
    authority_out_number(&out, "version", 1);
    authority_out_text(&out, "instance", authority_view(a->config.instance));
    if (a->serial || a->owes_recall)
        authority_out_word(&out, "renews", "true");
    authority_finish(a, &out);
}

void p2ps_authority_close(struct p2ps_authority *a, uint64_t now_ns)
{
    a->stats.lost += a->is_open;
    a->is_open = a->is_greeted = a->is_silent = false;
    a->input_used = 0;
    explicit_bzero(a->output, a->output_used);
    a->output_used = a->output_sent = 0;
    a->stats.ends_lost += a->ends_waiting;
    a->ends_waiting = a->ends_untold = 0; /* the next hello says that renewals follow */
    while (a->waiting.first != NONE)
        authority_nobody_says(a, &a->waiting, a->waiting.first);
    authority_turned(a, now_ns);
}

static uint64_t earlier(uint64_t x, uint64_t y)
{
    return x < y ? x : y;
}

uint64_t p2ps_authority_deadline(const struct p2ps_authority *a)
{
    uint64_t due_ns = UINT64_MAX;

    if (a->waiting.first != NONE)
        due_ns = a->slots[a->waiting.first].due_ns;
    if (a->held.first != NONE)
        due_ns = earlier(due_ns, a->slots[a->held.first].due_ns);
    if (!a->was_up && !a->has_closed && a->config.grace_ns)
        due_ns = earlier(due_ns, a->down_since_ns + a->config.grace_ns);
    if (!a->is_open)
        return due_ns;
    if (!a->is_greeted)
        return earlier(due_ns, a->opened_ns + HELLO_NS);
    return earlier(due_ns, earlier(a->ping_ns, a->heard_ns + QUIET_NS));
}

const char *p2ps_authority_tick(struct p2ps_authority *a, uint64_t now_ns)
{
    while (a->waiting.first != NONE && a->slots[a->waiting.first].due_ns <= now_ns) {
        a->is_silent |= a->slots[a->waiting.first].asked_ns >= a->heard_ns;
        a->stats.timeouts++;
        authority_nobody_says(a, &a->waiting, a->waiting.first);
    }
    authority_held_tick(a, now_ns);
    authority_turned(a, now_ns);
    if (!a->is_open)
        return NULL;
    if (!a->is_greeted)
        return now_ns >= a->opened_ns + HELLO_NS ? "it has not said hello in 5 s" : NULL;
    if (now_ns >= a->heard_ns + QUIET_NS)
        return "it has said nothing for 15 s";
    authority_tell_lost(a);
    if (now_ns >= a->ping_ns) {
        struct authority_out out = authority_begin(a);
        authority_out_number(&out, "ping", ++a->pings);
        authority_finish(a, &out);
        a->ping_ns = now_ns + PING_NS;
    }
    return NULL;
}

/* ---- notices ---- */

void p2ps_authority_owe(struct p2ps_authority *a)
{
    a->owes_recall = true;
}

enum p2ps_authority_look p2ps_authority_look(const struct p2ps_authority *a,
                                             struct entitle_view user, uint64_t serial,
                                             char text[ENTITLE_TEXT_MAX])
{
    uint64_t hash = md_hash_bytes(user.data, user.length);
    enum p2ps_authority_look found = P2PS_AUTHORITY_FINE;

    if (a->serial - serial > NOTICES_MAX)
        return P2PS_AUTHORITY_AGAIN;
    for (uint64_t i = serial + 1; i <= a->serial; i++) {
        const struct notice *notice = &a->notices[i % NOTICES_MAX];

        if (!notice->is_all && (notice->hash != hash || !authority_is(user, notice->user)))
            continue;
        found = P2PS_AUTHORITY_AGAIN;
        if (!notice->is_logout)
            continue;
        authority_copy(text, authority_view(notice->text));
        return P2PS_AUTHORITY_OUT;
    }
    return found;
}

void p2ps_authority_stats(const struct p2ps_authority *a, struct p2ps_authority_stats *out)
{
    *out = a->stats;
}

/* ---- life ---- */

int p2ps_authority_create(const struct p2ps_authority_config *config, struct p2ps_authority **out)
{
    struct p2ps_authority *a = calloc(1, sizeof(*a));

    *out = NULL;
    if (!a)
        return MD_ERR_NOMEM;
    a->config = *config;
    a->down_since_ns = config->now_ns;
    a->slots = calloc(config->window, sizeof(*a->slots));
    a->output = malloc(OUTPUT_MAX);
    a->secrets = config->holds ? malloc(SECRETS_MAX) : NULL;
    if (!a->slots || !a->output || (config->holds && !a->secrets) ||
        p2ps_authority_memory_init(&a->memory) != MD_OK) {
        p2ps_authority_destroy(a);
        return MD_ERR_NOMEM;
    }
    a->free = a->waiting = a->held = (struct list){ NONE, NONE };
    for (unsigned i = 0; i < P2PS_AUTHORITY_ASKERS; i++)
        a->answered[i] = (struct list){ NONE, NONE };
    for (uint32_t i = 0; i < config->window; i++)
        authority_append(a, &a->free, i);
    *out = a;
    return MD_OK;
}

void p2ps_authority_destroy(struct p2ps_authority *a)
{
    if (!a)
        return;
    if (a->output)
        explicit_bzero(a->output, a->output_used);
    if (a->secrets && a->secrets_from != a->secrets_to)
        explicit_bzero(a->secrets, SECRETS_MAX);
    p2ps_authority_memory_fini(&a->memory);
    free(a->secrets);
    free(a->output);
    free(a->slots);
    explicit_bzero(a->config.secret, sizeof(a->config.secret));
    free(a);
}
