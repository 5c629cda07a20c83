#include "core/peers/nnscaler/code.h"

#include "core/cost/step_comm.h"
#include "core/plan/stage.h"
#include "core/code/modules.h"
#include "core/code/step_values.h"
#include "core/peers/nnscaler/code_operators.h"
#include "core/peers/nnscaler/code_text.h"
#include "core/code/python_mesh.h"
#include "core/rules/registry.h"

#include <inttypes.h>

typedef struct {
    Arena *arena;
    const Session *session;
    const Plan *plan;
    const Mesh *mesh;
    AtomSet staged;      /* axes that distinguish the devices of stages */
    AtomSet units;       /* of axes over which nothing moves: nnScaler's scale units */
    int n_inexpressible; /* cuts that nnScaler cannot express */
    int n_stored;        /* parameters that are gathered at use */
    int n_mixed;         /* modules that one axis shards and another does not */
} NnscalerWriting;

/* ---- cuts ---- */

/* The dim that the axis shards, or -1. */
static int dim_of_axis(const NnscalerWriting *w, const Sharding *sharding, int axis)
{
    for (int d = 0; d < (int)sharding->n_dims; d++)
        if (cut_atoms(&sharding->dim[d]) & mesh_axis_atoms(w->mesh, axis))
            return d;
    return -1;
}

static const Sharding *sharding_at(const NnscalerWriting *w, int32_t id)
{
    return shardings_at(w->plan->shardings, id);
}

typedef struct {
    Buf text, inexpressible;
    int n;
} Cuts;

/* Adds the dim of a module's tensor that the axis shards; false if there is none. */
static bool add_cut(NnscalerWriting *w, Cuts *cuts, int axis, const char *role, int32_t id)
{
    const Sharding *sharding = sharding_at(w, id);
    int d = dim_of_axis(w, sharding, axis);
    if (d < 0)
        return false;
    if (!nnscaler_is_plain(w->mesh, &sharding->dim[d], axis)) {
        Buf ours = buf_new(w->arena);
        cut_format(&sharding->dim[d], w->mesh, &ours);
        buf_puts(&cuts->inexpressible, cuts->inexpressible.n ? "; " : "");
        python_comment(str_from(w->mesh->axes[axis].name), &cuts->inexpressible);
        buf_printf(&cuts->inexpressible, " shards nothing: %s is ", role ? role : "it");
        python_comment(buf_str(&ours), &cuts->inexpressible);
        w->n_inexpressible++;
        return true;
    }
    buf_puts(&cuts->text, cuts->n++ ? ", " : "");
    python_string(str_from(w->mesh->axes[axis].name), &cuts->text);
    if (role)
        buf_printf(&cuts->text, ": (\"%s\", %d, %" PRId64 ")", role, d, sharding->n_dims);
    else
        buf_printf(&cuts->text, ": %d", d);
    return true;
}

/* True if the axis shards ops of the plan. */
static bool is_cutting(const NnscalerWriting *w, int axis)
{
    AtomSet atoms = mesh_axis_atoms(w->mesh, axis);
    return atoms && !((w->staged | w->units) & atoms);
}

/* Finds the axes of stages and those of scale units: each coordinate computes independently on its
 * part of the inputs; no parameter is sharded by them, nothing is partial over them or moves along
 * them. */
static void find_units(NnscalerWriting *w)
{
    for (int i = 0; i < w->plan->decided->n_submeshes; i++)
        w->staged |= w->plan->decided->submeshes[i].fixed;
    AtomSet moved = w->staged, inputs = 0;
    const Graph *graph = w->session->graph;
    for (int i = 0; i < w->plan->moved->n_reshards; i++) {
        const ReshardPath *path = w->plan->moved->reshards[i].path;
        for (int k = 0; path && k < path->n_steps; k++)
            moved |= path->step[k].atoms;
    }
    for (int t = 0; t < graph->n_tensors; t++)
        if (w->plan->moved->made[t] >= 0) {
            moved |= sharding_partials(sharding_at(w, w->plan->moved->made[t]));
            if (tensor_is_parameter(w->session->inferred, t))
                moved |= sharding_atoms(sharding_at(w, w->plan->moved->made[t]));
        }
    for (int i = 0; i < graph->n_inputs; i++)
        if (w->plan->moved->made[graph->inputs[i]] >= 0)
            inputs |= sharding_atoms(sharding_at(w, w->plan->moved->made[graph->inputs[i]]));
    for (int a = 0; a < w->mesh->n_axes; a++) {
        AtomSet atoms = mesh_axis_atoms(w->mesh, a);
        if (!(moved & atoms) && (inputs & atoms) == atoms)
            w->units |= atoms;
    }
}

