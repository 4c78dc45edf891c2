/* hear.c - what an authority says: its hello, answers, notices. See authority.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "away.h"
#include "base/hist.h"
#include "base/table.h"
#include "line.h"
#include "put.h"
#include "slots.h"
#include "state.h"

static enum entitle_reason reason_of(struct entitle_view code)
{
    static const struct {
        const char *name;
        enum entitle_reason reason;
    } codes[] = { { "USER_UNKNOWN", ENTITLE_UNKNOWN },
                  { "MAX_LOGINS", ENTITLE_MOUNTS },
                  { "APPLICATION", ENTITLE_APPLICATION },
                  { "DOWN", ENTITLE_DOWN } };

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (code.length == strlen(codes[i].name) &&
            memcmp(code.data, codes[i].name, code.length) == 0)
            return codes[i].reason;
    }
    return ENTITLE_OTHER;
}

static struct entitle_view text_of(const struct authority_line *line, const char *name)
{
    const struct authority_member *member = authority_line_find(line, name, AUTHORITY_TEXT);

    return member ? member->text : (struct entitle_view){ "", 0 };
}

static bool number_of(const struct authority_line *line, const char *name, uint32_t *out)
{
    const struct authority_member *member = authority_line_find(line, name, AUTHORITY_NUMBER);

    if (member)
        *out = member->number < UINT32_MAX ? (uint32_t)member->number : UINT32_MAX;
    return member != NULL;
}

/* NULL, or why nobody can be let in by this answer. */
static const char *take_user(const struct slot *slot, const struct authority_line *line,
                             struct p2ps_authority_answer *out)
{
    struct entitle_view user = text_of(line, "user");

    if (slot->has_name)
        return user.length == 0 || authority_is(user, out->user)
                   ? NULL
                   : "it allowed a login of one user, and named another";
    if (user.length == 0 || user.length >= ENTITLE_TEXT_MAX || authority_has_control(user))
        return "it allowed a token, and named no user of 1 to 127 bytes without control characters";
    authority_copy(out->user, user);
    return NULL;
}

/* A known member of another kind makes the answer unusable; null counts as absent. */
static const char *find_odd_kind(const struct authority_line *line)
{
    static const struct {
        const char *name;
        enum authority_kind kind;
        const char *why;
    } members[] = {
        { "user", AUTHORITY_TEXT, "the user that it named is no text" },
        { "roles", AUTHORITY_LIST, "the roles that it named are no list of texts" },
        { "grants", AUTHORITY_OBJECT, "the grants that it named are no object of texts" },
        { "mounts", AUTHORITY_NUMBER, "the mounts that it named are no whole number" },
        { "ttl", AUTHORITY_NUMBER, "the ttl that it named is no whole number" },
        { "session", AUTHORITY_TEXT, "the session that it named is no text" },
        { "expires", AUTHORITY_NUMBER, "the end that it named is no whole number" },
    };

    for (unsigned i = 0; i < line->count; i++) {
        const struct authority_member *member = &line->members[i];

        for (size_t k = 0; k < sizeof(members) / sizeof(members[0]); k++) {
            if (authority_is(member->name, members[k].name) && member->kind != members[k].kind &&
                !(member->kind == AUTHORITY_WORD && authority_is(member->text, "null")))
                return members[k].why;
        }
    }
    return NULL;
}

/* Roles, and behind them what it grants besides; NULL, or why nobody can be let in with them. */
static const char *take_given(const struct authority_line *line, struct p2ps_authority_answer *out)
{
    const struct authority_member *roles = authority_line_find(line, "roles", AUTHORITY_LIST);
    const struct authority_member *grants = authority_line_find(line, "grants", AUTHORITY_OBJECT);
    size_t used = roles ? roles->text.length : 0;

    if (roles && authority_has_control(roles->text))
        return "a role that it named has control characters";
    if (grants && grants->is_odd)
        return "a grant that it named has control characters";
    if (used >= P2PS_AUTHORITY_ROLES)
        return "it named more than 255 bytes of roles for one user";
    if (grants && grants->text.length >= P2PS_AUTHORITY_GRANTS)
        return "it named more than 1023 bytes of grants for one user";
    if (used)
        memcpy(out->roles, roles->text.data, used);
    if (grants && grants->text.length) {
        out->roles[used++] = '\n';
        memcpy(out->roles + used, grants->text.data, grants->text.length);
        used += grants->text.length;
    }
    out->roles[used] = 0;
    return NULL;
}

