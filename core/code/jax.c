#include "core/code/code.h"

#include "core/code/jax_axes.h"
#include "core/code/jax_trees.h"
#include "core/code/modules.h"
#include "core/code/step_values.h"
#include "core/session/pins_text.h"
#include "core/code/python_mesh.h"

#include <inttypes.h>

typedef struct {
    const Session *session;
    const Plan *plan;
    Arena *arena;
    CodeValues values;
    JaxAxes axes;
    int n_simplified, n_left;
    Buf *out;
} Jax;

typedef enum { TABLE_GIVEN, TABLE_MADE, TABLE_REDUCED } TableKind;

/* ---- a PartitionSpec ---- */

static void put_names(const Jax *jax, const uint8_t *atom, int n, Buf *out)
{
    const char *comma = "";
    for (int i = 0; i < n; i += jax->axes.length[atom[i]]) {
        buf_puts(out, comma);
        python_string(str_from(jax->axes.name[atom[i]]), out);
        comma = ", ";
    }
}

/* Writes the PartitionSpec. Returns true if it expresses the whole sharding; a dim that it cannot
 * express is left to XLA if possible. */
static bool put_spec(const Jax *jax, const Sharding *sharding, bool free, bool partials, Buf *out)
{
    bool says_all = true;
    buf_puts(out, "P(");
    for (int64_t d = 0; d < sharding->n_dims; d++) {
        const Cut *cut = &sharding->dim[d];
        int n = values_even_atoms(cut, jax->session->mesh), names = 0;
        bool all = cut_is_whole(cut) || (cut->n == 1 && n == cut->digit[0].n);
        for (int i = 0; i < n; i += jax->axes.length[cut->digit[0].atom[i]])
            names++;
        says_all &= all;
        buf_puts(out, d ? ", " : "");
        buf_puts(out, !all && free ? "U" : names == 0 ? "None" : names > 1 ? "(" : "");
        if (names > 0 && (all || !free)) {
            put_names(jax, cut->digit[0].atom, n, out);
            buf_puts(out, names > 1 ? ")" : "");
        }
    }
    uint8_t atom[ATOMS_MAX];
    int n = mesh_list_set(jax->session->mesh, sharding_partials(sharding), atom);
    if (n > 0 && partials) {
        buf_printf(out, "%sunreduced={", sharding->n_dims ? ", " : "");
        put_names(jax, atom, n, out);
        buf_putc(out, '}');
    }
    buf_putc(out, ')');
    return says_all;
}

/* ---- tables ---- */

static void add_row(Jax *jax, PythonEntries *rows, int32_t tensor, const Sharding *sharding,
                    TableKind kind)
{
    Buf spec = buf_new(jax->arena), ours = buf_new(jax->arena), says = buf_new(jax->arena);
    sharding_format(sharding, jax->session->mesh, VIEW_OURS_ASCII, &ours, NULL);
    bool sums = sharding_only_sums(sharding);
    bool all = put_spec(jax, sharding, kind != TABLE_GIVEN, sums && kind != TABLE_REDUCED, &spec);
    if (!sums)
        jax->n_left++;
    else if (!all)
        jax->n_simplified++;
    python_comment(buf_str(&ours), &says);
    buf_puts(&says, !sums                 ? ": left to XLA"
                    : all                 ? ""
                    : kind == TABLE_GIVEN ? PINS_LESS_PYTHON
                                          : ": U is left to XLA");
    vec_push(jax->arena, rows,
             (PythonEntry){str_from(jax->values.name[tensor]), sums ? spec.s : "None", says.s});
}

static void put_rows(const Jax *jax, const char *table, const char *says, const PythonEntries *rows)
{
    buf_printf(jax->out, "\n# %s\n", says);
    python_dict(table, rows, 0, jax->out);
}

