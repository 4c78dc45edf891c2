/* core_pair.c - the backbone between both cores, the authority, and time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

uint64_t pair_wall_ns = 1800000000 * PAIR_SEC;

static uint64_t pair_wall_s(void)
{
    return pair_wall_ns / PAIR_SEC;
}

/* ---- the backbone ---- */

uint8_t *pair_reserve(void *context, const struct backbone_target *target, size_t length)
{
    struct pair_line *line = context;

    bool has_room = length <= sizeof(line->room) && line->count < PAIR_RECORDS && !line->is_full;

    if (!has_room)
        return NULL;
    line->sent[line->count].target = *target;
    return line->room;
}

void pair_commit(void *context, size_t length)
{
    struct pair_line *line = context;

    if (length == 0)
        return;
    assert_true(length <= PAIR_RECORD_SIZE);
    line->sent[line->count].length = length;
    memcpy(line->sent[line->count++].bytes, line->room, length);
}

unsigned pair_fill(void *context)
{
    const struct pair_line *line = context;

    return (unsigned)(line->count * 256 / PAIR_RECORDS);
}

uint64_t pair_session(const struct pair *pair)
{
    return pair->session ? pair->session : 1;
}

static void pair_note_request(struct pair *pair, const struct backbone_event *message)
{
    struct rrmp_record record;

    if (rrmp_record_decode(message->bytes, message->length, &record) != MD_OK ||
        record.header.type != RRMP_REQUEST)
        return;
    pair->messages += record.u.request.message.length > 0;
    if (!(record.u.request.flags & RRMP_REQUEST_RESUME))
        return;
    pair->resumes++;
    pair->resume_seq = record.u.request.resume_seq;
}

static void pair_note_elsewhere(struct pair *pair, const struct backbone_event *message)
{
    struct rrmp_record record;

    if (rrmp_record_decode(message->bytes, message->length, &record) == MD_OK)
        pair->elsewhere += record.header.type == RRMP_IMAGE;
}

static void pair_deliver(struct pair *pair, const struct backbone_target *target,
                         const struct backbone_event *message)
{
    bool is_multicast = target->path == BACKBONE_PATH_MULTICAST;
    struct pair *sources[] = { pair, pair->mirror };

    if (!is_multicast && target->session == PAIR_ELSEWHERE)
        pair_note_elsewhere(pair, message);
    else if (message->session == 2)
        pair_note_request(pair, message);
    else if (is_multicast || target->session == 2)
        p2ps_core_backbone(pair->sink, pair->network, pair->now_ns, message, 1);
    for (size_t i = 0; i < 2; i++) {
        bool is_there = sources[i] && sources[i]->source && !sources[i]->is_dead;
        if (is_there && pair_session(sources[i]) != message->session &&
            (is_multicast || target->session == pair_session(sources[i])))
            srcdist_core_backbone(sources[i]->source, pair->now_ns, message, 1);
    }
}

bool pair_move(struct pair *pair, struct pair_line *line, uint64_t from, bool lose)
{
    size_t count = line->count;

    for (size_t i = 0; i < count; i++)
        pair->moving.sent[i] = line->sent[i];
    line->count = 0;
    for (size_t i = 0; i < count && !lose; i++) {
        const struct backbone_target *target = &pair->moving.sent[i].target;
        struct backbone_event message = {
            .type = BACKBONE_MESSAGE,
            .flags = target->path == BACKBONE_PATH_UNICAST ? BACKBONE_FLAG_UNICAST : 0,
            .session = from,
            .src_port = 1,
            .dst_port = target->path == BACKBONE_PATH_MULTICAST ? 0 : target->port,
            .topic = target->topic,
            .bytes = pair->moving.sent[i].bytes,
            .length = (uint32_t)pair->moving.sent[i].length,
        };

        pair_deliver(pair, target, &message);
    }
    return count > 0;
}

static struct srcdist_service_config pair_service(void *owner, struct rwf_bytes name)
{
    struct pair *pair = owner;

