#include "core/plan/routed.h"

#include "core/base/intern.h"
#include "core/base/vec.h"
#include "core/layout/runs.h"

#include <math.h>

/* The expected load of the experts of one dispatch. */
typedef struct {
    int64_t n_experts, k; /* k: of a token */
    bool worst;
    const double *share; /* of all choices, by expert; NULL: equal */
} ExpertLoad;

/* What is routed of a tensor (its dims) or of an op (its index dims); load -1: nothing. */
typedef struct {
    int32_t load, code;
    int8_t expert, row; /* row -1: of an op that has no dim of tokens */
} RoutedPlace;

struct Routed {
    const Inferred *inferred;
    Vec(ExpertLoad) loads;
    RoutedPlace *tensor, *op;
};

static const RoutedPlace nowhere = {.load = -1, .expert = -1, .row = -1};

/* ---- what is expected ---- */

static double expected(const ExpertLoad *load, int64_t expert)
{
    return load->share ? (double)load->k * load->share[expert]
                       : (double)load->k / (double)load->n_experts;
}

/* Rows a token that the experts of a part get. */
static double rows_of(const ExpertLoad *load, const Runs *part)
{
    if (load->worst)
        return (double)(load->k < part->local_size ? load->k : part->local_size);
    double rows = 0;
    for (int r = 0; r < part->n; r++)
        for (int64_t i = 0; i < part->at[r].length; i++)
            rows += expected(load, part->at[r].start + i);
    return rows;
}

/* The rows a token of the fullest part, and how many experts it could be of. */
static double fullest(const ExpertLoad *load, const Cut *cut, const Mesh *mesh, int64_t *room)
{
    *room = cut_is_whole(cut) ? load->n_experts : cut_most_size(cut, mesh);
    if (!load->worst && !load->share)
        return (double)*room * expected(load, 0);
    if (cut_is_whole(cut))
        return (double)load->k;
    Arena *scratch = arena_new();
    AtomSet atoms = cut_atoms(cut);
    double most = 0;
    for (int64_t i = 0; i < mesh_atoms_size(mesh, atoms); i++) {
        Runs part = cut_runs(scratch, cut, mesh, mesh_group_member(mesh, atoms, 0, i));
        most = fmax(most, rows_of(load, &part));
    }
    arena_free(scratch);
    return most;
}

static double fill(const ExpertLoad *load, const Cut *cut, const Mesh *mesh)
{
    int64_t room;
    double rows = fullest(load, cut, mesh, &room);
    return room > 0 ? rows / (double)room : 1;
}

/* The fill of a value with this sharding; 1 if it is not routed. */
static double value_fill(const Routed *routed, int32_t tensor, const Sharding *sharding,
                         const Mesh *mesh)
{
    const RoutedPlace *at = routed ? &routed->tensor[tensor] : &nowhere;
    return at->load < 0 ? 1 : fill(&routed->loads.at[at->load], &sharding->dim[at->expert], mesh);
}

int64_t routed_bytes(const Routed *routed, int32_t tensor, const Sharding *sharding,
                     const Mesh *mesh, int64_t bytes)
{
    double share = value_fill(routed, tensor, sharding, mesh);
    return share == 1 ? bytes : (int64_t)ceil((double)bytes * share * (1 - 1e-12));
}

double routed_move_fill(const Routed *routed, int32_t tensor, const Sharding *from,
                        const Sharding *to, const Mesh *mesh)
{
    return fmax(value_fill(routed, tensor, from, mesh), value_fill(routed, tensor, to, mesh));
}

double routed_op_fill(const Routed *routed, int32_t op, const OpCut *cut, const Mesh *mesh)
{
    const RoutedPlace *at = routed ? &routed->op[op] : &nowhere;
    if (at->load < 0)
        return 1;
    const ExpertLoad *load = &routed->loads.at[at->load];
    return cut ? fill(load, &cut->index[at->expert], mesh)
               : (double)load->k / (double)load->n_experts;
}

double routed_imbalance(const Routed *routed, int32_t op, const OpCut *cut, const Mesh *mesh)
{
    const RoutedPlace *at = routed ? &routed->op[op] : &nowhere;
    if (at->load < 0 || !cut || cut_is_whole(&cut->index[at->expert]))
        return 1;
    const ExpertLoad *load = &routed->loads.at[at->load];
    int64_t room, n = mesh_atoms_size(mesh, cut_atoms(&cut->index[at->expert]));
    return fullest(load, &cut->index[at->expert], mesh, &room) * (double)n / (double)load->k;
}

int routed_expert_index(const Routed *routed, int32_t op)
{
    return routed && routed->op[op].load >= 0 ? routed->op[op].expert : -1;
}

int32_t routed_tensor_code(const Routed *routed, int32_t tensor)
{
    return routed ? routed->tensor[tensor].code : 0;
}

int32_t routed_op_code(const Routed *routed, int32_t op)
{
    return routed ? routed->op[op].code : 0;
}

int routed_row_dim(const Routed *routed, int32_t tensor)
{
    return routed ? routed->tensor[tensor].row : -1;
}

/* ---- where ---- */

static bool is_dispatch(const Graph *graph, int32_t op)
{
    return strcmp(op_operator(graph, op), "ExpertDispatch") == 0;
}

