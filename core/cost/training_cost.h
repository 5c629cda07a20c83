/* training_cost.h - what a training step costs: FLOPs, times of its phases, memory, and a typical
 * layer.
 *
 * The graph is one micro-batch; a step has m of them (Stages.n_micro_batches; 1 without stages).
 *
 *     parameters       elements of what trains: initializers that have a gradient
 *     model_flops      3 m times the FLOPs of the products (matmuls, convolutions, attention) of
 *                      the forward pass
 *     hardware_flops   m times those of the forward pass, of what runs again and of the backward
 *                      pass. In both, attention counts all keys, also where it is causal, and not
 *                      what a fused kernel recomputes inside, as MFU and HFU are defined; and each
 *                      op counts once, on however many devices it runs
 *     step_us          plan_step_us() of pipeline.h: the schedule and the update
 *     forward_us       of one micro-batch, with its collectives; with stages that of the stage
 *                      with most. backward_us likewise, with what is made again
 *     update_us        once a step: the reduction of gradients, the update
 *     bubble           the share of the devices' time in which they wait; 0 without stages
 *     mfu              the time that the machine's matrix units need at their peak for model_flops
 *                      divided by all devices, as a share of step_us; hfu: for hardware_flops
 *     tokens_per_s_device  labels of the loss * m / step / devices
 *     exposed_comm_us  collectives that delay ops: with stages those of step_parts.h; without, if
 *                      ops and collectives are two queues (cost.h): overlap_us - compute_us
 *     gradient_reductions  all-reduces and reduce-scatters of gradients of parameters in a step,
 *                      of all micro-batches (gradient_reduces.h)
 *     layer            the group of ops that is there most often, one micro-batch, as the mean of
 *                      those in the stage of the middle one: bytes saved for the backward pass on
 *                      the first rank of that stage; us of its forward and its backward ops with
 *                      their collectives
 *
 * A number that cannot be computed is NAN, and `why` has the reason.
 */
#ifndef CORE_COST_TRAINING_COST_H
#define CORE_COST_TRAINING_COST_H

#include "core/cost/memory.h"
#include "core/model/group.h"

typedef struct {
    int64_t parameters;
    int micro_batches, gradient_reductions;
    double model_flops, hardware_flops;
    double step_us, forward_us, backward_us, update_us;
    double bubble, mfu, hfu, tokens_per_s_device, exposed_comm_us;
    StepMemory rank0, last, most; /* first and last rank, and the one with the greatest peak */
    struct {
        const char *path; /* "model.layers[0..31]"; NULL: no group occurs twice */
        int n;
        int64_t activation_bytes;
        double forward_us, backward_us;
    } layer;
    struct {
        const char *tokens_per_s_device, *bubble; /* why the figure is missing; NULL: it is known */
    } why;
} TrainingCost;

/* For a step without stages, derived or from a file: ops and the collectives for them. */
typedef struct {
    double forward_us, backward_us, update_us;
} PhaseTimes;

PhaseTimes phase_times(const Plan *plan);

/* groups: of the plan's graph. Texts are in the arena. Only for plans of derived steps. */
TrainingCost training_cost(Arena *arena, const Plan *plan, const Groups *groups);

#endif