    (void)name;
    return (struct srcdist_service_config){
        .id = pair->is_id_automatic ? 0
              : pair->service_id    ? pair->service_id
                                    : PAIR_SERVICE_ID,
        .cache_location = pair->source_caches ? SRCDIST_CACHE_SRC_DIST : SRCDIST_CACHE_SRC_APP,
        .data_type = pair->data_type,
        .load_factor = 1,
        .priority = pair->priority,
        .takes_dictionaries = true,
        .mirror_group = pair->mirror ? "G" : NULL,
        .mirror_hot = pair->is_hot,
        .mirror_sequence = pair->is_numbered,
    };
}

void pair_snapshot_elsewhere(struct pair *pair, const char *name)
{
    static uint32_t id;
    const struct rwf_key key = { .flags = RWF_KEY_HAS_NAME, .name = rwf_text(name) };
    const struct rwf_qos qos = { .timeliness = RWF_TIMELINESS_REALTIME,
                                 .rate = RWF_RATE_TICK_BY_TICK };
    uint8_t key_bytes[256];
    uint8_t bytes[512];
    struct rrmp_record record = {
        .header = { .type = RRMP_REQUEST },
        .u.request = { .id = ++id,
                       .priority_class = 1,
                       .priority_count = 1,
                       .handle = RRMP_HANDLE_NONE,
                       .key.bytes = key_bytes },
    };
    struct md_wr wr = md_wr_init(bytes, sizeof(bytes));

    assert_int_equal(
        itemkey_encode(6, &key, &qos, key_bytes, sizeof(key_bytes), &record.u.request.key.length),
        RWF_OK);
    record.u.request.key_hash = rrmp_key_hash(key_bytes, record.u.request.key.length);
    rrmp_record_encode(&wr, &record);
    assert_true(md_wr_ok(&wr));
    struct backbone_event message = { .type = BACKBONE_MESSAGE,
                                      .flags = BACKBONE_FLAG_UNICAST,
                                      .session = PAIR_ELSEWHERE,
                                      .src_port = 1,
                                      .dst_port = 1,
                                      .bytes = bytes,
                                      .length = (uint32_t)md_wr_length(&wr) };
    srcdist_core_backbone(pair->source, pair->now_ns, &message, 1);
}

/* Their tables hold; looked at when something has moved, else now and then. */
static void pair_check(struct pair *pair, bool has_moved)
{
    if (!has_moved && pair->settles++ % 64 != 0)
        return;
    assert_null(srcdist_core_check(pair->source));
    assert_null(p2ps_core_check(pair->sink));
}

void pair_settle(struct pair *pair)
{
    bool moved = true;
    int i;

    for (i = 0; i < 1000 && moved; i++) {
        moved = pair_provider_turn(&pair->provider);
        srcdist_core_settle(pair->source, pair->now_ns);
        p2ps_core_settle(pair->sink, pair->now_ns);
        p2ps_core_flush(pair->sink);
        moved |= pair_move(pair, &pair->down, pair_session(pair), pair->lose_down || pair->is_dead);
        moved |= pair_move(pair, &pair->up, 2, false);
        moved |= p2ps_core_has_work(pair->sink);
    }
    assert_false(moved);
    pair_check(pair, i > 1);
}

void pair_pass(struct pair *pair, uint64_t time_ns)
{
    uint64_t until = pair->now_ns + time_ns;

    while (pair->now_ns < until) {
        pair->now_ns += 20 * PAIR_MS;
        pair_wall_ns += 20 * PAIR_MS;
        srcdist_core_tick(pair->source, pair->now_ns, true);
        p2ps_core_tick(pair->sink, pair->now_ns, 1);
        pair_settle(pair);
    }
}

static enum entitle_verdict pair_judge(const struct pair *pair, const struct entitle_query *query)
{
    if (pair->authority_denies_no_lock && query->kind == ENTITLE_ITEM && query->is_lock_known &&
        query->permission_data.length == 0)
        return ENTITLE_DENY;
    const char *item = pair->authority_denies_item;
    const char *roles = pair->authority_denies_roles;

    if (query->kind == ENTITLE_ITEM && roles && query->roles.length == strlen(roles) &&
        memcmp(query->roles.data, roles, query->roles.length) == 0)
        return ENTITLE_DENY;
    if (pair->authority_is_down && query->kind != ENTITLE_ITEM)
        return ENTITLE_DENY;

