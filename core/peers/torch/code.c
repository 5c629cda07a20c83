#include "core/peers/torch/tables.h"

#include "core/plan/stage.h"
#include "core/peers/torch/code_state.h"
#include "core/peers/torch/code_text.h"
#include "core/code/modules.h"
#include "core/session/pins_text.h"

#include <inttypes.h>

/* ---- placements ---- */

static bool torch_reduces(ReduceOp reduce)
{
    return reduce == REDUCE_SUM || reduce == REDUCE_AVG || reduce == REDUCE_MAX ||
           reduce == REDUCE_MIN || reduce == REDUCE_PROD;
}

void torch_put_placement(const TorchWriting *w, const Placement *placement, Buf *out)
{
    bool blocks = placement->kind == PLACE_STRIDED || placement->kind == PLACE_INTERLEAVED;
    if (w->vescale && blocks) {
        buf_printf(out, "InterleavedShard(%d, %" PRId64 ")", placement->dim, placement->factor);
        return;
    }
    switch (placement->kind) {
    case PLACE_REPLICATE:
        buf_puts(out, "R");
        return;
    case PLACE_SHARD:
        buf_printf(out, "Shard(%d)", placement->dim);
        return;
    case PLACE_STRIDED:
    case PLACE_INTERLEAVED: /* the parts are even, so torch's nested chunks are equal to it */
        buf_printf(out, "_StridedShard(%d, split_factor=%" PRId64 ")", placement->dim,
                   placement->factor);
        return;
    case PLACE_PARTIAL:
    case PLACE_NORM_PARTIAL:
        if (placement->reduce == REDUCE_SUM)
            buf_puts(out, "Partial()");
        else
            buf_printf(out, "Partial(\"%s\")",
                       placement->reduce == REDUCE_PROD ? "product"
                                                        : reduce_name(placement->reduce));
        return;
    }
}

/* veScale's Partial is a sum, and an InterleavedShard is the only shard of its dim. */
static bool vescale_has(const TorchWriting *w, const Placement *placements, int axis, Error *err)
{
    const Placement *it = &placements[axis];
    if (it->kind == PLACE_PARTIAL && it->reduce != REDUCE_SUM)
        return error_kind(err, ERROR_UNSUPPORTED, "veScale's Partial is a sum, not %s",
                          reduce_name(it->reduce));
    bool blocks = it->kind == PLACE_STRIDED || it->kind == PLACE_INTERLEAVED;
    for (int a = 0; a < w->mesh->n_axes && blocks; a++)
        if (a != axis && placement_is_shard(&placements[a]) && placements[a].dim == it->dim)
            return error_kind(err, ERROR_UNSUPPORTED,
                              "with veScale's InterleavedShard no other axis may shard the dim");
    return true;
}

/* "(R, Shard(1))", one per axis that stages do not use. Fails with the reason if there are none. */
static bool put_placements(const TorchWriting *w, const Sharding *sharding, Buf *out, Error *err)
{
    Placement placements[MESH_AXES_MAX];
    int n = 0;
    if (!placements_of(sharding, w->mesh, placements, err))
        return false;
    for (int a = 0; a < w->mesh->n_axes; a++) {
        const Placement *it = &placements[a];
        if (it->kind == PLACE_PARTIAL && !torch_reduces(it->reduce))
            return error_kind(err, ERROR_UNSUPPORTED, "Partial does not support %s",
                              reduce_name(it->reduce));
        if (w->vescale && !vescale_has(w, placements, a, err))
            return false;
        if (w->staged[a] && it->kind != PLACE_REPLICATE)
            return error_kind(err, ERROR_UNSUPPORTED, "stages use a part of axis '%s'",
                              w->mesh->axes[a].name);
    }
    buf_putc(out, '(');
    for (int a = 0; a < w->mesh->n_axes; a++)
        if (!w->staged[a]) {
            buf_puts(out, n++ ? ", " : "");
            torch_put_placement(w, &placements[a], out);
        }
    python_tuple_end(n, out);
    return true;
}

