/* rwf_vectors.c - judges the codec by files of vectors; the format: tests/vectors/rwf/README.md. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tree.h"

#define COLUMNS_MAX 7
#define TEXT_MAX    2000
#define ENCODED_MAX (1 << 20)

struct runner {
    struct arena arena;
    const char *file;
    unsigned passed;
    unsigned failed;
    uint8_t *encoded; /* ENCODED_MAX bytes */
};

/* What one line of a file came to. */
struct verdict {
    bool failed;
    char reason[TEXT_MAX + 200];
};

static void fail(struct verdict *verdict, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void fail(struct verdict *verdict, const char *format, ...)
{
    va_list args;

    verdict->failed = true;
    va_start(args, format);
    /* va_start() is just above. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    vsnprintf(verdict->reason, sizeof(verdict->reason), format, args);
    va_end(args);
}

/* ---- the input at the end of its memory: the byte behind it cannot be read ---- */

struct guarded {
    uint8_t *map;
    size_t size;
    struct rwf_bytes bytes;
};

static struct guarded guarded_copy(struct rwf_bytes bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = (bytes.length + page - 1) / page + 1;
    struct guarded guarded = { .size = (pages + 1) * page };

    guarded.map =
        mmap(NULL, guarded.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (guarded.map == MAP_FAILED || mprotect(guarded.map + pages * page, page, PROT_NONE) != 0) {
        perror("mmap");
        exit(2);
    }
    uint8_t *at = guarded.map + pages * page - bytes.length;
    if (bytes.length > 0)
        memcpy(at, bytes.data, bytes.length);
    guarded.bytes = rwf_bytes(at, bytes.length);
    return guarded;
}

static void guarded_free(struct guarded *guarded)
{
    munmap(guarded->map, guarded->size);
}

/* ---- columns ---- */

static int kind_type(const char *kind)
{
    struct arena arena = { 0 };
    int type;

    if (strcmp(kind, "msg") == 0)
        return RWF_TYPE_MSG;
    if (strcmp(kind, "FDB") == 0 || strcmp(kind, "EDB") == 0)
        return -2;
    if (strncmp(kind, "prim:", 5) == 0)
        kind += 5;
    type = tree_type(node_word(&arena, kind));
    arena_fini(&arena);
    return type;
}

static struct node *parse_hex_column(struct runner *r, const char *hex)
{
    char *text = arena_take(&r->arena, strlen(hex) + 2);

    text[0] = '#';
    memcpy(text + 1, hex, strlen(hex) + 1);
    return tree_parse(&r->arena, rwf_text(text));
}

/* ---- a definition database alone ---- */

/* A block is read through a map that has it; so it is written down like any other. */
static struct node *decode_block(struct runner *r, struct rwf_bytes block, bool fields, int *err)
{
    uint8_t *map = arena_take(&r->arena, block.length + 16);
    struct rwf_encoder enc;
    struct scope scope = { 0 };
    struct rwf_map_info info = {
        .flags = RWF_MAP_HAS_SET_DEFS,
        .key_type = RWF_TYPE_UINT,
        .container = fields ? RWF_TYPE_FIELD_LIST : RWF_TYPE_ELEMENT_LIST,
        .set_defs = block,
    };

    rwf_encoder_init(&enc, map, block.length + 16);
    rwf_map_start(&enc, &info);
    *err = rwf_map_finish(&enc);
    if (*err < 0)
        return NULL;
    struct node *node = tree_decode(&r->arena, RWF_TYPE_MAP, rwf_encoder_bytes(&enc), &scope, err);
    const struct node *defs = node ? node_find(node, "setdefs") : NULL;
    return defs ? defs->first->next : NULL;
}

static void run_block(struct runner *r, const struct node *expected, const char *mode,
                      struct rwf_bytes bytes, struct verdict *verdict)
{
    struct rwf_bytes block;
    int err;
    struct node *got = decode_block(r, bytes, node_is_list(expected, "FDB"), &err);

    if (!got || !node_equal(got, expected)) {
        fail(verdict, "decode: %s", got ? "another content" : rwf_err_name(err));
        return;
    }
    if (strcmp(mode, "dec") == 0)
        return;
    err = scope_block(&r->arena, expected, &block);
    if (err < 0 || !rwf_bytes_equal(block, bytes))
        fail(verdict, "encode: %s", err < 0 ? rwf_err_name(err) : "other bytes");
}

/* rwf_check() must be of the same opinion as the iterators. */
static int check_whole(unsigned type, struct rwf_bytes bytes, const struct scope *scope)
{
    enum rwf_set_kind kind =
        type == RWF_TYPE_ELEMENT_LIST || !scope->fields ? RWF_SET_ELEMENTS : RWF_SET_FIELDS;
    struct rwf_sets sets = scope_sets(scope, kind);
    struct rwf_check check = { .sets = &sets, .field_type = tree_field_type };

    return rwf_check(type, bytes, &check);
}

/* ---- valid vectors ---- */

/* (with DB... X): the databases into the scope; returns X. */
static const struct node *open_with(struct runner *r, const struct node *node, struct scope *scope,
                                    struct verdict *verdict)
{
    if (!node_is_list(node, "with"))
        return node;
    const struct node *item = node->first->next;
    for (; item && item->next; item = item->next) {
        if (scope_add(scope, &r->arena, item) < 0)
            fail(verdict, "a database of (with ...) cannot be encoded");
    }
    return item;
}

static void check_encode(struct runner *r, const struct node *content, unsigned type,
                         const struct scope *scope, const char *mode, struct rwf_bytes bytes,
                         struct verdict *verdict)
{
    enum rwf_lengths lengths =
        strcmp(mode, "rsv") == 0 ? RWF_LENGTHS_RESERVED : RWF_LENGTHS_SHORTEST;
    char text[TEXT_MAX];
    size_t length;
    int err =
        tree_encode(content, type, scope, lengths, &r->arena, r->encoded, ENCODED_MAX, &length);

    if (err < 0) {
        fail(verdict, "encode: %s", rwf_err_name(err));
        return;
    }
    if (rwf_bytes_equal(rwf_bytes(r->encoded, length), bytes))
        return;
    tree_print(node_bytes(&r->arena, rwf_bytes(r->encoded, length)), text, sizeof(text));
    fail(verdict, "encode: got %s", text);
}

static void run_valid(struct runner *r, char *const *column, struct verdict *verdict)
{
    struct scope scope = { 0 };
    char text[TEXT_MAX];
    int type = kind_type(column[1]);
    struct node *described = tree_parse(&r->arena, rwf_text(column[3]));
    struct node *hex = parse_hex_column(r, column[4]);
    int err;

    if (!described || !hex || type == -1) {
        fail(verdict, "the line is not in the format of vectors");
        return;
    }
    if (type == -2) {
        run_block(r, described, column[2], hex->bytes, verdict);
        return;
    }
    const struct node *expected = open_with(r, described, &scope, verdict);
    if (node_is_list(expected, "prim"))
        expected = expected->first->next->next;
    if (verdict->failed || !expected)
        return;

    struct guarded input = guarded_copy(hex->bytes);
    struct node *got = tree_decode(&r->arena, (unsigned)type, input.bytes, &scope, &err);
    if (!got) {
        fail(verdict, "decode: %s", rwf_err_name(err));
    } else if (!node_equal(got, expected)) {
        tree_print(got, text, sizeof(text));
        fail(verdict, "decode: got %s", text);
    } else if (check_whole((unsigned)type, input.bytes, &scope) < 0) {
        fail(verdict, "check: refused");
    } else if (strcmp(column[2], "dec") != 0) {
        check_encode(r, expected, (unsigned)type, &scope, column[2], hex->bytes, verdict);
    }
    guarded_free(&input);
}

/* ---- malformed vectors ---- */

static void run_malformed(struct runner *r, char *const *column, struct verdict *verdict)
{
    struct scope scope = { 0 };
    int type = kind_type(column[1]);
    struct node *hex = parse_hex_column(r, column[6]);
    struct node *got;
    int err;

    if (!hex || type == -1) {
        fail(verdict, "the line is not in the format of vectors");
        return;
    }
    if (strcmp(column[3], "-") != 0) {
        char *list = arena_take(&r->arena, strlen(column[3]) + 16);

        sprintf(list, "(with %s 0)", column[3]);
        struct node *with = tree_parse(&r->arena, rwf_text(list));
        if (with)
            open_with(r, with, &scope, verdict);
        else
            fail(verdict, "the definitions are not in the format of vectors");
    }
    struct guarded input = guarded_copy(hex->bytes);
    if (type == -2)
        got = decode_block(r, input.bytes, strcmp(column[1], "FDB") == 0, &err);
    else
        got = tree_decode(&r->arena, (unsigned)type, input.bytes, &scope, &err);
    if (got && strcmp(column[2], "reject") == 0)
        fail(verdict, "accepted (%s)", column[5]);
    else if (type != -2 && (got == NULL) != (check_whole((unsigned)type, input.bytes, &scope) < 0))
        fail(verdict, "iterators and check disagree (%s)", column[5]);
    guarded_free(&input);
}

/* ---- files ---- */

static unsigned split(char *line, char **column)
{
    unsigned count = 0;

    while (count < COLUMNS_MAX) {
        column[count++] = line;
        line = strchr(line, '\t');
        if (!line)
            break;
        *line++ = '\0';
    }
    return count;
}

static void run_line(struct runner *r, char *line, bool malformed)
{
    struct verdict verdict = { 0 };
    char *column[COLUMNS_MAX];
    unsigned columns = split(line, column);

    if (columns != (malformed ? 7 : 5))
        fail(&verdict, "%u columns", columns);
    else if (malformed)
        run_malformed(r, column, &verdict);
    else
        run_valid(r, column, &verdict);
    if (verdict.failed) {
        r->failed++;
        printf("%s: %s: %s\n", r->file, column[0], verdict.reason);
    } else {
        r->passed++;
    }
    arena_fini(&r->arena);
}

static int run_file(struct runner *r, const char *path)
{
    const char *name = strrchr(path, '/');
    bool malformed = strncmp(name ? name + 1 : path, "malformed", 9) == 0;
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t size = 0;
    ssize_t length;

    r->file = path;
    if (!file) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 2;
    }
    while ((length = getline(&line, &size, file)) > 0) {
        while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
            line[--length] = '\0';
        if (length > 0 && line[0] != ';')
            run_line(r, line, malformed);
    }
    free(line);
    fclose(file);
    return 0;
}

int main(int argc, char **argv)
{
    struct runner runner = { 0 };
    int rc = 0;

    if (argc < 2 || strcmp(argv[1], "--help") == 0) {
        fputs("usage: rwf_vectors FILE...\n"
              "Judges the codec by files of vectors. A file whose name begins with \"malformed\"\n"
              "is judged by its verdict column, any other is a file of valid vectors.\n",
              argc < 2 ? stderr : stdout);
        return argc < 2 ? 2 : 0;
    }
    runner.encoded = malloc(ENCODED_MAX);
    if (!runner.encoded)
        return 2;
    for (int i = 1; i < argc && rc == 0; i++)
        rc = run_file(&runner, argv[i]);
    free(runner.encoded);
    printf("%u passed, %u failed\n", runner.passed, runner.failed);
    return rc != 0 ? rc : runner.failed > 0;
}
