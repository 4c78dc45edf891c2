/* test_rrmp_chain.c - a source and sinks over a made-up backbone: states and races, one by one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "rrmp/key.h"
#include "rrmp/sink.h"
#include "rrmp/source.h"
#include "state.h"

#define MS       1000000ull
#define SEC      1000000000ull

#define SINKS    2u
#define LINE_MAX 256u

/* What one party has sent and nobody has got yet. */
struct line {
    struct {
        struct backbone_target target;
        size_t length;
        uint8_t bytes[512];
    } sent[LINE_MAX];
    size_t count;
    bool is_full;
    unsigned left; /* it is full behind so many records; 0: it is not */
    unsigned fill; /* of 256, while it is not full */
    uint8_t room[65536];
};

/* Parties: the source is (1, 1), the sinks are (10, 1) and (11, 1). */
struct chain {
    uint64_t now_ns;
    struct rrmp_source *source;
    struct line from_source;
    struct rrmp_sink *sinks[SINKS];
    struct line from_sink[SINKS];
    uint16_t svc;
    uint8_t key[32];
    size_t key_length;
    uint32_t wanted; /* the source's item */
    uint32_t images_wanted;
    uint32_t unwanted;
    bool answers;         /* IMAGE_WANTED and WANTED are answered with an image at once */
    char log[SINKS][256]; /* a letter per event */
    uint32_t item[SINKS];
    uint32_t told[SINKS]; /* items that states of groups and services were about */
    uint8_t said[SINKS];  /* the last state */
    uint32_t bound;       /* keys of BOUND events, of all sinks */
    uint32_t bound_at;    /* where the last one is, as followers are opened with it */
};

static uint8_t *line_reserve(void *context, const struct backbone_target *target, size_t length)
{
    struct line *line = context;

    if (line->is_full || length > sizeof(line->room))
        return NULL;
    assert_true(line->count < LINE_MAX);
    line->sent[line->count].target = *target;
    return line->room;
}

static void line_commit(void *context, size_t length)
{
    struct line *line = context;

    if (length == 0)
        return;
    assert_true(length <= sizeof(line->sent[0].bytes));
    line->sent[line->count].length = length;
    memcpy(line->sent[line->count++].bytes, line->room, length);
    line->is_full = line->is_full || (line->left > 0 && --line->left == 0);
}

static unsigned line_fill(void *context)
{
    const struct line *line = context;

    return line->is_full ? 256 : line->fill;
}

static struct backbone_send line_send(struct line *line)
{
    return (struct backbone_send){
        .context = line, .reserve = line_reserve, .commit = line_commit, .fill = line_fill
    };
}

static void publish(struct chain *chain, uint8_t type, const char *text)
{
    uint8_t *room;

    if (rrmp_source_publish_begin(chain->source, chain->wanted, type, strlen(text), &room) != 0)
        return;
    memcpy(room, text, strlen(text));
    rrmp_source_publish_commit(chain->source, strlen(text));
}

static void image(struct chain *chain, bool is_solicited)
{
    const struct rrmp_part part = { .is_first = true,
                                    .is_last = true,
                                    .is_cached = true,
                                    .is_solicited = is_solicited,
                                    .state = 9 };
    uint8_t *room;

    if (rrmp_source_image_begin(chain->source, chain->now_ns, chain->wanted, &part, 5, &room) != 0)
        return;
    memcpy(room, "image", 5);
    rrmp_source_publish_commit(chain->source, 5);
}

static void source_take(struct chain *chain)
{
    struct rrmp_source_event event;

    while (rrmp_source_event(chain->source, &event, 1) == 1) {
        if (event.kind == RRMP_SOURCE_WANTED)
            chain->wanted = event.item;
        chain->images_wanted += event.kind == RRMP_SOURCE_IMAGE_WANTED;
        chain->unwanted += event.kind == RRMP_SOURCE_UNWANTED;
        if (chain->answers &&
            (event.kind == RRMP_SOURCE_WANTED || event.kind == RRMP_SOURCE_IMAGE_WANTED))
            image(chain, true);
    }
}

static uint32_t count_items(const struct rrmp_sink *sink, const struct rrmp_sink_event *event)
{
    uint32_t count = 0;

    for (uint32_t n = RRMP_ITEM_NONE; (n = rrmp_sink_item_next(sink, event, n)) != RRMP_ITEM_NONE;)
        count++;
    return count;
}

static uint32_t keys_in(const struct rrmp_sink_event *event)
{
    struct rrmp_view rest = event->message;
    struct rrmp_view key;
    uint32_t count = 0;

    if (event->type == RRMP_BIND)
        return 1;
    while (rrmp_list_next(&rest, &key))
        count++;
    return count;
}

/* One letter per event: I image, U update, S status, = in step, ! suspect, X closed. */
static void sink_take(struct chain *chain, uint32_t n)
{
    struct rrmp_sink_event event;

    while (rrmp_sink_event(chain->sinks[n], &event, 1) == 1) {
        char letter = 0;
        if (event.kind == RRMP_SINK_IMAGE)
            letter = 'I';
        else if (event.kind == RRMP_SINK_MESSAGE)
            letter = event.type == RRMP_UPDATE ? 'U' : 'S';
        else if (event.kind == RRMP_SINK_IN_STEP)
            letter = '=';
        else if (event.kind == RRMP_SINK_STATE)
            letter = '!';
        if (event.kind == RRMP_SINK_STATE)
            chain->said[n] = event.state;
        if (event.kind == RRMP_SINK_STATE && event.scope != RRMP_SINK_SCOPE_ITEM)
            chain->told[n] += count_items(chain->sinks[n], &event);
        else if (event.kind == RRMP_SINK_CLOSED)
            letter = 'X';
        else if (event.kind == RRMP_SINK_BOUND) {
            chain->bound += keys_in(&event);
            chain->bound_at = event.instance + 1u;
        } else if (event.kind == RRMP_SINK_ACK)
            letter = 'A';
        else if (event.kind == RRMP_SINK_POST_LOST)
            letter = 'N';
        if (letter)
            strncat(chain->log[n], (char[2]){ letter, 0 }, sizeof(chain->log[n]) - 1);
    }
}

static struct backbone_event message_of(const struct line *line, size_t i, uint64_t session)
{
    bool is_unicast = line->sent[i].target.path == BACKBONE_PATH_UNICAST;

    return (struct backbone_event){ .type = BACKBONE_MESSAGE,
                                    .flags = is_unicast ? BACKBONE_FLAG_UNICAST : 0,
                                    .session = session,
                                    .src_port = 1,
                                    .dst_port = line->sent[i].target.port,
                                    .topic = line->sent[i].target.topic,
                                    .bytes = line->sent[i].bytes,
                                    .length = (uint32_t)line->sent[i].length };
}

static void give(struct chain *chain, struct line *line, size_t i, uint64_t session)
{
    const struct backbone_target *target = &line->sent[i].target;
    struct backbone_event message = message_of(line, i, session);

    if (session != 1 && target->path != BACKBONE_PATH_MULTICAST) {
        assert_int_equal(rrmp_source_input(chain->source, chain->now_ns, &message, 1), 1);
        source_take(chain);
        return;
    }
    if (session != 1) {
        rrmp_source_input(chain->source, chain->now_ns, &message, 1);
        source_take(chain);
        return;
    }
    for (uint32_t n = 0; n < SINKS; n++) {
        if (target->path != BACKBONE_PATH_MULTICAST && target->session != 10 + n)
            continue;
        assert_int_equal(rrmp_sink_input(chain->sinks[n], chain->now_ns, &message, 1), 1);
        sink_take(chain, n);
    }
}

/* The line is emptied; its records are the caller's to free. NULL: it had none. */
static struct line *take(struct line *line)
{
    struct line *copy;

    if (line->count == 0)
        return NULL;
    copy = malloc(sizeof(*copy));
    assert_non_null(copy);
    copy->count = line->count;
    memcpy(copy->sent, line->sent, line->count * sizeof(line->sent[0]));
    line->count = 0;
    return copy;
}

/* Deliver what the source has sent, without the records numbered in `lost` (a bit each). */
static void from_source(struct chain *chain, uint64_t lost)
{
    struct line *copy = take(&chain->from_source);

    for (size_t i = 0; copy && i < copy->count; i++) {
        if (!(lost & 1ull << i))
            give(chain, copy, i, 1);
    }
    free(copy);
}

static void from_sinks(struct chain *chain)
{
    for (uint32_t n = 0; n < SINKS; n++) {
        struct line *copy = take(&chain->from_sink[n]);

        for (size_t i = 0; copy && i < copy->count; i++)
            give(chain, copy, i, 10 + n);
        free(copy);
    }
}

static void settle(struct chain *chain)
{
    for (int i = 0; i < 8; i++) {
        from_source(chain, 0);
        from_sinks(chain);
    }
    assert_null(rrmp_source_check(chain->source));
    for (uint32_t n = 0; n < SINKS; n++)
        assert_null(rrmp_sink_check(chain->sinks[n]));
}

static void sinks_tick(struct chain *chain)
{
    for (uint32_t n = 0; n < SINKS; n++) {
        rrmp_sink_tick(chain->sinks[n], chain->now_ns, true);
        sink_take(chain, n);
    }
}

/* Time passes in steps of 10 ms, and everything sent arrives. */
static void pass(struct chain *chain, uint64_t time_ns)
{
    uint64_t until = chain->now_ns + time_ns;

    while (chain->now_ns < until) {
        chain->now_ns += 10 * MS;
        rrmp_source_tick(chain->source, chain->now_ns, true);
        source_take(chain);
        sinks_tick(chain);
        settle(chain);
    }
}

static int open_at(struct chain *chain, uint32_t n)
{
    const struct rrmp_sink_open open = { .key = { chain->key, chain->key_length },
                                         .priority_class = 1,
                                         .priority_count = 1 };
    int err = rrmp_sink_item_open(chain->sinks[n], chain->now_ns, &open, &chain->item[n]);

    sinks_tick(chain);
    return err;
}

static uint32_t ask_limit; /* of the source that setup makes; 0: the usual one */

