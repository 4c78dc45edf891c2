/* filter.c - see filter.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "filter.h"

#include <stdlib.h>
#include <string.h>

#include "backbone/topic.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/table.h"
#include "rrmp/record.h"

enum { SLOTS = 1024, INSTANCES_MAX = 1024, ROW_BYTES = 16 };

struct name {
    char text[RRMP_NAME_MAX + 1];
    size_t length;
    uint32_t topic;
    bool is_prefix;
};

struct filter {
    struct name services[FORWARD_NAMES_MAX];
    int service_count;
    struct name topics[FORWARD_NAMES_MAX];
    int topic_count;
    bool has_prefix;
    uint32_t digest;
    uint16_t slots[SLOTS]; /* services by topic: index + 1 */
    uint8_t *rewritten;
    size_t rewritten_size;
};

struct key {
    uint64_t session, port;
};

/* The indexes of forwarded services of one src_dist. */
struct instance {
    struct key key;
    int index;
    int count;
    uint16_t svc[FORWARD_NAMES_MAX];
};

struct instances {
    struct md_table *table;
    struct instance *all[INSTANCES_MAX];
    int count;
};

/* ---- names ---------------------------------------------------------------------------------- */

static uint32_t slot_of(uint32_t topic)
{
    return topic * 2654435761u >> 22;
}

static bool take_name(const struct forward_name *from, struct name *to, bool is_topic)
{
    if (from->length == 0 || from->length > RRMP_NAME_MAX)
        return false;
    memcpy(to->text, from->text, from->length);
    to->is_prefix = is_topic && from->text[from->length - 1] == '*';
    to->length = from->length - to->is_prefix;
    to->topic =
        is_topic ? backbone_topic_number(to->text, to->length) : rrmp_topic(to->text, to->length);
    return true;
}

static void add_service(struct filter *filter, int index)
{
    uint32_t slot = slot_of(filter->services[index].topic);

    while (filter->slots[slot])
        slot = (slot + 1) % SLOTS;
    filter->slots[slot] = (uint16_t)(index + 1);
}

/* The order of the names does not matter. */
static void add_digest(struct filter *filter, const struct forward_name *name, uint32_t kind)
{
    uint32_t hash = 2166136261u ^ kind;

    for (size_t i = 0; i < name->length; i++)
        hash = (hash ^ (uint8_t)name->text[i]) * 16777619u;
    filter->digest += hash;
}

int filter_create(const struct forward_config *config, struct filter **out)
{
    struct filter *filter;

    *out = NULL;
    if (config->service_count > FORWARD_NAMES_MAX || config->topic_count > FORWARD_NAMES_MAX)
        return MD_ERR_RANGE;
    filter = calloc(1, sizeof(*filter));
    if (!filter)
        return MD_ERR_NOMEM;
    for (size_t i = 0; i < config->service_count; i++) {
        if (!take_name(&config->services[i], &filter->services[i], false))
            goto range;
        add_digest(filter, &config->services[i], 0);
        add_service(filter, filter->service_count++);
    }
    for (size_t i = 0; i < config->topic_count; i++) {
        if (!take_name(&config->topics[i], &filter->topics[i], true))
            goto range;
        add_digest(filter, &config->topics[i], 1);
        filter->has_prefix |= filter->topics[filter->topic_count++].is_prefix;
    }
    *out = filter;
    return MD_OK;
range:
    filter_destroy(filter);
    return MD_ERR_RANGE;
}

void filter_destroy(struct filter *filter)
{
    if (!filter)
        return;
    free(filter->rewritten);
    free(filter);
}

uint32_t filter_digest(const struct filter *filter)
{
    return filter->digest;
}

bool filter_has_topics(const struct filter *filter)
{
    return filter->topic_count > 0;
}

