/* test_rrcpd_access.c - what rules of attachAccess let a program send. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "access.h"
#include "backbone/topic.h"
#include "base/err.h"
#include "base/writer.h"
#include "rrmp/record.h"

#define RULES                                                                                      \
    "uid=1001 consume; uid=1002 publish=RISK,FX ; gid=77 topics=risk.*,fx;uid=1003 all; "          \
    "uid=there.is.none consume"

static struct access *read_rules(const char *text)
{
    struct access *access;
    char why[512] = "";

    assert_int_equal(access_create(text, why, sizeof(why), &access), MD_OK);
    return access;
}

static uint32_t topic_of(const char *service)
{
    return rrmp_topic(service, strlen(service));
}

/* What a program of this uid, in group 77 or not, is refused; NULL: nothing. */
static const char *sends(const struct access *access, uid_t uid, bool is_in_group,
                         const struct rrcp_msg *msg)
{
    const gid_t groups[] = { 1, 77 };

    return access_refuses(access, access_find(access, uid, groups, is_in_group ? 2 : 1), msg);
}

static struct rrcp_msg message(const uint8_t *bytes, size_t length, uint32_t topic)
{
    return (struct rrcp_msg){ .bytes = bytes, .length = (uint32_t)length, .topic = topic };
}

static size_t encode(uint8_t out[512], const struct rrmp_record *record)
{
    struct md_wr wr = md_wr_init(out, 512);

    rrmp_record_encode(&wr, record);
    assert_true(md_wr_ok(&wr));
    return md_wr_length(&wr);
}

static struct rrcp_msg service(uint8_t out[512], const char *name, uint32_t topic)
{
    struct rrmp_record record = { .header = { .type = RRMP_SERVICE, .svc = 1 } };

    record.u.service.name = (struct rrmp_view){ (const uint8_t *)name, strlen(name) };
    record.u.service.topic = topic;
    return message(out, encode(out, &record), RRMP_TOPIC_CONTROL);
}

/* With an id, and a dictionary that it uses or provides. */
static struct rrcp_msg offer(uint8_t out[512], const char *name, uint16_t id, uint8_t dictionary)
{
    struct rrmp_record record = { .header = { .type = RRMP_SERVICE, .svc = 1 } };
    uint8_t tlvs[32];
    struct md_wr wr = md_wr_init(tlvs, sizeof(tlvs));

    rrmp_tlv_put(&wr, dictionary, "\6RWFFld", 7);
    record.u.service.name = (struct rrmp_view){ (const uint8_t *)name, strlen(name) };
    record.u.service.topic = topic_of(name);
    record.u.service.id = id;
    record.u.service.tlv_count = 1;
    record.u.service.tlvs = (struct rrmp_view){ tlvs, md_wr_length(&wr) };
    return message(out, encode(out, &record), RRMP_TOPIC_CONTROL);
}

static struct rrcp_msg instance(uint8_t out[512], const char *service_name)
{
    uint8_t row[16];
    struct rrmp_record record = { .header = { .type = RRMP_INSTANCE, .svc = 0xFFFF } };

    rrmp_instance_row_put(row,
                          &(struct rrmp_instance_row){ .svc = 1, .topic = topic_of(service_name) });
    record.u.instance.name = (struct rrmp_view){ (const uint8_t *)"me", 2 };
    record.u.instance.services = row;
    record.u.instance.service_count = 1;
    return message(out, encode(out, &record), RRMP_TOPIC_CONTROL);
}

static struct rrcp_msg plain(uint8_t out[512], uint8_t type, uint32_t topic)
{
    memset(out, 0, 32);
    out[0] = type;
    out[1] = RRMP_VERSION << 4;
    return message(out, 32, topic);
}

static struct rrcp_msg unicast(uint8_t out[512], uint8_t type)
{
    struct rrcp_msg msg = plain(out, type, RRMP_TOPIC_CONTROL);

    msg.session = 7;
    msg.port = 3;
    msg.flags = RRCP_MSG_UNICAST;
    return msg;
}

static struct rrcp_msg bare(uint8_t out[512], const char *name)
{
    const uint8_t head[BACKBONE_TOPIC_HEAD] = { BACKBONE_TOPIC_TYPE, 1 << 4,
                                                (uint8_t)strlen(name) };

    memcpy(out, head, sizeof(head));
    memcpy(out + sizeof(head), name, strlen(name));
    return message(out, sizeof(head) + strlen(name), backbone_topic_number(name, strlen(name)));
}