/* The weights that are [out, in], where Flax and Haiku have [in, out]. */
static void put_turned(Jax *jax)
{
    MatmulRoles roles = roles_find(jax->arena, jax->session->inferred);
    Intern *known = intern_new(jax->arena);
    PythonEntries rows = {0};

    for (int i = 0; i < roles.n; i++) {
        int32_t t = jax_turned(jax->session, &roles.at[i]);
        int n = intern_count(known);
        if (t >= 0 && jax->values.name[t] && intern_put(known, &t, sizeof t) == n)
            vec_push(jax->arena, &rows, (PythonEntry){str_from(jax->values.name[t]), "True", NULL});
    }
    put_rows(jax, "TURNED", "Weights that are [out, in] here; a kernel of Flax is [in, out].",
             &rows);
}

static void put_given(Jax *jax, const char *table, const char *says, const int32_t *tensor, int n)
{
    PythonEntries rows = {0};
    bool *done = arena_array(jax->arena, bool, jax->session->graph->n_tensors);
    for (int i = 0; i < n; i++) {
        if (jax->values.name[tensor[i]] && !done[tensor[i]])
            add_row(jax, &rows, tensor[i], plan_sharding(jax->plan, tensor[i]), TABLE_GIVEN);
        done[tensor[i]] = true;
    }
    put_rows(jax, table, says, &rows);
}

/* By the model's own names. */
static void put_outputs(Jax *jax)
{
    const Graph *graph = jax->session->graph;
    const char **label = arena_array(jax->arena, const char *, graph->n_outputs + 1);

    for (int i = 0; i < graph->n_outputs; i++) {
        const char **name = &jax->values.name[graph->outputs[i]];
        label[i] = *name;
        *name = *name ? tensor_name(graph, graph->outputs[i]) : NULL;
    }
    put_given(jax, "OUTPUTS", "Shardings of outputs.", graph->outputs, graph->n_outputs);
    for (int i = graph->n_outputs - 1; i >= 0; i--)
        jax->values.name[graph->outputs[i]] = label[i];
}

/* Writes the parameters that all readers need in another sharding than the stored one. */
static void put_used(Jax *jax)
{
    PythonEntries rows = {0};
    for (int i = 0; i < jax->values.n_parameters; i++) {
        int32_t t = jax->values.parameter[i], used = values_read_as(jax->session, t);
        if (jax->values.name[t] && used >= 0 && used != jax->plan->moved->sharding[t])
            add_row(jax, &rows, t, shardings_at(jax->plan->shardings, used), TABLE_GIVEN);
    }
    if (rows.n > 0)
        put_rows(jax, "USED",
                 "Shardings in which ops read the parameters that are stored in another one.",
                 &rows);
}

static void put_made(Jax *jax)
{
    PythonEntries rows = {0}, reduced = {0};
    for (int i = 0; i < jax->values.n_made; i++) {
        int32_t t = jax->values.made[i], read = values_read_as(jax->session, t);
        const Sharding *sharding = plan_sharding(jax->plan, t);
        add_row(jax, &rows, t, sharding, TABLE_MADE);
        const Sharding *as = read < 0 ? NULL : shardings_at(jax->plan->shardings, read);
        if (sharding_partials(sharding) && as && !sharding_partials(as))
            add_row(jax, &reduced, t, as, TABLE_REDUCED);
    }
    put_rows(jax, "ACTIVATIONS", "Outputs of ops. None: XLA decides.", &rows);
    put_rows(jax, "REDUCED", "Unreduced outputs, with the sharding that all of their readers need.",
             &reduced);
}

/* ---- parts of the mesh ---- */

