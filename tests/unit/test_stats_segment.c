/* test_stats_segment.c - what an owner writes, a reader finds, also after the owner was killed. */
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
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "stats/reader.h"
#include "stats/rows.h"
#include "stats/segment.h"

static char folder[PATH_MAX / 4];

static int make_folder(void **state)
{
    const char *tmp = getenv("TMPDIR");

    (void)state;
    snprintf(folder, sizeof(folder), "%s/stats.XXXXXX", tmp ? tmp : "/tmp");
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

static struct stats_config config_of(const char *instance)
{
    return (struct stats_config){ .run_dir = folder,
                                  .process = "p2ps",
                                  .instance = instance,
                                  .entry_count = 8,
                                  .string_count = 2,
                                  .histogram_count = 2 };
}

static struct stats_segment *open_segment(const char *instance)
{
    struct stats_config config = config_of(instance);
    struct stats_segment *segment;

    assert_int_equal(stats_segment_open(&config, &segment, NULL), MD_OK);
    return segment;
}

static struct stats_reader *open_reader(const char *name)
{
    struct stats_reader *reader;

    assert_int_equal(stats_reader_open(folder, name, &reader), MD_OK);
    return reader;
}

static void a_reader_finds_every_kind_of_value(void **state)
{
    struct stats_segment *segment = open_segment("1");
    struct stats_value value;

    (void)state;
    struct md_ctr *counter = stats_counter(segment, "p2ps.updatesIn");
    struct stats_entry *gauge =
        stats_entry_addf(segment, STATS_KIND_GAUGE, "p2ps.port.%d.mounts", 14002);
    stats_string_add(segment, "p2ps.version", "0.1.0");
    struct md_hist *hist = stats_histogram_add(segment, "p2ps.latency");
    md_ctr_add(counter, 7);
    stats_gauge_set(gauge, 5);
    stats_gauge_set(gauge, 2);
    for (uint64_t i = 1; i <= 100; i++)
        md_hist_record(hist, i);

    struct stats_reader *reader = open_reader("p2ps.1");
    assert_true(stats_reader_find(reader, "p2ps.updatesIn", &value));
    assert_true(value.kind == STATS_KIND_COUNTER && value.value == 7);
    assert_true(stats_reader_find(reader, "p2ps.port.14002.mounts", &value));
    assert_true(value.kind == STATS_KIND_GAUGE && value.value == 2 && value.aux == 5);
    assert_true(stats_reader_find(reader, "p2ps.version", &value));
    assert_string_equal(value.text, "0.1.0");
    assert_true(stats_reader_find(reader, "p2ps.latency", &value));
    assert_true(md_hist_count(value.hist) == 100 && md_hist_percentile(value.hist, 50) == 50);
    assert_false(stats_reader_find(reader, "p2ps.nothing", &value));

    md_ctr_add(counter, 1);
    assert_int_equal(stats_reader_refresh(reader), MD_OK);
    assert_true(stats_reader_find(reader, "p2ps.updatesIn", &value) && value.value == 8);
    assert_int_equal(stats_reader_pid(reader), getpid());
    stats_reader_close(reader);
    stats_segment_close(segment);
    assert_int_equal(stats_reader_open(folder, "p2ps.1", &reader), MD_ERR_NOT_FOUND);
}

/* Members of every size, under one prefix, and gone with their group. */
static void a_group_shows_the_members_of_a_struct(void **state)
{
    struct shown {
        uint64_t sent;
        uint32_t now;
        uint16_t id;
        bool is_up;
        const char *name;
    } shown = { .sent = 1ull << 40, .now = 70000, .id = 300, .is_up = true, .name = "first" };
    static const struct stats_row rows[] = {
        STATS_ROW(STATS_KIND_COUNTER, "sent", struct shown, sent),
        STATS_ROW(STATS_KIND_GAUGE, "now", struct shown, now),
        STATS_ROW(STATS_KIND_GAUGE, "id", struct shown, id),
        STATS_ROW(STATS_KIND_GAUGE, "up", struct shown, is_up),
        STATS_ROW(STATS_KIND_STRING, "name", struct shown, name),
    };
    struct stats_segment *segment = open_segment("group");
    struct stats_group *group =
        stats_group_create(rows, STATS_ROW_COUNT(rows), segment, "p2ps.it.");
    struct stats_value value;

    (void)state;
    stats_group_set(group, &shown);
    shown.now = 5;
    shown.name = "second";
    stats_group_set(group, &shown);
    struct stats_reader *reader = open_reader("p2ps.group");
    assert_true(stats_reader_find(reader, "p2ps.it.sent", &value) && value.value == 1ull << 40);
    assert_true(stats_reader_find(reader, "p2ps.it.now", &value));
    assert_true(value.value == 5 && value.aux == 70000);
    assert_true(stats_reader_find(reader, "p2ps.it.id", &value) && value.value == 300);
    assert_true(stats_reader_find(reader, "p2ps.it.up", &value) && value.value == 1);
    assert_true(stats_reader_find(reader, "p2ps.it.name", &value));
    assert_string_equal(value.text, "second");

    stats_group_destroy(group);
    assert_int_equal(stats_reader_refresh(reader), MD_OK);
    assert_false(stats_reader_find(reader, "p2ps.it.sent", &value));
    assert_false(stats_reader_find(reader, "p2ps.it.name", &value));
    stats_group_set(NULL, &shown);
    stats_group_destroy(NULL);
    stats_reader_close(reader);
    stats_segment_close(segment);
}

static void the_group_may_read_whatever_the_umask_is(void **state)
{
    char path[PATH_MAX / 2];
    struct stat st;
    mode_t before = umask(077);
    struct stats_segment *segment = open_segment("umask");

    (void)state;
    umask(before);
    snprintf(path, sizeof(path), "%s/p2ps.umask/stats", folder);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    stats_segment_close(segment);
}

/* Native byte order at fixed offsets: what a reader of another version relies on. */
static void the_layout_is_the_documented_one(void **state)
{
    struct stats_segment *segment = open_segment("layout");
    char path[PATH_MAX / 2];
    uint8_t bytes[64 + 8 * 128 + 2 * 64];
    uint32_t word;
    uint64_t value;

    (void)state;
    md_ctr_add(stats_counter(segment, "one"), 0x1122);
    stats_string_add(segment, "two", "text");
    stats_segment_beat(segment, 77);
    snprintf(path, sizeof(path), "%s/p2ps.layout/stats", folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(read(fd, bytes, sizeof(bytes)), sizeof(bytes));
    close(fd);
    assert_memory_equal(bytes, "RMDSSTAT", 8);
    memcpy(&word, bytes + 8, 4);
    assert_int_equal(word, 1);
    memcpy(&word, bytes + 12, 4);
    assert_int_equal(word, st.st_size);
    memcpy(&value, bytes + 16, 8);
    assert_int_equal(value, getpid());
    memcpy(&value, bytes + 32, 8);
    assert_int_equal(value, 77);
    memcpy(&word, bytes + 40, 4);
    assert_int_equal(word, 8);
    memcpy(&word, bytes + 44, 4);
    assert_int_equal(word, 128);
    memcpy(&value, bytes + 48, 8);
    assert_true(value > 0 && value % 2 == 0);
    memcpy(&value, bytes + 64 + 120, 8);
    assert_int_equal(value, 3);              /* of 8 entries were ever in use */
    const uint8_t *entry = bytes + 64 + 128; /* entry 0 is stats.dropped */
    assert_string_equal((const char *)entry, "one");
    memcpy(&word, entry + 96, 4);
    assert_int_equal(word, 1);
    memcpy(&value, entry + 104, 8);
    assert_int_equal(value, 0x1122);
    memcpy(&value, entry + 128 + 104, 8);
    assert_string_equal((const char *)bytes + 64 + 8 * 128 + 64 * value, "text");
    stats_segment_close(segment);
}

static void entries_come_and_go(void **state)
{
    struct stats_segment *segment = open_segment("churn");
    struct stats_value value;
    size_t at = 0;

    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        struct stats_entry *entry =
            stats_entry_addf(segment, STATS_KIND_STRING, "mount.%u.user", i);
        stats_string_set(segment, entry, "somebody");
        struct stats_entry *count = stats_entry_addf(segment, STATS_KIND_COUNTER, "mount.%u.n", i);
        assert_true(md_ctr_get(&count->value) == 0);
        md_ctr_inc(&count->value);
        stats_entry_remove(segment, entry);
        stats_entry_remove(segment, count);
    }
    struct stats_reader *reader = open_reader("p2ps.churn");
    assert_true(stats_reader_next(reader, &at, &value));
    assert_string_equal(value.path, "stats.dropped");
    assert_true(value.value == 0);
    assert_false(stats_reader_next(reader, &at, &value));
    stats_reader_close(reader);
    stats_segment_close(segment);
}

static void the_same_path_is_the_same_entry_and_a_full_table_drops(void **state)
{
    struct stats_segment *segment = open_segment("full");
    char long_path[200];
    struct stats_value value;

    (void)state;
    struct md_ctr *a = stats_counter(segment, "a");
    assert_ptr_equal(stats_counter(segment, "a"), a);
    assert_ptr_not_equal(stats_entry_add(segment, STATS_KIND_GAUGE, "a"), a); /* dropped: 1 */
    for (int i = 0; i < 20; i++) /* 6 fit, 14 are dropped */
        md_ctr_inc(&stats_entry_addf(segment, STATS_KIND_COUNTER, "number.%d", i)->value);
    memset(long_path, 'p', sizeof(long_path));
    long_path[96] = '\0';
    md_ctr_inc(stats_counter(segment, long_path)); /* dropped: 16 */
    for (int i = 0; i < 3; i++)
        md_hist_record(stats_histogram_add(segment, "h"), 1); /* dropped: 19 */
    stats_string_add(segment, "s", "nowhere");                /* dropped: 20 */
    struct stats_reader *reader = open_reader("p2ps.full");
    assert_true(stats_reader_find(reader, "stats.dropped", &value));
    assert_int_equal(value.value, 20);
    stats_reader_close(reader);
    stats_segment_close(segment);
}

static bool add_up(void *owner, const char *path, uint64_t value)
{
    uint64_t *sum = owner;

    *sum += strcmp(path, "p2ps.b") == 0 ? 100 * value : value;
    return *sum < 1000;
}

static void an_owner_walks_what_is_not_zero(void **state)
{
    struct stats_config config = config_of("walk");
    struct stats_segment *segment;
    uint64_t sum = 0;

    (void)state;
    assert_int_equal(stats_segment_open(&config, &segment, NULL), MD_OK);
    md_ctr_set(stats_counter(segment, "p2ps.a"), 3);
    stats_gauge_set(stats_entry_add(segment, STATS_KIND_GAUGE, "p2ps.b"), 2);
    (void)stats_counter(segment, "p2ps.c");
    stats_string_add(segment, "p2ps.d", "text");
    stats_segment_each(segment, add_up, &sum);
    assert_int_equal(sum, 203);
    md_ctr_set(stats_counter(segment, "p2ps.a"), 2000);
    sum = 0;
    stats_segment_each(segment, add_up, &sum);
    assert_int_equal(sum, 2000); /* it said that is enough */
    stats_segment_close(segment);
}

static void a_segment_without_a_folder_is_private(void **state)
{
    struct stats_config config = { .process = "sim", .instance = "1" };
    struct stats_segment *segment;

    (void)state;
    assert_int_equal(stats_segment_open(&config, &segment, NULL), MD_OK);
    md_ctr_inc(stats_counter(segment, "x"));
    stats_segment_close(segment);
    stats_segment_close(NULL);
}

static void a_living_owner_is_respected_and_a_killed_one_replaced(void **state)
{
    struct stats_config config = config_of("crash");
    struct stats_segment *segment;
    struct stats_value value;
    int ready[2], status;
    pid_t holder;
    char byte;

    (void)state;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (stats_segment_open(&config, &segment, NULL) == MD_OK) {
            md_ctr_add(stats_counter(segment, "done"), 42);
            if (write(ready[1], "x", 1) == 1)
                pause();
        }
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(stats_segment_open(&config, &segment, &holder), MD_ERR_EXISTS);
    assert_null(segment);
    assert_int_equal(holder, pid);
    struct stats_reader *reader = open_reader("p2ps.crash");
    uint64_t beat = stats_reader_heartbeat_ns(reader);
    assert_int_equal(stats_reader_liveness(reader, beat + 1), STATS_ALIVE);
    assert_int_equal(stats_reader_liveness(reader, beat + 6 * MD_NS_PER_S), STATS_HUNG);
    kill(pid, SIGKILL);
    siginfo_t info;
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT); /* it has ended, nobody has asked how */
    assert_int_equal(stats_reader_liveness(reader, beat + 6 * MD_NS_PER_S), STATS_DEAD);
    waitpid(pid, &status, 0);
    assert_int_equal(stats_reader_liveness(reader, beat + 1), STATS_DEAD);
    assert_true(stats_reader_find(reader, "done", &value) && value.value == 42);
    assert_false(stats_reader_is_replaced(reader));

    assert_int_equal(stats_segment_open(&config, &segment, &holder), MD_OK);
    assert_true(stats_reader_is_replaced(reader));
    assert_int_equal(stats_reader_refresh(reader), MD_OK); /* the old one, still mapped */
    assert_true(stats_reader_find(reader, "done", &value) && value.value == 42);
    stats_reader_close(reader);
    stats_segment_close(segment);
    close(ready[0]);
    close(ready[1]);
}

