/* dictionaries.c - see dictionaries.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dictionaries.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "cache/cache.h"
#include "daemon/dictionary.h"
#include "rmds/rwf_dictionary.h"

/* Real consumers read parts of any size; this is what one fragmented message should not exceed. */
#define PART_SIZE  50000

#define NAMES_MAX  16
#define TRIES_MAX  3
#define JOINED_MAX 4

/* A dictionary that is served; it never changes once it is. */
struct served {
    enum rwf_dictionary_type type;     /* NONE: what it is we do not know, and need not */
    struct rwf_dictionary *dictionary; /* of FIELDS and ENUMS */
    struct part *parts;                /* of others */
    uint32_t part_count;
    uint64_t bytes; /* of its messages */
};

struct part {
    uint8_t *bytes; /* a REFRESH, as its provider sent it */
    size_t length;
};

enum slot_state {
    SLOT_FREE,
    SLOT_FETCHING,
    SLOT_DONE,
    SLOT_FAILED,
};

/* One name that providers offer. */
struct slot {
    enum slot_state state;
    unsigned tries;
    struct served served; /* touched by the worker that fetches it, then by nobody */
    char name[256];
    char version[256];
};

/*
 * Workers look things up here when a consumer asks for a dictionary or a provider's one comes:
 * under a lock. The types of fields are looked up for every update: that is one atomic pointer.
 */
struct p2ps_dictionary_store {
    struct rwf_dictionary *files;
    struct served own[2]; /* fields and enumerations of the files */
    bool files_rule;      /* dictionaryPath: whatever providers offer */
    uint64_t bytes_max;
    pthread_mutex_t lock;
    struct slot slots[NAMES_MAX];
    _Atomic(const struct rwf_dictionary *) types;
    struct cache_ripples *ripples; /* of all of them */
    /* How Marketfeed is converted by `types`. Workers may still look at the tables before it. */
    _Atomic(const struct mf_table *) marketfeed;
    struct mf_table *tables[NAMES_MAX + 1];
    size_t table_count;
    struct mf_options options;
    bool converts; /* convertMarketfeed */
    /* Fields with the enumerations that stand in another dictionary. */
    struct rwf_dictionary *joined[JOINED_MAX];
    size_t joined_count;
};

/* ---- files ---- */

/* Of any further dictionary the last table stays in use. */
static void make_table(struct p2ps_dictionary_store *store, const struct rwf_dictionary *dictionary)
{
    struct mf_table **table = &store->tables[store->table_count];

    if (!store->converts || store->table_count == NAMES_MAX + 1 ||
        mf_table_create(dictionary, &store->options, table) != MD_OK)
        return;
    store->table_count++;
    atomic_store_explicit(&store->marketfeed, *table, memory_order_release);
}

/* From now on the types and the ripple chains of fields are those of `dictionary`. */
static void learn_types(struct p2ps_dictionary_store *store,
                        const struct rwf_dictionary *dictionary)
{
    pthread_mutex_lock(&store->lock);
    atomic_store_explicit(&store->types, dictionary, memory_order_release);
    cache_ripples_learn(store->ripples, dictionary);
    make_table(store, dictionary);
    pthread_mutex_unlock(&store->lock);
}

static void read_options(struct p2ps_dictionary_store *store, const struct md_conf_object *daemon)
{
    store->options = (struct mf_options){
        .zero_is_blank = md_conf_bool(daemon, "marketfeedZeroIsBlank"),
        .blank_is_empty = md_conf_word(daemon, "marketfeedBlankNumber") == 1,
        .dictionary_id = (uint16_t)md_conf_u64(daemon, "marketfeedDictionaryId"),
    };
}

void p2ps_dictionary_store_read(struct p2ps_dictionary_store *store,
                                const struct md_conf_object *daemon)
{
    pthread_mutex_lock(&store->lock);
    read_options(store, daemon);
    for (size_t i = 0; i < store->table_count; i++)
        mf_table_options_set(store->tables[i], &store->options);
    pthread_mutex_unlock(&store->lock);
}

int p2ps_dictionary_store_create(const struct md_conf_object *daemon,
                                 struct p2ps_dictionary_store **out)
{
    struct p2ps_dictionary_store *store = calloc(1, sizeof(*store));
    size_t count = 0;
    int err = store ? rwf_dictionary_create(&store->files) : MD_ERR_NOMEM;

