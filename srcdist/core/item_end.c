/* item_end.c - the ends of items. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "item_end.h"

#include "ask.h"
#include "delayed.h"
#include "item.h"
#include "rate.h"
#include "replay.h"
#include "request_data.h"
#include "resume.h"
#include "upstream.h"

void srcdist_item_forget(struct srcdist_core *core, uint32_t item)
{
    struct srcdist_item *it = srcdist_item_at(core, item);

    if (!it)
        return;
    if (it->is_private)
        srcdist_request_data_give(core, item);
    if (it->had_asks)
        srcdist_asks_of_gone(core, item);
    srcdist_item_detach(core, item, true);
    srcdist_delay_ended(core, item, RWF_STREAM_CLOSED_RECOVER, RWF_CODE_NONE);
    srcdist_item_set_active(core, it, false);
    srcdist_rate_forget(core, item);
    srcdist_resume_forget(core, item);
    srcdist_replay_forget(core, item);
    cache_image_free(core->cache, it->image);
    srcdist_item_set_state(core, it, SRCDIST_ITEM_FREE);
    *it = (struct srcdist_item){ .provider = SRCDIST_NONE };
}

void srcdist_item_end(struct srcdist_core *core, uint32_t item, uint8_t scope, uint8_t code,
                      const char *text)
{
    struct rrmp_source_item info;
    struct rwf_encoder enc;
    struct omm_status status = {
        .state = omm_state(scope == RRMP_REFUSE_LATER ? RWF_STREAM_OPEN : RWF_STREAM_CLOSED,
                           RWF_DATA_SUSPECT, code, text),
    };
    struct rrmp_ending ending = {
        .state = rwf_state_byte(status.state.stream_state, RWF_DATA_SUSPECT),
        .code = code,
        .scope = scope,
        .wait_ms = scope == RRMP_REFUSE_LATER ? 1000 : 0,
        .text = srcdist_view(status.state.text),
    };

    if (rrmp_source_item_info(core->source, item, &info) && info.key.length)
        status.domain = info.key.bytes[0];
    srcdist_item_forget(core, item);
    srcdist_encoder(core, &enc);
    if (omm_status_encode(&enc, &status) == RWF_OK)
        ending.message = srcdist_view(rwf_encoder_bytes(&enc));
    rrmp_source_item_close(core->source, core->now_ns, item, &ending);
}

void srcdist_item_end_private(struct srcdist_core *core, uint32_t item)
{
    struct rrmp_ending ending = {
        .state = rwf_state_byte(RWF_STREAM_CLOSED_RECOVER, RWF_DATA_SUSPECT),
        .code = RWF_CODE_NONE,
        .scope = RRMP_REFUSE_FINAL,
        .text = srcdist_view(rwf_text("The connection to the source was lost")),
    };

    srcdist_item_forget(core, item);
    rrmp_source_item_close(core->source, core->now_ns, item, &ending);
}
