#include "core/rules/roles.h"

#include "core/model/stated.h"
#include "core/rules/registry.h"
#include "core/rules/role_weight.h"
#include "core/space/dim_part.h"

#include <stdlib.h>
#include <string.h>

/* A digit of dim `dim` of a tensor: (x - offset) / inner % size, for x in the part. */
typedef struct {
    int32_t tensor;
    int dim;
    int64_t inner, size, offset, length;
    int64_t head; /* the dim that the last reshape on the way put behind it; 0: none did */
} DigitPlace;

/* A digit that some op needs whole, or that was visited; a list for each tensor dim. */
typedef struct {
    DigitPlace place;
    int32_t op; /* the reader; the matmul whose rows are followed */
    int32_t next;
} Mark;

typedef Vec(Mark) Marks;
typedef Vec(DigitPlace) Places;

/* Where the columns of a matmul were met on the way from the rows of another. */
typedef struct {
    int matmul;
    DigitPlace place; /* dim and tensor are not used: the digit is one of index dim n */
} Met;

typedef Vec(Met) Mets;

typedef struct {
    Arena *arena;
    const Inferred *inferred;
    const Graph *graph;
    RoleWeights weights;
    Vec(MatmulRole) roles;
    int32_t *role_of; /* per op, -1 */
    int32_t *slot;    /* per tensor: the first of its dims in the next two */
    int32_t *whole;   /* per slot: the first mark of digits that are needed whole, or -1 */
    int32_t *seen;    /* of digits that were looked at for `tracing` */
    Marks marks;
    Places stack;
    Mets met;       /* columns that the walk reached */
    Mets *pieces;   /* per role: digits of its columns that make rows of others */
    int32_t reader; /* the op whose needs are followed; -1: rows of `tracing` are */
    int32_t tracing;
    bool merged;    /* the walk met what another reader needs, or the model's inputs */
    int32_t stream; /* where the walk ended at what is needed whole; -1 */
} Finder;

const char *weight_role_name(WeightRole role)
{
    static const char *const texts[] = {"whole",  "column", "row",      "head",
                                        "router", "latent", "embedding"}; /* ORDER WEIGHT ROLE */
    return texts[role];
}

/* ---- matmuls and lookups ---- */

static void add_role(Finder *f, int32_t op)
{
    MatmulRole role;
    if (!role_read(&f->weights, op, &role))
        return;
    f->role_of[op] = f->roles.n;
    vec_push(f->arena, &f->roles, role);
}

/* ---- marks ---- */

static int32_t *list_at(Finder *f, int32_t *lists, const DigitPlace *place)
{
    return &lists[f->slot[place->tensor] + place->dim];
}

static bool pieces_meet(const DigitPlace *a, const DigitPlace *b)
{
    return a->offset < b->offset + b->length && b->offset < a->offset + a->length;
}

static bool covers(const DigitPlace *a, const DigitPlace *b)
{
    return a->inner <= b->inner && a->inner * a->size >= b->inner * b->size &&
           a->offset <= b->offset && a->offset + a->length >= b->offset + b->length;
}

static void add_mark(Finder *f, int32_t *list, const DigitPlace *place, int32_t op)
{
    Mark mark = {*place, op, *list};
    *list = f->marks.n;
    vec_push_own(f->arena, &f->marks, mark);
}

/* Returns whether the digit was reached before, and marks it. */
static bool reached_before(Finder *f, const DigitPlace *place)
{
    bool needs = f->reader >= 0;
    int32_t *list = list_at(f, needs ? f->whole : f->seen, place);
    for (int32_t i = *list; i >= 0; i = f->marks.at[i].next) {
        const Mark *mark = &f->marks.at[i];
        if (!needs && mark->op != f->tracing)
            break; /* marked by an earlier trace, like all that follow */
        if (needs && mark->op != f->reader && pieces_meet(&mark->place, place))
            f->merged = true;
        if (covers(&mark->place, place))
            return true;
    }
    add_mark(f, list, place, needs ? f->reader : f->tracing);
    return false;
}

/* Removes from a digit the minor part that some op needs whole. Returns false if nothing is left to
 * shard. */
static bool trim_whole(Finder *f, DigitPlace *place)
{
    for (int32_t i = *list_at(f, f->whole, place); i >= 0; i = f->marks.at[i].next) {
        const DigitPlace *whole = &f->marks.at[i].place;
        int64_t top = place->inner * place->size, reach = whole->inner * whole->size;
        if (!pieces_meet(whole, place) || reach <= place->inner || whole->inner >= top)
            continue;
        if (reach >= top || top % reach != 0)
            return false;
        place->inner = reach;
        place->size = top / reach;
    }
    return true;
}

