/* access.c - see access.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backbone/topic.h"
#include "base/err.h"
#include "rrmp/record.h"

enum { NAME_MAX_BYTES = 255, DAEMONS = 4 };

struct name {
    char text[NAME_MAX_BYTES + 1];
    size_t length;
    uint32_t topic; /* of a service */
    bool is_prefix; /* of topics: what it begins with */
    bool is_topic;  /* else a service to publish */
    int rule;
};

struct rule {
    bool is_group, is_known;
    uint32_t id;
    bool all, consumes, records;
    struct quota_limits limits;
};

struct access {
    struct rule rules[ACCESS_RULES_MAX];
    int rule_count;
    struct name names[ACCESS_NAMES_MAX];
    int name_count;
    uid_t daemons[DAEMONS];
    int daemon_count;
    char unknown[64];
};

/* ---- rules ---- */

static bool is_number(const char *text, uint32_t *out)
{
    char *end;

    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    *out = (uint32_t)value;
    return *text >= '0' && *text <= '9' && !*end && errno == 0 && value < UINT32_MAX;
}

static void take_subject(struct access *access, struct rule *rule, const char *name)
{
    const struct passwd *user = rule->is_group ? NULL : getpwnam(name);
    const struct group *group = rule->is_group ? getgrnam(name) : NULL;

    rule->is_known = is_number(name, &rule->id);
    if (!rule->is_known && (user || group)) {
        rule->is_known = true;
        rule->id = user ? user->pw_uid : group->gr_gid;
    }
    if (!rule->is_known && !access->unknown[0])
        snprintf(access->unknown, sizeof(access->unknown), "%s", name);
}

static bool take_names(struct access *access, char *list, bool is_topic)
{
    char *rest = NULL;
    int before = access->name_count;

    for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        size_t length = strlen(word);
        if (access->name_count == ACCESS_NAMES_MAX || length > NAME_MAX_BYTES)
            return false;
        struct name *name = &access->names[access->name_count++];
        memcpy(name->text, word, length);
        name->is_topic = is_topic;
        name->is_prefix = is_topic && word[length - 1] == '*';
        name->length = name->is_prefix ? length - 1 : length;
        name->topic = rrmp_topic(name->text, name->length);
        name->rule = access->rule_count;
    }
    return access->name_count > before;
}

/* A number from 1 on. */
static bool take_limit(const char *text, uint64_t most, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && errno == 0 && *out > 0 && *out <= most;
}

static bool take_word(struct access *access, struct rule *rule, char *word, bool is_first)
{
    bool is_group = strncmp(word, "gid=", 4) == 0;

    if (is_first) {
        rule->is_group = is_group;
        if ((!is_group && strncmp(word, "uid=", 4) != 0) || !word[4])
            return false;
        take_subject(access, rule, word + 4);
        return true;
    }
    if (strcmp(word, "all") == 0)
        return rule->all = true;
    if (strcmp(word, "consume") == 0)
        return rule->consumes = true;
    if (strcmp(word, "record") == 0)
        return rule->consumes = rule->records = true;
    if (strncmp(word, "rate=", 5) == 0)
        return take_limit(word + 5, QUOTA_RATE_MAX, &rule->limits.messages.amount);
    if (strncmp(word, "bytes=", 6) == 0)
        return take_limit(word + 6, UINT32_MAX, &rule->limits.bytes.amount);
    if (strncmp(word, "publish=", 8) == 0)
        return take_names(access, word + 8, false);
    return strncmp(word, "topics=", 7) == 0 && take_names(access, word + 7, true);
}

/* NULL, or the word that is wrong. */
static const char *take_rule(struct access *access, char *text)
{
    struct rule *rule = &access->rules[access->rule_count];
    char *rest = NULL;
    bool is_first = true;

    for (char *word = strtok_r(text, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
        if (access->rule_count == ACCESS_RULES_MAX || !take_word(access, rule, word, is_first))
            return word;
        is_first = false;
    }
    access->rule_count += !is_first;
    return NULL;
}

static void add_daemons(struct access *access)
{
    static const char *const users[] = { "rmds-src-dist", "rmds-p2ps" };

    access->daemons[access->daemon_count++] = 0;
    access->daemons[access->daemon_count++] = geteuid();
    for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
        const struct passwd *user = getpwnam(users[i]);

        if (user)
            access->daemons[access->daemon_count++] = user->pw_uid;
    }
}

