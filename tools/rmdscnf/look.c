/* look.c - see look.h: which daemons there are. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "look.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "conf/options.h"

static void look_at_daemon(struct look *look)
{
    struct md_conf_object daemon = md_conf_object(look->conf, MD_CONF_DAEMON, NULL);
    char network[256];
    size_t count = 0;

    look_at_daemon_files(look);
    look_at_ports(look);
    if (look->program == MD_CONF_RMDSREC) {
        look_at_recorder(look);
        return;
    }
    if (look->program == MD_CONF_RRCPD) {
        look_at_network(look, NULL);
        return;
    }
    /* p2ps and src_dist open a network themselves with inProcess only. */
    for (; md_conf_list(&daemon, "networkList", count, network, sizeof(network)); count++)
        look_at_network(look, network);
    if (count == 0)
        look_at_network(look, NULL);
}

/* "rrcpd.net1.1@left" into program, network, instance; false for what is no daemon. */
static bool split(char *entry, struct md_conf_options *options, bool *has_namespace)
{
    char *at = strchr(entry, '@');
    char *network = NULL;
    char *instance;

    *has_namespace = at != NULL;
    if (at)
        *at = '\0';
    char *rest = strchr(entry, '.');
    if (rest)
        *rest++ = '\0';
    options->program = entry;
    unsigned bit = md_conf_program_bit(entry);
    instance = rest;
    if (bit == MD_CONF_RRCPD && rest) {
        network = rest;
        instance = strrchr(rest, '.');
        if (instance)
            *instance++ = '\0';
    }
    options->network = network && *network ? network : NULL;
    options->instance = instance && *instance ? instance : NULL;
    return bit == MD_CONF_P2PS || bit == MD_CONF_SRC_DIST || bit == MD_CONF_RRCPD ||
           bit == MD_CONF_RMDSREC;
}

static int look_at_entry(const struct md_conf_options *options, struct look *look, char *entry)
{
    struct md_conf_options own = *options;
    struct md_conf *conf;
    bool has_namespace;
    char host[256] = "";

    snprintf(look->daemon, sizeof(look->daemon), "%.*s", (int)strcspn(entry, "@"), entry);
    if (!split(entry, &own, &has_namespace))
        return MD_EXIT_OK;
    (void)md_conf_load(&own, &conf);
    if (!conf)
        return MD_EXIT_FILE;
    (void)gethostname(host, sizeof(host) - 1);
    host[strcspn(host, ".")] = '\0';
    look->conf = conf;
    look->program = md_conf_program_bit(own.program);
    look->is_here = !has_namespace && strcmp(host, md_conf_node(conf)) == 0;
    look_at_daemon(look);
    md_conf_destroy(conf);
    return MD_EXIT_OK;
}

int look_at_files(const struct md_conf_options *options, struct look *look)
{
    static const char *const usual[] = { "rrcpd", "src_dist.1", "p2ps.1" };
    struct md_conf_options own = *options;
    struct md_conf *conf;
    char entry[256];
    size_t count = 0;
    int code = MD_EXIT_OK;

    own.sink = NULL; /* each mistake in a line was reported before */
    own.program = "rmds";
    (void)md_conf_load(&own, &conf);
    if (!conf)
        return MD_EXIT_FILE;
    struct md_conf_object rmds = md_conf_object(conf, MD_CONF_RMDS, NULL);
    for (; md_conf_list(&rmds, "startList", count, entry, sizeof(entry)) && code == MD_EXIT_OK;
         count++)
        code = look_at_entry(&own, look, entry);
    for (size_t i = 0; count == 0 && i < 3 && code == MD_EXIT_OK; i++) {
        snprintf(entry, sizeof(entry), "%s", usual[i]);
        code = look_at_entry(&own, look, entry);
    }
    md_conf_destroy(conf);
    return code;
}
