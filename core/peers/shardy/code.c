/* code.c - the plan as an MLIR module: ops are custom calls with rules of sdy, so that its own
 * propagation can be run on them; every value has its sharding, every reshard is an op. */
#include "core/peers/shardy/tables.h"

#include "core/base/file.h"
#include "core/summary/label.h"
#include "core/plan/stage.h"
#include "core/session/pins_text.h"
#include "core/peers/shardy/factor_rule.h"
#include "core/peers/shardy/mlir.h"
#include "core/code/step_values.h"

#include <inttypes.h>

/* A resharded copy of a tensor: its sharding and its SSA name. */
typedef struct {
    int32_t sharding, next; /* 1 + index of the same tensor's next copy; 0: last */
    const char *ssa;
} Resharded;

typedef struct {
    const Session *session;
    const Plan *plan;
    const Mesh *mesh;
    Arena *arena;
    CodeValues values;
    const char **ssa; /* SSA name per tensor; NULL if not defined yet */
    int32_t *first;   /* per tensor: 1 + index in `resharded` */
    Vec(Resharded) resharded;
    uint32_t *decided; /* per tensor: bit set of the dims that a pin of an index dim fixes */
    const char **why;  /* per tensor: origin of the decision on it, or NULL */
    const char **why_op;
    int n_values, n_simplified, n_stand_ins;
    Buf *out;
} Module;

/* ---- pieces ---- */

static const Shape *shape_of(const Module *m, int32_t tensor)
{
    return m->plan->moved->sharding[tensor] < 0 ? NULL
                                                : inferred_shape(m->session->inferred, tensor);
}

static void put_type(Module *m, int32_t tensor, Buf *out)
{
    if (!mlir_type(shape_of(m, tensor), (Dtype)m->session->inferred->dtype[tensor], out))
        m->n_stand_ins++;
}

static void put_sharding(Module *m, int32_t sharding, Buf *out)
{
    Sharding expressible;
    if (!mlir_expressible(shardings_at(m->plan->shardings, sharding), m->mesh, &expressible))
        m->n_simplified++;
    mlir_sharding(&expressible, m->mesh, out);
}

static void put_location(const char *name, Buf *out)
{
    buf_puts(out, " loc(");
    mlir_string(str_from(name), out);
    buf_putc(out, ')');
}

static const char *name_of(const Module *m, int32_t tensor)
{
    const char *name = m->values.name[tensor];
    return name ? name : tensor_name(m->session->graph, tensor);
}

/* Writes "  // 8192/dp,(3)(768/tp)" where sdy cannot express the sharding. */
static void put_full_sharding(const Module *m, int32_t sharding, const char *indent)
{
    Sharding expressible;
    const Sharding *whole = shardings_at(m->plan->shardings, sharding);
    if (mlir_expressible(whole, m->mesh, &expressible))
        return;
    buf_printf(m->out, "%s" PINS_LESS_MLIR, indent);
    sharding_format(whole, m->mesh, VIEW_OURS_ASCII, m->out, NULL);
    buf_puts(m->out, ", which sdy cannot express\n");
}

static void put_why(const Module *m, const char *why, const char *indent)
{
    if (!why)
        return;
    buf_printf(m->out, "%s// decided: ", indent);
    mlir_comment(str_from(why), m->out);
    buf_putc(m->out, '\n');
}

static uint32_t pinned_dims(const Module *m, int32_t tensor)
{
    return plan_pinned(m->plan, tensor) | m->decided[tensor];
}

static void put_dims(uint32_t dims, Buf *out)
{
    const char *comma = "array<i64: ";
    for (int d = 0; d < DIMS_MAX; d++)
        if (dims >> d & 1) {
            buf_printf(out, "%s%d", comma, d);
            comma = ", ";
        }
    buf_puts(out, dims ? ">" : "array<i64>");
}

/* ---- decisions ---- */

static const char *origin_text(const Module *m, const Decision *decision)
{
    Buf text = buf_new(m->arena);
    label_origin(m->session->mesh, &decision->origin, &text);
    return text.s;
}

