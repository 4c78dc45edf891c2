/* reload.c - see reload.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "reload.h"

#include <stdio.h>
#include <stdlib.h>

#include "access.h"
#include "audit.h"
#include "base/err.h"
#include "base/log.h"
#include "credentials.h"
#include "daemon/connections.h"
#include "dictionaries.h"
#include "tokens.h"

/* ---- parameters ---- */

/* One tuning for each worker, as a worker owns its own. */
struct tunings {
    struct p2ps *p2ps;
    struct p2ps_tuning list[WORKERS_MAX];
    enum p2ps_plain_policy plain;
    bool has_no_memory;
};

struct user_list {
    struct p2ps_tuning *tuning;
    bool has_no_memory;
};

static void add_user(void *arg, const char *name)
{
    struct user_list *list = arg;
    struct p2ps_tuning *tuning = list->tuning;
    struct p2ps_user_line *users =
        realloc(tuning->users, (tuning->user_count + 1) * sizeof(*users));

    if (!users) {
        list->has_no_memory = true;
        return;
    }
    tuning->users = users;
    snprintf(users[tuning->user_count++].name, sizeof(users->name), "%s", name);
}

static struct p2ps_rate rate_of(const struct md_conf_object *object, const char *rate,
                                const char *burst)
{
    return (struct p2ps_rate){ md_conf_u32(object, rate), md_conf_u32(object, burst) };
}

static void read_line(const struct md_conf *conf, struct p2ps_user_line *line)
{
    struct md_conf_object user = md_conf_object(conf, MD_CONF_USER, line->name);

    line->items = md_conf_u64(&user, "itemLimit");
    line->output_rate = md_conf_u64(&user, "outputRate");
    line->is_native = md_conf_bool(&user, "disableDataConversion");
}

static bool read_tuning(const struct p2ps *p2ps, const struct md_conf *conf,
                        const struct md_conf_object *object, struct p2ps_tuning *tuning)
{
    struct user_list list = { .tuning = tuning };

    *tuning = (struct p2ps_tuning){
        .host_items = md_conf_u64(object, "itemLimitPerHost"),
        .mount_items = md_conf_u64(object, "itemLimitPerMount"),
        .rates = {
            .logins = rate_of(object, "loginRate", "loginBurst"),
            .requests = rate_of(object, "requestRate", "requestBurst"),
            .posts = rate_of(object, "postRate", "postBurst"),
        },
        .aggregate_items = md_conf_u64(object, "aggregateItemLimit"),
        .flush_interval_ns =
            md_conf_bool(object, "timedWrites") ? md_conf_time_ns(object, "flushInterval") : 0,
        .tcp_nodelay = md_conf_bool(object, "tcpNoDelay"),
        .packing = md_conf_bool(object, "rsslMsgPacking"),
        .ripples = md_conf_bool(object, "rippleFields")
                       ? p2ps_dictionary_ripples(p2ps->dictionaries)
                       : NULL,
        .keeps_pages = md_conf_bool(object, "cacheAnsiPages"),
        .allows_native = md_conf_bool(object, "allowDisableDataConversion"),
        .fills_post_user_id = md_conf_bool(object, "postUserId"),
        .record_level = p2ps_audit_level(object),
        .hides_reasons = !md_conf_bool(object, "accessReveal"),
        .is_dry_run = md_conf_bool(object, "accessDryRun"),
    };
    read_line(conf, &tuning->others);
    md_conf_names(conf, MD_CONF_USER, add_user, &list);
    for (unsigned u = 0; u < tuning->user_count; u++)
        read_line(conf, &tuning->users[u]);
    return !list.has_no_memory;
}

static void discard_tunings(void *fresh)
{
    struct tunings *tunings = fresh;

    for (unsigned i = 0; i < WORKERS_MAX; i++)
        free(tunings->list[i].users);
    free(tunings);
}

