/* fuzz_rwf_splice.c - any message, any change of its header: what decoded before decodes after. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/cursor.h"
#include "rmds/rwf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool is_so)
{
    if (!is_so)
        abort();
}

/* Layout and peek look at the same bytes as the decoder. */
static void check_layout(struct rwf_bytes bytes, const struct rwf_msg *msg)
{
    struct rwf_layout layout;
    struct rwf_peek peek;
    uint32_t number = 0, of_update = 0;

    expect(rwf_layout_decode(bytes, &layout) == RWF_OK);
    expect(rwf_peek_seq_num(bytes, &peek, &number) == (layout.seq_num.at != 0));
    expect(layout.seq_num.at == 0 || number == md_be32(bytes.data + layout.seq_num.at));
    bool is_update = peek.msg_class == RWF_CLASS_UPDATE;
    int rc = rwf_peek_update_seq_num(bytes, &of_update);
    expect(is_update ? rc == (layout.seq_num.at != 0) && of_update == number : rc < 0);
    expect(layout.peek.stream_id == msg->stream_id && layout.peek.domain == msg->domain);
    expect(layout.peek.payload_length == msg->payload.length);
    if (layout.key.at != 0) {
        struct rwf_key key;

        expect(layout.key_body.at + layout.key_body.length == layout.key.at + layout.key.length);
        expect(rwf_key_decode(rwf_bytes(bytes.data + layout.key_body.at, layout.key_body.length),
                              &key) == 0);
        expect(rwf_key_equal(&key, &msg->key));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t out[1 << 17];
    static const struct rwf_key key = { .flags = RWF_KEY_HAS_SERVICE_ID | RWF_KEY_HAS_NAME,
                                        .service_id = 1000,
                                        .name = { (const uint8_t *)"IBM.N", 5 } };
    static const struct rwf_qos qos = { .timeliness = RWF_TIMELINESS_REALTIME,
                                        .rate = RWF_RATE_TIME_CONFLATED,
                                        .rate_info = 100 };
    struct rwf_splice splice = { .stream_id = 77, .service_id = 300, .key = &key, .qos = qos };
    struct rwf_msg before;
    struct rwf_msg after;
    size_t length;

    if (size < 3)
        return 0;
    splice.ops = (data[0] | (uint32_t)data[1] << 8) & ~(uint32_t)RWF_SPLICE_FLAGS;
    splice.group_id = rwf_bytes(data + 2, data[2] & 7u ? 1 : 0);
    struct rwf_bytes bytes = rwf_bytes(data + 2, size - 2);
    int decoded = rwf_msg_decode(bytes, &before);
    int rc = rwf_splice(bytes, &splice, out, sizeof(out), &length);
    if (decoded < 0) {
        return 0;
    }
    check_layout(bytes, &before);
    if (rc < 0)
        return 0;
    expect(rwf_msg_decode(rwf_bytes(out, length), &after) == RWF_OK);
    expect(rwf_bytes_equal(before.payload, after.payload));
    expect(before.msg_class == after.msg_class && before.domain == after.domain);
    if (splice.ops & RWF_SPLICE_STREAM_ID)
        expect(after.stream_id == 77);
    if (splice.ops & RWF_SPLICE_QOS && after.msg_class == RWF_CLASS_REFRESH)
        expect(after.flags & RWF_REFRESH_HAS_QOS && after.qos.rate_info == 100);

    /* No byte behind a smaller buffer is touched: ASan sees it. */
    uint8_t *small = malloc(length);
    expect(small != NULL);
    expect(rwf_splice(bytes, &splice, small, length, &length) == RWF_OK);
    free(small);
    return 0;
}
