/* kinds_books.c - maps, vectors, series: order books, symbol lists, curves, time and sales. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "kinds.h"

enum {
    PROD_PERM = 1,
    DSPLY_NAME = 3,
    TRDPRC_1 = 6,
    CURRENCY = 15,
    BID = 22,
    ASK = 25,
    YIELD = 35,
    MATUR_DATE = 68,
    TRDVOL_1 = 178,
    MKT_MKR_ID = 212,
    SALTIM = 379,
    ORDER_PRC = 3427,
    ORDER_SIDE = 3428,
    ORDER_SIZE = 3429,
    NO_ORD = 3430,

    SIDE_BID = 1,
    SIDE_ASK = 2,
    USD = 840,
    MORNING = 9 * 3600,
    ORDERS = 6,  /* in the first image */
    LEVELS = 10, /* five of each side */
    MAKERS = 4,
    SYMBOLS = 6,
    TENORS = 8,
    SALES = 8, /* rows in an image */
    SUMMARY_MAX = 128,
};

/* A map of field lists by text keys; `name`: of its summary, NULL: without one, as an update is. */
static void map_start(struct rwf_encoder *enc, const char *name)
{
    uint8_t bytes[SUMMARY_MAX];
    struct rwf_encoder summary;
    struct rwf_map_info info = { .key_type = RWF_TYPE_ASCII, .container = RWF_TYPE_FIELD_LIST };

    if (name) {
        rwf_encoder_init(&summary, bytes, sizeof(bytes));
        rwf_field_list_start(&summary, NULL);
        rwf_field_add_uint(&summary, PROD_PERM, 62);
        kinds_text(&summary, DSPLY_NAME, name);
        rwf_field_add_enum(&summary, CURRENCY, USD);
        rwf_field_list_finish(&summary);
        info.flags = RWF_MAP_HAS_SUMMARY;
        info.summary = rwf_encoder_bytes(&summary);
    }
    rwf_map_start(enc, &info);
}

static void entry_start(struct rwf_encoder *enc, unsigned action, const char *key)
{
    const struct rwf_map_entry entry = { .action = (uint8_t)action, .key = rwf_text(key) };

    rwf_map_entry_start(enc, &entry);
    rwf_field_list_start(enc, NULL);
}

static void entry_finish(struct rwf_encoder *enc)
{
    rwf_field_list_finish(enc);
    rwf_map_entry_finish(enc);
}

static void entry_delete(struct rwf_encoder *enc, const char *key)
{
    const struct rwf_map_entry entry = { .action = RWF_MAP_DELETE, .key = rwf_text(key) };

    rwf_map_add(enc, &entry);
}

/* ---- a book by order: of three steps one adds an order, one changes one, one deletes one ---- */

/* Order n was changed at step 3 (n - 3) + 2. */
static bool is_changed(unsigned n, uint32_t step)
{
    return n >= 3 && step >= 3 * (n - 3) + 2;
}

static void order_key(unsigned n, char key[16])
{
    snprintf(key, 16, "%06u", 100001 + n);
}

static int64_t order_size(unsigned n, uint32_t step)
{
    return 100 * (1 + kinds_mix(n, is_changed(n, step)) % 30);
}

static void order_add(struct rwf_encoder *enc, unsigned n, uint32_t step)
{
    char key[16];
    bool is_bid = n % 2 == 0;

    order_key(n, key);
    entry_start(enc, RWF_MAP_ADD, key);
    kinds_price(enc, ORDER_PRC, is_bid ? 9990 - (n % 5) : 10010 + (n % 5));
    rwf_field_add_enum(enc, ORDER_SIDE, is_bid ? SIDE_BID : SIDE_ASK);
    kinds_number(enc, ORDER_SIZE, order_size(n, step));
    entry_finish(enc);
}

static void orders_image(const struct kind_state *state, struct rwf_encoder *enc)
{
    uint32_t first = state->step / 3, end = first + ORDERS + (state->step % 3 > 0);

    map_start(enc, "SAMPLE ORDERS");
    for (uint32_t n = first; n < end; n++)
        order_add(enc, n, state->step);
    rwf_map_finish(enc);
}

