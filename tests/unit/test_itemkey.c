/* test_itemkey.c - equal items are equal bytes, whatever way they are named. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "itemkey/itemkey.h"

static const struct rwf_qos realtime = {
    .timeliness = RWF_TIMELINESS_REALTIME,
    .rate = RWF_RATE_TICK_BY_TICK,
};

static struct rwf_bytes canonical(const struct rwf_key *key, uint8_t *out, size_t size)
{
    size_t length;

    assert_int_equal(itemkey_encode(6, key, &realtime, out, size, &length), RWF_OK);
    return rwf_bytes(out, length);
}

static void the_service_id_and_a_default_name_type_do_not_matter(void **state)
{
    uint8_t a[64];
    uint8_t b[64];
    struct rwf_key plain = { .flags = RWF_KEY_HAS_NAME, .name = rwf_text("IBM.N") };
    struct rwf_key full = {
        .flags = RWF_KEY_HAS_NAME | RWF_KEY_HAS_NAME_TYPE | RWF_KEY_HAS_SERVICE_ID,
        .name = rwf_text("IBM.N"),
        .name_type = RWF_NAME_RIC,
        .service_id = 8090,
    };

    (void)state;
    assert_true(rwf_bytes_equal(canonical(&plain, a, 64), canonical(&full, b, 64)));
    full.name_type = RWF_NAME_CONTRIBUTOR;
    assert_false(rwf_bytes_equal(canonical(&plain, a, 64), canonical(&full, b, 64)));
}

static void every_member_comes_back(void **state)
{
    uint8_t bytes[128];
    struct rwf_key key = {
        .flags = RWF_KEY_HAS_NAME | RWF_KEY_HAS_NAME_TYPE | RWF_KEY_HAS_FILTER |
                 RWF_KEY_HAS_IDENTIFIER | RWF_KEY_HAS_ATTRIB,
        .name = rwf_text("X"),
        .name_type = 7,
        .filter = 0x80000001u,
        .identifier = -5,
        .attrib_type = RWF_TYPE_ELEMENT_LIST,
        .attrib = rwf_text("abc"),
    };
    struct rwf_key back;
    struct rwf_qos qos;
    uint8_t domain;
    struct rwf_bytes encoded = canonical(&key, bytes, sizeof(bytes));

    (void)state;
    assert_int_equal(itemkey_decode(encoded.data, encoded.length, &domain, &back, &qos), RWF_OK);
    assert_int_equal(domain, 6);
    assert_true(rwf_key_equal(&key, &back));
    assert_int_equal(qos.timeliness, RWF_TIMELINESS_REALTIME);
    assert_int_equal(qos.rate, RWF_RATE_TICK_BY_TICK);
}

static void a_key_that_does_not_fit_is_refused(void **state)
{
    uint8_t bytes[8];
    size_t length;
    struct rwf_key key = { .flags = RWF_KEY_HAS_NAME, .name = rwf_text("LONGNAME.O") };

    (void)state;
    assert_int_equal(itemkey_encode(6, &key, &realtime, bytes, sizeof(bytes), &length),
                     RWF_ERR_FULL);
    assert_int_equal(length, 0);
}

static void a_quality_survives_its_five_bytes(void **state)
{
    struct rwf_qos delayed = {
        .timeliness = RWF_TIMELINESS_DELAYED,
        .rate = RWF_RATE_TIME_CONFLATED,
        .time_info = 900,
        .rate_info = 1000,
    };
    uint8_t packed[5];

    (void)state;
    itemkey_qos_pack(&delayed, packed);
    struct rwf_qos back = itemkey_qos_unpack(packed);
    assert_int_equal(back.timeliness, RWF_TIMELINESS_DELAYED);
    assert_int_equal(back.rate, RWF_RATE_TIME_CONFLATED);
    assert_int_equal(back.time_info, 900);
    assert_int_equal(back.rate_info, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_service_id_and_a_default_name_type_do_not_matter),
        cmocka_unit_test(every_member_comes_back),
        cmocka_unit_test(a_key_that_does_not_fit_is_refused),
        cmocka_unit_test(a_quality_survives_its_five_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
