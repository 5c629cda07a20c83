/* code_spmd.c - the plan as types of spmd_types, https://github.com/meta-pytorch/spmd_types (0.3):
 * code of the user's own, with collectives of its own, is checked against the plan as it runs.
 *
 *     R  every rank has the value         V  ranks have parts, as a PartitionSpec says
 *     I  like R, with a whole gradient    P  ranks have addends
 *
 * A plan does not say whether a whole value is R or I: that depends on where the code reduces its
 * gradient, so both pass. What a module reads and gives may be moved in it or around it: the value
 * passes as it is made and as it is needed.
 */
#include "core/peers/torch/tables.h"

#include "core/code/modules.h"
#include "core/code/values.h"
#include "core/peers/torch/code_state.h"
#include "core/session/pins_text.h"

typedef struct {
    TorchWriting w;
    int n_loose; /* values whose parts no PartitionSpec says */
} Typing;

static const char lies_text[] = "\n"
                                "\n"
                                "def lies(*dims, partial=(), varies=()):\n"
                                "    \"\"\"A value by the mesh axes of its dims, whole on the "
                                "others: types, and a PartitionSpec.\"\"\"\n"
                                "    cut = {axis for dim in dims for axis in (dim if "
                                "isinstance(dim, tuple) else (dim,))} | {*varies}\n"
                                "    types = {axis: P if axis in partial else V if axis in cut "
                                "else R for axis in MESH_DIM_NAMES}\n"
                                "    return types, None if varies else PartitionSpec(*dims)\n";

static const char annotate_text[] =
    "\n"
    "\n"
    "def expect(tensor, where, *ways):\n"
    "    \"\"\"Asserts that a value lies in one of the ways; where it is whole it may be R or "
    "I.\"\"\"\n"
    "    for types, spec in ways:\n"
    "        types = {axis: given_as(tensor, axis, wanted) for axis, wanted in types.items()}\n"
    "        try:\n"
    "            spmd.assert_type(tensor, types, partition_spec=spec)\n"
    "            return\n"
    "        except spmd.SpmdTypeError as error:\n"
    "            said = str(error).splitlines()[0]\n"
    "    raise spmd.SpmdTypeError(f\"{where}: {said}\")\n"
    "\n"
    "\n"
    "def given_as(tensor, axis, wanted):\n"
    "    known = spmd.has_local_type(tensor)\n"
    "    return I if wanted is R and known and spmd.maybe_get_axis_local_type(tensor, axis) is I "
    "else wanted\n"
    "\n"
    "\n"
    "def typed_inputs(inputs):\n"
    "    \"\"\"The inputs of the model, {name: tensor}, with the plan's types.\"\"\"\n"
    "    for name, tensor in inputs.items():\n"
    "        expect(tensor, name, INPUTS[name])\n"
    "    return inputs\n"
    "\n"
    "\n"
    "def annotate(model):\n"
    "    \"\"\"Types the parameters, and checks what modules read and give; run in "
    "typecheck().\"\"\"\n"
    "    parameters = dict(model.named_parameters(remove_duplicate=False))\n"
    "    lacking = [name for name in PARAMETERS if name not in parameters]\n"
    "    if lacking:\n"
    "        raise KeyError(f\"the model has no {', '.join(lacking)}\")\n"
    "    for name, way in PARAMETERS.items():\n"
    "        expect(parameters[name], name, way)\n"
    "    for path, (reads, gives) in MODULES.items():\n"
    "        module = model.get_submodule(path)\n"
    "\n"
    "        def before(_, args, where=f\"{path} reads\", ways=reads):\n"
    "            if ways:\n"
    "                expect(args[0], where, *ways)\n"
    "\n"
    "        def after(_, args, out, where=f\"{path} gives\", ways=gives):\n"
    "            if ways:\n"
    "                expect(out, where, *ways)\n"
    "\n"
    "        module.register_forward_pre_hook(before)\n"
    "        module.register_forward_hook(after)\n"
    "    return model\n";