/* The path of a file in a folder of its own, which is made. */
static void path_of(char *path, size_t size, const char *name, const char *file)
{
    snprintf(path, size, "%s/%s", folder, name);
    (void)mkdir(path, 0750);
    snprintf(path, size, "%s/%s/%s", folder, name, file);
}

static void files_that_are_no_segments_are_refused(void **state)
{
    struct stats_segment *segment = open_segment("bad");
    struct stats_reader *reader;
    char path[PATH_MAX / 2], name[32];
    uint8_t bytes[64 + 8 * 128 + 2 * 64];
    static const struct {
        size_t at;
        uint32_t value;
    } spoils[] = { { 0, 1 },   { 8, 2 },           { 12, UINT32_MAX }, { 40, 1000000 },
                   { 44, 64 }, { 56, UINT32_MAX }, { 60, UINT32_MAX } };

    (void)state;
    snprintf(path, sizeof(path), "%s/p2ps.bad/stats", folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, bytes, sizeof(bytes)), sizeof(bytes));
    close(fd);
    for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
        uint8_t copy[sizeof(bytes)];
        memcpy(copy, bytes, sizeof(bytes));
        memcpy(copy + spoils[i].at, &spoils[i].value, 4);
        snprintf(name, sizeof(name), "spoilt.%zu", i);
        path_of(path, sizeof(path), name, "stats");
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(write(fd, copy, sizeof(copy)), sizeof(copy));
        close(fd);
        assert_int_equal(stats_reader_open(folder, name, &reader), MD_ERR_MALFORMED);
        assert_null(reader);
        unlink(path);
    }
    stats_segment_close(segment);
}

