/* fuzz_rates.c - any text as filterFile; its rules filter what follows a NUL byte as a message. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rates/rates.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void filter(const struct rates *rates, struct rwf_bytes message)
{
    static uint8_t out[65536 + RATES_FILTER_MORE];
    struct rates_choice choice;
    struct rwf_msg msg;
    size_t length = 0;

    rates_choose(rates, rwf_text("DIRECT"), rwf_text("IBM.N"), 6, &choice);
    bool is_good = rwf_msg_decode(message, &msg) == RWF_OK;
    if (is_good)
        rates_is_exempt(rates, &msg);
    if (!choice.fields || message.length > sizeof(out) - RATES_FILTER_MORE ||
        rates_filter(choice.fields, message, out, sizeof(out), &length) == RATES_AS_IT_IS)
        return;
    if (length > sizeof(out) || (is_good && rwf_msg_decode(rwf_bytes(out, length), &msg) != RWF_OK))
        abort();
    /* The filtered message passes as it is. */
    static uint8_t again[sizeof(out)];
    if (rates_filter(choice.fields, rwf_bytes(out, length), again, sizeof(again), &length) !=
        RATES_AS_IT_IS)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    size_t length = end ? (size_t)(end - data) : size;
    struct rates *rates;

    if (rates_create((const char *)data, length, NULL, NULL, NULL, &rates) != 0)
        return 0;
    if (end)
        filter(rates, rwf_bytes(end + 1, size - length - 1));
    rates_destroy(rates);
    return 0;
}
