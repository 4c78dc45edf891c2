/* files.c - see look.h: certificates and keys, access files, dictionaries, folders. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/node.h"
#include "base/err.h"
#include "base/secret.h"
#include "dictionary.h"
#include "entitle/entitle.h"
#include "jwt/jwt.h"
#include "look.h"
#include "netio/diagnose.h"
#include "rates/conf.h"
#include "rmds/rwf_dictionary.h"

#define FILE_MAX (64u << 20)

/* Passwords are not for everybody, and rules are nobody else's to write. */
static void look_at_readers(const struct look *look, const struct md_conf_object *object,
                            const char *param, const char *path)
{
    char why[640];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum md_secret_state state =
        fd < 0 ? MD_SECRET_FINE : md_secret_look(fd, path, MD_SECRET_RULES, why, sizeof(why));

    if (fd >= 0)
        close(fd);
    if (state != MD_SECRET_FINE)
        look_find(look, state == MD_SECRET_OPEN ? MD_CONF_WARNING : MD_CONF_ERROR, object, param,
                  "%s", why);
}

/* ---- certificates and keys ---- */

struct tls_object {
    const struct look *look;
    const struct md_conf_object *object;
};

static void find_tls(void *arg, bool is_error, enum net_tls_file file, const char *text)
{
    static const char *const params[] = { [NET_TLS_CERTIFICATE] = "tlsCertFile",
                                          [NET_TLS_KEY] = "tlsKeyFile",
                                          [NET_TLS_CA] = "tlsCaFile",
                                          [NET_TLS_CRL] = "tlsCrlFile" };
    const struct tls_object *tls = arg;

    look_find(tls->look, is_error ? MD_CONF_ERROR : MD_CONF_WARNING, tls->object, params[file],
              "%s", text);
}

/* Also where no TLS port is open yet: a line that names a file means it. */
static void look_at_tls(const struct look *look, const struct md_conf_object *object,
                        bool is_server)
{
    struct tls_object tls = { look, object };
    struct net_tls_config config = {
        .certificate = md_conf_string(object, "tlsCertFile"),
        .key = md_conf_string(object, "tlsKeyFile"),
        .ca = md_conf_string(object, "tlsCaFile"),
        .crl = md_conf_string(object, "tlsCrlFile"),
        .is_server = is_server,
    };

    config.require_client_certificate =
        is_server && (md_conf_bool(object, "tlsRequireClientCert") ||
                      strcmp(md_conf_string(object, "tlsClientCert"), "none") != 0);
    (void)net_tls_examine(&config, find_tls, &tls);
}

static bool is_here(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strncmp(host, "[::1]", 5) == 0 ||
           strcmp(host, "::1") == 0 || strncmp(host, "localhost", 9) == 0;
}

/* A password or a token on a line that is not encrypted. */
static void look_at_plain_login(const struct look *look, const struct md_conf_object *route)
{
    bool is_token = md_conf_string(route, "loginTokenFile")[0] != 0;
    const char *param = is_token ? "loginTokenFile" : "loginPasswordFile";
    char host[280];

    if (md_conf_word(route, "routeType") == 0 || !md_conf_string(route, param)[0])
        return;
    for (size_t i = 0; md_conf_list(route, "hostList", i, host, sizeof(host)); i++) {
        if (is_here(host))
            continue;
        look_find(look, MD_CONF_WARNING, route, param,
                  "the %s goes to %s in the clear: whoever sees the line can use it; set encrypted",
                  is_token ? "token" : "password", host);
        return;
    }
}

static void look_at_route(void *arg, const char *name)
{
    const struct look *look = arg;
    struct md_conf_object route = md_conf_object(look->conf, MD_CONF_ROUTE, name);

    if (md_conf_bool(&route, "encrypted"))
        look_at_tls(look, &route, false);
    else
        look_at_plain_login(look, &route);
}

static void look_at_certificates(const struct look *look, const struct md_conf_object *daemon)
{
    bool is_server = false;

    if (look->program == MD_CONF_P2PS) {
        is_server = md_conf_port(daemon, "tlsPort") != 0;
    } else {
        struct md_conf_object bus = md_conf_object(look->conf, MD_CONF_BUS, NULL);

        is_server = md_conf_port(&bus, "tlsServerPort") != 0;
        md_conf_names(look->conf, MD_CONF_ROUTE, look_at_route, (void *)(uintptr_t)look);
    }
    look_at_tls(look, daemon, is_server);
}

