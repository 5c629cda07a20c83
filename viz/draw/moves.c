#include "viz/draw/moves.h"

#include "viz/draw/facts.h"

#include "core/base/units.h"
#include "core/summary/comm.h"
#include "core/cost/cost.h"
#include "core/summary/label.h"
#include "core/cost/op_declared.h"

#include <stdlib.h>

Moves moves_new(Arena *arena, const Mesh *mesh)
{
    return (Moves){.arena = arena, .mesh = mesh, .keys = intern_new(arena)};
}

/* The axes that contain any of these atoms: for sends, which of their parts are involved does not
 * matter. */
static AtomSet whole_axes(const Mesh *mesh, AtomSet atoms)
{
    AtomSet whole = 0;

    for (int axis = 0; axis < mesh->n_axes; axis++)
        if (mesh_axis_atoms(mesh, axis) & atoms)
            whole |= mesh_axis_atoms(mesh, axis);
    return whole;
}

bool kind_sends(StepKind kind)
{
    return kind == STEP_SEND || kind == STEP_BROADCAST;
}

void moves_add(Moves *moves, int32_t reshard, StepKind kind, AtomSet atoms, int64_t bytes,
               double us, double times)
{
    if (kind == STEP_SLICE)
        return;
    if (kind_sends(kind))
        atoms = whole_axes(moves->mesh, atoms);
    int32_t key[2] = {(int32_t)kind, (int32_t)atoms};
    int32_t id = intern_put(moves->keys, key, sizeof key);
    if (id == moves->at.n) {
        DrawnMove made = {
            .kind = kind, .atoms = atoms, .least_bytes = bytes, .dearest = -1, .dearest_us = -1};
        vec_push(moves->arena, &moves->at, made);
    }
    DrawnMove *move = &moves->at.at[id];
    move->n += times;
    move->us += times * us;
    move->bytes += times * (double)bytes;
    move->least_bytes = bytes < move->least_bytes ? bytes : move->least_bytes;
    move->most_bytes = bytes > move->most_bytes ? bytes : move->most_bytes;
    if (us > move->dearest_us) {
        move->dearest = reshard;
        move->dearest_us = us;
    }
}

void moves_add_reshard(Moves *moves, const Plan *plan, int32_t reshard, double times)
{
    const ReshardPath *path = plan->moved->reshards[reshard].path;

    for (int s = 0; s < path->n_steps; s++)
        moves_add(moves, reshard, path->step[s].kind, path->step[s].atoms, path->step[s].bytes,
                  path->step[s].us, times);
}

static void add_op(Moves *moves, const Plan *plan, int32_t op)
{
    const OpDeclared *declared = op_declared(plan, op);

    for (int i = 0; declared && i < declared->n_comms; i++) {
        const OpComm *comm = &declared->comm[i];
        moves_add(moves, -1, comm->kind, comm->atoms, comm->bytes, comm->price.us,
                  inferred_repeat(plan->inferred, op));
    }
}

Moves moves_of_plan(Arena *arena, const Plan *plan)
{
    Moves moves = moves_new(arena, plan->mesh);

    for (int32_t r = 0; r < plan->moved->n_reshards; r++)
        moves_add_reshard(&moves, plan, r, reshard_repeat(plan, &plan->moved->reshards[r]));
    for (int i = 0; i < plan->inferred->n_program; i++)
        add_op(&moves, plan, plan->inferred->program[i]);
    moves_sort(&moves);
    return moves;
}

static int by_time(const void *a, const void *b)
{
    const DrawnMove *x = a, *y = b;

    if (x->us != y->us)
        return x->us < y->us ? 1 : -1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->atoms < y->atoms ? -1 : x->atoms > y->atoms;
}

/* Afterwards the keys no longer match the rows: nothing may be added. */
void moves_sort(Moves *moves)
{
    moves->keys = NULL;
    if (moves->at.n > 0)
        qsort(moves->at.at, (size_t)moves->at.n, sizeof *moves->at.at, by_time);
}

double moves_us(const Moves *moves)
{
    double us = 0;

    for (int i = 0; i < moves->at.n; i++)
        us += moves->at.at[i].us;
    return us;
}

bool path_moves(const ReshardPath *path)
{
    for (int s = 0; s < path->n_steps; s++)
        if (path->step[s].kind != STEP_SLICE)
            return true;
    return false;
}

/* ---- texts ---- */

void move_format_name(const Mesh *mesh, const DrawnMove *move, Buf *out)
{
    buf_printf(out, "%s ", step_kind_mark(move->kind));
    mesh_format_set(mesh, move->atoms, ".", out);
}

void move_format_bytes(const DrawnMove *move, Buf *out)
{
    if (move->least_bytes != move->most_bytes) {
        units_format_bytes(move->least_bytes, out);
        buf_puts(out, " to ");
    }
    units_format_bytes(move->most_bytes, out);
}

Text moves_format(const Draw *draw, const Moves *moves)
{
    Buf text = buf_marked(draw->arena);

    for (int i = 0; i < moves->at.n; i++) {
        const DrawnMove *move = &moves->at.at[i];
        if (i > 0)
            buf_putc(&text, '\n');
        if (move->n > 1)
            buf_printf(&text, "%.10g ", move->n);
        move_format_name(draw->plan->mesh, move, &text);
        buf_putc(&text, ' ');
        if (move->n <= 1) {
            move_format_bytes(move, &text);
            buf_putc(&text, ' ');
        }
        units_format_us(move->us, &text);
        if (move->n > 1) {
            buf_putc(&text, '\n');
            move_format_bytes(move, &text);
            buf_puts(&text, " each");
        }
    }
    return buf_text(&text);
}

DiagramLine moves_line(const Draw *draw, const Moves *moves, int from, int to)
{
    DiagramLine line = draw_new_line(LINE_MOVED, from, to);
    const DrawnMove *dearest = &moves->at.at[0];
    uint8_t atom[ATOMS_MAX];

    for (int i = 1; i < moves->at.n; i++)
        if (moves->at.at[i].us > dearest->us)
            dearest = &moves->at.at[i];
    line.kind = dearest->kind;
    line.bytes = dearest->most_bytes;
    if (mesh_list_set(draw->plan->mesh, dearest->atoms, atom) > 0)
        line.axis = draw->plan->mesh->atoms[atom[0]].axis;
    line.label = moves_format(draw, moves);
    if (dearest->dearest >= 0) {
        const Reshard *reshard = &draw->plan->moved->reshards[dearest->dearest];
        const Decision *pin = comm_cause(draw->arena, draw->session, reshard);
        if (pin)
            line.label =
                text_join(draw->arena, "@\n@", line.label, text_of(label_pin(draw->arena, pin)));
        line.why = draw_moved_why(draw, reshard);
        line.link = arena_printf(draw->arena, "#reshard-%d", dearest->dearest);
        line.facts = facts_of_reshard(draw, reshard);
    }
    return line;
}

Text moves_over_text(const Draw *draw, const Moves *moves, AtomSet atoms)
{
    Moves some = moves_new(draw->arena, draw->plan->mesh);

    for (int i = 0; i < moves->at.n; i++)
        if (moves->at.at[i].atoms == atoms)
            vec_push(draw->arena, &some.at, moves->at.at[i]);
    return some.at.n > 0 ? moves_format(draw, &some) : text_from("nothing moves");
}
