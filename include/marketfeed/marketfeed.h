/* marketfeed/marketfeed.h - Marketfeed records: read, made from field lists, made into them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MARKETFEED_MARKETFEED_H
#define MARKETFEED_MARKETFEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rmds/rwf.h"
#include "rmds/rwf_dictionary.h"

/*
 * Marketfeed is the record format of the systems before RWF: text fields between control bytes. An
 * RWF message carries a record as container type 139. The rules, and what is lost on each way:
 * docs/pages-and-marketfeed.md. Only mf_table_create() allocates.
 */
enum {
    MF_CONTAINER = 139, /* RWF container type */
    MF_RECORD_MAX = 65535,
    MF_NAME_MAX = 255,
};

enum mf_code {
    MF_UPDATE = 316,
    MF_CORRECTION = 317,
    MF_CLOSING_RUN = 312,
    MF_VERIFY = 318,
    MF_IMAGE = 340,
    MF_SNAPSHOT = 342,
    MF_AGGREGATE = 350,
};

/* ---- records ---- */

struct mf_record {
    uint16_t code;
    bool has_template;
    bool has_level;
    uint16_t template_id;
    uint32_t level; /* a number that counts the record's messages */
    struct rwf_bytes tag;
    struct rwf_bytes name;
    struct rwf_bytes fields; /* for mf_next() */
};

struct mf_field {
    int16_t id;
    struct rwf_bytes value;
};

/*
 * Checks all of the record and copies nothing. MD_ERR_MALFORMED; MD_ERR_RANGE: longer than
 * `longest`; MD_ERR_UNSUPPORTED: a whole record of a code that carries no data (status, drop, ...).
 */
int mf_decode(struct rwf_bytes bytes, size_t longest, struct mf_record *out);

/* The next field of `rest`, which begins as record.fields; false at the end. Cannot fail behind
 * mf_decode(). */
bool mf_next(struct rwf_bytes *rest, struct mf_field *out);

/* ---- writing one ---- */

struct mf_output {
    uint8_t *bytes;
    size_t size;
    size_t length;
    bool is_full; /* something had no room, and nothing is written from then on */
};

/* FS code US tag GS name [US template US [level]], or [US level] without a template; no tag: XX. */
void mf_put_head(struct mf_output *out, const struct mf_record *record);
void mf_put_id(struct mf_output *out, int16_t id); /* RS id US; the value is next */
void mf_put(struct mf_output *out, struct rwf_bytes bytes);
void mf_put_end(struct mf_output *out);

/* ---- what a conversion loses ---- */

enum mf_reason {
    MF_KEPT,
    /* The field is left out: */
    MF_UNKNOWN, /* it is not in the dictionary */
    MF_TYPE,    /* no conversion for this pair of types */
    MF_RWF,     /* its RWF content is broken */
    MF_BAD_NUMBER,
    MF_BAD_DENOMINATOR,
    MF_BAD_DECIMALS, /* more than 14 */
    MF_BAD_INTEGER,
    MF_BAD_ENUM,
    MF_BAD_DATE,
    MF_BAD_TIME,
    MF_BAD_BINARY,
    /* To RWF: left out. To Marketfeed: written as blank. */
    MF_RANGE,
    /* Written as blank: */
    MF_LONG,    /* its whole part does not fit the length in the dictionary */
    MF_SPECIAL, /* infinity, or not a number */
    /* Changed: */
    MF_DIGITS,  /* rounded or cut */
    MF_CUT,     /* text */
    MF_CONTROL, /* bytes of text that cannot stand in a record became blanks */
    MF_REASONS,
};

const char *mf_reason_name(enum mf_reason reason);

struct mf_losses {
    uint64_t by_reason[MF_REASONS];
    /* Each one, for who wants to name the field. May be NULL. */
    void (*note)(void *self, int16_t id, enum mf_reason reason);
    void *note_self;
};

/* Counters of all conversions of a daemon. */
struct mf_counts {
    uint64_t in;         /* records that became field lists */
    uint64_t out;        /* and the other way */
    uint64_t refused;    /* could not be read */
    uint64_t control;    /* of codes that carry no data */
    uint64_t other_name; /* another name than the item's, which is not used */
    struct mf_losses losses;
};

