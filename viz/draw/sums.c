/* sums.c - collectives in sums and as text. */
#include "viz/draw/draw.h"

#include "core/base/units.h"
#include "core/cost/cost.h"
#include "core/summary/diff_outline.h"
#include "core/summary/label.h"
#include "core/cost/op_declared.h"
#include "core/plan/stage.h"
#include "core/cost/pipeline.h"
#include "viz/style.h"

#include <inttypes.h>

enum { KINDS_SAID = 3, LINE_COLUMNS = 60 };

static void add_move(Arena *arena, DrawMoves *moves, const DrawMove *move)
{
    for (int i = 0; i < moves->n; i++)
        if (moves->at[i].kind == move->kind && moves->at[i].atoms == move->atoms) {
            moves->at[i].count += move->count;
            moves->at[i].us += move->us;
            return;
        }
    vec_push(arena, moves, *move);
}

void draw_add_reshard(const Draw *draw, const Reshard *reshard, DrawMoves *moves)
{
    double times = reshard_repeat(draw->plan, reshard);

    for (int i = 0; i < reshard->path->n_steps; i++) {
        const Step *step = &reshard->path->step[i];
        if (step->kind != STEP_SLICE && step->us > 0)
            add_move(draw->arena, moves,
                     &(DrawMove){step->kind, step->atoms, times, times * step->us});
    }
}

void draw_index_moves(Draw *draw)
{
    const Plan *plan = draw->plan;
    int32_t *first = arena_array(draw->arena, int32_t, draw->graph->n_ops + 1);
    int32_t *next = arena_array(draw->arena, int32_t, plan->moved->n_reshards + 1);

    for (int32_t r = plan->moved->n_reshards - 1; r >= 0; r--) {
        int32_t op = reshard_op(plan, &plan->moved->reshards[r]);
        if (op < 0)
            continue;
        next[r] = first[op];
        first[op] = r + 1;
    }
    draw->moves_of = first;
    draw->next_move = next;
}

void draw_sum_moves(const Draw *draw, int32_t op, DrawMoves *moves)
{
    const OpDeclared *declared = op_declared(draw->plan, op);

    for (int32_t r = draw->moves_of[op]; r > 0; r = draw->next_move[r - 1])
        draw_add_reshard(draw, &draw->plan->moved->reshards[r - 1], moves);
    for (int i = 0; declared && i < declared->n_comms; i++) {
        const OpComm *comm = &declared->comm[i];
        double times = inferred_repeat(draw->plan->inferred, op);
        add_move(draw->arena, moves,
                 &(DrawMove){comm->kind, comm->atoms, times, times * comm->price.us});
    }
}

double draw_moves_us(const DrawMoves *moves)
{
    double us = 0;
    for (int i = 0; i < moves->n; i++)
        us += moves->at[i].us;
    return us;
}

/* next: the one listed after it, which may be over the same axes; NULL if none. */
static void put_move(const Draw *draw, const DrawMove *move, const DrawMove *next, Buf *out)
{
    buf_printf(out, "%.10g %s%s", move->count, style_move(move->kind)->name,
               move->count > 1 ? "s" : "");
    if (next && next->atoms == move->atoms)
        return;
    buf_puts(out, " over ");
    mesh_format_set(draw->plan->mesh, move->atoms, ".", out);
}

/* The most expensive one not listed yet; NULL if all are. */
static const DrawMove *dearest(const DrawMoves *moves, bool *declared)
{
    int best = -1;

    for (int i = 0; i < moves->n; i++)
        if (!declared[i] && (best < 0 || moves->at[i].us > moves->at[best].us))
            best = i;
    if (best < 0)
        return NULL;
    declared[best] = true;
    return &moves->at[best];
}

Text draw_moves_text(const Draw *draw, const DrawMoves *moves)
{
    Buf text = buf_marked(draw->arena);
    bool *declared = arena_array(draw->arena, bool, moves->n + 1);
    double others = 0;

    const DrawMove *move = dearest(moves, declared);
    for (int k = 1; move; k++) {
        const DrawMove *next = k < KINDS_SAID ? dearest(moves, declared) : NULL;
        buf_puts(&text, text.n ? ", " : "");
        put_move(draw, move, next, &text);
        move = next;
    }
    for (int i = 0; i < moves->n; i++)
        others += declared[i] ? 0 : moves->at[i].count;
    if (others > 0)
        buf_printf(&text, ", %.10g other%s", others, others == 1 ? "" : "s");
    return buf_text(&text);
}

Text draw_wrapped(const Draw *draw, Text rest)
{
    Buf out = buf_marked(draw->arena);
    size_t begun = 0;

    while (rest.str.n > 0) {
        Text part = text_take(&rest, ',');
        if (out.n > begun && out.n - begun + part.str.n > LINE_COLUMNS) {
            buf_puts(&out, "\n ");
            begun = out.n;
        }
        buf_add_text(&out, part);
        if (rest.str.n > 0)
            buf_putc(&out, ',');
    }
    return buf_text(&out);
}

const char *draw_us(const Draw *draw, double us)
{
    Buf text = buf_new(draw->arena);
    units_format_us(us, &text);
    return text.s;
}

const char *draw_bytes(const Draw *draw, int64_t bytes)
{
    Buf text = buf_new(draw->arena);
    units_format_bytes(bytes, &text);
    return text.s;
}

Text draw_totals_text(const Draw *draw)
{
    const Plan *plan = draw->plan;
    const Totals *totals = &plan->priced->totals;
    DrawMoves moves = {0};
    Buf text = buf_marked(draw->arena);

    for (int i = 0; i < plan->inferred->n_program; i++)
        draw_sum_moves(draw, plan->inferred->program[i], &moves);
    buf_printf(&text, "a %s takes %s", label_pass(plan), draw_us(draw, totals->step_us));
    buf_puts(&text, moves.n > 0 ? ", " : ", no collectives");
    if (moves.n > 0)
        buf_add_text(&text, text_join(draw->arena, "@ of that in @",
                                      text_from(draw_us(draw, totals->comm_us)),
                                      draw_moves_text(draw, &moves)));
    buf_printf(&text, "; peak memory of a device %s", draw_bytes(draw, totals->peak_bytes));
    if (plan_schedule(plan) && plan->decided->stages->n_micro_batches > 1)
        buf_printf(&text, "; a step of %d takes %s", plan->decided->stages->n_micro_batches,
                   draw_us(draw, plan_step_us(plan)));
    return buf_text(&text);
}
