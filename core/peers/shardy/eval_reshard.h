/* eval_reshard.h - the verb `reshard.collectives` of the eval protocol (conformance README).
 *
 * The search of reshard.h under the request's own model of cost: with n the product of the axes of
 * a step, s what a rank holds before it and t after it, hops = ceil(log2 n):
 *     slice 0 · all_gather hops alpha + (n-1)/n t/B · all_to_all, reduce_scatter the same with s
 *     all_reduce twice that · permute alpha + s/B
 * Sizes are padded: a dim of size d over m ranks is ceil(d/m), whatever the order of axes. Axes may
 * be parted at any divisor: between the borders that source and target ask for, each order of the
 * prime parts is tried. The two shardings may be on meshes that order the devices differently.
 */
#ifndef CORE_PEERS_SHARDY_EVAL_RESHARD_H
#define CORE_PEERS_SHARDY_EVAL_RESHARD_H

#include "core/base/eval.h"

EvalFn eval_reshard;

#endif
