/* audit.c - see audit.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "audit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "p2ps.h"

/* One for each worker, and the last for the control loop. */
struct ring {
    struct p2ps_audit *audit;
    unsigned index;
};

struct p2ps_audit {
    struct audit *trail; /* NULL: accessAudit is empty */
    struct ring rings[WORKERS_MAX + 1];
    struct ring *control;
    struct md_ctr *written, *lost, *errors;
    struct audit_stats shown;
    _Atomic unsigned level; /* accessAuditLevel */
    _Atomic bool refuses;   /* accessAuditFull */
    pthread_mutex_t lock;   /* of what follows */
    struct status_refusal refusals[STATUS_REFUSALS_MAX];
    uint64_t refusal_count; /* ever */
};

/* ---- refusals ---- */

static void copy(char *out, size_t size, struct entitle_view text)
{
    size_t length = text.length < size - 1 ? text.length : size - 1;

    if (length)
        memcpy(out, text.data, length);
    out[length] = 0;
}

static void keep_refusal(struct p2ps_audit *audit, const struct entitle_record *record)
{
    static const char *const events[] = { [ENTITLE_RECORD_LOGIN] = "login",
                                          [ENTITLE_RECORD_OPEN] = "open",
                                          [ENTITLE_RECORD_REVOKE] = "revoke",
                                          [ENTITLE_RECORD_POST] = "post" };
    const char *event =
        record->kind < sizeof(events) / sizeof(events[0]) ? events[record->kind] : NULL;

    pthread_mutex_lock(&audit->lock);
    struct status_refusal *refusal = &audit->refusals[audit->refusal_count++ % STATUS_REFUSALS_MAX];
    refusal->wall_ns = md_clock_wall_ns();
    refusal->code = record->code;
    snprintf(refusal->event, sizeof(refusal->event), "%s", event ? event : "other");
    copy(refusal->user, sizeof(refusal->user), record->text[ENTITLE_TEXT_USER]);
    copy(refusal->address, sizeof(refusal->address), record->text[ENTITLE_TEXT_ADDRESS]);
    copy(refusal->service, sizeof(refusal->service), record->text[ENTITLE_TEXT_SERVICE]);
    copy(refusal->item, sizeof(refusal->item), record->text[ENTITLE_TEXT_ITEM]);
    copy(refusal->why, sizeof(refusal->why), record->text[ENTITLE_TEXT_WHY]);
    copy(refusal->rule, sizeof(refusal->rule), record->text[ENTITLE_TEXT_RULE]);
    pthread_mutex_unlock(&audit->lock);
}

unsigned p2ps_audit_refusals(void *owner, struct status_refusal *out, unsigned max)
{
    const struct p2ps *p2ps = owner;
    struct p2ps_audit *audit = p2ps->audit;
    unsigned count = 0;

    if (!audit)
        return 0;
    pthread_mutex_lock(&audit->lock);
    while (count < max && count < STATUS_REFUSALS_MAX && count < audit->refusal_count) {
        out[count] = audit->refusals[(audit->refusal_count - 1 - count) % STATUS_REFUSALS_MAX];
        count++;
    }
    pthread_mutex_unlock(&audit->lock);
    return count;
}

/* ---- records ---- */

static void put(void *self, const struct entitle_record *record)
{
    const struct ring *ring = self;
    struct p2ps_audit *audit = ring->audit;

    if (record->is_denied)
        keep_refusal(audit, record);
    if (audit->trail && record->level <= atomic_load_explicit(&audit->level, memory_order_relaxed))
        audit_put(audit->trail, ring->index, record);
}

static bool has_room(void *self, enum entitle_level level)
{
    const struct ring *ring = self;
    const struct p2ps_audit *audit = ring->audit;

    return !audit->trail || !atomic_load_explicit(&audit->refuses, memory_order_relaxed) ||
           level > atomic_load_explicit(&audit->level, memory_order_relaxed) ||
           audit_has_room(audit->trail, ring->index);
}

struct entitle_recorder p2ps_audit_recorder(struct p2ps_audit *audit, unsigned worker)
{
    return (struct entitle_recorder){
        .put = put,
        .has_room = has_room,
        .self = &audit->rings[worker],
    };
}

static enum entitle_level level_of(const struct md_conf_object *object)
{
    static const char *const words[] = { "logins", "denials", "posts", "items" };
    const char *word = md_conf_string(object, "accessAuditLevel");

    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(word, words[i]) == 0)
            return ENTITLE_LEVEL_LOGINS + i;
    }
    return ENTITLE_LEVEL_POSTS;
}

enum entitle_level p2ps_audit_level(const struct md_conf_object *object)
{
    enum entitle_level level = level_of(object);

