/* fuzz_rwf_rmtes.c - any content applied to any string keeps the promises of rwf_rmtes.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "rmds/rwf_rmtes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte says how much of the rest is the stored string. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t stored_length, before_length, text_length, text_size;
    uint8_t stored[300], before[300];
    char *text;
    int err;

    if (size < 1)
        return 0;
    stored_length = data[0];
    data++;
    size--;
    if (stored_length > size)
        stored_length = size;
    memset(stored, 0, sizeof(stored));
    memcpy(stored, data, stored_length);
    memcpy(before, stored, sizeof(stored));
    before_length = stored_length;
    data += stored_length;
    size -= stored_length;

    err = rwf_rmtes_apply(stored, sizeof(stored), &stored_length, data, size);
    if (stored_length > sizeof(stored))
        abort();
    if (err != MD_OK &&
        (stored_length != before_length || memcmp(stored, before, sizeof(stored)) != 0))
        abort();
    if (err == MD_OK && !rwf_rmtes_is_partial(data, size) &&
        (stored_length != size || memcmp(stored, data, size) != 0))
        abort();

    text_size = 3 * size;
    text = malloc(text_size ? text_size : 1);
    err = rwf_rmtes_to_utf8(data, size, text, text_size, &text_length);
    if (text_length > text_size || (err != MD_OK && !rwf_rmtes_is_partial(data, size)))
        abort();
    err = rwf_rmtes_update_to_utf8(data, size, text, text_size, &text_length);
    if (text_length > text_size || (err != MD_OK && !rwf_rmtes_is_partial(data, size)))
        abort();
    /* A byte for each character, and three bytes at most for a byte. */
    err = rwf_rmtes_from_utf8(data, size, (uint8_t *)text, size, &text_length);
    if (err == MD_ERR_FULL || (err == MD_OK && text_length > size))
        abort();
    free(text);
    return 0;
}
