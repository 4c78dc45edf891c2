/* rmds/rwf_dictionary.h - the names and types of fields, and what their enumerated values mean. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMDS_RWF_DICTIONARY_H
#define RMDS_RWF_DICTIONARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rmds/rwf_encode.h"
#include "rmds/rwf_types.h"

/*
 * A field entry on the wire has an id and bytes; what they are stands in the field dictionary. A
 * dictionary is filled at start, from files (rwf_dictionary_load_*) or from dictionary messages
 * (rwf_dictionary_decode), and is from then on only read, by any number of threads.
 *
 * Only filling allocates. What look-ups return stays valid until the dictionary is filled further
 * or destroyed. A call that fails leaves the dictionary as it was before that call.
 */
struct rwf_dictionary;

/* The column FIELD TYPE of the file: the type of the field in Marketfeed. */
enum rwf_field_type {
    RWF_FIELD_TYPE_NONE = -1,
    RWF_FIELD_TYPE_TIME_SECONDS = 0,
    RWF_FIELD_TYPE_INTEGER = 1,
    RWF_FIELD_TYPE_NUMERIC = 2,
    RWF_FIELD_TYPE_DATE = 3,
    RWF_FIELD_TYPE_PRICE = 4,
    RWF_FIELD_TYPE_ALPHANUMERIC = 5,
    RWF_FIELD_TYPE_ENUMERATED = 6,
    RWF_FIELD_TYPE_TIME = 7,
    RWF_FIELD_TYPE_BINARY = 8,
    RWF_FIELD_TYPE_LONG_ALPHANUMERIC = 9,
    RWF_FIELD_TYPE_OPAQUE = 10,
};

/* One value of an enumerated field. The display is a short RMTES string, nearly always ASCII. */
struct rwf_enum_value {
    const uint8_t *display; /* terminated by a 0 that is not counted */
    const char *meaning;    /* "" when it came from the wire, which does not carry it */
    uint16_t display_length;
    uint16_t value;
    /* The display in UTF-8, in double quotes; 16 bytes can be read at least. NULL when it is long
     * or has a control character, a quote or a backslash. */
    const uint8_t *quoted;
    uint16_t quoted_length;
};

/* A table of values, shared by all fields that use it. */
struct rwf_enum_table {
    const struct rwf_enum_value *values; /* ascending */
    const int16_t *fids;                 /* the fields that use it, in the order of the source */
    const uint32_t *slots;               /* finds a value: see rwf_enum_find */
    uint32_t value_count;
    uint32_t fid_count;
    uint32_t slot_mask;
};

struct rwf_field_def {
    const char *name;                   /* the acronym, e.g. "TRDPRC_1" */
    const char *long_name;              /* the DDE acronym, e.g. "LAST"; "" if not known */
    const struct rwf_enum_table *enums; /* NULL if it has none */
    int16_t fid;
    int16_t ripples_to;  /* the field that takes over the old value, or 0 */
    uint16_t length;     /* of the Marketfeed form */
    uint16_t rwf_length; /* the longest content to keep; 0: not known */
    uint8_t rwf_type;    /* enum rwf_type, e.g. 8 for REAL */
    uint8_t enum_length; /* of the display of an enumerated value */
    uint8_t name_length;
    uint8_t long_name_length;
    int8_t field_type;      /* enum rwf_field_type */
    uint16_t member_length; /* of: */
    const char *member;     /* ,"ACRONYM": and so many bytes that 33 can be read */
};

/* The tags of the files. Strings are "" when absent. */
struct rwf_dictionary_info {
    int32_t dictionary_id;
    const char *field_version; /* Version of the field dictionary */
    const char *rt_version;    /* RT_Version and DT_Version of the enumerated types */
    const char *dt_version;
    const char *field_filename; /* Filename tags: informative */
    const char *enum_filename;
};

/* Why a file could not be loaded: "FILE:LINE: a sentence". */
struct rwf_dictionary_error {
    unsigned line; /* from 1; 0 if the trouble is not with a line */
    char text[256];
};

/* An empty dictionary in *out, to give back with rwf_dictionary_destroy(). MD_ERR_NOMEM. */
int rwf_dictionary_create(struct rwf_dictionary **out);
void rwf_dictionary_destroy(struct rwf_dictionary *dictionary); /* NULL is allowed */

/*
 * Add the definitions of a file RDMFieldDictionary, or the tables of a file enumtype.def, whose
 * text is in memory; `file` is its name for messages. Several files may be loaded one after the
 * other; ids may not occur twice, and the tag DictionaryId must be 0 or the same in all.
 *
 *   ACRONYM "DDE ACRONYM" FID RIPPLES_TO FIELD_TYPE LENGTH [( ENUM_LENGTH )] RWF_TYPE RWF_LEN
 *
 *   ACRONYM FID                     one or more lines; then, of the same table,
 *   VALUE "DISPLAY" MEANING         or #hex# for the display; one line each
 *
 * Lines that start with '!' are comments, but for "!tag NAME VALUE". On failure returns
 * MD_ERR_MALFORMED, MD_ERR_EXISTS or MD_ERR_NOMEM, with the sentence for the operator in *error.
 */
