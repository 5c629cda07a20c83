/* cost.h - the time of a step: compute by the roofline model, communication by the prices of
 * reshards.
 *
 * An op on rank 0, which holds the largest shards, takes
 *
 *     us = max(flops / (share * flops_per_s), bytes / (share * memory_bytes_per_s)) + launch_us
 *
 * [Williams et al., Roofline, 2009]. Bytes are those of every operand, read and written once. That
 * holds for fused ops too: they keep everything else on the chip. Rates and shares depend on the
 * kind of work:
 *
 *     view     nothing: the same bytes under another shape; likewise what the host computes, and a
 *              gradient that is passed on as it is (core/rules/derivative.h)
 *     matmul   the matrix units' peak of the first operand's element type, times matmul_share, or
 *              matmul_share_16 if that type has two bytes; attention in one op: attention_share,
 *              its gradient: attention_gradient_share. Each takes matmul_us more. A product's
 *              result is made in tiles, w of them for each processor: the flops take
 *              1 + (ceil(w) - w) / 2w times as long, since the library has tiles of several sizes
 *              to fill the last wave with, and fills about half of it
 *     vector   element-wise, reductions, norms, copies: the vector units' peak; norms at
 *              norm_share of the memory's rate, element-wise functions (several operations a
 *              point) at function_share. The gradients of a norm's scale and shift come from the
 *              kernel that makes that of its input
 *     gather   like vector, but only as many bytes of its first operand are read as the op writes,
 *              at gather_share of the memory's rate instead of memory_share
 *
 * If the machine has a table for the operator (core/reshard/measured.h), its time is taken from the
 * table; for views, too. Not modelled: caches; clocks that drop under load are part of the shares.
 *
 * Parts that go around a ring are sent on while the op computes on each of them, in a launch of its
 * own. A product's tiles are those of one turn, and a result that is summed up over the turns is
 * read and written in each. Of the op's time all but its first turn is there to hide the ring, for
 * all its rings together: what they take beyond that is waited for. So an op in n turns takes
 * max(compute, transfer) in all but one of them, as Wang et al. 2023 (core/plan/op_cut.h) count it.
 * That holds for every total below.
 *
 * step_us = compute_us + comm_us, minus what rings hide: nothing else overlaps. overlap_us is the
 * best case: two queues, of ops and of collectives, each in program order. A collective starts when
 * its queue is free and its value exists; an op starts when its queue is free and every collective
 * it reads from has ended. A parameter may thus be gathered long before it is used, regardless of
 * memory. overlap_us - compute_us is the exposed communication.
 *
 * With pipeline stages these are times of one micro-batch that passes through all of them;
 * pipeline.h computes a step from them. `check --max-step` compares with plan_step_us() of
 * pipeline.h instead.
 *
 * Collectives that an operator declares inside itself (op_declared.h) count as communication, and
 * lengthen their op in both totals.
 *
 * Ops in a loop count as often as they run, or once if only the run determines that; both branches
 * of an If count.
 */
#ifndef CORE_COST_COST_H
#define CORE_COST_COST_H

#include "core/cost/op_product.h"
#include "core/plan/plan.h"
#include "core/reshard/measured.h"

/* Fills op_us, user costs and totals (except peak_bytes) of `out`, plan->priced. Needs cuts and
 * reshards. */
void cost_fill(Plan *plan, Priced *out);

/* ORDER WORK: work_name() */
typedef enum { WORK_VIEW, WORK_MATMUL, WORK_VECTOR, WORK_GATHER } Work;

const char *work_name(Work work);
Work op_work(const Plan *plan, int32_t op);

/* One run of an op on rank 0. */
typedef struct {
    Work work;
    bool attention, gradient; /* attention in one op; its gradient */
    bool norm, function;      /* a norm; element-wise, several operations a point */
    OpProduct product;        /* all 0 for other work, or if the cost is declared */
    const char *op_type;
    Dtype dtype;                            /* the element type it computes with */
    double flops, flops_per_s, flops_share; /* share: the fraction of the peak that is reached */
    double waves_share; /* part of flops_share: what waves that are not full leave; 1 for other
                           work */
    int64_t bytes;
    double bytes_per_s, bytes_share;
    double turns; /* how often it is launched: of an op whose parts go around a ring; else 0 or 1 */
    double launch_us, us; /* launch_us: of all turns */
    bool measured;        /* us comes from a table of the machine (core/reshard/measured.h) */
    bool declared;        /* a user's function gave some of these numbers (op_declared.h) */
} OpCost;

OpCost op_cost(const Plan *plan, int32_t op);
/* The same, with the bytes of views, since a run may copy them. */
OpCost op_cost_as_run(const Plan *plan, int32_t op);
/* Prices ops under cuts and shardings other than those of the plan. While a pricer is in use, no
 * shardings may be added to the plan. */
typedef struct OpPricer OpPricer;
OpPricer *op_pricer_new(Arena *arena, const Plan *plan);
/* One run, in microseconds. sharding: Shardings ids by operand, inputs as they are read and then
 * outputs as they are made; -1: none. */
double op_price(const OpPricer *pricer, int32_t op, const OpCut *cut, const int32_t *sharding);
/* The sizes under which the machine's tables list such an op; returns how many, 1 or
 * MEASURED_SIZES. */
int op_cost_sizes(const OpCost *cost, double size[MEASURED_SIZES]);
/* The same work priced on another machine, of devices of several kinds on the slowest. */
OpCost op_cost_on(const OpCost *cost, const Machine *machine);

/* "matmul: 2 us + max(1,024 flops / (0.8 * 989.4 TFLOP/s), 896 B / (0.9 * 3350 GB/s)) = 2.0 us" */
void op_cost_explain(const Plan *plan, int32_t op, Buf *out);

/* The formula for ops of any size: "2 us + max(flops / peak, bytes / (0.9 * 3350 GB/s))"; of
 * devices of several kinds each, behind its name. */
void cost_explain(const Machine *machine, Buf *out);

/* For each reshard, how long ops wait for it in the best case of a step: us[n_reshards]. The sum
 * is overlap_us - compute_us: a wait is attributed to the collective that ends last. */
void cost_exposed(const Plan *plan, double *us);

double op_flops_local(const Plan *plan, int32_t op); /* flops on rank 0, for one run */

/* How many times a step moves the value: as often as it is made, or once per loop if only the
 * loop's result is moved. */
double reshard_repeat(const Plan *plan, const Reshard *reshard);

#endif
