/* server.c - the clients of the provider: accepted ones, and the src_dist it dials. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "sds.h"

/* For answers while updates wait: images of 140,000 items. */
#define ANSWER_BUFFERS 10000u

static void on_open(void *owner)
{
    struct client *client = owner;

    client->outq = client_session_outq(link_session(client->link));
    sds_client_opened(client);
}

static void on_messages(void *owner, const struct rssl_event *events, size_t count)
{
    struct client *client = owner;

    for (size_t i = 0; i < count; i++) {
        if (events[i].kind == RSSL_EVENT_MESSAGE)
            sds_client_message(client, &events[i]);
    }
}

static void on_closed(void *owner, const char *reason)
{
    struct client *client = owner;
    struct sds *sds = client->sds;
    struct client **at = &sds->clients;

    fprintf(stderr, "sink_driven_src: client %s: %s\n",
            client_session_peer(link_session(client->link)), reason);
    sds_client_forget(client);
    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    sds->client_count--;
    if (client->is_provider_side) /* nobody to publish to any more */
        sds_hosts_lost(sds);
    link_destroy(client->link);
    free(client);
}

static const struct link_ops link_ops = {
    .on_open = on_open,
    .on_messages = on_messages,
    .on_closed = on_closed,
};

struct client *sds_client_create(struct sds *sds, struct client_session *session)
{
    struct client *client = calloc(1, sizeof(*client));

    if (!client || md_table_create(1024, &client->streams) != MD_OK ||
        link_create(sds->loop, session, &link_ops, client, &client->link) != MD_OK) {
        if (client)
            md_table_destroy(client->streams);
        free(client);
        client_session_destroy(session);
        return NULL;
    }
    client->sds = sds;
    client->next = sds->clients;
    sds->clients = client;
    sds->client_count++;
    link_start(client->link);
    return client;
}

struct rssl_config sds_rssl_config(enum rssl_role role)
{
    struct rssl_config config = rssl_config_default(role);

    config.max_buffers = SDS_UPDATE_BUFFERS + ANSWER_BUFFERS;
    config.guaranteed_buffers = SDS_UPDATE_BUFFERS + ANSWER_BUFFERS;
    config.component = "sink_driven_src";
    config.ping_timeout_min_s = 1; /* as the client proposes */
    return config;
}

static void on_accept(void *owner, int fd, unsigned events)
{
    struct sds *sds = owner;
    struct net_stream *stream;

    (void)fd;
    (void)events;
    while (net_listener_accept(sds->listener, &stream) == MD_OK) {
        struct rssl_config config = sds_rssl_config(RSSL_ROLE_SERVER);
        struct client_session *session;
        if (client_session_serve(sds->context, stream, &config, md_clock_mono_ns(), &session) !=
            MD_OK)
            continue;
        if (sds->options.max_clients && sds->client_count >= sds->options.max_clients)
            rssl_channel_refuse(client_session_channel(session), "too many clients");
        if (!sds_client_create(sds, session))
            fprintf(stderr, "sink_driven_src: no memory for another client\n");
    }
}

int sds_server_start(struct sds *sds, char *error, size_t error_size)
{
    struct net_stream_options options = { .nodelay = sds->options.nodelay,
                                          .tls = sds->wire.tls,
                                          .is_plain = sds->wire.is_plain };
    int rc = sds->wire.transport->listen(&options, sds->options.address, sds->port, &sds->listener);

    if (rc != MD_OK) {
        snprintf(error, error_size, "cannot listen on port %u: %s", sds->port, net_error());
        return rc;
    }
    return md_loop_fd_add(sds->loop, net_listener_descriptor(sds->listener), MD_LOOP_READ,
                          on_accept, sds, &sds->listen_watch);
}

void sds_server_stop(struct sds *sds)
{
    md_loop_fd_remove(sds->listen_watch);
    net_listener_close(sds->listener);
    while (sds->clients) {
        struct client *client = sds->clients;
        sds->clients = client->next;
        sds_client_forget(client);
        (void)link_flush(client->link);
        link_destroy(client->link);
        free(client);
    }
}

void sds_clients_flush(struct sds *sds)
{
    for (struct client *client = sds->clients; client; client = client->next) {
        if (client->unflushed > 0) {
            client->unflushed = 0;
            (void)link_flush(client->link);
        }
    }
}

void sds_client_drop_all(struct sds *sds)
{
    for (struct client *client = sds->clients; client; client = client->next)
        link_close(client->link);
}

int sds_send(struct client *client, const void *message, size_t length)
{
    int rc = rssl_outq_write(client->outq, message, length);

    if (rc == MD_ERR_FULL) {
        client->unflushed = 0;
        (void)link_flush(client->link);
        rc = rssl_outq_write(client->outq, message, length);
    }
    if (rc != MD_OK) {
        client->sds->stats.errors++;
        return rc;
    }
    client->unflushed += length;
    client->sds->stats.bytes += length;
    return MD_OK;
}
