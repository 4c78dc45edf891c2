/* record_conf.c - a recorder by rmds.cnf: what it records, where to, and its memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "daemon/words.h"
#include "record_daemon.h"

#define PROCESS_BYTES                                                                              \
    (32ull << 20)                  /* program, libraries, stacks, statistics, columns of a chunk   \
                                    */
#define HARD_BYTES   (96ull << 20) /* of the compression above HARD_LEVEL */
#define HARD_LEVEL   15u
#define ITEM_BYTES   2048u /* of an item, its image apart: here and in the backbone library */
#define ITEMS_SHARE  24u   /* 64ths of memoryLimit */
#define ITEMS_LEAST  1024u
#define IMAGES_LEAST (1ull << 20)

static void refuse(const struct record_daemon *self, const char *param, const char *why)
{
    char where[400];

    daemon_where(&self->daemon.object, param, where, sizeof(where));
    md_log(MD_LOG_CRITICAL, "%s: %s", where, why);
}

/* "" is not given. */
static const char *given(const struct md_conf_object *daemon, const char *param)
{
    const char *text = md_conf_string(daemon, param);

    return *text ? text : NULL;
}

static int read_services(struct record_daemon *self)
{
    const struct md_conf_object *daemon = &self->daemon.object;
    const char *names[SERVICES_MAX];
    size_t count = 0;
    char more[256], why[256];

    while (count < SERVICES_MAX && md_conf_list(daemon, "recordServices", count,
                                                self->services[count], sizeof(self->services[0]))) {
        names[count] = self->services[count];
        count++;
    }
    if (md_conf_list(daemon, "recordServices", count, more, sizeof(more))) {
        refuse(self, "recordServices", "there are more than 16 services");
        return MD_ERR_RANGE;
    }
    return recorder_add_services(&self->recorder, names, count, why, sizeof(why));
}

/* recordItems, one after the other: a name may be the longest there is. */
static int read_names(struct record_daemon *self)
{
    char name[300], unused[64], why[400];

    for (size_t i = 0; md_conf_list(&self->daemon.object, "recordItems", i, name, sizeof(name));
         i++) {
        if (itemlist_add_names(&self->recorder.list, name, unused, sizeof(unused)) != MD_OK) {
            snprintf(why, sizeof(why), "\"%s\" is not the name of an item", name);
            refuse(self, "recordItems", why);
            return MD_ERR_MALFORMED;
        }
    }
    return MD_OK;
}

static int read_items(struct record_daemon *self)
{
    const struct md_conf_object *daemon = &self->daemon.object;
    struct recorder *recorder = &self->recorder;
    const char *file = given(daemon, "recordItemFile");
    unsigned domain = itemlist_domain(md_conf_string(daemon, "recordDomain"));
    char why[512];

    if (domain == 0) {
        refuse(self, "recordDomain", "is a domain, a number or a name as MarketPrice");
        return MD_ERR_MALFORMED;
    }
    if (file && itemlist_load(&recorder->list, file, why, sizeof(why)) != MD_OK) {
        refuse(self, "recordItemFile", why);
        return MD_ERR_MALFORMED;
    }
    if (read_names(self) != MD_OK)
        return MD_ERR_MALFORMED;
    if (itemlist_deduplicate(&recorder->list) != MD_OK ||
        recorder_add_items(recorder, (uint8_t)domain, why, sizeof(why)) != MD_OK) {
        refuse(self, "recordServices", why);
        return MD_ERR_MALFORMED;
    }
    if (recorder->feed.item_count > 0 || recorder->tap_config.follows)
        return MD_OK;
    md_log(MD_LOG_CRITICAL, "nothing to record: write recordFollow : True for what others have "
                            "open, or items in recordItems or recordItemFile");
    return MD_ERR_RANGE;
}

/* ---- where from ---- */

static int read_login(struct record_daemon *self, const char *server)
{
    const struct md_conf_object *daemon = &self->daemon.object;
    struct feed *feed = &self->recorder.feed;
    const char *file = given(daemon, "recordPasswordFile");
    struct wire_words words = {
        .name = md_conf_string(daemon, "recordConnection"),
        .certificate = given(daemon, "tlsCertFile"),
        .key = given(daemon, "tlsKeyFile"),
        .ca = given(daemon, "tlsCaFile"),
        .method = md_conf_string(daemon, "eventMethod"),
    };
    char why[512];

    if (md_conf_word(daemon, "recordConnection") != 1)
        words.certificate = words.key = words.ca = NULL;
    if (wire_make(&words, false, &feed->wire, why, sizeof(why)) != MD_OK) {
        refuse(self, "recordConnection", why);
        return MD_ERR_MALFORMED;
    }
    if (recorder_host(&self->recorder, server) != MD_OK) {
        refuse(self, "recordServer", "is HOST or HOST:PORT");
        return MD_ERR_MALFORMED;
    }
    int err = file ? recorder_password(&self->recorder, file) : MD_OK;
    if (err != MD_OK) {
        refuse(self, "recordPasswordFile",
               err == MD_ERR_RANGE ? "has a password of more than 127 bytes" : strerror(errno));
        return err;
    }
    feed->user = md_conf_string(daemon, "recordUser");
    feed->position = md_conf_string(daemon, "recordPosition");
    feed->application_id = md_conf_string(daemon, "recordApplicationId");
    feed->window = md_conf_u32(daemon, "recordOpenWindow");
    feed->asks_dictionary = true;
    snprintf(self->recorder.source, sizeof(self->recorder.source), "%.200s as %.40s", server,
             feed->user);
    return MD_OK;
}