int access_create(const char *text, char *why, size_t why_size, struct access **out)
{
    struct access *access = calloc(1, sizeof(*access));
    char *copy = strdup(text);
    char *rest = NULL;
    const char *wrong = NULL;

    *out = NULL;
    if (!access || !copy) {
        free(copy);
        free(access);
        snprintf(why, why_size, "out of memory");
        return MD_ERR_NOMEM;
    }
    add_daemons(access);
    for (char *rule = strtok_r(copy, ";", &rest); rule && !wrong; rule = strtok_r(NULL, ";", &rest))
        wrong = take_rule(access, rule);
    if (wrong)
        snprintf(
            why, why_size,
            "attachAccess: at %.60s: a rule is uid=NAME or gid=NAME, then all, or consume, "
            "record, publish=SERVICE,... and topics=NAME,..., then rate=MESSAGES and bytes=BYTES a "
            "second; %d rules and %d names at most, rate at most %d, bytes at most %u",
            wrong, ACCESS_RULES_MAX, ACCESS_NAMES_MAX, QUOTA_RATE_MAX, UINT32_MAX);
    free(copy);
    if (wrong) {
        free(access);
        return MD_ERR_MALFORMED;
    }
    *out = access;
    return MD_OK;
}

void access_destroy(struct access *access)
{
    free(access);
}

const char *access_unknown(const struct access *access)
{
    return access->unknown[0] ? access->unknown : NULL;
}

bool access_is_daemon(const struct access *access, uid_t uid)
{
    for (int i = 0; i < access->daemon_count; i++)
        if (access->daemons[i] == uid)
            return true;
    return false;
}

access_rules access_find(const struct access *access, uid_t uid, const gid_t *groups, int count)
{
    access_rules found = 0;

    for (int i = 0; i < access->rule_count; i++) {
        const struct rule *rule = &access->rules[i];
        bool fits = !rule->is_group && rule->id == uid;

        for (int k = 0; rule->is_group && k < count; k++)
            fits |= rule->id == groups[k];
        if (fits && rule->is_known)
            found |= 1ull << i;
    }
    return found;
}

bool access_is_all(const struct access *access, access_rules rules)
{
    for (int i = 0; i < access->rule_count; i++)
        if (rules >> i & 1 && access->rules[i].all)
            return true;
    return false;
}

static void choose(struct quota_limit *limit, const struct quota_limit *its, int rule)
{
    if (its->amount > limit->amount)
        *limit = (struct quota_limit){ .amount = its->amount, .rule = rule };
}

struct quota_limits access_limits(const struct access *access, access_rules rules)
{
    struct quota_limits limits = { 0 };

    for (int i = 0; i < access->rule_count; i++)
        if (rules >> i & 1) {
            choose(&limits.messages, &access->rules[i].limits.messages, i);
            choose(&limits.bytes, &access->rules[i].limits.bytes, i);
        }
    return limits;
}

static bool may_consume(const struct access *access, access_rules rules)
{
    for (int i = 0; i < access->rule_count; i++)
        if (rules >> i & 1 && access->rules[i].consumes)
            return true;
    return false;
}

/* See what others have open, and follow it. */
static bool may_record(const struct access *access, access_rules rules)
{
    for (int i = 0; i < access->rule_count; i++)
        if (rules >> i & 1 && access->rules[i].records)
            return true;
    return false;
}

/* The next name that the rules give; NULL: no more. */
static const struct name *next_name(const struct access *access, access_rules rules, int *at)
{
    while (*at < access->name_count) {
        const struct name *name = &access->names[(*at)++];

        if (rules >> name->rule & 1)
            return name;
    }
    return NULL;
}

/* ---- messages ---- */

static bool may_publish_topic(const struct access *access, access_rules rules, uint32_t topic)
{
    const struct name *name;
    int at = 0;

    while ((name = next_name(access, rules, &at)) != NULL)
        if (!name->is_topic && name->topic == topic)
            return true;
    return false;
}

static bool may_publish(const struct access *access, access_rules rules, struct rrmp_view service)
{
    const struct name *name;
    int at = 0;

    while ((name = next_name(access, rules, &at)) != NULL)
        if (!name->is_topic && name->length == service.length &&
            memcmp(name->text, service.bytes, service.length) == 0)
            return true;
    return false;
}

static bool publishes_any(const struct access *access, access_rules rules)
{
    const struct name *name;
    int at = 0;

    while ((name = next_name(access, rules, &at)) != NULL)
        if (!name->is_topic)
            return true;
    return false;
}

static const char *bare_refused(const struct access *access, access_rules rules,
                                const struct rrcp_msg *msg)
{
    struct backbone_topic topic;
    const struct name *name;
    int at = 0;

    if (msg->session != 0 || msg->port != 0 || (msg->flags & RRCP_MSG_UNICAST) ||
        !backbone_topic_decode(msg->bytes, msg->length, &topic) ||
        msg->topic != backbone_topic_number(topic.name, topic.name_length))
        return "a message of a topic that is not one";
    while ((name = next_name(access, rules, &at)) != NULL)
        if (name->is_topic && topic.name_length >= name->length &&
            (name->is_prefix || topic.name_length == name->length) &&
            memcmp(name->text, topic.name, name->length) == 0)
            return NULL;
    return "a message of a topic that is not its own";
}

