/* dictionary.c - see daemon/dictionary.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/dictionary.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"

#define FILE_MAX     (64u << 20)
#define PATH_MAX_LEN 1024

/* Which of the two kinds a file is, is said by its own tags. */
static bool is_enum_file(const char *text, size_t length)
{
    return memmem(text, length, "!tag RT_Version", 15) ||
           memmem(text, length, "!tag DT_Version", 15);
}

static int load_file(struct rwf_dictionary *dictionary, const char *path)
{
    struct rwf_dictionary_error error = { 0 };
    size_t length;
    char *text = md_file_load(path, FILE_MAX, &length);

    if (!text) {
        md_log(MD_LOG_ERROR, "dictionary: %s: %s; set dictionaryPath to files that can be read",
               path, strerror(errno));
        return MD_ERR_SYS;
    }
    int rc = is_enum_file(text, length)
                 ? rwf_dictionary_load_enums(dictionary, path, text, length, &error)
                 : rwf_dictionary_load_fields(dictionary, path, text, length, &error);
    if (rc != MD_OK)
        md_log(MD_LOG_ERROR, "dictionary: %s", error.text);
    free(text);
    return rc;
}

/* The folder of the files that come with the program: beside an installed or a built one. */
static bool find_own_folder(char out[PATH_MAX_LEN])
{
    static const char *const places[] = { "../share/openrmds", "../../conf" };
    char exe[PATH_MAX_LEN] = "";
    char probe[PATH_MAX_LEN + 64];
    ssize_t length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

    if (length <= 0)
        return false;
    const char *folder = dirname(exe);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(out, PATH_MAX_LEN, "%s/%s", folder, places[i]);
        snprintf(probe, sizeof(probe), "%s/RDMFieldDictionary", out);
        if (access(probe, R_OK) == 0)
            return true;
    }
    return false;
}

static int load_own(struct rwf_dictionary *dictionary)
{
    static const char *const files[] = { "RDMFieldDictionary", "enumtype.def" };
    char folder[PATH_MAX_LEN];
    char path[PATH_MAX_LEN + 64];

    if (!find_own_folder(folder)) {
        md_log(MD_LOG_ERROR, "dictionary: RDMFieldDictionary was not found beside the program; "
                             "set dictionaryPath");
        return MD_ERR_NOT_FOUND;
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
        int err = load_file(dictionary, path);
        if (err != MD_OK)
            return err;
    }
    return MD_OK;
}

int daemon_dictionary_load(const struct md_conf_object *daemon, struct rwf_dictionary *dictionary,
                           size_t *count)
{
    char path[PATH_MAX_LEN];
    int err = MD_OK;

    *count = 0;
    while (err == MD_OK && md_conf_list(daemon, "dictionaryPath", *count, path, sizeof(path))) {
        err = load_file(dictionary, path);
        (*count)++;
    }
    return err == MD_OK && *count == 0 ? load_own(dictionary) : err;
}
