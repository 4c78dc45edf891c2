/* fuzz_marketfeed.c - any bytes as a record: what is taken becomes a field list that can be read,
 * that list a record which is taken, and from then on both are the same again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_marketfeed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct rwf_msg convert(const struct mf_table *table, struct rwf_bytes record, uint8_t *out,
                              size_t size)
{
    struct mf_losses losses = { 0 };
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_UPDATE,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .container = MF_CONTAINER,
        .payload = record,
    };

    rwf_encoder_init(&enc, out, size);
    if (mf_to_message(table, &msg, &enc, &losses, NULL) < 0)
        msg.payload = rwf_bytes(NULL, 0);
    else if (rwf_msg_decode(rwf_encoder_bytes(&enc), &msg) != RWF_OK || msg.payload.length == 0)
        abort();
    return msg;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t first[1 << 19];
    static uint8_t second[1 << 19];
    static uint8_t record[MF_RECORD_MAX];
    const struct mf_table *table = fuzz_table();
    struct mf_losses losses = { 0 };
    struct mf_record decoded;
    struct mf_head head;
    size_t length;

    if (mf_decode(rwf_bytes(data, size), MF_RECORD_MAX, &decoded) != MD_OK)
        return 0;
    struct rwf_msg msg = convert(table, rwf_bytes(data, size), first, sizeof(first));
    if (msg.payload.length == 0)
        return 0; /* a field longer than RWF has */
    if (mf_head_of(&msg, decoded.name, &head) != MD_OK)
        abort();
    if (mf_from_fields(table, &head, msg.payload, NULL, record, sizeof(record), &length, &losses) !=
        MD_OK)
        return 0; /* longer than a record */
    if (mf_decode(rwf_bytes(record, length), MF_RECORD_MAX, &decoded) != MD_OK)
        abort();
    for (unsigned i = 0; i < MF_REASONS; i++) {
        if (losses.by_reason[i] > 0)
            return 0; /* texts longer than the dictionary says, and the like */
    }
    static uint8_t same[MF_RECORD_MAX];
    size_t same_length;
    struct rwf_msg again = convert(table, rwf_bytes(record, length), second, sizeof(second));
    if (mf_from_fields(table, &head, again.payload, NULL, same, sizeof(same), &same_length,
                       &losses) != MD_OK ||
        !rwf_bytes_equal(rwf_bytes(same, same_length), rwf_bytes(record, length)))
        abort();
    return 0;
}
