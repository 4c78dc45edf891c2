/* feed_setup.c - what comes before the items: login, source directory, dictionaries. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "feed.h"
#include "omm/directory.h"
#include "omm/item.h"
#include "omm/login.h"
#include "say.h"

/* Nothing is queued before it on this connection, so no room means a server that does not read. */
static void send_setup(struct feed *feed, const struct rwf_encoder *enc)
{
    if (feed_send(feed, enc) == MD_ERR_FULL)
        link_close(feed->link);
}

void setup_start(struct feed *feed)
{
    struct rwf_encoder enc;
    const struct omm_login_request request = {
        .stream_id = OMM_LOGIN_STREAM,
        .is_streaming = true,
        .user = rwf_text(feed->user),
        .name_type = RWF_NAME_LOGIN_USER,
        .password = rwf_text(feed->password),
        .application_id = rwf_text(feed->application_id),
        .application_name = rwf_text(PROGRAM),
        .position = rwf_text(feed->position),
        .single_open = true,
        .allow_suspect_data = true,
        .permission_expressions = true,
        .permission_profile = true,
    };

    rwf_encoder_init(&enc, feed->message, sizeof(feed->message));
    omm_login_request_encode(&enc, &request);
    send_setup(feed, &enc);
}

static void ask_directory(struct feed *feed)
{
    struct rwf_encoder enc;
    const struct omm_directory_request request = {
        .stream_id = OMM_DIRECTORY_STREAM,
        .is_streaming = true,
        .filter = OMM_FILTER_INFO | OMM_FILTER_STATE | OMM_FILTER_GROUP | OMM_FILTER_LOAD,
    };

    feed->state = FEED_DIRECTORY;
    rwf_encoder_init(&enc, feed->message, sizeof(feed->message));
    omm_directory_request_encode(&enc, &request);
    send_setup(feed, &enc);
}

static void ask_dictionary(struct feed *feed, int32_t stream_id, const char *name)
{
    struct rwf_encoder enc;
    const struct omm_dictionary_request request = {
        .stream_id = stream_id,
        .has_service_id = true,
        .service_id = feed->services[feed->teacher].id,
        .name = rwf_text(name),
        .filter = RWF_DICTIONARY_NORMAL,
    };

    feed->state = FEED_DICTIONARY;
    rwf_encoder_init(&enc, feed->message, sizeof(feed->message));
    omm_dictionary_request_encode(&enc, &request);
    send_setup(feed, &enc);
}

static void on_login(struct feed *feed, const struct rwf_msg *msg)
{
    bool has_state = msg->msg_class == RWF_CLASS_REFRESH ||
                     (msg->msg_class == RWF_CLASS_STATUS && msg->flags & RWF_STATUS_HAS_STATE);
    char text[MD_TEXT_DOTTED_MAX + 1], why[MD_TEXT_DOTTED_MAX + 100];

    if (!has_state)
        return;
    if (msg->state.stream_state == RWF_STREAM_OPEN) {
        if (feed->state != FEED_LOGIN || msg->state.data_state != RWF_DATA_OK)
            return;
        feed->stats.logins++;
        feed->reason[0] = 0;
        feed->is_refused = false;
        ask_directory(feed);
        return;
    }
    snprintf(why, sizeof(why), "login %s: %s %s", feed->state == FEED_LOGIN ? "refused" : "closed",
             rwf_state_code_name(msg->state.code),
             md_text_dotted(msg->state.text.data, msg->state.text.length, text));
    feed_refuse(feed, why, msg->state.stream_state == RWF_STREAM_CLOSED);
}

static void note_service(struct feed *feed, const struct omm_service *service)
{
    for (size_t i = 0; i < feed->service_count; i++) {
        struct feed_service *ours = &feed->services[i];
        if (service->action == RWF_MAP_DELETE && ours->is_known && ours->id == service->id) {
            ours->is_known = false;
        } else if ((service->filters & OMM_FILTER_INFO) &&
                   rwf_bytes_equal(service->name, rwf_text(ours->name))) {
            ours->id = service->id;
            ours->is_known = ours->was_known = true;
        }
    }
}

