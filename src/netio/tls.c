/* tls.c - TLS over another stream, with OpenSSL. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "stream_private.h"
#include "tls_context.h"

struct net_tls {
    struct net_tls_config config; /* strings are ours */
    pthread_mutex_t lock;         /* of `context`: one thread reloads, others accept and dial */
    SSL_CTX *context;
    BIO_METHOD *bio_method;
};

/* The files as they were read anew, not in force yet. */
struct net_tls_fresh {
    struct net_tls *tls;
    SSL_CTX *context;
    char *crl;
};

struct tls_stream {
    struct net_stream base;
    struct net_stream *inner;
    SSL *ssl;
    char refused[80]; /* the subject of the certificate that was not accepted */
    bool established;
    bool wants_write; /* TLS has to write before it can go on */
    bool peer_closed;
};

struct tls_listener {
    struct net_listener base;
    struct net_listener *inner;
    struct net_tls *tls;
};

static struct tls_stream *tls_of(struct net_stream *stream)
{
    return (struct tls_stream *)(void *)stream;
}

/* The inner stream as OpenSSL's source and sink, so that no call of its own meets the socket. */

static int bio_write(BIO *bio, const char *bytes, int length)
{
    struct tls_stream *stream = BIO_get_data(bio);
    struct md_slice slice = { .bytes = (const uint8_t *)bytes, .length = (size_t)length };
    int64_t n = net_stream_write(stream->inner, &slice, 1);

    BIO_clear_retry_flags(bio);
    if (n == 0) {
        BIO_set_retry_write(bio);
        return -1;
    }
    return n > 0 ? (int)n : -1;
}

static int bio_read(BIO *bio, char *bytes, int size)
{
    struct tls_stream *stream = BIO_get_data(bio);
    int64_t n = net_stream_read(stream->inner, (uint8_t *)bytes, (size_t)size);

    BIO_clear_retry_flags(bio);
    if (n == MD_ERR_AGAIN)
        BIO_set_retry_read(bio);
    if (n == MD_ERR_CLOSED)
        stream->peer_closed = true;
    return n > 0 ? (int)n : n == MD_ERR_CLOSED ? 0 : -1;
}

static long bio_control(BIO *bio, int command, long number, void *pointer)
{
    struct tls_stream *stream = BIO_get_data(bio);

    (void)number;
    (void)pointer;
    if (command == BIO_CTRL_FLUSH)
        return 1;
    if (command == BIO_CTRL_EOF)
        return stream && stream->peer_closed;
    return 0;
}

static int bio_create(BIO *bio)
{
    BIO_set_init(bio, 1);
    return 1;
}

static BIO_METHOD *make_bio_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "net_stream");

    if (!method)
        return NULL;
    BIO_meth_set_write(method, bio_write);
    BIO_meth_set_read(method, bio_read);
    BIO_meth_set_ctrl(method, bio_control);
    BIO_meth_set_create(method, bio_create);
    return method;
}

static int fail(struct tls_stream *stream, const char *what)
{
    bool verifies = SSL_get_verify_mode(stream->ssl) & SSL_VERIFY_PEER; /* else nobody minds */
    long verified = verifies ? SSL_get_verify_result(stream->ssl) : X509_V_OK;

    if (verified != X509_V_OK && !stream->established)
        snprintf(stream->base.error, sizeof(stream->base.error), "TLS: %s%s%s",
                 X509_verify_cert_error_string(verified), stream->refused[0] ? ": " : "",
                 stream->refused);
    else if (stream->inner->error[0])
        snprintf(stream->base.error, sizeof(stream->base.error), "%s", stream->inner->error);
    else
        tls_describe(stream->base.error, sizeof(stream->base.error), what);
    ERR_clear_error();
    return MD_ERR_SYS;
}

/* Translates the error of an OpenSSL call that did not succeed. */
static int outcome(struct tls_stream *stream, int result, const char *what)
{
    int error = SSL_get_error(stream->ssl, result);

    stream->wants_write = error == SSL_ERROR_WANT_WRITE;
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
        return MD_ERR_AGAIN;
    if (error == SSL_ERROR_ZERO_RETURN || (stream->peer_closed && stream->established)) {
        ERR_clear_error();
        return MD_ERR_CLOSED;
    }
    if (stream->peer_closed)
        what = "TLS: the peer closed during the handshake";
    return fail(stream, what);
}

