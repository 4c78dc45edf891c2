/* index.h - the lines of an access file by what their patterns say for certain. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENTITLE_INDEX_H
#define ENTITLE_INDEX_H

#include "entitle/entitle.h"

/*
 * A line has up to three patterns, and the first line that fits decides. Each pattern has a shape:
 * a word without a wildcard, a pattern with a literal head (`A*`) or a literal tail (`*.N`), or one
 * that says nothing for certain (`*`). Lines whose patterns are of the same shapes stand in one
 * group, and within a group a hash table finds the lines whose literal parts are those of the
 * question. A question costs one look for each group of the file, however many lines there are,
 * and a comparison with each line found. Of a head or a tail 32
 * bytes count at most.
 */
#define ENTITLE_PARTS_MAX  3
#define ENTITLE_INDEX_NONE UINT32_MAX

/* The first member of each line that is indexed. */
struct entitle_line {
    struct entitle_view parts[ENTITLE_PARTS_MAX];
    uint32_t hash; /* of the literal parts, with the shapes */
    uint32_t next; /* line of the same bucket, further down in the file */
    uint8_t rights;
};

struct entitle_group {
    uint16_t shapes; /* five bits for each part */
    uint32_t first;  /* its first line in the file */
};

/* All zero: of no lines. */
struct entitle_index {
    const char *lines;
    size_t stride;
    unsigned parts; /* patterns that a line has */
    uint32_t *buckets;
    uint32_t mask;
    struct entitle_group *groups; /* by `first` */
    unsigned group_count;
};

/* Over `count` lines of `stride` bytes each, which stay where they are. MD_ERR_NOMEM. */
int entitle_index_create(struct entitle_index *index, void *lines, size_t count, size_t stride,
                         unsigned parts);
void entitle_index_fini(struct entitle_index *index);

/*
 * The number of the first line with one of the rights that fits the first `count` parts; the other
 * patterns are not compared, and are `*`. ENTITLE_INDEX_NONE: there is none. Adds to *seen how many
 * lines were compared, and one for eight groups looked into.
 */
uint32_t entitle_index_find(const struct entitle_index *index,
                            const struct entitle_view text[ENTITLE_PARTS_MAX], unsigned count,
                            uint8_t rights, uint32_t *seen);

#endif
