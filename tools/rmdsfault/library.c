/* library.c - see library.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "library.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "conf/options.h"
#include "dictionary.h"

#define PROGRAM        "rmdsfault"
#define SUFFIX         ".fault"
#define PATH_MAX_BYTES 4400

static bool has_suffix(const char *name)
{
    size_t length = strlen(name), suffix = strlen(SUFFIX);

    return length > suffix && strcmp(name + length - suffix, SUFFIX) == 0;
}

static void folder_path(const char *folder, char *out, size_t size)
{
    char found[4096];

    if (folder)
        (void)snprintf(out, size, "%s", folder);
    else if (tool_conf_folder("faults", found, sizeof(found)))
        (void)snprintf(out, size, "%s/faults", found);
    else
        (void)snprintf(out, size, "%s", FAULT_SHARE "/faults");
}

/* The text, to be freed; NULL after it has said why. */
static char *read_text(const char *folder, const char *name, size_t *length)
{
    char path[PATH_MAX_BYTES], where[4200];

    if (strchr(name, '/') || has_suffix(name)) {
        (void)snprintf(path, sizeof(path), "%s", name);
    } else {
        folder_path(folder, where, sizeof(where));
        (void)snprintf(path, sizeof(path), "%s/%.100s" SUFFIX, where, name);
    }
    char *text = tool_file_read(path, FAULT_SCRIPT_MAX, length);
    if (!text)
        fprintf(stderr, PROGRAM ": %s: %s; `" PROGRAM " list` names the scenarios\n", path,
                strerror(errno));
    return text;
}

int library_load(const char *folder, const char *name, struct fault_script *script)
{
    struct fault_script_error error;
    size_t length;
    char *text = read_text(folder, name, &length);

    if (!text)
        return MD_EXIT_FILE;
    int rc = fault_script_parse(script, text, length, &error);
    free(text);
    if (rc == MD_OK)
        return MD_EXIT_OK;
    fprintf(stderr, PROGRAM ": %s:%u:%u: %s\n", name, error.line, error.column, error.text);
    return MD_EXIT_FILE;
}

int library_show(const char *folder, const char *name)
{
    size_t length;
    char *text = read_text(folder, name, &length);

    if (!text)
        return MD_EXIT_FILE;
    (void)fwrite(text, 1, length, stdout);
    free(text);
    return MD_EXIT_OK;
}

static int is_scenario(const struct dirent *entry)
{
    return has_suffix(entry->d_name);
}

int library_list(const char *folder)
{
    static struct fault_script script;
    struct dirent **entries;
    char where[4200];
    int rc = MD_EXIT_OK;

    folder_path(folder, where, sizeof(where));
    int count = scandir(where, &entries, is_scenario, alphasort);
    if (count < 0) {
        fprintf(stderr, PROGRAM ": %s: %s\n", where, strerror(errno));
        return MD_EXIT_FILE;
    }
    for (int i = 0; i < count; i++) {
        char *name = entries[i]->d_name;
        name[strlen(name) - strlen(SUFFIX)] = 0;
        if (library_load(folder, name, &script) != MD_EXIT_OK)
            rc = MD_EXIT_FILE;
        else if (script.skip[0])
            printf("%-26s skipped: %s\n", name, script.skip);
        else
            printf("%-26s %s\n", name, script.about);
        free(entries[i]);
    }
    free(entries);
    return rc;
}