/* The first service that was named and is there; service_count: there is none. */
static size_t first_known(const struct feed *feed)
{
    size_t i = 0;

    while (i < feed->service_count && !feed->services[i].is_known)
        i++;
    return i;
}

static void open_items(struct feed *feed)
{
    feed->state = FEED_UP;
    feed->next = 0;
    feed_ask(feed);
}

static void on_directory(struct feed *feed, const struct rwf_msg *msg, struct rwf_bytes bytes)
{
    const struct rec_key key = { .domain = RWF_DOMAIN_SOURCE };
    struct omm_directory directory;
    struct omm_service service;

    feed_record(feed, &key, bytes);
    if (msg->msg_class != RWF_CLASS_REFRESH && msg->msg_class != RWF_CLASS_UPDATE)
        return;
    int rc = omm_directory_start(msg, &directory);
    while (rc >= 0 && (rc = omm_directory_next(&directory, &service)) > 0)
        note_service(feed, &service);
    if (rc < 0)
        feed->stats.errors++;
    if (feed->state == FEED_UP)
        feed->next = 0; /* a service that was away may be back */
    if (msg->msg_class == RWF_CLASS_REFRESH && msg->flags & RWF_REFRESH_COMPLETE)
        feed->has_directory = true;
    size_t known = first_known(feed);
    if (feed->state != FEED_DIRECTORY || known == feed->service_count)
        return;
    feed->teacher = known;
    if (feed->asks_dictionary && !feed->has_dictionary) {
        rwf_dictionary_destroy(feed->dictionary);
        feed->dictionary = NULL;
        if (rwf_dictionary_create(&feed->dictionary) == MD_OK) {
            ask_dictionary(feed, FIELDS_STREAM, "RWFFld");
            return;
        }
    }
    open_items(feed);
}

static void no_dictionary(struct feed *feed, const char *why)
{
    rec_say(MD_LOG_WARNING, "no dictionary: %s; images have no ripples and no partial updates",
            why);
    feed->asks_dictionary = false;
    rwf_dictionary_destroy(feed->dictionary);
    feed->dictionary = NULL;
    open_items(feed);
}

static void dictionary_is_whole(struct feed *feed)
{
    feed->has_dictionary = true;
    if (cache_ripples_create(&feed->ripples) == MD_OK) {
        cache_ripples_learn(feed->ripples, feed->dictionary);
        rec_keeper_rules_set(feed->keeper, feed->ripples);
    }
    open_items(feed);
}

static void on_dictionary(struct feed *feed, const struct rwf_msg *msg, struct rwf_bytes bytes)
{
    bool is_fields = msg->stream_id == FIELDS_STREAM;
    const struct rec_key key = {
        .domain = RWF_DOMAIN_DICTIONARY,
        .service_id = feed->services[feed->teacher].id,
        .service = rwf_text(feed->services[feed->teacher].name),
        .name = rwf_text(is_fields ? "RWFFld" : "RWFEnum"),
    };

    if (feed->state != FEED_DICTIONARY)
        return;
    if (msg->msg_class == RWF_CLASS_STATUS) {
        if (msg->state.stream_state >= RWF_STREAM_CLOSED_RECOVER)
            no_dictionary(feed, "the server has none");
        return;
    }
    if (msg->msg_class != RWF_CLASS_REFRESH)
        return;
    feed_record(feed, &key, bytes);
    if (rwf_dictionary_decode(feed->dictionary, msg->payload) != RWF_OK) {
        no_dictionary(feed, "that of the server cannot be read");
        return;
    }
    if (!(msg->flags & RWF_REFRESH_COMPLETE))
        return;
    if (is_fields)
        ask_dictionary(feed, ENUMS_STREAM, "RWFEnum");
    else
        dictionary_is_whole(feed);
}

void setup_message(struct feed *feed, const struct rwf_msg *msg, struct rwf_bytes bytes)
{
    switch (msg->domain) {
    case RWF_DOMAIN_LOGIN:
        on_login(feed, msg);
        break;
    case RWF_DOMAIN_SOURCE:
        on_directory(feed, msg, bytes);
        break;
    case RWF_DOMAIN_DICTIONARY:
        on_dictionary(feed, msg, bytes);
        break;
    default:
        feed->stats.errors++;
    }
}
