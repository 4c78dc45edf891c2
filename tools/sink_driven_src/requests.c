/* requests.c - what clients ask, and the items they hold open. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "omm/directory.h"
#include "omm/item.h"
#include "omm/login.h"
#include "sds.h"
#include "seqdata.h"

/* ---- the items ---- */

/* Items are kept by "service-id domain name". */
static size_t make_key(char key[300], unsigned service, unsigned domain, struct rwf_bytes name)
{
    key[0] = (char)(service >> 8);
    key[1] = (char)service;
    key[2] = (char)domain;
    memcpy(key + 3, name.data, name.length);
    return 3 + name.length;
}

static void open_add(struct sds *sds, struct item *item)
{
    if (sds->open_count == sds->open_size) {
        size_t size = sds->open_size ? 2 * sds->open_size : 1024;
        void *open = realloc(sds->open, size * sizeof(*sds->open));
        if (!open) {
            sds->stats.errors++;
            return;
        }
        sds->open = open;
        sds->open_size = size;
    }
    item->at = sds->open_count;
    sds->open[sds->open_count++] = item;
    /* A shuffle as the list grows: any order is as likely, and the same for the same seed. */
    if (sds->options.seed) {
        size_t other = md_prng_below(&sds->prng, (uint32_t)sds->open_count);
        struct item *moved = sds->open[other];
        sds->open[item->at] = moved;
        moved->at = item->at;
        sds->open[other] = item;
        item->at = other;
    }
}

static void open_remove(struct sds *sds, struct item *item)
{
    if (item->at == SIZE_MAX)
        return;
    struct item *last = sds->open[--sds->open_count];
    sds->open[item->at] = last;
    last->at = item->at;
    item->at = SIZE_MAX;
}

/* -seqdata takes the place of the template; items that the file names keep their data. */
static const struct sample_item *sample_of(const struct sds *sds, const char *name)
{
    const struct sample_item *sample = sample_find(&sds->sample, name);

    if (sds->options.seqdata)
        return sample != sds->template ? sample : NULL;
    return sample ? sample : sds->template;
}

struct item *sds_item_take(struct sds *sds, struct service *service, uint8_t domain,
                           struct rwf_bytes name)
{
    char key[300];
    size_t length = make_key(key, service->id, domain, name);
    struct item *item = md_table_get(sds->items, key, length);

    if (item)
        return item;
    item = calloc(1, sizeof(*item));
    if (!item)
        return NULL;
    memcpy(item->key, key, length);
    item->name = item->key + 3;
    item->name_length = (uint8_t)name.length;
    item->service = service;
    item->domain = domain;
    item->at = SIZE_MAX;
    item->hash = seqdata_item(name.data, name.length);
    item->sample = sample_of(sds, item->name);
    item->is_silent = sds->options.seqdata && item->sample && item->sample->update_count == 0;
    if (md_table_put(sds->items, item->key, length, item) != MD_OK) {
        free(item);
        return NULL;
    }
    kinds_take(sds, item);
    if (sds->options.stamp_item && strcmp(sds->options.stamp_item, item->name) == 0)
        sds->stamp_item = item;
    return item;
}

struct item *sds_item_find(struct sds *sds, const char *name)
{
    struct md_table_walk walk = { 0 };
    struct item *item;

    while ((item = md_table_next(sds->items, &walk)) != NULL) {
        if (strcmp(item->name, name) == 0)
            return item;
    }
    return NULL;
}

struct watch *sds_watch_add(struct client *client, struct item *item, int32_t stream_id)
{
    struct watch *watch = calloc(1, sizeof(*watch));

    if (!watch)
        return NULL;
    *watch = (struct watch){ .client = client, .item = item, .stream_id = stream_id };
    if (md_table_put(client->streams, &watch->stream_id, sizeof(stream_id), watch) != MD_OK) {
        free(watch);
        return NULL;
    }
    struct watch **at = &item->watches;
    while (*at)
        at = &(*at)->next;
    *at = watch;
    if (item->at == SIZE_MAX && !item->is_silent)
        open_add(client->sds, item);
    return watch;
}

/* All but its place among the client's streams. */
static void end_watch(struct watch *watch)
{
    struct item *item = watch->item;
    struct watch **at = &item->watches;

    emitter_forget(watch->client->sds->emitter, watch);
    while (*at != watch)
        at = &(*at)->next;
    *at = watch->next;
    if (!item->watches)
        open_remove(watch->client->sds, item);
    free(watch);
}