/* NULL: no memory. */
static struct tunings *read_tunings(struct p2ps *p2ps, const struct md_conf *conf,
                                    const struct md_conf_object *object)
{
    struct tunings *tunings = calloc(1, sizeof(*tunings));

    for (unsigned i = 0; tunings && i < p2ps->worker_count; i++) {
        if (read_tuning(p2ps, conf, object, &tunings->list[i]))
            continue;
        discard_tunings(tunings);
        tunings = NULL;
    }
    if (tunings) {
        tunings->p2ps = p2ps;
        tunings->plain = (enum p2ps_plain_policy)md_conf_word(object, "plainPassword");
    }
    return tunings;
}

static void commit_tunings(void *fresh)
{
    struct tunings *tunings = fresh;
    struct p2ps *p2ps = tunings->p2ps;

    for (unsigned i = 0; i < p2ps->worker_count; i++)
        p2ps_worker_tune(p2ps->workers[i], &tunings->list[i]);
    p2ps_credentials_plain_set(p2ps->credentials, tunings->plain);
    free(tunings);
}

int p2ps_tune_workers(struct p2ps *p2ps)
{
    struct tunings *tunings = read_tunings(p2ps, p2ps->daemon.conf, &p2ps->daemon.object);

    if (!tunings)
        return MD_ERR_NOMEM;
    commit_tunings(tunings);
    return MD_OK;
}

static void prepare_parameters(struct p2ps *p2ps, struct daemon_reload *reload)
{
    struct tunings *tunings = read_tunings(p2ps, reload->conf, &reload->object);

    if (tunings)
        daemon_reload_add(reload,
                          &(struct daemon_reload_step){ commit_tunings, discard_tunings, tunings });
    else
        daemon_reload_refuse(reload, "no memory for the parameters of the workers");
}

static void commit_dictionaries(void *fresh)
{
    struct p2ps *p2ps = fresh;

    p2ps_dictionary_store_read(p2ps->dictionaries, &p2ps->daemon.object);
}

/* ---- rules ---- */

struct rules {
    struct p2ps *p2ps;
    struct p2ps_access *access;
    const char *param;
    struct p2ps_access_file fresh;
};

/* No worker can be reading rules that are not in force any more. */
static bool all_entitled_again(const struct p2ps *p2ps)
{
    for (unsigned i = 0; i < p2ps->worker_count; i++) {
        if (!p2ps_worker_entitled_again(p2ps->workers[i]))
            return false;
    }
    return true;
}

int p2ps_load_rules(struct p2ps *p2ps)
{
    const struct md_conf_object *daemon = &p2ps->daemon.object;
    int err = p2ps_access_load(p2ps->access, md_conf_string(daemon, "accessFile"));

    return err == MD_OK ? p2ps_access_load(p2ps->shadow, md_conf_string(daemon, "accessShadowFile"))
                        : err;
}

/* Every login and open item is asked for again, once for both files: that of the shadow is taken
 * first. */
static void commit_rules(void *fresh)
{
    struct rules *rules = fresh;
    struct p2ps *p2ps = rules->p2ps;

    bool is_last =
        rules->access == p2ps->access || !md_conf_string(&p2ps->daemon.object, "accessFile")[0];

    p2ps_access_take(rules->access, &rules->fresh);
    for (unsigned i = 0; is_last && i < p2ps->worker_count; i++)
        p2ps_worker_entitle_again(p2ps->workers[i]);
    md_log(MD_LOG_NOTICE, "access rules read from %s",
           md_conf_string(&p2ps->daemon.object, rules->param));
    free(rules);
}

static void discard_rules(void *fresh)
{
    struct rules *rules = fresh;

    entitle_rules_destroy(rules->fresh.rules);
    free(rules);
}

void p2ps_watch_rules(struct p2ps *p2ps)
{
    const struct md_conf_object *daemon = &p2ps->daemon.object;

    uint64_t now_ns = md_loop_now(p2ps->daemon.loop);

    if (!md_conf_bool(daemon, "accessWatch"))
        return;
    bool is_shadow = p2ps_access_look(p2ps->shadow, now_ns);
    if (!p2ps_access_look(p2ps->access, now_ns) && !is_shadow)
        return;
    md_log(MD_LOG_NOTICE, "accessWatch: %s or a file that it includes has changed, reloading",
           md_conf_string(daemon, is_shadow ? "accessShadowFile" : "accessFile"));
    (void)daemon_reload(&p2ps->daemon);
}

