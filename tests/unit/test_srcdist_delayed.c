/* test_srcdist_delayed.c - delayed services of src_dist, as consumers of p2ps see them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

#include "rates/rates.h"

#define DELAY_NS   (2 * PAIR_SEC)
#define DELAYED_ID 8
#define SENT_ID    9
#define CHUNKS     1024
#define COUNTERS   4096

/* A disk that outlives the source. */
struct disk {
    struct {
        uint8_t *bytes;
        size_t length;
    } chunks[CHUNKS];
    bool is_broken;
};

static struct disk disk;
static struct srcdist_delayed delayed;
static uint64_t boot = 1;
static const char *live_name; /* of the service that is delayed */
static char told[512];

static int disk_next(void *context, uint64_t after, uint64_t *chunk, size_t *length)
{
    (void)context;
    for (uint64_t i = after + 1; i < CHUNKS; i++) {
        if (!disk.chunks[i].bytes)
            continue;
        *chunk = i;
        *length = disk.chunks[i].length;
        return MD_OK;
    }
    return MD_ERR_NOT_FOUND;
}

static int disk_write(void *context, uint64_t chunk, const uint8_t *bytes, size_t length)
{
    (void)context;
    assert_true(chunk < CHUNKS);
    if (disk.is_broken)
        return MD_ERR_SYS;
    disk.chunks[chunk].bytes = malloc(length);
    assert_non_null(disk.chunks[chunk].bytes);
    memcpy(disk.chunks[chunk].bytes, bytes, length);
    disk.chunks[chunk].length = length;
    return MD_OK;
}

static int disk_read(void *context, uint64_t chunk, uint8_t *bytes, size_t size, size_t *length)
{
    (void)context;
    if (chunk >= CHUNKS || !disk.chunks[chunk].bytes || disk.chunks[chunk].length > size)
        return MD_ERR_NOT_FOUND;
    *length = disk.chunks[chunk].length;
    memcpy(bytes, disk.chunks[chunk].bytes, *length);
    return MD_OK;
}

static void disk_remove(void *context, uint64_t chunk)
{
    (void)context;
    free(disk.chunks[chunk].bytes);
    disk.chunks[chunk].bytes = NULL;
}

static struct srcdist_service_config service(void *owner, struct rwf_bytes name)
{
    const struct pair *pair = owner;
    bool is_delayed = rwf_bytes_equal(name, rwf_text("LATER"));

    return (struct srcdist_service_config){
        .id = is_delayed                                ? DELAYED_ID
              : rwf_bytes_equal(name, rwf_text("SENT")) ? SENT_ID
                                                        : PAIR_SERVICE_ID,
        .cache_location = pair->source_caches ? SRCDIST_CACHE_SRC_DIST : SRCDIST_CACHE_SRC_APP,
        .load_factor = 1,
        .is_configured = true,
        .is_delayed = is_delayed,
        .delayed = rwf_bytes_equal(name, rwf_text(live_name)) ? &delayed : NULL,
    };
}

static void tell(void *owner, enum srcdist_tone tone, const char *text)
{
    (void)owner;
    if (tone != SRCDIST_TELLS_NEWS)
        snprintf(told, sizeof(told), "%s", text);
}

static void tune(struct srcdist_core_config *source)
{
    source->service = service;
    source->tell = tell;
    source->message_max = 16384;
    source->image_bytes_max = 1u << 20;
}

static struct pair *make(const char *live, bool source_caches, bool takes_all)
{
    struct pair *pair = calloc(1, sizeof(*pair));

    assert_non_null(pair);
    live_name = live;
    delayed = (struct srcdist_delayed){
        .name = "LATER",
        .delay_ns = DELAY_NS,
        .bytes_max = 4u << 20,
        .takes_all = takes_all,
        .boot = boot,
        .disk = { NULL, disk_next, disk_write, disk_read, disk_remove },
    };
    told[0] = 0;
    pair->source_caches = source_caches;
    pair->tune = tune;
    pair_create(pair, (struct p2ps_core_config){ 0 });
    srcdist_core_wall_set(pair->source, pair->now_ns, pair_wall_ns);
    pair_pass(pair, 300 * PAIR_MS);
    return pair;
}

