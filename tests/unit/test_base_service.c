/* test_base_service.c - log, loop, run files: what the programs live in. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/runfile.h"
#include "base/thread.h"

static char folder[PATH_MAX / 4];

static const char *in_folder(const char *name)
{
    static char path[PATH_MAX / 2];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state)
{
    const char *tmp = getenv("TMPDIR");

    (void)state;
    snprintf(folder, sizeof(folder), "%s/base.XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st;
    (void)kind;
    (void)walk;
    return remove(path);
}

static int remove_folder(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static char *contents(const char *name)
{
    static char text[1 << 20];
    FILE *file = fopen(in_folder(name), "re");

    if (!file)
        return NULL;
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return text;
}

static int lines_with(const char *text, const char *what)
{
    int count = 0;

    while (text && (text = strstr(text, what)) != NULL) {
        count++;
        text += strlen(what);
    }
    return count;
}

static void open_log(uint64_t size_max, unsigned keep)
{
    char path[PATH_MAX / 2];
    snprintf(path, sizeof(path), "%s", in_folder("a.log"));
    struct md_log_config config = { .identity = "host.1.p2ps",
                                    .targets = MD_LOG_TO_FILE,
                                    .path = path,
                                    .size_max = size_max,
                                    .keep = keep,
                                    .severity_max = MD_LOG_INFO };

    (void)unlink(path);
    assert_int_equal(md_log_open(&config), MD_OK);
    assert_int_equal(md_log_open(&config), MD_ERR_STATE);
}

static void a_line_has_time_identity_severity_and_escaped_text(void **state)
{
    (void)state;
    open_log(0, 0);
    md_clock_wall_shift((int64_t)(1767268800123456789ull - md_clock_wall_ns()));
    md_log(MD_LOG_WARNING, "mount: user=%s cut", "a\nb\x1b[2J\x80\xed\xa0\x80\xc3\xa9");
    md_log(MD_LOG_DEBUG, "not this one");
    md_clock_wall_shift(0);
    md_log_flush();
    char *text = contents("a.log");
    assert_non_null(text);
    assert_int_equal(strncmp(text, "2026-01-01T12:00:00.12", 22), 0);
    assert_string_equal(text + 26, "Z host.1.p2ps WARNING mount: user=a\\x0ab\\x1b[2J\\x80"
                                   "\\xed\\xa0\\x80\xc3\xa9 cut\n");
    md_log_close();
}

static void a_line_in_json_is_one_object_of_texts(void **state)
{
    char path[PATH_MAX / 2], long_text[3000];
    struct md_log_config config = { .identity = "host \"a\".1.p2ps",
                                    .targets = MD_LOG_TO_FILE,
                                    .is_json = true,
                                    .path = path,
                                    .severity_max = MD_LOG_INFO };

    (void)state;
    snprintf(path, sizeof(path), "%s", in_folder("a.log"));
    (void)unlink(path);
    assert_int_equal(md_log_open(&config), MD_OK);
    md_log(MD_LOG_WARNING, "mount: \"%s\" cut", "a\nb\\\xc3\xa9");
    memset(long_text, '"', sizeof(long_text));
    long_text[sizeof(long_text) - 1] = '\0';
    md_log(MD_LOG_ERROR, "%s", long_text);
    md_log_close();
    char *text = contents("a.log");
    assert_non_null(text);
    assert_int_equal(strncmp(text, "{\"time\":\"20", 11), 0);
    char *end = strchr(text, '\n');
    *end = 0;
    assert_non_null(
        strstr(text, "Z\",\"daemon\":\"host \\\"a\\\".1.p2ps\",\"severity\":\"WARNING\",\"text\":\""
                     "mount: \\\"a\\\\x0ab\\\\\xc3\xa9\\\" cut\"}"));
    char *second = strstr(end + 1, "\"text\":\"") + 8;
    assert_int_equal(strlen(second), 2 * MD_LOG_TEXT_MAX + 3);
    assert_string_equal(second + 2 * MD_LOG_TEXT_MAX, "\"}\n");
}

static void a_long_text_is_cut_at_1024_bytes(void **state)
{
    char long_text[3000];

    (void)state;
    memset(long_text, 'x', sizeof(long_text));
    long_text[sizeof(long_text) - 1] = '\0';
    open_log(0, 0);
    md_log(MD_LOG_ERROR, "%s", long_text);
    memset(long_text, 1, 500);
    md_log(MD_LOG_ERROR, "%s", long_text);
    md_log_close();
    char *text = contents("a.log");
    char *end = strchr(text, '\n');
    assert_int_equal(end - strstr(text, "xxx"), MD_LOG_TEXT_MAX);
    char *second = strstr(end, "\\x01");
    assert_int_equal(strchr(second, '\n') - second, MD_LOG_TEXT_MAX);
}

static void one_place_logs_five_lines_a_second_and_tells_the_rest(void **state)
{
    struct md_log_stats stats;

    (void)state;
    open_log(0, 0);
    for (int i = 0; i < 100; i++)
        md_log(MD_LOG_NOTICE, "noise %d", i);
    md_log(MD_LOG_NOTICE, "another place");
    md_log_close();
    md_log_stats(&stats);
    char *text = contents("a.log");
    int written = lines_with(text, " NOTICE noise ");
    assert_in_range(written, 5, 10); /* 10 when the second changed meanwhile */
    assert_true(stats.suppressed == (uint64_t)(100 - written));
    assert_int_equal(lines_with(text, "another place"), 1);
    assert_in_range(lines_with(text, "NOTICE suppressed "), 1, 2);
    assert_non_null(strstr(text, " like: noise %d\n"));
}

