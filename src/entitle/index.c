/* index.c - see index.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "index.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/table.h"

#define SHAPE_BITS 5

enum shape {
    SHAPE_ANY,
    SHAPE_WORD,
    SHAPE_HEAD,
    SHAPE_TAIL = SHAPE_HEAD + 15,
    SHAPES = SHAPE_TAIL + 15, /* five bits */
};

/* Heads and tails count by so many bytes: the most that they have. */
static const uint8_t lengths[SHAPE_TAIL - SHAPE_HEAD] = {
    1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32,
};

/* ---- patterns ---- */

/* `*` any run, `?` any one byte. Linear: on a mismatch only the newest `*` is tried again. */
bool entitle_fits(struct entitle_view pattern, struct entitle_view text)
{
    size_t p = 0;
    size_t t = 0;
    size_t star = SIZE_MAX;
    size_t resume = 0;

    while (t < text.length) {
        if (p < pattern.length && pattern.data[p] == '*') {
            star = p++;
            resume = t;
        } else if (p < pattern.length &&
                   (pattern.data[p] == '?' || pattern.data[p] == text.data[t])) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.length && pattern.data[p] == '*')
        p++;
    return p == pattern.length;
}

static bool is_wild(char c)
{
    return c == '*' || c == '?';
}

static unsigned step_of(size_t length)
{
    unsigned step = SHAPE_TAIL - SHAPE_HEAD - 1;

    while (step > 0 && lengths[step] > length)
        step--;
    return step;
}

static unsigned shape_of(struct entitle_view pattern)
{
    size_t head = 0, tail = 0;

    while (head < pattern.length && !is_wild(pattern.data[head]))
        head++;
    if (head == pattern.length)
        return SHAPE_WORD;
    while (!is_wild(pattern.data[pattern.length - 1 - tail]))
        tail++;
    if (head == 0 && tail == 0)
        return SHAPE_ANY;
    return head >= tail ? SHAPE_HEAD + step_of(head) : SHAPE_TAIL + step_of(tail);
}

/* The bytes of a text, or of a pattern, that a shape says. False: the text has too few. */
static bool literal_of(unsigned shape, struct entitle_view text, struct entitle_view *literal)
{
    *literal = text;
    if (shape == SHAPE_WORD)
        return true;
    if (shape == SHAPE_ANY) {
        literal->length = 0;
        return true;
    }
    literal->length = lengths[shape - (shape >= SHAPE_TAIL ? SHAPE_TAIL : SHAPE_HEAD)];
    if (literal->length > text.length)
        return false;
    if (shape >= SHAPE_TAIL)
        literal->data = text.data + text.length - literal->length;
    return true;
}

static uint32_t mix(uint32_t hash, uint64_t part)
{
    uint64_t mixed = (hash ^ part) * 0x9e3779b97f4a7c15ull;

    return (uint32_t)(mixed >> 32);
}

static uint64_t hash_of(struct entitle_view literal)
{
    return literal.length ? md_hash_bytes(literal.data, literal.length) : 0;
}

static unsigned shape_at(unsigned shapes, unsigned part)
{
    return shapes >> SHAPE_BITS * part & (SHAPES - 1u);
}

/* ---- building ---- */

static struct entitle_line *line_at(const struct entitle_index *index, size_t at)
{
    return (struct entitle_line *)(uintptr_t)(index->lines + at * index->stride);
}

const struct entitle_line *entitle_index_line(const struct entitle_index *index, uint32_t at)
{
    return at == ENTITLE_INDEX_NONE ? NULL : line_at(index, at);
}

static unsigned shapes_of(const struct entitle_index *index, struct entitle_line *line)
{
    unsigned shapes = 0;
    uint32_t hash = 0;

    for (unsigned i = 0; i < index->parts; i++)
        shapes |= shape_of(line->parts[i]) << SHAPE_BITS * i;
    hash = mix(hash, shapes);
    for (unsigned i = 0; i < index->parts; i++) {
        struct entitle_view literal;

        literal_of(shape_at(shapes, i), line->parts[i], &literal);
        hash = mix(hash, hash_of(literal));
    }
    line->hash = hash;
    return shapes;
}

static int by_first(const void *a, const void *b)
{
    uint32_t first = ((const struct entitle_group *)a)->first;
    uint32_t second = ((const struct entitle_group *)b)->first;

    return (first > second) - (first < second);
}

static int make_groups(struct entitle_index *index, const uint32_t *firsts, size_t shapes_max)
{
    for (size_t i = 0; i < shapes_max; i++)
        index->group_count += firsts[i] != ENTITLE_INDEX_NONE;
    index->groups = calloc(index->group_count ? index->group_count : 1, sizeof(*index->groups));
    if (!index->groups)
        return MD_ERR_NOMEM;
    for (size_t i = 0, at = 0; i < shapes_max; i++) {
        if (firsts[i] != ENTITLE_INDEX_NONE)
            index->groups[at++] = (struct entitle_group){ (uint16_t)i, firsts[i] };
    }
    qsort(index->groups, index->group_count, sizeof(*index->groups), by_first);
    return MD_OK;
}