void sds_watch_remove(struct watch *watch)
{
    (void)md_table_remove(watch->client->streams, &watch->stream_id, sizeof(watch->stream_id));
    end_watch(watch);
}

/* The streams go as a whole: 100,000 of them, one by one, would hold everything up for a minute. */
void sds_client_forget(struct client *client)
{
    struct md_table_walk walk = { 0 };
    struct watch *watch;

    if (!client->streams)
        return;
    while ((watch = md_table_next(client->streams, &walk)) != NULL)
        end_watch(watch);
    md_table_destroy(client->streams);
    client->streams = NULL;
    client->outq = NULL;
}

/* ---- item requests ---- */

static struct service *service_find(struct sds *sds, uint16_t id)
{
    for (size_t i = 0; i < sds->service_count; i++) {
        if (sds->services[i].id == id)
            return &sds->services[i];
    }
    return NULL;
}

static void refuse(struct client *client, const struct omm_item_request *request, unsigned state,
                   unsigned code, const char *text)
{
    sds_send_status(client, request->stream_id, request->domain, request->is_private, state,
                    RWF_DATA_SUSPECT, code, text);
}

static void open_item(struct client *client, const struct omm_item_request *request,
                      struct rwf_bytes name, int32_t stream_id)
{
    struct sds *sds = client->sds;
    struct omm_item_request one = *request;
    struct service *service = service_find(sds, request->key.service_id);
    struct watch *watch = md_table_get(client->streams, &stream_id, sizeof(stream_id));

    one.stream_id = stream_id;
    if (!service || !(request->key.flags & RWF_KEY_HAS_SERVICE_ID)) {
        refuse(client, &one, RWF_STREAM_CLOSED_RECOVER, RWF_CODE_SOURCE_UNKNOWN, "no such service");
        return;
    }
    if (name.length == 0) {
        refuse(client, &one, RWF_STREAM_CLOSED, RWF_CODE_USAGE_ERROR, "no item name");
        return;
    }
    if (!service->is_up) {
        refuse(client, &one, RWF_STREAM_CLOSED_RECOVER, RWF_CODE_NONE, "service is down");
        return;
    }
    struct item *item = sds_item_take(sds, service, request->domain, name);
    if (!item) {
        refuse(client, &one, RWF_STREAM_CLOSED_RECOVER, RWF_CODE_NO_RESOURCES, "out of memory");
        return;
    }
    if (watch && watch->item != item) {
        refuse(client, &one, RWF_STREAM_CLOSED, RWF_CODE_USAGE_ERROR,
               "the stream is open for another item");
        return;
    }
    bool reissue = watch != NULL;
    struct watch once = { .client = client, .item = item, .stream_id = stream_id };
    if (!watch && request->is_streaming)
        watch = sds_watch_add(client, item, stream_id);
    if (!watch)
        watch = &once;
    watch->is_private = request->is_private;
    if (!request->no_refresh)
        sds_send_image(watch, true, request->is_streaming || reissue, &request->key);
}

static void open_batch(struct client *client, const struct omm_item_request *request)
{
    struct omm_batch batch;
    struct rwf_bytes name;
    int32_t stream_id = request->stream_id;

    if (omm_batch_start(request, &batch) != RWF_OK) {
        refuse(client, request, RWF_STREAM_CLOSED, RWF_CODE_USAGE_ERROR, "no :ItemList");
        return;
    }
    while (omm_batch_next(&batch, &name) > 0)
        open_item(client, request, name, ++stream_id);
    sds_send_status(client, request->stream_id, request->domain, false, RWF_STREAM_CLOSED,
                    RWF_DATA_OK, RWF_CODE_NONE, "batch done");
}

static void item_request(struct client *client, const struct rwf_msg *msg)
{
    struct omm_item_request request;

    client->sds->stats.requests++;
    omm_item_request_decode(msg, &request);
    if (!client->is_logged_in) {
        refuse(client, &request, RWF_STREAM_CLOSED_RECOVER, RWF_CODE_USAGE_ERROR, "not logged in");
        return;
    }
    if (request.is_batch)
        open_batch(client, &request);
    else
        open_item(client, &request, request.key.name, request.stream_id);
}

