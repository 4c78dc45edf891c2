/* publish.c - the non-interactive way: dial src_dist and send every item of the file. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/secret.h"
#include "conf/options.h"
#include "omm/directory.h"
#include "omm/login.h"
#include "sds.h"

#define PORT_DEFAULT 14003
#define REDIAL_NS    MD_NS_PER_S
#define AGAIN_NS     (30 * MD_NS_PER_S) /* until an item that was refused for now is sent again */
#define REFUSED_NS   (5 * MD_NS_PER_S)  /* who tries passwords faster fills src_dist's log */

struct publisher {
    struct sds *sds;
    struct md_loop_timer *timer;
    struct md_loop_timer *again;
    char host[256];
    uint16_t port;
    uint32_t attempt;
    uint32_t refusals; /* of the login, one after the other */
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
                     .attempt = publisher->attempt++,
                     .is_plain = sds->wire.is_plain },
        .host = publisher->host,
        .port = publisher->port,
        .rssl = sds_rssl_config(RSSL_ROLE_CLIENT),
    };

    int rc = client_session_dial(sds->context, &to, md_clock_mono_ns(), &session);
    struct client *client = rc == MD_OK ? sds_client_create(sds, session) : NULL;
    if (!client) {
        fprintf(stderr, "sink_driven_src: cannot connect to %s:%u: %s; again in a second\n",
                publisher->host, publisher->port, rc == MD_ERR_SYS ? net_error() : md_err_name(rc));
        (void)md_loop_timer_after(publisher->timer, REDIAL_NS);
        return;
    }
    client->is_provider_side = true;
}

static void send_item(struct client *client, struct item *item)
{
    int32_t stream_id = -(int32_t)++client->next_negative;
    struct watch *watch = sds_watch_add(client, item, stream_id);

    item->comes_again = false;
    if (watch)
        sds_send_image(watch, false, true, NULL);
    else
        client->sds->stats.errors++;
}

/* Sends the items again that were refused for now. A login in between sends all items anyway. */
static void publish_again(void *owner)
{
    struct publisher *publisher = owner;
    struct sds *sds = publisher->sds;
    struct client *client = sds->clients;
    struct md_table_walk walk = { 0 };
    struct item *item;

    while (client && !(client->is_provider_side && client->is_logged_in))
        client = client->next;
    while (client && (item = md_table_next(sds->items, &walk)) != NULL) {
        if (item->comes_again)
            send_item(client, item);
    }
    sds_clients_flush(sds);
}

static void take_again(struct publisher *publisher, struct item *item)
{
    item->comes_again = true;
    if (!md_loop_timer_is_running(publisher->again))
        (void)md_loop_timer_after(publisher->again, AGAIN_NS);
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
        rc = md_loop_timer_create(sds->loop, publish_again, publisher, &publisher->again);
    if (rc == MD_OK)
        dial(publisher);
    return rc;
}

void sds_hosts_lost(struct sds *sds)
{
    if (sds->publisher)
        (void)md_loop_timer_after(sds->publisher->timer,
                                  sds->publisher->refusals ? REFUSED_NS : REDIAL_NS);
}

/* ---- password, and what src_dist refuses ---- */