/* Pushes a place on the stack, unless it was visited, or a trace ends here. */
static void visit(Finder *f, DigitPlace place)
{
    if (f->reader < 0 && !trim_whole(f, &place)) {
        f->stream = f->stream < 0 ? place.tensor : f->stream;
        return;
    }
    if (place.size > 1 && !reached_before(f, &place))
        vec_push_own(f->arena, &f->stack, place);
}

/* ---- one step back ---- */

/* The part of a digit that lies in the index dim that is its major part; *index is that index dim.
 * Returns false if the digit cannot be followed. */
static bool enter_index(const OpSpace *space, const DimFactors *factors, const DigitPlace *place,
                        int *index, DigitPlace *out)
{
    int64_t stride = 1, total = 1, top = place->inner * place->size;
    int chosen = -1;
    int64_t chosen_stride = 1;
    if (!factors->exact)
        return false;
    for (int j = factors->n - 1; j >= 0; j--) {
        int64_t size = space->index[factors->index[j]].size;
        if (size > 1 && stride < top && stride * size > place->inner) {
            chosen = j;
            chosen_stride = stride;
        }
        stride *= size;
    }
    total = stride;
    if (chosen < 0)
        return false;
    *index = factors->index[chosen];
    int64_t size = space->index[*index].size, s = chosen_stride;
    bool full = place->offset == 0 && place->length == total;
    bool major = s * size == total;
    int64_t low = place->inner > s ? place->inner / s : 1, high = top / s < size ? top / s : size;
    if (high <= low || high % low != 0 || (!full && !major) || place->offset % s ||
        place->length % s)
        return false;
    *out = (DigitPlace){.inner = low, .size = high / low, .length = size, .head = place->head};
    if (!full)
        out->offset = place->offset / s, out->length = place->length / s;
    return true;
}

/* The digit of an index dim in dim d of an operand, whose factor j it is. */
static bool leave_index(const OpSpace *space, const Operand *operand, int d, int j,
                        const DigitPlace *in, int index, DigitPlace *out)
{
    const DimFactors *factors = &operand->factors[d];
    int64_t stride = 1, extent = operand->shape.dim[d], size = space->index[index].size;
    for (int m = j + 1; m < factors->n; m++)
        stride *= space->index[factors->index[m]].size;
    bool full = in->offset == 0 && in->length == size;
    out->head = stride > 1 ? space->index[factors->index[factors->n - 1]].size : in->head;
    out->inner = in->inner * stride;
    out->size = in->size;
    out->offset = full ? 0 : in->offset * stride;
    out->length = full ? extent : in->length * stride;
    return full || stride * size == extent;
}

/* The same if the operand's dim is read with an offset or every few elements: a slice, or one
 * operand of a Concat. */
static bool leave_shifted(const OpSpace *space, const Operand *operand, int d, int index,
                          const DigitPlace *in, DigitPlace *out)
{
    const Row *row = &operand->projection.row[d];
    int64_t extent = operand->shape.dim[d], step = row->coef[index];
    for (int x = 0; x < space->n_index; x++)
        if (row->coef[x] != (x == index ? step : 0) || step < 1)
            return false;
    bool whole = in->inner == 1 && in->size == space->index[index].size;
    *out = *in;
    out->inner *= step; /* elements of every residue: those beside them are of other slices */
    out->length *= step;
    out->offset = in->offset * step + (step == 1 ? row->offset : row->offset / step * step);
    if (out->offset < 0 || out->offset + out->length > extent) {
        *out = (DigitPlace){.inner = 1, .size = extent, .length = extent};
        return whole && step == 1 && operand->projection.clip;
    }
    return row->window == 1 && in->inner * in->size == in->length;
}

/* Follows index dim `index` into one input. Returns whether the input has it. */
static bool step_into(Finder *f, const OpSpace *space, int32_t op, int i, int index,
                      const DigitPlace *in)
{
    const Operand *operand = &space->operand[i];
    bool found = false;
    for (int d = 0; d < operand->projection.n_dims; d++) {
        const DimFactors *factors = &operand->factors[d];
        DigitPlace out = {0};
        bool can = false, has = false;
        for (int j = 0; factors->exact && j < factors->n && !has; j++) {
            has = factors->index[j] == index;
            can = has && leave_index(space, operand, d, j, in, index, &out);
        }
        if (!factors->exact && operand->projection.row[d].coef[index] != 0) {
            has = true;
            can = leave_shifted(space, operand, d, index, in, &out);
        }
        out.tensor = op_inputs(f->graph, op)[i];
        out.dim = d;
        if (can)
            visit(f, out);
        found |= has;
    }
    return found;
}