static int setup_with(void **state, bool unicast_images)
{
    struct chain *chain = calloc(1, sizeof(*chain));
    const struct rrmp_key key = {
        .domain = 6, .members = RRMP_KEY_NAME, .name_type = 1, .name = { (const uint8_t *)"IBM", 3 }
    };
    const struct rrmp_service service = { .state = 3,
                                          .features = 7,
                                          .name = { (const uint8_t *)"RDFD", 4 } };

    assert_non_null(chain);
    struct md_wr wr = md_wr_init(chain->key, sizeof(chain->key));
    rrmp_key_encode(&wr, &key);
    chain->key_length = md_wr_length(&wr);
    chain->now_ns = 1 * SEC;
    chain->answers = true;
    chain->wanted = RRMP_ITEM_NONE;
    const struct rrmp_source_config config = { .name = "test",
                                               .send = line_send(&chain->from_source),
                                               .item_limit = 100,
                                               .gap_log = 64,
                                               .ask_limit = ask_limit,
                                               .unicast_images = unicast_images };
    assert_int_equal(rrmp_source_create(&config, &chain->source), MD_OK);
    for (uint32_t n = 0; n < SINKS; n++) {
        const struct rrmp_sink_config sink = { .send = line_send(&chain->from_sink[n]),
                                               .item_limit = 100,
                                               .instance_limit = 4 };
        assert_int_equal(rrmp_sink_create(&sink, &chain->sinks[n]), MD_OK);
        rrmp_sink_input(
            chain->sinks[n], chain->now_ns,
            &(struct backbone_event){ .type = BACKBONE_ATTACHED, .session = 10 + n, .dst_port = 1 },
            1);
    }
    assert_int_equal(rrmp_source_service_offer(chain->source, chain->now_ns, &service, &chain->svc),
                     MD_OK);
    rrmp_source_input(
        chain->source, chain->now_ns,
        &(struct backbone_event){ .type = BACKBONE_ATTACHED, .session = 1, .dst_port = 1 }, 1);
    pass(chain, 100 * MS);
    *state = chain;
    return 0;
}

static int setup(void **state)
{
    return setup_with(state, false);
}

static int setup_unicast(void **state)
{
    return setup_with(state, true);
}

static int teardown(void **state)
{
    struct chain *chain = *state;

    rrmp_source_destroy(chain->source);
    for (uint32_t n = 0; n < SINKS; n++)
        rrmp_sink_destroy(chain->sinks[n]);
    free(chain);
    return 0;
}

static enum rrmp_sink_item_state state_of(struct chain *chain, uint32_t n)
{
    struct rrmp_sink_item info;

    assert_true(rrmp_sink_item_info(chain->sinks[n], chain->item[n], &info));
    return info.state;
}

static void an_opened_item_gets_its_image_and_then_updates(void **state)
{
    struct chain *chain = *state;

    assert_int_equal(open_at(chain, 0), MD_OK);
    settle(chain);
    assert_int_equal(state_of(chain, 0), RRMP_SINK_LIVE);
    publish(chain, RRMP_UPDATE, "one");
    publish(chain, RRMP_UPDATE, "two");
    settle(chain);
    assert_string_equal(chain->log[0], "I=UU");
    assert_string_equal(chain->log[1], "");
}

static void a_unicast_image_that_overtakes_its_bind_waits_for_it(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    from_sinks(chain);
    assert_int_equal(chain->from_source.count, 2);
    assert_int_equal(chain->from_source.sent[0].bytes[0], RRMP_BIND);
    publish(chain, RRMP_UPDATE, "one");
    struct line *line = &chain->from_source;
    give(chain, line, 1, 1); /* the image, by its own stream */
    assert_string_equal(chain->log[0], "");
    give(chain, line, 0, 1);
    assert_string_equal(chain->log[0], "I=");
    give(chain, line, 2, 1);
    assert_string_equal(chain->log[0], "I=U");
}

static void what_comes_between_bind_and_unicast_image_is_held(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    from_sinks(chain);
    publish(chain, RRMP_UPDATE, "one");
    struct line *line = &chain->from_source;
    give(chain, line, 0, 1);
    give(chain, line, 2, 1);
    assert_string_equal(chain->log[0], "");
    assert_int_equal(state_of(chain, 0), RRMP_SINK_FILLING);
    give(chain, line, 1, 1);
    assert_string_equal(chain->log[0], "IU=");
}

static void an_image_bound_for_another_node_does_not_take_the_place_of_ours(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    open_at(chain, 1);
    from_sinks(chain);
    struct line *line = &chain->from_source;
    assert_int_equal(line->count, 4);
    assert_int_equal(line->sent[2].bytes[0], RRMP_BIND);
    give(chain, line, 0, 1); /* both BINDs first, then both images */
    give(chain, line, 2, 1);
    give(chain, line, 1, 1);
    give(chain, line, 3, 1);
    assert_string_equal(chain->log[0], "I=");
    assert_string_equal(chain->log[1], "I=");
}

static void a_full_ring_is_not_filled_with_binds(void **state)
{
    struct chain *chain = *state;
    struct line *line = &chain->from_source;
    size_t binds = 0;

    chain->answers = false;
    open_at(chain, 0);
    from_sinks(chain);
    line->is_full = true;
    for (int i = 0; i < 5; i++) {
        image(chain, true);
        publish(chain, RRMP_STATUS, "wait");
    }
    line->is_full = false;
    image(chain, true);
    for (size_t i = 0; i < line->count; i++)
        binds += line->sent[i].bytes[0] == RRMP_BIND;
    assert_int_equal(binds, 1);
    settle(chain);
    assert_string_equal(chain->log[0], "I=");
}

static void an_image_gives_way_to_ticks_but_not_for_ever(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    settle(chain);
    chain->answers = false;
    chain->images_wanted = 0;
    chain->from_source.fill = 200; /* more ticks than the backbone takes */
    open_at(chain, 1);
    pass(chain, 200 * MS);
    assert_int_equal(chain->images_wanted, 0);
    pass(chain, 100 * MS);
    assert_int_equal(chain->images_wanted, 1);
}

/* ---- a service down and up ---- */

static void service_is(struct chain *chain, bool is_up)
{
    const struct rrmp_service service = { .state = is_up ? 3 : 0,
                                          .features = 7,
                                          .name = { (const uint8_t *)"RDFD", 4 } };

    assert_int_equal(rrmp_source_service_change(chain->source, chain->now_ns, chain->svc, &service),
                     MD_OK);
}

static void an_image_does_not_go_ahead_of_its_service(void **state)
{
    struct chain *chain = *state;
    const struct backbone_event gap = { .type = BACKBONE_GAP, .session = 1, .reason = 2 };

    open_at(chain, 0);
    settle(chain);
    service_is(chain, false);
    settle(chain);
    service_is(chain, true);
    from_source(chain, UINT64_MAX);
    rrmp_sink_input(chain->sinks[0], chain->now_ns, &gap, 1);
    image(chain, false);
    settle(chain);
    assert_string_equal(chain->log[0], "I=!");
    pass(chain, 1200 * MS);
    assert_string_equal(chain->log[0], "I=!I=");
}

static void a_unicast_image_of_a_service_that_went_down_is_not_taken(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    from_sinks(chain);
    struct line *line = &chain->from_source;
    give(chain, line, 0, 1);
    service_is(chain, false);
    for (size_t i = 2; i < line->count; i++)
        give(chain, line, i, 1);
    give(chain, line, 1, 1);
    assert_string_equal(chain->log[0], "");
    line->count = 0;
    service_is(chain, true);
    image(chain, false);
    settle(chain);
    assert_string_equal(chain->log[0], "I=");
}

static void that_a_service_is_up_keeps_its_place_when_the_ring_is_full(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    settle(chain);
    service_is(chain, false);
    settle(chain);
    chain->from_source.is_full = true;
    service_is(chain, true);
    chain->from_source.is_full = false;
    publish(chain, RRMP_UPDATE, "one");
    assert_int_equal(chain->from_source.count, 2);
    assert_int_equal(chain->from_source.sent[0].bytes[0], RRMP_SERVICE);
    assert_int_equal(chain->from_source.sent[1].bytes[0], RRMP_UPDATE);
}

/* Another instance of the same service says that it is here: (2, 1). */
static void another_comes(struct chain *chain, struct line *line, struct rrmp_source **other)
{
    const struct rrmp_service service = { .state = 3,
                                          .features = 7,
                                          .name = { (const uint8_t *)"RDFD", 4 } };
    const struct rrmp_source_config config = {
        .name = "other", .send = line_send(line), .item_limit = 100, .gap_log = 64
    };
    uint16_t svc;

    assert_int_equal(rrmp_source_create(&config, other), MD_OK);
    assert_int_equal(rrmp_source_service_offer(*other, chain->now_ns, &service, &svc), MD_OK);
    rrmp_source_input(
        *other, chain->now_ns,
        &(struct backbone_event){ .type = BACKBONE_ATTACHED, .session = 2, .dst_port = 1 }, 1);
    for (int i = 0; i < 20; i++)
        rrmp_source_tick(*other, chain->now_ns + (uint64_t)i * 10 * MS, true);
    for (size_t i = 0; i < line->count; i++) {
        const struct backbone_event message = message_of(line, i, 2);
        for (uint32_t n = 0; n < SINKS; n++) {
            rrmp_sink_input(chain->sinks[n], chain->now_ns, &message, 1);
            sink_take(chain, n);
        }
    }
    line->count = 0;
}

static void what_waits_where_its_service_is_down_goes_to_who_comes_with_it(void **state)
{
    struct chain *chain = *state;
    struct line *line = calloc(1, sizeof(*line));
    struct rrmp_source *other;
    struct rrmp_sink_item info;

    assert_non_null(line);
    open_at(chain, 0);
    settle(chain);
    service_is(chain, false);
    settle(chain);
    assert_string_equal(chain->log[0], "I=");
    another_comes(chain, line, &other);
    assert_string_equal(chain->log[0], "I=!");
    assert_true(rrmp_sink_item_info(chain->sinks[0], chain->item[0], &info));
    assert_true(rrmp_sink_instance_is(chain->sinks[0], info.instance, 2, 1));
    rrmp_source_destroy(other);
    free(line);
}

/* The source is asked for the item, and ends it, not bound, for this reason. */
static void ends_here(struct chain *chain, uint8_t code)
{
    const struct rrmp_ending ending = { .state = RRMP_STATE_CLOSED_RECOVER,
                                        .code = code,
                                        .scope = RRMP_REFUSE_NOT_HERE };

    for (int i = 0; i < 200 && chain->wanted == RRMP_ITEM_NONE; i++)
        pass(chain, 100 * MS);
    assert_int_not_equal(chain->wanted, RRMP_ITEM_NONE);
    rrmp_source_item_close(chain->source, chain->now_ns, chain->wanted, &ending);
    chain->wanted = RRMP_ITEM_NONE;
    from_source(chain, 0);
}