int rwf_dictionary_load_fields(struct rwf_dictionary *dictionary, const char *file,
                               const void *text, size_t length, struct rwf_dictionary_error *error);
int rwf_dictionary_load_enums(struct rwf_dictionary *dictionary, const char *file, const void *text,
                              size_t length, struct rwf_dictionary_error *error);

const struct rwf_dictionary_info *rwf_dictionary_info(const struct rwf_dictionary *dictionary);

/* The definition of a field, or NULL. Constant time. */
const struct rwf_field_def *rwf_dictionary_field(const struct rwf_dictionary *dictionary, int fid);
const struct rwf_field_def *rwf_dictionary_field_named(const struct rwf_dictionary *dictionary,
                                                       const char *name, size_t length);

/* The definition with the next higher id than `fid`, or NULL. Start with INT16_MIN - 1. */
const struct rwf_field_def *rwf_dictionary_next(const struct rwf_dictionary *dictionary, int fid);

uint32_t rwf_dictionary_field_count(const struct rwf_dictionary *dictionary);
uint32_t rwf_dictionary_table_count(const struct rwf_dictionary *dictionary);
const struct rwf_enum_table *rwf_dictionary_table(const struct rwf_dictionary *dictionary,
                                                  uint32_t index);

/* The entry of a value, or NULL. Constant time. `table` may be NULL. */
const struct rwf_enum_value *rwf_enum_find(const struct rwf_enum_table *table, unsigned value);

/* ---- dictionary messages ---- */

/* The filter of a dictionary request. */
enum rwf_dictionary_verbosity {
    RWF_DICTIONARY_INFO = 0x00,    /* versions and counts alone */
    RWF_DICTIONARY_MINIMAL = 0x03, /* what decoding needs */
    RWF_DICTIONARY_NORMAL = 0x07,  /* and what display needs */
    RWF_DICTIONARY_VERBOSE = 0x0f, /* and comments: the same as NORMAL here, as in ETA */
};

/* The element Type of a dictionary message. */
enum rwf_dictionary_type {
    RWF_DICTIONARY_TYPE_NONE = 0,
    RWF_DICTIONARY_TYPE_FIELDS = 1,
    RWF_DICTIONARY_TYPE_ENUMS = 2,
};

/* How far the encoding of a dictionary has come. All zero before the first part. */
struct rwf_dictionary_cursor {
    uint32_t next; /* the encoder's own */
    uint16_t part; /* parts encoded so far */
    bool is_complete;
};

/*
 * Encode the next part of a dictionary, a series, where a container may stand: as many fields (or
 * whole tables) as fit. Repeat with the same cursor until it is complete. Any buffer that holds
 * the head and one entry will do; RWF_ERR_FULL when it does not, and the cursor has not moved: a
 * table of a thousand values wants some 15 kB.
 */
int rwf_dictionary_encode(const struct rwf_dictionary *dictionary, enum rwf_dictionary_type type,
                          unsigned verbosity, struct rwf_dictionary_cursor *cursor,
                          struct rwf_encoder *enc);

/*
 * The same as a whole REFRESH. Of `msg` are used stream_id, key and the flags SOLICITED,
 * CLEAR_CACHE (put on the first part alone) and those of members (HAS_KEY, ...); class, domain,
 * container, state OPEN/OK (or NON_STREAMING/OK, if it says so), part number, and REFRESH_COMPLETE
 * on the last part are set here.
 */
int rwf_dictionary_refresh_encode(const struct rwf_dictionary *dictionary,
                                  enum rwf_dictionary_type type, unsigned verbosity,
                                  const struct rwf_msg *msg, struct rwf_dictionary_cursor *cursor,
                                  void *buffer, size_t size, size_t *length);

/*
 * Add what one part holds, fields or tables, whichever it is. Parts may come in any order; those
 * of one dictionary go into one rwf_dictionary. RWF_ERR_MALFORMED, MD_ERR_EXISTS (an id that is
 * there already), MD_ERR_NOMEM.
 */
int rwf_dictionary_decode(struct rwf_dictionary *dictionary, struct rwf_bytes payload);

/* The summary of a part, read without a dictionary. */
struct rwf_dictionary_summary {
    enum rwf_dictionary_type type; /* NONE: a part without one, the second and later of fields */
    int32_t dictionary_id;
    uint32_t count; /* of fields, in all parts; 0 if not sent */
    struct rwf_bytes version;
    struct rwf_bytes rt_version;
    struct rwf_bytes dt_version;
};

int rwf_dictionary_summary_decode(struct rwf_bytes payload, struct rwf_dictionary_summary *summary);

#endif
