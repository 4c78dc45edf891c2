/* fuzz_conf.c - any bytes are a configuration: it loads or is refused, and can be asked. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "conf/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(void *arg, const char *path, const struct md_conf_value *value)
{
    size_t *sum = arg;

    *sum += (size_t)path[0] + (size_t)value->text[0] + value->line;
}

static void listen_to(void *arg, enum md_conf_severity severity, const char *file, unsigned line,
                      const char *text)
{
    size_t *sum = arg;

    *sum += (size_t)text[0] + (file ? (size_t)file[0] : 0) + line + (size_t)severity;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const programs[] = { "p2ps", "src_dist", "rrcpd", "rmds" };
    static const char *const defines[] = { "site=lon", "long=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" };
    size_t sum = 0;
    const struct md_conf_options options = {
        .program = programs[size % 4],
        .node = "vega",
        .defines = defines,
        .define_count = 2,
        .strict = size % 8 > 3,
        .sink = listen_to,
        .sink_arg = &sum,
    };
    struct md_conf *conf;

    md_conf_load_text(&options, "/nonexistent/fuzz.cnf", (const char *)data, size, &conf);
    if (!conf)
        abort();
    md_conf_each(conf, use, &sum);
    md_conf_destroy(conf);
    return 0;
}
