/* grants.c - what codes stand for, and who holds them: the lines. See rules.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "entitle/lock.h"
#include "rules.h"

/* ---- lines ---- */

static void parse_lock_ids(struct entitle_parse *parse, struct entitle_set *set,
                           struct entitle_view list)
{
    struct entitle_rules *rules = parse->rules;
    struct entitle_view one;
    uint32_t id;

    while (entitle_next(&list, &one)) {
        if (!entitle_number(one, &id) || id > UINT16_MAX) {
            entitle_complain(parse, "peset %.*s: \"%.*s\" is not a service id (0..65535)",
                             ENTITLE_SHOWN(set->name), ENTITLE_SHOWN(one));
            return;
        }
        if (rules->set_of_id[id]) {
            entitle_complain(parse, "peset %.*s: service id %u belongs to another peset",
                             ENTITLE_SHOWN(set->name), id);
            return;
        }
        rules->set_of_id[id] = (uint16_t)rules->sets.count;
    }
}

void entitle_parse_peset(struct entitle_parse *parse, const struct entitle_view words[], int count)
{
    struct entitle_rules *rules = parse->rules;
    struct entitle_view ids =
        count == 3 ? entitle_value(words[2], "ids") : (struct entitle_view){ NULL, 0 };

    if (!ids.data) {
        entitle_complain(parse, "peset: a name and ids= are expected; example: peset IDN "
                                "ids=257,258");
        return;
    }
    if (entitle_set_find(rules, words[1])) {
        entitle_complain(parse, "peset %.*s is defined already", ENTITLE_SHOWN(words[1]));
        return;
    }
    if (!rules->set_of_id)
        rules->set_of_id = calloc(UINT16_MAX + 1, sizeof(*rules->set_of_id));
    struct entitle_set *set = rules->set_of_id && rules->sets.count < ENTITLE_SETS_MAX
                                  ? entitle_grow(&rules->sets, sizeof(*set))
                                  : NULL;
    if (!set) {
        entitle_complain(parse, "peset: no room for more than %d", ENTITLE_SETS_MAX);
        return;
    }
    set->name = words[1];
    parse_lock_ids(parse, set, ids);
}

bool entitle_range_read(struct entitle_view word, struct entitle_range *out)
{
    const char *dash = memchr(word.data, '-', word.length);
    struct entitle_view first = { word.data, dash ? (size_t)(dash - word.data) : word.length };

    if (!entitle_number(first, &out->low))
        return false;
    out->high = out->low;
    return !dash ||
           (entitle_number((struct entitle_view){ dash + 1, word.length - first.length - 1 },
                           &out->high) &&
            out->high >= out->low);
}

bool entitle_is_name(struct entitle_view word)
{
    return word.length && ((word.data[0] >= 'A' && word.data[0] <= 'Z') ||
                           (word.data[0] >= 'a' && word.data[0] <= 'z'));
}

static bool any_name(void *self, struct entitle_view word)
{
    *(bool *)self |= !entitle_is_name(word);
    return true;
}

static bool any_code(void *self, struct entitle_view word)
{
    uint32_t code;

    *(bool *)self |= !entitle_number(word, &code);
    return true;
}

/* The words from `at` on, which stand in one line. */
static struct entitle_view rest_of(const struct entitle_view words[], int at, int count)
{
    const struct entitle_view *last = &words[count - 1];

    return (struct entitle_view){ words[at].data,
                                  (size_t)(last->data + last->length - words[at].data) };
}

static bool check_expression(struct entitle_parse *parse, const char *statement,
                             struct entitle_view text,
                             bool (*is_fine)(void *self, struct entitle_view word),
                             const char *wanted)
{
    bool is_odd = false, value;
    size_t wrong;

    if (entitle_expression(text, is_fine, &is_odd, &value, &wrong) && !is_odd)
        return true;
    entitle_complain(
        parse, "%s: \"%.*s\" is no expression: %s, &, |, ( and ) are expected%s%.*s", statement,
        ENTITLE_SHOWN(text), wanted, is_odd || wrong >= text.length ? "" : "; it ends at ",
        is_odd || wrong >= text.length ? 0
                                       : (int)(text.length - wrong < 20 ? text.length - wrong : 20),
        text.data + (wrong < text.length ? wrong : 0));
    return false;
}

