/* log.c - see base/log.h. The files and their rotation are in log_sink.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/caps.h"
#include "base/clock.h"
#include "base/err.h"
#include "log_sink.h"

#define LINES_PER_SECOND 5
#define QUEUE_DEFAULT    1024
#define TICK_NS          200000000l

/* A drift this large within a beat is a clock that was set, not one that is steered. */
#define CLOCK_STEP_NS ((int64_t)MD_NS_PER_S)
/* Beats come every second. */
#define PAUSE_NS (3 * MD_NS_PER_S)

static const char *const severity_names[] = {
    [MD_LOG_EMERGENCY] = "EMERGENCY", [MD_LOG_ALERT] = "ALERT",     [MD_LOG_CRITICAL] = "CRITICAL",
    [MD_LOG_ERROR] = "ERROR",         [MD_LOG_WARNING] = "WARNING", [MD_LOG_NOTICE] = "NOTICE",
    [MD_LOG_INFO] = "INFO",           [MD_LOG_DEBUG] = "DEBUG",
};

/*
 * The queue: many producers, one consumer, a power of two of slots, each with a turn number (the
 * bounded queue of D. Vyukov). A slot is free for ticket t when its turn is t, and holds the line
 * of ticket t when its turn is t + 1. A producer owns the slot from winning the ticket (tail) to
 * the release store of the turn; the consumer from its acquire load to its own release store.
 */
struct slot {
    _Atomic uint64_t turn;
    uint64_t wall_ns;
    enum md_log_severity severity;
    uint32_t length;
    char text[MD_LOG_TEXT_MAX + 8]; /* one byte more than fits, so that a cut is seen */
};

/* The one log of the process. Everything else in the program hangs on a struct of its main(). */
static struct {
    _Atomic int severity_max;
    _Atomic bool is_open;
    _Atomic bool is_closing;
    _Atomic bool is_reopening;
    _Atomic uint64_t overflow;
    _Atomic uint64_t suppressed;
    _Atomic uint64_t tail; /* next ticket to give */
    _Atomic uint64_t head; /* lines before it are written */
    struct md_log_site *_Atomic sites;
    struct slot *slots;
    uint64_t mask;
    uint64_t overflow_told;
    struct md_log_sink sink;
    pthread_t thread;
    pthread_mutex_t lock; /* for the sleep of the log thread only */
    pthread_cond_t bell;
    _Atomic bool is_asleep;
    pthread_mutex_t recent_lock;
    struct recent {
        struct md_log_line lines[MD_LOG_RECENT_MAX / 2];
        uint64_t count; /* ever */
    } recent[2];        /* of trouble; of what is only noted, which drives no trouble out */
} the_log = {
    .severity_max = MD_LOG_INFO,
    .recent_lock = PTHREAD_MUTEX_INITIALIZER,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .bell = PTHREAD_COND_INITIALIZER,
};

/* The line behind `at` of one kind, and NULL at its end. */
static const struct md_log_line *recent_at(const struct recent *recent, uint64_t at)
{
    return at < recent->count ? &recent->lines[at % (MD_LOG_RECENT_MAX / 2)] : NULL;
}

/* Both kinds, merged by time; of lines of one time trouble stands first. */
unsigned md_log_recent(struct md_log_line *out, unsigned max)
{
    const struct recent *recent = the_log.recent;
    uint64_t at[2];
    unsigned all = 0, count = 0;

    pthread_mutex_lock(&the_log.recent_lock);
    for (int i = 0; i < 2; i++) {
        uint64_t held = MD_LOG_RECENT_MAX / 2;
        at[i] = recent[i].count > held ? recent[i].count - held : 0;
        all += (unsigned)(recent[i].count - at[i]);
    }
    for (; all > 0; all--) {
        const struct md_log_line *a = recent_at(&recent[0], at[0]);
        const struct md_log_line *b = recent_at(&recent[1], at[1]);
        bool is_noted = b && (!a || b->wall_ns < a->wall_ns);
        at[is_noted]++;
        if (all <= max) /* the oldest are left out */
            out[count++] = is_noted ? *b : *a;
    }
    pthread_mutex_unlock(&the_log.recent_lock);
    return count;
}

