/* test_rwf_message.c - headers decoded, peeked at, patched and spliced. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rmds/rwf.h"

/* An update of stream 5 with two fields: the worked example of the format. */
static const uint8_t update[] = { 0x00, 0x09, 0x04, 0x06, 0x00, 0x00, 0x00, 0x05, 0x00,
                                  0x04, 0x01, 0x08, 0x00, 0x02, 0x00, 0x16, 0x03, 0x0a,
                                  0x10, 0x81, 0x00, 0x1e, 0x02, 0x0e, 0x64 };

#define UPDATE rwf_bytes(update, sizeof(update))

static const struct rwf_msg refresh = {
    .msg_class = RWF_CLASS_REFRESH,
    .domain = RWF_DOMAIN_MARKET_PRICE,
    .flags = RWF_REFRESH_HAS_KEY | RWF_REFRESH_HAS_PERM_DATA | RWF_REFRESH_HAS_QOS |
             RWF_REFRESH_SOLICITED | RWF_REFRESH_COMPLETE,
    .stream_id = 17,
    .container = RWF_TYPE_OPAQUE,
    .state = { RWF_STREAM_OPEN, RWF_DATA_OK, RWF_CODE_NONE, { (const uint8_t *)"fine", 4 } },
    .group_id = { (const uint8_t *)"\0\7", 2 },
    .perm_data = { (const uint8_t *)"\3\1\x12", 3 },
    .qos = { .timeliness = RWF_TIMELINESS_REALTIME, .rate = RWF_RATE_TICK_BY_TICK },
    .key = { .flags = RWF_KEY_HAS_SERVICE_ID | RWF_KEY_HAS_NAME,
             .service_id = 260,
             .name = { (const uint8_t *)"IBM.N", 5 } },
    .payload = { (const uint8_t *)"payload", 7 },
};

static struct rwf_bytes encoded(const struct rwf_msg *msg, uint8_t *buffer, size_t size)
{
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, buffer, size);
    assert_int_equal(rwf_msg_encode(&enc, msg), RWF_OK);
    return rwf_encoder_bytes(&enc);
}

static void the_worked_example_decodes(void **state)
{
    struct rwf_msg msg;
    struct rwf_field_list list;
    struct rwf_field field;
    struct rwf_real real;
    (void)state;

    assert_int_equal(rwf_msg_decode(UPDATE, &msg), RWF_OK);
    assert_int_equal(msg.msg_class, RWF_CLASS_UPDATE);
    assert_int_equal(msg.domain, RWF_DOMAIN_MARKET_PRICE);
    assert_int_equal(msg.stream_id, 5);
    assert_int_equal(msg.update_type, RWF_UPDATE_QUOTE);
    assert_int_equal(msg.container, RWF_TYPE_FIELD_LIST);

    assert_int_equal(rwf_field_list_decode(msg.payload, NULL, &list), RWF_OK);
    assert_int_equal(rwf_field_list_next(&list, &field), 1);
    assert_int_equal(field.id, 22);
    assert_int_equal(rwf_real_decode(field.content, &real), RWF_OK);
    assert_true(real.value == 4225 && real.hint == 10);
    assert_int_equal(rwf_field_list_next(&list, &field), 1);
    assert_int_equal(rwf_field_list_next(&list, &field), 0);
    assert_int_equal(rwf_field_list_next(&list, &field), 0);
}

static void a_peek_tells_what_a_forwarder_needs(void **state)
{
    struct rwf_peek peek;
    (void)state;

    assert_int_equal(rwf_peek(UPDATE, &peek), RWF_OK);
    assert_int_equal(peek.msg_class, RWF_CLASS_UPDATE);
    assert_int_equal(peek.domain, 6);
    assert_int_equal(peek.stream_id, 5);
    assert_int_equal(peek.flags, 0);
    assert_int_equal(peek.payload_at, 11);
    assert_int_equal(peek.payload_length, sizeof(update) - 11);
}