int filter_interest(const struct filter *filter, uint32_t *out, int max)
{
    int count = filter->service_count + filter->topic_count;

    if (filter->has_prefix || count >= max)
        return -1;
    out[count] = RELAY_TOPIC;
    for (int i = 0; i < count; i++)
        out[i] = i < filter->service_count ? filter->services[i].topic
                                           : filter->topics[i - filter->service_count].topic;
    return count + 1;
}

static bool has_topic(const struct filter *filter, uint32_t topic)
{
    for (uint32_t slot = slot_of(topic); filter->slots[slot]; slot = (slot + 1) % SLOTS)
        if (filter->services[filter->slots[slot] - 1].topic == topic)
            return true;
    return false;
}

static bool has_service(const struct filter *filter, struct rrmp_view name)
{
    for (int i = 0; i < filter->service_count; i++)
        if (filter->services[i].length == name.length &&
            memcmp(filter->services[i].text, name.bytes, name.length) == 0)
            return true;
    return false;
}

static bool has_bare(const struct filter *filter, const struct backbone_event *event)
{
    struct backbone_topic topic;

    if (!backbone_topic_decode(event->bytes, event->length, &topic) ||
        event->topic != backbone_topic_number(topic.name, topic.name_length))
        return false;
    for (int i = 0; i < filter->topic_count; i++) {
        const struct name *name = &filter->topics[i];

        if (topic.name_length >= name->length &&
            (name->is_prefix || topic.name_length == name->length) &&
            memcmp(name->text, topic.name, name->length) == 0)
            return true;
    }
    return false;
}

/* ---- instances ------------------------------------------------------------------------------ */

int instances_create(struct instances **out)
{
    struct instances *instances = calloc(1, sizeof(*instances));

    *out = instances;
    return instances && md_table_create(64, &instances->table) == MD_OK ? MD_OK : MD_ERR_NOMEM;
}

static void end(struct instances *instances, int index)
{
    struct instance *instance = instances->all[index];

    (void)md_table_remove(instances->table, &instance->key, sizeof(instance->key));
    instances->all[index] = instances->all[--instances->count];
    instances->all[index]->index = index;
    free(instance);
}

void instances_destroy(struct instances *instances)
{
    if (!instances)
        return;
    while (instances->count > 0)
        end(instances, instances->count - 1);
    md_table_destroy(instances->table);
    free(instances);
}

static struct instance *find(const struct instances *instances, uint64_t session, uint16_t port)
{
    const struct key key = { session, port };

    return md_table_get(instances->table, &key, sizeof(key));
}

void instances_end(struct instances *instances, uint64_t session, uint16_t port)
{
    for (int i = instances->count - 1; i >= 0; i--) {
        const struct key *key = &instances->all[i]->key;

        if (key->session == session && (port == 0 || key->port == port))
            end(instances, i);
    }
}

static struct instance *make(struct instances *instances, uint64_t session, uint16_t port)
{
    struct instance *instance = find(instances, session, port);

    if (instance || instances->count == INSTANCES_MAX)
        return instance;
    instance = calloc(1, sizeof(*instance));
    if (!instance)
        return NULL;
    instance->key = (struct key){ session, port };
    instance->index = instances->count;
    if (md_table_put(instances->table, &instance->key, sizeof(instance->key), instance) != MD_OK) {
        free(instance);
        return NULL;
    }
    return instances->all[instances->count++] = instance;
}

/* ---- records -------------------------------------------------------------------------------- */

static uint8_t *room(struct filter *filter, size_t size)
{
    if (size > filter->rewritten_size) {
        uint8_t *bytes = realloc(filter->rewritten, 2 * size);

        if (!bytes)
            return NULL;
        filter->rewritten = bytes;
        filter->rewritten_size = 2 * size;
    }
    return filter->rewritten;
}

/*
 * With the rows of forwarded services alone. One without such a row is forwarded only when it had
 * one before. What would be written stands before the rows as it was, but for their number.
 */
