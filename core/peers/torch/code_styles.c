#include "core/peers/torch/code_state.h"

#include "core/code/python_fold.h"
#include "core/peers/torch/code_text.h"
#include "core/peers/torch/styling.h"
#include "core/plan/stage.h"
#include "core/session/system_settings.h"

#include <ctype.h>
#include <inttypes.h>

typedef struct {
    TorchWriting *w;
    TorchStyles styles;
    ExportNotes *notes;
    Buf *out;
    const char *sharded[MESH_AXES_MAX], *copied[MESH_AXES_MAX]; /* axes of the batch */
    int n_sharded, n_copied, n_experts;
    int n_planned;           /* axes of tensors and experts */
    int stage_axis;          /* -1 */
    PythonEntries units;     /* patterns of equal layers, "model.layers.*" */
    bool recomputes;         /* layers */
    const char *low;         /* torch's dtype of 16-bit parameters; NULL */
    const char *reduce_type; /* of their gradients */
    const char *schedule;    /* the class of torch that runs the stages; NULL: none */
} StylesWriter;

/* ---- what the file needs ---- */

static bool has_plan(const StylesWriter *it, int axis)
{
    return it->styles.use[axis] == AXIS_TENSOR || it->styles.use[axis] == AXIS_EXPERTS;
}

static void find_axes(StylesWriter *it)
{
    const Mesh *mesh = it->w->mesh;
    it->stage_axis = -1;
    for (int a = 0; a < mesh->n_axes; a++) {
        it->n_planned += has_plan(it, a);
        if (it->styles.use[a] == AXIS_STAGE)
            it->stage_axis = a;
        it->n_experts += it->styles.use[a] == AXIS_EXPERTS;
        if (it->styles.use[a] == AXIS_TENSOR || it->styles.use[a] == AXIS_STAGE)
            continue;
        if (it->styles.stored[a])
            it->sharded[it->n_sharded++] = mesh->axes[a].name;
        else if (it->styles.use[a] != AXIS_IDLE)
            it->copied[it->n_copied++] = mesh->axes[a].name;
    }
}

/* "model.layers.*" of "model.layers.*.mlp"; empty if no module of it is numbered. */
static Str unit_of(Str pattern)
{
    for (size_t i = 0; i < pattern.n; i++)
        if (pattern.s[i] == '*')
            return (Str){pattern.s, i + 1};
    return (Str){0};
}

static bool has_unit(const StylesWriter *it, Str pattern)
{
    for (int i = 0; i < it->units.n; i++)
        if (str_eq(it->units.at[i].key, pattern))
            return true;
    return false;
}

static void find_units(StylesWriter *it)
{
    for (int i = 0; i < it->styles.modules.n; i++) {
        Str unit = unit_of(it->styles.modules.at[i].pattern);
        if (unit.n > 1 && !has_unit(it, unit))
            vec_push(it->w->arena, &it->units, (PythonEntry){unit, "", NULL});
    }
}

static void find_types(StylesWriter *it)
{
    const TorchWriting *w = it->w;
    for (int i = 0; i < it->styles.modules.n && !it->low; i++) {
        const StyledModule *m = &it->styles.modules.at[i];
        for (int k = 0; k < m->n_parameters && !it->low; k++) {
            const uint8_t *types = w->session->inferred->dtype;
            uint8_t type = types[m->parameter[k]];
            int32_t gradient = graph_find_tensor(
                w->graph, str_from(arena_printf(w->arena, "%s~grad",
                                                tensor_name(w->graph, m->parameter[k]))));
            if (type != DT_BF16 && type != DT_F16)
                continue;
            it->low = type == DT_BF16 ? "bfloat16" : "float16";
            bool wide = gradient >= 0 && types[gradient] == DT_F32;
            it->reduce_type = wide ? "float32" : it->low;
        }
    }
}

/* The module that a recomputed group of ops is, as a pattern; empty if they have none in common. */
static Str group_pattern(StylesWriter *it, int group)
{
    const Plan *plan = it->w->plan;
    Str common = {0};
    for (int32_t op = 0; op < it->styles.n_forward; op++) {
        if (recompute_group(plan, op) != group)
            continue;
        Str path = str_from(op_path(it->w->graph, op));
        common = common.n ? code_common_path(common, path) : path;
    }
    return torch_pattern(it->w->arena, common, false);
}

