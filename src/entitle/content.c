/* content.c - permission data against what users were granted. See rules.h, entitle/lock.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "entitle/lock.h"
#include "rules.h"

#define GRANTS_MAX 128 /* lines that count for one user and vendor service */

/* The codes of one vendor service that a user holds. */
struct held {
    const struct entitle_rules *rules;
    const struct entitle_query *query;
    const struct entitle_own_roles *own;
    struct entitle_view name;
    uint32_t *seen;
    uint8_t right; /* to view, or to post */
    uint16_t set;  /* 0: none yet */
    bool is_all;
    bool is_unknown_fine;
    struct entitle_view given; /* names and codes that an authority outside gave the session */
    unsigned count;
    bool has_strange_id; /* which no peset has */
    uint16_t strange_id;
    const struct entitle_grant *grants[GRANTS_MAX];
};

static void collect(struct held *held, struct entitle_asked *asked)
{
    const struct entitle_grant *grants = held->rules->grants.at;

    asked->from = 0;
    while (held->count < GRANTS_MAX && !held->is_all) {
        uint32_t at = entitle_index_find(&held->rules->by_grant, asked, held->seen);

        if (at == ENTITLE_INDEX_NONE)
            return;
        held->is_all = grants[at].is_all;
        held->grants[held->count++] = &grants[at];
        asked->from = at + 1;
    }
}

/* They are for viewing, as a grant line without do= is. */
static void take_given(struct held *held, struct entitle_view set)
{
    struct entitle_view list = { NULL, 0 }, one;

    if (held->right == ENTITLE_MAY_VIEW)
        list = entitle_given_codes(held->query->roles, set);
    held->given = list;
    while (list.length && entitle_next(&list, &one))
        held->is_all |= entitle_is(one, "*");
}

static void choose_set(struct held *held, uint16_t set)
{
    const struct entitle_rules *rules = held->rules;
    struct entitle_view text[ENTITLE_PARTS_MAX] = {
        held->name,
        ((const struct entitle_set *)rules->sets.at)[set - 1].name,
    };
    struct entitle_asked asked = { .text = text, .count = 2, .rights = held->right };

    if (held->set == set)
        return;
    held->set = set;
    held->count = 0;
    held->is_all = false;
    collect(held, &asked);
    asked.rights = (uint8_t)(asked.rights << ENTITLE_OF_ROLES);
    for (uint32_t i = 0; i < held->own->count; i++) {
        text[0] = entitle_user_at(&rules->roles, held->own->at[i])->line.parts[0];
        collect(held, &asked);
    }
    take_given(held, text[1]);
}

static bool lists_code(struct entitle_view list, uint32_t code)
{
    struct entitle_view one;
    struct entitle_range range;

    while (entitle_next(&list, &one)) {
        if (entitle_range_read(one, &range) && range.low <= code && code <= range.high)
            return true;
    }
    return false;
}

static bool holds_name(void *self, struct entitle_view name)
{
    const struct held *held = self;

    for (unsigned i = 0; i < held->count; i++) {
        if (held->grants[i]->has_names && entitle_lists(held->grants[i]->names, name))
            return true;
    }
    return entitle_lists(held->given, name);
}

/* Ranges may overlap: of those that begin at the code or below, any may reach it. */
static bool is_granted(const struct held *held, uint32_t code)
{
    for (unsigned i = 0; i < held->count; i++) {
        const struct entitle_range *ranges =
            (const struct entitle_range *)held->rules->ranges.at + held->grants[i]->ranges_at;

        for (uint32_t k = 0; k < held->grants[i]->range_count && ranges[k].low <= code; k++) {
            if (code <= ranges[k].high)
                return true;
        }
    }
    return lists_code(held->given, code);
}

static const struct entitle_pe *pe_of(const struct entitle_rules *rules, uint16_t set,
                                      uint32_t code)
{
    const struct entitle_pe *pes = rules->pes.at;
    size_t low = 0, high = rules->pes.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct entitle_pe *pe = &pes[middle];

        if (pe->set < set || (pe->set == set && pe->range.high < code))
            low = middle + 1;
        else
            high = middle;
    }
    return low < rules->pes.count && pes[low].set == set && pes[low].range.low <= code ? &pes[low]
                                                                                       : NULL;
}

/* ---- for a tool that explains ---- */

#define MISSING_MAX 32

