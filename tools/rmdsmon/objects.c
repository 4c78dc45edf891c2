/* objects.c - managed objects, as public collectors read them: one in another, values typed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/table.h"
#include "monitor.h"

/*
 * A value "p2ps.worker.0.mounts" is `mounts` of the object worker.0; what the configuration sets,
 * "p2ps.config.h.1.p2ps.port.14002.pingTimeout", is a value of the object port.14002.
 */
struct value {
    char object[192];
    char name[96];
    const char *type;
    char text[320];
};

struct values {
    struct value *items;
    size_t count, room;
};

static const char *type_name(enum stats_kind kind)
{
    switch (kind) {
    case STATS_KIND_COUNTER:
        return "Counter";
    case STATS_KIND_GAUGE:
        return "Gauge";
    case STATS_KIND_STRING:
        return "String";
    case STATS_KIND_TIME:
        return "Time";
    case STATS_KIND_HISTOGRAM:
        return "Histogram";
    case STATS_KIND_FREE:
        break;
    }
    return "?";
}

static struct value *add(struct values *values)
{
    if (values->count == values->room) {
        size_t room = values->room ? 2 * values->room : 256;
        struct value *items = realloc(values->items, room * sizeof(*items));

        if (!items)
            return NULL;
        values->items = items;
        values->room = room;
    }
    struct value *value = &values->items[values->count++];
    *value = (struct value){ .type = "String" };
    return value;
}

/* The last component is the name; a number behind it belongs to it, as in writeThreadCpu.0. */
static void split(struct value *value, const char *path)
{
    const char *dot = strrchr(path, '.');

    if (dot && dot[1] && !dot[1 + strspn(dot + 1, "0123456789")])
        while (dot > path && dot[-1] != '.')
            dot--;
    else if (dot)
        dot++;
    if (!dot)
        dot = path;
    snprintf(value->name, sizeof(value->name), "%s", dot);
    if (dot > path)
        snprintf(value->object, sizeof(value->object), "%.*s", (int)(dot - path - 1), path);
}

static const char *config_type(const char *process, const char *name)
{
    char param[96];

    snprintf(param, sizeof(param), "%.*s", (int)strcspn(name, "."), name);
    for (int kind = 0; kind < MD_CONF_KINDS; kind++) {
        const struct md_conf_row *row = md_conf_row_find(
            param, (enum md_conf_kind)kind,
            strncmp(process, "rrcpd", 5) == 0 ? MD_CONF_RRCPD : md_conf_program_bit(process));
        if (row)
            return row->type == MD_CONF_BOOLEAN                                       ? "Boolean"
                   : row->type == MD_CONF_INTEGER || row->type == MD_CONF_PORT_NUMBER ? "Integer"
                                                                                      : "String";
    }
    return "String";
}

/* "h.1.p2ps.poolSize", "16000  rmds.cnf:4": without the place, which is no part of the value. */
static void add_config(struct values *values, const char *process, const char *path,
                       const char *text)
{
    struct value *value = add(values);
    const char *own = path;
    const char *place = NULL;

    if (!value)
        return;
    for (int i = 0; i < 3 && own; i++)
        own = strchr(own, '.') ? strchr(own, '.') + 1 : NULL;
    split(value, own ? own : path);
    for (const char *at = text; (at = strstr(at, "  ")); at++)
        place = at;
    value->type = config_type(process, value->name);
    snprintf(value->text, sizeof(value->text), "%.*s", (int)(place ? place - text : 300), text);
    if (!*value->text)
        snprintf(value->text, sizeof(value->text), "none");
}

static void add_all(struct values *values, const struct monitor_instance *instance,
                    const char *section)
{
    size_t prefix = strlen(instance->process) + 1, at = 0;
    struct stats_value found;

    while (instance->reader && stats_reader_next(instance->reader, &at, &found)) {
        const char *path = found.path;

        if (!monitor_in_section(section, &found))
            continue;
        if (strncmp(path, instance->process, prefix - 1) == 0 && path[prefix - 1] == '.')
            path += prefix;
        if (strncmp(path, "config.", 7) == 0 && found.kind == STATS_KIND_STRING) {
            add_config(values, instance->process, path + 7, found.text ? found.text : "");
            continue;
        }
        struct value *value = add(values);
        if (!value)
            return;
        split(value, path);
        value->type = type_name(found.kind);
        if (found.kind == STATS_KIND_GAUGE)
            snprintf(value->text, sizeof(value->text), "%llu", (unsigned long long)found.value);
        else
            print_value(value->text, sizeof(value->text), &found);
    }
}

static const char *find(const struct values *values, const char *name)
{
    for (size_t i = 0; i < values->count; i++)
        if (!*values->items[i].object && strcmp(values->items[i].name, name) == 0)
            return values->items[i].text;
    return NULL;
}

