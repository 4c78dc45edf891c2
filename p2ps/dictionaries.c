/* dictionaries.c - see dictionaries.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dictionaries.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "rmds/rwf_dictionary.h"

/* Real consumers read parts of any size; this is what one fragmented message should not exceed. */
#define PART_SIZE    50000
#define FILE_MAX     (64l << 20)
#define PATH_MAX_LEN 1024

struct p2ps_dictionary_store {
    struct rwf_dictionary *dictionary;
};

/* ---- files ---- */

static char *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long size = -1;

    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (file && size >= 0 && size <= FILE_MAX && fseek(file, 0, SEEK_SET) == 0)
        text = malloc((size_t)size + 1);
    if (text && fread(text, 1, (size_t)size, file) != (size_t)size) {
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    *length = text ? (size_t)size : 0;
    return text;
}

/* Which of the two kinds a file is, is said by its own tags. */
static bool is_enum_file(const char *text, size_t length)
{
    return memmem(text, length, "!tag RT_Version", 15) ||
           memmem(text, length, "!tag DT_Version", 15);
}

static int load_file(struct p2ps_dictionary_store *store, const char *path)
{
    struct rwf_dictionary_error error = { 0 };
    size_t length;
    char *text = read_file(path, &length);

    if (!text) {
        md_log(MD_LOG_ERROR, "dictionary: %s: %s; set dictionaryPath to the files to serve", path,
               strerror(errno));
        return MD_ERR_SYS;
    }
    int rc = is_enum_file(text, length)
                 ? rwf_dictionary_load_enums(store->dictionary, path, text, length, &error)
                 : rwf_dictionary_load_fields(store->dictionary, path, text, length, &error);
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

static int load_own(struct p2ps_dictionary_store *store)
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
        int err = load_file(store, path);
        if (err != MD_OK)
            return err;
    }
    return MD_OK;
}

int p2ps_dictionary_store_create(const struct md_conf_object *daemon,
                                 struct p2ps_dictionary_store **out)
{
    struct p2ps_dictionary_store *store = calloc(1, sizeof(*store));
    char path[PATH_MAX_LEN];
    size_t count = 0;
    int err = store ? rwf_dictionary_create(&store->dictionary) : MD_ERR_NOMEM;

    *out = NULL;
    while (err == MD_OK && md_conf_list(daemon, "dictionaryPath", count, path, sizeof(path))) {
        err = load_file(store, path);
        count++;
    }
    if (err == MD_OK && count == 0)
        err = load_own(store);
    if (err != MD_OK) {
        p2ps_dictionary_store_destroy(store);
        return err;
    }
    md_log(MD_LOG_INFO, "dictionary: %u fields, %u tables of enumerated values",
           rwf_dictionary_field_count(store->dictionary),
           rwf_dictionary_table_count(store->dictionary));
    *out = store;
    return MD_OK;
}

void p2ps_dictionary_store_destroy(struct p2ps_dictionary_store *store)
{
    if (!store)
        return;
    rwf_dictionary_destroy(store->dictionary);
    free(store);
}

/* ---- messages ---- */

static int encode(void *self, const struct omm_dictionary_request *request,
                  struct rwf_dictionary_cursor *cursor, bool *is_last, uint8_t *out, size_t size,
                  size_t *length)
{
    struct p2ps_dictionary_store *store = self;
    enum rwf_dictionary_type type = RWF_DICTIONARY_TYPE_NONE;
    struct rwf_msg msg = {
        .stream_id = request->stream_id,
        .flags = RWF_REFRESH_HAS_KEY | RWF_REFRESH_SOLICITED | RWF_REFRESH_CLEAR_CACHE,
        .group_id = rwf_bytes("\0", 2),
        .key = {
            .flags = (uint16_t)(RWF_KEY_HAS_NAME | RWF_KEY_HAS_FILTER |
                                (request->has_service_id ? RWF_KEY_HAS_SERVICE_ID : 0)),
            .service_id = request->service_id,
            .name = request->name,
            .filter = request->filter,
        },
    };

    if (rwf_bytes_equal(request->name, rwf_text("RWFFld")))
        type = RWF_DICTIONARY_TYPE_FIELDS;
    else if (rwf_bytes_equal(request->name, rwf_text("RWFEnum")))
        type = RWF_DICTIONARY_TYPE_ENUMS;
    else
        return MD_ERR_NOT_FOUND;
    int rc = rwf_dictionary_refresh_encode(store->dictionary, type, request->filter, &msg, cursor,
                                           out, size < PART_SIZE ? size : PART_SIZE, length);
    *is_last = cursor->is_complete;
    return rc;
}

unsigned p2ps_dictionary_field_type(void *store, int16_t field_id)
{
    const struct p2ps_dictionary_store *self = store;
    const struct rwf_field_def *field = rwf_dictionary_field(self->dictionary, field_id);

    return field ? field->rwf_type : 0;
}

struct p2ps_dictionaries p2ps_dictionary_store_ops(struct p2ps_dictionary_store *store)
{
    return (struct p2ps_dictionaries){ .encode = encode, .self = store };
}