static void find_recomputed(StylesWriter *it)
{
    if (!it->w->plan->decided->recompute)
        return;
    int group = -1;
    for (int32_t op = 0; op < it->styles.n_forward && group < 0; op++)
        group = recompute_group(it->w->plan, op);
    Str pattern = group < 0 ? (Str){0} : group_pattern(it, group);
    it->recomputes = pattern.n > 0 && has_unit(it, pattern);
    if (group >= 0 && !it->recomputes)
        export_note(it->notes,
                    "the plan recomputes %s, which is not a layer: use a fused attention, or "
                    "torch.utils.checkpoint",
                    pattern.n ? arena_str(it->notes->arena, pattern) : "a group of ops");
}

/* ---- the head ---- */

/* Whether an output of the model stays a DTensor, sharded by the classes. */
static bool gives_logits(const StylesWriter *it)
{
    const Graph *graph = it->w->graph;
    for (int i = 0; i < it->styles.modules.n; i++)
        for (int a = 0; a < it->w->mesh->n_axes; a++) {
            const StyledModule *m = &it->styles.modules.at[i];
            bool kept =
                m->style[a] && str_find(str_from(m->style[a]), STR("local_output=False")) >= 0;
            for (int k = 0; k < graph->n_outputs && kept; k++)
                if (m->at.out == graph->outputs[k])
                    return true;
        }
    return false;
}

/* Two all-reduces of torch in place of one of the plan. */
static void write_added(StylesWriter *it, int axis)
{
    Str path = str_from(op_path(it->w->graph, it->styles.added[axis]));
    const char *text = arena_printf(
        it->notes->arena,
        "in %.*s the plan adds two sums over %s and reduces them once; torch reduces each",
        STR_ARG(torch_pattern(it->w->arena, path, true)), it->w->mesh->axes[axis].name);
    buf_printf(it->out, "# I%s.\n", text + 1);
    export_note(it->notes, "%s", text);
}

static void write_usage(StylesWriter *it)
{
    const Mesh *mesh = it->w->mesh;
    const char *before = "; a rank gets its own part of the batch along ";
    if (it->stage_axis >= 0)
        buf_puts(it->out,
                 "# In each process: schedule = pipeline(model, make_mesh(), loss_fn), then\n"
                 "# schedule.step(input_ids, target=labels), on a middle stage step()");
    else
        buf_puts(it->out, "# In each process: parallelize(model, make_mesh())");
    for (int a = 0; a < mesh->n_axes; a++)
        if (it->styles.use[a] == AXIS_BATCH || it->styles.use[a] == AXIS_EXPERTS) {
            buf_printf(it->out, "%s%s", before, mesh->axes[a].name);
            before = ", ";
        }
    buf_puts(it->out, ".\n");
    if (gives_logits(it))
        buf_puts(it->out, "# Logits are a DTensor: use loss_parallel(), or their full_tensor().\n");
    for (int a = 0; a < mesh->n_axes; a++) {
        if (it->styles.stem[a].n == 0)
            continue;
        const char *text = arena_printf(
            it->notes->arena, "each rank of %s runs %.*s in full, which the plan shards",
            mesh->axes[a].name, STR_ARG(torch_module_name(it->w->arena, it->styles.stem[a])));
        buf_printf(it->out, "# E%s.\n", text + 1);
        export_note(it->notes, "%s: no style of torch says how", text);
    }
    for (int a = 0; a < mesh->n_axes; a++)
        if (it->styles.added[a] >= 0)
            write_added(it, a);
    torch_write_views(it->w, &it->styles, it->out, it->notes);
    if (it->n_experts > 0)
        buf_puts(it->out,
                 "# Experts drop no token, whatever the capacity that the plan counts with.\n");
}

static void write_mesh(StylesWriter *it)
{
    const Mesh *mesh = it->w->mesh;
    Buf shape = buf_new(it->w->arena);
    python_mesh_axes(mesh, &shape);
    buf_add(it->out, buf_str(&shape));
    buf_puts(it->out, "\n\n\ndef make_mesh(device_type=\"cuda\"):\n");
    if (!mesh->devices) {
        buf_puts(it->out, "    return init_device_mesh(device_type, MESH_SHAPE, "
                          "mesh_dim_names=MESH_DIM_NAMES)\n");
        return;
    }
    buf_puts(it->out, "    ranks = torch.tensor(");
    torch_write_ranks(it->w, it->out);
    buf_puts(it->out, ").reshape(MESH_SHAPE)\n"
                      "    return DeviceMesh(device_type, ranks, mesh_dim_names=MESH_DIM_NAMES)\n");
}