    if (query->kind == ENTITLE_LOGIN)
        return pair->authority_denies ? ENTITLE_DENY : ENTITLE_ALLOW;
    if (query->kind == ENTITLE_AGAIN)
        return pair->authority_ends_user &&
                       query->user.length == strlen(pair->authority_ends_user) &&
                       memcmp(query->user.data, pair->authority_ends_user, query->user.length) == 0
                   ? ENTITLE_DENY
                   : ENTITLE_ALLOW;
    if (query->kind == ENTITLE_POST && pair->authority_denies_posts)
        return ENTITLE_DENY;
    if (pair->authority_denies_data && query->permission_data.length == 1 &&
        query->permission_data.data[0] == *pair->authority_denies_data &&
        (!pair->authority_denies_user ||
         (query->user.length == strlen(pair->authority_denies_user) &&
          memcmp(query->user.data, pair->authority_denies_user, query->user.length) == 0)))
        return ENTITLE_DENY;
    return item && query->item.length == strlen(item) &&
                   memcmp(query->item.data, item, query->item.length) == 0
               ? ENTITLE_DENY
               : ENTITLE_ALLOW;
}

static enum entitle_verdict pair_ask(void *self, const struct entitle_query *query, uint64_t ticket,
                                     struct entitle_answer *out)
{
    struct pair *pair = self;

    if (pair->rules) {
        pair->authority_asked += query->kind != ENTITLE_AGAIN;
        entitle_rules_judge(pair->rules, query, out);
        out->ticket = ticket;
        return out->verdict;
    }
    enum entitle_verdict verdict = pair_judge(pair, query);

    if (query->is_asked && pair->authority_is_late)
        return ENTITLE_PENDING; /* what was asked before has no answer yet */
    pair->authority_asked += query->kind != ENTITLE_AGAIN;
    *out = (struct entitle_answer){ .ticket = ticket, .verdict = verdict, .text = "no" };
    out->reason = pair->authority_is_busy ? ENTITLE_BUSY : ENTITLE_OTHER;
    if (pair->authority_is_down)
        out->reason = pair->authority_is_over ? ENTITLE_AWAY : ENTITLE_DOWN;
    out->file = pair->authority_file;
    out->line = 7;
    out->roles = pair->authority_roles;
    out->session = query->kind == ENTITLE_AGAIN ? pair->authority_renewed : pair->authority_session;
    if (query->kind == ENTITLE_AGAIN)
        snprintf(pair->authority_asked_session, sizeof(pair->authority_asked_session), "%.*s",
                 (int)query->session.length, query->session.data);
    out->mounts_max = pair->authority_mounts;
    out->positions_max = pair->authority_positions;
    out->user_ends_s = pair->authority_user_ends_s;
    out->needs_tls = pair->authority_needs_tls;
    if (query->kind == ENTITLE_LOGIN || query->kind == ENTITLE_AGAIN)
        pair->authority_saw = *query;
    out->rules_seen = pair->authority_rules;
    out->items_max = pair->authority_items;
    out->is_proved = pair->authority_proves;
    if (query->kind == ENTITLE_LOGIN) {
        out->by = pair->authority_by;
        if (pair->authority_is_outside)
            out->by = ENTITLE_BY_AUTHORITY;
        out->expires_s = pair->authority_expires_s;
        out->shown = pair->authority_shown;
        out->reissue_s = pair->authority_expires_s ? pair->authority_expires_s - 10 : 0;
        out->token_error = verdict == ENTITLE_DENY ? pair->authority_token_error : 0;
        pair->authority_saw_token = query->is_token;
        out->is_certified = pair->authority_needs_certificate;
    }
    if (query->kind == ENTITLE_AGAIN && pair->authority_renews_until_s) {
        out->by = query->by;
        out->is_renewed = true;
        out->expires_s = pair->authority_renews_until_s;
    }
    out->requests_per_s = pair->authority_requests;
    out->posts_per_s = pair->authority_posts;
    out->needs_lock = pair->authority_denies_no_lock;
    out->may_post = !pair->authority_denies_posts;
    out->is_snapshot_only = pair->authority_snapshots_only;
    out->qualities = pair->authority_qualities;
    if (query->kind == ENTITLE_LOGIN && query->user.length == 0)
        snprintf(out->user, sizeof(out->user), "%s",
                 pair->authority_user ? pair->authority_user : "whose-token");
    if (!pair->authority_is_late)
        return verdict;
    assert_true(pair->late_count < PAIR_STREAMS);
    pair->late[pair->late_count++] = *out;
    return ENTITLE_PENDING;
}

