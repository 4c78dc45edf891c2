/* kinds.h - items of every kind of data: -kinds. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SDS_KINDS_H
#define SDS_KINDS_H

#include "sds.h"

/*
 * The items have fixed names that end in ".K", each on its domain. What an item holds follows from
 * the number of its steps alone, so the same steps give the same bytes; its image is what folding
 * all updates into the first image gives.
 */

/* An item of one kind, at some step of its. */
struct kind_state {
    unsigned arg; /* which of several items of the kind: link record, segment, ... */
    uint32_t step;
    double posted_bid, posted_ask; /* contributions: what was posted last, 0: nothing */
    char posted_by[32];
};

struct kind {
    /* The name; of several items of one kind the number stands between the two, `digits` wide. */
    const char *name, *suffix;
    const char *what; /* for the list of them */
    uint8_t domain, container;
    int digits; /* 0: there is one item */
    unsigned first, count;
    /* The whole container, as of state->step. */
    void (*image)(const struct kind_state *state, struct rwf_encoder *enc);
    /* From state->step - 1 to state->step; the type of the update. NULL: it never changes. */
    uint8_t (*update)(const struct kind_state *state, struct rwf_encoder *enc);
    /* A post was accepted into the state. NULL: posts are acknowledged and have no effect. */
    bool (*post)(struct kind_state *state, struct rwf_bytes fields);
};

/* An item that somebody has asked for; it stays until the program ends, as all items do. */
struct kind_slot {
    struct kind_slot *next;
    const struct kind *kind;
    struct item *item;
    struct kind_state state;
    bool is_due; /* it was posted to */
};

enum { KINDS_PAYLOAD_MAX = 16384 };

struct kinds {
    struct sds *sds;
    struct kind_slot *slots;
    struct md_loop_timer *timer, *post_timer;
    uint8_t payload[KINDS_PAYLOAD_MAX];
};

/* kinds_books.c: maps, vectors, series */
extern const struct kind kinds_orders, kinds_prices, kinds_makers, kinds_symbols, kinds_curve,
    kinds_sales;
/* kinds_records.c: records of fields */
extern const struct kind kinds_quote, kinds_member, kinds_chain, kinds_news, kinds_story,
    kinds_page, kinds_contribution;

/* Shorthands for fields. Prices have two decimals unless said. */
void kinds_price(struct rwf_encoder *enc, int16_t id, int64_t hundredths);
void kinds_number(struct rwf_encoder *enc, int16_t id, int64_t value);
void kinds_text(struct rwf_encoder *enc, int16_t id, const char *text);
void kinds_time(struct rwf_encoder *enc, int16_t id, uint32_t seconds); /* since midnight */
uint32_t kinds_mix(uint32_t a, uint32_t b);                             /* 32 bits of both */

#endif