/* The names of an expression, as they are held, and those that would have to be granted. */
struct remedy {
    const struct held *held;
    char text[300];
    size_t length;
    struct entitle_view missing[MISSING_MAX];
    unsigned count;
    uint32_t wanted; /* a bit for each of `missing` */
};

static void add_text(struct remedy *remedy, const char *before, struct entitle_view name,
                     const char *after)
{
    size_t room = sizeof(remedy->text) - remedy->length;
    int length = snprintf(remedy->text + remedy->length, room, "%s%.*s%s",
                          remedy->length ? before : "", ENTITLE_SHOWN(name), after);

    remedy->length += length < 0 ? 0 : (size_t)length < room ? (size_t)length : room - 1;
}

static bool name_held(void *self, struct entitle_view name)
{
    struct remedy *remedy = self;
    bool is_held = holds_name((void *)(uintptr_t)remedy->held, name);

    add_text(remedy, ", ", name, is_held ? " yes" : " no");
    if (!is_held && remedy->count < MISSING_MAX)
        remedy->missing[remedy->count++] = name;
    return is_held;
}

static bool would_hold(void *self, struct entitle_view name)
{
    const struct remedy *remedy = self;

    for (unsigned i = 0; i < remedy->count; i++) {
        if (remedy->wanted >> i & 1 && entitle_same(remedy->missing[i], name))
            return true;
    }
    return holds_name((void *)(uintptr_t)remedy->held, name);
}

/* No more names than it takes; those that come first in the expression stay. False: there are too
 * many. */
static bool find_wanted(struct remedy *remedy, struct entitle_view text)
{
    size_t wrong;
    bool value;

    remedy->wanted = remedy->count < MISSING_MAX ? (1u << remedy->count) - 1u : UINT32_MAX;
    if (!entitle_expression(text, would_hold, remedy, &value, &wrong) || !value)
        return false;
    for (unsigned i = remedy->count; i-- > 0;) {
        remedy->wanted &= ~(1u << i);
        if (!entitle_expression(text, would_hold, remedy, &value, &wrong) || !value)
            remedy->wanted |= 1u << i;
    }
    return true;
}

static void say_remedy(const struct held *held, const char *what)
{
    struct entitle_view set =
        ((const struct entitle_set *)held->rules->sets.at)[held->set - 1].name;

    entitle_say(held->query, "remedy", 0, "grant %.*s %.*s %s%s", ENTITLE_SHOWN(held->name),
                ENTITLE_SHOWN(set), what, held->right == ENTITLE_MAY_POST ? " do=post" : "");
}

static void say_names(const struct held *held, const struct entitle_pe *pe, uint32_t code,
                      bool is_held)
{
    struct remedy remedy = { .held = held };
    size_t wrong;
    bool value;

    (void)entitle_expression(pe->text, name_held, &remedy, &value, &wrong);
    entitle_say(held->query, "code", pe->line, "%u is %s: %s", code, is_held ? "held" : "not held",
                remedy.text);
    if (is_held || !find_wanted(&remedy, pe->text))
        return;
    remedy.length = 0;
    for (unsigned i = 0; i < remedy.count; i++) {
        if (remedy.wanted >> i & 1)
            add_text(&remedy, ",", remedy.missing[i], "");
    }
    say_remedy(held, remedy.text);
}

static void say_number(const struct held *held, uint32_t code)
{
    char what[16];

    entitle_say(held->query, "code", 0, "%u is neither granted nor in a pe line: %s", code,
                held->is_unknown_fine ? "allowed by unknownpe=" : "not held");
    snprintf(what, sizeof(what), "%u", code);
    if (!held->is_unknown_fine)
        say_remedy(held, what);
}

/* ---- codes ---- */

static bool holds_code(struct held *held, uint32_t code)
{
    const struct entitle_pe *pe = pe_of(held->rules, held->set, code);
    size_t wrong;
    bool value;

    if (held->is_all || is_granted(held, code)) {
        entitle_say(held->query, "code", 0, "%u is held: granted %s", code,
                    held->is_all ? "with *" : "by its number");
        return true;
    }
    if (!pe) {
        if (held->query->step)
            say_number(held, code);
        return held->is_unknown_fine;
    }
    value = entitle_expression(pe->text, holds_name, held, &value, &wrong) && value;
    if (held->query->step)
        say_names(held, pe, code, value);
    return value;
}

