/* trail.c - see trail.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "trail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "client.h"
#include "itemkey/itemkey.h"
#include "network.h"

#define RULE_MAX 600

static bool is_told(const struct p2ps_core *core, enum entitle_level level)
{
    return core->config.recorder.level >= level && core->config.recorder.put;
}

static void put(struct p2ps_core *core, const struct entitle_record *record)
{
    core->config.recorder.put(core->config.recorder.self, record);
}

void p2ps_trail_decided(struct p2ps_core *core, const struct entitle_answer *answer)
{
    core->decided.file = answer->file;
    core->decided.line = answer->verdict == ENTITLE_DENY && answer->file ? answer->line : 0;
}

void p2ps_trail_undecided(struct p2ps_core *core)
{
    core->decided.file = NULL;
    core->decided.line = 0;
}

/* Once, and whether it is recorded or not: the next denial may have no rule, and the rules that
 * own the name of the file may be gone by then. */
static void say_rule(struct p2ps_core *core, struct entitle_record *record, char room[],
                     size_t size)
{
    if (core->decided.line && record->is_denied && is_told(core, record->level)) {
        snprintf(room, size, "%s:%u", core->decided.file, core->decided.line);
        record->text[ENTITLE_TEXT_RULE] = entitle_text(room);
    }
    p2ps_trail_undecided(core);
}

bool p2ps_trail_has_room(struct p2ps_core *core, enum entitle_level level)
{
    const struct entitle_recorder *recorder = &core->config.recorder;

    if (!recorder->has_room || recorder->has_room(recorder->self, level))
        return true;
    core->stats.refused_audit++;
    return false;
}

/* Behind the address of a client there is a blank and its version of TLS, or nothing. */
static void say_client(const struct p2ps_client *c, struct entitle_record *record)
{
    record->session = c->serial;
    record->text[ENTITLE_TEXT_USER] = entitle_text(c->user);
    record->text[ENTITLE_TEXT_ADDRESS] =
        (struct entitle_view){ c->address, strcspn(c->address, " ") };
}

static struct entitle_view tls_of(const struct p2ps_client *c)
{
    const char *blank = strchr(c->address, ' ');

    return entitle_text(blank ? blank + 1 : "");
}

static void say_service(const struct p2ps_core *core, uint16_t service,
                        struct entitle_record *record)
{
    const struct rrmp_view name = p2ps_service_name(core, service);

    record->text[ENTITLE_TEXT_SERVICE] =
        (struct entitle_view){ (const char *)name.bytes, name.length };
}

/* Of an item that the sink has ended the name is not known any more. */
static void say_item(const struct p2ps_core *core, uint32_t item, struct entitle_record *record)
{
    const struct p2ps_item *it = &core->items[item];
    struct rrmp_sink_item info;
    struct rwf_key key;
    struct rwf_qos qos;
    uint8_t domain;

    record->domain = it->domain;
    say_service(core, it->service, record);
    if (it->sink_item != RRMP_ITEM_NONE &&
        rrmp_sink_item_info(core->sinks[it->network], it->sink_item, &info) &&
        itemkey_decode(info.key.bytes, info.key.length, &domain, &key, &qos) == RWF_OK)
        record->text[ENTITLE_TEXT_ITEM] =
            (struct entitle_view){ (const char *)key.name.data, key.name.length };
    if (it->perm_data)
        record->text[ENTITLE_TEXT_LOCK] =
            (struct entitle_view){ (const char *)it->perm_data + 2, md_be16(it->perm_data) };
}

static const char *const proofs[ENTITLE_BYS] = {
    [ENTITLE_BY_NAME] = "name",   [ENTITLE_BY_PASSWORD] = "password",
    [ENTITLE_BY_TOKEN] = "token", [ENTITLE_BY_JWT] = "jwt",
    [ENTITLE_BY_CERT] = "cert",   [ENTITLE_BY_AUTHORITY] = "authority",
};

void p2ps_trail_login(struct p2ps_core *core, uint32_t client, enum entitle_record_kind kind,
                      uint8_t denied_code, const char *why)
{
    const struct p2ps_client *c = &core->clients[client];
    struct entitle_record record = {
        .kind = kind,
        .level = ENTITLE_LEVEL_LOGINS,
        .is_denied =
            (kind == ENTITLE_RECORD_LOGIN || kind == ENTITLE_RECORD_REISSUE) && why != NULL,
        .code = denied_code,
    };
    uint64_t ends_s;
    char rule[RULE_MAX];

    say_rule(core, &record, rule, sizeof(rule));
    if (!is_told(core, ENTITLE_LEVEL_LOGINS))
        return;
    say_client(c, &record);
    record.text[ENTITLE_TEXT_TLS] = tls_of(c);
    record.text[ENTITLE_TEXT_CERT] = entitle_text(p2ps_client_certificate(c, &ends_s));
    if (kind != ENTITLE_RECORD_LOGOUT)
        record.text[ENTITLE_TEXT_BY] = entitle_text(proofs[c->proved_by]);
    record.text[ENTITLE_TEXT_APPLICATION] = entitle_text(c->application_id);
    record.text[ENTITLE_TEXT_POSITION] = entitle_text(c->position);
    record.text[ENTITLE_TEXT_WHY] = entitle_text(why ? why : "");
    put(core, &record);
}

