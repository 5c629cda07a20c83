/* The training step as a graph: which gradient ops follow the model's ops, and what trains. */
#include "tests/unit/step_opened.h"

#include "core/step/step.h"

#include <stdio.h>

/* ---- the graph ---- */

typedef struct {
    const char *title, *body, *train;
    const char *want; /* a line an op behind the model's: PHASE OPERATOR of OP: INPUTS -> OUTPUTS */
} GraphRow;

static const GraphRow graphs[] = {
    {"gradient ops follow in reverse order",
     X W V "local t = model:op('MatMul', {x, w})\n" MEAN("model:op('MatMul', {t, v})"), "",
     "backward ReduceMean~d0 of ReduceMean: loss~grad -> MatMul_1~grad\n"
     "backward MatMul~d0 of MatMul_1: MatMul_1~grad v -> MatMul~grad\n"
     "backward MatMul~d1 of MatMul_1: MatMul_1~grad MatMul -> v~grad\n"
     "backward MatMul~d1 of MatMul: MatMul~grad x -> w~grad\n"},
    {"the gradient of a value with two readers is a sum",
     X W "local t = model:op('MatMul', {x, w})\n" MEAN(
         "model:op('Add', {model:op('Relu', {t}), model:op('Tanh', {t})})"),
     "",
     "backward ReduceMean~d0 of ReduceMean: loss~grad -> Add~grad\n"
     "backward Add~d0 of Add: Add~grad -> Relu~grad\n"
     "backward Add~d1 of Add: Add~grad -> Tanh~grad\n"
     "backward Tanh~d0 of Tanh: Tanh~grad Tanh -> Tanh~d0\n"
     "backward Relu~d0 of Relu: Relu~grad Relu -> Relu~d0\n"
     "backward Sum of MatMul: Tanh~d0 Relu~d0 -> MatMul~grad\n"
     "backward MatMul~d1 of MatMul: MatMul~grad x -> w~grad\n"},
    {"a parameter used twice has one gradient",
     X W "local t = model:op('MatMul', {x, w})\n" MEAN("model:op('MatMul', {t, w})"), "",
     "backward ReduceMean~d0 of ReduceMean: loss~grad -> MatMul_1~grad\n"
     "backward MatMul~d0 of MatMul_1: MatMul_1~grad w -> MatMul~grad\n"
     "backward MatMul~d1 of MatMul_1: MatMul_1~grad MatMul -> MatMul_1~d1\n"
     "backward MatMul~d1 of MatMul: MatMul~grad x -> MatMul~d1\n"
     "backward Sum of MatMul: MatMul_1~d1 MatMul~d1 -> w~grad\n"},
    {"what the loss does not depend on has no gradient",
     X W V "local t = model:op('MatMul', {x, w})\n"
           "model:output(model:op('MatMul', {t, v}), 'aside')\n" MEAN("t"),
     "",
     "backward ReduceMean~d0 of ReduceMean: loss~grad -> MatMul~grad\n"
     "backward MatMul~d1 of MatMul: MatMul~grad x -> w~grad\n"},
    {"a transposed weight is made again",
     X W MEAN("model:op('MatMul', {model:op('MatMul', {x, w}), model:op('Transpose', {w})})"), "",
     "backward ReduceMean~d0 of ReduceMean: loss~grad -> MatMul_1~grad\n"
     "again Transpose of Transpose: w -> Transpose~again\n"
     "backward MatMul~d0 of MatMul_1: MatMul_1~grad Transpose~again -> MatMul~grad\n"
     "backward MatMul~d1 of MatMul_1: MatMul_1~grad MatMul -> Transpose~grad\n"
     "backward Transpose~d0 of Transpose: Transpose~grad -> Transpose~d0\n"
     "backward MatMul~d1 of MatMul: MatMul~grad x -> MatMul~d1\n"
     "backward Sum of MatMul: Transpose~d0 MatMul~d1 -> w~grad\n"},
    {"the gradients of outputs can be given", X W "model:output(model:op('MatMul', {x, w}), 'y')\n",
     "loss=outputs",
     "backward MatMul~d0 of MatMul: y~given w -> x~grad\n"
     "backward MatMul~d1 of MatMul: y~given x -> w~grad\n"},
    {"a cross entropy is added to scores",
     X V "model:output(model:op('MatMul', {x, v}), 'scores')\n", "",
     "backward ReduceMean~d0 of loss: loss~grad -> loss~token~grad\n"
     "backward TokenLoss~d0 of loss~token: loss~token~grad scores loss~max loss~sum labels -> "
     "scores~grad\n"
     "backward MatMul~d1 of MatMul: scores~grad x -> v~grad\n"},
};

