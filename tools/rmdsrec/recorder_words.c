/* recorder_words.c - the items, the place and the file of a recorder, from words. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "dictionary.h"
#include "record.h"

#define PASSWORD_FILE 4096u

int recorder_host(struct recorder *recorder, const char *text)
{
    struct feed *feed = &recorder->feed;
    uint64_t port = 14002;
    const char *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);

    if (length == 0 || (colon && !rec_parse_uint(colon + 1, 1, 65535, &port)))
        return MD_ERR_MALFORMED;
    feed->host = strndup(text, length);
    feed->port = (uint16_t)port;
    return feed->host ? MD_OK : MD_ERR_NOMEM;
}

int recorder_password(struct recorder *recorder, const char *path)
{
    size_t length;
    char *out = recorder->feed.password;
    char *text = tool_file_read(path, PASSWORD_FILE, &length);

    if (!text)
        return MD_ERR_SYS;
    length = strcspn(text, "\r\n");
    bool fits = length < sizeof(recorder->feed.password);
    if (fits) {
        memcpy(out, text, length);
        out[length] = 0;
    }
    explicit_bzero(text, strlen(text));
    free(text);
    return fits ? MD_OK : MD_ERR_RANGE;
}

/* ---- items ---- */

/* The index of a service by name, added where it is new; SERVICES_MAX: too many. */
static size_t service_index(struct feed *feed, const char *name)
{
    size_t i = 0;

    while (i < feed->service_count && strcmp(feed->services[i].name, name) != 0)
        i++;
    if (i == feed->service_count && i < SERVICES_MAX)
        feed->services[feed->service_count++].name = name;
    return i;
}

int recorder_add_services(struct recorder *recorder, const char *const *names, size_t count,
                          char *why, size_t why_size)
{
    for (size_t i = 0; i < count; i++) {
        if (service_index(&recorder->feed, names[i]) == SERVICES_MAX) {
            snprintf(why, why_size, "there are more than %d services", SERVICES_MAX);
            return MD_ERR_RANGE;
        }
    }
    return MD_OK;
}

int recorder_add_items(struct recorder *recorder, uint8_t domain, char *why, size_t why_size)
{
    struct feed *feed = &recorder->feed;
    size_t given = feed->service_count;
    size_t size = recorder->list.count * (given ? given : 1);

    feed->items = calloc(size ? size : 1, sizeof(*feed->items));
    if (!feed->items) {
        snprintf(why, why_size, "out of memory");
        return MD_ERR_NOMEM;
    }
    for (size_t i = 0; i < recorder->list.count; i++) {
        const struct itemlist_entry *entry = &recorder->list.entries[i];
        size_t first = entry->service ? service_index(feed, entry->service) : 0;
        size_t end = entry->service ? first + 1 : given;
        if (first == SERVICES_MAX || end == 0) {
            snprintf(why, why_size, "%s of %s",
                     end == 0 ? "no service is named, in the list or elsewhere,"
                              : "there are more than 16 services; one more is that",
                     entry->name);
            return MD_ERR_RANGE;
        }
        for (size_t s = first; s < end; s++)
            feed->items[feed->item_count++] = (struct feed_item){
                .name = entry->name,
                .name_length = entry->name_length,
                .domain = entry->domain ? entry->domain : domain,
                .service = (uint8_t)s,
            };
    }
    return MD_OK;
}

/* ---- the file ---- */

/* What a letter behind a % stands for, in UTC; false: nothing. */
static bool put_time(const struct tm *tm, char letter, const char *instance, char *out, size_t size)
{
    static const char letters[] = "YmdHMS";
    const int values[] = { tm->tm_year + 1900, tm->tm_mon + 1, tm->tm_mday,
                           tm->tm_hour,        tm->tm_min,     tm->tm_sec };
    const char *found = letter ? strchr(letters, letter) : NULL;

    if (letter == '%')
        snprintf(out, size, "%%");
    else if (letter == 'i' && instance)
        snprintf(out, size, "%s", instance);
    else if (found)
        snprintf(out, size, "%02d", values[found - letters]);
    else
        return false;
    return true;
}

static bool make_path(const char *text, const char *instance, char out[RECORD_PATH_MAX])
{
    time_t now = (time_t)(md_clock_wall_ns() / MD_NS_PER_S);
    char part[256];
    size_t used = 0;
    struct tm tm;

    if (!gmtime_r(&now, &tm))
        return false;
    for (; *text; text++) {
        if (*text != '%')
            snprintf(part, sizeof(part), "%c", *text);
        else if (!put_time(&tm, *++text, instance, part, sizeof(part)))
            return false;
        size_t length = strlen(part);
        if (used + length >= RECORD_PATH_MAX)
            return false;
        memcpy(out + used, part, length);
        used += length;
    }
    out[used] = 0;
    return used > 0;
}

bool recorder_name_file(struct recorder *recorder, const char *pattern, const char *instance)
{
    bool is_good = make_path(pattern, instance, recorder->path);

    recorder->disk_config.path = recorder->path;
    if (!is_good || !strstr(pattern, "%S") || access(recorder->path, F_OK) != 0)
        return is_good;
    uint64_t left_ns = MD_NS_PER_S - md_clock_wall_ns() % MD_NS_PER_S;
    const struct timespec wait = { .tv_sec = (time_t)(left_ns / MD_NS_PER_S),
                                   .tv_nsec = (long)(left_ns % MD_NS_PER_S) };
    (void)nanosleep(&wait, NULL);
    return make_path(pattern, instance, recorder->path);
}
