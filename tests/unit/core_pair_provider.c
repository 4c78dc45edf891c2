/* core_pair_provider.c - the model provider: it answers, and publishes a counter for each item. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

/* ---- the provider ---- */

void pair_say(struct pair_provider *p, struct rwf_encoder *enc)
{
    assert_int_equal(rwf_encoder_error(enc), RWF_OK);
    assert_int_equal(
        srcdist_provider_message(p->pair->source, p->pair->now_ns, p->id, rwf_encoder_bytes(enc)),
        MD_OK);
}

void pair_fields(struct rwf_encoder *enc, uint32_t counter, bool whole)
{
    rwf_field_list_start(enc, NULL);
    rwf_field_add_uint(enc, PAIR_FIELD, counter);
    if (whole)
        rwf_field_add_uint(enc, 22, 2ull * counter);
    rwf_field_list_finish(enc);
}

void pair_say_image_part(struct pair_provider *p, const struct pair_item *it, bool is_solicited,
                         unsigned part)
{
    uint8_t bytes[1024];
    const uint8_t group[2] = { 0, p->group ? p->group : 1 };
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_REFRESH,
        .domain = it->domain,
        .stream_id = it->stream_id,
        .container = RWF_TYPE_FIELD_LIST,
        .flags =
            (uint16_t)((is_solicited ? RWF_REFRESH_SOLICITED : 0) |
                       (part == 0 ? RWF_REFRESH_CLEAR_CACHE : 0) |
                       (part + 1 == p->parts ? RWF_REFRESH_COMPLETE : 0) |
                       (p->perm_data ? RWF_REFRESH_HAS_PERM_DATA : 0) |
                       (p->has_seqs ? RWF_REFRESH_HAS_SEQ_NUM : 0) |
                       (it->is_private ? RWF_REFRESH_PRIVATE_STREAM : 0) | RWF_REFRESH_HAS_QOS),
        .qos = { .timeliness = RWF_TIMELINESS_REALTIME, .rate = RWF_RATE_TICK_BY_TICK },
        .group_id = rwf_bytes(group, sizeof(group)),
        .seq_num = it->counter,
        .state = { .stream_state = it->is_streaming ? RWF_STREAM_OPEN : RWF_STREAM_NON_STREAMING,
                   .data_state = RWF_DATA_OK },
    };
    if (p->perm_data)
        msg.perm_data = rwf_text(p->perm_data);
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    if (p->container) {
        msg.container = p->container;
        msg.payload = p->payload;
        rwf_msg_encode(&enc, &msg);
    } else {
        rwf_msg_start(&enc, &msg);
        pair_fields(&enc, it->counter, true);
        rwf_msg_finish(&enc);
    }
    pair_say(p, &enc);
}

void pair_say_image(struct pair_provider *p, const struct pair_item *it, bool is_solicited)
{
    for (unsigned part = 0; part < p->parts; part++)
        pair_say_image_part(p, it, is_solicited, part);
}

void pair_say_status(struct pair_provider *p, const struct pair_item *it, uint8_t stream_state,
                     uint8_t data_state, uint8_t code)
{
    uint8_t bytes[512];
    struct rwf_encoder enc;
    struct omm_status status = {
        .stream_id = it->stream_id,
        .domain = it->domain,
        .flags = it->is_private ? RWF_STATUS_PRIVATE_STREAM : 0,
        .state = { .stream_state = stream_state,
                   .data_state = data_state,
                   .code = code,
                   .text = rwf_text("the provider says so") },
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_status_encode(&enc, &status);
    pair_say(p, &enc);
}

struct pair_item *pair_item(struct pair *pair, const char *name)
{
    for (size_t i = 0; i < PAIR_ITEMS; i++) {
        if (pair->provider.items[i].is_open && strcmp(pair->provider.items[i].name, name) == 0)
            return &pair->provider.items[i];
    }
    return NULL;
}

void pair_update(struct pair *pair, const char *name)
{
    uint8_t bytes[256];
    struct rwf_encoder enc;
    struct pair_item *it = pair_item(pair, name);

    assert_non_null(it);
    it->counter++;
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_UPDATE,
        .domain = it->domain,
        .stream_id = it->stream_id,
        .container = RWF_TYPE_FIELD_LIST,
    };
    if (pair->provider.conflated) {
        msg.flags |= RWF_UPDATE_HAS_CONF_INFO;
        msg.conf_count = pair->provider.conflated;
    }
    if (pair->provider.has_seqs) {
        msg.flags |= RWF_UPDATE_HAS_SEQ_NUM;
        msg.seq_num = it->counter;
    }
    if (pair->provider.perm_data) {
        msg.flags |= RWF_UPDATE_HAS_PERM_DATA;
        msg.perm_data = rwf_text(pair->provider.perm_data);
    }
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    pair_fields(&enc, it->counter, true);
    rwf_msg_finish(&enc);
    pair_say(&pair->provider, &enc);
}