static void put_item(struct p2ps_core *core, uint32_t item, const struct p2ps_watch *w,
                     struct entitle_record *record)
{
    record->is_snapshot = (w->flags & P2PS_WATCH_SNAPSHOT) != 0;
    say_client(&core->clients[w->client], record);
    say_item(core, item, record);
    put(core, record);
}

/* Data of it may have gone out. */
static bool was_open(const struct p2ps_watch *w)
{
    return w->state != P2PS_WATCH_ASKS || w->flags & P2PS_WATCH_HAD_IMAGE;
}

void p2ps_trail_open(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    const struct p2ps_watch *w = &core->items[item].watches[watch];
    struct entitle_record record = { .kind = ENTITLE_RECORD_OPEN, .level = ENTITLE_LEVEL_ITEMS };

    if (is_told(core, ENTITLE_LEVEL_ITEMS) && !was_open(w))
        put_item(core, item, w, &record);
}

void p2ps_trail_denied(struct p2ps_core *core, uint32_t item, uint32_t watch, const char *why)
{
    const struct p2ps_watch *w = &core->items[item].watches[watch];
    struct entitle_record record = {
        .kind = was_open(w) ? ENTITLE_RECORD_REVOKE : ENTITLE_RECORD_OPEN,
        .level = ENTITLE_LEVEL_DENIALS,
        .is_denied = true,
        .code = RWF_CODE_NOT_ENTITLED,
        .text = { [ENTITLE_TEXT_WHY] = entitle_text(why) },
    };

    char rule[RULE_MAX];

    say_rule(core, &record, rule, sizeof(rule));
    if (!is_told(core, ENTITLE_LEVEL_DENIALS))
        return;
    put_item(core, item, w, &record);
}

void p2ps_trail_close(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    const struct p2ps_watch *w = &core->items[item].watches[watch];
    struct entitle_record record = { .kind = ENTITLE_RECORD_CLOSE, .level = ENTITLE_LEVEL_ITEMS };

    if (is_told(core, ENTITLE_LEVEL_ITEMS) && was_open(w) && !(w->flags & P2PS_WATCH_SNAPSHOT))
        put_item(core, item, w, &record);
}

void p2ps_trail_lock(struct p2ps_core *core, uint32_t item)
{
    struct entitle_record record = { .kind = ENTITLE_RECORD_LOCK, .level = ENTITLE_LEVEL_ITEMS };

    if (!is_told(core, ENTITLE_LEVEL_ITEMS))
        return;
    say_item(core, item, &record);
    put(core, &record);
}

void p2ps_trail_post(struct p2ps_core *core, uint32_t client, uint16_t service, uint8_t domain,
                     struct rwf_bytes name, const char *why)
{
    struct entitle_record record = {
        .kind = ENTITLE_RECORD_POST,
        .level = why ? ENTITLE_LEVEL_DENIALS : ENTITLE_LEVEL_POSTS,
        .is_denied = why != NULL,
        .domain = domain,
        .code = why ? RWF_NAK_ACCESS_DENIED : 0,
        .text = { [ENTITLE_TEXT_WHY] = entitle_text(why ? why : "") },
    };

    char rule[RULE_MAX];

    say_rule(core, &record, rule, sizeof(rule));
    if (!is_told(core, record.level))
        return;
    say_client(&core->clients[client], &record);
    say_service(core, service, &record);
    record.text[ENTITLE_TEXT_ITEM] = (struct entitle_view){ (const char *)name.data, name.length };
    put(core, &record);
}

/* ---- denials that are not enforced ---- */

void p2ps_trail_dry(struct p2ps_core *core, const struct entitle_query *query, const char *why,
                    const struct entitle_answer *answer)
{
    struct entitle_record record = {
        .kind = ENTITLE_RECORD_DRY_RUN,
        .level = query->kind == ENTITLE_LOGIN ? ENTITLE_LEVEL_LOGINS : ENTITLE_LEVEL_DENIALS,
        .domain = query->domain,
        .text = {
            [ENTITLE_TEXT_USER] = query->user,
            [ENTITLE_TEXT_APPLICATION] = query->application,
            [ENTITLE_TEXT_POSITION] = query->position,
            [ENTITLE_TEXT_ADDRESS] = { query->host.data, strcspn(query->host.data, " ") },
            [ENTITLE_TEXT_SERVICE] = query->service,
            [ENTITLE_TEXT_ITEM] = query->item,
            [ENTITLE_TEXT_LOCK] = query->permission_data,
            [ENTITLE_TEXT_WHY] = entitle_text(why),
        },
    };
    char rule[RULE_MAX];

    if (!is_told(core, record.level))
        return;
    if (answer->file && answer->line) {
        snprintf(rule, sizeof(rule), "%s:%u", answer->file, answer->line);
        record.text[ENTITLE_TEXT_RULE] = entitle_text(rule);
    }
    put(core, &record);
}

