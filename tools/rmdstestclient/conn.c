/* conn.c - one connection: dialing the hosts in turn, asking for the items. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/prng.h"
#include "base/table.h"
#include "omm/item.h"
#include "omm/login.h"
#include "tc.h"

#define AGAIN_NS       (MD_NS_PER_S)
#define BATCH_TEXT_MAX 40000u /* of the names in one request; a text of JSON ends at 61430 */

static void on_open(void *owner)
{
    struct conn *conn = owner;

    conn->is_open = true;
    setup_start(conn);
}

static void on_messages(void *owner, const struct rssl_event *events, size_t count)
{
    struct conn *conn = owner;

    conn->tc->stats.bytes += channel_new_bytes(conn);
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind == RSSL_EVENT_MESSAGE)
            data_message(conn, &events[i]);
    }
    if (conn->tc->options.log >= 2 || conn->tc->options.shows_states || conn->tc->pages)
        fflush(stdout); /* a line is seen when it is written, also through a pipe */
    if (conn->tc->options.slow_us) {
        struct timespec pause = { .tv_sec = conn->tc->options.slow_us / 1000000,
                                  .tv_nsec = conn->tc->options.slow_us % 1000000 * 1000l };
        (void)nanosleep(&pause, NULL);
    }
}

/* Why there is no connection to this host: for the first time, the second, the fourth, ... */
static void say(struct conn *conn, const char *reason)
{
    struct failures *f = &conn->failures[(conn->host - 1) % conn->tc->options.host_count];
    uint64_t hash = md_hash_bytes(reason, strlen(reason));

    if (f->reason != hash)
        *f = (struct failures){ .reason = hash };
    f->count++;
    if (f->count == 1)
        fprintf(stderr, "rmdstestclient: connection %u to %s: %s\n", conn->number, conn->peer,
                reason);
    else if ((f->count & (f->count - 1)) == 0)
        fprintf(stderr, "rmdstestclient: connection %u to %s: %s (%u times in a row)\n",
                conn->number, conn->peer, reason, f->count);
}

static void on_closed(void *owner, const char *reason)
{
    struct conn *conn = owner;
    struct tc *tc = conn->tc;

    if (conn->state > CONN_LOGIN)
        memset(conn->failures, 0, sizeof(conn->failures));
    say(conn, reason);
    if (conn->state > CONN_LOGIN)
        tc->stats.lost_connections++;
    channel_end(conn);
    conn->state = CONN_DOWN;
    conn->pending = conn->open = conn->next = 0;
    /* Ids hold for one connection: a server that was started anew may not know them yet. */
    memset(conn->service_known, 0, sizeof(conn->service_known));
    for (uint32_t i = 0; i < conn->slot_count; i++) {
        conn->slots[i].state = SLOT_WAITING;
        conn->slots[i].has_count = false;
    }
    if (!tc->is_over)
        (void)md_loop_timer_after(conn->timer, AGAIN_NS);
}

static const struct link_ops link_ops = {
    .on_open = on_open,
    .on_messages = on_messages,
    .on_closed = on_closed,
};

void conn_dial(struct conn *conn)
{
    struct tc *tc = conn->tc;
    uint32_t attempt = conn->host++;
    uint32_t host = attempt % (uint32_t)tc->options.host_count;

    snprintf(conn->peer, sizeof(conn->peer), "%.80s:%u", tc->options.hosts[host],
             tc->options.ports[host]);
    conn->state = CONN_CONNECTING;
    int rc = channel_dial(conn, attempt, &link_ops);
    if (rc != MD_OK) {
        char reason[160];

        snprintf(reason, sizeof(reason), "cannot connect: %s",
                 rc == MD_ERR_SYS ? net_error() : md_err_name(rc));
        say(conn, reason);
        conn->state = CONN_DOWN;
        (void)md_loop_timer_after(conn->timer, AGAIN_NS);
    }
}

