/* script.h - the language of fault scenarios: one statement a line, parsed into steps. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAULT_SCRIPT_H
#define FAULT_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* docs/fault.md describes the language. Every size is bounded; what is longer is an error. */
#define FAULT_SCRIPT_MAX   65536u /* bytes of a script */
#define FAULT_LINE_MAX     1000u
#define FAULT_STEPS_MAX    512u
#define FAULT_NAME_MAX     255u
#define FAULT_TEXT_MAX     200u
#define FAULT_NESTING_MAX  4u
#define FAULT_REPEAT_MAX   10000u
#define FAULT_RATE_MAX     1000000u
#define FAULT_PARTS_MAX    32u
#define FAULT_MERGE_MAX    10000u
#define FAULT_DURATION_MAX (3600ull * 1000000000ull)

/* Exit codes beside those of enum md_exit. */
enum fault_exit {
    FAULT_EXIT_WRONG = 10,       /* the application did not do what is correct */
    FAULT_EXIT_NOT_STARTED = 11, /* it could not be started */
    FAULT_EXIT_SKIPPED = 77,
};

enum fault_verb {
    FAULT_DELAY,
    FAULT_DICTIONARY,
    FAULT_DISCONNECT,
    FAULT_DOUBLE,
    FAULT_END,
    FAULT_EXPECT,
    FAULT_FORBID,
    FAULT_FORGET,
    FAULT_FRAME,
    FAULT_GAP,
    FAULT_ITEM,
    FAULT_LISTEN,
    FAULT_LOGIN,
    FAULT_LOSE,
    FAULT_MERGE,
    FAULT_PARTS,
    FAULT_REPEAT,
    FAULT_SAY,
    FAULT_SEND,
    FAULT_SERVICE,
    FAULT_SILENCE,
    FAULT_SWAP,
    FAULT_TOKEN,
    FAULT_UPDATES,
    FAULT_WAIT,
};

/* The words that `choice` of a step stands for, one list for each verb that has choices. */
enum fault_delayed {
    FAULT_DELAY_LOGIN,
    FAULT_DELAY_DIRECTORY,
    FAULT_DELAY_DICTIONARY,
    FAULT_DELAY_IMAGE
};
#define FAULT_DELAYED 4
enum fault_login {
    FAULT_LOGIN_ACCEPT,
    FAULT_LOGIN_REFUSE,
    FAULT_LOGIN_RECOVER,
    FAULT_LOGIN_IGNORE
};
/* The answer to a request for an item, and what is sent to its open streams. */
enum fault_answer {
    FAULT_IMAGE,
    FAULT_IGNORE, /* `item` only: no answer */
    FAULT_HALF,   /* `item` only: the first part of an image, then the connection ends */
    FAULT_STALE,
    FAULT_OK,
    FAULT_CLOSED,
    FAULT_RECOVER,
    FAULT_NOT_FOUND,
    FAULT_NOT_ENTITLED,
    FAULT_REDIRECT, /* to `text` */
    FAULT_UPDATE,   /* `send` only */
    FAULT_BROKEN,   /* `send` only: `kind` says how */
};
enum fault_service {
    FAULT_SERVICE_UP,
    FAULT_SERVICE_DOWN,
    FAULT_SERVICE_BUSY, /* up, but it accepts no requests */
    FAULT_SERVICE_GONE, /* not in the directory */
    FAULT_SERVICE_STALE,
    FAULT_SERVICE_OK,
};
enum fault_broken {
    FAULT_BROKEN_TRUNCATED,
    FAULT_BROKEN_HEADER,
    FAULT_BROKEN_CLASS,
    FAULT_BROKEN_CONTAINER,
    FAULT_BROKEN_COUNT,
    FAULT_BROKEN_LENGTH,
    FAULT_BROKEN_STREAM,
    FAULT_BROKEN_NOISE,
    FAULT_BROKEN_TINY,
};
#define FAULT_BROKEN_KINDS 9
/* Frames of the transport that no reader can take. */
enum fault_frame {
    FAULT_FRAME_SHORT,    /* shorter than its own header */
    FAULT_FRAME_LONG,     /* longer than any that was agreed on */
    FAULT_FRAME_FLAGS,    /* of no kind */
    FAULT_FRAME_PACKED,   /* a message in it reaches beyond its end */
    FAULT_FRAME_FRAGMENT, /* the middle of a message that has no beginning */
    FAULT_FRAME_NOISE,
    FAULT_FRAME_CUT, /* the connection ends within it */
};
#define FAULT_FRAME_KINDS 7

/* What a client does, as `expect` and `forbid` name it. */
enum fault_seen {
    FAULT_SEEN_CONNECT,
    FAULT_SEEN_DISCONNECT,
    FAULT_SEEN_LOGIN,
    FAULT_SEEN_LOGOUT,
    FAULT_SEEN_DIRECTORY,
    FAULT_SEEN_DICTIONARY,
    FAULT_SEEN_REQUEST,
    FAULT_SEEN_REISSUE,
    FAULT_SEEN_CLOSE,
    FAULT_SEEN_POST,
    FAULT_SEEN_PING,
    FAULT_SEEN_EXIT,
};
#define FAULT_SEEN_KINDS 12
/* Those with the name of an item or a user. */
#define FAULT_SEEN_NAMED                                                                           \
    (1u << FAULT_SEEN_LOGIN | 1u << FAULT_SEEN_REQUEST | 1u << FAULT_SEEN_REISSUE |                \
     1u << FAULT_SEEN_CLOSE | 1u << FAULT_SEEN_POST)

struct fault_step {
    uint8_t verb;   /* enum fault_verb */
    uint8_t choice; /* of the verb's words; on, off: 1, 0 */
    uint8_t kind;   /* send broken: enum fault_broken */
    bool has_number;
    uint16_t kinds; /* expect, forbid: a bit for each enum fault_seen */
    uint16_t line;
    uint16_t other;  /* repeat: its end; end: its repeat */
    uint32_t number; /* times, parts, rate, one in so many, exit code */
    uint64_t duration_ns;
    char name[FAULT_NAME_MAX + 1]; /* item (NAME, NAME*, *), service, version */
    char text[FAULT_TEXT_MAX + 1]; /* to say, of a state, the item to go to */
};

struct fault_script {
    struct fault_step steps[FAULT_STEPS_MAX];
    size_t count;
    char about[FAULT_TEXT_MAX + 1];
    char correct[3 * FAULT_TEXT_MAX + 1]; /* lines, joined by a blank */
    char skip[FAULT_TEXT_MAX + 1];        /* why it cannot be run; "": it can */
};

struct fault_script_error {
    unsigned line, column; /* from 1; column 0: the line as a whole */
    char text[200];
};

/* 0, or MD_ERR_MALFORMED with the error. */
int fault_script_parse(struct fault_script *script, const char *text, size_t length,
                       struct fault_script_error *error);

/* One statement, for live commands: no header line, no repeat and no end. MD_ERR_NOT_FOUND: blank
 * or a comment. */
int fault_step_parse(struct fault_step *step, const char *line, size_t length,
                     struct fault_script_error *error);

/* "*", "NAME*" or "NAME". */
bool fault_pattern_matches(const char *pattern, const char *name);

const char *fault_verb_name(enum fault_verb verb);
const char *fault_seen_name(enum fault_seen kind);

/* The grammar, a line for each statement: for the help. */
const char *fault_script_help(void);

#endif
