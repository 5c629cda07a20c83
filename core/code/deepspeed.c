/* deepspeed.c - the configuration of DeepSpeed that comes nearest to a plan: a JSON object of its
 * own keys, and "dimscope" with what they do not say, which DeepSpeed ignores. */
#include "core/code/code.h"
#include "core/code/parallel.h"

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/step/stored.h"

/* ZeRO's level: the states, the gradients too, the parameters too. */
static int zero_level(const Parallel *p)
{
    return p->stored == STORED_ALL                          ? 3
           : p->stored == (STORED_STATES | STORED_GRADIENT) ? 2
           : p->stored == STORED_STATES                     ? 1
                                                            : 0;
}

static void put_batch(Parallel *p, Json *root, Arena *arena)
{
    if (p->batch == 0)
        return;
    if (p->batch % p->data != 0) {
        vec_push(arena, &p->unsaid, "a batch that is not divisible by the data parallel ranks");
        return;
    }
    json_set_int(root, "train_batch_size", p->batch * p->n_micro_batches);
    json_set_int(root, "train_micro_batch_size_per_gpu", p->batch / p->data);
    json_set_int(root, "gradient_accumulation_steps", p->n_micro_batches);
}

static void put_zero(Parallel *p, Json *root, Arena *arena)
{
    int level = zero_level(p);
    Json *zero = json_object();

    json_set_int(zero, "stage", level);
    if (level == 3 && p->shards < p->data)
        json_set_int(zero, "mics_shard_size", p->shards);
    json_set(root, "zero_optimization", zero);
    if ((level == 1 || level == 2) && p->shards < p->data)
        vec_push(arena, &p->unsaid, "replicas of the sharded states on other data parallel ranks");
    if (level == 0 && p->stored != 0)
        vec_push(arena, &p->unsaid, "which values of a parameter are stored sharded");
    if (level > 1 && p->stages > 1)
        vec_push(arena, &p->unsaid,
                 "that ZeRO stages 2 and 3 cannot be combined with pipeline stages");
}

/* What DeepSpeed takes in calls, not in its configuration. */
static void find_calls(Parallel *p, Arena *arena)
{
    if (p->stages > 1)
        vec_push(arena, &p->unsaid,
                 arena_printf(arena,
                              "%lld pipeline stages: PipelineModule(num_stages=%lld), which runs "
                              "1f1b",
                              (long long)p->stages, (long long)p->stages));
    if (p->stages > 1 && (p->n_virtual > 1 || !p->schedule || strcmp(p->schedule, "1f1b") != 0))
        vec_push(arena, &p->unsaid, "the pipeline schedule");
    if (p->expert > 1)
        vec_push(arena, &p->unsaid,
                 arena_printf(arena, "experts on %lld ranks: MoE(ep_size=%lld)",
                              (long long)p->expert, (long long)p->expert));
    if (p->context > 1)
        vec_push(arena, &p->unsaid,
                 arena_printf(arena,
                              "the sequence on %lld ranks: UlyssesSPAttentionHF, with "
                              "sequence_parallel_size=%lld",
                              (long long)p->context, (long long)p->context));
    if (p->sequence_parallel)
        vec_push(arena, &p->unsaid, "norms sharded along the sequence by tensor ranks");
    if (p->recompute)
        vec_push(arena, &p->unsaid,
                 arena_printf(arena, "what is recomputed: %s",
                              p->recompute_whole
                                  ? "call deepspeed.checkpointing.checkpoint() for each layer"
                                  : "a part of each layer"));
}

/* "dimscope": where the numbers come from, and what is not among them. */
static void put_origin(const Parallel *p, const Session *session, Json *root, ExportNotes *notes,
                       Arena *arena)
{
    Json *origin = json_object(), *unsaid = json_array();
    Buf mesh = buf_new(arena), what = buf_new(arena);

    mesh_format(session->mesh, &mesh);
    parallel_format(p, session->mesh, &what);
    json_set_str(origin, "model", path_base(session->graph->file));
    json_set_str(origin, "mesh", mesh.s);
    json_set_str(origin, "axes", what.n > 0 ? what.s : "");
    for (int i = 0; i < p->unsaid.n; i++) {
        json_add(unsaid, json_from_str(str_from(p->unsaid.at[i])));
        export_note(notes, "DeepSpeed's configuration does not say: %s", p->unsaid.at[i]);
    }
    json_set(origin, "not_said", unsaid);
    json_set(root, "dimscope", origin);
}

bool code_deepspeed(const Session *session, Buf *out, ExportNotes *notes, Error *err)
{
    Arena *arena = out->arena;
    Parallel p = parallel_of(arena, session);
    Json *root = json_object();

    (void)err;
    put_batch(&p, root, arena);
    if (p.low) {
        Json *type = json_object();
        json_set_bool(type, "enabled", true);
        json_set(root, p.low, type);
    }
    put_zero(&p, root, arena);
    if (p.tensor > 1) {
        Json *tensor = json_object();
        json_set_int(tensor, "autotp_size", p.tensor);
        json_set(root, "tensor_parallel", tensor);
    }
    find_calls(&p, arena);
    put_origin(&p, session, root, notes, arena);
    json_write_pretty(root, out);
    json_free(root);
    return true;
}