/* The operand that is the op's output `tensor`, or -1. */
static int output_of(const Finder *f, int32_t op, int32_t tensor, const OpSpace *space)
{
    for (int o = 0; o < space->n_outputs; o++)
        if (op_outputs(f->graph, op)[o] == tensor)
            return space->n_inputs + o;
    return -1;
}

/* The digit within the index dim of which the output's dim is a part (Split). */
static bool enter_part(const OpSpace *space, int output, const DigitPlace *place, int *index,
                       DigitPlace *out)
{
    DimPart part;
    if (!dim_part(space, output, place->dim, &part) || !part.of_index ||
        place->inner * place->size != place->length)
        return false;
    *index = part.index;
    *out = *place;
    out->offset += part.start;
    return true;
}

/* Whether the op reads an index dim whole: it is frozen, and not Split's, of which each output is a
 * part. */
static bool is_read_whole(const OpSpace *space, int index)
{
    int64_t sizes[ROLE_PARTS_MAX];
    return space->index[index].role == ROLE_FROZEN &&
           dim_parts(space, index, sizes, ROLE_PARTS_MAX) == 0;
}

/* The activation that a norm reads for this dim. */
static int32_t input_of_norm(const Finder *f, int32_t op, const OpSpace *space, int index)
{
    for (int i = 0; i < space->n_inputs; i++)
        if (role_is_activation(&f->weights, op_inputs(f->graph, op)[i]) &&
            operand_has_index(&space->operand[i], index))
            return op_inputs(f->graph, op)[i];
    return -1;
}

static void step_back(Finder *f, const DigitPlace *place)
{
    int32_t op = f->graph->tensors[place->tensor].maker;
    const OpSpace *space = op < 0 ? NULL : inferred_space(f->inferred, op);
    int made = space && !space->no_rule ? output_of(f, op, place->tensor, space) : -1, index = -1;
    DigitPlace inside;
    f->merged |= op < 0;
    if (made < 0 || place->dim >= space->operand[made].projection.n_dims ||
        (!enter_index(space, &space->operand[made].factors[place->dim], place, &index, &inside) &&
         !enter_part(space, made, place, &index, &inside)))
        return;
    int32_t matmul = f->role_of[op];
    if (matmul >= 0 &&
        (index == f->roles.at[matmul].n || f->roles.at[matmul].role == WEIGHT_EMBEDDING)) {
        f->merged |= f->roles.at[matmul].role == WEIGHT_EMBEDDING;
        vec_push_own(f->arena, &f->met, (Met){matmul, inside});
        return;
    }
    if (is_read_whole(space, index)) {
        if (f->stream < 0)
            f->stream = input_of_norm(f, op, space, index);
        return;
    }
    for (int i = 0; i < space->n_inputs; i++)
        if (role_is_activation(&f->weights, op_inputs(f->graph, op)[i]))
            step_into(f, space, op, i, index, &inside);
}

static void walk(Finder *f)
{
    while (f->stack.n > 0) {
        DigitPlace place = f->stack.at[--f->stack.n];
        step_back(f, &place);
    }
}

/* ---- what is needed whole ---- */

/* Starts at each dim of an input that the op cannot read in parts. */
static void need_operand(Finder *f, const OpSpace *space, const Operand *operand, int32_t tensor,
                         int skipped)
{
    for (int d = 0; d < operand->projection.n_dims; d++) {
        const DimFactors *factors = &operand->factors[d];
        int64_t stride = 1;
        for (int j = factors->n - 1; factors->exact && j >= 0; j--) {
            const IndexDim *index = &space->index[factors->index[j]];
            if ((index->role == ROLE_REDUCE || is_read_whole(space, factors->index[j])) &&
                factors->index[j] != skipped)
                visit(f, (DigitPlace){tensor, d, stride, index->size, 0, operand->shape.dim[d], 0});
            stride *= index->size;
        }
        if (space->no_rule && operand->shape.dim[d] > 1)
            visit(f,
                  (DigitPlace){tensor, d, 1, operand->shape.dim[d], 0, operand->shape.dim[d], 0});
    }
}

