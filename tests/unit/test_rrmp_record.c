/* test_rrmp_record.c - records and item keys: layouts, limits, refusals. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "rrmp/key.h"
#include "rrmp/record.h"

static const uint8_t key_bytes[] = { 6, 1, 1, 0x11, 0, 0, 0, 0, 3, 'I', 'B', 'M' };

static const uint8_t list_bytes[] = { 0, 1, 'A', 0, 1, 'B' };

static struct rrmp_view view_of(const void *bytes, size_t length)
{
    return (struct rrmp_view){ .bytes = bytes, .length = length };
}

static size_t encode(const struct rrmp_record *record, uint8_t *out, size_t size)
{
    struct md_wr wr = md_wr_init(out, size);

    rrmp_record_encode(&wr, record);
    return md_wr_ok(&wr) ? md_wr_length(&wr) : 0;
}

static void an_update_has_sixteen_bytes_before_its_message(void **state)
{
    static const uint8_t expected[] = {
        34, 0x10, 0, 7, 0, 0, 1, 2, 0x05, 0, 0, 9, 0, 0, 0, 3, 'x'
    };
    const struct rrmp_record record = {
        .header = { .type = RRMP_UPDATE, .svc = 7, .svc_seq = 0x102 },
        .u.tick = { .handle = 0x05000009, .item_seq = 3, .message = view_of("x", 1) },
    };
    uint8_t bytes[64];
    uint8_t head[16];

    (void)state;
    assert_int_equal(encode(&record, bytes, sizeof(bytes)), sizeof(expected));
    assert_memory_equal(bytes, expected, sizeof(expected));
    rrmp_tick_put(head, RRMP_UPDATE, 0, 7, 0x102, 0x05000009, 3);
    assert_memory_equal(head, expected, sizeof(head));
}

static void every_record_survives_encoding_and_decoding(void **state)
{
    static const uint8_t rows[24] = { 1, 2, 3 };
    static const struct rrmp_record records[] = {
        { .header = { .type = RRMP_INSTANCE, .svc = RRMP_SVC_NONE },
          .u.instance = { .service_count = 1,
                          .name = { (const uint8_t *)"n", 1 },
                          .services = rows } },
        { .header = { .type = RRMP_SERVICE },
          .u.service = { .name = { (const uint8_t *)"S", 1 } } },
        { .header = { .type = RRMP_SVCSTATE },
          .u.svcstate = { .text = { (const uint8_t *)"t", 1 } } },
        { .header = { .type = RRMP_GROUP }, .u.group = { .group = 3, .merged_into = 4 } },
        { .header = { .type = RRMP_QUERY }, .u.query = { .what = 3 } },
        { .header = { .type = RRMP_REQUEST },
          .u.request = { .id = 1, .key = { key_bytes, sizeof(key_bytes) } } },
        { .header = { .type = RRMP_CLOSE },
          .u.close = { .key = { key_bytes, sizeof(key_bytes) } } },
        { .header = { .type = RRMP_CLOSE, .flags = RRMP_FLAG_PRIVATE },
          .u.close = { .handle = 7 } },
        { .header = { .type = RRMP_POST }, .u.post = { .message = { key_bytes, 4 } } },
        { .header = { .type = RRMP_GENERICUP }, .u.tick = { .group = RRMP_GROUP_NONE } },
        { .header = { .type = RRMP_GAPQUERY }, .u.gapquery = { 1, 2, 3 } },
        { .header = { .type = RRMP_AUDIT },
          .u.audit = { .id = 1, .to = 2, .count = 3, .rows = rows } },
        { .header = { .type = RRMP_SUM }, .u.sum = { 1, 2, 3 } },
        { .header = { .type = RRMP_DICTREQ }, .u.dictreq = { .name = { key_bytes, 4 } } },
        { .header = { .type = RRMP_LISTREQ }, .u.listreq = { 1, 2 } },
        { .header = { .type = RRMP_BIND }, .u.bind = { .key = { key_bytes, sizeof(key_bytes) } } },
        { .header = { .type = RRMP_IMAGE },
          .u.image = { .flags = RRMP_IMAGE_FIRST, .key = { key_bytes, sizeof(key_bytes) } } },
        { .header = { .type = RRMP_STATUS, .flags = RRMP_FLAG_GROUP }, .u.tick = { .group = 9 } },
        { .header = { .type = RRMP_GENERIC }, .u.tick = { .group = RRMP_GROUP_NONE } },
        { .header = { .type = RRMP_UNBIND }, .u.unbind = { 1, 2, RRMP_UNBIND_IDLE } },
        { .header = { .type = RRMP_REFUSE }, .u.refuse = { .scope = RRMP_REFUSE_LATER } },
        { .header = { .type = RRMP_ACK }, .u.ack = { .post_id = 4 } },
        { .header = { .type = RRMP_GAPITEMS }, .u.gapitems = { .count = 3, .rows = rows } },
        { .header = { .type = RRMP_AUDITDIFF }, .u.auditdiff = { .count = 2, .rows = rows } },
        { .header = { .type = RRMP_REPLAY }, .u.replay = { .tag = 5, .request_id = 1 } },
        { .header = { .type = RRMP_DICTPART }, .u.dictpart = { .name = { key_bytes, 4 } } },
        { .header = { .type = RRMP_LISTPART },
          .u.listpart = { .id = 1,
                          .next = 2,
                          .count = 2,
                          .keys = { list_bytes, sizeof(list_bytes) } } },
    };
    uint8_t first[256], second[256];

    (void)state;
    for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
        struct rrmp_record decoded;
        size_t length = encode(&records[i], first, sizeof(first));
        assert_true(length > 0 && length <= rrmp_record_size(&records[i]));
        assert_int_equal(rrmp_record_decode(first, length, &decoded), MD_OK);
        assert_int_equal(encode(&decoded, second, sizeof(second)), length);
        assert_memory_equal(first, second, length);
        /* One byte less, down to none: never more than is there, never accepted without its end. */
        for (size_t cut = 0; cut < length; cut++)
            rrmp_record_decode(first, cut, &decoded);
        assert_int_equal(rrmp_record_decode(first, RRMP_HEADER_SIZE - 1, &decoded), MD_ERR_SHORT);
    }
}

