/* view.c - the fields that are asked for: by id (-vfids), or by name (-vnames). */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "omm/item.h"
#include "tc.h"

bool view_parse(const char *ids, const char *names, struct tc_options *options)
{
    char *end;

    while (ids && *ids) {
        long fid = strtol(ids, &end, 10);
        if (end == ids || (*end && *end != ',') || fid < INT16_MIN || fid > INT16_MAX ||
            options->view_count == VIEW_MAX) {
            fprintf(stderr,
                    "rmdstestclient: -vfids is a list of at most %d field ids, as 22,25,6: %s; "
                    "-vnames takes names; -help lists the options\n",
                    VIEW_MAX, ids);
            return false;
        }
        options->view[options->view_count++] = (int16_t)fid;
        ids = *end ? end + 1 : end;
    }
    options->view_names = names && *names ? names : NULL;
    return true;
}

bool view_resolve(struct tc *tc)
{
    struct tc_options *options = &tc->options;
    const char *name = options->view_names;

    while (name && *name) {
        size_t length = strcspn(name, ",");
        const struct rwf_field_def *field =
            tc->dictionary ? rwf_dictionary_field_named(tc->dictionary, name, length) : NULL;

        if (!field || options->view_count == VIEW_MAX) {
            fprintf(stderr, "rmdstestclient: -vnames: %s \"%.*s\"%s; -vfids takes ids\n",
                    field            ? "one more than 256 fields,"
                    : tc->dictionary ? "the dictionary has no field"
                                     : "there is no dictionary to look up",
                    (int)length, name,
                    tc->dictionary && !field ? " (names are as in RDMFieldDictionary, for example "
                                               "BID or TRDPRC_1)"
                                             : "");
            return false;
        }
        options->view[options->view_count++] = (int16_t)field->fid;
        name += length + (name[length] == ',');
    }
    options->view_names = NULL;
    return true;
}

/* The elements :ViewType and :ViewData. */
void view_add(const struct tc *tc, struct rwf_encoder *enc)
{
    struct rwf_value value;

    rwf_element_add_uint(enc, ":ViewType", OMM_VIEW_FIELDS);
    rwf_element_start(enc, rwf_text(":ViewData"), RWF_TYPE_ARRAY);
    rwf_array_start(enc, RWF_TYPE_INT, 2);
    for (size_t i = 0; i < tc->options.view_count; i++) {
        value = rwf_value_int(tc->options.view[i]);
        rwf_array_add(enc, &value);
    }
    rwf_array_finish(enc);
    rwf_element_finish(enc);
}
