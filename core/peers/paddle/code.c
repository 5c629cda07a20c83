#include "core/peers/paddle/code.h"

#include "core/layout/placement.h"
#include "core/peers/paddle/code_text.h"
#include "core/code/python_mesh.h"
#include "core/code/step_values.h"
#include "core/session/pins_text.h"

#include <inttypes.h>

typedef struct {
    Arena *arena;
    const Session *session;
    const Plan *plan;
    const Mesh *mesh;
    CodeValues values;
    int n_inexpressible,
        n_several; /* shardings without placements; values on several parts of the mesh */
} PaddleWriting;

/* Paddle's placement for one mesh axis. */
typedef struct {
    Placement it;
    int order; /* among the axes that shard its dim; -1 if they are in the order of the mesh */
} PaddlePlaced;

/* ---- what Paddle can express ---- */

static bool cannot(Error *err, const char *what)
{
    return error_kind(err, ERROR_UNSUPPORTED, "%s", what);
}

/* Paddle chunks unevenly like torch, but fails when a rank would start past the end of the dim. */
static bool leaves_ranks_out(const Cut *cut, const Mesh *mesh)
{
    enum { RANKS_LOOKED_AT = 1 << 16 };
    const Digit *digit = &cut->digit[0];
    AtomSet atoms = cut_atoms(cut);
    int64_t n_ranks = mesh_atoms_size(mesh, atoms);
    for (int64_t i = 0; i < n_ranks && i < RANKS_LOOKED_AT; i++) {
        int64_t position = mesh_group_member(mesh, atoms, 0, i), left = digit->size;
        for (int k = 0, run; k < digit->n; k += run) {
            int64_t size;
            run = mesh_atoms_run(mesh, digit->atom + k, digit->n - k, &size);
            int64_t step = (left + size - 1) / size;
            int64_t from = step * mesh_coord(mesh, mesh->atoms[digit->atom[k]].axis, position);
            if (from > left)
                return true;
            left = left - from < step ? left - from : step;
        }
    }
    return false;
}

static bool check_uneven(const Sharding *sharding, const Mesh *mesh, const PaddlePlaced *placed,
                         Error *err)
{
    for (int d = 0; d < sharding->n_dims; d++) {
        const Cut *cut = &sharding->dim[d];
        if (!cut_is_uneven(cut, mesh))
            continue;
        for (int a = 0; a < mesh->n_axes; a++)
            if (placed[a].it.dim == d && placement_is_shard(&placed[a].it) &&
                placed[a].it.factor > 1)
                return cannot(err, "Paddle splits parts of a dim only evenly");
        if (cut->n > 1 || leaves_ranks_out(cut, mesh))
            return cannot(err, "Paddle does not allow ranks with empty shards");
    }
    return true;
}

/* Each dim has one digit, sharded by whole axes in any order. */
static bool place_in_order(const Sharding *sharding, const Mesh *mesh, PaddlePlaced *placed)
{
    for (int d = 0; d < sharding->n_dims; d++) {
        const Cut *cut = &sharding->dim[d];
        if (cut->n > 1 || !cut_is_plain(cut))
            return false;
        for (int i = 0, run, order = 0; cut->n && i < cut->digit[0].n; i += run, order++) {
            int64_t size;
            run = mesh_atoms_run(mesh, cut->digit[0].atom + i, cut->digit[0].n - i, &size);
            int axis = mesh->atoms[cut->digit[0].atom[i]].axis;
            if (size != mesh->axes[axis].size)
                return false;
            placed[axis].it = (Placement){.kind = PLACE_SHARD, .dim = d, .factor = 1};
            placed[axis].order = order;
        }
    }
    return true;
}

/* Fails with the reason when no placements express the sharding. */
static bool place(const Sharding *sharding, const Mesh *mesh, PaddlePlaced *placed, Error *err)
{
    Placement placements[MESH_AXES_MAX];
    Error why = {0};
    bool expressible = placements_of(sharding, mesh, placements, &why);
    for (int a = 0; a < mesh->n_axes; a++)
        placed[a] = (PaddlePlaced){placements[a], -1};
    if (expressible && check_uneven(sharding, mesh, placed, &why))
        return true;
    Sharding cuts = sharding_without_partial(sharding);
    for (int a = 0; a < mesh->n_axes; a++) {
        placed[a] = (PaddlePlaced){{.kind = PLACE_REPLICATE, .factor = 1}, -1};
        const MeshAxis *axis = &mesh->axes[a];
        ReduceOp reduce = axis->n_atoms ? sharding->partial[axis->atom] : REDUCE_NONE;
        for (int i = 0; i < axis->n_atoms; i++)
            if (sharding->partial[axis->atom + i] != reduce)
                return cannot(err, why.text);
        if (reduce != REDUCE_NONE)
            placed[a].it = (Placement){.kind = PLACE_PARTIAL, .factor = 1, .reduce = reduce};
    }
    Error uneven = {0};
    if (place_in_order(&cuts, mesh, placed) && check_uneven(&cuts, mesh, placed, &uneven))
        return true;
    return cannot(err, why.text);
}