/* "(2, 16, 64)" */
static void put_shape(const TorchWriting *w, int32_t tensor, Buf *out)
{
    const Shape *shape = inferred_shape(w->session->inferred, tensor);
    int64_t n = shape ? shape->n_dims : 0;
    buf_putc(out, '(');
    for (int64_t d = 0; d < n; d++)
        buf_printf(out, "%s%" PRId64, d ? ", " : "", shape->dim[d]);
    python_tuple_end(n, out);
}

/* "((2, 16, 64), (Shard(0), R))"; None if there are no placements, with the reason as comment.
 * Without the placements of an input or a parameter the text is another plan. */
static void put_tensor(TorchWriting *w, int32_t tensor, const Sharding *sharding, Buf *out,
                       Buf *comment)
{
    Error err = {0};
    buf_putc(out, '(');
    put_shape(w, tensor, out);
    buf_puts(out, ", ");
    if (!put_placements(w, sharding, out, &err)) {
        Buf ours = buf_new(w->arena);
        sharding_format(sharding, w->mesh, VIEW_OURS_ASCII, &ours, NULL);
        buf_puts(out, "None");
        buf_puts(comment, comment->n ? "; " : "");
        python_comment(buf_str(&ours), comment);
        buf_puts(comment, ": ");
        python_comment(str_from(err.text), comment);
        buf_puts(comment, w->graph->tensors[tensor].maker < 0 ? PINS_LESS_PYTHON : "");
        w->n_inexpressible++;
    }
    buf_putc(out, ')');
}

static const char *ended(const TorchWriting *w, const Buf *text)
{
    return text->n ? arena_str(w->arena, buf_str(text)) : NULL;
}

/* ---- names ---- */

Str torch_parameter_name(const TorchWriting *w, int32_t tensor)
{
    Str name = str_from(tensor_name(w->graph, tensor));
    Str label = str_from(naming_label(w->session->naming, tensor)), path = name;
    while (path.n > 0 && path.s[path.n - 1] != '.')
        path.n--;
    bool kept = path.n > 1 &&
                naming_part(w->session->naming, (Str){path.s, path.n - 1}, PART_OUT, NULL) >= 0;
    int32_t other = graph_find_tensor(w->graph, label);
    return kept || (other >= 0 && other != tensor) ? name : label;
}

bool torch_has_shape(const TorchWriting *w, int32_t tensor)
{
    return tensor >= 0 && inferred_shape(w->session->inferred, tensor) &&
           w->plan->moved->made[tensor] >= 0;
}

static const Sharding *made_as(const TorchWriting *w, int32_t tensor)
{
    return shardings_at(w->plan->shardings, w->plan->moved->made[tensor]);
}

/* ---- stages ---- */

void torch_find_stages(TorchWriting *w)
{
    AtomSet fixed = stages_atoms(w->plan);
    for (int a = 0; a < w->mesh->n_axes; a++) {
        w->staged[a] = (fixed & mesh_axis_atoms(w->mesh, a)) != 0;
        w->n_staged += w->staged[a];
    }
}

/* The coordinates, on the axes of stages, of devices that hold the tensor (-1: that run the op):
 * "((0,), (1,))"; empty without stages. */
static const char *stages_of(const TorchWriting *w, int32_t tensor, int32_t op)
{
    Buf out = buf_new(w->arena);
    AtomSet atoms = 0;
    int n = 0;
    if (w->n_staged == 0)
        return NULL;
    for (int a = 0; a < w->mesh->n_axes; a++)
        atoms |= w->staged[a] ? mesh_axis_atoms(w->mesh, a) : 0;
    buf_putc(&out, '(');
    for (int64_t i = 0; i < mesh_atoms_size(w->mesh, atoms); i++) {
        int64_t rank = mesh_group_member(w->mesh, atoms, 0, i);
        SubMesh part = tensor >= 0 ? stage_part_of(w->plan, tensor, rank)
                                   : w->plan->decided->submeshes[plan_devices(w->plan, op)];
        if (!submesh_has(w->mesh, part, rank))
            continue;
        buf_puts(&out, n++ ? ", (" : "(");
        for (int a = 0, k = 0; a < w->mesh->n_axes; a++)
            if (w->staged[a])
                buf_printf(&out, "%s%" PRId64, k++ ? ", " : "", mesh_coord(w->mesh, a, rank));
        python_tuple_end(w->n_staged, &out);
    }
    python_tuple_end(n, &out);
    return out.s;
}

