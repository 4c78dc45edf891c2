/* entitle/lock.h - permission data: which codes one needs to see the data. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENTITLE_LOCK_H
#define ENTITLE_LOCK_H

#include "entitle/entitle.h"

/*
 * A lock is a list of codes (PE, permissionable entities) for each of one or more services: a
 * conjunction of alternatives, `(456|985)&1027` for instance. Version 3 has them in nibbles:
 *
 *     03, service id (u16), then digits of codes, A and, B or, C end, D another service follows
 *
 * OR binds tighter than AND. After C the rest is padding; after D in a high nibble the low one is,
 * and the next service id begins at a whole byte. A list may be empty: nothing is needed. Version 4
 * has the expression as text, `04, service id, text, C0`; there AND binds tighter, as usual.
 */
enum entitle_lock_kind {
    ENTITLE_LOCK_FINE,
    ENTITLE_LOCK_SHORT,      /* it ends within its header */
    ENTITLE_LOCK_VERSION,    /* neither 3 nor 4 */
    ENTITLE_LOCK_NO_END,     /* C is missing */
    ENTITLE_LOCK_OPERATOR,   /* an operator without a code on both sides */
    ENTITLE_LOCK_NIBBLE,     /* E or F */
    ENTITLE_LOCK_NO_SERVICE, /* D, and no service behind it */
    ENTITLE_LOCK_RANGE,      /* a code above 32 bits */
    ENTITLE_LOCK_TEXT,       /* of version 4: no expression of codes */
};

/* "has no end" and so on. */
const char *entitle_lock_kind_name(enum entitle_lock_kind kind);

struct entitle_lock_reader {
    /* Is the code of this service held? Asked for each code once, in order. */
    bool (*holds)(void *self, uint16_t service, uint32_t code);
    /* May be NULL: all of it as text, service by service, "257: (456|985)&1027; 258: 5". */
    char *text;
    size_t text_size;
    void *self;
    /* Results: */
    bool is_open;   /* all that is needed is held */
    bool is_null;   /* nothing is needed */
    char needs[48]; /* the first alternatives that are not held, "62|144" */
};

/* Reads all of a lock before it says anything: is_open is false if that fails. */
enum entitle_lock_kind entitle_lock_read(struct entitle_view lock,
                                         struct entitle_lock_reader *reader);

/*
 * An expression of words with & | ( ), & binds tighter; false: it is none, and *wrong is where.
 * `holds` of each word; *value: of all.
 */
bool entitle_expression(struct entitle_view text,
                        bool (*holds)(void *self, struct entitle_view word), void *self,
                        bool *value, size_t *wrong);

#endif
