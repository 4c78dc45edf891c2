/* uplinks.c - see uplinks.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "uplinks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/secret.h"
#include "omm/item.h"

#define FIELDS_MAX   1024u
#define SECRET_BYTES 16384u /* tokens are long */
#define USER_BYTES   256u
#define PATH_BYTES   1024u
#define INTERVAL_MAX 60000u /* ms, as conflateRates */

struct uplink {
    unsigned number; /* of the route */
    struct srcdist_uplink says;
    char user[USER_BYTES];
    char file[PATH_BYTES]; /* of the password or the token; "": none */
    bool is_token;
    char secret[SECRET_BYTES];
    uint8_t view[16384];
};

/* ---- what is taken ---- */

static bool read_rate(const struct md_conf_object *route, struct uplink *uplink)
{
    const char *word = md_conf_string(route, "requestQos");
    struct rwf_qos *qos = &uplink->says.qos;
    char *end = NULL;

    uplink->says.has_qos = true;
    *qos = (struct rwf_qos){ .timeliness = RWF_TIMELINESS_REALTIME, .rate = RWF_RATE_TICK_BY_TICK };
    if (strcmp(word, "all") == 0)
        return true;
    qos->rate = RWF_RATE_JIT_CONFLATED;
    if (strcmp(word, "jit") == 0)
        return true;
    unsigned long ms = word[0] >= '0' && word[0] <= '9' ? strtoul(word, &end, 10) : 0;
    if (ms == 0 || ms > INTERVAL_MAX || (*end && strcmp(end, "ms") != 0)) {
        md_log(MD_LOG_CRITICAL,
               "route %u: requestQos: \"%s\" is no rate; all, jit and milliseconds from 1 to %u "
               "are",
               uplink->number, word, INTERVAL_MAX);
        return false;
    }
    qos->rate = RWF_RATE_TIME_CONFLATED;
    qos->rate_info = (uint16_t)ms;
    return true;
}

static bool find_field(const struct src_dist *sd, const char *word, int *fid)
{
    const struct rwf_field_def *field =
        sd->fields ? rwf_dictionary_field_named(sd->fields, word, strlen(word)) : NULL;
    char *end;
    long number = strtol(word, &end, 10);

    *fid = field ? field->fid : (int)number;
    return field || (*end == 0 && end != word && number >= -32768 && number <= 32767);
}

/* The payload of a request for these fields. */
static bool read_view(const struct src_dist *sd, const struct md_conf_object *route,
                      struct uplink *uplink)
{
    struct rwf_encoder enc;
    char word[64];
    size_t count = 0;
    int fid;

    rwf_encoder_init(&enc, uplink->view, sizeof(uplink->view));
    rwf_element_list_start(&enc, NULL);
    rwf_element_add_uint(&enc, ":ViewType", OMM_VIEW_FIELDS);
    rwf_element_start(&enc, rwf_text(":ViewData"), RWF_TYPE_ARRAY);
    rwf_array_start(&enc, RWF_TYPE_INT, 2);
    for (; md_conf_list(route, "requestFields", count, word, sizeof(word)); count++) {
        if (count == FIELDS_MAX || !find_field(sd, word, &fid)) {
            md_log(MD_LOG_CRITICAL, "route %u: requestFields: %s %s", uplink->number, word,
                   count == FIELDS_MAX ? "is one field too many"
                                       : "is no number of a field, and no name of dictionaryPath");
            return false;
        }
        struct rwf_value value = rwf_value_int(fid);
        rwf_array_add(&enc, &value);
    }
    rwf_array_finish(&enc);
    rwf_element_finish(&enc);
    rwf_element_list_finish(&enc);
    if (count > 0)
        uplink->says.view = rwf_encoder_bytes(&enc);
    return rwf_encoder_error(&enc) == RWF_OK;
}

/* ---- the login ---- */

/* False: it does not fit; it is told. */
static bool take_text(const struct md_conf_object *route, unsigned number, const char *param,
                      char *out, size_t size)
{
    int length = snprintf(out, size, "%s", md_conf_string(route, param));

    if (length >= 0 && (size_t)length < size)
        return true;
    md_log(MD_LOG_CRITICAL, "route %u: %s: longer than %zu bytes", number, param, size - 1);
    return false;
}

