/* core_pair.h - src_dist and p2ps cores in one process, with a model provider and model clients. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PAIR_H
#define CORE_PAIR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/writer.h"
#include "itemkey/itemkey.h"
#include "p2ps/core/core.h"
#include "p2ps/core/rwf_forms.h"
#include "rmds/rwf_dictionary.h"
#include "rrmp/key.h"
#include "srcdist/core/core.h"

/*
 * The backbone is two arrays of records: src_dist is (1, 1), p2ps is (2, 1). The provider keeps a
 * counter per item, and its image and its updates are a function of it. A client is a second front:
 * what the core tells it becomes a line of letters per stream,
 *
 *     L login   D directory   d change of it   + service added   - service deleted   g group,
 * m merge of two   I image   i unsolicited image   U update S status that leaves the stream open !
 * data state suspect   X closed   R closed, recover A ack     N nak         G generic        T
 * round trip   M encoded message J conflation started    j real time again
 */
#define PAIR_MS          1000000ull
#define PAIR_SEC         1000000000ull
#define PAIR_RECORDS     4096
#define PAIR_RECORD_SIZE 2048
#define PAIR_STREAMS     64
#define PAIR_ITEMS       64
#define PAIR_CLIENTS     4
#define PAIR_LETTERS     512
#define PAIR_HEARD       256
#define PAIR_SERVICE_ID  7
#define PAIR_FIELD       32 /* the counter; field 22 is twice as much */
#define PAIR_UNLIMITED   UINT32_MAX
#define PAIR_ELSEWHERE   9 /* the session of a requester that is no p2ps of ours */

struct pair_line {
    struct {
        struct rrmp_dest dest;
        size_t length;
        uint8_t bytes[PAIR_RECORD_SIZE];
    } sent[PAIR_RECORDS];
    size_t count;
    bool is_full; /* takes nothing, whatever its fill says */
    uint8_t room[65536];
};

struct pair_item {
    bool is_open;
    int32_t stream_id;
    uint8_t domain;
    bool is_private;
    bool is_streaming;
    uint32_t reissues;
    uint32_t counter;
    char name[32];
};

struct pair;

struct pair_provider {
    struct pair *pair;
    bool is_here;
    uint32_t id; /* of the core */
    bool answers;
    bool service_up;
    bool closed; /* by the core */
    bool takes_nothing;
    unsigned parts;
    uint32_t requests;
    uint32_t reissues;
    uint32_t closes;
    uint32_t posts;
    uint32_t generics;
    bool accepts_status;
    uint64_t role;   /* as told last: enum omm_mirroring_mode */
    uint8_t refusal; /* stream state of the next answers, 0: an image */
    uint8_t nak;
    const char *perm_data;
    uint16_t container; /* of images, with `payload` in place of fields; 0: fields */
    struct rwf_bytes payload;
    uint16_t conflated;     /* as updates say, 0: they do not */
    bool has_seqs;          /* images and updates bear the counter as sequence number, too */
    const char *dictionary; /* RWFFld, of this version; NULL: none is offered */
    bool has_enums;         /* RWFEnum of the same version is listed, too, and first */
    bool enums_are_refused;
    bool dictionary_is_silent;
    uint32_t open_limit;            /* LOAD of its directory; 0: it has none */
    bool has_links;                 /* LINK */
    bool names_no_domains;          /* no capabilities in the directory */
    uint32_t dictionary_filters[8]; /* as asked */
    size_t dictionary_asks;
    char dictionary_names[8][16]; /* as asked */
    int32_t dictionary_stream;    /* of the last one asked */
    struct pair_item items[PAIR_ITEMS];
    struct {
        size_t length;
        uint8_t bytes[512];
    } heard[PAIR_HEARD];
    size_t heard_count;
};

struct pair_stream {
    int32_t id;
    char letters[PAIR_LETTERS];
    size_t count;
    uint32_t counter; /* as last delivered, by image or update */
    uint8_t code;
    uint8_t data_state;
    uint8_t stream_state;
    uint16_t flags;
    uint16_t container; /* of the last image or update, and its payload if it is short */
    uint8_t payload[256];
    size_t payload_length;
    uint32_t fields; /* of the last image or update; rows, where it is a vector */
    uint32_t group;  /* of the last image */
    bool has_key;
    char text[128];
};

