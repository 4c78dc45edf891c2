/* inside.c - the engine of the backbone inside of the application, in place of an rrcpd. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"

struct findings {
    char *why;
    size_t size;
};

/* The first error is the reason. */
static void on_finding(void *owner, enum md_conf_severity severity, const char *file, unsigned line,
                       const char *text)
{
    struct findings *findings = owner;

    if (severity != MD_CONF_ERROR || findings->why[0])
        return;
    if (file)
        snprintf(findings->why, findings->size, "%s:%u: %s", file, line, text);
    else
        snprintf(findings->why, findings->size, "%s", text);
}

/* Each engine is a node with a name of its own. */
static void name_node(struct library_inside *inside, const char *name)
{
    struct attach_node_config *node = &inside->settings.node;

    snprintf(node->node, sizeof(node->node), "%.20s.%.24s.%d", md_conf_node(inside->conf), name,
             (int)getpid());
}

int library_inside_open(const struct rmds_backbone_options *options, char *why, size_t why_size,
                        struct library_inside **out)
{
    struct library_inside *inside = calloc(1, sizeof(*inside));
    struct findings findings = { .why = why, .size = why_size };
    const struct md_conf_options files = { .program = "rrcpd",
                                           .instance = options->instance,
                                           .network = options->network,
                                           .file = options->configuration,
                                           .sink = on_finding,
                                           .sink_arg = &findings };

    *out = NULL;
    if (!inside)
        return MD_ERR_NOMEM;
    int err = md_conf_load(&files, &inside->conf);
    if (err == MD_OK)
        err =
            attach_settings_read(inside->conf, options->network, &inside->settings, why, why_size);
    if (err != MD_OK) {
        library_inside_close(inside);
        return err == MD_ERR_MALFORMED ? MD_ERR_RANGE : err; /* the application knows no other */
    }
    name_node(inside, options->name);
    *out = inside;
    return MD_OK;
}

void library_inside_close(struct library_inside *inside)
{
    if (!inside)
        return;
    md_conf_destroy(inside->conf);
    free(inside);
}
