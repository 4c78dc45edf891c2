/* topics.c - bare topics: bytes by name, in order, losses told. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "backbone/topic.h"
#include "base/err.h"
#include "internal.h"

/* A topic that this attachment publishes: the numbers must go on. */
struct sent {
    uint32_t number;
    uint8_t name_length;
    char name[LIBRARY_NAME_MAX + 1];
};

/* ---- what a subscriber is told ---- */

static void tell(struct rmds_topic *topic, const struct library_sender *sender,
                 struct rmds_topic_event *event)
{
    event->topic = topic;
    event->user = topic->user;
    event->sender = sender->session ^ (uint64_t)sender->port << 48;
    if (topic->handle)
        topic->handle(event);
}

static void tell_lost(struct rmds_topic *topic, const struct library_sender *sender, uint32_t lost)
{
    struct rmds_topic_event event = { .kind = RMDS_TOPIC_LOST, .lost = lost };

    tell(topic, sender, &event);
}

/* A new one begins with any number: it may have sent before. NULL: there are too many. */
static struct library_sender *sender_of(struct rmds_topic *topic,
                                        const struct backbone_event *event, uint32_t number)
{
    struct library_sender **at = &topic->senders, *sender;

    for (sender = *at; sender; at = &sender->next, sender = *at) {
        if (sender->session != event->session || sender->port != event->src_port)
            continue;
        *at = sender->next; /* to the front: it will send again */
        sender->next = topic->senders;
        topic->senders = sender;
        return sender;
    }
    sender = topic->sender_count < LIBRARY_SENDERS_MAX ? calloc(1, sizeof(*sender)) : NULL;
    if (!sender)
        return NULL;
    *sender =
        (struct library_sender){ topic->senders, event->session, event->src_port, number - 1 };
    topic->senders = sender;
    topic->sender_count++;
    return sender;
}

static void on_message(struct rmds_backbone *backbone, const struct backbone_event *event)
{
    struct rmds_topic_event out = { .kind = RMDS_TOPIC_MESSAGE, .received_ns = event->rx_ns };
    struct backbone_topic in;
    struct rmds_topic *topic;
    struct library_sender *sender;
    uint64_t session;
    uint16_t port;

    attach_self(backbone->attach, &session, &port);
    if ((event->session == session && event->src_port == port) ||
        !backbone_topic_decode(event->bytes, event->length, &in))
        return;
    topic = md_table_get(backbone->topics.by_name, in.name, in.name_length);
    if (!topic)
        return;
    sender = sender_of(topic, event, in.number);
    if (!sender) {
        backbone->stats.senders_refused++;
        return;
    }
    uint32_t step = in.number - sender->number;
    if (step == 0 || step > INT32_MAX)
        return; /* heard already */
    sender->number = in.number;
    if (step > 1)
        tell_lost(topic, sender, step - 1);
    out.bytes = rwf_bytes(in.message, in.length);
    backbone->stats.topic_messages++;
    tell(topic, sender, &out);
}

static bool is_about(const struct backbone_event *event, const struct library_sender *sender)
{
    if (event->type == BACKBONE_DETACHED)
        return true;
    return sender->session == event->session &&
           (event->type != BACKBONE_USER_DOWN || sender->port == event->src_port);
}

/* A loss, or the end of senders. Their list does not change in callbacks. */
static void on_notice(struct rmds_topic *topic, const struct backbone_event *event)
{
    bool is_end = event->type != BACKBONE_GAP;
    struct library_sender **at = &topic->senders, *sender;

    while ((sender = *at) != NULL) {
        struct rmds_topic_event gone = { .kind = RMDS_TOPIC_GONE };

        if (!is_about(event, sender)) {
            at = &sender->next;
        } else if (!is_end) {
            at = &sender->next;
            tell_lost(topic, sender, 0);
        } else {
            *at = sender->next;
            topic->sender_count--;
            tell(topic, sender, &gone);
            free(sender);
        }
    }
}

void library_topics_event(struct rmds_backbone *backbone, const struct backbone_event *event)
{
    struct library_topics *topics = &backbone->topics;

    if (event->type == BACKBONE_MESSAGE) {
        on_message(backbone, event);
        return;
    }
    bool is_gap = event->type == BACKBONE_GAP && !(event->flags & BACKBONE_FLAG_UNICAST);
    if (!is_gap && event->type != BACKBONE_PEER_DOWN && event->type != BACKBONE_USER_DOWN &&
        event->type != BACKBONE_DETACHED)
        return;
    for (uint32_t i = 0; i < topics->count; i++)
        on_notice(topics->list[i], event);
}

/* ---- subscribe ---- */