/* Threads have a CPU or "none"; a loop without a line of its own has that of all of them, or that
 * of `other`, which is the same thread. */
static void add_cpu(struct values *values, const char *name, int number, const char *other)
{
    char own[64], same[64];
    const char *text;

    snprintf(own, sizeof(own), number < 0 ? "%s" : "%s.%d", name, number);
    snprintf(same, sizeof(same), "%s.%d", other ? other : "", number);
    if (find(values, own))
        return;
    text = number < 0 ? NULL : find(values, name);
    text = text || !other ? text : find(values, same);
    text = text || !other ? text : find(values, other);
    char cpu[320]; /* `text` stands in what add() may move */
    snprintf(cpu, sizeof(cpu), "%s", text ? text : "none");
    struct value *value = add(values);
    if (!value)
        return;
    snprintf(value->name, sizeof(value->name), "%s", own);
    snprintf(value->text, sizeof(value->text), "%s", cpu);
}

/* How many objects worker.0, worker.1 ... there are; at least one. */
static int count_loops(const struct values *values)
{
    long count = 1;

    for (size_t i = 0; i < values->count; i++) {
        const char *object = values->items[i].object;

        if (strncmp(object, "worker.", 7) != 0 || !isdigit((unsigned char)object[7]))
            continue;
        long number = strtol(object + 7, NULL, 10);
        if (number >= count && number < 64)
            count = number + 1;
    }
    return (int)count;
}

/* The threads of which collectors ask the CPU; of `loops` there are several. */
static void add_threads(struct values *values, const struct monitor_instance *instance)
{
    bool is_p2ps = strcmp(instance->process, "p2ps") == 0;

    add_cpu(values, "mainThreadCpu", -1, NULL);
    if (!is_p2ps && strcmp(instance->process, "src_dist") != 0)
        return;
    add_cpu(values, "rrcpReadCpu", -1, NULL);
    if (!is_p2ps)
        add_cpu(values, "filterThreadCpu", -1, NULL);
    for (int i = 0, n = count_loops(values); i < n; i++) {
        if (!is_p2ps) {
            add_cpu(values, "sourceThreadCpu", i, NULL);
            continue;
        }
        add_cpu(values, "writeThreadCpu", i, "itemThreadCpu");
        add_cpu(values, "itemThreadCpu", i, "writeThreadCpu");
    }
}

/* What collectors ask of every daemon, also where nothing is configured. */
static void add_known(struct values *values, const struct monitor_instance *instance,
                      const char *section)
{
    struct value *value = add(values);

    if (value) {
        snprintf(value->name, sizeof(value->name), "state");
        snprintf(value->text, sizeof(value->text), "%s", monitor_state(instance));
    }
    if (strcmp(section, "ALL") != 0 && strcmp(section, "CONFIG") != 0)
        return;
    if (!find(values, "releaseVersion") && (value = add(values))) {
        snprintf(value->name, sizeof(value->name), "releaseVersion");
        snprintf(value->text, sizeof(value->text), "%s", RMDS_VERSION);
    }
    add_threads(values, instance);
}

/* An object stands before those in it: '.' is the least of all bytes but the end. */
static int compare_paths(const char *a, const char *b)
{
    for (;; a++, b++) {
        int left = *a == '.' ? 1 : (unsigned char)*a, right = *b == '.' ? 1 : (unsigned char)*b;

        if (left != right || !left)
            return left - right;
    }
}

static int compare(const void *a, const void *b)
{
    const struct value *left = a, *right = b;
    int order = compare_paths(left->object, right->object);

    return order ? order : compare_paths(left->name, right->name);
}

/* ---- users: what their mounts have together ---- */

struct user {
    const char *name, *application_id;
    uint64_t mounts, total, in[2], out[2]; /* messages, bytes */
};

static void add_number(struct values *values, const char *user, const char *name, const char *type,
                       uint64_t number)
{
    struct value *value = add(values);

    if (!value)
        return;
    snprintf(value->object, sizeof(value->object), "user.%.120s", user);
    snprintf(value->name, sizeof(value->name), "%s", name);
    snprintf(value->text, sizeof(value->text), "%llu", (unsigned long long)number);
    value->type = type;
}

static void add_user(struct values *values, const struct user *user)
{
    struct value *value = add(values);

    if (!value)
        return;
    snprintf(value->object, sizeof(value->object), "user.%.120s", user->name);
    snprintf(value->name, sizeof(value->name), "applicationId");
    snprintf(value->text, sizeof(value->text), "%s", user->application_id);
    add_number(values, user->name, "mounts", "Gauge", user->mounts);
    add_number(values, user->name, "total", "Gauge", user->total);
    add_number(values, user->name, "msgsIn", "Counter", user->in[0]);
    add_number(values, user->name, "msgsOut", "Counter", user->out[0]);
    add_number(values, user->name, "bytesIn", "Counter", user->in[1]);
    add_number(values, user->name, "bytesOut", "Counter", user->out[1]);
}

