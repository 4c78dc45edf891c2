/* private.h - the rules; seen by the files of src/rates only. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RATES_PRIVATE_H
#define RATES_PRIVATE_H

#include "rates/rates.h"

#define RATES_RULES_MAX   4096
#define RATES_WORD_MAX    128
#define RATES_SERVICE_MAX 256
#define RATES_ANY         (-1)

enum rates_kind {
    RATES_FIELDS,
    RATES_TYPES,
    RATES_INTERVAL,
    RATES_KINDS,
};

struct rates_fields {
    bool drops;     /* those that are set, else all others */
    unsigned named; /* fields in the line; `ids` has the first of them */
    int16_t ids[RATES_IDS];
    uint64_t bits[65536 / 64]; /* by field id */
};

/* Updates that are never merged. */
struct rates_exempt {
    struct rates_types types;
    struct rates_fields fields;
    bool has_fields;
};

/* Those of a service that has its own. */
struct rates_exempt_of {
    char service[RATES_SERVICE_MAX]; /* as md_conf_component() writes it */
    struct rates_exempt exempt;
};

struct rates_rule {
    uint8_t kind;      /* enum rates_kind */
    bool is_of_object; /* `service` is not a pattern, but as md_conf_component() writes it */
    int domain;        /* or RATES_ANY */
    char service[RATES_SERVICE_MAX];
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
    struct rates_exempt exempt; /* of all services that have none of their own */
    struct rates_exempt_of **others;
    unsigned other_count;
};

/* As rates_exempt(), of one service alone. */
int rates_exempt_of(struct rates *rates, const char *service, const char *types, const char *fields,
                    const struct rwf_dictionary *dictionary, rates_find_fn find, void *arg);

#endif