static void rules_are_read_or_the_wrong_word_is_named(void **state)
{
    static const char *const wrong[] = { "alice consume",         "uid= consume",  "uid=1 consumes",
                                         "uid=1 publish=",        "consume uid=1", "uid=1 rate=0",
                                         "uid=1 rate=1000000000", "uid=1 bytes=1k" };
    struct access *access = read_rules(RULES);
    char why[512];

    (void)state;
    assert_string_equal(access_unknown(access), "there.is.none");
    assert_true(access_is_daemon(access, 0));
    assert_true(access_is_daemon(access, geteuid()));
    assert_false(access_is_daemon(access, 1001));
    assert_int_equal(access_find(access, 1009, &(gid_t){ 5 }, 1), 0);
    assert_true(access_is_all(access, access_find(access, 1003, NULL, 0)));
    assert_false(access_is_all(access, access_find(access, 1002, NULL, 0)));
    access_destroy(access);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(access_create(wrong[i], why, sizeof(why), &access), MD_ERR_MALFORMED);
        assert_non_null(strstr(why, "attachAccess: at "));
    }
    access = read_rules("");
    assert_int_equal(access_find(access, 1001, NULL, 0), 0);
    access_destroy(access);
}

static void the_most_that_a_rule_names_is_the_limit(void **state)
{
    struct access *access =
        read_rules("uid=1 consume rate=100; gid=7 rate=50 bytes=4000; uid=2 all");
    const gid_t groups[] = { 7 };
    struct quota_limits limits = access_limits(access, access_find(access, 1, groups, 1));

    (void)state;
    assert_int_equal(limits.messages.amount, 100);
    assert_int_equal(limits.messages.rule, 0);
    assert_int_equal(limits.bytes.amount, 4000);
    assert_int_equal(limits.bytes.rule, 1);
    limits = access_limits(access, access_find(access, 2, NULL, 0));
    assert_int_equal(limits.messages.amount, 0);
    assert_int_equal(limits.bytes.amount, 0);
    for (uid_t uid = 500000; uid < 500003; uid++) /* subordinate ones of somebody in the group */
        assert_int_equal(access_limits(access, access_find(access, uid, groups, 1)).messages.rule,
                         1);
    access_destroy(access);
}

static void a_consumer_may_ask_and_nothing_else(void **state)
{
    struct access *access = read_rules(RULES);
    uint8_t out[512];
    struct rrmp_record query = { .header = { .type = RRMP_QUERY, .svc = 0xFFFF } };
    struct rrcp_msg msg;

    (void)state;
    query.u.query.what = RRMP_QUERY_INSTANCE;
    msg = message(out, encode(out, &query), RRMP_TOPIC_CONTROL);
    assert_null(sends(access, 1001, false, &msg));
    assert_non_null(sends(access, 1009, false, &msg));
    for (unsigned type = 0; type < 64; type++) {
        bool is_question = type == RRMP_REQUEST || type == RRMP_CLOSE || type == RRMP_GAPQUERY ||
                           type == RRMP_AUDIT || type == RRMP_SUM || type == RRMP_DICTREQ;
        msg = unicast(out, (uint8_t)type);
        assert_int_equal(sends(access, 1001, false, &msg) == NULL, is_question);
        msg = plain(out, (uint8_t)type, topic_of("RISK"));
        assert_non_null(sends(access, 1001, false, &msg));
        msg = plain(out, (uint8_t)type, RRCP_TOPIC_USER_DOWN);
        assert_non_null(sends(access, 1001, false, &msg));
    }
    msg = service(out, "RISK", topic_of("RISK"));
    assert_non_null(sends(access, 1001, false, &msg));
    msg = instance(out, "RISK");
    assert_non_null(sends(access, 1001, false, &msg));
    msg = bare(out, "risk.limits");
    assert_non_null(sends(access, 1001, false, &msg));
    msg = message(out, 3, topic_of("RISK"));
    assert_non_null(sends(access, 1001, false, &msg));
    msg = message(out, 0, topic_of("RISK"));
    assert_non_null(sends(access, 1001, false, &msg));
    access_destroy(access);
}

static struct rrcp_msg request(uint8_t out[512], uint16_t flags)
{
    struct rrmp_record record = { .header = { .type = RRMP_REQUEST, .svc = 1 } };

    record.u.request.id = 1;
    record.u.request.flags = flags;
    record.u.request.key = (struct rrmp_view){ (const uint8_t *)"key", 3 };
    struct rrcp_msg msg = message(out, encode(out, &record), RRMP_TOPIC_CONTROL);
    msg.session = 7;
    msg.port = 3;
    msg.flags = RRCP_MSG_UNICAST;
    return msg;
}