/* ---- types ---- */

/* The axes of a dim as "tp", None or a tuple; false if they are no whole axes, or cut blocks. */
static bool put_dim(const Mesh *mesh, const Cut *cut, Buf *out)
{
    const Digit *digit = &cut->digit[0];
    int n = 0, n_atoms = cut_is_whole(cut) ? 0 : digit->n;
    Buf names = buf_new(out->arena);
    if (!cut_is_whole(cut) && cut->n != 1)
        return false;
    for (int i = 0, length; i < n_atoms; i += length) {
        int axis = mesh->atoms[digit->atom[i]].axis;
        int64_t size;
        length = mesh_atoms_run(mesh, digit->atom + i, n_atoms - i, &size);
        if (size != mesh->axes[axis].size)
            return false;
        buf_puts(&names, n++ ? ", " : "");
        python_string(str_from(mesh->axes[axis].name), &names);
    }
    buf_puts(out, n > 1 ? "(" : n == 0 ? "None" : "");
    buf_add(out, buf_str(&names));
    buf_puts(out, n > 1 ? ")" : "");
    return true;
}

/* ", partial=("tp",)" */
static void put_set(const Mesh *mesh, const char *name, AtomSet atoms, Buf *out)
{
    int n = 0;
    if (!atoms)
        return;
    buf_printf(out, "%s%s=(", out->s[out->n - 1] == '(' ? "" : ", ", name);
    for (int a = 0; a < mesh->n_axes; a++)
        if (atoms & mesh_axis_atoms(mesh, a)) {
            buf_puts(out, n++ ? ", " : "");
            python_string(str_from(mesh->axes[a].name), out);
        }
    python_tuple_end(n, out);
}

/* lies("dp", None, "tp"), or lies(varies=("tp",)) where no PartitionSpec says the parts. */
static const char *type_of(Typing *t, int32_t id)
{
    const Sharding *sharding = shardings_at(t->w.plan->shardings, id);
    Buf dims = buf_new(t->w.arena), out = buf_new(t->w.arena);
    AtomSet cut = 0;
    bool says = true;
    for (int64_t d = 0; d < sharding->n_dims; d++) {
        buf_puts(&dims, d ? ", " : "");
        says &= put_dim(t->w.mesh, &sharding->dim[d], &dims);
        cut |= cut_atoms(&sharding->dim[d]);
    }
    buf_puts(&out, "lies(");
    if (says)
        buf_add(&out, buf_str(&dims));
    put_set(t->w.mesh, "partial", sharding_partials(sharding), &out);
    if (!says)
        put_set(t->w.mesh, "varies", cut, &out);
    t->n_loose += !says;
    buf_putc(&out, ')');
    return out.s;
}

static void add(Typing *t, Str key, const char *value, PythonEntries *out)
{
    vec_push(t->w.arena, out, (PythonEntry){key, value, NULL});
}

/* A value that is given. A comment has the parts that no PartitionSpec says, for who reads it back.
 */
static void add_given(Typing *t, Str key, int32_t id, PythonEntries *out)
{
    Buf ours = buf_new(t->w.arena), comment = buf_new(t->w.arena);
    int n_loose = t->n_loose;
    const char *type = type_of(t, id);
    if (t->n_loose > n_loose) {
        sharding_format(shardings_at(t->w.plan->shardings, id), t->w.mesh, VIEW_OURS_ASCII, &ours,
                        NULL);
        python_comment(buf_str(&ours), &comment);
        buf_puts(&comment, PINS_LESS_PYTHON);
    }
    vec_push(t->w.arena, out, (PythonEntry){key, type, comment.n > 0 ? comment.s : NULL});
}

