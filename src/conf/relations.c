/* relations.c - values that contradict each other. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "internal.h"

struct relation {
    const struct md_conf *conf;
    struct report *report;
    struct md_conf_object object;
};

static void contradiction(const struct relation *relation, enum md_conf_severity severity,
                          const char *param, const char *text)
{
    struct md_conf_value value = md_conf_value(&relation->object, param);

    report_say(relation->report, severity, value.file, value.line, "%s: %s %s", param, value.text,
               text);
}

static void not_more(const struct relation *relation, const char *low, const char *high,
                     bool equal_allowed)
{
    int64_t a = md_conf_i64(&relation->object, low), b = md_conf_i64(&relation->object, high);
    struct md_conf_value bound = md_conf_value(&relation->object, high);
    char text[256];

    if (a < b || (equal_allowed && a == b))
        return;
    snprintf(text, sizeof(text), "must be %s %s, which is %s (%s%s%.0u)",
             equal_allowed ? "at most" : "less than", high, bound.text,
             bound.file ? bound.file : "default", bound.file ? ":" : "", bound.line);
    contradiction(relation, MD_CONF_ERROR, low, text);
}

static void check_p2ps(struct relation *relation)
{
    not_more(relation, "guaranteedOutputBuffers", "maxOutputBuffers", true);
    not_more(relation, "outputThresholdOK", "outputThresholdBreach", false);
    switch (md_conf_word(&relation->object, "rrmpProtocols")) {
    case 0:
        contradiction(relation, MD_CONF_ERROR, "rrmpProtocols",
                      "is not spoken; use rrmp6 or rrmp4and6");
        break;
    case 2:
        contradiction(relation, MD_CONF_INFO, "rrmpProtocols", "is taken as rrmp6");
        break;
    }
}

static void check_rrcp(struct relation *relation)
{
    uint64_t low = md_conf_u64(&relation->object, "pktPoolLimitLow");
    uint64_t queue = md_conf_u64(&relation->object, "userQLimit");

    not_more(relation, "pktPoolLimitLow", "pktPoolLimitHigh", false);
    not_more(relation, "pktPoolLimitHigh", "maxPktPoolSize", true);
    if (low <= 3 * queue && md_conf_is_set(&relation->object, "pktPoolLimitLow") &&
        md_conf_is_set(&relation->object, "userQLimit")) {
        char text[128];
        snprintf(text, sizeof(text), "should be more than 3 x userQLimit (%llu)",
                 3 * (unsigned long long)queue);
        contradiction(relation, MD_CONF_WARNING, "pktPoolLimitLow", text);
    }
    if (md_conf_word(&relation->object, "congestionControl") == 1 &&
        md_conf_u64(&relation->object, "maxDataRate") == 0)
        contradiction(relation, MD_CONF_ERROR, "congestionControl",
                      "needs maxDataRate, the rate it slows down from");
}

static void check_route(void *arg, const char *name)
{
    struct relation *relation = arg;

    relation->object = md_conf_object(relation->conf, MD_CONF_ROUTE, name);
    if (*md_conf_string(&relation->object, "hostList") &&
        md_conf_i64(&relation->object, "sslMountVersion") == 4)
        contradiction(relation, MD_CONF_ERROR, "sslMountVersion",
                      "is the legacy SSL protocol, which is not spoken; use 5");
    if (*md_conf_string(&relation->object, "hostList") &&
        md_conf_word(&relation->object, "connectionType") == 1 &&
        md_conf_bool(&relation->object, "encrypted"))
        contradiction(relation, MD_CONF_ERROR, "connectionType",
                      "carries no TLS; leave out encrypted, or use socket");
}

static void check_service(void *arg, const char *name)
{
    struct relation *relation = arg;

    relation->object = md_conf_object(relation->conf, MD_CONF_SERVICE, name);
    if (*md_conf_string(&relation->object, "delayedService") &&
        !*md_conf_string(&relation->object, "delayDir"))
        contradiction(relation, MD_CONF_ERROR, "delayedService",
                      "needs delayDir, where its data wait");
}

static void check_recorder(const struct relation *relation)
{
    bool is_consumer = *md_conf_string(&relation->object, "recordServer");
    bool has_list = *md_conf_string(&relation->object, "recordItems") ||
                    *md_conf_string(&relation->object, "recordItemFile");
    bool follows = md_conf_bool(&relation->object, "recordFollow");

    if (follows && is_consumer)
        contradiction(relation, MD_CONF_ERROR, "recordFollow",
                      "is for the backbone: no recordServer beside it");
    if (follows && has_list)
        contradiction(
            relation, MD_CONF_ERROR, "recordFollow",
            "takes what others have open: no recordItems and no recordItemFile beside it");
    if (is_consumer && !has_list && !follows)
        contradiction(relation, MD_CONF_ERROR, "recordServer",
                      "needs recordItems or recordItemFile");
}

void check_relations(const struct md_conf *conf, struct report *report)
{
    struct relation relation = { .conf = conf, .report = report };

    if (conf->program_bit == MD_CONF_P2PS) {
        relation.object = md_conf_object(conf, MD_CONF_DAEMON, NULL);
        check_p2ps(&relation);
    }
    if (conf->program_bit == MD_CONF_RMDSREC) {
        relation.object = md_conf_object(conf, MD_CONF_DAEMON, NULL);
        check_recorder(&relation);
    }
    if (conf->program_bit == MD_CONF_SRC_DIST) {
        md_conf_names(conf, MD_CONF_ROUTE, check_route, &relation);
        md_conf_names(conf, MD_CONF_SERVICE, check_service, &relation);
    }
    if (conf->program_bit & (MD_CONF_P2PS | MD_CONF_SRC_DIST | MD_CONF_RRCPD)) {
        relation.object = md_conf_object(conf, MD_CONF_RRCP, NULL);
        check_rrcp(&relation);
    }
}