/* ---- the other messages ---- */

static void on_request(struct client *client, const struct rwf_msg *msg)
{
    switch (msg->domain) {
    case RWF_DOMAIN_LOGIN:
        sds_answer_login(client, msg);
        break;
    case RWF_DOMAIN_SOURCE:
        sds_answer_directory(client, msg);
        break;
    case RWF_DOMAIN_DICTIONARY:
        sds_answer_dictionary(client, msg);
        break;
    default:
        item_request(client, msg);
        break;
    }
}

static void on_close(struct client *client, const struct rwf_msg *msg)
{
    struct watch *watch = md_table_get(client->streams, &msg->stream_id, sizeof(msg->stream_id));

    client->sds->stats.closes++;
    if (watch)
        sds_watch_remove(watch);
    else if (msg->domain == RWF_DOMAIN_LOGIN)
        link_close(client->link);
    else if (msg->domain == RWF_DOMAIN_SOURCE)
        client->has_directory = false;
}

/* The item that a post is for: that of its stream, else the one that its key names, if it is open.
 */
static struct item *post_item(struct client *client, const struct rwf_msg *msg)
{
    struct watch *watch = md_table_get(client->streams, &msg->stream_id, sizeof(msg->stream_id));
    char key[300];

    if (watch)
        return watch->item;
    if (!(msg->flags & RWF_POST_HAS_KEY) || !(msg->key.flags & RWF_KEY_HAS_NAME) ||
        msg->key.name.length > 255)
        return NULL;
    size_t length = make_key(key, msg->key.service_id, msg->domain, msg->key.name);
    return md_table_get(client->sds->items, key, length);
}

/* A post is taken as it is and, if asked for, acknowledged. */
static void on_post(struct client *client, const struct rwf_msg *msg)
{
    uint8_t buffer[512];
    struct rwf_encoder enc;
    struct omm_ack ack = {
        .stream_id = msg->stream_id,
        .domain = msg->domain,
        .ack_id = msg->post_id,
        .has_seq_num = (msg->flags & RWF_POST_HAS_SEQ_NUM) != 0,
        .seq_num = msg->seq_num,
    };

    client->sds->stats.posts++;
    struct item *item = client->sds->kinds ? post_item(client, msg) : NULL;
    if (item && !kinds_post(client->sds, item, msg)) {
        ack.nak_code = RWF_NAK_INVALID_CONTENT;
        ack.text = rwf_text("not a price");
    }
    if (!(msg->flags & RWF_POST_ACK))
        return;
    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    if (omm_ack_encode(&enc, &ack) == RWF_OK)
        (void)sds_send(client, buffer, rwf_encoder_bytes(&enc).length);
}

/* Only when we dialed: the answer to our login. */
static void on_answer(struct client *client, const struct rwf_msg *msg)
{
    bool is_refusal = msg->msg_class == RWF_CLASS_STATUS && (msg->flags & RWF_STATUS_HAS_STATE) &&
                      msg->state.stream_state >= RWF_STREAM_CLOSED_RECOVER;

    if (!client->is_provider_side)
        return;
    if (msg->domain != RWF_DOMAIN_LOGIN) {
        if (is_refusal)
            sds_item_refused(client, msg);
        return;
    }
    if (msg->state.stream_state == RWF_STREAM_OPEN && msg->state.data_state == RWF_DATA_OK &&
        msg->msg_class == RWF_CLASS_REFRESH) {
        if (!client->is_logged_in)
            sds_publish_all(client);
        return;
    }
    if (is_refusal) {
        sds_login_refused(client, msg);
        link_close(client->link);
    }
}

void sds_client_message(struct client *client, const struct rssl_event *event)
{
    struct rwf_msg msg;

    if (rwf_msg_decode(rwf_bytes(event->bytes, event->length), &msg) != RWF_OK) {
        client->sds->stats.errors++;
        return;
    }
    switch (msg.msg_class) {
    case RWF_CLASS_REQUEST:
        on_request(client, &msg);
        break;
    case RWF_CLASS_CLOSE:
        on_close(client, &msg);
        break;
    case RWF_CLASS_POST:
        on_post(client, &msg);
        break;
    case RWF_CLASS_GENERIC:
        client->sds->stats.generics++;
        break;
    default:
        on_answer(client, &msg);
        break;
    }
}
