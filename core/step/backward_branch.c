/* backward_branch.c - gradients through If.
 *
 *     If c:  t = f(x)            dy -> dt
 *     y = If(c, t, e)            If c:  gx = f'(x) dt
 *                                x~grad = If(c, gx, 0)
 *
 * Gradient ops of a branch are a branch on the same condition. What the op If has for the results
 * of its branches is its output's gradient itself. A tensor from outside of the branch has, after
 * it, the sum of its gradients there, or zeros.
 */
#include "core/step/deriving.h"

#include <assert.h>

bool branch_has(const GraphBody *body, const Graph *graph, int32_t tensor)
{
    int32_t maker = graph->tensors[tensor].maker;
    return maker >= body->first && maker < body->end;
}

static bool is_branch(const GraphBody *body)
{
    return body->kind == BODY_THEN || body->kind == BODY_ELSE;
}

/* Which branch is taken, where it is known before the run: its ops are ordinary ones. */
static bool is_decided(const Deriving *d, int32_t condition, bool *taken)
{
    int64_t value = 1;
    bool known = condition < 0 || value_one_int(inferred_value(d->model, condition), &value);
    *taken = value != 0;
    return known;
}

int branch_ending(const Deriving *d, int32_t first, int32_t end, int body)
{
    bool taken;
    for (int b = body + 1; b < d->graph->n_bodies; b++) {
        const GraphBody *at = &d->graph->bodies[b];
        if (is_branch(at) && at->end == end && at->first >= first && at->first < end &&
            !is_decided(d, at->of, &taken))
            return b;
    }
    return -1;
}

/* ---- after a branch ---- */

static int32_t join_space(Deriving *d, int32_t condition, int32_t tensor, bool then)
{
    Vec32 key = {0};
    int32_t shapes[2] = {d->model->shape[condition], d->model->shape[tensor]};
    Error err = {0};
    vec_push(d->scratch, &key, then ? -2 : -3);
    vec_push(d->scratch, &key, shapes[0]);
    vec_push(d->scratch, &key, shapes[1]);
    int32_t known = extension_space(d->more, &key);
    if (known >= 0)
        return known;
    OpSpace *space = derive_pointwise(d, inferred_shape(d->model, tensor), 1, 2);
    Operand *read = &space->operand[0];
    read->shape = *program_shape(d->model, condition);
    read->projection.n_dims = (uint8_t)read->shape.n_dims;
    for (int64_t k = 0; k < read->shape.n_dims; k++)
        row_one(&read->projection.row[k]);
    space->operand[then ? 1 : 2].linear = LINEAR_ALONE;
    space->operand[then ? 2 : 1].absent = true;
    space->kernel = "If";
    bool fits = opspace_finish(space, &err);
    assert(fits);
    (void)fits;
    return extension_add_space(d->more, space);
}

/* The gradient where the branch is taken, else zeros. */
static int32_t join(Deriving *d, int32_t condition, bool then, int32_t tensor, int32_t gradient,
                    int32_t of)
{
    if (!derive_knows_shape(d, tensor))
        return gradient;
    int32_t stem = d->graph->tensors[tensor].name;
    int32_t name = extension_name(d->more, stem, then ? "~then" : "~else");
    int32_t inputs[3] = {condition, then ? gradient : -1, then ? -1 : gradient};
    int32_t space = join_space(d, condition, tensor, then);
    int32_t joined = derive_tensor(d, name, tensor, true);
    derive_op_of(d, of,
                 (NewStepOp){.op_type = extension_word(d->more, "If"),
                             .name = name,
                             .inputs = inputs,
                             .n_inputs = 3,
                             .outputs = &joined,
                             .n_outputs = 1,
                             .space = space,
                             .phase = PHASE_BACKWARD});
    return joined;
}

/* ---- a branch ---- */

/* Sums the addends of each tensor from outside: they become one each. */
static void sum_outside(Deriving *d, BranchScope *scope)
{
    int n = 0;
    for (int i = 0; i < scope->outside.n; i++) {
        int32_t tensor = scope->outside.at[i];
        Vec32 parts = {0};
        bool first = true;
        for (int k = 0; k < n; k++)
            first &= scope->outside.at[k] != tensor;
        if (!first)
            continue;
        for (int k = i; k < scope->outside.n; k++)
            if (scope->outside.at[k] == tensor)
                vec_push(d->scratch, &parts, scope->addends.at[k].tensor);
        Addend sum = scope->addends.at[i];
        if (parts.n > 1)
            sum.tensor = derive_sum(d, tensor, "~grad", &parts, sum.of);
        /* n <= i: what is still to be looked at stays in its place */
        scope->outside.at[n] = tensor;
        scope->addends.at[n++] = sum;
    }
    scope->outside.n = scope->addends.n = n;
}

bool branch_derive(Deriving *d, int b)
{
    const GraphBody *body = &d->graph->bodies[b];
    BranchScope scope = {.body = body, .around = d->branch};
    int n_before = d->more->space.n;
    GraphBody made = {.first = n_before, .of = body->of, .kind = body->kind};
    d->branch = &scope;
    bool ok = derive_range(d, body->first, body->end, b);
    if (ok)
        sum_outside(d, &scope);
    d->branch = scope.around;
    if (d->more->space.n > n_before)
        graph_add_body(d->more->builder, made, NULL);
    for (int i = 0; ok && i < scope.outside.n; i++) {
        int32_t tensor = scope.outside.at[i], of = scope.addends.at[i].of;
        derive_addend(
            d, tensor,
            join(d, body->of, body->kind == BODY_THEN, tensor, scope.addends.at[i].tensor, of), of);
    }
    return ok;
}

/* ---- If ---- */

/* Whether the tensor is made in a branch of that condition, so that it has no other value. */
static bool is_of_branch(const Deriving *d, int32_t tensor, int32_t condition, bool then)
{
    for (int b = 0; b < d->graph->n_bodies; b++) {
        const GraphBody *body = &d->graph->bodies[b];
        if (body->kind == (then ? BODY_THEN : BODY_ELSE) && body->of == condition &&
            branch_has(body, d->graph, tensor))
            return true;
    }
    return false;
}

void branch_addend(Deriving *d, int32_t op, int operand)
{
    const int32_t *inputs = op_inputs(d->graph, op);
    int32_t gradient = d->gradient[op_outputs(d->graph, op)[0]];
    bool taken, then = operand == 1;
    if (gradient < 0)
        return;
    if (is_decided(d, inputs[0], &taken)) {
        if (taken == then)
            derive_addend(d, inputs[operand], gradient, op);
    } else if (is_of_branch(d, inputs[operand], inputs[0], then)) {
        derive_addend(d, inputs[operand], gradient, op);
    } else {
        derive_addend(d, inputs[operand], join(d, inputs[0], then, inputs[operand], gradient, op),
                      op);
    }
}
