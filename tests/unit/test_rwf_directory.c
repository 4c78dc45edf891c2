/* test_rwf_directory.c - services of a directory by name, id and state. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rmds/rwf.h"
#include "rmds/rwf_directory.h"

static uint8_t bytes[2048];
static struct rwf_encoder enc;

static void part_start(uint8_t id)
{
    struct rwf_filter_entry part = { .action = RWF_FILTER_SET, .id = id };

    rwf_filter_entry_start(&enc, &part);
    rwf_element_list_start(&enc, NULL);
}

static void part_finish(void)
{
    rwf_element_list_finish(&enc);
    rwf_filter_entry_finish(&enc);
}

/* A service; NULL: without a name. state: -1: without one. */
static void add(uint8_t action, uint8_t id, const char *name, int state)
{
    struct rwf_filter_list_info info = { .container = RWF_TYPE_ELEMENT_LIST };
    struct rwf_map_entry entry = { .action = action, .key = rwf_bytes(&id, 1) };

    if (action == RWF_MAP_DELETE) {
        rwf_map_add(&enc, &entry);
        return;
    }
    rwf_map_entry_start(&enc, &entry);
    rwf_filter_list_start(&enc, &info);
    if (name) {
        part_start(1);
        rwf_element_add_ascii(&enc, "Vendor", rwf_text("us"));
        rwf_element_add_ascii(&enc, "Name", rwf_text(name));
        part_finish();
    }
    if (state >= 0) {
        part_start(2);
        rwf_element_add_uint(&enc, "ServiceState", (uint64_t)state);
        rwf_element_add_uint(&enc, "AcceptingRequests", 0);
        part_finish();
    }
    rwf_filter_list_finish(&enc);
    rwf_map_entry_finish(&enc);
}

static void start(uint8_t msg_class)
{
    struct rwf_msg msg = { .msg_class = msg_class,
                           .domain = RWF_DOMAIN_SOURCE,
                           .stream_id = 2,
                           .container = RWF_TYPE_MAP,
                           .state = { .stream_state = RWF_STREAM_OPEN } };
    struct rwf_map_info info = { .key_type = RWF_TYPE_UINT, .container = RWF_TYPE_FILTER_LIST };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    rwf_map_start(&enc, &info);
}

static struct rwf_msg finish(void)
{
    struct rwf_msg msg;

    rwf_map_finish(&enc);
    rwf_msg_finish(&enc);
    assert_int_equal(rwf_encoder_error(&enc), RWF_OK);
    assert_int_equal(rwf_msg_decode(rwf_encoder_bytes(&enc), &msg), RWF_OK);
    return msg;
}

static void a_service_is_found_by_its_name(void **state)
{
    struct rwf_service service;

    (void)state;
    start(RWF_CLASS_REFRESH);
    add(RWF_MAP_ADD, 7, "IDNS", 0);
    add(RWF_MAP_ADD, 200, "RDFD", 1);
    struct rwf_msg msg = finish();
    assert_int_equal(rwf_service_find(&msg, "RDFD", &service), 1);
    assert_int_equal(service.id, 200);
    assert_true(service.has_state && service.is_up && !service.is_accepting && !service.is_deleted);
    assert_int_equal(rwf_service_find(&msg, "IDNS", &service), 1);
    assert_true(service.id == 7 && service.has_state && !service.is_up);
    assert_int_equal(rwf_service_find(&msg, "RDF", &service), 0);
    assert_int_equal(rwf_service_find(&msg, "RDFDD", &service), 0);
}

static void an_update_tells_only_what_changes(void **state)
{
    struct rwf_services services;
    struct rwf_service service;

    (void)state;
    start(RWF_CLASS_UPDATE);
    add(RWF_MAP_UPDATE, 7, NULL, 1);
    add(RWF_MAP_DELETE, 8, NULL, -1);
    add(RWF_MAP_ADD, 9, "NEW", -1);
    struct rwf_msg msg = finish();
    assert_int_equal(rwf_services_start(&msg, &services), RWF_OK);
    assert_int_equal(rwf_services_next(&services, &service), 1);
    assert_true(service.id == 7 && !service.has_name && service.has_state && service.is_up);
    assert_int_equal(rwf_services_next(&services, &service), 1);
    assert_true(service.id == 8 && service.is_deleted && !service.has_state);
    assert_int_equal(rwf_services_next(&services, &service), 1);
    assert_true(service.id == 9 && service.has_name && !service.has_state && service.is_accepting);
    assert_int_equal(rwf_services_next(&services, &service), 0);
}

static void other_messages_have_no_services(void **state)
{
    struct rwf_msg item = { .msg_class = RWF_CLASS_UPDATE,
                            .domain = RWF_DOMAIN_MARKET_PRICE,
                            .container = RWF_TYPE_FIELD_LIST,
                            .payload = rwf_text("whatever") };
    struct rwf_service service;

    (void)state;
    assert_int_equal(rwf_service_find(&item, "RDFD", &service), 0);
    item.domain = RWF_DOMAIN_SOURCE;
    assert_true(rwf_service_find(&item, "RDFD", &service) < 0); /* no map */
    item.container = RWF_TYPE_NO_DATA;
    assert_int_equal(rwf_service_find(&item, "RDFD", &service), 0);
}

static void what_is_cut_is_an_error(void **state)
{
    struct rwf_service service;

    (void)state;
    start(RWF_CLASS_REFRESH);
    add(RWF_MAP_ADD, 7, "IDNS", 0);
    struct rwf_msg msg = finish();
    for (size_t length = msg.payload.length - 1; length > 0; length--) {
        struct rwf_msg cut = msg;
        cut.payload.length = length;
        assert_true(rwf_service_find(&cut, "RDFD", &service) < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_service_is_found_by_its_name),
        cmocka_unit_test(an_update_tells_only_what_changes),
        cmocka_unit_test(other_messages_have_no_services),
        cmocka_unit_test(what_is_cut_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
