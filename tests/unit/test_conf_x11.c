/* test_conf_x11.c - our look-up beside that of libX11 on random databases. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef HAVE_X11

int main(void)
{
    puts("libx11-dev is not installed: nothing to compare with");
    return 77;
}

#else

#include <X11/Xlib.h>
#include <X11/Xresource.h>

#include "conf/conf.h"

/* Few names, so that entries compete. Classes differ from names by case, as in Xrm's manual. */
static const char *const names[] = { "a", "b", "c", "dd" };
static const char *const classes[] = { "P", "Q", "R", "SS" };

static uint64_t seed = 20261121;

static unsigned draw(unsigned below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed % below);
}

/*
 * libX11 1.8 has a defect: where the same prefix has both a tight and a loose successor, as in
 *      *b.a*Q : 1    and    *b*P.Q : 2
 * it also finds the tight one ("a") further down the path. So all successors of one prefix get
 * the same bind here, a different one in each file; tight against loose is in test_conf_match.
 */
static const char *bind_of(const char *prefix, size_t length, uint64_t file)
{
    uint64_t h = file | 1;

    for (size_t i = 0; i < length; i++)
        h = (h ^ (uint8_t)prefix[i]) * 0x100000001b3ull;
    return (h >> 20) & 1 ? "*" : length ? "." : "";
}

static size_t entry_write(char *out, size_t size, unsigned value, uint64_t file)
{
    unsigned components = 1 + draw(4);
    size_t used = 0;

    for (unsigned i = 0; i < components; i++) {
        const char *bind = bind_of(out, used, file);
        /* libX11 does not say what '?' means as the last component, so it is never there. */
        unsigned kind = draw(i + 1 < components ? 8 : 7), which = draw(4);
        const char *word = kind < 4 ? names[which] : kind < 7 ? classes[which] : "?";

        used += (size_t)snprintf(out + used, size - used, "%s%s", bind, word);
    }
    static const char *const values[] = { "v%u",       "  v%u",   "a\\nb%u",
                                          "\\ lead%u", "\\101%u", "two \\\n  lines%u",
                                          "x\\\\y%u",  "q:=!#%u" };
    char text[64];
    const char *form = values[draw(8)];
    const char *at = strstr(form, "%u");
    snprintf(text, sizeof(text), "%.*s%u", (int)(at - form), form, value);
    used += (size_t)snprintf(out + used, size - used, "%s:%s%s\n", draw(2) ? " " : "",
                             draw(2) ? " " : "", text);
    return used;
}

static int disagree(const char *text, const char *instance, const char *class_path,
                    const char *theirs, const char *ours)
{
    printf("%s\nlook-up of %s class %s\nlibX11: %s\nours:   %s\n", text, instance, class_path,
           theirs ? theirs : "(none)", ours ? ours : "(none)");
    return 1;
}

static int round_compare(unsigned lookups)
{
    char text[8192];
    size_t used = 0;
    unsigned entries = 1 + draw(30);
    const struct md_conf_options options = { .program = "test", .node = "h" };
    struct md_conf *conf;
    uint64_t file = seed;

    for (unsigned i = 0; i < entries; i++)
        used += entry_write(text + used, sizeof(text) - used, i, file);
    XrmDatabase theirs = XrmGetStringDatabase(text);
    md_conf_load_text(&options, "random", text, used, &conf);
    if (!theirs || !conf)
        return 1;
    for (unsigned i = 0; i < lookups; i++) {
        char instance[64], class_path[64], *type;
        size_t a = 0, b = 0;
        unsigned components = 1 + draw(6);
        XrmValue value = { 0, NULL };

        for (unsigned c = 0; c < components; c++) {
            const char *dot = c ? "." : "";
            a += (size_t)snprintf(instance + a, sizeof(instance) - a, "%s%s", dot, names[draw(4)]);
            b += (size_t)snprintf(class_path + b, sizeof(class_path) - b, "%s%s", dot,
                                  classes[draw(4)]);
        }
        const char *expected =
            XrmGetResource(theirs, instance, class_path, &type, &value) ? value.addr : NULL;
        const char *ours = md_conf_lookup(conf, instance, class_path, NULL, NULL);
        if (!expected != !ours || (ours && strcmp(expected, ours) != 0))
            return disagree(text, instance, class_path, expected, ours);
    }
    XrmDestroyDatabase(theirs);
    md_conf_destroy(conf);
    return 0;
}

int main(int argc, char **argv)
{
    const unsigned rounds = 2000, lookups = 60;

    if (argc > 1)
        seed = strtoull(argv[1], NULL, 10);
    printf("seed %llu\n", (unsigned long long)seed);
    XrmInitialize();
    for (unsigned i = 0; i < rounds; i++)
        if (round_compare(lookups))
            return 1;
    printf("%u look-ups in %u random files agree with libX11\n", rounds * lookups, rounds);
    return 0;
}

#endif
