/* fuzz_json_write.c - any message of RWF is strict JSON, or none. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fuzz_json f;

    fuzz_json_start(&f);
    if (size <= FUZZ_JSON_MAX / 16)
        fuzz_json_message(&f, rwf_bytes(data, size));
    return 0;
}