/* p2ps believes the dictionaries of whom says that it has some, and knows services by their id:
 * neither is for programs that may publish a service or two. */
static const char *service_refused(const struct access *access, access_rules rules,
                                   const struct rrmp_service *service)
{
    struct rrmp_view rest = service->tlvs;
    struct rrmp_view value;
    uint8_t type;

    if (!may_publish(access, rules, service->name) ||
        service->topic != rrmp_topic(service->name.bytes, service->name.length))
        return "SERVICE of a service that is not its own";
    if (service->id != 0)
        return "SERVICE with an id";
    while (rrmp_tlv_next(&rest, &type, &value))
        if (type == RRMP_TLV_DICT_PROVIDED)
            return "SERVICE with dictionaries";
    return NULL;
}

/* Records by which services are offered, found and asked for. */
static const char *control_refused(const struct access *access, access_rules rules,
                                   const struct rrcp_msg *msg)
{
    struct rrmp_record record;

    if (rrmp_record_decode(msg->bytes, msg->length, &record) != MD_OK)
        return "a record that is none";
    switch (record.header.type) {
    case RRMP_QUERY:
        return may_consume(access, rules) || publishes_any(access, rules) ? NULL : "QUERY";
    case RRMP_SERVICE:
        return service_refused(access, rules, &record.u.service);
    case RRMP_INSTANCE:
        for (uint16_t i = 0; i < record.u.instance.service_count; i++) {
            struct rrmp_instance_row row = rrmp_instance_row(&record.u.instance, i);

            if (!may_publish_topic(access, rules, row.topic))
                return "INSTANCE with a service that is not its own";
        }
        return publishes_any(access, rules) ? NULL : "INSTANCE";
    default:
        return "a record that does not belong on the control topic";
    }
}

static const char *data_refused(const struct access *access, access_rules rules,
                                const struct rrcp_msg *msg)
{
    uint8_t type = msg->bytes[0];
    bool is_data =
        (type >= RRMP_BIND && type <= RRMP_UNBIND) || type == RRMP_GROUP || type == RRMP_SVCSTATE;

    if (!is_data)
        return rrmp_type_name(type);
    return may_publish_topic(access, rules, msg->topic) ? NULL
                                                        : "data of a service that is not its own";
}

static bool is_follow(const struct rrcp_msg *msg)
{
    return msg->length >= RRMP_HEADER_SIZE + 6 && msg->bytes[12] & RRMP_REQUEST_FOLLOW >> 8;
}

static const char *unicast_refused(const struct access *access, access_rules rules,
                                   const struct rrcp_msg *msg)
{
    switch (msg->bytes[0]) {
    case RRMP_LISTREQ:
        return may_record(access, rules) ? NULL : "LISTREQ, which needs the word record";
    case RRMP_REQUEST:
        if (is_follow(msg) && !may_record(access, rules))
            return "a REQUEST to follow, which needs the word record";
        return may_consume(access, rules) ? NULL : "REQUEST";
    case RRMP_CLOSE:
    case RRMP_GAPQUERY:
    case RRMP_AUDIT:
    case RRMP_SUM:
    case RRMP_DICTREQ:
        return may_consume(access, rules) ? NULL : rrmp_type_name(msg->bytes[0]);
    case RRMP_UPDATE:
    case RRMP_STATUS:
    case RRMP_GENERIC:
    case RRMP_IMAGE:
    case RRMP_REFUSE:
    case RRMP_ACK:
    case RRMP_GAPITEMS:
    case RRMP_AUDITDIFF:
    case RRMP_REPLAY:
    case RRMP_LISTPART:
        return publishes_any(access, rules) ? NULL : rrmp_type_name(msg->bytes[0]);
    default:
        return rrmp_type_name(msg->bytes[0]);
    }
}

const char *access_refuses(const struct access *access, access_rules rules,
                           const struct rrcp_msg *msg)
{
    if (msg->topic == RRCP_TOPIC_USER_DOWN)
        return "USER_DOWN";
    if (backbone_topic_is(msg->bytes, msg->length))
        return bare_refused(access, rules, msg);
    if (msg->length < RRMP_HEADER_SIZE)
        return "a message of its own making";
    if (msg->flags & RRCP_MSG_UNICAST)
        return unicast_refused(access, rules, msg);
    return msg->topic == RRMP_TOPIC_CONTROL ? control_refused(access, rules, msg)
                                            : data_refused(access, rules, msg);
}