static void every_prefix_of_a_header_is_refused(void **state)
{
    uint8_t buffer[200];
    struct rwf_bytes bytes = encoded(&refresh, buffer, sizeof(buffer));
    struct rwf_peek peek;
    struct rwf_msg msg;
    struct rwf_layout layout;
    (void)state;

    assert_int_equal(rwf_peek(bytes, &peek), RWF_OK);
    for (size_t n = 0; n < peek.payload_at; n++) {
        assert_int_equal(rwf_peek(rwf_bytes(bytes.data, n), &peek), RWF_ERR_SHORT);
        assert_int_equal(rwf_msg_decode(rwf_bytes(bytes.data, n), &msg), RWF_ERR_SHORT);
        assert_int_equal(rwf_layout_decode(rwf_bytes(bytes.data, n), &layout), RWF_ERR_SHORT);
    }
}

static void an_unknown_class_is_refused(void **state)
{
    uint8_t copy[sizeof(update)];
    struct rwf_msg msg;
    (void)state;

    memcpy(copy, update, sizeof(update));
    copy[2] = 9;
    assert_int_equal(rwf_msg_decode(rwf_bytes(copy, sizeof(copy)), &msg), RWF_ERR_MALFORMED);
    copy[2] = 0;
    assert_int_equal(rwf_msg_decode(rwf_bytes(copy, sizeof(copy)), &msg), RWF_ERR_MALFORMED);
    copy[2] = 0xe4; /* the three top bits are reserved, and ignored */
    assert_int_equal(rwf_msg_decode(rwf_bytes(copy, sizeof(copy)), &msg), RWF_OK);
}

static void a_flag_without_room_for_its_member_is_cleared(void **state)
{
    /* HAS_POST_USER_INFO of an old sender, without the eight bytes. */
    static const uint8_t bytes[] = { 0x00, 0x0a, 0x04, 0x06, 0, 0, 0, 5, 0x82, 0x00, 0x04, 0x01 };
    struct rwf_msg msg;
    (void)state;

    assert_int_equal(rwf_msg_decode(rwf_bytes(bytes, sizeof(bytes)), &msg), RWF_OK);
    assert_int_equal(msg.flags & RWF_UPDATE_HAS_POST_USER_INFO, 0);
}

static void members_without_content_are_left_out(void **state)
{
    static const struct {
        uint8_t msg_class;
        uint16_t flags;
        uint16_t left;
    } cases[] = {
        { RWF_CLASS_STATUS,
          RWF_STATUS_HAS_GROUP_ID | RWF_STATUS_HAS_PERM_DATA | RWF_STATUS_CLEAR_CACHE,
          RWF_STATUS_CLEAR_CACHE },
        { RWF_CLASS_ACK, RWF_ACK_HAS_NAK_CODE | RWF_ACK_HAS_TEXT | RWF_ACK_PRIVATE_STREAM,
          RWF_ACK_PRIVATE_STREAM },
        { RWF_CLASS_UPDATE, RWF_UPDATE_HAS_CONF_INFO | RWF_UPDATE_DISCARDABLE,
          RWF_UPDATE_DISCARDABLE },
    };
    uint8_t buffer[64];
    struct rwf_msg got;
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rwf_msg msg = { .msg_class = cases[i].msg_class, .flags = cases[i].flags };

        assert_int_equal(rwf_msg_decode(encoded(&msg, buffer, sizeof(buffer)), &got), RWF_OK);
        assert_int_equal(got.flags, cases[i].left);
    }
}

static void an_empty_name_is_not_written(void **state)
{
    struct rwf_msg msg = { .msg_class = RWF_CLASS_REQUEST };
    uint8_t buffer[64];
    struct rwf_msg got;
    (void)state;

    msg.key.flags = RWF_KEY_HAS_NAME | RWF_KEY_HAS_NAME_TYPE | RWF_KEY_HAS_FILTER;
    msg.key.filter = 7;
    assert_int_equal(rwf_msg_decode(encoded(&msg, buffer, sizeof(buffer)), &got), RWF_OK);
    assert_int_equal(got.key.flags, RWF_KEY_HAS_FILTER);
    assert_int_equal(got.key.filter, 7);
}

