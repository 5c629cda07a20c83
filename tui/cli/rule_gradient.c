/* rule_gradient.c - `rule OP --gradient`: the index spaces of an operator's gradient ops, derived
 * from its own, in the notations of `rule OP`. */
#include "core/rules/derivative.h"
#include "core/rules/user_op.h"
#include "core/space/gradient.h"
#include "core/step/backward.h"
#include "tui/cli/rule.h"

typedef struct {
    Cli *cli;
    const Operator *row;
    const Inferred *inferred;
    Vec(int32_t) given, wanted;
    Json *list; /* NULL: text */
} GradientShow;

static bool is_float(const GradientShow *show, int32_t t)
{
    return t >= 0 && dtype_is_float((Dtype)show->inferred->dtype[t]);
}

/* "input 0 (contract): gradient of output 0, input 1"; an operand that is not there is "-". */
static const char *reads_text(const GradientShow *show, const OpSpace *space)
{
    const Gradient *gradient = space->gradient;
    int n_inputs = gradient->forward->n_inputs;
    Buf out = buf_new(show->cli->arena);
    for (int i = 0; i < gradient->n_reads; i++) {
        const GradientRead *read = &gradient->reads[i];
        bool output = read->place >= n_inputs;
        buf_puts(&out, i > 0 ? ", " : "");
        if (space->operand[i].absent)
            buf_puts(&out, "-");
        else
            buf_printf(&out, "%s%s %d", read->gradient ? "gradient of " : "",
                       output ? "output" : "input", read->place - (output ? n_inputs : 0));
    }
    return out.s;
}

static void show_op(const GradientShow *show, const OpSpace *space)
{
    const Gradient *gradient = space->gradient;
    Buf inputs = buf_new(show->cli->arena);
    for (int i = 0; i < gradient->n_written; i++)
        buf_printf(&inputs, "%s%d", i > 0 ? ", " : "", gradient->written[i]);
    if (show->list) {
        Json *one = json_object();
        json_set_str(one, "gradient_of_inputs", inputs.s);
        json_set_str(one, "kernel", gradient->kernel);
        json_set_str(one, "reads", reads_text(show, space));
        json_set_real(one, "scale", gradient->scale);
        cli_rule_space_json(show->cli, space, one);
        json_add(show->list, one);
        return;
    }
    buf_printf(&show->cli->out, "\ngradient of input %s   %s, reads %s\n\n", inputs.s,
               gradient->kernel, reads_text(show, space));
    cli_rule_show_space(show->cli, space);
}

/* By a user's function. */
static bool is_built(const GradientShow *show)
{
    return show->row->user && show->row->user->gradient;
}

/* An op that the user's function has built. */
static void show_built(const GradientShow *show, const Backward *backward, int32_t op)
{
    const OpSpace *space = program_space(backward->inferred, op);
    const Graph *graph = backward->graph;
    int32_t of = graph->gradient_of[op_outputs(graph, op)[0]];
    int input = -1;
    for (int i = 0; of >= 0 && i < graph->ops[0].n_inputs; i++)
        if (op_inputs(graph, 0)[i] == of)
            input = i;
    if (show->list) {
        Json *one = json_object();
        if (input >= 0)
            json_set(one, "gradient_of_inputs",
                     json_from_str(str_from(arena_printf(show->cli->arena, "%d", input))));
        json_set_str(one, "kernel", op_operator(graph, op));
        cli_rule_space_json(show->cli, space, one);
        json_add(show->list, one);
        return;
    }
    Buf *out = &show->cli->out;
    if (input >= 0)
        buf_printf(out, "\ngradient of input %d   ", input);
    else
        buf_puts(out, "\non the way   ");
    buf_printf(out, "%s\n\n", op_operator(graph, op));
    cli_rule_show_space(show->cli, space);
}

