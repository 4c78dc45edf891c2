/* tree.h - RWF content as a tree, the notation of the vector files: text, bytes, and back. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RWF_TREE_H
#define TESTS_RWF_TREE_H

#include "rmds/rwf.h"

/*
 * The notation is described in tests/vectors/rwf/README.md: (head item item ...), where an item is
 * a list, a number, a byte string or a word. Nodes live in an arena and die with it.
 */
enum node_kind {
    NODE_LIST,
    NODE_NUMBER,
    NODE_BYTES,
    NODE_WORD,
};

struct node {
    enum node_kind kind;
    bool is_negative; /* numbers: sign and magnitude */
    uint64_t magnitude;
    struct rwf_bytes bytes; /* byte strings; words as text */
    struct node *first;     /* lists: the head, if it is a word, is the first */
    struct node *last;
    struct node *next;
};

struct arena {
    struct arena_block *block;
};

void arena_fini(struct arena *arena);
void arena_reset(struct arena *arena);              /* empty again, one block kept */
void *arena_take(struct arena *arena, size_t size); /* zeroed; ends the program without memory */

struct node *node_list(struct arena *arena, const char *head); /* head may be NULL */
struct node *node_word(struct arena *arena, const char *word);
struct node *node_uint(struct arena *arena, uint64_t number);
struct node *node_int(struct arena *arena, int64_t number);
struct node *node_bytes(struct arena *arena, struct rwf_bytes bytes);
struct node *node_add(struct node *list, struct node *item); /* returns list */

bool node_is_word(const struct node *node, const char *word);
bool node_is_list(const struct node *node, const char *head);
int64_t node_number(const struct node *node);

/* The list item with that head; NULL when there is none. */
const struct node *node_find(const struct node *list, const char *head);
size_t node_count(const struct node *list);

bool node_equal(const struct node *a, const struct node *b);

/* One node of the text; NULL when it is not in the notation. */
struct node *tree_parse(struct arena *arena, struct rwf_bytes text);

/* As text; returns the length that was needed, like snprintf. */
size_t tree_print(const struct node *node, char *out, size_t size);

/* Type words. -1: no such word. */
int tree_type(const struct node *word);
struct node *tree_type_node(struct arena *arena, unsigned type);

/* The set definitions in scope: of fields and of elements, local and global. */
struct scope {
    struct rwf_set_db *fields;
    struct rwf_set_db *elements;
    struct rwf_set_global global_fields;
    struct rwf_set_global global_elements;
};

/* Adds a database: (FDB ...), (EDB ...), (GFDB ...), (GEDB ...). */
int scope_add(struct scope *scope, struct arena *arena, const struct node *db);

/* The set definition block of (FDB ...) or (EDB ...). */
int scope_block(struct arena *arena, const struct node *db, struct rwf_bytes *block);

/* What the codec is given for a list of that kind. */
struct rwf_sets scope_sets(const struct scope *scope, enum rwf_set_kind kind);

/* The same without local definitions. */
struct scope scope_global(const struct scope *scope);

/* Bytes to tree, everything decoded. `type` as in rwf_check(). NULL: *err says why. */
struct node *tree_decode(struct arena *arena, unsigned type, struct rwf_bytes bytes,
                         const struct scope *scope, int *err);

/* Tree to bytes. */
int tree_encode(const struct node *node, unsigned type, const struct scope *scope,
                enum rwf_lengths lengths, struct arena *arena, uint8_t *out, size_t size,
                size_t *length);

/* The type of a standard field entry, by the rule of the vector files. */
unsigned tree_field_type(void *context, int16_t field_id);

#endif
