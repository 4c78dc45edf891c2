/* fuzz_rrmp_record.c - what decodes encodes again to the same meaning; nothing is read past the
 * end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "rrmp/key.h"
#include "rrmp/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Encode, decode, encode: the second and the first encoding must be the same bytes. */
static void round_trip(const struct rrmp_record *record)
{
    size_t size = rrmp_record_size(record);
    uint8_t *first = malloc(size);
    uint8_t *second = malloc(size);
    struct rrmp_record again;

    if (!first || !second)
        abort();
    struct md_wr wr = md_wr_init(first, size);
    rrmp_record_encode(&wr, record);
    if (!md_wr_ok(&wr) || rrmp_record_decode(first, md_wr_length(&wr), &again) != 0)
        abort();
    struct md_wr wr2 = md_wr_init(second, size);
    rrmp_record_encode(&wr2, &again);
    if (!md_wr_ok(&wr2) || md_wr_length(&wr) != md_wr_length(&wr2) ||
        memcmp(first, second, md_wr_length(&wr)) != 0)
        abort();
    free(first);
    free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rrmp_record record;
    struct rrmp_key key;

    if (rrmp_record_decode(data, size, &record) == 0)
        round_trip(&record);
    if (rrmp_key_decode(data, size, &key) == 0 && size <= RRMP_KEY_SIZE_MAX) {
        uint8_t bytes[RRMP_KEY_SIZE_MAX];
        struct md_wr wr = md_wr_init(bytes, sizeof(bytes));
        rrmp_key_encode(&wr, &key);
        if (!md_wr_ok(&wr) || md_wr_length(&wr) != size || memcmp(bytes, data, size) != 0)
            abort();
    }
    return 0;
}
