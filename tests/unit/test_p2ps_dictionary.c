/* test_p2ps_dictionary.c - a provider's dictionary on its way through src_dist and p2ps. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

/* What p2ps's shell would be: keeps the fields, and says what it was asked to do. */
struct shelf {
    enum { NOTHING, FETCHING, HERE, FAILED } state;
    unsigned enum_offers; /* of enumerations, which are not fetched */
    unsigned fetches;     /* that somebody was told to do */
    unsigned parts;
    unsigned own_fields;
    char version[32];
    struct rwf_dictionary *dictionary;
    struct pair pair;
};

static bool shelf_offered(void *self, struct rwf_bytes name, struct rwf_bytes version)
{
    struct shelf *shelf = self;

    if (rwf_bytes_equal(name, rwf_text("RWFEnum"))) {
        shelf->enum_offers++;
        return false;
    }
    assert_true(rwf_bytes_equal(name, rwf_text("RWFFld")));
    snprintf(shelf->version, sizeof(shelf->version), "%.*s", (int)version.length,
             (const char *)version.data);
    if (shelf->state != NOTHING)
        return false;
    shelf->state = FETCHING;
    shelf->fetches++;
    return true;
}

static void shelf_part(void *self, struct rwf_bytes name, struct rwf_bytes version,
                       struct rwf_bytes part, bool is_first, bool is_last)
{
    struct shelf *shelf = self;
    struct rwf_msg msg;

    assert_true(rwf_bytes_equal(name, rwf_text("RWFFld")));
    assert_true(rwf_bytes_equal(version, rwf_text(shelf->version)));
    assert_int_equal(is_first, shelf->parts == 0);
    if (is_first)
        assert_int_equal(rwf_dictionary_create(&shelf->dictionary), MD_OK);
    assert_int_equal(rwf_msg_decode(part, &msg), RWF_OK);
    assert_false(rwf_msg_has_key(&msg)); /* nothing of the provider's connection */
    assert_int_equal(msg.stream_id, 0);
    assert_int_equal(rwf_dictionary_decode(shelf->dictionary, msg.payload), MD_OK);
    shelf->parts++;
    if (is_last)
        shelf->state = HERE;
}

static void shelf_failed(void *self, struct rwf_bytes name)
{
    struct shelf *shelf = self;

    (void)name;
    shelf->state = FAILED;
}

static bool shelf_has(void *self, struct rwf_bytes name)
{
    (void)self;
    return rwf_bytes_equal(name, rwf_text("RWFFld"));
}

static int shelf_encode(void *self, const struct omm_dictionary_request *request,
                        struct p2ps_dictionary_reading *reading, uint8_t *out, size_t size,
                        size_t *length)
{
    struct shelf *shelf = self;
    struct rwf_msg msg = { .stream_id = request->stream_id, .flags = RWF_REFRESH_SOLICITED };

    if (!rwf_bytes_equal(request->name, rwf_text("RWFFld")))
        return MD_ERR_NOT_FOUND;
    if (shelf->state == FETCHING)
        return MD_ERR_AGAIN;
    if (shelf->state != HERE)
        return MD_ERR_NOT_FOUND;
    int rc =
        rwf_dictionary_refresh_encode(shelf->dictionary, RWF_DICTIONARY_TYPE_FIELDS,
                                      request->filter, &msg, &reading->cursor, out, size, length);
    reading->is_last = reading->cursor.is_complete;
    return rc;
}

static void start(struct shelf *shelf)
{
    const struct p2ps_core_config config = {
        .dictionaries = { .self = shelf,
                          .encode = shelf_encode,
                          .offered = shelf_offered,
                          .part = shelf_part,
                          .failed = shelf_failed,
                          .has = shelf_has },
    };

    pair_create(&shelf->pair, config);
}

static int setup(void **state)
{
    struct shelf *shelf = calloc(1, sizeof(*shelf));

    assert_non_null(shelf);
    shelf->pair.provider.dictionary = "7.0";
    *state = shelf;
    return 0;
}

static int teardown(void **state)
{
    struct shelf *shelf = *state;

    pair_destroy(&shelf->pair);
    rwf_dictionary_destroy(shelf->dictionary);
    free(shelf);
    return 0;
}

static void ask(struct pair_client *c, int32_t stream_id, const char *name)
{
    struct omm_dictionary_request request = {
        .stream_id = stream_id,
        .is_streaming = true,
        .name = rwf_text(name),
        .filter = RWF_DICTIONARY_NORMAL,
    };

    p2ps_client_dictionary(c->pair->sink, c->pair->now_ns, c->id, &request);
    pair_settle(c->pair);
}

static bool service_is_up(struct pair *pair)
{
    struct rrmp_sink_service service;

    return rrmp_sink_service(p2ps_core_sink(pair->sink, 0), 0, &service) && service.is_up;
}

