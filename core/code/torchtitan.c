/* torchtitan.c - the plan as torchtitan takes it (0.3): a ParallelismConfig, and fields of its
 * TrainingConfig. Which modules of a block are sharded how is torchtitan's own, and the same for
 * tensor parallelism with and without sequences. */
#include "core/code/code.h"
#include "core/code/parallel.h"
#include "core/code/python_mesh.h"
#include "core/plan/stage.h"
#include "core/session/system_settings.h"
#include "core/step/stored.h"

#include <inttypes.h>

static void put_field(Buf *out, const char *name, int64_t value)
{
    buf_printf(out, "    %s=%" PRId64 ",\n", name, value);
}

static void put_data(Parallel *p, Buf *out)
{
    put_field(out, "data_parallel_replicate_degree", p->data / p->shards);
    put_field(out, "data_parallel_shard_degree", p->shards);
    if (p->stored == 0)
        return;
    buf_printf(out, "    fsdp_reshard_after_forward=\"%s\",\n",
               p->stored & STORED_PARAMETER ? "always" : "never");
    if (!(p->stored & STORED_PARAMETER))
        vec_push(
            out->arena, &p->unsaid,
            "that parameters are stored replicated: fully_shard keeps them sharded between steps");
}

/* The number in "model.layers.7.mlp"; -1. */
static int64_t layer_of(Str path)
{
    int64_t number = -1;
    while (path.n > 0)
        if (str_to_int(str_take(&path, '.'), &number))
            return number;
    return -1;
}

/* The modules of each stage, by torchtitan's names; false if a layer is on two. */
static bool put_stages(const Session *session, int n_stages, Buf *out)
{
    enum { LAYERS_MAX = 4096 };
    int *stage = arena_array(out->arena, int, LAYERS_MAX);
    int64_t n_layers = 0;
    const Graph *graph = session->bare.graph ? session->bare.graph : session->graph;
    for (int32_t op = 0; op < graph->n_ops; op++) {
        int64_t layer = layer_of(str_from(op_path(graph, op)));
        int at = stage_of(session->plan, op);
        if (layer < 0 || layer >= LAYERS_MAX || at < 0)
            continue;
        if (stage[layer] && stage[layer] != at + 1)
            return false;
        stage[layer] = at + 1;
        n_layers = layer >= n_layers ? layer + 1 : n_layers;
    }
    buf_puts(out, "    module_fqns_per_model_part=[\n");
    for (int s = 0; s < n_stages; s++) {
        const char *comma = "";
        buf_puts(out, "        [");
        if (s == 0) {
            buf_puts(out, "\"tok_embeddings\"");
            comma = ", ";
        }
        for (int64_t i = 0; i < n_layers; i++)
            if (stage[i] == s + 1) {
                buf_printf(out, "%s\"layers.%" PRId64 "\"", comma, i);
                comma = ", ";
            }
        buf_puts(out, s == n_stages - 1 ? ", \"norm\", \"lm_head\"],\n" : "],\n");
    }
    buf_puts(out, "    ],\n");
    return true;
}

static void put_pipeline(Parallel *p, const Session *session, Buf *out)
{
    if (p->stages == 1)
        return;
    put_field(out, "pipeline_parallel_degree", p->stages);
    Str theirs = torch_schedule(str_from(p->schedule));
    if (theirs.n > 0)
        buf_printf(out, "    pipeline_parallel_schedule=\"%.*s\",\n", STR_ARG(theirs));
    else
        vec_push(out->arena, &p->unsaid,
                 arena_printf(out->arena, "the schedule %s",
                              p->schedule ? p->schedule : "of one micro-batch forward"));
    if (p->batch > 0 && p->batch % p->data == 0)
        put_field(out, "pipeline_parallel_microbatch_size", p->batch / p->data);
    Buf stages = buf_new(out->arena);
    if (put_stages(session, (int)p->stages * p->n_virtual, &stages))
        buf_add(out, buf_str(&stages));
    else
        vec_push(out->arena, &p->unsaid, "stages that begin inside a layer");
}

static void put_parallelism(Parallel *p, const Session *session, Buf *out)
{
    buf_puts(out, "PARALLELISM = ParallelismConfig(\n");
    put_data(p, out);
    put_field(out, "tensor_parallel_degree", p->tensor);
    if (p->tensor > 1)
        buf_printf(out, "    enable_sequence_parallel=%s,\n",
                   p->sequence_parallel ? "True" : "False");
    if (p->context > 1)
        put_field(out, "context_parallel_degree", p->context);
    if (p->expert > 1)
        put_field(out, "expert_parallel_degree", p->expert);
    put_pipeline(p, session, out);
    buf_puts(out, ")\n");
}

static void put_training(Parallel *p, Buf *out)
{
    buf_puts(out, "TRAINING = {\n");
    if (p->batch > 0 && p->batch % p->data == 0) {
        /* without stages, micro-batches are steps that accumulate gradients */
        buf_printf(out, "    \"local_batch_size\": %" PRId64 ",\n",
                   p->batch / p->data * (p->stages > 1 ? p->n_micro_batches : 1));
        buf_printf(out, "    \"global_batch_size\": %" PRId64 ",\n", p->batch * p->n_micro_batches);
    } else if (p->batch > 0) {
        vec_push(out->arena, &p->unsaid,
                 "a batch that is not divisible by the data parallel ranks");
    }
    if (p->sequence > 0)
        buf_printf(out, "    \"seq_len\": %" PRId64 ",\n", p->sequence);
    buf_printf(out, "    \"mixed_precision_param\": \"%s\",\n",
               p->low && strcmp(p->low, "bf16") == 0 ? "bfloat16" : "float32");
    buf_puts(out, "}\n");
    if (p->recompute)
        buf_printf(out, "ACTIVATION_CHECKPOINTING = %s.Config()\n",
                   p->recompute_whole ? "FullAC" : "SelectiveAC");
}

bool code_torchtitan(const Session *session, Buf *out, ExportNotes *notes, Error *err)
{
    Parallel p = parallel_of(out->arena, session);
    Buf body = buf_new(out->arena), what = buf_new(out->arena);

    (void)err;
    put_parallelism(&p, session, &body);
    put_training(&p, &body);
    python_title(session, "torchtitan", out);
    parallel_format(&p, session->mesh, &what);
    buf_printf(out, "# %s.\n", what.n > 0 ? what.s : "Every rank runs the same");
    buf_puts(out, "# In a function of config_registry:\n"
                  "#     config.parallelism = PARALLELISM\n"
                  "#     config.training = dataclasses.replace(config.training, **TRAINING)\n");
    parallel_put_unsaid(&p, "torchtitan's config does not say", out, notes);
    buf_puts(out, "from torchtitan.config import ParallelismConfig\n");
    if (p.recompute)
        buf_printf(out, "from torchtitan.distributed.activation_checkpoint import %s\n",
                   p.recompute_whole ? "FullAC" : "SelectiveAC");
    buf_putc(out, '\n');
    buf_add(out, buf_str(&body));
    return true;
}
