/* qos.h - the qualities of a service: those of its providers, and those that are made of them here.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_QOS_H
#define P2PS_QOS_H

#include "private.h"

/*
 * A rate of the configuration (pace.h) is made of the best quality that the providers offer: it has
 * its timeliness, and never takes the place of one that they offer. It is not part of the item: the
 * item is asked of the source with the quality that it is made of.
 */
struct p2ps_quality {
    struct rwf_qos source; /* that the source is asked for */
    uint8_t pace;
};

/* All of them, as the directory lists them. */
void p2ps_qos_offer(const struct p2ps_core *core, const struct rrmp_sink_service *in,
                    struct omm_service *out);
/* Takes out those that the client may not have. */
void p2ps_qos_cut(const struct p2ps_client *c, struct omm_service *service);
/* The best that the request accepts, of those that the client may have. False: none. */
bool p2ps_qos_choose(const struct p2ps_core *core, const struct p2ps_client *c,
                     const struct rrmp_sink_service *in, const struct omm_item_request *request,
                     struct p2ps_quality *out);
/* The same for a request that must stay on the stream of that quality; one without a QoS leaves
 * *pace as it is. */
bool p2ps_qos_choose_again(const struct p2ps_core *core, const struct p2ps_client *c,
                           const struct rrmp_sink_service *in,
                           const struct omm_item_request *request, const struct rwf_qos *source,
                           uint8_t *pace);
/* Why no quality fits, with those that are offered. */
void p2ps_qos_refusal(const struct p2ps_core *core, const struct p2ps_client *c,
                      const struct rrmp_sink_service *in, char *text, size_t size);

#endif