static void a_message_state_must_be_specified(void **state)
{
    struct rwf_msg msg = refresh;
    struct rwf_encoder enc;
    uint8_t buffer[200];
    (void)state;

    msg.state.stream_state = RWF_STREAM_UNSPECIFIED;
    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    assert_int_equal(rwf_msg_encode(&enc, &msg), RWF_ERR_RANGE);
}

static void the_stream_id_is_patched_in_place(void **state)
{
    uint8_t copy[sizeof(update)];
    struct rwf_peek peek;
    (void)state;

    memcpy(copy, update, sizeof(update));
    rwf_patch_stream_id(copy, -123456789);
    assert_int_equal(rwf_peek(rwf_bytes(copy, sizeof(copy)), &peek), RWF_OK);
    assert_int_equal(peek.stream_id, -123456789);
    assert_memory_equal(copy + 8, update + 8, sizeof(update) - 8);
}

static void flags_are_patched_while_their_word_keeps_its_length(void **state)
{
    uint8_t buffer[200];
    struct rwf_bytes bytes = encoded(&refresh, buffer, sizeof(buffer));
    struct rwf_peek peek;
    (void)state;

    assert_int_equal(rwf_patch_flags(buffer, bytes.length, 0, RWF_REFRESH_SOLICITED), RWF_OK);
    assert_int_equal(rwf_peek(bytes, &peek), RWF_OK);
    assert_int_equal(peek.flags, refresh.flags & ~RWF_REFRESH_SOLICITED);

    memcpy(buffer, update, sizeof(update));
    assert_int_equal(rwf_patch_flags(buffer, sizeof(update), RWF_UPDATE_DO_NOT_RIPPLE, 0),
                     RWF_ERR_RANGE);
    assert_memory_equal(buffer, update, sizeof(update));
}

static void the_layout_says_where_the_members_stand(void **state)
{
    uint8_t buffer[200];
    struct rwf_bytes bytes = encoded(&refresh, buffer, sizeof(buffer));
    struct rwf_layout layout;
    struct rwf_key key;
    (void)state;

    assert_int_equal(rwf_layout_decode(bytes, &layout), RWF_OK);
    assert_int_equal(layout.seq_num.at, 0);
    assert_int_equal(layout.group_id.length, 3);
    assert_memory_equal(buffer + layout.group_id.at, "\2\0\7", 3);
    assert_int_equal(layout.perm_data.length, 4);
    assert_int_equal(
        rwf_key_decode(rwf_bytes(buffer + layout.key_body.at, layout.key_body.length), &key),
        RWF_OK);
    assert_true(rwf_key_equal(&key, &refresh.key));
}

static void a_sequence_number_is_read_without_the_rest(void **state)
{
    struct rwf_msg message = refresh;
    uint8_t buffer[200];
    struct rwf_peek peek;
    uint32_t number = 7;
    (void)state;

    assert_int_equal(rwf_peek_seq_num(encoded(&message, buffer, sizeof(buffer)), &peek, &number),
                     0);
    assert_int_equal(number, 7);
    message.flags |= RWF_REFRESH_HAS_SEQ_NUM;
    message.seq_num = 0x80000001u;
    struct rwf_bytes bytes = encoded(&message, buffer, sizeof(buffer));
    assert_int_equal(rwf_peek_seq_num(bytes, &peek, &number), 1);
    assert_int_equal(number, 0x80000001u);
    assert_int_equal(peek.msg_class, RWF_CLASS_REFRESH);
    assert_int_equal(peek.payload_length, message.payload.length);
    assert_true(rwf_peek_seq_num(rwf_bytes(buffer, 12), &peek, &number) < 0);
    assert_true(rwf_peek_update_seq_num(bytes, &number) < 0); /* no update */
}