/* ---- the plan of a tensor axis ---- */

static bool has_pattern(const StyledModule *m, Str pattern)
{
    return str_eq(m->pattern, pattern) || str_eq(m->layer, pattern);
}

/* Whether the model has modules of the pattern that the plan gives no style to: a layer whose
 * mlp is a block of experts has one of the same name. */
static bool has_others(const StylesWriter *it, Str pattern)
{
    for (int i = 0; i < it->styles.blocks.n; i++) {
        const ExpertBlock *block = &it->styles.blocks.at[i];
        bool found = !str_eq(block->pattern, pattern);
        for (int k = 0; k < it->styles.modules.n && !found; k++)
            found = str_eq(it->styles.modules.at[k].path, block->path);
        if (!found)
            return true;
    }
    return false;
}

static bool all_alike(const StylesWriter *it, Str pattern, int axis, const char *style)
{
    if (has_others(it, pattern))
        return false;
    for (int i = 0; i < it->styles.modules.n; i++) {
        const StyledModule *m = &it->styles.modules.at[i];
        const char *other = m->style[axis] ? m->style[axis] : m->inputs[axis];
        if (has_pattern(m, pattern) && (!other || strcmp(other, style) != 0))
            return false;
    }
    return true;
}

typedef struct {
    int axis;
    PythonEntries plan;
    Intern *seen; /* keys */
} AxisPlan;

static void add_style(StylesWriter *it, AxisPlan *plan, const StyledModule *m)
{
    const char *style = m->style[plan->axis] ? m->style[plan->axis] : m->inputs[plan->axis];
    if (!style)
        return;
    bool alike = all_alike(it, m->pattern, plan->axis, style);
    bool layers = alike || all_alike(it, m->layer, plan->axis, style);
    Str key = alike ? m->pattern : layers ? m->layer : m->name;
    int n = intern_count(plan->seen);
    if (intern_put(plan->seen, key.s, key.n) == n)
        vec_push(it->w->arena, &plan->plan,
                 (PythonEntry){key, torch_folded_style(it->w->arena, key, style), NULL});
}

/* "TP": the plan of an axis. */
static const char *axis_name(StylesWriter *it, int axis)
{
    Buf name = buf_new(it->w->arena);
    python_identifier(str_from(it->w->mesh->axes[axis].name), &name);
    for (size_t i = 0; i < name.n; i++)
        name.s[i] = (char)toupper((unsigned char)name.s[i]);
    return name.s;
}

static void write_axis(StylesWriter *it, int axis)
{
    AxisPlan plan = {.axis = axis, .seen = intern_new(it->w->arena)};
    const StyledModules *modules = &it->styles.modules;
    for (int i = 0; i < modules->n; i++) {
        Str path = modules->at[i].path;
        for (int k = modules->n - 1; k > i && modules->at[k].n_parameters == 0; k--)
            if (str_starts(path, modules->at[k].path) && path.s[modules->at[k].path.n] == '.')
                add_style(it, &plan, &modules->at[k]); /* before those that it is around */
        add_style(it, &plan, &modules->at[i]);
    }
    buf_putc(it->out, '\n');
    python_dict(axis_name(it, axis), &plan.plan, 0, it->out);
}

/* ---- parallelize() ---- */

static void put_mesh(StylesWriter *it, const char *const *axis, int n)
{
    buf_puts(it->out, "mesh[");
    for (int i = 0; i < n; i++) {
        buf_puts(it->out, i ? ", " : "");
        python_string(str_from(axis[i]), it->out);
    }
    buf_putc(it->out, ']');
}

