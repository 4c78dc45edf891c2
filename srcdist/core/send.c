/* send.c - see send.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "send.h"

#include <string.h>

#include "base/err.h"
#include "replay.h"

int srcdist_update_send(struct srcdist_core *core, uint32_t item, struct rwf_bytes message)
{
    uint8_t *room;
    int err = rrmp_source_publish_begin(core->source, item, RRMP_UPDATE, message.length, &room);

    if (err == MD_ERR_STATE) {
        srcdist_replay_pass(core, item, RRMP_UPDATE, message);
        return MD_OK;
    }
    if (err != MD_OK) {
        core->stats.backbone_refused++;
        return err;
    }
    memcpy(room, message.data, message.length);
    rwf_patch_stream_id(room, 0);
    rrmp_source_publish_commit(core->source, message.length);
    core->stats.updates_out++;
    srcdist_replay_pass(core, item, RRMP_UPDATE, message);
    return MD_OK;
}
