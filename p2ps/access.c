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
#define LOOK_NS 2000000000ull

struct looked;

struct p2ps_access {
    const char *param;
    entitle_rules_slot slot;
    struct entitle_rules *rules;        /* the same, ours to destroy */
    char sum[AUDIT_SUM_SIZE];           /* of the file that they are from */
    struct entitle_rules *old[OLD_MAX]; /* workers may still be reading them */
    unsigned old_count;
    /* accessWatch: the files of the last reading, whatever came of it. */
    struct looked *looked;
    size_t looked_count;
    uint64_t looked_ns;
    uint64_t tried;
    uint64_t last; /* all of their stamps, when they were looked at last */
};

int p2ps_access_create(const char *param, struct p2ps_access **out)
{
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return MD_ERR_NOMEM;
    (*out)->param = param;
    return MD_OK;
}

void p2ps_access_forget(struct p2ps_access *access)
{
    for (unsigned i = 0; i < access->old_count; i++)
        entitle_rules_destroy(access->old[i]);
    access->old_count = 0;
}

/* ---- the files ---- */

struct looked {
    char *path;
    uint64_t stamp;
};

static void forget_files(struct p2ps_access *access)
{
    for (size_t i = 0; i < access->looked_count; i++)
        free(access->looked[i].path);
    free(access->looked);
    access->looked = NULL;
    access->looked_count = 0;
}

struct seeing {
    struct p2ps_access *access;
    struct audit_summing *sum;
};

/* Without memory for it the file is not looked at, and its sum is missing. */
static void see(void *self, const struct entitle_seen *seen)
{
    struct seeing *seeing = self;
    struct p2ps_access *access = seeing->access;
    struct looked *more =
        realloc(access->looked, (access->looked_count + 1) * sizeof(*access->looked));

    if (more) {
        access->looked = more;
        more[access->looked_count] = (struct looked){ strdup(seen->path), seen->stamp };
        access->looked_count += more[access->looked_count].path != NULL;
    }
    if (seeing->sum && seen->text)
        audit_sum_add(seeing->sum, seen->text, seen->length);
}

static bool is_same(const struct p2ps_access *access, uint64_t *now)
{
    bool is_same = true;

    *now = 0;
    for (size_t i = 0; i < access->looked_count; i++) {
        uint64_t stamp = entitle_file_stamp(access->looked[i].path);
        is_same &= stamp == access->looked[i].stamp;
        *now = *now * 31 + stamp;
    }
    return is_same;
}

bool p2ps_access_look(struct p2ps_access *access, uint64_t now_ns)
{
    uint64_t now;

    if (now_ns - access->looked_ns < LOOK_NS)
        return false;
    access->looked_ns = now_ns;
    bool has_changed = !is_same(access, &now);
    bool is_steady = now == access->last; /* nobody is writing it */
    access->last = now;
    if (!has_changed || !is_steady || now == access->tried)
        return false;
    access->tried = now; /* once, also if it is refused for something else */
    return true;
}

void p2ps_access_destroy(struct p2ps_access *access)
{
    if (!access)
        return;
    p2ps_access_forget(access);
    forget_files(access);
    entitle_rules_destroy(access->rules);
    free(access);
}

int p2ps_access_read(struct p2ps_access *access, const char *path, char *why, size_t size,
                     struct p2ps_access_file *fresh)
{
    struct seeing seeing = { .access = access };

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
    forget_files(access);
    seeing.sum = audit_sum_begin();
    int err = entitle_rules_read_and(access->param, path, why, size, see, &seeing, &fresh->rules);
    if (seeing.sum)
        audit_sum_end(seeing.sum, fresh->sum);
    return err;
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
        md_log(MD_LOG_ERROR, "%s %s", access->param, why);
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
