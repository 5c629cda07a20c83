/* cost.h - time of a step: compute by roofline, communication by the prices of reshards.
 *
 * An op on rank 0, which holds the largest parts, takes
 *
 *     us = max(flops / (share * flops_per_s), bytes / (share * memory_bytes_per_s)) + launch_us
 *
 * [Williams et al., Roofline, 2009]. Bytes are those of every operand, read and written once, in
 * fused ops too: what they keep on the chip is the point of fusing. Which rates and shares hold
 * depends on the work:
 *
 *     view     nothing: the same bytes under another shape; so too what the host computes
 *     matmul   the matrix units' peak of the first operand's element type, times matmul_share
 *     vector   element-wise, reductions, norms, copies: the vector units' peak
 *     gather   as vector, but of its first operand only as many bytes are read as the op writes, at
 *              gather_share of the memory's rate instead of memory_share
 *
 * Not modelled: tiles and waves that do not fill the device, caches, clocks that fall under load.
 *
 * step_us = compute_us + comm_us: nothing overlaps. Beside it overlap_us is the best case: two
 * queues, of ops and of collectives, each in program order. A collective starts when the queue is
 * free and its value is made; an op starts when the queue is free and every collective it reads
 * from has ended. What a parameter needs may so be fetched long before it is used, whatever memory
 * that takes. overlap_us - compute_us is the communication that stays exposed.
 *
 * Where the plan has stages these are of one micro-batch on its way through all of them; stage.h
 * has what a schedule makes of it. `check --max-step` holds against plan_step_us() of stage.h.
 *
 * Collectives that an operator says are inside it (op_said.h) count as communication, and lengthen
 * their op in both.
 *
 * What is in a loop counts as often as it runs, once where only the run tells; both branches of an
 * If count.
 */
#ifndef CORE_COST_COST_H
#define CORE_COST_COST_H

#include "core/plan/plan.h"

/* Fills op_us, said and totals (but for peak_bytes) of `out`, plan->priced. Needs cuts and
 * reshards. */
void cost_fill(Plan *plan, Priced *out);

/* ORDER WORK: work_name() */
typedef enum { WORK_VIEW, WORK_MATMUL, WORK_VECTOR, WORK_GATHER } Work;

const char *work_name(Work work);
Work op_work(const Plan *plan, int32_t op);

/* One run of an op on rank 0. */
typedef struct {
    Work work;
    Dtype dtype;                            /* that it computes with */
    double flops, flops_per_s, flops_share; /* share: of the peak, that is reached */
    int64_t bytes;
    double bytes_per_s, bytes_share;
    double launch_us, us;
    bool said; /* its operator says some of it (op_said.h) */
} OpCost;

OpCost op_cost(const Plan *plan, int32_t op);
/* The same work on another machine. */
OpCost op_cost_on(const OpCost *cost, const Machine *machine);

/* "matmul: 2 us + max(1,024 flops / (0.8 * 989.4 TFLOP/s), 896 B / (0.9 * 3350 GB/s)) = 2.0 us" */
void op_cost_explain(const Plan *plan, int32_t op, Buf *out);

/* Of any op: "2 us + max(flops / peak, bytes / (0.9 * 3350 GB/s))". */
void cost_explain(const Machine *machine, Buf *out);

/* Of each reshard, how long ops wait for it in the best case: in a step, us[n_reshards]. Together
 * it is overlap_us - compute_us: a wait is for the collective that ends last. */
void cost_exposed(const Plan *plan, double *us);

double op_flops_local(const Plan *plan, int32_t op); /* flops on rank 0, once */

/* How often a step moves the value: as often as it is made; once a loop where only what comes out
 * of the loop is moved. */
double reshard_repeat(const Plan *plan, const Reshard *reshard);

#endif
