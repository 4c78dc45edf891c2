/* status.c - telling streams their state. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "private.h"

struct rwf_state p2ps_state(uint8_t stream, uint8_t data, uint8_t code, const char *text)
{
    return (struct rwf_state){
        .stream_state = stream,
        .data_state = data,
        .code = code,
        .text = rwf_text(text),
    };
}

void p2ps_status_send(struct p2ps_core *core, uint32_t client, int32_t stream_id, uint8_t domain,
                      uint16_t flags, const struct rwf_state *state)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    struct omm_status status = {
        .stream_id = stream_id,
        .domain = domain,
        .flags = flags,
        .state = *state,
    };

    if (c->front->status(c->self, &status) != MD_OK) {
        p2ps_client_doom(core, client); /* nobody would tell it later */
        return;
    }
    core->stats.status_out++;
    p2ps_client_touch(core, client);
}

bool p2ps_state_ends(const struct rwf_state *state)
{
    return state->stream_state == RWF_STREAM_CLOSED ||
           state->stream_state == RWF_STREAM_CLOSED_RECOVER ||
           state->stream_state == RWF_STREAM_REDIRECTED;
}

/* What this client may be told: without SingleOpen or suspect data a stream is given up instead. */
static struct rwf_state for_client(const struct p2ps_client *c, const struct rwf_state *state)
{
    struct rwf_state told = *state;

    if (state->stream_state == RWF_STREAM_OPEN && state->data_state == RWF_DATA_SUSPECT &&
        (!c->single_open || !c->allow_suspect))
        told.stream_state = RWF_STREAM_CLOSED_RECOVER;
    return told;
}

bool p2ps_watch_status(struct p2ps_core *core, uint32_t item, uint32_t watch,
                       const struct rwf_state *state)
{
    struct p2ps_item *it = &core->items[item];
    struct p2ps_watch *w = &it->watches[watch];
    struct p2ps_client *c = p2ps_client_at(core, w->client);
    struct rwf_key key;
    struct rwf_qos qos;
    struct omm_status status = {
        .stream_id = w->stream_id,
        .domain = it->domain,
        .flags = w->flags & P2PS_WATCH_PRIVATE ? RWF_STATUS_PRIVATE_STREAM : 0,
        .state = for_client(c, state),
    };
    bool ends = p2ps_state_ends(&status.state);

    if (p2ps_item_key(core, item, &key, &qos))
        status.key = &key;
    if (c->front->status(c->self, &status) != MD_OK) {
        p2ps_watch_owe(core, w, P2PS_WATCH_OWED_STATUS);
        if (!ends)
            return false;
        /* The stream ends and there is no room to say so: only cutting the connection is honest. */
        p2ps_client_doom(core, w->client);
    } else {
        core->stats.status_out++;
        p2ps_client_touch(core, w->client);
    }
    if (ends)
        p2ps_item_watch_remove(core, item, watch);
    return ends;
}

void p2ps_item_state(struct p2ps_core *core, uint32_t item, const struct rwf_state *state)
{
    struct p2ps_item *it = &core->items[item];

    it->stream_state = state->stream_state & 0x1fu;
    if (state->data_state != RWF_DATA_NO_CHANGE)
        it->data_state = state->data_state & 7u;
    it->code = state->code;
    /* Backwards, since a watch that ends is replaced by the last one, which has been told. */
    for (uint32_t i = it->watch_count; i-- > 0;) {
        bool was_last = core->items[item].watch_count == 1;

        if (it->watches[i].state == P2PS_WATCH_ASKS && !p2ps_state_ends(state))
            continue;
        bool has_ended = p2ps_watch_status(core, item, i, state);
        if (has_ended && was_last)
            return; /* the item is gone */
        if (!has_ended)
            p2ps_watch_fine(core, item, i);
        it = &core->items[item];
    }
}
