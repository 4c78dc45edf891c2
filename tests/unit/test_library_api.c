/* test_library_api.c - rmds/backbone.h without an rrcpd: options, limits, items that wait, threads.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "attach/shm.h"
#include "rmds/backbone.h"
#include "rmds/rwf.h"

static const char folder[] = "/nonexistent/rmds"; /* where no rrcpd is */

struct told {
    int states, closed;
    uint8_t code;
    bool closes;
};

static void handle(const struct rmds_item_event *event)
{
    struct told *told = event->user;

    told->states += event->kind == RMDS_ITEM_STATE;
    told->closed += event->kind == RMDS_ITEM_CLOSED;
    told->code = event->state.code;
    if (told->closes)
        rmds_item_close(event->item);
}

static struct rmds_backbone_options usual(void)
{
    struct rmds_backbone_options options;

    rmds_backbone_options_init(&options, sizeof(options));
    options.run_dir = folder;
    return options;
}

static struct rmds_backbone *open_backbone(uint32_t item_limit)
{
    struct rmds_backbone_options options = usual();
    struct rmds_backbone *backbone;

    options.item_limit = item_limit;
    assert_int_equal(rmds_backbone_open(&options, &backbone), 0);
    return backbone;
}

static struct rmds_item_request request_of(struct told *told)
{
    struct rmds_item_request request;

    rmds_item_request_init(&request, sizeof(request));
    request.service = "NONE";
    request.name = "TRI.N";
    request.handle = handle;
    request.user = told;
    return request;
}

static void options_that_cannot_be_are_refused(void **state)
{
    struct rmds_backbone_options options = usual();
    struct rmds_backbone *backbone;
    char name[100];

    (void)state;
    options.ring_bytes = 65537;
    assert_int_equal(rmds_backbone_open(&options, &backbone), RMDS_ERROR_RANGE);
    assert_null(backbone);
    options.ring_bytes = 512 << 20;
    assert_int_equal(rmds_backbone_open(&options, &backbone), RMDS_ERROR_RANGE);
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    options = usual();
    options.name = name;
    assert_int_equal(rmds_backbone_open(&options, &backbone), RMDS_ERROR_RANGE);
    options = usual();
    options.item_limit = 0;
    assert_int_equal(rmds_backbone_open(&options, &backbone), RMDS_ERROR_RANGE);
    rmds_backbone_close(NULL);
}

/* ---- an rrcpd that refuses ---- */

static const char reason[] = "attachAccess lets this uid and its groups do nothing";

struct refusals {
    int count, error;
    char why[192];
};

static void on_refused(void *owner, int error, const char *why)
{
    struct refusals *refusals = owner;

    refusals->count++;
    refusals->error = error;
    snprintf(refusals->why, sizeof(refusals->why), "%s", why);
}

static int listen_at(const char *run_dir)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char path[128];
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

    snprintf(path, sizeof(path), "%s/rrcpd.net1.1", run_dir);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(
        attach_socket_path(address.sun_path, sizeof(address.sun_path), run_dir, "net1", "1"), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 4), 0);
    return fd;
}

static void refuse_one(int listen_fd)
{
    struct attach_reply reply = { .magic = ATTACH_PROTOCOL_MAGIC,
                                  .version = ATTACH_SHM_VERSION,
                                  .result = RMDS_ERROR_STATE };
    struct attach_request request;
    int fd = accept(listen_fd, NULL, NULL);

    snprintf(reply.why, sizeof(reply.why), "%s", reason);
    assert_int_equal(recv(fd, &request, sizeof(request), 0), sizeof(request));
    assert_int_equal(send(fd, &reply, sizeof(reply), 0), sizeof(reply));
    close(fd);
}

static void remove_folder(const char *run_dir)
{
    char path[160];

    snprintf(path, sizeof(path), "%s/rrcpd.net1.1/attach", run_dir);
    unlink(path);
    snprintf(path, sizeof(path), "%s/rrcpd.net1.1", run_dir);
    rmdir(path);
    rmdir(run_dir);
}

