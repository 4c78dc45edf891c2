/* fuzz_marketfeed.h - a table with fields of every class, their ids small numbers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUZZ_MARKETFEED_H
#define FUZZ_MARKETFEED_H

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "marketfeed/marketfeed.h"

static const char fuzz_fields[] = "A \"\" 1 NULL PRICE 17 REAL64 7\n"
                                  "B \"\" 2 NULL INTEGER 15 REAL64 7\n"
                                  "C \"\" 3 NULL INTEGER 15 INT64 8\n"
                                  "D \"\" 4 NULL INTEGER 20 UINT64 8\n"
                                  "E \"\" 5 NULL INTEGER 5 UINT64 2\n"
                                  "F \"\" 6 NULL INTEGER 15 TIME 5\n"
                                  "G \"\" 7 NULL ENUMERATED 5 ( 3 ) ENUM 2\n"
                                  "H \"\" 8 NULL DATE 11 DATE 4\n"
                                  "I \"\" 9 NULL TIME 5 TIME 5\n"
                                  "J \"\" 10 NULL TIME_SECONDS 8 TIME 5\n"
                                  "K \"\" 11 NULL ALPHANUMERIC 40 RMTES_STRING 40\n"
                                  "L \"\" 12 NULL BINARY 4 UINT64 4\n"
                                  "M \"\" 13 NULL NONE 0 DOUBLE 8\n"
                                  "N \"\" -1 NULL LONG_ALPHANUMERIC 300 ASCII_STRING 300\n";

static inline const struct mf_table *fuzz_table(void)
{
    static struct mf_table *table;
    struct rwf_dictionary *dictionary;
    struct rwf_dictionary_error error;

    if (table)
        return table;
    if (rwf_dictionary_create(&dictionary) != MD_OK ||
        rwf_dictionary_load_fields(dictionary, "f", fuzz_fields, strlen(fuzz_fields), &error) !=
            MD_OK ||
        mf_table_create(dictionary, &MF_OPTIONS_DEFAULT, &table) != MD_OK)
        abort();
    rwf_dictionary_destroy(dictionary);
    return table;
}

#endif
