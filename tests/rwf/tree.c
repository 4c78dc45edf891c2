/* tree.c - nodes, their text, and the set definitions they describe; see tree.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK_SIZE      (256 * 1024)
#define PARSE_DEPTH_MAX 200

struct arena_block {
    struct arena_block *next;
    size_t used;
    size_t size;
    uint8_t bytes[];
};

void arena_fini(struct arena *arena)
{
    while (arena->block) {
        struct arena_block *next = arena->block->next;

        free(arena->block);
        arena->block = next;
    }
}

void arena_reset(struct arena *arena)
{
    struct arena_block *keep = arena->block;

    if (!keep)
        return;
    arena->block = keep->next;
    arena_fini(arena);
    memset(keep->bytes, 0, keep->used);
    keep->used = 0;
    keep->next = NULL;
    arena->block = keep;
}

void *arena_take(struct arena *arena, size_t size)
{
    size = (size + 15) & ~(size_t)15;
    if (!arena->block || size > arena->block->size - arena->block->used) {
        size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        struct arena_block *block = calloc(1, sizeof(*block) + room);

        if (!block) {
            fputs("out of memory\n", stderr);
            exit(2);
        }
        block->next = arena->block;
        block->size = room;
        arena->block = block;
    }
    void *p = arena->block->bytes + arena->block->used;
    arena->block->used += size;
    return p;
}

/* ---- nodes ---- */

static struct node *node_new(struct arena *arena, enum node_kind kind)
{
    struct node *node = arena_take(arena, sizeof(*node));

    node->kind = kind;
    return node;
}

struct node *node_word(struct arena *arena, const char *word)
{
    struct node *node = node_new(arena, NODE_WORD);

    node->bytes = rwf_text(word);
    return node;
}

struct node *node_list(struct arena *arena, const char *head)
{
    struct node *node = node_new(arena, NODE_LIST);

    if (head)
        node_add(node, node_word(arena, head));
    return node;
}

struct node *node_uint(struct arena *arena, uint64_t number)
{
    struct node *node = node_new(arena, NODE_NUMBER);

    node->magnitude = number;
    return node;
}

struct node *node_int(struct arena *arena, int64_t number)
{
    struct node *node = node_uint(arena, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);

    node->is_negative = number < 0;
    return node;
}

struct node *node_bytes(struct arena *arena, struct rwf_bytes bytes)
{
    struct node *node = node_new(arena, NODE_BYTES);

    node->bytes = bytes;
    return node;
}

struct node *node_add(struct node *list, struct node *item)
{
    if (list->last)
        list->last->next = item;
    else
        list->first = item;
    list->last = item;
    return list;
}

bool node_is_word(const struct node *node, const char *word)
{
    return node && node->kind == NODE_WORD && rwf_bytes_equal(node->bytes, rwf_text(word));
}

bool node_is_list(const struct node *node, const char *head)
{
    return node && node->kind == NODE_LIST && node_is_word(node->first, head);
}

int64_t node_number(const struct node *node)
{
    if (!node || node->kind != NODE_NUMBER)
        return 0;
    return (int64_t)(node->is_negative ? 0 - node->magnitude : node->magnitude);
}

const struct node *node_find(const struct node *list, const char *head)
{
    for (const struct node *item = list->first; item; item = item->next) {
        if (node_is_list(item, head))
            return item;
    }
    return NULL;
}

size_t node_count(const struct node *list)
{
    size_t count = 0;

    for (const struct node *item = list->first; item; item = item->next)
        count++;
    return count;
}

static bool is_empty(const struct node *node)
{
    return node_is_word(node, "blank") || (node->kind == NODE_BYTES && node->bytes.length == 0);
}

bool node_equal(const struct node *a, const struct node *b)
{
    if (a->kind != b->kind) /* no bytes are a blank, in either notation */
        return is_empty(a) && is_empty(b);
    if (a->kind == NODE_NUMBER)
        return a->magnitude == b->magnitude && a->is_negative == b->is_negative;
    if (a->kind != NODE_LIST)
        return rwf_bytes_equal(a->bytes, b->bytes);
    const struct node *x = a->first;
    const struct node *y = b->first;
    while (x && y && node_equal(x, y)) {
        x = x->next;
        y = y->next;
    }
    return !x && !y;
}

/* ---- text to nodes ---- */

struct parser {
    struct arena *arena;
    const uint8_t *pos;
    const uint8_t *end;
    unsigned depth;
};

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static bool is_delimiter(uint8_t c)
{
    return c == ' ' || c == '(' || c == ')';
}

