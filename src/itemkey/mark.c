/* mark.c - see itemkey/mark.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "itemkey/mark.h"

#include "base/cursor.h"
#include "rmds/rwf.h"
#include "rrmp/key.h"

#define STREAM_ID_END 8u /* it differs by source */

void itemkey_mark(struct rrmp_view message, struct rrmp_mark *mark)
{
    const struct rwf_bytes bytes = rwf_bytes(message.bytes, message.length);
    struct rwf_layout layout;
    size_t from = message.length < STREAM_ID_END ? message.length : STREAM_ID_END;

    *mark = (struct rrmp_mark){ 0 };
    if (rwf_layout_decode(bytes, &layout) == RWF_OK) {
        mark->has_number = layout.seq_num.at != 0;
        if (mark->has_number)
            mark->number = md_be32(message.bytes + layout.seq_num.at);
        if (layout.peek.msg_class == RWF_CLASS_REFRESH)
            from = layout.peek.payload_at;
    }
    mark->hash = rrmp_key_hash(message.bytes + from, message.length - from);
}
