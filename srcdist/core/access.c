/* access.c - see access.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"

#include <stdio.h>
#include <string.h>

#include "audit/audit.h"
#include "base/text.h"

#define SECOND_NS 1000000000ull

static struct entitle_view view_of(struct rwf_bytes bytes)
{
    return (struct entitle_view){ (const char *)bytes.data, bytes.length };
}

/* ---- logins ---- */

/* Another session of the same user, which goes on. */
static bool is_session_of(const struct srcdist_provider *other, const struct srcdist_provider *p)
{
    return other->is_used && other != p && !other->must_go &&
           other->kind == SRCDIST_NON_INTERACTIVE && other->state != SRCDIST_PROVIDER_LOGIN &&
           strcmp(other->user, p->user) == 0;
}

static uint32_t sessions_of(const struct srcdist_core *core, const struct srcdist_provider *p)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < core->provider_room; i++)
        count += is_session_of(&core->providers[i], p);
    return count;
}

/* "10.1.0.7/net", or where the connection comes from: the text without what is behind it. */
static struct entitle_view place_of(const struct srcdist_provider *p)
{
    const char *port = strrchr(p->name, ':');

    if (p->position[0] && p->position[0] != '/')
        return (struct entitle_view){ p->position, strcspn(p->position, "/") };
    return (struct entitle_view){ p->name, port ? (size_t)(port - p->name) : strlen(p->name) };
}

static bool is_same_place(const struct srcdist_provider *a, const struct srcdist_provider *b)
{
    struct entitle_view left = place_of(a), right = place_of(b);

    return left.length == right.length && memcmp(left.data, right.data, left.length) == 0;
}

/* False: the user is at `max` other places already. */
static bool has_place(const struct srcdist_core *core, const struct srcdist_provider *p,
                      uint32_t max)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < core->provider_room; i++) {
        const struct srcdist_provider *other = &core->providers[i];
        uint32_t k = 0;

        if (!is_session_of(other, p))
            continue;
        if (is_same_place(other, p))
            return true;
        while (k < i && !(is_session_of(&core->providers[k], p) &&
                          is_same_place(&core->providers[k], other)))
            k++;
        count += k == i;
    }
    return count < max;
}

static uint64_t wall_s(const struct srcdist_core *core)
{
    return core->config.wall_s ? core->config.wall_s() : 0;
}

static bool refuse(struct srcdist_refusal *why, uint8_t code, const char *text)
{
    why->code = code;
    snprintf(why->text, sizeof(why->text), "%s", text);
    return false;
}

static void take_limits(struct srcdist_provider *p, const struct entitle_answer *answer)
{
    p->user_items_max = answer->items_max;
    p->pace.cost_ns = answer->messages_per_s ? SECOND_NS / answer->messages_per_s : 0;
    p->pace.ahead_ns = p->pace.cost_ns * (answer->messages_burst ? answer->messages_burst - 1 : 0);
}

static void take_end(struct srcdist_provider *p, const struct entitle_answer *answer,
                     const struct srcdist_proof *proof)
{
    bool is_certified = answer->is_certified || answer->by == ENTITLE_BY_CERT;

    p->ends_s = answer->user_ends_s;
    p->ends_with_certificate = is_certified && proof->certificate_ends_s &&
                               (p->ends_s == 0 || proof->certificate_ends_s < p->ends_s);
    if (p->ends_with_certificate)
        p->ends_s = proof->certificate_ends_s;
}

/* The verdict of the file on the login as it was presented. Nobody here looks at a hash=, or asks
 * an authority outside. */
static bool judge(const struct srcdist_core *core, struct srcdist_provider *p,
                  struct entitle_answer *answer, struct srcdist_refusal *why)
{
    struct srcdist_proof proof = { .certificate = "", .serial = "" };
    struct entitle_shown shown = { 0 };