static void a_preempted_item_that_is_not_there_any_more_ends(void **state)
{
    struct chain *chain = *state;

    chain->answers = false;
    open_at(chain, 0);
    settle(chain);
    ends_here(chain, RRMP_CODE_PREEMPTED);
    assert_string_equal(chain->log[0], "!");
    ends_here(chain, RRMP_CODE_TOO_MANY_ITEMS);
    assert_string_equal(chain->log[0], "!");
    ends_here(chain, RRMP_CODE_NOT_FOUND);
    assert_string_equal(chain->log[0], "!X");
    assert_int_equal(rrmp_sink_stats(chain->sinks[0])->preempted, 1);
}

/* The second instance does not have it: the first may have room for it again. */
static void a_preempted_item_waits_for_the_source_that_had_it(void **state)
{
    struct chain *chain = *state;
    struct line *line = calloc(1, sizeof(*line));
    struct rrmp_source *other;
    struct rrmp_source_event event;
    struct rrmp_sink_item info;
    const struct rrmp_ending ending = { .state = RRMP_STATE_CLOSED_RECOVER,
                                        .code = RRMP_CODE_NOT_FOUND,
                                        .scope = RRMP_REFUSE_NOT_HERE };

    assert_non_null(line);
    chain->answers = false;
    open_at(chain, 0);
    settle(chain);
    another_comes(chain, line, &other);
    line->count = 0;
    ends_here(chain, RRMP_CODE_PREEMPTED);
    sinks_tick(chain);
    assert_true(rrmp_sink_item_info(chain->sinks[0], chain->item[0], &info));
    assert_true(rrmp_sink_instance_is(chain->sinks[0], info.instance, 2, 1));
    for (size_t i = 0; i < chain->from_sink[0].count; i++) {
        const struct backbone_event message = message_of(&chain->from_sink[0], i, 10);
        rrmp_source_input(other, chain->now_ns, &message, 1);
    }
    chain->from_sink[0].count = 0;
    assert_int_equal(rrmp_source_event(other, &event, 1), 1);
    assert_int_equal(event.kind, RRMP_SOURCE_WANTED);
    rrmp_source_item_close(other, chain->now_ns, event.item, &ending);
    for (size_t i = 0; i < line->count; i++) {
        const struct backbone_event message = message_of(line, i, 2);
        rrmp_sink_input(chain->sinks[0], chain->now_ns, &message, 1);
        sink_take(chain, 0);
    }
    assert_string_equal(chain->log[0], "!");
    chain->answers = true;
    pass(chain, 12 * SEC);
    assert_string_equal(chain->log[0], "!I=");
    rrmp_source_destroy(other);
    free(line);
}

static void a_second_requester_gets_an_image_of_its_own(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    settle(chain);
    publish(chain, RRMP_UPDATE, "one");
    settle(chain);
    open_at(chain, 1);
    settle(chain);
    publish(chain, RRMP_UPDATE, "two");
    settle(chain);
    assert_string_equal(chain->log[0], "I=UU");
    assert_string_equal(chain->log[1], "I=U");
    assert_int_equal(chain->images_wanted, 1);
}

static void a_lost_update_is_told_and_mended_when_the_next_one_comes(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    settle(chain);
    publish(chain, RRMP_UPDATE, "one");
    from_source(chain, 1);
    publish(chain, RRMP_UPDATE, "two");
    settle(chain);
    sinks_tick(chain);
    settle(chain);
    assert_string_equal(chain->log[0], "I=!I=");
    assert_int_equal(rrmp_sink_stats(chain->sinks[0])->item_seq_jumps, 1);
}

static void a_lost_update_that_nothing_follows_is_found_by_the_heartbeat(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    settle(chain);
    publish(chain, RRMP_UPDATE, "one");
    from_source(chain, 1);
    pass(chain, 1200 * MS);
    assert_string_equal(chain->log[0], "I=!I=");
    assert_int_equal(rrmp_sink_stats(chain->sinks[0])->gap_items_hit, 1);
}

static void a_range_the_gap_log_does_not_hold_costs_the_whole_service(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    settle(chain);
    for (int i = 0; i < 100; i++)
        publish(chain, RRMP_UPDATE, "x");
    chain->from_source.count = 0; /* more than the 64 that are remembered */
    pass(chain, 1500 * MS);
    assert_int_equal(rrmp_sink_stats(chain->sinks[0])->whole_service_recoveries, 1);
    assert_string_equal(chain->log[0], "I=!I=");
}

static void an_item_nobody_wants_is_unbound_at_once_and_closed_after_the_linger(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    settle(chain);
    rrmp_sink_item_close(chain->sinks[0], chain->now_ns, chain->item[0]);
    from_sinks(chain);
    assert_int_equal(chain->from_source.count, 1);
    assert_int_equal(chain->from_source.sent[0].bytes[0], RRMP_UNBIND);
    pass(chain, 4900 * MS);
    assert_int_equal(chain->unwanted, 0);
    pass(chain, 200 * MS);
    assert_int_equal(chain->unwanted, 1);
}

static void a_service_may_linger_as_long_as_it_likes(void **state)
{
    struct chain *chain = *state;

    rrmp_source_service_linger(chain->source, 0, &(struct rrmp_linger){ .close_ns = 1 * MS });
    open_at(chain, 0);
    settle(chain);
    rrmp_sink_item_close(chain->sinks[0], chain->now_ns, chain->item[0]);
    from_sinks(chain);
    pass(chain, 100 * MS);
    assert_int_equal(chain->unwanted, 1);
}

/* Race 1: the crossing image satisfies the second open, the second image is dropped. */
static void an_image_that_crosses_a_close_serves_the_next_open(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    from_sinks(chain); /* the image is on its way */
    rrmp_sink_item_close(chain->sinks[0], chain->now_ns, chain->item[0]);
    open_at(chain, 0);
    from_source(chain, 0);
    settle(chain);
    publish(chain, RRMP_UPDATE, "one");
    settle(chain);
    sinks_tick(chain);
    settle(chain);
    assert_int_equal(state_of(chain, 0), RRMP_SINK_LIVE);
    size_t length = strlen(chain->log[0]);
    assert_true(length >= 3 && (strcmp(chain->log[0] + length - 1, "U") == 0 ||
                                strcmp(chain->log[0] + length - 2, "I=") == 0));
}

/* Race 3: nothing of a restarted instance's old port is believed. */
static void records_of_an_instance_that_has_ended_are_ignored(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    settle(chain);
    publish(chain, RRMP_UPDATE, "one");
    rrmp_sink_input(
        chain->sinks[0], chain->now_ns,
        &(struct backbone_event){ .type = BACKBONE_USER_DOWN, .session = 1, .src_port = 1 }, 1);
    sink_take(chain, 0);
    settle(chain);
    assert_string_equal(chain->log[0], "I=!");
    assert_int_equal(state_of(chain, 0), RRMP_SINK_PARKED);
    assert_int_equal(rrmp_sink_stats(chain->sinks[0])->before_instance, 1);
    pass(chain, 1200 * MS); /* its next INSTANCE makes it known again */
    assert_string_equal(chain->log[0], "I=!I=");
}

static void a_batch_of_messages_and_other_events_is_taken_in_its_order(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    settle(chain);
    publish(chain, RRMP_UPDATE, "one");
    publish(chain, RRMP_UPDATE, "two");
    const struct backbone_event batch[] = {
        message_of(&chain->from_source, 0, 1),
        { .type = BACKBONE_USER_DOWN, .session = 1, .src_port = 1 },
        message_of(&chain->from_source, 1, 1),
    };
    for (size_t taken = 0; taken < 3;) {
        taken += rrmp_sink_input(chain->sinks[0], chain->now_ns, batch + taken, 3 - taken);
        sink_take(chain, 0);
    }
    chain->from_source.count = 0;
    assert_string_equal(chain->log[0], "I=U!");
    assert_int_equal(rrmp_sink_stats(chain->sinks[0])->before_instance, 1);
}

/* A program that may publish one service is the instance of another one, too: what it sends on the
 * one's topic is not taken for the other's. */
static void records_on_the_topic_of_another_service_are_dropped(void **state)
{
    struct chain *chain = *state;
    const struct rrmp_sink_stats *stats = rrmp_sink_stats(chain->sinks[0]);

    open_at(chain, 0);
    settle(chain);
    publish(chain, RRMP_UPDATE, "one");
    struct backbone_event message = message_of(&chain->from_source, 0, 1);
    message.topic++;
    rrmp_sink_input(chain->sinks[0], chain->now_ns, &message, 1);
    assert_int_equal(stats->wrong_topic, 1);
    settle(chain); /* the true one */
    assert_string_equal(chain->log[0], "I=U");
    pass(chain, 1200 * MS); /* until INSTANCE and SERVICE come again */
    assert_int_equal(stats->wrong_topic, 1);
}

static void a_service_is_believed_on_the_control_topic_and_under_its_own_alone(void **state)
{
    struct chain *chain = *state;
    struct rrmp_record record = { .header = { .type = RRMP_SERVICE, .svc = chain->svc } };
    struct backbone_event message = { .type = BACKBONE_MESSAGE, .session = 1, .src_port = 1 };
    const char *name = "OTHER";
    uint8_t out[128];
    struct md_wr wr = md_wr_init(out, sizeof(out));
    struct rrmp_view view = { (const uint8_t *)name, strlen(name) };

    open_at(chain, 0);
    settle(chain);
    record.u.service = (struct rrmp_service){ .version = 99, .name = view };
    record.u.service.topic = rrmp_topic(name, strlen(name));
    rrmp_record_encode(&wr, &record);
    assert_true(md_wr_ok(&wr));
    message.bytes = out;
    message.length = (uint32_t)md_wr_length(&wr);
    for (uint64_t i = 1; i <= 2; i++) { /* on its own topic; under the index of another service */
        message.topic = i == 1 ? record.u.service.topic : RRMP_TOPIC_CONTROL;
        rrmp_sink_input(chain->sinks[0], chain->now_ns, &message, 1);
        assert_int_equal(rrmp_sink_stats(chain->sinks[0])->wrong_topic, i);
    }
    assert_int_equal(rrmp_sink_service_find(chain->sinks[0], view), RRMP_SERVICE_NONE);
    publish(chain, RRMP_UPDATE, "one");
    settle(chain);
    assert_string_equal(chain->log[0], "I=U");
}

