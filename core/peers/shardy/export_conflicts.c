#include "core/peers/shardy/choose.h"
#include "core/peers/shardy/export.h"

/* An op whose tensors disagree. */
typedef struct {
    Arena *scratch;
    const FactorRule *rule;
    FactorProjection *projection;
    const TensorSharding **sharding; /* operands, then the result */
    double *size;                    /* in elements */
    int n;
} Conflict;

static TensorSharding result_now(const Conflict *c)
{
    TensorSharding now = factor_unproject(c->projection, c->n - 1, c->sharding[c->n - 1]);
    for (int d = 0; d < now.n_dims; d++)
        now.dim[d].open = false;
    return now;
}

/* The result of a concatenate whose tensors disagree gets the axes of choose_axes(). */
static bool resolve_concatenate(Conflict *c, TensorSharding *out)
{
    bool differ = false, changed = false;
    for (int t = 0; t < c->n - 1; t++)
        differ |= !tensor_sharding_equal(c->sharding[t], c->sharding[c->n - 1]);
    if (!differ)
        return false;
    AxisList *by_factor = arena_array(c->scratch, AxisList, c->rule->n_factors);
    choose_axes(c->scratch, c->projection, c->size, by_factor);
    for (int f = 0; f < c->rule->n_factors; f++) {
        FactorAxes *own = &c->projection->tensor[c->n - 1].factor[f];
        if (!own->here)
            continue;
        changed |= !axis_list_equal(&own->axes, &by_factor[f]) || own->overflow.n > 0;
        own->axes = by_factor[f];
        own->overflow.n = 0;
    }
    *out = result_now(c);
    return changed;
}

/* Axes of the summed factors, and the factor on which the result differs. */
typedef struct {
    AxisList summed, others; /* others: of factors of one operand alone */
    int factor;              /* -1: none */
    const AxisList *wanted;
} DotConflict;

static bool add_all(AxisList *list, const AxisList *more)
{
    for (int i = 0; i < more->n && list->n < AXIS_REFS_MAX; i++)
        axis_list_add(list, more->at[i]);
    return true;
}

/* Axes of a factor of one operand alone must not shard a factor of the other alone. */
static bool add_disjoint(AxisList *list, const AxisList *more)
{
    for (int i = 0; i < more->n; i++)
        for (int k = 0; k < list->n; k++)
            if (axis_refs_overlap(&list->at[k], &more->at[i]))
                return false;
    return add_all(list, more);
}

static bool compare_factor(const Conflict *c, int f, DotConflict *dot)
{
    const FactorAxes *lhs = &c->projection->tensor[0].factor[f];
    const FactorAxes *rhs = &c->projection->tensor[1].factor[f];
    const FactorAxes *result = &c->projection->tensor[2].factor[f];
    const FactorAxes *own = lhs->here ? lhs : rhs;
    double size = c->size[lhs->here ? 0 : 1];
    if (lhs->here && rhs->here) {
        if (!axis_list_equal(&lhs->axes, &rhs->axes))
            return false;
        if (c->rule->factor[f].type == FACTOR_REDUCTION)
            return add_all(&dot->summed, &own->axes);
        size = c->size[1] > size ? c->size[1] : size;
    } else if (!add_disjoint(&dot->others, &own->axes)) {
        return false;
    }
    if (axis_list_equal(&result->axes, &own->axes))
        return true;
    if (own->axes.n == 0 || dot->factor >= 0 || c->size[2] > size)
        return false;
    dot->factor = f;
    dot->wanted = &own->axes;
    return true;
}

/* A dot whose operands agree, and whose result has the summed axes on a dim that an operand shards
 * by other axes: the result gets the operand's axes, and is resharded. */
static bool resolve_dot(Conflict *c, TensorSharding *out)
{
    DotConflict dot = {.factor = -1};
    for (int f = 0; f < c->rule->n_factors; f++)
        if (!compare_factor(c, f, &dot))
            return false;
    if (dot.factor < 0)
        return false;
    FactorAxes *own = &c->projection->tensor[2].factor[dot.factor];
    if (own->axes.n == 0 || !axis_list_equal(&own->axes, &dot.summed))
        return false;
    own->axes = *dot.wanted;
    *out = result_now(c);
    return true;
}

static bool resolve(ShardyFlow *flow, const ImportedGraph *imported, const ShardyProgram *program,
                    const ShardyOp *op, const FactorOp *of, TensorSharding *out)
{
    bool dot = str_has_word(STR("stablehlo.dot stablehlo.dot_general"), str_from(of->op));
    if (op->rule->custom || op->n_outputs != 1 ||
        (!dot && !str_eq(str_from(of->op), STR("stablehlo.concatenate"))))
        return false;
    Conflict c = {.scratch = arena_new(), .rule = op->rule, .n = op->n_inputs + 1};
    c.sharding = arena_array(c.scratch, const TensorSharding *, c.n);
    c.size = arena_array(c.scratch, double, c.n);
    int mesh = MESH_NONE;
    for (int t = 0; t < c.n; t++) {
        c.sharding[t] = shardy_at(flow, program->state[op->tensor[t]]);
        c.size[t] = (double)shape_elements(&imported->graph->values.at[op->tensor[t]].shape);
        mesh = mesh == MESH_NONE ? c.sharding[t]->mesh : mesh;
    }
    bool resolved = false;
    if (mesh != MESH_NONE && (!dot || c.n == 3)) {
        c.projection = factor_project(c.scratch, op->rule, program->meshes->at[mesh], c.sharding);
        resolved = dot ? resolve_dot(&c, out) : resolve_concatenate(&c, out);
        out->mesh = mesh;
    }
    arena_free(c.scratch);
    return resolved;
}

void export_conflicts(ShardyFlow *flow, const ImportedGraph *imported, ShardyProgram *program,
                      const int *op_of)
{
    int32_t *made = arena_array(imported->arena, int32_t, program->n_tensors);
    for (int t = 0; t < program->n_tensors; t++)
        made[t] = program->state[t];
    for (int i = 0; i < program->n_ops; i++) {
        const ShardyOp *op = &program->op[i];
        TensorSharding now;
        if (resolve(flow, imported, program, op, &imported->graph->ops.at[op_of[i]], &now))
            made[op->tensor[op->n_inputs]] = shardy_put(flow, &now);
    }
    program->state = made;
}