static int setup(void **state)
{
    *state = make("RDFD", true, false);
    return 0;
}

static int setup_source_app(void **state)
{
    *state = make("RDFD", false, false);
    return 0;
}

static int setup_all(void **state)
{
    *state = make("RDFD", true, true);
    return 0;
}

static int setup_sent(void **state)
{
    *state = make("SENT", true, true);
    return 0;
}

static int teardown(void **state)
{
    pair_destroy(*state);
    free(*state);
    for (unsigned i = 0; i < CHUNKS; i++) {
        free(disk.chunks[i].bytes);
        disk.chunks[i].bytes = NULL;
    }
    disk.is_broken = false;
    return 0;
}

static void open_delayed(struct pair_client *c, int32_t stream_id, const char *name)
{
    struct omm_item_request request = pair_request(stream_id, name);

    request.key.service_id = DELAYED_ID;
    pair_ask_item(c, &request);
}

static const struct srcdist_core_stats *stats(const struct pair *pair)
{
    return srcdist_core_stats(pair->source);
}

/* When each value of the counter was published. */
static uint64_t said_ns[COUNTERS];

static void say(struct pair *pair, const char *name)
{
    pair_update(pair, name);
    said_ns[pair_item(pair, name)->counter] = pair->now_ns;
    pair_settle(pair);
}

static void assert_not_early(struct pair *pair, struct pair_client *c, int32_t stream_id)
{
    uint32_t counter = pair_stream(c, stream_id)->counter;

    assert_true(counter == 0 || pair->now_ns - said_ns[counter] >= DELAY_NS);
}

/* ---- */

static void a_delayed_item_has_all_of_the_live_one_and_nothing_early(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);

    memset(said_ns, 0, sizeof(said_ns));
    said_ns[100] = pair->now_ns; /* the image */
    pair_open(a, 5, "IBM.N");
    open_delayed(a, 6, "IBM.N");
    pair_pass(pair, 200 * PAIR_MS);
    assert_memory_equal(pair_heard(a, 5), "I", 1); /* the source may be asked again, for the line */
    assert_string_equal(pair_heard(a, 6), "!");
    assert_memory_equal(pair_stream(a, 6)->text, "delayed image at ", 17);
    for (int i = 0; i < 100; i++) {
        say(pair, "IBM.N");
        pair_pass(pair, 60 * PAIR_MS);
        assert_not_early(pair, a, 6);
    }
    uint32_t last = pair_stream(a, 5)->counter;
    assert_int_equal(last, pair_item(pair, "IBM.N")->counter);
    assert_in_range(pair_stream(a, 6)->counter, last - 40, last - 30);
    pair_pass(pair, DELAY_NS + 200 * PAIR_MS);
    assert_int_equal(pair_stream(a, 6)->counter, last);
    /* The wait, the image, and each update once. */
    assert_memory_equal(pair_heard(a, 6), "!I", 2);
    size_t updates = strspn(pair_heard(a, 6) + 2, "U");
    assert_int_equal(updates + 2, strlen(pair_heard(a, 6)));
    assert_in_range(updates, 95, 100);
    assert_int_equal(stats(pair)->delayed.gaps, 0);
    assert_int_equal(stats(pair)->delayed.items_now, 1);
}

static void a_late_consumer_gets_the_image_of_then(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);

    open_delayed(a, 6, "IBM.N");
    for (int i = 0; i < 60; i++) {
        say(pair, "IBM.N");
        pair_pass(pair, 60 * PAIR_MS);
    }
    struct pair_client *b = pair_client(pair, 1);
    open_delayed(b, 7, "IBM.N");
    assert_string_equal(pair_heard(b, 7), "I");
    assert_int_equal(pair_stream(b, 7)->counter, pair_stream(a, 6)->counter);
    assert_not_early(pair, b, 7);
}

