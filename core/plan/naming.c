#include "core/plan/naming.h"

#include "core/base/file.h"
#include "core/rules/registry.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>

/* ORDER PART */
static const char *const part_tails[PART_COUNT] = {".weight", ".bias", ".in", ".out"};

typedef struct {
    int32_t tensor, op; /* -1: none */
} PathPart;

/* Working state while the index is made. */
typedef struct {
    int32_t above; /* the path that holds it; -1 */
    PathPart part[PART_COUNT];
} Path;

/* Which op has that part is looked up again on demand, which halves the index. */
typedef struct {
    int32_t tensor[PART_COUNT]; /* -1: none */
} PathParts;

struct Naming {
    Arena *arena, *scratch; /* scratch: while it is made */
    const Inferred *inferred;
    Names *texts;   /* of paths: ids are indices into path, and into parts */
    Vec(Path) path; /* while the index is made: the empty path; in program order of first op, the
                       path that contains it */
    const PathParts *parts;
    int hidden;     /* 1 if no op has the empty path, which then does not count */
    Names *labels;  /* labels that differ from the tensor's name */
    int32_t *label; /* per tensor: id in labels, 0 for its own name; NULL if all have their own */
};

const char *part_name(Part part)
{
    return part_tails[part] + 1;
}

static bool from_parameters(const Inferred *inferred, int32_t tensor)
{
    int32_t maker = inferred->graph->tensors[tensor].maker;
    return tensor_is_parameter(inferred, tensor) || (maker >= 0 && inferred->on_parameters[maker]);
}

static bool is_constant(const Inferred *inferred, int32_t tensor)
{
    return inferred_value(inferred, tensor) != NULL ||
           inferred->graph->tensors[tensor].kind == TENSOR_INITIALIZER;
}

static int64_t n_dims(const Inferred *inferred, int32_t tensor)
{
    const Shape *shape = inferred_shape(inferred, tensor);
    return shape ? shape->n_dims : 0;
}

static void note_parameter(const Inferred *inferred, PathPart *part, int32_t tensor, int32_t op)
{
    PathPart place = {tensor, op}, *weight = &part[PART_WEIGHT], *bias = &part[PART_BIAS];
    bool matrix = n_dims(inferred, tensor) >= 2;
    bool weight_is_vector = weight->tensor >= 0 && n_dims(inferred, weight->tensor) < 2;
    bool weight_is_made = weight->op == op && !tensor_is_parameter(inferred, weight->tensor);
    if (matrix && weight_is_made && tensor_is_parameter(inferred, tensor)) {
        *weight = place; /* the other operand is a constant that ops compute */
    } else if (weight->tensor < 0 || (matrix && weight_is_vector)) {
        if (weight_is_vector && bias->tensor < 0)
            *bias = *weight;
        *weight = place;
    } else if (!matrix && bias->tensor < 0 && n_dims(inferred, tensor) == 1 &&
               tensor != weight->tensor) {
        *bias = place;
    }
}

static void note_parameters(const Inferred *inferred, PathPart *part, int32_t op)
{
    const Graph *graph = inferred->graph;
    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t tensor = op_inputs(graph, op)[i];
        if (tensor >= 0 && from_parameters(inferred, tensor))
            note_parameter(inferred, part, tensor, op);
    }
}

/* Inputs and outputs of a path: of an op on it, or below it. */
static void note_flow(const Inferred *inferred, PathPart *part, int32_t op)
{
    const Graph *graph = inferred->graph;
    for (int i = 0; i < graph->ops[op].n_inputs && part[PART_IN].tensor < 0; i++) {
        int32_t tensor = op_inputs(graph, op)[i];
        if (tensor >= 0 && !from_parameters(inferred, tensor) && !is_constant(inferred, tensor))
            part[PART_IN] = (PathPart){tensor, op};
    }
    if (graph->ops[op].n_outputs > 0 && (part[PART_OUT].tensor < 0 || !inferred->on_parameters[op]))
        part[PART_OUT] = (PathPart){op_outputs(graph, op)[0], op};
}