/* An error where the plan has a module that the model lacks, of which torch only warns. */
static void write_check(StylesWriter *it)
{
    Buf plans = buf_new(it->w->arena);
    for (int a = 0; a < it->w->mesh->n_axes; a++)
        if (has_plan(it, a))
            buf_printf(&plans, it->n_planned > 1 ? "%s*%s" : "%s%s", plans.n ? ", " : "",
                       axis_name(it, a));
    if (it->n_planned > 0)
        buf_printf(it->out, it->n_planned > 1 ? "    for path in (%s):\n" : "    for path in %s:\n",
                   plans.s);
    if (it->n_planned > 0)
        buf_puts(it->out, "        if not fnmatch.filter(dict(model.named_modules()), path):\n"
                          "            raise KeyError(f\"the model has no {path}\")\n");
}

/* Each style makes a parameter of its own: those that were one become one again. A file without
 * their second names leaves it to the model. */
static void write_ties(StylesWriter *it)
{
    const Inferred *inferred = it->w->session->inferred;
    const Graph *graph = inferred->graph;
    int n = 0;
    for (int i = 0; i < graph->n_also; i++) {
        Str name = str_from(names_text(graph->names, graph->also[i].name));
        int32_t t = graph->also[i].tensor;
        if (!tensor_is_parameter(inferred, t) || str_find(name, STR(".")) < 0 ||
            !torch_styles_change(&it->styles, t))
            continue;
        buf_puts(it->out, "    ");
        python_parameter(name, it->out);
        buf_puts(it->out, " = ");
        python_parameter(str_from(tensor_name(graph, t)), it->out);
        buf_puts(it->out, n++ == 0 ? "  # each style makes its own parameter\n" : "\n");
    }
    if (n == 0 && torch_styles_may_tie(&it->styles, it->w->graph))
        buf_puts(it->out, "    if hasattr(model, \"tie_weights\"):\n"
                          "        model.tie_weights()  # each style makes its own parameter\n");
}

/* An attribute that the model's code has as a number though the axis shards what it counts. */
static void write_split_size(StylesWriter *it, const char *axis)
{
    buf_puts(it->out, "    for module in model.modules():\n"
                      "        if hasattr(module, \"split_size\"):  # of fused q, k and v\n"
                      "            module.split_size //= ");
    put_mesh(it, &axis, 1);
    buf_puts(it->out, ".size()\n");
}

static void write_tensor_axes(StylesWriter *it)
{
    if (it->stage_axis < 0)
        write_check(it);
    for (int a = 0; a < it->w->mesh->n_axes; a++) {
        if (!has_plan(it, a))
            continue;
        const char *axis = it->w->mesh->axes[a].name;
        buf_printf(it->out, "    parallelize_module(model, ");
        put_mesh(it, &axis, 1);
        buf_printf(it->out, it->stage_axis >= 0 ? ", present(model, %s))\n" : ", %s)\n",
                   axis_name(it, a));
        if (it->styles.splits)
            write_split_size(it, axis);
        torch_write_counts(it->w, &it->styles, a, it->out);
        torch_write_copies(it->w, &it->styles, a, it->out);
    }
    if (it->n_planned > 0 && it->stage_axis < 0)
        write_ties(it);
}

static bool is_of_experts(const StylesWriter *it, const char *axis)
{
    return it->styles.use[mesh_find_axis(it->w->mesh, str_from(axis))] == AXIS_EXPERTS;
}

/* The mesh of copies and shards, as replicate() and fully_shard() take it; that of experts is
 * without the axes that shard them, and may be empty. Returns whether it has shards. */
static bool put_batch_mesh(StylesWriter *it, bool of_experts, int *n)
{
    const char *axes[2 * MESH_AXES_MAX];
    int n_copied = 0;
    *n = 0;
    for (int i = 0; i < it->n_copied; i++)
        if (!of_experts || !is_of_experts(it, it->copied[i]))
            axes[(*n)++] = it->copied[i];
    n_copied = *n;
    for (int i = 0; i < it->n_sharded; i++)
        if (!of_experts || !is_of_experts(it, it->sharded[i]))
            axes[(*n)++] = it->sharded[i];
    if (*n > 0)
        put_mesh(it, axes, *n);
    if (*n > (n_copied && *n > n_copied ? 2 : 1))
        buf_puts(it->out, of_experts ? "._flatten(\"batch_of_experts\")" : "._flatten(\"batch\")");
    return *n > n_copied;
}