const char *md_log_severity_name(enum md_log_severity severity)
{
    return (unsigned)severity <= MD_LOG_DEBUG ? severity_names[severity] : "UNKNOWN";
}

int md_log_severity_parse(const char *name, enum md_log_severity *out)
{
    *out = MD_LOG_INFO;
    for (int i = MD_LOG_EMERGENCY; i <= MD_LOG_DEBUG; i++) {
        if (strcasecmp(name, severity_names[i]) == 0) {
            *out = (enum md_log_severity)i;
            return MD_OK;
        }
    }
    return MD_ERR_NOT_FOUND;
}

void md_log_watch_time(uint64_t mono_ns, struct md_log_watch *last)
{
    struct md_log_watch now = { mono_ns, (int64_t)(md_clock_wall_ns() - mono_ns) };
    struct md_log_watch was = *last;
    int64_t by = now.ahead_ns - was.ahead_ns;

    *last = now;
    if (was.mono_ns == 0)
        return;
    if (by > CLOCK_STEP_NS || by < -CLOCK_STEP_NS)
        md_log(MD_LOG_WARNING,
               "the wall clock was set by %+.1f s; it is used for the times of this log only",
               (double)by / 1e9);
    if (mono_ns > was.mono_ns && mono_ns - was.mono_ns > PAUSE_NS)
        md_log(MD_LOG_WARNING,
               "this process did not run for %.1f s: it was stopped, or there was no CPU for it",
               (double)(mono_ns - was.mono_ns) / 1e9);
}

void md_log_severity_set(enum md_log_severity severity_max)
{
    atomic_store_explicit(&the_log.severity_max, (int)severity_max, memory_order_relaxed);
}

bool md_log_is_on(enum md_log_severity severity)
{
    return (int)severity <= atomic_load_explicit(&the_log.severity_max, memory_order_relaxed);
}

static void ring_bell(void)
{
    if (!atomic_load(&the_log.is_asleep))
        return;
    pthread_mutex_lock(&the_log.lock);
    pthread_cond_signal(&the_log.bell);
    pthread_mutex_unlock(&the_log.lock);
}

static void enqueue(uint64_t wall_ns, enum md_log_severity severity, const char *text,
                    size_t length)
{
    uint64_t ticket = atomic_load_explicit(&the_log.tail, memory_order_relaxed);
    struct slot *slot;

    for (;;) {
        slot = &the_log.slots[ticket & the_log.mask];
        uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire);
        if (turn < ticket) { /* still holds the line of one round before */
            atomic_fetch_add_explicit(&the_log.overflow, 1, memory_order_relaxed);
            return;
        }
        if (turn > ticket)
            ticket = atomic_load_explicit(&the_log.tail, memory_order_relaxed);
        else if (atomic_compare_exchange_weak_explicit(&the_log.tail, &ticket, ticket + 1,
                                                       memory_order_relaxed, memory_order_relaxed))
            break;
    }
    slot->wall_ns = wall_ns;
    slot->severity = severity;
    slot->length = (uint32_t)(length < sizeof(slot->text) ? length : sizeof(slot->text));
    memcpy(slot->text, text, slot->length);
    atomic_store(&slot->turn, ticket + 1); /* seq_cst: against is_asleep in ring_bell() */
    ring_bell();
}

static void list_site(struct md_log_site *site)
{
    if (atomic_exchange(&site->is_listed, true))
        return;
    struct md_log_site *first = atomic_load(&the_log.sites);
    do
        atomic_store_explicit(&site->next, first, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&the_log.sites, &first, site));
}

/*
 * Two threads that meet at the change of the second may let a line too many through; nobody is
 * hurt.
 */
static bool site_allows(struct md_log_site *site, enum md_log_severity severity, const char *format,
                        uint64_t mono_ns)
{
    uint64_t second = mono_ns / MD_NS_PER_S;

    if (atomic_load_explicit(&site->second, memory_order_relaxed) != second) {
        atomic_store_explicit(&site->second, second, memory_order_relaxed);
        atomic_store_explicit(&site->lines, 0, memory_order_relaxed);
    }
    if (atomic_fetch_add_explicit(&site->lines, 1, memory_order_relaxed) < LINES_PER_SECOND)
        return true;
    atomic_store_explicit(&site->severity, severity, memory_order_relaxed);
    atomic_store_explicit(&site->format, format, memory_order_relaxed);
    atomic_fetch_add_explicit(&site->held, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&the_log.suppressed, 1, memory_order_relaxed);
    list_site(site);
    return false;
}

