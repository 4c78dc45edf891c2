/* offers.c - services of the application's own: offered, asked for, ended. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/writer.h"
#include "internal.h"
#include "itemkey/itemkey.h"
#include "rmds/rwf.h"

enum {
    TLVS_MAX = 1024,
    OPEN_WINDOW = 5000, /* requests of one consumer that wait for their image at a time */
};

/* ---- items ---- */

static struct rmds_offered *make(struct rmds_offer *offer, struct rwf_bytes name, uint8_t domain)
{
    struct library_source *s = &offer->backbone->source;
    uint32_t number = md_slots_take(&s->slots);
    struct rmds_offered *item;

    if (number == MD_NIL)
        return NULL;
    item = md_slots_at(&s->slots, number);
    *item = (struct rmds_offered){ .number = number,
                                   .serial = ++s->last_serial,
                                   .source_item = RRMP_ITEM_NONE,
                                   .ask = RRMP_ITEM_NONE,
                                   .offer = offer,
                                   .name = malloc(name.length + 1),
                                   .domain = domain };
    if (!item->name) {
        item->offer = NULL;
        md_slots_give(&s->slots, number);
        return NULL;
    }
    memcpy(item->name, name.data, name.length);
    item->name[name.length] = '\0';
    return item;
}

static bool remember(struct library_source *s, uint32_t number, struct rmds_offered *item)
{
    if (number >= s->item_room) {
        uint32_t room = number + 1 > 2 * s->item_room ? number + 1024 : 2 * s->item_room;
        struct rmds_offered **items = realloc(s->items, room * sizeof(struct rmds_offered *));

        if (!items)
            return false;
        memset(items + s->item_room, 0, (room - s->item_room) * sizeof(struct rmds_offered *));
        s->items = items;
        s->item_room = room;
    }
    item->source_item = number;
    s->items[number] = item;
    return true;
}

static struct rmds_offered *item_at(const struct library_source *s, uint32_t number)
{
    return number < s->item_room ? s->items[number] : NULL;
}

/* The name in a key; false: the key has more than a name, which no item here has, or a name that is
 * no string: the application would see the front of it, whatever permissions say of the whole. */
static bool read_key(const struct rmds_offer *offer, struct rrmp_view bytes, struct rwf_bytes *name,
                     uint8_t *domain)
{
    struct rwf_key key;
    struct rwf_qos qos;
    uint8_t asked[5], ours[5];

    if (itemkey_decode(bytes.bytes, bytes.length, domain, &key, &qos) != RWF_OK ||
        !(key.flags & RWF_KEY_HAS_NAME) || key.name.length == 0 ||
        memchr(key.name.data, 0, key.name.length) ||
        key.flags & (RWF_KEY_HAS_NAME_TYPE | RWF_KEY_HAS_FILTER | RWF_KEY_HAS_IDENTIFIER |
                     RWF_KEY_HAS_ATTRIB))
        return false;
    itemkey_qos_pack(&qos, asked);
    itemkey_qos_pack(&offer->options.qos, ours);
    *name = key.name;
    return memcmp(asked, ours, sizeof(ours)) == 0;
}

static struct rrmp_ending no_resources(void)
{
    static const char text[] = "The source has no room for the item";

    return (struct rrmp_ending){ .state = RWF_STREAM_OPEN << 3 | RWF_DATA_SUSPECT,
                                 .code = RWF_CODE_NO_RESOURCES,
                                 .scope = RRMP_REFUSE_LATER,
                                 .wait_ms = 1000,
                                 .text = { (const uint8_t *)text, sizeof(text) - 1 } };
}

static struct rrmp_ending no_such_item(void)
{
    static const char text[] = "The source has no such item";

    return (struct rrmp_ending){ .state = RWF_STREAM_CLOSED << 3 | RWF_DATA_SUSPECT,
                                 .code = RWF_CODE_NOT_FOUND,
                                 .scope = RRMP_REFUSE_FINAL,
                                 .text = { (const uint8_t *)text, sizeof(text) - 1 } };
}

