#include "core/search/cuts.h"

#include "core/propagate/ties.h"
#include "core/space/dim_part.h"

#include <stdlib.h>

/* Cuts of one index dim, and combinations of one op, at most. */
enum { DIM_CUTS_MAX = 64, OP_CUTS_MAX = 4096 };

typedef Vec(Cut) DimCuts;

/* A cut that was found and is to be handed on. */
typedef struct {
    int32_t op;
    int index, cut;
} Found;

typedef struct {
    Arena *arena, *scratch;
    const Inferred *inferred;
    const Mesh *mesh;
    const int32_t *leader;
    AtomSet barred;
    DimCuts **of; /* per op: [index dims]; NULL where it leads none */
    Vec(Found) found;
    int n_done; /* of `found` */
} Finder;

/* ---- one dim ---- */

static bool may_cut(const Finder *f, const OpSpace *space, int index, const Cut *cut)
{
    return cut_is_whole(cut) || space->index[index].role != ROLE_FROZEN ||
           op_cut_of_frozen(space, index, cut, f->mesh);
}

static bool of_whole_axes(const Mesh *mesh, AtomSet atoms)
{
    for (int a = 0; a < mesh->n_axes; a++) {
        AtomSet of = mesh_axis_atoms(mesh, a);
        if ((atoms & of) && (atoms & of) != of)
            return false;
    }
    return true;
}

static void add(Finder *f, int32_t op, int index, const Cut *cut)
{
    const OpSpace *space = program_space(f->inferred, op);
    DimCuts *cuts = &f->of[op][index];
    if (cuts->n >= DIM_CUTS_MAX || (cut_atoms(cut) & f->barred) ||
        cut_size(cut) != space->index[index].size || !may_cut(f, space, index, cut))
        return;
    for (int i = 0; i < cuts->n; i++)
        if (cut_equal(&cuts->at[i], cut))
            return;
    vec_push(f->scratch, cuts, *cut);
    vec_push(f->scratch, &f->found, (Found){op, index, cuts->n - 1});
}

static bool divides(int64_t parts, const int64_t *sizes, int n)
{
    for (int i = 0; i < n; i++)
        if (sizes[i] == 0 || sizes[i] % parts != 0)
            return false;
    return true;
}

/* A dim by every set of axes, those of the mesh's major end first; of a dim that operands hold
 * parts of, every part. */
static DimCuts cuts_by_axes(Finder *f, const OpSpace *space, int index, bool by_parts)
{
    const Mesh *mesh = f->mesh;
    DimCuts out = {0};
    int64_t sizes[DIGITS_MAX] = {space->index[index].size};
    int n_sizes = by_parts ? dim_parts(space, index, sizes, DIGITS_MAX) : 1;
    if (by_parts ? n_sizes < 2 : space->index[index].role == ROLE_FROZEN)
        return out;
    for (unsigned axes = 1; axes < 1u << mesh->n_axes; axes++) {
        int64_t parts = 1;
        uint8_t atom[ATOMS_MAX];
        int n = 0;
        for (int x = 0; x < mesh->n_axes; x++) {
            if (!(axes >> x & 1))
                continue;
            parts *= mesh->axes[x].size;
            for (int a = 0; a < mesh->axes[x].n_atoms; a++)
                atom[n++] = (uint8_t)(mesh->axes[x].atom + a);
        }
        Cut cut;
        if (divides(parts, sizes, n_sizes) && cut_blocks(sizes, n_sizes, atom, n, mesh, &cut))
            vec_push(f->scratch, &out, cut);
    }
    return out;
}

static void begin_op(Finder *f, int32_t op, bool digits)
{
    const OpSpace *space = program_space(f->inferred, op);
    int ways = space->no_rule ? 0 : digits ? 2 : 1; /* whole; part by part */
    f->of[op] = arena_array(f->scratch, DimCuts, space->n_index);
    for (int j = 0; j < space->n_index; j++) {
        Cut whole = cut_whole(space->index[j].size);
        vec_push(f->scratch, &f->of[op][j], whole);
        for (int way = 0; way < ways; way++) {
            DimCuts cuts = cuts_by_axes(f, space, j, way > 0);
            for (int c = 0; c < cuts.n; c++)
                add(f, op, j, &cuts.at[c]);
        }
    }
}

