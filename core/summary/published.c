#include "core/summary/published.h"

#include <math.h>

/* ---- the formulas ---- */

/* 18 bytes a parameter, or 6 + 12 / d; the fullest shard has its layers and one embedding.
 * Activations: Korthikanti et al. 2022, table 2, with sequence parallelism and selective
 * recomputation; else 10 + 24 / t and a margin of 5 %. */
static void megatron(const PublishedSizes *n, PublishedNumbers *out)
{
    double h = n->hidden, wide = n->heads * n->head_dim / h, norm = n->rms ? 1 : 2;
    double ffn = (n->experts > 0 ? n->expert_ffn * n->experts : n->ffn) * (n->gated ? 1.5 : 1);
    double layer = 2 * h * ffn + 2 * h * h * (1 + n->kv_heads / n->heads) * wide;
    double embedding = h * n->vocabulary, bytes = n->zero > 0 ? 6 + 12 / (n->d * n->c) : 18;
    double heads = n->tied || n->p > 1 ? embedding : 2 * embedding;
    double norms = norm * h * (2 * n->layers + 1) / n->p;
    out->part[PUBLISHED_STATES] = ((layer * n->layers / n->p + heads) / n->t + norms) * bytes;
    double sbh = n->seq * n->micro_batch * h, sb = n->seq * n->micro_batch;
    bool short_form = n->sequence_parallel && n->selective;
    double act = sbh * (short_form ? 18 + 4 * n->ffn / h : 10 + 24 / n->t) * n->layers;
    act += 8 * sb * n->p + sbh * n->p;
    act *= n->v > 1 ? 1 + (n->p - 1) / (n->p * n->v) : fmin(1, n->micro_batches / n->p);
    if (n->p == 1)
        act +=
            short_form ? sbh * 4 * (1 + n->vocabulary / h) : 2 * (sb * n->vocabulary / n->t + sbh);
    out->part[PUBLISHED_ACTIVATION] = short_form ? act / n->t : act * 1.05;
}

/* Without offload: 4 n + 16 n / N, for stage 3 4 largest + 18 n / N, N of all devices. */
static void deepspeed(const PublishedSizes *n, PublishedNumbers *out)
{
    double devices = n->t * n->p * n->d * n->c * n->e;
    out->part[PUBLISHED_STATES] = n->zero == 3 ? 4 * n->largest + 18 * n->parameters / devices
                                               : 4 * n->parameters + 16 * n->parameters / devices;
}

/* Blocks alone: attention 4 h^2, an MLP of two matmuls, four vectors of norms, which tp leaves
 * whole. Of activations what one block works on, and what is stored of the others. */
static void calculon(const PublishedSizes *n, PublishedNumbers *out)
{
    double h = n->hidden, blocks = ceil(n->layers / n->p), shards = n->zero > 0 ? n->d * n->c : 1;
    double block = (4 * h * h + 2 * h * n->ffn) / n->t + 4 * h;
    out->part[PUBLISHED_PARAMETER] = 2 * block * blocks;
    out->part[PUBLISHED_GRADIENT] =
        4 * block + (blocks > 1 ? 2 * block * (blocks - 1) / shards : 0);
    out->part[PUBLISHED_OPTIMIZER] = 12 * block * blocks / shards;
    bool sp = n->sequence_parallel && n->t > 1;
    double sbh = n->seq * n->micro_batch * h, mlp = 4 * n->ffn / h - 16;
    double scores = 5 * n->heads * n->seq / h, t = n->t;
    double works = sp ? 4 + (38 + mlp + scores) / t : (t > 1 ? 14 : 10) + (24 + mlp + scores) / t;
    double stored = n->selective ? (sp ? (34 + mlp) / t : 8 + (24 + mlp) / t)
                                 : (sp ? (34 + mlp + scores) / t : 10 + (24 + mlp + scores) / t);
    double flying = fmin(n->micro_batches, n->p);
    flying *= n->v > 1 ? 1 + (n->p - 1) / (n->v * n->p) : 1;
    out->part[PUBLISHED_ACTIVATION] = n->full ? sbh * works + 2 * sbh * blocks * flying
                                              : sbh * (works + stored * (blocks * flying - 1));
}

static double llm_analysis_flops(const PublishedSizes *n)
{
    double h = n->hidden, s = n->seq, b = n->micro_batch, groups = n->heads / n->kv_heads;
    double scores = 4 * b * s * s * h;
    double layer = 4 * b * s * h * h * (1 + 1 / groups) + scores +
                   (n->gated ? 6 : 4) * b * s * h * n->ffn * (n->experts > 0 ? n->top_k : 1);
    double forward = layer * n->layers + 2 * b * s * h * n->vocabulary;
    return 3 * forward + (n->full ? forward : n->selective ? scores * n->layers : 0);
}

/* 2, 4 and 12 bytes of layers / p, one embedding and the last norm; activations of all layers.
 * Norms of layers are whole along tp, but not their gradients. */