static bool holds_lock_code(void *self, uint16_t service, uint32_t code)
{
    struct held *held = self;
    uint16_t set = held->rules->set_of_id ? held->rules->set_of_id[service] : 0;

    if (set == 0) {
        held->has_strange_id = true;
        held->strange_id = service;
        entitle_say(held->query, "code", 0, "%u is of id %u, which no peset has: %s", code, service,
                    held->is_unknown_fine ? "allowed by unknownpe=" : "not held");
        return held->is_unknown_fine;
    }
    choose_set(held, set);
    return holds_code(held, code);
}

static bool holds_map_code(void *self, struct entitle_view word)
{
    uint32_t code;

    return entitle_number(word, &code) && holds_code(self, code);
}

static const char *judge_lock(const struct entitle_content *content, struct held *held,
                              const struct entitle_query *query, struct entitle_answer *out)
{
    struct entitle_lock_reader reader = { .holds = holds_lock_code, .self = held };
    enum entitle_lock_kind kind = entitle_lock_read(query->permission_data, &reader);

    out->lock_kind = (uint8_t)kind;
    out->has_strange_lock = held->has_strange_id;
    out->strange_id = held->strange_id;
    if (kind != ENTITLE_LOCK_FINE) {
        snprintf(out->text, sizeof(out->text), "the permission data of the item %s",
                 entitle_lock_kind_name(kind));
        return content->denies & ENTITLE_DENY_BAD_LOCK ? out->text : NULL;
    }
    if (reader.is_null)
        return content->denies & ENTITLE_DENY_NO_LOCK ? "the item has no permission data" : NULL;
    if (reader.is_open)
        return NULL;
    snprintf(out->text, sizeof(out->text), "Access Denied: User req to PE(%s)", reader.needs);
    return out->text;
}

static const char *judge_map(const struct entitle_content *content, struct held *held,
                             const struct entitle_query *query, struct entitle_answer *out)
{
    const struct entitle_view text[ENTITLE_PARTS_MAX] = { query->service, query->item };
    const struct entitle_asked asked = { .text = text, .count = 2, .rights = ENTITLE_MAY_VIEW };
    uint32_t at = entitle_index_find(&held->rules->by_map, &asked, held->seen);
    size_t wrong;
    bool value;

    if (at == ENTITLE_INDEX_NONE)
        return content->denies & ENTITLE_DENY_NO_LOCK ? "no map line has the item" : NULL;
    const struct entitle_map *map = (const struct entitle_map *)held->rules->maps.at + at;
    entitle_say(query, "map", map->line.line, "%s", "");
    choose_set(held, map->set);
    if (entitle_expression(map->text, holds_map_code, held, &value, &wrong) && value)
        return NULL;
    out->line = map->line.line;
    snprintf(out->text, sizeof(out->text), "Access Denied: User req to PE(%.*s)",
             (int)(map->text.length < 47 ? map->text.length : 47), map->text.data);
    return out->text;
}

const char *entitle_judge_content(const struct entitle_rules *rules,
                                  const struct entitle_own_roles *own,
                                  const struct entitle_query *query, struct entitle_answer *out)
{
    const struct entitle_view text[ENTITLE_PARTS_MAX] = { query->service };
    const struct entitle_asked asked = { .text = text, .count = 1, .rights = ENTITLE_MAY_VIEW };

    if (rules->contents.count == 0)
        return NULL;
    uint32_t at = entitle_index_find(&rules->by_content, &asked, &out->rules_seen);
    if (at == ENTITLE_INDEX_NONE)
        return NULL;
    const struct entitle_content *content = (const struct entitle_content *)rules->contents.at + at;
    struct held held = {
        .rules = rules,
        .query = query,
        .own = own,
        .name = query->user,
        .seen = &out->rules_seen,
        .is_unknown_fine = !(content->denies & ENTITLE_DENY_UNKNOWN),
    };
    const char *why = NULL;
    bool is_post = query->kind == ENTITLE_POST;
    held.right = is_post ? ENTITLE_MAY_POST : ENTITLE_MAY_VIEW;
    entitle_say(query, "content", content->line.line, "%s", "");
    if (content->by & ENTITLE_BY_LOCK) {
        out->needs_lock = true;
        if (query->is_lock_known || is_post)
            why = judge_lock(content, &held, query, out);
    }
    if (!why && content->by & ENTITLE_BY_MAP && !is_post)
        why = judge_map(content, &held, query, out);
    return why;
}
