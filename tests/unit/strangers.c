/* strangers.c - see strangers.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "strangers.h"

#include "entitle/entitle.h"

static int hear(void *self, struct rwf_bytes bytes)
{
    struct stranger *s = self;
    struct rwf_msg msg;

    assert_int_equal(rwf_msg_decode(bytes, &msg), RWF_OK);
    s->stream_id = msg.stream_id;
    s->msg_class = msg.msg_class;
    s->state = msg.state;
    snprintf(s->text, sizeof(s->text), "%.*s", (int)msg.state.text.length,
             (const char *)msg.state.text.data);
    s->state.text = rwf_bytes(NULL, 0);
    return MD_OK;
}

static void on_close(void *self, const char *reason)
{
    struct stranger *s = self;

    (void)reason;
    s->is_closed = true;
}

static void show_proof(void *self, struct srcdist_proof *out)
{
    struct stranger *s = self;

    *out = s->proof;
}

static const struct srcdist_link link_ops = {
    .send = hear,
    .close = on_close,
    .proof = show_proof,
};

static void tune(struct srcdist_core_config *config)
{
    config->service_forget_ns = PATIENCE;
    config->provider_limit = STRANGERS;
    config->publisher_limit = 64;
}

static void tune_access(struct srcdist_core_config *config)
{
    tune(config);
    config->has_access = true;
}

static int setup_tuned(void **state, void (*how)(struct srcdist_core_config *config))
{
    struct bed *bed = calloc(1, sizeof(*bed));

    assert_non_null(bed);
    bed->pair.tune = how;
    bed->pair.is_id_automatic = true;
    pair_create(&bed->pair, (struct p2ps_core_config){ 0 });
    *state = bed;
    return 0;
}

int setup(void **state)
{
    return setup_tuned(state, tune);
}

int setup_access(void **state)
{
    return setup_tuned(state, tune_access);
}

int teardown(void **state)
{
    struct bed *bed = *state;

    pair_destroy(&bed->pair);
    free(bed);
    return 0;
}

const struct srcdist_core_stats *stats(const struct bed *bed)
{
    return srcdist_core_stats(bed->pair.source);
}

static int arrive_from(struct bed *bed, unsigned n, unsigned host, enum srcdist_provider_kind kind,
                       unsigned rank)
{
    struct stranger *s = &bed->strangers[n];
    char name[32];

    *s = (struct stranger){ .bed = bed, .proof = { .certificate = "", .serial = "" } };
    snprintf(name, sizeof(name), "10.0.0.%u:%u", host, 99 + n);
    return srcdist_provider_add(bed->pair.source, bed->pair.now_ns, kind, rank, name, &link_ops, s,
                                &s->id);
}

int arrive(struct bed *bed, unsigned n, enum srcdist_provider_kind kind, unsigned rank)
{
    return arrive_from(bed, n, n, kind, rank);
}

struct stranger *come_from(struct bed *bed, unsigned n, unsigned host)
{
    assert_int_equal(arrive_from(bed, n, host, SRCDIST_NON_INTERACTIVE, 0), MD_OK);
    return &bed->strangers[n];
}

struct stranger *come(struct bed *bed, unsigned n)
{
    return come_from(bed, n, n);
}

void go(struct stranger *s)
{
    srcdist_provider_gone(s->bed->pair.source, s->bed->pair.now_ns, s->id);
    s->is_closed = true;
    pair_settle(&s->bed->pair);
}

int offer_message(struct stranger *s, struct rwf_encoder *enc)
{
    assert_int_equal(rwf_encoder_error(enc), RWF_OK);
    int err = srcdist_provider_message(s->bed->pair.source, s->bed->pair.now_ns, s->id,
                                       rwf_encoder_bytes(enc));
    pair_settle(&s->bed->pair);
    return err;
}

void log_in(struct stranger *s, const char *user, const char *password)
{
    uint8_t bytes[512];
    struct rwf_encoder enc;
    struct omm_login_request request = pair_login_request();

    request.role = OMM_ROLE_PROVIDER;
    request.user = rwf_text(user);
    request.password = rwf_text(password);
    request.position = rwf_text(s->position ? s->position : "");
    request.token = rwf_text(s->token ? s->token : "");
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_login_request_encode(&enc, &request);
    assert_int_equal(offer_message(s, &enc), MD_OK);
}

/* The services PREFIX first, first + 1, ..., whose ids are their numbers. */
void say_services(struct stranger *s, const char *prefix, unsigned first, unsigned count,
                  const char *vendor)
{
    static uint8_t bytes[65536];
    struct rwf_encoder enc;
    struct omm_directory_head head = {
        .stream_id = 0, .is_first = true, .is_complete = true, .is_streaming = true, .filter = 3
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_directory_encode_start(&enc, &head);
    for (unsigned i = 0; i < count; i++) {
        char name[64];
        struct omm_service service = {
            .id = (uint16_t)(first + i),
            .action = RWF_MAP_ADD,
            .filters = OMM_FILTER_INFO | OMM_FILTER_STATE,
            .vendor = rwf_text(vendor),
            .capability_count = 1,
            .capabilities = { 6 },
            .is_up = true,
            .is_accepting = true,
        };
        snprintf(name, sizeof(name), count > 1 ? "%s%u" : "%s", prefix, first + i);
        service.name = rwf_text(name);
        omm_directory_encode_service(&enc, &service);
    }
    omm_directory_encode_finish(&enc);
    assert_int_equal(offer_message(s, &enc), MD_OK);
}

struct stranger *publisher(struct bed *bed, unsigned n, const char *service)
{
    struct stranger *s = come(bed, n);

    log_in(s, "feed", "");
    say_services(s, service, 3, 1, "");
    pair_pass(&bed->pair, 200 * PAIR_MS);
    return s;
}

static int say(struct stranger *s, uint8_t msg_class, int32_t stream_id, const char *name,
               uint32_t counter, uint16_t flags)
{
    uint8_t bytes[512];
    struct rwf_encoder enc;
    bool is_refresh = msg_class == RWF_CLASS_REFRESH;
    struct rwf_msg msg = {
        .msg_class = msg_class,
        .domain = 6,
        .stream_id = stream_id,
        .container = RWF_TYPE_FIELD_LIST,
        .flags = flags,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
        .group_id = rwf_bytes((const uint8_t *)"\0", 2),
        .key = { .flags = RWF_KEY_HAS_NAME | RWF_KEY_HAS_SERVICE_ID,
                 .service_id = 3,
                 .name = rwf_text(name) },
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    pair_fields(&enc, counter, is_refresh);
    rwf_msg_finish(&enc);
    return offer_message(s, &enc);
}

int say_item(struct stranger *s, uint8_t msg_class, int32_t stream_id, const char *name,
             uint32_t counter)
{
    bool is_refresh = msg_class == RWF_CLASS_REFRESH;

    return say(s, msg_class, stream_id, name, counter,
               is_refresh ? RWF_REFRESH_HAS_KEY | RWF_REFRESH_COMPLETE : 0);
}

int say_named_update(struct stranger *s, int32_t stream_id, const char *name, uint32_t counter)
{
    return say(s, RWF_CLASS_UPDATE, stream_id, name, counter, RWF_UPDATE_HAS_KEY);
}

int say_named_end(struct stranger *s, int32_t stream_id, const char *name, uint8_t stream_state)
{
    uint8_t bytes[512];
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_STATUS,
        .domain = 6,
        .stream_id = stream_id,
        .container = RWF_TYPE_NO_DATA,
        .flags = RWF_STATUS_HAS_KEY | RWF_STATUS_HAS_STATE,
        .state = { .stream_state = stream_state, .data_state = RWF_DATA_SUSPECT },
        .key = { .flags = RWF_KEY_HAS_NAME | RWF_KEY_HAS_SERVICE_ID,
                 .service_id = 3,
                 .name = rwf_text(name) },
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    rwf_msg_finish(&enc);
    return offer_message(s, &enc);
}

int publish(struct stranger *s, const char *name)
{
    static int32_t stream_id = -1;

    return say_item(s, RWF_CLASS_REFRESH, stream_id--, name, 1);
}

bool is_known(const struct bed *bed, const char *name, struct srcdist_service_info *out)
{
    for (uint32_t i = 0; srcdist_service_info(bed->pair.source, i, out); i++) {
        if (out->is_used && strcmp(out->name, name) == 0)
            return true;
    }
    return false;
}

bool is_up(const struct bed *bed, const char *name)
{
    struct srcdist_service_info info;

    return is_known(bed, name, &info) && info.is_up;
}

bool knows(const struct bed *bed, const char *name)
{
    struct srcdist_service_info info;

    return is_known(bed, name, &info);
}

void set_rules(struct bed *bed, const char *text)
{
    struct entitle_rules *rules;

    assert_int_equal(entitle_rules_create(text, strlen(text), NULL, NULL, &rules), MD_OK);
    srcdist_core_access_set(bed->pair.source, bed->pair.now_ns, rules);
    pair_pass(&bed->pair, 200 * PAIR_MS);
}

static uint16_t id_of(struct pair *pair, const char *service)
{
    const struct rrmp_view name = { (const uint8_t *)service, strlen(service) };
    uint16_t number = rrmp_sink_service_find(p2ps_core_sink(pair->sink, 0), name);

    assert_true(number != RRMP_SERVICE_NONE);
    return p2ps_core_service_id(pair->sink, 0, number);
}

void open_item(struct pair_client *c, int32_t stream_id, const char *service, const char *name)
{
    struct omm_item_request request = pair_request(stream_id, name);

    request.key.service_id = id_of(c->pair, service);
    pair_ask_item(c, &request);
}
