/* test_rwf_property.c - what must hold for any message, tried on random ones. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tree_random.h"

#define ROUNDS      3000
#define ENCODED_MAX (1 << 20)
#define TEXT_MAX    20000

static const struct scope no_scope;

struct fixture {
    struct arena arena;
    uint8_t *bytes;
    uint8_t *again;
    char *text;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->bytes = malloc(ENCODED_MAX);
    f->again = malloc(ENCODED_MAX);
    f->text = malloc(TEXT_MAX);
    assert_true(f->bytes && f->again && f->text);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    arena_fini(&f->arena);
    free(f->bytes);
    free(f->again);
    free(f->text);
    free(f);
    return 0;
}

static void show(struct fixture *f, unsigned seed, const char *what, const struct node *node)
{
    tree_print(node, f->text, TEXT_MAX);
    print_error("seed %u: %s: %s\n", seed, what, f->text);
}

/* A message of that seed, encoded; some are too large to be encoded and are passed over. */
static struct node *random_msg(struct fixture *f, unsigned seed, enum rwf_lengths lengths,
                               size_t *length)
{
    struct tree_random g = { .prng = md_prng_init(seed), .arena = &f->arena };
    struct node *node = tree_random_msg(&g);
    int rc = tree_encode(node, RWF_TYPE_MSG, &no_scope, lengths, &f->arena, f->bytes, ENCODED_MAX,
                         length);

    if (rc == RWF_ERR_RANGE || rc == RWF_ERR_DEPTH)
        return NULL;
    if (rc < 0)
        show(f, seed, rwf_err_name(rc), node);
    assert_int_equal(rc, RWF_OK);
    return node;
}

static void what_is_encoded_decodes_to_the_same(void **state)
{
    struct fixture *f = *state;
    unsigned tried = 0;

    for (unsigned seed = 1; seed <= ROUNDS; seed++) {
        enum rwf_lengths lengths = seed % 2 ? RWF_LENGTHS_SHORTEST : RWF_LENGTHS_RESERVED;
        size_t length;
        int err;
        struct node *node = random_msg(f, seed, lengths, &length);

        if (node) {
            struct rwf_bytes bytes = rwf_bytes(f->bytes, length);
            struct node *got = tree_decode(&f->arena, RWF_TYPE_MSG, bytes, &no_scope, &err);

            if (!got || !node_equal(got, node)) {
                show(f, seed, "made", node);
                if (got)
                    show(f, seed, "got ", got);
            }
            assert_int_equal(err, RWF_OK);
            assert_true(node_equal(got, node));
            tried++;
        }
        arena_fini(&f->arena);
    }
    assert_true(tried > ROUNDS * 9 / 10);
}

static void what_is_decoded_encodes_to_the_same_bytes(void **state)
{
    struct fixture *f = *state;

    for (unsigned seed = ROUNDS; seed <= 2 * ROUNDS; seed++) {
        enum rwf_lengths lengths = seed % 2 ? RWF_LENGTHS_SHORTEST : RWF_LENGTHS_RESERVED;
        size_t length;
        size_t again;
        int err;

        if (random_msg(f, seed, lengths, &length)) {
            struct rwf_bytes bytes = rwf_bytes(f->bytes, length);
            struct node *got = tree_decode(&f->arena, RWF_TYPE_MSG, bytes, &no_scope, &err);

            assert_non_null(got);
            assert_int_equal(tree_encode(got, RWF_TYPE_MSG, &no_scope, lengths, &f->arena, f->again,
                                         ENCODED_MAX, &again),
                             RWF_OK);
            assert_true(rwf_bytes_equal(rwf_bytes(f->again, again), bytes));
        }
        arena_fini(&f->arena);
    }
}

static void a_buffer_too_small_says_full_and_is_not_overrun(void **state)
{
    struct fixture *f = *state;
    unsigned seeds = 0;

    for (unsigned seed = 1; seeds < 150; seed++) {
        size_t length;
        size_t ignored;
        struct node *node = random_msg(f, seed, RWF_LENGTHS_SHORTEST, &length);

        if (node && length < 2000) {
            seeds++;
            for (size_t size = 0; size < length; size += 1 + size / 16) {
                uint8_t *small = malloc(size ? size : 1);

                assert_int_equal(tree_encode(node, RWF_TYPE_MSG, &no_scope, RWF_LENGTHS_SHORTEST,
                                             &f->arena, small, size, &ignored),
                                 RWF_ERR_FULL);
                free(small);
            }
        }
        arena_fini(&f->arena);
    }
}

static void check_agrees(struct fixture *f, struct rwf_bytes bytes)
{
    struct rwf_check check = { .field_type = tree_field_type };
    int err;
    const struct node *got = tree_decode(&f->arena, RWF_TYPE_MSG, bytes, &no_scope, &err);

    assert_int_equal(got == NULL, rwf_check(RWF_TYPE_MSG, bytes, &check) < 0);
    arena_fini(&f->arena);
}

static void a_damaged_message_is_refused_or_decoded_but_never_overrun(void **state)
{
    struct fixture *f = *state;
    struct md_prng prng = md_prng_init(4711);

    for (unsigned seed = 1; seed <= ROUNDS; seed++) {
        size_t length;

        if (random_msg(f, seed, RWF_LENGTHS_SHORTEST, &length) && length < 4000) {
            size_t cut = length - md_prng_below(&prng, (uint32_t)(length > 64 ? 64 : length));
            uint8_t *copy = malloc(cut ? cut : 1);

            memcpy(copy, f->bytes, cut);
            for (unsigned i = md_prng_below(&prng, 4); i > 0 && cut > 0; i--)
                copy[md_prng_below(&prng, (uint32_t)cut)] = (uint8_t)md_prng_u32(&prng);
            arena_fini(&f->arena);
            check_agrees(f, rwf_bytes(copy, cut));
            free(copy);
        }
        arena_fini(&f->arena);
    }
}