void entitle_parse_pe(struct entitle_parse *parse, const struct entitle_view words[], int count)
{
    struct entitle_view list, one;

    if (count < 4) {
        entitle_complain(parse, "pe: a peset, codes and an expression are expected; example: "
                                "pe IDN 62,144-150 NYSE & MONEY");
        return;
    }
    struct entitle_view text = rest_of(words, 3, count);
    if (!check_expression(parse, "pe", text, any_name, "names"))
        return;
    list = words[2];
    while (entitle_next(&list, &one)) {
        struct entitle_pe *pe = entitle_grow(&parse->rules->pes, sizeof(*pe));

        if (!pe || !entitle_range_read(one, &pe->range)) {
            entitle_complain(parse, "pe: \"%.*s\" is no code, and no range of codes",
                             ENTITLE_SHOWN(one));
            return;
        }
        pe->set_name = words[1];
        pe->text = text;
        pe->line = (uint32_t)parse->line;
    }
}

static int by_low(const void *a, const void *b)
{
    const struct entitle_range *one = a, *other = b;

    return (one->low > other->low) - (one->low < other->low);
}

static void grant_one(struct entitle_parse *parse, struct entitle_grant *grant,
                      struct entitle_view one)
{
    struct entitle_range range, *place;

    if (entitle_is(one, "*")) {
        grant->is_all = true;
    } else if (entitle_is_name(one)) {
        grant->has_names = true;
    } else if (!entitle_range_read(one, &range)) {
        entitle_complain(parse, "grant: \"%.*s\" is no name, no code and no range of codes",
                         ENTITLE_SHOWN(one));
    } else if ((place = entitle_grow(&parse->rules->ranges, sizeof(*place))) == NULL) {
        entitle_complain(parse, "out of memory");
    } else {
        *place = range;
        grant->range_count++;
    }
}

void entitle_parse_grant(struct entitle_parse *parse, const struct entitle_view words[], int count)
{
    struct entitle_view list, one;

    if (count != 4 && count != 5) {
        entitle_complain(parse, "grant: a user or @role, a peset, and names or codes are expected; "
                                "example: grant @rates IDN NYSE,62,100-199");
        return;
    }
    struct entitle_grant *grant = entitle_parse_add(parse, &parse->rules->grants, sizeof(*grant),
                                                    words + 1, 2, ENTITLE_MAY_VIEW);
    if (!grant)
        return;
    grant->names = words[3];
    grant->ranges_at = (uint32_t)parse->rules->ranges.count;
    list = words[3];
    while (entitle_next(&list, &one))
        grant_one(parse, grant, one);
    if (count == 5)
        entitle_parse_grant_do(parse, grant, words[4]);
    if (grant->range_count)
        qsort((struct entitle_range *)parse->rules->ranges.at + grant->ranges_at,
              grant->range_count, sizeof(struct entitle_range), by_low);
}

static const struct choice {
    const char *key, *allows, *denies;
    uint8_t bit;
} choices[] = {
    { "nolock", "allow", "deny", ENTITLE_DENY_NO_LOCK },
    { "badlock", "allow", "deny", ENTITLE_DENY_BAD_LOCK },
    { "unknownpe", "allow", "deny", ENTITLE_DENY_UNKNOWN },
};

static void parse_choice(struct entitle_parse *parse, struct entitle_content *content,
                         struct entitle_view word)
{
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        struct entitle_view value = entitle_value(word, choices[i].key);

        if (!value.data)
            continue;
        if (!entitle_is(value, "allow") && !entitle_is(value, "deny"))
            break;
        content->denies &= (uint8_t)~choices[i].bit;
        content->denies |= entitle_is(value, "deny") ? choices[i].bit : 0;
        return;
    }
    entitle_complain(parse,
                     "content: \"%.*s\": nolock=, badlock= or unknownpe= with allow or deny "
                     "is expected",
                     ENTITLE_SHOWN(word));
}

void entitle_parse_content(struct entitle_parse *parse, const struct entitle_view words[],
                           int count)
{
    static const char *const names[] = { "none", "lock", "map", "both" };
    uint8_t by = UINT8_MAX;

    for (uint8_t i = 0; i < 4 && count >= 3; i++)
        by = entitle_is(words[2], names[i]) ? i : by;
    struct entitle_content *content =
        by == UINT8_MAX ? NULL : entitle_grow(&parse->rules->contents, sizeof(*content));
    if (!content) {
        entitle_complain(parse, "content: a service and lock, map, both or none are expected; "
                                "example: content RDFD lock nolock=deny");
        return;
    }
    content->line.parts[0] = words[1];
    content->line.rights = ENTITLE_MAY_VIEW;
    content->line.line = (uint32_t)parse->line;
    content->by = by;
    content->denies = ENTITLE_DENY_BAD_LOCK | ENTITLE_DENY_UNKNOWN;
    for (int i = 3; i < count; i++)
        parse_choice(parse, content, words[i]);
}

