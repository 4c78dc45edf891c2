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

    snprintf(head, sizeof(head), "%s  %s  %s%s%s", instance->name, monitor_state(instance),
             instance->note, screen->filter[0] ? "  /" : "", screen->filter);
    put_line(0, colour_of(instance), head);
    draw_tabs(screen);
    if (!out)
        return;
    print_instance(instance, out, tabs[screen->tab]);
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
        "  p          pause            q   end",
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
             screen->is_typing   ? screen->filter
             : screen->is_paused ? " paused: p goes on"
                                 : " enter open  b back  / filter  p pause  ? help  q end");
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

/* False: end. */
static bool on_key(struct screen *screen, int key)
{
    struct monitor *monitor = screen->monitor;
    int *at = screen->opened[0] ? &screen->top : &screen->selected;
    size_t tab_count = sizeof(tabs) / sizeof(tabs[0]);

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
        screen->tab = (screen->tab + 1) % tab_count;
        screen->top = 0;
        break;
    case KEY_LEFT:
        screen->tab = (screen->tab + tab_count - 1) % tab_count;
        screen->top = 0;
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
        break;
    case '/':
        screen->filter[0] = 0;
        screen->is_typing = true;
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