static void a_sequence_number_of_an_update_is_read(void **state)
{
    struct rwf_msg message = { .msg_class = RWF_CLASS_UPDATE,
                               .domain = RWF_DOMAIN_MARKET_PRICE,
                               .stream_id = 5,
                               .container = RWF_TYPE_OPAQUE,
                               .payload = rwf_text("12345") };
    static const uint16_t more[] = { 0, RWF_UPDATE_HAS_PERM_DATA, RWF_UPDATE_DO_NOT_CONFLATE };
    uint8_t buffer[200];
    struct rwf_peek peek;
    (void)state;

    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) { /* one byte of flags, or two */
        uint32_t number = 7;

        message.flags = more[i];
        message.perm_data = rwf_text("P");
        struct rwf_bytes bytes = encoded(&message, buffer, sizeof(buffer));
        assert_int_equal(rwf_peek_update_seq_num(bytes, &number), 0);
        assert_int_equal(number, 7);
        message.flags |= RWF_UPDATE_HAS_SEQ_NUM;
        message.seq_num = 0x80000002u;
        bytes = encoded(&message, buffer, sizeof(buffer));
        assert_int_equal(rwf_peek_update_seq_num(bytes, &number), 1);
        assert_int_equal(number, 0x80000002u);
        assert_int_equal(rwf_peek(bytes, &peek), RWF_OK);
        for (size_t length = 0; length < bytes.length; length++) /* cut: as rwf_peek() says */
            assert_true(rwf_peek_update_seq_num(rwf_bytes(buffer, length), &number) < 0 ||
                        length >= peek.payload_at);
        buffer[1] = 10; /* the header ends before the number */
        assert_true(rwf_peek_update_seq_num(bytes, &number) < 0);
    }
}

/* What goes onto the backbone: no key, no group, stream 0, everything else as it was. */
static void the_backbone_form_has_no_key_no_group_and_stream_0(void **state)
{
    const struct rwf_splice strip = {
        .ops = RWF_SPLICE_STREAM_ID | RWF_SPLICE_STRIP_KEY | RWF_SPLICE_GROUP_ID,
    };
    uint8_t buffer[200];
    uint8_t out[200];
    size_t length;
    struct rwf_bytes bytes = encoded(&refresh, buffer, sizeof(buffer));
    struct rwf_msg msg;
    (void)state;

    assert_int_equal(rwf_splice(bytes, &strip, out, sizeof(out), &length), RWF_OK);
    assert_int_equal(rwf_msg_decode(rwf_bytes(out, length), &msg), RWF_OK);
    assert_int_equal(msg.stream_id, 0);
    assert_false(rwf_msg_has_key(&msg));
    assert_int_equal(msg.group_id.length, 0);
    assert_int_equal(msg.flags, refresh.flags & ~RWF_REFRESH_HAS_KEY);
    assert_true(rwf_bytes_equal(msg.perm_data, refresh.perm_data));
    assert_true(rwf_bytes_equal(msg.payload, refresh.payload));
}

static void a_key_with_the_own_service_id_is_inserted(void **state)
{
    const struct rwf_splice set = {
        .ops = RWF_SPLICE_STREAM_ID | RWF_SPLICE_SET_KEY,
        .stream_id = 99,
        .key = &refresh.key,
    };
    uint8_t out[200];
    size_t length;
    struct rwf_msg msg;
    (void)state;

    assert_int_equal(rwf_splice(UPDATE, &set, out, sizeof(out), &length), RWF_OK);
    assert_int_equal(rwf_msg_decode(rwf_bytes(out, length), &msg), RWF_OK);
    assert_int_equal(msg.stream_id, 99);
    assert_int_equal(msg.update_type, RWF_UPDATE_QUOTE);
    assert_true(rwf_key_equal(&msg.key, &refresh.key));
    assert_memory_equal(msg.payload.data, update + 11, sizeof(update) - 11);
}

static void flags_that_need_a_second_byte_move_the_members(void **state)
{
    const struct rwf_splice set = {
        .ops = RWF_SPLICE_FLAGS | RWF_SPLICE_SET_KEY,
        .flags_set = RWF_UPDATE_DO_NOT_RIPPLE,
        .key = &refresh.key,
    };
    uint8_t out[200];
    size_t length;
    struct rwf_msg msg;
    (void)state;

    assert_int_equal(rwf_splice(UPDATE, &set, out, sizeof(out), &length), RWF_OK);
    assert_int_equal(rwf_msg_decode(rwf_bytes(out, length), &msg), RWF_OK);
    assert_int_equal(msg.flags, RWF_UPDATE_DO_NOT_RIPPLE | RWF_UPDATE_HAS_KEY);
    assert_int_equal(msg.update_type, RWF_UPDATE_QUOTE);
    assert_true(rwf_key_equal(&msg.key, &refresh.key));
}