static void read_decisions(Module *m)
{
    const Graph *graph = m->session->graph;
    m->decided = arena_array(m->arena, uint32_t, graph->n_tensors);
    m->why = arena_array(m->arena, const char *, graph->n_tensors);
    m->why_op = arena_array(m->arena, const char *, graph->n_ops);
    for (int i = 0; i < plan_n_held(m->plan); i++) {
        const Decision *decision = plan_held(m->plan, i);
        bool states = decision->store && !(decision->store & STORED_PARAMETER);
        if (decision_is_on_all(decision->kind) || states)
            continue;
        if (decision_is_on_tensor(decision->kind)) {
            m->why[decision->place] = origin_text(m, decision);
            continue;
        }
        m->why_op[decision->place] = origin_text(m, decision);
        if (decision->kind != PIN_INDEX_DIM)
            continue;
        for (int o = 0; o < graph->ops[decision->place].n_outputs; o++) {
            int32_t t = op_outputs(graph, decision->place)[o];
            if (t >= 0 && m->plan->moved->sharding[t] >= 0)
                m->decided[t] = ((uint32_t)1 << plan_sharding(m->plan, t)->n_dims) - 1;
        }
    }
}

/* ---- reshards ---- */

static const char *new_name(Module *m)
{
    return arena_printf(m->arena, "%%%d", m->n_values++);
}

/* Writes `%3 = OP FROM PREFIX<@mesh, ..> : TYPE loc("..")`. */
static const char *put_move(Module *m, int32_t tensor, const char *op, const char *from,
                            const char *behind, const Sharding *to)
{
    const char *name = new_name(m);
    buf_printf(m->out, "    %s = %s %s %s", name, op, from, behind);
    mlir_sharding(to, m->mesh, m->out);
    buf_puts(m->out, " : ");
    put_type(m, tensor, m->out);
    put_location(name_of(m, tensor), m->out);
    buf_putc(m->out, '\n');
    return name;
}

/* Writes into `axes`, dim by dim, the axes that `then` adds to `now`. Returns false if `now` is not
 * a prefix of `then`, or if the added atoms are not exactly those that are summed. */
static bool scattered_axes(const Sharding *now, const Sharding *then, AtomSet summed,
                           const Mesh *mesh, Buf *axes)
{
    AtomSet added = 0;
    buf_putc(axes, '[');
    for (int64_t d = 0; d < then->n_dims; d++) {
        const Cut *a = &now->dim[d], *b = &then->dim[d];
        int n = a->n > 0 ? a->digit[0].n : 0, to = b->n > 0 ? b->digit[0].n : 0;
        if (n > to || (n > 0 && memcmp(a->digit[0].atom, b->digit[0].atom, (size_t)n) != 0))
            return false;
        buf_puts(axes, d ? ", " : "");
        mlir_axis_list(to > n ? b->digit[0].atom + n : NULL, to - n, mesh, axes);
        for (int i = n; i < to; i++)
            added |= (AtomSet)1 << b->digit[0].atom[i];
    }
    buf_putc(axes, ']');
    return added == summed;
}

/* Moves a value from one sharding to another. Partial axes are summed first, with a reduce-scatter
 * where the target is sharded by exactly those axes. */
static const char *put_reshard(Module *m, int32_t tensor, const char *from_ssa, int32_t from,
                               int32_t to, const char *op)
{
    Sharding now, then, before;
    mlir_expressible(shardings_at(m->plan->shardings, from), m->mesh, &now);
    mlir_expressible(shardings_at(m->plan->shardings, to), m->mesh, &then);
    AtomSet summed = sharding_partials(&now) & ~sharding_partials(&then);
    Buf axes = buf_new(m->arena);

    before = now;
    for (int a = 0; a < ATOMS_MAX; a++)
        if (summed >> a & 1)
            now.partial[a] = REDUCE_NONE;
    put_full_sharding(m, to, "    ");
    if (summed && scattered_axes(&now, &then, summed, m->mesh, &axes)) {
        op = arena_printf(m->arena, "sdy.reduce_scatter %s", axes.s);
        return put_move(m, tensor, op, from_ssa, "out_sharding=", &then);
    }
    if (!sharding_equal(&now, &before)) {
        axes.n = 0;
        mlir_axes(summed, m->mesh, &axes);
        const char *sum = arena_printf(m->arena, "sdy.all_reduce %s", axes.s);
        from_ssa = put_move(m, tensor, sum, from_ssa, "out_sharding=", &now);
    }
    if (sharding_equal(&now, &then))
        return from_ssa;
    m->n_simplified += !mlir_expressible(shardings_at(m->plan->shardings, to), m->mesh, &then);
    return put_move(m, tensor, op, from_ssa, "", &then);
}