/* Race 11: a refusal of an older request does not end the newer one. */
static void a_final_refusal_closes_the_item(void **state)
{
    struct chain *chain = *state;

    chain->answers = false;
    open_at(chain, 0);
    settle(chain);
    rrmp_source_item_close(chain->source, chain->now_ns, chain->wanted,
                           &(struct rrmp_ending){ .state = 34, .code = 1, .scope = 1 });
    settle(chain);
    assert_string_equal(chain->log[0], "X");
}

static void a_final_status_closes_the_item_for_all(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    open_at(chain, 1);
    settle(chain);
    rrmp_source_item_close(
        chain->source, chain->now_ns, chain->wanted,
        &(struct rrmp_ending){ .state = 34, .message = { (const uint8_t *)"c", 1 } });
    settle(chain);
    assert_string_equal(chain->log[0], "I=X");
    assert_string_equal(chain->log[1], "I=X");
}

static void a_status_reaches_those_who_still_wait(void **state)
{
    struct chain *chain = *state;

    chain->answers = false;
    open_at(chain, 0);
    settle(chain);
    publish(chain, RRMP_STATUS, "suspect");
    settle(chain);
    assert_string_equal(chain->log[0], "S");
    image(chain, true);
    settle(chain);
    assert_string_equal(chain->log[0], "SI=");
}

static void group_is(struct chain *chain, uint16_t group, uint16_t merged_into)
{
    const struct rrmp_group said = { .group = group, .merged_into = merged_into, .state = 10 };

    assert_int_equal(rrmp_source_group_status(chain->source, chain->svc, &said), 0);
    settle(chain);
    assert_null(rrmp_sink_check(chain->sinks[0]));
}

static void a_state_is_about_the_items_of_its_group_where_it_merges_it_too(void **state)
{
    struct chain *chain = *state;

    chain->answers = true;
    open_at(chain, 0);
    settle(chain);
    group_is(chain, 7, RRMP_GROUP_NONE);
    assert_int_equal(chain->told[0], 0);
    group_is(chain, 0, 5);
    assert_int_equal(chain->told[0], 1);
    group_is(chain, 0, RRMP_GROUP_NONE);
    assert_int_equal(chain->told[0], 1);
    group_is(chain, 5, 5 + 64); /* side by side with it in the table */
    assert_int_equal(chain->told[0], 2);
    group_is(chain, 5, RRMP_GROUP_NONE);
    assert_int_equal(chain->told[0], 2);
    group_is(chain, 5 + 64, RRMP_GROUP_NONE);
    assert_int_equal(chain->told[0], 3);
}

static void group_stays(struct chain *chain)
{
    const struct rrmp_group said = { .merged_into = RRMP_GROUP_NONE, .state = 10, .stays = true };

    assert_int_equal(rrmp_source_group_status(chain->source, chain->svc, &said), 0);
}

static void group_is_well(struct chain *chain)
{
    const struct rrmp_group said = { .merged_into = RRMP_GROUP_NONE, .state = 9 };

    assert_int_equal(rrmp_source_group_status(chain->source, chain->svc, &said), 0);
    settle(chain);
}

static bool is_suspect(struct chain *chain, uint32_t n)
{
    struct rrmp_sink_item info;

    assert_true(rrmp_sink_item_info(chain->sinks[n], chain->item[n], &info));
    return info.suspect_sent;
}

static void an_item_stays_suspect_behind_an_image_from_before(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    from_sinks(chain);
    group_stays(chain);
    struct line *line = take(&chain->from_source);
    assert_int_equal(line->count, 3);
    give(chain, line, 0, 1); /* BIND */
    give(chain, line, 2, 1); /* GROUP */
    group_is_well(chain);
    assert_string_equal(chain->log[0], "!");
    give(chain, line, 1, 1); /* the image */
    free(line);
    assert_string_equal(chain->log[0], "!I!=");
    assert_true(is_suspect(chain, 0));
    group_is_well(chain);
    assert_int_equal(chain->told[0], 1);
    image(chain, false);
    settle(chain);
    assert_false(is_suspect(chain, 0));
    group_is_well(chain);
    assert_int_equal(chain->told[0], 2);
}

static void an_item_is_well_with_an_image_from_behind(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    from_sinks(chain);
    group_stays(chain);
    struct line *line = take(&chain->from_source);
    give(chain, line, 0, 1); /* BIND */
    give(chain, line, 2, 1); /* GROUP; its image does not come */
    free(line);
    pass(chain, 6 * SEC);
    assert_int_equal(state_of(chain, 0), RRMP_SINK_LIVE);
    assert_false(is_suspect(chain, 0));
}

static void who_is_in_step_stays_suspect_behind_the_image_of_others(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    settle(chain);
    rrmp_sink_item_want_image(chain->sinks[0], chain->now_ns, chain->item[0]);
    sinks_tick(chain);
    from_sinks(chain);
    publish(chain, RRMP_UPDATE, "one");
    group_stays(chain);
    struct line *line = take(&chain->from_source);
    assert_int_equal(line->count, 4);
    give(chain, line, 0, 1); /* BIND */
    give(chain, line, 2, 1); /* UPDATE */
    give(chain, line, 3, 1); /* GROUP */
    assert_string_equal(chain->log[0], "I=U!");
    give(chain, line, 1, 1); /* the image, and behind it the update and the state */
    free(line);
    assert_string_equal(chain->log[0], "I=U!IU!=");
    assert_true(is_suspect(chain, 0));
    group_is_well(chain);
    assert_int_equal(chain->told[0], 1);
}

/* A group ends the streams of those in step; one that waits for the image has none to lose. */
static void an_end_before_the_image_of_others_is_no_end_behind_it(void **state)
{
    const struct rrmp_group said = { .merged_into = RRMP_GROUP_NONE, .state = 26, .stays = true };
    struct chain *chain = *state;

    open_at(chain, 0);
    settle(chain);
    rrmp_sink_item_want_image(chain->sinks[0], chain->now_ns, chain->item[0]);
    sinks_tick(chain);
    from_sinks(chain);
    assert_int_equal(rrmp_source_group_status(chain->source, chain->svc, &said), 0);
    struct line *line = take(&chain->from_source);
    assert_int_equal(line->count, 3);
    give(chain, line, 0, 1); /* BIND */
    give(chain, line, 2, 1); /* GROUP */
    assert_string_equal(chain->log[0], "I=!");
    assert_int_equal(chain->said[0], 26);
    give(chain, line, 1, 1); /* the image */
    free(line);
    assert_string_equal(chain->log[0], "I=!I!=");
    assert_int_equal(chain->said[0], 10);
    assert_true(is_suspect(chain, 0));
}

static void part_is(struct chain *chain, bool is_first, bool is_solicited)
{
    const struct rrmp_part part = { .is_first = is_first,
                                    .is_last = !is_first,
                                    .is_cached = true,
                                    .is_solicited = is_solicited,
                                    .state = 9 };
    uint8_t *room;

    assert_int_equal(
        rrmp_source_image_begin(chain->source, chain->now_ns, chain->wanted, &part, 4, &room),
        MD_OK);
    memcpy(room, "part", 4);
    rrmp_source_publish_commit(chain->source, 4);
}

static void a_state_between_the_parts_of_an_image_stands_behind_it(void **state)
{
    struct chain *chain = *state;

    chain->answers = false;
    open_at(chain, 0);
    from_sinks(chain);
    part_is(chain, true, true);
    part_is(chain, false, true);
    group_stays(chain);
    struct line *line = take(&chain->from_source);
    assert_int_equal(line->count, 4);
    give(chain, line, 0, 1); /* BIND */
    give(chain, line, 1, 1); /* the first part */
    give(chain, line, 3, 1); /* GROUP */
    give(chain, line, 2, 1); /* the last part */
    free(line);
    assert_string_equal(chain->log[0], "I!I!=");
    assert_true(is_suspect(chain, 0));
}

static void a_status_may_take_its_item_to_another_group(void **state)
{
    struct chain *chain = *state;

    chain->answers = true;
    open_at(chain, 0);
    settle(chain);
    publish(chain, RRMP_STATUS, "\1\5suspect");
    for (size_t i = 0; i < chain->from_source.count; i++) {
        if (chain->from_source.sent[i].bytes[0] == RRMP_STATUS)
            chain->from_source.sent[i].bytes[1] |= RRMP_FLAG_GROUP;
    }
    settle(chain);
    group_is(chain, 0, RRMP_GROUP_NONE);
    assert_int_equal(chain->told[0], 0);
    group_is(chain, 0x105, RRMP_GROUP_NONE);
    assert_int_equal(chain->told[0], 1);
}

static void a_silent_instance_is_left_after_its_time_but_only_when_the_input_is_empty(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    settle(chain);
    chain->now_ns += 4 * SEC;
    rrmp_sink_tick(chain->sinks[0], chain->now_ns, false);
    sink_take(chain, 0);
    assert_string_equal(chain->log[0], "I=");
    rrmp_sink_tick(chain->sinks[0], chain->now_ns, true);
    sink_take(chain, 0);
    assert_string_equal(chain->log[0], "I=!");
}

/* Race 15. */
static void a_post_in_flight_when_its_instance_dies_is_answered_at_once(void **state)
{
    struct chain *chain = *state;
    const struct rrmp_view bytes = { (const uint8_t *)"post", 4 };

    open_at(chain, 0);
    settle(chain);
    assert_int_equal(
        rrmp_sink_post(chain->sinks[0], chain->now_ns, chain->item[0], 0, bytes, bytes, true, 1),
        MD_OK);
    rrmp_sink_input(chain->sinks[0], chain->now_ns,
                    &(struct backbone_event){ .type = BACKBONE_PEER_DOWN, .session = 1 }, 1);
    chain->now_ns += 2 * MS;
    sinks_tick(chain);
    assert_string_equal(chain->log[0], "I=!N");
}

