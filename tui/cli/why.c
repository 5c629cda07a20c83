#include "tui/cli/cli.h"

#include "core/plan/json_forms.h"
#include "core/explain/reason.h"
#include "core/explain/why_reshard.h"

static Json *origin_json(const Decision *pin)
{
    if (!pin)
        return json_null();
    Json *out = json_object();
    json_set_str(out, "file", pin->origin.file ? pin->origin.file : "");
    json_set_int(out, "line", pin->origin.line);
    json_set_str(out, "text", pin->origin.text ? pin->origin.text : "");
    return out;
}

static Json *step_json(const Plan *plan, const ReasonStep *step, int axis)
{
    const Graph *graph = plan->inferred->graph;
    Arena *scratch = arena_new();
    Buf text = buf_new(scratch);
    reason_format(plan, step, axis, &text);
    Json *out = json_object();
    json_set_str(out, "kind", reason_kind_name(step->kind));
    json_set(out, "tensor",
             step->tensor < 0 ? json_null()
                              : json_from_str(str_from(tensor_name(graph, step->tensor))));
    json_set(out, "op",
             step->op < 0 ? json_null() : json_from_str(str_from(op_name(graph, step->op))));
    const OpSpace *space = step->op < 0 ? NULL : inferred_space(plan->inferred, step->op);
    if (step->tensor >= 0)
        json_set(out, "dim", step->dim < 0 ? json_null() : json_from_int(step->dim));
    else if (space)
        json_set_str(out, "index", space->index[step->dim].name);
    json_set(out, "text", json_from_str(buf_str(&text)));
    if (step->kind == REASON_PIN)
        json_set(out, "origin", origin_json(step->pin));
    arena_free(scratch);
    return out;
}

static Json *chain_json(const Plan *plan, int dim, const ReasonChain *chain)
{
    Json *row = json_object(), *steps = json_array();
    for (int s = chain->n_steps - 1; s >= 0; s--)
        json_add(steps, step_json(plan, &chain->step[s], chain->axis));
    json_set(row, "dim", dim < 0 ? json_null() : json_from_int(dim));
    json_set_bool(row, "partial", dim < 0);
    json_set_str(row, "axis", plan->mesh->axes[chain->axis].name);
    json_set(row, "steps", steps);
    json_set_int(row, "left_out", chain->n_left_out);
    return row;
}

/* The chains of one dim (-1: partial), each from what was asked back to its pin, as `why` prints.
 */
static void add_chains(const Plan *plan, int32_t tensor, int dim, Json *out)
{
    ReasonChain *chains;
    Arena *scratch = arena_new();
    int n = why_tensor_dim(scratch, plan, tensor, dim, &chains);
    for (int i = 0; i < n; i++)
        json_add(out, chain_json(plan, dim, &chains[i]));
    arena_free(scratch);
}

static Json *path_json(const Plan *plan, const ReshardPath *path)
{
    if (!path)
        return json_null();
    Json *out = json_object(), *steps = json_array();
    for (int s = 0; s < path->n_steps; s++)
        json_add(steps, json_of_step(&path->step[s], plan->mesh));
    json_set_real(out, "us", path->us);
    json_set_int(out, "peak_bytes", path->peak_bytes);
    json_set(out, "steps", steps);
    return out;
}

/* What the first reader has otherwise: its chains, and what kept axes of the value from it. */
static void set_reader(const Plan *plan, const WhyReshard *why, Json *out)
{
    Json *chains = json_array(), *stops = json_array();
    for (int i = 0; i < why->n_wanted; i++)
        json_add(chains, chain_json(plan, why->wanted[i].dim, &why->wanted[i].chain));
    for (int i = 0; i < why->n_dropped; i++) {
        const DroppedAxes *at = &why->dropped[i];
        Json *row = json_object();
        Arena *scratch = arena_new();
        Buf text = buf_new(scratch);
        if (at->found)
            why_not_format_stop(plan, &at->stop, &text);
        json_set_int(row, "dim", at->dim);
        json_set(row, "axes", json_of_atom_set(at->atoms, plan->mesh));
        json_set(row, "stop",
                 at->found ? json_from_str(str_from(stop_name(at->stop.at.stop))) : json_null());
        json_set(row, "text", json_from_str(buf_str(&text)));
        json_add(stops, row);
        arena_free(scratch);
    }
    const Graph *graph = plan->inferred->graph;
    json_set(out, "reader",
             why->op < 0 ? json_null() : json_from_str(str_from(op_name(graph, why->op))));
    json_set(out, "chains", chains);
    json_set(out, "stops", stops);
    json_set(out, "summed", json_of_atom_set(why->summed, plan->mesh));
}