struct pair_client {
    struct pair *pair;
    uint32_t id;
    bool closed; /* by the core */
    char reason[64];
    uint32_t room; /* messages it takes; PAIR_UNLIMITED */
    uint32_t room_max;
    uint32_t queued; /* since the last flush */
    uint32_t flushes;
    uint32_t group[2]; /* of the last change: the group, and what it was merged into */
    uint8_t group_state;
    uint8_t group_stream_state;
    uint32_t filters;     /* of the first service of the last directory message */
    uint8_t said[2][128]; /* its LOAD and LINK */
    size_t said_length[2];
    struct omm_rtt rtt; /* the last one */
    bool drains;        /* each flush makes all its room free again */
    struct pair_stream streams[PAIR_STREAMS];
};

struct pair {
    uint64_t now_ns;
    unsigned network;      /* of the p2ps core, that this backbone is */
    const char *service;   /* its name; NULL: RDFD */
    uint16_t service_id;   /* 0: PAIR_SERVICE_ID */
    bool is_id_automatic;  /* serviceId 0 */
    uint16_t provider_id;  /* of the service at its provider; 0: 99 */
    uint8_t data_type;     /* of the service, as the source is configured */
    struct pair_line down; /* from src_dist */
    struct pair_line up;   /* from p2ps */
    struct pair_line moving;
    struct srcdist_core *source;
    struct p2ps_core *sink;
    struct pair_provider provider;
    struct pair_client clients[PAIR_CLIENTS];
    /* The authority answers at once, or late. */
    bool authority_is_late;
    bool authority_denies;
    uint32_t authority_mounts; /* that each user may have, 0: any */
    const char *authority_denies_item;
    const char *authority_denies_data; /* one byte of permission data */
    const char *authority_denies_user; /* that data to this user only */
    struct entitle_answer late[PAIR_STREAMS];
    size_t late_count;
    bool answers_now;
    bool source_caches;
    const struct rwf_dictionary *fields; /* that the source begins with; it ripples by them */
    uint32_t open_window;                /* providerOpenWindow */
    uint64_t session;                    /* of the source; 0: 1 */
    struct pair *mirror;                 /* another source on the same network */
    bool is_hot;                         /* mirrorMode */
    uint8_t priority;                    /* sourcePriority */
    bool is_dead;                        /* the source; what it still says is lost */
    const char *name;                    /* of the source, when it has a mirror */
    uint64_t source_item_bytes;          /* item_bytes_max */
    const struct srcdist_stage_ops *const *stages;
    void *const *stage_selves;
    bool lose_down;      /* records of src_dist are lost */
    uint32_t elsewhere;  /* parts of images that went to another requester alone */
    uint32_t resumes;    /* p2ps asked so often to go on behind a sequence number, */
    uint32_t resume_seq; /* and last behind this one */
    uint32_t settles;    /* in which nothing moved */
};

/* ---- the backbone ---- */

static inline uint8_t *pair_reserve(void *context, size_t length)
{
    struct pair_line *line = context;

    bool has_room = length <= sizeof(line->room) && line->count < PAIR_RECORDS && !line->is_full;

    return has_room ? line->room : NULL;
}

static inline void pair_commit(void *context, const struct rrmp_dest *dest, size_t length)
{
    struct pair_line *line = context;

    if (length == 0)
        return;
    assert_true(length <= PAIR_RECORD_SIZE);
    line->sent[line->count].dest = *dest;
    line->sent[line->count].length = length;
    memcpy(line->sent[line->count++].bytes, line->room, length);
}

static inline unsigned pair_fill(void *context)
{
    const struct pair_line *line = context;

    return (unsigned)(line->count * 256 / PAIR_RECORDS);
}

static inline uint64_t pair_session(const struct pair *pair)
{
    return pair->session ? pair->session : 1;
}

