/* kinds_records.c - records of fields: quotes and trades, chains, news, pages, contributions. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "kinds.h"

enum {
    PROD_PERM = 1,
    DSPLY_NAME = 3,
    TRDPRC_1 = 6,
    NETCHNG_1 = 11,
    PRCTCK_1 = 14,
    CURRENCY = 15,
    TRDTIM_1 = 18,
    BID = 22,
    ASK = 25,
    BIDSIZE = 30,
    ASKSIZE = 31,
    ACVOL_1 = 32,
    TRDVOL_1 = 178,
    PNAC = 235,
    PREV_LR = 237,
    NEXT_LR = 238,
    REF_COUNT = 239,
    LINK_1 = 240,
    SEG_TEXT = 258,
    SEG_FORW = 260,
    SEG_BACK = 261,
    NO_TAKES = 262,
    CUR_TAKE = 263,
    BCAST_TEXT = 264,
    ROW80_1 = 315,

    LINKS = 14,   /* in one record of a chain */
    MEMBERS = 30, /* of the chain: two full records and one of two */
    SEGMENTS = 3,
    ROWS = 8,
    USD = 840,
    MORNING = 9 * 3600,
};

/* ---- quotes and trades ---- */

static int64_t price_at(unsigned arg, uint32_t step)
{
    return 10000 + 100 * (int64_t)arg + kinds_mix(arg, step) % 40;
}

/* Every fourth update is a trade: the image has the last one. */
static bool is_trade(uint32_t step)
{
    return step % 4 == 3;
}

static uint32_t last_of(uint32_t step, bool trade)
{
    while (step > 0 && is_trade(step) != trade)
        step--;
    return step;
}

static void add_quote(const struct kind_state *state, uint32_t step, struct rwf_encoder *enc)
{
    int64_t price = price_at(state->arg, step);

    kinds_price(enc, BID, price);
    kinds_price(enc, ASK, price + 2 + step % 3);
    kinds_number(enc, BIDSIZE, 1 + kinds_mix(step, 1) % 90);
    kinds_number(enc, ASKSIZE, 1 + kinds_mix(step, 2) % 90);
}

static void add_trade(const struct kind_state *state, uint32_t step, struct rwf_encoder *enc)
{
    int64_t price = price_at(state->arg, step);

    kinds_price(enc, TRDPRC_1, price + 1);
    kinds_price(enc, NETCHNG_1, price - 10000 - 100 * (int64_t)state->arg);
    kinds_number(enc, TRDVOL_1, 100 * (1 + kinds_mix(step, 3) % 20));
    kinds_number(enc, ACVOL_1, 5000 * (int64_t)(step / 4 + 1));
    kinds_time(enc, TRDTIM_1, MORNING + step);
    rwf_field_add_enum(enc, PRCTCK_1, (uint16_t)(1 + step / 4 % 2));
}

static void quote_image(const struct kind_state *state, struct rwf_encoder *enc)
{
    char name[32];

    snprintf(name, sizeof(name), state->arg ? "MEMBER %02u" : "SAMPLE", state->arg);
    rwf_field_list_start(enc, NULL);
    rwf_field_add_uint(enc, PROD_PERM, 62);
    kinds_text(enc, DSPLY_NAME, name);
    rwf_field_add_enum(enc, CURRENCY, USD);
    add_quote(state, last_of(state->step, false), enc);
    add_trade(state, last_of(state->step, true), enc);
    rwf_field_list_finish(enc);
}

static uint8_t quote_update(const struct kind_state *state, struct rwf_encoder *enc)
{
    bool trade = is_trade(state->step);

    rwf_field_list_start(enc, NULL);
    if (trade)
        add_trade(state, state->step, enc);
    else
        add_quote(state, state->step, enc);
    rwf_field_list_finish(enc);
    return trade ? RWF_UPDATE_TRADE : RWF_UPDATE_QUOTE;
}

const struct kind kinds_quote = {
    .name = "QUOTE.K",
    .suffix = "",
    .what = "quotes, and a trade in four updates",
    .domain = RWF_DOMAIN_MARKET_PRICE,
    .container = RWF_TYPE_FIELD_LIST,
    .digits = 0,
    .first = 0,
    .count = 1,
    .image = quote_image,
    .update = quote_update,
};
const struct kind kinds_member = {
    .name = "M",
    .suffix = ".K",
    .what = "a member of the chain",
    .domain = RWF_DOMAIN_MARKET_PRICE,
    .container = RWF_TYPE_FIELD_LIST,
    .digits = 2,
    .first = 1,
    .count = MEMBERS,
    .image = quote_image,
    .update = quote_update,
};