static void segments_of_a_folder_are_listed_by_name(void **state)
{
    struct stats_segment *b = open_segment("b"), *a = open_segment("a");
    char names[4][STATS_NAME_BYTES];

    (void)state;
    assert_int_equal(stats_segment_list(folder, names, 4), 2);
    assert_string_equal(names[0], "p2ps.a");
    assert_string_equal(names[1], "p2ps.b");
    assert_int_equal(stats_segment_list("/nowhere/at/all", names, 4), MD_ERR_SYS);
    stats_segment_close(a);
    stats_segment_close(b);
}

/* A segment of our own that anybody may have put there: copied from a good one, then changed. */
static int copy_segment(const char *from, const char *name, struct stats_header *header)
{
    char path[PATH_MAX / 2];
    uint8_t bytes[1 << 18];
    int in, out;

    path_of(path, sizeof(path), from, "stats");
    in = open(path, O_RDONLY | O_CLOEXEC);
    path_of(path, sizeof(path), name, "stats");
    out = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t length = read(in, bytes, sizeof(bytes));
    assert_true(in >= 0 && out >= 0 && length > (ssize_t)sizeof(*header));
    assert_int_equal(write(out, bytes, (size_t)length), length);
    memcpy(header, bytes, sizeof(*header));
    close(in);
    return out;
}