static bool read_login(const struct md_conf_object *route, struct uplink *uplink)
{
    const char *password = md_conf_string(route, "loginPasswordFile");
    const char *token = md_conf_string(route, "loginTokenFile");
    const char *user = md_conf_string(route, "loginUser");

    if (token[0] && (password[0] || user[0])) {
        md_log(MD_LOG_CRITICAL, "route %u: %s and loginTokenFile: give one of them%s",
               uplink->number, password[0] ? "loginPasswordFile" : "loginUser",
               password[0] ? "" : ", the token names the user");
        return false;
    }
    uplink->is_token = token[0] != 0;
    uplink->says.user = uplink->user;
    uplink->says.password = uplink->is_token ? "" : uplink->secret;
    uplink->says.token = uplink->is_token ? uplink->secret : "";
    return take_text(route, uplink->number, "loginUser", uplink->user, sizeof(uplink->user)) &&
           take_text(route, uplink->number, token[0] ? "loginTokenFile" : "loginPasswordFile",
                     uplink->file, sizeof(uplink->file));
}

/* The first line of the file. False: `why` says it. */
static bool read_secret(struct uplink *uplink, char *why, size_t size)
{
    int fd = open(uplink->file, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0) {
        snprintf(why, size, "%s: %s", uplink->file, strerror(errno));
        return false;
    }
    if (md_secret_look(fd, uplink->file, MD_SECRET_KEY, why, size) == MD_SECRET_REFUSED) {
        close(fd);
        return false;
    }
    ssize_t got = read(fd, uplink->secret, sizeof(uplink->secret) - 1);
    close(fd);
    size_t length = got > 0 ? (size_t)got : 0;
    uplink->secret[length] = 0;
    size_t end = strcspn(uplink->secret, "\r\n");
    uplink->secret[end] = 0;
    if (end > 0 && (end < length || length < sizeof(uplink->secret) - 1))
        return true;
    explicit_bzero(uplink->secret, sizeof(uplink->secret));
    if (end == 0)
        snprintf(why, size, "%s: its first line is empty", uplink->file);
    else
        snprintf(why, size, "%s: its first line is longer than %u bytes", uplink->file,
                 SECRET_BYTES - 2);
    return false;
}

bool uplink_prepare(struct uplink *uplink, bool is_logged)
{
    char why[PATH_BYTES + 256] = "";

    if (!uplink->file[0] || read_secret(uplink, why, sizeof(why)))
        return true;
    if (is_logged)
        md_log(MD_LOG_ERROR, "route %u does not log in: %s", uplink->number, why);
    return false;
}

/* ---- life ---- */

const char *uplink_secret(const struct uplink *uplink)
{
    return !uplink->file[0] ? NULL : uplink->is_token ? "token" : "password";
}

const struct srcdist_uplink *uplink_says(const struct uplink *uplink)
{
    return &uplink->says;
}

int uplink_create(const struct src_dist *sd, const struct md_conf_object *route, unsigned number,
                  struct uplink **out)
{
    *out = NULL;
    if (md_conf_word(route, "routeType") == 0)
        return MD_OK;
    if (!md_conf_string(&sd->daemon.object, "siteName")[0]) {
        md_log(MD_LOG_CRITICAL,
               "route %u: routeType consumer: set siteName, or data that come back by another "
               "site cannot be told from others",
               number);
        return MD_ERR_MALFORMED;
    }
    struct uplink *uplink = calloc(1, sizeof(*uplink));
    if (!uplink)
        return MD_ERR_NOMEM;
    uplink->number = number;
    uplink->says.is_consumer = true;
    if (!read_login(route, uplink) || !read_rate(route, uplink) || !read_view(sd, route, uplink)) {
        free(uplink);
        return MD_ERR_MALFORMED;
    }
    *out = uplink;
    return MD_OK;
}

void uplink_destroy(struct uplink *uplink)
{
    if (uplink)
        explicit_bzero(uplink->secret, sizeof(uplink->secret));
    free(uplink);
}