/* Rows of a table of counters: COUNTER(name, member of the struct that has `counts`). */
#define MF_COUNTERS(COUNTER, counts)                                                               \
    COUNTER("marketfeedIn", counts.in), COUNTER("marketfeedOut", counts.out),                      \
        COUNTER("marketfeedRefused", counts.refused),                                              \
        COUNTER("marketfeedControl", counts.control),                                              \
        COUNTER("marketfeedOtherName", counts.other_name),                                         \
        MF_LOST(COUNTER, counts, "unknown", MF_UNKNOWN),                                           \
        MF_LOST(COUNTER, counts, "type", MF_TYPE), MF_LOST(COUNTER, counts, "rwf", MF_RWF),        \
        MF_LOST(COUNTER, counts, "number", MF_BAD_NUMBER),                                         \
        MF_LOST(COUNTER, counts, "denominator", MF_BAD_DENOMINATOR),                               \
        MF_LOST(COUNTER, counts, "decimals", MF_BAD_DECIMALS),                                     \
        MF_LOST(COUNTER, counts, "integer", MF_BAD_INTEGER),                                       \
        MF_LOST(COUNTER, counts, "enum", MF_BAD_ENUM),                                             \
        MF_LOST(COUNTER, counts, "date", MF_BAD_DATE),                                             \
        MF_LOST(COUNTER, counts, "time", MF_BAD_TIME),                                             \
        MF_LOST(COUNTER, counts, "binary", MF_BAD_BINARY),                                         \
        MF_LOST(COUNTER, counts, "range", MF_RANGE), MF_LOST(COUNTER, counts, "long", MF_LONG),    \
        MF_LOST(COUNTER, counts, "special", MF_SPECIAL),                                           \
        MF_LOST(COUNTER, counts, "digits", MF_DIGITS), MF_LOST(COUNTER, counts, "cut", MF_CUT),    \
        MF_LOST(COUNTER, counts, "control", MF_CONTROL)
#define MF_LOST(COUNTER, counts, name, reason)                                                     \
    COUNTER("marketfeedLost." name, counts.losses.by_reason[reason])

/* ---- the table: what a dictionary says of each field ---- */

struct mf_options {
    bool zero_is_blank;     /* +0 and 0 of signed numbers are blank, -0 is zero */
    bool blank_is_empty;    /* a blank signed number is written as nothing instead of +0, as it is
                               whenever a zero is not blank */
    uint16_t dictionary_id; /* in the list headers of images */
};

#define MF_OPTIONS_DEFAULT ((struct mf_options){ .zero_is_blank = true, .dictionary_id = 1 })

struct mf_table;

/* Nothing of the dictionary is used afterwards; NULL: no field is known. MD_ERR_NOMEM. */
int mf_table_create(const struct rwf_dictionary *dictionary, const struct mf_options *options,
                    struct mf_table **out);
/* Adds the fields of a dictionary, while nobody converts. */
void mf_table_learn(struct mf_table *table, const struct rwf_dictionary *dictionary);
/* From any thread: the records that are converted next are converted by these. */
void mf_table_options_set(struct mf_table *table, const struct mf_options *options);
void mf_table_destroy(struct mf_table *table); /* NULL is allowed */

/* ---- to RWF ---- */

/* The record's fields as a field list, where `enc` wants one. `is_refresh`: with the template. */
int mf_to_fields(const struct mf_table *table, const struct mf_record *record, bool is_refresh,
                 struct rwf_encoder *enc, struct mf_losses *losses);

/*
 * `msg`, which carries a record, as a message with a field list, from the encoder's start. The
 * errors of mf_decode(), and those of the encoder. `record`, if not NULL, becomes the record.
 */
int mf_to_message(const struct mf_table *table, const struct rwf_msg *msg, struct rwf_encoder *enc,
                  struct mf_losses *losses, struct mf_record *record);

/* ---- from RWF ---- */

struct mf_head {
    struct rwf_bytes tag; /* empty: XX */
    struct rwf_bytes name;
    bool is_image;
    bool no_ripple;
    bool has_level;
    uint8_t update_type; /* enum rwf_update_type */
    uint32_t level;      /* modulo 65536 in the record */
};

/* A field list with standard data alone, or with sets that `sets` has, as a record. MD_ERR_FULL,
 * or the errors of the list; MD_ERR_RANGE: no name, or one that cannot stand in a record. */
int mf_from_fields(const struct mf_table *table, const struct mf_head *head, struct rwf_bytes list,
                   const struct rwf_sets *sets, uint8_t *out, size_t size, size_t *length,
                   struct mf_losses *losses);

/* The head that stands for the message; MD_ERR_UNSUPPORTED: no field list, or not MarketPrice, or a
 * part of an image. */
int mf_head_of(const struct rwf_msg *msg, struct rwf_bytes name, struct mf_head *out);

#endif