/* Marks its reader as one that needs all columns of the matmuls that the walk reached. */
static void note_reader(Finder *f)
{
    const Operator *row = inferred_operator(f->inferred, f->reader);
    bool choice = row && row->flags & OPERATOR_CHOOSES;
    for (int i = 0; i < f->met.n; i++) {
        MatmulRole *role = &f->roles.at[f->met.at[i].matmul];
        const DigitPlace *digit = &f->met.at[i].place;
        if (role->role != WEIGHT_WHOLE || digit->inner * digit->size != digit->length ||
            digit->inner > 1)
            continue;
        if (role->reader < 0)
            role->reader = f->reader;
        if (choice)
            role->role = WEIGHT_ROUTER;
        else if (!f->merged && f->met.n == 1)
            role->role = WEIGHT_LATENT;
    }
}

static void follow_needs(Finder *f, int32_t op)
{
    const OpSpace *space = inferred_space(f->inferred, op);
    int32_t matmul = f->role_of[op];
    if (!space)
        return;
    f->reader = op;
    f->merged = false;
    f->met.n = 0;
    for (int i = 0; i < space->n_inputs; i++)
        if (role_is_activation(&f->weights, op_inputs(f->graph, op)[i]) &&
            !space->operand[i].absent)
            need_operand(f, space, &space->operand[i], op_inputs(f->graph, op)[i],
                         matmul < 0 ? -1 : f->roles.at[matmul].k);
    walk(f);
    note_reader(f);
    f->reader = -1;
}

/* ---- rows and the columns that make them ---- */

static void follow_rows(Finder *f, int m)
{
    const MatmulRole *role = &f->roles.at[m];
    const OpSpace *space = program_space(f->inferred, role->op);
    DigitPlace all = {.inner = 1, .size = space->index[role->k].size};
    all.length = all.size;
    f->reader = -1;
    f->tracing = m;
    f->stream = -1;
    f->met.n = 0;
    for (int i = 0; i < space->n_inputs; i++)
        if (i != role->weight && role_is_activation(&f->weights, op_inputs(f->graph, role->op)[i]))
            step_into(f, space, role->op, i, role->k, &all);
    walk(f);
}

static bool operand_is_float(const Finder *f, int32_t tensor)
{
    return dtype_is_float((Dtype)f->inferred->dtype[tensor]);
}

/* The only activation with as many elements as the op's output that it reads, if each output
 * element depends on one of its elements: a view, a scale, a bias; else -1. */
static int32_t read_alone(const Finder *f, int32_t op, int32_t made)
{
    const OpSpace *space = op < 0 || f->role_of[op] >= 0 ? NULL : inferred_space(f->inferred, op);
    const Shape *shape = inferred_shape(f->inferred, made);
    int32_t read = -1;
    if (!space || !shape || space->no_rule)
        return -1;
    for (int x = 0; x < space->n_index; x++)
        if (space->index[x].role != ROLE_MAP)
            return -1;
    for (int i = 0; i < space->n_inputs; i++) {
        int32_t input = op_inputs(f->graph, op)[i];
        const Shape *size = input < 0 ? NULL : inferred_shape(f->inferred, input);
        if (!size || size->n_dims < 2 || !operand_is_float(f, input))
            continue;
        if (read >= 0 || !role_is_activation(&f->weights, input))
            return -1; /* a sum of two values, or of a value and a table of positions */
        read = input;
    }
    const Shape *size = read < 0 ? NULL : inferred_shape(f->inferred, read);
    return size && shape_elements(size) == shape_elements(shape) ? read : -1;
}

/* Goes back over such ops to the sum or the lookup that makes the value. */
static int32_t before_views(const Finder *f, int32_t tensor)
{
    enum { STEPS_MAX = 16 };
    for (int step = 0; tensor >= 0 && step < STEPS_MAX; step++) {
        int32_t before = read_alone(f, f->graph->tensors[tensor].maker, tensor);
        if (before < 0)
            return tensor;
        tensor = before;
    }
    return tensor;
}

static void note_head(MatmulRole *role, const DigitPlace *place)
{
    if (place->head > 0 && (role->head == 0 || place->head < role->head))
        role->head = place->head;
}