static void a_full_ring_refuses_updates_and_loses_none(void **state)
{
    struct chain *chain = *state;
    uint8_t *room;

    open_at(chain, 0);
    settle(chain);
    chain->from_source.is_full = true;
    assert_int_equal(rrmp_source_publish_begin(chain->source, chain->wanted, RRMP_UPDATE, 3, &room),
                     MD_ERR_FULL);
    assert_null(room);
    chain->from_source.is_full = false;
    publish(chain, RRMP_UPDATE, "one");
    settle(chain);
    assert_string_equal(chain->log[0], "I=U");
}

static void a_private_stream_is_seen_by_its_owner_and_ends_with_its_instance(void **state)
{
    struct chain *chain = *state;
    const struct rrmp_sink_open open = { .key = { chain->key, chain->key_length },
                                         .is_private = true };

    assert_int_equal(rrmp_sink_item_open(chain->sinks[0], chain->now_ns, &open, &chain->item[0]),
                     MD_OK);
    sinks_tick(chain);
    settle(chain);
    publish(chain, RRMP_UPDATE, "one");
    settle(chain);
    assert_string_equal(chain->log[0], "I=U");
    assert_string_equal(chain->log[1], "");
    rrmp_sink_input(chain->sinks[0], chain->now_ns,
                    &(struct backbone_event){ .type = BACKBONE_PEER_DOWN, .session = 1 }, 1);
    chain->now_ns += 2 * MS;
    sinks_tick(chain);
    assert_string_equal(chain->log[0], "I=U!X"); /* the service is told suspect, the stream ends */
}

/* Its CLOSE was lost on the way: what still comes of it is answered with another, once. */
static void a_private_stream_that_is_nobodys_is_closed(void **state)
{
    struct chain *chain = *state;
    const struct rrmp_sink_open open = { .key = { chain->key, chain->key_length },
                                         .is_private = true };

    assert_int_equal(rrmp_sink_item_open(chain->sinks[0], chain->now_ns, &open, &chain->item[0]),
                     MD_OK);
    sinks_tick(chain);
    settle(chain);
    rrmp_sink_item_close(chain->sinks[0], chain->now_ns, chain->item[0]);
    sinks_tick(chain);
    assert_true(chain->from_sink[0].count > 0);
    chain->from_sink[0].count = 0;
    publish(chain, RRMP_UPDATE, "one");
    publish(chain, RRMP_UPDATE, "two");
    from_source(chain, 0);
    assert_int_equal(chain->from_sink[0].count, 1);
    pass(chain, 50 * MS);
    assert_int_equal(chain->unwanted, 1);
    assert_string_equal(chain->log[0], "I=");
}

static void open_private(struct chain *chain)
{
    const struct rrmp_sink_open open = { .key = { chain->key, chain->key_length },
                                         .is_private = true };

    assert_int_equal(rrmp_sink_item_open(chain->sinks[0], chain->now_ns, &open, &chain->item[0]),
                     MD_OK);
    sinks_tick(chain);
    from_sinks(chain);
}

static void dropped(struct chain *chain, uint64_t session)
{
    const struct backbone_event event = {
        .type = BACKBONE_TX_DROPPED, .session = session, .dst_port = 1, .count = 1
    };

    assert_int_equal(rrmp_source_input(chain->source, chain->now_ns, &event, 1), 1);
    settle(chain);
}

/* Nothing may follow it that would show the hole. */
static void a_private_stream_of_which_something_was_dropped_ends(void **state)
{
    struct chain *chain = *state;

    open_private(chain);
    settle(chain);
    publish(chain, RRMP_UPDATE, "one");
    chain->from_source.count = 0;
    dropped(chain, 11);
    assert_string_equal(chain->log[0], "I=");
    dropped(chain, 10);
    pass(chain, 50 * MS);
    assert_string_equal(chain->log[0], "I=X");
}

/* The service goes down, and says so before the image, which left first, arrives by unicast. */
static void overtake_image(struct chain *chain)
{
    struct line *line = &chain->from_source;

    assert_int_equal(line->count, 1);
    assert_int_equal(line->sent[0].bytes[0], RRMP_IMAGE);
    service_is(chain, false);
    for (size_t i = 1; i < line->count; i++)
        give(chain, line, i, 1);
    give(chain, line, 0, 1);
    chain->now_ns += 2 * MS;
    sinks_tick(chain);
}

static void a_private_stream_whose_service_went_down_before_its_image_ends(void **state)
{
    struct chain *chain = *state;

    open_private(chain);
    overtake_image(chain);
    assert_string_equal(chain->log[0], "X");
}

static void a_private_stream_whose_service_went_down_before_a_further_image_ends(void **state)
{
    struct chain *chain = *state;

    open_private(chain);
    settle(chain);
    rrmp_sink_item_want_image(chain->sinks[0], chain->now_ns, chain->item[0]);
    sinks_tick(chain);
    from_sinks(chain);
    overtake_image(chain);
    assert_string_equal(chain->log[0], "I=X");
}

/* Race 18: an image asked for by another makes the item LIVE; the interest is registered all the
 * same. */
static void an_item_that_takes_anothers_image_still_registers_its_interest(void **state)
{
    struct chain *chain = *state;
    struct rrmp_source_item info;

    chain->answers = false;
    open_at(chain, 0);
    from_sinks(chain);
    open_at(chain, 1);
    from_sinks(chain);
    image(chain, true);
    settle(chain);
    assert_string_equal(chain->log[0], "I=");
    assert_string_equal(chain->log[1], "I=");
    pass(chain, 50 * MS);
    assert_true(rrmp_source_item_info(chain->source, chain->wanted, &info));
    assert_int_equal(info.requester_count, 2);
}

static void a_reissue_is_answered_to_those_who_wait_only(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    settle(chain);
    rrmp_sink_item_want_image(chain->sinks[0], chain->now_ns, chain->item[0]);
    sinks_tick(chain);
    settle(chain);
    assert_string_equal(chain->log[0], "I=I=");
    assert_int_equal(chain->images_wanted, 1);
}

static void a_refused_open_elsewhere_means_not_found_when_nobody_is_left(void **state)
{
    struct chain *chain = *state;

    chain->answers = false;
    open_at(chain, 0);
    settle(chain);
    rrmp_source_item_close(
        chain->source, chain->now_ns, chain->wanted,
        &(struct rrmp_ending){ .state = 26, .code = 13, .scope = RRMP_REFUSE_NOT_HERE });
    settle(chain);
    assert_string_equal(chain->log[0], "X");
}

static void an_item_is_asked_for_again_where_it_was_refused_when_nobody_else_is_left(void **state)
{
    struct chain *chain = *state;
    struct line *line = calloc(1, sizeof(*line));
    struct rrmp_source *other;
    struct rrmp_sink_item info;

    assert_non_null(line);
    chain->answers = false;
    open_at(chain, 0);
    settle(chain);
    another_comes(chain, line, &other);
    rrmp_source_item_close(
        chain->source, chain->now_ns, chain->wanted,
        &(struct rrmp_ending){ .state = 26, .code = 13, .scope = RRMP_REFUSE_NOT_HERE });
    from_source(chain, 0);
    sinks_tick(chain);
    chain->from_sink[0].count = 0; /* the other does not answer */
    assert_true(rrmp_sink_item_info(chain->sinks[0], chain->item[0], &info));
    assert_true(rrmp_sink_instance_is(chain->sinks[0], info.instance, 2, 1));
    rrmp_sink_input(
        chain->sinks[0], chain->now_ns,
        &(struct backbone_event){ .type = BACKBONE_USER_DOWN, .session = 2, .src_port = 1 }, 1);
    sink_take(chain, 0);
    assert_int_equal(state_of(chain, 0), RRMP_SINK_PARKED);
    chain->answers = true;
    pass(chain, 2000 * MS);
    assert_int_equal(state_of(chain, 0), RRMP_SINK_LIVE);
    rrmp_source_destroy(other);
    free(line);
}

static void cut_from(struct chain *chain, uint64_t session)
{
    rrmp_sink_input(
        chain->sinks[0], chain->now_ns,
        &(struct backbone_event){ .type = BACKBONE_USER_DOWN, .session = session, .src_port = 1 },
        1);
    sink_take(chain, 0);
}

static void a_refusal_counts_still_after_the_network_was_cut(void **state)
{
    struct chain *chain = *state;
    struct line *line = calloc(1, sizeof(*line));
    struct rrmp_source *other;

    assert_non_null(line);
    chain->answers = false;
    open_at(chain, 0);
    settle(chain);
    another_comes(chain, line, &other);
    rrmp_source_item_close(
        chain->source, chain->now_ns, chain->wanted,
        &(struct rrmp_ending){ .state = 26, .code = 13, .scope = RRMP_REFUSE_NOT_HERE });
    from_source(chain, 0);
    sinks_tick(chain);
    chain->from_sink[0].count = 0;
    cut_from(chain, 2);
    cut_from(chain, 1);
    for (int i = 0; i < 201; i++) { /* nobody is there */
        chain->now_ns += 10 * MS;
        sinks_tick(chain);
        chain->from_sink[0].count = 0;
    }
    assert_int_equal(state_of(chain, 0), RRMP_SINK_PARKED);
    chain->answers = true;
    pass(chain, 300 * MS); /* the one that refused it is back, the other may follow */
    assert_int_equal(state_of(chain, 0), RRMP_SINK_PARKED);
    pass(chain, 2000 * MS);
    assert_int_equal(state_of(chain, 0), RRMP_SINK_LIVE);
    rrmp_source_destroy(other);
    free(line);
}

/* One more instance, which offers nothing. */
static void add_instance(struct chain *chain, uint64_t session)
{
    struct rrmp_record record = { .header = { .type = RRMP_INSTANCE, .svc = RRMP_SVC_NONE } };
    uint8_t out[128];
    struct md_wr wr = md_wr_init(out, sizeof(out));

    record.u.instance.name = (struct rrmp_view){ (const uint8_t *)"other", 5 };
    rrmp_record_encode(&wr, &record);
    assert_true(md_wr_ok(&wr));
    const struct backbone_event message = { .type = BACKBONE_MESSAGE,
                                            .session = session,
                                            .src_port = 1,
                                            .topic = RRMP_TOPIC_CONTROL,
                                            .bytes = out,
                                            .length = (uint32_t)md_wr_length(&wr) };
    assert_int_equal(rrmp_sink_input(chain->sinks[0], chain->now_ns, &message, 1), 1);
    sink_take(chain, 0);
}

