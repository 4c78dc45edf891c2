/* screen.c - the live view: the instances, and one of them opened. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <ncurses.h>

#include "base/clock.h"
#include "base/err.h"
#include "monitor.h"

static const char *const tabs[] = { "ALL",  "MOUNTS", "SERVICES", "ITEMS",
                                    "RRCP", "ROUTES", "MEMORY",   "CONFIG" };

struct screen {
    struct monitor *monitor;
    double interval_s;
    char opened[STATS_NAME_BYTES]; /* the instance shown alone; "": none */
    char filter[64];
    size_t tab;
    int selected, top;
    bool is_paused, is_helping, is_typing;
    bool is_hour; /* below the instances: the hour that the chosen one keeps, not the minute */
};

static void put_line(int row, int attributes, const char *text)
{
    if (row >= LINES)
        return;
    attron(attributes);
    mvprintw(row, 0, "%-*.*s", COLS, COLS, text);
    attroff(attributes);
}

static int colour_of(const struct monitor_instance *instance)
{
    int rank = monitor_rank(instance);

    return rank >= 2 ? COLOR_PAIR(1) | A_BOLD : rank == 1 ? COLOR_PAIR(2) | A_BOLD : A_NORMAL;
}

/* A minute of the chosen instance: scan lines are there in every terminal, from low to high. */
static void draw_graph(int row, int column, const struct monitor_trend *trend,
                       enum monitor_trend_of of, const struct trend_span *span)
{
    const chtype levels[] = { ACS_S9, ACS_S7, ACS_HLINE, ACS_S3, ACS_S1 };
    const int count = (int)(sizeof(levels) / sizeof(levels[0]));

    for (uint32_t i = 0; i < span->looks; i++) {
        int level = trend_level(trend, of, span->looks - 1 - i, span->most, count);
        mvaddch(row, column + (int)i, level < 0 ? ' ' : levels[level]);
    }
}

/* The other nodes that an rrcpd hears: "vm.2.rrcpd 108 us". */
static void draw_nodes(const struct monitor_instance *instance, int row)
{
    char line[512] = " other nodes ", path[STATS_PATH_BYTES], rtt[24];
    struct stats_value value, other;
    size_t at = 0, found = 0;

    while (stats_reader_next(instance->reader, &at, &value)) {
        const char *leaf = strrchr(value.path, '.');
        if (value.kind != STATS_KIND_STRING || !strstr(value.path, ".peer.") ||
            strcmp(leaf, ".name") != 0)
            continue;
        snprintf(path, sizeof(path), "%.*s.rttUs", (int)(leaf - value.path), value.path);
        bool is_measured = stats_reader_find(instance->reader, path, &other) && other.value > 0;
        print_count(rtt, sizeof(rtt), is_measured ? (double)other.value : -1);
        snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s%.40s %s us",
                 found++ ? ", " : "", value.text, rtt);
    }
    if (found > 0)
        put_line(row, A_NORMAL, line);
}

#define TREND_LINES 7

/* "the last 55 s", "the last 43 min" */
static void name_span(char *out, size_t size, const struct monitor_instance *instance,
                      const struct trend_span *span)
{
    bool is_long = span->seconds >= 120;

    snprintf(out, size, " %-.60s, the last %.0f %s", instance->name,
             is_long ? span->seconds / 60 : span->seconds, is_long ? "min" : "s");
}

/* False: it keeps none, or it may not be read. */
static bool read_hour(const struct screen *screen, const struct monitor_instance *instance,
                      struct monitor_trend *out)
{
    static struct stats_sample samples[STATS_HISTORY_CAPACITY];
    int count = stats_history_read(screen->monitor->run_dir, instance->name,
                                   stats_reader_pid(instance->reader), samples);

    if (count > 0)
        trend_take_samples(out, samples, (unsigned)count);
    return count > 0;
}

