/* test_srcdist_delayed.c - delayed services of src_dist, as consumers of p2ps see them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

#define DELAY_NS   (2 * PAIR_SEC)
#define DELAYED_ID 8
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
        .id = is_delayed ? DELAYED_ID : PAIR_SERVICE_ID,
        .cache_location = pair->source_caches ? SRCDIST_CACHE_SRC_DIST : SRCDIST_CACHE_SRC_APP,
        .load_factor = 1,
        .is_configured = true,
        .is_delayed = is_delayed,
        .delayed = is_delayed ? NULL : &delayed,
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

static struct pair *make(bool source_caches, bool takes_all)
{
    struct pair *pair = calloc(1, sizeof(*pair));

    assert_non_null(pair);
    delayed = (struct srcdist_delayed){
        .name = "LATER",
        .delay_ns = DELAY_NS,
        .bytes_max = 4u << 20,
        .takes_all = takes_all,
        .boot = 1,
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
    *state = make(true, false);
    return 0;
}

static int setup_source_app(void **state)
{
    *state = make(false, false);
    return 0;
}

static int setup_all(void **state)
{
    *state = make(true, true);
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
        TEST(what_finds_no_room_on_the_disk_is_told_and_comes_again, setup),
        TEST(nobody_else_offers_the_name_of_a_delayed_service, setup),
        cmocka_unit_test(without_a_delayed_service_nothing_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