/* Inputs that get no gradient op: the output varies in steps, or there is no kernel. */
static void show_without(const GradientShow *show, int input, const DerivativeClause *clause)
{
    const char *why = clause && clause->refused ? clause->refused : "";
    if (show->list) {
        Json *one = json_object();
        json_set(one, "gradient_of_inputs",
                 json_from_str(str_from(arena_printf(show->cli->arena, "%d", input))));
        json_set(one, "kernel", json_null());
        json_set_str(one, "text", *why ? why : "zero");
        json_add(show->list, one);
        return;
    }
    buf_printf(&show->cli->out, "\ngradient of input %d   %s%s\n", input,
               *why ? "refused: " : "zero", why);
}

static const Derivative *derivative_of(const GradientShow *show)
{
    return derivative_find(show->inferred->registry, show->row, inferred_space(show->inferred, 0));
}

static bool knows_derivative(const GradientShow *show, Error *err)
{
    return derivative_of(show) || is_built(show) ||
           error_kind(err, ERROR_USAGE, "no derivative of %s is known", show->row->name);
}

static void find_operands(GradientShow *show)
{
    const Graph *graph = show->inferred->graph;
    const Derivative *derivative = derivative_of(show);
    bool built = is_built(show);
    for (int i = 0; i < graph->ops[0].n_inputs; i++) {
        const DerivativeClause *clause = built ? NULL : derivative_clause(derivative, i);
        int32_t t = op_inputs(graph, 0)[i];
        if (!is_float(show, t))
            continue;
        if (built || (clause && clause->kernel))
            vec_push(show->cli->arena, &show->wanted, t);
        else
            show_without(show, i, clause);
    }
    for (int o = 0; o < graph->ops[0].n_outputs; o++)
        if (is_float(show, op_outputs(graph, 0)[o]))
            vec_push(show->cli->arena, &show->given, op_outputs(graph, 0)[o]);
}

static bool show_all(GradientShow *show, Error *err)
{
    Backward backward;
    BackwardRequest request = {.given = show->given.at,
                               .n_given = show->given.n,
                               .wanted = show->wanted.at,
                               .n_wanted = show->wanted.n};
    if (show->wanted.n == 0 || show->given.n == 0)
        return true;
    if (!backward_derive(show->cli->arena, show->inferred, &request, &backward, err))
        return false;
    for (int32_t op = show->inferred->graph->n_ops; op < backward.graph->n_ops; op++) {
        const OpSpace *space = inferred_space(backward.inferred, op);
        if (space && space->gradient)
            show_op(show, space);
        else if (space && is_built(show))
            show_built(show, &backward, op);
    }
    return true;
}

int cli_rule_gradient(Cli *cli, RuleQuery *query, const Operator *row)
{
    const Registry *registry = query->rules->registry;
    const DimBindings none = {0};
    const char *example = cli->options.shapes ? NULL : cli_rule_sample(cli, registry, row).example;
    const Graph *graph = cli->options.shapes ? query_graph(query, row)
                         : example && row->rule
                             ? example_graph(cli->arena, row->name, example, &cli->err)
                             : example_of_user(cli->arena, row, &cli->err);
    GradientShow show = {.cli = cli, .row = row, .list = cli->options.json ? json_array() : NULL};
    show.inferred = graph ? infer(cli->arena, graph, registry, &none, false, &cli->err) : NULL;
    if (show.inferred && !inferred_space(show.inferred, 0))
        error_kind(&cli->err, ERROR_USAGE, "%s is evaluated before the run", row->name);
    bool ok = show.inferred && inferred_space(show.inferred, 0);
    ok = ok && knows_derivative(&show, &cli->err);
    if (ok && !show.list && example)
        buf_printf(&cli->out, "%s %.*s\n", row->name, (int)strcspn(example, ";"), example);
    if (ok)
        find_operands(&show);
    ok = ok && show_all(&show, &cli->err);
    if (!ok) {
        json_free(show.list);
        return cli_fail(cli);
    }
    if (show.list)
        cli_write_json(cli, show.list);
    return CLI_FINE;
}