static void a_recorder_may_follow_and_a_consumer_may_not(void **state)
{
    struct access *access = read_rules("uid=1001 consume; uid=1002 record; uid=1003 publish=RISK");
    const uint16_t follow = RRMP_REQUEST_STREAMING | RRMP_REQUEST_IMAGE | RRMP_REQUEST_FOLLOW;
    uint8_t out[512];
    struct rrcp_msg msg = request(out, follow);

    (void)state;
    assert_null(sends(access, 1002, false, &msg));
    assert_string_equal(sends(access, 1001, false, &msg),
                        "a REQUEST to follow, which needs the word record");
    msg = request(out, RRMP_REQUEST_STREAMING | RRMP_REQUEST_IMAGE);
    assert_null(sends(access, 1001, false, &msg));
    assert_null(sends(access, 1002, false, &msg)); /* items of a list, as a consumer */
    msg = unicast(out, RRMP_LISTREQ);
    assert_null(sends(access, 1002, false, &msg));
    assert_non_null(sends(access, 1001, false, &msg));
    msg = unicast(out, RRMP_LISTPART);
    assert_non_null(sends(access, 1002, false, &msg));
    assert_null(sends(access, 1003, false, &msg));
    msg = unicast(out, RRMP_POST);
    assert_non_null(sends(access, 1002, false, &msg));
    msg = plain(out, RRMP_UPDATE, topic_of("RISK"));
    assert_non_null(sends(access, 1002, false, &msg));
    access_destroy(access);
}

static void a_publisher_speaks_for_its_own_services(void **state)
{
    struct access *access = read_rules(RULES);
    uint8_t out[512];
    struct rrcp_msg msg = service(out, "RISK", topic_of("RISK"));

    (void)state;
    assert_null(sends(access, 1002, false, &msg));
    msg = service(out, "RDFD", topic_of("RDFD"));
    assert_non_null(sends(access, 1002, false, &msg));
    msg = service(out, "RISK", topic_of("RDFD")); /* its name, another's topic */
    assert_non_null(sends(access, 1002, false, &msg));
    msg = offer(out, "RISK", 0, RRMP_TLV_DICT_USED);
    assert_null(sends(access, 1002, false, &msg));
    msg = offer(out, "RISK", 257, RRMP_TLV_DICT_USED); /* perhaps another's id */
    assert_non_null(sends(access, 1002, false, &msg));
    msg = offer(out, "RISK", 0, RRMP_TLV_DICT_PROVIDED); /* which p2ps would believe */
    assert_non_null(sends(access, 1002, false, &msg));
    msg = unicast(out, RRMP_DICTPART);
    assert_non_null(sends(access, 1002, false, &msg));
    msg = instance(out, "FX");
    assert_null(sends(access, 1002, false, &msg));
    msg = instance(out, "RDFD");
    assert_non_null(sends(access, 1002, false, &msg));
    msg = plain(out, RRMP_UPDATE, topic_of("FX"));
    assert_null(sends(access, 1002, false, &msg));
    msg = plain(out, RRMP_UPDATE, topic_of("RDFD"));
    assert_non_null(sends(access, 1002, false, &msg));
    msg = plain(out, RRMP_REQUEST, topic_of("FX"));
    assert_non_null(sends(access, 1002, false, &msg));
    msg = unicast(out, RRMP_IMAGE);
    assert_null(sends(access, 1002, false, &msg));
    msg = unicast(out, RRMP_REQUEST);
    assert_non_null(sends(access, 1002, false, &msg));
    access_destroy(access);
}

static void a_topic_is_judged_by_its_whole_name(void **state)
{
    struct access *access = read_rules(RULES);
    uint8_t out[512];
    struct rrcp_msg msg = bare(out, "risk.limits");

    (void)state;
    assert_null(sends(access, 1009, true, &msg));
    assert_non_null(sends(access, 1009, false, &msg));
    msg.topic++; /* the name does not give this number */
    assert_non_null(sends(access, 1009, true, &msg));
    msg = bare(out, "fx");
    assert_null(sends(access, 1009, true, &msg));
    msg.session = 7;
    assert_non_null(sends(access, 1009, true, &msg));
    msg = bare(out, "fxx");
    assert_non_null(sends(access, 1009, true, &msg));
    msg = bare(out, "fx");
    msg.length = 9;
    assert_non_null(sends(access, 1009, true, &msg));
    access_destroy(access);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_are_read_or_the_wrong_word_is_named),
        cmocka_unit_test(the_most_that_a_rule_names_is_the_limit),
        cmocka_unit_test(a_consumer_may_ask_and_nothing_else),
        cmocka_unit_test(a_recorder_may_follow_and_a_consumer_may_not),
        cmocka_unit_test(a_publisher_speaks_for_its_own_services),
        cmocka_unit_test(a_topic_is_judged_by_its_whole_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
