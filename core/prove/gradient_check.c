#include "core/prove/gradient_check.h"

#include "core/prove/rule_check.h"
#include "core/prove/whole_run.h"
#include "core/rules/derivative.h"
#include "core/run/draw.h"
#include "core/step/backward.h"

#include <math.h>

/* Half the distance of a central difference; what it may be off, by the largest gradient. */
static const double STEP = 1e-5, OFF_BY = 2e-5, OFF = 1e-6;

typedef struct {
    Arena *arena;
    const Inferred *inferred;
    const Kernel *kernel;
    uint64_t seed;
    Backward backward;
    Local **value;              /* per tensor of the graph with gradient ops */
    Vec(int32_t) given, wanted; /* outputs with a gradient, inputs that are differentiated */
    GradientKernel *kernel_for;
    GradientProof *out;
    Buf wrong;
} GradientCheck;

static bool is_differentiated(const GradientCheck *check, int32_t t)
{
    return t >= 0 && check->inferred->dtype[t] == DT_F64 && inferred_shape(check->inferred, t);
}

/* ---- the forward op ---- */

static bool run_op(GradientCheck *check, const Inferred *inferred, int32_t op, const Kernel *kernel,
                   Error *err)
{
    return whole_run_op(inferred, op, kernel, check->seed, check->value, err);
}

static bool all_finite(const Local *local)
{
    double x;
    for (int64_t i = 0; i < shape_elements(&local->shape); i++) {
        local_load(local, i, 1, 1, NUMBER_F64, &x);
        if (!isfinite(x))
            return false;
    }
    return true;
}

static bool outputs_are_finite(const GradientCheck *check)
{
    for (int i = 0; i < check->given.n; i++)
        if (!all_finite(check->value[check->given.at[i]]))
            return false;
    return true;
}

/* Moves numbers between -2 and 2 into a range. */
static void move_into(Local *local, double low, double high)
{
    double x;
    for (int64_t i = 0; i < shape_elements(&local->shape); i++) {
        local_load(local, i, 1, 1, NUMBER_F64, &x);
        x = low + (x + 2) / 4 * (high - low);
        local_store(local, i, 1, NUMBER_F64, &x);
    }
}

/* Draws inputs and runs the op on them: from -2 to 2, else where functions with a smaller domain
 * are defined. */
static bool draw(GradientCheck *check, Error *err)
{
    static const double ranges[][2] = {{-2, 2}, {-0.9, 0.9}, {0.1, 0.9}, {1.1, 3}};
    const Graph *graph = check->inferred->graph;
    Simulated drawn;
    int n = graph->n_tensors;
    bool ok = simulated_open(check->arena, check->inferred, 0, inferred_space(check->inferred, 0),
                             check->seed, NULL, &drawn, err);
    for (int t = 0; ok && t < n; t++)
        check->value[t] = drawn.value[t] ? local_copy(drawn.value[t]) : NULL;
    Local **first = drawn.value;
    for (size_t r = 1; ok && r < sizeof ranges / sizeof *ranges && !outputs_are_finite(check);
         r++) {
        for (int i = 0; i < graph->ops[0].n_inputs; i++) {
            int32_t t = op_inputs(graph, 0)[i];
            if (t < 0 || !first[t] || !dtype_is_float(first[t]->dtype))
                continue;
            local_free(check->value[t]);
            check->value[t] = local_copy(first[t]);
            move_into(check->value[t], ranges[r][0], ranges[r][1]);
        }
        ok = run_op(check, check->inferred, 0, check->kernel, err);
    }
    simulated_close(&drawn);
    return ok && (outputs_are_finite(check) ||
                  error_kind(err, ERROR_UNSUPPORTED, "its outputs are not finite"));
}

/* The sum of outputs times their gradients. */
static bool loss(GradientCheck *check, double *out, Error *err)
{
    *out = 0;
    if (!run_op(check, check->inferred, 0, check->kernel, err))
        return false;
    const Graph *graph = check->backward.graph;
    int first = graph->n_inputs - check->given.n;
    for (int i = 0; i < check->given.n; i++) {
        const Local *y = check->value[check->given.at[i]],
                    *dy = check->value[graph->inputs[first + i]];
        const double *ys = local_doubles(check->arena, y), *ds = local_doubles(check->arena, dy);
        for (int64_t k = 0; k < shape_elements(&y->shape); k++)
            *out += ys[k] * ds[k];
    }
    return true;
}

/* ---- gradients by differences ---- */