static void log_a_lot(int from, int count)
{
    /* Through md_log_write() with a place of its own each: no rate limit. */
    for (int i = from; i < from + count; i++) {
        struct md_log_site site = { 0 };
        md_log_write(&site, MD_LOG_INFO, "line %06d of many", i);
        if (i % 100 == 99)
            md_log_flush();
    }
    md_log_flush();
}

static void a_log_that_grows_is_rotated_and_some_are_kept(void **state)
{
    struct md_log_stats stats;
    struct stat st;

    (void)state;
    open_log(10000, 2);
    log_a_lot(0, 1000);
    md_log_stats(&stats);
    md_log_close();
    assert_true(stats.rotations >= 5 && stats.lines == 1000 && stats.overflow == 0);
    assert_int_equal(stat(in_folder("a.log.1"), &st), 0);
    assert_true(st.st_size <= 10000);
    assert_int_equal(stat(in_folder("a.log.2"), &st), 0);
    assert_int_equal(stat(in_folder("a.log.3"), &st), -1);
    assert_non_null(strstr(contents("a.log"), "line 000999"));
}

/* Root follows no link that another user may have put in place of the log, also when it rotates. */
static void root_follows_no_link_in_the_folder_of_another_user(void **state)
{
    char other[PATH_MAX / 2], path[PATH_MAX / 2];
    struct stat st;

    (void)state;
    if (geteuid() != 0 || chown(in_folder("."), 65534, 65534) != 0)
        skip();
    snprintf(other, sizeof(other), "%s", in_folder("other"));
    snprintf(path, sizeof(path), "%s", in_folder("a.log"));
    struct md_log_config config = { .identity = "host.1.p2ps",
                                    .targets = MD_LOG_TO_FILE,
                                    .path = path,
                                    .severity_max = MD_LOG_INFO };
    (void)unlink(path);
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(md_log_open(&config), MD_ERR_SYS);
    assert_int_equal(stat(other, &st), -1);
    assert_int_equal(unlink(path), 0);
    open_log(10000, 2);
    log_a_lot(0, 300);
    md_log_close();
    assert_int_equal(stat(in_folder("a.log.1"), &st), 0);
    assert_int_equal(link(path, other), 0);
    assert_int_equal(md_log_open(&config), MD_ERR_SYS);
    assert_int_equal(unlink(other), 0);
    assert_int_equal(chown(in_folder("."), 0, 0), 0);
}