/* ---- events of the source ---- */

/* False: there is no such item. The application may have ended it by itself, or sent its image. */
static bool open_first(struct rmds_offer *offer, struct rmds_offered *item)
{
    uint32_t serial = item->serial;
    bool is_there = !offer->options.on_open || offer->options.on_open(offer->options.owner, item);

    if (!library_offered_lives(item, serial))
        return true;
    if (is_there && !item->has_image)
        library_offered_due(item);
    return is_there;
}

static void on_wanted(struct rmds_backbone *backbone, const struct rrmp_source_event *event)
{
    struct library_source *s = &backbone->source;
    struct rmds_offer *offer = s->offers[event->svc];
    struct rmds_offered *item = item_at(s, event->item);
    struct rrmp_ending ending = no_such_item();
    struct rwf_bytes name;
    uint8_t domain;

    if (item) { /* kept */
        library_offered_due(item);
        return;
    }
    if (offer && !event->is_private && !offer->options.is_broadcast &&
        read_key(offer, event->key, &name, &domain)) {
        item = make(offer, name, domain);
        if (!item || !remember(s, event->item, item))
            ending = no_resources();
        else if (open_first(offer, item))
            return;
    }
    if (item)
        library_offered_free(item);
    (void)rrmp_source_item_close(s->source, backbone->now_ns, event->item, &ending);
}

static void on_unwanted(struct library_source *s, const struct rrmp_source_event *event)
{
    struct rmds_offered *item = item_at(s, event->item);

    if (!item)
        return;
    uint32_t serial = item->serial;
    if (item->offer->options.on_close)
        item->offer->options.on_close(item->offer->options.owner, item);
    if (library_offered_lives(item, serial) && !item->is_kept)
        library_offered_free(item);
}

static void on_snapshot(struct rmds_backbone *backbone, const struct rrmp_source_event *event)
{
    struct library_source *s = &backbone->source;
    struct rmds_offer *offer = s->offers[event->svc];
    struct rrmp_ending ending = no_such_item();
    struct rmds_offered *item = NULL;
    struct rwf_bytes name;
    uint8_t domain;
    bool is_there = offer && offer->options.on_image &&
                    read_key(offer, event->key, &name, &domain) &&
                    (!offer->options.is_broadcast || event->item != RRMP_ITEM_NONE);

    if (is_there) {
        item = make(offer, name, domain);
        ending = item ? ending : no_resources();
    }
    if (!item) {
        (void)rrmp_source_refuse(s->source, event->ask, &ending);
        return;
    }
    item->ask = event->ask;
    uint32_t serial = item->serial;
    if (event->item != RRMP_ITEM_NONE && item_at(s, event->item)) {
        item->user = item_at(s, event->item)->user;
    } else if (offer->options.on_open) {
        bool is_opened = offer->options.on_open(offer->options.owner, item);

        if (!library_offered_lives(item, serial))
            return; /* ended, or answered */
        item->is_opened = is_opened;
        if (!is_opened) {
            (void)rrmp_source_refuse(s->source, event->ask, &ending);
            library_offered_free(item);
            return;
        }
    }
    library_offered_ask(item);
}

static void on_ask_gone(struct library_source *s, uint32_t ask)
{
    for (uint32_t i = 0; i < s->slots.high; i++) {
        struct rmds_offered *item = md_slots_at(&s->slots, i);

        if (!item->offer || item->ask != ask)
            continue;
        library_offered_give(item);
        return;
    }
}

static void on_image(struct library_source *s, uint32_t number)
{
    struct rmds_offered *item = item_at(s, number);

    if (item)
        library_offered_ask(item);
}