struct rwf_bytes pair_links(uint8_t *bytes, size_t size)
{
    const struct rwf_map_info info = { .key_type = RWF_TYPE_ASCII,
                                       .container = RWF_TYPE_ELEMENT_LIST };
    const struct rwf_map_entry entry = { .action = RWF_MAP_ADD, .key = rwf_text("feed") };
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, bytes, size);
    rwf_map_start(&enc, &info);
    rwf_map_entry_start(&enc, &entry);
    rwf_element_list_start(&enc, NULL);
    rwf_element_add_uint(&enc, "LinkState", 1);
    rwf_element_list_finish(&enc);
    rwf_map_entry_finish(&enc);
    rwf_map_finish(&enc);
    assert_int_equal(rwf_encoder_error(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc);
}

void pair_say_directory(struct pair_provider *p, bool is_update)
{
    uint8_t bytes[1024];
    struct rwf_encoder enc;
    struct omm_directory_head head = {
        .stream_id = OMM_DIRECTORY_STREAM,
        .is_update = is_update,
        .is_solicited = !is_update,
        .is_first = true,
        .is_complete = true,
        .is_streaming = true,
        .filter = 0x1f,
    };
    struct omm_service service = {
        .id = p->pair->provider_id ? p->pair->provider_id : 99,
        .action = is_update ? RWF_MAP_UPDATE : RWF_MAP_ADD,
        .filters = OMM_FILTER_INFO | OMM_FILTER_STATE,
        .name = rwf_text(p->pair->service ? p->pair->service : "RDFD"),
        .capability_count = 2,
        .capabilities = { 6, 7 },
        .is_up = p->service_up,
        .is_accepting = p->service_up,
        .accepting_consumer_status = p->accepts_status,
    };

    uint8_t links[128];
    if (p->open_limit) {
        service.filters |= OMM_FILTER_LOAD;
        service.has_open_limit = true;
        service.open_limit = p->open_limit;
    }
    if (p->has_links) {
        service.filters |= OMM_FILTER_LINK;
        service.links = pair_links(links, sizeof(links));
    }
    if (p->names_no_domains)
        service.capability_count = 0;
    if (p->dictionary) {
        service.capabilities[service.capability_count++] = RWF_DOMAIN_DICTIONARY;
        if (p->has_enums)
            service.provided[service.provided_count++] = rwf_text("RWFEnum");
        service.provided[service.provided_count++] = rwf_text("RWFFld");
    }
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_directory_encode_start(&enc, &head);
    omm_directory_encode_service(&enc, &service);
    omm_directory_encode_finish(&enc);
    pair_say(p, &enc);
}