void md_log_write(struct md_log_site *site, enum md_log_severity severity, const char *format, ...)
{
    char text[MD_LOG_TEXT_MAX + 8];
    int saved_errno = errno;
    va_list args;

    if (!site_allows(site, severity, format, md_clock_mono_ns()))
        return;
    errno = saved_errno; /* for %m */
    va_start(args, format);
    int length = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (length < 0)
        length = 0;
    if ((size_t)length >= sizeof(text))
        length = sizeof(text) - 1;
    if (atomic_load_explicit(&the_log.is_open, memory_order_acquire))
        enqueue(md_clock_wall_ns(), severity, text, (size_t)length);
    else
        md_log_sink_stderr(md_clock_wall_ns(), severity, text, (size_t)length);
    errno = saved_errno;
}

/* The log thread from here on. */

static void remember(uint64_t wall_ns, enum md_log_severity severity, const char *text,
                     size_t length)
{
    struct recent *recent = &the_log.recent[severity > MD_LOG_WARNING];

    pthread_mutex_lock(&the_log.recent_lock);
    struct md_log_line *line = &recent->lines[recent->count++ % (MD_LOG_RECENT_MAX / 2)];
    line->wall_ns = wall_ns;
    line->severity = severity;
    line->text[md_log_escape(text, length, line->text, sizeof(line->text) - 1)] = 0;
    pthread_mutex_unlock(&the_log.recent_lock);
}

static void write_line(uint64_t wall_ns, enum md_log_severity severity, const char *text,
                       size_t length)
{
    if (severity <= MD_LOG_NOTICE)
        remember(wall_ns, severity, text, length);
    md_log_sink_write(&the_log.sink, wall_ns, severity, text, length);
}

static uint64_t drain(void)
{
    uint64_t head = atomic_load_explicit(&the_log.head, memory_order_relaxed);
    uint64_t from = head;

    for (;;) {
        struct slot *slot = &the_log.slots[head & the_log.mask];
        if (atomic_load_explicit(&slot->turn, memory_order_acquire) != head + 1)
            break;
        write_line(slot->wall_ns, slot->severity, slot->text, slot->length);
        atomic_store_explicit(&slot->turn, head + the_log.mask + 1, memory_order_release);
        head++;
        atomic_store_explicit(&the_log.head, head, memory_order_release);
    }
    return head - from;
}

/* Tell what was held back, of places whose second is over; of all places when the log closes. */
static void tell_suppressed(bool is_last)
{
    uint64_t second = md_clock_mono_ns() / MD_NS_PER_S;
    char text[200];

    for (struct md_log_site *site = atomic_load(&the_log.sites); site;
         site = atomic_load_explicit(&site->next, memory_order_relaxed)) {
        if (!is_last && atomic_load_explicit(&site->second, memory_order_relaxed) == second)
            continue;
        uint32_t held = atomic_exchange_explicit(&site->held, 0, memory_order_relaxed);
        if (held == 0)
            continue;
        const char *format = atomic_load_explicit(&site->format, memory_order_relaxed);
        int length = snprintf(text, sizeof(text), "suppressed %u like: %s", held, format);
        if ((size_t)length >= sizeof(text))
            length = sizeof(text) - 1;
        write_line(md_clock_wall_ns(), atomic_load_explicit(&site->severity, memory_order_relaxed),
                   text, (size_t)length);
    }
}

static void tell_overflow(void)
{
    uint64_t overflow = atomic_load_explicit(&the_log.overflow, memory_order_relaxed);
    char text[64];

    if (overflow == the_log.overflow_told)
        return;
    int length = snprintf(text, sizeof(text), "log: queue full, %llu lines lost",
                          (unsigned long long)(overflow - the_log.overflow_told));
    the_log.overflow_told = overflow;
    write_line(md_clock_wall_ns(), MD_LOG_WARNING, text, (size_t)length);
}