static void draw_trends(const struct screen *screen, const struct monitor_instance *instance,
                        int row)
{
    static const char *const names[MONITOR_TRENDS] = { "in/s", "out/s", "turn p99 us", "queue %" };
    int width = COLS - 50 < MONITOR_TREND_LOOKS ? COLS - 50 : MONITOR_TREND_LOOKS;
    char head[160], now[24], least[24], most[24];
    const struct monitor_trend *trend = &instance->trend;
    struct monitor_trend hour;
    struct trend_span span;

    if (width < 10 || row + TREND_LINES > LINES - 1 || !instance->is_readable)
        return;
    if (screen->is_hour && read_hour(screen, instance, &hour))
        trend = &hour;
    trend_span(trend, MONITOR_TREND_IN, (uint32_t)width, &span);
    name_span(head, sizeof(head), instance, &span);
    put_line(row + 1, A_BOLD, head);
    mvprintw(row + 1, COLS - 33, "%10s %10s %10s", "now", "least", "most");
    for (int i = 0; i < MONITOR_TRENDS; i++) {
        trend_span(trend, (enum monitor_trend_of)i, (uint32_t)width, &span);
        print_count(now, sizeof(now), span.now);
        print_count(least, sizeof(least), span.least);
        print_count(most, sizeof(most), span.most);
        mvprintw(row + 2 + i, 1, "%-12s", names[i]);
        draw_graph(row + 2 + i, 14, trend, (enum monitor_trend_of)i, &span);
        mvprintw(row + 2 + i, COLS - 33, "%10s %10s %10s", now, least, most);
    }
    draw_nodes(instance, row + 2 + MONITOR_TRENDS);
}

/* The text that --once would print, line by line, with the colours of the terminal. */
static void draw_overview(struct screen *screen)
{
    struct monitor *monitor = screen->monitor;
    char *text = NULL;
    size_t length = 0;
    int row = 0;
    FILE *out = open_memstream(&text, &length);

    if (!out)
        return;
    print_overview(monitor, out, false, COLS);
    fclose(out);
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        int at = row - 2;
        int attributes = row == 1 ? (int)A_REVERSE : (int)A_NORMAL;
        if (at >= 0 && at < (int)monitor->count)
            attributes = colour_of(&monitor->instances[at]);
        if (at == screen->selected)
            attributes = (int)((chtype)attributes | A_REVERSE);
        put_line(row++, attributes, line);
    }
    free(text);
    if (screen->selected >= 0 && screen->selected < (int)monitor->count)
        draw_trends(screen, &monitor->instances[screen->selected], row);
}

static void draw_tabs(const struct screen *screen)
{
    move(1, 0);
    clrtoeol();
    for (size_t i = 0; i < sizeof(tabs) / sizeof(tabs[0]); i++) {
        attron(i == screen->tab ? A_REVERSE : A_NORMAL);
        printw(" %s ", tabs[i]);
        attroff(A_REVERSE);
    }
}

/* What -print would print of this instance and tab, from the line scrolled to. */
static void draw_instance(struct screen *screen, const struct monitor_instance *instance)
{
    char head[512], *text = NULL, *rest = NULL;
    size_t length = 0;
    int row = 2, skipped = 0;
    FILE *out = open_memstream(&text, &length);

    snprintf(head, sizeof(head), "%s  %s  %s%s%s%s%s", instance->name, monitor_state(instance),
             instance->note, screen->monitor->sort ? "  by " : "",
             screen->monitor->sort ? screen->monitor->sort : "", screen->filter[0] ? "  /" : "",
             screen->filter);
    put_line(0, colour_of(instance), head);
    draw_tabs(screen);
    if (!out)
        return;
    print_instance(instance, out, tabs[screen->tab], screen->monitor->sort);
    fclose(out);
    for (char *line = strtok_r(text, "\n", &rest); line && row < LINES - 1;
         line = strtok_r(NULL, "\n", &rest)) {
        if ((!screen->filter[0] || strcasestr(line, screen->filter)) && skipped++ >= screen->top)
            put_line(row++, A_NORMAL, line);
    }
    free(text);
}