static bool take_instance(struct filter *filter, struct instances *heard,
                          struct backbone_event *event, const struct rrmp_instance *record)
{
    size_t before = (size_t)(record->services - event->bytes);
    uint8_t *bytes = room(filter, event->length);
    struct instance *instance = find(heard, event->session, event->src_port);
    bool was_known = instance != NULL;
    uint16_t count = 0;

    if (!bytes)
        return false;
    memcpy(bytes, event->bytes, before);
    for (uint16_t i = 0; i < record->service_count; i++) {
        struct rrmp_instance_row row = rrmp_instance_row(record, i);

        if (!has_topic(filter, row.topic))
            continue;
        if (!instance)
            instance = make(heard, event->session, event->src_port);
        if (!instance || count == FORWARD_NAMES_MAX)
            break;
        instance->svc[count] = row.svc;
        memcpy(bytes + before + (size_t)count++ * ROW_BYTES,
               record->services + (size_t)i * ROW_BYTES, ROW_BYTES);
    }
    if (instance)
        instance->count = count;
    md_put_be16(bytes + 30, count);
    event->bytes = bytes;
    event->length = (uint32_t)(before + (size_t)count * ROW_BYTES);
    return was_known || count > 0;
}

static bool take_control(struct filter *filter, struct instances *heard,
                         struct backbone_event *event)
{
    struct rrmp_record record;

    if (rrmp_record_decode(event->bytes, event->length, &record) != MD_OK)
        return false;
    switch (record.header.type) {
    case RRMP_QUERY:
        return filter->service_count > 0;
    case RRMP_SERVICE:
        return has_service(filter, record.u.service.name) &&
               record.u.service.topic ==
                   rrmp_topic(record.u.service.name.bytes, record.u.service.name.length);
    case RRMP_INSTANCE:
        return take_instance(filter, heard, event, &record.u.instance);
    default:
        return false;
    }
}

static bool is_of_stream(uint8_t type)
{
    return (type >= RRMP_BIND && type <= RRMP_UNBIND) || type == RRMP_GROUP ||
           type == RRMP_SVCSTATE;
}

bool filter_stream(struct filter *filter, struct instances *heard, struct backbone_event *event)
{
    if (event->topic == RRMP_TOPIC_CONTROL)
        return take_control(filter, heard, event);
    if (event->length >= RRMP_HEADER_SIZE && is_of_stream(event->bytes[0]) &&
        has_topic(filter, event->topic))
        return true;
    return backbone_topic_is(event->bytes, event->length) && has_bare(filter, event);
}

static bool is_asked(uint8_t type)
{
    return type >= RRMP_REQUEST && type <= RRMP_LISTREQ;
}

static bool is_answered(uint8_t type)
{
    return type >= RRMP_BIND && type <= RRMP_LISTPART;
}

bool filter_unicast(const struct instances *heard, const struct instances *other,
                    const struct backbone_event *event, uint64_t target)
{
    const struct instance *instance;

    if (event->length < RRMP_HEADER_SIZE || backbone_topic_is(event->bytes, event->length))
        return false;
    if (is_asked(event->bytes[0]))
        instance = find(other, target, event->dst_port);
    else if (is_answered(event->bytes[0]))
        instance = find(heard, event->session, event->src_port);
    else
        return false;
    if (!instance)
        return false;
    uint16_t svc = md_be16(event->bytes + 2);
    for (int i = 0; i < instance->count; i++)
        if (instance->svc[i] == svc)
            return true;
    return svc == RRMP_SVC_NONE;
}

bool filter_is_said_once(const uint8_t *bytes, size_t length)
{
    if (length < RRMP_HEADER_SIZE)
        return false;
    switch (bytes[0]) {
    case RRMP_CLOSE:
    case RRMP_UPDATE:
    case RRMP_STATUS:
    case RRMP_GENERIC:
    case RRMP_UNBIND:
        return true;
    default:
        return false;
    }
}