    *out = NULL;
    if (store)
        pthread_mutex_init(&store->lock, NULL);
    if (store) {
        store->converts = md_conf_bool(daemon, "convertMarketfeed");
        read_options(store, daemon);
    }
    if (err == MD_OK)
        err = cache_ripples_create(&store->ripples);
    if (err == MD_OK)
        err = daemon_dictionary_load(daemon, store->files, &count);
    if (err != MD_OK) {
        p2ps_dictionary_store_destroy(store);
        return err;
    }
    store->files_rule = count > 0;
    store->bytes_max = md_conf_u64(daemon, "dictionaryLimit");
    store->own[0] =
        (struct served){ .type = RWF_DICTIONARY_TYPE_FIELDS, .dictionary = store->files };
    store->own[1] =
        (struct served){ .type = RWF_DICTIONARY_TYPE_ENUMS, .dictionary = store->files };
    learn_types(store, store->files);
    md_log(MD_LOG_INFO, "dictionary: %u fields, %u tables of enumerated values",
           rwf_dictionary_field_count(store->files), rwf_dictionary_table_count(store->files));
    *out = store;
    return MD_OK;
}

static void discard(struct served *served)
{
    for (uint32_t i = 0; i < served->part_count; i++)
        free(served->parts[i].bytes);
    free(served->parts);
    rwf_dictionary_destroy(served->dictionary);
    *served = (struct served){ .type = RWF_DICTIONARY_TYPE_NONE };
}

void p2ps_dictionary_store_limit(struct p2ps_dictionary_store *store, uint64_t bytes)
{
    store->bytes_max = bytes;
}