static void a_full_disk_is_told_of_when_there_is_room_again(void **state)
{
    struct rlimit limit, small;
    struct md_log_stats stats;

    (void)state;
    open_log(0, 0);
    log_a_lot(0, 10);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, SIG_IGN);
    small = limit;
    small.rlim_cur = strlen(contents("a.log")) + 20; /* the next line ends half-way */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    log_a_lot(10, 7);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    log_a_lot(17, 1);
    md_log_stats(&stats);
    md_log_close();
    char *text = contents("a.log");
    assert_int_equal(stats.errors, 7);
    assert_non_null(strstr(text, " WARNING 7 lines of this log could not be written: "));
    assert_non_null(strstr(text, " INFO line 000017 of many\n"));
}

static void a_clock_that_is_set_and_a_long_pause_are_told_of(void **state)
{
    struct md_log_watch watch = { 0 };
    uint64_t now_ns = md_clock_mono_ns();

    (void)state;
    open_log(0, 0);
    md_log_watch_time(now_ns, &watch);
    md_log_watch_time(now_ns, &watch);
    md_clock_wall_shift(-3600 * (int64_t)MD_NS_PER_S);
    md_log_watch_time(now_ns, &watch);
    md_log_watch_time(now_ns, &watch);
    md_clock_wall_shift(-3595 * (int64_t)MD_NS_PER_S); /* five seconds by both clocks */
    md_log_watch_time(now_ns + 5 * MD_NS_PER_S, &watch);
    md_clock_wall_shift(0);
    md_log_close();
    char *text = contents("a.log");
    assert_int_equal(lines_with(text, "the wall clock was set by -3600.0 s"), 1);
    assert_int_equal(lines_with(text, "the wall clock was set"), 1);
    assert_int_equal(lines_with(text, "this process did not run for 5.0 s"), 1);
}

static void a_log_that_was_moved_away_is_opened_anew(void **state)
{
    char moved[PATH_MAX / 2], path[PATH_MAX / 2];

    (void)state;
    open_log(0, 0);
    log_a_lot(0, 1);
    snprintf(path, sizeof(path), "%s", in_folder("a.log"));
    snprintf(moved, sizeof(moved), "%s", in_folder("moved.log"));
    assert_int_equal(rename(path, moved), 0);
    md_log_reopen();
    for (int i = 1; access(path, F_OK) != 0; i++)
        log_a_lot(i, 1);
    log_a_lot(1000000, 1);
    md_log_close();
    assert_non_null(strstr(contents("a.log"), "line 1000000"));
    assert_non_null(strstr(contents("moved.log"), "line 000000"));
}

static void *log_thread(void *arg)
{
    for (int i = 0; i < 2000; i++) {
        struct md_log_site site = { 0 };
        md_log_write(&site, MD_LOG_INFO, "thread %d line %d", *(int *)arg, i);
    }
    return NULL;
}

