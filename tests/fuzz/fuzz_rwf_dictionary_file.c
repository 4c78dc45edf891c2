/* fuzz_rwf_dictionary_file.c - any text is loaded, or refused with a sentence and no trace. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "rmds/rwf_dictionary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct rwf_dictionary *dictionary)
{
    const struct rwf_field_def *field = NULL;
    int fid = INT16_MIN - 1;
    uint32_t count = 0;

    while ((field = rwf_dictionary_next(dictionary, fid))) {
        fid = field->fid;
        count++;
        if (!rwf_dictionary_field_named(dictionary, field->name, field->name_length))
            abort();
    }
    if (count != rwf_dictionary_field_count(dictionary))
        abort();
    for (uint32_t i = 0; i < rwf_dictionary_table_count(dictionary); i++) {
        const struct rwf_enum_table *table = rwf_dictionary_table(dictionary, i);

        for (uint32_t j = 0; j < table->value_count; j++)
            if (rwf_enum_find(table, table->values[j].value) != &table->values[j])
                abort();
    }
}

/* A byte FF parts the field dictionary from the enumerated types. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *part = size ? memchr(data, 0xff, size) : NULL;
    size_t length = part ? (size_t)(part - data) : size;
    struct rwf_dictionary *dictionary;
    struct rwf_dictionary_error error;

    if (rwf_dictionary_create(&dictionary) != MD_OK)
        return 0;
    if (rwf_dictionary_load_fields(dictionary, "f", data, length, &error) != MD_OK &&
        (error.text[0] == '\0' || rwf_dictionary_field_count(dictionary) != 0))
        abort();
    if (part &&
        rwf_dictionary_load_enums(dictionary, "e", part + 1, size - length - 1, &error) != MD_OK &&
        (error.text[0] == '\0' || rwf_dictionary_table_count(dictionary) != 0))
        abort();
    /* Only what was loaded: walking all ids is slow, and most inputs are refused. */
    if (rwf_dictionary_field_count(dictionary) > 0 || rwf_dictionary_table_count(dictionary) > 0)
        check(dictionary);
    rwf_dictionary_destroy(dictionary);
    return 0;
}
