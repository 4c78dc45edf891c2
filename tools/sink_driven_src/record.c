/* record.c - field lists as Marketfeed records, for -marketfeed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "sds.h"

struct rwf_bytes sds_record(struct sds *sds, const struct item *item, const struct mf_head *head,
                            struct rwf_bytes fields, uint8_t *out, size_t size)
{
    struct mf_losses losses = { 0 };
    struct mf_head named = *head;
    size_t length;

    named.name = rwf_bytes(item->name, item->name_length);
    if (mf_from_fields(sds->marketfeed, &named, fields, NULL, out, size, &length, &losses) != MD_OK)
        sds->stats.errors++;
    return rwf_bytes(out, length);
}