static bool is_session(struct entitle_view text)
{
    return text.length > 0 && text.length < ENTITLE_TEXT_MAX && !authority_has_control(text);
}

/* A renewal goes on under the name that it had, unless it gets another one. */
static const char *take_session(const struct authority_line *line,
                                struct p2ps_authority_answer *out)
{
    struct entitle_view session = text_of(line, "session");

    if (session.length == 0 || authority_is(session, out->session)) {
        out->session[0] = 0;
        return NULL;
    }
    if (!is_session(session))
        return "the session that it named has more than 127 bytes, or control characters";
    authority_copy(out->session, session);
    return NULL;
}

/* It counts a session that nobody has: its answer came late, or could not be used. */
static void give_up(struct p2ps_authority *a, const struct authority_line *line, const char *why)
{
    struct entitle_view session = text_of(line, "session");

    if (is_session(session))
        p2ps_authority_end(a, session, authority_view(why));
}

/* NULL, or why the session would be over when it begins. */
static const char *take_end(const struct authority_line *line, struct p2ps_authority_answer *out)
{
    const struct authority_member *end = authority_line_find(line, "expires", AUTHORITY_NUMBER);

    out->expires_s = end ? end->number : 0;
    return end && end->number <= out->now_s ? "it allowed a login that had expired" : NULL;
}

static const char *take_allow(struct p2ps_authority *a, uint64_t now_ns, const struct slot *slot,
                              const struct authority_line *line, struct p2ps_authority_answer *out)
{
    const char *why = find_odd_kind(line);
    uint32_t ttl = 0;

    if (!why)
        why = take_user(slot, line, out);
    if (!why)
        why = take_given(line, out);
    if (!why)
        why = take_session(line, out);
    if (!why)
        why = take_end(line, out);
    if (why)
        return why;
    out->verdict = P2PS_AUTHORITY_ALLOW;
    out->has_mounts = number_of(line, "mounts", &out->mounts);
    number_of(line, "ttl", &ttl);
    if (!out->is_renewal) /* else it may not know the notices since it was asked */
        out->serial = a->serial;
    if (ttl)
        p2ps_authority_memory_keep(&a->memory, now_ns + (ttl > 86400 ? 86400 : ttl) * SECOND_NS,
                                   slot->sum, out);
    a->stats.allowed++;
    return NULL;
}

/* The answer is wrong for this login alone: it is refused, and all others go on. */
static void refuse(struct p2ps_authority *a, struct p2ps_authority_answer *answer, const char *why)
{
    answer->verdict = P2PS_AUTHORITY_DENY;
    answer->reason = ENTITLE_OTHER;
    authority_copy(answer->text,
                   authority_view("the permission system gave an answer that cannot be used"));
    a->stats.unusable++;
    a->unusable = why;
    authority_copy(a->unusable_user, authority_view(answer->user));
}

static const char *take_answer(struct p2ps_authority *a, uint64_t now_ns, uint64_t id,
                               const struct authority_line *line)
{
    uint32_t at = (uint32_t)(id & 0xffff);
    struct entitle_view verdict = text_of(line, "verdict");

    if (id >> 16 == 0 || id >> 16 > a->questions || at >= a->config.window)
        return "it answers a question that was not asked";
    struct slot *slot = &a->slots[at];
    if (slot->id != id) {
        a->stats.late++;
        if (id >> 16 & 1 && authority_is(verdict, "allow"))
            give_up(a, line, "the answer came late");
        return NULL;
    }
    if (a->took_us)
        md_hist_record_many(a->took_us, (now_ns - slot->asked_ns) / 1000, 1);
    if (authority_is(verdict, "allow")) {
        struct p2ps_authority_answer out = slot->answer;
        const char *why = take_allow(a, now_ns, slot, line, &out);
        if (!why)
            slot->answer = out;
        else if (!out.is_renewal)
            give_up(a, line, "the answer could not be used");
        if (why)
            refuse(a, &slot->answer, why);
    } else if (authority_is(verdict, "deny")) {
        struct entitle_view text = text_of(line, "text");
        slot->answer.verdict = P2PS_AUTHORITY_DENY;
        slot->answer.reason = reason_of(text_of(line, "code"));
        authority_copy(slot->answer.text, text.length && !authority_has_control(text)
                                              ? text
                                              : authority_view("the authority refuses the login"));
        a->stats.denied++;
    } else {
        return "its verdict is neither allow nor deny";
    }
    authority_answer_slot(a, &a->waiting, at);
    return NULL;
}