static void take_event(struct rmds_backbone *backbone, const struct rrmp_source_event *event)
{
    struct library_source *s = &backbone->source;

    switch (event->kind) {
    case RRMP_SOURCE_WANTED:
        on_wanted(backbone, event);
        break;
    case RRMP_SOURCE_UNWANTED:
        on_unwanted(s, event);
        break;
    case RRMP_SOURCE_IMAGE_WANTED:
        on_image(s, event->item);
        break;
    case RRMP_SOURCE_SNAPSHOT:
        on_snapshot(backbone, event);
        break;
    case RRMP_SOURCE_ASK_GONE:
        on_ask_gone(s, event->ask);
        break;
    case RRMP_SOURCE_DICTIONARY:
        (void)rrmp_source_dictionary_unknown(s->source, event->ask);
        break;
    case RRMP_SOURCE_RESUME:
        rrmp_source_resume_refuse(s->source, event->item, &event->reply);
        break;
    case RRMP_SOURCE_PRIORITY:
    case RRMP_SOURCE_ACTIVE:
    case RRMP_SOURCE_POST: /* a service without the feature gets none */
    case RRMP_SOURCE_GENERIC:
        break;
    }
}

/* One at a time: callbacks publish, and what an event says must not change under the next. */
static void take_events(struct rmds_backbone *backbone)
{
    struct rrmp_source_event event;

    while (rrmp_source_event(backbone->source.source, &event, 1) > 0)
        take_event(backbone, &event);
}

void library_source_input(struct rmds_backbone *backbone, uint64_t now_ns,
                          const struct backbone_event *events, size_t count)
{
    struct rrmp_source *source = backbone->source.source;

    for (size_t done = 0; done < count;) {
        done += rrmp_source_input(source, now_ns, events + done, count - done);
        take_events(backbone);
    }
}

void library_source_settle(struct rmds_backbone *backbone, uint64_t now_ns, bool input_is_empty)
{
    struct library_source *s = &backbone->source;

    if (s->is_full && library_source_has_room(backbone)) {
        s->is_full = false;
        if (backbone->options.on_room)
            backbone->options.on_room(backbone->options.owner);
    }
    if (!s->source)
        return;
    /* A tick gives images their share of the turn. */
    if (now_ns >= rrmp_source_deadline(s->source) || s->due_first != MD_NIL)
        rrmp_source_tick(s->source, now_ns, input_is_empty);
    take_events(backbone);
    library_source_ask_due(backbone);
}

uint64_t library_source_deadline(const struct rmds_backbone *backbone)
{
    const struct library_source *s = &backbone->source;

    if (!s->source)
        return RMDS_NEVER;
    return s->due_first != MD_NIL && library_source_has_room(backbone)
               ? 0
               : rrmp_source_deadline(s->source);
}

/* ---- services ---- */

void rmds_offer_options_init(struct rmds_offer_options *options, size_t size)
{
    struct rmds_offer_options usual = { .size = size,
                                        .qos = { .timeliness = RWF_TIMELINESS_REALTIME,
                                                 .rate = RWF_RATE_TICK_BY_TICK },
                                        .dictionary = "RWFFld",
                                        .enumeration = "RWFEnum" };

    memset(options, 0, size);
    memcpy(options, &usual, size < sizeof(usual) ? size : sizeof(usual));
}