static void tls_close(struct net_stream *base)
{
    struct tls_stream *stream = tls_of(base);

    SSL_free(stream->ssl);
    net_stream_close(stream->inner);
    free(stream);
    ERR_clear_error();
}

static int tls_ready(struct net_stream *base)
{
    struct tls_stream *stream = tls_of(base);

    if (stream->established)
        return MD_OK;
    int rc = net_stream_ready(stream->inner);
    if (rc != MD_OK) {
        snprintf(base->error, sizeof(base->error), "%s", stream->inner->error);
        return rc;
    }
    ERR_clear_error();
    int result = SSL_do_handshake(stream->ssl);
    if (result != 1)
        return outcome(stream, result, "TLS handshake");
    stream->established = true;
    stream->wants_write = false;
    snprintf(base->peer, sizeof(base->peer), "%.50s %s", stream->inner->peer,
             SSL_get_version(stream->ssl));
    return MD_OK;
}

static int64_t tls_read(struct net_stream *base, uint8_t *bytes, size_t size)
{
    struct tls_stream *stream = tls_of(base);
    size_t filled = 0;
    int rc = tls_ready(base);

    if (rc != MD_OK)
        return rc;
    /* A record has 16 KB at most; take what there is, to make batches as large as without TLS. */
    while (filled < size) {
        size_t n = 0;
        ERR_clear_error();
        int result = SSL_read_ex(stream->ssl, bytes + filled, size - filled, &n);
        if (result != 1) {
            rc = outcome(stream, result, "TLS read");
            return filled ? (int64_t)filled : rc;
        }
        filled += n;
    }
    return (int64_t)filled;
}

static int64_t tls_write(struct net_stream *base, const struct md_slice *slices, size_t count)
{
    struct tls_stream *stream = tls_of(base);
    int64_t total = 0;
    int rc = tls_ready(base);

    if (rc != MD_OK)
        return rc == MD_ERR_AGAIN ? 0 : rc;
    for (size_t i = 0; i < count; i++) {
        size_t done = 0;
        while (done < slices[i].length) {
            size_t n = 0;
            ERR_clear_error();
            int result =
                SSL_write_ex(stream->ssl, slices[i].bytes + done, slices[i].length - done, &n);
            if (result != 1) {
                rc = outcome(stream, result, "TLS write");
                return total > 0 || rc == MD_ERR_AGAIN ? total : rc;
            }
            done += n;
            total += (int64_t)n;
        }
    }
    stream->wants_write = false;
    return total;
}

static void tls_shutdown(struct net_stream *base)
{
    struct tls_stream *stream = tls_of(base);

    if (stream->established)
        (void)SSL_shutdown(stream->ssl); /* one-sided; an error matters to nobody any more */
    ERR_clear_error();
    net_stream_shutdown(stream->inner);
}

static int tls_descriptor(const struct net_stream *base)
{
    return net_stream_descriptor(((const struct tls_stream *)(const void *)base)->inner);
}

static unsigned tls_wants(const struct net_stream *base, bool has_output)
{
    const struct tls_stream *stream = (const struct tls_stream *)(const void *)base;
    bool write = stream->wants_write || (has_output && stream->established);

    return net_stream_wants(stream->inner, write);
}

static unsigned tls_poll(struct net_stream *base)
{
    struct tls_stream *stream = tls_of(base);
    unsigned inner = net_stream_poll(stream->inner);

    return inner | (stream->established && SSL_has_pending(stream->ssl) ? NET_READABLE : 0);
}

static int tls_next(struct net_stream *base, const struct net_stream_options *options,
                    const char *host, struct net_stream **out)
{
    struct net_stream *inner;
    int rc = net_stream_next(tls_of(base)->inner, options, host, &inner);

    if (rc != MD_OK)
        return rc;
    return net_tls_wrap(options->tls, inner, options->tls_host ? options->tls_host : host, out);
}

static bool tls_peer_identity(const struct net_stream *base, enum net_identity which, char *out,
                              int64_t *expires_s)
{
    const struct tls_stream *stream = (const struct tls_stream *)(const void *)base;

    return stream->established && tls_identity(stream->ssl, which, out, expires_s);
}

static bool tls_peer_serial(const struct net_stream *base, char *out)
{
    const struct tls_stream *stream = (const struct tls_stream *)(const void *)base;

    return stream->established && tls_serial(stream->ssl, out);
}

