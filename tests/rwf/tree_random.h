/* tree_random.h - random messages in the notation of the vectors. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RWF_TREE_RANDOM_H
#define TESTS_RWF_TREE_RANDOM_H

#include "base/prng.h"
#include "tree.h"

struct tree_random {
    struct md_prng prng;
    struct arena *arena;
};

/* A message of any class with anything in it, as the decoder would write it down. */
struct node *tree_random_msg(struct tree_random *g);

#endif
