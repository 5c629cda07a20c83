/* published.h - what published formulas say a training step needs, compared with the plan.
 *
 * Each calculator is one function of about ten lines over the sizes of the model and the
 * configuration; its row names its source. They are re-implemented with their mistakes, and checked
 * against the output of the original programs (tests/unit/test_published.c):
 *
 *     megatron      Megatron-LM, megatron/training/theoretical_memory_usage.py
 *     deepspeed     DeepSpeed, estimate_zero2_ and estimate_zero3_model_states_mem_needs()
 *     calculon      Calculon, calculon/llm/llm.py; its time needs measured tables of a system and
 *                   is left out
 *     llm-analysis  llm-analysis, llm_analysis/analysis.py; its time is the one by FLOPs
 *     cookbook      EleutherAI's cookbook, calc/calc_transformer_mem.py
 *
 * Bytes are those of the first rank, for ours too; NAN is what a calculator does not say.
 */
#ifndef CORE_SUMMARY_PUBLISHED_H
#define CORE_SUMMARY_PUBLISHED_H

#include "core/cost/training_cost.h"
#include "core/session/session.h"

/* What the formulas read. */
typedef struct {
    double hidden, layers, heads, kv_heads, head_dim, ffn, vocabulary, experts, expert_ffn, top_k;
    double seq, micro_batch, micro_batches;
    double t, p, d, c, e, v;    /* ranks along tp, pp, dp, cp, ep; stages per device */
    double parameters, largest; /* of the whole model, and of its largest tensor */
    double peak_flops_per_s;    /* of a device, for 16-bit matmuls */
    int zero;
    bool gated, rms, tied;                 /* of the model */
    bool sequence_parallel, flash, drops;  /* as the configuration says */
    bool selective, full, short_gradients; /* recomputation; gradients of 16 bits */
    bool two_copies;                       /* of each stage, as dualpipe has them */
} PublishedSizes;

/* ORDER PUBLISHED_PART */
typedef enum {
    PUBLISHED_PARAMETER,
    PUBLISHED_GRADIENT,
    PUBLISHED_OPTIMIZER,
    PUBLISHED_STATES, /* parameters, gradients and optimizer states together */
    PUBLISHED_ACTIVATION,
    PUBLISHED_TOTAL,
    PUBLISHED_TIME, /* microseconds */
    PUBLISHED_PARTS
} PublishedPart;

typedef struct {
    double part[PUBLISHED_PARTS];
} PublishedNumbers;

typedef struct {
    const char *name, *source;
    /* Parts that it does not set are NAN. */
    void (*say)(const PublishedSizes *n, PublishedNumbers *out);
} Published;

const Published *published_all(int *n);
const char *published_part_name(PublishedPart part); /* "gradients" */

/* The numbers of a calculator, including the sums of its parts. */
PublishedNumbers published_say(const Published *published, const PublishedSizes *n);
/* The same numbers from the plan: the first rank's memory. The total is the sum of the parts. */
PublishedNumbers published_ours(const TrainingCost *cost);

/* Appends the known reasons why a calculator's number differs from the plan's for these sizes,
 * separated by "; "; nothing if none is known. */
void published_differs(const Published *published, PublishedPart part, const PublishedSizes *n,
                       Buf *out);

/* Reads the sizes from the model's config.json, from the mesh (by names of axes), from the policy's
 * options and from the plan. Returns false if the model is no config.json, or lacks these sizes. */
bool published_sizes(Arena *scratch, const Session *session, const TrainingCost *cost,
                     PublishedSizes *out, Error *err);

#endif
