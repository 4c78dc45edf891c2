/* test_p2ps_store.c - which dictionary p2ps serves: that of its files, or that of a provider. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "p2ps/dictionaries.h"
#include "rmds/rwf_dictionary.h"

struct fixture {
    struct md_conf *conf;
    struct p2ps_dictionary_store *store;
    struct p2ps_dictionaries ops;
    struct rwf_dictionary *provider;
};

static int setup(void **state)
{
    static struct fixture fixture;
    static const char fields[] = "!tag Type 1\n!tag Version 7.7\n"
                                 "1X_OWN \"1X OWN\" 9999 NULL ENUMERATED 3 ( 3 ) ENUM 1\n";
    static const char enums[] = "!tag Type 2\n!tag DT_Version 7.7\n1X_OWN 9999\n0 \"own\"\n";
    const struct md_conf_options options = { .program = "p2ps", .node = "vega" };
    struct rwf_dictionary_error error;

    assert_int_equal(md_conf_load_text(&options, "f", "", 0, &fixture.conf), MD_OK);
    struct md_conf_object daemon = md_conf_object(fixture.conf, MD_CONF_DAEMON, NULL);
    assert_int_equal(p2ps_dictionary_store_create(&daemon, &fixture.store), MD_OK);
    fixture.ops = p2ps_dictionary_store_ops(fixture.store);
    assert_int_equal(rwf_dictionary_create(&fixture.provider), MD_OK);
    assert_int_equal(
        rwf_dictionary_load_fields(fixture.provider, "f", fields, strlen(fields), &error), MD_OK);
    assert_int_equal(rwf_dictionary_load_enums(fixture.provider, "e", enums, strlen(enums), &error),
                     MD_OK);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    rwf_dictionary_destroy(f->provider);
    p2ps_dictionary_store_destroy(f->store);
    md_conf_destroy(f->conf);
    return 0;
}

static struct rwf_bytes name_of(enum rwf_dictionary_type type)
{
    return rwf_text(type == RWF_DICTIONARY_TYPE_FIELDS ? "RWFFld" : "RWFEnum");
}

static void offer(struct fixture *f, enum rwf_dictionary_type type)
{
    assert_true(f->ops.offered(f->store, name_of(type), rwf_text("7.7")));
}

static void give(struct fixture *f, enum rwf_dictionary_type type)
{
    struct rwf_dictionary_cursor cursor = { 0 };
    const struct rwf_msg head = { .stream_id = 1 };
    uint8_t bytes[1000];
    size_t length;

    assert_int_equal(rwf_dictionary_refresh_encode(f->provider, type, RWF_DICTIONARY_NORMAL, &head,
                                                   &cursor, bytes, sizeof(bytes), &length),
                     RWF_OK);
    f->ops.part(f->store, name_of(type), rwf_text("7.7"), rwf_bytes(bytes, length), true, true);
}

/* What a consumer is given: the provider's, or that of the files. */
static bool is_provided(struct fixture *f, enum rwf_dictionary_type type)
{
    struct omm_dictionary_request request = {
        .stream_id = 3,
        .name = name_of(type),
        .filter = RWF_DICTIONARY_INFO,
    };
    struct p2ps_dictionary_reading reading = { 0 };
    struct rwf_dictionary_summary summary;
    static uint8_t bytes[65536];
    struct rwf_msg msg;
    size_t length;

    assert_int_equal(f->ops.encode(f->store, &request, &reading, bytes, sizeof(bytes), &length),
                     MD_OK);
    assert_int_equal(rwf_msg_decode(rwf_bytes(bytes, length), &msg), RWF_OK);
    assert_int_equal(rwf_dictionary_summary_decode(msg.payload, &summary), RWF_OK);
    return rwf_bytes_equal(summary.version, rwf_text("7.7"));
}

static void a_providers_enumerations_are_not_served_beside_the_fields_of_the_files(void **state)
{
    struct fixture *f = *state;

    offer(f, RWF_DICTIONARY_TYPE_ENUMS);
    give(f, RWF_DICTIONARY_TYPE_ENUMS);
    assert_false(is_provided(f, RWF_DICTIONARY_TYPE_ENUMS));
    offer(f, RWF_DICTIONARY_TYPE_FIELDS);
    give(f, RWF_DICTIONARY_TYPE_FIELDS);
    assert_true(is_provided(f, RWF_DICTIONARY_TYPE_FIELDS));
    assert_true(is_provided(f, RWF_DICTIONARY_TYPE_ENUMS));
}

static void both_are_of_the_files_when_the_provider_does_not_give_its_fields(void **state)
{
    struct fixture *f = *state;

    offer(f, RWF_DICTIONARY_TYPE_FIELDS);
    offer(f, RWF_DICTIONARY_TYPE_ENUMS);
    give(f, RWF_DICTIONARY_TYPE_ENUMS);
    f->ops.failed(f->store, name_of(RWF_DICTIONARY_TYPE_FIELDS));
    assert_false(is_provided(f, RWF_DICTIONARY_TYPE_FIELDS));
    assert_false(is_provided(f, RWF_DICTIONARY_TYPE_ENUMS));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_providers_enumerations_are_not_served_beside_the_fields_of_the_files),
        TEST(both_are_of_the_files_when_the_provider_does_not_give_its_fields),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
