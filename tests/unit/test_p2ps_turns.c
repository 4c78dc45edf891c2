/* test_p2ps_turns.c - streams that wait for a slow consumer have turns. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

#include "rates/rates.h"

#define TRADE 2
#define QUOTE 1

static struct rates *exempt;

static int setup(void **state)
{
    assert_int_equal(rates_create("", 0, NULL, NULL, NULL, &exempt), MD_OK);
    assert_int_equal(rates_exempt(exempt, "2", "", NULL, NULL, NULL), MD_OK);
    return pair_setup(state, (struct p2ps_core_config){
                                 .keeps_images = true,
                                 .owed_fill_percent = 30,
                                 .ok_fill_percent = 10,
                                 .slow_timeout_ns = 120 * PAIR_SEC,
                                 .exempt = exempt,
                             });
}

static int teardown(void **state)
{
    rates_destroy(exempt);
    return pair_teardown(state);
}

/* An update of 4 bytes and some 200 more. */
static void say(struct pair *pair, const char *name, uint8_t type)
{
    static const uint8_t filler[200];
    uint8_t bytes[512];
    struct rwf_encoder enc;
    struct pair_item *it = pair_item(pair, name);
    struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE,
                           .domain = it->domain,
                           .stream_id = it->stream_id,
                           .update_type = type,
                           .container = RWF_TYPE_FIELD_LIST };

    it->counter++;
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    rwf_field_list_start(&enc, NULL);
    rwf_field_add_uint(&enc, PAIR_FIELD, it->counter);
    rwf_field_add_bytes(&enc, 9999, rwf_bytes(filler, sizeof(filler)));
    rwf_field_list_finish(&enc);
    rwf_msg_finish(&enc);
    pair_say(&pair->provider, &enc);
    pair_settle(pair);
}

static void has_room(struct pair_client *c, uint32_t messages)
{
    c->room_max = 1000;
    c->room = messages;
}

/* Below outputThresholdBreach, 300 of 1,000, it is given something. */
static void reads(struct pair_client *c)
{
    has_room(c, 1000);
    p2ps_client_writable(c->pair->sink, c->pair->now_ns, c->id);
}

static void many_trades_keep_another_stream_waiting_for_one_turn(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "TRADED.N");
    pair_open(c, 6, "QUIET.N");
    has_room(c, 0);
    for (int i = 0; i < 400; i++)
        say(pair, "TRADED.N", TRADE);
    say(pair, "QUIET.N", QUOTE);
    reads(c); /* 300 messages, and the turn of a stream is some 20 of these */
    assert_string_equal(pair_heard(c, 6), "IU");
    assert_in_range(strlen(pair_heard(c, 5)), 1 + 250, 1 + 399);
    assert_null(p2ps_core_check(pair->sink));
    while (pair_stream(c, 5)->counter != pair_item(pair, "TRADED.N")->counter)
        reads(c);
    assert_int_equal(strlen(pair_heard(c, 5)), 1 + 400); /* all, and in order */
    assert_int_equal(p2ps_core_stats(pair->sink)->backlog_lost, 0);
    assert_null(p2ps_core_check(pair->sink));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(many_trades_keep_another_stream_waiting_for_one_turn, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