static void read_network(struct record_daemon *self)
{
    const struct md_conf *conf = self->daemon.conf;
    const char *name = md_conf_network(conf);
    struct md_conf_object rrcp = md_conf_object(conf, MD_CONF_RRCP, name);
    struct attach_settings *network = &self->network;

    snprintf(network->network, sizeof(network->network), "%s", name);
    snprintf(network->rrcpd_instance, sizeof(network->rrcpd_instance), "%s",
             md_conf_string(&rrcp, "rrcpdInstance"));
    network->config.run_dir = md_conf_string(&self->daemon.object, "runDir");
    self->recorder.is_tap = true;
    self->recorder.tap_config = (struct tap_config){
        .network = network->network,
        .instance = network->rrcpd_instance,
        .run_dir = network->config.run_dir,
        .follows = md_conf_bool(&self->daemon.object, "recordFollow"),
    };
    snprintf(self->recorder.source, sizeof(self->recorder.source), "backbone %.200s", name);
}

/* ---- where to ---- */

static void read_disk(const struct md_conf_object *daemon, struct disk_config *disk)
{
    int sync = md_conf_word(daemon, "recordSync");

    disk->chunks = (unsigned)(md_conf_u64(daemon, "recordBuffer") >> 20);
    disk->level = (int)md_conf_u64(daemon, "recordLevel");
    disk->syncs_chunks = sync == 1;
    disk->sync_ns = sync == 2 ? md_conf_time_ns(daemon, "recordSyncInterval") : 0;
    disk->is_patient = true;
}

void record_conf_take(struct recorder *recorder, const struct md_conf_object *daemon)
{
    recorder->rotate_bytes = md_conf_u64(daemon, "recordRotateSize");
    recorder->rotate_ns = md_conf_time_ns(daemon, "recordRotateTime");
}

int record_conf_read(struct record_daemon *self)
{
    const struct md_conf_object *daemon = &self->daemon.object;
    struct recorder *recorder = &self->recorder;
    const char *server = given(daemon, "recordServer");
    int err = MD_OK;

    if (server)
        err = read_login(self, server);
    else
        read_network(self);
    if (err == MD_OK)
        err = read_services(self);
    if (err == MD_OK)
        err = read_items(self);
    if (err != MD_OK)
        return err;
    read_disk(daemon, &recorder->disk_config);
    record_conf_take(recorder, daemon);
    recorder->disk_config.source = recorder->source;
    recorder->image_every_ns = md_conf_time_ns(daemon, "recordImages");
    recorder->service_limit = md_conf_u32(daemon, "recordServiceLimit");
    recorder->end_ns = MD_NEVER;
    if (recorder_name_file(recorder, md_conf_string(daemon, "recordFile"),
                           md_conf_instance(self->daemon.conf)))
        return MD_OK;
    refuse(self, "recordFile", "is longer than 4000 bytes, or has a % without one of YmdHMSi%");
    return MD_ERR_MALFORMED;
}

/* ---- memory ---- */

/* A recorder of a few items needs this much: a default is no less, and a limit that is less is
 * refused with the one that would do. */
static bool has_least(struct daemon_memory *memory, const struct md_conf_object *daemon)
{
    const uint64_t items = ITEMS_LEAST * ITEM_BYTES;
    uint64_t least = memory->sum + items + IMAGES_LEAST;

    if (!memory->is_configured && memory->limit < least)
        memory->limit = least;
    if (memory->limit >= least)
        return true;
    daemon_memory_add(memory, "items", items);
    daemon_memory_add(memory, "images", IMAGES_LEAST);
    daemon_memory_refused(memory, daemon);
    return false;
}

/* At most their share of the limit; where that is more than there is, what leaves the images their
 * least. */
static uint32_t items_of(const struct daemon_memory *memory, uint64_t wanted)
{
    uint64_t most = memory->limit / 64 * ITEMS_SHARE;
    uint64_t left = daemon_memory_left(memory) - IMAGES_LEAST;
    uint64_t items = (left < most ? left : most) / ITEM_BYTES;

    return (uint32_t)(wanted < items ? wanted : items);
}

int record_conf_plan(struct record_daemon *self)
{
    struct daemon_memory *memory = &self->memory;
    struct recorder *recorder = &self->recorder;
    uint64_t wanted = md_conf_u64(&self->daemon.object, "recordItemLimit");
    uint64_t chunk = REC_CHUNK_MAX + REC_CHUNK_ITEMS * sizeof(struct rec_touch);
    uint64_t compression = recorder->disk_config.level > (int)HARD_LEVEL ? HARD_BYTES : 0;

    daemon_memory_add(memory, "process", PROCESS_BYTES + compression);
    daemon_memory_add(memory, "buffer", recorder->disk_config.chunks * chunk);
    if (!has_least(memory, &self->daemon.object))
        return MD_ERR_RANGE;
    recorder->item_limit = items_of(memory, wanted ? wanted : REC_ITEMS_MAX);
    daemon_memory_add(memory, "items", recorder->item_limit * (uint64_t)ITEM_BYTES);
    if (wanted > recorder->item_limit)
        md_log(MD_LOG_WARNING,
               "memoryLimit has room for %u items, not for the %llu of recordItemLimit; raise it",
               recorder->item_limit, (unsigned long long)wanted);
    recorder->images_bytes = daemon_memory_left(memory);
    daemon_memory_add(memory, "images", recorder->images_bytes);
    daemon_memory_show(memory, self->daemon.stats);
    return MD_OK;
}
