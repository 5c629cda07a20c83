/* pins.c - shardings that PyTorch's users have in files: the tensor-parallel plan of a config of
 * transformers, and the metadata of a checkpoint of torch.distributed.checkpoint.
 *
 *     {"base_model_tp_plan": {"layers.*.self_attn.q_proj": "colwise", ..}}
 *
 * A style shards the columns or the rows of what the module multiplies by; which dims these are
 * follows from the op that reads the weight. The axis is "tp" (or "model", "mp"), else the last
 * one.
 *
 * A checkpoint's .metadata has no placements, but the chunks of each tensor and the rank that saved
 * each: a dim is sharded by the axes whose coordinates on these ranks are the chunks' places.
 *
 * Both are read as a dict of PartitionSpecs (core/session/pins_text.h).
 */
#include "core/base/pickle.h"
#include "core/peers/torch/tables.h"
#include "core/rules/roles.h"

#include <inttypes.h>
#include <stdlib.h>

static void put_name(Str name, Buf *out)
{
    Json *text = json_from_str(name);
    buf_puts(out, out->n > 1 ? ", " : "");
    json_write(text, out);
    json_free(text);
    buf_puts(out, ": P(");
}

/* ---- plans of transformers ---- */

static bool is_tp_plan(Str text)
{
    return str_starts(str_trim(text), STR("{")) && str_find(text, STR("tp_plan\"")) >= 0;
}