static inline void pair_note_resume(struct pair *pair, const struct rrmp_message *message)
{
    struct rrmp_record record;

    if (rrmp_record_decode(message->bytes, message->length, &record) != MD_OK ||
        record.header.type != RRMP_REQUEST || !(record.u.request.flags & RRMP_REQUEST_RESUME))
        return;
    pair->resumes++;
    pair->resume_seq = record.u.request.resume_seq;
}

static inline void pair_note_elsewhere(struct pair *pair, const struct rrmp_message *message)
{
    struct rrmp_record record;

    if (rrmp_record_decode(message->bytes, message->length, &record) == MD_OK)
        pair->elsewhere += record.header.type == RRMP_IMAGE;
}

static inline void pair_deliver(struct pair *pair, const struct rrmp_dest *dest,
                                const struct rrmp_message *message)
{
    bool is_multicast = dest->path == RRMP_PATH_MULTICAST;
    struct pair *sources[] = { pair, pair->mirror };

    if (!is_multicast && dest->session == PAIR_ELSEWHERE)
        pair_note_elsewhere(pair, message);
    else if (message->session == 2)
        pair_note_resume(pair, message);
    else if (is_multicast || dest->session == 2)
        p2ps_core_backbone(pair->sink, pair->network, pair->now_ns, message, 1);
    for (size_t i = 0; i < 2; i++) {
        bool is_there = sources[i] && sources[i]->source && !sources[i]->is_dead;
        if (is_there && pair_session(sources[i]) != message->session &&
            (is_multicast || dest->session == pair_session(sources[i])))
            srcdist_core_backbone(sources[i]->source, pair->now_ns, message, 1);
    }
}

static inline bool pair_move(struct pair *pair, struct pair_line *line, uint64_t from, bool lose)
{
    size_t count = line->count;

    for (size_t i = 0; i < count; i++)
        pair->moving.sent[i] = line->sent[i];
    line->count = 0;
    for (size_t i = 0; i < count && !lose; i++) {
        const struct rrmp_dest *dest = &pair->moving.sent[i].dest;
        struct rrmp_message message = {
            .session = from,
            .src_port = 1,
            .dst_port = dest->path == RRMP_PATH_MULTICAST ? 0 : dest->port,
            .topic = dest->path == RRMP_PATH_MULTICAST ? dest->topic : 0,
            .bytes = pair->moving.sent[i].bytes,
            .length = pair->moving.sent[i].length,
        };

        pair_deliver(pair, dest, &message);
    }
    return count > 0;
}

/* ---- the provider ---- */

static inline void pair_say(struct pair_provider *p, struct rwf_encoder *enc)
{
    assert_int_equal(rwf_encoder_error(enc), RWF_OK);
    assert_int_equal(
        srcdist_provider_message(p->pair->source, p->pair->now_ns, p->id, rwf_encoder_bytes(enc)),
        MD_OK);
}

static inline void pair_fields(struct rwf_encoder *enc, uint32_t counter, bool whole)
{
    rwf_field_list_start(enc, NULL);
    rwf_field_add_uint(enc, PAIR_FIELD, counter);
    if (whole)
        rwf_field_add_uint(enc, 22, 2ull * counter);
    rwf_field_list_finish(enc);
}