/* ---- tensors ---- */

/* veScale stores a parameter as it is used: it has no redistribution of one before its module. */
static const Sharding *stored_as(TorchWriting *w, int32_t tensor, Buf *comment)
{
    int32_t used = w->vescale && tensor_is_parameter(w->session->inferred, tensor)
                       ? values_read_as(w->session, tensor)
                       : -1;
    if (used < 0 || used == w->plan->moved->sharding[tensor])
        return made_as(w, tensor);
    Buf ours = buf_new(w->arena);
    sharding_format(made_as(w, tensor), w->mesh, VIEW_OURS_ASCII, &ours, NULL);
    python_comment(buf_str(&ours), comment);
    buf_puts(comment, PINS_LESS_PYTHON);
    w->n_gathered++;
    return shardings_at(w->plan->shardings, used);
}

static void add_tensor(TorchWriting *w, Str key, int32_t tensor, PythonEntries *out)
{
    Buf value = buf_new(w->arena), comment = buf_new(w->arena);
    const Sharding *stored = stored_as(w, tensor, &comment);
    put_tensor(w, tensor, stored, &value, &comment);
    vec_push(w->arena, out, (PythonEntry){key, value.s, ended(w, &comment)});
}

/* Adds a parameter that all its readers need in another sharding than the stored one. */
static void add_used(TorchWriting *w, Str key, int32_t tensor, PythonEntries *out)
{
    Buf value = buf_new(w->arena), comment = buf_new(w->arena);
    int32_t used = values_read_as(w->session, tensor);
    if (used < 0 || used == w->plan->moved->sharding[tensor])
        return;
    put_tensor(w, tensor, shardings_at(w->plan->shardings, used), &value, &comment);
    vec_push(w->arena, out, (PythonEntry){key, value.s, ended(w, &comment)});
}

static void add_stages(const TorchWriting *w, Str key, int32_t tensor, PythonEntries *out)
{
    const char *stages = stages_of(w, tensor, -1);
    if (stages)
        vec_push(w->arena, out, (PythonEntry){key, stages, NULL});
}

static void add_copied(const TorchWriting *w, Str key, int32_t tensor, PythonEntries *out)
{
    Str name = str_from(tensor_name(w->graph, tensor));
    Buf value = buf_new(w->arena);
    if (str_eq(key, name))
        return;
    python_string(name, &value);
    vec_push(w->arena, out, (PythonEntry){key, value.s, NULL});
}

static void write_tensors(TorchWriting *w, Buf *out)
{
    PythonEntries parameters = {0}, inputs = {0}, outputs = {0}, copied = {0}, stages = {0},
                  used = {0};
    for (int32_t t = 0; t < w->graph->n_tensors; t++) {
        if (!tensor_is_parameter(w->session->inferred, t) || !torch_has_shape(w, t))
            continue;
        Str key = torch_parameter_name(w, t);
        add_tensor(w, key, t, &parameters);
        if (!w->vescale)
            add_used(w, key, t, &used);
        add_copied(w, key, t, &copied);
        add_stages(w, key, t, &stages);
    }
    for (int i = 0; i < w->graph->n_inputs; i++) {
        int32_t t = w->graph->inputs[i];
        Str key = str_from(tensor_name(w->graph, t));
        if (!torch_has_shape(w, t))
            continue;
        add_tensor(w, key, t, &inputs);
        add_stages(w, key, t, &stages);
    }
    for (int i = 0; i < w->graph->n_outputs; i++)
        if (torch_has_shape(w, w->graph->outputs[i]))
            add_tensor(w, str_from(tensor_name(w->graph, w->graph->outputs[i])),
                       w->graph->outputs[i], &outputs);
    buf_puts(out, "\n# Shape in the exported file, and placements.\n");
    python_dict("PARAMETERS", &parameters, 0, out);
    if (used.n > 0) {
        buf_puts(
            out,
            "\n# Placements in which ops read the parameters that are stored in other ones.\n");
        python_dict("USED", &used, 0, out);
    }
    buf_puts(out, "\n# Names in the exported file, where the exporter renamed a parameter.\n");
    python_dict("COPIED", &copied, 0, out);
    buf_puts(
        out,
        "\n# The stages that have a tensor, if there are stages: coordinates on STAGE_DIMS.\n");
    python_dict("STAGES", &stages, 0, out);
    buf_putc(out, '\n');
    python_dict("INPUTS", &inputs, 0, out);
    python_dict("OUTPUTS", &outputs, 0, out);
}