static void only_what_is_asked_for_is_kept_unless_all_is(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);

    pair_open(a, 5, "IBM.N");
    say(pair, "IBM.N");
    pair_pass(pair, DELAY_NS + 300 * PAIR_MS);
    open_delayed(a, 6, "IBM.N");
    pair_pass(pair, 200 * PAIR_MS);
    assert_string_equal(pair_heard(a, 6), delayed.takes_all ? "I" : "!");
    pair_pass(pair, DELAY_NS + 300 * PAIR_MS);
    assert_string_equal(pair_heard(a, 6), delayed.takes_all ? "I" : "!I");
}

static void a_live_item_stays_open_for_those_who_have_it_delayed(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);

    open_delayed(a, 6, "IBM.N");
    pair_pass(pair, DELAY_NS + 30 * PAIR_SEC);
    assert_true(pair_item(pair, "IBM.N")->is_open);
    assert_string_equal(pair_heard(a, 6), "!I");
    p2ps_client_close(pair->sink, pair->now_ns, a->id, 6);
    pair_pass(pair, DELAY_NS + 90 * PAIR_SEC);
    assert_int_equal(pair->provider.closes, 1);
    assert_int_equal(stats(pair)->delayed.items_now, 0);
}

static void the_end_of_an_item_is_not_delayed(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);

    open_delayed(a, 6, "IBM.N");
    open_delayed(a, 7, "MSFT.O");
    pair_pass(pair, DELAY_NS + 300 * PAIR_MS);
    say(pair, "IBM.N");
    pair_say_status(&pair->provider, pair_item(pair, "IBM.N"), RWF_STREAM_CLOSED, RWF_DATA_SUSPECT,
                    RWF_CODE_NOT_ENTITLED);
    pair_settle(pair);
    pair_pass(pair, 100 * PAIR_MS);
    assert_string_equal(pair_heard(a, 6), "!IX");
    assert_string_equal(pair_heard(a, 7), "!I");
    pair_pass(pair, DELAY_NS + 300 * PAIR_MS);
    assert_string_equal(pair_heard(a, 6), "!IX");
}

static void an_item_that_the_source_refuses_is_refused_delayed_too(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);

    pair->provider.refusal = RWF_STREAM_CLOSED;
    open_delayed(a, 6, "NONE.N");
    pair_pass(pair, 300 * PAIR_MS);
    assert_int_equal(pair_heard(a, 6)[strlen(pair_heard(a, 6)) - 1], 'X');
}

static void the_delayed_service_is_down_with_the_live_one_and_comes_again(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);

    open_delayed(a, 6, "IBM.N");
    pair_pass(pair, DELAY_NS + 300 * PAIR_MS);
    assert_string_equal(pair_heard(a, 6), "!I");
    pair_provider_goes(pair);
    pair_pass(pair, 100 * PAIR_MS);
    assert_int_equal(pair_stream(a, 6)->data_state, RWF_DATA_SUSPECT);
    struct srcdist_service_info info;
    for (uint32_t i = 0; srcdist_service_info(pair->source, i, &info); i++)
        assert_false(info.is_used && info.is_up);
    pair_provider_comes(pair);
    pair_pass(pair, DELAY_NS + 2 * PAIR_SEC);
    assert_int_equal(pair_stream(a, 6)->data_state, RWF_DATA_OK);
    uint32_t before = pair_stream(a, 6)->counter;
    say(pair, "IBM.N");
    pair_pass(pair, DELAY_NS + 300 * PAIR_MS);
    assert_int_equal(pair_stream(a, 6)->counter, pair_item(pair, "IBM.N")->counter);
    assert_true(pair_stream(a, 6)->counter > before);
}