static double element(const Local *local, int64_t i)
{
    double x = 0;
    if (local)
        local_load(local, i, 1, 1, NUMBER_F64, &x);
    return x;
}

/* The difference by element i between `from` and `to` steps beside its value. */
static bool difference(GradientCheck *check, Local *x, int64_t i, int from, int to, double *out,
                       Error *err)
{
    double was = element(x, i), side[2] = {0};
    for (int k = 0; k < 2; k++) {
        double at = was + (k ? to : from) * STEP;
        local_store(x, i, 1, NUMBER_F64, &at);
        if (!loss(check, &side[k], err))
            return false;
    }
    local_store(x, i, 1, NUMBER_F64, &was);
    *out = (side[1] - side[0]) / ((to - from) * STEP);
    return true;
}

/* There is a kink within a step, and the gradient is that of the side that the value is on. */
static bool is_one_sided(GradientCheck *check, Local *x, int64_t i, double got, double most,
                         Error *err)
{
    for (int from = -1; from <= 0; from++) {
        double slope;
        if (!difference(check, x, i, from, from + 1, &slope, err))
            return false;
        if (fabs(got - slope) <= OFF_BY * most + OFF)
            return true;
    }
    return false;
}

/* An input that gets no gradient has to have differences of 0. */
static bool compare_input(GradientCheck *check, int32_t t, Error *err)
{
    Local *x = check->value[t];
    int32_t made = check->backward.gradient[t];
    const Local *gradient = made < 0 ? NULL : check->value[made];
    int64_t n = shape_elements(&x->shape);
    double *want = arena_array(check->arena, double, n), most = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!difference(check, x, i, -1, 1, &want[i], err))
            return false;
        most = fmax(most, fabs(want[i]));
    }
    check->out->n_gradients++;
    for (int64_t i = 0; i < n; i++) {
        double got = element(gradient, i);
        check->out->n_elements++;
        if (fabs(got - want[i]) <= OFF_BY * most + OFF || is_one_sided(check, x, i, got, most, err))
            continue;
        check->out->proof.ok = false;
        buf_printf(&check->wrong, "the gradient of '%s' is %g at element %d, by differences %g",
                   tensor_name(check->inferred->graph, t), got, (int)i, want[i]);
        return true;
    }
    return true;
}

static bool compare_differences(GradientCheck *check, Error *err)
{
    for (int i = 0; check->out->proof.ok && i < check->wanted.n; i++)
        if (!compare_input(check, check->wanted.at[i], err))
            return false;
    double unused; /* results of the inputs as they were */
    return loss(check, &unused, err);
}

/* ---- gradient ops ---- */

static bool derive(GradientCheck *check, Error *err)
{
    BackwardRequest request = {.given = check->given.at,
                               .n_given = check->given.n,
                               .wanted = check->wanted.at,
                               .n_wanted = check->wanted.n};
    if (!backward_derive(check->arena, check->inferred, &request, &check->backward, err))
        return false;
    const Graph *graph = check->backward.graph;
    Local **value = arena_array(check->arena, Local *, graph->n_tensors);
    memcpy(value, check->value, (size_t)check->inferred->graph->n_tensors * sizeof *value);
    check->value = value;
    for (int i = 0; i < check->given.n; i++) {
        int32_t t = graph->inputs[graph->n_inputs - check->given.n + i];
        value[t] = local_new_whole(DT_F64, inferred_shape(check->backward.inferred, t));
        for (int64_t k = 0; k < shape_elements(&value[t]->shape); k++) {
            double d = draw_uniform(draw_key(check->seed, STR("gradient")) + (uint64_t)i, k);
            local_store(value[t], k, 1, NUMBER_F64, &d);
        }
    }
    return true;
}

/* Constants of gradients that a user's function builds. */
static bool fill_constants(const GradientCheck *check, Error *err)
{
    const Inferred *inferred = check->backward.inferred;
    int n = inferred->graph->n_tensors;
    bool *known = arena_array(check->arena, bool, n);
    for (int32_t t = check->inferred->graph->n_tensors; t < n; t++) {
        const Value *value = inferred_value(inferred, t);
        known[t] = value && !value_is_deferred(value) && inferred_shape(inferred, t);
        if (known[t])
            check->value[t] =
                local_new_whole((Dtype)inferred->dtype[t], inferred_shape(inferred, t));
    }
    return simulated_fill(check->arena, inferred, known, check->seed, check->value, err);
}