static struct rrmp_sink_event dictionary_part(struct chain *chain, uint64_t session, uint32_t id)
{
    struct rrmp_record record = { .header = { .type = RRMP_DICTPART, .svc = chain->svc } };
    struct rrmp_sink_event event = { .kind = RRMP_SINK_IMAGE };
    uint8_t out[128];
    struct md_wr wr = md_wr_init(out, sizeof(out));

    record.u.dictpart = (struct rrmp_dictpart){ .request_id = id,
                                                .flags = RRMP_DICT_LAST,
                                                .name = { (const uint8_t *)"RWFFld", 6 },
                                                .version = { (const uint8_t *)"1", 1 },
                                                .message = { (const uint8_t *)"fields", 6 } };
    rrmp_record_encode(&wr, &record);
    assert_true(md_wr_ok(&wr));
    const struct backbone_event message = { .type = BACKBONE_MESSAGE,
                                            .flags = BACKBONE_FLAG_UNICAST,
                                            .session = session,
                                            .src_port = 1,
                                            .dst_port = 1,
                                            .bytes = out,
                                            .length = (uint32_t)md_wr_length(&wr) };
    assert_int_equal(rrmp_sink_input(chain->sinks[0], chain->now_ns, &message, 1), 1);
    while (rrmp_sink_event(chain->sinks[0], &event, 1) == 1 && event.kind != RRMP_SINK_DICTIONARY)
        ;
    return event;
}

/* Another instance that hits the number of the request changes nothing. */
static void a_dictionary_comes_from_whom_was_asked(void **state)
{
    struct chain *chain = *state;
    static const uint8_t provided[] = "\6RWFFld";
    uint8_t tlvs[32];
    struct md_wr wr = md_wr_init(tlvs, sizeof(tlvs));
    struct line *line = &chain->from_sink[0];
    struct rrmp_record record;

    rrmp_tlv_put(&wr, RRMP_TLV_DICT_PROVIDED, provided, 7);
    const struct rrmp_service service = { .state = 3,
                                          .tlv_count = 1,
                                          .name = { (const uint8_t *)"RDFD", 4 },
                                          .tlvs = { tlvs, md_wr_length(&wr) } };
    assert_int_equal(rrmp_source_service_change(chain->source, chain->now_ns, chain->svc, &service),
                     MD_OK);
    pass(chain, 100 * MS);
    add_instance(chain, 2);
    line->count = 0;
    assert_int_equal(rrmp_sink_dictionary(chain->sinks[0], chain->now_ns, 0,
                                          (struct rrmp_view){ provided + 1, 6 }, 0, 7),
                     MD_OK);
    rrmp_sink_tick(chain->sinks[0], chain->now_ns, true);
    assert_int_equal(line->count, 1);
    assert_int_equal(rrmp_record_decode(line->sent[0].bytes, line->sent[0].length, &record), MD_OK);
    assert_int_equal(record.header.type, RRMP_DICTREQ);
    assert_int_not_equal(dictionary_part(chain, 2, record.u.dictreq.id).kind, RRMP_SINK_DICTIONARY);
    assert_int_equal(dictionary_part(chain, 1, record.u.dictreq.id).kind, RRMP_SINK_DICTIONARY);
}

static int follow_at(struct chain *chain, uint32_t n)
{
    const struct rrmp_sink_open open = { .key = { chain->key, chain->key_length },
                                         .priority_class = 1,
                                         .priority_count = 1,
                                         .is_follower = true,
                                         .bound_at = chain->bound_at };
    int err = rrmp_sink_item_open(chain->sinks[n], chain->now_ns, &open, &chain->item[n]);

    sinks_tick(chain);
    return err;
}

static uint32_t requesters_of(struct chain *chain)
{
    struct rrmp_source_item info;

    assert_true(rrmp_source_item_info(chain->source, chain->wanted, &info));
    return info.requester_count;
}

static void a_follower_has_what_others_have_and_keeps_nothing_open(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    settle(chain);
    assert_int_equal(follow_at(chain, 1), MD_OK);
    settle(chain);
    assert_string_equal(chain->log[1], "I=");
    publish(chain, RRMP_UPDATE, "tick");
    settle(chain);
    assert_string_equal(chain->log[1], "I=U");
    assert_string_equal(chain->log[0], "I=U");
    assert_int_equal(requesters_of(chain), 1);
    pass(chain, 17 * SEC); /* neither digests nor audits make an interest of it, or end it */
    assert_int_equal(requesters_of(chain), 1);
    assert_string_equal(chain->log[1], "I=U");
    assert_int_equal(rrmp_sink_stats(chain->sinks[1])->audits, 0);
    rrmp_sink_item_close(chain->sinks[0], chain->now_ns, chain->item[0]);
    settle(chain);
    assert_string_equal(chain->log[1], "I=UX");
}

static void a_follower_opens_nothing(void **state)
{
    struct chain *chain = *state;

    assert_int_equal(follow_at(chain, 1), MD_OK);
    settle(chain);
    assert_string_equal(chain->log[1], "X");
    assert_int_equal(chain->wanted, RRMP_ITEM_NONE);
}

static void a_follower_whose_item_goes_before_its_image_ends(void **state)
{
    struct chain *chain = *state;

    chain->answers = false;
    open_at(chain, 0);
    settle(chain);
    assert_int_equal(follow_at(chain, 1), MD_OK);
    settle(chain);
    assert_string_equal(chain->log[1], "");
    rrmp_sink_item_close(chain->sinks[0], chain->now_ns, chain->item[0]);
    settle(chain);
    assert_string_equal(chain->log[1], "X");
    image(chain, true); /* for nobody */
    pass(chain, 2 * SEC);
    assert_int_equal(chain->images_wanted, 0);
}

static void a_lost_update_is_told_to_a_follower_and_mended(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    settle(chain);
    follow_at(chain, 1);
    settle(chain);
    publish(chain, RRMP_UPDATE, "lost");
    from_source(chain, 1);
    publish(chain, RRMP_UPDATE, "next");
    settle(chain);
    pass(chain, 100 * MS);
    assert_string_equal(chain->log[1], "I=!I=");
}

static void bound_items_are_listed_and_seen(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    settle(chain);
    assert_int_equal(chain->bound, 0);
    rrmp_sink_follow(chain->sinks[1], chain->now_ns, 0);
    pass(chain, 100 * MS);
    assert_int_equal(chain->bound, 1); /* listed */
    chain->key[chain->key_length - 1] = 'X';
    open_at(chain, 0);
    settle(chain);
    assert_int_equal(chain->bound, 2); /* in the stream */
    pass(chain, 1 * SEC);
    assert_int_equal(chain->bound, 2);
    assert_int_equal(rrmp_sink_stats(chain->sinks[1])->list_parts, 1);
}

/* The BIND of an item may be among the lost. */
static void bound_items_are_listed_again_behind_a_loss(void **state)
{
    struct chain *chain = *state;

    rrmp_sink_follow(chain->sinks[1], chain->now_ns, 0);
    pass(chain, 100 * MS);
    open_at(chain, 0);
    from_sinks(chain);
    from_source(chain, ~0ull);
    assert_int_equal(chain->bound, 0);
    pass(chain, 2 * SEC); /* the heartbeat has the number of the lost one */
    assert_int_equal(chain->bound, 1);
}

/* A list is asked for as long as none comes, and no later than 4 s after the last time. */
static void a_list_that_does_not_come_is_asked_for_each_four_seconds(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    settle(chain);
    rrmp_sink_follow(chain->sinks[1], chain->now_ns, 0);
    for (int i = 0; i < 60; i++) {
        sinks_tick(chain);
        chain->from_sink[1].count = 0;
        chain->now_ns += 1 * SEC;
        rrmp_source_tick(chain->source, chain->now_ns, true);
        source_take(chain);
        settle(chain);
        assert_int_equal(chain->bound, 0);
    }
    pass(chain, 4100 * MS);
    assert_int_equal(chain->bound, 1);
}

static void a_list_that_is_lost_is_asked_for_again(void **state)
{
    struct chain *chain = *state;

    for (uint32_t i = 0; i < 20; i++) {
        chain->key[chain->key_length - 1] = (uint8_t)('0' + i);
        open_at(chain, 0);
        settle(chain);
    }
    rrmp_sink_follow(chain->sinks[1], chain->now_ns, 0);
    sinks_tick(chain);
    from_sinks(chain);
    from_source(chain, ~0ull);
    pass(chain, 500 * MS);
    assert_int_equal(chain->bound, 0);
    pass(chain, 1 * SEC);
    assert_int_equal(chain->bound, 20);
}

/* Under ten losses a second all of the list comes, and its beginnings keep their distance. */
static void a_list_comes_to_its_end_under_loss(void **state)
{
    struct chain *chain = *state;

    open_at(chain, 0);
    settle(chain);
    rrmp_sink_follow(chain->sinks[1], chain->now_ns, 0);
    pass(chain, 100 * MS);
    assert_int_equal(rrmp_sink_stats(chain->sinks[1])->list_parts, 1);
    for (int i = 0; i < 100; i++) { /* ten seconds */
        chain->log[0][0] = chain->log[1][0] = 0;
        publish(chain, RRMP_UPDATE, "lost");
        from_source(chain, ~0ull);
        publish(chain, RRMP_UPDATE, "next");
        pass(chain, 100 * MS);
    }
    uint64_t parts = rrmp_sink_stats(chain->sinks[1])->list_parts;
    assert_in_range(parts, 9, 12); /* one each second */
    pass(chain, 8 * SEC);
    assert_in_range(rrmp_sink_stats(chain->sinks[1])->list_parts, parts, parts + 1);
}

/* The BIND for followers waits until the ring has room, and takes no number before. */
static void a_bind_for_followers_waits_for_room(void **state)
{
    struct chain *chain = *state;

    rrmp_sink_follow(chain->sinks[1], chain->now_ns, 0);
    pass(chain, 100 * MS);
    open_at(chain, 0);
    chain->from_source.left = 1; /* the image, for the node of sink 0 alone */
    settle(chain);
    assert_string_equal(chain->log[0], "I=");
    assert_true(chain->from_source.is_full);
    assert_int_equal(chain->bound, 0);
    chain->from_source.is_full = false;
    pass(chain, 20 * MS);
    assert_int_equal(chain->bound, 1);
    pass(chain, 1 * SEC);
    assert_int_equal(chain->bound, 1);
    for (uint32_t n = 0; n < SINKS; n++)
        assert_int_equal(rrmp_sink_stats(chain->sinks[n])->svc_seq_jumps, 0);
}