static uint8_t orders_update(const struct kind_state *state, struct rwf_encoder *enc)
{
    uint32_t turn = (state->step - 1) / 3;
    char key[16];

    map_start(enc, NULL);
    switch (state->step % 3) {
    case 1:
        order_add(enc, ORDERS + turn, state->step);
        break;
    case 2:
        order_key(turn + 3, key);
        entry_start(enc, RWF_MAP_UPDATE, key);
        kinds_number(enc, ORDER_SIZE, order_size(turn + 3, state->step));
        entry_finish(enc);
        break;
    default:
        order_key(turn, key);
        entry_delete(enc, key);
        break;
    }
    rwf_map_finish(enc);
    return RWF_UPDATE_ORDER_INDICATION;
}

const struct kind kinds_orders = {
    .name = "ORDERS.K",
    .suffix = "",
    .what = "an order book by order: a map, the key is the id",
    .domain = RWF_DOMAIN_MARKET_BY_ORDER,
    .container = RWF_TYPE_MAP,
    .digits = 0,
    .first = 0,
    .count = 1,
    .image = orders_image,
    .update = orders_update,
};

/* ---- a book by price: a level changes in each step, the last one comes and goes ---- */

/* How often the level has been touched. */
static uint32_t touched(unsigned level, unsigned levels, uint32_t step)
{
    return step >= level ? (step - level) / levels + (level > 0) : 0;
}

static void level_key(unsigned level, char key[24])
{
    snprintf(key, 24, "%d.%02d%c", level < 5 ? 99 : 100,
             level < 5 ? 99 - (int)level : (int)level - 4, level < 5 ? 'B' : 'A');
}

static bool has_level(unsigned level, uint32_t step)
{
    return level != LEVELS - 1 || touched(level, LEVELS, step) % 2 == 0;
}

static void level_add(struct rwf_encoder *enc, unsigned action, unsigned level, uint32_t step)
{
    uint32_t version = touched(level, LEVELS, step);
    char key[24];

    level_key(level, key);
    entry_start(enc, action, key);
    if (action == RWF_MAP_ADD) {
        kinds_price(enc, ORDER_PRC, level < 5 ? 9999 - (int)level : 10000 + (int)level - 4);
        rwf_field_add_enum(enc, ORDER_SIDE, level < 5 ? SIDE_BID : SIDE_ASK);
    }
    kinds_number(enc, ORDER_SIZE, 100 * (1 + kinds_mix(level, version) % 90));
    rwf_field_add_uint(enc, NO_ORD, 1 + kinds_mix(version, level) % 9);
    entry_finish(enc);
}

static void prices_image(const struct kind_state *state, struct rwf_encoder *enc)
{
    map_start(enc, "SAMPLE PRICES");
    for (unsigned level = 0; level < LEVELS; level++) {
        if (has_level(level, state->step))
            level_add(enc, RWF_MAP_ADD, level, state->step);
    }
    rwf_map_finish(enc);
}

static uint8_t prices_update(const struct kind_state *state, struct rwf_encoder *enc)
{
    unsigned level = state->step % LEVELS;
    char key[24];

    map_start(enc, NULL);
    if (has_level(level, state->step)) {
        level_add(enc, level == LEVELS - 1 ? RWF_MAP_ADD : RWF_MAP_UPDATE, level, state->step);
    } else {
        level_key(level, key);
        entry_delete(enc, key);
    }
    rwf_map_finish(enc);
    return RWF_UPDATE_QUOTE;
}

const struct kind kinds_prices = {
    .name = "BOOK.K",
    .suffix = "",
    .what = "an order book by price: the key is price and side",
    .domain = RWF_DOMAIN_MARKET_BY_PRICE,
    .container = RWF_TYPE_MAP,
    .digits = 0,
    .first = 0,
    .count = 1,
    .image = prices_image,
    .update = prices_update,
};

/* ---- market makers ---- */