void pair_say_load(struct pair *pair, uint32_t open_limit)
{
    uint8_t bytes[256];
    struct rwf_encoder enc;
    struct omm_directory_head head = { .stream_id = OMM_DIRECTORY_STREAM, .is_update = true };
    struct omm_service service = {
        .id = pair->provider_id ? pair->provider_id : 99,
        .action = RWF_MAP_UPDATE,
        .filters = OMM_FILTER_LOAD,
        .has_open_limit = true,
        .open_limit = open_limit,
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_directory_encode_start(&enc, &head);
    omm_directory_encode_service(&enc, &service);
    omm_directory_encode_finish(&enc);
    pair_say(&pair->provider, &enc);
}

void pair_say_group_state(struct pair *pair, uint16_t group, uint16_t into, uint8_t stream_state,
                          uint8_t data_state)
{
    uint8_t bytes[512];
    uint8_t ids[2][2] = { { (uint8_t)(group >> 8), (uint8_t)group },
                          { (uint8_t)(into >> 8), (uint8_t)into } };
    struct rwf_encoder enc;
    struct omm_directory_head head = { .stream_id = OMM_DIRECTORY_STREAM, .is_update = true };
    struct omm_group change = {
        .group = rwf_bytes(ids[0], 2),
        .has_status = into == 0,
        .status = { .stream_state = stream_state, .data_state = data_state },
    };

    if (into)
        change.merged_to = rwf_bytes(ids[1], 2);
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_directory_encode_start(&enc, &head);
    omm_directory_encode_group(&enc, 99, &change);
    omm_directory_encode_finish(&enc);
    pair_say(&pair->provider, &enc);
}

void pair_say_group(struct pair *pair, uint16_t group, uint16_t into, uint8_t data_state)
{
    pair_say_group_state(pair, group, into, RWF_STREAM_OPEN, data_state);
}

void pair_say_dictionary(struct pair_provider *p, int32_t stream_id, uint32_t filter,
                         enum rwf_dictionary_type type)
{
    struct rwf_dictionary_cursor cursor = { 0 };
    struct rwf_dictionary_error error;
    struct rwf_dictionary *dictionary;
    uint8_t bytes[210];
    char text[512];
    size_t length;
    struct rwf_msg msg = {
        .stream_id = stream_id,
        .flags = RWF_REFRESH_HAS_KEY | RWF_REFRESH_SOLICITED | RWF_REFRESH_CLEAR_CACHE,
        .group_id = rwf_bytes((const uint8_t *)"\0", 2),
        .key = { .flags = RWF_KEY_HAS_NAME,
                 .name = rwf_text(type == RWF_DICTIONARY_TYPE_FIELDS ? "RWFFld" : "RWFEnum") },
    };

    snprintf(text, sizeof(text),
             "!tag Type 1\n!tag Version %s\n!tag DictionaryId 1\n"
             "ONE \"One\" 1 NULL INTEGER 5 UINT64 5\n"
             "TWO \"Two\" 32 NULL INTEGER 5 UINT64 5\n"
             "OWN \"Own\" 9999 NULL INTEGER 5 UINT64 5\n",
             p->dictionary);
    assert_int_equal(rwf_dictionary_create(&dictionary), MD_OK);
    assert_int_equal(rwf_dictionary_load_fields(dictionary, "model", text, strlen(text), &error),
                     MD_OK);
    snprintf(text, sizeof(text), "!tag Type 2\n!tag DT_Version %s\nOWN 9999\n0 \"own\"\n",
             p->dictionary);
    assert_int_equal(rwf_dictionary_load_enums(dictionary, "model", text, strlen(text), &error),
                     MD_OK);
    while (!cursor.is_complete) {
        assert_int_equal(rwf_dictionary_refresh_encode(dictionary, type, filter, &msg, &cursor,
                                                       bytes, sizeof(bytes), &length),
                         RWF_OK);
        assert_int_equal(srcdist_provider_message(p->pair->source, p->pair->now_ns, p->id,
                                                  rwf_bytes(bytes, length)),
                         MD_OK);
    }
    rwf_dictionary_destroy(dictionary);
}

static void pair_refuse_dictionary(struct pair_provider *p, int32_t stream_id)
{
    uint8_t bytes[256];
    struct rwf_encoder enc;
    struct omm_status status = {
        .stream_id = stream_id,
        .domain = RWF_DOMAIN_DICTIONARY,
        .state = { .stream_state = RWF_STREAM_CLOSED, .data_state = RWF_DATA_SUSPECT },
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_status_encode(&enc, &status);
    pair_say(p, &enc);
}

static void pair_dictionary_request(struct pair_provider *p, const struct rwf_msg *msg)
{
    bool is_enums = rwf_bytes_equal(msg->key.name, rwf_text("RWFEnum"));
    size_t asks = p->dictionary_asks++ % 8;

    p->dictionary_filters[asks] = msg->key.filter;
    p->dictionary_stream = msg->stream_id;
    snprintf(p->dictionary_names[asks], sizeof(p->dictionary_names[0]), "%.*s",
             (int)msg->key.name.length, (const char *)msg->key.name.data);
    if (is_enums && p->enums_are_refused)
        pair_refuse_dictionary(p, msg->stream_id);
    else if (p->dictionary && !p->dictionary_is_silent)
        pair_say_dictionary(p, msg->stream_id, msg->key.filter,
                            is_enums ? RWF_DICTIONARY_TYPE_ENUMS : RWF_DICTIONARY_TYPE_FIELDS);
}

static void pair_accept_login(struct pair_provider *p, const struct rwf_msg *msg)
{
    uint8_t bytes[1024];
    struct rwf_encoder enc;
    struct omm_login_refresh refresh = {
        .stream_id = msg->stream_id,
        .is_solicited = true,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
        .user = rwf_text("user"),
        .single_open = true,
        .allow_suspect_data = true,
        .support_post = true,
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_login_refresh_encode(&enc, &refresh);
    pair_say(p, &enc);
}

static struct pair_item *pair_item_of(struct pair_provider *p, int32_t stream_id)
{
    for (size_t i = 0; i < PAIR_ITEMS; i++) {
        if (p->items[i].is_open && p->items[i].stream_id == stream_id)
            return &p->items[i];
    }
    return NULL;
}

void pair_answer(struct pair_provider *p, struct pair_item *it)
{
    if (strncmp(it->name, "VOID", 4) == 0) {
        pair_say_status(p, it, RWF_STREAM_CLOSED, RWF_DATA_SUSPECT, RWF_CODE_NOT_FOUND);
        it->is_open = false;
    } else if (p->refusal) {
        pair_say_status(p, it, p->refusal, RWF_DATA_SUSPECT, RWF_CODE_NO_RESOURCES);
        it->is_open = false;
    } else {
        pair_say_image(p, it, true);
        it->is_open = it->is_streaming;
    }
}

static void pair_item_request(struct pair_provider *p, const struct rwf_msg *msg)
{
    struct pair_item *it = pair_item_of(p, msg->stream_id);

    p->asked_container = msg->container;
    p->asked_length = msg->payload.length;
    assert_true(p->asked_length <= sizeof(p->asked));
    if (p->asked_length)
        memcpy(p->asked, msg->payload.data, p->asked_length);
    if (it) {
        p->reissues++;
        it->reissues++;
    } else {
        size_t slot = 0;
        while (p->items[slot].is_open && slot + 1 < PAIR_ITEMS)
            slot++;
        it = &p->items[slot];
        *it = (struct pair_item){
            .is_open = true,
            .stream_id = msg->stream_id,
            .domain = msg->domain,
            .is_private = (msg->flags & RWF_REQUEST_PRIVATE_STREAM) != 0,
            .is_streaming = (msg->flags & RWF_REQUEST_STREAMING) != 0,
            .counter = 100,
        };
        assert_true(msg->key.name.length < sizeof(it->name));
        memcpy(it->name, msg->key.name.data, msg->key.name.length);
        p->requests++;
    }
    if (p->answers && !(msg->flags & RWF_REQUEST_NO_REFRESH))
        pair_answer(p, it);
}

static void pair_ack(struct pair_provider *p, const struct rwf_msg *msg)
{
    uint8_t bytes[512];
    struct rwf_encoder enc;
    struct omm_ack ack = {
        .stream_id = msg->stream_id,
        .domain = msg->domain,
        .ack_id = msg->post_id,
        .has_seq_num = (msg->flags & RWF_POST_HAS_SEQ_NUM) != 0,
        .seq_num = msg->seq_num,
        .nak_code = p->nak,
    };

    p->posts++;
    if (!(msg->flags & RWF_POST_ACK))
        return;
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_ack_encode(&enc, &ack);
    pair_say(p, &enc);
}

static void pair_take_role(struct pair_provider *p, const struct rwf_msg *msg)
{
    struct rwf_map map;
    struct rwf_map_entry entry = { 0 };
    struct rwf_element_list list;
    struct rwf_element element = { 0 };

    if (msg->domain != RWF_DOMAIN_SOURCE || msg->container != RWF_TYPE_MAP)
        return;
    assert_true(rwf_map_decode(msg->payload, &map) >= 0 && rwf_map_next(&map, &entry) > 0);
    assert_true(rwf_element_list_decode(entry.data, NULL, &list) >= 0);
    assert_true(rwf_element_list_next(&list, &element) > 0);
    assert_true(rwf_element_is(&element, "SourceMirroringMode"));
    assert_int_equal(rwf_uint_decode(element.content, &p->role), RWF_OK);
}

static void pair_provider_take(struct pair_provider *p, struct rwf_bytes bytes)
{
    struct rwf_msg msg;
    struct pair_item *it;

    assert_int_equal(rwf_msg_decode(bytes, &msg), RWF_OK);
    if (msg.msg_class == RWF_CLASS_POST) {
        p->post_length = bytes.length;
        memcpy(p->post, bytes.data, bytes.length);
        pair_ack(p, &msg);
    } else if (msg.msg_class == RWF_CLASS_GENERIC) {
        p->generics++;
        pair_take_role(p, &msg);
    } else if (msg.msg_class == RWF_CLASS_CLOSE) {
        it = pair_item_of(p, msg.stream_id);
        if (it)
            it->is_open = false;
        p->closes++;
    } else if (msg.domain == RWF_DOMAIN_LOGIN) {
        pair_accept_login(p, &msg);
    } else if (msg.domain == RWF_DOMAIN_SOURCE) {
        pair_say_directory(p, false);
    } else if (msg.domain == RWF_DOMAIN_DICTIONARY) {
        pair_dictionary_request(p, &msg);
    } else {
        pair_item_request(p, &msg);
    }
}

/* The link: what the core asks waits here until the provider's turn. */
static int pair_provider_hear(void *self, struct rwf_bytes bytes)
{
    struct pair_provider *p = self;

    if (p->heard_count == PAIR_HEARD || p->takes_nothing)
        return MD_ERR_FULL;
    assert_true(bytes.length <= sizeof(p->heard[0].bytes));
    p->heard[p->heard_count].length = bytes.length;
    memcpy(p->heard[p->heard_count++].bytes, bytes.data, bytes.length);
    return MD_OK;
}

static void pair_provider_closed(void *self, const char *reason)
{
    struct pair_provider *p = self;

    (void)reason;
    p->closed = true;
    p->is_here = false;
}

static const struct srcdist_link pair_link = { .send = pair_provider_hear,
                                               .close = pair_provider_closed };

bool pair_provider_turn(struct pair_provider *p)
{
    size_t count = p->heard_count;

    for (size_t i = 0; i < count && p->is_here; i++)
        pair_provider_take(p, rwf_bytes(p->heard[i].bytes, p->heard[i].length));
    /* Requests that came meanwhile wait for the next turn. */
    p->heard_count -= count;
    memmove(p->heard, p->heard + count, p->heard_count * sizeof(p->heard[0]));
    return count > 0;
}

void pair_provider_comes(struct pair *pair)
{
    struct pair_provider *p = &pair->provider;

    assert_false(p->is_here);
    p->is_here = true;
    p->heard_count = 0;
    memset(p->items, 0, sizeof(p->items));
    assert_int_equal(srcdist_provider_add(pair->source, pair->now_ns, SRCDIST_INTERACTIVE, 0,
                                          "model", &pair_link, p, &p->id),
                     MD_OK);
}

void pair_provider_goes(struct pair *pair)
{
    pair->provider.is_here = false;
    srcdist_provider_gone(pair->source, pair->now_ns, pair->provider.id);
}
