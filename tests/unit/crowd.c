/* crowd.c - see crowd.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "crowd.h"
#include "told.h"

static int put(void *self, const struct p2ps_made *made, int32_t stream_id, bool solicited,
               bool snapshot)
{
    struct crowd *c = self;

    (void)made;
    (void)stream_id;
    (void)solicited;
    (void)snapshot;
    c->puts++;
    return MD_OK;
}

static int login_refresh(void *self, const struct omm_login_refresh *refresh)
{
    (void)self;
    (void)refresh;
    return MD_OK;
}

static int status(void *self, const struct omm_status *message)
{
    struct crowd *c = self;

    c->stream_state = message->state.stream_state;
    c->code = message->state.code;
    c->statuses++;
    return MD_OK;
}

static int ack(void *self, const struct omm_ack *message)
{
    struct crowd *c = self;

    c->naks[message->nak_code]++;
    return MD_OK;
}

static int directory(void *self, const struct omm_directory_head *head,
                     const struct omm_service services[], size_t count)
{
    struct crowd *c = self;

    (void)head;
    (void)services;
    (void)count;
    c->directories++;
    return MD_OK;
}

static int group(void *self, int32_t stream_id, uint16_t service_id, const struct omm_group *group)
{
    struct crowd *c = self;

    (void)stream_id;
    (void)service_id;
    (void)group;
    c->groups++;
    return MD_OK;
}

static int part(void *self, struct rwf_bytes bytes)
{
    struct crowd *c = self;

    (void)bytes;
    if (c->takes_no_parts || (c->parts_room && c->parts == c->parts_room))
        return MD_ERR_FULL;
    c->parts++;
    c->parts_all++;
    return MD_OK;
}

static int message(void *self, struct rwf_bytes bytes)
{
    static const struct told told = {
        .status = status,
        .ack = ack,
        .directory = directory,
        .group = group,
        .other = part,
    };

    return told_take(self, &told, bytes);
}

static void flush(void *self)
{
    struct crowd *c = self;

    c->parts = 0;
    c->flushes++;
}

static bool is_full(const void *self)
{
    const struct crowd *c = self;

    return c->is_full;
}

static unsigned fill(const void *self)
{
    const struct crowd *c = self;

    return c->parts_room ? c->parts * 100 / c->parts_room : 0;
}

static void close_it(void *self, const char *reason)
{
    struct crowd *c = self;

    (void)reason;
    c->closed = true;
}

void ask(struct crowd *c, const struct kept *what)
{
    struct omm_item_request request;

    if (what->is_close) {
        p2ps_client_close(c->pair->sink, c->pair->now_ns, c->id, what->stream_id);
        return;
    }
    request = pair_request(what->stream_id, what->name);
    p2ps_client_item(c->pair->sink, c->pair->now_ns, c->id, &request);
}

static bool resume(void *self)
{
    struct crowd *c = self;

    if (c->kept_next == c->kept_count)
        return false;
    ask(c, &c->kept[c->kept_next++]);
    return true;
}

void say(struct crowd *c, struct kept what)
{
    if (c->kept_next == c->kept_count && p2ps_client_takes(c->pair->sink, c->id)) {
        ask(c, &what);
        return;
    }
    assert_true(c->kept_count < KEPT_MAX);
    c->kept[c->kept_count++] = what;
}

static const struct p2ps_front front = {
    .name = "crowd",
    .make = p2ps_rwf_make,
    .put = put,
    .login_refresh = login_refresh,
    .message = message,
    .flush = flush,
    .is_full = is_full,
    .fill = fill,
    .close = close_it,
    .resume = resume,
};

struct crowd *connect_from(struct pair *pair, const char *peer)
{
    struct crowd *c = calloc(1, sizeof(*c));

    assert_non_null(c);
    c->pair = pair;
    assert_int_equal(p2ps_client_add(pair->sink, pair->now_ns, &front, c, peer, 0, &c->id), MD_OK);
    return c;
}

void say_login(struct crowd *c, const char *user)
{
    struct omm_login_request login = pair_login_request();

    login.user = rwf_text(user);
    p2ps_client_login(c->pair->sink, c->pair->now_ns, c->id, &login);
}

struct crowd *come_as(struct pair *pair, const char *peer, const char *user)
{
    struct crowd *c = connect_from(pair, peer);

    say_login(c, user);
    return c;
}

struct crowd *come(struct pair *pair)
{
    return come_as(pair, "10.1.1.1:5", "joe");
}

void turn(struct pair *pair)
{
    p2ps_core_settle(pair->sink, pair->now_ns);
    p2ps_core_flush(pair->sink);
    pair->up.count = 0;
    assert_null(p2ps_core_check(pair->sink));
}

unsigned turns_until_done(struct pair *pair)
{
    unsigned turns = 0;

    while (p2ps_core_has_work(pair->sink)) {
        assert_true(turns < 10000);
        turn(pair);
        turns++;
    }
    return turns;
}

void batch(struct crowd *c, int32_t stream_id, int first, int count)
{
    struct omm_item_request request = pair_request(stream_id, "");
    struct rwf_encoder enc;
    char name[16];

    rwf_encoder_init(&enc, c->names, sizeof(c->names));
    rwf_element_list_start(&enc, NULL);
    rwf_element_start(&enc, rwf_text(":ItemList"), RWF_TYPE_ARRAY);
    rwf_array_start(&enc, RWF_TYPE_ASCII, 0);
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "N%d", first + i);
        rwf_array_add_bytes(&enc, rwf_text(name));
    }
    rwf_array_finish(&enc);
    rwf_element_finish(&enc);
    rwf_element_list_finish(&enc);
    assert_int_equal(rwf_encoder_error(&enc), RWF_OK);
    request.key.flags = RWF_KEY_HAS_SERVICE_ID;
    request.is_batch = true;
    request.container = RWF_TYPE_ELEMENT_LIST;
    request.payload = rwf_encoder_bytes(&enc);
    p2ps_client_item(c->pair->sink, c->pair->now_ns, c->id, &request);
}

uint32_t watches(const struct pair *pair)
{
    return p2ps_core_stats(pair->sink)->watches_now;
}

uint32_t streams(const struct crowd *c)
{
    struct p2ps_client_info info;

    return p2ps_client_info(c->pair->sink, c->id, &info) ? info.streams : 0;
}

bool is_in(const struct crowd *c)
{
    struct p2ps_client_info info;

    return !c->closed && p2ps_client_info(c->pair->sink, c->id, &info) && info.is_in;
}

void turns_for(struct pair *pair, uint64_t ns)
{
    uint64_t end_ns = pair->now_ns + ns;

    while (pair->now_ns < end_ns) {
        pair->now_ns += PAIR_MS;
        if (pair->now_ns >= p2ps_core_deadline(pair->sink))
            p2ps_core_tick(pair->sink, pair->now_ns, 1);
        turn(pair);
    }
}
