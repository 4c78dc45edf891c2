/* fuzz_rssl_client.c - any bytes at all, from a server to our client. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rssl_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* An ack without a key, with the compression and frame size the settings name. */
    uint8_t opening[] = { 0x00, 0x16, 0x01, 0x01, 0x0a, 0x00, 0x00, 0x00, 0x00, 0x09, 0x18,
                          0x00, 0x03, 0x3c, 0x0e, 0x01, 0x00, 0x00, 0x06, 0x08, 0x00, 0x00 };

    if (size >= 2) {
        opening[17] = (data[0] & 3) % 3;
        if (data[0] & 8) {
            opening[10] = 0;
            opening[11] = 50;
        }
    }
    fuzz_both(RSSL_ROLE_CLIENT, opening, sizeof(opening), data, size);
    return 0;
}
