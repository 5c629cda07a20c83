#include "core/peers/nnscaler/code_operators.h"

#include "core/code/python_fold.h"
#include "core/plan/op_cut.h"
#include "core/rules/notation.h"
#include "core/rules/registry.h"
#include "core/rules/user_op.h"

#include <inttypes.h>

typedef struct {
    Arena *arena;
    const Session *session;
    AtomSet axes;    /* that may cut ops */
    int n_lost;      /* cuts of ops that graph.partition() has no arguments for */
    Vec(int32_t) op; /* the first op of each registered operator */
} Operators;

bool nnscaler_is_plain(const Mesh *mesh, const Cut *cut, int axis)
{
    const MeshAxis *it = &mesh->axes[axis];
    const Digit *digit = &cut->digit[0];
    int64_t parts = 1;
    if (!cut_is_plain(cut))
        return false;
    for (int i = 0; i < digit->n; i++) {
        if (i > 0 && digit->atom[i] < digit->atom[i - 1])
            return false;
        parts *= mesh->atoms[digit->atom[i]].size;
    }
    int n = 0;
    for (int i = 0; i < digit->n; i++)
        n += mesh->atoms[digit->atom[i]].axis == axis;
    return n == it->n_atoms && digit->size % parts == 0;
}

static bool same_operator(const Graph *graph, int32_t a, int32_t b)
{
    return graph->ops[a].op_type == graph->ops[b].op_type;
}

static Operators operators_of(Arena *arena, const Session *session)
{
    const Inferred *inferred = session->inferred;
    Operators out = {.arena = arena, .session = session};
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        bool seen = operator_find(op_operator(session->graph, op)) != NULL;
        for (int k = 0; k < out.op.n && !seen; k++)
            seen = same_operator(session->graph, out.op.at[k], op);
        if (!seen)
            vec_push(arena, &out.op, op);
    }
    return out;
}

/* ---- registration ---- */

static bool has_one_annotation(const Operator *row)
{
    return row && row->anno && row->anno->annos && !row->anno->annos[1];
}

/* The annotation as it is registered, or that of the first op where it is chosen by shapes. */
static const char *annotation_of(const Operators *o, const Operator *row, int32_t op)
{
    Buf text = buf_new(o->arena), lost = buf_new(o->arena);
    if (has_one_annotation(row))
        return row->anno->annos[0];
    notation_find(STR("dimop"))->print(program_space(o->session->inferred, op), &text, &lost);
    return text.s;
}

/* "from custom_ops import mm": the last part of a path is the function's name. */
static void put_import(const char *python, Buf *out)
{
    const char *dot = strrchr(python, '.');
    buf_printf(out, "from %.*s import %s\n", (int)(dot - python), python, dot + 1);
}

static const char *function_name(const char *python)
{
    return strrchr(python, '.') + 1;
}

static void put_registration(const Operators *o, const Operator *row, int32_t op, Buf *out)
{
    const UserOp *user = row ? row->user : NULL;
    bool known = user && user->python;
    buf_puts(out, known ? "" : "# ");
    buf_puts(out, "nnscaler.register_op(");
    python_string(str_from(annotation_of(o, row, op)), out);
    buf_puts(out, ", name=");
    python_string(str_from(op_operator(o->session->graph, op)), out);
    if (user && user->source)
        buf_puts(out, ", code_impl_pattern=\"source\"");
    if (user && user->emit_fn)
        buf_printf(out, ", emit_fn=%s", function_name(user->emit_fn));
    buf_printf(out, ")(%s)\n", known ? function_name(user->python) : "FUNCTION");
}

static const Operator *row_of(const Operators *o, int32_t op)
{
    return registry_find(o->session->rules.registry, str_from(op_operator(o->session->graph, op)));
}

static void note_unsaid(const Operators *o, ExportNotes *notes)
{
    int n_unknown = 0, n_chosen = 0, n_rules = 0;
    for (int i = 0; i < o->op.n; i++) {
        const Operator *row = row_of(o, o->op.at[i]);
        const UserOp *user = row ? row->user : NULL;
        n_unknown += !user || !user->python;
        n_chosen += !has_one_annotation(row);
        n_rules += user && user->n_rules > 0;
    }
    if (n_unknown > 0)
        export_note(notes,
                    "%d registered operator%s without a Python function: a comment says how to "
                    "register it; python = \"module.function\" in register_op names it",
                    n_unknown, n_unknown > 1 ? "s" : "");
    if (n_chosen > 0)
        export_note(notes,
                    "%d operator%s with annotations that depend on shapes: the one of the first op "
                    "is written",
                    n_chosen, n_chosen > 1 ? "s" : "");
    if (n_rules > 0)
        export_note(notes,
                    "%d operator%s with rules: they are not written; pass them to nnScaler as "
                    "transform_rules",
                    n_rules, n_rules > 1 ? "s" : "");
}