    if (!core->access)
        return refuse(why, RWF_CODE_NOT_ENTITLED, "providerAccessFile cannot be used");
    if (p->link->proof)
        p->link->proof(p->self, &proof);
    if (p->token[0])
        audit_sum(p->token, strlen(p->token), shown.sum);
    if (p->token[0] && !shown.sum[0])
        return refuse(why, RWF_CODE_NOT_ENTITLED, "nobody can look at the token now");
    const struct entitle_query query = {
        .kind = ENTITLE_LOGIN,
        .user = entitle_text(p->user),
        .password = entitle_text(p->password),
        .token = entitle_text(p->token),
        .host = entitle_text(p->name),
        .application = entitle_text(p->application),
        .position = entitle_text(p->position),
        .certificate = entitle_text(proof.certificate),
        .serial = entitle_text(proof.serial),
        .shown = p->token[0] ? &shown : NULL,
        .now_s = wall_s(core),
        .is_plain = !proof.is_encrypted,
        .is_alone = true,
    };
    enum entitle_verdict verdict = entitle_rules_judge(core->access, &query, answer);
    if (verdict == ENTITLE_PENDING)
        return refuse(why, RWF_CODE_NOT_ENTITLED, "user name or password refused");
    if (verdict != ENTITLE_ALLOW)
        return refuse(why,
                      answer->reason == ENTITLE_APPLICATION
                          ? RWF_CODE_DACS_USER_ACCESS_TO_APP_DENIED
                      : answer->reason == ENTITLE_POSITION ? RWF_CODE_DACS_MAX_LOGINS_REACHED
                                                           : RWF_CODE_NOT_ENTITLED,
                      answer->text);
    take_end(p, answer, &proof);
    return true;
}

bool srcdist_access_again(struct srcdist_core *core, struct srcdist_provider *p,
                          struct srcdist_refusal *why)
{
    struct entitle_answer answer = { 0 };

    *why = (struct srcdist_refusal){ 0 };
    if (core->config.has_access && !judge(core, p, &answer, why))
        return false;
    uint32_t mounts = answer.mounts_max ? answer.mounts_max : core->config.user_sessions_max;
    bool is_new = p->state == SRCDIST_PROVIDER_LOGIN;
    why->is_for_now = true;
    if (is_new && mounts && sessions_of(core, p) >= mounts)
        return refuse(why, RWF_CODE_EXCEEDED_MAX_MOUNTS_PER_USER,
                      "the user has as many connections as it may");
    if (is_new && answer.positions_max && !has_place(core, p, answer.positions_max))
        return refuse(why, RWF_CODE_DACS_MAX_LOGINS_REACHED,
                      "the user is at as many positions as it may be");
    take_limits(p, &answer);
    return true;
}

/* False: it is too long to be kept, and no file has one that long. */
static bool keep(char *out, size_t size, struct rwf_bytes text)
{
    if (text.length >= size)
        return false;
    if (text.length)
        memcpy(out, text.data, text.length);
    out[text.length] = 0;
    return memchr(out, 0, text.length) == NULL;
}

bool srcdist_access_login(struct srcdist_core *core, struct srcdist_provider *p,
                          const struct omm_login_request *request, struct srcdist_refusal *why)
{
    *why = (struct srcdist_refusal){ 0 };
    if (!keep(p->user, sizeof(p->user), request->user) ||
        !md_text_is_plain(p->user, strlen(p->user))) {
        p->user[0] = 0; /* no line of the log has it */
        return refuse(why, RWF_CODE_USAGE_ERROR,
                      "the user name has more than 255 bytes, has control characters, or is no "
                      "UTF-8");
    }
    if (!keep(p->application, sizeof(p->application), request->application_id))
        p->application[0] = 0;
    if (!keep(p->position, sizeof(p->position), request->position))
        p->position[0] = 0;
    if ((!keep(p->password, sizeof(p->password), request->password) ||
         !keep(p->token, sizeof(p->token), request->token)) &&
        core->config.has_access)
        return refuse(why, RWF_CODE_NOT_ENTITLED, "user name or password refused");
    return srcdist_access_again(core, p, why);
}

bool srcdist_access_has_expired(const struct srcdist_core *core, const struct srcdist_provider *p,
                                struct srcdist_refusal *why)
{
    uint64_t now_s = p->ends_s ? wall_s(core) : 0;
    unsigned second = (unsigned)(p->ends_s % 86400);

    if (p->ends_s == 0 || (now_s && now_s < p->ends_s))
        return false;
    *why = (struct srcdist_refusal){ .code = RWF_CODE_NOT_ENTITLED };
    snprintf(why->text, sizeof(why->text), "the %s expired at %02u:%02u:%02uZ%s",
             p->ends_with_certificate ? "certificate" : "user", second / 3600, second / 60 % 60,
             second % 60, p->ends_with_certificate ? "; log in again" : "");
    return true;
}

