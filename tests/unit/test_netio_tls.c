/* test_netio_tls.c - certificates are read anew while other threads accept and dial. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
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
        cmocka_unit_test_setup_teardown(a_list_of_ciphers_that_names_none_is_refused, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