static void a_segment_that_is_cut_short_under_its_reader_reads_as_empty(void **state)
{
    struct stats_segment *segment = open_segment("cut");
    struct stats_reader *reader;
    struct stats_header header;
    struct stats_value value;

    (void)state;
    int fd = copy_segment("p2ps.cut", "p2ps.short", &header);
    assert_int_equal(stats_reader_open(folder, "p2ps.short", &reader), MD_OK);
    assert_true(stats_reader_find(reader, "stats.dropped", &value));
    assert_int_equal(ftruncate(fd, 0), 0);
    (void)stats_reader_refresh(reader);
    assert_false(stats_reader_find(reader, "stats.dropped", &value));
    assert_true(stats_reader_heartbeat_ns(reader) == 0);
    (void)stats_reader_liveness(reader, md_clock_mono_ns());
    stats_reader_close(reader);
    assert_int_equal(stats_reader_open(folder, "p2ps.short", &reader), MD_ERR_MALFORMED);
    close(fd);
    stats_segment_close(segment);
}

/* How many entries are in use: all are looked at where nothing is said, or too much. */
static void what_a_segment_says_of_its_entries_is_bounded(void **state)
{
    const uint64_t claims[] = { 0, 2, 9, UINT64_MAX };
    struct stats_segment *segment = open_segment("used");
    struct stats_reader *reader;
    struct stats_header header;
    struct stats_value value;

    (void)state;
    md_ctr_add(stats_counter(segment, "one"), 1);
    md_ctr_add(stats_counter(segment, "two"), 2);
    int fd = copy_segment("p2ps.used", "p2ps.claims", &header);
    for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
        assert_int_equal(pwrite(fd, &claims[i], 8, 64 + 120), 8);
        assert_int_equal(stats_reader_open(folder, "p2ps.claims", &reader), MD_OK);
        assert_true(stats_reader_find(reader, "one", &value) && value.value == 1);
        assert_int_equal(stats_reader_find(reader, "two", &value), claims[i] != 2);
        stats_reader_close(reader);
    }
    close(fd);
    stats_segment_close(segment);
}