static void take_mount(struct user *mount, const struct value *value)
{
    const struct {
        const char *name;
        uint64_t *sum;
    } sums[] = { { "items", &mount->total },
                 { "msgsIn", &mount->in[0] },
                 { "msgsOut", &mount->out[0] },
                 { "bytesIn", &mount->in[1] },
                 { "bytesOut", &mount->out[1] } };

    if (strcmp(value->name, "user") == 0)
        mount->name = value->text;
    else if (strcmp(value->name, "applicationId") == 0)
        mount->application_id = value->text;
    for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
        if (strcmp(value->name, sums[i].name) == 0)
            *sums[i].sum += strtoull(value->text, NULL, 10);
    }
}

static int compare_users(const void *a, const void *b)
{
    const struct user *left = a, *right = b;

    return strcmp(left->name, right->name);
}

/* One after another in order of their names: the mounts of one user become one. */
static size_t join_users(struct user *users, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        struct user *last = kept ? &users[kept - 1] : NULL;

        if (!last || strcmp(last->name, users[i].name) != 0) {
            users[kept++] = users[i];
            continue;
        }
        last->mounts++;
        last->total += users[i].total;
        for (int k = 0; k < 2; k++) {
            last->in[k] += users[i].in[k];
            last->out[k] += users[i].out[k];
        }
    }
    return kept;
}

/* `values` are in the order of their objects. The objects of the users are added behind them. */
static void add_users(struct values *values)
{
    size_t room = 0, count = 0, sorted = values->count;

    for (size_t i = 0; i < sorted; i++)
        room += strncmp(values->items[i].object, "mount.", 6) == 0;
    struct user *users = room ? calloc(room, sizeof(*users)) : NULL;
    /* The names of users point into `values`, which grow. */
    struct value *copy = users ? malloc(sorted * sizeof(*copy)) : NULL;
    if (!copy) {
        free(users);
        return;
    }
    memcpy(copy, values->items, sorted * sizeof(*copy));
    for (size_t from = 0, to; from < sorted; from = to) {
        struct user mount = { .application_id = "", .mounts = 1 };

        for (to = from; to < sorted && strcmp(copy[to].object, copy[from].object) == 0; to++)
            take_mount(&mount, &copy[to]);
        if (strncmp(copy[from].object, "mount.", 6) == 0 && mount.name && *mount.name)
            users[count++] = mount;
    }
    qsort(users, count, sizeof(*users), compare_users);
    count = join_users(users, count);
    for (size_t i = 0; i < count; i++)
        add_user(values, &users[i]);
    free(copy);
    free(users);
}

static bool is_in(const char *object, const char *of)
{
    size_t length = strlen(of);

    return !length || (strncmp(object, of, length) == 0 && object[length] == '.');
}

/* From values[at] on: the object that begins there and those in it; where the next one begins. */
static size_t print_object(const struct values *values, size_t at, const char *identity, int depth,
                           FILE *out)
{
    const char *object = values->items[at].object;

    fprintf(out, "%*sInstance: %s%s", 4 * depth, "", identity, *object ? "." : "");
    print_text(out, object, false); /* names of users and services come from outside */
    fputc('\n', out);
    for (; at < values->count && strcmp(values->items[at].object, object) == 0; at++) {
        const struct value *value = &values->items[at];

        fprintf(out, "%*s", 4 * depth, "");
        print_text(out, value->name, false);
        fprintf(out, ": %s: ", value->type);
        print_text(out, value->text, false);
        fputc('\n', out);
    }
    fprintf(out, "%*sChildren:\n", 4 * depth, "");
    while (at < values->count && is_in(values->items[at].object, object) && depth < 16)
        at = print_object(values, at, identity, depth + 1, out);
    return at;
}

void print_objects(const struct monitor *monitor, FILE *out, const char *section)
{
    char host[64] = "localhost", identity[64 + 2 * STATS_NAME_BYTES];

    (void)gethostname(host, sizeof(host) - 1);
    host[strcspn(host, ".")] = 0;
    for (size_t i = 0; i < monitor->count; i++) {
        const struct monitor_instance *instance = &monitor->instances[i];
        struct values values = { .items = NULL };

        add_all(&values, instance, section);
        add_known(&values, instance, section);
        if (!values.items)
            continue;
        qsort(values.items, values.count, sizeof(*values.items), compare);
        if (strcmp(instance->process, "p2ps") == 0) {
            add_users(&values);
            qsort(values.items, values.count, sizeof(*values.items), compare);
        }
        snprintf(identity, sizeof(identity), "%s.%s.%s", host, instance->number, instance->process);
        for (size_t at = 0; at < values.count;)
            at = print_object(&values, at, identity, 0, out);
        fputc('\n', out);
        free(values.items);
    }
    fflush(out);
}