/* The first line of the file. */
static int read_password(const char *path, char *out, size_t size)
{
    char why[640];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

    if (!file) {
        fprintf(stderr, "sink_driven_src: -pwfile: %s: %s\n", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return MD_EXIT_FILE;
    }
    enum md_secret_state state = md_secret_look(fd, path, MD_SECRET_RULES, why, sizeof(why));
    if (state != MD_SECRET_FINE)
        fprintf(stderr, "sink_driven_src: -pwfile: %s\n", why);
    bool has_line = state != MD_SECRET_REFUSED && fgets(out, (int)size, file);
    bool is_whole = has_line && (strchr(out, '\n') || feof(file));
    fclose(file);
    if (state == MD_SECRET_REFUSED)
        return MD_EXIT_FILE;
    if (has_line)
        out[strcspn(out, "\r\n")] = '\0';
    if (is_whole && out[0])
        return MD_EXIT_OK;
    fprintf(stderr,
            "sink_driven_src: -pwfile: %s: its first line is %s; expected a password of at "
            "most %zu bytes\n",
            path, has_line && !is_whole ? "too long" : "empty", size - 2);
    return MD_EXIT_FILE;
}

int sds_password_read(struct sds *sds, const char *password, const char *path)
{
    struct sds_options *options = &sds->options;

    if (path)
        return read_password(path, options->password, sizeof(options->password));
    if (password && strlen(password) >= sizeof(options->password)) {
        fprintf(stderr, "sink_driven_src: -pw is longer than %zu bytes\n",
                sizeof(options->password) - 1);
        return MD_EXIT_CONFIG;
    }
    snprintf(options->password, sizeof(options->password), "%s", password ? password : "");
    return MD_EXIT_OK;
}

/* What the user can do. */
static const char *remedy_of_login(const struct sds *sds, unsigned code)
{
    if (code == RWF_CODE_EXCEEDED_MAX_MOUNTS_PER_USER)
        return "end another publisher of this user, or raise mounts= of its line in "
               "providerAccessFile of src_dist";
    if (code != RWF_CODE_NOT_ENTITLED)
        return "see the log of src_dist";
    return sds->options.password[0]
               ? "compare -u and the password with the user line in providerAccessFile of src_dist"
               : "providerAccessFile of src_dist wants a line for this user (-u), and its password "
                 "if the line has one (-pwfile)";
}

void sds_login_refused(struct client *client, const struct rwf_msg *msg)
{
    struct sds *sds = client->sds;
    struct publisher *publisher = sds->publisher;
    char text[256];

    if (!publisher)
        return;
    publisher->refusals++;
    /* The first, then the 2nd, 4th, 8th ...: it goes on for as long as nobody acts. */
    if ((publisher->refusals & (publisher->refusals - 1)) != 0)
        return;
    rwf_state_to_text(&msg->state, text, sizeof(text));
    fprintf(stderr, "sink_driven_src: %s:%u refuses the login of user %s (%u times): %s; %s\n",
            publisher->host, publisher->port, sds->options.user, publisher->refusals, text,
            remedy_of_login(sds, msg->state.code));
}

static const char *remedy_of_item(unsigned code)
{
    if (code == RWF_CODE_SOURCE_UNKNOWN)
        return "providerAccessFile of src_dist wants a line `allow USER SERVICE * do=publish`, or "
               "a "
               "route or another publisher has this service; see the log of src_dist";
    if (code == RWF_CODE_TOO_MANY_ITEMS)
        return "publish fewer items, or raise items= of the user's line, itemLimitPerProvider or "
               "maxCacheItems of src_dist";
    if (code == RWF_CODE_ALREADY_OPEN)
        return "another publisher has this item; end it, or publish other items";
    return "see the log of src_dist";
}

/* The stream is over. Once for a service and a reason: items may be many. */
void sds_item_refused(struct client *client, const struct rwf_msg *msg)
{
    struct watch *watch = md_table_get(client->streams, &msg->stream_id, sizeof(msg->stream_id));
    char text[256];

    if (!watch)
        return;
    struct item *item = watch->item;
    if (item->service->refused_code != msg->state.code) {
        item->service->refused_code = msg->state.code;
        rwf_state_to_text(&msg->state, text, sizeof(text));
        fprintf(stderr, "sink_driven_src: item %s of service %s is refused: %s; %s\n", item->name,
                item->service->name, text, remedy_of_item(msg->state.code));
    }
    if (msg->state.stream_state == RWF_STREAM_CLOSED_RECOVER && client->sds->publisher)
        take_again(client->sds->publisher, item);
    sds_watch_remove(watch);
}

void sds_hosts_stop(struct sds *sds)
{
    if (!sds->publisher)
        return;
    md_loop_timer_destroy(sds->publisher->timer);
    md_loop_timer_destroy(sds->publisher->again);
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
        .password = rwf_text(sds->options.password),
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
    struct item *item = sds_item_take(client->sds, service, domain, name);

    if (item)
        send_item(client, item);
    else
        client->sds->stats.errors++;
}

void sds_publish_all(struct client *client)
{
    struct sds *sds = client->sds;
    struct sds_directory directory = { .is_streaming = true };

    client->is_logged_in = true;
    if (sds->publisher)
        sds->publisher->refusals = 0;
    for (size_t s = 0; s < sds->service_count; s++)
        sds->services[s].refused_code = 0;
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
