/* bench_conf.c - CPU time that rmds.cnf takes to load and to ask, by its length. */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: tools/rmds bench conf
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "conf/conf.h"

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static size_t file_make(char *text, unsigned lines, int kind)
{
    size_t used = 0;

    for (unsigned i = 0; i < lines; i++)
        used += (size_t)sprintf(text + used,
                                kind == 0   ? "*p2ps*user%u*itemLimit : %u\n"
                                : kind == 1 ? "*p2ps*maxMounts : %u\n"
                                            : "*p2ps*unknown%u : %u\n",
                                kind == 1 ? i % 60000 + 1 : i, i);
    return used;
}

int main(void)
{
    static const char *const kinds[] = { "users", "one name", "unknown" };
    char *text = malloc(100000 * 64);
    const struct md_conf_options options = { .program = "p2ps", .node = "vega" };

    if (!text)
        return 1;
    printf("%-10s %8s %10s %12s\n", "lines of", "lines", "load ms", "look-up us");
    for (int kind = 0; kind < 3; kind++)
        for (unsigned lines = 1000; lines <= 100000; lines *= 10) {
            struct md_conf *conf;
            size_t length = file_make(text, lines, kind);
            double start = now_ms();

            md_conf_load_text(&options, "bench", text, length, &conf);
            double loaded = now_ms();
            struct md_conf_object user = md_conf_object(conf, MD_CONF_USER, "user500");
            uint64_t sum = 0;
            for (int i = 0; i < 20; i++)
                sum += md_conf_u64(&user, "itemLimit");
            double asked = now_ms();
            printf("%-10s %8u %10.1f %12.1f%s\n", kinds[kind], lines, loaded - start,
                   (asked - loaded) / 20 * 1e3, sum == 1 ? " " : "");
            md_conf_destroy(conf);
        }
    free(text);
    return 0;
}
