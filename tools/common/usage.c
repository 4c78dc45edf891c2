/* usage.c - see usage.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "usage.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

uint64_t usage_cpu_ns(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * MD_NS_PER_S +
           ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * MD_NS_PER_US;
}

unsigned long usage_rss_kb(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long total = 0, resident = 0;

    if (!file)
        return 0;
    if (fscanf(file, "%lu %lu", &total, &resident) != 2)
        resident = 0;
    fclose(file);
    return resident * (unsigned long)sysconf(_SC_PAGESIZE) / 1024;
}

void usage_print_header(FILE *out)
{
    fprintf(out,
            "time,upd/s,refresh,status,items_open,items_pending,bytes/s,lat_mean_us,lat_max_us,"
            "cpu%%,rss_kB,errors\n");
    fflush(out);
}

void usage_print(FILE *out, const struct usage_line *line)
{
    double seconds = line->seconds > 0 ? line->seconds : 1e-9;
    time_t wall = (time_t)(md_clock_wall_ns() / MD_NS_PER_S);
    struct tm tm;
    char text[32];

    gmtime_r(&wall, &tm);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    fprintf(out, "%s,%.0f,%llu,%llu,%llu,%llu,%.0f,%.1f,%llu,%.1f,%lu,%llu\n", text,
            (double)line->updates / seconds, (unsigned long long)line->refreshes,
            (unsigned long long)line->statuses, (unsigned long long)line->items_open,
            (unsigned long long)line->items_pending, (double)line->bytes / seconds,
            line->lat_mean_us, (unsigned long long)line->lat_max_us,
            100.0 * (double)line->cpu_ns / (seconds * 1e9), usage_rss_kb(),
            (unsigned long long)line->errors);
    fflush(out);
}
