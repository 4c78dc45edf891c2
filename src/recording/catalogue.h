/* catalogue.h - what is known of a file without its records: chunks, items, which has which. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDING_CATALOGUE_H
#define RECORDING_CATALOGUE_H

#include "block.h"
#include "chunk.h"
#include "recording/reader.h"

struct rec_place {
    uint64_t at, number;
    struct rec_preamble preamble;
    uint32_t part;  /* the file that it is in */
    uint32_t group; /* which has the bits of it, */
    uint8_t bit;    /* and which bit it is; only if is_known */
    bool is_known;  /* which items it has */
};

struct rec_mask {
    uint32_t number;
    uint64_t records, images;
};

/* Up to 64 chunks. */
struct rec_group {
    struct rec_mask *masks; /* ascending numbers */
    uint32_t count;
};

struct rec_catalogue {
    struct rec_place *places; /* ascending numbers and times */
    size_t count, size;
    struct rec_group *groups;
    size_t group_count, group_size;
    struct rec_key **items; /* by number */
    uint32_t item_size;
    uint32_t item_count; /* the highest number */
    uint64_t memory;     /* of the items */
};

void rec_catalogue_fini(struct rec_catalogue *catalogue);
/* MD_ERR_MALFORMED: it does not come behind those that are there. */
int rec_catalogue_add(struct rec_catalogue *catalogue, const struct rec_place *place);
/* MD_ERR_MALFORMED: the number stands for another item. */
int rec_catalogue_item(struct rec_catalogue *catalogue, uint32_t number, const struct rec_key *key);

/* A decoded index: the places it tells of are found among the catalogue's, or added. */
struct rec_index_head {
    uint32_t count;
    uint64_t before; /* the index before, 0: none */
};
int rec_index_head_get(struct md_rd *rd, struct rec_index_head *head);
/* Take it in; its chunks are in the file `part`. `adds`: its places are new ones. */
int rec_catalogue_index(struct rec_catalogue *catalogue, uint32_t part, struct rwf_bytes index,
                        bool adds);
/* Only the first so many places and groups stay. */
void rec_catalogue_cut(struct rec_catalogue *catalogue, size_t places, size_t groups);
/* The items of a chunk, found by its records: it gets a group of its own. `masks` is the
 * catalogue's then, sorted or not. */
int rec_catalogue_look(struct rec_catalogue *catalogue, struct rec_place *place,
                       struct rec_mask *masks, uint32_t count);

const struct rec_mask *rec_group_find(const struct rec_group *group, uint32_t number);
/* The first place whose last record is later than that; `count` if there is none. */
size_t rec_catalogue_after(const struct rec_catalogue *catalogue, uint64_t mono_ns);

#endif