static void say_service_state(struct pair *pair, uint8_t data_state)
{
    uint8_t bytes[512];
    struct rwf_encoder enc;
    const struct omm_directory_head head = { .stream_id = OMM_DIRECTORY_STREAM, .is_update = true };
    const struct omm_service changed = {
        .id = 99,
        .action = RWF_MAP_UPDATE,
        .filters = OMM_FILTER_STATE,
        .is_up = true,
        .is_accepting = true,
        .has_status = true,
        .status = { .stream_state = RWF_STREAM_OPEN, .data_state = data_state },
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_directory_encode_start(&enc, &head);
    omm_directory_encode_service(&enc, &changed);
    omm_directory_encode_finish(&enc);
    pair_say(&pair->provider, &enc);
    pair_settle(pair);
}

static void assert_state_comes_late(struct pair *pair, struct pair_client *c, uint8_t data_state)
{
    uint8_t before = pair_stream(c, 6)->data_state;

    pair_pass(pair, DELAY_NS - 100 * PAIR_MS);
    assert_int_equal(pair_stream(c, 6)->data_state, before);
    pair_pass(pair, 300 * PAIR_MS);
    assert_int_equal(pair_stream(c, 6)->data_state, data_state);
}

static void states_of_groups_and_services_come_with_their_data(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);

    open_delayed(a, 6, "IBM.N");
    pair_pass(pair, DELAY_NS + 300 * PAIR_MS);
    assert_int_equal(pair_stream(a, 6)->data_state, RWF_DATA_OK);
    pair_say_group(pair, 1, 0, RWF_DATA_SUSPECT);
    assert_state_comes_late(pair, a, RWF_DATA_SUSPECT);
    pair_say_group(pair, 1, 0, RWF_DATA_OK);
    assert_state_comes_late(pair, a, RWF_DATA_OK);
    say_service_state(pair, RWF_DATA_SUSPECT);
    assert_state_comes_late(pair, a, RWF_DATA_SUSPECT);
    say_service_state(pair, RWF_DATA_OK);
    assert_state_comes_late(pair, a, RWF_DATA_OK);
}

static void what_finds_no_room_on_the_disk_is_told_and_comes_again(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);

    open_delayed(a, 6, "IBM.N");
    pair_pass(pair, DELAY_NS + 300 * PAIR_MS);
    disk.is_broken = true;
    say(pair, "IBM.N");
    pair_pass(pair, PAIR_SEC);
    disk.is_broken = false;
    assert_true(stats(pair)->delayed.gaps > 0);
    assert_non_null(strstr(told, "delayed data are lost"));
    pair_pass(pair, 2 * DELAY_NS + 8 * PAIR_SEC);
    const char *heard = pair_heard(a, 6);
    assert_memory_equal(heard, "!I!", 3);
    assert_int_equal(heard[strlen(heard) - 1], 'i');
    assert_int_equal(pair_stream(a, 6)->data_state, RWF_DATA_OK);
    assert_int_equal(pair_stream(a, 6)->counter, pair_item(pair, "IBM.N")->counter);
}

static void nobody_else_offers_the_name_of_a_delayed_service(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    uint64_t refused = stats(pair)->services_refused;

    pair_provider_goes(pair);
    pair->service = "LATER";
    pair_provider_comes(pair);
    pair_pass(pair, 300 * PAIR_MS);
    assert_true(stats(pair)->services_refused > refused);
    assert_non_null(strstr(told, "delayedService"));
    open_delayed(a, 6, "IBM.N");
    assert_int_equal(pair->provider.requests, 0);
}

/* ---- a publisher ---- */

static int hear(void *self, struct rwf_bytes message)
{
    (void)self;
    (void)message;
    return MD_OK;
}

static void on_close(void *self, const char *reason)
{
    (void)self;
    (void)reason;
}