static uint32_t lists_asked(struct chain *chain)
{
    uint32_t count = 0;

    for (size_t i = 0; i < chain->from_sink[1].count; i++)
        count += chain->from_sink[1].sent[i].bytes[0] == RRMP_LISTREQ;
    chain->from_sink[1].count = 0;
    return count;
}

/* A requester that may not see lists does not fill the log of its rrcpd. */
static void a_list_without_an_answer_is_not_asked_for_often(void **state)
{
    struct chain *chain = *state;
    uint32_t count = 0;

    rrmp_sink_follow(chain->sinks[1], chain->now_ns, 0);
    for (int i = 0; i < 3000; i++) { /* half a minute */
        chain->now_ns += 10 * MS;
        rrmp_source_tick(chain->source, chain->now_ns, true);
        source_take(chain);
        from_source(chain, 0);
        sinks_tick(chain);
        count += lists_asked(chain);
    }
    assert_in_range(count, 7, 9); /* behind 1 and 2 s, then each 4 s */
}

/* Above half of what can wait at a source, consumers alone are let wait. */
static void followers_leave_room_for_consumers(void **state)
{
    struct chain *chain = *state;

    chain->answers = false;
    for (uint32_t i = 0; i < 4; i++) { /* of 8 */
        chain->key[chain->key_length - 1] = (uint8_t)('0' + i);
        open_at(chain, 0);
        settle(chain);
    }
    assert_int_equal(follow_at(chain, 1), MD_OK);
    settle(chain);
    assert_string_equal(chain->log[1], "!"); /* later */
    chain->key[chain->key_length - 1] = 'Y';
    open_at(chain, 0);
    settle(chain);
    assert_string_equal(chain->log[0], "");
}

static int setup_narrow(void **state)
{
    ask_limit = 8;
    int err = setup(state);
    ask_limit = 0;
    return err;
}

/* ---- what is open at two instances ---- */

/* The source of the chain is A; B is (2, 1). One consumer, (12, 1), asks both as it likes. */
struct pair {
    struct chain *chain;
    struct line line; /* of B */
    struct rrmp_source *other;
    uint32_t wanted; /* B's item */
    uint32_t last_id;
};

static void swap_sources(struct pair *pair)
{
    struct rrmp_source *source = pair->chain->source;
    uint32_t wanted = pair->chain->wanted;

    pair->chain->source = pair->other;
    pair->chain->wanted = pair->wanted;
    pair->other = source;
    pair->wanted = wanted;
}

/* B's records to the follower, which is sink 1; then those of the sink to whom they are for. */
static void pair_settle(struct pair *pair)
{
    struct chain *chain = pair->chain;
    struct line *copy = malloc(sizeof(*copy));

    assert_non_null(copy);
    for (int i = 0; i < 8; i++) {
        from_source(chain, 0);
        *copy = pair->line;
        pair->line.count = 0;
        for (size_t n = 0; n < copy->count; n++) {
            const struct backbone_event message = message_of(copy, n, 2);
            const struct backbone_target *target = &copy->sent[n].target;
            if (target->path != BACKBONE_PATH_MULTICAST && target->session != 11)
                continue;
            assert_int_equal(rrmp_sink_input(chain->sinks[1], chain->now_ns, &message, 1), 1);
            sink_take(chain, 1);
        }
        rrmp_sink_tick(chain->sinks[1], chain->now_ns, true);
        *copy = chain->from_sink[1];
        chain->from_sink[1].count = 0;
        for (size_t n = 0; n < copy->count; n++) {
            bool is_other = copy->sent[n].target.session == 2;
            if (is_other)
                swap_sources(pair);
            give(chain, copy, n, 11);
            if (is_other)
                swap_sources(pair);
        }
    }
    free(copy);
    assert_null(rrmp_sink_check(chain->sinks[1]));
}

static void pair_pass(struct pair *pair, uint64_t time_ns)
{
    struct chain *chain = pair->chain;
    uint64_t until = chain->now_ns + time_ns;

    while (chain->now_ns < until) {
        chain->now_ns += 10 * MS;
        for (int i = 0; i < 2; i++) {
            rrmp_source_tick(chain->source, chain->now_ns, true);
            source_take(chain);
            swap_sources(pair);
        }
        rrmp_sink_tick(chain->sinks[1], chain->now_ns, true);
        sink_take(chain, 1);
        pair_settle(pair);
    }
}

/* The consumer opens the item at A or at B, or closes it there. */
static void pair_ask(struct pair *pair, bool is_other, enum rrmp_type type)
{
    struct chain *chain = pair->chain;
    const struct rrmp_view key = { chain->key, chain->key_length };
    struct rrmp_record record = { .header = { .type = (uint8_t)type, .svc = chain->svc } };
    uint8_t out[128];
    struct md_wr wr = md_wr_init(out, sizeof(out));

    if (type == RRMP_REQUEST)
        record.u.request =
            (struct rrmp_request){ .id = ++pair->last_id,
                                   .flags = RRMP_REQUEST_STREAMING | RRMP_REQUEST_IMAGE,
                                   .priority_class = 1,
                                   .priority_count = 1,
                                   .handle = RRMP_HANDLE_NONE,
                                   .key_hash = rrmp_key_hash(key.bytes, key.length),
                                   .key = key };
    else
        record.u.close = (struct rrmp_close){ .id = pair->last_id,
                                              .handle = RRMP_HANDLE_NONE,
                                              .key_hash = rrmp_key_hash(key.bytes, key.length),
                                              .reason = RRMP_CLOSE_NOBODY,
                                              .key = key };
    rrmp_record_encode(&wr, &record);
    assert_true(md_wr_ok(&wr));
    const struct backbone_event message = { .type = BACKBONE_MESSAGE,
                                            .flags = BACKBONE_FLAG_UNICAST,
                                            .session = 12,
                                            .src_port = 1,
                                            .dst_port = 1,
                                            .bytes = out,
                                            .length = (uint32_t)md_wr_length(&wr) };
    if (is_other)
        swap_sources(pair);
    rrmp_source_input(chain->source, chain->now_ns, &message, 1);
    source_take(chain);
    if (is_other)
        swap_sources(pair);
}

static struct pair *pair_create(struct chain *chain)
{
    struct pair *pair = calloc(1, sizeof(*pair));

    assert_non_null(pair);
    pair->chain = chain;
    pair->wanted = RRMP_ITEM_NONE;
    another_comes(chain, &pair->line, &pair->other);
    rrmp_sink_follow(chain->sinks[1], chain->now_ns, 0);
    pair_pass(pair, 2 * SEC);
    return pair;
}

static void pair_destroy(struct pair *pair)
{
    rrmp_source_destroy(pair->other);
    free(pair);
}

/* The item moves from A to B, or from B to A: there it is bound before it goes here. */
static void a_follower_goes_where_the_item_goes(void **state)
{
    for (int from = 0; from < 2; from++) {
        struct chain *chain = *state;
        struct pair *pair = pair_create(chain);

        pair_ask(pair, from, RRMP_REQUEST);
        pair_settle(pair);
        assert_int_equal(follow_at(chain, 1), MD_OK);
        pair_pass(pair, 100 * MS);
        assert_string_equal(chain->log[1], "I=");
        pair_ask(pair, !from, RRMP_REQUEST);
        pair_settle(pair);
        pair_ask(pair, from, RRMP_CLOSE);
        pair_pass(pair, 100 * MS);
        assert_string_equal(chain->log[1], "I=!I=");
        pair_ask(pair, !from, RRMP_CLOSE);
        pair_pass(pair, 100 * MS);
        assert_string_equal(chain->log[1], "I=!I=X"); /* no instance has it now */
        pair_destroy(pair);
        teardown(state);
        setup(state);
    }
}

/* It was refused at one of them just before it is bound there. */
/* Of many instances not all would be asked before it ends. */
static void a_follower_asks_first_where_it_is_told_to_be_bound(void **state)
{
    for (int at = 0; at < 2; at++) {
        struct chain *chain = *state;
        struct pair *pair = pair_create(chain);

        pair_ask(pair, at, RRMP_REQUEST);
        pair_settle(pair);
        rrmp_sink_follow(chain->sinks[1], chain->now_ns, 0);
        pair_pass(pair, 100 * MS);
        assert_int_not_equal(chain->bound_at, 0);
        assert_int_equal(follow_at(chain, 1), MD_OK);
        pair_pass(pair, 100 * MS);
        assert_string_equal(chain->log[1], "I=");
        assert_int_equal(rrmp_sink_stats(chain->sinks[1])->requests_sent, 1);
        pair_destroy(pair);
        teardown(state);
        setup(state);
    }
}

static void a_follower_forgives_who_binds_the_item(void **state)
{
    for (int from = 0; from < 2; from++) {
        struct chain *chain = *state;
        struct pair *pair = pair_create(chain);

        pair_ask(pair, from, RRMP_REQUEST);
        pair_settle(pair);
        assert_int_equal(follow_at(chain, 1), MD_OK);
        pair_pass(pair, 100 * MS);
        for (int i = 0; i < 3; i++) { /* to and fro */
            bool is_at_other = (from + i) % 2;
            chain->log[1][0] = 0;
            pair_ask(pair, !is_at_other, RRMP_REQUEST);
            pair_settle(pair);
            pair_ask(pair, is_at_other, RRMP_CLOSE);
            pair_pass(pair, 100 * MS);
            assert_string_equal(chain->log[1], "!I=");
        }
        pair_destroy(pair);
        teardown(state);
        setup(state);
    }
}

/* A refusal goes by unicast, and a BIND that was sent after it comes before it. */
static void a_refusal_that_a_bind_overtakes_does_not_end_a_follower(void **state)
{
    struct chain *chain = *state;
    struct line *late = malloc(sizeof(*late));

    assert_non_null(late);
    rrmp_sink_follow(chain->sinks[1], chain->now_ns, 0);
    pass(chain, 100 * MS);
    assert_int_equal(follow_at(chain, 1), MD_OK);
    from_sinks(chain);
    *late = chain->from_source;
    chain->from_source.count = 0;
    assert_int_equal(late->count, 1);
    assert_int_equal(late->sent[0].bytes[0], RRMP_REFUSE);
    open_at(chain, 0);
    from_sinks(chain);
    from_source(chain, 0);
    give(chain, late, 0, 1);
    assert_string_equal(chain->log[1], "");
    sinks_tick(chain);
    settle(chain);
    assert_string_equal(chain->log[1], "I=");
    free(late);
}

