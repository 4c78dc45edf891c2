/* dry.c - see dry.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dry.h"

#include <string.h>

#include "trail.h"

static void note(struct p2ps_core *core, const struct entitle_query *query, const char *why,
                 const struct entitle_answer *answer)
{
    core->stats.dry_run_denied++;
    p2ps_trail_dry(core, query, why, answer);
}

void p2ps_dry_note(struct p2ps_core *core, const struct entitle_query *query, const char *why)
{
    note(core, query, why, &(struct entitle_answer){ .verdict = ENTITLE_DENY });
}

void p2ps_dry_item(struct p2ps_core *core, const struct entitle_query *query,
                   struct entitle_answer *answer)
{
    if (answer->verdict == ENTITLE_DENY)
        note(core, query, answer->text, answer);
    else if (answer->verdict == ENTITLE_ALLOW && answer->has_fields)
        note(core, query, "not all fields of the item may be seen", answer);
    else
        return;
    answer->verdict = ENTITLE_ALLOW;
    answer->has_fields = false;
}

void p2ps_dry_post(struct p2ps_core *core, const struct entitle_query *query, uint8_t used,
                   struct entitle_answer *answer)
{
    if (answer->verdict == ENTITLE_DENY)
        note(core, query, answer->text, answer);
    else if (answer->verdict == ENTITLE_ALLOW && answer->post_denied & used)
        note(core, query, "not entitled to the user rights of the post", answer);
    if (answer->verdict != ENTITLE_PENDING)
        answer->verdict = ENTITLE_ALLOW;
    answer->post_denied = 0;
}

bool p2ps_dry_login(struct p2ps_core *core, uint32_t client, struct entitle_answer *answer)
{
    const struct p2ps_client *c = &core->clients[client];
    const struct entitle_query query = {
        .kind = ENTITLE_LOGIN,
        .user = entitle_text(c->user),
        .host = entitle_text(c->address),
        .application = entitle_text(c->application_id),
        .position = entitle_text(c->position),
    };

    if (!core->config.rules.is_dry_run || !answer->is_by_name || c->user[0] == '\0')
        return false;
    note(core, &query, answer->text, answer);
    *answer = (struct entitle_answer){ .verdict = ENTITLE_ALLOW, .may_post = true };
    return true;
}