static void note_label(Naming *naming, int32_t tensor, Str label)
{
    const Graph *graph = naming->inferred->graph;
    if (str_eq(label, names_str(graph->names, graph->tensors[tensor].name)))
        return;
    if (!naming->label) {
        naming->label = arena_array(naming->arena, int32_t, graph->n_tensors);
        naming->labels = names_new(naming->arena);
    }
    naming->label[tensor] = names_intern(naming->labels, label);
}

/* Whether the file gives the parameter a name by its module, "h.0.mixer.A_log", which it keeps on
 * all paths; "onnx::MatMul_12", "val_3" are an exporter's. */
static bool has_module_name(const Graph *graph, int32_t tensor)
{
    Str name = names_str(graph->names, graph->tensors[tensor].name);
    return str_find(name, STR(".")) >= 0 && str_find(name, STR("::")) < 0;
}

int32_t naming_viewed_parameter(const Inferred *inferred, int32_t tensor)
{
    const Graph *graph = inferred->graph;
    for (int32_t maker; (maker = graph->tensors[tensor].maker) >= 0;) {
        if (!operator_is_view(inferred_operator(inferred, maker)) || op_inputs(graph, maker)[0] < 0)
            return -1;
        tensor = op_inputs(graph, maker)[0];
    }
    return graph->tensors[tensor].kind == TENSOR_INITIALIZER ? tensor : -1;
}

/* The name of a parameter or a view of one, `label` being PATH.weight or PATH.bias as op reads it:
 * the file's, if that names the module; else the label, unless another tensor has it or the op is
 * elementwise and the tensor no bias: a mask, a rotary table. "" for what ops compute. */
static Str known_as(const Inferred *inferred, int32_t tensor, int32_t op, Str label)
{
    const Graph *graph = inferred->graph;
    int32_t parameter = naming_viewed_parameter(inferred, tensor);
    if (parameter < 0)
        return STR("");
    if (has_module_name(graph, parameter))
        return names_str(graph->names, graph->tensors[parameter].name);
    const Operator *row = inferred_operator(inferred, op);
    bool elementwise =
        row && (strcmp(row->family, "elementwise") == 0 || strcmp(row->family, "pointwise") == 0);
    bool table = elementwise && str_ends(label, STR(".weight"));
    return table || graph_find_tensor(graph, label) >= 0 ? STR("") : label;
}

/* The first path that has the parameter names it, unless there are modules inside that path: then
 * it is not known which of them, or of those that no op shows, the parameter belongs to. */
static void note_labels(Naming *naming, Arena *scratch)
{
    Buf text = buf_new(scratch);
    bool *named = arena_array(scratch, bool, naming->inferred->graph->n_tensors);
    bool *has_modules = arena_array(scratch, bool, naming->path.n);
    for (int i = 0; i < naming->path.n; i++)
        if (naming->path.at[i].above >= 0)
            has_modules[naming->path.at[i].above] = true;
    for (int i = 0; i < naming->path.n; i++)
        for (int p = PART_WEIGHT; p <= PART_BIAS; p++) {
            int32_t tensor = naming->path.at[i].part[p].tensor;
            if (tensor < 0 || named[tensor])
                continue;
            named[tensor] = true;
            text.n = 0;
            buf_add(&text, names_str(naming->texts, i));
            buf_puts(&text, part_tails[p]);
            Str label = known_as(naming->inferred, tensor, naming->path.at[i].part[p].op,
                                 has_modules[i] ? STR("") : buf_str(&text));
            if (label.n > 0)
                note_label(naming, tensor, label);
        }
}

/* at: the index of its path. Parameters belong to modules of the model, not to those of a training
 * step, "backward" and "update". */
static void note_op(Naming *naming, int32_t op, int32_t at)
{
    const Inferred *forward = naming->inferred->forward;
    assert(naming->path.at && at >= 0);
    if (!forward || op < forward->graph->n_ops)
        note_parameters(naming->inferred, naming->path.at[at].part, op);
    for (; at >= 0; at = naming->path.at[at].above)
        note_flow(naming->inferred, naming->path.at[at].part, op);
}

enum { ABOVE_MOST = 32 }; /* modules that a path names: it comes from a file */

static int32_t push_path(Naming *naming, Str text, int32_t above)
{
    Path path = {.above = above};
    for (int p = 0; p < PART_COUNT; p++)
        path.part[p] = (PathPart){-1, -1};
    vec_push_own(naming->scratch, &naming->path, path);
    return names_intern(naming->texts, text);
}

