/* access.c - see access.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "entitle/entitle.h"

#define PARAM    "providerAccessFile"
#define LOOPBACK "127.0.0.1"

static bool is_open_to_all(const struct md_conf_object *daemon)
{
    return strcmp(md_conf_string(daemon, PARAM), "none") == 0;
}

bool src_dist_has_access(const struct md_conf_object *daemon)
{
    return md_conf_string(daemon, PARAM)[0] && !is_open_to_all(daemon);
}

const char *src_dist_port_address(const struct md_conf_object *daemon)
{
    const char *address = md_conf_string(daemon, "listenAddress");

    if (is_open_to_all(daemon))
        md_log(MD_LOG_WARNING, "providerAccessFile is none: whoever reaches the port for providers "
                               "may publish every service");
    if (md_conf_string(daemon, PARAM)[0])
        return address;
    md_log(strncmp(address, "127.", 4) != 0 && address[0] ? MD_LOG_WARNING : MD_LOG_NOTICE,
           "the port for providers is open on " LOOPBACK " only, as "
           "providerAccessFile is not set: name a "
           "file that says who may publish what, or write none to let everybody publish");
    return LOOPBACK;
}

static void tell_emptiness(const char *path, const struct entitle_rules *rules)
{
    if (entitle_rules_has_hashes(rules))
        md_log(
            MD_LOG_ERROR,
            "providerAccessFile %s: hash= is for accessFile of p2ps: these users may not publish; "
            "give them a password=, a token= or a tokenhash=",
            path);
    if (!entitle_rules_open_to_any(rules, ENTITLE_LOGIN))
        md_log(MD_LOG_ERROR, "providerAccessFile %s: no line begins with user: nobody may publish",
               path);
    else if (!entitle_rules_open_to_any(rules, ENTITLE_PUBLISH))
        md_log(MD_LOG_ERROR,
               "providerAccessFile %s: no line says allow USER SERVICE * do=publish: nobody may "
               "publish",
               path);
    else
        md_log(MD_LOG_NOTICE, "who may publish is read from %s", path);
}

void src_dist_access_load(struct src_dist *sd)
{
    const char *path = md_conf_string(&sd->daemon.object, PARAM);
    struct entitle_rules *rules;
    char why[640];

    if (!sd->publishers || !src_dist_has_access(&sd->daemon.object))
        return;
    if (entitle_rules_read(PARAM, path, why, sizeof(why), &rules) != MD_OK) {
        md_log(MD_LOG_ERROR,
               "providerAccessFile %s; nobody may publish, routes are served: mend the file, then "
               "reload",
               why);
        return;
    }
    tell_emptiness(path, rules);
    srcdist_core_access_set(sd->publishers->loop->core, 0, rules);
}

/* ---- reload ---- */

struct access_step {
    struct route_loop *loop;
    struct entitle_rules *rules;
    char path[512];
};

static void commit_access(void *fresh)
{
    struct access_step *step = fresh;

    tell_emptiness(step->path, step->rules);
    route_loop_access_set(step->loop, step->rules);
    free(step);
}

static void discard_access(void *fresh)
{
    struct access_step *step = fresh;

    entitle_rules_destroy(step->rules);
    free(step);
}

void src_dist_access_reload(struct src_dist *sd, struct daemon_reload *reload)
{
    struct md_conf_object start = md_conf_object(sd->conf, MD_CONF_DAEMON, NULL);
    char why[640] = "no memory";

    if (!sd->publishers || !src_dist_has_access(&start))
        return;
    struct access_step *step = calloc(1, sizeof(*step));
    if (!step || entitle_rules_read(PARAM, md_conf_string(&start, PARAM), why, sizeof(why),
                                    &step->rules) != MD_OK) {
        daemon_reload_refuse(reload, "providerAccessFile %s", why);
        free(step);
        return;
    }
    step->loop = sd->publishers->loop;
    snprintf(step->path, sizeof(step->path), "%s", md_conf_string(&start, PARAM));
    daemon_reload_add(reload, &(struct daemon_reload_step){ commit_access, discard_access, step });
}