static void members_of_newer_peers_survive_a_splice(void **state)
{
    const struct rwf_splice strip = { .ops = RWF_SPLICE_STRIP_KEY };
    uint8_t newer[sizeof(update) + 3];
    uint8_t out[64];
    size_t length;
    (void)state;

    memcpy(newer, update, 11);
    memset(newer + 11, 0xaa, 3);
    memcpy(newer + 14, update + 11, sizeof(update) - 11);
    newer[1] += 3;
    assert_int_equal(rwf_splice(rwf_bytes(newer, sizeof(newer)), &strip, out, sizeof(out), &length),
                     RWF_OK);
    assert_int_equal(length, sizeof(newer));
    assert_memory_equal(out, newer, sizeof(newer));
}

static void the_second_key_of_a_refresh_is_carried_through(void **state)
{
    const struct rwf_splice strip = { .ops = RWF_SPLICE_STRIP_KEY };
    struct rwf_msg msg = refresh;
    uint8_t buffer[200];
    uint8_t out[200];
    size_t length;
    struct rwf_msg got;
    (void)state;

    msg.flags |= RWF_REFRESH_HAS_REQ_KEY;
    msg.req_key = (struct rwf_key){ .flags = RWF_KEY_HAS_NAME, .name = rwf_text("as asked") };
    struct rwf_bytes bytes = encoded(&msg, buffer, sizeof(buffer));
    assert_int_equal(rwf_msg_decode(bytes, &got), RWF_OK);
    assert_true(rwf_key_equal(&got.key, &msg.key));
    assert_true(rwf_key_equal(&got.req_key, &msg.req_key));

    assert_int_equal(rwf_splice(bytes, &strip, out, sizeof(out), &length), RWF_OK);
    assert_int_equal(rwf_msg_decode(rwf_bytes(out, length), &got), RWF_OK);
    assert_false(rwf_msg_has_key(&got));
    assert_true(rwf_key_equal(&got.req_key, &msg.req_key));
}

static void a_splice_changes_single_members(void **state)
{
    const struct rwf_splice splice = {
        .ops = RWF_SPLICE_SEQ_NUM | RWF_SPLICE_STRIP_CONF_INFO | RWF_SPLICE_STRIP_SERVICE,
        .seq_num = 4711,
    };
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_UPDATE,
        .flags = RWF_UPDATE_HAS_SEQ_NUM | RWF_UPDATE_HAS_CONF_INFO | RWF_UPDATE_HAS_KEY,
        .update_type = RWF_UPDATE_TRADE,
        .seq_num = 1,
        .conf_count = 3,
        .key = refresh.key,
    };
    uint8_t buffer[200];
    uint8_t out[200];
    size_t length;
    struct rwf_msg got;
    (void)state;

    struct rwf_bytes bytes = encoded(&msg, buffer, sizeof(buffer));
    assert_int_equal(rwf_splice(bytes, &splice, out, sizeof(out), &length), RWF_OK);
    assert_int_equal(rwf_msg_decode(rwf_bytes(out, length), &got), RWF_OK);
    assert_int_equal(got.flags, RWF_UPDATE_HAS_SEQ_NUM | RWF_UPDATE_HAS_KEY);
    assert_int_equal(got.seq_num, 4711);
    assert_int_equal(got.key.flags, RWF_KEY_HAS_NAME);
    assert_true(rwf_bytes_equal(got.key.name, msg.key.name));
}

