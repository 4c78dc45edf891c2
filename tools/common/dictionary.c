/* dictionary.c - see dictionary.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dictionary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

#define FIELDS "RDMFieldDictionary"

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

/* The lines "!tag Version X", "!tag RT_Version X" and "!tag DT_Version X" with another X; in a new
 * buffer, the old one is freed. NULL: no memory. */
static char *set_version(char *text, size_t *length, const char *version)
{
    size_t size = *length + 8 * (strlen(version) + 32);
    char *out = malloc(size);
    size_t used = 0;

    for (const char *line = text; out && *line;) {
        const char *stop = strchr(line, '\n');
        size_t whole = stop ? (size_t)(stop + 1 - line) : strlen(line);
        char tag[24];
        bool is_version = sscanf(line, "!tag %23s", tag) == 1 &&
                          (strcmp(tag, "Version") == 0 || strcmp(tag, "RT_Version") == 0 ||
                           strcmp(tag, "DT_Version") == 0);
        if (used + whole + strlen(version) + 40 > size) { /* more such lines than files have */
            free(out);
            out = NULL;
        } else if (is_version) {
            used += (size_t)snprintf(out + used, size - used, "!tag %s %s\n", tag, version);
        } else {
            memcpy(out + used, line, whole);
            used += whole;
        }
        line += whole;
    }
    free(text);
    *length = used;
    return out;
}

static int load_file(struct rwf_dictionary *dictionary, const char *folder, const char *name,
                     const char *version, char *error, size_t error_size)
{
    bool is_fields = strcmp(name, FIELDS) == 0;
    struct rwf_dictionary_error why;
    char path[4096];
    size_t length;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    char *text = tool_file_read(path, 64u << 20, &length);
    if (!text) {
        snprintf(error, error_size, "cannot read %s: %s", path, strerror(errno));
        return MD_ERR_SYS;
    }
    if (version && !(text = set_version(text, &length, version))) {
        snprintf(error, error_size, "%s: no memory, or too many versions", path);
        return MD_ERR_NOMEM;
    }
    int rc = is_fields ? rwf_dictionary_load_fields(dictionary, path, text, length, &why)
                       : rwf_dictionary_load_enums(dictionary, path, text, length, &why);
    if (rc != MD_OK)
        snprintf(error, error_size, "%s", why.text);
    free(text);
    return rc;
}

static bool has_file(const char *folder, const char *file)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", folder, file);
    return access(path, R_OK) == 0;
}

const char *tool_conf_folder(const char *file, char *out, size_t size)
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
        int used = snprintf(out, size, "%.*s%s", (int)(slash - exe), exe, beside[i]);
        if (used > 0 && (size_t)used < size && has_file(out, file))
            return out;
    }
    return NULL;
}

int tool_dictionary_load_version(const char *folder, const char *version,
                                 struct rwf_dictionary **out, char *error, size_t error_size)
{
    char found[4096];

    error[0] = 0;
    if (!folder)
        folder = tool_conf_folder(FIELDS, found, sizeof(found));
    if (!folder)
        folder = TOOLS_CONF;
    int rc = rwf_dictionary_create(out);
    if (rc == MD_OK)
        rc = load_file(*out, folder, FIELDS, version, error, error_size);
    if (rc == MD_OK)
        rc = load_file(*out, folder, "enumtype.def", version, error, error_size);
    if (rc != MD_OK) {
        rwf_dictionary_destroy(*out);
        *out = NULL;
    }
    return rc;
}

int tool_dictionary_load(const char *folder, struct rwf_dictionary **out, char *error,
                         size_t error_size)
{
    return tool_dictionary_load_version(folder, NULL, out, error, error_size);
}
