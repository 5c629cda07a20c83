#include "core/peers/paddle/spmd_check.h"

enum { MAPPINGS_MAX = 1000 };

typedef struct {
    Arena *arena;
    const SpmdClaim *claim;
    LayoutCheck layouts;
    SpmdCall asked;
    SpmdTensor *given; /* inputs, then outputs */
    int n_inputs, n_outputs;
    int n_asked; /* outputs that a backward rule is asked about: the first ones */
    int n_answers;
    Error refusal; /* the first */
} SpmdCheck;

/* ---- the mappings to try ---- */

static const ReduceOp partials[] = {REDUCE_SUM, REDUCE_AVG, REDUCE_MAX};
enum { N_PARTIALS = sizeof partials / sizeof *partials };

/* Choices per operand and axis: replicated, one of the dims that can be split, partial (inputs). */
static int n_choices(const SpmdTensor *tensor, bool partial)
{
    int n = 1 + (partial ? N_PARTIALS : 0);
    for (int d = 0; d < tensor->n_dims; d++)
        n += tensor->shape.dim[d] > 1;
    return tensor->absent ? 1 : n;
}

static void choose(SpmdTensor *tensor, int axis, int choice)
{
    for (int d = 0; d < tensor->n_dims; d++) {
        choice -= tensor->shape.dim[d] > 1;
        if (choice == 0 && tensor->shape.dim[d] > 1) {
            spmd_axes_push(&tensor->dim[d], axis);
            return;
        }
    }
    if (choice > 0)
        tensor->partial[axis] = (uint8_t)partials[choice - 1];
}

/* The operands with given mappings: inputs, or outputs if backward. */
static SpmdTensor *given_operands(const SpmdCheck *check, int *n)
{
    *n = check->asked.backward ? check->n_asked : check->n_inputs;
    return check->asked.backward ? check->given + check->n_inputs : check->given;
}

/* True if partial over all its axes with the same reduction. */
static bool has_one_reduction(const SpmdTensor *tensor)
{
    uint8_t reduce = REDUCE_NONE;
    for (int axis = 0; axis < MESH_AXES_MAX; axis++) {
        if (reduce != REDUCE_NONE && tensor->partial[axis] != REDUCE_NONE &&
            tensor->partial[axis] != reduce)
            return false;
        reduce = reduce == REDUCE_NONE ? tensor->partial[axis] : reduce;
    }
    return true;
}

/* False for mappings the rule does not support: lists for a rule without SPMD_LISTS, mixed
 * reductions. */
static bool is_supported(const SpmdCheck *check)
{
    bool lists = check->claim->rule->flags & SPMD_LISTS;
    int n;
    const SpmdTensor *tensor = given_operands(check, &n);
    for (int i = 0; i < n; i++) {
        if (!has_one_reduction(&tensor[i]))
            return false;
        for (int d = 0; d < tensor[i].n_dims; d++)
            if (tensor[i].dim[d].n > 1 && !lists)
                return false;
    }
    return true;
}

static int64_t count_mappings(const SpmdCheck *check)
{
    int64_t product = 1;
    int n;
    const SpmdTensor *tensor = given_operands(check, &n);
    for (int i = 0; i < n; i++)
        for (int axis = 0; axis < check->asked.mesh->n_axes; axis++)
            if (__builtin_mul_overflow(product, n_choices(&tensor[i], !check->asked.backward),
                                       &product))
                return INT64_MAX;
    return product;
}

static void set_mappings(SpmdCheck *check, int64_t mapping_id)
{
    int n;
    SpmdTensor *tensor = given_operands(check, &n);
    for (int i = 0; i < check->n_inputs + check->n_outputs; i++)
        spmd_replicate(&check->given[i]);
    for (int i = 0; i < n; i++)
        for (int axis = 0; axis < check->asked.mesh->n_axes; axis++) {
            int choices = n_choices(&tensor[i], !check->asked.backward);
            if (mapping_id % choices > 0)
                choose(&tensor[i], axis, (int)(mapping_id % choices));
            mapping_id /= choices;
        }
}

/* ---- answers ---- */

/* True if the mapping fits the shape, perhaps without dims of size 1; dim[d] is the tensor dim of
 * entry d. */