/* Dial again, or ask again for items that were refused for now. */
static void on_timer(void *owner)
{
    struct conn *conn = owner;

    if (conn->state == CONN_DOWN) {
        conn_dial(conn);
        return;
    }
    conn->retry_waits = false;
    conn->next = 0;
    conn_ask(conn);
    channel_flush(conn);
}

void conn_again(struct conn *conn, struct slot *slot)
{
    slot->state = SLOT_WAITING;
    slot->has_count = false;
    if (conn->retry_waits)
        return;
    conn->retry_waits = true;
    (void)md_loop_timer_after(conn->timer, AGAIN_NS);
}

/* -ss: the head of what goes out, and for whom. */
static void show_sent(struct rwf_bytes bytes)
{
    struct rwf_msg msg;

    if (rwf_msg_decode(bytes, &msg) != RWF_OK)
        return;
    bool has_name = (msg.key.flags & RWF_KEY_HAS_NAME) && msg.domain != RWF_DOMAIN_LOGIN;
    printf("SENT    %s %s stream %d%s%.*s, %zu bytes\n", rwf_class_name(msg.msg_class),
           rwf_domain_name(msg.domain), msg.stream_id, has_name ? " " : "",
           has_name ? (int)msg.key.name.length : 0, (const char *)msg.key.name.data, bytes.length);
    fflush(stdout);
}

int conn_send(struct conn *conn, const struct rwf_encoder *enc)
{
    struct rwf_bytes bytes = rwf_encoder_bytes(enc);
    int rc = rwf_encoder_error(enc);

    if (rc == RWF_OK && conn->is_open && conn->tc->options.shows_sent)
        show_sent(bytes);
    if (rc == RWF_OK && conn->is_open)
        rc = channel_write(conn, bytes);
    if (rc != RWF_OK)
        conn->tc->stats.errors++;
    return rc;
}

/* The element :ItemList of a batch. */
static void add_names(struct conn *conn, struct rwf_encoder *enc, uint32_t first, uint32_t count)
{
    rwf_element_start(enc, rwf_text(":ItemList"), RWF_TYPE_ARRAY);
    rwf_array_start(enc, RWF_TYPE_ASCII, 0);
    for (uint32_t i = 0; i < count; i++) {
        const struct tc_item *item = &conn->tc->items[conn->slots[first + i].item];
        rwf_array_add_bytes(enc, rwf_bytes(item->name, item->name_length));
    }
    rwf_array_finish(enc);
    rwf_element_finish(enc);
}

/* `count` names from slot `first` on, on the stream before them; or one, on its own. */
static int send_request(struct conn *conn, uint32_t slot, bool is_batch, uint32_t first,
                        uint32_t count)
{
    struct tc *tc = conn->tc;
    const struct tc_item *item = &tc->items[conn->slots[first].item];
    bool has_payload = is_batch || tc->options.view_count > 0;
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_REQUEST,
        .domain = item->domain,
        .stream_id = (int32_t)slot + STREAM_FIRST,
        .container = has_payload ? RWF_TYPE_ELEMENT_LIST : RWF_TYPE_NO_DATA,
        .flags = (uint16_t)((tc->options.snapshot ? 0 : RWF_REQUEST_STREAMING) |
                            (is_batch ? RWF_REQUEST_HAS_BATCH : 0) |
                            (tc->options.has_qos ? RWF_REQUEST_HAS_QOS : 0) |
                            (tc->options.has_worst_qos ? RWF_REQUEST_HAS_WORST_QOS : 0) |
                            (tc->options.view_count ? RWF_REQUEST_HAS_VIEW : 0)),
        .qos = tc->options.qos,
        .worst_qos = tc->options.worst_qos,
        .key = { .flags = RWF_KEY_HAS_SERVICE_ID | RWF_KEY_HAS_NAME_TYPE,
                 .service_id = conn->service_ids[item->service],
                 .name_type = RWF_NAME_RIC },
    };

    if (!is_batch) {
        msg.key.flags |= RWF_KEY_HAS_NAME;
        msg.key.name = rwf_bytes(item->name, item->name_length);
    }
    rwf_encoder_init(&enc, tc->message, sizeof(tc->message));
    rwf_msg_start(&enc, &msg);
    if (has_payload) {
        rwf_element_list_start(&enc, NULL);
        if (is_batch)
            add_names(conn, &enc, first, count);
        if (tc->options.view_count)
            view_add(tc, &enc);
        rwf_element_list_finish(&enc);
    }
    rwf_msg_finish(&enc);
    return conn_send(conn, &enc);
}