void nnscaler_registrations(const Session *session, Buf *out, ExportNotes *notes)
{
    Arena *arena = arena_new();
    Operators o = operators_of(arena, session);
    Buf imports = buf_new(arena), calls = buf_new(arena);
    for (int i = 0; i < o.op.n; i++) {
        const Operator *row = row_of(&o, o.op.at[i]);
        if (row && row->user && row->user->python)
            put_import(row->user->python, &imports);
        if (row && row->user && row->user->emit_fn)
            put_import(row->user->emit_fn, &imports);
        put_registration(&o, row, o.op.at[i], &calls);
    }
    if (imports.n > 0)
        buf_printf(out, "import nnscaler\n%s\n", imports.s);
    if (calls.n > 0)
        buf_printf(out, "# Operators of the policy, under the names that OPERATORS has.\n%s\n",
                   calls.s);
    note_unsaid(&o, notes);
    arena_free(arena);
}

/* ---- partitions ---- */

/* The first dim of an input that begins with the index dim; returns false if there is none. */
static bool find_dim(const OpSpace *space, int index, int *input, int *dim)
{
    for (int i = 0; i < space->n_inputs; i++)
        for (int d = 0; d < space->operand[i].shape.n_dims; d++) {
            const DimFactors *factors = &space->operand[i].factors[d];
            if (factors->n == 0 || factors->index[0] != index)
                continue;
            *input = i;
            *dim = d;
            return true;
        }
    return false;
}

/* {"tp": dict(idx=0, dim=1, num=4)}: how graph.partition() cuts the op for each axis. */
static const char *partition_of(Operators *o, int32_t op)
{
    const Mesh *mesh = o->session->mesh;
    const OpSpace *space = program_space(o->session->inferred, op);
    const OpCut *cut = program_cut(o->session->plan, op);
    Buf out = buf_new(o->arena);
    buf_putc(&out, '{');
    for (int a = 0; a < mesh->n_axes; a++)
        for (int j = 0; j < space->n_index; j++) {
            int input, dim;
            if (!(cut_atoms(&cut->index[j]) & mesh_axis_atoms(mesh, a) & o->axes))
                continue;
            if (!nnscaler_is_plain(mesh, &cut->index[j], a) || !find_dim(space, j, &input, &dim)) {
                o->n_lost++;
                continue;
            }
            buf_puts(&out, out.n > 1 ? ", " : "");
            python_string(str_from(mesh->axes[a].name), &out);
            buf_printf(&out, ": dict(idx=%d, dim=%d, num=%" PRId64 ")", input, dim,
                       mesh->axes[a].size);
        }
    buf_putc(&out, '}');
    return out.s;
}

/* A list with the partition of each op of the operator, as far as they differ from the last one. */
static const char *partitions_of(Operators *o, int32_t first)
{
    const Inferred *inferred = o->session->inferred;
    Buf out = buf_new(o->arena);
    size_t end = 0; /* of the last that differs from the one before it */
    const char *before = "";
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        if (!same_operator(o->session->graph, first, op))
            continue;
        const char *one = partition_of(o, op);
        buf_printf(&out, "%s%s", out.n ? ", " : "", one);
        end = strcmp(one, before) != 0 ? out.n : end;
        before = one;
    }
    return arena_printf(o->arena, "[%.*s]", (int)end, out.s);
}

void nnscaler_operators(const Session *session, AtomSet axes, Buf *out, ExportNotes *notes)
{
    Arena *arena = arena_new();
    Operators o = operators_of(arena, session);
    PythonEntries entries = {0};
    o.axes = axes;
    for (int i = 0; i < o.op.n; i++)
        vec_push(arena, &entries,
                 (PythonEntry){str_from(op_operator(session->graph, o.op.at[i])),
                               partitions_of(&o, o.op.at[i]), NULL});
    buf_puts(out, "\n# Registered operators: for each op in program order the arguments of\n"
                  "# graph.partition(node, algo, idx=.., dim=.., num=..) by axis. The last is for\n"
                  "# all that follow.\n");
    python_dict("OPERATORS", &entries, 0, out);
    if (o.n_lost > 0)
        export_note(notes,
                    "%d sharding%s of registered operators do not split a dim of an input into "
                    "equal contiguous parts: replicated",
                    o.n_lost, o.n_lost > 1 ? "s" : "");
    arena_free(arena);
}