/* ---- updates that are withheld ---- */

#define PLACES    256u
#define MINUTE_NS 60000000000ull
#define DRY_WHY   "not entitled to the permission data of the message"

/* One stream, in so many words: its client and its item may be gone when it is recorded. */
struct place {
    uint64_t since_ns; /* 0: free. The last record of it */
    uint32_t item, serial, count;
    int32_t stream_id;
    uint8_t domain;
    bool is_dry; /* they were delivered all the same */
    uint8_t lengths[5];
    char user[256], address[256], service[256], name[256];
    uint8_t lock[256];
};

struct p2ps_withheld {
    uint64_t due_ns;
    struct place places[PLACES];
};

int p2ps_trail_create(struct p2ps_core *core)
{
    if (!core->config.recorder.put)
        return MD_OK;
    core->withheld = calloc(1, sizeof(*core->withheld));
    return core->withheld ? MD_OK : MD_ERR_NOMEM;
}

void p2ps_trail_destroy(struct p2ps_core *core)
{
    free(core->withheld);
}

static void put_place(struct p2ps_core *core, struct place *place)
{
    const struct entitle_record record = {
        .kind = place->is_dry ? ENTITLE_RECORD_DRY_RUN : ENTITLE_RECORD_WITHHELD,
        .level = ENTITLE_LEVEL_DENIALS,
        .domain = place->domain,
        .session = place->serial,
        .count = place->count,
        .text = {
            [ENTITLE_TEXT_USER] = { place->user, place->lengths[3] },
            [ENTITLE_TEXT_ADDRESS] = { place->address, place->lengths[4] },
            [ENTITLE_TEXT_SERVICE] = { place->service, place->lengths[0] },
            [ENTITLE_TEXT_ITEM] = { place->name, place->lengths[1] },
            [ENTITLE_TEXT_LOCK] = { (const char *)place->lock, place->lengths[2] },
            [ENTITLE_TEXT_WHY] = entitle_text(place->is_dry ? DRY_WHY : ""),
        },
    };

    if (place->count && is_told(core, ENTITLE_LEVEL_DENIALS))
        put(core, &record);
    place->count = 0;
    place->since_ns = core->now_ns;
}

static uint8_t keep(void *out, struct entitle_view text)
{
    uint8_t length = (uint8_t)(text.length < 255 ? text.length : 255);

    if (length)
        memcpy(out, text.data, length);
    return length;
}

static void fill_place(struct p2ps_core *core, struct place *place, uint32_t item,
                       const struct p2ps_watch *w)
{
    const struct p2ps_client *c = &core->clients[w->client];
    struct entitle_record record = { .kind = ENTITLE_RECORD_WITHHELD };

    say_client(c, &record);
    say_item(core, item, &record);
    *place = (struct place){
        .item = item, .serial = c->serial, .stream_id = w->stream_id, .domain = record.domain
    };
    place->lengths[0] = keep(place->service, record.text[ENTITLE_TEXT_SERVICE]);
    place->lengths[1] = keep(place->name, record.text[ENTITLE_TEXT_ITEM]);
    place->lengths[3] = keep(place->user, record.text[ENTITLE_TEXT_USER]);
    place->lengths[4] = keep(place->address, record.text[ENTITLE_TEXT_ADDRESS]);
}

void p2ps_trail_withheld(struct p2ps_core *core, uint32_t item, const struct p2ps_watch *w,
                         struct rwf_bytes perm)
{
    struct p2ps_withheld *withheld = core->withheld;
    uint32_t serial = core->clients[w->client].serial;
    bool is_dry = core->config.rules.is_dry_run;

    if (!withheld || !is_told(core, ENTITLE_LEVEL_DENIALS))
        return;
    struct place *place =
        &withheld->places[(serial * 2654435761u ^ (uint32_t)w->stream_id) % PLACES];
    bool is_it = place->since_ns && place->item == item && place->serial == serial &&
                 place->stream_id == w->stream_id && place->is_dry == is_dry;
    if (!is_it) {
        put_place(core, place);
        fill_place(core, place, item, w);
        place->is_dry = is_dry;
    }
    place->count++;
    place->lengths[2] =
        keep(place->lock, (struct entitle_view){ (const char *)perm.data, perm.length });
    if (!is_it || core->now_ns - place->since_ns >= MINUTE_NS)
        put_place(core, place);
}

void p2ps_trail_tick(struct p2ps_core *core)
{
    struct p2ps_withheld *withheld = core->withheld;

    if (!withheld || core->now_ns < withheld->due_ns)
        return;
    withheld->due_ns = core->now_ns + MINUTE_NS / 60;
    for (uint32_t i = 0; i < PLACES; i++) {
        if (withheld->places[i].count && core->now_ns - withheld->places[i].since_ns >= MINUTE_NS)
            put_place(core, &withheld->places[i]);
    }
}