static void maker_add(struct rwf_encoder *enc, unsigned action, unsigned maker, uint32_t step)
{
    static const char *const ids[MAKERS] = { "ABCD", "EFGH", "IJKL", "MNOP" };
    uint32_t version = touched(maker, MAKERS, step);
    int64_t bid = 9990 + kinds_mix(maker, version) % 8;

    entry_start(enc, action, ids[maker]);
    if (action == RWF_MAP_ADD)
        kinds_text(enc, MKT_MKR_ID, ids[maker]);
    kinds_price(enc, BID, bid);
    kinds_price(enc, ASK, bid + 5 + kinds_mix(version, maker) % 5);
    entry_finish(enc);
}

static void makers_image(const struct kind_state *state, struct rwf_encoder *enc)
{
    map_start(enc, "SAMPLE MAKERS");
    for (unsigned maker = 0; maker < MAKERS; maker++)
        maker_add(enc, RWF_MAP_ADD, maker, state->step);
    rwf_map_finish(enc);
}

static uint8_t makers_update(const struct kind_state *state, struct rwf_encoder *enc)
{
    map_start(enc, NULL);
    maker_add(enc, RWF_MAP_UPDATE, state->step % MAKERS, state->step);
    rwf_map_finish(enc);
    return RWF_UPDATE_QUOTE;
}

const struct kind kinds_makers = {
    .name = "MAKERS.K",
    .suffix = "",
    .what = "quotes of market makers: the key is the maker",
    .domain = RWF_DOMAIN_MARKET_MAKER,
    .container = RWF_TYPE_MAP,
    .digits = 0,
    .first = 0,
    .count = 1,
    .image = makers_image,
    .update = makers_update,
};

/* ---- a symbol list: an odd step adds one more, the next deletes it ---- */

static void symbol_add(struct rwf_encoder *enc, const char *key, const char *name)
{
    entry_start(enc, RWF_MAP_ADD, key);
    rwf_field_add_uint(enc, PROD_PERM, 62);
    kinds_text(enc, DSPLY_NAME, name);
    entry_finish(enc);
}

static void symbol_new(struct rwf_encoder *enc, uint32_t step)
{
    char key[24];

    snprintf(key, sizeof(key), "NEW%u.K", (step - 1) / 2 + 1);
    symbol_add(enc, key, "NEWLY LISTED");
}

static void symbols_image(const struct kind_state *state, struct rwf_encoder *enc)
{
    char key[16], name[16];

    map_start(enc, "SAMPLE SYMBOLS");
    for (unsigned i = 1; i <= SYMBOLS; i++) {
        snprintf(key, sizeof(key), "M%02u.K", i);
        snprintf(name, sizeof(name), "MEMBER %02u", i);
        symbol_add(enc, key, name);
    }
    if (state->step % 2)
        symbol_new(enc, state->step);
    rwf_map_finish(enc);
}

static uint8_t symbols_update(const struct kind_state *state, struct rwf_encoder *enc)
{
    char key[24];

    map_start(enc, NULL);
    if (state->step % 2) {
        symbol_new(enc, state->step);
    } else {
        snprintf(key, sizeof(key), "NEW%u.K", state->step / 2);
        entry_delete(enc, key);
    }
    rwf_map_finish(enc);
    return RWF_UPDATE_UNSPECIFIED;
}

const struct kind kinds_symbols = {
    .name = "SYMBOLS.K",
    .suffix = "",
    .what = "a symbol list: the key is the name",
    .domain = RWF_DOMAIN_SYMBOL_LIST,
    .container = RWF_TYPE_MAP,
    .digits = 0,
    .first = 0,
    .count = 1,
    .image = symbols_image,
    .update = symbols_update,
};

/* ---- a yield curve: a vector, a place for each maturity ---- */

static void add_yield(struct rwf_encoder *enc, unsigned tenor, uint32_t step)
{
    uint32_t version = touched(tenor, TENORS, step);
    const struct rwf_value yield = rwf_value_real(
        2500 + 150 * (int64_t)tenor + kinds_mix(tenor, version) % 50, RWF_HINT_EXP_0 - 3);

    rwf_field_add_real(enc, YIELD, &yield.real);
}