/* How many slots from `first` on go into one batch: same domain and service, all waiting. */
static uint32_t batch_size(const struct conn *conn, uint32_t first)
{
    const struct tc *tc = conn->tc;
    const struct tc_item *item = &tc->items[conn->slots[first].item];
    uint32_t n = 0;
    size_t names = 0;

    while (n < tc->options.batch && first + n < conn->slot_count) {
        const struct slot *slot = &conn->slots[first + n];
        if (slot->item == NO_ITEM || slot->state != SLOT_WAITING)
            break;
        const struct tc_item *other = &tc->items[slot->item];
        if (other->domain != item->domain || other->service != item->service)
            break;
        names += other->name_length + 3u; /* with quotes and a comma */
        if (n > 0 && names > BATCH_TEXT_MAX)
            break;
        n++;
    }
    return n;
}

/* A batch, its own stream and those behind it. Returns the slots it took. */
static uint32_t ask_batch(struct conn *conn, uint32_t at)
{
    uint32_t n = batch_size(conn, at + 1);

    if (n == 0 || send_request(conn, at, true, at + 1, n) != RWF_OK)
        return 1;
    for (uint32_t i = 1; i <= n; i++)
        conn->slots[at + i].state = SLOT_ASKED;
    conn->pending += n;
    return n + 1;
}

void conn_ask(struct conn *conn)
{
    struct tc *tc = conn->tc;

    if (conn->state != CONN_UP)
        return;
    while (conn->next < conn->slot_count && conn->pending < tc->options.window) {
        struct slot *slot = &conn->slots[conn->next];
        if (slot->item == NO_ITEM) {
            conn->next += ask_batch(conn, conn->next);
            continue;
        }
        if (slot->state == SLOT_WAITING && conn->service_known[tc->items[slot->item].service]) {
            if (send_request(conn, conn->next, false, conn->next, 1) != RWF_OK)
                break;
            slot->state = SLOT_ASKED;
            conn->pending++;
        }
        conn->next++;
    }
}

void conn_close_item(struct conn *conn, struct slot *slot)
{
    struct rwf_encoder enc;
    int32_t stream_id = (int32_t)(slot - conn->slots) + STREAM_FIRST;

    rwf_encoder_init(&enc, conn->tc->message, sizeof(conn->tc->message));
    omm_close_encode(&enc, stream_id, conn->tc->items[slot->item].domain);
    (void)conn_send(conn, &enc);
    if (slot->state == SLOT_OPEN)
        conn->open--;
    slot->state = SLOT_FAILED;
    channel_flush(conn);
}

void conn_pause(struct conn *conn, bool pause)
{
    struct tc *tc = conn->tc;
    struct rwf_encoder enc;
    struct omm_login_request request = {
        .stream_id = OMM_LOGIN_STREAM,
        .is_streaming = true,
        .no_refresh = true,
        .pause = pause,
        .user = rwf_text(tc->options.user),
        .name_type = RWF_NAME_LOGIN_USER,
        .single_open = true,
        .allow_suspect_data = true,
        .permission_expressions = true,
        .permission_profile = true,
    };

    if (conn->state != CONN_UP)
        return;
    rwf_encoder_init(&enc, tc->message, sizeof(tc->message));
    omm_login_request_encode(&enc, &request);
    (void)conn_send(conn, &enc);
    channel_flush(conn);
}

