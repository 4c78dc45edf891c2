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
    bool was_open;      /* once at least */
    bool is_suspect;
    bool wants_again;
};

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
    enum tap_dictionary dictionary;
    char dictionary_service[256]; /* that is asked for it */
    bool has_directory;           /* a refresh was recorded */
    uint64_t overruns_told;
    char why_told[256];
    struct tap_stats stats;
};

/* A service has come, or has changed. */
void tap_on_service(void *owner, const char *name, bool is_up);

#endif
