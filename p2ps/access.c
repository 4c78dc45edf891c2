/* access.c - see access.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/secret.h"

#define OLD_MAX 64 /* loads while one worker hangs */

struct p2ps_access {
    entitle_rules_slot slot;
    struct entitle_rules *rules;        /* the same, ours to destroy */
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

/* All of the file, from malloc(); NULL with errno set, also when only a part could be read. */
static char *read_all(FILE *file, size_t *length)
{
    size_t room = 65536;
    char *text = malloc(room);

    *length = 0;
    while (text) {
        *length += fread(text + *length, 1, room - *length, file);
        if (*length < room)
            break;
        room *= 2;
        char *more = realloc(text, room);
        if (!more)
            free(text);
        text = more;
    }
    if (text && ferror(file)) {
        free(text);
        text = NULL;
    }
    return text;
}

/* Where the mistakes of one file go: the first to the caller, the others to the log. */
struct mistakes {
    const char *path;
    char *why;
    size_t size;
};

static void say(struct mistakes *mistakes, const char *text)
{
    if (mistakes->why[0])
        md_log(MD_LOG_ERROR, "accessFile %s", text);
    else
        snprintf(mistakes->why, mistakes->size, "%s", text);
}

static char *read_path(struct mistakes *mistakes, size_t *length)
{
    FILE *file = fopen(mistakes->path, "rb");
    enum md_secret_state state = MD_SECRET_FINE;
    char why[640] = "";
    char *text = NULL;

    if (file)
        state = md_secret_look(fileno(file), mistakes->path, MD_SECRET_RULES, why, sizeof(why));
    if (state == MD_SECRET_REFUSED) {
        say(mistakes, why);
        fclose(file);
        return NULL;
    }
    if (!file || !(text = read_all(file, length))) {
        snprintf(why, sizeof(why), "%s: %s", mistakes->path, strerror(errno));
        say(mistakes, why);
    } else if (state == MD_SECRET_OPEN) {
        md_log(MD_LOG_WARNING, "accessFile %s", why);
    }
    if (file)
        fclose(file);
    return text;
}

static void on_mistake(void *closure, int line, const char *text)
{
    struct mistakes *mistakes = closure;
    char sentence[640];

    snprintf(sentence, sizeof(sentence), "%s:%d: %s", mistakes->path, line, text);
    say(mistakes, sentence);
}

int p2ps_access_read(const struct p2ps_access *access, const char *path, char *why, size_t size,
                     struct entitle_rules **fresh)
{
    struct mistakes mistakes = { path, why, size };
    size_t length;

    *fresh = NULL;
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
    char *text = read_path(&mistakes, &length);
    if (!text)
        return MD_ERR_SYS;
    int err = entitle_rules_create(text, length, on_mistake, &mistakes, fresh);
    free(text);
    if (err != MD_OK && !why[0])
        snprintf(why, size, "%s: %s", path, md_err_name(err));
    return err;
}

void p2ps_access_take(struct p2ps_access *access, struct entitle_rules *fresh)
{
    if (access->rules)
        access->old[access->old_count++] = access->rules;
    access->rules = fresh;
    atomic_store_explicit(&access->slot, fresh, memory_order_release);
}

int p2ps_access_load(struct p2ps_access *access, const char *path)
{
    struct entitle_rules *fresh;
    char why[640];
    int err = p2ps_access_read(access, path, why, sizeof(why), &fresh);

    if (err != MD_OK) {
        md_log(MD_LOG_ERROR, "accessFile %s", why);
        return err;
    }
    if (fresh) {
        p2ps_access_take(access, fresh);
        md_log(MD_LOG_NOTICE, "access rules read from %s", path);
    }
    return MD_OK;
}

struct entitle_authority p2ps_access_authority(struct p2ps_access *access)
{
    return entitle_rules_authority(&access->slot);
}