/* A constant or the result of a host op: every device has its value. */
static void put_constant(Module *m, int32_t tensor)
{
    m->ssa[tensor] = new_name(m);
    buf_printf(m->out, "    %s = stablehlo.custom_call @Known() ", m->ssa[tensor]);
    if (shape_of(m, tensor)) {
        buf_puts(m->out, "{sdy.sharding = #sdy.sharding_per_value<[");
        put_sharding(m, m->plan->moved->sharding[tensor], m->out);
        buf_puts(m->out, "]>} ");
    }
    buf_puts(m->out, ": () -> ");
    put_type(m, tensor, m->out);
    put_location(name_of(m, tensor), m->out);
    buf_putc(m->out, '\n');
}

/* Returns the SSA name of the value in the sharding that an op needs; moves it if necessary. */
static const char *resharded_to(Module *m, int32_t tensor, int32_t need)
{
    if (!m->ssa[tensor])
        put_constant(m, tensor);
    if (need < 0 || m->plan->moved->sharding[tensor] < 0 ||
        need == m->plan->moved->sharding[tensor])
        return m->ssa[tensor];
    for (int32_t at = m->first[tensor]; at > 0; at = m->resharded.at[at - 1].next) {
        assert(m->resharded.at);
        if (m->resharded.at[at - 1].sharding == need)
            return m->resharded.at[at - 1].ssa;
    }
    const char *ssa = put_reshard(m, tensor, m->ssa[tensor], m->plan->moved->sharding[tensor], need,
                                  "sdy.reshard");
    vec_push(m->arena, &m->resharded, (Resharded){need, m->first[tensor], ssa});
    m->first[tensor] = m->resharded.n;
    return ssa;
}

/* ---- ops ---- */

/* True for a diagonal, "ii->i": sdy allows a factor in one dim of a tensor only. */
static bool has_factor_twice(const FactorTensor *tensor, Arena *arena, int n_factors)
{
    bool *seen = arena_array(arena, bool, n_factors);
    for (int d = 0; d < tensor->n_dims; d++)
        for (int i = 0; i < tensor->dim[d].n; i++) {
            if (seen[tensor->dim[d].at[i]])
                return true;
            seen[tensor->dim[d].at[i]] = true;
        }
    return false;
}

/* sdy's rule for the operands and results that are present. */
static void put_rule(Module *m, int32_t op, Buf *out)
{
    const OpSpace *space = program_space(m->session->inferred, op);
    const int32_t *operand = op_inputs(m->session->graph, op);
    if (space->no_rule)
        return;
    FactorRule rule = *factor_rule_of(m->arena, space);
    FactorTensor *tensor = arena_array(m->arena, FactorTensor, rule.n_operands + rule.n_results);
    int n = 0, n_operands = 0;
    for (int i = 0; i < space->n_inputs + space->n_outputs; i++) {
        if (operand[i] < 0)
            continue;
        if (space->operand[i].absent || !shape_of(m, operand[i]))
            return;
        n_operands += i < space->n_inputs;
        tensor[n++] = rule.tensor[i];
    }
    bool sized = n_operands > 0 && n > n_operands; /* sdy requires both */
    for (int f = 0; f < rule.n_factors; f++)
        sized &= rule.factor[f].size > 0;
    for (int i = 0; i < n; i++)
        sized &= !has_factor_twice(&tensor[i], m->arena, rule.n_factors);
    if (!sized)
        return;
    rule.tensor = tensor;
    rule.n_operands = n_operands;
    rule.n_results = n - n_operands;
    buf_puts(out, ", sdy.sharding_rule = #sdy.op_sharding_rule<");
    factor_rule_format(&rule, out);
    buf_putc(out, '>');
}

