/* generic.c - generic messages from the source to the streams of clients. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "generic.h"
#include "ask.h"
#include "base/err.h"
#include "client.h"
#include "entitle.h"
#include "entries.h"
#include "record.h"
#include "status.h"
#include "trail.h"
#include "watch.h"

/* A generic message that the client's protocol cannot say, or with fields that it may not see: the
 * values of the item stay good. */
static void tell_left_out(struct p2ps_core *core, uint32_t item, uint32_t watch, bool is_cut)
{
    const struct rwf_state state =
        omm_state(RWF_STREAM_OPEN, core->items[item].data_state, RWF_CODE_NONE,
                  is_cut ? "A generic message of this item is left out: not all fields of the "
                           "item may be seen"
                         : "A generic message of this item is left out: it cannot be converted");

    core->stats.decode_errors++;
    p2ps_watch_status(core, item, watch, &state);
}

/* Permission data of the message itself, then those of its entries, are for this message alone. No
 * image says later what it said, so without a verdict it is not delivered. False: it is withheld.
 */
static bool judge(struct p2ps_core *core, uint32_t watch, bool is_judged, struct rwf_bytes perm,
                  struct p2ps_record *record)
{
    const struct p2ps_watch *w = &core->items[record->item].watches[watch];

    if (is_judged && p2ps_ask_hears(core, record->item, w, perm) != ENTITLE_ALLOW) {
        p2ps_trail_withheld(core, record->item, w, perm);
        return false;
    }
    return !p2ps_entries_are_locked(core, record) ||
           p2ps_entries_cut(core, record->item, watch, record);
}

/* Generic messages keep their own key and are never conflated or filtered. */
void p2ps_generic_deliver(struct p2ps_core *core, const struct rrmp_sink_event *event)
{
    struct p2ps_record record;
    struct rwf_bytes perm;

    core->stats.generic_in++;
    if (!p2ps_record_start(core, event, &record))
        return;
    bool is_judged = p2ps_entitle_update(core, &record, &perm);
    struct p2ps_made made = {
        .bytes = record.message.data,
        .length = record.message.length,
        .is_vital = true,
        .is_rwf = true,
    };
    struct p2ps_item *it = &core->items[record.item];
    for (uint32_t i = 0; i < it->watch_count; i++) {
        struct p2ps_watch *w = &it->watches[i];
        if (!p2ps_watch_takes(w, event->to))
            continue;
        struct p2ps_record own = record;
        if (!judge(core, i, is_judged, perm, &own)) {
            core->stats.updates_withheld++;
            continue;
        }
        made.bytes = own.message.data;
        made.length = own.message.length;
        struct p2ps_client *c = &core->clients[w->client];
        bool is_cut = core->forms[w->form].is_cut && record.peek.payload_length > 0;
        int err =
            is_cut ? MD_ERR_MALFORMED : c->front->put(c->self, &made, w->stream_id, false, false);
        if (err == MD_ERR_MALFORMED) {
            tell_left_out(core, record.item, i, is_cut);
            continue;
        }
        if (err != MD_OK) {
            p2ps_client_doom(core, w->client); /* it may not be dropped, and cannot be kept */
            continue;
        }
        core->stats.generic_out++;
        p2ps_client_touch(core, w->client);
    }
}
