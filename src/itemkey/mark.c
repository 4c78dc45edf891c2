/* mark.c - see itemkey/mark.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "itemkey/mark.h"

#include "rmds/rwf.h"
#include "rrmp/key.h"

#define STREAM_ID_END 8u /* it differs by source */

void itemkey_mark(struct rrmp_view message, struct rrmp_mark *mark)
{
    struct rwf_peek peek;
    size_t from = message.length < STREAM_ID_END ? message.length : STREAM_ID_END;

    *mark = (struct rrmp_mark){ 0 };
    int rc = rwf_peek_seq_num(rwf_bytes(message.bytes, message.length), &peek, &mark->number);
    if (rc >= 0) {
        mark->has_number = rc > 0;
        if (peek.msg_class == RWF_CLASS_REFRESH)
            from = peek.payload_at;
    }
    mark->hash = rrmp_key_hash(message.bytes + from, message.length - from);
}