/* A gradient of an expert is a sum over tokens of all ranks that share the experts. */
static void write_experts(StylesWriter *it)
{
    Buf mesh = buf_new(it->w->arena), *out = it->out;
    int n = 0, first = 0;
    it->out = &mesh;
    const char *call = put_batch_mesh(it, true, &n) ? "fully_shard" : "replicate";
    it->out = out;
    while (it->styles.use[first] != AXIS_EXPERTS)
        first++;
    buf_printf(out,
               "    plan, n_parts = %s, options[\"mesh\"].size()\n"
               "    experts = [model.get_submodule(name) for name, _ in model.named_modules()\n"
               "               if any(fnmatch.fnmatch(name, path) for path in plan)]\n",
               axis_name(it, first));
    if (n > 0)
        buf_printf(
            out,
            "    for module in experts:  # their gradients are sums over tokens of many ranks\n"
            "        %s(module, **{**options, \"mesh\": %s})\n"
            "        module.set_gradient_divide_factor(n_parts)\n",
            call, mesh.s);
    else
        buf_puts(out, "    own = {value for module in experts for value in module.parameters()}\n"
                      "    options[\"ignored_params\"] = own\n"
                      "    for value in own:  # gradients are sums over tokens of many ranks\n"
                      "        value.register_hook(lambda gradient: gradient / n_parts)\n");
}

/* Arguments of replicate() or fully_shard(); with experts, for which one is another, as a dict. */
static void write_arguments(StylesWriter *it, Buf *arguments)
{
    int n;
    Buf *out = it->out;
    uint8_t stored = 0;
    for (int a = 0; a < it->w->mesh->n_axes; a++)
        stored |= it->styles.stored[a];
    bool whole = it->n_sharded > 0 && !(stored & STORED_PARAMETER);
    if (it->low)
        buf_printf(out, "    policy = MixedPrecisionPolicy(torch.%s, torch.%s)\n", it->low,
                   it->reduce_type);
    if (whole)
        buf_puts(out, "    # The plan stores parameters whole; this gathers them once a step.\n");
    it->out = arguments;
    buf_puts(arguments, "mesh=");
    put_batch_mesh(it, false, &n);
    buf_puts(arguments, it->low ? ", mp_policy=policy" : "");
    if (whole || (it->n_sharded > 0 && it->styles.keep))
        buf_puts(arguments, ", reshard_after_forward=False");
    it->out = out;
    if (it->n_experts == 0)
        return;
    buf_printf(out, "    options = dict(%s)\n", arguments->s);
    arguments->n = 0;
    buf_puts(arguments, "**options");
}

/* "model.model.layers": those of a unit "model.layers.*". */
static void put_layers(StylesWriter *it, int unit)
{
    python_module(styling_parent(it->units.at[unit].key), it->out);
}

static void write_batch_axes(StylesWriter *it)
{
    bool batch = it->n_sharded + it->n_copied > 0;
    const char *call = it->n_sharded ? "fully_shard" : "replicate";
    Buf arguments = buf_new(it->w->arena);
    if (batch)
        write_arguments(it, &arguments);
    if (it->n_experts > 0)
        write_experts(it);
    for (int i = 0; i < it->units.n && it->recomputes; i++) {
        buf_puts(it->out, "    for layer in ");
        put_layers(it, i);
        buf_puts(it->out, ":\n        checkpoint(layer)\n");
    }
    if (!batch)
        return;
    buf_puts(it->out, it->units.n ? "    for module in (" : "");
    for (int i = 0; i < it->units.n; i++) {
        buf_putc(it->out, '*');
        put_layers(it, i);
        buf_puts(it->out, ", ");
    }
    if (it->units.n)
        buf_printf(it->out, "model):\n        %s(module, %s)\n", call, arguments.s);
    else
        buf_printf(it->out, "    %s(model, %s)\n", call, arguments.s);
}

static void write_parallelize(StylesWriter *it)
{
    if (it->n_planned > 0 && it->stage_axis >= 0)
        buf_puts(it->out, torch_present_text);
    buf_puts(it->out, "\n\ndef parallelize(model, mesh):\n");
    size_t start = it->out->n;
    write_tensor_axes(it);
    write_batch_axes(it);
    if (it->out->n == start)
        buf_puts(it->out, "    # The plan keeps every parameter whole.\n");
    buf_puts(it->out, "    return model\n");
}

/* ---- stages ---- */