static void put_names(const Graph *graph, const int32_t *tensors, int n, Buf *out)
{
    for (int i = 0; i < n; i++)
        buf_printf(out, " %s", tensors[i] < 0 ? "_" : tensor_name(graph, tensors[i]));
}

static void put_step(const Graph *graph, Buf *out)
{
    for (int32_t op = 0; op < graph->n_ops; op++) {
        if (graph->phase[op] == PHASE_FORWARD || graph->phase[op] == PHASE_UPDATE)
            continue;
        buf_printf(out, "%s %s of %s:", phase_name((Phase)graph->phase[op]), op_operator(graph, op),
                   graph->of[op] < 0 ? "-" : op_name(graph, graph->of[op]));
        put_names(graph, op_inputs(graph, op), graph->ops[op].n_inputs, out);
        buf_puts(out, " ->");
        put_names(graph, op_outputs(graph, op), graph->ops[op].n_outputs, out);
        buf_puts(out, "\n");
    }
}

static void steps_are_derived(void **state)
{
    const GraphRow *row = *state;
    OpenedStep o = open_step(row->body, row->train, NULL, NULL);
    if (!o.session)
        fail_msg("%s", o.err.text);
    Buf text = buf_new(o.arena);
    put_step(o.session->graph, &text);
    assert_string_equal(text.s, row->want);
    close_step(&o);
}

/* ---- what trains ---- */

typedef struct {
    const char *title, *body, *train;
    const char *want; /* tensors with gradients among the outputs; or the error */
} TrainRow;

static const TrainRow trains[] = {
    {"weights train",
     X W V "local t = model:op('MatMul', {x, w})\n" MEAN("model:op('MatMul', {t, v})"), "", "w v"},
    {"inputs train where the gradients of outputs are given",
     X W "model:output(model:op('MatMul', {x, w}), 'y')\n", "loss=outputs", "x w"},
    {"running statistics do not train",
     "local x = model:input('x', 'f32', {2, 4, 8})\nlocal p = {x}\n"
     "for _, name in ipairs{'scale', 'bias', 'mean', 'var'} do\n"
     "  p[#p + 1] = model:param(name, {4}, 'f32')\nend\n" MEAN("model:op('BatchNormalization', p)"),
     "", "scale bias"},
    {"arithmetic hands a declared parameter on",
     X W "local f = model:op('Cos', {model:param('freq', {16}, 'f32')})\n" MEAN(
         "model:op('Mul', {model:op('MatMul', {x, w}), f})"),
     "", "w freq"},
    {"arithmetic hands a number on",
     X W "local s = model:op('Exp', {model:param('logit_scale', {}, 'f32')})\n" MEAN(
         "model:op('Mul', {model:op('MatMul', {x, w}), s})"),
     "", "w logit_scale"},
    {"views hand a parameter on",
     X W "local f = model:op('Reshape', {model:param('f', {4, 4}, 'f32'), {16}})\n" MEAN(
         "model:op('Mul', {model:op('MatMul', {x, w}), f})"),
     "", "w f"},
    {"a value that is only compared does not train",
     X W V "local c = model:op('Cast', {model:op('Greater', {model:op('MatMul', {x, v}), 0.5})}, "
           "{to = 1})\n" MEAN("model:op('MatMul', {model:op('MatMul', {x, w}), "
                              "model:op('Transpose', {w})})") "model:output(c, 'c')\n",
     "", "w"},
    {"a tensor can be named as the loss",
     X W V "local t = model:op('MatMul', {x, w})\n"
           "model:output(model:op('ReduceMean', {t}, {keepdims = 0}), 'other')\n" MEAN(
               "model:op('MatMul', {t, v})"),
     "loss=loss", "w v"},
    {"the first output with one float is the loss",
     X W V "local t = model:op('MatMul', {x, w})\n"
           "model:output(model:op('ReduceMean', {t}, {keepdims = 0}), 'other')\n" MEAN(
               "model:op('MatMul', {t, v})"),
     "", "w"},
    {"no scores and no loss",
     X
     "local b = model:param('b', {16}, 'f32')\n"
     "model:output(model:op('ReduceMean', {model:op('Mul', {x, b})}, {axes = {0}, keepdims = 0}), "
     "'y')\n",
     "", "the model has no loss, and no output that can be scores"},
    {"a loss that does not exist", X W MEAN("model:op('MatMul', {x, w})"), "loss=lost",
     "there is no tensor 'lost' to be the loss"},
    {"a loss with many elements", X W "model:output(model:op('MatMul', {x, w}), 'y')\n", "loss=y",
     "'y' cannot be the loss: it is not one float"},
    {"an unknown word", X W MEAN("model:op('MatMul', {x, w})"), "los=y",
     "--train: there is no option 'los'"},
    {"nothing trains", X MEAN("model:op('Relu', {x})"), "", "nothing of the model trains"},
};

