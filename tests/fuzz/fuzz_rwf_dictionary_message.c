/* fuzz_rwf_dictionary_message.c - any bytes as a dictionary message: read, or refused whole. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/err.h"
#include "rmds/rwf.h"
#include "rmds/rwf_dictionary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was accepted can be encoded again, and then holds the same number of things. */
static void encode_again(const struct rwf_dictionary *dictionary, enum rwf_dictionary_type type,
                         struct rwf_dictionary *again)
{
    struct rwf_dictionary_cursor cursor = { 0 };
    const size_t room = 1 << 20;
    uint8_t *buffer = malloc(room);
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, buffer, room);
    if (rwf_dictionary_encode(dictionary, type, RWF_DICTIONARY_NORMAL, &cursor, &enc) != RWF_OK ||
        rwf_dictionary_decode(again, rwf_encoder_bytes(&enc)) != RWF_OK)
        abort();
    free(buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rwf_dictionary *dictionary, *again;
    struct rwf_dictionary_summary summary;
    struct rwf_bytes payload = rwf_bytes(data, size);
    struct rwf_msg msg;

    if (rwf_msg_decode(payload, &msg) == RWF_OK && msg.msg_class == RWF_CLASS_REFRESH)
        payload = msg.payload;
    if (rwf_dictionary_create(&dictionary) != MD_OK)
        return 0;
    rwf_dictionary_summary_decode(payload, &summary);
    if (rwf_dictionary_decode(dictionary, payload) != RWF_OK) {
        if (rwf_dictionary_field_count(dictionary) || rwf_dictionary_table_count(dictionary))
            abort();
    } else if (size < 4096 && rwf_dictionary_create(&again) == MD_OK) {
        encode_again(dictionary, RWF_DICTIONARY_TYPE_FIELDS, again);
        encode_again(dictionary, RWF_DICTIONARY_TYPE_ENUMS, again);
        if (rwf_dictionary_field_count(again) != rwf_dictionary_field_count(dictionary) ||
            rwf_dictionary_table_count(again) != rwf_dictionary_table_count(dictionary))
            abort();
        rwf_dictionary_destroy(again);
    }
    rwf_dictionary_destroy(dictionary);
    return 0;
}
