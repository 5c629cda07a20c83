#include "core/code/parallel.h"

#include "core/code/python.h"
#include "core/cost/step_comm.h"
#include "core/plan/stage.h"
#include "core/rules/roles.h"
#include "core/summary/label.h"

#include <inttypes.h>

typedef struct {
    Arena *arena;
    const Session *session;
    const Plan *plan;
    const Mesh *mesh;
    MatmulRoles roles;
    Parallel *out;
} ParallelReading;

static void unsaid(ParallelReading *f, const char *text)
{
    vec_push(f->arena, &f->out->unsaid, text);
}

static const char *op_label(const ParallelReading *f, int32_t op)
{
    return arena_str(f->arena, label_op(f->session, f->arena, op));
}

/* ---- what axes do ---- */

static AtomSet cut_at(const OpCut *cut, int index)
{
    return cut && index >= 0 ? cut_atoms(&cut->index[index]) : 0;
}

/* The axes in the set do this; other uses are told by the caller. */
static void use_axes(ParallelReading *f, AtomSet atoms, ParallelUse use)
{
    for (int a = 0; a < f->mesh->n_axes; a++)
        if (atoms & mesh_axis_atoms(f->mesh, a))
            f->out->use[a] |= (uint8_t)use;
}

/* The index dim that tensor parallelism shards: columns, or rows; -1: none. */
static int tensor_dim(const MatmulRole *role)
{
    switch (role->role) {
    case WEIGHT_COLUMN:
    case WEIGHT_HEAD:
        return role->n;
    case WEIGHT_ROW:
    case WEIGHT_EMBEDDING:
        return role->k;
    case WEIGHT_WHOLE:
    case WEIGHT_ROUTER:
    case WEIGHT_LATENT:
        return -1;
    }
    return -1;
}

static void find_weights(ParallelReading *f)
{
    bool told = false;

    for (int i = 0; i < f->roles.n; i++) {
        const MatmulRole *role = &f->roles.at[i];
        const OpCut *cut = plan_cut(f->plan, role->op);
        int tensor = tensor_dim(role);
        AtomSet other = 0;
        if (tensor >= 0)
            use_axes(f, cut_at(cut, tensor), PARALLEL_TENSOR);
        use_axes(f, cut_at(cut, role->expert), PARALLEL_EXPERT);
        other |= role->n == tensor ? 0 : cut_at(cut, role->n);
        other |= role->k == tensor ? 0 : cut_at(cut, role->k);
        if (other == 0 || told)
            continue;
        Buf axes = buf_new(f->arena);
        mesh_format_set(f->mesh, other, ", ", &axes);
        told = true;
        unsaid(f, arena_printf(f->arena, "%s shards the %s of %s, a %s matmul", axes.s,
                               role->n == tensor ? "rows" : "columns", op_label(f, role->op),
                               weight_role_name(role->role)));
    }
}

static void find_inputs(ParallelReading *f)
{
    const Graph *graph = f->session->graph;

    for (int i = 0; i < graph->n_inputs; i++) {
        int32_t t = graph->inputs[i], id = f->plan->moved->sharding[t];
        const Shape *shape = inferred_shape(f->session->inferred, t);
        if (id < 0 || !shape || tensor_is_parameter(f->session->inferred, t))
            continue;
        const Sharding *sharding = shardings_at(f->plan->shardings, id);
        for (int d = 0; d < sharding->n_dims; d++) {
            AtomSet atoms = cut_atoms(&sharding->dim[d]);
            if (d < 2)
                use_axes(f, atoms, d == 0 ? PARALLEL_DATA : PARALLEL_CONTEXT);
            else if (atoms)
                unsaid(f, arena_printf(f->arena, "dim %d of input %s is sharded", d,
                                       tensor_name(graph, t)));
        }
        if (f->out->batch == 0 && shape->n_dims > 0)
            f->out->batch = shape->dim[0];
        if (f->out->sequence == 0 && shape->n_dims == 2)
            f->out->sequence = shape->dim[1];
    }
}