static const Kernel *kernel_of(const GradientCheck *check, int32_t op)
{
    return kernel_find(program_space(check->backward.inferred, op),
                       op_operator(check->backward.graph, op));
}

static bool run_gradients(GradientCheck *check, Error *err)
{
    const Graph *graph = check->backward.graph;
    for (int32_t op = check->inferred->graph->n_ops; op < graph->n_ops; op++) {
        if (inferred_is_host(check->backward.inferred, op))
            continue;
        const Kernel *kernel = kernel_of(check, op);
        if (!kernel)
            return error_kind(err, ERROR_UNSUPPORTED, "%s has no kernel", op_operator(graph, op));
        if (!run_op(check, check->backward.inferred, op, kernel, err))
            return false;
    }
    return true;
}

static bool try_cuts(GradientCheck *check, Error *err)
{
    const Graph *graph = check->backward.graph;
    for (int32_t op = check->inferred->graph->n_ops; check->out->proof.ok && op < graph->n_ops;
         op++) {
        if (inferred_is_host(check->backward.inferred, op))
            continue;
        RuleProof proof;
        OpSpace space = *program_space(check->backward.inferred, op);
        if (check->kernel_for)
            space.own = check->kernel_for(check->arena, kernel_of(check, op));
        if (!rule_check_values(check->arena, check->backward.inferred, op, &space, check->seed,
                               check->value, &proof, err))
            return false;
        check->out->proof.n_cuts += proof.n_cuts;
        check->out->proof.ok = proof.ok;
        if (!proof.ok)
            buf_printf(&check->wrong, "%s: %s", op_name(graph, op), proof.text);
    }
    return true;
}

/* ---- all of it ---- */

static bool open_check(GradientCheck *check, const Graph *graph, const Registry *registry,
                       Error *err)
{
    const GraphOp *at = &graph->ops[0];
    check->inferred = rule_check_infer(check->arena, graph, registry, check->seed, err);
    const OpSpace *space = check->inferred ? inferred_space(check->inferred, 0) : NULL;
    check->kernel = space ? kernel_find(space, op_operator(graph, 0)) : NULL;
    if (!check->kernel)
        return check->inferred
                   ? error_kind(err, ERROR_UNSUPPORTED, "%s has no kernel", op_operator(graph, 0))
                   : false;
    const Operator *row = registry_find(registry, str_from(op_operator(graph, 0)));
    const Derivative *derivative = derivative_find(registry, row, space);
    for (int i = 0; i < at->n_inputs; i++) {
        int32_t t = op_inputs(graph, 0)[i];
        const DerivativeClause *clause = derivative ? derivative_clause(derivative, i) : NULL;
        if (is_differentiated(check, t) && !inferred_value(check->inferred, t) &&
            !(clause && clause->refused))
            vec_push(check->arena, &check->wanted, t);
    }
    for (int o = 0; o < at->n_outputs; o++)
        if (is_differentiated(check, op_outputs(graph, 0)[o]))
            vec_push(check->arena, &check->given, op_outputs(graph, 0)[o]);
    check->out->nothing = check->wanted.n == 0 || check->given.n == 0;
    return !check->out->nothing ||
           error_kind(err, ERROR_UNSUPPORTED,
                      "%s has no input of f64 to differentiate and output of f64",
                      op_operator(graph, 0));
}

bool gradient_check_runs_alone(const char *op_type)
{
    return rule_check_runs_alone(op_type) && strcmp(op_type, "SumExp") != 0 &&
           strcmp(op_type, "TokenLoss") != 0;
}

bool gradient_check(Arena *arena, const Graph *graph, const Registry *registry, uint64_t seed,
                    GradientKernel *kernel_for, GradientProof *out, Error *err)
{
    GradientCheck check = {.arena = arena,
                           .seed = seed,
                           .kernel_for = kernel_for,
                           .out = out,
                           .wrong = buf_new(arena)};
    *out = (GradientProof){.proof = {.ok = true, .text = ""}};
    check.value = arena_array(arena, Local *, graph->n_tensors);
    bool ok = open_check(&check, graph, registry, err) && draw(&check, err) &&
              derive(&check, err) && fill_constants(&check, err) && run_gradients(&check, err) &&
              compare_differences(&check, err) && (!out->proof.ok || try_cuts(&check, err));
    int n = check.backward.graph ? check.backward.graph->n_tensors : graph->n_tensors;
    for (int t = 0; t < n; t++)
        local_free(check.value[t]);
    if (check.wrong.n > 0)
        out->proof.text = check.wrong.s;
    return ok;
}