static struct node *parse_hex(struct parser *p)
{
    const uint8_t *start = p->pos;

    while (p->pos < p->end && !is_delimiter(*p->pos))
        p->pos++;
    size_t digits = (size_t)(p->pos - start);
    if (digits % 2 != 0)
        return NULL;
    uint8_t *bytes = arena_take(p->arena, digits / 2 + 1);
    for (size_t i = 0; i < digits; i += 2) {
        int high = hex_digit(start[i]);
        int low = hex_digit(start[i + 1]);

        if (high < 0 || low < 0)
            return NULL;
        bytes[i / 2] = (uint8_t)(high << 4 | low);
    }
    return node_bytes(p->arena, rwf_bytes(bytes, digits / 2));
}

static struct node *parse_text(struct parser *p)
{
    const uint8_t *start = p->pos;

    while (p->pos < p->end && *p->pos != '"')
        p->pos++;
    if (p->pos == p->end)
        return NULL;
    return node_bytes(p->arena, rwf_bytes(start, (size_t)(p->pos++ - start)));
}

/* "-12", "0x1f"; NULL when the atom is not a number. */
static struct node *number_of(struct parser *p, struct rwf_bytes atom)
{
    bool negative = atom.length > 1 && atom.data[0] == '-';
    size_t i = negative ? 1 : 0;
    unsigned base = 10;
    uint64_t value = 0;

    if (atom.length > i + 2 && atom.data[i] == '0' && atom.data[i + 1] == 'x') {
        base = 16;
        i += 2;
    }
    if (i == atom.length)
        return NULL;
    for (; i < atom.length; i++) {
        int digit = hex_digit(atom.data[i]);

        if (digit < 0 || (unsigned)digit >= base)
            return NULL;
        value = value * base + (unsigned)digit;
    }
    struct node *node = node_uint(p->arena, value);
    node->is_negative = negative && value != 0;
    return node;
}

static struct node *parse_atom(struct parser *p)
{
    const uint8_t *start = p->pos;

    while (p->pos < p->end && !is_delimiter(*p->pos))
        p->pos++;
    struct rwf_bytes atom = rwf_bytes(start, (size_t)(p->pos - start));
    if (atom.length == 0)
        return NULL;
    struct node *node = number_of(p, atom);
    if (!node) {
        node = node_new(p->arena, NODE_WORD);
        node->bytes = atom;
    }
    return node;
}

static struct node *parse_node(struct parser *p);

static struct node *parse_list(struct parser *p)
{
    struct node *list = node_list(p->arena, NULL);

    if (++p->depth > PARSE_DEPTH_MAX)
        return NULL;
    for (;;) {
        while (p->pos < p->end && *p->pos == ' ')
            p->pos++;
        if (p->pos == p->end)
            return NULL;
        if (*p->pos == ')') {
            p->pos++;
            p->depth--;
            return list;
        }
        struct node *item = parse_node(p);
        if (!item)
            return NULL;
        node_add(list, item);
    }
}

static struct node *parse_node(struct parser *p)
{
    if (p->pos == p->end)
        return NULL;
    switch (*p->pos) {
    case '(':
        p->pos++;
        return parse_list(p);
    case '#':
        p->pos++;
        return parse_hex(p);
    case '"':
        p->pos++;
        return parse_text(p);
    default:
        return parse_atom(p);
    }
}

struct node *tree_parse(struct arena *arena, struct rwf_bytes text)
{
    struct parser p = { .arena = arena, .pos = text.data, .end = text.data + text.length };
    struct node *node = parse_node(&p);

    return p.pos == p.end ? node : NULL;
}

/* ---- nodes to text ---- */

struct printer {
    char *out;
    size_t size;
    size_t length;
};

static void put(struct printer *p, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++, p->length++) {
        if (p->length + 1 < p->size)
            p->out[p->length] = text[i];
    }
}

static bool is_plain(struct rwf_bytes bytes)
{
    for (size_t i = 0; i < bytes.length; i++) {
        uint8_t c = bytes.data[i];

        if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
            return false;
    }
    return bytes.length > 0;
}

static void print_bytes(struct printer *p, struct rwf_bytes bytes)
{
    if (is_plain(bytes)) {
        put(p, "\"", 1);
        put(p, (const char *)bytes.data, bytes.length);
        put(p, "\"", 1);
        return;
    }
    put(p, "#", 1);
    for (size_t i = 0; i < bytes.length; i++) {
        put(p, &"0123456789abcdef"[bytes.data[i] >> 4], 1);
        put(p, &"0123456789abcdef"[bytes.data[i] & 15], 1);
    }
}