static inline void pair_say_image_part(struct pair_provider *p, const struct pair_item *it,
                                       bool is_solicited, unsigned part)
{
    uint8_t bytes[1024];
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
        .group_id = rwf_bytes((const uint8_t *)"\0\1", 2),
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

static inline void pair_say_image(struct pair_provider *p, const struct pair_item *it,
                                  bool is_solicited)
{
    for (unsigned part = 0; part < p->parts; part++)
        pair_say_image_part(p, it, is_solicited, part);
}

static inline void pair_say_status(struct pair_provider *p, const struct pair_item *it,
                                   uint8_t stream_state, uint8_t data_state, uint8_t code)
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

static inline struct pair_item *pair_item(struct pair *pair, const char *name)
{
    for (size_t i = 0; i < PAIR_ITEMS; i++) {
        if (pair->provider.items[i].is_open && strcmp(pair->provider.items[i].name, name) == 0)
            return &pair->provider.items[i];
    }
    return NULL;
}

/* The next update of that item, published but not delivered yet. */
static inline void pair_update(struct pair *pair, const char *name)
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

/* One link, "feed", which is up. */
static inline struct rwf_bytes pair_links(uint8_t *bytes, size_t size)
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

static inline void pair_say_directory(struct pair_provider *p, bool is_update)
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

/* LOAD alone. */
static inline void pair_say_load(struct pair *pair, uint32_t open_limit)
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

/* A change of a group of the provider's items: a status, or, with `into`, a merge. */
static inline void pair_say_group_state(struct pair *pair, uint16_t group, uint16_t into,
                                        uint8_t stream_state, uint8_t data_state)
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

static inline void pair_say_group(struct pair *pair, uint16_t group, uint16_t into,
                                  uint8_t data_state)
{
    pair_say_group_state(pair, group, into, RWF_STREAM_OPEN, data_state);
}

/* Three fields, in two messages; or a table of enumerated values. */
static inline void pair_say_dictionary(struct pair_provider *p, int32_t stream_id, uint32_t filter,
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

static inline void pair_refuse_dictionary(struct pair_provider *p, int32_t stream_id)
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

static inline void pair_dictionary_request(struct pair_provider *p, const struct rwf_msg *msg)
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

static inline void pair_accept_login(struct pair_provider *p, const struct rwf_msg *msg)
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

static inline struct pair_item *pair_item_of(struct pair_provider *p, int32_t stream_id)
{
    for (size_t i = 0; i < PAIR_ITEMS; i++) {
        if (p->items[i].is_open && p->items[i].stream_id == stream_id)
            return &p->items[i];
    }
    return NULL;
}

static inline void pair_answer(struct pair_provider *p, struct pair_item *it)
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

static inline void pair_item_request(struct pair_provider *p, const struct rwf_msg *msg)
{
    struct pair_item *it = pair_item_of(p, msg->stream_id);

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

static inline void pair_ack(struct pair_provider *p, const struct rwf_msg *msg)
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

static inline void pair_take_role(struct pair_provider *p, const struct rwf_msg *msg)
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

static inline void pair_provider_take(struct pair_provider *p, struct rwf_bytes bytes)
{
    struct rwf_msg msg;
    struct pair_item *it;

    assert_int_equal(rwf_msg_decode(bytes, &msg), RWF_OK);
    if (msg.msg_class == RWF_CLASS_POST) {
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
static inline int pair_provider_hear(void *self, struct rwf_bytes bytes)
{
    struct pair_provider *p = self;

    if (p->heard_count == PAIR_HEARD || p->takes_nothing)
        return MD_ERR_FULL;
    assert_true(bytes.length <= sizeof(p->heard[0].bytes));
    p->heard[p->heard_count].length = bytes.length;
    memcpy(p->heard[p->heard_count++].bytes, bytes.data, bytes.length);
    return MD_OK;
}

static inline void pair_provider_closed(void *self, const char *reason)
{
    struct pair_provider *p = self;

    (void)reason;
    p->closed = true;
    p->is_here = false;
}

static const struct srcdist_link pair_link = { pair_provider_hear, pair_provider_closed };

static inline bool pair_provider_turn(struct pair_provider *p)
{
    size_t count = p->heard_count;

    for (size_t i = 0; i < count && p->is_here; i++)
        pair_provider_take(p, rwf_bytes(p->heard[i].bytes, p->heard[i].length));
    /* What was asked meanwhile is for the next turn. */
    p->heard_count -= count;
    memmove(p->heard, p->heard + count, p->heard_count * sizeof(p->heard[0]));
    return count > 0;
}

static inline void pair_provider_comes(struct pair *pair)
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

static inline void pair_provider_goes(struct pair *pair)
{
    pair->provider.is_here = false;
    srcdist_provider_gone(pair->source, pair->now_ns, pair->provider.id);
}

static inline struct srcdist_service_config pair_service(void *owner, struct rwf_bytes name)
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
    };
}

/* Another requester asks for a snapshot of the item; its answers are only counted. */
static inline void pair_snapshot_elsewhere(struct pair *pair, const char *name)
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
    struct rrmp_message message = { .session = PAIR_ELSEWHERE,
                                    .src_port = 1,
                                    .dst_port = 1,
                                    .bytes = bytes,
                                    .length = md_wr_length(&wr) };
    srcdist_core_backbone(pair->source, pair->now_ns, &message, 1);
}

/* Their tables hold; looked at when something has moved, else now and then. */
static inline void pair_check(struct pair *pair, bool has_moved)
{
    if (!has_moved && pair->settles++ % 64 != 0)
        return;
    assert_null(srcdist_core_check(pair->source));
    assert_null(p2ps_core_check(pair->sink));
}

/* Until nothing moves any more; no time passes. */
static inline void pair_settle(struct pair *pair)
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
    }
    assert_false(moved);
    pair_check(pair, i > 1);
}

