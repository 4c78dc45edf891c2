/* access.c - see access.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"

#include <string.h>

#define SECOND_NS 1000000000ull

static struct entitle_view view_of(struct rwf_bytes bytes)
{
    return (struct entitle_view){ (const char *)bytes.data, bytes.length };
}

static struct entitle_view view_of_text(const char *text)
{
    return (struct entitle_view){ text, strlen(text) };
}

/* ---- logins ---- */

static uint32_t sessions_of(const struct srcdist_core *core, const struct srcdist_provider *p)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < core->provider_room; i++) {
        const struct srcdist_provider *other = &core->providers[i];
        count += other->is_used && other != p && !other->must_go &&
                 other->kind == SRCDIST_NON_INTERACTIVE && other->state != SRCDIST_PROVIDER_LOGIN &&
                 strcmp(other->user, p->user) == 0;
    }
    return count;
}

static void take_limits(struct srcdist_provider *p, const struct entitle_answer *answer)
{
    p->user_items_max = answer->items_max;
    p->pace.cost_ns = answer->messages_per_s ? SECOND_NS / answer->messages_per_s : 0;
    p->pace.ahead_ns = p->pace.cost_ns * (answer->messages_burst ? answer->messages_burst - 1 : 0);
}

const char *srcdist_access_again(struct srcdist_core *core, struct srcdist_provider *p,
                                 uint8_t *code)
{
    struct entitle_answer answer = { 0 };
    const struct entitle_query query = {
        .kind = ENTITLE_LOGIN,
        .user = view_of_text(p->user),
        .password = view_of_text(p->password),
        .token = view_of_text(p->token),
        .host = view_of_text(p->name),
        .application = view_of_text(p->application),
        .position = view_of_text(p->position),
    };

    *code = RWF_CODE_NOT_ENTITLED;
    if (core->config.has_access) {
        if (!core->access)
            return "providerAccessFile cannot be used";
        if (entitle_rules_judge(core->access, &query, &answer) != ENTITLE_ALLOW)
            return "user name or password refused";
    }
    uint32_t limit = answer.mounts_max ? answer.mounts_max : core->config.user_sessions_max;
    if (limit && sessions_of(core, p) >= limit) {
        *code = RWF_CODE_EXCEEDED_MAX_MOUNTS_PER_USER;
        return "the user has as many connections as it may";
    }
    take_limits(p, &answer);
    return NULL;
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

const char *srcdist_access_login(struct srcdist_core *core, struct srcdist_provider *p,
                                 const struct omm_login_request *request, uint8_t *code)
{
    *code = RWF_CODE_NOT_ENTITLED;
    if (!keep(p->user, sizeof(p->user), request->user))
        return "the user name cannot be used";
    if (!keep(p->application, sizeof(p->application), request->application_id))
        p->application[0] = 0;
    if (!keep(p->position, sizeof(p->position), request->position))
        p->position[0] = 0;
    if (!keep(p->password, sizeof(p->password), request->password) ||
        !keep(p->token, sizeof(p->token), request->token))
        return core->config.has_access ? "user name or password refused"
                                       : srcdist_access_again(core, p, code);
    return srcdist_access_again(core, p, code);
}

bool srcdist_access_may_publish(const struct srcdist_core *core, const struct srcdist_provider *p,
                                struct rwf_bytes service)
{
    struct entitle_answer answer;
    const struct entitle_query query = {
        .kind = ENTITLE_PUBLISH,
        .user = view_of_text(p->user),
        .service = view_of(service),
        .host = view_of_text(p->name),
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

bool srcdist_pace_allows(struct srcdist_core *core, struct srcdist_provider *p)
{
    if (p->pace.cost_ns == 0 || p->pace.due_ns <= core->now_ns + p->pace.ahead_ns)
        return true;
    core->stats.messages_held += !p->pace.is_held;
    p->pace.is_held = true;
    return false;
}

void srcdist_pace_charge(const struct srcdist_core *core, struct srcdist_provider *p)
{
    uint64_t from_ns = p->pace.due_ns > core->now_ns ? p->pace.due_ns : core->now_ns;

    p->pace.due_ns = from_ns + p->pace.cost_ns;
}

#define LOOK_NS       10u    /* ten times what a look at an item takes */
#define CHANGE_NS     50000u /* p2ps has work with it, too */
#define WALK_AHEAD_NS (SECOND_NS / 5)

bool srcdist_walk_allows(struct srcdist_core *core, struct srcdist_provider *p)
{
    if (p->walks_due_ns <= core->now_ns + WALK_AHEAD_NS)
        return true;
    core->stats.messages_held += !p->pace.is_held;
    p->pace.is_held = true;
    return false;
}

void srcdist_walk_charge(const struct srcdist_core *core, struct srcdist_provider *p)
{
    uint64_t from_ns = p->walks_due_ns > core->now_ns ? p->walks_due_ns : core->now_ns;

    if (p->kind == SRCDIST_NON_INTERACTIVE)
        p->walks_due_ns = from_ns + CHANGE_NS + (uint64_t)core->item_room * LOOK_NS;
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