void entitle_parse_map(struct entitle_parse *parse, const struct entitle_view words[], int count)
{
    if (count < 5) {
        entitle_complain(parse, "map: a service, an item, a peset and an expression of codes are "
                                "expected; example: map RDFD *.N IDN 62 | 144");
        return;
    }
    struct entitle_view text = rest_of(words, 4, count);
    if (!check_expression(parse, "map", text, any_code, "codes"))
        return;
    struct entitle_map *map =
        entitle_parse_add(parse, &parse->rules->maps, sizeof(*map), words + 1, 2, ENTITLE_MAY_VIEW);
    if (!map)
        return;
    map->set_name = words[3];
    map->text = text;
}

/* ---- once all is read ---- */

uint16_t entitle_set_find(const struct entitle_rules *rules, struct entitle_view name)
{
    for (size_t i = 0; i < rules->sets.count; i++) {
        if (entitle_same(((const struct entitle_set *)rules->sets.at)[i].name, name))
            return (uint16_t)(i + 1);
    }
    return 0;
}

static uint16_t set_of(struct entitle_parse *parse, uint32_t line, const char *statement,
                       struct entitle_view name)
{
    uint16_t set = entitle_set_find(parse->rules, name);

    parse->line = (int)line;
    if (set == 0)
        entitle_complain(parse, "%s: no peset line has the name %.*s", statement,
                         ENTITLE_SHOWN(name));
    return set;
}

static int by_code(const void *a, const void *b)
{
    const struct entitle_pe *one = a, *other = b;

    if (one->set != other->set)
        return one->set < other->set ? -1 : 1;
    return (one->range.low > other->range.low) - (one->range.low < other->range.low);
}

static void sort_codes(struct entitle_parse *parse)
{
    struct entitle_rules *rules = parse->rules;
    struct entitle_pe *pes = rules->pes.at;
    char line[200];

    for (size_t i = 0; i < rules->pes.count; i++)
        pes[i].set = set_of(parse, pes[i].line, "pe", pes[i].set_name);
    if (rules->pes.count)
        qsort(pes, rules->pes.count, sizeof(*pes), by_code);
    for (size_t i = 1; i < rules->pes.count; i++) {
        if (pes[i].set != pes[i - 1].set || pes[i].range.low > pes[i - 1].range.high)
            continue;
        bool is_later = pes[i].line > pes[i - 1].line;
        uint32_t first = pes[is_later ? i - 1 : i].line;
        parse->line = (int)pes[is_later ? i : i - 1].line;
        entitle_line_name(rules, (uint32_t)parse->line, first, line, sizeof(line));
        entitle_complain(parse, "pe %.*s: code %u is that of %s, too",
                         ENTITLE_SHOWN(pes[i].set_name), pes[i].range.low, line);
    }
}

int entitle_resolve_content(struct entitle_parse *parse)
{
    struct entitle_rules *rules = parse->rules;
    struct entitle_map *maps = rules->maps.at;

    sort_codes(parse);
    for (size_t i = 0; i < rules->maps.count; i++)
        maps[i].set = set_of(parse, maps[i].line.line, "map", maps[i].set_name);
    for (size_t i = 0; i < rules->grants.count; i++) {
        const struct entitle_grant *grant = (const struct entitle_grant *)rules->grants.at + i;
        set_of(parse, grant->line.line, "grant", grant->line.parts[1]);
    }
    int err = entitle_index_create(&rules->by_grant, rules->grants.at, rules->grants.count,
                                   sizeof(struct entitle_grant), 2);
    if (err == MD_OK)
        err = entitle_index_create(&rules->by_content, rules->contents.at, rules->contents.count,
                                   sizeof(struct entitle_content), 1);
    if (err == MD_OK)
        err = entitle_index_create(&rules->by_map, rules->maps.at, rules->maps.count,
                                   sizeof(struct entitle_map), 2);
    return err;
}
