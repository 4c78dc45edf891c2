/* access.c - see access.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"

#define OLD_MAX 64 /* loads while one worker hangs */

struct p2ps_access {
    entitle_rules_slot slot;
    struct entitle_rules *rules;        /* the same, ours to destroy */
    char sum[AUDIT_SUM_SIZE];           /* of the file that they are from */
    struct entitle_rules *old[OLD_MAX]; /* workers may still be reading them */
    unsigned old_count;
};

int p2ps_access_create(struct p2ps_access **out)
{
    *out = calloc(1, sizeof(**out));
    return *out ? MD_OK : MD_ERR_NOMEM;
}

void p2ps_access_destroy(struct p2ps_access *access)
{
    if (!access)
        return;
    p2ps_access_forget(access);
    entitle_rules_destroy(access->rules);
    free(access);
}

void p2ps_access_forget(struct p2ps_access *access)
{
    for (unsigned i = 0; i < access->old_count; i++)
        entitle_rules_destroy(access->old[i]);
    access->old_count = 0;
}

static void see(void *self, const char *text, size_t length)
{
    struct p2ps_access_file *fresh = self;

    audit_sum(text, length, fresh->sum);
}

int p2ps_access_read(const struct p2ps_access *access, const char *path, char *why, size_t size,
                     struct p2ps_access_file *fresh)
{
    *fresh = (struct p2ps_access_file){ .rules = NULL };
    why[0] = '\0';
    if (!path[0])
        return MD_OK;
    if (access->old_count == OLD_MAX) {
        snprintf(why, size,
                 "%s: not read, a worker has not taken the rules of %d reloads before; see which "
                 "one hangs, then reload again",
                 path, OLD_MAX);
        return MD_ERR_FULL;
    }
    return entitle_rules_read_and("accessFile", path, why, size, see, fresh, &fresh->rules);
}

void p2ps_access_take(struct p2ps_access *access, const struct p2ps_access_file *fresh)
{
    if (access->rules)
        access->old[access->old_count++] = access->rules;
    access->rules = fresh->rules;
    memcpy(access->sum, fresh->sum, sizeof(access->sum));
    atomic_store_explicit(&access->slot, fresh->rules, memory_order_release);
}

const char *p2ps_access_sum(const struct p2ps_access *access)
{
    return access->sum;
}

int p2ps_access_load(struct p2ps_access *access, const char *path)
{
    struct p2ps_access_file fresh;
    char why[640];
    int err = p2ps_access_read(access, path, why, sizeof(why), &fresh);

    if (err != MD_OK) {
        md_log(MD_LOG_ERROR, "accessFile %s", why);
        return err;
    }
    if (fresh.rules) {
        p2ps_access_take(access, &fresh);
        md_log(MD_LOG_NOTICE, "access rules read from %s", path);
    }
    return MD_OK;
}

entitle_rules_slot *p2ps_access_rules(struct p2ps_access *access)
{
    return &access->slot;
}