static const struct net_stream_ops stream_ops = {
    .transport = "tls",
    .close = tls_close,
    .ready = tls_ready,
    .read = tls_read,
    .write = tls_write,
    .shutdown = tls_shutdown,
    .descriptor = tls_descriptor,
    .wants = tls_wants,
    .poll = tls_poll,
    .next = tls_next,
    .identity = tls_peer_identity,
    .serial = tls_peer_serial,
};

static int set_name(SSL *ssl, const char *name)
{
    uint8_t address[16];
    char host[256]; /* the call below takes no const */

    if (inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name);
    snprintf(host, sizeof(host), "%s", name);
    return SSL_set_tlsext_host_name(ssl, host) == 1 && SSL_set1_host(ssl, host) == 1;
}

/* Keeps the name of a certificate that is refused, for the log line; changes nothing. */
static int note_refused(int is_good, X509_STORE_CTX *verification)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct tls_stream *stream = ssl ? SSL_get_app_data(ssl) : NULL;
    X509 *certificate = X509_STORE_CTX_get_current_cert(verification);

    if (!is_good && stream && certificate)
        (void)X509_NAME_oneline(X509_get_subject_name(certificate), stream->refused,
                                sizeof(stream->refused));
    return is_good;
}

/* The connection holds the context, so the lock is only about taking it. */
static SSL *new_connection(struct net_tls *tls)
{
    pthread_mutex_lock(&tls->lock);
    SSL *ssl = SSL_new(tls->context);
    pthread_mutex_unlock(&tls->lock);
    return ssl;
}

int net_tls_wrap(struct net_tls *tls, struct net_stream *inner, const char *name,
                 struct net_stream **out)
{
    struct tls_stream *stream = calloc(1, sizeof(*stream));
    SSL *ssl = new_connection(tls);
    BIO *bio = BIO_new(tls->bio_method);

    *out = NULL;
    if (!stream || !ssl || !bio || (name && !set_name(ssl, name))) {
        SSL_free(ssl);
        BIO_free(bio);
        free(stream);
        net_stream_close(inner);
        return MD_ERR_NOMEM;
    }
    stream->base.ops = &stream_ops;
    memcpy(stream->base.peer, inner->peer, sizeof(stream->base.peer));
    stream->inner = inner;
    stream->ssl = ssl;
    BIO_set_data(bio, stream);
    SSL_set_app_data(ssl, stream);
    SSL_set_verify(ssl, SSL_get_verify_mode(ssl), note_refused);
    SSL_set_bio(ssl, bio, bio);
    if (tls->config.is_server)
        SSL_set_accept_state(ssl);
    else
        SSL_set_connect_state(ssl);
    *out = &stream->base;
    return MD_OK;
}

static int tls_dial(const struct net_stream_options *options, const char *host, uint16_t port,
                    struct net_stream **out)
{
    struct net_stream *inner;
    int rc = options->tls ? net_tcp_transport.dial(options, host, port, &inner) : MD_ERR_STATE;

    *out = NULL;
    if (rc != MD_OK)
        return rc;
    return net_tls_wrap(options->tls, inner, options->tls_host ? options->tls_host : host, out);
}

static int tls_accept(struct net_listener *base, struct net_stream **out)
{
    struct tls_listener *listener = (struct tls_listener *)(void *)base;
    struct net_stream *inner;
    int rc = net_listener_accept(listener->inner, &inner);

    *out = NULL;
    return rc == MD_OK ? net_tls_wrap(listener->tls, inner, NULL, out) : rc;
}

static int tls_listener_descriptor(const struct net_listener *base)
{
    return net_listener_descriptor(((const struct tls_listener *)(const void *)base)->inner);
}

static uint16_t tls_listener_port(const struct net_listener *base)
{
    return net_listener_port(((const struct tls_listener *)(const void *)base)->inner);
}

static void tls_listener_close(struct net_listener *base)
{
    struct tls_listener *listener = (struct tls_listener *)(void *)base;

    net_listener_close(listener->inner);
    free(listener);
}

static const struct net_listener_ops listener_ops = {
    .accept = tls_accept,
    .descriptor = tls_listener_descriptor,
    .port = tls_listener_port,
    .close = tls_listener_close,
};

static int tls_listen(const struct net_stream_options *options, const char *host, uint16_t port,
                      struct net_listener **out)
{
    struct tls_listener *listener = calloc(1, sizeof(*listener));
    int rc = MD_ERR_NOMEM;