static inline void pair_pass(struct pair *pair, uint64_t time_ns)
{
    uint64_t until = pair->now_ns + time_ns;

    while (pair->now_ns < until) {
        pair->now_ns += 20 * PAIR_MS;
        srcdist_core_tick(pair->source, pair->now_ns, true);
        p2ps_core_tick(pair->sink, pair->now_ns, 1);
        pair_settle(pair);
    }
}

/* ---- the front ---- */

static inline struct pair_stream *pair_stream(struct pair_client *c, int32_t id)
{
    for (size_t i = 0; i < PAIR_STREAMS; i++) {
        if (c->streams[i].id == id || c->streams[i].id == 0) {
            c->streams[i].id = id;
            return &c->streams[i];
        }
    }
    fail_msg("too many streams");
    return NULL;
}

/* One more letter, if the client has room for a message. */
static inline int pair_note(struct pair_client *c, int32_t id, char letter)
{
    struct pair_stream *s = pair_stream(c, id);

    if (c->room == 0)
        return MD_ERR_FULL;
    if (c->room != PAIR_UNLIMITED)
        c->room--;
    c->queued++;
    assert_true(s->count + 1 < PAIR_LETTERS);
    s->letters[s->count++] = letter;
    return MD_OK;
}

static inline void pair_note_state(struct pair_client *c, int32_t id, const struct rwf_state *state)
{
    struct pair_stream *s = pair_stream(c, id);

    s->stream_state = state->stream_state;
    s->data_state = state->data_state;
    s->code = state->code;
    snprintf(s->text, sizeof(s->text), "%.*s", (int)state->text.length,
             (const char *)state->text.data);
}

static inline void pair_read_rows(struct pair_stream *s, const struct rwf_msg *msg)
{
    struct rwf_vector vector;
    struct rwf_vector_entry entry;

    assert_int_equal(rwf_vector_decode(msg->payload, &vector), RWF_OK);
    while (rwf_vector_next(&vector, &entry) > 0)
        s->fields++;
}

static inline void pair_read_fields(struct pair_stream *s, const struct rwf_msg *msg)
{
    struct rwf_field_list list;
    struct rwf_field field;
    uint64_t value;

    s->fields = 0;
    if (msg->container == RWF_TYPE_VECTOR)
        pair_read_rows(s, msg);
    if (msg->container != RWF_TYPE_FIELD_LIST ||
        rwf_field_list_decode(msg->payload, NULL, &list) < 0)
        return;
    while (rwf_field_list_next(&list, &field) > 0) {
        s->fields++;
        if (field.id == PAIR_FIELD && rwf_uint_decode(field.content, &value) == RWF_OK)
            s->counter = (uint32_t)value;
    }
}