static bool is_name(const char *name)
{
    return name && *name && strlen(name) <= LIBRARY_NAME_MAX;
}

int rmds_topic_subscribe(struct rmds_backbone *backbone, const char *name, rmds_topic_fn *handle,
                         void *user, struct rmds_topic **out)
{
    struct library_topics *topics = &backbone->topics;
    struct rmds_topic *topic;

    *out = NULL;
    if (!is_name(name) || !handle)
        return MD_ERR_RANGE;
    if (md_table_get(topics->by_name, name, strlen(name)))
        return MD_ERR_EXISTS;
    if (topics->count == LIBRARY_TOPICS_MAX)
        return MD_ERR_FULL;
    topic = calloc(1, sizeof(*topic));
    if (!topic)
        return MD_ERR_NOMEM;
    topic->backbone = backbone;
    topic->handle = handle;
    topic->user = user;
    topic->name_length = (uint8_t)strlen(name);
    memcpy(topic->name, name, topic->name_length);
    int err = md_table_put(topics->by_name, topic->name, topic->name_length, topic);
    if (err != MD_OK) {
        free(topic);
        return err;
    }
    topics->list[topics->count++] = topic;
    library_wants_say(backbone);
    *out = topic;
    return MD_OK;
}

void rmds_topic_unsubscribe(struct rmds_topic *topic)
{
    struct library_topics *topics;

    if (!topic || !topic->handle)
        return;
    topics = &topic->backbone->topics;
    topic->handle = NULL;
    topics->has_ended = true;
    md_table_remove(topics->by_name, topic->name, topic->name_length);
    library_wants_say(topic->backbone);
}

static void give(struct rmds_topic *topic)
{
    struct library_sender *next;

    for (struct library_sender *sender = topic->senders; sender; sender = next) {
        next = sender->next;
        free(sender);
    }
    free(topic);
}

/* No callback is under way: what has ended may go. */
void library_topics_settle(struct library_topics *topics)
{
    uint32_t kept = 0;

    if (!topics->has_ended)
        return;
    for (uint32_t i = 0; i < topics->count; i++) {
        if (topics->list[i]->handle)
            topics->list[kept++] = topics->list[i];
        else
            give(topics->list[i]);
    }
    topics->count = kept;
    topics->has_ended = false;
}

/* ---- publish ---- */

static struct sent *sent_of(struct library_topics *topics, const char *name)
{
    size_t length = strlen(name);
    struct sent *sent = md_table_get(topics->sent, name, length);

    if (sent || topics->sent_count == LIBRARY_TOPICS_MAX)
        return sent;
    sent = calloc(1, sizeof(*sent));
    if (!sent)
        return NULL;
    sent->name_length = (uint8_t)length;
    memcpy(sent->name, name, length);
    if (md_table_put(topics->sent, sent->name, length, sent) != MD_OK) {
        free(sent);
        return NULL;
    }
    topics->sent_count++;
    return sent;
}

int rmds_topic_publish(struct rmds_backbone *backbone, const char *name, const void *bytes,
                       size_t length)
{
    struct backbone_target target = { .path = BACKBONE_PATH_MULTICAST };
    struct sent *sent;
    uint8_t *room;

    if (!is_name(name))
        return MD_ERR_RANGE;
    sent = sent_of(&backbone->topics, name);
    if (!sent)
        return MD_ERR_NOMEM;
    target.topic = backbone_topic_number(sent->name, sent->name_length);
    int err = attach_claim(backbone->attach, &target,
                           BACKBONE_TOPIC_HEAD + sent->name_length + length, &room);
    if (err == MD_ERR_FULL)
        backbone->source.is_full = true;
    if (err != MD_OK)
        return err;
    size_t head = backbone_topic_head(room, sent->name, sent->name_length, ++sent->number);
    if (length > 0)
        memcpy(room + head, bytes, length);
    attach_commit(backbone->attach, head + length);
    return MD_OK;
}

/* ---- life ---- */

int library_topics_init(struct library_topics *topics)
{
    int err = md_table_create(64, &topics->by_name);

    return err == MD_OK ? md_table_create(64, &topics->sent) : err;
}

void library_topics_fini(struct library_topics *topics)
{
    struct md_table_walk walk = { 0 };
    struct sent *sent;

    for (uint32_t i = 0; i < topics->count; i++)
        give(topics->list[i]);
    while (topics->sent && (sent = md_table_next(topics->sent, &walk)) != NULL) {
        md_table_remove(topics->sent, sent->name, sent->name_length);
        free(sent);
    }
    md_table_destroy(topics->by_name);
    md_table_destroy(topics->sent);
}