static void put_parts(Jax *jax)
{
    Buf *out = jax->out;
    buf_puts(out,
             "\n# The parts of the mesh that hold values: devices, and the size of each axis.\n"
             "PARTS = {\n");
    for (int p = 0; p < jax->plan->decided->n_submeshes; p++) {
        SubMesh part = jax->plan->decided->submeshes[p];
        buf_puts(out, "    ");
        python_part_name(jax->plan, p, out);
        buf_puts(out, ": (");
        python_devices(jax->session->mesh, part, out);
        buf_puts(out, ", (");
        for (int a = 0; a < jax->axes.n; a++) {
            bool fixed = jax->axes.n_atoms[a] > 0 && (part.fixed >> jax->axes.atom[a] & 1);
            buf_printf(out, "%s%" PRId64, a ? ", " : "", fixed ? 1 : jax->axes.size[a]);
        }
        buf_puts(out, jax->axes.n == 1 ? ",)),\n" : ")),\n");
    }
    buf_puts(out, "}\n");
}

/* Outputs have their own names as well. */
static void add_own_names(const Jax *jax, PythonEntries *rows)
{
    const Graph *graph = jax->session->graph;
    int n = rows->n;

    for (int i = 0; i < graph->n_outputs; i++) {
        const char *label = jax->values.name[graph->outputs[i]];
        Str own = str_from(tensor_name(graph, graph->outputs[i]));
        for (int k = 0; label && k < n; k++)
            if (str_eq(rows->at[k].key, str_from(label)) && !str_eq(own, rows->at[k].key))
                vec_push(jax->arena, rows, ((PythonEntry){own, rows->at[k].value, NULL}));
    }
}

static void put_on(const Jax *jax)
{
    PythonEntries rows = {0};
    if (jax->plan->decided->n_submeshes < 2)
        return;
    python_parts(jax->plan, &jax->values, jax->arena, &rows);
    add_own_names(jax, &rows);
    put_rows(jax, "ON",
             "The parts of the mesh that hold a value; what is not listed is on the whole mesh.",
             &rows);
}

/* ---- the module ---- */

static void put_head(Jax *jax)
{
    Buf *out = jax->out;
    python_title(jax->session, "JAX", out);
    values_put_unpinned(jax->session, "#", out);
    buf_puts(out, "#\n"
                  "#     mesh = plan.make_mesh(");
    buf_puts(out, jax->plan->decided->n_submeshes > 1 ? "part" : "");
    buf_puts(
        out,
        ")\n"
        "#     shardings = plan.parameter_shardings(params, mesh)  # of Flax, NNX or Haiku too\n"
        "#     params = jax.device_put(params, shardings)\n"
        "#     model = jax.jit(apply, in_shardings=(shardings, plan.named(plan.INPUTS, mesh)),\n"
        "#                     out_shardings=plan.named(plan.OUTPUTS, mesh))\n"
        "#\n"
        "# and to train with an optimizer of optax, where step(params, state, inputs) gives\n"
        "# parameters, a state and a loss, and layers are functions of remat():\n"
        "#\n"
        "#     state = jax.eval_shape(optimizer.init, params)\n"
        "#     step = plan.jit_step(step, params, state, mesh)\n"
        "#\n"
        "# and where the model makes a value of ACTIVATIONS:\n"
        "#\n"
        "#     x = plan.constrain(x, NAME, mesh)\n"
        "#\n"
        "# The comment on a line is the sharding: sizes, / axes that shard them, + axes to\n"
        "# reduce over. Where no PartitionSpec expresses it, inputs and parameters are "
        "sharded\n# less, and U lets XLA choose the sharding of an output's dim.\n"
        "import re\n\n"
        "import jax\n"
        "import numpy as np\n"
        "from jax.sharding import Mesh, NamedSharding, PartitionSpec as P\n\n"
        "U = P.UNCONSTRAINED\n");
}

static void put_axes(Jax *jax)
{
    Buf *out = jax->out;
    if (jax->axes.split)
        buf_puts(
            out,
            "\n# Some dims are sharded by a part of an axis, so these are the parts, major first.");
    buf_puts(out, "\nAXES = {");
    for (int a = 0; a < jax->axes.n; a++) {
        buf_puts(out, a ? ", " : "");
        python_string(str_from(jax->axes.axis[a]), out);
        buf_printf(out, ": %" PRId64, jax->axes.size[a]);
    }
    buf_puts(out, "}\n");
}