static uint32_t publisher_comes(struct pair *pair)
{
    static const struct srcdist_link link = { .send = hear, .close = on_close };
    uint8_t bytes[512];
    uint32_t id;
    struct rwf_encoder enc;
    struct omm_login_request login = pair_login_request();
    struct omm_directory_head head = {
        .is_first = true, .is_complete = true, .is_streaming = true, .filter = 3
    };
    struct omm_service offered = {
        .id = 3,
        .action = RWF_MAP_ADD,
        .filters = OMM_FILTER_INFO | OMM_FILTER_STATE,
        .name = rwf_text("SENT"),
        .capability_count = 1,
        .capabilities = { 6 },
        .is_up = true,
    };

    assert_int_equal(srcdist_provider_add(pair->source, pair->now_ns, SRCDIST_NON_INTERACTIVE, 0,
                                          "publisher", &link, NULL, &id),
                     MD_OK);
    login.role = OMM_ROLE_PROVIDER;
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_login_request_encode(&enc, &login);
    srcdist_provider_message(pair->source, pair->now_ns, id, rwf_encoder_bytes(&enc));
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_directory_encode_start(&enc, &head);
    omm_directory_encode_service(&enc, &offered);
    omm_directory_encode_finish(&enc);
    srcdist_provider_message(pair->source, pair->now_ns, id, rwf_encoder_bytes(&enc));
    pair_pass(pair, 200 * PAIR_MS);
    return id;
}

static void publish(struct pair *pair, uint32_t id, bool is_image, uint32_t counter)
{
    uint8_t bytes[512];
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = is_image ? RWF_CLASS_REFRESH : RWF_CLASS_UPDATE,
        .domain = 6,
        .stream_id = -7,
        .container = RWF_TYPE_FIELD_LIST,
        .flags = is_image ? RWF_REFRESH_HAS_KEY | RWF_REFRESH_COMPLETE : 0,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
        .key = { .flags = RWF_KEY_HAS_NAME | RWF_KEY_HAS_SERVICE_ID,
                 .service_id = 3,
                 .name = rwf_text("X") },
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    pair_fields(&enc, counter, true);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    assert_int_equal(
        srcdist_provider_message(pair->source, pair->now_ns, id, rwf_encoder_bytes(&enc)), MD_OK);
    said_ns[counter] = pair->now_ns;
    pair_settle(pair);
}

static void a_publisher_is_delayed_as_a_route_is(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    uint32_t id = publisher_comes(pair);

    publish(pair, id, true, 1000);
    open_delayed(a, 6, "X");
    for (uint32_t i = 1; i <= 60; i++) {
        publish(pair, id, false, 1000 + i);
        pair_pass(pair, 60 * PAIR_MS);
        assert_not_early(pair, a, 6);
    }
    pair_pass(pair, DELAY_NS + 100 * PAIR_MS);
    assert_int_equal(pair_stream(a, 6)->counter, 1060);
    const char *heard = pair_heard(a, 6);
    assert_memory_equal(heard, "!I", 2);
    assert_int_equal(strspn(heard + 2, "U"), 60);
    /* It goes, comes again in time, and goes for good. */
    srcdist_provider_gone(pair->source, pair->now_ns, id);
    pair_pass(pair, 5 * PAIR_SEC);
    assert_int_equal(pair_stream(a, 6)->data_state, RWF_DATA_SUSPECT);
    id = publisher_comes(pair);
    publish(pair, id, true, 1100);
    pair_pass(pair, DELAY_NS + 300 * PAIR_MS);
    assert_int_equal(pair_stream(a, 6)->data_state, RWF_DATA_OK);
    assert_int_equal(pair_stream(a, 6)->counter, 1100);
    srcdist_provider_gone(pair->source, pair->now_ns, id);
    publisher_comes(pair);
    pair_pass(pair, 70 * PAIR_SEC); /* it was closed, and the line has forgotten it */
    heard = pair_heard(a, 6);
    assert_non_null(strpbrk(heard + strlen(heard) - 2, "XR!"));
    assert_int_equal(stats(pair)->delayed.items_now, 0);
}

static void an_item_that_no_publisher_has_is_refused_delayed_too(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);

    publisher_comes(pair);
    pair_pass(pair, 12 * PAIR_SEC);
    open_delayed(a, 6, "X");
    pair_pass(pair, 2 * PAIR_SEC);
    assert_string_equal(pair_heard(a, 6), "X");
}

/* ---- */

