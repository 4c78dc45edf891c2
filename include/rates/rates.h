/* rates/rates.h - filterFile of src_dist: what of an item goes to the backbone, and how often. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RATES_RATES_H
#define RATES_RATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rmds/rwf.h"
#include "rmds/rwf_dictionary.h"

/*
 * Lines of text, the first that fits an item decides, for each of the three kinds by itself:
 *
 *     keep     SERVICE PATTERN DOMAIN FIELD...     only these fields (* is all)
 *     drop     SERVICE PATTERN DOMAIN FIELD...     all but these
 *     types    SERVICE PATTERN DOMAIN TYPE...      only updates of these types (* is all)
 *     interval SERVICE PATTERN DOMAIN TIME         one merged update in that time; 0 is each
 *
 * SERVICE and PATTERN (of the item's name) know * and ?, DOMAIN is a number, a name, or *. A field
 * is a number or, with a dictionary, a name; # begins a comment. keep and drop are one kind.
 */
struct rates;

/* A mistake, and its line; 0 of a line that is not in the file. */
typedef void (*rates_find_fn)(void *arg, int line, const char *text);

/* `fields` may be NULL: fields are numbers then. MD_ERR_MALFORMED: mistakes were told; *out is
 * NULL. MD_ERR_NOMEM. */
int rates_create(const char *text, size_t length, const struct rwf_dictionary *fields,
                 rates_find_fn find, void *arg, struct rates **out);
void rates_destroy(struct rates *rates); /* NULL is allowed */
/* One more line, behind all others. */
int rates_add(struct rates *rates, const char *line, const struct rwf_dictionary *fields,
              rates_find_fn find, void *arg);
/* Never merged are these update types, and updates that have one of the fields; words as above. */
int rates_exempt(struct rates *rates, const char *types, const char *fields,
                 const struct rwf_dictionary *dictionary, rates_find_fn find, void *arg);
bool rates_is_empty(const struct rates *rates);

struct rates_fields;
struct rates_exempt;

struct rates_types {
    uint64_t bits[4];
};

static inline bool rates_types_have(const struct rates_types *types, uint8_t type)
{
    return types->bits[type / 64] >> (type % 64) & 1;
}

/* The lines that hold for one item; pointers to the rules. */
struct rates_choice {
    const struct rates_fields *fields; /* NULL: all */
    const struct rates_types *types;   /* NULL: all */
    uint32_t interval_ms;              /* 0: each */
    const struct rates_exempt *exempt; /* with an interval: what is not merged */
};
void rates_choose(const struct rates *rates, struct rwf_bytes service, struct rwf_bytes name,
                  uint8_t domain, struct rates_choice *out);
/* The same fields and types. */
bool rates_choice_is_same(const struct rates_choice *a, const struct rates_choice *b);
bool rates_exempts(const struct rates_exempt *exempt, const struct rwf_msg *update);
/* The same of services that have no exempt types and fields of their own. */
bool rates_is_exempt(const struct rates *rates, const struct rwf_msg *update);

bool rates_fields_keep(const struct rates_fields *fields, int16_t id);
/* The fields that are left out, where they are few; else RATES_IDS + 1. */
#define RATES_IDS 16u
unsigned rates_fields_dropped(const struct rates_fields *fields, int16_t ids[RATES_IDS]);
/* The fields that the list loses; an RWF_ERR_: none is left out of such a list. */
int rates_fields_lost(const struct rates_fields *fields, struct rwf_bytes list,
                      struct rwf_field_cut *cut);

enum rates_verdict {
    RATES_AS_IT_IS, /* nothing to leave out, or bytes that cannot be read */
    RATES_LESS,     /* `out` has it */
    RATES_NOTHING,  /* as before, and no field is left */
};

/* The message less fields that are not kept: of a field list, or of a map of field lists. Its head
 * keeps its bytes. `out` has RATES_FILTER_MORE bytes more than the message, which is not in it. */
#define RATES_FILTER_MORE 64u
enum rates_verdict rates_filter(const struct rates_fields *fields, struct rwf_bytes message,
                                uint8_t *out, size_t size, size_t *length);

#endif
