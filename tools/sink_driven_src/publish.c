/* publish.c - the non-interactive way: dial src_dist and send every item of the file. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "omm/directory.h"
#include "omm/login.h"
#include "sds.h"

#define PORT_DEFAULT 14003
#define REDIAL_NS    MD_NS_PER_S

struct publisher {
    struct sds *sds;
    struct md_loop_timer *timer;
    char host[256];
    uint16_t port;
    uint32_t attempt;
};

static void dial(void *owner)
{
    struct publisher *publisher = owner;
    struct sds *sds = publisher->sds;
    struct client_session *session;
    struct client_dial to = {
        .transport = sds->wire.transport,
        .options = { .nodelay = sds->options.nodelay,
                     .tls = sds->wire.tls,
                     .attempt = publisher->attempt++ },
        .host = publisher->host,
        .port = publisher->port,
        .rssl = sds_rssl_config(RSSL_ROLE_CLIENT),
    };

    int rc = client_session_dial(sds->context, &to, md_clock_mono_ns(), &session);
    struct client *client = rc == MD_OK ? sds_client_create(sds, session) : NULL;
    if (!client) {
        fprintf(stderr, "sink_driven_src: cannot connect to %s:%u: %s; again in a second\n",
                publisher->host, publisher->port, md_err_name(rc));
        (void)md_loop_timer_after(publisher->timer, REDIAL_NS);
        return;
    }
    client->is_provider_side = true;
}

/* HOST or HOST:PORT, [ADDRESS]:PORT */
static bool split_host(const char *text, struct publisher *publisher)
{
    const char *colon = strrchr(text, ':');
    char *end;

    publisher->port = PORT_DEFAULT;
    if (colon && (strchr(text, ':') == colon || colon[-1] == ']')) {
        unsigned long port = strtoul(colon + 1, &end, 10);
        if (*end || port == 0 || port > 65535)
            return false;
        publisher->port = (uint16_t)port;
    } else {
        colon = text + strlen(text);
    }
    if (text[0] == '[' && colon > text && colon[-1] == ']') {
        text++;
        colon--;
    }
    size_t length = (size_t)(colon - text);
    if (length == 0 || length >= sizeof(publisher->host))
        return false;
    memcpy(publisher->host, text, length);
    return true;
}

int sds_hosts_dial(struct sds *sds)
{
    struct publisher *publisher = calloc(1, sizeof(*publisher));

    sds->publisher = publisher;
    if (!publisher)
        return MD_ERR_NOMEM;
    publisher->sds = sds;
    if (!split_host(sds->options.host, publisher)) {
        fprintf(stderr, "sink_driven_src: -host \"%s\" is not HOST or HOST:PORT\n",
                sds->options.host);
        return MD_ERR_MALFORMED;
    }
    int rc = md_loop_timer_create(sds->loop, dial, publisher, &publisher->timer);
    if (rc == MD_OK)
        dial(publisher);
    return rc;
}

void sds_hosts_lost(struct sds *sds)
{
    if (sds->publisher)
        (void)md_loop_timer_after(sds->publisher->timer, REDIAL_NS);
}

void sds_hosts_stop(struct sds *sds)
{
    if (!sds->publisher)
        return;
    md_loop_timer_destroy(sds->publisher->timer);
    free(sds->publisher);
    sds->publisher = NULL;
}

void sds_client_opened(struct client *client)
{
    struct sds *sds = client->sds;
    struct rwf_encoder enc;
    struct omm_login_request request = {
        .stream_id = OMM_LOGIN_STREAM,
        .is_streaming = true,
        .user = rwf_text(sds->options.user),
        .name_type = RWF_NAME_LOGIN_USER,
        .application_id = rwf_text("256"),
        .application_name = rwf_text("sink_driven_src"),
        .position = rwf_text("127.0.0.1/net"),
        .role = OMM_ROLE_PROVIDER,
        .single_open = true,
        .allow_suspect_data = true,
        .permission_expressions = true,
        .permission_profile = true,
    };

    if (!client->is_provider_side)
        return;
    rwf_encoder_init(&enc, sds->message, sizeof(sds->message));
    if (omm_login_request_encode(&enc, &request) == RWF_OK)
        (void)sds_send(client, sds->message, rwf_encoder_bytes(&enc).length);
}

static void publish_item(struct client *client, struct service *service, uint8_t domain,
                         struct rwf_bytes name)
{
    struct sds *sds = client->sds;
    struct item *item = sds_item_take(sds, service, domain, name);
    int32_t stream_id = -(int32_t)++client->next_negative;
    struct watch *watch = item ? sds_watch_add(client, item, stream_id) : NULL;

    if (watch)
        sds_send_image(watch, false, true, NULL);
    else
        sds->stats.errors++;
}

void sds_publish_all(struct client *client)
{
    struct sds *sds = client->sds;
    struct sds_directory directory = { .is_streaming = true };

    client->is_logged_in = true;
    client->directory_stream = 0;
    client->directory_filter = OMM_FILTER_INFO | OMM_FILTER_STATE;
    client->has_directory = true;
    sds_send_directory(client, &directory);
    for (size_t s = 0; s < sds->service_count; s++) {
        for (size_t i = 0; i < sds->sample.count; i++)
            publish_item(client, &sds->services[s], sds->sample.items[i].domain,
                         rwf_text(sds->sample.items[i].name));
        for (size_t i = 0; i < sds->list.count; i++)
            publish_item(client, &sds->services[s],
                         sds->list.entries[i].domain ? sds->list.entries[i].domain
                                                     : (uint8_t)RWF_DOMAIN_MARKET_PRICE,
                         rwf_bytes(sds->list.entries[i].name, sds->list.entries[i].name_length));
    }
    fprintf(stderr, "sink_driven_src: logged in at %s, %u items published\n",
            client_session_peer(link_session(client->link)), client->next_negative);
}
