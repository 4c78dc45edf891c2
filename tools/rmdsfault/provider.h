/* provider.h - the port of the server: connections on a loop, and the engine that decides. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAULT_PROVIDER_H
#define FAULT_PROVIDER_H

#include "base/loop.h"
#include "client/session.h"
#include "engine.h"
#include "link.h"
#include "rmds/rwf_dictionary.h"
#include "wire.h"

#define FAULT_MESSAGE_MAX 65536u

struct provider;

struct conn {
    struct provider *provider;
    struct conn *next;
    struct link *link;
    struct rssl_outq *outq; /* once it is open */
    unsigned number;        /* of the engine */
    int32_t login_stream, directory_stream;
    bool is_doomed; /* it ends; the engine knows it no more */
    bool is_unflushed;
    char user[128];
};

struct provider_config {
    const char *address;
    uint16_t port;
    uint8_t ping_s;         /* the silence after which a connection is dead */
    const char *dictionary; /* folder, or NULL */
    const char *const *services;
    size_t service_count;
    const struct fault_script *script;
    bool is_live, is_verbose;
    /* SAY, STEP and DONE of the engine, and what ends everything: `code` of enum md_exit. */
    void (*on_word)(void *owner, const struct fault_action *action);
    void (*on_trouble)(void *owner, int code);
    void *owner;
};

struct provider {
    struct provider_config config;
    struct md_loop *loop;
    struct client_context *context;
    struct wire *wire;
    struct net_listener *listener;
    struct md_loop_fd *watch;
    struct md_loop_timer *timer, *hangups; /* what the engine waits for; ends during silence */
    struct rwf_dictionary *dictionary;
    struct fault_engine *engine;
    struct conn *conns;
    struct conn *numbers[FAULT_CLIENTS_MAX];
    bool is_silent;
    uint8_t message[FAULT_MESSAGE_MAX];
};

/* MD_OK, or an exit code of enum md_exit after it has said why. config.port becomes the port. */
int provider_start(struct provider *provider, const struct provider_config *config);
void provider_go(struct provider *provider); /* the first statement */
void provider_stop(struct provider *provider);
void provider_exited(struct provider *provider, uint8_t code); /* the application */
int provider_push(struct provider *provider, const struct fault_step *step);
size_t provider_clients(const struct provider *provider);

/* answers.c: what is sent. False: the output of the connection is full. */
bool fault_answer(struct conn *conn, const struct fault_action *action);
void fault_batch_done(struct conn *conn, int32_t stream_id, uint8_t domain);
void fault_post_done(struct conn *conn, const struct rwf_msg *msg);

#endif