static Cuts cuts_new(NnscalerWriting *w)
{
    return (Cuts){.text = buf_new(w->arena), .inexpressible = buf_new(w->arena)};
}

static void push_cuts(NnscalerWriting *w, Str key, const Cuts *cuts, PythonEntries *out)
{
    const char *comment = cuts->inexpressible.n ? cuts->inexpressible.s : NULL;
    if (cuts->n || comment)
        vec_push(w->arena, out,
                 (PythonEntry){key, arena_printf(w->arena, "{%s}", cuts->text.s), comment});
}

static void add_module(NnscalerWriting *w, const CodeModule *module, PythonEntries *out)
{
    Cuts cuts = cuts_new(w);
    int32_t made = module->out < 0 ? -1 : w->plan->moved->made[module->out];
    int n_axes = 0;
    for (int a = 0; a < w->mesh->n_axes; a++) {
        if (!is_cutting(w, a))
            continue;
        n_axes++;
        bool cut = module->reads >= 0 && add_cut(w, &cuts, a, "in", module->reads);
        cut = cut || (made >= 0 && add_cut(w, &cuts, a, "out", made));
        if (!cut && module->weight_reads >= 0)
            add_cut(w, &cuts, a, "weight", module->weight_reads);
    }
    w->n_mixed += cuts.n > 0 && cuts.n < n_axes;
    w->n_stored += module->weight >= 0 && module->weight_reads >= 0 &&
                   module->weight_reads != w->plan->moved->sharding[module->weight];
    push_cuts(w, module->path, &cuts, out);
}

static void add_input(NnscalerWriting *w, int32_t tensor, PythonEntries *out)
{
    Cuts cuts = cuts_new(w);
    for (int a = 0; a < w->mesh->n_axes && w->plan->moved->made[tensor] >= 0; a++)
        if (is_cutting(w, a))
            add_cut(w, &cuts, a, NULL, w->plan->moved->made[tensor]);
    push_cuts(w, str_from(tensor_name(w->session->graph, tensor)), &cuts, out);
}

static void write_cuts(NnscalerWriting *w, Buf *out, ExportNotes *notes)
{
    PythonEntries modules = {0}, inputs = {0};
    CodeModule module;
    const Graph *graph = w->session->graph;
    for (int i = 0; i < naming_n_paths(w->session->naming); i++)
        if (code_module(w->session, i, &module))
            add_module(w, &module, &modules);
    for (int i = 0; i < graph->n_inputs; i++)
        add_input(w, graph->inputs[i], &inputs);
    buf_puts(out, "\n# For arguments of the model: the dim that an axis shards.\n");
    python_dict("INPUTS", &inputs, 0, out);
    nnscaler_operators(w->session, ~(w->staged | w->units), out, notes);
    buf_putc(out, '\n');
    python_dict("CUTS", &modules, 0, out);
}

/* ---- mesh and stages ---- */

/* Devices of the first unit in this part of the mesh, by position in the unit. */
static void put_devices(const NnscalerWriting *w, SubMesh part, Buf *out)
{
    int64_t place = 0, n = 0;
    buf_putc(out, '[');
    for (int64_t at = 0; at < w->mesh->n_devices; at++)
        if (mesh_stands_first(w->mesh, w->units, at)) {
            if (submesh_has(w->mesh, part, at))
                buf_printf(out, "%s%" PRId64, n++ ? ", " : "", place);
            place++;
        }
    buf_putc(out, ']');
}