/* One post on the stream of the next open item, to be acknowledged. TIM_TRK_2 has the time. */
void conn_post(struct conn *conn)
{
    struct tc *tc = conn->tc;
    struct rwf_encoder enc;
    uint32_t tries = conn->slot_count;

    if (conn->state != CONN_UP)
        return;
    while (tries-- > 0) {
        conn->next_post = (int32_t)(((uint32_t)conn->next_post + 1) % conn->slot_count);
        if (conn->slots[conn->next_post].state == SLOT_OPEN)
            break;
    }
    struct slot *slot = &conn->slots[conn->next_post];
    if (slot->state != SLOT_OPEN)
        return;
    uint64_t now_ns = md_clock_mono_ns();
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_POST,
        .domain = tc->items[slot->item].domain,
        .stream_id = conn->next_post + STREAM_FIRST,
        .container = RWF_TYPE_FIELD_LIST,
        .flags = RWF_POST_HAS_POST_ID | RWF_POST_COMPLETE | RWF_POST_ACK,
        .post_id = ++tc->next_post_id,
        .post_user_addr = 0x7f000001,
        .post_user_id = 1,
    };
    rwf_encoder_init(&enc, tc->message, sizeof(tc->message));
    rwf_msg_start(&enc, &msg);
    if (!posts_fill(tc, &enc, now_ns)) {
        tc->options.post_rate = 0;
        (void)md_loop_timer_stop(tc->post_timer);
        tc->stats.errors++;
        return;
    }
    rwf_msg_finish(&enc);
    if (conn_send(conn, &enc) != RWF_OK)
        return;
    tc->post_ns[msg.post_id % (sizeof(tc->post_ns) / sizeof(tc->post_ns[0]))] = now_ns;
    tc->posts_sent++;
    channel_flush(conn);
}

/* The items of this connection: all, or its share, in an order of its own but for the first. */
static uint32_t *make_order(const struct tc *tc, uint32_t number, uint32_t *count)
{
    uint32_t *order = malloc((tc->item_count + 1) * sizeof(*order));
    struct md_prng prng = md_prng_init(tc->options.seed + number);

    *count = 0;
    if (!order)
        return NULL;
    for (uint32_t i = 0; i < tc->item_count; i++) {
        if (!tc->options.split || i % tc->options.conns == number)
            order[(*count)++] = i;
    }
    for (uint32_t i = *count; i > 1 && number > 0 && !tc->options.no_shuffle; i--) {
        uint32_t other = md_prng_below(&prng, i), kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
    return order;
}

/* Many connections need many descriptors. */
void conn_raise_limits(unsigned conns)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= conns + 64ul)
        return;
    limit.rlim_cur = conns + 64ul < limit.rlim_max ? conns + 64ul : limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

int conn_create(struct tc *tc, struct conn *conn, uint32_t number)
{
    uint32_t count, used = 0;
    uint32_t *order = make_order(tc, number, &count);

    *conn = (struct conn){ .tc = tc, .number = number, .wanted = count };
    if (!order)
        return MD_ERR_NOMEM;
    size_t size = count + 2 + (tc->chain ? CHAIN_MAX : 0) +
                  (tc->options.batch ? count / tc->options.batch + SERVICES_MAX : 0);
    conn->slots = calloc(size, sizeof(*conn->slots));
    int rc =
        conn->slots ? md_loop_timer_create(tc->loop, on_timer, conn, &conn->timer) : MD_ERR_NOMEM;
    for (uint32_t i = 0; i < count && rc == MD_OK; i++) {
        if (tc->options.batch && i % tc->options.batch == 0)
            conn->slots[used++].item = NO_ITEM;
        conn->slots[used++].item = order[i];
    }
    conn->slot_count = used;
    tc->wanted += count;
    free(order);
    return rc;
}

void conn_destroy(struct conn *conn)
{
    channel_end(conn);
    md_loop_timer_destroy(conn->timer);
    free(conn->slots);
}