static void a_segment_that_claims_too_much_is_refused_and_one_histogram_is_copied_once(void **state)
{
    struct stats_segment *segment = open_segment("much");
    struct stats_reader *reader;
    struct stats_header header;
    const off_t most = 64 << 20;

    (void)state;
    int fd = copy_segment("p2ps.much", "p2ps.huge", &header);
    assert_int_equal(ftruncate(fd, most + 1), 0);
    assert_int_equal(stats_reader_open(folder, "p2ps.huge", &reader), MD_ERR_MALFORMED);
    /* As many entries as fit, and all of them name histogram 0. */
    uint32_t entries = (uint32_t)((most - 64 - (off_t)sizeof(struct md_hist)) / 128);
    struct stats_entry entry = { .kind = STATS_KIND_HISTOGRAM };
    memcpy(&entry, "h", 2);
    assert_int_equal(ftruncate(fd, most), 0);
    header.total_bytes = (uint32_t)most;
    header.entry_count = entries;
    header.string_count = 0;
    header.histogram_count = 1;
    header.generation = 1; /* changing for ever */
    assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
    for (uint32_t i = 0; i < entries; i += 2)
        assert_int_equal(pwrite(fd, &entry, 128, 64 + 128 * (off_t)i), 128);
    assert_int_equal(stats_reader_open(folder, "p2ps.huge", &reader), MD_OK);
    assert_int_equal(stats_reader_refresh(reader), MD_ERR_AGAIN);
    stats_reader_close(reader);
    close(fd);
    stats_segment_close(segment);
}

static void only_a_plain_file_of_the_owner_of_its_folder_is_read(void **state)
{
    struct stats_segment *segment = open_segment("plain");
    struct stats_reader *reader;
    char target[PATH_MAX / 2], path[PATH_MAX / 2];

    (void)state;
    path_of(target, sizeof(target), "p2ps.plain", "stats");
    path_of(path, sizeof(path), "p2ps.link", "stats");
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(stats_reader_open(folder, "p2ps.link", &reader), MD_ERR_EXISTS);
    path_of(path, sizeof(path), "p2ps.pipe", "stats");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(stats_reader_open(folder, "p2ps.pipe", &reader), MD_ERR_EXISTS);
    path_of(path, sizeof(path), "p2ps.folder", "stats");
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(stats_reader_open(folder, "p2ps.folder", &reader), MD_ERR_EXISTS);
    path_of(path, sizeof(path), "p2ps.second", "stats");
    assert_int_equal(link(target, path), 0); /* two names: it may be a stranger's */
    assert_int_equal(stats_reader_open(folder, "p2ps.second", &reader), MD_ERR_EXISTS);
    unlink(path);
    snprintf(path, sizeof(path), "%s/p2ps.linked", folder);
    snprintf(target, sizeof(target), "%s/p2ps.plain", folder);
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(stats_reader_open(folder, "p2ps.linked", &reader), MD_ERR_EXISTS);
    assert_int_equal(stats_reader_open(folder, "../p2ps.plain", &reader), MD_ERR_RANGE);
    if (geteuid() == 0) {
        path_of(path, sizeof(path), "p2ps.foreign", "stats");
        struct stats_header header;
        close(copy_segment("p2ps.plain", "p2ps.foreign", &header));
        if (chown(path, 65534, (gid_t)-1) == 0)
            assert_int_equal(stats_reader_open(folder, "p2ps.foreign", &reader), MD_ERR_EXISTS);
    }
    stats_segment_close(segment);
}