/* `{sdy.sharding = .., dimscope.pinned = .., sdy.sharding_rule = ..}` */
static void put_attributes(Module *m, int32_t op, const int32_t *output, int n)
{
    uint32_t pinned = 0;
    bool shaped = n > 0;
    for (int o = 0; o < n; o++) {
        shaped &= shape_of(m, output[o]) != NULL;
        pinned |= shape_of(m, output[o]) ? pinned_dims(m, output[o]) : 0;
    }
    buf_putc(m->out, '{');
    if (shaped) {
        buf_puts(m->out, "sdy.sharding = #sdy.sharding_per_value<[");
        for (int o = 0; o < n; o++) {
            buf_puts(m->out, o ? ", " : "");
            put_sharding(m, m->plan->moved->made[output[o]], m->out);
        }
        buf_puts(m->out, "]>");
        put_rule(m, op, m->out);
    }
    if (shaped && pinned) {
        buf_puts(m->out, ", dimscope.pinned = [");
        for (int o = 0; o < n; o++) {
            buf_puts(m->out, o ? ", " : "");
            put_dims(pinned_dims(m, output[o]), m->out);
        }
        buf_putc(m->out, ']');
    }
    buf_putc(m->out, '}');
}

static void put_types(Module *m, const int32_t *tensor, int n)
{
    buf_putc(m->out, '(');
    for (int i = 0, k = 0; i < n; i++)
        if (tensor[i] >= 0) {
            buf_puts(m->out, k++ ? ", " : "");
            put_type(m, tensor[i], m->out);
        }
    buf_putc(m->out, ')');
}

/* Writes a sharding constraint where a pin asks for another sharding than the op produces. */
static void put_constraint(Module *m, int32_t tensor)
{
    int32_t made = m->plan->moved->made[tensor], sharding = m->plan->moved->sharding[tensor];
    if (sharding >= 0 && made >= 0 && made != sharding)
        m->ssa[tensor] =
            put_reshard(m, tensor, m->ssa[tensor], made, sharding, "sdy.sharding_constraint");
}

static void put_op(Module *m, int32_t op)
{
    const Graph *graph = m->session->graph;
    const GraphOp *node = &graph->ops[op];
    const int32_t *input = op_inputs(graph, op), *output = op_outputs(graph, op);
    Buf operands = buf_new(m->arena);
    int32_t *made = arena_array(m->arena, int32_t, node->n_outputs + 1);
    int n = 0;

    for (int i = 0; i < node->n_inputs; i++)
        if (input[i] >= 0)
            buf_printf(&operands, "%s%s", operands.n ? ", " : "",
                       resharded_to(m, input[i], m->plan->moved->need[node->input + i]));
    for (int o = 0; o < node->n_outputs; o++)
        if (output[o] >= 0)
            made[n++] = output[o];
    put_why(m, m->why_op[op], "    ");
    for (int o = 0; o < n; o++) {
        put_why(m, m->why[made[o]], "    ");
        if (shape_of(m, made[o]))
            put_full_sharding(m, m->plan->moved->made[made[o]], "    ");
    }
    const char *name = new_name(m);
    buf_puts(m->out, "    ");
    if (n > 0)
        buf_printf(m->out, n > 1 ? "%s:%d = " : "%s = ", name, n);
    buf_puts(m->out, "stablehlo.custom_call @");
    mlir_string(str_from(op_operator(graph, op)), m->out);
    buf_printf(m->out, "(%s) ", operands.s ? operands.s : "");
    put_attributes(m, op, made, n);
    buf_puts(m->out, " : ");
    put_types(m, input, node->n_inputs);
    buf_puts(m->out, " -> ");
    put_types(m, made, n);
    put_location(n > 0 ? name_of(m, made[0]) : op_name(graph, op), m->out);
    buf_putc(m->out, '\n');
    for (int o = 0; o < n; o++)
        m->ssa[made[o]] = n > 1 ? arena_printf(m->arena, "%s#%d", name, o) : name;
    for (int o = 0; o < n; o++)
        put_constraint(m, made[o]);
}

static void put_stage(Module *m, int32_t op, int *stage)
{
    int now = stage_of(m->plan, op);
    if (now == *stage)
        return;
    *stage = now;
    buf_printf(m->out, "    // stage %d, on ", now);
    submesh_format(m->mesh, m->plan->decided->submeshes[plan_devices(m->plan, op)], m->out);
    buf_putc(m->out, '\n');
}

/* ---- the module ---- */