static void llm_analysis(const PublishedSizes *n, PublishedNumbers *out)
{
    double h = n->hidden, mlp = (n->gated ? 3 : 2) * h * n->ffn * fmax(1, n->experts / n->e);
    double layer = 2 * h * h * (1 + n->kv_heads / n->heads) + mlp, d = n->d * n->c;
    double rows = floor(n->layers / n->p), norms = 2 * h * rows;
    double matmuls = (layer * rows + h * n->vocabulary + h) / n->t, shard = matmuls + norms;
    out->part[PUBLISHED_PARAMETER] = 2 * shard / (n->zero > 2 ? d : 1);
    out->part[PUBLISHED_GRADIENT] = 4 * (matmuls + norms / n->t) / (n->zero > 1 ? d : 1);
    out->part[PUBLISHED_OPTIMIZER] = 12 * shard / (n->zero > 0 ? d : 1);
    double sp = n->sequence_parallel ? n->t : 1, sb = n->seq * n->micro_batch, sbh = sb * h;
    double core = n->flash ? 4 * sbh + 8 * n->heads * sb : 4 * n->heads * n->seq * sb;
    double attention = 3 * sbh / sp + (8 * sbh + (n->selective ? 0 : core)) / n->t;
    double act = attention + 2 * sbh / sp + 4 * n->ffn * sb / n->t + 8 * sbh / sp;
    act = (n->full ? 2 * sbh / n->t : act) * n->layers;
    out->part[PUBLISHED_ACTIVATION] = act + 2 * (sbh + sb * n->vocabulary) / n->t + 4 * sbh / sp;
    out->part[PUBLISHED_TIME] =
        1e6 * llm_analysis_flops(n) * n->micro_batches / (n->t * n->p * n->peak_flops_per_s);
}

/* Gradients are of the whole model; the optimizer's states are shared by all devices. */
static void cookbook(const PublishedSizes *n, PublishedNumbers *out)
{
    double h = n->hidden, devices = n->t * n->p * n->d * n->c * n->e;
    double mlp = (n->gated ? 3 : 2) * n->layers * h * n->ffn * fmax(1, n->experts / n->e);
    double all = 2 * n->vocabulary * h + h * n->seq + 8 * h * n->layers + 2 * h +
                 2 * (1 + n->kv_heads / n->heads) * n->layers * h * h + mlp;
    out->part[PUBLISHED_PARAMETER] = 2 * all / (n->t * n->p) / (n->zero > 2 ? devices : 1);
    out->part[PUBLISHED_GRADIENT] = 4 * all / (n->zero > 1 ? devices : 1);
    out->part[PUBLISHED_OPTIMIZER] = 12 * all / (n->zero > 0 ? devices : 1);
    double sbh = n->seq * n->micro_batch * h, scores = n->heads * n->seq / h;
    out->part[PUBLISHED_ACTIVATION] = sbh * n->layers * (34 + (n->full ? 0 : 5 * scores));
}

static const Published all[] = {
    {"megatron", "Megatron-LM, megatron/training/theoretical_memory_usage.py", megatron},
    {"deepspeed", "DeepSpeed, estimate_zero2_ and estimate_zero3_model_states_mem_needs()",
     deepspeed},
    {"calculon", "Calculon (Isaev et al. 2023), calculon/llm/llm.py", calculon},
    {"llm-analysis", "llm-analysis (Li 2023), llm_analysis/analysis.py", llm_analysis},
    {"cookbook", "EleutherAI's cookbook, calc/calc_transformer_mem.py", cookbook},
};

const Published *published_all(int *n)
{
    *n = sizeof all / sizeof *all;
    return all;
}

const char *published_part_name(PublishedPart part)
{
    /* ORDER PUBLISHED_PART */
    static const char *const names[PUBLISHED_PARTS] = {
        "parameters", "gradients", "optimizer", "states", "activations", "total", "step"};
    return names[part];
}

/* The states and the total, of what is said apart. */
static void add_up(PublishedNumbers *numbers)
{
    double *part = numbers->part;
    if (isnan(part[PUBLISHED_STATES]))
        part[PUBLISHED_STATES] =
            part[PUBLISHED_PARAMETER] + part[PUBLISHED_GRADIENT] + part[PUBLISHED_OPTIMIZER];
    part[PUBLISHED_TOTAL] = part[PUBLISHED_STATES] +
                            (isnan(part[PUBLISHED_ACTIVATION]) ? 0 : part[PUBLISHED_ACTIVATION]);
}

PublishedNumbers published_say(const Published *published, const PublishedSizes *n)
{
    PublishedNumbers out;
    for (int i = 0; i < PUBLISHED_PARTS; i++)
        out.part[i] = NAN;
    published->say(n, &out);
    add_up(&out);
    return out;
}

PublishedNumbers published_ours(const TrainingCost *cost)
{
    const StepMemory *rank = &cost->rank0;
    PublishedNumbers out;
    out.part[PUBLISHED_STATES] = NAN;
    out.part[PUBLISHED_PARAMETER] = (double)rank->parameter;
    out.part[PUBLISHED_GRADIENT] = (double)rank->gradient;
    out.part[PUBLISHED_OPTIMIZER] = (double)rank->optimizer;
    out.part[PUBLISHED_ACTIVATION] = (double)rank->activation;
    out.part[PUBLISHED_TIME] = cost->step_us;
    add_up(&out);
    return out;
}