static bool match_dims(const SpmdTensor *tensor, const Shape *shape, int *dim)
{
    int entry = 0;
    for (int d = 0; d < shape->n_dims; d++) {
        int left = tensor->n_dims - entry;
        if (left == shape->n_dims - d || (left > 0 && shape->dim[d] != 1))
            dim[entry++] = d;
        else if (shape->dim[d] != 1)
            return false;
    }
    return entry == tensor->n_dims;
}

/* Returns false with the reason in *wrong if the mapping does not fit the shape. */
static bool to_sharding(const SpmdTensor *tensor, const Mesh *mesh, Sharding *out,
                        const Shape *shape, const char **wrong)
{
    int dim[SPMD_DIMS_MAX];
    unsigned used = 0;
    *wrong = "a mapping and its tensor differ in number of dims";
    if (tensor->n_dims > SPMD_DIMS_MAX || !match_dims(tensor, shape, dim))
        return false;
    for (int axis = 0; axis < mesh->n_axes; axis++)
        if (tensor->partial[axis] != REDUCE_NONE) {
            used |= 1U << axis;
            memset(out->partial + mesh->axes[axis].atom, tensor->partial[axis],
                   (size_t)mesh->axes[axis].n_atoms);
        }
    for (int d = 0; d < tensor->n_dims; d++) {
        const SpmdAxes *axes = &tensor->dim[d];
        uint8_t atom[ATOMS_MAX];
        int n = 0;
        for (int i = 0; i < axes->n; i++) {
            const MeshAxis *at = &mesh->axes[axes->axis[i]];
            *wrong = "an axis is used twice by a tensor";
            if (used & 1U << axes->axis[i])
                return false;
            used |= 1U << axes->axis[i];
            for (int a = 0; a < at->n_atoms; a++)
                atom[n++] = (uint8_t)(at->atom + a);
        }
        if (n > 0)
            out->dim[dim[d]] = cut_by(shape->dim[dim[d]], atom, n, mesh);
    }
    return true;
}

/* True if a needed input is split or partial over the axis. */
static bool inputs_use(const SpmdCall *asked, int axis)
{
    for (int i = 0; i < asked->need.n; i++)
        if (spmd_uses_axis(asked->need.at[i], axis) || asked->need.at[i]->partial[axis])
            return true;
    return false;
}

/* The output before the ranks slice it. */
static SpmdTensor before_slices(const SpmdCall *asked, const SpmdTensor *out)
{
    SpmdTensor made = *out;
    for (int d = 0; d < made.n_dims; d++) {
        SpmdAxes *axes = &made.dim[d];
        while (axes->n > 0 && !inputs_use(asked, axes->axis[axes->n - 1]))
            axes->n--;
    }
    return made;
}

static bool answer_shardings(SpmdCheck *check, const char **wrong)
{
    const SpmdCall *asked = &check->asked;
    LayoutCheck *layouts = &check->layouts;
    layout_check_begin(layouts, asked->mesh);
    for (int i = 0; i < asked->need.n && i < check->n_inputs; i++) {
        Sharding *input = layout_check_input(layouts, i);
        Shape shape = layout_check_input_shape(layouts, i);
        if (input && !to_sharding(asked->need.at[i], asked->mesh, input, &shape, wrong))
            return false;
    }
    for (int o = 0; o < asked->out.n && o < check->n_outputs; o++) {
        Sharding *output = layout_check_output(layouts, o);
        Shape shape = layout_check_output_shape(layouts, o);
        SpmdTensor made =
            asked->backward ? before_slices(asked, asked->out.at[o]) : *asked->out.at[o];
        if (output && !made.absent && !to_sharding(&made, asked->mesh, output, &shape, wrong))
            return false;
    }
    return true;
}

static void list_tensors(const SpmdCall *asked, SpmdTensor *const *tensor, int n, Buf *out)
{
    for (int i = 0; i < n; i++)
        buf_printf(out, "%s%s", i ? ", " : "", spmd_show(asked, tensor[i]));
}