static void names_with_signs_of_a_terminal_are_not_listed(void **state)
{
    struct stats_segment *segment = open_segment("named");
    char names[64][STATS_NAME_BYTES], path[PATH_MAX / 2];
    bool is_there = false;

    (void)state;
    path_of(path, sizeof(path), "p2ps.\033[2J", "stats");
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    path_of(path, sizeof(path), "p2ps.\xc2\x9b", "stats");
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    int count = stats_segment_list(folder, names, 64);
    for (int i = 0; i < count; i++) {
        is_there = is_there || strcmp(names[i], "p2ps.named") == 0;
        assert_null(strpbrk(names[i], "\033\xc2"));
    }
    assert_true(is_there);
    stats_segment_close(segment);
}

/* A foreign folder or lock costs the statistics, not the program. */
static void a_folder_of_another_user_is_not_taken(void **state)
{
    struct stats_config config = config_of("taken");
    struct stats_segment *segment;
    char path[PATH_MAX / 2];

    (void)state;
    snprintf(path, sizeof(path), "%s/p2ps.taken", folder);
    assert_int_equal(symlink("/tmp", path), 0);
    assert_int_equal(stats_segment_open(&config, &segment, NULL), MD_ERR_EXISTS);
    assert_null(segment);
    unlink(path);
    if (geteuid() != 0 || mkdir(path, 0755) != 0 || chown(path, 65534, (gid_t)-1) != 0)
        return;
    assert_int_equal(stats_segment_open(&config, &segment, NULL), MD_ERR_EXISTS);
}

static void *churn(void *arg)
{
    struct stats_segment *segment = arg;

    for (unsigned i = 0; i < 3000; i++) {
        struct stats_entry *entry = stats_string_add(segment, "even", "aaaaaaaaaaaaaaaaaaaaaaaa");
        stats_string_set(segment, entry, "bbbbbbbbbbbbbbbbbbbbbbbb");
        stats_entry_remove(segment, entry);
        md_ctr_inc(&stats_entry_addf(segment, STATS_KIND_COUNTER, "c.%u", i % 3)->value);
    }
    return NULL;
}

static void a_reader_never_sees_a_change_half_done(void **state)
{
    struct stats_segment *segment = open_segment("race");
    struct stats_reader *reader = open_reader("p2ps.race");
    struct stats_value value;
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, churn, segment), 0);
    for (int i = 0; i < 3000; i++) {
        if (stats_reader_refresh(reader) != MD_OK || !stats_reader_find(reader, "even", &value))
            continue;
        assert_int_equal(value.kind, STATS_KIND_STRING);
        if (value.text[0]) /* between adding and setting it is empty */
            assert_true(strspn(value.text, "a") == 24 || strspn(value.text, "b") == 24);
    }
    pthread_join(thread, NULL);
    stats_reader_close(reader);
    stats_segment_close(segment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_finds_every_kind_of_value),
        cmocka_unit_test(a_group_shows_the_members_of_a_struct),
        cmocka_unit_test(the_group_may_read_whatever_the_umask_is),
        cmocka_unit_test(the_layout_is_the_documented_one),
        cmocka_unit_test(entries_come_and_go),
        cmocka_unit_test(the_same_path_is_the_same_entry_and_a_full_table_drops),
        cmocka_unit_test(an_owner_walks_what_is_not_zero),
        cmocka_unit_test(a_segment_without_a_folder_is_private),
        cmocka_unit_test(a_living_owner_is_respected_and_a_killed_one_replaced),
        cmocka_unit_test(files_that_are_no_segments_are_refused),
        cmocka_unit_test(segments_of_a_folder_are_listed_by_name),
        cmocka_unit_test(a_segment_that_is_cut_short_under_its_reader_reads_as_empty),
        cmocka_unit_test(
            a_segment_that_claims_too_much_is_refused_and_one_histogram_is_copied_once),
        cmocka_unit_test(what_a_segment_says_of_its_entries_is_bounded),
        cmocka_unit_test(only_a_plain_file_of_the_owner_of_its_folder_is_read),
        cmocka_unit_test(names_with_signs_of_a_terminal_are_not_listed),
        cmocka_unit_test(a_folder_of_another_user_is_not_taken),
        cmocka_unit_test(a_reader_never_sees_a_change_half_done),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
