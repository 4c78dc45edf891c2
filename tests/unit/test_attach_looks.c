/* test_attach_looks.c - an attachment that looks for a while before it asks to be woken; rrcpd is
 * played. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/attach.h"
#include "attach/shm.h"
#include "base/err.h"

enum { RING = 65536, INBOUND = 1 << 17, BUSY_NS = 200000, EVENTS = 8 };

static const uint64_t self = 77, peer = 78;

/* The test plays rrcpd, which has this for its one user. */
struct played {
    char run_dir[32];
    char socket_dir[96];
    char path[108];
    int listen_fd, user_fd, pipe[2], bell_fd, outbound_fd;
    struct attach_inbound_writer *inbound;
    struct attach_outbound_map *outbound;
    struct attach *user;
    uint64_t now_ns, seq;
};

static void listen_at(struct played *p)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    snprintf(p->run_dir, sizeof(p->run_dir), "/tmp/rmdsXXXXXX");
    assert_non_null(mkdtemp(p->run_dir));
    snprintf(p->socket_dir, sizeof(p->socket_dir), "%s/rrcpd.net1.1", p->run_dir);
    assert_int_equal(mkdir(p->socket_dir, 0700), 0);
    assert_int_equal(attach_socket_path(p->path, sizeof(p->path), p->run_dir, "net1", "1"), 0);
    memcpy(address.sun_path, p->path, sizeof(address.sun_path));
    p->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(p->listen_fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(p->listen_fd, 1), 0);
}

static void make_rings(struct played *p)
{
    struct attach_inbound_config config = {
        .size = INBOUND, .lag_max = INBOUND / 2, .session = self, .message_max = 4096
    };

    assert_int_equal(attach_inbound_create(&config, &p->inbound), 0);
    assert_int_equal(attach_outbound_create(RING, &p->outbound_fd, &p->outbound), 0);
    assert_int_equal(pipe(p->pipe), 0);
    p->bell_fd = eventfd(0, EFD_CLOEXEC);
}

static void accept_user(struct played *p)
{
    struct attach_request request;
    struct stat inbound;
    int fds[ATTACH_FD_COUNT] = { attach_inbound_fd(p->inbound), p->outbound_fd, p->pipe[0],
                                 p->bell_fd };

    p->user_fd = accept(p->listen_fd, NULL, NULL);
    assert_int_equal(recv(p->user_fd, &request, sizeof(request), 0), sizeof(request));
    assert_int_equal(fstat(fds[ATTACH_FD_INBOUND], &inbound), 0);
    struct attach_reply reply = { .magic = ATTACH_PROTOCOL_MAGIC,
                                  .version = ATTACH_SHM_VERSION,
                                  .port = 1,
                                  .session = self,
                                  .inbound_bytes = (uint64_t)inbound.st_size,
                                  .outbound_bytes = RING };
    alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(fds))] = { 0 };
    struct iovec iov = { &reply, sizeof(reply) };
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
    };
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    *head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(fds)),
                              .cmsg_level = SOL_SOCKET,
                              .cmsg_type = SCM_RIGHTS };
    memcpy(CMSG_DATA(head), fds, sizeof(fds));
    assert_int_equal(sendmsg(p->user_fd, &message, 0), sizeof(reply));
}

static int look(struct played *p)
{
    struct backbone_event events[EVENTS];

    return attach_poll(p->user, p->now_ns, events, EVENTS);
}

static void attach_one(struct played *p, uint64_t busy_poll_ns)
{
    struct attach_config config = { .network = "net1",
                                    .rrcpd_instance = "1",
                                    .run_dir = p->run_dir,
                                    .outbound_bytes = RING,
                                    .busy_poll_ns = busy_poll_ns };

    assert_int_equal(attach_open(&config, &p->user), 0);
    p->now_ns = 1000000000;
    assert_int_equal(look(p), 0); /* asks */
    accept_user(p);
    while (look(p) > 0)
        ;
}

static void hear_one(struct played *p)
{
    struct backbone_event event = { .type = BACKBONE_MESSAGE,
                                    .session = peer,
                                    .seq = ++p->seq,
                                    .topic = 4096,
                                    .bytes = (const uint8_t *)"x",
                                    .length = 1 };

    attach_inbound_put(p->inbound, &event);
    attach_inbound_publish(p->inbound);
}

static bool asks_to_be_woken(const struct played *p)
{
    return atomic_load(&p->outbound->reader_sleeps) != ATTACH_SLEEP_NOT;
}