/* nnScaler numbers ranks unit by unit. */
static void put_ranks(const NnscalerWriting *w, Buf *out)
{
    int64_t n_units = mesh_atoms_size(w->mesh, w->units), rank = 0;
    bool same = true;
    Buf list = buf_new(w->arena);
    for (int64_t unit = 0; unit < n_units; unit++)
        for (int64_t at = 0; at < w->mesh->n_devices; at++)
            if (mesh_stands_first(w->mesh, w->units, at)) {
                int64_t position = mesh_group_member(w->mesh, w->units, at, unit);
                int64_t device = mesh_device(w->mesh, position);
                buf_printf(&list, "%s%" PRId64, rank ? ", " : "", device);
                same &= device == rank++;
            }
    if (same)
        buf_puts(out, "range(len(DEVICES) * UNITS)");
    else
        buf_printf(out, "[%s]", list.s);
}

/* The outermost module whose first op this is, so that a trace of the module starts at it. */
static Str module_begun(const NnscalerWriting *w, int first)
{
    const Graph *graph = w->session->graph;
    const int32_t *program = w->session->inferred->program;
    Str path = str_from(op_path(graph, program[first])), begun = path;
    while (path.n > 0) {
        bool fresh = true;
        for (int i = 0; i < first && fresh; i++) {
            Str other = str_from(op_path(graph, program[i]));
            fresh = !(str_starts(other, path) && (other.n == path.n || other.s[path.n] == '.'));
        }
        if (fresh)
            begun = path;
        while (path.n > 0 && path.s[path.n - 1] != '.')
            path.n--;
        path.n -= path.n > 0;
    }
    return begun;
}

static void write_stages(const NnscalerWriting *w, Buf *out)
{
    const Stages *stages = w->plan->decided->stages;
    int n = stages ? stages->n : 0;
    buf_puts(out, "\n# The first module of each stage, and its devices.\nSTAGES = [");
    for (int s = 0; s < n; s++) {
        buf_puts(out, "\n    (");
        python_string(module_begun(w, stages->at[s].first), out);
        buf_puts(out, ", ");
        put_devices(w, w->plan->decided->submeshes[stages->at[s].devices], out);
        buf_puts(out, "),");
    }
    buf_puts(out, n ? "\n]\n" : "]\n");
    buf_puts(out, "SCHEDULE = ");
    python_string(str_from(n ? stages->schedule : "1f1b"), out);
    buf_printf(out, "\nMICRO_BATCHES = %d\n", plan_micro_batches(w->plan));
}

static void put_axes(const NnscalerWriting *w, AtomSet of, Buf *out)
{
    int n = 0;
    buf_putc(out, '{');
    for (int a = 0; a < w->mesh->n_axes; a++)
        if (mesh_axis_atoms(w->mesh, a) & of) {
            buf_puts(out, n++ ? ", " : "");
            python_string(str_from(w->mesh->axes[a].name), out);
            buf_printf(out, ": %" PRId64, w->mesh->axes[a].size);
        }
    buf_puts(out, "}");
}

static void write_mesh(NnscalerWriting *w, Buf *out)
{
    AtomSet all = 0;
    find_units(w);
    for (int a = 0; a < w->mesh->n_axes; a++) {
        AtomSet atoms = mesh_axis_atoms(w->mesh, a);
        w->staged |= w->staged & atoms ? atoms : 0;
        all |= atoms;
    }
    buf_puts(out, "DEVICES = ");
    put_devices(w, (SubMesh){0}, out);
    buf_puts(out, "   # of a scale unit, in mesh order\nAXES = ");
    put_axes(w, all & ~w->staged & ~w->units, out);
    buf_puts(out, "\nUNIT_AXES = ");
    put_axes(w, w->units, out);
    buf_printf(out, "\nUNITS = %" PRId64 "\nRANKS = ", mesh_atoms_size(w->mesh, w->units));
    put_ranks(w, out);
    buf_puts(out, "  # devices of the plan, by rank of nnScaler\n");
}

