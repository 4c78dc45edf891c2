/* tap_setup.h - a tap, as its parts know it; services and dictionaries, which come before items. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TAP_SETUP_H
#define TAP_SETUP_H

#include "tap.h"

/* One of the recording: by the number that the keeper gave it. */
struct tap_item {
    struct tap *tap;
    struct rmds_item *item; /* NULL: not open now */
    uint32_t number;
    uint32_t listed; /* place in the list, from 1 */
    uint8_t domain;
    struct rwf_qos qos; /* of one that is followed */
    uint8_t *other;     /* the key that it has in another quality; NULL: it is open in one */
    uint16_t other_length;
    struct rwf_qos other_qos;
    bool was_open; /* once at least */
    bool is_open;  /* its image came, and it has not ended since */
    bool has_come; /* since it was opened last */
    bool is_suspect;
    bool wants_again;
};

#define TAP_PROVIDERS 16u /* services that are asked for the dictionary in turn */

enum tap_dictionary { DICTIONARY_WANTED, DICTIONARY_ASKED, DICTIONARY_DONE };

struct tap {
    struct tap_config config;
    struct feed *feed;
    struct rmds_backbone *backbone;
    struct md_loop_source *source;
    struct md_loop_fd *fd;
    struct tap_item **items; /* by number */
    uint32_t size;
    uint64_t again_ns; /* when closed items are asked for again; MD_NEVER: there are none */
    void (*open_list)(struct tap *tap, const struct feed_service *service); /* its items */
    bool has_begun;                                                         /* with its items */
    uint64_t begin_ns; /* without a dictionary, too; MD_NEVER: no service has come yet */
    enum tap_dictionary dictionary;
    char dictionary_service[256]; /* that is asked for it */
    char providers[TAP_PROVIDERS][256];
    uint32_t provider_count, provider_next;
    uint64_t dictionary_ns;    /* when the next one is asked; MD_NEVER: not again */
    uint64_t dictionary_pause; /* once each one has failed; doubled each time */
    uint64_t dictionary_left;  /* bytes that are taken at most, of all of them */
    uint32_t parts;            /* of the one under way */
    bool has_directory;        /* a refresh was recorded */
    uint64_t denied_last;      /* what rrcpd said last */
    uint64_t denied_ns;        /* and when */
    uint64_t overruns_told;
    char why_told[256];
    struct tap_stats stats;
};

/* A service has come, or has changed. */
void tap_on_service(void *owner, const char *name, bool is_up);
void tap_setup_init(struct tap *tap);
/* The dictionary, or the items, whose time has come. */
void tap_setup_tick(struct tap *tap, uint64_t now_ns);

#endif