static void decide_row(Finder *f, int m)
{
    MatmulRole *role = &f->roles.at[m];
    const OpSpace *space = program_space(f->inferred, role->op);
    if (role->role == WEIGHT_EMBEDDING)
        return;
    follow_rows(f, m);
    role->stream = before_views(f, f->stream);
    for (int i = 0; i < f->met.n; i++) {
        WeightRole source = f->roles.at[f->met.at[i].matmul].role;
        if (source == WEIGHT_ROW || source == WEIGHT_EMBEDDING)
            return;
    }
    if (f->met.n == 0)
        return;
    role->role = WEIGHT_ROW;
    role->units = 1;
    for (int i = 0; i < f->met.n; i++) {
        const Met *met = &f->met.at[i];
        f->roles.at[met->matmul].role = WEIGHT_COLUMN;
        vec_push_own(f->arena, &f->pieces[met->matmul], *met);
        if (met->place.size > role->units)
            role->units = met->place.size;
        note_head(role, &met->place);
    }
    int64_t rows = space->index[role->k].size;
    role->unit = rows % role->units == 0 ? rows / role->units : 1;
}

/* ---- how columns are sharded ---- */

static int by_offset(const void *a, const void *b)
{
    const DigitPlace *x = &((const Met *)a)->place, *y = &((const Met *)b)->place;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static bool same_piece(const DigitPlace *a, const DigitPlace *b)
{
    return a->offset == b->offset && a->length == b->length;
}

/* Joins parts that follow each other and together are all columns. unit: of each part, the number
 * of elements that stay together. */
static bool join_pieces(MatmulRole *role, const Met *met, int n, int64_t columns, int64_t *unit)
{
    int64_t end = 0;
    int first = 0; /* part of the piece */
    role->n_parts = 0;
    for (int i = 0; i < n; i++) {
        const DigitPlace *piece = &met[i].place;
        int64_t period = piece->inner * piece->size;
        bool again = i > 0 && same_piece(piece, &met[i - 1].place);
        note_head(role, piece);
        if (!again && (piece->offset != end || piece->length % period != 0 ||
                       piece->length / period > ROLE_PARTS_MAX - role->n_parts))
            return false;
        if (!again) {
            first = role->n_parts;
            end += piece->length;
        }
        for (int64_t at = piece->offset; !again && at < end; at += period) {
            unit[role->n_parts] = 1;
            role->part[role->n_parts++] = period;
        }
        for (int p = first; p < role->n_parts; p++)
            unit[p] = piece->inner > unit[p] ? piece->inner : unit[p];
    }
    return end == columns;
}

/* As many units as each part can be divided into; false if that is one. */
static bool count_units(MatmulRole *role, const int64_t *unit)
{
    role->units = 0;
    role->unit = unit[0];
    for (int p = 0; p < role->n_parts; p++) {
        if (role->part[p] % unit[p] != 0)
            return false;
        role->units = common_divisor(role->units, role->part[p] / unit[p]);
    }
    return role->units > 1;
}

static void shape_columns(Finder *f, int m)
{
    MatmulRole *role = &f->roles.at[m];
    int64_t columns = program_space(f->inferred, role->op)->index[role->n].size;
    if (role->role != WEIGHT_COLUMN)
        return;
    qsort(f->pieces[m].at, (size_t)f->pieces[m].n, sizeof(Met), by_offset);
    int64_t unit[ROLE_PARTS_MAX];
    role->shared = !join_pieces(role, f->pieces[m].at, f->pieces[m].n, columns, unit) ||
                   !count_units(role, unit);
}

/* ---- the vocabulary ---- */

/* Marks columns that become an output of the model unchanged. */
static void follow_outputs(Finder *f)
{
    for (int i = 0; i < f->graph->n_outputs; i++) {
        int32_t tensor = f->graph->outputs[i];
        const Shape *shape = inferred_shape(f->inferred, tensor);
        f->tracing = f->roles.n + i;
        f->met.n = 0;
        for (int d = 0; shape && d < shape->n_dims; d++)
            visit(f, (DigitPlace){tensor, d, 1, shape->dim[d], 0, shape->dim[d], 0});
        walk(f);
        for (int m = 0; m < f->met.n; m++) {
            const DigitPlace *digit = &f->met.at[m].place;
            f->roles.at[f->met.at[m].matmul].output |= digit->inner * digit->size == digit->length;
        }
    }
}

static int64_t size_of(const Finder *f, const MatmulRole *role, int index)
{
    return program_space(f->inferred, role->op)->index[index].size;
}

/* Whether the op is a lookup whose ids are computed from the inputs, in a table that its name does
 * not identify as positions. */
static bool is_vocabulary(const Finder *f, const MatmulRole *role)
{
    const OpSpace *space = program_space(f->inferred, role->op);
    int32_t table = op_inputs(f->graph, role->op)[role->weight];
    return space->index[role->k].size > 2 && !strstr(op_path(f->graph, role->op), "pos") &&
           !strstr(tensor_name(f->graph, table), "pos") &&
           !strstr(op_path(f->graph, role->op), "type");
}

/* Chooses the vocabulary: tables with as many rows as a head has columns; without a head the
 * largest table. */
static void decide_vocabulary(Finder *f)
{
    int64_t largest = 0;
    bool has_head = false;
    for (int h = 0; h < f->roles.n; h++) {
        MatmulRole *head = &f->roles.at[h];
        for (int i = 0; head->output && head->role == WEIGHT_WHOLE && i < f->roles.n; i++) {
            const MatmulRole *table = &f->roles.at[i];
            if (table->role != WEIGHT_EMBEDDING ||
                size_of(f, head, head->n) != size_of(f, table, table->k))
                continue;
            head->role = WEIGHT_HEAD;
            head->units = size_of(f, head, head->n);
        }
    }
    for (int i = 0; i < f->roles.n; i++) {
        const MatmulRole *role = &f->roles.at[i];
        int64_t size = role->role == WEIGHT_HEAD ? role->units
                       : role->role == WEIGHT_EMBEDDING && is_vocabulary(f, role)
                           ? size_of(f, role, role->k)
                           : 0;
        bool better = role->role == WEIGHT_HEAD ? !has_head : !has_head && size > largest;
        has_head |= role->role == WEIGHT_HEAD;
        largest = better ? size : largest;
    }
    for (int i = 0; i < f->roles.n; i++) {
        MatmulRole *role = &f->roles.at[i];
        if (role->role != WEIGHT_EMBEDDING)
            continue;
        role->units = size_of(f, role, role->k);
        if (role->units != largest || !is_vocabulary(f, role))
            role->role = WEIGHT_WHOLE;
    }
}

/* ---- all ---- */

static Finder new_finder(Arena *arena, const Inferred *inferred)
{
    const Graph *graph = inferred->graph;
    Finder f = {.arena = arena, .inferred = inferred, .graph = graph, .reader = -1, .stream = -1};
    int32_t n_slots = 0;
    f.weights = role_weights(arena, inferred);
    f.role_of = arena_array(arena, int32_t, graph->n_ops);
    f.slot = arena_array(arena, int32_t, graph->n_tensors);
    for (int32_t op = 0; op < graph->n_ops; op++)
        f.role_of[op] = -1;
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        const Shape *shape = inferred_sizes(inferred, t);
        f.slot[t] = n_slots;
        n_slots += shape ? (int32_t)shape->n_dims : 0;
    }
    f.whole = arena_array(arena, int32_t, n_slots + 1);
    f.seen = arena_array(arena, int32_t, n_slots + 1);
    for (int32_t s = 0; s < n_slots; s++)
        f.whole[s] = f.seen[s] = -1;
    return f;
}