static void print_node(struct printer *p, const struct node *node)
{
    char number[32];
    int n;

    switch (node->kind) {
    case NODE_WORD:
        put(p, (const char *)node->bytes.data, node->bytes.length);
        break;
    case NODE_NUMBER:
        n = snprintf(number, sizeof(number), "%s%" PRIu64, node->is_negative ? "-" : "",
                     node->magnitude);
        put(p, number, (size_t)n);
        break;
    case NODE_BYTES:
        print_bytes(p, node->bytes);
        break;
    case NODE_LIST:
        put(p, "(", 1);
        for (const struct node *item = node->first; item; item = item->next) {
            print_node(p, item);
            if (item->next)
                put(p, " ", 1);
        }
        put(p, ")", 1);
        break;
    }
}

size_t tree_print(const struct node *node, char *out, size_t size)
{
    struct printer p = { .out = out, .size = size };

    print_node(&p, node);
    if (size > 0)
        out[p.length < size ? p.length : size - 1] = '\0';
    return p.length;
}

/* ---- type words ---- */

static const struct {
    const char *word;
    uint8_t type;
} type_words[] = {
    { "INT", 3 },        { "UINT", 4 },        { "FLOAT", 5 },       { "DOUBLE", 6 },
    { "REAL", 8 },       { "DATE", 9 },        { "TIME", 10 },       { "DATETIME", 11 },
    { "QOS", 12 },       { "STATE", 13 },      { "ENUM", 14 },       { "ARRAY", 15 },
    { "BUFFER", 16 },    { "ASCII", 17 },      { "UTF8", 18 },       { "RMTES", 19 },
    { "INT1", 64 },      { "UINT1", 65 },      { "INT2", 66 },       { "UINT2", 67 },
    { "INT4", 68 },      { "UINT4", 69 },      { "INT8", 70 },       { "UINT8", 71 },
    { "FLOAT4", 72 },    { "DOUBLE8", 73 },    { "REAL4RB", 74 },    { "REAL8RB", 75 },
    { "DATE4", 76 },     { "TIME3", 77 },      { "TIME5", 78 },      { "DATETIME7", 79 },
    { "DATETIME9", 80 }, { "DATETIME11", 81 }, { "DATETIME12", 82 }, { "TIME7", 83 },
    { "TIME8", 84 },     { "NODATA", 128 },    { "OPAQUE", 130 },    { "XML", 131 },
    { "FL", 132 },       { "EL", 133 },        { "ANSI", 134 },      { "FLT", 135 },
    { "VEC", 136 },      { "MAP", 137 },       { "SER", 138 },       { "MSG", 141 },
    { "JSON", 142 },
};

#define TYPE_WORDS (sizeof(type_words) / sizeof(type_words[0]))

int tree_type(const struct node *word)
{
    if (!word)
        return -1;
    if (word->kind == NODE_NUMBER)
        return (int)word->magnitude;
    for (size_t i = 0; i < TYPE_WORDS; i++) {
        if (node_is_word(word, type_words[i].word))
            return type_words[i].type;
    }
    return -1;
}

struct node *tree_type_node(struct arena *arena, unsigned type)
{
    for (size_t i = 0; i < TYPE_WORDS; i++) {
        if (type_words[i].type == type)
            return node_word(arena, type_words[i].word);
    }
    return node_uint(arena, type);
}

unsigned tree_field_type(void *context, int16_t field_id)
{
    static const struct {
        int16_t id;
        uint8_t type;
    } fixed[] = {
        { 1, RWF_TYPE_UINT },   { 2, RWF_TYPE_UINT },  { 3, RWF_TYPE_RMTES }, { 4, RWF_TYPE_ENUM },
        { 14, RWF_TYPE_ENUM },  { 15, RWF_TYPE_ENUM }, { 5, RWF_TYPE_TIME },  { 18, RWF_TYPE_TIME },
        { 270, RWF_TYPE_TIME }, { 6, RWF_TYPE_REAL },  { 22, RWF_TYPE_REAL }, { 25, RWF_TYPE_REAL },
        { 30, RWF_TYPE_REAL },  { 31, RWF_TYPE_REAL }, { 32, RWF_TYPE_REAL }, { 16, RWF_TYPE_DATE },
    };
    (void)context;
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
        if (fixed[i].id == field_id)
            return fixed[i].type;
    }
    int type = field_id / 100;
    if (field_id > 0 && ((type >= 3 && type <= 6) || (type >= 8 && type <= 19) ||
                         (type >= 130 && type <= 138) || type == 141 || type == 142))
        return (unsigned)type;
    return RWF_TYPE_BUFFER;
}

