#include "core/run/result.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

/* ---- one mapping: the outcome, then a block per rank ---- */

typedef struct {
    int64_t at;
    int64_t op_us, reshard_us, reshard_move_us, block_us, block_wait_us, pass_us, begin_us, span,
        last_span, step, output, n_elements, n_finite, copied;
} ResultLayout;

static int64_t place(ResultLayout *layout, int64_t n, size_t each)
{
    int64_t at = layout->at, unit = (int64_t) _Alignof(max_align_t);
    layout->at += (n * (int64_t)each + unit - 1) / unit * unit;
    return at;
}

static ResultLayout layout_of(const Plan *plan, const Program *program, const RunOptions *options)
{
    const Graph *graph = plan->inferred->graph;
    int64_t n_passes = run_passes(options), n_spans = options->trace ? program->n_instrs : 0;
    ResultLayout layout = {.at = 0};
    place(&layout, 1, sizeof(RankHead));
    layout.op_us = place(&layout, n_passes * graph->n_ops, sizeof(double));
    layout.reshard_us = place(&layout, n_passes * plan->moved->n_reshards, sizeof(double));
    layout.reshard_move_us = place(&layout, n_passes * plan->moved->n_reshards, sizeof(double));
    layout.block_us = place(&layout, n_passes * program->n_blocks, sizeof(double));
    layout.block_wait_us = place(&layout, n_passes * program->n_blocks, sizeof(double));
    layout.pass_us = place(&layout, n_passes, sizeof(double));
    layout.begin_us = place(&layout, n_passes, sizeof(double));
    layout.span = place(&layout, n_spans, sizeof(TraceSpan));
    layout.last_span = place(&layout, n_spans, sizeof(TraceSpan));
    layout.step = place(&layout, program->n_carried > 0 ? n_passes : 0, sizeof(RunStep));
    layout.output = place(&layout, graph->n_outputs, sizeof(Difference));
    layout.n_elements = place(&layout, graph->n_outputs, sizeof(int64_t));
    layout.n_finite = place(&layout, graph->n_outputs, sizeof(int64_t));
    layout.copied = place(&layout, graph->n_ops, sizeof(bool));
    return layout;
}

static RankResult in_block(char *block, const ResultLayout *layout, bool traced)
{
    return (RankResult){.head = (RankHead *)(void *)block,
                        .op_us = (double *)(void *)(block + layout->op_us),
                        .reshard_us = (double *)(void *)(block + layout->reshard_us),
                        .reshard_move_us = (double *)(void *)(block + layout->reshard_move_us),
                        .block_us = (double *)(void *)(block + layout->block_us),
                        .block_wait_us = (double *)(void *)(block + layout->block_wait_us),
                        .pass_us = (double *)(void *)(block + layout->pass_us),
                        .begin_us = (double *)(void *)(block + layout->begin_us),
                        .span = traced ? (TraceSpan *)(void *)(block + layout->span) : NULL,
                        .last_span =
                            traced ? (TraceSpan *)(void *)(block + layout->last_span) : NULL,
                        .step = (RunStep *)(void *)(block + layout->step),
                        .output = (Difference *)(void *)(block + layout->output),
                        .n_elements = (int64_t *)(void *)(block + layout->n_elements),
                        .n_finite = (int64_t *)(void *)(block + layout->n_finite),
                        .copied = (bool *)(block + layout->copied)};
}

bool results_open(Arena *arena, const Plan *plan, const Program *program, int n_ranks,
                  const RunOptions *options, Results *out, Error *err)
{
    ResultLayout layout = layout_of(plan, program, options), front = {.at = 0};
    place(&front, 1, sizeof(RunOutcome));
    *out = (Results){.n_ranks = n_ranks, .rank_bytes = layout.at};
    out->map_bytes = (size_t)(front.at + layout.at * n_ranks);
    char *map =
        mmap(NULL, out->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        error_kind(err, ERROR_RUN, "no memory for the times of %d passes on %d ranks",
                   run_passes(options), n_ranks);
        error_hint(err, "--repeat and --warmup with fewer");
        return false;
    }
    out->map = map;
    out->outcome = (RunOutcome *)(void *)map;
    out->rank = arena_array(arena, RankResult, n_ranks);
    for (int r = 0; r < n_ranks; r++) {
        out->rank[r] = in_block(map + front.at + layout.at * r, &layout, options->trace);
        out->rank[r].head->first_bad = out->rank[r].head->first_overflow =
            out->rank[r].head->strange = -1;
        for (int i = 0; i < plan->inferred->graph->n_outputs; i++)
            out->rank[r].output[i].ok = true;
    }
    return true;
}