static void a_refusal_is_told_once_with_its_reason(void **state)
{
    char run_dir[] = "/tmp/rmdsXXXXXX";
    struct rmds_backbone_options options = usual();
    struct refusals refusals = { 0 };
    struct rmds_backbone *backbone;
    uint64_t now_ns = rmds_now();

    (void)state;
    assert_non_null(mkdtemp(run_dir));
    int fd = listen_at(run_dir);
    options.run_dir = run_dir;
    options.owner = &refusals;
    options.on_refused = on_refused;
    assert_int_equal(rmds_backbone_open(&options, &backbone), 0);
    assert_string_equal(rmds_backbone_why(backbone), "");
    for (int i = 0; i < 3; i++, now_ns += 2000000000) {
        rmds_backbone_turn(backbone, now_ns); /* asks */
        refuse_one(fd);
        rmds_backbone_turn(backbone, now_ns);
        assert_int_equal(refusals.count, 1);
    }
    assert_int_equal(refusals.error, RMDS_ERROR_STATE);
    assert_string_equal(refusals.why, reason);
    assert_string_equal(rmds_backbone_why(backbone), reason);
    close(fd);
    remove_folder(run_dir);
    rmds_backbone_turn(backbone, now_ns); /* it is gone: another reason, and no refusal */
    assert_non_null(strstr(rmds_backbone_why(backbone), "no rrcpd answers at"));
    assert_int_equal(refusals.count, 1);
    rmds_backbone_close(backbone);
}

/* The ring is in this process then, and is the same. */
static void a_ring_that_cannot_be_is_refused_with_the_engine_inside_too(void **state)
{
    struct rmds_backbone_options options = usual();
    char path[] = "/tmp/test_library_api.XXXXXX", why[256] = "none";
    int fd = mkstemp(path);
    struct rmds_backbone *backbone;

    (void)state;
    assert_true(dprintf(fd, "*rrcp*interface : lo\n*rrcp*authKeyFile :\n") > 0);
    close(fd);
    options.configuration = path;
    options.why = why;
    options.why_size = sizeof(why);
    for (uint32_t bytes = 1; bytes < 65536 * 2; bytes += 32767) {
        options.ring_bytes = bytes;
        assert_int_equal(rmds_backbone_open(&options, &backbone), RMDS_ERROR_RANGE);
        assert_string_equal(why, ""); /* the configuration is good */
    }
    unlink(path);
}

static void a_configuration_that_cannot_be_read_is_told(void **state)
{
    struct rmds_backbone_options options = usual();
    struct rmds_backbone *backbone;
    char why[256] = "";

    (void)state;
    options.configuration = "/nonexistent/rmds.cnf";
    options.why = why;
    options.why_size = sizeof(why);
    assert_int_equal(rmds_backbone_open(&options, &backbone), RMDS_ERROR_SYSTEM);
    assert_null(backbone);
    assert_non_null(strstr(why, "/nonexistent/rmds.cnf"));
}

static void an_item_waits_for_its_service_and_is_told(void **state)
{
    struct rmds_backbone *backbone = open_backbone(1000);
    struct told told = { 0 };
    struct rmds_item_request request = request_of(&told);
    struct rmds_item *item;

    (void)state;
    assert_int_equal(rmds_item_open(backbone, &request, &item), 0);
    assert_int_equal(told.states, 0); /* nothing before the turn */
    assert_true(rmds_backbone_deadline(backbone) <= rmds_now());
    rmds_backbone_turn(backbone, rmds_now());
    assert_int_equal(told.states, 1);
    assert_int_equal(told.code, RWF_CODE_SOURCE_UNKNOWN);
    rmds_backbone_turn(backbone, rmds_now());
    assert_int_equal(told.states, 1);
    rmds_backbone_close(backbone);
}

static void items_that_waited_and_were_closed_make_room(void **state)
{
    struct rmds_backbone *backbone = open_backbone(2);
    struct told told = { .closes = true };
    struct rmds_item_request request = request_of(&told);
    struct rmds_item *item;

    (void)state;
    for (int i = 0; i < 100; i++) { /* in its callback, or before it had its turn */
        assert_int_equal(rmds_item_open(backbone, &request, &item), 0);
        if (i % 2)
            rmds_item_close(item);
        rmds_backbone_turn(backbone, rmds_now());
        rmds_backbone_turn(backbone, rmds_now());
    }
    assert_int_equal(told.states, 50);
    told.closes = false;
    assert_int_equal(rmds_item_open(backbone, &request, &item), 0);
    request.name = "OTHER";
    assert_int_equal(rmds_item_open(backbone, &request, &item), 0);
    assert_int_equal(rmds_item_open(backbone, &request, &item), RMDS_ERROR_FULL);
    struct rmds_backbone_stats stats = { .size = sizeof(stats) };
    rmds_backbone_stats(backbone, &stats);
    assert_int_equal(stats.items_now, 2);
    rmds_backbone_close(backbone);
}

