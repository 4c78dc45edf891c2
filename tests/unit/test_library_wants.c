/* test_library_wants.c - what an application wants: its services and its topics, said together. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backbone/topic.h"
#include "base/err.h"
#include "internal.h"

/* In place of the attachment: what was said last. */
static struct {
    unsigned times;
    bool is_full, is_all;
    uint32_t count;
    uint32_t topics[BACKBONE_TOPICS_MAX];
} said;

int __wrap_attach_want(struct attach *attach, const uint32_t topics[], uint32_t count);
struct backbone_send __wrap_attach_sender(struct attach *attach);

int __wrap_attach_want(struct attach *attach, const uint32_t topics[], uint32_t count)
{
    (void)attach;
    if (said.is_full)
        return MD_ERR_FULL;
    said.times++;
    said.is_all = !topics;
    said.count = count;
    if (count > 0)
        memcpy(said.topics, topics, count * sizeof(*topics));
    return MD_OK;
}

struct backbone_send __wrap_attach_sender(struct attach *attach)
{
    (void)attach;
    return (struct backbone_send){ 0 };
}

static void heard(const struct rmds_topic_event *event)
{
    (void)event;
}

static struct rmds_topic *topic_of(const char *name)
{
    struct rmds_topic *topic = calloc(1, sizeof(*topic));

    assert_non_null(topic);
    topic->handle = heard;
    topic->name_length = (uint8_t)snprintf(topic->name, sizeof(topic->name), "%s", name);
    return topic;
}

static uint32_t number_of(const char *name)
{
    return backbone_topic_number(name, strlen(name));
}

static bool is_said(uint32_t number)
{
    for (uint32_t i = 0; i < said.count; i++)
        if (said.topics[i] == number)
            return true;
    return false;
}

static int set_up(void **state)
{
    memset(&said, 0, sizeof(said));
    *state = calloc(1, sizeof(struct rmds_backbone));
    return *state ? 0 : -1;
}

static int clean_up(void **state)
{
    struct rmds_backbone *backbone = *state;

    for (uint32_t i = 0; i < backbone->topics.count; i++)
        free(backbone->topics.list[i]);
    free(backbone);
    return 0;
}

static void topics_and_services_are_said_together(void **state)
{
    struct rmds_backbone *backbone = *state;
    struct backbone_send way = library_wants_sender(backbone);
    const uint32_t services[] = { 11, 12 };

    assert_true(way.want(way.context, services, 2));
    assert_int_equal(said.count, 2);
    backbone->topics.list[backbone->topics.count++] = topic_of("risk.limits");
    library_wants_say(backbone);
    assert_int_equal(said.count, 3);
    assert_true(is_said(11) && is_said(12) && is_said(number_of("risk.limits")));
    assert_true(way.want(way.context, services, 1));
    assert_int_equal(said.count, 2);
    assert_true(is_said(11) && is_said(number_of("risk.limits")));
    backbone->topics.list[0]->handle = NULL; /* it has ended */
    library_wants_say(backbone);
    assert_int_equal(said.count, 1);
    assert_true(is_said(11));
}

static void without_room_it_is_said_later(void **state)
{
    struct rmds_backbone *backbone = *state;
    struct backbone_send way = library_wants_sender(backbone);
    const uint32_t service = 11;

    said.is_full = true;
    assert_false(way.want(way.context, &service, 1));
    library_wants_settle(backbone);
    assert_int_equal(said.times, 0);
    said.is_full = false;
    library_wants_settle(backbone);
    assert_int_equal(said.count, 1);
    assert_true(is_said(service));
    library_wants_settle(backbone);
    assert_int_equal(said.times, 1);
}

static void more_than_can_be_named_is_everything(void **state)
{
    struct rmds_backbone *backbone = *state;
    struct backbone_send way = library_wants_sender(backbone);
    uint32_t services[BACKBONE_TOPICS_MAX];

    for (uint32_t i = 0; i < BACKBONE_TOPICS_MAX; i++)
        services[i] = 1000 + i;
    assert_true(way.want(way.context, services, BACKBONE_TOPICS_MAX));
    assert_false(said.is_all);
    assert_int_equal(said.count, BACKBONE_TOPICS_MAX);
    backbone->topics.list[backbone->topics.count++] = topic_of("one.more");
    library_wants_say(backbone);
    assert_true(said.is_all);
    assert_true(way.want(way.context, services, BACKBONE_TOPICS_MAX - 1));
    assert_false(said.is_all);
    assert_int_equal(said.count, BACKBONE_TOPICS_MAX);
    assert_true(way.want(way.context, NULL, 0));
    assert_true(said.is_all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(topics_and_services_are_said_together, set_up, clean_up),
        cmocka_unit_test_setup_teardown(without_room_it_is_said_later, set_up, clean_up),
        cmocka_unit_test_setup_teardown(more_than_can_be_named_is_everything, set_up, clean_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