static void put_mesh(Module *m)
{
    const Mesh *mesh = m->mesh;
    buf_puts(m->out, "  sdy.mesh @mesh = <[");
    for (int a = 0; a < mesh->n_axes; a++)
        buf_printf(m->out, "%s\"%s\"=%" PRId64, a ? ", " : "", mesh->axes[a].name,
                   mesh->axes[a].size);
    buf_putc(m->out, ']');
    for (int64_t i = 0; mesh->devices && i < mesh->n_devices; i++)
        buf_printf(m->out, "%s%" PRId64, i ? ", " : ", device_ids=[", mesh_device(mesh, i));
    buf_puts(m->out, mesh->devices ? "]>\n" : ">\n");
}

static void put_argument(Module *m, int32_t tensor, int i)
{
    m->ssa[tensor] = arena_printf(m->arena, "%%arg%d", i);
    buf_puts(m->out, i ? ",\n" : "\n");
    put_why(m, m->why[tensor], "      ");
    put_full_sharding(m, m->plan->moved->sharding[tensor], "      ");
    buf_printf(m->out, "      %s: ", m->ssa[tensor]);
    put_type(m, tensor, m->out);
    buf_puts(m->out, " {sdy.sharding = #sdy.sharding");
    put_sharding(m, m->plan->moved->sharding[tensor], m->out);
    if (pinned_dims(m, tensor)) {
        buf_puts(m->out, ", dimscope.pinned = ");
        put_dims(pinned_dims(m, tensor), m->out);
    }
    int32_t used = values_read_as(m->session, tensor);
    if (tensor_is_parameter(m->session->inferred, tensor) && used >= 0 &&
        used != m->plan->moved->sharding[tensor]) {
        buf_puts(m->out, ", dimscope.used = #sdy.sharding");
        put_sharding(m, used, m->out);
    }
    buf_putc(m->out, '}');
    put_location(name_of(m, tensor), m->out);
}

static void put_arguments(Module *m)
{
    const Graph *graph = m->session->graph;
    int n = 0;
    for (int i = 0; i < graph->n_inputs; i++)
        if (m->values.name[graph->inputs[i]] && !m->ssa[graph->inputs[i]])
            put_argument(m, graph->inputs[i], n++);
    for (int i = 0; i < m->values.n_parameters; i++)
        if (!m->ssa[m->values.parameter[i]])
            put_argument(m, m->values.parameter[i], n++);
}

static void put_results(Module *m)
{
    const Graph *graph = m->session->graph;
    buf_puts(m->out, ") -> (");
    for (int i = 0; i < graph->n_outputs; i++) {
        buf_puts(m->out, i ? ", " : "");
        put_type(m, graph->outputs[i], m->out);
        if (!shape_of(m, graph->outputs[i]))
            continue;
        buf_puts(m->out, " {sdy.sharding = #sdy.sharding");
        put_sharding(m, m->plan->moved->sharding[graph->outputs[i]], m->out);
        buf_putc(m->out, '}');
    }
    buf_puts(m->out, ") {\n");
}

static void put_return(Module *m)
{
    const Graph *graph = m->session->graph;
    for (int i = 0; i < graph->n_outputs; i++)
        if (!m->ssa[graph->outputs[i]])
            put_constant(m, graph->outputs[i]);
    buf_puts(m->out, "    return");
    for (int i = 0; i < graph->n_outputs; i++)
        buf_printf(m->out, "%s%s", i ? ", " : " ", m->ssa[graph->outputs[i]]);
    for (int i = 0; i < graph->n_outputs; i++) {
        buf_puts(m->out, i ? ", " : " : ");
        put_type(m, graph->outputs[i], m->out);
    }
    buf_puts(m->out, "\n  }\n}\n");
}

static void put_head(Module *m)
{
    Buf mesh = buf_new(m->arena);
    mesh_format(m->mesh, &mesh);
    buf_puts(m->out, "// ");
    mlir_comment(str_from(path_base(m->session->graph->file)), m->out);
    buf_printf(m->out, " on %s: a dimscope plan in Shardy's notation.\n", mesh.s);
    values_put_unpinned(m->session, "//", m->out);
    buf_puts(
        m->out,
        "// Each op is a custom call with its sharding rule, each value has its sharding, each\n"
        "// reshard is an op. dimscope.pinned: the dims that a person decided on.\n"
        "// dimscope.used: how a parameter is used that is stored with another sharding.\n"
        "module ");
    if (m->plan->decided->n_submeshes > 1)
        buf_printf(m->out, "attributes {dimscope.stages = %d : i64} ",
                   m->plan->decided->n_submeshes);
    buf_puts(m->out, "{\n");
    put_mesh(m);
    buf_puts(m->out, "  func.func public @main(");
}