static void requests_that_cannot_be_are_refused(void **state)
{
    struct rmds_backbone *backbone = open_backbone(10);
    struct told told = { 0 };
    struct rmds_item_request request = request_of(&told);
    struct rmds_item *item;
    struct rmds_topic *topic;
    char name[300];

    (void)state;
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    request.name = name;
    assert_int_equal(rmds_item_open(backbone, &request, &item), RMDS_ERROR_RANGE);
    request.name = "";
    assert_int_equal(rmds_item_open(backbone, &request, &item), RMDS_ERROR_RANGE);
    assert_int_equal(rmds_topic_publish(backbone, "", "x", 1), RMDS_ERROR_RANGE);
    assert_int_equal(rmds_topic_publish(backbone, name, "x", 1), RMDS_ERROR_RANGE);
    assert_int_equal(rmds_topic_publish(backbone, "fx", "x", 1), RMDS_ERROR_CLOSED);
    assert_int_equal(rmds_topic_subscribe(backbone, name, NULL, NULL, &topic), RMDS_ERROR_RANGE);
    rmds_backbone_close(backbone);
}

static void a_service_is_offered_once(void **state)
{
    struct rmds_backbone *backbone = open_backbone(10);
    struct rmds_offer_options options;
    struct rmds_offer *offer, *again;
    struct rmds_offered *item;

    (void)state;
    rmds_offer_options_init(&options, sizeof(options));
    assert_int_equal(rmds_offer_open(backbone, &options, &offer), RMDS_ERROR_RANGE);
    options.service = "RISK";
    options.is_broadcast = true;
    assert_int_equal(rmds_offer_open(backbone, &options, &offer), 0);
    assert_int_equal(rmds_offer_open(backbone, &options, &again), RMDS_ERROR_EXISTS);
    assert_int_equal(rmds_offer_add(offer, "A", 6, &item), 0);
    assert_string_equal(rmds_offered_name(item), "A");
    assert_false(rmds_offered_is_wanted(item));
    assert_int_equal(rmds_offer_add(offer, "A", 6, &item), RMDS_ERROR_EXISTS);
    rmds_backbone_turn(backbone, rmds_now());
    rmds_offer_state(offer, false);
    rmds_offer_close(offer);
    assert_int_equal(rmds_offer_open(backbone, &options, &offer), 0);
    rmds_backbone_close(backbone);
}

static void post_one(void *argument)
{
    sem_post(argument);
}

static void other_threads_hand_work_to_its_thread(void **state)
{
    struct rmds_backbone *backbone = open_backbone(10);
    sem_t done;

    (void)state;
    sem_init(&done, 0, 0);
    assert_int_equal(rmds_backbone_start(backbone), 0);
    assert_int_equal(rmds_backbone_start(backbone), RMDS_ERROR_STATE);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(rmds_backbone_post(backbone, post_one, &done), 0);
        sem_wait(&done);
    }
    rmds_backbone_stop(backbone);
    for (int i = 0; i < 1024; i++)
        assert_int_equal(rmds_backbone_post(backbone, post_one, &done), 0);
    assert_int_equal(rmds_backbone_post(backbone, post_one, &done), RMDS_ERROR_FULL);
    for (int i = 0; i < 100; i++)
        rmds_backbone_turn(backbone, rmds_now());
    for (int i = 0; i < 1024; i++)
        assert_int_equal(sem_trywait(&done), 0);
    rmds_backbone_close(backbone);
    sem_destroy(&done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_is_told_once_with_its_reason),
        cmocka_unit_test(a_ring_that_cannot_be_is_refused_with_the_engine_inside_too),
        cmocka_unit_test(a_configuration_that_cannot_be_read_is_told),
        cmocka_unit_test(options_that_cannot_be_are_refused),
        cmocka_unit_test(an_item_waits_for_its_service_and_is_told),
        cmocka_unit_test(items_that_waited_and_were_closed_make_room),
        cmocka_unit_test(requests_that_cannot_be_are_refused),
        cmocka_unit_test(a_service_is_offered_once),
        cmocka_unit_test(other_threads_hand_work_to_its_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