/* ---- a chain ---- */

static void chain_image(const struct kind_state *state, struct rwf_encoder *enc)
{
    unsigned first = 1 + state->arg * LINKS, records = (MEMBERS + LINKS - 1) / LINKS;
    unsigned here = MEMBERS + 1 - first < LINKS ? MEMBERS + 1 - first : LINKS;
    char name[32];

    rwf_field_list_start(enc, NULL);
    rwf_field_add_uint(enc, PROD_PERM, 62);
    kinds_text(enc, DSPLY_NAME, "SAMPLE CHAIN");
    rwf_field_add_uint(enc, REF_COUNT, here);
    for (unsigned i = 0; i < LINKS; i++) {
        snprintf(name, sizeof(name), "M%02u.K", first + i);
        kinds_text(enc, (int16_t)(LINK_1 + i), i < here ? name : "");
    }
    snprintf(name, sizeof(name), "%u#CHAIN.K", state->arg - 1);
    kinds_text(enc, PREV_LR, state->arg > 0 ? name : "");
    snprintf(name, sizeof(name), "%u#CHAIN.K", state->arg + 1);
    kinds_text(enc, NEXT_LR, state->arg + 1 < records ? name : "");
    rwf_field_list_finish(enc);
}

const struct kind kinds_chain = {
    .name = "",
    .suffix = "#CHAIN.K",
    .what = "a chain of 30 members in three records",
    .domain = RWF_DOMAIN_MARKET_PRICE,
    .container = RWF_TYPE_FIELD_LIST,
    .digits = 1,
    .first = 0,
    .count = (MEMBERS + LINKS - 1) / LINKS,
    .image = chain_image,
};

/* ---- news: headlines, and stories in segments ---- */

static const char *const headlines[] = {
    "SAMPLE: index closes little changed in quiet trade",
    "SAMPLE: central bank keeps its rate, as expected",
    "SAMPLE: grain futures rise on a dry forecast",
};

static void add_headline(uint32_t step, struct rwf_encoder *enc)
{
    rwf_field_list_start(enc, NULL);
    kinds_text(enc, PNAC, "1nK");
    kinds_time(enc, TRDTIM_1, MORNING + 60 * step);
    kinds_text(enc, BCAST_TEXT, headlines[step % 3]);
    rwf_field_list_finish(enc);
}

static void news_image(const struct kind_state *state, struct rwf_encoder *enc)
{
    add_headline(state->step, enc);
}

static uint8_t news_update(const struct kind_state *state, struct rwf_encoder *enc)
{
    add_headline(state->step, enc);
    return RWF_UPDATE_NEWS_ALERT;
}

const struct kind kinds_news = {
    .name = "NEWS.K",
    .suffix = "",
    .what = "headlines; PNAC names the first segment of the story",
    .domain = RWF_DOMAIN_MARKET_PRICE,
    .container = RWF_TYPE_FIELD_LIST,
    .digits = 0,
    .first = 0,
    .count = 1,
    .image = news_image,
    .update = news_update,
};

static const char *const segments[SEGMENTS] = {
    "The index of the sample exchange closed little changed on Friday. Traders said that most of "
    "the day's turnover came in the closing auction, ",
    "and that few expected more before the figures of next week. Of thirty members twelve rose, "
    "fourteen fell and four did not trade at all. ",
    "The sample currency was steady. (Text made for tests; it reports nothing.)",
};

static void story_image(const struct kind_state *state, struct rwf_encoder *enc)
{
    unsigned at = state->arg;
    char name[32];

    rwf_field_list_start(enc, NULL);
    kinds_number(enc, NO_TAKES, SEGMENTS);
    kinds_number(enc, CUR_TAKE, at);
    kinds_text(enc, SEG_TEXT, segments[at - 1]);
    snprintf(name, sizeof(name), "%unK", at + 1);
    kinds_text(enc, SEG_FORW, at < SEGMENTS ? name : "");
    snprintf(name, sizeof(name), "%unK", at - 1);
    kinds_text(enc, SEG_BACK, at > 1 ? name : "");
    rwf_field_list_finish(enc);
}

const struct kind kinds_story = {
    .name = "",
    .suffix = "nK",
    .what = "a story in three segments",
    .domain = RWF_DOMAIN_MARKET_PRICE,
    .container = RWF_TYPE_FIELD_LIST,
    .digits = 1,
    .first = 1,
    .count = SEGMENTS,
    .image = story_image,
};

/* ---- a page of rows, with partial updates ---- */

/* Where the bid of a row begins; it has six cells. */
#define BID_CELL 22u

