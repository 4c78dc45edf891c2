/* fields.c - fields of items that a user may see, or may not. See rules.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "rules.h"

#define FIDS_OF_A_LINE 65535      /* as many as a view has */
#define FIDS_OF_A_FILE (4u << 20) /* 8 MiB */
#define FID_MIN        (-32768)
#define FID_MAX        32767

/* The ids that a line names, before they are kept in order: a bit for each. */
struct fids {
    uint64_t bits[(FID_MAX - FID_MIN + 1) / 64];
    uint32_t count;
    bool has_twice;
    int16_t twice;
};

/* ---- lines ---- */

/* "22", "-4", and what stands behind it. */
static bool read_id(struct entitle_view *text, int *out)
{
    bool is_negative = text->length > 0 && text->data[0] == '-';
    struct entitle_view digits = { text->data + is_negative, 0 };
    uint32_t number;

    while (digits.length + is_negative < text->length && digits.data[digits.length] >= '0' &&
           digits.data[digits.length] <= '9')
        digits.length++;
    if (!entitle_number(digits, &number) || number > 32768)
        return false;
    *out = is_negative ? -(int)number : (int)number;
    text->data = digits.data + digits.length;
    text->length -= digits.length + is_negative;
    return *out >= FID_MIN && *out <= FID_MAX;
}

static bool read_ids(struct entitle_view text, int *low, int *high)
{
    if (!read_id(&text, low))
        return false;
    *high = *low;
    if (text.length == 0)
        return true;
    if (text.data[0] != '-')
        return false;
    text.data++;
    text.length--;
    return read_id(&text, high) && text.length == 0 && *low <= *high;
}

static void add_ids(struct fids *fids, int low, int high)
{
    for (int id = low; id <= high; id++) {
        unsigned at = (unsigned)(id - FID_MIN);
        uint64_t bit = 1ull << at % 64;

        if (!(fids->bits[at / 64] & bit)) {
            fids->count++;
        } else if (!fids->has_twice) {
            fids->has_twice = true;
            fids->twice = (int16_t)id;
        }
        fids->bits[at / 64] |= bit;
    }
}

static bool read_lists(struct entitle_parse *parse, struct fids *fids,
                       const struct entitle_view words[], int count)
{
    struct entitle_view list, one;
    int low, high;

    for (int i = 0; i < count; i++) {
        list = words[i];
        while (entitle_next(&list, &one)) {
            if (!read_ids(one, &low, &high)) {
                entitle_complain(parse,
                                 "fields: \"%.*s\" is no field id or range of them (-32768..32767, "
                                 "names are not known here); example: 22,25,1000-1040",
                                 ENTITLE_SHOWN(one));
                return false;
            }
            add_ids(fids, low, high);
        }
    }
    return true;
}

/* In ascending order, behind those of the other lines. */
static bool keep_ids(struct entitle_rules *rules, const struct fids *fids,
                     struct entitle_fields *fields)
{
    fields->fids_at = (uint32_t)rules->fids.count;
    fields->fid_count = fids->count;
    fields->has_twice = fids->has_twice;
    fields->twice = fids->twice;
    if (fids->count > FIDS_OF_A_LINE || rules->fids.count + fids->count > FIDS_OF_A_FILE)
        return false;
    for (int id = FID_MIN; id <= FID_MAX; id++) {
        unsigned at = (unsigned)(id - FID_MIN);

        if (fids->bits[at / 64] == 0) {
            id += 63 - (int)(at % 64);
            continue;
        }
        if (!(fids->bits[at / 64] >> at % 64 & 1))
            continue;
        int16_t *place = entitle_grow(&rules->fids, sizeof(*place));
        if (!place)
            return false;
        *place = (int16_t)id;
    }
    return true;
}

void entitle_parse_fields(struct entitle_parse *parse, const struct entitle_view words[], int count)
{
    bool is_drop = count > 5 && entitle_is(words[4], "drop");
    struct fids fids = { .count = 0 };

    if (count < 6 || (!is_drop && !entitle_is(words[4], "keep"))) {
        entitle_complain(parse, "fields: USER SERVICE ITEM, keep or drop, and field ids are "
                                "expected; example: fields @rates RDFD * drop 22,25,1000-1040");
        return;
    }
    bool is_all = count == 6 && entitle_is(words[5], "*");
    if (!is_all && !read_lists(parse, &fids, words + 5, count - 5))
        return;
    struct entitle_fields *fields = entitle_grow(&parse->rules->fields, sizeof(*fields));
    if (!fields || !keep_ids(parse->rules, &fids, fields)) {
        entitle_complain(parse, "fields: no room for more than %d ids of a line, %u of a file",
                         FIDS_OF_A_LINE, FIDS_OF_A_FILE);
        return;
    }
    for (int i = 0; i < 3; i++)
        fields->line.parts[i] = words[i + 1];
    fields->line.rights = ENTITLE_MAY_VIEW;
    fields->line.line = (uint32_t)parse->line;
    fields->is_unlimited = is_all && !is_drop;
    fields->is_drop = is_drop && !is_all;
}

int entitle_resolve_fields(struct entitle_rules *rules)
{
    return entitle_index_create(&rules->by_fields, rules->fields.at, rules->fields.count,
                                sizeof(struct entitle_fields), 3);
}

void entitle_fini_fields(struct entitle_rules *rules)
{
    entitle_index_fini(&rules->by_fields);
    free(rules->fields.at);
    free(rules->fids.at);
}

/* ---- the verdict ---- */

void entitle_judge_fields(const struct entitle_rules *rules, const struct entitle_own_roles *own,
                          const struct entitle_query *query, struct entitle_answer *out)
{
    struct entitle_view text[ENTITLE_PARTS_MAX] = { query->user, query->service, query->item };
    struct entitle_asked asked = { .text = text, .count = 3, .rights = ENTITLE_MAY_VIEW };

    if (rules->fields.count == 0)
        return;
    uint32_t at = entitle_first_line(rules, &rules->by_fields, own, text, &asked, &out->rules_seen);
    if (at == ENTITLE_INDEX_NONE) {
        entitle_say(query, "fields", 0, "no line fits: all of them");
        return;
    }
    const struct entitle_fields *fields = entitle_fields_at(rules, at);
    entitle_say(query, "fields", fields->line.line, "%s", "");
    out->has_fields = !fields->is_unlimited;
    out->are_fields_dropped = fields->is_drop;
    out->fields = fields->fid_count ? (const int16_t *)rules->fids.at + fields->fids_at : NULL;
    out->field_count = fields->fid_count;
}
