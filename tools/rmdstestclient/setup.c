/* setup.c - what comes before the items: login, source directory, dictionaries. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "dictionary.h"
#include "omm/directory.h"
#include "omm/item.h"
#include "omm/login.h"
#include "tc.h"

#define DIRECTORY_STREAM 2
#define FIELDS_STREAM    3
#define ENUMS_STREAM     4

void setup_start(struct conn *conn)
{
    struct tc *tc = conn->tc;
    struct rwf_encoder enc;
    struct omm_login_request request = {
        .stream_id = OMM_LOGIN_STREAM,
        .is_streaming = true,
        .user = rwf_text(tc->options.user),
        .name_type = RWF_NAME_LOGIN_USER,
        .application_id = rwf_text(tc->options.application_id),
        .application_name = rwf_text("rmdstestclient"),
        .position = rwf_text(tc->options.position),
        .single_open = true,
        .allow_suspect_data = true,
        .permission_expressions = true,
        .permission_profile = true,
        .wants_rtt = tc->options.rtt,
    };

    if (tc->options.password)
        request.password = rwf_text(tc->options.password);
    conn->state = CONN_LOGIN;
    rwf_encoder_init(&enc, tc->message, sizeof(tc->message));
    omm_login_request_encode(&enc, &request);
    (void)conn_send(conn, &enc);
}

static void ask_directory(struct conn *conn)
{
    struct rwf_encoder enc;
    struct omm_directory_request request = {
        .stream_id = DIRECTORY_STREAM,
        .is_streaming = true,
        .filter = OMM_FILTER_INFO | OMM_FILTER_STATE | OMM_FILTER_GROUP | OMM_FILTER_LOAD,
    };

    conn->state = CONN_DIRECTORY;
    if (conn->number == 0)
        services_clear(&conn->tc->offered);
    rwf_encoder_init(&enc, conn->tc->message, sizeof(conn->tc->message));
    omm_directory_request_encode(&enc, &request);
    (void)conn_send(conn, &enc);
}

static void ask_dictionary(struct conn *conn, int32_t stream_id, const char *name)
{
    struct rwf_encoder enc;
    struct omm_dictionary_request request = {
        .stream_id = stream_id,
        .is_streaming = true,
        .has_service_id = true,
        .service_id = conn->service_ids[0],
        .name = rwf_text(name),
        .filter = RWF_DICTIONARY_NORMAL,
    };

    rwf_encoder_init(&enc, conn->tc->message, sizeof(conn->tc->message));
    omm_dictionary_request_encode(&enc, &request);
    (void)conn_send(conn, &enc);
}

static void on_login(struct conn *conn, const struct rwf_msg *msg)
{
    struct tc *tc = conn->tc;

    if (msg->state.stream_state == RWF_STREAM_OPEN && msg->state.data_state == RWF_DATA_OK) {
        if (conn->state != CONN_LOGIN)
            return;
        tc->stats.logins++;
        if (tc->options.log >= 1 && !tc->options.lists_services)
            printf("rmdstestclient: connection %u logged in at %s\n", conn->number, conn->peer);
        fflush(stdout);
        ask_directory(conn);
        return;
    }
    if (msg->state.stream_state < RWF_STREAM_CLOSED_RECOVER)
        return;
    char words[1024];
    fprintf(stderr, "rmdstestclient: connection %u: login %s: %s %s\n", conn->number,
            conn->state == CONN_LOGIN ? "refused" : "closed", rwf_state_code_name(msg->state.code),
            show_words(msg->state.text, words, sizeof(words)));
    if (msg->state.stream_state == RWF_STREAM_CLOSED) {
        tc->is_over = true;
        md_loop_stop(tc->loop);
    }
    channel_close(conn);
}

static void note_service(struct conn *conn, const struct omm_service *service)
{
    struct tc *tc = conn->tc;

    for (size_t i = 0; i < tc->service_count; i++) {
        bool is_named = rwf_bytes_equal(service->name, rwf_text(tc->services[i]));
        bool is_ours = conn->service_known[i] && conn->service_ids[i] == service->id;
        if (service->action == RWF_MAP_DELETE && is_ours) {
            conn->service_known[i] = false;
        } else if ((service->filters & OMM_FILTER_INFO) && is_named) {
            conn->service_ids[i] = service->id;
            conn->service_known[i] = true;
        }
        if (is_ours && (service->filters & OMM_FILTER_STATE) && tc->options.log >= 2)
            printf("rmdstestclient: connection %u: service %s is %s\n", conn->number,
                   tc->services[i], service->is_up ? "up" : "down");
    }
}

static bool has_services(const struct conn *conn)
{
    for (size_t i = 0; i < conn->tc->service_count; i++) {
        if (!conn->service_known[i])
            return false;
    }
    return true;
}

/* With -vnames, and with JSON, whose fields are names, once the dictionary is there, which
 * connection 0 fetches for all. */
static void open_items(struct conn *conn)
{
    struct tc *tc = conn->tc;

    if (tc->options.view_names || (tc->json && !tc->has_dictionary)) {
        conn->state = CONN_DICTIONARY;
        return;
    }
    conn->state = CONN_UP;
    conn->next = 0;
    conn_ask(conn);
}