static void find_stages(ParallelReading *f)
{
    const Decided *decided = f->plan->decided;
    AtomSet fixed = stages_atoms(f->plan);

    f->out->n_micro_batches = plan_micro_batches(f->plan);
    use_axes(f, fixed, PARALLEL_STAGES);
    if (fixed == 0)
        return;
    int64_t ranks = mesh_atoms_size(f->mesh, fixed);
    f->out->n_virtual = decided->stages ? (int)(decided->stages->n / ranks) : 1;
    if (!decided->stages || decided->stages->n % ranks != 0 || f->out->n_virtual < 1) {
        unsaid(f, "which ops run on which part of the mesh: ranks do not all have the same number "
                  "of stages");
        f->out->n_virtual = 1;
    } else if (decided->stages->scheduled) {
        f->out->schedule = decided->stages->schedule;
    }
}

/* Products of the axes of each use. */
static void multiply(ParallelReading *f)
{
    struct {
        ParallelUse use;
        int64_t *size;
    } sizes[] = {{PARALLEL_TENSOR, &f->out->tensor},
                 {PARALLEL_EXPERT, &f->out->expert},
                 {PARALLEL_DATA, &f->out->data},
                 {PARALLEL_CONTEXT, &f->out->context},
                 {PARALLEL_STAGES, &f->out->stages}};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        *sizes[i].size = 1;
        for (int a = 0; a < f->mesh->n_axes; a++)
            if (f->out->use[a] & sizes[i].use)
                *sizes[i].size *= f->mesh->axes[a].size;
    }
    for (int a = 0; a < f->mesh->n_axes; a++) {
        unsigned use = f->out->use[a];
        if (use == 0 && f->mesh->axes[a].size > 1)
            unsaid(f, arena_printf(f->arena, "the axis %s, whose ranks all run the same",
                                   f->mesh->axes[a].name));
        else if ((use & (use - 1)) && use != (PARALLEL_EXPERT | PARALLEL_DATA))
            unsaid(f, arena_printf(f->arena, "the several uses of axis %s", f->mesh->axes[a].name));
    }
}

/* Systems shard every column and row matmul, or none. */
static void find_whole(ParallelReading *f)
{
    AtomSet tensor = 0;
    int32_t first = -1;
    int n = 0;

    for (int a = 0; a < f->mesh->n_axes; a++)
        tensor |= f->out->use[a] == PARALLEL_TENSOR ? mesh_axis_atoms(f->mesh, a) : 0;
    for (int i = 0; i < f->roles.n; i++) {
        const MatmulRole *role = &f->roles.at[i];
        int index = tensor_dim(role);
        AtomSet own = index < 0 ? tensor : cut_at(plan_cut(f->plan, role->op), index);
        if ((own & tensor) == tensor)
            continue;
        first = n++ == 0 ? role->op : first;
    }
    if (n > 0)
        unsaid(f, arena_printf(f->arena, "%d matmuls that are not tensor parallel, the first is %s",
                               n, op_label(f, first)));
}

/* Stages of unlike length: how many row matmuls each has. */
static void find_lengths(ParallelReading *f)
{
    const Stages *stages = f->plan->decided->stages;
    int *n = stages ? arena_array(f->arena, int, stages->n + 1) : NULL;
    bool equal = true;
    Buf text = buf_new(f->arena);

    for (int i = 0; stages && i < f->roles.n; i++)
        if (f->roles.at[i].role == WEIGHT_ROW && stages->of_op[f->roles.at[i].op] >= 0)
            n[stages->of_op[f->roles.at[i].op]]++;
    for (int s = 0; stages && s < stages->n; s++) {
        equal &= n[s] == n[0];
        buf_printf(&text, "%s%d", s ? ", " : "", n[s]);
    }
    if (!equal)
        unsaid(f,
               arena_printf(f->arena, "stages of unequal length: they have %s row-parallel matmuls",
                            text.s));
}

/* ---- what is stored, recomputed, in which type ---- */