/* ---- modules ---- */

typedef struct {
    Buf text;
    bool any;
} CodeStyle;

static void put_field(CodeStyle *style, const char *name, const char *value, const Buf *comment)
{
    buf_printf(&style->text, "\n    %s=%s,", name, value);
    if (comment->n)
        buf_printf(&style->text, "  # %s", comment->s);
    style->any = true;
}

static void add_field(TorchWriting *w, CodeStyle *style, const char *name, int32_t tensor,
                      const Sharding *sharding)
{
    Buf value = buf_new(w->arena), comment = buf_new(w->arena);
    put_tensor(w, tensor, sharding, &value, &comment);
    put_field(style, name, value.s, &comment);
}

/* The sharding that all readers of the tensor need; -1 if they differ. */
static int32_t read_by_all_as(const TorchWriting *w, int32_t tensor)
{
    int32_t all = -1;
    for (int32_t u = w->graph->tensors[tensor].use; u < w->graph->tensors[tensor + 1].use; u++) {
        int32_t need = inferred_is_host(w->session->inferred, w->graph->uses[u])
                           ? -1
                           : code_read_as(w->plan, tensor, w->graph->uses[u]);
        if (need < 0 || (all >= 0 && need != all))
            return -1;
        all = need;
    }
    return all < 0 ? w->plan->moved->sharding[tensor] : all;
}

static void add_out(TorchWriting *w, CodeStyle *style, int32_t tensor)
{
    add_field(w, style, "makes", tensor, made_as(w, tensor));
    int32_t gives = read_by_all_as(w, tensor);
    Buf value = buf_new(w->arena), none = buf_new(w->arena);
    if (gives >= 0 && gives != w->plan->moved->made[tensor] &&
        put_placements(w, shardings_at(w->plan->shardings, gives), &value, NULL))
        put_field(style, "gives", value.s, &none);
}

/* Adds a parameter of the module that an op reads in another sharding than the stored one. */
static void add_gathered(TorchWriting *w, Buf *gathered, Str path, Part part)
{
    int32_t op, tensor = naming_part(w->session->naming, path, part, &op);
    if (tensor < 0 || op < 0 || !tensor_is_parameter(w->session->inferred, tensor))
        return;
    int32_t need = code_read_as(w->plan, tensor, op);
    Str name = torch_parameter_name(w, tensor);
    if (need < 0 || need == w->plan->moved->sharding[tensor] || !str_starts(name, path) ||
        name.n <= path.n + 1)
        return;
    Buf value = buf_new(w->arena), comment = buf_new(w->arena);
    put_tensor(w, tensor, shardings_at(w->plan->shardings, need), &value, &comment);
    if (comment.n)
        return;
    buf_puts(gathered, gathered->n ? ", " : "");
    python_string((Str){name.s + path.n + 1, name.n - path.n - 1}, gathered);
    buf_printf(gathered, ": %s", value.s);
}

static bool is_copied(const TorchWriting *w, Str path)
{
    int32_t weight = naming_part(w->session->naming, path, PART_WEIGHT, NULL);
    return weight >= 0 &&
           !str_eq(torch_parameter_name(w, weight), str_from(tensor_name(w->graph, weight)));
}

