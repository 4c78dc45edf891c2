/* replay.c - runs a fuzz target over a corpus, so that it is a regression test, and near it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/assert.h"

/*
 * replay [-mutate COUNT] PATH...: each input as it stands, then COUNT inputs that are one of them
 * with a few changes. The changes are the same each time, so that a failure comes again, and the
 * input that ends the program becomes the file "crash-input". A search that follows the branches of
 * the code is libFuzzer's (the build "fuzz").
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

#define INPUTS_MAX  4096u
#define INPUT_MAX   65536u /* a changed input is not longer */
#define CHANGES_MAX 6u

struct input {
    uint8_t *bytes;
    size_t size;
};

static struct input inputs[INPUTS_MAX];
static unsigned input_count;
static struct input running;
static unsigned long run_count;

static void save_running(void)
{
    FILE *file = fopen("crash-input", "wb");

    if (!file)
        return;
    fwrite(running.bytes, 1, running.size, file);
    fclose(file);
    fprintf(stderr, "input %lu: it stands in crash-input\n", run_count);
}

static void aborted(int signal_number)
{
    (void)signal_number;
    save_running();
}

/* Exactly as long as the input, so that a read past its end is a read past the allocation. */
static void run(const uint8_t *bytes, size_t size)
{
    uint8_t *data = malloc(size ? size : 1);

    MD_ASSERT(data);
    if (size)
        memcpy(data, bytes, size);
    running = (struct input){ .bytes = data, .size = size };
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    run_count++;
}

static void run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat st;

    if (!file || fstat(fileno(file), &st) != 0) {
        perror(path);
        exit(1);
    }
    struct input in = { .size = (size_t)st.st_size };
    in.bytes = malloc(in.size ? in.size : 1);
    if (!in.bytes || fread(in.bytes, 1, in.size, file) != in.size) {
        perror(path);
        exit(1);
    }
    fclose(file);
    run(in.bytes, in.size);
    if (input_count < INPUTS_MAX && in.size <= INPUT_MAX)
        inputs[input_count++] = in;
    else
        free(in.bytes);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void run_path(const char *path)
{
    struct dirent **entries;
    struct stat st;

    if (stat(path, &st) != 0)
        return; /* a target without a saved corpus still runs the empty input */
    if (!S_ISDIR(st.st_mode)) {
        run_file(path);
        return;
    }
    int count = scandir(path, &entries, is_visible, alphasort); /* in the same order everywhere */
    for (int i = 0; i < count; i++) {
        char name[4096];
        snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
        run_path(name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

/* ---- changed inputs ---- */

static uint64_t random_state;

static size_t below(size_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)((random_state >> 11) % limit);
}

struct draft {
    uint8_t bytes[INPUT_MAX];
    size_t size;
};

/* Room of `count` bytes at `at`. */
static void make_room(struct draft *d, size_t at, size_t count)
{
    memmove(d->bytes + at + count, d->bytes + at, d->size - at);
    d->size += count;
}

static void overwrite(struct draft *d, size_t at)
{
    static const uint8_t edges[] = { 0, 1, 0x7f, 0x80, 0xfe, 0xff, '"', '\n' };

    d->bytes[at] = below(2) ? edges[below(sizeof(edges))] : (uint8_t)below(256);
}

/* A number of two bytes, as lengths are: a little more or less. */
static void step_number(struct draft *d, size_t at)
{
    if (at + 1 >= d->size)
        return;
    unsigned value = (unsigned)d->bytes[at] << 8 | d->bytes[at + 1];
    value += (unsigned)below(9) - 4u;
    d->bytes[at] = (uint8_t)(value >> 8);
    d->bytes[at + 1] = (uint8_t)value;
}

static void insert(struct draft *d, size_t at, const struct input *other)
{
    size_t from = other->size ? below(other->size) : 0;
    size_t count = other->size ? 1 + below(other->size - from < 64 ? other->size - from : 64) : 0;

    if (d->size + count > INPUT_MAX)
        return;
    make_room(d, at, count);
    memcpy(d->bytes + at, other->bytes + from, count);
}

static void take_out(struct draft *d, size_t at)
{
    size_t most = d->size - at < 16 ? d->size - at : 16;
    size_t count = 1 + below(most);

    memmove(d->bytes + at, d->bytes + at + count, d->size - at - count);
    d->size -= count;
}

static void change(struct draft *d)
{
    const struct input *other = &inputs[below(input_count)];

    if (d->size == 0) {
        insert(d, 0, other);
        return;
    }
    size_t at = below(d->size);
    switch (below(8)) {
    case 0:
        d->bytes[at] ^= (uint8_t)(1u << below(8));
        break;
    case 1:
        step_number(d, at);
        break;
    case 2:
        insert(d, at, other);
        break;
    case 3:
        take_out(d, at);
        break;
    case 4: /* cut short, or gone on with as another one does */
        d->size = at;
        insert(d, at, other);
        break;
    default:
        overwrite(d, at);
    }
}

static void run_changed(unsigned long count)
{
    static struct draft draft;

    for (unsigned long n = 0; n < count && input_count > 0; n++) {
        random_state = 0x9e3779b97f4a7c15ull * (n + 1);
        const struct input *in = &inputs[below(input_count)];
        if (in->size)
            memcpy(draft.bytes, in->bytes, in->size);
        draft.size = in->size;
        for (size_t i = 1 + below(CHANGES_MAX); i > 0; i--)
            change(&draft);
        run(draft.bytes, draft.size);
    }
}

int main(int argc, char **argv)
{
    unsigned long changed = 0;
    int first = 1;

    if (argc > 2 && strcmp(argv[1], "-mutate") == 0) {
        changed = strtoul(argv[2], NULL, 10);
        first = 3;
    }
    signal(SIGABRT, aborted);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(save_running);
    run((const uint8_t *)"", 0);
    for (int i = first; i < argc; i++)
        run_path(argv[i]);
    run_changed(changed);
    printf("%lu inputs run\n", run_count);
    for (unsigned i = 0; i < input_count; i++)
        free(inputs[i].bytes);
    return 0;
}