static void curve_image(const struct kind_state *state, struct rwf_encoder *enc)
{
    static const char *const names[TENORS] = { "1Y", "2Y", "3Y", "5Y", "7Y", "10Y", "20Y", "30Y" };
    static const uint8_t years[TENORS] = { 1, 2, 3, 5, 7, 10, 20, 30 };
    const struct rwf_vector_info info = { .container = RWF_TYPE_FIELD_LIST };

    rwf_vector_start(enc, &info);
    for (unsigned i = 0; i < TENORS; i++) {
        const struct rwf_vector_entry entry = { .action = RWF_VECTOR_SET, .index = i };
        const struct rwf_date date = { .year = (uint16_t)(2027 + years[i] - 1),
                                       .month = 11,
                                       .day = 30 };

        rwf_vector_entry_start(enc, &entry);
        rwf_field_list_start(enc, NULL);
        kinds_text(enc, DSPLY_NAME, names[i]);
        rwf_field_add_date(enc, MATUR_DATE, &date);
        add_yield(enc, i, state->step);
        rwf_field_list_finish(enc);
        rwf_vector_entry_finish(enc);
    }
    rwf_vector_finish(enc);
}

static uint8_t curve_update(const struct kind_state *state, struct rwf_encoder *enc)
{
    const struct rwf_vector_info info = { .container = RWF_TYPE_FIELD_LIST };
    const struct rwf_vector_entry entry = { .action = RWF_VECTOR_UPDATE,
                                            .index = state->step % TENORS };

    rwf_vector_start(enc, &info);
    rwf_vector_entry_start(enc, &entry);
    rwf_field_list_start(enc, NULL);
    add_yield(enc, entry.index, state->step);
    rwf_field_list_finish(enc);
    rwf_vector_entry_finish(enc);
    rwf_vector_finish(enc);
    return RWF_UPDATE_UNSPECIFIED;
}

const struct kind kinds_curve = {
    .name = "CURVE.K",
    .suffix = "",
    .what = "a yield curve: a vector, a place for each maturity",
    .domain = RWF_DOMAIN_YIELD_CURVE,
    .container = RWF_TYPE_VECTOR,
    .digits = 0,
    .first = 0,
    .count = 1,
    .image = curve_image,
    .update = curve_update,
};

/* ---- time and sales: a series, a row for each trade ---- */

static void sale_add(struct rwf_encoder *enc, uint32_t sale)
{
    rwf_series_entry_start(enc);
    rwf_field_list_start(enc, NULL);
    kinds_time(enc, SALTIM, MORNING + 2 * sale);
    kinds_price(enc, TRDPRC_1, 10000 + kinds_mix(sale, 7) % 40);
    kinds_number(enc, TRDVOL_1, 100 * (1 + kinds_mix(sale, 8) % 20));
    rwf_field_list_finish(enc);
    rwf_series_entry_finish(enc);
}

static void sales_image(const struct kind_state *state, struct rwf_encoder *enc)
{
    uint8_t bytes[SUMMARY_MAX];
    struct rwf_encoder summary;

    rwf_encoder_init(&summary, bytes, sizeof(bytes));
    rwf_field_list_start(&summary, NULL);
    kinds_text(&summary, DSPLY_NAME, "SAMPLE SALES");
    rwf_field_list_finish(&summary);
    const struct rwf_series_info info = { .container = RWF_TYPE_FIELD_LIST,
                                          .flags = RWF_SERIES_HAS_SUMMARY,
                                          .summary = rwf_encoder_bytes(&summary) };
    rwf_series_start(enc, &info);
    for (uint32_t i = 0; i < SALES; i++)
        sale_add(enc, state->step + i);
    rwf_series_finish(enc);
}

static uint8_t sales_update(const struct kind_state *state, struct rwf_encoder *enc)
{
    const struct rwf_series_info info = { .container = RWF_TYPE_FIELD_LIST };

    rwf_series_start(enc, &info);
    sale_add(enc, state->step + SALES - 1);
    rwf_series_finish(enc);
    return RWF_UPDATE_TRADE;
}

const struct kind kinds_sales = {
    .name = "SALES.K",
    .suffix = "",
    .what = "time and sales: a series, the image has 8 rows",
    .domain = RWF_DOMAIN_HISTORY,
    .container = RWF_TYPE_SERIES,
    .digits = 0,
    .first = 0,
    .count = 1,
    .image = sales_image,
    .update = sales_update,
};