static int64_t page_bid(unsigned row, uint32_t step)
{
    uint32_t last = step; /* the last step that changed this row */

    while (last > 0 && last % (ROWS - 2) != row - 2)
        last--;
    return 9000 + kinds_mix(row, last) % 1000;
}

static void page_row(char text[96], unsigned row, uint32_t step)
{
    static const char *const names[] = { "1 WEEK",   "1 MONTH", "3 MONTHS",
                                         "6 MONTHS", "1 YEAR",  "2 YEARS" };

    if (row == 0)
        snprintf(text, 96, "%-60s%20s", "SAMPLE MONEY MARKETS", "PAGE.K");
    else if (row == 1)
        snprintf(text, 96, "%-22s%-12s%-46s", "PERIOD", "BID", "SOURCE");
    else
        snprintf(text, 96, "%-22s%3d.%02d      %-46s", names[row - 2],
                 (int)(page_bid(row, step) / 100), (int)(page_bid(row, step) % 100), "sample");
    text[80] = 0;
}

static void page_image(const struct kind_state *state, struct rwf_encoder *enc)
{
    char text[96];

    rwf_field_list_start(enc, NULL);
    for (unsigned row = 0; row < ROWS; row++) {
        page_row(text, row, state->step);
        kinds_text(enc, (int16_t)(ROW80_1 + row), text);
    }
    rwf_field_list_finish(enc);
}

/* Six cells of one row: CSI n ` puts the position, the rest of the row stays. */
static uint8_t page_update(const struct kind_state *state, struct rwf_encoder *enc)
{
    unsigned row = 2 + state->step % (ROWS - 2);
    char text[96], partial[32];

    page_row(text, row, state->step);
    snprintf(partial, sizeof(partial), "\x1b[%u`%.6s", BID_CELL, text + BID_CELL);
    rwf_field_list_start(enc, NULL);
    kinds_text(enc, (int16_t)(ROW80_1 + row), partial);
    rwf_field_list_finish(enc);
    return RWF_UPDATE_UNSPECIFIED;
}

const struct kind kinds_page = {
    .name = "PAGE.K",
    .suffix = "",
    .what = "a page of ROW80 fields, six cells in an update",
    .domain = RWF_DOMAIN_MARKET_PRICE,
    .container = RWF_TYPE_FIELD_LIST,
    .digits = 0,
    .first = 0,
    .count = 1,
    .image = page_image,
    .update = page_update,
};

/* ---- contributions ---- */

static void add_contribution(const struct kind_state *state, struct rwf_encoder *enc)
{
    rwf_field_list_start(enc, NULL);
    kinds_price(enc, BID, (int64_t)(state->posted_bid * 100 + 0.5));
    kinds_price(enc, ASK, (int64_t)(state->posted_ask * 100 + 0.5));
    kinds_text(enc, DSPLY_NAME, state->posted_by);
    rwf_field_list_finish(enc);
}

static void contribution_image(const struct kind_state *state, struct rwf_encoder *enc)
{
    add_contribution(state, enc);
}

static uint8_t contribution_update(const struct kind_state *state, struct rwf_encoder *enc)
{
    add_contribution(state, enc);
    return RWF_UPDATE_QUOTE;
}

/* BID, ASK and DSPLY_NAME are taken, all else is left. False: not a price of this record. */
static bool contribution_post(struct kind_state *state, struct rwf_bytes fields)
{
    struct kind_state posted = *state;
    struct rwf_field_list list;
    struct rwf_field field;
    int rc = rwf_field_list_decode(fields, NULL, &list);

    while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0) {
        struct rwf_real real;
        if (field.id == DSPLY_NAME) {
            snprintf(posted.posted_by, sizeof(posted.posted_by), "%.*s", (int)field.content.length,
                     (const char *)field.content.data);
            continue;
        }
        if (field.id != BID && field.id != ASK)
            continue;
        if (rwf_real_decode(field.content, &real) != RWF_OK)
            return false;
        double price = rwf_real_to_double(&real);
        if (!(price > 0 && price < 1e9))
            return false;
        *(field.id == BID ? &posted.posted_bid : &posted.posted_ask) = price;
    }
    if (rc < 0)
        return false;
    *state = posted;
    return true;
}

const struct kind kinds_contribution = {
    .name = "CONTRIB.K",
    .suffix = "",
    .what = "takes BID, ASK and DSPLY_NAME that are posted to it",
    .domain = RWF_DOMAIN_MARKET_PRICE,
    .container = RWF_TYPE_FIELD_LIST,
    .digits = 0,
    .first = 0,
    .count = 1,
    .image = contribution_image,
    .update = contribution_update,
    .post = contribution_post,
};
