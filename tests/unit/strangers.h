/* strangers.h - a source to which publishers connect that nobody invited. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STRANGERS_H
#define STRANGERS_H

#include "core_pair.h"

#define STRANGERS 80
#define PATIENCE  (300 * PAIR_SEC)

struct bed;

struct stranger {
    struct bed *bed;
    uint32_t id;
    bool is_closed;
    int32_t stream_id; /* of the last message it was sent, as the following */
    uint8_t msg_class;
    struct rwf_state state;
    char text[128]; /* of the state */
    /* What its connection shows, and its login besides user and password; NULL: nothing. */
    struct srcdist_proof proof;
    const char *position, *token;
};

struct bed {
    struct pair pair;
    struct stranger strangers[STRANGERS];
};

int setup(void **state);
int setup_access(void **state);
int teardown(void **state);
const struct srcdist_core_stats *stats(const struct bed *bed);

/* ---- a publisher, number `n` ---- */

int arrive(struct bed *bed, unsigned n, enum srcdist_provider_kind kind, unsigned rank);
struct stranger *come(struct bed *bed, unsigned n);
/* Each has a host of its own unless it is named. */
struct stranger *come_from(struct bed *bed, unsigned n, unsigned host);
/* Comes, logs in as "feed", and offers a service. */
struct stranger *publisher(struct bed *bed, unsigned n, const char *service);
void go(struct stranger *s);
int offer_message(struct stranger *s, struct rwf_encoder *enc);
void log_in(struct stranger *s, const char *user, const char *password);
/* The services PREFIX first, first + 1, ..., whose ids are their numbers. */
void say_services(struct stranger *s, const char *prefix, unsigned first, unsigned count,
                  const char *vendor);
/* A refresh or an update of the item in its service 3. */
int say_item(struct stranger *s, uint8_t msg_class, int32_t stream_id, const char *name,
             uint32_t counter);
int say_named_update(struct stranger *s, int32_t stream_id, const char *name, uint32_t counter);
/* A status with the key of the item. */
int say_named_end(struct stranger *s, int32_t stream_id, const char *name, uint8_t stream_state);
int publish(struct stranger *s, const char *name);

/* ---- services, rules, consumers ---- */

bool is_known(const struct bed *bed, const char *name, struct srcdist_service_info *out);
bool is_up(const struct bed *bed, const char *name);
bool knows(const struct bed *bed, const char *name);
void set_rules(struct bed *bed, const char *text);
void open_item(struct pair_client *c, int32_t stream_id, const char *service, const char *name);

#endif