static int setup(void **state)
{
    struct played *p = calloc(1, sizeof(*p));

    listen_at(p);
    make_rings(p);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct played *p = *state;
    const int fds[] = {
        p->listen_fd, p->user_fd, p->pipe[0], p->pipe[1], p->bell_fd, p->outbound_fd
    };

    attach_close(p->user);
    attach_inbound_destroy(p->inbound);
    munmap(p->outbound, attach_outbound_map_bytes(RING));
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        close(fds[i]);
    unlink(p->path);
    rmdir(p->socket_dir);
    rmdir(p->run_dir);
    free(p);
    return 0;
}

static void without_it_the_first_look_for_nothing_asks(void **state)
{
    struct played *p = *state;

    attach_one(p, 0);
    assert_true(asks_to_be_woken(p));
    assert_true(attach_deadline(p->user) > p->now_ns);
}

static void it_looks_for_as_long_as_it_is_told_to(void **state)
{
    struct played *p = *state;

    attach_one(p, BUSY_NS);
    assert_false(asks_to_be_woken(p));
    assert_true(attach_deadline(p->user) <= p->now_ns);
    p->now_ns += BUSY_NS - 1;
    assert_int_equal(look(p), 0);
    assert_false(asks_to_be_woken(p));
    p->now_ns += 1;
    assert_int_equal(look(p), 0);
    assert_true(asks_to_be_woken(p));
    assert_true(attach_deadline(p->user) > p->now_ns);
}

static void what_comes_is_seen_and_begins_the_time_anew(void **state)
{
    struct played *p = *state;

    attach_one(p, BUSY_NS);
    for (int i = 0; i < 5; i++) {
        p->now_ns += BUSY_NS - 1;
        hear_one(p);
        assert_int_equal(look(p), 1);
        assert_int_equal(look(p), 0);
        assert_false(asks_to_be_woken(p));
        assert_true(attach_deadline(p->user) <= p->now_ns);
    }
    p->now_ns += BUSY_NS;
    assert_int_equal(look(p), 0);
    assert_true(asks_to_be_woken(p));
    hear_one(p); /* and it wakes up as ever */
    assert_int_equal(look(p), 1);
}

static bool is_readable(const struct played *p)
{
    struct pollfd fd = { .fd = attach_fd(p->user), .events = POLLIN };

    return poll(&fd, 1, 0) > 0;
}

/* As rrcpd does it. */
static void wake(struct played *p)
{
    hear_one(p);
    assert_int_not_equal(atomic_exchange(&p->outbound->reader_sleeps, 0), 0);
    assert_int_equal(write(p->pipe[1], "", 1), 1);
}

static void what_woke_it_is_read_before_it_looks(void **state)
{
    struct played *p = *state;

    attach_one(p, BUSY_NS);
    p->now_ns += BUSY_NS;
    assert_int_equal(look(p), 0);
    wake(p);
    assert_true(is_readable(p));
    assert_int_equal(look(p), 1);
    assert_int_equal(look(p), 0);
    assert_false(asks_to_be_woken(p));
    assert_false(is_readable(p));
}

static void a_look_can_be_ended_before_its_time(void **state)
{
    struct played *p = *state;

    attach_one(p, BUSY_NS);
    assert_true(attach_end_look(p->user)); /* it has to be polled before any sleep */
    assert_int_equal(look(p), 0);
    assert_true(asks_to_be_woken(p));
    assert_false(attach_end_look(p->user));
    hear_one(p);
    assert_int_equal(look(p), 1);
    assert_int_equal(look(p), 0);
    assert_false(asks_to_be_woken(p));
}

static void who_has_lost_rrcpd_does_not_look_for_it_without_a_pause(void **state)
{
    struct played *p = *state;

    attach_one(p, BUSY_NS);
    close(p->user_fd);
    close(p->listen_fd);
    p->user_fd = p->listen_fd = -1;
    p->now_ns += BUSY_NS - 1;
    while (look(p) > 0 || attach_deadline(p->user) <= p->now_ns)
        p->now_ns += 10000000; /* until it looks at the socket */
    assert_false(asks_to_be_woken(p));
    assert_int_equal(look(p), 0);
    assert_true(attach_deadline(p->user) > p->now_ns + 500000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_it_the_first_look_for_nothing_asks, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(it_looks_for_as_long_as_it_is_told_to, setup, teardown),
        cmocka_unit_test_setup_teardown(what_comes_is_seen_and_begins_the_time_anew, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_woke_it_is_read_before_it_looks, setup, teardown),
        cmocka_unit_test_setup_teardown(a_look_can_be_ended_before_its_time, setup, teardown),
        cmocka_unit_test_setup_teardown(who_has_lost_rrcpd_does_not_look_for_it_without_a_pause,
                                        setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
