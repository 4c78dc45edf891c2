/* sample.h - sample data: images and updates of items, from XML, encoded once. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SAMPLE_H
#define TOOLS_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "rmds/rwf.h"
#include "rmds/rwf_dictionary.h"

/*
 *     <sample version="1">
 *       <item name="GOOG.O" domain="6">
 *         <refresh><field id="22" type="REAL" value="398.10"/> ... </refresh>
 *         <update type="1"><field id="22" type="REAL" value="398.10"/> ... </update>
 *       </item>
 *     </sample>
 *
 * Elements, attributes in double quotes, comments, the five entities and &#n;. No document type,
 * 16 levels, 64 MiB. `type` may be left out where the dictionary knows the field. The format of the
 * public performance tools (msgFormat, marketPriceMsgList, refreshMsg, updateMsg) becomes one item
 * without a name.
 */
#define SAMPLE_FILE_MAX  (64u << 20)
#define SAMPLE_DEPTH_MAX 16

struct sample_update {
    uint8_t *payload; /* an encoded field list */
    uint32_t length;
    uint8_t type;
};

struct sample_item {
    char *name; /* "" in the format of the performance tools */
    uint8_t domain;
    uint8_t *image;
    uint32_t image_length;
    struct sample_update *updates;
    uint32_t update_count;
};

struct sample {
    struct sample_item *items;
    size_t count;
};

/* `dictionary` may be NULL: then each field needs its type. On failure `error` is a sentence with
 * file and line. */
int sample_parse(struct sample *sample, const struct rwf_dictionary *dictionary, const char *file,
                 const char *text, size_t length, char *error, size_t error_size);
int sample_load(struct sample *sample, const struct rwf_dictionary *dictionary, const char *path,
                char *error, size_t error_size);
void sample_fini(struct sample *sample);

/* By name, or NULL. */
const struct sample_item *sample_find(const struct sample *sample, const char *name);

#endif
