/* fuzz_rwf_decode.c - any bytes as a container, primitive or message: check and tree must agree. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct rwf_set_db local_fields;
static struct rwf_set_db local_elements;

/* Set data is only looked at when there are definitions: every type once. */
static void make_definitions(void)
{
    static uint8_t fields[200];
    static uint8_t elements[200];
    struct rwf_set_writer f;
    struct rwf_set_writer e;
    int rc;

    if (local_fields.count > 0)
        return;
    rwf_set_writer_init(&f, fields, sizeof(fields));
    rwf_set_writer_init(&e, elements, sizeof(elements));
    rwf_set_writer_def(&f, 0);
    rwf_set_writer_def(&e, 0);
    for (unsigned type = 3; type < 85; type++) {
        if (type == 7 || type == RWF_TYPE_STATE || (type > 19 && type < 64))
            continue;
        rwf_set_writer_field(&f, (int16_t)type, type);
        rwf_set_writer_element(&e, rwf_text("e"), type);
    }
    if (rwf_set_db_decode(rwf_set_writer_bytes(&f, &rc), RWF_SET_FIELDS, &local_fields) < 0 ||
        rwf_set_db_decode(rwf_set_writer_bytes(&e, &rc), RWF_SET_ELEMENTS, &local_elements) < 0)
        abort();
}

/* What the decoder accepted, and the encoder can write, must decode to the same again. */
static void encode_again(struct arena *arena, unsigned type, const struct node *node,
                         const struct scope *scope)
{
    static uint8_t again[1 << 18];
    size_t length;
    int err;

    if (tree_encode(node, type, scope, RWF_LENGTHS_SHORTEST, arena, again, sizeof(again), &length) <
        0)
        return; /* odd forms that a decoder takes and an encoder does not write */
    if (!tree_decode(arena, type, rwf_bytes(again, length), scope, &err) && length > 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t types[] = { 132, 133, 135, 136, 137, 138, 141, 15,
                                     3,   8,   10,  11,  12,  13,  14,  6 };
    static struct arena arena; /* kept over inputs: allocating it takes longer than the work */
    struct scope scope = { 0 };
    int err;

    if (size == 0)
        return 0;
    make_definitions();
    unsigned type = types[data[0] & 15];
    bool with_sets = data[0] & 0x80;
    enum rwf_set_kind kind = type == RWF_TYPE_ELEMENT_LIST ? RWF_SET_ELEMENTS : RWF_SET_FIELDS;
    struct rwf_bytes bytes = rwf_bytes(data + 1, size - 1);
    if (with_sets && kind == RWF_SET_FIELDS)
        scope.fields = &local_fields;
    if (with_sets && kind == RWF_SET_ELEMENTS)
        scope.elements = &local_elements;

    struct rwf_sets sets = scope_sets(&scope, kind);
    struct rwf_check check = { .sets = &sets, .field_type = tree_field_type };
    const struct node *node = tree_decode(&arena, type, bytes, &scope, &err);
    int rc = rwf_check(type, bytes, &check);
    if ((node == NULL) != (rc < 0))
        abort();
    if (node)
        encode_again(&arena, type, node, &scope);
    arena_reset(&arena);
    return 0;
}