/* The class of torch's pipelining that runs the schedule; NULL: there is none. One that only goes
 * forward is GPipe's, which does so without a loss. */
static const char *schedule_class(Arena *arena, const char *schedule)
{
    bool forward = strcmp(schedule, "infer_pipe") == 0;
    Str name = torch_schedule(str_from(forward ? "gpipe" : schedule));

    return name.n > 0 ? arena_printf(arena, "Schedule%.*s", STR_ARG(name)) : NULL;
}

/* Whether a rank of it has several stages, which torch takes as a list. */
static bool takes_several(const char *class)
{
    return strcmp(class, "Schedule1F1B") != 0 && strcmp(class, "ScheduleGPipe") != 0;
}

/* The module that stays on a stage or is passed over as one: a layer, or one outside of layers. */
static Str whole_of(const StyledModule *m)
{
    Str unit = unit_of(m->pattern), rest = m->name;
    if (unit.n <= 1)
        return m->name;
    size_t parts = 1;
    for (size_t i = 0; i < unit.n; i++)
        parts += unit.s[i] == '.';
    while (parts-- > 0)
        (void)str_take(&rest, '.');
    return (Str){m->name.s, rest.n ? m->name.n - rest.n - 1 : m->name.n};
}

/* Modules by stage, and those whose result is added to the first stage's: embeddings of positions,
 * which no argument of the model comes into. */
static void write_stage_table(StylesWriter *it)
{
    PythonEntries table = {0};
    Intern *seen = intern_new(it->w->arena);
    Buf added = buf_new(it->w->arena);
    for (int i = 0; i < it->styles.modules.n; i++) {
        const StyledModule *m = &it->styles.modules.at[i];
        Str key = whole_of(m);
        int n = intern_count(seen);
        if (m->stage < 0 || intern_put(seen, key.s, key.n) != n)
            continue;
        vec_push(it->w->arena, &table,
                 (PythonEntry){key, arena_printf(it->w->arena, "%d", m->stage), NULL});
        if (m->at.reads < 0 && m->at.out >= 0) {
            buf_puts(&added, added.n ? ", " : "");
            python_string(key, &added);
        }
    }
    buf_printf(it->out, "\nN_MICRO_BATCHES = %d\n", it->w->plan->decided->stages->n_micro_batches);
    python_dict("STAGES", &table, 0, it->out);
    buf_printf(it->out, "ADDED = {%s}\n", added.n ? added.s : "");
}

/* Whether stage i is on the coordinate that torch gives it: i % g, or of a V i and 2g - 1 - i. */
static bool stages_lie_as(const StylesWriter *it, bool bent)
{
    const Stages *stages = it->w->plan->decided->stages;
    const Mesh *mesh = it->w->mesh;
    int g = (int)mesh->axes[it->stage_axis].size;
    for (int i = 0; i < stages->n; i++) {
        SubMesh part = it->w->plan->decided->submeshes[stages->at[i].devices];
        int want = bent && i >= g ? 2 * g - 1 - i : i % g;
        for (int64_t rank = 0; rank < mesh->n_devices; rank++)
            if (submesh_has(mesh, part, rank) && mesh_coord(mesh, it->stage_axis, rank) != want)
                return false;
    }
    return true;
}

/* Fails where modules of several stages have one parameter. */
static bool stages_are_apart(const StylesWriter *it, Error *err)
{
    const Graph *graph = it->w->graph;
    int *stage = arena_array(it->w->arena, int, graph->n_tensors); /* and one */
    for (int i = 0; i < it->styles.modules.n; i++) {
        const StyledModule *m = &it->styles.modules.at[i];
        for (int k = 0; k < m->n_parameters && m->stage >= 0; k++) {
            int *seen = &stage[m->parameter[k]];
            if (*seen > 0 && *seen != m->stage + 1)
                return error_set(
                    err, "stages share %s, but torch's schedules do not add up its gradients",
                    tensor_name(graph, m->parameter[k]));
            *seen = m->stage + 1;
        }
    }
    return true;
}

