/* consumer.c - a program outside the tree: both halves of the public library, nothing else. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <rmds/client.h>
#include <rmds/rwf.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    struct rwf_real price;
    struct rmds_context *context;
    char text[32];
    size_t length;

    if (rwf_real_from_text(rwf_bytes("398.10", 6), &price) != 0)
        return 1;
    length = rwf_real_to_text(&price, text, sizeof(text));
    if (length != 6 || memcmp(text, "398.10", 6) != 0)
        return 2;
    if (rmds_context_create(&context) != 0)
        return 3;
    rmds_context_destroy(context);
    printf("%.*s %s\n", (int)length, text, rmds_now() > 0 ? "ok" : "no clock");
    return 0;
}