static void note(struct p2ps_authority *a, struct entitle_view user, bool is_logout,
                 struct entitle_view text)
{
    struct notice *notice = &a->notices[++a->serial % NOTICES_MAX];

    *notice = (struct notice){
        .serial = a->serial,
        .hash = md_hash_bytes(user.data, user.length),
        .is_logout = is_logout,
        .is_all = authority_is(user, "*"),
    };
    authority_copy(notice->user, user);
    authority_copy(notice->text, text.length && !authority_has_control(text)
                                     ? text
                                     : authority_view("the authority has ended the session"));
    a->recalls = true;
}

static const char *take_notice(struct p2ps_authority *a, const struct authority_line *line)
{
    struct entitle_view event = text_of(line, "event"), user = text_of(line, "user");

    if (!authority_is(event, "logout") && !authority_is(event, "again"))
        return NULL; /* of a later version */
    if (user.length == 0 || user.length >= ENTITLE_TEXT_MAX)
        return "its notice names no user";
    a->stats.notices++;
    note(a, user, authority_is(event, "logout"), text_of(line, "text"));
    return NULL;
}

static const char *take_hello(struct p2ps_authority *a, const struct authority_line *line)
{
    uint32_t version = 0;

    if (!authority_is(text_of(line, "hello"), "openrmds-access"))
        return "its first line is no hello of openrmds-access";
    if (!number_of(line, "version", &version) || version != 1)
        return "it speaks another version than 1";
    a->is_greeted = true;
    note(a, authority_view("*"), false,
         authority_view("")); /* what it had to say meanwhile, nobody heard */
    return NULL;
}

static const char *take_line(struct p2ps_authority *a, uint64_t now_ns, char *bytes, size_t length)
{
    struct authority_line line;
    const char *why = authority_line_read(bytes, length, &line);
    const struct authority_member *id = NULL;

    if (why)
        return why;
    if (!a->is_greeted)
        return take_hello(a, &line);
    id = authority_line_find(&line, "id", AUTHORITY_NUMBER);
    if (id)
        return take_answer(a, now_ns, id->number, &line);
    if (authority_line_find(&line, "event", AUTHORITY_TEXT))
        return take_notice(a, &line);
    return authority_line_find(&line, "pong", AUTHORITY_NUMBER)
               ? NULL
               : "it is neither an answer, nor a notice, nor a pong";
}

void p2ps_authority_took_set(struct p2ps_authority *a, struct md_hist *took_us)
{
    a->took_us = took_us;
}

static void hear(struct p2ps_authority *a, uint64_t now_ns)
{
    a->heard_ns = now_ns;
    a->is_silent = false;
}

const char *p2ps_authority_input(struct p2ps_authority *a, uint64_t now_ns, const char *bytes,
                                 size_t length)
{
    const char *why = NULL;

    hear(a, now_ns);
    while (length > 0 && !why) {
        const char *newline = memchr(bytes, '\n', length);
        size_t part = newline ? (size_t)(newline - bytes) : length;

        if (part > sizeof(a->input) - a->input_used) {
            why = "a line is longer than 64 KiB";
            break;
        }
        memcpy(a->input + a->input_used, bytes, part);
        a->input_used += part;
        if (newline) {
            why = a->input_used ? take_line(a, now_ns, a->input, a->input_used) : NULL;
            a->input_used = 0;
            part++;
        }
        bytes += part;
        length -= part;
    }
    if (!why)
        authority_held_ask(a, now_ns);
    authority_turned(a, now_ns);
    a->stats.bad += why != NULL;
    return why;
}