static Json *reshard_json(const Plan *plan, const Reshard *reshard)
{
    Arena *scratch = arena_new();
    WhyReshard why = why_reshard(scratch, plan, reshard);
    why.runner_up = why_reshard_other(plan, reshard);
    Json *out = path_json(plan, reshard->path);
    json_set(out, "from",
             json_of_sharding(shardings_at(plan->shardings, reshard->from), plan->mesh));
    json_set(out, "to", json_of_sharding(shardings_at(plan->shardings, reshard->to), plan->mesh));
    json_set_real(out, "bound_us", reshard->path->bound_us);
    json_set_bool(out, "proven", reshard->path->proven);
    json_set(out, "runner_up", path_json(plan, why.runner_up));
    set_reader(plan, &why, out);
    arena_free(scratch);
    return out;
}

static Json *why_json(const Plan *plan, int32_t tensor, int dim)
{
    Json *out = json_object(), *chains = json_array();
    json_set_str(out, "tensor", tensor_name(plan->inferred->graph, tensor));
    json_set(out, "sharding",
             plan->moved->sharding[tensor] < 0
                 ? json_null()
                 : json_of_sharding(plan_sharding(plan, tensor), plan->mesh));
    int n_dims = plan->moved->sharding[tensor] < 0 ? 0 : (int)plan_sharding(plan, tensor)->n_dims;
    for (int d = 0; d < n_dims; d++)
        if (dim == -2 || dim == d)
            add_chains(plan, tensor, d, chains);
    if (dim == -2 && n_dims > 0)
        add_chains(plan, tensor, -1, chains);
    Json *reshards = json_array();
    for (int i = 0; i < plan->moved->n_reshards; i++)
        if (plan->moved->reshards[i].tensor == tensor)
            json_add(reshards, reshard_json(plan, &plan->moved->reshards[i]));
    json_set(out, "chains", chains);
    json_set(out, "reshards", reshards);
    return out;
}

/* The tensor and dim (-2: all) that operand 1 names; -1 with the error set. */
static int32_t asked_tensor(Cli *cli, const Session *session, int *dim)
{
    int32_t tensor = naming_find_dim(session->naming, str_from(cli->operand[1]), dim, &cli->err);
    if (tensor < 0)
        cli->err.kind = ERROR_USAGE;
    return tensor;
}

int cli_why(Cli *cli)
{
    Session *session = cli_open(cli);
    if (!session)
        return cli_fail(cli);
    int dim, code = CLI_FINE;
    int32_t tensor = asked_tensor(cli, session, &dim);
    if (tensor < 0)
        code = cli_fail(cli);
    else if (cli->options.json)
        cli_write_json(cli, why_json(session->plan, tensor, dim));
    else
        why_format(session->plan, tensor, dim, &cli->out);
    session_close(session);
    return code;
}

int cli_why_not(Cli *cli)
{
    Session *session = cli_open(cli);
    if (!session)
        return cli_fail(cli);
    int dim, code = CLI_FINE, axis = -1;
    int32_t tensor = asked_tensor(cli, session, &dim);
    if (tensor >= 0)
        axis = mesh_need_axis(session->mesh, str_from(cli->operand[2]), &cli->err);
    if (axis < 0) {
        cli->err.kind = ERROR_USAGE;
        code = cli_fail(cli);
    } else if (cli->options.json) {
        cli_write_json(cli, why_not_json(session->plan, tensor, dim, axis));
    } else {
        why_not_format(session->plan, tensor, dim, axis, &cli->out);
    }
    session_close(session);
    return code;
}
