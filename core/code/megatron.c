/* megatron.c - the flags of Megatron-LM that come nearest to a plan, one a line; '#' begins a
 * comment. Names are those of megatron/training/arguments.py. */
#include "core/code/code.h"
#include "core/code/parallel.h"
#include "core/code/python_mesh.h"
#include "core/step/stored.h"

#include <inttypes.h>

static void put_size(Buf *out, const char *flag, int64_t size)
{
    if (size > 1)
        buf_printf(out, "%s %" PRId64 "\n", flag, size);
}

/* Tensor ranks are neighbours, then context, then data, then stages; or stages before data. */
static bool order_is(const Parallel *p, const Mesh *mesh, const ParallelUse *order, int n)
{
    int at = 0;

    for (int a = mesh->n_axes - 1; a >= 0; a--) {
        if (mesh->axes[a].size == 1 || p->use[a] == 0)
            continue;
        while (at < n && !(p->use[a] & order[at]))
            at++;
        if (at == n)
            return false;
    }
    return true;
}

static void put_order(Parallel *p, const Session *session, Buf *out)
{
    static const ParallelUse plain[] = {PARALLEL_TENSOR, PARALLEL_CONTEXT, PARALLEL_DATA,
                                        PARALLEL_STAGES},
                             stages_first[] = {PARALLEL_TENSOR, PARALLEL_CONTEXT, PARALLEL_STAGES,
                                               PARALLEL_DATA};
    if (order_is(p, session->mesh, plain, 4))
        return;
    if (order_is(p, session->mesh, stages_first, 4))
        buf_puts(out, "--use-tp-pp-dp-mapping\n");
    else
        vec_push(out->arena, &p->unsaid,
                 "the order of the mesh axes: in Megatron tensor parallel ranks are neighbours");
}

/* What Megatron's FSDP needs. */
#define FSDP                                                                                       \
    "--use-megatron-fsdp\n--use-distributed-optimizer\n--no-gradient-accumulation-fusion\n"        \
    "--ckpt-format fsdp_dtensor\n"

static void put_stored(Parallel *p, Buf *out)
{
    static const struct {
        uint8_t stored;
        const char *flags;
    } levels[] = {
        {STORED_STATES, "--use-distributed-optimizer\n"},
        {STORED_STATES | STORED_GRADIENT, FSDP "--data-parallel-sharding-strategy optim_grads\n"},
        {STORED_ALL, FSDP "--data-parallel-sharding-strategy optim_grads_params\n"},
    };
    bool found = p->stored == 0;

    for (size_t i = 0; i < sizeof levels / sizeof *levels && !found; i++) {
        found = p->stored == levels[i].stored;
        buf_puts(out, found ? levels[i].flags : "");
    }
    if (!found)
        vec_push(out->arena, &p->unsaid, "which values of a parameter are stored sharded");
    if (found && p->stored)
        put_size(out, "--num-distributed-optimizer-instances", p->data / p->shards);
}

static void put_schedule(Parallel *p, Buf *out)
{
    bool interleaved =
        p->n_virtual > 1 && p->schedule && (strcmp(p->schedule, "1f1b_interleaved") == 0);

    if (p->stages == 1)
        return;
    if (interleaved)
        buf_printf(out, "--num-virtual-stages-per-pipeline-rank %d\n", p->n_virtual);
    else if (!p->schedule || strcmp(p->schedule, "1f1b") != 0)
        vec_push(out->arena, &p->unsaid,
                 arena_printf(out->arena, "the schedule %s: Megatron runs 1f1b",
                              p->schedule ? p->schedule : "of one micro-batch forward"));
}

static void put_batch(Parallel *p, Buf *out)
{
    if (p->batch > 0 && p->batch % p->data == 0) {
        buf_printf(out, "--micro-batch-size %" PRId64 "\n", p->batch / p->data);
        buf_printf(out, "--global-batch-size %" PRId64 "\n", p->batch * p->n_micro_batches);
    } else if (p->batch > 0) {
        vec_push(out->arena, &p->unsaid,
                 "a batch that is not divisible by the data parallel ranks");
    }
    if (p->sequence > 0)
        buf_printf(out, "--seq-length %" PRId64 "\n", p->sequence);
}

bool code_megatron(const Session *session, Buf *out, ExportNotes *notes, Error *err)
{
    Parallel p = parallel_of(out->arena, session);
    Buf flags = buf_new(out->arena), what = buf_new(out->arena);

    (void)err;
    put_size(&flags, "--tensor-model-parallel-size", p.tensor);
    if (p.sequence_parallel)
        buf_puts(&flags, "--sequence-parallel\n");
    put_size(&flags, "--pipeline-model-parallel-size", p.stages);
    put_schedule(&p, &flags);
    put_size(&flags, "--context-parallel-size", p.context);
    put_size(&flags, "--expert-model-parallel-size", p.expert);
    put_order(&p, session, &flags);
    put_stored(&p, &flags);
    if (p.recompute)
        buf_puts(&flags, p.recompute_whole
                             ? "--recompute-granularity full\n--recompute-method uniform\n"
                               "--recompute-num-layers 1\n"
                             : "--recompute-granularity selective\n");
    if (p.low)
        buf_printf(&flags, "--%s\n", p.low);
    put_batch(&p, &flags);

    python_title(session, "Megatron-LM", out);
    parallel_format(&p, session->mesh, &what);
    buf_printf(out, "# %s; the remaining ranks are data parallel.\n",
               what.n > 0 ? what.s : "every rank runs the same");
    buf_puts(out, "#     torchrun --nproc-per-node .. pretrain_gpt.py $(grep -v '^#' FILE) ..\n"
                  "# Add the sizes of the model, the data and the optimizer yourself.\n");
    parallel_put_unsaid(&p, "Megatron's flags do not say", out, notes);
    buf_add(out, buf_str(&flags));
    return true;
}
