/* table.c - the pairs of types between which there is a conversion. See marketfeed.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/err.h"
#include "table.h"

#define SIGNED_LENGTH 15 /* numbers of so many bytes and more have a sign */
/* Behind the 16 bits of the dictionary id. */
#define ZERO_IS_BLANK  0x10000u
#define BLANK_IS_EMPTY 0x20000u

static const struct pair {
    int8_t field_type;
    uint8_t rwf_type;
    uint8_t class;
} pairs[] = {
    { RWF_FIELD_TYPE_PRICE, RWF_TYPE_REAL, MF_CLASS_REAL },
    { RWF_FIELD_TYPE_INTEGER, RWF_TYPE_REAL, MF_CLASS_REAL },
    { RWF_FIELD_TYPE_INTEGER, RWF_TYPE_INT, MF_CLASS_INT },
    { RWF_FIELD_TYPE_INTEGER, RWF_TYPE_UINT, MF_CLASS_UINT },
    { RWF_FIELD_TYPE_INTEGER, RWF_TYPE_TIME, MF_CLASS_MS },
    { RWF_FIELD_TYPE_NUMERIC, RWF_TYPE_REAL, MF_CLASS_REAL },
    { RWF_FIELD_TYPE_NUMERIC, RWF_TYPE_INT, MF_CLASS_INT },
    { RWF_FIELD_TYPE_NUMERIC, RWF_TYPE_UINT, MF_CLASS_UINT },
    { RWF_FIELD_TYPE_NUMERIC, RWF_TYPE_TIME, MF_CLASS_MS },
    { RWF_FIELD_TYPE_ENUMERATED, RWF_TYPE_ENUM, MF_CLASS_ENUM },
    { RWF_FIELD_TYPE_DATE, RWF_TYPE_DATE, MF_CLASS_DATE },
    { RWF_FIELD_TYPE_TIME, RWF_TYPE_TIME, MF_CLASS_TIME },
    { RWF_FIELD_TYPE_TIME_SECONDS, RWF_TYPE_TIME, MF_CLASS_TIME_SECONDS },
    { RWF_FIELD_TYPE_ALPHANUMERIC, RWF_TYPE_ASCII, MF_CLASS_TEXT },
    { RWF_FIELD_TYPE_ALPHANUMERIC, RWF_TYPE_RMTES, MF_CLASS_TEXT },
    { RWF_FIELD_TYPE_ALPHANUMERIC, RWF_TYPE_BUFFER, MF_CLASS_TEXT },
    { RWF_FIELD_TYPE_LONG_ALPHANUMERIC, RWF_TYPE_ASCII, MF_CLASS_TEXT },
    { RWF_FIELD_TYPE_LONG_ALPHANUMERIC, RWF_TYPE_RMTES, MF_CLASS_TEXT },
    { RWF_FIELD_TYPE_LONG_ALPHANUMERIC, RWF_TYPE_BUFFER, MF_CLASS_TEXT },
    { RWF_FIELD_TYPE_BINARY, RWF_TYPE_UINT, MF_CLASS_BINARY },
};

static struct mf_entry entry_of(const struct rwf_field_def *field)
{
    struct mf_entry entry = { .class = MF_CLASS_NONE, .length = field->length };

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (pairs[i].field_type == field->field_type && pairs[i].rwf_type == field->rwf_type)
            entry.class = pairs[i].class;
    }
    entry.is_signed = entry.class == MF_CLASS_REAL ||
                      (entry.class < MF_CLASS_ENUM && field->length >= SIGNED_LENGTH);
    return entry;
}

int mf_table_create(const struct rwf_dictionary *dictionary, const struct mf_options *options,
                    struct mf_table **out)
{
    struct mf_table *table = calloc(1, sizeof(*table));

    *out = table;
    if (!table)
        return MD_ERR_NOMEM;
    mf_table_options_set(table, options);
    if (dictionary)
        mf_table_learn(table, dictionary);
    return MD_OK;
}

void mf_table_learn(struct mf_table *table, const struct rwf_dictionary *dictionary)
{
    const struct rwf_field_def *field;

    for (int fid = INT16_MIN - 1; (field = rwf_dictionary_next(dictionary, fid)); fid = field->fid)
        table->entries[(uint16_t)field->fid] = entry_of(field);
}

void mf_table_options_set(struct mf_table *table, const struct mf_options *options)
{
    /* Where a zero is not blank, +0 would be read as a zero. */
    bool blank_is_empty = options->blank_is_empty || !options->zero_is_blank;
    uint32_t packed = options->dictionary_id | (options->zero_is_blank ? ZERO_IS_BLANK : 0) |
                      (blank_is_empty ? BLANK_IS_EMPTY : 0);

    atomic_store_explicit(&table->options, packed, memory_order_relaxed);
}

struct mf_options mf_table_options(const struct mf_table *table)
{
    uint32_t packed = atomic_load_explicit(&table->options, memory_order_relaxed);

    return (struct mf_options){
        .zero_is_blank = (packed & ZERO_IS_BLANK) != 0,
        .blank_is_empty = (packed & BLANK_IS_EMPTY) != 0,
        .dictionary_id = (uint16_t)packed,
    };
}

void mf_table_destroy(struct mf_table *table)
{
    free(table);
}

const char *mf_reason_name(enum mf_reason reason)
{
    static const char *const names[MF_REASONS] = {
        "kept",     "unknown", "type",    "rwf",    "number", "denominator",
        "decimals", "integer", "enum",    "date",   "time",   "binary",
        "range",    "long",    "special", "digits", "cut",    "control",
    };

    return names[reason];
}