/* The index of a path. Adds the paths that contain it first: "h" and "h.0" before "h.0.attn". */
static int32_t add_path(Naming *naming, Str text, int depth)
{
    int32_t known = names_find(naming->texts, text), above = -1;
    if (known >= 0)
        return known;
    Str rest = text;
    while (rest.n > 0 && rest.s[rest.n - 1] != '.')
        rest.n--;
    if (rest.n > 1 && depth < ABOVE_MOST)
        above = add_path(naming, (Str){rest.s, rest.n - 1}, depth + 1);
    return push_path(naming, text, above);
}

/* Per Names id: 1 + the index of the path; 0 if no op of the program is on it. */
static int32_t *add_paths(Naming *naming, Arena *scratch)
{
    const Graph *graph = naming->inferred->graph;
    int32_t *path_of = arena_array(scratch, int32_t, names_count(graph->names));
    for (int i = 0; i < naming->inferred->n_program; i++) {
        int32_t path = graph->ops[naming->inferred->program[i]].path;
        if (!path_of[path])
            path_of[path] = 1 + add_path(naming, names_str(graph->names, path), 0);
    }
    naming->hidden = path_of[0] == 0;
    return path_of;
}

static void keep_parts(Naming *naming)
{
    PathParts *parts = arena_array(naming->arena, PathParts, naming->path.n);
    for (int i = 0; i < naming->path.n; i++)
        for (int p = 0; p < PART_COUNT; p++)
            parts[i].tensor[p] = naming->path.at[i].part[p].tensor;
    naming->parts = parts;
    naming->path.at = NULL;
    naming->scratch = NULL;
}

Naming *naming_new(Arena *arena, const Inferred *inferred)
{
    const Graph *graph = inferred->graph;
    Arena *scratch = arena_new();
    Naming *naming = arena_make(arena, Naming);
    *naming = (Naming){.arena = arena, .scratch = scratch, .inferred = inferred};
    naming->texts = names_new(arena);
    push_path(naming, STR(""), -1);
    const int32_t *path_of = add_paths(naming, scratch);
    /* Ops that compute come first: a Transpose of a weight is a view, the MatMul behind it is what
     * reads it. */
    for (int views = 0; views <= 1; views++)
        for (int i = 0; i < inferred->n_program; i++) {
            int32_t op = inferred->program[i], path = graph->ops[op].path;
            if (path != 0 && inferred->on_parameters[op] == (views == 1))
                note_op(naming, op, path_of[path] - 1);
        }
    note_labels(naming, scratch);
    keep_parts(naming);
    arena_free(scratch);
    return naming;
}

/* Returns whether the op is on the path, or with `beneath` on one inside it. */
static bool is_on(const Graph *graph, int32_t op, Str path, bool beneath)
{
    Str own = names_str(graph->names, graph->ops[op].path);
    if (own.n == 0 || !str_starts(own, path))
        return false;
    return own.n == path.n || (beneath && (path.n == 0 || own.s[path.n] == '.'));
}

/* The op through which the tensor is that part of the path. Ops that compute come first, as in the
 * search for parts. */
static int32_t op_of_part(const Naming *naming, Str path, Part part, int32_t tensor)
{
    const Inferred *inferred = naming->inferred;
    const Graph *graph = inferred->graph;
    if (tensor < 0 || part == PART_OUT)
        return tensor < 0 ? -1 : graph->tensors[tensor].maker;
    for (int views = 0; views <= 1; views++)
        for (int32_t u = graph->tensors[tensor].use; u < graph->tensors[tensor + 1].use; u++) {
            int32_t op = graph->uses[u];
            if (!inferred_is_host(inferred, op) && inferred->on_parameters[op] == (views == 1) &&
                is_on(graph, op, path, part == PART_IN))
                return op;
        }
    return -1;
}

int32_t naming_part(const Naming *naming, Str path, Part part, int32_t *op)
{
    int32_t at = names_find(naming->texts, path);
    int32_t tensor = at < 0 ? -1 : naming->parts[at].tensor[part];
    if (op)
        *op = op_of_part(naming, path, part, tensor);
    return tensor;
}