static inline int pair_front_put(void *self, const struct p2ps_made *made, int32_t stream_id,
                                 bool solicited, bool snapshot)
{
    struct pair_client *c = self;
    struct pair_stream *s = pair_stream(c, stream_id);
    uint8_t bytes[PAIR_RECORD_SIZE];
    struct rwf_msg msg;
    char letter = '?';

    assert_true(made->length <= sizeof(bytes));
    p2ps_rwf_write(bytes, made, stream_id, solicited, snapshot);
    assert_int_equal(rwf_msg_decode(rwf_bytes(bytes, made->length), &msg), RWF_OK);
    assert_int_equal(msg.stream_id, stream_id);
    if (msg.msg_class == RWF_CLASS_REFRESH)
        letter = msg.flags & RWF_REFRESH_SOLICITED ? 'I' : 'i';
    else if (msg.msg_class == RWF_CLASS_UPDATE)
        letter = 'U';
    else if (msg.msg_class == RWF_CLASS_GENERIC)
        letter = 'G';
    int err = pair_note(c, stream_id, letter);
    if (err != MD_OK)
        return err;
    if (msg.msg_class == RWF_CLASS_REFRESH)
        pair_note_state(c, stream_id, &msg.state);
    if (msg.msg_class == RWF_CLASS_REFRESH && msg.group_id.length == 4)
        s->group = md_be32(msg.group_id.data);
    s->flags = msg.flags;
    s->container = msg.container;
    s->payload_length = msg.payload.length < sizeof(s->payload) ? msg.payload.length : 0;
    if (s->payload_length)
        memcpy(s->payload, msg.payload.data, s->payload_length);
    s->has_key = rwf_msg_has_key(&msg);
    pair_read_fields(s, &msg);
    return MD_OK;
}

static inline int pair_front_login(void *self, const struct omm_login_refresh *refresh)
{
    int err = pair_note(self, refresh->stream_id, 'L');

    if (err == MD_OK)
        pair_note_state(self, refresh->stream_id, &refresh->state);
    return err;
}

static inline char pair_status_letter(const struct rwf_state *state)
{
    if (state->stream_state == RWF_STREAM_CLOSED_RECOVER)
        return 'R';
    if (state->stream_state != RWF_STREAM_OPEN)
        return 'X';
    if (state->code == RWF_CODE_JIT_CONFLATION_STARTED)
        return 'J';
    if (state->code == RWF_CODE_REALTIME_RESUMED)
        return 'j';
    return state->data_state == RWF_DATA_SUSPECT ? '!' : 'S';
}

static inline int pair_front_status(void *self, const struct omm_status *status)
{
    int err = pair_note(self, status->stream_id, pair_status_letter(&status->state));

    if (err == MD_OK) {
        pair_note_state(self, status->stream_id, &status->state);
        pair_stream(self, status->stream_id)->flags = status->flags;
    }
    return err;
}

static inline int pair_front_ack(void *self, const struct omm_ack *ack)
{
    int err = pair_note(self, ack->stream_id, ack->nak_code ? 'N' : 'A');

    if (err == MD_OK)
        pair_stream(self, ack->stream_id)->code = ack->nak_code;
    return err;
}

static inline int pair_front_rtt(void *self, int32_t stream_id, const struct omm_rtt *rtt)
{
    ((struct pair_client *)self)->rtt = *rtt;
    return pair_note(self, stream_id, 'T');
}

static inline void pair_note_said(struct pair_client *c, const struct omm_service *service)
{
    const struct rwf_bytes said[2] = { service->load, service->links };

    c->filters = service->filters;
    for (int i = 0; i < 2; i++) {
        assert_true(said[i].length <= sizeof(c->said[i]));
        c->said_length[i] = said[i].length;
        if (said[i].length)
            memcpy(c->said[i], said[i].data, said[i].length);
    }
}

static inline int pair_front_directory(void *self, const struct omm_directory_head *head,
                                       const struct omm_service services[], size_t count)
{
    char letter = !head->is_update                       ? 'D'
                  : services[0].action == RWF_MAP_ADD    ? '+'
                  : services[0].action == RWF_MAP_DELETE ? '-'
                                                         : 'd';
    int err = pair_note(self, head->stream_id, letter);

    if (err == MD_OK && count > 0)
        pair_note_said(self, &services[0]);
    if (err == MD_OK && count > 0)
        pair_stream(self, head->stream_id)->data_state = services[0].is_up ? 1 : 2;
    if (err == MD_OK)
        pair_stream(self, head->stream_id)->fields = (uint32_t)count;
    return err;
}