/* Removes lookups that are not of the vocabulary. */
static MatmulRoles keep_roles(Arena *arena, const Finder *f)
{
    MatmulRoles roles = {.at = arena_array(arena, MatmulRole, f->roles.n)};
    for (int i = 0; i < f->roles.n; i++) {
        const MatmulRole *role = &f->roles.at[i];
        if (role->role == WEIGHT_WHOLE && !role_sums_activation(&f->weights, role))
            continue;
        roles.at[roles.n++] = *role;
    }
    return roles;
}

/* An op that computes with activations, of the forward pass where a file holds a whole step. */
static bool is_model(const Inferred *inferred, int32_t op)
{
    return !inferred->on_parameters[op] && op_phase(inferred->graph, op) == PHASE_FORWARD;
}

MatmulRoles roles_find(Arena *arena, const Inferred *inferred)
{
    Arena *scratch = arena_new();
    Finder f = new_finder(scratch, inferred);
    for (int i = 0; i < inferred->n_program; i++)
        if (is_model(inferred, inferred->program[i]))
            add_role(&f, inferred->program[i]);
    f.pieces = arena_array(scratch, Mets, f.roles.n + 1);
    for (int i = 0; i < inferred->n_program; i++)
        if (is_model(inferred, inferred->program[i]))
            follow_needs(&f, inferred->program[i]);
    for (int m = 0; m < f.roles.n; m++)
        decide_row(&f, m);
    for (int m = 0; m < f.roles.n; m++)
        shape_columns(&f, m);
    follow_outputs(&f);
    decide_vocabulary(&f);
    MatmulRoles roles = keep_roles(arena, &f);
    arena_free(scratch);
    return roles;
}
