/* rate.h - what of an item goes to the backbone, and how often: filters, and updates merged. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_RATE_H
#define SRCDIST_RATE_H

#include "private.h"
#include "rates/rates.h"

/*
 * An item that a line of filterFile fits has a rate. Its updates pass in this order, all before
 * they are numbered, so that what is left out leaves no hole:
 *
 *     update type      one that is not to go out goes nowhere: not into the image either
 *     merging          pending until the item's turn in the interval, or until something of the
 *                      item comes that is not merged: the pending update goes out first
 *     fields           left out when it is sent; the cached image keeps all of them, with all
 *                      updates, the pending one too
 */

/* Bytes of a rate, and of its place in the table that finds it, which grows by an eighth. */
#define SRCDIST_RATE_BYTES 160

/* Destroys `rules` with the core or when others come. MD_ERR_NOMEM: as before. */
int srcdist_rates_use(struct srcdist_core *core, struct rates *rules);
void srcdist_rates_destroy(struct srcdist_core *core);

/* Looks up what holds for the item, whose service is known. True: other fields or types. */
bool srcdist_rate_choose(struct srcdist_core *core, uint32_t item);
void srcdist_rate_forget(struct srcdist_core *core, uint32_t item);

/* An update as the backbone carries it. MD_ERR_FULL: not taken, it must come again. */
int srcdist_rate_update(struct srcdist_core *core, uint32_t item, struct rwf_bytes message,
                        bool has_permission_data);
/* Sends what is pending. MD_ERR_FULL: it is still pending. */
int srcdist_rate_flush_now(struct srcdist_core *core, uint32_t item);
/* Before a group or service status: as much of what is pending as there is room for. */
void srcdist_rates_flush(struct srcdist_core *core);
/* A refresh less the fields that are left out; good until the next call. */
struct rwf_bytes srcdist_rate_image_now(struct srcdist_core *core, uint32_t item,
                                        struct rwf_bytes message);
/* The same of a refresh that belongs to no item. */
const struct rates_fields *srcdist_rate_of_key(struct srcdist_core *core, uint32_t service,
                                               struct rrmp_view key);
struct rwf_bytes srcdist_rate_filtered(struct srcdist_core *core, const struct rates_fields *fields,
                                       struct rwf_bytes message);

/* Memory for rates, less what is pending. */
uint64_t srcdist_rates_bytes(const struct srcdist_core *core);
/* Items with something pending, and the memory for it: for core_check.c. */
void srcdist_rates_sum(const struct srcdist_core *core, uint64_t *pending, uint64_t *bytes);

void srcdist_rates_tick(struct srcdist_core *core);
uint64_t srcdist_rates_deadline(const struct srcdist_core *core);

/* One branch for an item without a rate. */
static inline int srcdist_rate_flush(struct srcdist_core *core, uint32_t item)
{
    return core->items[item].is_rated ? srcdist_rate_flush_now(core, item) : 0;
}

static inline struct rwf_bytes srcdist_rate_image(struct srcdist_core *core, uint32_t item,
                                                  struct rwf_bytes message)
{
    return core->items[item].is_rated ? srcdist_rate_image_now(core, item, message) : message;
}

#endif
