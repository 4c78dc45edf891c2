/* fuzz_marketfeed_fields.c - any bytes as a field list: what is written is a record. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_marketfeed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte says what message it is. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t record[MF_RECORD_MAX];
    struct mf_losses losses = { 0 };
    struct mf_record decoded;
    size_t length;

    if (size < 1)
        return 0;
    const struct mf_head head = {
        .name = rwf_text("NAME"),
        .is_image = data[0] & 1,
        .no_ripple = data[0] & 2,
        .has_level = data[0] & 4,
        .update_type = data[0] >> 4,
        .level = data[0],
    };
    /* Sometimes there is not room for all of it. */
    size_t room = data[0] & 8 ? size : sizeof(record);
    if (mf_from_fields(fuzz_table(), &head, rwf_bytes(data + 1, size - 1), NULL, record, room,
                       &length, &losses) != MD_OK)
        return 0;
    if (length > room || mf_decode(rwf_bytes(record, length), MF_RECORD_MAX, &decoded) != MD_OK)
        abort();
    return 0;
}