/* ---- text ---- */

static void put_placed(const PaddlePlaced *placed, Buf *out)
{
    static const char *const reduce[] = {
        [REDUCE_SUM] = "Sum",   [REDUCE_AVG] = "Avg", [REDUCE_MAX] = "Max", [REDUCE_MIN] = "Min",
        [REDUCE_PROD] = "Prod", [REDUCE_ANY] = "Any", [REDUCE_ALL] = "All"};
    const Placement *it = &placed->it;
    switch (it->kind) {
    case PLACE_REPLICATE:
        buf_puts(out, "R");
        return;
    case PLACE_SHARD:
        buf_printf(out, "Shard(%d", it->dim);
        if (placed->order >= 0)
            buf_printf(out, ", shard_order=%d", placed->order);
        buf_putc(out, ')');
        return;
    case PLACE_STRIDED:
    case PLACE_INTERLEAVED:
        buf_printf(out, "Shard(%d, split_factor=%" PRId64 ")", it->dim, it->factor);
        return;
    case PLACE_PARTIAL:
    case PLACE_NORM_PARTIAL:
        if (it->reduce == REDUCE_SUM)
            buf_puts(out, "Partial()");
        else
            buf_printf(out, "Partial(ReduceType.kRed%s)", reduce[it->reduce]);
        return;
    }
}

/* An input or a parameter: the plan follows from how it is sharded. */
static bool is_given(const Graph *graph, int32_t tensor)
{
    return graph->tensors[tensor].maker < 0;
}

/* Writes "((64, 256), (R, Shard(1)))", None if there are no placements, and "[-1, 1]" as the
 * comment. */
static void put_placements(PaddleWriting *w, int32_t tensor, const Sharding *sharding, Buf *out,
                           Buf *comment)
{
    const Shape *shape = inferred_shape(w->session->inferred, tensor);
    PaddlePlaced placed[MESH_AXES_MAX];
    Error why = {0};
    Buf says = buf_new(w->arena);
    assert(shape); /* because it has a sharding */
    buf_puts(out, "((");
    for (int64_t d = 0; d < shape->n_dims; d++)
        buf_printf(out, "%s%" PRId64, d ? ", " : "", shape->dim[d]);
    python_tuple_end(shape->n_dims, out);
    bool expressible = place(sharding, w->mesh, placed, &why);
    buf_puts(out, expressible ? ", (" : ", None)");
    for (int a = 0; expressible && a < w->mesh->n_axes; a++) {
        buf_puts(out, a ? ", " : "");
        put_placed(&placed[a], out);
    }
    if (expressible) {
        python_tuple_end(w->mesh->n_axes, out);
        buf_putc(out, ')');
    }
    w->n_inexpressible += !expressible;
    Error unused = {0};
    if (!sharding_format(sharding, w->mesh, VIEW_DIMS_MAPPING, &says, &unused))
        sharding_format(sharding, w->mesh, VIEW_OURS_ASCII, &says, NULL);
    python_comment(buf_str(&says), comment);
    if (!expressible) {
        buf_puts(comment, ": ");
        python_comment(str_from(why.text), comment);
        buf_puts(comment, is_given(w->session->graph, tensor) ? PINS_LESS_PYTHON : "");
    }
}

/* ---- tables ---- */

static void add(PaddleWriting *w, int32_t tensor, int32_t as, PythonEntries *out)
{
    Buf value = buf_new(w->arena), comment = buf_new(w->arena);
    if (!w->values.name[tensor] || as < 0 || !inferred_shape(w->session->inferred, tensor))
        return;
    put_placements(w, tensor, shardings_at(w->plan->shardings, as), &value, &comment);
    vec_push(w->arena, out, (PythonEntry){str_from(w->values.name[tensor]), value.s, comment.s});
}

/* The sharding in which an op produces the tensor; -1 if unknown, as for a value of unknown
 * rank. */
static int32_t made_as(const PaddleWriting *w, int32_t tensor)
{
    int32_t made = w->plan->moved->made[tensor];
    return made >= 0 ? made : w->plan->moved->sharding[tensor];
}

/* Writes the table of inputs or outputs of the graph, each once. */
static void put_table(PaddleWriting *w, const char *table, const int32_t *tensor, int n, Buf *out)
{
    PythonEntries entries = {0};
    Intern *seen = intern_new(w->arena);
    for (int i = 0; i < n; i++) {
        int before = intern_count(seen);
        if (intern_put(seen, &tensor[i], sizeof tensor[i]) == before)
            add(w, tensor[i], made_as(w, tensor[i]), &entries);
    }
    python_dict(table, &entries, 0, out);
}