static void prepare_rules(struct p2ps *p2ps, struct daemon_reload *reload,
                          struct p2ps_access *access, const char *param)
{
    char why[DAEMON_RELOAD_WHY] = "no memory";
    struct rules *rules = calloc(1, sizeof(*rules));

    if (all_entitled_again(p2ps))
        p2ps_access_forget(access);
    if (!rules || p2ps_access_read(access, md_conf_string(&reload->object, param), why, sizeof(why),
                                   &rules->fresh) != MD_OK) {
        daemon_reload_refuse(reload, "%s %s", param, why);
        free(rules);
    } else if (rules->fresh.rules) {
        rules->p2ps = p2ps;
        rules->access = access;
        rules->param = param;
        daemon_reload_add(reload,
                          &(struct daemon_reload_step){ commit_rules, discard_rules, rules });
    } else {
        free(rules);
    }
}

/* ---- keys of tokens ---- */

int p2ps_load_tokens(struct p2ps *p2ps)
{
    const struct md_conf_object *daemon = &p2ps->daemon.object;
    struct p2ps_tokens_fresh *fresh;
    char why[DAEMON_RELOAD_WHY];
    int err = p2ps_tokens_create(&p2ps->tokens);

    if (err != MD_OK)
        return err;
    err = p2ps_tokens_read(p2ps->tokens, daemon, why, sizeof(why), &fresh);
    if (err != MD_OK) {
        md_log(MD_LOG_CRITICAL, "%s", why);
        return err;
    }
    p2ps_tokens_commit(fresh);
    if (md_conf_string(daemon, "jwksFile")[0] && !md_conf_string(daemon, "accessFile")[0])
        md_log(MD_LOG_WARNING, "jwksFile is set and accessFile is not: who shows no token is let "
                               "in, too");
    return MD_OK;
}

static void commit_tokens(void *fresh)
{
    p2ps_tokens_commit(fresh);
}

static void discard_tokens(void *fresh)
{
    p2ps_tokens_discard(fresh);
}

static void prepare_tokens(struct p2ps *p2ps, struct daemon_reload *reload)
{
    struct p2ps_tokens_fresh *fresh;
    char why[DAEMON_RELOAD_WHY];

    if (p2ps_tokens_read(p2ps->tokens, &reload->object, why, sizeof(why), &fresh) != MD_OK)
        daemon_reload_refuse(reload, "%s", why);
    else
        daemon_reload_add(reload,
                          &(struct daemon_reload_step){ commit_tokens, discard_tokens, fresh });
}

/* ---- the audit trail ---- */

struct acts {
    struct p2ps *p2ps;
    char was[AUDIT_SUM_SIZE];
};

static void commit_acts(void *fresh)
{
    struct acts *acts = fresh;

    p2ps_audit_reload(acts->p2ps, acts->was);
    free(acts);
}

static void prepare_acts(struct p2ps *p2ps, struct daemon_reload *reload)
{
    struct acts *acts = calloc(1, sizeof(*acts));

    if (!acts) {
        daemon_reload_refuse(reload, "no memory for the audit trail");
        return;
    }
    acts->p2ps = p2ps;
    snprintf(acts->was, sizeof(acts->was), "%s", p2ps_access_sum(p2ps->access));
    daemon_reload_add(reload, &(struct daemon_reload_step){ commit_acts, free, acts });
}

void p2ps_reload(void *owner, struct daemon_reload *reload)
{
    struct p2ps *p2ps = owner;

    daemon_tls_reload(reload, p2ps->tls, &reload->object, "server");
    prepare_tokens(p2ps, reload);
    prepare_rules(p2ps, reload, p2ps->shadow, "accessShadowFile");
    prepare_rules(p2ps, reload, p2ps->access, "accessFile");
    prepare_parameters(p2ps, reload);
    daemon_reload_add(reload,
                      &(struct daemon_reload_step){ .commit = commit_dictionaries, .fresh = p2ps });
    prepare_acts(p2ps, reload);
}