int entitle_index_create(struct entitle_index *index, void *lines, size_t count, size_t stride,
                         unsigned parts)
{
    size_t shapes_max = (size_t)1 << SHAPE_BITS * parts;
    uint32_t *firsts = malloc(shapes_max * sizeof(*firsts));
    uint32_t room = 16;

    while (room < 2 * count)
        room *= 2;
    *index = (struct entitle_index){ .lines = lines, .stride = stride, .parts = parts };
    index->mask = room - 1;
    index->buckets = malloc(room * sizeof(*index->buckets));
    if (!firsts || !index->buckets) {
        free(firsts);
        return MD_ERR_NOMEM;
    }
    memset(firsts, 0xff, shapes_max * sizeof(*firsts));
    memset(index->buckets, 0xff, room * sizeof(*index->buckets));
    /* From the last to the first: each bucket has its lines in the order of the file. */
    for (size_t i = count; i-- > 0;) {
        struct entitle_line *line = line_at(index, i);

        firsts[shapes_of(index, line)] = (uint32_t)i;
        line->next = index->buckets[line->hash & index->mask];
        index->buckets[line->hash & index->mask] = (uint32_t)i;
    }
    int err = make_groups(index, firsts, shapes_max);
    free(firsts);
    return err;
}

void entitle_index_fini(struct entitle_index *index)
{
    free(index->buckets);
    free(index->groups);
    *index = (struct entitle_index){ 0 };
}

/* ---- questions ---- */

/* A question, and the hash of what each shape says of each of its parts, once it is needed. */
struct question {
    const struct entitle_asked *asked;
    uint32_t known[ENTITLE_PARTS_MAX];
    uint64_t hashes[ENTITLE_PARTS_MAX][SHAPES];
};

/* False: the text is too short for the shape. */
static bool hash_part(struct question *q, unsigned part, unsigned shape, uint64_t *hash)
{
    struct entitle_view literal;

    if (!literal_of(shape, q->asked->text[part], &literal))
        return false;
    if (!(q->known[part] >> shape & 1))
        q->hashes[part][shape] = hash_of(literal);
    q->known[part] |= 1u << shape;
    /* The analyzer does not follow the bits of known.
       NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
    *hash = q->hashes[part][shape];
    return true;
}

/* False: no line of such shapes can fit. */
static bool hash_group(struct question *q, unsigned parts, unsigned shapes, uint32_t *out)
{
    uint32_t hash = mix(0, shapes);

    for (unsigned i = 0; i < parts; i++) {
        unsigned shape = shape_at(shapes, i);
        uint64_t part = 0;

        if (i >= q->asked->count ? shape != SHAPE_ANY : !hash_part(q, i, shape, &part))
            return false;
        hash = mix(hash, part);
    }
    *out = hash;
    return true;
}

static bool is_about(const struct entitle_index *index, const struct entitle_line *line,
                     const struct entitle_asked *asked)
{
    if (!(line->rights & asked->rights))
        return false;
    return line->domains == 0 ||
           index->domains[line->domains - 1].bits[asked->domain / 64] >> asked->domain % 64 & 1;
}

static bool fits(const struct entitle_index *index, const struct entitle_line *line,
                 const struct entitle_asked *asked)
{
    if (!is_about(index, line, asked))
        return false;
    for (unsigned i = 0; i < asked->count; i++) {
        if (!entitle_fits(line->parts[i], asked->text[i]))
            return false;
    }
    return true;
}

/* The first one before `best`, or `best`. */
static uint32_t find_before(const struct entitle_index *index, struct question *q, uint32_t best,
                            uint32_t *seen)
{
    const struct entitle_asked *asked = q->asked;

    /* A group whose lines all stand below one that fits cannot change the answer. */
    for (unsigned g = 0; g < index->group_count && index->groups[g].first < best; g++) {
        uint32_t hash;

        *seen += g % 8 == 7; /* such a look costs less than a comparison */
        if (!hash_group(q, index->parts, index->groups[g].shapes, &hash))
            continue;
        for (uint32_t at = index->buckets[hash & index->mask]; at < best;
             at = line_at(index, at)->next) {
            const struct entitle_line *line = line_at(index, at);

            if (line->hash != hash || at < asked->from)
                continue;
            ++*seen;
            if (fits(index, line, asked))
                best = at;
        }
    }
    return best;
}

/* The hashes are not cleared: `known` says which there are. */
static void begin(struct question *q, const struct entitle_asked *asked)
{
    q->asked = asked;
    memset(q->known, 0, sizeof(q->known));
}

uint32_t entitle_index_find(const struct entitle_index *index, const struct entitle_asked *asked,
                            uint32_t *seen)
{
    struct question q;

    begin(&q, asked);
    return find_before(index, &q, ENTITLE_INDEX_NONE, seen);
}

uint32_t entitle_index_find_any(const struct entitle_index *index, struct entitle_asked *asked,
                                struct entitle_view text[], const struct entitle_view *names,
                                uint32_t count, uint8_t rights, uint32_t *seen)
{
    struct question q;

    begin(&q, asked);
    uint32_t best = find_before(index, &q, ENTITLE_INDEX_NONE, seen);
    asked->rights = rights;
    for (uint32_t i = 0; i < count; i++) {
        text[0] = names[i];
        q.known[0] = 0; /* what was hashed of the other parts stays */
        best = find_before(index, &q, best, seen);
    }
    return best;
}