/* Lists square matrices that the file stores as [out, in], since their shape does not show it. */
static void put_out_in(PaddleWriting *w, Buf *out)
{
    PythonEntries entries = {0};
    for (int i = 0; i < w->values.n_parameters; i++) {
        int32_t t = w->values.parameter[i];
        const Shape *shape = inferred_shape(w->session->inferred, t);
        if (w->values.name[t] && shape && shape->n_dims == 2 && shape->dim[0] == shape->dim[1] &&
            naming_matrix(w->session->inferred, t) == MATRIX_OUT_IN)
            vec_push(w->arena, &entries, (PythonEntry){str_from(w->values.name[t]), "True", NULL});
    }
    python_dict("OUT_IN", &entries, 0, out);
}

static void put_made(PaddleWriting *w, Buf *out)
{
    PythonEntries made = {0}, read = {0};
    for (int i = 0; i < w->values.n_made; i++) {
        int32_t t = w->values.made[i], as = values_read_as(w->session, t);
        add(w, t, made_as(w, t), &made);
        if (as >= 0 && as != w->plan->moved->made[t])
            add(w, t, as, &read);
    }
    buf_puts(out, "\n# Results of ops.\n");
    python_dict("ACTIVATIONS", &made, 0, out);
    buf_puts(out, "\n# Results as all their readers need them, where that differs.\n");
    python_dict("READ_AS", &read, 0, out);
}

/* Lists parameters that all their readers need in another sharding than the stored one. */
static void put_used(PaddleWriting *w, Buf *out)
{
    PythonEntries used = {0};
    for (int i = 0; i < w->values.n_parameters; i++) {
        int32_t t = w->values.parameter[i], as = values_read_as(w->session, t);
        if (as >= 0 && as != w->plan->moved->sharding[t])
            add(w, t, as, &used);
    }
    if (used.n == 0)
        return;
    buf_puts(out,
             "\n# Placements in which ops read the parameters that are stored in other ones.\n");
    python_dict("USED", &used, 0, out);
}

static void put_tables(PaddleWriting *w, Buf *out)
{
    const Graph *graph = w->session->graph;
    buf_puts(out,
             "\n# Shape in the exported file, and placements; the comment is the dims_mapping.\n");
    put_table(w, "PARAMETERS", w->values.parameter, w->values.n_parameters, out);
    put_used(w, out);
    buf_puts(out,
             "\n# Square matrices that the file stores as [out, in]; a Linear has [in, out].\n");
    put_out_in(w, out);
    buf_putc(out, '\n');
    put_table(w, "INPUTS", graph->inputs, graph->n_inputs, out);
    put_table(w, "OUTPUTS", graph->outputs, graph->n_outputs, out);
    put_made(w, out);
}

/* ---- the mesh ---- */

/* "range(8), (2, 4)": the processes, and how many along each axis. */
static void put_part(const PaddleWriting *w, SubMesh part, Buf *out)
{
    python_devices(w->mesh, part, out);
    buf_puts(out, ", (");
    for (int a = 0; a < w->mesh->n_axes; a++)
        buf_printf(out, "%s%" PRId64, a ? ", " : "",
                   mesh_atoms_size(w->mesh, mesh_axis_atoms(w->mesh, a) & ~part.fixed));
    python_tuple_end(w->mesh->n_axes, out);
}

static void put_mesh(const PaddleWriting *w, Buf *out)
{
    python_mesh_axes(w->mesh, out);
    buf_puts(out,
             "\n\n# The parts of the mesh that hold values: processes, and the size of each axis.\n"
             "PARTS = {\n");
    for (int p = 0; p < w->plan->decided->n_submeshes; p++) {
        buf_puts(out, "    ");
        python_part_name(w->plan, p, out);
        buf_puts(out, ": (");
        put_part(w, w->plan->decided->submeshes[p], out);
        buf_puts(out, "),\n");
    }
    buf_puts(out, "}\n");
}

static void put_on(PaddleWriting *w, Buf *out)
{
    PythonEntries entries = {0};
    w->n_several = python_parts(w->plan, &w->values, w->arena, &entries);
    buf_puts(out, "\n# Values on a part of the mesh; all others are on the whole mesh.\n");
    python_dict("ON", &entries, 0, out);
}

static void put_head(const PaddleWriting *w, Buf *out)
{
    python_title(w->session, "paddle.distributed", out);
    values_put_unpinned(w->session, "#", out);
    buf_puts(out, paddle_head_text);
}