static void write_again(const NnscalerWriting *w, Buf *out)
{
    Paths again = step_again(w->arena, w->session);

    buf_puts(out, "\n# Modules that run again in the backward pass.\nRECOMPUTE = [");
    for (int i = 0; i < again.n; i++) {
        buf_puts(out, i > 0 ? ", " : "");
        python_string(str_from(again.at[i]), out);
    }
    buf_puts(out, "]\n");
}

bool nnscaler_code(const Session *session, Buf *out, ExportNotes *notes, Error *err)
{
    Arena *arena = arena_new();
    NnscalerWriting w = {
        .arena = arena, .session = session, .plan = session->plan, .mesh = session->mesh};
    (void)err;
    python_title(session, "nnScaler 0.9", out);
    buf_puts(out, nnscaler_head_text);
    nnscaler_registrations(session, out, notes);
    write_mesh(&w, out);
    write_stages(&w, out);
    write_again(&w, out);
    write_cuts(&w, out, notes);
    buf_puts(out, nnscaler_layouts_text);
    buf_puts(out, nnscaler_policy_text);
    if (w.n_inexpressible > 0)
        export_note(
            notes,
            "%d shardings are not equal contiguous parts: they are replicated, with a comment",
            w.n_inexpressible);
    if (w.n_mixed > 0)
        export_note(notes,
                    "%d modules are sharded by one axis and not by another: nnScaler allows that "
                    "only with inference_only",
                    w.n_mixed);
    if (w.n_stored > 0)
        export_note(notes,
                    "%d weights are stored in another sharding than they are used in: nnScaler "
                    "does that with use_zero, not in its plan",
                    w.n_stored);
    arena_free(arena);
    return true;
}

/* ---- the training step ---- */

static bool has_schedule(const char *name)
{
    static const char *const known[] = {"1f1b", "1f1b_plus", "gpipe", "chimera_direct"};

    for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], name) == 0)
            return true;
    return false;
}

void nnscaler_step(const Session *model, const Session *step, Buf *top, Buf *file,
                   ExportNotes *notes)
{
    Arena *arena = arena_new();
    StepValues values = step_values(arena, model, step);
    const Parallel *parallel = &values.parallel;
    NnscalerWriting w = {
        .arena = arena, .session = model, .plan = model->plan, .mesh = model->mesh};
    const char *unsaid[4];
    int n = 0;

    find_units(&w);
    int64_t units = mesh_atoms_size(w.mesh, w.units);
    bool zero = parallel->stored && units > 1 && units % parallel->shards == 0;
    int64_t groups = zero ? units / parallel->shards : 0;
    if (parallel->stored && !zero)
        unsaid[n++] = "optimizer states are sharded, but not over scale units, as use_zero does it";
    if (zero && parallel->stored & STORED_PARAMETER)
        unsaid[n++] =
            "parameters are stored sharded too, but use_zero shards only optimizer states";
    if (values.n_stages > 1 && !has_schedule(parallel->schedule))
        unsaid[n++] = arena_printf(arena, "nnScaler has no schedule %s",
                                   parallel->schedule ? parallel->schedule : "of forwards alone");
    if (values.n_stages == 1 && parallel->n_micro_batches > 1)
        unsaid[n++] = arena_printf(
            arena, "the program itself must run the %d micro-batches, since there are no stages",
            parallel->n_micro_batches);
    step_put_head(step, "#", "compute_config() and RECOMPUTE have what nnScaler accepts", unsaid, n,
                  top, notes);
    buf_printf(file,
               "\n\n# Groups of scale units that share the optimizer states; 0: each has "
               "all.\nZERO_GROUPS = %" PRId64 "\nZERO_SCATTERS = %s\n",
               groups, groups == 1 && parallel->stored & STORED_GRADIENT ? "True" : "False");
    buf_puts(file, nnscaler_step_text);
    arena_free(arena);
}
