/* private.h - the rules; seen by the files of src/rates only. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RATES_PRIVATE_H
#define RATES_PRIVATE_H

#include "rates/rates.h"

#define RATES_RULES_MAX 4096
#define RATES_WORD_MAX  128
#define RATES_ANY       (-1)

enum rates_kind {
    RATES_FIELDS,
    RATES_TYPES,
    RATES_INTERVAL,
    RATES_KINDS,
};

struct rates_fields {
    bool drops;                /* those that are set, else all others */
    uint64_t bits[65536 / 64]; /* by field id */
};

struct rates_rule {
    uint8_t kind; /* enum rates_kind */
    int domain;   /* or RATES_ANY */
    char service[RATES_WORD_MAX];
    char pattern[RATES_WORD_MAX];
    struct rates_fields *fields; /* NULL: all */
    struct rates_types types;
    bool has_all_types;
    uint32_t interval_ms;
};

struct rates {
    struct rates_rule *rules;
    unsigned count;
    unsigned room;
    struct rates_types exempt_types;
    struct rates_fields exempt_fields;
    bool has_exempt_fields;
};

#endif