/* ---- access files and dictionaries ---- */

struct access_file {
    const struct look *look;
    const struct md_conf_object *daemon;
    const char *param;
    const char *path;
};

static void find_access(void *arg, const char *path, int line, const char *text)
{
    const struct access_file *file = arg;

    if (line)
        look_find(file->look, MD_CONF_ERROR, file->daemon, file->param, "%s:%d: %s", path, line,
                  text);
    else
        look_find(file->look, MD_CONF_ERROR, file->daemon, file->param, "%s: %s", path, text);
}

static char *read_access(void *self, const char *path, size_t *length, char *why, size_t size)
{
    const struct access_file *file = self;
    char *text = tool_file_read(path, FILE_MAX, length);

    if (!text)
        snprintf(why, size, "%s", strerror(errno));
    else
        look_at_readers(file->look, file->daemon, file->param, path);
    return text;
}

/* A file of publishers in which none may publish says less than its owner thinks. */
static void look_at_publishers(const struct access_file *file, const struct entitle_rules *rules)
{
    if (entitle_rules_has_hashes(rules))
        look_find(file->look, MD_CONF_ERROR, file->daemon, file->param,
                  "%s: hash= is for accessFile of p2ps; src_dist wants password=, token= or "
                  "tokenhash=",
                  file->path);
    if (!entitle_rules_open_to_any(rules, ENTITLE_LOGIN))
        look_find(file->look, MD_CONF_ERROR, file->daemon, file->param,
                  "%s: no line begins with user: nobody may publish", file->path);
    else if (!entitle_rules_open_to_any(rules, ENTITLE_PUBLISH))
        look_find(file->look, MD_CONF_ERROR, file->daemon, file->param,
                  "%s: no line says allow USER SERVICE * do=publish: nobody may publish",
                  file->path);
}

static void look_at_access(const struct look *look, const struct md_conf_object *daemon,
                           const char *param)
{
    bool is_of_publishers = strcmp(param, "providerAccessFile") == 0;
    const char *path = md_conf_string(daemon, param);
    struct access_file file = { look, daemon, param, path };
    const struct entitle_reader reader = { .read = read_access, .self = &file };
    struct entitle_rules *rules;

    if (!path[0] || (is_of_publishers && strcmp(path, "none") == 0))
        return;
    if (entitle_rules_create_from(path, &reader, find_access, &file, &rules) != MD_OK)
        return;
    if (is_of_publishers)
        look_at_publishers(&file, rules);
    entitle_rules_destroy(rules);
}

static void look_at_policy(const struct look *look, const struct md_conf_object *daemon)
{
    if (strcmp(md_conf_string(daemon, "tlsUserPolicy"), "match") == 0 &&
        !md_conf_string(daemon, "accessFile")[0])
        look_find(look, MD_CONF_ERROR, daemon, "tlsUserPolicy",
                  "match is of the users of accessFile, and that is not set: a login would need no "
                  "certificate; name a file of users, or write replace or ignore");
}

struct key_file {
    const struct look *look;
    const struct md_conf_object *daemon;
    const char *path;
};

static void find_key(void *self, const char *text)
{
    const struct key_file *file = self;

    look_find(file->look, MD_CONF_WARNING, file->daemon, "jwksFile", "%s: %s", file->path, text);
}

static void look_at_token_keys(const struct look *look, const struct md_conf_object *daemon)
{
    struct key_file file = { look, daemon, md_conf_string(daemon, "jwksFile") };
    struct jwt_keys *keys;
    char why[256] = "no memory";
    size_t length;

    if (!file.path[0])
        return;
    char *text = tool_file_read(file.path, FILE_MAX, &length);
    if (!text)
        look_find(look, MD_CONF_ERROR, daemon, "jwksFile", "%s: %s", file.path, strerror(errno));
    else if (jwt_keys_create(rwf_bytes(text, length), find_key, &file, why, sizeof(why), &keys) ==
             MD_OK)
        jwt_keys_destroy(keys);
    else
        look_find(look, MD_CONF_ERROR, daemon, "jwksFile", "%s: %s", file.path, why);
    if (text && !md_conf_string(daemon, "jwtAudience")[0])
        look_find(look, MD_CONF_WARNING, daemon, "jwksFile",
                  "jwtAudience is empty: tokens that were made for other programs are taken, too");
    free(text);
}