static void find_stored(ParallelReading *f)
{
    const Decided *decided = f->plan->decided;
    AtomSet atoms = 0;

    for (int i = 0; i < decided->n_pins; i++) {
        const Decision *pin = decided->pins[i];
        for (int a = 0; pin->store && a < f->mesh->n_axes; a++)
            if ((f->out->use[a] & PARALLEL_DATA) &&
                (cut_atoms(decision_cut(pin)) & mesh_axis_atoms(f->mesh, a))) {
                f->out->stored |= pin->store;
                atoms |= mesh_axis_atoms(f->mesh, a);
            }
    }
    for (int a = 0; a < f->mesh->n_axes; a++)
        f->out->shards *= atoms & mesh_axis_atoms(f->mesh, a) ? f->mesh->axes[a].size : 1;
}

static void find_sequence_parallel(ParallelReading *f)
{
    for (int i = 0; i < f->roles.n && !f->out->sequence_parallel; i++) {
        int32_t t = f->roles.at[i].stream;
        if (t < 0 || f->plan->moved->made[t] < 0)
            continue;
        const Sharding *made = shardings_at(f->plan->shardings, f->plan->moved->made[t]);
        for (int d = 0; d + 1 < made->n_dims; d++)
            for (int a = 0; a < f->mesh->n_axes; a++)
                f->out->sequence_parallel |=
                    f->out->use[a] == PARALLEL_TENSOR &&
                    (cut_atoms(&made->dim[d]) & mesh_axis_atoms(f->mesh, a)) != 0;
    }
}

static void find_recomputed(ParallelReading *f)
{
    const Inferred *inferred = f->session->inferred;
    int n = 0, n_roles = 0;

    for (int i = 0; f->plan->decided->recompute && i < inferred->n_program; i++)
        n += recompute_group(f->plan, inferred->program[i]) >= 0;
    for (int i = 0; n > 0 && i < f->roles.n; i++)
        n_roles += recompute_group(f->plan, f->roles.at[i].op) >= 0;
    f->out->recompute = n > 0;
    f->out->recompute_whole = 2 * n_roles > f->roles.n;
}

static void find_type(ParallelReading *f)
{
    for (int i = 0; i < f->roles.n && !f->out->low; i++) {
        const MatmulRole *role = &f->roles.at[i];
        uint8_t type =
            f->session->inferred->dtype[op_inputs(f->session->graph, role->op)[role->weight]];
        f->out->low = type == DT_BF16 ? "bf16" : type == DT_F16 ? "fp16" : NULL;
    }
}

static void find_order(ParallelReading *f)
{
    if (f->mesh->devices)
        unsaid(f, "which device is at each position of the mesh");
}

Parallel parallel_of(Arena *arena, const Session *session)
{
    Parallel out = {.n_virtual = 1, .shards = 1};
    ParallelReading f = {arena, session, session->plan, session->mesh, {0}, &out};

    f.roles = roles_find(arena, session->inferred);
    find_stages(&f);
    find_inputs(&f);
    find_weights(&f);
    multiply(&f);
    find_whole(&f);
    find_lengths(&f);
    find_stored(&f);
    find_sequence_parallel(&f);
    find_recomputed(&f);
    find_type(&f);
    find_order(&f);
    return out;
}

void parallel_format(const Parallel *parallel, const Mesh *mesh, Buf *out)
{
    static const struct {
        ParallelUse use;
        const char *name;
    } names[] = {{PARALLEL_TENSOR, "tensor"},
                 {PARALLEL_STAGES, "pipeline"},
                 {PARALLEL_DATA, "data"},
                 {PARALLEL_CONTEXT, "context"},
                 {PARALLEL_EXPERT, "expert"}};
    size_t start = out->n;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int a = 0; a < mesh->n_axes; a++)
            if (parallel->use[a] & names[i].use)
                buf_printf(out, "%s%s %" PRId64 " on %s", out->n > start ? ", " : "", names[i].name,
                           mesh->axes[a].size, mesh->axes[a].name);
}

void parallel_put_unsaid(const Parallel *parallel, const char *who, Buf *out, ExportNotes *notes)
{
    for (int i = 0; i < parallel->unsaid.n; i++) {
        const char *sentence = parallel->unsaid.at[i];
        buf_puts(out, "# Not said: ");
        python_comment(str_from(sentence), out);
        buf_putc(out, '\n');
        export_note(notes, "%s: %s", who, sentence);
    }
}