static void add_notes(const Module *m, ExportNotes *notes)
{
    if (m->n_simplified)
        export_note(notes,
                    "%d shardings split a dim at two strides, split it unevenly by several axes, "
                    "or are partial by a reduction other than sum: sdy cannot express these, so "
                    "they are sharded by fewer axes, with a comment",
                    m->n_simplified);
    if (m->n_stand_ins)
        export_note(notes, "%d types have elements that MLIR does not have: written as i64",
                    m->n_stand_ins);
    if (m->plan->decided->n_submeshes > 1)
        export_note(notes, "sdy has no stages: a value on a part of the mesh is written as if it "
                           "were on the whole mesh, stages are comments");
    if (m->session->graph->n_bodies > 0)
        export_note(notes, "branches and loop bodies are written inline");
}

bool shardy_code(const Session *session, Buf *out, ExportNotes *notes, Error *err)
{
    Module m = {.session = session, .plan = session->plan, .mesh = session->mesh};
    int stage = -1;

    (void)err;
    m.arena = out->arena;
    m.out = out;
    m.values = values_of(session, m.arena);
    m.ssa = arena_array(m.arena, const char *, session->graph->n_tensors);
    m.first = arena_array(m.arena, int32_t, session->graph->n_tensors);
    read_decisions(&m);
    put_head(&m);
    put_arguments(&m);
    put_results(&m);
    for (int i = 0; i < session->inferred->n_program; i++) {
        put_stage(&m, session->inferred->program[i], &stage);
        put_op(&m, session->inferred->program[i]);
    }
    put_return(&m);
    add_notes(&m, notes);
    return true;
}

/* ---- the training step ---- */

/* What the update reads of the step: gradients as it reads them, then states as they are stored. */
static void put_update(Module *m)
{
    const Graph *graph = m->session->graph;
    int n = 0;

    buf_puts(m->out, "\n  // What the update reads: gradients as it reads them, states as they are "
                     "stored.\n  func.func public @update(");
    for (int pass = 0; pass < 2; pass++)
        for (int32_t t = 0; t < graph->n_tensors; t++) {
            int32_t of;
            Stored value = stored_value(graph, t, &of);
            if (value != (pass == 0 ? STORED_GRADIENT : STORED_STATES) || !shape_of(m, t))
                continue;
            int32_t lies =
                pass == 0 ? step_gradient_read(m->session, t) : m->plan->moved->sharding[t];
            buf_printf(m->out, "%s\n      %%arg%d: ", n > 0 ? "," : "", n);
            n++;
            put_type(m, t, m->out);
            buf_puts(m->out, " {sdy.sharding = #sdy.sharding");
            put_sharding(m, lies, m->out);
            buf_putc(m->out, '}');
            put_location(tensor_name(graph, t), m->out);
        }
    buf_puts(m->out, ") {\n    return\n  }\n}\n");
}

void shardy_step(const Session *model, const Session *step, Buf *top, Buf *file, ExportNotes *notes)
{
    static const char END[] = "}\n";
    Arena *arena = arena_new();
    Module m = {
        .session = step, .plan = step->plan, .mesh = step->mesh, .arena = arena, .out = file};
    StepValues values = step_values(arena, model, step);
    const char *unsaid[3];
    int n = 0;

    if (values.again.n > 0)
        unsaid[n++] = arena_printf(
            arena, "which modules are recomputed in the backward pass: %d modules, the first is %s",
            values.again.n, values.again.at[0]);
    if (values.n_stages > 1 || values.parallel.n_micro_batches > 1)
        unsaid[n++] = arena_printf(arena, "%d micro-batches%s%s", values.parallel.n_micro_batches,
                                   values.parallel.schedule ? " in the schedule " : "",
                                   values.parallel.schedule ? values.parallel.schedule : "");
    unsaid[n++] = "ops of the backward pass: XLA derives them and their shardings";
    step_put_head(step, "//", "@update has its gradients and states", unsaid, n, top, notes);
    assert(str_ends(buf_str(file), str_from(END)));
    file->n -= strlen(END);
    put_update(&m);
    arena_free(arena);
}
