/* mark.c - see itemkey/mark.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "itemkey/mark.h"

#include "rmds/rwf.h"
#include "rrmp/key.h"

#define STREAM_ID_END 8u /* it differs by source */

/* Where the part begins that counts. */
static __attribute__((noinline)) size_t begin_of(struct rwf_bytes bytes, struct rrmp_mark *mark)
{
    struct rwf_peek peek;
    int rc = rwf_peek_seq_num(bytes, &peek, &mark->number);

    mark->has_number = rc > 0;
    if (rc >= 0 && peek.msg_class == RWF_CLASS_REFRESH)
        return peek.payload_at;
    return bytes.length < STREAM_ID_END ? bytes.length : STREAM_ID_END;
}

void itemkey_mark(struct rrmp_view message, struct rrmp_mark *mark)
{
    const struct rwf_bytes bytes = rwf_bytes(message.bytes, message.length);
    size_t from = STREAM_ID_END;

    mark->number = 0;
    int rc = rwf_peek_update_seq_num(bytes, &mark->number);
    if (rc >= 0)
        mark->has_number = rc > 0;
    else
        from = begin_of(bytes, mark);
    mark->hash = rrmp_key_hash(message.bytes + from, message.length - from);
}
