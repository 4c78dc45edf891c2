/* recording/images.h - images of a recording's items: kept while recording, folded while reading.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDING_IMAGES_H
#define RECORDING_IMAGES_H

#include "cache/cache.h"
#include "recording/reader.h"
#include "recording/writer.h"

/* ---- recording ---- */

/*
 * A keeper puts what a consumer gets into a writer, applies it to images of its own, and puts these
 * in where a reader needs one: every so often, in front of an item's next message when messages of
 * it found no room, and in another file. So the image of any moment is near it.
 */
struct rec_keeper;

struct rec_keeper_config {
    struct cache_config cache;
    struct rec_writer *writer;
    uint64_t image_every_ns; /* of an item that has changed; 0: never */
    uint32_t items_max;      /* 0: REC_ITEMS_MAX less those of connections and dictionaries */
    uint32_t service_max;    /* of these, of one service; 0: as many */
};

struct rec_keeper_stats {
    uint64_t items, messages, bytes, images;
    uint64_t lost;            /* messages that found no room */
    uint64_t refused;         /* messages that are longer than a chunk */
    uint64_t not_kept;        /* messages that no image could be made of, or for cache.bytes_max */
    uint64_t refused_names;   /* times that an item had no place: items_max, service_max */
    bool is_full;             /* items_max is reached */
    uint32_t full_services;   /* that have come to service_max */
    const char *full_service; /* the last one that was refused a place for that; "": none */
};

int rec_keeper_create(const struct rec_keeper_config *config, struct rec_keeper **out);
void rec_keeper_destroy(struct rec_keeper *keeper); /* after its chunks were written */
/* Other ripples, once a dictionary is known. */
void rec_keeper_rules_set(struct rec_keeper *keeper, const struct cache_ripples *ripples);
/* The number of an item, a new one where there was none; 0: there are too many, or no memory. */
uint32_t rec_keeper_item(struct rec_keeper *keeper, const struct rec_key *key);
/* Its name, which is good as long as the keeper; false: there is no such number. */
bool rec_keeper_key(const struct rec_keeper *keeper, uint32_t number, struct rec_key *out);
/* It has ended: its image goes, and no further file has it. Its number stays. */
void rec_keeper_forget(struct rec_keeper *keeper, uint32_t number);
/* A message as it came. */
void rec_keeper_message(struct rec_keeper *keeper, struct rec_moment now, uint32_t number,
                        struct rwf_bytes message);
void rec_keeper_cut(struct rec_keeper *keeper, struct rec_moment now, const char *reason);
/* Images that are due; call it each tenth of a second. */
void rec_keeper_tick(struct rec_keeper *keeper, struct rec_moment now);
/* The next record is the first of another file, which needs every image. */
void rec_keeper_cut_file(struct rec_keeper *keeper);
/* Chunks were lost: every image is needed again. */
void rec_keeper_owe_all(struct rec_keeper *keeper);
void rec_keeper_stats(const struct rec_keeper *keeper, struct rec_keeper_stats *out);

/* ---- reading ---- */

/* The images of a moment of a recording, found by its index; from then on, what is read is applied
 * to them. What a hole, a loss or a lost connection has touched is suspect until the next image. */
struct rec_folder;

/* Records wait until their item is asked for, or has another image: `waits` bytes of them, from
 * 4096. Those of a file wait in REC_WAITS: more than between two images of an item. */
#define REC_WAITS (32u << 20)
int rec_folder_create(struct rec_reader *reader, const struct cache_config *cache, size_t waits,
                      struct rec_folder **out);
void rec_folder_destroy(struct rec_folder *folder);
/* Every record up to `mono_ns`, of one item, or of all (`only` 0). Reads the chunks alone that have
 * a record of them since their last image. */
int rec_folder_seek(struct rec_folder *folder, uint64_t mono_ns, uint32_t only);
void rec_folder_apply(struct rec_folder *folder, const struct rec_record *record);
/* NULL: it has none that is whole. For cache_image_part() and cache_image_state(), until the next
 * record is applied. */
const struct cache_image *rec_folder_image(struct rec_folder *folder, uint32_t number);
/* Chunks that the last seek has read. */
uint64_t rec_folder_chunks_read(const struct rec_folder *folder);

#endif