static void add_plan(Finder *f, const Plan *plan)
{
    const Inferred *inferred = f->inferred;
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        const OpCut *cut = op_is_forward(inferred->graph, op) ? plan_cut(plan, op) : NULL;
        for (int j = 0; cut && f->of[f->leader[op]] && j < cut->n; j++)
            add(f, f->leader[op], j, &cut->index[j]);
    }
}

/* ---- handing on ---- */

/* A dim of a tensor is sharded so: its parts shard the index dims of an op that has the dim. */
static void take(Finder *f, int32_t op, int operand, int dim, const Cut *cut)
{
    const OpSpace *space = program_space(f->inferred, op);
    const Operand *o = &space->operand[operand];
    if (!f->of[op] || space->no_rule || o->absent || o->ignored || dim >= o->projection.n_dims)
        return;
    const DimFactors *factors = &o->factors[dim];
    Cut part[FACTORS_MAX];
    int64_t sizes[FACTORS_MAX];
    AtomSet lost = 0;
    if (!factors->exact || factors->n == 0)
        return;
    for (int i = 0; i < factors->n; i++)
        sizes[i] = space->index[factors->index[i]].size;
    cut_split(cut, sizes, factors->n, f->mesh, part, &lost);
    for (int i = 0; i < factors->n && !lost; i++)
        if (!cut_is_whole(&part[i]) && of_whole_axes(f->mesh, cut_atoms(&part[i])))
            add(f, op, factors->index[i], &part[i]);
}

static void take_at(Finder *f, int32_t op, int32_t tensor, int dim, const Cut *cut)
{
    const GraphOp *node = &f->inferred->graph->ops[op];
    const int32_t *operand = f->inferred->graph->operands + node->input;
    for (int i = 0; i < node->n_inputs + node->n_outputs; i++)
        if (operand[i] == tensor)
            take(f, f->leader[op], i, dim, cut);
}

/* To the maker and the readers of a tensor, what sharding an operand like it has under a cut. */
static void hand_on(Finder *f, int32_t tensor, const OpSpace *space, const OpCut *cut, int operand,
                    int dim)
{
    const Graph *graph = f->inferred->graph;
    Cut made;
    if (!op_cut_project(space, cut, operand, dim, f->mesh, &made) || cut_is_whole(&made))
        return;
    int32_t maker = graph->tensors[tensor].maker;
    if (maker >= 0 && !inferred_is_host(f->inferred, maker) && op_is_forward(graph, maker))
        take_at(f, maker, tensor, dim, &made);
    const int32_t *use = graph->uses + graph->tensors[tensor].use;
    for (int u = 0; u < tensor_n_uses(graph, tensor); u++)
        if (!inferred_is_host(f->inferred, use[u]) && op_is_forward(graph, use[u]))
            take_at(f, use[u], tensor, dim, &made);
}

/* Hands on a cut of one index dim, alone and beside each cut of the dims that a tensor dim joins
 * it with. */
static void hand_on_found(Finder *f, Found found)
{
    const OpSpace *space = program_space(f->inferred, found.op);
    const Graph *graph = f->inferred->graph;
    OpCut cut = op_cut_whole(space);
    cut.index[found.index] = f->of[found.op][found.index].at[found.cut];
    AtomSet own = cut_atoms(&cut.index[found.index]);
    for (int o = 0; o < space->n_inputs + space->n_outputs; o++) {
        const Operand *operand = &space->operand[o];
        if (operand->absent || operand->ignored ||
            graph->operands[graph->ops[found.op].input + o] < 0)
            continue;
        for (int d = 0; d < operand->projection.n_dims; d++) {
            const DimFactors *factors = &operand->factors[d];
            bool of_it = factors->n == 0; /* a part, perhaps */
            for (int i = 0; i < factors->n; i++)
                of_it |= factors->index[i] == found.index;
            if (!of_it)
                continue;
            int32_t tensor = graph->operands[graph->ops[found.op].input + o];
            hand_on(f, tensor, space, &cut, o, d);
            for (int i = 0; own && factors->exact && i < factors->n; i++) {
                int j = factors->index[i];
                for (int c = 0; j != found.index && c < f->of[found.op][j].n; c++) {
                    OpCut both = cut;
                    both.index[j] = f->of[found.op][j].at[c];
                    if (cut_atoms(&both.index[j]) && !(cut_atoms(&both.index[j]) & own))
                        hand_on(f, tensor, space, &both, o, d);
                }
            }
        }
    }
}