/* ---- splice: the header changed as asked, all else as it was ---- */

static void assert_spliced(struct rwf_bytes before, const struct rwf_splice *splice)
{
    uint8_t *out = malloc(before.length + 1000);
    struct rwf_msg was;
    struct rwf_msg is;
    size_t length;

    assert_int_equal(rwf_msg_decode(before, &was), RWF_OK);
    assert_int_equal(rwf_splice(before, splice, out, before.length + 1000, &length), RWF_OK);
    assert_int_equal(rwf_msg_decode(rwf_bytes(out, length), &is), RWF_OK);

    assert_int_equal(is.stream_id, splice->stream_id);
    assert_true(rwf_bytes_equal(is.payload, was.payload));
    assert_true(rwf_bytes_equal(is.perm_data, splice->ops & RWF_SPLICE_STRIP_PERM_DATA
                                                  ? rwf_bytes(NULL, 0)
                                                  : was.perm_data));
    assert_true(rwf_bytes_equal(is.ext_header, was.ext_header));
    assert_int_equal(is.seq_num, was.seq_num);
    assert_int_equal(is.part_num, was.part_num);
    assert_int_equal(is.state.stream_state, was.state.stream_state);
    if (splice->ops & RWF_SPLICE_SET_KEY) {
        assert_int_equal(rwf_msg_has_key(&is), was.msg_class != RWF_CLASS_CLOSE);
        if (rwf_msg_has_key(&is))
            assert_true(rwf_key_equal(&is.key, splice->key));
    } else if (splice->ops & RWF_SPLICE_STRIP_KEY) {
        assert_int_equal(rwf_msg_has_key(&is), was.msg_class == RWF_CLASS_REQUEST);
    } else if (splice->ops & RWF_SPLICE_SERVICE_ID) {
        was.key.flags |= RWF_KEY_HAS_SERVICE_ID;
        was.key.service_id = splice->service_id;
        if (rwf_msg_has_key(&was))
            assert_true(rwf_key_equal(&is.key, &was.key));
    }
    if (splice->ops & RWF_SPLICE_GROUP_ID) {
        bool has_group = was.msg_class == RWF_CLASS_REFRESH || was.msg_class == RWF_CLASS_STATUS;

        assert_int_equal(is.group_id.length, has_group ? splice->group_id.length : 0);
    }
    free(out);
}

static void a_splice_changes_what_it_names_and_nothing_else(void **state)
{
    struct fixture *f = *state;
    struct rwf_key key = { .flags = RWF_KEY_HAS_SERVICE_ID | RWF_KEY_HAS_NAME,
                           .service_id = 4711,
                           .name = rwf_text("IBM.N") };
    const struct rwf_splice splices[] = {
        { .ops = RWF_SPLICE_STREAM_ID, .stream_id = -7 },
        { .ops = RWF_SPLICE_STREAM_ID | RWF_SPLICE_STRIP_KEY | RWF_SPLICE_GROUP_ID },
        { .ops = RWF_SPLICE_STREAM_ID | RWF_SPLICE_SET_KEY, .stream_id = 9, .key = &key },
        { .ops = RWF_SPLICE_STREAM_ID | RWF_SPLICE_SERVICE_ID, .service_id = 300 },
        { .ops = RWF_SPLICE_STREAM_ID | RWF_SPLICE_SET_KEY | RWF_SPLICE_GROUP_ID,
          .key = &key,
          .group_id = rwf_text("group") },
        { .ops = RWF_SPLICE_STREAM_ID | RWF_SPLICE_STRIP_PERM_DATA },
    };

    for (unsigned seed = 1; seed <= ROUNDS; seed++) {
        size_t length;

        if (random_msg(f, seed, RWF_LENGTHS_SHORTEST, &length))
            assert_spliced(rwf_bytes(f->bytes, length), &splices[seed % 6]);
        arena_fini(&f->arena);
    }
}

static void stripping_and_setting_the_same_key_restores_the_message(void **state)
{
    struct fixture *f = *state;
    unsigned tried = 0;

    for (unsigned seed = 1; seed <= ROUNDS; seed++) {
        struct rwf_splice strip = { .ops = RWF_SPLICE_STRIP_KEY };
        struct rwf_splice set = { .ops = RWF_SPLICE_SET_KEY };
        struct rwf_msg msg;
        size_t length;
        size_t stripped;
        size_t restored;

        if (random_msg(f, seed, RWF_LENGTHS_SHORTEST, &length)) {
            struct rwf_bytes bytes = rwf_bytes(f->bytes, length);

            assert_int_equal(rwf_msg_decode(bytes, &msg), RWF_OK);
            if (rwf_msg_has_key(&msg)) {
                uint8_t *bare = malloc(length + 64);

                set.key = &msg.key;
                assert_int_equal(rwf_splice(bytes, &strip, bare, length + 64, &stripped), RWF_OK);
                assert_true(stripped <= length);
                assert_int_equal(
                    rwf_splice(rwf_bytes(bare, stripped), &set, f->again, ENCODED_MAX, &restored),
                    RWF_OK);
                assert_int_equal(restored, length);
                assert_memory_equal(f->again, f->bytes, length);
                free(bare);
                tried++;
            }
        }
        arena_fini(&f->arena);
    }
    assert_true(tried > ROUNDS / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_encoded_decodes_to_the_same, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_decoded_encodes_to_the_same_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(a_buffer_too_small_says_full_and_is_not_overrun, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_damaged_message_is_refused_or_decoded_but_never_overrun,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_splice_changes_what_it_names_and_nothing_else, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(stripping_and_setting_the_same_key_restores_the_message,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