static void after_a_restart_the_images_of_then_are_read_again(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);

    open_delayed(a, 6, "IBM.N");
    for (int i = 0; i < 50; i++) {
        say(pair, "IBM.N");
        pair_pass(pair, 60 * PAIR_MS);
    }
    uint32_t last = pair_item(pair, "IBM.N")->counter;
    pair_destroy(pair);
    free(pair);
    /* The machine has been started anew a second ago, and the wall clock goes on. */
    pair_wall_ns += 2 * PAIR_SEC;
    boot++;
    *state = pair = make("RDFD", true, false);
    a = pair_client(pair, 0);
    open_delayed(a, 6, "IBM.N");
    pair_pass(pair, 100 * PAIR_MS);
    assert_string_equal(pair_heard(a, 6), "!");
    uint64_t asked_ns = pair->now_ns;
    while (pair_heard(a, 6)[1] == 0 && pair->now_ns < asked_ns + DELAY_NS)
        pair_pass(pair, 20 * PAIR_MS);
    assert_true(pair->now_ns < asked_ns + DELAY_NS);
    assert_int_equal(pair_heard(a, 6)[1], 'I');
    assert_in_range(pair_stream(a, 6)->counter, 101, last);
}

static void the_filters_of_the_live_service_are_those_of_the_delayed_one(void **state)
{
    static const char text[] = "drop RDFD * * 22\n";
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct rates *rates;

    assert_int_equal(rates_create(text, strlen(text), NULL, NULL, NULL, &rates), MD_OK);
    assert_int_equal(srcdist_core_rates_set(pair->source, pair->now_ns, rates), MD_OK);
    open_delayed(a, 6, "IBM.N");
    pair_pass(pair, DELAY_NS + 300 * PAIR_MS);
    assert_string_equal(pair_heard(a, 6), "!I");
    assert_int_equal(pair_stream(a, 6)->fields, 1);
    say(pair, "IBM.N");
    pair_pass(pair, DELAY_NS + 300 * PAIR_MS);
    assert_string_equal(pair_heard(a, 6), "!IU");
    assert_int_equal(pair_stream(a, 6)->fields, 1);
}

static void without_a_delayed_service_nothing_is_kept(void **state)
{
    struct pair *pair = calloc(1, sizeof(*pair));

    (void)state;
    assert_non_null(pair);
    pair_create(pair, (struct p2ps_core_config){ 0 });
    struct pair_client *a = pair_client(pair, 0);
    pair_open(a, 5, "IBM.N");
    pair_pass(pair, 300 * PAIR_MS);
    assert_int_equal(stats(pair)->delayed.taken + stats(pair)->delayed.dropped, 0);
    pair_destroy(pair);
    free(pair);
}

int main(void)
{
#define TEST(name, setup) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_delayed_item_has_all_of_the_live_one_and_nothing_early, setup),
        TEST(a_delayed_item_has_all_of_the_live_one_and_nothing_early, setup_source_app),
        TEST(a_delayed_item_has_all_of_the_live_one_and_nothing_early, setup_all),
        TEST(a_late_consumer_gets_the_image_of_then, setup),
        TEST(only_what_is_asked_for_is_kept_unless_all_is, setup),
        TEST(only_what_is_asked_for_is_kept_unless_all_is, setup_all),
        TEST(a_live_item_stays_open_for_those_who_have_it_delayed, setup),
        TEST(the_end_of_an_item_is_not_delayed, setup),
        TEST(an_item_that_the_source_refuses_is_refused_delayed_too, setup),
        TEST(the_delayed_service_is_down_with_the_live_one_and_comes_again, setup),
        TEST(states_of_groups_and_services_come_with_their_data, setup),
        TEST(what_finds_no_room_on_the_disk_is_told_and_comes_again, setup),
        TEST(nobody_else_offers_the_name_of_a_delayed_service, setup),
        TEST(a_publisher_is_delayed_as_a_route_is, setup_sent),
        TEST(an_item_that_no_publisher_has_is_refused_delayed_too, setup_sent),
        TEST(after_a_restart_the_images_of_then_are_read_again, setup),
        TEST(the_filters_of_the_live_service_are_those_of_the_delayed_one, setup),
        cmocka_unit_test(without_a_delayed_service_nothing_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