static void add_module(TorchWriting *w, const CodeModule *module, PythonEntries *out)
{
    CodeStyle style = {.text = buf_new(w->arena)};
    Buf gathered = buf_new(w->arena), none = buf_new(w->arena);

    buf_puts(&style.text, "Placed(");
    if (module->reads >= 0)
        add_field(w, &style, "reads", module->in, shardings_at(w->plan->shardings, module->reads));
    if (module->out >= 0)
        add_out(w, &style, module->out);
    add_gathered(w, &gathered, module->path, PART_WEIGHT);
    add_gathered(w, &gathered, module->path, PART_BIAS);
    if (gathered.n)
        put_field(&style, "weights", arena_printf(w->arena, "{%s}", gathered.s), &none);
    if (gathered.n && is_copied(w, module->path))
        put_field(&style, "copied", "True", &none);
    int32_t maker = module->out < 0 ? module->reader : w->graph->tensors[module->out].maker;
    const char *stages = maker < 0 ? NULL : stages_of(w, -1, maker);
    if (stages && style.any)
        put_field(&style, "stages", stages, &none);
    buf_puts(&style.text, "\n)");
    if (style.any)
        vec_push(w->arena, out, (PythonEntry){module->path, style.text.s, NULL});
}

static void write_modules(TorchWriting *w, Buf *out)
{
    PythonEntries modules = {0};
    CodeModule module;
    for (int i = 0; i < naming_n_paths(w->session->naming); i++)
        if (code_module(w->session, i, &module))
            add_module(w, &module, &modules);
    buf_puts(out, dtensor_plan_text);
    python_dict("plan", &modules, 4, out);
    buf_puts(out, "    return plan\n");
}

/* ---- the file ---- */

void torch_write_dims(const TorchWriting *w, const char *name, bool staged, Buf *out)
{
    int n = 0;
    buf_printf(out, "%s = (", name);
    for (int a = 0; a < w->mesh->n_axes; a++)
        if (w->staged[a] == staged) {
            buf_puts(out, n++ ? ", " : "");
            python_string(str_from(w->mesh->axes[a].name), out);
        }
    python_tuple_end(n, out);
    buf_putc(out, '\n');
}

void torch_write_ranks(const TorchWriting *w, Buf *out)
{
    if (!w->mesh->devices) {
        buf_puts(out, "None");
        return;
    }
    buf_putc(out, '[');
    for (int64_t i = 0; i < w->mesh->n_devices; i++)
        buf_printf(out, "%s%" PRId64, i ? ", " : "", mesh_device(w->mesh, i));
    buf_putc(out, ']');
}

static void write_mesh(const TorchWriting *w, Buf *out)
{
    const Mesh *mesh = w->mesh;
    python_mesh_axes(mesh, out);
    buf_puts(out, "\nRANKS = ");
    torch_write_ranks(w, out);
    buf_puts(out, mesh->devices ? "  # by position in the mesh\n"
                                : "  # by position in the mesh; None: in order\n");
    torch_write_dims(w, "STAGE_DIMS", true, out);
    torch_write_dims(w, "PLACED_DIMS", false, out);
}

static void write_head(const TorchWriting *w, const char *why, Buf *out)
{
    python_title(w->session, w->vescale ? "veScale" : "torch.distributed.tensor", out);
    if (why) {
        buf_puts(out, "# It has placements of its own, as torch's styles do not express:\n#     ");
        python_comment(str_from(why), out);
        buf_putc(out, '\n');
    }
    values_put_unpinned(w->session, "#", out);
    buf_puts(out, w->vescale ? vescale_head_text : dtensor_head_text);
    write_mesh(w, out);
}

/* "[[R, Shard(1)]]": the placements of a module's first argument or result; NULL where it stays as
 * it is, as what is partial does. */
static const char *forward_placements(TorchWriting *w, const Sharding *sharding)
{
    Buf out = buf_new(w->arena);
    if (sharding_partials(sharding) || !put_placements(w, sharding, &out, NULL))
        return NULL;
    Str inside = {out.s + 1, out.n - 2};
    inside.n -= str_ends(inside, STR(",")) ? 1 : 0; /* of a tuple of one */
    return arena_printf(w->arena, "[[%.*s]]", STR_ARG(inside));
}

