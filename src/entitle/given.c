/* given.c - what of that an authority outside gave a session counts for nothing. See rules.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "entitle/lock.h"
#include "rules.h"

static int by_set_and_name(const void *a, const void *b)
{
    const struct entitle_pe_name *one = a, *other = b;
    size_t least = one->name.length < other->name.length ? one->name.length : other->name.length;
    int order = least ? memcmp(one->name.data, other->name.data, least) : 0;

    if (one->set != other->set)
        return one->set < other->set ? -1 : 1;
    if (order)
        return order;
    return (one->name.length > other->name.length) - (one->name.length < other->name.length);
}

struct noting {
    struct entitle_rules *rules;
    uint16_t set;
    bool is_full;
};

static bool note_name(void *self, struct entitle_view word)
{
    struct noting *noting = self;
    struct entitle_pe_name *name =
        entitle_grow(&noting->rules->pe_names, sizeof(struct entitle_pe_name));

    noting->is_full |= !name;
    if (name)
        *name = (struct entitle_pe_name){ word, noting->set };
    return true;
}

int entitle_note_names(struct entitle_rules *rules)
{
    const struct entitle_pe *pes = rules->pes.at;
    struct noting noting = { .rules = rules };
    size_t wrong, kept = 0;
    bool value;

    for (size_t i = 0; rules->asks_outside && i < rules->pes.count; i++) {
        noting.set = pes[i].set;
        entitle_expression(pes[i].text, note_name, &noting, &value, &wrong);
    }
    struct entitle_pe_name *names = rules->pe_names.at;
    if (rules->pe_names.count)
        qsort(names, rules->pe_names.count, sizeof(*names), by_set_and_name);
    for (size_t i = 0; i < rules->pe_names.count; i++) {
        if (kept == 0 || by_set_and_name(&names[kept - 1], &names[i]) != 0)
            names[kept++] = names[i];
    }
    rules->pe_names.count = kept;
    return noting.is_full ? MD_ERR_NOMEM : MD_OK;
}

static const char *unknown_code(const struct entitle_rules *rules, uint16_t set,
                                struct entitle_view code)
{
    const struct entitle_pe_name name = { code, set };
    struct entitle_range range;

    if (!entitle_is_name(code))
        return entitle_is(code, "*") || entitle_range_read(code, &range) ? NULL : "code";
    return rules->pe_names.count && bsearch(&name, rules->pe_names.at, rules->pe_names.count,
                                            sizeof(name), by_set_and_name)
               ? NULL
               : "name";
}

static const char *unknown_role(const struct entitle_rules *rules, struct entitle_view roles,
                                struct entitle_view *which)
{
    bool has_more = roles.length > 0 && entitle_next(&roles, which);

    while (has_more && entitle_has_role(rules, *which))
        has_more = entitle_next(&roles, which);
    return has_more ? "role" : NULL;
}

const char *entitle_rules_unknown(const struct entitle_rules *rules, struct entitle_view given,
                                  struct entitle_view *which)
{
    const char *kind = rules ? unknown_role(rules, entitle_cut(&given, '\n'), which) : NULL;

    while (rules && !kind && given.length) {
        struct entitle_view codes = entitle_cut(&given, '\n');
        *which = entitle_cut(&codes, '\t');
        uint16_t set = entitle_set_find(rules, *which);

        kind = set ? NULL : "peset";
        while (!kind && entitle_next(&codes, which))
            kind = unknown_code(rules, set, *which);
    }
    return kind;
}