static void a_splice_states_another_quality(void **state)
{
    const struct rwf_splice splice = {
        .ops = RWF_SPLICE_QOS,
        .qos = { .timeliness = RWF_TIMELINESS_DELAYED,
                 .time_info = 900,
                 .rate = RWF_RATE_TIME_CONFLATED,
                 .rate_info = 100 },
    };
    struct rwf_msg msg = refresh;
    uint8_t buffer[200];
    uint8_t out[200];
    size_t length;
    struct rwf_msg got;
    (void)state;

    for (int has_one = 0; has_one < 2; has_one++) {
        msg.flags = (uint16_t)(has_one ? refresh.flags : refresh.flags & ~RWF_REFRESH_HAS_QOS);
        struct rwf_bytes bytes = encoded(&msg, buffer, sizeof(buffer));
        assert_int_equal(rwf_splice(bytes, &splice, out, sizeof(out), &length), RWF_OK);
        assert_int_equal(rwf_msg_decode(rwf_bytes(out, length), &got), RWF_OK);
        assert_int_equal(got.flags, refresh.flags);
        assert_int_equal(got.qos.timeliness, RWF_TIMELINESS_DELAYED);
        assert_int_equal(got.qos.time_info, 900);
        assert_int_equal(got.qos.rate, RWF_RATE_TIME_CONFLATED);
        assert_int_equal(got.qos.rate_info, 100);
        assert_true(rwf_key_equal(&got.key, &refresh.key));
        assert_true(rwf_bytes_equal(got.perm_data, refresh.perm_data));
        assert_true(rwf_bytes_equal(got.payload, refresh.payload));
    }
}

static void a_splice_that_does_not_fit_says_how_much_would(void **state)
{
    const struct rwf_splice set = { .ops = RWF_SPLICE_SET_KEY, .key = &refresh.key };
    uint8_t out[200];
    size_t length;
    size_t needed;
    (void)state;

    assert_int_equal(rwf_splice(UPDATE, &set, out, sizeof(out), &needed), RWF_OK);
    for (size_t size = 0; size < needed; size++) {
        assert_int_equal(rwf_splice(UPDATE, &set, out, size, &length), RWF_ERR_FULL);
        assert_true(length >= needed);
    }
}

static void keys_compare_by_their_members(void **state)
{
    struct rwf_key a = refresh.key;
    struct rwf_key b = refresh.key;
    (void)state;

    assert_true(rwf_key_equal(&a, &b));
    b.flags |= RWF_KEY_HAS_NAME_TYPE;
    b.name_type = RWF_NAME_RIC; /* what an absent one means */
    assert_true(rwf_key_equal(&a, &b));
    b.name_type = RWF_NAME_CONTRIBUTOR;
    assert_false(rwf_key_equal(&a, &b));
    b = a;
    b.filter = 7; /* not a member: no flag */
    assert_true(rwf_key_equal(&a, &b));
    b.service_id++;
    assert_false(rwf_key_equal(&a, &b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worked_example_decodes),
        cmocka_unit_test(a_peek_tells_what_a_forwarder_needs),
        cmocka_unit_test(every_prefix_of_a_header_is_refused),
        cmocka_unit_test(an_unknown_class_is_refused),
        cmocka_unit_test(a_flag_without_room_for_its_member_is_cleared),
        cmocka_unit_test(members_without_content_are_left_out),
        cmocka_unit_test(an_empty_name_is_not_written),
        cmocka_unit_test(a_message_state_must_be_specified),
        cmocka_unit_test(the_stream_id_is_patched_in_place),
        cmocka_unit_test(flags_are_patched_while_their_word_keeps_its_length),
        cmocka_unit_test(the_layout_says_where_the_members_stand),
        cmocka_unit_test(a_sequence_number_is_read_without_the_rest),
        cmocka_unit_test(a_sequence_number_of_an_update_is_read),
        cmocka_unit_test(the_backbone_form_has_no_key_no_group_and_stream_0),
        cmocka_unit_test(a_key_with_the_own_service_id_is_inserted),
        cmocka_unit_test(flags_that_need_a_second_byte_move_the_members),
        cmocka_unit_test(members_of_newer_peers_survive_a_splice),
        cmocka_unit_test(the_second_key_of_a_refresh_is_carried_through),
        cmocka_unit_test(a_splice_changes_single_members),
        cmocka_unit_test(a_splice_states_another_quality),
        cmocka_unit_test(a_splice_that_does_not_fit_says_how_much_would),
        cmocka_unit_test(keys_compare_by_their_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
