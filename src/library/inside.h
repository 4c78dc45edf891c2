/* inside.h - the engine of the backbone inside of the application. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBRARY_INSIDE_H
#define LIBRARY_INSIDE_H

#include "attach/settings.h"
#include "rmds/backbone.h"

/* The network as the configuration describes it. The engine's settings point into it. */
struct library_inside {
    struct md_conf *conf;
    struct attach_settings settings;
};

/* Reads `options->configuration`. MD_ERR_SYS, MD_ERR_RANGE, MD_ERR_NOMEM: `why` is a sentence
 * or empty. */
int library_inside_open(const struct rmds_backbone_options *options, char *why, size_t why_size,
                        struct library_inside **out);
void library_inside_close(struct library_inside *inside); /* NULL is allowed */

#endif