void p2ps_dictionary_store_destroy(struct p2ps_dictionary_store *store)
{
    if (!store)
        return;
    for (unsigned i = 0; i < NAMES_MAX; i++)
        discard(&store->slots[i].served);
    rwf_dictionary_destroy(store->files);
    for (size_t i = 0; i < store->joined_count; i++)
        rwf_dictionary_destroy(store->joined[i]);
    cache_ripples_destroy(store->ripples);
    for (size_t i = 0; i < store->table_count; i++)
        mf_table_destroy(store->tables[i]);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

/* ---- from providers ---- */

static enum rwf_dictionary_type type_of(struct rwf_bytes name)
{
    if (rwf_bytes_equal(name, rwf_text("RWFFld")))
        return RWF_DICTIONARY_TYPE_FIELDS;
    if (rwf_bytes_equal(name, rwf_text("RWFEnum")))
        return RWF_DICTIONARY_TYPE_ENUMS;
    return RWF_DICTIONARY_TYPE_NONE;
}

static struct slot *find_slot(struct p2ps_dictionary_store *store, struct rwf_bytes name)
{
    for (unsigned i = 0; i < NAMES_MAX; i++) {
        if (store->slots[i].state != SLOT_FREE &&
            rwf_bytes_equal(rwf_text(store->slots[i].name), name))
            return &store->slots[i];
    }
    return NULL;
}

static struct slot *take_slot(struct p2ps_dictionary_store *store, struct rwf_bytes name)
{
    for (unsigned i = 0; i < NAMES_MAX && name.length < sizeof(store->slots[i].name); i++) {
        struct slot *slot = &store->slots[i];
        if (slot->state != SLOT_FREE)
            continue;
        snprintf(slot->name, sizeof(slot->name), "%.*s", (int)name.length, (const char *)name.data);
        return slot;
    }
    return NULL;
}

static void start_fetch(struct slot *slot, struct rwf_bytes version)
{
    snprintf(slot->version, sizeof(slot->version), "%.*s", (int)version.length,
             (const char *)version.data);
    slot->state = SLOT_FETCHING;
    slot->tries++;
}

/* The first version of a name stays: consumers do not load another one when they reconnect. */
static void check_version(const struct slot *slot, struct rwf_bytes version)
{
    if (version.length && !rwf_bytes_equal(rwf_text(slot->version), version))
        md_log(MD_LOG_ERROR,
               "dictionary %s: a provider has version %.*s; version %s is served until a restart",
               slot->name, (int)version.length, (const char *)version.data, slot->version);
}

static bool offered(void *self, struct rwf_bytes name, struct rwf_bytes version)
{
    struct p2ps_dictionary_store *store = self;
    bool fetch = false;

    if (store->files_rule && type_of(name) != RWF_DICTIONARY_TYPE_NONE)
        return false;
    pthread_mutex_lock(&store->lock);
    struct slot *slot = find_slot(store, name);
    if (slot && slot->state == SLOT_DONE)
        check_version(slot, version);
    else if (!slot || (slot->state == SLOT_FAILED && slot->tries < TRIES_MAX))
        fetch = (slot = slot ? slot : take_slot(store, name)) != NULL;
    if (fetch)
        start_fetch(slot, version);
    pthread_mutex_unlock(&store->lock);
    return fetch;
}

static void set_state(struct p2ps_dictionary_store *store, struct slot *slot, enum slot_state state)
{
    pthread_mutex_lock(&store->lock);
    slot->state = state;
    pthread_mutex_unlock(&store->lock);
}

static struct slot *find_fetching(struct p2ps_dictionary_store *store, struct rwf_bytes name)
{
    pthread_mutex_lock(&store->lock);
    struct slot *slot = find_slot(store, name);
    bool is_fetching = slot && slot->state == SLOT_FETCHING;
    pthread_mutex_unlock(&store->lock);
    return is_fetching ? slot : NULL;
}

static void give_up(struct p2ps_dictionary_store *store, struct slot *slot, const char *why)
{
    md_log(MD_LOG_ERROR, "dictionary %s of the provider: %s; %s", slot->name, why,
           type_of(rwf_text(slot->name)) ? "that of the files is served" : "not served");
    discard(&slot->served);
    set_state(store, slot, SLOT_FAILED);
}

static int keep_raw(struct served *served, struct rwf_bytes bytes)
{
    struct part *parts = realloc(served->parts, (served->part_count + 1) * sizeof(*parts));
    uint8_t *copy = malloc(bytes.length + 1);

    if (parts)
        served->parts = parts;
    if (!parts || !copy) {
        free(copy);
        return MD_ERR_NOMEM;
    }
    memcpy(copy, bytes.data, bytes.length);
    served->parts[served->part_count++] = (struct part){ copy, bytes.length };
    return MD_OK;
}

static int keep_part(struct p2ps_dictionary_store *store, struct slot *slot, struct rwf_bytes bytes)
{
    struct served *served = &slot->served;
    struct rwf_msg msg;
    int err = rwf_msg_decode(bytes, &msg);

    served->bytes += bytes.length;
    if (served->bytes > store->bytes_max)
        return MD_ERR_FULL;
    served->type = type_of(rwf_text(slot->name));
    if (err != RWF_OK || served->type == RWF_DICTIONARY_TYPE_NONE)
        return err == RWF_OK ? keep_raw(served, bytes) : err;
    if (!served->dictionary)
        err = rwf_dictionary_create(&served->dictionary);
    return err == MD_OK ? rwf_dictionary_decode(served->dictionary, msg.payload) : err;
}

/* Adds all of one kind that `from` has to `to`. */
static int add_all(struct rwf_dictionary *to, const struct rwf_dictionary *from,
                   enum rwf_dictionary_type type)
{
    struct rwf_dictionary_cursor cursor = { 0 };
    uint8_t *buffer = malloc(PART_SIZE);
    struct rwf_encoder enc;
    int err = buffer ? MD_OK : MD_ERR_NOMEM;

    while (err == MD_OK && !cursor.is_complete) {
        rwf_encoder_init(&enc, buffer, PART_SIZE);
        err = rwf_dictionary_encode(from, type, RWF_DICTIONARY_VERBOSE, &cursor, &enc);
        if (err == MD_OK)
            err = rwf_dictionary_decode(to, rwf_encoder_bytes(&enc));
    }
    free(buffer);
    return err;
}

static const struct rwf_dictionary *done_or_files(struct p2ps_dictionary_store *store,
                                                  const char *name)
{
    const struct slot *slot = find_slot(store, rwf_text(name));

    return slot && slot->state == SLOT_DONE ? slot->served.dictionary : store->files;
}

/* A provider's fields and enumerations come one by one; to show a value, both are needed. */
static void join(struct p2ps_dictionary_store *store)
{
    struct rwf_dictionary *joined = NULL;

    pthread_mutex_lock(&store->lock);
    const struct rwf_dictionary *fields = done_or_files(store, "RWFFld");
    const struct rwf_dictionary *enums = done_or_files(store, "RWFEnum");
    bool is_full = store->joined_count == JOINED_MAX;
    pthread_mutex_unlock(&store->lock);
    if (is_full || fields == enums || rwf_dictionary_create(&joined) != MD_OK)
        return;
    if (add_all(joined, fields, RWF_DICTIONARY_TYPE_FIELDS) != MD_OK ||
        add_all(joined, enums, RWF_DICTIONARY_TYPE_ENUMS) != MD_OK) {
        md_log(MD_LOG_WARNING, "dictionary: the provider's enumerations do not fit its fields: "
                               "values are shown as numbers");
        rwf_dictionary_destroy(joined);
        return;
    }
    pthread_mutex_lock(&store->lock);
    store->joined[store->joined_count++] = joined;
    pthread_mutex_unlock(&store->lock);
    learn_types(store, joined);
}

static void part(void *self, struct rwf_bytes name, struct rwf_bytes version,
                 struct rwf_bytes bytes, bool is_first, bool is_last)
{
    struct p2ps_dictionary_store *store = self;
    struct slot *slot = find_fetching(store, name);

    (void)version;
    if (!slot)
        return;
    if (is_first)
        discard(&slot->served);
    int err = keep_part(store, slot, bytes);
    if (err != MD_OK) {
        give_up(store, slot, err == MD_ERR_FULL ? "longer than dictionaryLimit" : md_err_name(err));
        return;
    }
    if (!is_last)
        return;
    if (slot->served.type == RWF_DICTIONARY_TYPE_FIELDS)
        learn_types(store, slot->served.dictionary);
    set_state(store, slot, SLOT_DONE);
    if (slot->served.type != RWF_DICTIONARY_TYPE_NONE)
        join(store);
    md_log(MD_LOG_NOTICE, "dictionary %s: the provider's is served, version %s", slot->name,
           slot->version[0] ? slot->version : "not said");
}

static void failed(void *self, struct rwf_bytes name)
{
    struct p2ps_dictionary_store *store = self;
    struct slot *slot = find_fetching(store, name);

    if (slot)
        give_up(store, slot, "no source gives it");
}

static bool has(void *self, struct rwf_bytes name)
{
    struct p2ps_dictionary_store *store = self;

    if (type_of(name) != RWF_DICTIONARY_TYPE_NONE)
        return true;
    pthread_mutex_lock(&store->lock);
    const struct slot *slot = find_slot(store, name);
    bool is_there = slot && (slot->state == SLOT_DONE || slot->state == SLOT_FETCHING);
    pthread_mutex_unlock(&store->lock);
    return is_there;
}

/* ---- messages ---- */

/* A provider's enumerations stand beside its fields, not beside those of the files. */
static const struct slot *slot_to_serve(struct p2ps_dictionary_store *store, struct rwf_bytes name)
{
    const struct slot *slot = find_slot(store, name);

    if (!slot || slot->state != SLOT_DONE || type_of(name) != RWF_DICTIONARY_TYPE_ENUMS)
        return slot;
    const struct slot *fields = find_slot(store, rwf_text("RWFFld"));
    return fields && fields->state == SLOT_DONE ? slot : fields;
}

static int choose(struct p2ps_dictionary_store *store, struct rwf_bytes name,
                  const struct served **out)
{
    enum rwf_dictionary_type type = type_of(name);
    int err = MD_OK;

    pthread_mutex_lock(&store->lock);
    const struct slot *slot = slot_to_serve(store, name);
    if (slot && slot->state == SLOT_FETCHING)
        err = MD_ERR_AGAIN;
    else if (slot && slot->state == SLOT_DONE)
        *out = &slot->served;
    else if (type != RWF_DICTIONARY_TYPE_NONE)
        *out = &store->own[type == RWF_DICTIONARY_TYPE_ENUMS];
    else
        err = MD_ERR_NOT_FOUND;
    pthread_mutex_unlock(&store->lock);
    return err;
}

static struct rwf_msg message_head(const struct omm_dictionary_request *request)
{
    return (struct rwf_msg){
        .msg_class = RWF_CLASS_REFRESH,
        .domain = RWF_DOMAIN_DICTIONARY,
        .stream_id = request->stream_id,
        .flags = RWF_REFRESH_HAS_KEY | RWF_REFRESH_SOLICITED | RWF_REFRESH_CLEAR_CACHE,
        .group_id = rwf_bytes("\0", 2),
        .state = { .stream_state = request->is_streaming ? RWF_STREAM_OPEN
                                                         : RWF_STREAM_NON_STREAMING,
                   .data_state = RWF_DATA_OK },
        .key = {
            .flags = (uint16_t)(RWF_KEY_HAS_NAME | RWF_KEY_HAS_FILTER |
                                (request->has_service_id ? RWF_KEY_HAS_SERVICE_ID : 0)),
            .service_id = request->service_id,
            .name = request->name,
            .filter = request->filter,
        },
    };
}

/* One of a kind that we do not know: its provider's words, for another stream. */
static int encode_raw(const struct served *served, const struct omm_dictionary_request *request,
                      struct p2ps_dictionary_reading *reading, uint8_t *out, size_t size,
                      size_t *length)
{
    struct rwf_msg msg = message_head(request);
    const struct part *from = &served->parts[reading->cursor.part];
    struct rwf_encoder enc;
    struct rwf_msg came;

    if (rwf_msg_decode(rwf_bytes(from->bytes, from->length), &came) != RWF_OK)
        return MD_ERR_MALFORMED;
    reading->is_last = reading->cursor.part + 1u == served->part_count;
    msg.flags |= RWF_REFRESH_HAS_PART_NUM;
    if (reading->cursor.part > 0)
        msg.flags &= (uint16_t)~RWF_REFRESH_CLEAR_CACHE;
    if (reading->is_last)
        msg.flags |= RWF_REFRESH_COMPLETE;
    msg.part_num = reading->cursor.part++;
    msg.container = came.container;
    msg.payload = came.payload;
    rwf_encoder_init(&enc, out, size);
    int rc = rwf_msg_encode(&enc, &msg);
    *length = rwf_encoder_bytes(&enc).length;
    return rc;
}

static int encode(void *self, const struct omm_dictionary_request *request,
                  struct p2ps_dictionary_reading *reading, uint8_t *out, size_t size,
                  size_t *length)
{
    const struct rwf_msg head = message_head(request);
    const struct served *served = reading->of;

    if (!served) {
        int err = choose(self, request->name, &served);
        if (err != MD_OK)
            return err;
        reading->of = served;
    }
    if (served->type == RWF_DICTIONARY_TYPE_NONE)
        return encode_raw(served, request, reading, out, size, length);
    int rc = rwf_dictionary_refresh_encode(served->dictionary, served->type, request->filter, &head,
                                           &reading->cursor, out,
                                           size < PART_SIZE ? size : PART_SIZE, length);
    reading->is_last = reading->cursor.is_complete;
    return rc;
}

const struct rwf_dictionary *p2ps_dictionary_types(const struct p2ps_dictionary_store *store)
{
    return atomic_load_explicit(&store->types, memory_order_acquire);
}

unsigned p2ps_dictionary_field_type(void *store, int16_t field_id)
{
    const struct rwf_field_def *field =
        rwf_dictionary_field(p2ps_dictionary_types(store), field_id);

    return field ? field->rwf_type : 0;
}

const struct mf_table *p2ps_dictionary_marketfeed(void *store)
{
    const struct p2ps_dictionary_store *self = store;

    return atomic_load_explicit(&self->marketfeed, memory_order_acquire);
}

const struct cache_ripples *p2ps_dictionary_ripples(const struct p2ps_dictionary_store *store)
{
    return store->ripples;
}

struct p2ps_dictionaries p2ps_dictionary_store_ops(struct p2ps_dictionary_store *store)
{
    return (struct p2ps_dictionaries){
        .self = store,
        .encode = encode,
        .offered = offered,
        .part = part,
        .failed = failed,
        .has = has,
    };
}