static void another_major_version_is_not_read(void **state)
{
    const uint8_t bytes[16] = { RRMP_UPDATE, 0x20 };
    struct rrmp_record record;

    (void)state;
    assert_int_equal(rrmp_record_decode(bytes, sizeof(bytes), &record), MD_ERR_UNSUPPORTED);
}

static void an_image_names_its_key_in_the_first_part_only(void **state)
{
    struct rrmp_record record = {
        .header = { .type = RRMP_IMAGE },
        .u.image = { .part = 1, .key = view_of(key_bytes, sizeof(key_bytes)) },
    };
    struct rrmp_record decoded;
    uint8_t bytes[128];

    (void)state;
    size_t length = encode(&record, bytes, sizeof(bytes));
    assert_int_equal(rrmp_record_decode(bytes, length, &decoded), MD_ERR_MALFORMED);
    record.u.image.key = view_of(NULL, 0);
    length = encode(&record, bytes, sizeof(bytes));
    assert_int_equal(rrmp_record_decode(bytes, length, &decoded), MD_OK);
}

static void a_row_count_beyond_the_bytes_is_refused(void **state)
{
    uint8_t bytes[32] = { RRMP_GAPITEMS, 0x10 };
    struct rrmp_record record;

    (void)state;
    bytes[23] = 1;
    assert_int_equal(rrmp_record_decode(bytes, 32, &record), MD_OK);
    bytes[23] = 2;
    assert_int_equal(rrmp_record_decode(bytes, 32, &record), MD_ERR_SHORT);
}

static void a_key_is_canonical(void **state)
{
    struct rrmp_key key;
    uint8_t bytes[64];

    (void)state;
    assert_int_equal(rrmp_key_decode(key_bytes, sizeof(key_bytes), &key), MD_OK);
    assert_int_equal(key.domain, 6);
    assert_int_equal(key.name.length, 3);
    struct md_wr wr = md_wr_init(bytes, sizeof(bytes));
    rrmp_key_encode(&wr, &key);
    assert_int_equal(md_wr_length(&wr), sizeof(key_bytes));
    assert_memory_equal(bytes, key_bytes, sizeof(key_bytes));
    assert_int_equal(rrmp_key_decode(key_bytes, sizeof(key_bytes) - 1, &key), MD_ERR_SHORT);
    memcpy(bytes, key_bytes, sizeof(key_bytes));
    bytes[1] = 2; /* a member nobody knows */
    assert_int_equal(rrmp_key_decode(bytes, sizeof(key_bytes), &key), MD_ERR_MALFORMED);
}

static void reserved_topics_are_never_a_services(void **state)
{
    (void)state;
    assert_true(rrmp_topic("RDFD", 4) != RRMP_TOPIC_CONTROL);
    assert_true(rrmp_topic("", 0) == 0x811c9dc5u);
    assert_true(rrmp_topic("a", 1) == 0xe40c292cu); /* the published FNV-1a test value */
}

static void tlvs_are_walked_to_their_end_and_not_beyond(void **state)
{
    uint8_t bytes[32];
    struct md_wr wr = md_wr_init(bytes, sizeof(bytes));
    struct rrmp_view rest, value;
    uint8_t type;

    (void)state;
    rrmp_tlv_put(&wr, RRMP_TLV_VENDOR, "abcde", 5);
    rrmp_tlv_put(&wr, 99, "", 0);
    rest = view_of(bytes, md_wr_length(&wr));
    assert_true(rrmp_tlv_next(&rest, &type, &value));
    assert_int_equal(value.length, 5);
    assert_true(rrmp_tlv_next(&rest, &type, &value));
    assert_int_equal(type, 99);
    assert_false(rrmp_tlv_next(&rest, &type, &value));
    rest = view_of(bytes, 9); /* cut inside the value */
    assert_false(rrmp_tlv_next(&rest, &type, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_update_has_sixteen_bytes_before_its_message),
        cmocka_unit_test(every_record_survives_encoding_and_decoding),
        cmocka_unit_test(another_major_version_is_not_read),
        cmocka_unit_test(an_image_names_its_key_in_the_first_part_only),
        cmocka_unit_test(a_row_count_beyond_the_bytes_is_refused),
        cmocka_unit_test(a_key_is_canonical),
        cmocka_unit_test(reserved_topics_are_never_a_services),
        cmocka_unit_test(tlvs_are_walked_to_their_end_and_not_beyond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