bool srcdist_access_may_publish(const struct srcdist_core *core, const struct srcdist_provider *p,
                                struct rwf_bytes service)
{
    struct entitle_answer answer;
    const struct entitle_query query = {
        .kind = ENTITLE_PUBLISH,
        .user = entitle_text(p->user),
        .service = view_of(service),
        .host = entitle_text(p->name),
    };

    if (!core->config.has_access)
        return true;
    return core->access && entitle_rules_judge(core->access, &query, &answer) == ENTITLE_ALLOW;
}

/* ---- a publisher that has come again ---- */

static bool is_same_host(const char *a, const char *b)
{
    const char *port = strrchr(a, ':');
    size_t length = port ? (size_t)(port - a) : strlen(a);

    return strncmp(a, b, length) == 0 && (port ? strrchr(b, ':') == b + length : b[length] == 0);
}

/*
 * A name alone proves nobody: at another host the user must have presented the same secret. Of two
 * sessions that live the newer one keeps the item, or it would go to and fro.
 */
bool srcdist_access_replaces(const struct srcdist_core *core, const struct srcdist_provider *newer,
                             const struct srcdist_provider *older)
{
    bool has_secret = newer->password[0] || newer->token[0];

    if (older->kind != SRCDIST_NON_INTERACTIVE || newer->kind != SRCDIST_NON_INTERACTIVE ||
        (int32_t)(newer->serial - older->serial) <= 0 || strcmp(newer->user, older->user) != 0)
        return false;
    if (is_same_host(newer->name, older->name))
        return true;
    return core->config.has_access && has_secret && strcmp(newer->password, older->password) == 0 &&
           strcmp(newer->token, older->token) == 0;
}

/* ---- limits ---- */

/* False: it has to wait until then, for more than the while that it may be ahead. */
static bool is_due(struct srcdist_core *core, struct srcdist_provider *p, uint64_t due_ns,
                   uint64_t ahead_ns)
{
    if (due_ns <= core->now_ns + ahead_ns)
        return true;
    core->stats.messages_held += !p->pace.is_held;
    p->pace.is_held = true;
    return false;
}

static void charge(const struct srcdist_core *core, uint64_t *due_ns, uint64_t cost_ns)
{
    *due_ns = (*due_ns > core->now_ns ? *due_ns : core->now_ns) + cost_ns;
}

bool srcdist_pace_allows(struct srcdist_core *core, struct srcdist_provider *p)
{
    return p->pace.cost_ns == 0 || is_due(core, p, p->pace.due_ns, p->pace.ahead_ns);
}

void srcdist_pace_charge(const struct srcdist_core *core, struct srcdist_provider *p)
{
    charge(core, &p->pace.due_ns, p->pace.cost_ns);
}

#define LOOK_NS       10u    /* ten times what a look at an item takes */
#define CHANGE_NS     50000u /* p2ps has work with it, too */
#define WALK_AHEAD_NS (SECOND_NS / 5)

bool srcdist_walk_allows(struct srcdist_core *core, struct srcdist_provider *p)
{
    return is_due(core, p, p->walks_due_ns, WALK_AHEAD_NS);
}

void srcdist_walk_charge(const struct srcdist_core *core, struct srcdist_provider *p)
{
    if (p->kind == SRCDIST_NON_INTERACTIVE)
        charge(core, &p->walks_due_ns, CHANGE_NS + (uint64_t)core->item_room * LOOK_NS);
}

bool srcdist_access_item_moves(const struct srcdist_core *core, const struct srcdist_provider *p)
{
    return !core->config.provider_items_max || p->item_count < core->config.provider_items_max;
}

bool srcdist_access_item_fits(const struct srcdist_core *core, const struct srcdist_provider *p)
{
    uint64_t of_user = 0;

    if (!srcdist_access_item_moves(core, p))
        return false;
    for (uint32_t i = 0; p->user_items_max && i < core->provider_room; i++) {
        const struct srcdist_provider *other = &core->providers[i];
        if (other->is_used && other->kind == SRCDIST_NON_INTERACTIVE &&
            strcmp(other->user, p->user) == 0)
            of_user += other->item_count;
    }
    return !p->user_items_max || of_user < p->user_items_max;
}