static int pair_answers(void *self, struct entitle_answer out[], int max)
{
    struct pair *pair = self;
    int count = 0;

    while (pair->answers_now && pair->late_count > 0 && count < max) {
        out[count++] = pair->late[0];
        memmove(pair->late, pair->late + 1, --pair->late_count * sizeof(pair->late[0]));
    }
    return count;
}

static unsigned pair_news(void *self)
{
    struct pair *pair = self;
    unsigned news = pair->authority_news;

    pair->authority_news = 0;
    return news;
}

static void pair_ended(void *self, struct entitle_view session, const char *why)
{
    struct pair *pair = self;

    pair->authority_ended++;
    snprintf(pair->authority_ended_last, sizeof(pair->authority_ended_last), "%.*s",
             (int)session.length, session.data);
    snprintf(pair->authority_ended_why, sizeof(pair->authority_ended_why), "%s", why);
}

/* ---- life ---- */

void pair_create_source(struct pair *pair)
{
    struct srcdist_core_config source = {
        .source = { .name = pair->mirror ? pair->name : "test",
                    .item_bytes_max = pair->source_item_bytes,
                    .send = { .context = &pair->down,
                              .reserve = pair_reserve,
                              .commit = pair_commit,
                              .fill = pair_fill } },
        .service_owner = pair,
        .service = pair_service,
        .user = "openrmds",
        .position = "127.0.0.1/net",
        .application_name = "src_dist",
        .open_window = pair->open_window,
        .fields = pair->fields,
        .converts_marketfeed = pair->converts_marketfeed,
        .rules = { .ripples = pair->fields != NULL, .marketfeed = MF_OPTIONS_DEFAULT },
        .wall_s = pair_wall_s,
    };
    struct backbone_event notice = { .type = BACKBONE_ATTACHED,
                                     .session = pair_session(pair),
                                     .dst_port = 1 };

    pair->now_ns = PAIR_SEC;
    pair->provider.pair = pair;
    pair->provider.answers = true;
    pair->provider.service_up = true;
    pair->provider.parts = 1;
    if (pair->tune)
        pair->tune(&source);
    assert_int_equal(srcdist_core_create(&source, &pair->source), MD_OK);
    srcdist_core_backbone(pair->source, pair->now_ns, &notice, 1);
}

void pair_create(struct pair *pair, struct p2ps_core_config config)
{
    struct backbone_event notice = { .type = BACKBONE_ATTACHED, .session = 2, .dst_port = 1 };

    pair_create_source(pair);
    config.sink.send = (struct backbone_send){
        .context = &pair->up, .reserve = pair_reserve, .commit = pair_commit, .fill = pair_fill
    };
    config.authority = (struct entitle_authority){
        .ask = pair_ask,
        .answers = pair_answers,
        .news = pair_news,
        .ended = pair_ended,
        .self = pair,
    };
    if (config.client_limit == 0)
        config.client_limit = PAIR_CLIENTS;
    config.message_max = 65536;
    config.wall_s = pair_wall_s;
    config.sends[0] = config.sink.send;
    assert_int_equal(p2ps_core_create(&config, &pair->sink), MD_OK);
    p2ps_core_backbone(pair->sink, 0, pair->now_ns, &notice, 1);
    pair_provider_comes(pair);
    pair_pass(pair, 200 * PAIR_MS);
}

void pair_destroy(struct pair *pair)
{
    p2ps_core_destroy(pair->sink);
    srcdist_core_destroy(pair->source);
}

int pair_setup(void **state, struct p2ps_core_config config)
{
    struct pair *pair = calloc(1, sizeof(*pair));

    assert_non_null(pair);
    pair_create(pair, config);
    *state = pair;
    return 0;
}

int pair_teardown(void **state)
{
    pair_destroy(*state);
    free(*state);
    return 0;
}