/* Slices that divide a tensor among them let it be sharded part by part, as a Split does. */
static void hand_on_ties(Finder *f)
{
    Ties ties = ties_find(f->scratch, f->inferred);
    for (int t = 0; t < ties.ties.n; t++) {
        const Tie *tie = &ties.ties.at[t];
        const OpSpace *space = ties.spaces.at[tie->space - f->inferred->n_spaces];
        for (int j = 0; j < 2 * space->n_index && tie->n_outputs > 1; j++) {
            DimCuts cuts = cuts_by_axes(f, space, j / 2, j % 2 > 0);
            for (int c = 0; c < cuts.n; c++) {
                OpCut cut = op_cut_whole(space);
                cut.index[j / 2] = cuts.at[c];
                for (int o = 0; o <= tie->n_outputs; o++)
                    for (int d = 0; d < space->operand[o].projection.n_dims; d++)
                        hand_on(f, ties.tensors.at[tie->tensor + o], space, &cut, o, d);
            }
        }
    }
}

/* ---- combinations ---- */

typedef Vec(const OpCut *) OpCuts;

static void keep_cut(const Finder *f, OpCuts *list, const OpCut *cut)
{
    OpCut *copy = arena_make(f->arena, OpCut);
    *copy = *cut;
    vec_push(f->arena, list, copy);
}

static void combine(const Finder *f, int32_t op, int index, AtomSet used, OpCut *cut, OpCuts *list)
{
    const DimCuts *cuts = f->of[op];
    if (list->n >= OP_CUTS_MAX)
        return;
    if (index == cut->n) {
        keep_cut(f, list, cut);
        return;
    }
    for (int i = 0; i < cuts[index].n; i++) {
        AtomSet atoms = cut_atoms(&cuts[index].at[i]);
        if (atoms & used)
            continue;
        cut->index[index] = cuts[index].at[i];
        combine(f, op, index + 1, used | atoms, cut, list);
    }
}

static void keep_plan_cuts(const Finder *f, const Plan *plan, OpCuts *lists)
{
    const Inferred *inferred = f->inferred;
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i], lead = f->leader[op];
        const OpCut *cut = op_is_forward(inferred->graph, op) ? plan_cut(plan, op) : NULL;
        bool there = !cut || !f->of[lead] || cut->n != program_space(inferred, lead)->n_index;
        for (int c = 0; !there && c < lists[lead].n; c++)
            there = op_cut_equal(lists[lead].at[c], cut);
        if (!there)
            keep_cut(f, &lists[lead], cut);
    }
}

CutList *cuts_of_ops(Arena *arena, const Inferred *inferred, const Mesh *mesh,
                     const int32_t *leader, AtomSet barred, bool digits, const Plan *const *plans,
                     int n_plans)
{
    Arena *scratch = arena_new();
    const Graph *graph = inferred->graph;
    Finder f = {arena, scratch, inferred, mesh, leader, barred, .n_done = 0};
    f.of = arena_array(scratch, DimCuts *, graph->n_ops);
    for (int i = 0; i < inferred->n_program; i++)
        if (op_is_forward(graph, inferred->program[i]) &&
            leader[inferred->program[i]] == inferred->program[i])
            begin_op(&f, inferred->program[i], digits);
    for (int i = 0; i < n_plans; i++)
        add_plan(&f, plans[i]);
    if (digits)
        hand_on_ties(&f);
    while (digits && f.n_done < f.found.n)
        hand_on_found(&f, f.found.at[f.n_done++]);

    OpCuts *lists = arena_array(scratch, OpCuts, graph->n_ops);
    for (int32_t op = 0; op < graph->n_ops; op++) {
        if (!f.of[op])
            continue;
        OpCut cut = op_cut_whole(program_space(inferred, op));
        combine(&f, op, 0, 0, &cut, &lists[op]);
    }
    for (int i = 0; i < n_plans; i++)
        keep_plan_cuts(&f, plans[i], lists);
    CutList *out = arena_array(arena, CutList, graph->n_ops);
    for (int32_t op = 0; op < graph->n_ops; op++)
        out[op] = (CutList){lists[op].n, lists[op].at};
    arena_free(scratch);
    return out;
}