static void blame(SpmdCheck *check)
{
    const SpmdCall *asked = &check->asked;
    Buf claim = buf_new(check->arena);
    list_tensors(asked, asked->need.at, asked->need.n, &claim);
    buf_puts(&claim, " -> ");
    list_tensors(asked, asked->out.at, asked->out.n, &claim);
    layout_check_blame(&check->layouts,
                       asked->backward             ? "backward"
                       : asked->mode == SPMD_EAGER ? "eager"
                                                   : "",
                       claim.s);
}

/* Returns false if the answer is wrong. */
static bool try_mapping(SpmdCheck *check, int64_t mapping_id)
{
    Error refusal = {0};
    const char *wrong;
    set_mappings(check, mapping_id);
    if (!is_supported(check))
        return true;
    check->asked.need.n = check->asked.out.n = 0;
    check->asked.input = check->given;
    check->asked.output = check->given + check->n_inputs;
    check->asked.n_inputs = check->n_inputs;
    check->asked.n_outputs = check->asked.backward ? check->n_asked : 0;
    if (!spmd_apply(check->claim->rule, &check->asked, &refusal)) {
        if (check->refusal.text[0] == '\0')
            check->refusal = refusal;
        return true;
    }
    check->n_answers++;
    if (answer_shardings(check, &wrong)) {
        if (layout_check_try(&check->layouts))
            return true;
    } else {
        check->layouts.proof->text = wrong;
    }
    blame(check);
    return false;
}

/* ---- all of it ---- */

static bool try_all(SpmdCheck *check)
{
    static const char *const meshes[] = {"x=2", "x=3", "x=2,y=2", "x=2,y=3"};
    for (size_t m = 0; m < sizeof meshes / sizeof *meshes; m++) {
        Source source = {"mesh", str_from(meshes[m])};
        check->asked.mesh = mesh_parse(check->arena, &source, NULL);
        int64_t n = count_mappings(check), some = n < MAPPINGS_MAX ? n : MAPPINGS_MAX;
        for (int64_t q = 0; q < some; q++)
            if (!try_mapping(check,
                             some == n ? q : (int64_t)((uint64_t)q * 2654435761U % (uint64_t)n)))
                return false;
    }
    return true;
}

static bool try_forms(SpmdCheck *check)
{
    const SpmdRule *rule = check->claim->rule;
    bool forward = check->claim->forward;
    if (forward && rule->forward && !try_all(check))
        return false;
    check->asked.mode = SPMD_EAGER;
    if (forward && rule->eager && !try_all(check))
        return false;
    check->asked.mode = SPMD_STATIC;
    check->asked.backward = true;
    check->n_asked = check->n_outputs < rule->outputs.max ? check->n_outputs : rule->outputs.max;
    return !check->claim->backward || !rule->backward || rule->flags & SPMD_GRADIENT ||
           try_all(check);
}

static SpmdTensor tensor_of(Shape shape)
{
    return (SpmdTensor){.absent = shape.n_dims < 0,
                        .n_dims = shape.n_dims < 0 ? 0 : (int)shape.n_dims,
                        .shape = shape.n_dims < 0 ? (Shape){0} : shape};
}

static void set_up(SpmdCheck *check, const SystemCall *call)
{
    check->n_inputs = call->n_inputs;
    check->n_outputs = call->n_outputs;
    check->given = arena_array(check->arena, SpmdTensor, call->n_inputs + call->n_outputs);
    for (int i = 0; i < call->n_inputs; i++)
        check->given[i] = tensor_of(layout_check_input_shape(&check->layouts, i));
    for (int o = 0; o < call->n_outputs; o++)
        check->given[call->n_inputs + o] = tensor_of(layout_check_output_shape(&check->layouts, o));
    check->asked = (SpmdCall){.arena = check->arena,
                              .graph = call->theirs,
                              .name = call->name,
                              .exact = check->claim->exact};
}

bool spmd_check(Arena *arena, const Registry *registry, const SpmdClaim *claim,
                const SystemCall *call, RuleProof *out, Error *err)
{
    SpmdCheck check = {.arena = arena, .claim = claim};
    bool ok = layout_check_open(arena, registry, call, out, &check.layouts, err);
    if (ok) {
        set_up(&check, call);
        (void)try_forms(&check);
        ok = check.n_answers > 0 || layout_check_refused(&check.layouts, &check.refusal, err);
    }
    layout_check_close(&check.layouts);
    return ok;
}