static void a_providers_dictionary_reaches_the_consumer(void **state)
{
    struct shelf *shelf = *state;

    start(shelf);
    assert_int_equal(shelf->state, HERE);
    assert_int_equal(shelf->parts, 2);
    assert_string_equal(shelf->version, "7.0");
    assert_int_equal(shelf->pair.provider.dictionary_filters[0], RWF_DICTIONARY_NORMAL);
    assert_non_null(rwf_dictionary_field(shelf->dictionary, 9999));
    struct pair_client *c = pair_client(&shelf->pair, 0);
    ask(c, 3, "RWFFld");
    assert_string_equal(pair_heard(c, 3), "M");
    ask(c, 4, "NOBODYS");
    assert_string_equal(pair_heard(c, 4), "X");
}

static void a_consumer_that_comes_before_the_dictionary_waits_for_it(void **state)
{
    struct shelf *shelf = *state;

    shelf->pair.provider.dictionary = NULL;
    start(shelf);
    struct pair_client *c = pair_client(&shelf->pair, 0);
    struct pair_client *gone = pair_client(&shelf->pair, 1);
    shelf->state = FETCHING; /* by another worker */
    ask(c, 3, "RWFFld");
    ask(c, 4, "RWFFld");
    ask(gone, 3, "RWFFld");
    p2ps_client_close(shelf->pair.sink, shelf->pair.now_ns, c->id, 4);
    p2ps_client_gone(shelf->pair.sink, shelf->pair.now_ns, gone->id);
    pair_pass(&shelf->pair, 100 * PAIR_MS);
    assert_string_equal(pair_heard(c, 3), "");
    assert_int_equal(rwf_dictionary_create(&shelf->dictionary), MD_OK);
    shelf->state = HERE;
    pair_pass(&shelf->pair, 100 * PAIR_MS);
    assert_string_equal(pair_heard(c, 3), "M");
    assert_string_equal(pair_heard(c, 4), "");
    assert_string_equal(pair_heard(gone, 3), "");
}

static void the_service_comes_up_when_its_dictionary_is_here(void **state)
{
    struct shelf *shelf = *state;

    shelf->pair.provider.dictionary_is_silent = true;
    start(shelf);
    pair_pass(&shelf->pair, 2 * PAIR_SEC);
    assert_false(service_is_up(&shelf->pair));
    /* Who does not answer is used without. */
    pair_pass(&shelf->pair, 4 * PAIR_SEC);
    assert_true(service_is_up(&shelf->pair));
    assert_int_equal(shelf->fetches, 0);
    assert_int_equal(srcdist_core_stats(shelf->pair.source)->dictionaries_failed, 1);
}

static void the_first_version_stays(void **state)
{
    struct shelf *shelf = *state;

    start(shelf);
    pair_provider_goes(&shelf->pair);
    pair_pass(&shelf->pair, PAIR_SEC);
    shelf->pair.provider.dictionary = "8.0";
    pair_provider_comes(&shelf->pair);
    pair_pass(&shelf->pair, PAIR_SEC);
    assert_true(service_is_up(&shelf->pair));
    assert_int_equal(shelf->pair.provider.dictionary_asks, 2);
    assert_int_equal(shelf->pair.provider.dictionary_filters[1], RWF_DICTIONARY_INFO);
    assert_int_equal(srcdist_core_stats(shelf->pair.source)->dictionary_conflicts, 1);
    assert_int_equal(shelf->fetches, 1);
    assert_string_equal(shelf->version, "7.0");
}

static void a_dictionary_that_comes_late_is_taken(void **state)
{
    struct shelf *shelf = *state;
    struct pair_provider *p = &shelf->pair.provider;

    p->dictionary_is_silent = true;
    start(shelf);
    pair_pass(&shelf->pair, 6 * PAIR_SEC);
    assert_true(service_is_up(&shelf->pair));
    assert_int_equal(shelf->state, NOTHING);
    pair_say_dictionary(p, p->dictionary_stream, RWF_DICTIONARY_NORMAL, RWF_DICTIONARY_TYPE_FIELDS);
    pair_pass(&shelf->pair, PAIR_SEC);
    assert_int_equal(shelf->state, HERE);
    assert_int_equal(shelf->parts, 2);
    assert_int_equal(srcdist_core_stats(shelf->pair.source)->dictionaries_now, 1);
    assert_int_equal(srcdist_core_stats(shelf->pair.source)->dictionaries_failed, 1);
}

static void one_that_never_comes_is_given_up(void **state)
{
    struct shelf *shelf = *state;
    struct pair_provider *p = &shelf->pair.provider;

    p->dictionary_is_silent = true;
    start(shelf);
    assert_int_equal(p->closes, 0);
    pair_pass(&shelf->pair, 70 * PAIR_SEC);
    assert_int_equal(p->closes, 1); /* of its stream: nothing more shall come on it */
    pair_say_dictionary(p, p->dictionary_stream, RWF_DICTIONARY_NORMAL, RWF_DICTIONARY_TYPE_FIELDS);
    pair_pass(&shelf->pair, PAIR_SEC);
    assert_int_equal(shelf->state, NOTHING);
    assert_int_equal(srcdist_core_stats(shelf->pair.source)->dictionaries_failed, 1);
}