static void put_mesh(Jax *jax)
{
    Buf *out = jax->out;
    if (jax->plan->decided->n_submeshes > 1) {
        put_parts(jax);
        buf_puts(out,
                 "\n\ndef make_mesh(part=\"\", devices=None):\n"
                 "    \"\"\"The devices of one part as a mesh. A program runs on one "
                 "part.\"\"\"\n"
                 "    numbers, sizes = PARTS[part]\n"
                 "    devices = np.array(jax.devices() if devices is None else devices)\n"
                 "    return Mesh(devices[np.array(numbers)].reshape(sizes), tuple(AXES))\n\n");
        return;
    }
    buf_puts(out, "DEVICES = ");
    python_devices(jax->session->mesh, jax->plan->decided->submeshes[0], out);
    buf_puts(out, "\n\n\ndef make_mesh(devices=None):\n"
                  "    devices = np.array(jax.devices() if devices is None else devices)\n"
                  "    return Mesh(devices[np.array(DEVICES)].reshape(tuple(AXES.values())), "
                  "tuple(AXES))\n\n");
}

/* The modules that are computed again, and how a step is jitted. */
static void put_step(Jax *jax, ExportNotes *notes)
{
    CodePatterns patterns = code_recomputed(jax->session, jax->arena);
    Buf list = buf_new(jax->arena);
    int n = 0;
    for (int i = 0; i < patterns.n; i++) {
        if (patterns.at[i].n == 0) {
            export_note(notes, "the plan recomputes a group of ops that belong to no module: "
                               "RECOMPUTED does not list it");
            continue;
        }
        buf_puts(&list, n++ ? ", " : "");
        python_string(patterns.at[i], &list);
    }
    if (n == 1)
        buf_putc(&list, ',');
    buf_puts(jax->out, "\n\n# Modules that the backward pass computes again.\nRECOMPUTED = (");
    buf_add(jax->out, buf_str(&list));
    buf_puts(jax->out,
             ")\n\n\n"
             "def remat(function, path):\n"
             "    \"\"\"The function of a module; its activations are recomputed where the plan "
             "does so.\"\"\"\n"
             "    if re.sub(r\"\\b\\d+\\b\", \"*\", path) not in RECOMPUTED:\n"
             "        return function\n"
             "    return jax.checkpoint(function, "
             "policy=jax.checkpoint_policies.nothing_saveable)\n"
             "\n\n"
             "def jit_step(step, params, state, mesh):\n"
             "    \"\"\"A training step with the plan's shardings of parameters, optimizer states "
             "and inputs.\"\"\"\n"
             "    own, states = parameter_shardings(params, mesh), state_shardings(state, params, "
             "mesh)\n"
             "    return jax.jit(step, in_shardings=(own, states, named(INPUTS, mesh)),\n"
             "                   out_shardings=(own, states, NamedSharding(mesh, P())),\n"
             "                   donate_argnums=(0, 1))\n");
}

static void put_tail(Jax *jax)
{
    buf_puts(jax->out,
             "\n\ndef named(specs, mesh):\n"
             "    return {name: NamedSharding(mesh, spec) for name, spec in specs.items()}\n");
    buf_puts(jax->out, jax_trees_text);
    buf_puts(jax->out,
             "\n\n"
             "def constrain(x, name, mesh):\n"
             "    \"\"\"x as the plan has it. Only a mesh of explicit axes knows values that are "
             "unreduced:\n"
             "    they are constrained to what their readers need, or not at all if those "
             "differ.\"\"\"\n"
             "    spec = ACTIVATIONS[name]\n"
             "    if spec is not None and spec.unreduced:\n"
             "        spec = REDUCED.get(name)\n"
             "    if spec is None:\n"
             "        return x\n"
             "    return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, spec))\n");
}

