/* delays.c - see delays.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "delays.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/siphash.h"
#include "daemon/backbone.h"
#include "delay_dir.h"

#define BOOT_FILE  "/proc/sys/kernel/random/boot_id"
#define ITEM_BYTES 512 /* of a line: an item, its key, its place in the table */
#define NAME_SHOWN 64

struct place {
    struct srcdist_delayed config; /* its name is that of the service below */
    struct delay_dir *dir;         /* NULL: it could not be opened */
};

struct delays {
    const struct md_conf *conf;
    uint64_t boot;
    unsigned networks;
    unsigned count;
    struct {
        char live[256], name[256];
        struct place places[DAEMON_NETWORKS_MAX];
    } list[DELAYS_MAX];
};

static uint64_t hash(const char *text)
{
    static const uint64_t key[2] = { 0x64656c6179446972ull, 1 };

    return md_siphash(key, text, strlen(text));
}

/* A new one at each start of the machine; 0: it does not say. */
static uint64_t read_boot(void)
{
    char text[64] = "";
    FILE *file = fopen(BOOT_FILE, "r");

    if (file && !fgets(text, sizeof(text), file))
        text[0] = 0;
    if (file)
        fclose(file);
    return text[0] ? hash(text) : 0;
}

/* ---- names ---- */

static bool is_delayed(const struct md_conf *conf, const char *service)
{
    struct md_conf_object object = md_conf_object(conf, MD_CONF_SERVICE, service);
    const char *name = md_conf_string(&object, "delayedService");

    return name[0] && strcmp(name, service) != 0;
}

struct counter {
    const struct md_conf *conf;
    unsigned count;
};

static void on_counted(void *arg, const char *name)
{
    struct counter *counter = arg;

    counter->count += is_delayed(counter->conf, name);
}

unsigned delays_count(const struct md_conf *conf)
{
    struct counter counter = { .conf = conf };

    md_conf_names(conf, MD_CONF_SERVICE, on_counted, &counter);
    return counter.count < DELAYS_MAX ? counter.count : DELAYS_MAX;
}

static void on_named(void *arg, const char *name)
{
    struct delays *delays = arg;
    struct md_conf_object service = md_conf_object(delays->conf, MD_CONF_SERVICE, name);

    if (!is_delayed(delays->conf, name))
        return;
    if (delays->count == DELAYS_MAX) {
        md_log(MD_LOG_ERROR, "service %s is not delayed: %u services have a delayedService already",
               name, DELAYS_MAX);
        return;
    }
    unsigned i = delays->count++;
    snprintf(delays->list[i].live, sizeof(delays->list[i].live), "%s", name);
    snprintf(delays->list[i].name, sizeof(delays->list[i].name), "%s",
             md_conf_string(&service, "delayedService"));
}

bool delays_have_name(const struct delays *delays, const char *service)
{
    for (unsigned i = 0; i < delays->count; i++) {
        if (strcmp(delays->list[i].name, service) == 0)
            return true;
    }
    return false;
}

const struct srcdist_delayed *delays_of(const struct delays *delays, const char *service,
                                        unsigned network)
{
    for (unsigned i = 0; i < delays->count; i++) {
        const struct place *place = &delays->list[i].places[network];
        if (strcmp(delays->list[i].live, service) == 0)
            return place->dir ? &place->config : NULL;
    }
    return NULL;
}

/* ---- directories ---- */

/* A folder's name for people, and a hash: services may have any name. */
static void name_folder(const struct delays *delays, unsigned i, unsigned network, char *out,
                        size_t size)
{
    char all[640];
    size_t at = 0;

    snprintf(all, sizeof(all), "%s.%s.%u", delays->list[i].live, md_conf_instance(delays->conf),
             network);
    for (; at < NAME_SHOWN && all[at] && at + 1 < size; at++)
        out[at] = (char)(isalnum((unsigned char)all[at]) ? all[at] : '_');
    snprintf(out + at, size - at, "-%016llx", (unsigned long long)hash(all));
}

static void open_place(struct delays *delays, unsigned i, unsigned network, uint64_t image_bytes)
{
    struct md_conf_object service =
        md_conf_object(delays->conf, MD_CONF_SERVICE, delays->list[i].live);
    const char *folder = md_conf_string(&service, "delayDir");
    struct place *place = &delays->list[i].places[network];
    char name[NAME_SHOWN + 32], why[900] = "delayDir is not set";
    uint64_t bytes = image_bytes / delays->count;

    place->config = (struct srcdist_delayed){
        .name = delays->list[i].name,
        .delay_ns = md_conf_time_ns(&service, "delay"),
        .bytes_max = md_conf_u64(&service, "delayBytes"),
        .takes_all = md_conf_word(&service, "delayItems") == 0,
        .image_bytes_max = bytes / 4 * 3,
        .item_limit = (uint32_t)(bytes / 4 / ITEM_BYTES) + 1,
        .boot = delays->boot,
    };
    name_folder(delays, i, network, name, sizeof(name));
    if (!folder[0] || delay_dir_open(folder, name, why, sizeof(why), &place->dir) != MD_OK) {
        md_log(MD_LOG_ERROR, "service %s is not offered: %s; %s itself is", delays->list[i].name,
               why, delays->list[i].live);
        return;
    }
    place->config.disk = delay_dir_disk(place->dir);
}

int delays_open(const struct md_conf *conf, unsigned networks, uint64_t image_bytes,
                struct delays **out)
{
    struct delays *delays = calloc(1, sizeof(*delays));

    *out = delays;
    if (!delays)
        return MD_ERR_NOMEM;
    delays->conf = conf;
    delays->networks = networks;
    delays->boot = read_boot();
    md_conf_names(conf, MD_CONF_SERVICE, on_named, delays);
    for (unsigned i = 0; i < delays->count; i++) {
        for (unsigned network = 0; network < networks; network++)
            open_place(delays, i, network, image_bytes);
    }
    return MD_OK;
}

void delays_close(struct delays *delays)
{
    for (unsigned i = 0; delays && i < delays->count; i++) {
        for (unsigned network = 0; network < delays->networks; network++)
            delay_dir_close(delays->list[i].places[network].dir);
    }
    free(delays);
}