static void fields_are_asked_for_before_enumerations(void **state)
{
    struct shelf *shelf = *state;
    struct pair_provider *p = &shelf->pair.provider;

    p->has_enums = true; /* and listed first */
    p->dictionary_is_silent = true;
    start(shelf);
    pair_pass(&shelf->pair, PAIR_SEC);
    assert_int_equal(p->dictionary_asks, 1);
    assert_string_equal(p->dictionary_names[0], "RWFFld");
    assert_false(service_is_up(&shelf->pair));
    p->dictionary_is_silent = false;
    pair_say_dictionary(p, p->dictionary_stream, RWF_DICTIONARY_NORMAL, RWF_DICTIONARY_TYPE_FIELDS);
    pair_pass(&shelf->pair, PAIR_SEC);
    assert_int_equal(p->dictionary_asks, 2);
    assert_string_equal(p->dictionary_names[1], "RWFEnum");
    assert_true(service_is_up(&shelf->pair));
    assert_int_equal(shelf->state, HERE);
    assert_true(shelf->enum_offers > 0);
}

static void enumerations_are_not_taken_beside_fields_of_another_version(void **state)
{
    struct shelf *shelf = *state;
    struct pair_provider *p = &shelf->pair.provider;

    p->has_enums = true;
    p->enums_are_refused = true;
    start(shelf);
    assert_int_equal(p->dictionary_asks, 2);
    pair_provider_goes(&shelf->pair);
    p->dictionary = "8.0";
    p->enums_are_refused = false;
    pair_provider_comes(&shelf->pair);
    pair_pass(&shelf->pair, PAIR_SEC);
    assert_int_equal(p->dictionary_asks, 3);
    assert_string_equal(p->dictionary_names[2], "RWFFld");
    assert_int_equal(shelf->enum_offers, 0);
    /* Who has those that are kept is asked for what belongs to them. */
    pair_provider_goes(&shelf->pair);
    p->dictionary = "7.0";
    pair_provider_comes(&shelf->pair);
    pair_pass(&shelf->pair, PAIR_SEC);
    assert_int_equal(p->dictionary_asks, 5);
    assert_string_equal(p->dictionary_names[4], "RWFEnum");
    assert_true(shelf->enum_offers > 0);
}

static void a_provider_lost_in_the_middle_is_asked_again_when_it_is_back(void **state)
{
    struct shelf *shelf = *state;

    shelf->pair.provider.dictionary_is_silent = true;
    start(shelf);
    pair_provider_goes(&shelf->pair);
    shelf->pair.provider.dictionary_is_silent = false;
    pair_provider_comes(&shelf->pair);
    pair_pass(&shelf->pair, PAIR_SEC);
    assert_true(service_is_up(&shelf->pair));
    assert_int_equal(shelf->state, HERE);
    assert_int_equal(srcdist_core_stats(shelf->pair.source)->dictionaries_failed, 0);
}

static void the_cache_of_src_dist_knows_the_types_of_its_fields(void **state)
{
    const uint32_t text = 0x41424344, command = 0x1b5b3160; /* "ABCD", and: go to its byte 1 */
    struct shelf *shelf = *state;
    struct pair *pair = &shelf->pair;

    pair->source_caches = true;
    start(shelf);
    struct pair_client *c = pair_client(pair, 0);
    pair_open(c, 5, "IBM.N");
    pair_item(pair, "IBM.N")->counter = text;
    pair_update(pair, "IBM.N");
    pair_item(pair, "IBM.N")->counter = command - 1;
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    uint32_t requests = pair->provider.requests + pair->provider.reissues;
    struct pair_client *other = pair_client(pair, 1);
    pair_open(other, 5, "IBM.N");
    assert_int_equal(pair->provider.requests + pair->provider.reissues, requests);
    assert_int_equal(pair_stream(other, 5)->counter, command);
}

static void a_stream_id_in_use_is_not_taken_for_a_dictionary(void **state)
{
    struct shelf *shelf = *state;

    start(shelf);
    struct pair_client *c = pair_client(&shelf->pair, 0);
    pair_open(c, 5, "IBM.N");
    ask(c, 5, "RWFFld");
    assert_string_equal(pair_heard(c, 5), "IX");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_providers_dictionary_reaches_the_consumer),
        TEST(a_consumer_that_comes_before_the_dictionary_waits_for_it),
        TEST(the_service_comes_up_when_its_dictionary_is_here),
        TEST(the_first_version_stays),
        TEST(a_dictionary_that_comes_late_is_taken),
        TEST(one_that_never_comes_is_given_up),
        TEST(fields_are_asked_for_before_enumerations),
        TEST(enumerations_are_not_taken_beside_fields_of_another_version),
        TEST(a_provider_lost_in_the_middle_is_asked_again_when_it_is_back),
        TEST(the_cache_of_src_dist_knows_the_types_of_its_fields),
        TEST(a_stream_id_in_use_is_not_taken_for_a_dictionary),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