/* The dictionary is there, or there is none: those that wait for it go on. */
static void dictionary_settled(struct tc *tc)
{
    tc->has_dictionary = true;
    if (tc->json)
        json_context_use(tc->json, tc->dictionary);
    if (!view_resolve(tc)) {
        tc->is_over = true;
        md_loop_stop(tc->loop);
        return;
    }
    for (unsigned i = 0; i < tc->options.conns; i++) {
        struct conn *conn = &tc->conns[i];

        if (conn->state != CONN_DICTIONARY)
            continue;
        open_items(conn);
        channel_flush(conn);
    }
}

/* What the directory has is known once its last part is here. */
static void directory_told(struct conn *conn, const struct rwf_msg *msg)
{
    struct tc *tc = conn->tc;

    if (msg->msg_class == RWF_CLASS_REFRESH && (msg->flags & RWF_REFRESH_COMPLETE))
        tc->offered.is_complete = true;
    if (!tc->options.lists_services) {
        services_tell(conn);
    } else if (tc->offered.is_complete) {
        tc->is_over = true;
        md_loop_stop(tc->loop);
    }
}

/* From its first part on: one that a connection took along half does not count. */
static bool start_dictionary(struct tc *tc)
{
    rwf_dictionary_destroy(tc->dictionary);
    tc->dictionary = NULL;
    return rwf_dictionary_create(&tc->dictionary) == MD_OK;
}

static void on_directory(struct conn *conn, const struct rwf_msg *msg)
{
    struct tc *tc = conn->tc;
    struct omm_directory directory;
    struct omm_service service;

    if (msg->msg_class != RWF_CLASS_REFRESH && msg->msg_class != RWF_CLASS_UPDATE)
        return;
    int rc = omm_directory_start(msg, &directory);
    while (rc >= 0 && (rc = omm_directory_next(&directory, &service)) > 0) {
        note_service(conn, &service);
        if (conn->number == 0)
            services_note(&tc->offered, &service);
    }
    if (rc < 0)
        tc->stats.errors++;
    if (conn->number == 0)
        directory_told(conn, msg);
    if (tc->is_over)
        return;
    if (conn->state == CONN_UP) { /* one that was away may be back */
        conn->next = 0;
        conn_ask(conn);
    }
    if (conn->state != CONN_DIRECTORY || !has_services(conn))
        return;
    if (tc->options.download && conn->number == 0 && !tc->has_dictionary && start_dictionary(tc)) {
        conn->state = CONN_DICTIONARY;
        ask_dictionary(conn, FIELDS_STREAM, "RWFFld");
        return;
    }
    open_items(conn);
}

/* No dictionary from the provider: then the one of the files. */
static void use_files(struct conn *conn)
{
    struct tc *tc = conn->tc;
    char error[512];

    rwf_dictionary_destroy(tc->dictionary);
    if (tool_dictionary_load(NULL, &tc->dictionary, error, sizeof(error)) != MD_OK)
        fprintf(stderr, "rmdstestclient: no dictionary: %s; fields are not decoded\n", error);
    tc->options.download = false;
    if (conn->state == CONN_DICTIONARY)
        dictionary_settled(tc);
}

static void on_dictionary(struct conn *conn, const struct rwf_msg *msg)
{
    struct tc *tc = conn->tc;

    if (msg->msg_class == RWF_CLASS_STATUS) {
        if (msg->state.stream_state >= RWF_STREAM_CLOSED_RECOVER && conn->state == CONN_DICTIONARY)
            use_files(conn);
        return;
    }
    if (msg->msg_class != RWF_CLASS_REFRESH || conn->state != CONN_DICTIONARY)
        return;
    if (rwf_dictionary_decode(tc->dictionary, msg->payload) != RWF_OK) {
        use_files(conn);
        return;
    }
    if (!(msg->flags & RWF_REFRESH_COMPLETE))
        return;
    if (msg->stream_id == FIELDS_STREAM)
        ask_dictionary(conn, ENUMS_STREAM, "RWFEnum");
    else
        dictionary_settled(tc);
}

/* The server measures the round trip: back with it at once. */
static void on_login_generic(struct conn *conn, const struct rwf_msg *msg)
{
    struct omm_rtt rtt;
    struct rwf_encoder enc;

    if (omm_rtt_decode(msg, &rtt) != RWF_OK || !conn->tc->options.rtt)
        return;
    conn->tc->stats.rtt++;
    rwf_encoder_init(&enc, conn->tc->message, sizeof(conn->tc->message));
    omm_rtt_encode(&enc, msg->stream_id, &rtt);
    (void)conn_send(conn, &enc);
}

bool setup_message(struct conn *conn, const struct rwf_msg *msg)
{
    switch (msg->domain) {
    case RWF_DOMAIN_LOGIN:
        if (msg->msg_class == RWF_CLASS_GENERIC)
            on_login_generic(conn, msg);
        else if (msg->msg_class == RWF_CLASS_REFRESH ||
                 (msg->msg_class == RWF_CLASS_STATUS && (msg->flags & RWF_STATUS_HAS_STATE)))
            on_login(conn, msg);
        return true;
    case RWF_DOMAIN_SOURCE:
        on_directory(conn, msg);
        return true;
    case RWF_DOMAIN_DICTIONARY:
        on_dictionary(conn, msg);
        return true;
    default:
        return false;
    }
}