static void every_line_of_every_thread_is_written_or_counted(void **state)
{
    pthread_t threads[4];
    int numbers[4] = { 0, 1, 2, 3 };
    struct md_log_stats stats;

    (void)state;
    open_log(0, 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, log_thread, &numbers[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    md_log_close();
    md_log_stats(&stats);
    int written = lines_with(contents("a.log"), " INFO thread ");
    assert_int_equal((uint64_t)written + stats.overflow, 8000);
    assert_true(written > 0);
}

struct counts {
    struct md_loop *loop;
    struct md_loop_timer *timer;
    struct md_loop_fd *fd;
    struct md_loop_source *source;
    int timers;
    int wakes;
    int reads;
    int writes;
    int works;
    int arms;
    int disarms;
    int signals;
    int left;
    uint64_t deadline;
};

static void on_timer(void *owner)
{
    struct counts *counts = owner;

    if (++counts->timers == 3)
        md_loop_stop(counts->loop);
}

static void timers_fire_once_or_again_and_can_be_stopped(void **state)
{
    struct counts counts = { 0 };
    struct md_loop_timer *never;

    (void)state;
    assert_int_equal(md_loop_create(0, &counts.loop), MD_OK);
    assert_int_equal(md_loop_timer_create(counts.loop, on_timer, &counts, &counts.timer), MD_OK);
    assert_int_equal(md_loop_timer_create(counts.loop, on_timer, &counts, &never), MD_OK);
    assert_false(md_loop_timer_is_running(counts.timer));
    assert_int_equal(md_loop_timer_every(counts.timer, MD_NS_PER_MS), MD_OK);
    assert_int_equal(md_loop_timer_after(never, MD_NS_PER_MS), MD_OK);
    md_loop_timer_stop(never);
    uint64_t began = md_clock_mono_ns();
    assert_int_equal(md_loop_run(counts.loop), MD_OK);
    assert_int_equal(counts.timers, 3);
    assert_true(md_clock_mono_ns() - began >= 2 * MD_NS_PER_MS);
    assert_true(md_loop_now(counts.loop) >= began);
    md_loop_timer_stop(counts.timer);
    assert_int_equal(md_loop_timer_at(never, md_loop_now(counts.loop)), MD_OK);
    while (counts.timers < 4)
        assert_int_equal(md_loop_turn(counts.loop, MD_NS_PER_S), MD_OK);
    assert_false(md_loop_timer_is_running(never));
    md_loop_timer_destroy(never);
    md_loop_timer_destroy(counts.timer);
    md_loop_destroy(counts.loop);
}

/* Whether a timer of the kernel runs that rings within the hour after this one. */
static bool an_alarm_is_set(void)
{
    struct itimerspec left;

    for (int fd = 0; fd < 64; fd++)
        if (timerfd_gettime(fd, &left) == 0 && left.it_value.tv_sec > 1800)
            return true;
    return false;
}

static void on_alarm_timer(void *owner)
{
    struct counts *counts = owner;

    assert_int_equal(md_loop_timer_after(counts->timer, 3600 * MD_NS_PER_S), MD_OK);
    assert_false(an_alarm_is_set());
    md_loop_alarm(counts->loop);
    counts->timers = an_alarm_is_set() ? 1 : 2;
}

static void a_timer_can_set_the_alarm_for_the_next_one_itself(void **state)
{
    struct counts counts = { 0 };

    (void)state;
    assert_int_equal(md_loop_create(0, &counts.loop), MD_OK);
    assert_int_equal(md_loop_timer_create(counts.loop, on_alarm_timer, &counts, &counts.timer),
                     MD_OK);
    assert_int_equal(md_loop_timer_after(counts.timer, MD_NS_PER_MS), MD_OK);
    while (counts.timers == 0)
        assert_int_equal(md_loop_turn(counts.loop, MD_NS_PER_S), MD_OK);
    assert_int_equal(counts.timers, 1);
    md_loop_timer_destroy(counts.timer);
    md_loop_destroy(counts.loop);
}

static void on_fd(void *owner, int fd, unsigned events)
{
    struct counts *counts = owner;
    char byte;

    if (events & MD_LOOP_WRITE)
        counts->writes++;
    if (!(events & MD_LOOP_READ))
        return;
    counts->reads++;
    if (read(fd, &byte, 1) == 0) {
        md_loop_fd_remove(counts->fd); /* from its own callback */
        counts->fd = NULL;
    }
}

static void descriptors_are_reported_as_asked_for(void **state)
{
    struct counts counts = { 0 };
    int pair[2];

    (void)state;
    assert_int_equal(md_loop_create(0, &counts.loop), MD_OK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    assert_int_equal(md_loop_fd_add(counts.loop, pair[0], MD_LOOP_READ, on_fd, &counts, &counts.fd),
                     MD_OK);
    md_loop_turn(counts.loop, 0);
    assert_int_equal(counts.reads, 0);
    assert_int_equal(write(pair[1], "ab", 2), 2);
    md_loop_turn(counts.loop, MD_NS_PER_S);
    md_loop_turn(counts.loop, MD_NS_PER_S);
    assert_int_equal(counts.reads, 2);
    assert_int_equal(counts.writes, 0);
    assert_int_equal(md_loop_fd_set(counts.fd, MD_LOOP_READ | MD_LOOP_WRITE), MD_OK);
    md_loop_turn(counts.loop, MD_NS_PER_S);
    assert_int_equal(counts.writes, 1);
    assert_int_equal(md_loop_fd_set(counts.fd, 0), MD_OK);
    assert_int_equal(write(pair[1], "c", 1), 1);
    md_loop_turn(counts.loop, 0);
    assert_int_equal(counts.reads, 2);
    assert_int_equal(md_loop_fd_set(counts.fd, MD_LOOP_READ), MD_OK);
    close(pair[1]);
    md_loop_turn(counts.loop, MD_NS_PER_S);
    md_loop_turn(counts.loop, MD_NS_PER_S);
    assert_null(counts.fd);
    close(pair[0]);
    md_loop_destroy(counts.loop);
}

static void on_wake(void *owner)
{
    struct counts *counts = owner;

    counts->wakes++;
}

static void *ring_wake(void *wake)
{
    for (int i = 0; i < 1000; i++)
        md_loop_wake_ring(wake);
    return NULL;
}

static void another_thread_can_wake_the_loop(void **state)
{
    struct counts counts = { 0 };
    struct md_loop_wake *wake;
    pthread_t thread;

    (void)state;
    assert_int_equal(md_loop_create(0, &counts.loop), MD_OK);
    assert_int_equal(md_loop_wake_create(counts.loop, on_wake, &counts, &wake), MD_OK);
    assert_int_equal(pthread_create(&thread, NULL, ring_wake, wake), 0);
    while (counts.wakes == 0)
        md_loop_turn(counts.loop, MD_NEVER);
    pthread_join(thread, NULL);
    md_loop_turn(counts.loop, 0);
    int before = counts.wakes;
    assert_in_range(before, 1, 1001);
    md_loop_turn(counts.loop, 0);
    assert_int_equal(counts.wakes, before);
    assert_int_equal(eventfd_write(md_loop_wake_fd(wake), 1), 0); /* as another process would */
    md_loop_turn(counts.loop, MD_NS_PER_S);
    assert_int_equal(counts.wakes, before + 1);
    md_loop_wake_destroy(wake);
    md_loop_destroy(counts.loop);
}

static int work(void *owner)
{
    struct counts *counts = owner;

    counts->works++;
    if (counts->left == 0)
        return 0;
    return counts->left--;
}

static bool arm(void *owner)
{
    struct counts *counts = owner;

    return ++counts->arms != 1; /* the first time something comes at the last moment */
}

static void disarm(void *owner)
{
    ((struct counts *)owner)->disarms++;
}

static uint64_t deadline(void *owner)
{
    return ((struct counts *)owner)->deadline;
}

static void a_source_works_until_nothing_is_left_and_bounds_the_sleep(void **state)
{
    static const struct md_loop_source_ops ops = {
        .work = work, .arm = arm, .disarm = disarm, .deadline = deadline
    };
    struct counts counts = { .left = 3 };

    (void)state;
    assert_int_equal(md_loop_create(0, &counts.loop), MD_OK);
    assert_int_equal(md_loop_source_add(counts.loop, &ops, &counts, &counts.source), MD_OK);
    for (int i = 0; i < 3; i++)
        md_loop_turn(counts.loop, MD_NEVER);
    assert_int_equal(counts.arms, 0);
    counts.deadline = MD_NEVER;
    md_loop_turn(counts.loop, MD_NEVER); /* arm says no: this returns */
    assert_int_equal(counts.arms, 1);
    assert_int_equal(counts.disarms, 1);
    counts.deadline = md_clock_mono_ns() + 2 * MD_NS_PER_MS;
    md_loop_turn(counts.loop, MD_NEVER); /* the deadline ends it */
    assert_true(md_clock_mono_ns() >= counts.deadline);
    assert_int_equal(counts.works, 5);
    assert_true(md_loop_stats(counts.loop)->turns == 5 && md_loop_stats(counts.loop)->work == 6);
    assert_true(md_loop_stats(counts.loop)->sleeps == 1);
    md_loop_source_remove(counts.source);
    md_loop_turn(counts.loop, 0);
    assert_int_equal(counts.works, 5);
    md_loop_destroy(counts.loop);
}

static int remove_self(void *owner)
{
    struct counts *counts = owner;

    counts->works++;
    md_loop_source_remove(counts->source);
    return 1;
}

static void a_source_may_remove_itself_while_it_works(void **state)
{
    static const struct md_loop_source_ops ops = { .work = remove_self };
    struct counts counts = { 0 };

    (void)state;
    assert_int_equal(md_loop_create(0, &counts.loop), MD_OK);
    assert_int_equal(md_loop_source_add(counts.loop, &ops, &counts, &counts.source), MD_OK);
    md_loop_turn(counts.loop, 0);
    md_loop_turn(counts.loop, 0);
    assert_int_equal(counts.works, 1);
    md_loop_destroy(counts.loop);
}

static void on_file(void *owner, int fd, unsigned events)
{
    struct counts *counts = owner;

    (void)fd;
    assert_int_equal(events, MD_LOOP_READ);
    counts->works++;
}

/* A regular file tells the two apart: poll takes it, and epoll refuses it. */
static void a_loop_waits_by_poll_where_it_is_told_to(void **state)
{
    struct counts counts = { 0 };
    struct md_loop_fd *watch;
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

    (void)state;
    assert_true(fd >= 0);
    md_loop_use_poll(true);
    assert_int_equal(md_loop_create(0, &counts.loop), MD_OK);
    md_loop_use_poll(false);
    assert_int_equal(md_loop_fd_add(counts.loop, fd, MD_LOOP_READ, on_file, &counts, &watch),
                     MD_OK);
    while (counts.works == 0)
        md_loop_turn(counts.loop, MD_NEVER);
    md_loop_fd_remove(watch);
    /* Nothing is left that could wake it. */
    md_loop_turn(counts.loop, MD_NEVER);
    assert_true(md_loop_stats(counts.loop)->sleeps > 0);
    md_loop_destroy(counts.loop);
    close(fd);
}

static void on_signal(void *owner, int signal)
{
    ((struct counts *)owner)->signals += signal;
}

static void signals_arrive_in_the_loop(void **state)
{
    struct counts counts = { 0 };
    struct md_loop_signal *watch;

    (void)state;
    assert_int_equal(md_loop_create(0, &counts.loop), MD_OK);
    assert_int_equal(md_loop_signal_add(counts.loop, SIGUSR1, on_signal, &counts, &watch), MD_OK);
    raise(SIGUSR1);
    while (counts.signals == 0)
        md_loop_turn(counts.loop, MD_NS_PER_S);
    assert_int_equal(counts.signals, SIGUSR1);
    md_loop_signal_remove(watch);
    md_loop_destroy(counts.loop);
}

static void a_busy_loop_spins_before_it_sleeps(void **state)
{
    struct counts counts = { 0 };

    (void)state;
    assert_int_equal(md_loop_create(MD_NS_PER_S * 3600, &counts.loop), MD_OK);
    md_loop_turn(counts.loop, MD_NEVER); /* would never return if it slept */
    assert_true(md_loop_stats(counts.loop)->sleeps == 0);
    for (int i = 0; i < 10; i++) /* while others want the CPU it may */
        md_loop_turn(counts.loop, MD_NS_PER_MS);
    assert_true(md_loop_stats(counts.loop)->sleeps <= 10);
    md_loop_destroy(counts.loop);
}

static void a_run_file_is_held_by_one_process_and_stale_when_that_is_killed(void **state)
{
    struct md_runfile runfile, second;
    char path[PATH_MAX / 2];
    int ready[2], status;
    pid_t holder;
    char byte;

    (void)state;
    snprintf(path, sizeof(path), "%s", in_folder("p2ps.pid"));
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (md_runfile_open(&runfile, path, &holder) == MD_OK && write(ready[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(md_runfile_open(&second, path, &holder), MD_ERR_EXISTS);
    assert_int_equal(holder, pid);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    assert_int_equal(access(path, F_OK), 0); /* the trace it left */
    assert_int_equal(md_runfile_open(&second, path, &holder), MD_OK);
    md_runfile_close(&second);
    md_runfile_close(&second);
    assert_int_equal(access(path, F_OK), -1);
    close(ready[0]);
    close(ready[1]);
}

static void a_socket_nobody_serves_is_cleared_and_one_that_is_served_is_not(void **state)
{
    static const int types[] = { SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM };
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    (void)state;
    snprintf(address.sun_path, sizeof(address.sun_path), "%.90s/s.sock", folder);
    for (size_t i = 0; i < 3; i++) {
        int fd = socket(AF_UNIX, types[i], 0);
        assert_int_equal(md_runfile_clear_socket(address.sun_path), MD_OK);
        assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
        if (types[i] != SOCK_DGRAM)
            assert_int_equal(listen(fd, 1), 0);
        assert_int_equal(md_runfile_clear_socket(address.sun_path), MD_ERR_EXISTS);
        close(fd);
        assert_int_equal(md_runfile_clear_socket(address.sun_path), MD_OK);
        assert_int_equal(access(address.sun_path, F_OK), -1);
    }
    close(open(in_folder("file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal(md_runfile_clear_socket(in_folder("file")), MD_ERR_EXISTS);
    assert_int_equal(md_runfile_make_dir(in_folder("a/b/c")), MD_OK);
    assert_int_equal(md_runfile_make_dir(in_folder("a/b/c")), MD_OK);
    assert_int_equal(access(in_folder("a/b/c"), F_OK), 0);
}

struct late {
    struct md_thread thread;
    bool has_settled, has_ended; /* plain on purpose: start and join order them (TSan looks) */
};

static void *settle_late(void *argument)
{
    struct late *late = argument;

    for (int i = 0; i < 1000; i++)
        sched_yield();
    late->has_settled = true;
    md_thread_settled(&late->thread);
    late->has_ended = true;
    return NULL;
}

static void the_maker_of_a_thread_goes_on_when_it_has_settled(void **state)
{
    struct late late = { .has_settled = false };

    (void)state;
    md_thread_join(&late.thread); /* never started: nothing */
    assert_int_equal(md_thread_start(&late.thread, settle_late, &late), MD_OK);
    assert_true(late.has_settled);
    md_thread_join(&late.thread);
    assert_true(late.has_ended);
    md_thread_join(&late.thread);
}

/* A daemon locks its memory by right, and takes more when it has given that right up. */
static int lock_below_a_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
        return 1;
    if (limit.rlim_max > 1u << 20)
        limit.rlim_max = 1u << 20;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || md_mem_lock_all() == MD_OK)
        return 1;
    md_caps_drop();
    void *more = mmap(NULL, 8u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return more == MAP_FAILED ? 2 : 0;
}

static void memory_can_be_had_after_it_was_locked_below_a_limit(void **state)
{
    int status = 0;
    pid_t child = fork();

    (void)state;
    if (child == 0)
        _exit(lock_below_a_limit());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_time_identity_severity_and_escaped_text),
        cmocka_unit_test(a_line_in_json_is_one_object_of_texts),
        cmocka_unit_test(a_long_text_is_cut_at_1024_bytes),
        cmocka_unit_test(one_place_logs_five_lines_a_second_and_tells_the_rest),
        cmocka_unit_test(a_log_that_grows_is_rotated_and_some_are_kept),
        cmocka_unit_test(root_follows_no_link_in_the_folder_of_another_user),
        cmocka_unit_test(a_full_disk_is_told_of_when_there_is_room_again),
        cmocka_unit_test(a_clock_that_is_set_and_a_long_pause_are_told_of),
        cmocka_unit_test(a_log_that_was_moved_away_is_opened_anew),
        cmocka_unit_test(every_line_of_every_thread_is_written_or_counted),
        cmocka_unit_test(timers_fire_once_or_again_and_can_be_stopped),
        cmocka_unit_test(a_timer_can_set_the_alarm_for_the_next_one_itself),
        cmocka_unit_test(descriptors_are_reported_as_asked_for),
        cmocka_unit_test(another_thread_can_wake_the_loop),
        cmocka_unit_test(a_source_works_until_nothing_is_left_and_bounds_the_sleep),
        cmocka_unit_test(a_source_may_remove_itself_while_it_works),
        cmocka_unit_test(a_loop_waits_by_poll_where_it_is_told_to),
        cmocka_unit_test(signals_arrive_in_the_loop),
        cmocka_unit_test(a_busy_loop_spins_before_it_sleeps),
        cmocka_unit_test(the_maker_of_a_thread_goes_on_when_it_has_settled),
        cmocka_unit_test(a_run_file_is_held_by_one_process_and_stale_when_that_is_killed),
        cmocka_unit_test(memory_can_be_had_after_it_was_locked_below_a_limit),
        cmocka_unit_test(a_socket_nobody_serves_is_cleared_and_one_that_is_served_is_not),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