/* "(lies(..), lies(..))": as it is made, and as it is needed if that differs; "()". */
static const char *ways_of(Typing *t, int32_t made, int32_t need)
{
    Buf out = buf_new(t->w.arena);
    int n = 0;
    buf_putc(&out, '(');
    for (int i = 0; i < 2; i++) {
        int32_t id = i ? need : made;
        if (id < 0 || (i && need == made))
            continue;
        buf_printf(&out, "%s%s", n++ ? ", " : "", type_of(t, id));
    }
    python_tuple_end(n, &out);
    return n ? out.s : "()";
}

/* ---- the file ---- */

static void write_tables(Typing *t, Buf *out)
{
    const Session *session = t->w.session;
    const Moved *moved = t->w.plan->moved;
    PythonEntries parameters = {0}, used = {0}, inputs = {0}, modules = {0};
    for (int32_t v = 0; v < t->w.graph->n_tensors; v++) {
        if (!tensor_is_parameter(session->inferred, v) || !torch_has_shape(&t->w, v))
            continue;
        Str name = torch_parameter_name(&t->w, v);
        int32_t read = values_read_as(session, v);
        add_given(t, name, moved->made[v], &parameters);
        if (read >= 0 && read != moved->made[v])
            add(t, name, type_of(t, read), &used);
    }
    for (int i = 0; i < t->w.graph->n_inputs; i++) {
        int32_t v = t->w.graph->inputs[i];
        if (torch_has_shape(&t->w, v))
            add_given(t, str_from(tensor_name(t->w.graph, v)), moved->made[v], &inputs);
    }
    for (int i = 0; i < naming_n_paths(session->naming); i++) {
        CodeModule m;
        if (!code_module(session, i, &m))
            continue;
        const char *reads = m.reads < 0 ? "()" : ways_of(t, moved->sharding[m.in], m.reads);
        const char *gives =
            m.out < 0 ? "()" : ways_of(t, moved->made[m.out], values_read_as(session, m.out));
        add(t, m.path, arena_printf(t->w.arena, "(%s, %s)", reads, gives), &modules);
    }
    buf_putc(out, '\n');
    values_put_unpinned(session, "#", out);
    python_dict("PARAMETERS", &parameters, 0, out);
    if (used.n > 0) {
        buf_puts(out, "\n# Parameters that the plan moves before they are used.\n");
        python_dict("USED", &used, 0, out);
    }
    python_dict("INPUTS", &inputs, 0, out);
    buf_puts(out, "\n# Ways in which the first argument may come in, and the result may go out.\n");
    python_dict("MODULES", &modules, 0, out);
}

bool spmd_types_code(const Session *session, Buf *out, ExportNotes *notes, Error *err)
{
    Arena *arena = arena_new();
    Typing t = {.w = {.arena = arena,
                      .session = session,
                      .plan = session->plan,
                      .mesh = session->mesh,
                      .graph = session->graph}};
    (void)err;
    python_title(session, "spmd_types", out);
    buf_puts(out,
             "#\n#     with spmd.set_current_mesh(mesh), spmd.checker.typecheck():\n"
             "#         annotate(model)(**typed_inputs({...}))  # on a fake process group too\n"
             "import spmd_types as spmd\n"
             "import spmd_types.checker  # noqa: F401\n"
             "from spmd_types import I, P, PartitionSpec, R, V\n\n");
    python_mesh_axes(session->mesh, out);
    buf_putc(out, '\n');
    torch_find_stages(&t.w);
    if (t.w.n_staged > 0)
        torch_write_dims(&t.w, "STAGE_DIMS", true, out);
    buf_puts(out, lies_text);
    buf_putc(out, '\n');
    write_tables(&t, out);
    buf_puts(out, annotate_text);
    if (session->plan->decided->n_submeshes > 1)
        export_note(
            notes,
            "spmd_types has no stages: the type of a value is its type on the ranks of its stage");
    if (t.n_loose > 0)
        export_note(notes,
                    "no PartitionSpec can express the shards of %d values: their type is V, "
                    "without a PartitionSpec",
                    t.n_loose);
    arena_free(arena);
    return true;
}