static void look_at_dictionary(const struct look *look, const struct md_conf_object *daemon,
                               struct rwf_dictionary *dictionary, const char *path)
{
    struct rwf_dictionary_error error = { 0 };
    size_t length;
    char *text = tool_file_read(path, FILE_MAX, &length);

    if (!text) {
        look_find(look, MD_CONF_ERROR, daemon, "dictionaryPath", "%s: %s", path, strerror(errno));
        return;
    }
    bool is_enum = strstr(text, "!tag RT_Version") || strstr(text, "!tag DT_Version");
    int err = is_enum ? rwf_dictionary_load_enums(dictionary, path, text, length, &error)
                      : rwf_dictionary_load_fields(dictionary, path, text, length, &error);
    if (err != MD_OK)
        look_find(look, MD_CONF_ERROR, daemon, "dictionaryPath", "%s", error.text);
    free(text);
}

/* The dictionary of the files, NULL without any. */
static struct rwf_dictionary *look_at_dictionaries(const struct look *look,
                                                   const struct md_conf_object *daemon)
{
    struct rwf_dictionary *dictionary;
    char path[1024];
    size_t count = 0;

    if (rwf_dictionary_create(&dictionary) != MD_OK)
        return NULL;
    for (; md_conf_list(daemon, "dictionaryPath", count, path, sizeof(path)); count++)
        look_at_dictionary(look, daemon, dictionary, path);
    if (count > 0)
        return dictionary;
    rwf_dictionary_destroy(dictionary);
    return NULL;
}

/* ---- filterFile ---- */

struct filter_file {
    const struct look *look;
    const char *path;
};

static void find_filter(void *arg, const struct md_conf_object *object, const char *param, int line,
                        const char *text)
{
    const struct filter_file *file = arg;
    bool is_service = object->kind == MD_CONF_SERVICE;

    if (line)
        look_find(file->look, MD_CONF_ERROR, object, param, "%s:%d: %s", file->path, line, text);
    else
        look_find(file->look, MD_CONF_ERROR, object, param, "%s%s%s%s",
                  is_service ? "service " : "", is_service ? object->name : "",
                  is_service ? ": " : "", text);
}

static void look_at_filters(const struct look *look, const struct md_conf_object *daemon)
{
    struct filter_file file = { look, md_conf_string(daemon, "filterFile") };
    struct rates *rates;
    size_t length = 0;
    char *text = file.path[0] ? tool_file_read(file.path, FILE_MAX, &length) : NULL;

    if (!rates_conf_is_used(daemon))
        return;
    if (file.path[0] && !text)
        look_find(look, MD_CONF_ERROR, daemon, "filterFile", "%s: %s", file.path, strerror(errno));
    struct rwf_dictionary *fields = look_at_dictionaries(look, daemon);
    if (rates_conf_read(daemon, text ? text : "", length, fields, find_filter, &file, &rates) ==
        MD_OK)
        rates_destroy(rates);
    rwf_dictionary_destroy(fields);
    free(text);
}

/* ---- conflateRates ---- */

static void look_at_paces(const struct look *look, const struct md_conf_object *daemon)
{
    uint16_t intervals[RATES_PACES_MAX], interval_ms;
    unsigned count = 0;
    char word[64];

    for (size_t i = 0; md_conf_list(daemon, "conflateRates", i, word, sizeof(word)); i++) {
        unsigned at = 0;

        if (!rates_pace_read(word, &interval_ms)) {
            look_find(look, MD_CONF_ERROR, daemon, "conflateRates",
                      "%s is no rate; milliseconds from 1 to %u are, and jit", word,
                      RATES_PACE_INTERVAL_MAX);
            continue;
        }
        while (at < count && intervals[at] != interval_ms)
            at++;
        if (at == RATES_PACES_MAX)
            look_find(look, MD_CONF_ERROR, daemon, "conflateRates",
                      "more than %d rates; leave out %s", RATES_PACES_MAX, word);
        else if (at == count)
            intervals[count++] = interval_ms;
    }
}