    *out = NULL;
    if (listener)
        rc = options->tls ? net_tcp_transport.listen(options, host, port, &listener->inner)
                          : MD_ERR_STATE;
    if (rc != MD_OK) {
        free(listener);
        return rc;
    }
    listener->base.ops = &listener_ops;
    listener->tls = options->tls;
    *out = &listener->base;
    return MD_OK;
}

const struct net_transport net_tls_transport = {
    .name = "tls",
    .dial = tls_dial,
    .listen = tls_listen,
};

static char *copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

int net_tls_create(const struct net_tls_config *config, char *error, size_t error_size,
                   struct net_tls **out)
{
    struct net_tls *tls = calloc(1, sizeof(*tls));

    *out = NULL;
    if (!tls)
        return MD_ERR_NOMEM;
    tls->config = *config;
    tls->config.certificate = copy(config->certificate);
    tls->config.key = copy(config->key);
    tls->config.ca = copy(config->ca);
    tls->config.ciphers = copy(config->ciphers);
    tls->config.crl = copy(config->crl);
    pthread_mutex_init(&tls->lock, NULL);
    tls->bio_method = make_bio_method();
    int rc = tls_context_create(config, error, error_size, &tls->context);
    if (rc == MD_OK && !tls->bio_method)
        rc = MD_ERR_NOMEM;
    if (rc != MD_OK) {
        net_tls_destroy(tls);
        return rc;
    }
    *out = tls;
    return MD_OK;
}

int net_tls_prepare(struct net_tls *tls, const char *crl, char *error, size_t error_size,
                    struct net_tls_fresh **out)
{
    struct net_tls_fresh *fresh = calloc(1, sizeof(*fresh));
    struct net_tls_config config = tls->config;

    *out = NULL;
    config.crl = crl && crl[0] ? crl : NULL;
    if (!fresh || (config.crl && !(fresh->crl = strdup(crl)))) {
        snprintf(error, error_size, "no memory");
        free(fresh);
        return MD_ERR_NOMEM;
    }
    fresh->tls = tls;
    int rc = tls_context_create(&config, error, error_size, &fresh->context);
    if (rc != MD_OK) {
        net_tls_discard(fresh);
        return rc;
    }
    *out = fresh;
    return MD_OK;
}

void net_tls_commit(struct net_tls_fresh *fresh)
{
    struct net_tls *tls = fresh->tls;
    SSL_CTX *old;

    pthread_mutex_lock(&tls->lock);
    old = tls->context;
    tls->context = fresh->context;
    pthread_mutex_unlock(&tls->lock);
    SSL_CTX_free(old); /* connections made with it hold it themselves */
    free((char *)(uintptr_t)tls->config.crl);
    tls->config.crl = fresh->crl;
    free(fresh);
}

void net_tls_discard(struct net_tls_fresh *fresh)
{
    SSL_CTX_free(fresh->context);
    free(fresh->crl);
    free(fresh);
}

int net_tls_reload(struct net_tls *tls, char *error, size_t error_size)
{
    struct net_tls_fresh *fresh;
    int rc = net_tls_prepare(tls, tls->config.crl, error, error_size, &fresh);

    if (rc == MD_OK)
        net_tls_commit(fresh);
    return rc;
}

int64_t net_tls_expires(struct net_tls *tls)
{
    pthread_mutex_lock(&tls->lock);
    int64_t seconds = tls_context_expires(tls->context);
    pthread_mutex_unlock(&tls->lock);
    return seconds;
}

int64_t net_tls_crl_expires(struct net_tls *tls)
{
    pthread_mutex_lock(&tls->lock);
    int64_t seconds = tls_context_crl_expires(tls->context);
    pthread_mutex_unlock(&tls->lock);
    return seconds;
}

void net_tls_destroy(struct net_tls *tls)
{
    if (!tls)
        return;
    SSL_CTX_free(tls->context);
    BIO_meth_free(tls->bio_method);
    free((char *)(uintptr_t)tls->config.certificate);
    free((char *)(uintptr_t)tls->config.key);
    free((char *)(uintptr_t)tls->config.ca);
    free((char *)(uintptr_t)tls->config.ciphers);
    free((char *)(uintptr_t)tls->config.crl);
    pthread_mutex_destroy(&tls->lock);
    free(tls);
}