void results_close(Results *results)
{
    if (results->map)
        munmap(results->map, results->map_bytes);
    results->map = NULL;
}

/* ---- what was received ---- */

/* Of the run that the blocks are results of. */
typedef struct {
    const Graph *graph;
    const Program *program;
    int n_ranks, n_passes;
} Expected;

static bool is_within(int64_t x, int64_t least, int64_t most)
{
    return least <= x && x <= most;
}

/* A byte that was received is read as a bool when it is one. */
static bool are_bools(const void *bytes, int64_t n)
{
    const unsigned char *at = bytes;
    for (int64_t i = 0; i < n; i++)
        if (at[i] > 1)
            return false;
    return true;
}

static bool is_element(const Expected *e, const RunElement *element)
{
    return is_within(element->tensor, 0, e->graph->n_tensors - 1) &&
           is_within(element->rank, 0, e->n_ranks - 1) &&
           is_within(element->at.n_dims, -1, DIMS_MAX) && are_bools(&element->moved, 1);
}

static bool is_head(const Expected *e, const RankHead *head)
{
    int n_most = INT_MAX / e->n_ranks;
    return is_within(head->n_done, 0, e->n_passes) && head->peak_bytes >= 0 &&
           is_within(head->first_bad, -1, e->program->n_instrs - 1) &&
           (head->first_bad < 0 || is_element(e, &head->wrong)) &&
           is_within(head->first_overflow, -1, e->program->n_instrs - 1) &&
           (head->first_overflow < 0 || is_element(e, &head->overflow)) &&
           (!(head->closest > 0) || is_element(e, &head->close)) &&
           is_within(head->strange, -1, e->graph->n_tensors - 1) &&
           is_within(head->n_checked, 0, n_most) && is_within(head->n_unchecked, 0, n_most);
}

static bool is_result(const Expected *e, const RankResult *result)
{
    int64_t n_most = INT64_MAX / e->n_ranks;
    bool steps = e->program->n_carried > 0, fine = is_head(e, result->head);
    for (int i = 0; fine && steps && i < e->n_passes; i++)
        fine = are_bools(&result->step[i].has_loss, 1) && are_bools(&result->step[i].skipped, 1) &&
               is_within(result->step[i].drifts, -1, e->graph->n_tensors - 1);
    for (int i = 0; fine && i < e->graph->n_outputs; i++)
        fine = are_bools(&result->output[i].ok, 1) && is_within(result->n_elements[i], 0, n_most) &&
               is_within(result->n_finite[i], 0, result->n_elements[i]);
    return fine && are_bools(result->copied, e->graph->n_ops);
}

bool results_check(const Results *results, const Plan *plan, const Program *program,
                   const RunOptions *options, Error *err)
{
    Expected e = {plan->inferred->graph, program, results->n_ranks, run_passes(options)};
    for (int r = 0; r < results->n_ranks; r++)
        if (!is_result(&e, &results->rank[r]))
            return error_kind(err, ERROR_RUN, "rank %d sent a result that cannot be one", r);
    return true;
}

void rank_place(const Plan *plan, const Program *program, const RankHead *head, Buf *out)
{
    const Graph *graph = plan->inferred->graph;
    int at = atomic_load(&head->at);
    if (atomic_load(&head->state) == RANK_IDLE || at < 0 || at >= program->n_instrs) {
        buf_puts(out, "before the first instruction");
        return;
    }
    if (atomic_load(&head->state) == RANK_DONE) {
        buf_puts(out, "at the end");
        return;
    }
    const Instr *instr = &program->instrs[at];
    if (instr->kind == INSTR_OP) {
        buf_printf(out, "in %s '%s'", op_operator(graph, instr->op), op_name(graph, instr->op));
        return;
    }
    int32_t slot = instr->slot >= 0 ? instr->slot : instr->from;
    if (slot < 0) {
        buf_puts(out, "between two iterations");
        return;
    }
    const char *tensor = tensor_name(graph, program->slots[slot].tensor);
    if (instr->kind == INSTR_STEP)
        buf_printf(out, "in %s of '%s'", step_kind_name(instr->step->kind), tensor);
    else
        buf_printf(out, "in %s of '%s'", instr_kind_name(instr->kind), tensor);
}
