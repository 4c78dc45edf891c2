/* put.c - see put.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "put.h"

#include "base/text.h"
#include "output.h"
#include "slots.h"

/* ---- questions that go out ---- */

static void say_if(struct authority_out *out, const char *name, struct entitle_view text)
{
    if (text.length)
        authority_out_text(out, name, text);
}

/* Attributes that others have written, and nobody is refused for. */
static void say_if_text(struct authority_out *out, const char *name, struct entitle_view text)
{
    if (md_text_is_plain(text.data, text.length))
        say_if(out, name, text);
}

static bool write_question(struct p2ps_authority *a, uint64_t id,
                           const struct p2ps_authority_question *question)
{
    struct authority_out out = authority_begin(a);

    authority_out_number(&out, "id", id);
    authority_out_text(&out, "ask", authority_view(question->is_renewal ? "renew" : "login"));
    say_if(&out, "user", question->user);
    if (question->name_type)
        authority_out_number(&out, "nameType", question->name_type);
    say_if(&out, "password", question->password);
    say_if(&out, "token", question->token);
    say_if(&out, "application", question->application);
    say_if_text(&out, "applicationName", question->application_name);
    say_if(&out, "position", question->position);
    say_if(&out, "address", question->host);
    authority_out_word(&out, "tls", question->is_plain ? "false" : "true");
    say_if_text(&out, "certificate", question->certificate);
    if (question->is_reissue)
        authority_out_word(&out, "reissue", "true");
    say_if(&out, "session", question->session);
    return authority_finish(a, &out);
}

/* Odd numbers are logins, even ones renewals: an answer that comes late still says what it is. */
static uint64_t next_id(struct p2ps_authority *a, bool is_renewal, uint32_t at)
{
    a->questions += a->questions % 2 == is_renewal ? 1 : 2;
    return a->questions << 16 | at;
}

static bool has_room(const struct p2ps_authority *a)
{
    return OUTPUT_MAX - (a->output_used - a->output_sent) >= P2PS_AUTHORITY_LINE_MAX;
}

/* The slot is in that list. */
static enum authority_put send_question(struct p2ps_authority *a, uint64_t now_ns,
                                        const struct p2ps_authority_question *question,
                                        struct list *list, uint32_t at)
{
    struct slot *slot = &a->slots[at];

    if (!has_room(a))
        return AUTHORITY_IS_FULL;
    uint64_t id = next_id(a, question->is_renewal, at);
    if (!write_question(a, id, question))
        return AUTHORITY_IS_NO_TEXT;
    authority_take_out(a, list, at);
    slot->id = id;
    slot->asked_ns = now_ns;
    slot->due_ns = now_ns + a->config.timeout_ns;
    authority_append(a, &a->waiting, at);
    a->stats.asked++;
    return AUTHORITY_IS_PUT;
}

/* ---- logins that are held ---- */

/* Room for so many bytes in one piece; NULL: there is none. */
static char *take_secrets(struct p2ps_authority *a, size_t length)
{
    size_t at = a->secrets_to % SECRETS_MAX;
    size_t skipped = at + length > SECRETS_MAX ? SECRETS_MAX - at : 0;

    if (a->secrets_to + skipped + length - a->secrets_from > SECRETS_MAX)
        return NULL;
    a->secrets_to += skipped + length;
    return a->secrets + (a->secrets_to - length) % SECRETS_MAX;
}

static enum authority_put hold(struct p2ps_authority *a, uint64_t now_ns,
                               const struct p2ps_authority_question *question, uint32_t at)
{
    struct slot *slot = &a->slots[at];
    size_t length = question->password.length + question->token.length;
    char *secrets = take_secrets(a, length);

    if (!secrets)
        return AUTHORITY_IS_FULL;
    slot->secret_at = a->secrets_to - length;
    slot->password_length = (uint32_t)question->password.length;
    slot->token_length = (uint32_t)question->token.length;
    if (slot->password_length)
        memcpy(secrets, question->password.data, slot->password_length);
    if (slot->token_length)
        memcpy(secrets + slot->password_length, question->token.data, slot->token_length);
    slot->due_ns = now_ns + a->config.timeout_ns;
    authority_take_out(a, &a->free, at);
    authority_append(a, &a->held, at);
    a->stats.held++;
    return AUTHORITY_IS_PUT;
}

/* Of the slot that was held for the longest time. */
static void forget_secrets(struct p2ps_authority *a, const struct slot *slot)
{
    size_t length = slot->password_length + slot->token_length;

    explicit_bzero(a->secrets + slot->secret_at % SECRETS_MAX, length);
    a->secrets_from = slot->secret_at + length;
}

static struct p2ps_authority_question question_of(const struct p2ps_authority *a,
                                                  const struct slot *slot)
{
    const struct p2ps_authority_answer *asked = &slot->answer;
    const char *secrets = a->secrets + slot->secret_at % SECRETS_MAX;

    return (struct p2ps_authority_question){
        .user = authority_view(asked->user),
        .password = { secrets, slot->password_length },
        .token = { secrets + slot->password_length, slot->token_length },
        .host = authority_view(asked->host),
        .application = authority_view(asked->application),
        .application_name = authority_view(asked->application_name),
        .position = authority_view(asked->position),
        .certificate = authority_view(asked->certificate),
        .is_plain = asked->is_plain,
        .is_reissue = asked->is_reissue,
        .name_type = asked->name_type,
    };
}

/* The first one; false: it has to wait. */
static bool ask_held(struct p2ps_authority *a, uint64_t now_ns)
{
    uint32_t at = a->held.first;
    struct slot *slot = &a->slots[at];
    const struct p2ps_authority_question question = question_of(a, slot);
    enum authority_put put = send_question(a, now_ns, &question, &a->held, at);

    if (put == AUTHORITY_IS_FULL)
        return false;
    forget_secrets(a, slot);
    if (put == AUTHORITY_IS_PUT)
        return true;
    slot->answer.verdict = P2PS_AUTHORITY_DENY;
    authority_copy(slot->answer.text, authority_view(AUTHORITY_NO_TEXT));
    authority_answer_slot(a, &a->held, at);
    return true;
}

void authority_held_ask(struct p2ps_authority *a, uint64_t now_ns)
{
    while (p2ps_authority_is_up(a) && a->held.first != NONE && ask_held(a, now_ns))
        ;
}

void authority_held_tick(struct p2ps_authority *a, uint64_t now_ns)
{
    authority_held_ask(a, now_ns);
    while (a->held.first != NONE && a->slots[a->held.first].due_ns <= now_ns) {
        forget_secrets(a, &a->slots[a->held.first]);
        authority_nobody_says(a, &a->held, a->held.first);
    }
}

/* ---- both ---- */

/* Nobody overtakes logins that are held. */
enum authority_put authority_put(struct p2ps_authority *a, uint64_t now_ns,
                                 const struct p2ps_authority_question *question, uint32_t at)
{
    bool is_up = p2ps_authority_is_up(a);
    bool waits = a->config.holds && !question->is_renewal && (!is_up || a->held.first != NONE);
    enum authority_put put = AUTHORITY_IS_FULL;

    if (waits)
        put = hold(a, now_ns, question, at);
    else if (is_up)
        put = send_question(a, now_ns, question, &a->free, at);
    a->stats.waiting += put == AUTHORITY_IS_PUT;
    return put;
}