int naming_n_paths(const Naming *naming)
{
    return names_count(naming->texts) - naming->hidden;
}

const char *naming_path(const Naming *naming, int i)
{
    return names_text(naming->texts, i + naming->hidden);
}

int32_t naming_part_at(const Naming *naming, int i, Part part)
{
    return naming->parts[i + naming->hidden].tensor[part];
}

/* The stack that holds "experts.3.w1.weight" of a checkpoint, "experts.w1.weight"; -1 if none. */
static int32_t find_stack(const Naming *naming, Str name)
{
    const Graph *graph = naming->inferred->graph;
    int32_t found = -1;
    Arena *scratch = arena_new();
    for (size_t at = 0, end; at < name.n && found < 0; at = end + 1) {
        for (end = at; end < name.n && name.s[end] != '.';)
            end++;
        Str digits = {name.s + at, end - at}, head = {name.s, at};
        int64_t index;
        if (end == name.n || digits.s[0] < '0' || (digits.s[0] == '0' && digits.n > 1) ||
            !str_to_int(digits, &index))
            continue;
        Str tail = {name.s + end, name.n - end};
        int32_t stack =
            graph_find_tensor(graph, str_from(arena_printf(scratch, "%.*s%.*s", STR_ARG(head),
                                                           (int)tail.n - 1, tail.s + 1)));
        int32_t data = stack < 0 ? -1 : graph->tensors[stack].data;
        const char *parts = data < 0 ? NULL : graph->data[data].parts;
        const Shape *shape = stack < 0 ? NULL : inferred_shape(naming->inferred, stack);
        if (parts && shape && index < shape->dim[0] &&
            strcmp(parts, arena_printf(scratch, "%.*s*%.*s", STR_ARG(head), STR_ARG(tail))) == 0)
            found = stack;
    }
    arena_free(scratch);
    return found;
}

static int32_t find_exactly(const Naming *naming, Str name);

/* What a training step makes of a tensor: "PATH.weight~grad". */
static int32_t find_derived(const Naming *naming, Str name)
{
    const Graph *graph = naming->inferred->graph;
    int64_t tilde = str_find(name, STR("~"));
    int32_t of = tilde > 0 && naming->inferred->forward
                     ? find_exactly(naming, (Str){name.s, (size_t)tilde})
                     : -1;
    if (of < 0)
        return -1;
    Buf text = buf_new(naming->arena);
    buf_printf(&text, "%s%.*s", tensor_name(graph, of), (int)(name.n - (size_t)tilde),
               name.s + tilde);
    return graph_find_tensor(graph, buf_str(&text));
}

static int32_t find_exactly(const Naming *naming, Str name)
{
    int32_t tensor = graph_find_tensor(naming->inferred->graph, name);
    if (tensor < 0)
        tensor = find_derived(naming, name);
    for (int p = 0; p < PART_COUNT && tensor < 0; p++) {
        Str tail = str_from(part_tails[p]);
        if (str_ends(name, tail))
            tensor = naming_part(naming, (Str){name.s, name.n - tail.n}, (Part)p, NULL);
    }
    return tensor < 0 ? find_stack(naming, name) : tensor;
}

static void consider(Str name, const char *candidate, int *best, const char **nearest)
{
    Str text = str_from(candidate);
    bool part = str_find(text, name) >= 0; /* characters of the name that were typed */
    int64_t longer = (int64_t)text.n - (int64_t)name.n;
    if (!part && (longer < 0 ? -longer : longer) >= *best)
        return;
    int distance = part ? 1 : str_distance(name, text);
    if (distance < *best) {
        *best = distance;
        *nearest = candidate;
    }
}

enum {
    NEAREST_LOOK_AT = 20000
}; /* names compared: a hint must not take longer than a frame of the
      screen */

int32_t naming_find(const Naming *naming, Str name, Error *err)
{
    int32_t tensor = find_exactly(naming, name);
    if (tensor >= 0 || !err) /* nobody reads the hint */
        return tensor;
    error_kind(err, ERROR_USAGE, "no tensor is named '%.*s'", STR_ARG(name));
    int best = INT_MAX;
    const char *nearest = NULL;
    const Graph *graph = naming->inferred->graph;
    for (int t = 0; t < graph->n_tensors && t < NEAREST_LOOK_AT; t++) {
        if (naming->label && naming->label[t] != 0)
            consider(name, names_text(naming->labels, naming->label[t]), &best, &nearest);
        consider(name, tensor_name(graph, t), &best, &nearest);
    }
    if (nearest)
        error_hint(err, "did you mean '%s'?", nearest);
    return -1;
}