bool paddle_code(const Session *session, Buf *out, ExportNotes *notes, Error *err)
{
    Arena *arena = arena_new();
    PaddleWriting w = {.arena = arena,
                       .session = session,
                       .plan = session->plan,
                       .mesh = session->mesh,
                       .values = values_of(session, arena)};
    (void)err;
    put_head(&w, out);
    put_mesh(&w, out);
    put_tables(&w, out);
    put_on(&w, out);
    buf_puts(out, paddle_tail_text);
    if (w.n_inexpressible > 0)
        export_note(notes,
                    "%d shardings cannot be expressed by Paddle's placements: None, with a comment",
                    w.n_inexpressible);
    if (w.n_several > 0)
        export_note(notes,
                    "%d values are on several parts of the mesh, but a Paddle tensor can be on "
                    "only one: the first one in ON",
                    w.n_several);
    arena_free(arena);
    return true;
}

/* ---- the training step ---- */

/* Paddle's name of a schedule; NULL: it has none such. */
static const char *schedule_mode(const StepValues *values)
{
    static const char *const modes[][2] = {{"1f1b", "1F1B"},
                                           {"gpipe", "FThenB"},
                                           {"1f1b_interleaved", "VPP"},
                                           {"zb1p", "ZBH1"},
                                           {"zbv", "ZBVPP"}};
    const char *name = values->parallel.schedule;

    for (size_t i = 0; name && i < sizeof modes / sizeof *modes; i++)
        if (strcmp(modes[i][0], name) == 0)
            return modes[i][1];
    return NULL;
}

static void put_step_head(const PaddleWriting *w, const Session *step, const StepValues *values,
                          Buf *out, ExportNotes *notes)
{
    const char *unsaid[3];
    int n = 0, apart = 0;

    for (int i = 0; i < values->at.n; i++) {
        const StepParameter *row = &values->at.at[i];
        apart += row->gradient >= 0 &&
                 !sharding_equal(shardings_at(step->plan->shardings, row->gradient),
                                 plan_sharding(w->plan, row->parameter));
    }
    if (apart > 0)
        unsaid[n++] =
            arena_printf(w->arena,
                         "%d gradients are sharded differently from their parameters (GRADIENTS): "
                         "Paddle reduces a gradient to the sharding of its parameter",
                         apart);
    if (values->n_stages > 1 && !schedule_mode(values))
        unsaid[n++] = arena_printf(w->arena, "Paddle has no schedule %s: MICRO_BATCHES are merged",
                                   values->parallel.schedule ? values->parallel.schedule : "");
    unsaid[n++] = "the loss and the optimizer's numbers: the program sets them";
    step_put_head(step, "#",
                  "shard_optimizer(), recompute() and strategy() are at the end of the file",
                  unsaid, n, out, notes);
}

static void put_states(PaddleWriting *w, const Session *step, const StepValues *values, Buf *out)
{
    PythonEntries states = {0}, gradients = {0};

    for (int i = 0; i < values->at.n; i++) {
        const StepParameter *row = &values->at.at[i];
        const int32_t lies[] = {row->states, row->gradient};
        for (int k = 0; k < 2; k++) {
            Buf value = buf_new(w->arena), comment = buf_new(w->arena);
            if (lies[k] < 0)
                continue;
            put_placements(w, row->parameter, shardings_at(step->plan->shardings, lies[k]), &value,
                           &comment);
            vec_push(w->arena, k == 0 ? &states : &gradients,
                     ((PythonEntry){str_from(row->name), value.s, comment.s}));
        }
    }
    buf_puts(out, "\n\n# What the optimizer keeps of each parameter.\n");
    python_dict("OPTIMIZER_STATES", &states, 0, out);
    buf_puts(out, "\n# Gradients as the update reads them.\n");
    python_dict("GRADIENTS", &gradients, 0, out);
}

void paddle_step(const Session *model, const Session *step, Buf *top, Buf *file, ExportNotes *notes)
{
    Arena *arena = arena_new();
    PaddleWriting w = {.arena = arena, .session = model, .plan = model->plan, .mesh = model->mesh};
    StepValues values = step_values(arena, model, step);
    const char *mode = schedule_mode(&values);

    put_step_head(&w, step, &values, top, notes);
    put_states(&w, step, &values, file);
    buf_puts(file, "\n# Layers that run again in the backward pass.\nRECOMPUTE = {");
    for (int i = 0; i < values.again.n; i++) {
        buf_puts(file, i > 0 ? ",\n    " : "\n    ");
        python_string(str_from(values.again.at[i]), file);
    }
    buf_puts(file, values.again.n > 0 ? "\n}\n" : "}\n");
    buf_printf(file, "\nMICRO_BATCHES = %d\nSCHEDULE = %s%s%s\n", values.parallel.n_micro_batches,
               mode ? "\"" : "", mode ? mode : "None", mode ? "\"" : "");
    buf_puts(file, paddle_step_text);
    arena_free(arena);
}