/* ---- set definitions ---- */

static int write_def(struct rwf_set_writer *writer, const struct node *def, uint16_t id)
{
    int rc = rwf_set_writer_def(writer, id);

    for (const struct node *entry = def->first->next->next; entry; entry = entry->next) {
        const struct node *key = entry->first;
        int type = key ? tree_type(key->next) : -1;

        if (type < 0)
            return RWF_ERR_MALFORMED;
        if (key->kind == NODE_BYTES)
            rc = rwf_set_writer_element(writer, key->bytes, (unsigned)type);
        else
            rc = rwf_set_writer_field(writer, (int16_t)node_number(key), (unsigned)type);
    }
    return rc;
}

#define BLOCK_MAX 70000

int scope_block(struct arena *arena, const struct node *db, struct rwf_bytes *block)
{
    struct rwf_set_writer writer;
    int rc = RWF_OK;

    rwf_set_writer_init(&writer, arena_take(arena, BLOCK_MAX), BLOCK_MAX);
    for (const struct node *def = db->first->next; def && rc >= 0; def = def->next) {
        if (!node_is_list(def, "def") || !def->first->next)
            return RWF_ERR_MALFORMED;
        rc = write_def(&writer, def, (uint16_t)node_number(def->first->next));
    }
    if (rc < 0)
        return rc;
    *block = rwf_set_writer_bytes(&writer, &rc);
    return rc;
}

static int def_compare(const void *a, const void *b)
{
    const struct rwf_set_def *x = a;
    const struct rwf_set_def *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

/* Global ids are above what a block carries: each definition is encoded alone as number 0. */
static int add_global(struct rwf_set_global *global, struct arena *arena, const struct node *db,
                      enum rwf_set_kind kind)
{
    size_t count = node_count(db) - 1;
    struct rwf_set_def *defs = arena_take(arena, count * sizeof(*defs) + 1);
    size_t i = 0;

    for (const struct node *def = db->first->next; def; def = def->next, i++) {
        struct rwf_set_writer writer;
        struct rwf_set_db *one = arena_take(arena, sizeof(*one));
        int rc;

        if (!node_is_list(def, "def") || !def->first->next)
            return RWF_ERR_MALFORMED;
        rwf_set_writer_init(&writer, arena_take(arena, BLOCK_MAX), BLOCK_MAX);
        rc = write_def(&writer, def, 0);
        if (rc < 0)
            return rc;
        rc = rwf_set_db_decode(rwf_set_writer_bytes(&writer, &rc), kind, one);
        if (rc < 0)
            return rc;
        defs[i] = one->def[0];
        defs[i].id = (uint16_t)node_number(def->first->next);
    }
    qsort(defs, count, sizeof(*defs), def_compare);
    global->def = defs;
    global->count = count;
    return RWF_OK;
}

int scope_add(struct scope *scope, struct arena *arena, const struct node *db)
{
    struct rwf_bytes block;

    if (node_is_list(db, "GFDB"))
        return add_global(&scope->global_fields, arena, db, RWF_SET_FIELDS);
    if (node_is_list(db, "GEDB"))
        return add_global(&scope->global_elements, arena, db, RWF_SET_ELEMENTS);

    bool fields = node_is_list(db, "FDB");
    if (!fields && !node_is_list(db, "EDB"))
        return RWF_ERR_MALFORMED;
    int rc = scope_block(arena, db, &block);
    if (rc < 0)
        return rc;
    struct rwf_set_db *local = arena_take(arena, sizeof(*local));
    rc = rwf_set_db_decode(block, fields ? RWF_SET_FIELDS : RWF_SET_ELEMENTS, local);
    if (fields)
        scope->fields = local;
    else
        scope->elements = local;
    return rc;
}

struct rwf_sets scope_sets(const struct scope *scope, enum rwf_set_kind kind)
{
    return (struct rwf_sets){
        .local = kind == RWF_SET_FIELDS ? scope->fields : scope->elements,
        .global_fields = &scope->global_fields,
        .global_elements = &scope->global_elements,
    };
}

struct scope scope_global(const struct scope *scope)
{
    struct scope global = *scope;

    global.fields = NULL;
    global.elements = NULL;
    return global;
}