static void put_dictionary(struct md_wr *wr, uint16_t *count, const char *name)
{
    uint8_t value[LIBRARY_NAME_MAX + 1];
    size_t length = name ? strlen(name) : 0;

    if (length == 0 || length > LIBRARY_NAME_MAX)
        return;
    value[0] = (uint8_t)length;
    /* Its length stands before it. NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
    memcpy(value + 1, name, length);
    rrmp_tlv_put(wr, RRMP_TLV_DICT_USED, value, length + 1);
    (*count)++;
}

static struct rrmp_service describe(const struct rmds_offer *offer, uint8_t tlvs[TLVS_MAX])
{
    static const uint8_t usual[] = { RWF_DOMAIN_MARKET_PRICE };
    const struct rmds_offer_options *o = &offer->options;
    struct rrmp_service description = {
        .id = o->id,
        .state = offer->is_up ? RRMP_SERVICE_UP | RRMP_SERVICE_ACCEPTING : 0,
        .priority = o->priority,
        .kind = o->is_broadcast,
        .open_window = OPEN_WINDOW,
        .features = RRMP_FEATURE_SNAPSHOTS,
        .tlv_count = 2,
        .name = { (const uint8_t *)offer->name, strlen(offer->name) },
    };
    struct md_wr wr = md_wr_init(tlvs, TLVS_MAX);
    uint8_t qos[5];

    if (o->is_broadcast && offer->is_up)
        description.state |= RRMP_SERVICE_COMPLETE;
    itemkey_qos_pack(&o->qos, qos);
    rrmp_tlv_put(&wr, RRMP_TLV_CAPABILITIES, o->domains ? o->domains : usual,
                 o->domains ? o->domain_count : sizeof(usual));
    rrmp_tlv_put(&wr, RRMP_TLV_QOS, qos, sizeof(qos));
    put_dictionary(&wr, &description.tlv_count, o->dictionary);
    put_dictionary(&wr, &description.tlv_count, o->enumeration);
    description.tlvs = (struct rrmp_view){ tlvs, md_wr_length(&wr) };
    return description;
}

static int make_source(struct rmds_backbone *backbone)
{
    struct library_source *s = &backbone->source;
    struct rrmp_source_config config = { .name = backbone->name,
                                         .send = attach_sender(backbone->attach),
                                         .start_ms = md_clock_wall_ns() / MD_NS_PER_MS,
                                         .random = rmds_now(),
                                         .item_limit = backbone->options.item_limit };
    struct backbone_event up = { .type = BACKBONE_ATTACHED };
    int err;

    if (s->source)
        return MD_OK;
    s->due_first = s->due_last = MD_NIL;
    err = md_slots_init(&s->slots, sizeof(struct rmds_offered), backbone->options.item_limit,
                        &s->memory);
    if (err == MD_OK)
        err = rrmp_source_create(&config, &s->source);
    if (err != MD_OK)
        md_slots_fini(&s->slots);
    if (err == MD_OK && attach_self(backbone->attach, &up.session, &up.dst_port))
        (void)rrmp_source_input(s->source, rmds_now(), &up, 1);
    return err;
}

static bool is_offered(const struct library_source *s, const char *name)
{
    for (unsigned i = 0; i < LIBRARY_OFFERS_MAX; i++)
        if (s->offers[i] && strcmp(s->offers[i]->name, name) == 0)
            return true;
    return false;
}

/* The caller's strings are not ours to keep. */
static void keep_options(struct rmds_offer *offer, const struct rmds_offer_options *o)
{
    offer->options = *o;
    offer->is_up = !o->is_down;
    memcpy(offer->name, o->service, strlen(o->service));
    snprintf(offer->dictionary, sizeof(offer->dictionary), "%s",
             o->dictionary ? o->dictionary : "");
    snprintf(offer->enumeration, sizeof(offer->enumeration), "%s",
             o->enumeration ? o->enumeration : "");
    if (o->domains)
        memcpy(offer->domains, o->domains, o->domain_count);
    offer->options.service = offer->name;
    offer->options.dictionary = offer->dictionary;
    offer->options.enumeration = offer->enumeration;
    offer->options.domains = o->domains ? offer->domains : NULL;
}

int rmds_offer_open(struct rmds_backbone *backbone, const struct rmds_offer_options *options,
                    struct rmds_offer **out)
{
    struct rmds_offer_options o;
    uint8_t tlvs[TLVS_MAX];
    struct rmds_offer *offer;
    int err = make_source(backbone);

    *out = NULL;
    rmds_offer_options_init(&o, sizeof(o));
    memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
    if (!o.service || !*o.service || strlen(o.service) > LIBRARY_NAME_MAX ||
        (o.domains && (o.domain_count == 0 || o.domain_count > RRMP_SINK_CAPABILITY_MAX)))
        return MD_ERR_RANGE;
    if (err == MD_OK && is_offered(&backbone->source, o.service))
        err = MD_ERR_EXISTS;
    offer = err == MD_OK ? calloc(1, sizeof(*offer)) : NULL;
    if (!offer)
        return err == MD_OK ? MD_ERR_NOMEM : err;
    offer->backbone = backbone;
    keep_options(offer, &o);
    const struct rrmp_service description = describe(offer, tlvs);
    err = rrmp_source_service_offer(backbone->source.source, rmds_now(), &description, &offer->svc);
    if (err != MD_OK) {
        free(offer);
        return err;
    }
    backbone->source.offers[offer->svc] = offer;
    *out = offer;
    return MD_OK;
}

static void forget_items(struct rmds_offer *offer)
{
    struct library_source *s = &offer->backbone->source;
    struct rrmp_ending gone = no_such_item();

    for (uint32_t i = 0; i < s->slots.high; i++) {
        struct rmds_offered *item = md_slots_at(&s->slots, i);

        if (item->offer != offer)
            continue;
        if (item->ask != RRMP_ITEM_NONE)
            (void)rrmp_source_refuse(s->source, item->ask, &gone);
        library_offered_free(item);
    }
}

void rmds_offer_close(struct rmds_offer *offer)
{
    struct rmds_backbone *backbone;

    if (!offer)
        return;
    backbone = offer->backbone;
    forget_items(offer);
    backbone->source.offers[offer->svc] = NULL;
    rrmp_source_service_withdraw(backbone->source.source, rmds_now(), offer->svc);
    take_events(backbone);
    free(offer);
}

void rmds_offer_state(struct rmds_offer *offer, bool is_up)
{
    uint8_t tlvs[TLVS_MAX];

    if (offer->is_up == is_up)
        return;
    offer->is_up = is_up;
    const struct rrmp_service description = describe(offer, tlvs);
    (void)rrmp_source_service_change(offer->backbone->source.source, rmds_now(), offer->svc,
                                     &description);
}

int rmds_offer_add(struct rmds_offer *offer, const char *name, uint8_t domain,
                   struct rmds_offered **out)
{
    struct library_source *s = &offer->backbone->source;
    struct rwf_key key = { .flags = RWF_KEY_HAS_NAME };
    uint8_t bytes[RRMP_KEY_SIZE_MAX];
    struct rrmp_view view = { .bytes = bytes };
    struct rmds_offered *item;
    uint32_t number;

    *out = NULL;
    key.name = rwf_bytes(name, strlen(name));
    if (!offer->options.is_broadcast)
        return MD_ERR_STATE;
    if (!*name || itemkey_encode(domain, &key, &offer->options.qos, bytes, sizeof(bytes),
                                 &view.length) != RWF_OK)
        return MD_ERR_RANGE;
    number = rrmp_source_item_find(s->source, offer->svc, view);
    if (number != RRMP_ITEM_NONE && item_at(s, number))
        return MD_ERR_EXISTS;
    item = make(offer, key.name, domain);
    if (!item)
        return MD_ERR_FULL;
    int err = rrmp_source_item_add(s->source, offer->svc, view, &number);
    if ((err != MD_OK && err != MD_ERR_EXISTS) || !remember(s, number, item)) {
        library_offered_free(item);
        return err == MD_OK || err == MD_ERR_EXISTS ? MD_ERR_NOMEM : err;
    }
    item->is_kept = true;
    library_offered_due(item);
    *out = item;
    return MD_OK;
}

/* ---- the end ---- */

void library_source_fini(struct rmds_backbone *backbone)
{
    struct library_source *s = &backbone->source;

    if (!s->source)
        return;
    rrmp_source_leave(s->source, rmds_now());
    attach_flush(backbone->attach);
    for (uint32_t i = 0; i < s->slots.high; i++) {
        struct rmds_offered *item = md_slots_at(&s->slots, i);

        if (item->offer)
            free(item->name);
    }
    for (unsigned i = 0; i < LIBRARY_OFFERS_MAX; i++)
        free(s->offers[i]);
    free(s->items);
    rrmp_source_destroy(s->source);
    md_slots_fini(&s->slots);
}