void look_at_group_keys(const struct look *look, const struct md_conf_object *rrcp)
{
    static const char prefix[] = "authKeyFile: ";
    struct rrcp_key keys[RRCP_KEY_MAX];
    uint32_t count;
    char why[512];
    const char *path = md_conf_string(rrcp, "authKeyFile");

    if (!path[0] || strcmp(path, ATTACH_KEYS_NONE) == 0)
        return;
    if (attach_keys_read(path, keys, &count, why, sizeof(why)) != MD_OK) {
        bool has_prefix = strncmp(why, prefix, sizeof(prefix) - 1) == 0;
        look_find(look, MD_CONF_ERROR, rrcp, "authKeyFile", "%s",
                  why + (has_prefix ? sizeof(prefix) - 1 : 0));
    }
}

/* ---- folders ---- */

/* A daemon makes the folder if it can make those above it. A default that is missing is a warning:
 * units, packages and `tools/rmds up` make those before the daemon starts. */
static void look_at_folder(const struct look *look, const struct md_conf_object *object,
                           const char *param)
{
    const char *path = md_conf_string(object, param);
    bool is_set = md_conf_value(object, param).file != NULL;
    char above[1024];
    struct stat status;

    if (!path[0])
        return;
    if (stat(path, &status) == 0 && !S_ISDIR(status.st_mode)) {
        look_find(look, MD_CONF_ERROR, object, param, "%s: it is no folder; name another", path);
        return;
    }
    if (access(path, W_OK | X_OK) == 0)
        return;
    if (errno == ENOTDIR || errno == ELOOP || errno == ENAMETOOLONG) {
        look_find(look, MD_CONF_ERROR, object, param, "%s: %s; name another folder", path,
                  strerror(errno));
        return;
    }
    if (errno != ENOENT) {
        look_find(look, MD_CONF_WARNING, object, param,
                  "%s: %s for user %u; check as the user who runs the daemon, or name another "
                  "folder",
                  path, strerror(errno), (unsigned)geteuid());
        return;
    }
    snprintf(above, sizeof(above), "%s", path);
    while (access(above, F_OK) != 0 && strrchr(above, '/') && strrchr(above, '/') != above)
        *strrchr(above, '/') = '\0';
    if (access(above, W_OK | X_OK) != 0 || (stat(above, &status) == 0 && !S_ISDIR(status.st_mode)))
        look_find(look, is_set ? MD_CONF_ERROR : MD_CONF_WARNING, object, param,
                  "%s does not exist, and user %u cannot make it in %s; make it, or name another "
                  "folder",
                  path, (unsigned)geteuid(), above);
}

static void look_at_folders(const struct look *look, const struct md_conf_object *daemon)
{
    struct md_conf_object logger = md_conf_object(look->conf, MD_CONF_LOGGER, NULL);

    look_at_folder(look, daemon, "runDir");
    if (strstr(md_conf_string(&logger, "logTarget"), "file"))
        look_at_folder(look, &logger, "logDir");
}

void look_at_daemon_files(const struct look *look)
{
    struct md_conf_object daemon = md_conf_object(look->conf, MD_CONF_DAEMON, NULL);

    look_at_folders(look, &daemon);
    if (look->program & (MD_CONF_P2PS | MD_CONF_SRC_DIST))
        look_at_certificates(look, &daemon);
    if (look->program == MD_CONF_SRC_DIST) {
        look_at_access(look, &daemon, "providerAccessFile");
        look_at_filters(look, &daemon);
    }
    if (look->program == MD_CONF_P2PS) {
        look_at_access(look, &daemon, "accessFile");
        look_at_access(look, &daemon, "accessShadowFile");
        look_at_policy(look, &daemon);
        look_at_paces(look, &daemon);
        look_at_token_keys(look, &daemon);
        rwf_dictionary_destroy(look_at_dictionaries(look, &daemon));
    }
}
