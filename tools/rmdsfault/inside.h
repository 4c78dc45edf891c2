/* inside.h - the engine: what its parts know of each other. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAULT_INSIDE_H
#define FAULT_INSIDE_H

#include "base/table.h"
#include "engine.h"

struct stream {
    struct {
        uint32_t client;
        int32_t id;
    } key;
    size_t at;       /* place in engine->open */
    uint64_t due_ns; /* of the next part of an image; FAULT_NEVER: none is due */
    uint32_t part, parts;
    uint32_t count; /* updates made */
    uint16_t service_id;
    uint8_t domain;
    bool has_image, is_streaming, is_private, is_half, is_solicited;
    bool wants_info, is_merged; /* it was told that updates are merged */
    char name[FAULT_NAME_MAX + 1];
};

struct client {
    bool is_there, is_logged_in, has_directory;
    int32_t directory_stream;
    uint32_t directory_filter;
    int32_t login_stream;
    uint64_t token_ends_ns;       /* 0: never */
    int32_t dictionary_stream[3]; /* by type; 0: not open */
};

/* An answer that waits. */
struct late {
    uint64_t due_ns;
    struct fault_action action;
};

struct rule {
    char pattern[FAULT_NAME_MAX + 1];
    char to[FAULT_TEXT_MAX + 1];
    uint8_t answer; /* enum fault_answer */
};

struct seen {
    enum fault_seen kind;
    uint8_t code;
    bool is_taken; /* an `expect` was content with it */
    char name[FAULT_NAME_MAX + 1];
};

struct play {
    size_t next;     /* statement */
    bool is_waiting; /* for it */
    bool is_over;
    bool has_exited; /* the application */
    uint8_t exit_code;
    uint64_t until_ns; /* while it waits */
    uint32_t found;    /* events that fit, while it waits */
    uint64_t mark;     /* number of the first event after the last order */
    size_t depth;
    uint32_t left[FAULT_NESTING_MAX];
};

struct fault_engine {
    fault_act_fn act;
    void *owner;
    bool is_live;
    struct fault_script script;
    struct play play;
    struct fault_engine_stats stats;

    struct fault_service_state services[FAULT_SERVICES_MAX];
    size_t service_count;
    struct client clients[FAULT_CLIENTS_MAX];
    struct md_table *table; /* key -> stream */
    struct stream *streams; /* the pool */
    struct stream **open;   /* first those in use, then the free ones */
    size_t open_count;
    size_t due_count; /* streams with a part due */
    size_t cursor;    /* whose update is next */

    enum fault_login login;
    char login_text[FAULT_TEXT_MAX + 1];
    struct rule rules[FAULT_RULES_MAX];
    size_t rule_count;
    uint64_t delay_ns[FAULT_DELAYED];
    uint64_t gap_ns;
    uint32_t parts;
    uint32_t rate, lose, twice, swap, merge;
    uint64_t token_ns; /* so long a login is good; 0: for ever */
    uint64_t update_ns, ticked_ns;

    struct late late[FAULT_LATE_MAX];
    size_t late_count;
    struct seen seen[FAULT_SEEN_MAX]; /* event number N in slot N modulo the size */
    uint64_t seen_count;
};

/* seen.c: what clients did, and whether that is what a statement names */
struct seen *fault_seen_add(struct fault_engine *engine, const struct fault_event *event,
                            enum fault_seen kind);
bool fault_seen_fits(const struct seen *seen, const struct fault_step *step);
/* Takes up to `most` events from number `from` on; returns how many. */
uint32_t fault_seen_take(struct fault_engine *engine, uint64_t from, const struct fault_step *step,
                         uint32_t most);
/* "2 connect, 1 login", or "nothing" */
void fault_seen_describe(const struct fault_engine *engine, uint64_t from, char *out, size_t size);

/* clients.c: connections, and the answers that have a client */
void fault_must(struct fault_engine *engine, const struct fault_action *action);
void fault_drop(struct fault_engine *engine, unsigned client);
void fault_forget(struct fault_engine *engine, unsigned client);
void fault_answer_login(struct fault_engine *engine, uint64_t now_ns,
                        const struct fault_event *event);
void fault_answer_directory(struct fault_engine *engine, uint64_t now_ns,
                            const struct fault_event *event);
void fault_answer_dictionary(struct fault_engine *engine, uint64_t now_ns,
                             const struct fault_event *event);
void fault_late_run(struct fault_engine *engine, uint64_t now_ns);
void fault_tokens_run(struct fault_engine *engine, uint64_t now_ns);
uint64_t fault_tokens_deadline(const struct fault_engine *engine);
void fault_frame_order(struct fault_engine *engine, const struct fault_step *step);
void fault_service_order(struct fault_engine *engine, const struct fault_step *step);
void fault_dictionary_order(struct fault_engine *engine, const struct fault_step *step);

/* streams.c: items */
struct stream *fault_stream_find(const struct fault_engine *engine, unsigned client, int32_t id);
void fault_stream_remove(struct fault_engine *engine, struct stream *stream);
void fault_stream_request(struct fault_engine *engine, uint64_t now_ns,
                          const struct fault_event *event);
void fault_item_order(struct fault_engine *engine, const struct fault_step *step);
void fault_send_order(struct fault_engine *engine, uint64_t now_ns, const struct fault_step *step);
void fault_images_run(struct fault_engine *engine, uint64_t now_ns);
void fault_updates_run(struct fault_engine *engine, uint64_t now_ns);

/* play.c: the script */
void fault_play_event(struct fault_engine *engine, struct seen *seen);
void fault_play(struct fault_engine *engine, uint64_t now_ns);

#endif