static void draw_help(void)
{
    static const char *const lines[] = {
        "",
        "  up, down   choose an instance, or scroll",
        "  enter      open it          left, right   the next tab      b, escape   back",
        "  /          show only lines that contain a text (enter ends it)",
        "  s          sort by the next column: the instances, or the table that is open",
        "  h          below the instances: the last hour, or the last minute again",
        "  p          pause            q   end",
        "",
        "  Below the instances: the last minute of the one chosen, from low to high; or the last",
        "  hour, which the daemon keeps itself; and the other nodes that an rrcpd hears.",
        "",
        "  DEAD: the process is gone, what it counted last is shown.",
        "  HUNG: the process is there, and has not moved for 5 s.",
        "",
        "  any key goes on",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        put_line((int)i, A_NORMAL, lines[i]);
}

static const struct monitor_instance *find_opened(const struct screen *screen)
{
    for (size_t i = 0; i < screen->monitor->count; i++) {
        if (strcmp(screen->monitor->instances[i].name, screen->opened) == 0)
            return &screen->monitor->instances[i];
    }
    return NULL;
}

static void draw(struct screen *screen)
{
    const struct monitor_instance *opened = screen->opened[0] ? find_opened(screen) : NULL;

    erase();
    if (screen->is_helping)
        draw_help();
    else if (opened)
        draw_instance(screen, opened);
    else
        draw_overview(screen);
    put_line(LINES - 1, A_DIM,
             screen->is_typing ? screen->filter
             : screen->is_paused
                 ? " paused: p goes on"
                 : " enter open  b back  / filter  s sort  h hour  p pause  ? help  q end");
    refresh();
}

static void type_filter(struct screen *screen, int key)
{
    size_t length = strlen(screen->filter);

    if (key == '\n' || key == KEY_ENTER || key == 27)
        screen->is_typing = false;
    else if ((key == KEY_BACKSPACE || key == 127 || key == 8) && length > 0)
        screen->filter[length - 1] = 0;
    else if (key >= 0x20 && key < 0x7f && length + 1 < sizeof(screen->filter)) {
        screen->filter[length] = (char)key;
        screen->filter[length + 1] = 0;
    }
}

static void sort_by_next(struct screen *screen)
{
    struct monitor *monitor = screen->monitor;

    if (screen->opened[0])
        monitor->sort = rows_next_title(tabs[screen->tab], monitor->sort);
    else
        monitor->order = (enum monitor_order)((monitor->order + 1) % MONITOR_ORDERS);
}

/* The next or the former tab; its tables have other columns. */
static void turn_to(struct screen *screen, size_t tab)
{
    screen->tab = tab % (sizeof(tabs) / sizeof(tabs[0]));
    screen->top = 0;
    screen->monitor->sort = NULL;
}

/* False: end. */
static bool on_key(struct screen *screen, int key)
{
    struct monitor *monitor = screen->monitor;
    int *at = screen->opened[0] ? &screen->top : &screen->selected;

    if (screen->is_helping) {
        screen->is_helping = false;
        return true;
    }
    if (screen->is_typing) {
        type_filter(screen, key);
        return true;
    }
    switch (key) {
    case 'q':
        return false;
    case KEY_UP:
        *at -= *at > 0;
        break;
    case KEY_DOWN:
        ++*at;
        break;
    case KEY_RIGHT:
    case '\t':
        turn_to(screen, screen->tab + 1);
        break;
    case KEY_LEFT:
        turn_to(screen, screen->tab + sizeof(tabs) / sizeof(tabs[0]) - 1);
        break;
    case '\n':
    case KEY_ENTER:
        if (screen->selected < (int)monitor->count)
            snprintf(screen->opened, sizeof(screen->opened), "%s",
                     monitor->instances[screen->selected].name);
        break;
    case 'b':
    case 27:
        screen->opened[0] = 0;
        monitor->sort = NULL;
        break;
    case '/':
        screen->filter[0] = 0;
        screen->is_typing = true;
        break;
    case 's':
        sort_by_next(screen);
        break;
    case 'h':
        screen->is_hour = !screen->is_hour;
        break;
    case 'p':
        screen->is_paused = !screen->is_paused;
        break;
    case '?':
        screen->is_helping = true;
        break;
    }
    if (monitor->count > 0 && screen->selected >= (int)monitor->count)
        screen->selected = (int)monitor->count - 1;
    return true;
}

int screen_run(struct monitor *monitor, double interval_s)
{
    struct screen screen = { .monitor = monitor, .interval_s = interval_s };
    uint64_t next_ns = 0;
    bool goes_on = true;

    if (!initscr())
        return 1;
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    curs_set(0);
    if (has_colors()) {
        start_color();
        use_default_colors();
        init_pair(1, COLOR_RED, -1);
        init_pair(2, COLOR_YELLOW, -1);
    }
    while (goes_on) {
        uint64_t now_ns = md_clock_mono_ns();
        if (!screen.is_paused && now_ns >= next_ns) {
            (void)monitor_look(monitor, now_ns);
            next_ns = now_ns + (uint64_t)(screen.interval_s * 1e9);
        }
        draw(&screen);
        timeout(200);
        int key = getch();
        if (key != ERR)
            goes_on = on_key(&screen, key);
    }
    endwin();
    return 0;
}