static ExpertLoad load_of(Arena *arena, const Inferred *inferred, int32_t op)
{
    const Shape *choice = program_shape(inferred, op_inputs(inferred->graph, op)[1]);
    ExpertLoad load = {.n_experts = choice->dim[2],
                       .k = op_attr_int(inferred->graph, op, "k", 1),
                       .worst = op_attr_int(inferred->graph, op, "worst", 0) != 0};
    const Attr *shares = op_attr(inferred->graph, op, "load");
    if (!shares || shares->n != load.n_experts)
        return load;
    double *share = arena_array(arena, double, load.n_experts), sum = 0;
    for (int64_t i = 0; i < load.n_experts; i++)
        sum += shares->floats[i];
    for (int64_t i = 0; i < load.n_experts; i++)
        share[i] = shares->floats[i] / sum;
    load.share = share;
    return load;
}

static int32_t code_of(const ExpertLoad *load, const RoutedPlace *at)
{
    int64_t head[] = {load->n_experts, load->k, load->worst, at->expert, at->row};
    uint64_t hash = hash_bytes(head, sizeof head);
    if (load->share)
        hash ^= hash_bytes(load->share, sizeof(double) * (size_t)load->n_experts) * 31;
    return (int32_t)(hash >> 33 | 1);
}

/* The index dim that a dim of the operand is; -1: none, or several. */
static int index_of(const Operand *operand, int dim)
{
    const DimFactors *factors = dim >= 0 ? &operand->factors[dim] : NULL;
    return factors && factors->n == 1 && factors->exact ? factors->index[0] : -1;
}

static int dim_of(const Operand *operand, int index)
{
    for (int d = 0; index >= 0 && d < operand->shape.n_dims; d++)
        if (index_of(operand, d) == index)
            return d;
    return -1;
}

/* The place of an op's index dims, as one of its operands has it. */
static RoutedPlace place_of_op(const Routed *routed, int32_t op)
{
    const Graph *graph = routed->inferred->graph;
    const OpSpace *space = inferred_space(routed->inferred, op);
    const GraphOp *at = &graph->ops[op];
    for (int o = 0; space && !space->no_rule && o < at->n_inputs + at->n_outputs; o++) {
        int32_t t = graph->operands[at->input + o];
        const Operand *operand = &space->operand[o];
        if (t < 0 || operand->absent || operand->ignored || routed->tensor[t].load < 0)
            continue;
        RoutedPlace place = routed->tensor[t];
        place.expert = (int8_t)index_of(operand, place.expert);
        place.row = (int8_t)index_of(operand, place.row);
        if (place.expert >= 0)
            return place;
    }
    return nowhere;
}

/* A value is routed where it has both dims. */
static void mark_outputs(Routed *routed, int32_t op)
{
    const Graph *graph = routed->inferred->graph;
    const GraphOp *at = &graph->ops[op];
    const OpSpace *space = program_space(routed->inferred, op);
    for (int o = at->n_inputs; o < at->n_inputs + at->n_outputs; o++) {
        int32_t t = graph->operands[at->input + o];
        RoutedPlace place = routed->op[op];
        place.expert = (int8_t)dim_of(&space->operand[o], place.expert);
        place.row = (int8_t)dim_of(&space->operand[o], place.row);
        if (t < 0 || place.expert < 0 || place.row < 0)
            continue;
        place.code = code_of(&routed->loads.at[place.load], &place);
        routed->tensor[t] = place;
    }
}

/* A gradient has the rows of its value. */
static void mark_gradients(Routed *routed, int32_t op)
{
    const Graph *graph = routed->inferred->graph;
    const GraphOp *at = &graph->ops[op];
    for (int o = at->n_inputs; graph->gradient_of && o < at->n_inputs + at->n_outputs; o++) {
        int32_t t = graph->operands[at->input + o], of = t < 0 ? -1 : graph->gradient_of[t];
        if (of >= 0 && routed->tensor[of].load >= 0 &&
            program_shape(routed->inferred, t)->n_dims ==
                program_shape(routed->inferred, of)->n_dims)
            routed->tensor[t] = routed->tensor[of];
    }
}

static void mark_op(Arena *arena, Routed *routed, int32_t op)
{
    const OpSpace *space = inferred_space(routed->inferred, op);
    if (!space)
        return;
    if (is_dispatch(routed->inferred->graph, op) && !space->no_rule) {
        const Operand *out = opspace_output(space, 0);
        vec_push(arena, &routed->loads, load_of(arena, routed->inferred, op));
        routed->op[op] = (RoutedPlace){.load = routed->loads.n - 1,
                                       .expert = (int8_t)index_of(out, 1),
                                       .row = (int8_t)index_of(out, 2)};
        if (routed->op[op].expert < 0) /* one expert: nothing is chosen */
            routed->op[op] = nowhere;
    } else {
        mark_gradients(routed, op);
        routed->op[op] = place_of_op(routed, op);
    }
    if (routed->op[op].load < 0)
        return;
    routed->op[op].code = code_of(&routed->loads.at[routed->op[op].load], &routed->op[op]);
    mark_outputs(routed, op);
}

Routed *routed_of(Arena *arena, const Inferred *inferred)
{
    const Graph *graph = inferred->graph;
    int32_t first = 0;
    while (first < graph->n_ops && !is_dispatch(graph, first))
        first++;
    if (first == graph->n_ops)
        return NULL;
    Routed *routed = arena_make(arena, Routed);
    *routed = (Routed){.inferred = inferred,
                       .tensor = arena_array(arena, RoutedPlace, graph->n_tensors),
                       .op = arena_array(arena, RoutedPlace, graph->n_ops)};
    for (int32_t t = 0; t < graph->n_tensors; t++)
        routed->tensor[t] = nowhere;
    for (int32_t op = 0; op < graph->n_ops; op++)
        routed->op[op] = nowhere;
    for (int32_t op = first; op < graph->n_ops; op++)
        mark_op(arena, routed, op);
    return routed;
}
