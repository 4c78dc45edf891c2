/* dictionary.c - see dictionary.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dictionary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

char *tool_file_read(const char *path, size_t max, size_t *length)
{
    FILE *file = fopen(path, "re");
    size_t size = 65536, used = 0;
    char *bytes = file ? malloc(size + 1) : NULL;

    *length = 0;
    while (bytes) {
        used += fread(bytes + used, 1, size - used, file);
        if (used < size)
            break;
        char *more = max && used > max ? NULL : realloc(bytes, 2 * size + 1);
        if (!more) {
            free(bytes);
            bytes = NULL;
            errno = max && used > max ? EFBIG : ENOMEM;
            break;
        }
        bytes = more;
        size *= 2;
    }
    int error = errno;
    if (bytes && (ferror(file) || (max && used > max))) {
        error = ferror(file) ? error : EFBIG;
        free(bytes);
        bytes = NULL;
    }
    if (file)
        fclose(file);
    errno = error;
    if (!bytes)
        return NULL;
    bytes[used] = 0;
    *length = used;
    return bytes;
}

static int load_file(struct rwf_dictionary *dictionary, const char *folder, const char *name,
                     bool is_fields, char *error, size_t error_size)
{
    struct rwf_dictionary_error why;
    char path[4096];
    size_t length;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    char *text = tool_file_read(path, 64u << 20, &length);
    if (!text) {
        snprintf(error, error_size, "cannot read %s: %s", path, strerror(errno));
        return MD_ERR_SYS;
    }
    int rc = is_fields ? rwf_dictionary_load_fields(dictionary, path, text, length, &why)
                       : rwf_dictionary_load_enums(dictionary, path, text, length, &why);
    if (rc != MD_OK)
        snprintf(error, error_size, "%s", why.text);
    free(text);
    return rc;
}

/* The folder conf of the tree in which this program was built, or the installed one. */
static const char *default_folder(char *out, size_t size)
{
    static const char *const beside[] = { "/../../conf", "/../conf", "/../etc/rmds",
                                          "/../share/openrmds" };
    char exe[2048];
    ssize_t length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    char *slash = NULL;

    if (length > 0) {
        exe[length] = 0;
        slash = strrchr(exe, '/');
    }
    for (size_t i = 0; slash && i < sizeof(beside) / sizeof(beside[0]); i++) {
        snprintf(out, size, "%.*s%s/RDMFieldDictionary", (int)(slash - exe), exe, beside[i]);
        if (access(out, R_OK) == 0) {
            *strrchr(out, '/') = 0;
            return out;
        }
    }
    return TOOLS_CONF;
}

int tool_dictionary_load(const char *folder, struct rwf_dictionary **out, char *error,
                         size_t error_size)
{
    char found[4096];

    error[0] = 0;
    if (!folder)
        folder = default_folder(found, sizeof(found));
    int rc = rwf_dictionary_create(out);
    if (rc == MD_OK)
        rc = load_file(*out, folder, "RDMFieldDictionary", true, error, error_size);
    if (rc == MD_OK)
        rc = load_file(*out, folder, "enumtype.def", false, error, error_size);
    if (rc != MD_OK) {
        rwf_dictionary_destroy(*out);
        *out = NULL;
    }
    return rc;
}
