/* file.c - reads an access file whose name is a parameter's value. See entitle/entitle.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/secret.h"
#include "rules.h"

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
    const char *param;
    const char *path;
    char *why;
    size_t size;
};

static void say(struct mistakes *mistakes, const char *text)
{
    if (mistakes->why[0])
        md_log(MD_LOG_ERROR, "%s %s", mistakes->param, text);
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
        md_log(MD_LOG_WARNING, "%s %s", mistakes->param, why);
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

int entitle_rules_read_and(const char *param, const char *path, char *why, size_t size,
                           void (*see)(void *self, const char *text, size_t length), void *self,
                           struct entitle_rules **out)
{
    struct mistakes mistakes = { param, path, why, size };
    size_t length;

    *out = NULL;
    why[0] = '\0';
    char *text = read_path(&mistakes, &length);
    if (!text)
        return MD_ERR_SYS;
    see(self, text, length);
    int err = entitle_rules_create(text, length, on_mistake, &mistakes, out);
    free(text);
    if (err == MD_OK && !((*out)->path = strdup(path))) {
        entitle_rules_destroy(*out);
        *out = NULL;
        err = MD_ERR_NOMEM;
    }
    if (err != MD_OK && !why[0])
        snprintf(why, size, "%s: %s", path, md_err_name(err));
    return err;
}

static void see_nothing(void *self, const char *text, size_t length)
{
    (void)self;
    (void)text;
    (void)length;
}

int entitle_rules_read(const char *param, const char *path, char *why, size_t size,
                       struct entitle_rules **out)
{
    return entitle_rules_read_and(param, path, why, size, see_nothing, NULL, out);
}