static const char *tp_axis(const Mesh *mesh)
{
    static const char *const names[] = {"tp", "model", "mp", "tensor"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (mesh_find_axis(mesh, str_from(names[i])) >= 0)
            return names[i];
    return mesh->n_axes > 0 ? mesh->axes[mesh->n_axes - 1].name : "";
}

/* Part by part from behind: "*" is any one part, and what is before the pattern may be anything. */
static bool module_matches(Str pattern, Str module)
{
    while (pattern.n > 0) {
        size_t p = pattern.n, m = module.n;
        while (p > 0 && pattern.s[p - 1] != '.')
            p--;
        while (m > 0 && module.s[m - 1] != '.')
            m--;
        Str want = {pattern.s + p, pattern.n - p}, have = {module.s + m, module.n - m};
        if (have.n == 0 || (!str_eq(want, STR("*")) && !str_eq(want, have)))
            return false;
        pattern.n = p > 0 ? p - 1 : 0;
        module.n = m > 0 ? m - 1 : 0;
    }
    return true;
}

/* The style of a module in a plan; "" if it has none. */
static Str style_of(const Json *plan, Str module)
{
    for (const char *key = NULL; (key = json_key_after(plan, key));)
        if (module_matches(str_from(key), module))
            return json_str(json_get(plan, key), "");
    return STR("");
}

/* The dim of an operand that is the index dim; -1: none. */
static int dim_of_index(const Operand *operand, int index)
{
    for (int d = 0; index >= 0 && d < operand->shape.n_dims; d++)
        if (operand->factors[d].n == 1 && operand->factors[d].index[0] == index)
            return d;
    return -1;
}

/* From what an op reads to the parameter that it is a view or a cast of, and to its dim. False: it
 * is of none. */
static bool find_parameter(const Inferred *inferred, const MatmulRole *role, int index,
                           int32_t *tensor, int *dim)
{
    enum { VIEWS_MAX = 4 };
    const Graph *graph = inferred->graph;
    const OpSpace *space = inferred_space(inferred, role->op);
    *tensor = op_inputs(graph, role->op)[role->weight];
    *dim = space ? dim_of_index(&space->operand[role->weight], index) : -1;
    for (int i = 0; i < VIEWS_MAX && *tensor >= 0 && *dim >= 0; i++) {
        int32_t maker = graph->tensors[*tensor].maker;
        if (maker < 0)
            return graph->tensors[*tensor].kind == TENSOR_INITIALIZER;
        space = inferred_space(inferred, maker);
        if (!space || space->n_outputs != 1)
            return false;
        const DimFactors *out = &opspace_output(space, 0)->factors[*dim];
        *dim = out->n == 1 ? dim_of_index(&space->operand[0], out->index[0]) : -1;
        *tensor = op_inputs(graph, maker)[0];
    }
    return false;
}

static void put_spec(int dim, int n_dims, const char *axis, Buf *out)
{
    for (int d = 0; d < n_dims; d++)
        buf_printf(out, d == dim ? "%s'%s'" : "%sNone", d ? ", " : "", axis);
    buf_puts(out, ")");
}

/* What a style shards: columns of the matmul (their bias too), or rows; a table of embeddings by
 * its rows. */
static void put_role(const Session *session, const Json *plan, const MatmulRole *role,
                     const char *axis, Buf *out)
{
    const Graph *graph = session->graph;
    for (int columns = 0; columns < 2; columns++) {
        int32_t weight;
        int dim;
        if (!find_parameter(session->inferred, role, columns ? role->n : role->k, &weight, &dim))
            continue;
        Str name = str_from(tensor_name(graph, weight)), module = {name.s, name.n - 7};
        Str style = str_ends(name, STR(".weight")) ? style_of(plan, module) : STR("");
        const Shape *shape = inferred_shape(session->inferred, weight);
        if (!shape || str_find(style, columns ? STR("colwise") : STR("rowwise")) < 0)
            continue;
        put_name(name, out);
        put_spec(dim, (int)shape->n_dims, axis, out);
        const char *bias = arena_printf(out->arena, "%.*s.bias", STR_ARG(module));
        if (!columns || graph_find_tensor(graph, str_from(bias)) < 0)
            continue;
        put_name(str_from(bias), out);
        put_spec(0, 1, axis, out);
    }
}

static bool read_tp_plan(PinsText *text, Scan *scan)
{
    const Session *session = text->session;
    Json *root = json_parse(scan->source, scan->err);
    if (!root)
        return false;
    const Json *plan = json_get(root, "base_model_tp_plan");
    if (!plan)
        plan = json_get(root, "tp_plan");
    MatmulRoles roles = roles_find(text->scratch, session->inferred);
    Buf made = buf_new(text->scratch);
    buf_puts(&made, "{");
    for (int i = 0; i < roles.n; i++)
        put_role(session, plan, &roles.at[i], tp_axis(text->mesh), &made);
    buf_puts(&made, "}");
    json_free(root);
    return pins_made_read(text, scan, &made);
}

/* ---- torch.distributed.checkpoint ---- */

static bool is_checkpoint(Str text)
{
    return pickle_is(text) && str_find(text, STR("torch.distributed.checkpoint")) >= 0;
}

enum { CHUNKS_MAX = 1 << 16 };

/* Where a chunk begins, and the rank that saved it. */
typedef struct {
    int64_t at[DIMS_MAX];
    int64_t position; /* in our mesh; -1: unknown */
} Chunk;

typedef struct {
    PinsText *text;
    const Json *saved; /* by index: where each chunk lies */
    Buf *out;
    int n_unknown; /* tensors whose chunks no axes explain */
} Checkpoint;

static const Json *field(const Json *object, const char *key)
{
    const Json *state = json_get(object, "state");
    return json_get(state, key);
}

/* The rank in "__3_0.distcp"; -1. */
static int64_t rank_of_file(Str path)
{
    int64_t rank = -1;
    if (!str_starts(path, STR("__")))
        return -1;
    Str rest = {path.s + 2, path.n - 2};
    return str_to_int(str_take(&rest, '_'), &rank) ? rank : -1;
}

static int64_t position_of_rank(const Mesh *mesh, int64_t rank)
{
    int64_t position = 0;
    while (position < mesh->n_devices && mesh_device(mesh, position) != rank)
        position++;
    return position < mesh->n_devices ? position : -1;
}

/* The rank that saved the chunk of a tensor at these offsets. */
static int64_t saver_of(const Checkpoint *c, Str name, const Json *offsets)
{
    for (const char *key = NULL; (key = json_key_after(c->saved, key));) {
        if (str_find(str_from(key), name) < 0)
            continue;
        Source source = {"index", str_from(key)};
        Json *index = json_parse(&source, NULL);
        Buf a = buf_new(c->text->scratch), b = buf_new(c->text->scratch);
        const Json *own = field(index, "offset");
        if (own)
            json_write(own, &a);
        json_write(offsets, &b);
        bool same =
            str_eq(json_str(field(index, "fqn"), ""), name) && str_eq(buf_str(&a), buf_str(&b));
        json_free(index);
        if (same)
            return rank_of_file(json_str(field(json_get(c->saved, key), "relative_path"), ""));
    }
    return -1;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Numbers the chunks along a dim: the number of parts. */
static int number_parts(Arena *arena, const Chunk *chunks, int n, int dim, int *part)
{
    int64_t *starts = arena_array(arena, int64_t, n + 1);
    int n_parts = 0;
    for (int i = 0; i < n; i++)
        starts[i] = chunks[i].at[dim];
    qsort(starts, (size_t)n, sizeof *starts, by_number);
    for (int i = 0; i < n; i++)
        if (i == 0 || starts[i] != starts[n_parts - 1])
            starts[n_parts++] = starts[i];
    for (int i = 0; i < n; i++)
        for (int p = 0; p < n_parts; p++)
            if (starts[p] == chunks[i].at[dim])
                part[i] = p;
    return n_parts;
}

/* Whether the axes, major first, number the savers as the chunks lie along the dim. */
static bool axes_explain(const Mesh *mesh, const int *axis, int n_axes, const Chunk *chunks,
                         const int *part, int n, int n_parts)
{
    int64_t size = 1;
    for (int a = 0; a < n_axes; a++)
        size *= mesh->axes[axis[a]].size;
    if (size < n_parts)
        return false;
    for (int i = 0; i < n; i++) {
        int64_t place = 0;
        for (int a = 0; a < n_axes; a++)
            place =
                place * mesh->axes[axis[a]].size + mesh_coord(mesh, axis[a], chunks[i].position);
        if (chunks[i].position < 0 || place != part[i])
            return false;
    }
    return true;
}

/* The fewest axes that do, up to two. */
static int find_axes(const Mesh *mesh, const Chunk *chunks, const int *part, int n, int n_parts,
                     int axis[2])
{
    for (int a = 0; a < mesh->n_axes; a++) {
        axis[0] = a;
        if (axes_explain(mesh, axis, 1, chunks, part, n, n_parts))
            return 1;
    }
    for (int a = 0; a < mesh->n_axes; a++)
        for (int b = 0; b < mesh->n_axes; b++) {
            axis[0] = a;
            axis[1] = b;
            if (a != b && axes_explain(mesh, axis, 2, chunks, part, n, n_parts))
                return 2;
        }
    return 0;
}

static void put_tensor(Checkpoint *c, Str name, const Json *meta)
{
    Arena *arena = c->text->scratch;
    const Mesh *mesh = c->text->mesh;
    const Json *list = field(meta, "chunks"), *size = field(meta, "size");
    int n = json_size(list), n_dims = json_size(size), axis[2];
    if (n == 0 || n > CHUNKS_MAX || n_dims > DIMS_MAX)
        return;
    Chunk *chunks = arena_array(arena, Chunk, n);
    int *part = arena_array(arena, int, n);
    for (int i = 0; i < n; i++) {
        const Json *offsets = field(json_at(list, i), "offsets");
        for (int d = 0; d < n_dims; d++)
            chunks[i].at[d] = json_int(json_at(offsets, d), 0);
        chunks[i].position = n > 1 ? position_of_rank(mesh, saver_of(c, name, offsets)) : 0;
    }
    Buf spec = buf_new(arena);
    for (int d = 0; d < n_dims; d++) {
        int n_parts = number_parts(arena, chunks, n, d, part);
        int n_axes = n_parts > 1 ? find_axes(mesh, chunks, part, n, n_parts, axis) : 0;
        if (n_parts > 1 && n_axes == 0) {
            c->n_unknown++;
            return;
        }
        buf_puts(&spec, d ? ", " : "");
        if (n_axes == 0)
            buf_puts(&spec, "None");
        else if (n_axes == 1)
            buf_printf(&spec, "'%s'", mesh->axes[axis[0]].name);
        else
            buf_printf(&spec, "('%s', '%s')", mesh->axes[axis[0]].name, mesh->axes[axis[1]].name);
    }
    put_name(name, c->out);
    buf_add(c->out, buf_str(&spec));
    buf_puts(c->out, ")");
}

/* States of an optimizer and the like are no tensors of the model. */
static bool is_of_model(Str name)
{
    return !str_starts(name, STR("optim")) && str_find(name, STR(".optim")) < 0;
}

static bool read_checkpoint(PinsText *text, Scan *scan)
{
    Json *root = pickle_read(scan->source, scan->err);
    if (!root)
        return false;
    Buf made = buf_new(text->scratch);
    Checkpoint c = {text, field(root, "storage_data"), &made, 0};
    const Json *tensors = field(root, "state_dict_metadata");
    buf_puts(&made, "{");
    for (const char *key = NULL; (key = json_key_after(tensors, key));)
        if (is_of_model(str_from(key)))
            put_tensor(&c, str_from(key), json_get(tensors, key));
    buf_puts(&made, "}");
    json_free(root);
    if (c.n_unknown > 0)
        pins_note(text, LEVEL_WARNING, "pins-chunks",
                  arena_printf(text->session->journal_arena,
                               "%d tensor%s of the checkpoint in chunks that no axes of the mesh "
                               "explain",
                               c.n_unknown, c.n_unknown == 1 ? " is" : "s are"),
                  "is the mesh that of the job that saved it?");
    return pins_made_read(text, scan, &made);
}

const PinsForm torch_pins[] = {{"styles", torch_styles_are, torch_styles_read},
                               {"tp_plan", is_tp_plan, read_tp_plan},
                               {"checkpoint", is_checkpoint, read_checkpoint},
                               {0}};