/* The inputs and initializers that have a gradient. */
static void put_trained(const Graph *graph, Buf *out)
{
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        char name[64];
        snprintf(name, sizeof name, "%s~grad", tensor_name(graph, t));
        int32_t gradient = graph_find_tensor(graph, str_from(name));
        if (graph->tensors[t].maker < 0 && gradient >= 0 && graph->gradient_of[gradient] == t &&
            graph->tensors[gradient].maker >= 0)
            buf_printf(out, "%s%s", out->n > 0 ? " " : "", tensor_name(graph, t));
    }
}

static void what_trains_is_found(void **state)
{
    const TrainRow *row = *state;
    OpenedStep o = open_step(row->body, row->train, NULL, NULL);
    Buf text = buf_new(o.arena);
    if (o.session)
        put_trained(o.session->graph, &text);
    else
        buf_puts(&text, o.err.text);
    assert_string_equal(text.s, row->want);
    close_step(&o);
}

static void forward_ids_stay(void **state)
{
    (void)state;
    OpenedStep bare = open_step("samples/models/tiny-gpt.onnx", NULL, NULL, NULL);
    OpenedStep step = open_step("samples/models/tiny-gpt.onnx", "loss=outputs", NULL, NULL);
    assert_non_null(bare.session);
    assert_non_null(step.session);
    const Graph *a = bare.session->graph, *b = step.session->graph;
    for (int32_t op = 0; op < a->n_ops; op++) {
        assert_string_equal(op_name(a, op), op_name(b, op));
        assert_int_equal(b->phase[op], PHASE_FORWARD);
        assert_int_equal(b->of[op], -1);
    }
    for (int32_t t = 0; t < a->n_tensors; t++)
        assert_string_equal(tensor_name(a, t), tensor_name(b, t));
    assert_true(b->n_ops > a->n_ops);
    for (int32_t op = a->n_ops; op < b->n_ops; op++)
        assert_int_not_equal(b->phase[op], PHASE_FORWARD);
    close_step(&bare);
    close_step(&step);
}

static void frozen_parameters_have_no_gradient(void **state)
{
    (void)state;
    OpenedStep o =
        open_step(X W V "local t = model:op('MatMul', {x, w})\n" MEAN("model:op('MatMul', {t, v})"),
                  NULL, NULL, NULL);
    const Inferred *model = o.session->inferred;
    Error err = {0};
    DimBindings none = {0};
    Loss loss;
    TrainingStep step;
    UpdateSpec spec;
    assert_true(update_spec_read(o.arena, "", &spec, &err));
    assert_true(loss_add(o.arena, model, &spec, &loss, &err));
    model = infer(o.arena, loss.graph, o.session->rules.registry, &none, false, &err);
    int32_t frozen[2] = {graph_find_tensor(loss.graph, STR("v")),
                         graph_find_tensor(loss.graph, STR("w"))};
    assert_true(step_make(o.arena, model, &loss, frozen, 1, (StepShape){0}, NULL, &step, &err));
    Buf text = buf_new(o.arena);
    put_trained(step.graph, &text);
    assert_string_equal(text.s, "w");
    assert_false(step_make(o.arena, model, &loss, frozen, 2, (StepShape){0}, NULL, &step, &err));
    assert_string_equal(err.text, "nothing of the model trains");
    assert_string_equal(err.hint, "all its parameters are frozen");
    close_step(&o);
}

