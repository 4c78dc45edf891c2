/* plugin.c - see plugin.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 512 };

/* `path` without its last `count` names, and `below` with `file` behind it. */
static bool beside(char *path, unsigned count, const char *below, const char *file, char *out,
                   size_t size)
{
    for (unsigned i = 0; i < count; i++) {
        char *slash = strrchr(path, '/');

        if (!slash)
            return false;
        *slash = '\0';
    }
    int wrote = snprintf(out, size, "%s/%s/%s", path, below, file);
    return wrote > 0 && (size_t)wrote < size;
}

/* Beside librmds.so, where that is what asks: lib/ARCHITECTURE/librmds.so.0, or lib/librmds.so.0.
 */
static bool is_beside_library(const char *file, char *out, size_t size)
{
    static const int here;
    char path[PATH_BYTES];
    Dl_info info;

    for (unsigned names = 1; names <= 2; names++) {
        if (dladdr(&here, &info) == 0 || !info.dli_fname || strlen(info.dli_fname) >= sizeof(path))
            return false;
        memcpy(path, info.dli_fname, strlen(info.dli_fname) + 1);
        if (beside(path, names, "openrmds", file, out, size) && access(out, R_OK) == 0)
            return true;
    }
    return false;
}

bool net_plugin_path(const char *file, char *out, size_t size)
{
    char path[PATH_BYTES];

    if (is_beside_library(file, out, size))
        return true;
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    return beside(path, 2, "lib/openrmds", file, out, size);
}

const void *net_plugin_load(const char *file, const char *symbol, size_t plugin_size, char *why,
                            size_t why_size)
{
    char path[PATH_BYTES];

    if (!net_plugin_path(file, path, sizeof(path))) {
        snprintf(why, why_size, "/proc/self/exe cannot be read");
        return NULL;
    }
    if (access(path, R_OK) != 0) {
        snprintf(why, why_size,
                 "%s is not there: install the package openrmds-verbs, or build with libibverbs "
                 "and librdmacm",
                 path);
        return NULL;
    }
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct net_plugin_head *head = object ? dlsym(object, symbol) : NULL;
    if (!head) {
        snprintf(why, why_size, "%s", dlerror());
        return NULL;
    }
    if (head->size != plugin_size || strcmp(head->version, RMDS_VERSION) != 0) {
        snprintf(why, why_size, "%s is not of this version, %s", path, RMDS_VERSION);
        dlclose(object);
        return NULL;
    }
    return head;
}