static void add_notes(const Jax *jax, ExportNotes *notes)
{
    if (jax->n_simplified)
        export_note(
            notes,
            "%d shardings are uneven, or shard each of several parts of a dim (fused q, k, v), "
            "which no PartitionSpec can express: those dims of inputs and parameters are "
            "replicated, or sharded by fewer axes, and XLA chooses those dims of outputs (a weight "
            "of 3 parts can be stored with a dim of size 3, and sharded on the next dim)",
            jax->n_simplified);
    if (jax->n_left)
        export_note(
            notes,
            "%d values are partial by a reduction other than sum: XLA chooses their sharding",
            jax->n_left);
    if (jax->axes.split)
        export_note(
            notes,
            "some dims are sharded by part of an axis, so the mesh here has those parts as axes");
    if (jax->plan->decided->n_submeshes > 1)
        export_note(notes, "stages run on parts of the mesh, and one jax.jit runs on one part: the "
                           "module has a mesh for each part, and no pipeline schedule");
}

bool code_jax(const Session *session, Buf *out, ExportNotes *notes, Error *err)
{
    Jax jax = {.session = session, .plan = session->plan, .arena = out->arena, .out = out};
    (void)err;
    jax.values = values_of(session, jax.arena);
    jax.axes = jax_axes_of(session->plan, jax.arena);
    put_head(&jax);
    put_axes(&jax);
    put_mesh(&jax);
    put_given(&jax, "PARAMETERS", "Shardings of parameters.", jax.values.parameter,
              jax.values.n_parameters);
    put_turned(&jax);
    put_used(&jax);
    put_given(&jax, "INPUTS", "Shardings of inputs.", session->graph->inputs,
              session->graph->n_inputs);
    put_outputs(&jax);
    put_made(&jax);
    put_on(&jax);
    put_tail(&jax);
    put_step(&jax, notes);
    add_notes(&jax, notes);
    return true;
}

/* ---- the training step ---- */

/* Where the states of an optimizer lie otherwise than their parameter, as under ZeRO. */
static void put_states(Jax *jax, const Session *step, const StepValues *values, Buf *file)
{
    PythonEntries rows = {0};
    Buf table = buf_new(jax->arena);
    for (int i = 0; i < values->at.n; i++) {
        const StepParameter *row = &values->at.at[i];
        if (row->states < 0)
            continue;
        const Sharding *lies = shardings_at(step->plan->shardings, row->states);
        if (!sharding_equal(lies, plan_sharding(jax->plan, row->parameter)))
            add_row(jax, &rows, row->parameter, lies, TABLE_GIVEN);
    }
    if (rows.n == 0)
        return;
    python_dict("STATES", &rows, 0, &table);
    Str rest = buf_str(&table);
    (void)str_take(&rest, '=');
    buf_puts(file,
             "\n\n# What an optimizer keeps of these lies otherwise than they do.\nSTATES |=");
    buf_add(file, rest);
}

void code_jax_step(const Session *model, const Session *step, Buf *top, Buf *file,
                   ExportNotes *notes)
{
    Arena *arena = arena_new();
    Jax jax = {.session = model, .plan = model->plan, .arena = arena};
    StepValues values = step_values(arena, model, step);
    const char *unsaid[2];
    int n = 0, micro_batches = values.parallel.n_micro_batches;

    jax.values = values_of(model, arena);
    jax.axes = jax_axes_of(model->plan, arena);
    put_states(&jax, step, &values, file);
    if (jax.n_simplified > 0)
        export_note(notes, "the training step: %d states are sharded less, as their parameters",
                    jax.n_simplified);
    if (micro_batches > 1)
        unsaid[n++] = arena_printf(arena, "its %d micro-batches, whose gradients step() adds up",
                                   micro_batches);
    unsaid[n++] = "the loss and the optimizer's numbers, which are the program's";
    step_put_head(step, "#", "jit_step() has its states (STATES) and remat() what runs again",
                  unsaid, n, top, notes);
    arena_free(arena);
}