static void operators_without_derivative_are_named(void **state)
{
    (void)state;
    OpenedStep o =
        open_step(X W "local t = model:op('MatMul', {x, w})\n" MEAN("model:op('Dist', {t, x})"), "",
                  NULL, NULL);
    assert_null(o.session);
    assert_string_equal(o.err.text, "op 'Dist' (Dist) has no derivative: none is known");
    assert_string_equal(o.err.hint, "the gradient of 'w' has to pass it, then MatMul");
    close_step(&o);
}

static const struct {
    const char *title, *body, *train, *code, *text; /* of a finding; code NULL: of the error */
} noted[] = {
    {"a parameter that nothing reads gets a note", X W V MEAN("model:op('MatMul', {x, w})"), "sgd",
     "unread-parameter", "'v' is read by no op: no gradient, no update"},
    {"a model that has gradients keeps its own names",
     X W "model:output(model:op('Relu', {x}), 'w~grad')\n" MEAN("model:op('MatMul', {x, w})"),
     "sgd", "gradient-renamed",
     "'w~grad_' names a gradient, because the model already has a tensor named ~grad"},
    {"integers do not train",
     "local i = model:param('i', {16}, 'i64')\n" X MEAN(
         "model:op('Add', {x, model:op('Cast', {i}, {to = 1})})"),
     "sgd", NULL, "nothing of the model trains"},
    {"a model of integers has no loss",
     "local x = model:input('x', 'i64', {8, 16})\nmodel:output(model:op('Add', {x, x}), 'y')\n",
     "auto", NULL, "the model has no loss, and no output that can be scores"},
    {"an output loss with many elements", X W "model:output(model:op('MatMul', {x, w}), 'loss')\n",
     "auto", NULL, "the output 'loss' is f32[8,16], and a loss is one float"},
    {"a loss that does not exist", X W MEAN("model:op('MatMul', {x, w})"), "loss=nope", NULL,
     "there is no tensor 'nope' to be the loss"},
    {"a loss of several numbers", X W MEAN("model:op('MatMul', {x, w})"), "loss=MatMul", NULL,
     "'MatMul' cannot be the loss: it is not one float"},
};

static void unexpected_models_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(noted); i++) {
        OpenedStep o = open_step(noted[i].body, noted[i].train, NULL, NULL);
        bool found = !noted[i].code && !o.session && strcmp(o.err.text, noted[i].text) == 0;
        for (int f = 0; noted[i].code && o.session && f < o.session->plan->findings.n; f++) {
            const Finding *at = &o.session->plan->findings.at[f];
            found |= strcmp(at->code, noted[i].code) == 0 && strcmp(at->text, noted[i].text) == 0;
        }
        if (!found)
            fail_msg("%s: %s", noted[i].title, o.err.text);
        close_step(&o);
    }
}

/* ---- plans ---- */

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(graphs) + COUNT_OF(trains) + 4];
    int n = 0;
    for (size_t i = 0; i < COUNT_OF(graphs); i++)
        tests[n++] = (struct CMUnitTest){.name = graphs[i].title,
                                         .test_func = steps_are_derived,
                                         .initial_state = (void *)(uintptr_t)&graphs[i]};
    for (size_t i = 0; i < COUNT_OF(trains); i++)
        tests[n++] = (struct CMUnitTest){.name = trains[i].title,
                                         .test_func = what_trains_is_found,
                                         .initial_state = (void *)(uintptr_t)&trains[i]};
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(forward_ids_stay);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(frozen_parameters_have_no_gradient);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(operators_without_derivative_are_named);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(unexpected_models_are_named);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