int32_t naming_find_dim(const Naming *naming, Str name, int *dim, Error *err)
{
    *dim = -2;
    int32_t tensor = find_exactly(naming, name);
    size_t dot = name.n;
    while (dot > 0 && name.s[dot - 1] != '.')
        dot--;
    int64_t number;
    if (tensor < 0 && dot > 0 && str_to_int((Str){name.s + dot, name.n - dot}, &number) &&
        (tensor = find_exactly(naming, (Str){name.s, dot - 1})) >= 0) {
        if (number < 0 || number >= n_dims(naming->inferred, tensor)) {
            error_kind(err, ERROR_OUT_OF_RANGE, "%.*s has %" PRId64 " dims, no dim %" PRId64,
                       (int)(dot - 1), name.s, n_dims(naming->inferred, tensor), number);
            return -1;
        }
        *dim = (int)number;
    }
    return tensor >= 0 ? tensor : naming_find(naming, name, err);
}

/* Of what a training step makes of a tensor, the label of that and what follows it: "~grad"; NULL
 * of other values. */
static const char *derived_label(const Naming *naming, Arena *arena, int32_t tensor)
{
    const Inferred *inferred = naming->inferred;
    const char *name = tensor_name(inferred->graph, tensor), *tilde = strchr(name, '~');
    if (!tilde || !inferred->forward || tensor < inferred->forward->graph->n_tensors)
        return NULL;
    int32_t of = graph_find_tensor(inferred->graph, (Str){name, (size_t)(tilde - name)});
    return of < 0 ? NULL : arena_printf(arena, "%s%s", naming_value(naming, arena, of), tilde);
}

const char *naming_label(const Naming *naming, int32_t tensor)
{
    return naming->label && naming->label[tensor] != 0
               ? names_text(naming->labels, naming->label[tensor])
               : tensor_name(naming->inferred->graph, tensor);
}

const char *naming_value(const Naming *naming, Arena *arena, int32_t tensor)
{
    const Inferred *inferred = naming->inferred;
    const Graph *graph = inferred->graph;
    int32_t maker = graph->tensors[tensor].maker;
    const char *derived = derived_label(naming, arena, tensor);
    if (derived)
        return derived;
    if (maker < 0 || inferred->on_parameters[maker] || inferred_is_host(inferred, maker))
        return naming_label(naming, tensor);
    const char *path = op_path(graph, maker), *name = op_name(graph, maker);
    int n = graph->ops[maker].n_outputs, which = 0;
    if (*path && n == 1 && naming_part(naming, str_from(path), PART_OUT, NULL) == tensor)
        return arena_printf(arena, "%s.out", path);
    if (*path)
        name = arena_printf(arena, "%s/%s", path, path_base(name));
    while (which < n && op_outputs(graph, maker)[which] != tensor)
        which++;
    return n > 1 ? arena_printf(arena, "%s out %d", name, which)
                 : arena_printf(arena, "%s out", name);
}

MatrixOrder naming_matrix(const Inferred *inferred, int32_t tensor)
{
    const Graph *graph = inferred->graph;
    for (int32_t u = graph->tensors[tensor].use; u < graph->tensors[tensor + 1].use; u++) {
        int32_t op = graph->uses[u];
        Str name = str_from(op_operator(graph, op));
        bool second = graph->ops[op].n_inputs > 1 && op_inputs(graph, op)[1] == tensor;
        if (str_eq(name, STR("Transpose")) || (str_eq(name, STR("Linear")) && second))
            return MATRIX_OUT_IN;
        if (str_eq(name, STR("MatMul")) && second)
            return MATRIX_IN_OUT;
        if (str_eq(name, STR("Gemm")) && second)
            return op_attr_int(graph, op, "transB", 0) ? MATRIX_OUT_IN : MATRIX_IN_OUT;
    }
    return MATRIX_UNKNOWN;
}