static inline int pair_front_group(void *self, int32_t stream_id, uint16_t service_id,
                                   const struct omm_group *group)
{
    struct pair_client *c = self;

    (void)service_id;
    c->group_stream_state = group->has_status ? group->status.stream_state : 0;
    c->group_state = group->has_status ? group->status.data_state : 0;
    c->group[0] = group->group.length == 4 ? md_be32(group->group.data) : 0;
    c->group[1] = group->merged_to.length == 4 ? md_be32(group->merged_to.data) : 0;
    return pair_note(self, stream_id, group->has_status ? 'g' : 'm');
}

static inline int pair_front_message(void *self, struct rwf_bytes message)
{
    struct rwf_msg msg;

    assert_int_equal(rwf_msg_decode(message, &msg), RWF_OK);
    return pair_note(self, msg.stream_id, 'M');
}

static inline void pair_front_flush(void *self)
{
    struct pair_client *c = self;

    c->flushes++;
    c->queued = 0;
    if (c->drains)
        c->room = c->room_max;
}

/* Five messages fill a frame of the model. */
static inline bool pair_front_is_full(const void *self)
{
    const struct pair_client *c = self;

    return c->queued >= 5;
}

static inline unsigned pair_front_fill(const void *self)
{
    const struct pair_client *c = self;

    return c->room == PAIR_UNLIMITED ? 0 : (c->room_max - c->room) * 100 / c->room_max;
}

static inline void pair_front_close(void *self, const char *reason)
{
    struct pair_client *c = self;

    c->closed = true;
    snprintf(c->reason, sizeof(c->reason), "%s", reason);
}

static const struct p2ps_front pair_front = {
    .name = "model",
    .make = p2ps_rwf_make,
    .put = pair_front_put,
    .login_refresh = pair_front_login,
    .status = pair_front_status,
    .ack = pair_front_ack,
    .rtt = pair_front_rtt,
    .directory = pair_front_directory,
    .group = pair_front_group,
    .message = pair_front_message,
    .flush = pair_front_flush,
    .is_full = pair_front_is_full,
    .fill = pair_front_fill,
    .close = pair_front_close,
};

/* ---- the authority ---- */

