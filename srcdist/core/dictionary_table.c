/* dictionary_table.c - the dictionaries that are kept, and given to p2ps. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dictionary_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "rmds/rwf_dictionary.h"

#define PART_NS 1000000ull /* between two parts to one requester */

struct srcdist_dictionary *srcdist_dictionary_find(struct srcdist_core *core, struct rwf_bytes name)
{
    for (unsigned i = 0; i < SRCDIST_DICTIONARIES; i++) {
        struct srcdist_dictionary *d = &core->dictionaries[i];
        if (d->state != SRCDIST_DICTIONARY_FREE && rwf_bytes_equal(rwf_text(d->name), name))
            return d;
    }
    return NULL;
}

static struct srcdist_dictionary *find_complete(struct srcdist_core *core, struct rwf_bytes name)
{
    struct srcdist_dictionary *d = srcdist_dictionary_find(core, name);

    return d && d->state == SRCDIST_DICTIONARY_COMPLETE ? d : NULL;
}

const char *srcdist_dictionary_version(struct srcdist_core *core, struct rwf_bytes name)
{
    const struct srcdist_dictionary *d = find_complete(core, name);

    return d ? d->version : NULL;
}

void srcdist_dictionary_discard(struct srcdist_core *core, struct srcdist_dictionary *d)
{
    for (uint32_t i = 0; i < d->part_count; i++) {
        core->stats.dictionary_bytes -= d->parts[i].length;
        free(d->parts[i].bytes);
    }
    free(d->parts);
    *d = (struct srcdist_dictionary){ .state = SRCDIST_DICTIONARY_FREE };
}

void srcdist_dictionaries_destroy(struct srcdist_core *core)
{
    for (unsigned i = 0; i < SRCDIST_DICTIONARIES; i++)
        srcdist_dictionary_discard(core, &core->dictionaries[i]);
}

/* ---- the types of fields, for the cache ---- */

unsigned srcdist_dictionary_field_type(void *core, int16_t field_id)
{
    const struct srcdist_core *self = core;

    return self->field_types[(uint16_t)field_id];
}

void srcdist_fields_learn(struct srcdist_core *core, const struct rwf_dictionary *dictionary)
{
    const struct rwf_field_def *field;

    for (int fid = INT16_MIN - 1; (field = rwf_dictionary_next(dictionary, fid)); fid = field->fid)
        core->field_types[(uint16_t)field->fid] = field->rwf_type;
    cache_ripples_learn(core->ripples, dictionary);
    if (core->marketfeed.table)
        mf_table_learn(core->marketfeed.table, dictionary);
}

void srcdist_dictionary_learn(struct srcdist_core *core, const struct srcdist_dictionary *d)
{
    struct rwf_dictionary *dictionary;
    struct rwf_msg msg;

    if (rwf_dictionary_create(&dictionary) != MD_OK)
        return;
    for (uint32_t i = 0; i < d->part_count; i++) {
        if (rwf_msg_decode(rwf_bytes(d->parts[i].bytes, d->parts[i].length), &msg) != RWF_OK ||
            msg.container != RWF_TYPE_SERIES || rwf_dictionary_decode(dictionary, msg.payload) < 0)
            break;
    }
    srcdist_fields_learn(core, dictionary);
    rwf_dictionary_destroy(dictionary);
}

/* ---- giving it to p2ps ---- */

void srcdist_dictionary_asked(struct srcdist_core *core, const struct rrmp_source_event *event)
{
    const struct srcdist_dictionary *d =
        find_complete(core, rwf_bytes(event->key.bytes, event->key.length));

    if (d && core->dictionary_ask_count < SRCDIST_DICTIONARY_ASKS)
        core->dictionary_asks[core->dictionary_ask_count++] = (struct srcdist_dictionary_ask){
            .source_ask = event->ask,
            .dictionary = (uint8_t)(d - core->dictionaries),
        };
    else
        rrmp_source_dictionary_unknown(core->source, event->ask);
}

void srcdist_dictionary_ask_gone(struct srcdist_core *core, uint32_t source_ask)
{
    for (uint32_t i = 0; i < core->dictionary_ask_count; i++) {
        if (core->dictionary_asks[i].source_ask != source_ask)
            continue;
        core->dictionary_asks[i] = core->dictionary_asks[--core->dictionary_ask_count];
        return;
    }
}

/* Sends one part. True: the answer is complete, or cannot be sent. */
static bool send_part(struct srcdist_core *core, struct srcdist_dictionary_ask *a)
{
    const struct srcdist_dictionary *d = &core->dictionaries[a->dictionary];
    struct rrmp_view name = srcdist_view(rwf_text(d->name));
    struct rrmp_view version = srcdist_view(rwf_text(d->version));
    const struct srcdist_dictionary_part *part = &d->parts[a->next_part];
    uint16_t flags = a->next_part + 1 == d->part_count ? RRMP_DICT_LAST : 0;
    uint8_t *room;
    int err = rrmp_source_dictionary_begin(core->source, a->source_ask, flags, name, version,
                                           part->length, &room);

    if (err == MD_ERR_FULL)
        return false;
    if (err != MD_OK)
        return true;
    memcpy(room, part->bytes, part->length);
    rrmp_source_publish_commit(core->source, part->length);
    return ++a->next_part == d->part_count;
}

/* Dictionaries must not delay ticks: one part at a time, and only into a ring that is half empty.
 */
void srcdist_dictionaries_pump(struct srcdist_core *core)
{
    const struct backbone_send *send = &core->config.source.send;

    if (core->dictionary_ask_count == 0 || core->now_ns < core->dictionary_due_ns)
        return;
    core->dictionary_due_ns = core->now_ns + PART_NS;
    for (uint32_t i = core->dictionary_ask_count; i-- > 0 && send->fill(send->context) < 128;) {
        if (send_part(core, &core->dictionary_asks[i]))
            core->dictionary_asks[i] = core->dictionary_asks[--core->dictionary_ask_count];
    }
}