/* One that nobody had yet is refused; before that comes, another opens it, and its image is here.
 */
static void a_refusal_that_an_image_overtakes_does_not_end_a_follower(void **state)
{
    struct chain *chain = *state;
    struct line *late = malloc(sizeof(*late));

    assert_non_null(late);
    chain->answers = false;
    assert_int_equal(follow_at(chain, 1), MD_OK);
    from_sinks(chain);
    *late = chain->from_source;
    chain->from_source.count = 0;
    assert_int_equal(late->count, 1);
    assert_int_equal(late->sent[0].bytes[0], RRMP_REFUSE);
    open_at(chain, 0);
    from_sinks(chain);
    image(chain, false);
    from_source(chain, 0);
    assert_string_equal(chain->log[1], "I=");
    give(chain, late, 0, 1);
    assert_string_equal(chain->log[1], "I=");
    publish(chain, RRMP_UPDATE, "tick");
    pass(chain, 20 * SEC);
    assert_string_equal(chain->log[1], "I=U");
    assert_int_equal(rrmp_sink_stats(chain->sinks[1])->requests_sent, 1);
    rrmp_sink_item_close(chain->sinks[0], chain->now_ns, chain->item[0]);
    settle(chain);
    assert_string_equal(chain->log[1], "I=UX");
    free(late);
}

/* The same, and only a part of the image is here. */
static void a_refusal_that_half_an_image_overtakes_does_not_end_a_follower(void **state)
{
    struct chain *chain = *state;
    struct line *late = malloc(sizeof(*late));

    assert_non_null(late);
    chain->answers = false;
    assert_int_equal(follow_at(chain, 1), MD_OK);
    from_sinks(chain);
    *late = chain->from_source;
    chain->from_source.count = 0;
    open_at(chain, 0);
    from_sinks(chain);
    part_is(chain, true, false);
    from_source(chain, 0);
    give(chain, late, 0, 1);
    assert_string_equal(chain->log[1], "I");
    part_is(chain, false, false);
    settle(chain);
    assert_string_equal(chain->log[1], "II=");
    free(late);
}

/* A source that said "later" has the item for another before that comes, and its image is here. */
static void a_wait_that_an_image_overtakes_is_not_told(void **state)
{
    struct chain *chain = *state;
    const struct rrmp_ending later = {
        .state = 10, .code = 1, .scope = RRMP_REFUSE_LATER, .wait_ms = 1000
    };
    struct line *late = malloc(sizeof(*late));

    assert_non_null(late);
    chain->answers = false;
    open_at(chain, 1);
    from_sinks(chain);
    rrmp_source_item_close(chain->source, chain->now_ns, chain->wanted, &later);
    *late = chain->from_source;
    chain->from_source.count = 0;
    assert_int_equal(late->count, 1);
    assert_int_equal(late->sent[0].bytes[0], RRMP_REFUSE);
    open_at(chain, 0);
    from_sinks(chain);
    image(chain, false);
    from_source(chain, 0);
    assert_string_equal(chain->log[1], "I=");
    give(chain, late, 0, 1);
    assert_string_equal(chain->log[1], "I=");
    pass(chain, 3 * SEC);
    assert_string_equal(chain->log[1], "I=");
    assert_int_equal(requesters_of(chain), 2);
    free(late);
}

/* Its provider ends it at one instance, and at the other it is open: that is known again. */
static void a_follower_that_ends_is_told_to_be_bound_elsewhere(void **state)
{
    static const uint8_t text[] = "end";
    struct chain *chain = *state;
    struct pair *pair = pair_create(chain);
    const struct rrmp_ending ending = {
        .state = 26, .code = 13, .scope = RRMP_REFUSE_NOT_HERE, .message = { text, 3 }
    };
    struct rrmp_sink_item info;

    pair_ask(pair, false, RRMP_REQUEST);
    pair_ask(pair, true, RRMP_REQUEST);
    pair_settle(pair);
    assert_int_equal(follow_at(chain, 1), MD_OK);
    pair_pass(pair, 100 * MS);
    assert_string_equal(chain->log[1], "I=");
    assert_true(rrmp_sink_item_info(chain->sinks[1], chain->item[1], &info));
    bool is_other = rrmp_sink_instance_is(chain->sinks[1], info.instance, 2, 1);
    if (is_other)
        swap_sources(pair);
    rrmp_source_item_close(chain->source, chain->now_ns, chain->wanted, &ending);
    if (is_other)
        swap_sources(pair);
    uint32_t bound = chain->bound;
    pair_settle(pair);
    assert_string_equal(chain->log[1], "I=X");
    assert_int_equal(chain->bound, bound + 1);
    assert_int_equal(follow_at(chain, 1), MD_OK);
    pair_pass(pair, 100 * MS);
    assert_string_equal(chain->log[1], "I=XI=");
    pair_destroy(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(an_opened_item_gets_its_image_and_then_updates),
        TEST(a_follower_has_what_others_have_and_keeps_nothing_open),
        TEST(a_follower_opens_nothing),
        TEST(a_follower_whose_item_goes_before_its_image_ends),
        TEST(a_lost_update_is_told_to_a_follower_and_mended),
        TEST(bound_items_are_listed_and_seen),
        TEST(bound_items_are_listed_again_behind_a_loss),
        TEST(a_list_that_does_not_come_is_asked_for_each_four_seconds),
        TEST(a_list_that_is_lost_is_asked_for_again),
        TEST(a_list_comes_to_its_end_under_loss),
        TEST(a_bind_for_followers_waits_for_room),
        TEST(a_list_without_an_answer_is_not_asked_for_often),
        cmocka_unit_test_setup_teardown(followers_leave_room_for_consumers, setup_narrow, teardown),
        TEST(a_follower_goes_where_the_item_goes),
        TEST(a_follower_asks_first_where_it_is_told_to_be_bound),
        TEST(a_follower_forgives_who_binds_the_item),
        TEST(a_refusal_that_a_bind_overtakes_does_not_end_a_follower),
        TEST(a_refusal_that_an_image_overtakes_does_not_end_a_follower),
        TEST(a_refusal_that_half_an_image_overtakes_does_not_end_a_follower),
        TEST(a_wait_that_an_image_overtakes_is_not_told),
        TEST(a_follower_that_ends_is_told_to_be_bound_elsewhere),
        cmocka_unit_test_setup_teardown(a_unicast_image_that_overtakes_its_bind_waits_for_it,
                                        setup_unicast, teardown),
        cmocka_unit_test_setup_teardown(
            an_image_bound_for_another_node_does_not_take_the_place_of_ours, setup_unicast,
            teardown),
        cmocka_unit_test_setup_teardown(a_full_ring_is_not_filled_with_binds, setup_unicast,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_unicast_image_of_a_service_that_went_down_is_not_taken,
                                        setup_unicast, teardown),
        TEST(an_image_gives_way_to_ticks_but_not_for_ever),
        TEST(an_image_does_not_go_ahead_of_its_service),
        TEST(a_preempted_item_that_is_not_there_any_more_ends),
        TEST(a_preempted_item_waits_for_the_source_that_had_it),
        TEST(what_waits_where_its_service_is_down_goes_to_who_comes_with_it),
        TEST(that_a_service_is_up_keeps_its_place_when_the_ring_is_full),
        cmocka_unit_test_setup_teardown(an_item_stays_suspect_behind_an_image_from_before,
                                        setup_unicast, teardown),
        cmocka_unit_test_setup_teardown(an_item_is_well_with_an_image_from_behind, setup_unicast,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_end_before_the_image_of_others_is_no_end_behind_it,
                                        setup_unicast, teardown),
        cmocka_unit_test_setup_teardown(who_is_in_step_stays_suspect_behind_the_image_of_others,
                                        setup_unicast, teardown),
        cmocka_unit_test_setup_teardown(a_state_between_the_parts_of_an_image_stands_behind_it,
                                        setup_unicast, teardown),
        cmocka_unit_test_setup_teardown(what_comes_between_bind_and_unicast_image_is_held,
                                        setup_unicast, teardown),
        TEST(a_second_requester_gets_an_image_of_its_own),
        TEST(a_lost_update_is_told_and_mended_when_the_next_one_comes),
        TEST(a_lost_update_that_nothing_follows_is_found_by_the_heartbeat),
        TEST(a_range_the_gap_log_does_not_hold_costs_the_whole_service),
        TEST(an_item_nobody_wants_is_unbound_at_once_and_closed_after_the_linger),
        TEST(a_service_may_linger_as_long_as_it_likes),
        TEST(an_image_that_crosses_a_close_serves_the_next_open),
        TEST(records_of_an_instance_that_has_ended_are_ignored),
        TEST(records_on_the_topic_of_another_service_are_dropped),
        TEST(a_service_is_believed_on_the_control_topic_and_under_its_own_alone),
        TEST(a_batch_of_messages_and_other_events_is_taken_in_its_order),
        TEST(a_final_refusal_closes_the_item),
        TEST(a_final_status_closes_the_item_for_all),
        TEST(a_status_reaches_those_who_still_wait),
        TEST(a_state_is_about_the_items_of_its_group_where_it_merges_it_too),
        TEST(a_status_may_take_its_item_to_another_group),
        TEST(a_silent_instance_is_left_after_its_time_but_only_when_the_input_is_empty),
        TEST(a_post_in_flight_when_its_instance_dies_is_answered_at_once),
        TEST(a_full_ring_refuses_updates_and_loses_none),
        TEST(a_private_stream_is_seen_by_its_owner_and_ends_with_its_instance),
        TEST(a_private_stream_that_is_nobodys_is_closed),
        TEST(a_private_stream_of_which_something_was_dropped_ends),
        TEST(a_private_stream_whose_service_went_down_before_its_image_ends),
        TEST(a_private_stream_whose_service_went_down_before_a_further_image_ends),
        TEST(an_item_that_takes_anothers_image_still_registers_its_interest),
        TEST(a_reissue_is_answered_to_those_who_wait_only),
        TEST(a_refused_open_elsewhere_means_not_found_when_nobody_is_left),
        TEST(an_item_is_asked_for_again_where_it_was_refused_when_nobody_else_is_left),
        TEST(a_refusal_counts_still_after_the_network_was_cut),
        TEST(a_dictionary_comes_from_whom_was_asked),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