static inline enum entitle_verdict pair_judge(const struct pair *pair,
                                              const struct entitle_query *query)
{
    const char *item = pair->authority_denies_item;

    if (query->kind == ENTITLE_LOGIN)
        return pair->authority_denies ? ENTITLE_DENY : ENTITLE_ALLOW;
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

static inline enum entitle_verdict pair_ask(void *self, const struct entitle_query *query,
                                            uint64_t ticket, struct entitle_answer *out)
{
    struct pair *pair = self;
    enum entitle_verdict verdict = pair_judge(pair, query);

    *out = (struct entitle_answer){ .ticket = ticket, .verdict = verdict, .text = "no" };
    out->mounts_max = pair->authority_mounts;
    if (!pair->authority_is_late)
        return verdict;
    assert_true(pair->late_count < PAIR_STREAMS);
    pair->late[pair->late_count++] = *out;
    return ENTITLE_PENDING;
}

static inline int pair_answers(void *self, struct entitle_answer out[], int max)
{
    struct pair *pair = self;
    int count = 0;

    while (pair->answers_now && pair->late_count > 0 && count < max) {
        out[count++] = pair->late[0];
        memmove(pair->late, pair->late + 1, --pair->late_count * sizeof(pair->late[0]));
    }
    return count;
}

/* ---- clients ---- */

static inline struct pair_client *pair_client_comes(struct pair *pair, unsigned n)
{
    struct pair_client *c = &pair->clients[n];

    *c = (struct pair_client){ .pair = pair, .room = PAIR_UNLIMITED, .room_max = 1 };
    assert_int_equal(
        p2ps_client_add(pair->sink, pair->now_ns, &pair_front, c, "10.1.1.1:5", 0x0a010101, &c->id),
        MD_OK);
    return c;
}

static inline struct omm_login_request pair_login_request(void)
{
    return (struct omm_login_request){
        .stream_id = 1,
        .is_streaming = true,
        .user = rwf_text("joe"),
        .name_type = RWF_NAME_LOGIN_USER,
        .single_open = true,
        .allow_suspect_data = true,
        .permission_expressions = true,
    };
}

static inline void pair_login(struct pair_client *c)
{
    struct omm_login_request request = pair_login_request();

    p2ps_client_login(c->pair->sink, c->pair->now_ns, c->id, &request);
    pair_settle(c->pair);
}

/* A client that is logged in. */
static inline struct pair_client *pair_client(struct pair *pair, unsigned n)
{
    struct pair_client *c = pair_client_comes(pair, n);

    pair_login(c);
    assert_string_equal(pair_stream(c, 1)->letters, "L");
    return c;
}

static inline struct omm_item_request pair_request(int32_t stream_id, const char *name)
{
    return (struct omm_item_request){
        .stream_id = stream_id,
        .domain = 6,
        .is_streaming = true,
        .key = { .flags = RWF_KEY_HAS_SERVICE_ID | RWF_KEY_HAS_NAME | RWF_KEY_HAS_NAME_TYPE,
                 .service_id = PAIR_SERVICE_ID,
                 .name = rwf_text(name),
                 .name_type = RWF_NAME_RIC },
        .container = RWF_TYPE_NO_DATA,
    };
}

static inline void pair_ask_item(struct pair_client *c, const struct omm_item_request *request)
{
    p2ps_client_item(c->pair->sink, c->pair->now_ns, c->id, request);
    pair_settle(c->pair);
    pair_pass(c->pair, 20 * PAIR_MS);
}

static inline void pair_open(struct pair_client *c, int32_t stream_id, const char *name)
{
    struct omm_item_request request = pair_request(stream_id, name);

    pair_ask_item(c, &request);
}

static inline const char *pair_heard(struct pair_client *c, int32_t stream_id)
{
    return pair_stream(c, stream_id)->letters;
}

/* ---- life ---- */

static inline void pair_create_source(struct pair *pair)
{
    const struct srcdist_core_config source = {
        .source = { .name = pair->mirror ? pair->name : "test",
                    .item_bytes_max = pair->source_item_bytes,
                    .send = { &pair->down, pair_reserve, pair_commit, pair_fill } },
        .service_owner = pair,
        .service = pair_service,
        .user = "openrmds",
        .position = "127.0.0.1/net",
        .application_name = "src_dist",
        .open_window = pair->open_window,
        .fields = pair->fields,
        .ripples = pair->fields != NULL,
        .stages = pair->stages,
        .stage_selves = pair->stage_selves,
    };
    struct rrmp_notice notice = { .kind = RRMP_NOTICE_ATTACHED,
                                  .session = pair_session(pair),
                                  .port = 1 };

    pair->now_ns = PAIR_SEC;
    pair->provider.pair = pair;
    pair->provider.answers = true;
    pair->provider.service_up = true;
    pair->provider.parts = 1;
    assert_int_equal(srcdist_core_create(&source, &pair->source), MD_OK);
    srcdist_core_notice(pair->source, pair->now_ns, &notice);
}

static inline void pair_create(struct pair *pair, struct p2ps_core_config config)
{
    struct rrmp_notice notice = { .kind = RRMP_NOTICE_ATTACHED, .session = 2, .port = 1 };

    pair_create_source(pair);
    config.sink.send = (struct rrmp_send){ &pair->up, pair_reserve, pair_commit, pair_fill };
    config.authority = (struct entitle_authority){ pair_ask, pair_answers, pair };
    config.client_limit = PAIR_CLIENTS;
    config.message_max = 65536;
    config.sends[0] = config.sink.send;
    assert_int_equal(p2ps_core_create(&config, &pair->sink), MD_OK);
    p2ps_core_notice(pair->sink, 0, pair->now_ns, &notice);
    pair_provider_comes(pair);
    pair_pass(pair, 200 * PAIR_MS);
}

static inline void pair_destroy(struct pair *pair)
{
    p2ps_core_destroy(pair->sink);
    srcdist_core_destroy(pair->source);
}

#endif