static bool write_pipeline(StylesWriter *it, Error *err)
{
    const Stages *stages = it->w->plan->decided->stages;
    const Graph *graph = it->w->graph;
    const char *axis = it->w->mesh->axes[it->stage_axis].name;
    if (!stages || it->w->n_staged > 1)
        return error_set(err, "its stages are not along one axis");
    if (!stages_are_apart(it, err))
        return false;
    const char *class = it->schedule = schedule_class(it->w->arena, stages->schedule);
    if (!class)
        return error_set(err, "torch has no schedule '%s'", stages->schedule);
    const ScheduleKind *kind = schedule_kind(str_from(stages->schedule));
    bool bent = kind && kind->in_a_v;
    if (!stages_lie_as(it, bent))
        return error_set(err, "its stages are on other ranks than those of %s", class);
    bool ids =
        graph->n_inputs > 0 && strcmp(tensor_name(graph, graph->inputs[0]), "input_ids") == 0;
    buf_puts(it->out, torch_stage_text);
    buf_puts(it->out, ids ? torch_stage_ids_text : torch_stage_plain_text);
    buf_puts(it->out, torch_pipeline_text);
    write_check(it);
    buf_puts(it->out, "    pp, n_stages, stages = ");
    put_mesh(it, &axis, 1);
    buf_printf(it->out,
               ", 1 + max(STAGES.values()), []\n"
               "    rank, size = pp.get_local_rank(), pp.size()\n"
               "    for stage in %s:\n",
               bent ? "(rank, 2 * size - 1 - rank)" : "range(rank, n_stages, size)");
    buf_puts(it->out, torch_stages_text);
    buf_printf(it->out, "    return %s(%s, N_MICRO_BATCHES, loss_fn=loss_fn)\n", class,
               takes_several(class) ? "stages" : "stages[0]");
    return true;
}

/* ---- the file ---- */

static void write_classes(StylesWriter *it)
{
    bool shared = torch_styles_give(&it->styles, "SharedExperts("),
         sent = torch_styles_give(&it->styles, "DispatchedExperts(");

    if (it->styles.places)
        buf_puts(it->out, torch_styles_pass_parts(&it->styles, it->w->graph)
                              ? torch_placed_text
                              : torch_placed_local_text);
    if (torch_styles_give(&it->styles, "SplitAttention("))
        buf_puts(it->out, torch_attention_text);
    if (torch_styles_give(&it->styles, "PartOfHeads("))
        buf_puts(it->out, torch_heads_text);
    if (torch_styles_give(&it->styles, "SharedColumns("))
        buf_puts(it->out, torch_columns_text);
    if (torch_styles_give(&it->styles, "PartsOfExperts("))
        buf_puts(it->out, torch_parts_text);
    if (shared || sent)
        buf_puts(it->out, torch_experts_text);
    if (shared)
        buf_puts(it->out, torch_shared_experts_text);
    if (sent)
        buf_puts(it->out, torch_dispatched_experts_text);
}

static bool can_be_written(StylesWriter *it, Error *err)
{
    if (it->n_sharded > 1 && it->n_copied > 1)
        return error_set(err, "several axes shard parameters and several replicate them");
    if (it->n_copied > 0 && it->n_sharded > 0 && it->n_copied + it->n_sharded > 2)
        return error_set(err, "fully_shard supports one axis of shards and one of replicas");
    return true;
}

bool torch_styles_code(TorchWriting *w, Buf *out, ExportNotes *notes, Error *err)
{
    Buf body = buf_new(w->arena);
    StylesWriter it = {.w = w, .notes = notes, .out = &body};
    if (!torch_styles(w, &it.styles, err))
        return false;
    find_axes(&it);
    find_units(&it);
    find_types(&it);
    find_recomputed(&it);
    if (!can_be_written(&it, err))
        return false;
    buf_putc(&body, '\n');
    write_mesh(&it);
    write_classes(&it);
    if (it.n_planned > 0)
        buf_putc(&body, '\n');
    for (int a = 0; a < w->mesh->n_axes; a++)
        if (has_plan(&it, a))
            write_axis(&it, a);
    if (it.stage_axis >= 0)
        write_stage_table(&it);
    write_parallelize(&it);
    if (it.stage_axis >= 0 && !write_pipeline(&it, err))
        return false;
    it.out = out;
    python_title(w->session, "PyTorch", out);
    write_usage(&it);
    torch_write_imports(buf_str(&body), it.schedule, out);
    buf_add(out, buf_str(&body));
    return true;
}
