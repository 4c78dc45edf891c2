/* test_netio_tls.c - certificates are read anew while other threads accept and dial. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/err.h"
#include "netio/stream.h"
#include "tls_files.h"

enum { RELOADS = 60, CONNECTIONS = 2000 };

struct fixture {
    struct tls_files files;
    struct net_tls *tls;
    struct net_listener *listener;
    _Atomic bool has_ended;
    int fd; /* of another server */
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct net_stream_options options = { 0 };
    char error[256];

    assert_non_null(f);
    assert_int_equal(tls_files_create(&f->files), 0);
    struct net_tls_config config = { .certificate = f->files.certificate,
                                     .key = f->files.key,
                                     .is_server = true };
    assert_int_equal(net_tls_create(&config, error, sizeof(error), &f->tls), MD_OK);
    options.tls = f->tls;
    assert_int_equal(net_tls_transport.listen(&options, "127.0.0.1", 0, &f->listener), MD_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    net_listener_close(f->listener);
    net_tls_destroy(f->tls);
    tls_files_remove(&f->files);
    free(f);
    return 0;
}

static void *reload_again_and_again(void *arg)
{
    struct fixture *f = arg;
    char error[256];

    for (int i = 0; i < RELOADS; i++)
        if (net_tls_reload(f->tls, error, sizeof(error)) != MD_OK)
            break;
    atomic_store(&f->has_ended, true);
    return NULL;
}

/* The other thread is in the middle of a reload again and again; ASan and TSan see the rest. */
static void connections_are_accepted_while_certificates_are_read_anew(void **state)
{
    struct fixture *f = *state;
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons(net_listener_port(f->listener)),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    pthread_t thread;
    int accepted = 0;

    assert_int_equal(pthread_create(&thread, NULL, reload_again_and_again, f), 0);
    for (int i = 0; i < CONNECTIONS && !atomic_load(&f->has_ended); i++) {
        struct net_stream *stream = NULL;
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
        int err = MD_ERR_AGAIN;
        while (err == MD_ERR_AGAIN)
            err = net_listener_accept(f->listener, &stream);
        assert_int_equal(err, MD_OK);
        (void)net_stream_ready(stream);
        net_stream_close(stream);
        close(fd);
        accepted++;
    }
    pthread_join(thread, NULL);
    assert_true(accepted > 0);
}

static void the_end_of_the_certificate_is_known(void **state)
{
    struct fixture *f = *state;
    int64_t now_s = (int64_t)time(NULL);
    int64_t ends_s = net_tls_expires(f->tls);

    assert_true(ends_s > now_s + 80000 && ends_s < now_s + 90000); /* a day */
}

/* Adds a list of revoked certificates of `issuer` to the file. */
static void add_list(FILE *file, const char *issuer, int64_t ends_s)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509_CRL *list = X509_CRL_new();
    X509_NAME *name = X509_NAME_new();
    ASN1_TIME *time = ASN1_TIME_set(NULL, ends_s - 3600);

    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)issuer, -1, -1, 0);
    X509_CRL_set_version(list, 1);
    X509_CRL_set_issuer_name(list, name);
    X509_CRL_set1_lastUpdate(list, time);
    ASN1_TIME_set(time, ends_s);
    X509_CRL_set1_nextUpdate(list, time);
    X509_CRL_sign(list, key, EVP_sha256());
    assert_int_equal(PEM_write_X509_CRL(file, list), 1);
    ASN1_TIME_free(time);
    X509_NAME_free(name);
    X509_CRL_free(list);
    EVP_PKEY_free(key);
}

