/* marketfeed_vectors.c - judges ripples, partial updates, pages and Marketfeed by files of vectors;
 * the format: tests/vectors/marketfeed/README.md. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "vectors.h"

/* ---- for the judges ---- */

struct vector_bytes vector_copy(struct rwf_bytes bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = (bytes.length + page - 1) / page + 1;
    struct vector_bytes copy = { .size = (pages + 1) * page };

    copy.map = mmap(NULL, copy.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy.map == MAP_FAILED || mprotect(copy.map + pages * page, page, PROT_NONE) != 0) {
        perror("mmap");
        exit(2);
    }
    uint8_t *at = copy.map + pages * page - bytes.length;
    if (bytes.length > 0)
        memcpy(at, bytes.data, bytes.length);
    copy.bytes = rwf_bytes(at, bytes.length);
    return copy;
}

void vector_free(struct vector_bytes *bytes)
{
    munmap(bytes->map, bytes->size);
}

static unsigned digit_of(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10) & 15;
}

struct vector_bytes vector_hex(const char *hex, size_t digits)
{
    static uint8_t bytes[VECTOR_BYTES_MAX];
    size_t length = digits > 1 && digits / 2 <= sizeof(bytes) ? digits / 2 : 0;

    for (size_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)(digit_of(hex[2 * i]) << 4 | digit_of(hex[2 * i + 1]));
    return vector_copy(rwf_bytes(bytes, length));
}

bool vector_fail(struct vector *vector, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    /* va_start() is just above. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    vsnprintf(vector->reason, sizeof(vector->reason), format, args);
    va_end(args);
    return false;
}

static void print_hex(char *out, size_t size, struct rwf_bytes bytes)
{
    size_t at = 0;

    out[0] = '\0';
    for (size_t i = 0; i < bytes.length && at + 3 < size; i++, at += 2)
        snprintf(out + at, size - at, "%02x", bytes.data[i]);
}

bool vector_equals(struct vector *vector, const char *what, struct rwf_bytes found,
                   struct rwf_bytes expected)
{
    char left[1500];
    char right[1500];

    if (found.length == expected.length &&
        (found.length == 0 || memcmp(found.data, expected.data, found.length) == 0))
        return true;
    print_hex(left, sizeof(left), found);
    print_hex(right, sizeof(right), expected);
    return vector_fail(vector, "%s: found %s, expected %s", what, left, right);
}

/* ---- files ---- */

static const struct judge {
    const char *file;
    unsigned columns; /* at least */
    bool (*judge)(struct vector *vector);
} judges[] = {
    { "ripple.tsv", 3, vector_ripple },     { "partial.tsv", 5, vector_partial },
    { "ansi.tsv", 4, vector_ansi },         { "records.tsv", 9, vector_records },
    { "values.tsv", 8, vector_values },     { "malformed.tsv", 4, vector_malformed },
    { "messages.tsv", 5, vector_messages },
};

static const struct judge *judge_for(char *path)
{
    const char *name = strrchr(path, '/');

    name = name ? name + 1 : path;
    for (size_t i = 0; i < sizeof(judges) / sizeof(judges[0]); i++) {
        if (strcmp(judges[i].file, name) == 0)
            return &judges[i];
    }
    return NULL;
}

/* The dictionary that stands beside the file. */
static struct rwf_dictionary *load_dictionary(const char *file)
{
    struct rwf_dictionary_error error = { 0 };
    struct rwf_dictionary *dictionary;
    static char text[1 << 16];
    char copy[PATH_MAX];
    char path[PATH_MAX + 16];

    snprintf(copy, sizeof(copy), "%s", file);
    snprintf(path, sizeof(path), "%s/mf.fields", dirname(copy));
    FILE *in = fopen(path, "re");
    if (!in) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return NULL;
    }
    size_t length = fread(text, 1, sizeof(text), in);
    fclose(in);
    if (rwf_dictionary_create(&dictionary) != MD_OK)
        return NULL;
    if (rwf_dictionary_load_fields(dictionary, path, text, length, &error) == MD_OK)
        return dictionary;
    fprintf(stderr, "%s\n", error.text);
    rwf_dictionary_destroy(dictionary);
    return NULL;
}

static void split(struct vector *vector, char *line)
{
    line[strcspn(line, "\n")] = '\0';
    vector->count = 0;
    while (line && vector->count < VECTOR_COLUMNS_MAX)
        vector->columns[vector->count++] = strsep(&line, "\t");
}

static int run_file(char *path, unsigned *passed, unsigned *failed)
{
    const struct judge *judge = judge_for(path);
    struct vector vector = { 0 };
    size_t size = 0;
    char *line = NULL;
    FILE *in = judge ? fopen(path, "re") : NULL;
    struct rwf_dictionary *dictionary = in ? load_dictionary(path) : NULL;

    if (!dictionary) {
        fprintf(stderr, "%s: %s\n", path,
                judge ? "cannot be read, or its mf.fields cannot"
                      : "no file of vectors is so called");
        if (in)
            fclose(in);
        return 2;
    }
    vector.dictionary = dictionary;
    for (unsigned number = 1; getline(&line, &size, in) > 0; number++) {
        vector.reason[0] = '\0';
        split(&vector, line);
        if (vector.count >= judge->columns && judge->judge(&vector)) {
            (*passed)++;
            continue;
        }
        (*failed)++;
        printf("%s:%u: %s: %s\n", path, number, vector.columns[0], vector.reason);
    }
    free(line);
    fclose(in);
    rwf_dictionary_destroy(dictionary);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned passed = 0;
    unsigned failed = 0;
    int rc = 0;

    if (argc < 2 || strcmp(argv[1], "--help") == 0) {
        fputs("usage: marketfeed_vectors FILE...\n"
              "Judges by files of vectors; the name of each says what is in it:\n"
              "tests/vectors/marketfeed/README.md. The dictionary mf.fields stands beside them.\n",
              argc < 2 ? stderr : stdout);
        return argc < 2 ? 2 : 0;
    }
    for (int i = 1; i < argc && rc == 0; i++)
        rc = run_file(argv[i], &passed, &failed);
    printf("%u passed, %u failed\n", passed, failed);
    return rc != 0 ? rc : failed > 0;
}