static void add_forward(TorchWriting *w, Str path, const char *which, int32_t sharding,
                        PythonEntries *out)
{
    const char *value =
        sharding < 0 ? NULL : forward_placements(w, shardings_at(w->plan->shardings, sharding));
    if (value)
        vec_push(w->arena, out,
                 (PythonEntry){str_from(arena_printf(w->arena, "%.*s.%s", STR_ARG(path), which)),
                               value, NULL});
}

static void write_forward(TorchWriting *w, Buf *out)
{
    PythonEntries forward = {0};
    CodeModule module;
    for (int i = 0; i < naming_n_paths(w->session->naming); i++) {
        if (!code_module(w->session, i, &module))
            continue;
        add_forward(w, module.path, "input", module.reads, &forward);
        add_forward(w, module.path, "output", module.out < 0 ? -1 : read_by_all_as(w, module.out),
                    &forward);
    }
    buf_puts(out, "\n# How a module's first argument and its result are redistributed.\n");
    python_dict("FORWARD", &forward, 0, out);
}

static void note_losses(const TorchWriting *w, ExportNotes *notes)
{
    if (w->n_inexpressible > 0)
        export_note(notes, "%d shardings cannot be expressed by placements: None, with a comment",
                    w->n_inexpressible);
    if (w->n_gathered > 0)
        export_note(notes,
                    "%d parameters are stored in the sharding they are used in, less sharded than "
                    "in the plan: veScale's modules do not gather parameters, its "
                    "DistributedOptimizer shards only states",
                    w->n_gathered);
    if (w->n_staged > 0)
        export_note(notes, "placements are those inside a stage: split the model %s as STAGES says",
                    w->vescale ? "by veScale's pipeline plan"
                               : "with torch.distributed.pipelining");
}

static TorchWriting torch_writing(Arena *arena, const Session *session, bool vescale)
{
    TorchWriting w = {.arena = arena,
                      .session = session,
                      .plan = session->plan,
                      .mesh = session->mesh,
                      .graph = session->graph,
                      .vescale = vescale};
    torch_find_stages(&w);
    return w;
}

/* `why` torch's own styles do not say the plan; NULL: nobody asked for them. */
static void write_exact(TorchWriting *w, const char *why, Buf *out, ExportNotes *notes)
{
    write_head(w, why, out);
    write_tensors(w, out);
    buf_puts(out, dtensor_mesh_text);
    buf_puts(out, dtensor_swapped_text);
    buf_puts(out, dtensor_names_text);
    buf_puts(out, dtensor_parameters_text);
    buf_puts(out, dtensor_inputs_text);
    buf_puts(out, dtensor_style_text);
    write_modules(w, out);
    note_losses(w, notes);
}

bool torch_exact_code(const Session *session, Buf *out, ExportNotes *notes, Error *err)
{
    Arena *arena = arena_new();
    TorchWriting w = torch_writing(arena, session, false);
    (void)err;
    write_exact(&w, NULL, out, notes);
    arena_free(arena);
    return true;
}

bool torch_code(const Session *session, Buf *out, ExportNotes *notes, Error *err)
{
    Arena *arena = arena_new();
    TorchWriting w = torch_writing(arena, session, false);
    Error why = {0};
    (void)err;
    if (!torch_styles_code(&w, out, notes, &why)) {
        export_note(notes,
                    "torch's parallel styles cannot express this plan (%s), so it is written as "
                    "exact placements",
                    arena_str(notes->arena, str_from(why.text)));
        write_exact(&w, why.text, out, notes);
    }
    arena_free(arena);
    return true;
}

bool vescale_code(const Session *session, Buf *out, ExportNotes *notes, Error *err)
{
    Arena *arena = arena_new();
    TorchWriting w = torch_writing(arena, session, true);
    (void)err;
    write_head(&w, NULL, out);
    write_tensors(&w, out);
    write_forward(&w, out);
    buf_puts(out, dtensor_mesh_text);
    buf_puts(out, vescale_swapped_text);
    buf_puts(out, dtensor_names_text);
    buf_puts(out, dtensor_inputs_text);
    buf_puts(out, vescale_plan_text);
    note_losses(&w, notes);
    arena_free(arena);
    return true;
}
