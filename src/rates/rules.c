/* rules.c - which lines hold for an item. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "conf/conf.h"
#include "private.h"

/* * any bytes, ? one byte. */
static bool fits(const char *pattern, struct rwf_bytes text)
{
    const char *star = NULL;
    size_t at = 0;
    size_t mark = 0;

    while (at < text.length) {
        if (*pattern == '*') {
            star = pattern++;
            mark = at;
        } else if (*pattern == '?' || (*pattern && (uint8_t)*pattern == text.data[at])) {
            pattern++;
            at++;
        } else if (star) {
            pattern = star + 1;
            at = ++mark;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == 0;
}

/* The service is the one of that object of rmds.cnf. */
static bool is_of_object(const char *object, struct rwf_bytes service)
{
    char text[RATES_SERVICE_MAX], name[RATES_SERVICE_MAX];

    if (service.length >= sizeof(text) || service.length != strlen(object))
        return false;
    if (service.length)
        memcpy(text, service.data, service.length);
    text[service.length] = 0;
    md_conf_component(name, sizeof(name), text);
    return strcmp(name, object) == 0;
}

static bool is_of_service(const struct rates_rule *rule, struct rwf_bytes service)
{
    return rule->is_of_object ? is_of_object(rule->service, service) : fits(rule->service, service);
}

static const struct rates_rule *find_rule(const struct rates *rates, enum rates_kind kind,
                                          struct rwf_bytes service, struct rwf_bytes name,
                                          uint8_t domain)
{
    for (unsigned i = 0; i < rates->count; i++) {
        const struct rates_rule *rule = &rates->rules[i];
        if (rule->kind == kind && (rule->domain == RATES_ANY || rule->domain == domain) &&
            is_of_service(rule, service) && fits(rule->pattern, name))
            return rule;
    }
    return NULL;
}

static const struct rates_exempt *exempt_of(const struct rates *rates, struct rwf_bytes service)
{
    for (unsigned i = 0; i < rates->other_count; i++) {
        if (is_of_object(rates->others[i]->service, service))
            return &rates->others[i]->exempt;
    }
    return &rates->exempt;
}

void rates_choose(const struct rates *rates, struct rwf_bytes service, struct rwf_bytes name,
                  uint8_t domain, struct rates_choice *out)
{
    const struct rates_rule *rule = find_rule(rates, RATES_FIELDS, service, name, domain);

    *out = (struct rates_choice){ .fields = rule ? rule->fields : NULL };
    rule = find_rule(rates, RATES_TYPES, service, name, domain);
    if (rule && !rule->has_all_types)
        out->types = &rule->types;
    rule = find_rule(rates, RATES_INTERVAL, service, name, domain);
    if (rule)
        out->interval_ms = rule->interval_ms;
    if (out->interval_ms)
        out->exempt = exempt_of(rates, service);
}

bool rates_choice_is_same(const struct rates_choice *a, const struct rates_choice *b)
{
    if (!a->fields != !b->fields || !a->types != !b->types)
        return false;
    if (a->fields && (a->fields->drops != b->fields->drops ||
                      memcmp(a->fields->bits, b->fields->bits, sizeof(a->fields->bits)) != 0))
        return false;
    return !a->types || memcmp(a->types, b->types, sizeof(*a->types)) == 0;
}

static bool has_bit(const struct rates_fields *fields, int16_t id)
{
    return fields->bits[(uint16_t)id / 64] >> ((uint16_t)id % 64) & 1;
}

bool rates_fields_keep(const struct rates_fields *fields, int16_t id)
{
    return has_bit(fields, id) != fields->drops;
}

bool rates_exempts(const struct rates_exempt *exempt, const struct rwf_msg *update)
{
    struct rwf_field_list list;
    struct rwf_field field;

    if (rates_types_have(&exempt->types, update->update_type))
        return true;
    if (!exempt->has_fields || update->container != RWF_TYPE_FIELD_LIST ||
        rwf_field_list_decode(update->payload, NULL, &list) < 0)
        return false;
    while (rwf_field_list_next(&list, &field) > 0) {
        if (has_bit(&exempt->fields, field.id))
            return true;
    }
    return false;
}

bool rates_is_exempt(const struct rates *rates, const struct rwf_msg *update)
{
    return rates_exempts(&rates->exempt, update);
}

bool rates_is_empty(const struct rates *rates)
{
    return rates->count == 0;
}
