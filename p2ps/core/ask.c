/* ask.c - questions to the authority about items and posts. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "ask.h"

#include <string.h>

#include "base/cursor.h"
#include "client.h"
#include "dry.h"
#include "entitle.h"
#include "item.h"
#include "network.h"
#include "trail.h"

/* Of a question whose answer nobody waits for. */
#define NO_TICKET ((uint64_t)P2PS_TICKET_ITEM | 0xffffu)

static struct entitle_view view_of(struct rwf_bytes bytes)
{
    return (struct entitle_view){ (const char *)bytes.data, bytes.length };
}

struct rwf_bytes p2ps_ask_perm_data(const struct p2ps_item *it)
{
    return it->perm_data ? rwf_bytes(it->perm_data + 2, md_be16(it->perm_data)) : rwf_text("");
}

bool p2ps_ask_query(struct p2ps_core *core, uint32_t item, const struct p2ps_watch *w,
                    struct entitle_query *query)
{
    const struct p2ps_item *it = &core->items[item];
    const struct p2ps_client *c = p2ps_client_at(core, w->client);
    const struct rrmp_view service = p2ps_service_name(core, it->service);
    struct rwf_key key;
    struct rwf_qos qos;

    if (service.length == 0 || !p2ps_item_key(core, item, &key, &qos))
        return false;
    *query = (struct entitle_query){
        .kind = ENTITLE_ITEM,
        .domain = it->domain,
        .is_private = (w->flags & P2PS_WATCH_PRIVATE) != 0,
        .user = entitle_text(c->user),
        .roles = { c->roles, c->roles ? strlen(c->roles) : 0 },
        .host = entitle_text(c->address),
        .service = { (const char *)service.bytes, service.length },
        .item = view_of(key.name),
        .permission_data = view_of(p2ps_ask_perm_data(it)),
        .is_lock_known = it->is_lock_known,
    };
    return true;
}

static void ask(struct p2ps_core *core, const struct entitle_query *query, uint64_t ticket,
                struct entitle_answer *answer)
{
    *answer = (struct entitle_answer){ 0 };
    answer->verdict =
        core->config.authority.ask(core->config.authority.self, query, ticket, answer);
    p2ps_work_spend_rules(core, answer->rules_seen);
    core->needs_locks |= answer->needs_lock || answer->wants_lock;
}

enum entitle_verdict p2ps_ask(struct p2ps_core *core, const struct entitle_query *query,
                              uint64_t ticket, struct entitle_answer *answer)
{
    ask(core, query, ticket, answer);
    if (core->config.rules.is_dry_run)
        p2ps_dry_item(core, query, answer);
    p2ps_trail_decided(core, answer);
    return answer->verdict;
}

enum entitle_verdict p2ps_ask_hears(struct p2ps_core *core, uint32_t item,
                                    const struct p2ps_watch *w, struct rwf_bytes perm)
{
    struct entitle_answer answer;
    struct entitle_query query;

    if (!perm.data || !p2ps_ask_query(core, item, w, &query))
        return ENTITLE_DENY;
    query.permission_data = view_of(perm);
    query.is_lock_known = true;
    ask(core, &query, NO_TICKET, &answer);
    p2ps_trail_undecided(core); /* the record of what is withheld names no rule */
    if (answer.verdict != ENTITLE_DENY || !core->config.rules.is_dry_run)
        return answer.verdict;
    core->stats.dry_run_denied++;
    p2ps_trail_withheld(core, item, w, perm);
    return ENTITLE_ALLOW;
}

bool p2ps_ask_post(struct p2ps_core *core, uint32_t client, uint16_t service, uint8_t domain,
                   struct rwf_bytes name, struct rwf_bytes perm, uint8_t used,
                   struct entitle_answer *answer)
{
    const struct p2ps_client *c = p2ps_client_at(core, client);
    const struct rrmp_view of = p2ps_service_name(core, service);

    if (of.length == 0)
        return false;
    const struct entitle_query query = {
        .kind = ENTITLE_POST,
        .domain = domain,
        .user = entitle_text(c->user),
        .roles = { c->roles, c->roles ? strlen(c->roles) : 0 },
        .host = entitle_text(c->address),
        .service = { (const char *)of.bytes, of.length },
        .item = view_of(name),
        .permission_data = view_of(perm),
    };
    ask(core, &query, NO_TICKET, answer);
    if (core->config.rules.is_dry_run)
        p2ps_dry_post(core, &query, used, answer);
    p2ps_trail_decided(core, answer);
    return answer->verdict == ENTITLE_ALLOW;
}