static void the_lists_end_when_an_issuer_has_none_in_force(void **state)
{
    struct fixture *f = *state;
    int64_t now_s = (int64_t)time(NULL);
    struct net_tls_fresh *fresh;
    char path[300];
    char error[256];

    snprintf(path, sizeof(path), "%s/crl.pem", f->files.folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    add_list(file, "old and new", now_s + 1000);
    add_list(file, "old and new", now_s + 30000);
    add_list(file, "another", now_s + 20000);
    fclose(file);
    chmod(path, 0600);
    assert_int_equal(net_tls_crl_expires(f->tls), 0);
    assert_int_equal(net_tls_prepare(f->tls, path, error, sizeof(error), &fresh), MD_OK);
    net_tls_commit(fresh);
    assert_int_equal(net_tls_crl_expires(f->tls), now_s + 20000);
    assert_int_equal(net_tls_prepare(f->tls, NULL, error, sizeof(error), &fresh), MD_OK);
    net_tls_commit(fresh);
    assert_int_equal(net_tls_crl_expires(f->tls), 0);
    unlink(path);
}

/* A server that speaks TLS 1.2 and wants a certificate that the client does not have. */
static void *refuse_one(void *arg)
{
    struct fixture *f = arg;
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    int fd = accept(f->fd, NULL, NULL);
    SSL *ssl;

    SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_use_certificate_file(context, f->files.certificate, SSL_FILETYPE_PEM);
    SSL_CTX_use_PrivateKey_file(context, f->files.key, SSL_FILETYPE_PEM);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    ssl = SSL_new(context);
    SSL_set_fd(ssl, fd);
    (void)SSL_accept(ssl);
    shutdown(fd, SHUT_WR);
    while (read(fd, &(char){ 0 }, 1) > 0)
        ;
    close(fd);
    SSL_free(ssl);
    SSL_CTX_free(context);
    return NULL;
}

static void a_client_that_takes_any_certificate_is_told_the_true_cause(void **state)
{
    struct fixture *f = *state;
    struct net_tls_config config = { .skip_verify = true };
    struct net_stream_options options = { 0 };
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof(at);
    struct net_stream *stream = NULL;
    struct net_tls *tls;
    pthread_t thread;
    char error[256];
    int err;

    f->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(f->fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(f->fd, 1), 0);
    assert_int_equal(getsockname(f->fd, (struct sockaddr *)&at, &length), 0);
    assert_int_equal(pthread_create(&thread, NULL, refuse_one, f), 0);
    assert_int_equal(net_tls_create(&config, error, sizeof(error), &tls), MD_OK);
    options.tls = tls;
    assert_int_equal(net_tls_transport.dial(&options, "127.0.0.1", ntohs(at.sin_port), &stream),
                     MD_OK);
    while ((err = net_stream_ready(stream)) == MD_ERR_AGAIN) {
        bool writes = net_stream_wants(stream, false) & NET_WRITABLE;
        struct pollfd poll_fd = { .fd = net_stream_descriptor(stream),
                                  .events = (short)(writes ? POLLOUT : POLLIN) };
        assert_int_equal(poll(&poll_fd, 1, 60000), 1);
    }
    assert_int_equal(err, MD_ERR_SYS);
    assert_null(strstr(net_stream_error(stream), "self"));
    assert_non_null(strstr(net_stream_error(stream), "handshake failure"));
    net_stream_close(stream);
    pthread_join(thread, NULL);
    net_tls_destroy(tls);
    close(f->fd);
}

static void a_list_of_ciphers_that_names_none_is_refused(void **state)
{
    struct fixture *f = *state;
    struct net_tls_config config = { .certificate = f->files.certificate,
                                     .key = f->files.key,
                                     .ciphers = "NO-SUCH-CIPHER",
                                     .is_server = true };
    struct net_tls *tls;
    char error[256];

    assert_int_equal(net_tls_create(&config, error, sizeof(error), &tls), MD_ERR_SYS);
    assert_non_null(strstr(error, "ciphers"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(connections_are_accepted_while_certificates_are_read_anew,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_end_of_the_certificate_is_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_lists_end_when_an_issuer_has_none_in_force, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_client_that_takes_any_certificate_is_told_the_true_cause,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_list_of_ciphers_that_names_none_is_refused, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
