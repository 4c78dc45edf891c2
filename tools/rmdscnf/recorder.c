/* recorder.c - see look.h: what a recorder records, and where to. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/secret.h"
#include "itemlist.h"
#include "look.h"

static void look_at_file(const struct look *look, const struct md_conf_object *daemon,
                         const char *param)
{
    const char *path = md_conf_string(daemon, param);

    if (*path && access(path, R_OK) != 0)
        look_find(look, MD_CONF_ERROR, daemon, param, "%s: %s", path, strerror(errno));
}

/* The folder in front of the first %: what stands behind it changes with the time. */
static void look_at_place(const struct look *look, const struct md_conf_object *daemon)
{
    const char *pattern = md_conf_string(daemon, "recordFile");
    char folder[4096] = "";
    struct stat status;

    for (size_t used = 0; *pattern && used + 256 < sizeof(folder); pattern++) {
        if (*pattern == '%' && pattern[1] == 'i') {
            used += (size_t)snprintf(folder + used, sizeof(folder) - used, "%.255s",
                                     md_conf_instance(look->conf));
            pattern++;
        } else if (*pattern == '%') {
            break;
        } else {
            folder[used++] = *pattern;
        }
    }
    char *slash = strrchr(folder, '/');
    snprintf(slash ? slash : folder, 2, "%s", slash && slash != folder ? "" : slash ? "/" : ".");
    if (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode))
        look_find(look, MD_CONF_WARNING, daemon, "recordFile",
                  "there is no folder %s; the recorder makes none, and waits for it", folder);
    else if (access(folder, W_OK | X_OK) != 0)
        look_find(look, MD_CONF_WARNING, daemon, "recordFile", "user %u may not write to %s",
                  (unsigned)geteuid(), folder);
}

/* The recorder must know the letter behind each %. */
static void look_at_pattern(const struct look *look, const struct md_conf_object *daemon)
{
    const char *text = md_conf_string(daemon, "recordFile");

    while ((text = strchr(text, '%')) != NULL) {
        if (!text[1] || !strchr("YmdHMSi%", text[1])) {
            look_find(look, MD_CONF_ERROR, daemon, "recordFile",
                      "has a %% without one of YmdHMSi%% behind it");
            return;
        }
        text += 2;
    }
}

static void look_at_password(const struct look *look, const struct md_conf_object *daemon)
{
    const char *path = md_conf_string(daemon, "recordPasswordFile");
    int fd = *path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    char why[512];

    if (fd < 0)
        return;
    if (md_secret_look(fd, path, MD_SECRET_KEY, why, sizeof(why)) != MD_SECRET_FINE)
        look_find(look, MD_CONF_WARNING, daemon, "recordPasswordFile", "%s", why);
    close(fd);
}

/* An item that names no service is one of each of recordServices. */
static void look_at_items(const struct look *look, const struct md_conf_object *daemon)
{
    const char *path = md_conf_string(daemon, "recordItemFile");
    bool has_service = *md_conf_string(daemon, "recordServices");
    struct itemlist list;
    char why[512];

    if (!has_service && *md_conf_string(daemon, "recordItems")) {
        look_find(look, MD_CONF_ERROR, daemon, "recordServices",
                  "names no service that recordItems are of");
        return;
    }
    if (!*path || access(path, R_OK) != 0)
        return;
    itemlist_init(&list);
    if (itemlist_load(&list, path, why, sizeof(why)) != MD_OK)
        look_find(look, MD_CONF_ERROR, daemon, "recordItemFile", "%s", why);
    for (size_t i = 0; i < list.count; i++) {
        if (has_service || list.entries[i].service)
            continue;
        look_find(look, MD_CONF_ERROR, daemon, "recordServices",
                  "names no service, and %s of %s has none", list.entries[i].name, path);
        break;
    }
    itemlist_fini(&list);
}

void look_at_recorder(const struct look *look)
{
    struct md_conf_object daemon = md_conf_object(look->conf, MD_CONF_DAEMON, NULL);
    const char *domain = md_conf_string(&daemon, "recordDomain");

    look_at_file(look, &daemon, "recordItemFile");
    look_at_file(look, &daemon, "recordPasswordFile");
    look_at_password(look, &daemon);
    look_at_items(look, &daemon);
    look_at_pattern(look, &daemon);
    if (md_conf_word(&daemon, "recordConnection") == 1) {
        look_at_file(look, &daemon, "tlsCertFile");
        look_at_file(look, &daemon, "tlsKeyFile");
        look_at_file(look, &daemon, "tlsCaFile");
    }
    if (itemlist_domain(domain) == 0)
        look_find(look, MD_CONF_ERROR, &daemon, "recordDomain",
                  "\"%s\" is no domain, a number or a name as MarketPrice", domain);
    if (!md_conf_bool(&daemon, "recordFollow") && !*md_conf_string(&daemon, "recordItems") &&
        !*md_conf_string(&daemon, "recordItemFile"))
        look_find(look, MD_CONF_ERROR, &daemon, "recordFollow",
                  "nothing to record: True, or items in recordItems or recordItemFile");
    if (look->is_here)
        look_at_place(look, &daemon);
}
