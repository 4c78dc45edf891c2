/* test_fault_broken.c - each damage is one: our own decoders refuse what has it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "broken.h"
#include "rmds/rwf.h"
#include "seqdata.h"

static uint8_t message[512], broken[512 + FAULT_NOISE];
static size_t length;

static size_t damage(enum fault_broken kind)
{
    uint8_t payload[SEQDATA_UPDATE_BYTES] = { 0 };
    struct rwf_encoder enc;
    const struct rwf_msg msg = {
        .msg_class = RWF_CLASS_UPDATE,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .stream_id = 5,
        .container = RWF_TYPE_FIELD_LIST,
        .flags = RWF_UPDATE_HAS_SEQ_NUM,
        .update_type = RWF_UPDATE_QUOTE,
        .seq_num = 7,
        .payload = rwf_bytes(payload, sizeof(payload)),
    };

    seqdata_update(seqdata_item("A", 1), 7, payload);
    rwf_encoder_init(&enc, message, sizeof(message));
    assert_int_equal(rwf_msg_encode(&enc, &msg), RWF_OK);
    length = rwf_encoder_bytes(&enc).length;
    return fault_break(kind, message, length, broken);
}

/* RWF_OK, or what a reader of fields stumbles over. */
static int read_all(size_t size)
{
    struct rwf_field_list list;
    struct rwf_field field;
    struct rwf_msg msg;
    int rc = rwf_msg_decode(rwf_bytes(broken, size), &msg);

    if (rc == RWF_OK)
        rc = rwf_field_list_decode(msg.payload, NULL, &list);
    while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0) {
    }
    return rc;
}

static void a_reader_refuses_what_is_broken(void **state)
{
    static const enum fault_broken kinds[] = { FAULT_BROKEN_TRUNCATED, FAULT_BROKEN_HEADER,
                                               FAULT_BROKEN_CLASS,     FAULT_BROKEN_COUNT,
                                               FAULT_BROKEN_LENGTH,    FAULT_BROKEN_NOISE,
                                               FAULT_BROKEN_TINY };

    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t size = damage(kinds[i]);
        if (read_all(size) >= 0)
            fail_msg("kind %u is read", kinds[i]);
    }
}

static void a_wrong_container_and_a_strange_stream_are_well_formed(void **state)
{
    struct rwf_msg msg;

    (void)state;
    size_t size = damage(FAULT_BROKEN_CONTAINER);
    assert_int_equal(rwf_msg_decode(rwf_bytes(broken, size), &msg), RWF_OK);
    assert_int_equal(msg.container, RWF_TYPE_MAP);
    size = damage(FAULT_BROKEN_STREAM);
    assert_int_equal(rwf_msg_decode(rwf_bytes(broken, size), &msg), RWF_OK);
    assert_int_equal(read_all(size), RWF_OK);
    assert_int_not_equal(msg.stream_id, 5);
}

static void what_is_no_update_becomes_noise(void **state)
{
    static const uint8_t nothing[3] = { 0 };

    (void)state;
    assert_int_equal(fault_break(FAULT_BROKEN_COUNT, nothing, sizeof(nothing), broken),
                     FAULT_NOISE);
}

/* Each says in its header what makes it wrong. */
static void a_frame_is_wrong_in_its_header(void **state)
{
    uint8_t frame[FAULT_NOISE];

    (void)state;
    for (unsigned kind = 0; kind < FAULT_FRAME_KINDS; kind++) {
        size_t bytes = fault_break_frame((enum fault_frame)kind, frame);
        unsigned says = (unsigned)(frame[0] << 8 | frame[1]);
        assert_true(bytes >= 3 && bytes <= FAULT_NOISE);
        if (kind == FAULT_FRAME_SHORT)
            assert_true(says < 3);
        else if (kind == FAULT_FRAME_LONG || kind == FAULT_FRAME_CUT)
            assert_true(says > bytes);
        else if (kind != FAULT_FRAME_NOISE)
            assert_int_equal(says, bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_refuses_what_is_broken),
        cmocka_unit_test(a_wrong_container_and_a_strange_stream_are_well_formed),
        cmocka_unit_test(what_is_no_update_becomes_noise),
        cmocka_unit_test(a_frame_is_wrong_in_its_header),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
