/* entitle/record.h - what is remembered of a login, an item, a post or an order. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENTITLE_RECORD_H
#define ENTITLE_RECORD_H

#include "entitle/entitle.h"

/* How much an audit trail has; each level has all of those before it. */
enum entitle_level {
    ENTITLE_LEVEL_NONE,
    ENTITLE_LEVEL_LOGINS,
    ENTITLE_LEVEL_DENIALS, /* of items and posts */
    ENTITLE_LEVEL_POSTS,
    ENTITLE_LEVEL_ITEMS, /* opened, closed, and their permission data */
};

enum entitle_record_kind {
    ENTITLE_RECORD_LOGIN,
    ENTITLE_RECORD_REISSUE, /* a login again, with another proof or to pause */
    ENTITLE_RECORD_LOGOUT,
    ENTITLE_RECORD_OPEN,
    ENTITLE_RECORD_REVOKE, /* denied while it was open */
    ENTITLE_RECORD_CLOSE,
    ENTITLE_RECORD_LOCK, /* the item has these permission data from now on */
    ENTITLE_RECORD_POST,
    ENTITLE_RECORD_START,
    ENTITLE_RECORD_STOP,
    ENTITLE_RECORD_RELOAD,
    ENTITLE_RECORD_WITHHELD, /* updates that one may not have, on a stream that one may */
    ENTITLE_RECORD_ORDER,    /* of an operator: rmdsctl */
    ENTITLE_RECORD_SHADOW,   /* other rules, that are not in force, say something else */
    ENTITLE_RECORD_DRY_RUN,  /* denied by the rules, and not enforced */
    ENTITLE_RECORD_KINDS,
};

enum entitle_record_text {
    ENTITLE_TEXT_USER,
    ENTITLE_TEXT_APPLICATION, /* its id */
    ENTITLE_TEXT_POSITION,
    ENTITLE_TEXT_ADDRESS,
    ENTITLE_TEXT_TLS,  /* its version; "": the connection has none */
    ENTITLE_TEXT_CERT, /* the identity in the certificate of the client */
    ENTITLE_TEXT_BY,   /* of a login: the proof that was shown */
    ENTITLE_TEXT_SERVICE,
    ENTITLE_TEXT_ITEM,
    ENTITLE_TEXT_LOCK, /* permission data, as they came */
    ENTITLE_TEXT_WHY,
    ENTITLE_TEXT_RULE,  /* file:line that decided */
    ENTITLE_TEXT_ORDER, /* as it was given */
    ENTITLE_TEXT_WHO,   /* gave it */
    ENTITLE_TEXT_FILE,  /* of a reload, and its digest before and after it */
    ENTITLE_TEXT_WAS,
    ENTITLE_TEXT_NOW,
    ENTITLE_RECORD_TEXTS,
};

/* Views live for the call. What is empty, or 0, is not said. */
struct entitle_record {
    enum entitle_record_kind kind;
    enum entitle_level level; /* at which it is made */
    bool is_denied;
    bool is_snapshot; /* of an item: no updates, and no close */
    uint8_t domain;   /* of an item or a post */
    uint8_t code;     /* that the client was told, of a state or of a NAK */
    uint32_t session; /* a number for each connection of its worker */
    uint32_t count;   /* WITHHELD, and DRY_RUN of the same: updates */
    struct entitle_view text[ENTITLE_RECORD_TEXTS];
};

struct entitle_recorder {
    void (*put)(void *self, const struct entitle_record *record);
    /* False: nothing may begin that makes records of this level, for they may find no room. May be
     * NULL: always. */
    bool (*has_room)(void *self, enum entitle_level level);
    void *self;
    enum entitle_level level; /* records above it are not made */
};

#endif
