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
    uint32_t hash;    /* of the literal parts, with the shapes */
    uint32_t next;    /* line of the same bucket, further down in the file */
    uint32_t line;    /* of the file */
    uint16_t domains; /* that it is about, from 1 in entitle_index.domains; 0: any */
    uint8_t rights;
};

struct entitle_domains {
    uint64_t bits[4];
};
#define ENTITLE_DOMAINS_MAX 1024 /* different sets of a file */

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
    const struct entitle_domains *domains;
};

/* A question. */
struct entitle_asked {
    const struct entitle_view *text; /* ENTITLE_PARTS_MAX, of which */
    unsigned count;                  /* the first ones are given; the other patterns are `*` */
    uint8_t rights;                  /* one of these */
    uint8_t domain;
    uint32_t from; /* lines before this one are passed over */
};

/* Over `count` lines of `stride` bytes each, which stay where they are. MD_ERR_NOMEM. */
int entitle_index_create(struct entitle_index *index, void *lines, size_t count, size_t stride,
                         unsigned parts);
void entitle_index_fini(struct entitle_index *index);

/*
 * The number of the first line with one of the rights that fits; ENTITLE_INDEX_NONE: there is none.
 * Adds to *seen how many lines were compared, and one for eight groups looked into.
 */
uint32_t entitle_index_find(const struct entitle_index *index, const struct entitle_asked *asked,
                            uint32_t *seen);

/* The line of this number; NULL for ENTITLE_INDEX_NONE. */
const struct entitle_line *entitle_index_line(const struct entitle_index *index, uint32_t at);

/*
 * The first line that fits the question, or the same with one of `names` as its first part and
 * these rights. Leaves the last one in *asked and in `text`, which is that of *asked.
 */
uint32_t entitle_index_find_any(const struct entitle_index *index, struct entitle_asked *asked,
                                struct entitle_view text[], const struct entitle_view *names,
                                uint32_t count, uint8_t rights, uint32_t *seen);

/* `*` any run, `?` any one byte. */
bool entitle_fits(struct entitle_view pattern, struct entitle_view text);

#endif