static bool is_idle(void)
{
    uint64_t head = atomic_load_explicit(&the_log.head, memory_order_relaxed);

    return atomic_load(&the_log.slots[head & the_log.mask].turn) != head + 1 &&
           !atomic_load(&the_log.is_closing);
}

/* At most one tick: suppressed lines fall due, and a reopening asked for by a signal is seen. */
static void nap(void)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += TICK_NS;
    until.tv_sec += until.tv_nsec / 1000000000l;
    until.tv_nsec %= 1000000000l;
    pthread_mutex_lock(&the_log.lock);
    atomic_store(&the_log.is_asleep, true);
    if (is_idle())
        pthread_cond_timedwait(&the_log.bell, &the_log.lock, &until);
    atomic_store(&the_log.is_asleep, false);
    pthread_mutex_unlock(&the_log.lock);
}

static void *log_thread(void *arg)
{
    (void)arg;
    md_caps_drop();
    while (!atomic_load(&the_log.is_closing)) {
        if (atomic_exchange(&the_log.is_reopening, false))
            md_log_sink_reopen(&the_log.sink);
        uint64_t written = drain();
        tell_overflow();
        tell_suppressed(false);
        if (written == 0)
            nap();
    }
    drain();
    tell_overflow();
    tell_suppressed(true);
    return NULL;
}

static int start_thread(void)
{
    sigset_t all, before;

    /* Signals are for the program's own threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&the_log.thread, NULL, log_thread, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0)
        pthread_setname_np(the_log.thread, "log");
    errno = rc;
    return rc == 0 ? MD_OK : MD_ERR_SYS;
}

int md_log_open(const struct md_log_config *config)
{
    uint64_t slots = 16;

    if (atomic_load(&the_log.is_open))
        return MD_ERR_STATE;
    while (slots < (config->queue_lines ? config->queue_lines : QUEUE_DEFAULT))
        slots *= 2;
    the_log.slots = calloc(slots, sizeof(*the_log.slots));
    if (!the_log.slots)
        return MD_ERR_NOMEM;
    the_log.mask = slots - 1;
    for (uint64_t i = 0; i < slots; i++)
        atomic_init(&the_log.slots[i].turn, i);
    atomic_store(&the_log.head, 0);
    atomic_store(&the_log.tail, 0);
    atomic_store(&the_log.overflow, 0);
    atomic_store(&the_log.suppressed, 0);
    the_log.overflow_told = 0;
    atomic_store(&the_log.is_closing, false);
    atomic_store(&the_log.is_reopening, false);

    int err = md_log_sink_open(&the_log.sink, config);
    if (err)
        goto fail_slots;
    err = start_thread();
    if (err)
        goto fail_sink;
    md_log_severity_set(config->severity_max);
    atomic_store_explicit(&the_log.is_open, true, memory_order_release);
    return MD_OK;
fail_sink:
    md_log_sink_close(&the_log.sink);
fail_slots:
    free(the_log.slots);
    the_log.slots = NULL;
    return err;
}

void md_log_close(void)
{
    if (!atomic_exchange(&the_log.is_open, false))
        return;
    atomic_store(&the_log.is_closing, true);
    ring_bell();
    pthread_join(the_log.thread, NULL);
    md_log_sink_close(&the_log.sink);
    free(the_log.slots);
    the_log.slots = NULL;
}

void md_log_flush(void)
{
    if (!atomic_load(&the_log.is_open))
        return;
    uint64_t until = atomic_load(&the_log.tail);
    while (atomic_load_explicit(&the_log.head, memory_order_acquire) < until) {
        ring_bell();
        sched_yield();
    }
}

void md_log_reopen(void)
{
    atomic_store(&the_log.is_reopening, true);
}

void md_log_stats(struct md_log_stats *out)
{
    *out = (struct md_log_stats){
        .lines = md_ctr_get(&the_log.sink.lines),
        .overflow = atomic_load_explicit(&the_log.overflow, memory_order_relaxed),
        .suppressed = atomic_load_explicit(&the_log.suppressed, memory_order_relaxed),
        .rotations = md_ctr_get(&the_log.sink.rotations),
        .errors = md_ctr_get(&the_log.sink.errors),
    };
}
