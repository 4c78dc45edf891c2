/* fuzz_json_read.c - any text is messages of RWF or errors, and what comes back is JSON again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "fuzz_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fuzz_json f;
    struct json_read read;

    fuzz_json_start(&f);
    if (size > FUZZ_JSON_MAX)
        return 0;
    json_reader_start(f.reader, &f.read, rwf_bytes(data, size));
    while (json_reader_next(f.reader, &read)) {
        if (read.kind == JSON_READ_BAD)
            fuzz_json_error(&f, &read);
        else if (read.kind == JSON_READ_MESSAGE && rwf_check(RWF_TYPE_MSG, read.message, NULL) < 0)
            abort();
        else if (read.kind == JSON_READ_MESSAGE)
            fuzz_json_message(&f, read.message);
        for (size_t i = 0; read.kind == JSON_READ_BATCH && i < read.count && i < 3; i++)
            (void)json_reader_name(f.reader, i);
        for (size_t i = 0; read.kind == JSON_READ_CLOSES && i < read.count && i < 3; i++)
            (void)json_reader_id(f.reader, i);
    }
    return 0;
}