    return level > ENTITLE_LEVEL_DENIALS ? level : ENTITLE_LEVEL_DENIALS;
}

static void take_policy(struct p2ps_audit *audit, const struct md_conf_object *object)
{
    atomic_store_explicit(&audit->level, level_of(object), memory_order_relaxed);
    atomic_store_explicit(&audit->refuses,
                          strcmp(md_conf_string(object, "accessAuditFull"), "refuse") == 0,
                          memory_order_relaxed);
}

/* ---- acts ---- */

static void say(const struct p2ps *p2ps, enum entitle_record_kind kind, const char *was)
{
    const char *why = kind == ENTITLE_RECORD_START ? p2ps->daemon.identity : "";
    const struct entitle_record record = {
        .kind = kind,
        .level = ENTITLE_LEVEL_LOGINS,
        .text = {
            [ENTITLE_TEXT_WHY] = entitle_text(why),
            [ENTITLE_TEXT_FILE] = entitle_text(md_conf_string(&p2ps->daemon.object, "accessFile")),
            [ENTITLE_TEXT_WAS] = entitle_text(was),
            [ENTITLE_TEXT_NOW] = entitle_text(p2ps_access_sum(p2ps->access)),
        },
    };

    put(p2ps->audit->control, &record);
}

void p2ps_audit_reload(struct p2ps *p2ps, const char *was)
{
    take_policy(p2ps->audit, &p2ps->daemon.object);
    if (!p2ps->audit->trail)
        return;
    say(p2ps, ENTITLE_RECORD_RELOAD, was);
    audit_reopen(p2ps->audit->trail);
}

void p2ps_audit_order(void *owner, const char *who, const char *order, const char *outcome)
{
    const struct p2ps *p2ps = owner;
    const struct entitle_record record = {
        .kind = ENTITLE_RECORD_ORDER,
        .level = ENTITLE_LEVEL_LOGINS,
        .text = {
            [ENTITLE_TEXT_WHO] = entitle_text(who),
            [ENTITLE_TEXT_ORDER] = entitle_text(order),
            [ENTITLE_TEXT_WHY] = entitle_text(outcome),
        },
    };

    if (p2ps->audit)
        put(p2ps->audit->control, &record);
}

void p2ps_audit_beat(struct p2ps_audit *audit)
{
    struct audit_stats now;

    if (!audit || !audit->trail)
        return;
    audit_stats(audit->trail, &now);
    md_ctr_add(audit->written, now.written - audit->shown.written);
    md_ctr_add(audit->lost, now.lost - audit->shown.lost);
    md_ctr_add(audit->errors, now.errors - audit->shown.errors);
    audit->shown = now;
}

/* ---- life ---- */

int p2ps_audit_open(struct p2ps *p2ps)
{
    const struct md_conf_object *daemon = &p2ps->daemon.object;
    unsigned workers = md_conf_u32(daemon, "workers");
    const struct audit_config config = {
        .path = md_conf_string(daemon, "accessAudit"),
        .size_max = md_conf_u64(daemon, "accessAuditMaxSize"),
        .keep = md_conf_u32(daemon, "accessAuditKeep"),
        .rings = workers + 1,
        .ring_bytes = md_conf_u64(daemon, "accessAuditQueue"),
    };
    struct p2ps_audit *audit = calloc(1, sizeof(*audit));
    char why[640] = "no memory";

    if (!audit)
        return MD_ERR_NOMEM;
    pthread_mutex_init(&audit->lock, NULL);
    for (unsigned i = 0; i <= workers; i++)
        audit->rings[i] = (struct ring){ audit, i };
    audit->control = &audit->rings[workers];
    take_policy(audit, daemon);
    p2ps->audit = audit;
    if (!config.path[0])
        return MD_OK;
    int err = audit_open(&config, why, sizeof(why), &audit->trail);
    if (err != MD_OK) {
        md_log(MD_LOG_CRITICAL, "accessAudit %s", why);
        return err;
    }
    audit->written = stats_counter(p2ps->daemon.stats, "p2ps.auditWritten");
    audit->lost = stats_counter(p2ps->daemon.stats, "p2ps.auditLost");
    audit->errors = stats_counter(p2ps->daemon.stats, "p2ps.auditErrors");
    say(p2ps, ENTITLE_RECORD_START, "");
    return MD_OK;
}

void p2ps_audit_close(struct p2ps *p2ps)
{
    const struct entitle_record record = { .kind = ENTITLE_RECORD_STOP,
                                           .level = ENTITLE_LEVEL_LOGINS };
    struct p2ps_audit *audit = p2ps->audit;

    p2ps->audit = NULL;
    if (!audit)
        return;
    put(audit->control, &record);
    audit_close(audit->trail);
    pthread_mutex_destroy(&audit->lock);
    free(audit);
}
