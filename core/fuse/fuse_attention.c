/* fuse_attention.c - attention that is spelled out: softmax(q k^T scale + mask) v.
 *
 * The search goes from the last MatMul up to its softmax, from there up to the product of queries
 * and keys, each step by a row of a table below; then up from keys and values to the tensors before
 * they were repeated for groups of queries. A step that no row allows ends the search, and the ops
 * stay as they are.
 *
 *     q k^T [* or / scale] [cap * tanh(. / cap)] [+ bias] [Where(.., a large negative number)]
 *
 * Masks that are constants and hide the keys after each query, or outside of a window of keys,
 * become attributes, so that the op costs what it computes (fuse_mask.h).
 *
 * Shapes, not spellings, decide what a Reshape does, so any way to transpose keys or to repeat
 * heads is recognised.
 */
#include "core/base/str.h"
#include "core/model/rewrite.h"
#include "core/fuse/fuse.h"
#include "core/fuse/fuse_mask.h"

#include <math.h>

typedef enum {
    STEP_PASS,   /* does not change the numbers */
    STEP_NO_NAN, /* Where(IsNaN(x), 0, x): rows without keys become 0, as Attention makes them */
    STEP_SCALE,
    STEP_DIVIDE,
    STEP_BIAS,
    STEP_HIDE,  /* Where(c, a large negative number, x) */
    STEP_SHOW,  /* Where(c, x, a large negative number) */
    STEP_LIMIT, /* tanh */
} StepMeaning;

typedef struct {
    const char *operator;
    int from; /* the input that the search goes on from */
    StepMeaning meaning;
} AttentionStep;

/* From the last MatMul up to the softmax. */
static const AttentionStep weight_steps[] = {
    {"Cast", 0, STEP_PASS},
    {"Identity", 0, STEP_PASS},
    {"Dropout", 0, STEP_PASS},
    {"Where", 2, STEP_NO_NAN},
    {0},
};

/* From the softmax up to the product of queries and keys. */
static const AttentionStep score_steps[] = {
    {"Cast", 0, STEP_PASS},
    {"Identity", 0, STEP_PASS},
    {"Mul", 0, STEP_SCALE},
    {"Mul", 1, STEP_SCALE},
    {"Div", 0, STEP_DIVIDE},
    {"Add", 0, STEP_BIAS},
    {"Add", 1, STEP_BIAS},
    {"Where", 2, STEP_HIDE},
    {"Where", 1, STEP_SHOW},
    {"Tanh", 0, STEP_LIMIT},
    {0},
};

/* From an operand of that product up: scales of queries or keys. */
static const AttentionStep factor_steps[] = {
    {"Mul", 0, STEP_SCALE},
    {"Mul", 1, STEP_SCALE},
    {"Div", 0, STEP_DIVIDE},
    {0},
};

enum { CHAIN_MAX = 24, MASKS_MAX = 4 };

typedef struct {
    StepMeaning meaning;
    int32_t op;
    int from;       /* the input with the scores */
    bool explained; /* by is_causal and the window: the fused op does not read it */
} Mask;

typedef struct {
    const Inferred *inferred;
    const Graph *graph;
    int32_t chain[CHAIN_MAX]; /* ops that the fused op replaces */
    int n_chain;
    Mask mask[MASKS_MAX]; /* the one nearest to the softmax first */
    int n_masks;
    bool causal;
    int64_t left;             /* left_window_size; -1: all keys */
    double scale, cap;        /* so far; cap 0: none */
    bool limited;             /* above a tanh */
    int32_t softmax, product; /* ops */
    int32_t q, k_transposed, v;
} Match;

static int32_t maker_of(const Match *m, int32_t tensor)
{
    return tensor < 0 ? -1 : m->graph->tensors[tensor].maker;
}

static bool is_op(const Match *m, int32_t op, const char *name)
{
    return op >= 0 && strcmp(op_operator(m->graph, op), name) == 0;
}

/* The number in a constant of one element. */
static bool one_number(const Match *m, int32_t tensor, double *out)
{
    const Value *value = tensor < 0 ? NULL : inferred_value(m->inferred, tensor);
    if (!value || shape_elements(&value->shape) != 1 || !(value->floats || value->ints))
        return false;
    *out = value->floats ? value->floats[0] : (double)value->ints[0];
    return true;
}

static bool keep(Match *m, int32_t op)
{
    if (m->n_chain == CHAIN_MAX)
        return false;
    m->chain[m->n_chain++] = op;
    return true;
}

/* ---- steps ---- */

static bool removes_nan(Match *m, int32_t op)
{
    const int32_t *in = op_inputs(m->graph, op);
    int32_t test = maker_of(m, in[0]);
    double zero;
    return is_op(m, test, "IsNaN") && op_inputs(m->graph, test)[0] == in[2] &&
           one_number(m, in[1], &zero) && zero == 0 && keep(m, test);
}

static bool add_mask(Match *m, const AttentionStep *step, int32_t op)
{
    StepMeaning meaning = step->meaning;
    double number;
    if (m->limited || m->scale != 1 || m->n_masks == MASKS_MAX)
        return false;
    if (meaning != STEP_BIAS &&
        !(one_number(m, op_inputs(m->graph, op)[meaning == STEP_HIDE ? 1 : 2], &number) &&
          number < MASK_HIDDEN))
        return false;
    m->mask[m->n_masks++] = (Mask){.meaning = meaning, .op = op, .from = step->from};
    return true;
}

static bool limit(Match *m)
{
    if (m->limited || !(m->scale > 0))
        return false;
    m->limited = true;
    m->cap = m->scale;
    m->scale = 1;
    return true;
}

static bool apply_step(Match *m, const AttentionStep *step, int32_t op)
{
    const int32_t *in = op_inputs(m->graph, op);
    double number;
    switch (step->meaning) {
    case STEP_PASS:
        return true;
    case STEP_NO_NAN:
        return removes_nan(m, op);
    case STEP_SCALE:
        if (!one_number(m, in[1 - step->from], &number))
            return false;
        m->scale *= number;
        return true;
    case STEP_DIVIDE:
        if (!one_number(m, in[1], &number) || number == 0)
            return false;
        m->scale /= number;
        return true;
    case STEP_BIAS:
    case STEP_HIDE:
    case STEP_SHOW:
        return add_mask(m, step, op);
    case STEP_LIMIT:
        return limit(m);
    }
    return false;
}

/* Goes up from the tensor to an op of that name, trying every row that fits; -1 if no path leads
 * there. */
static int32_t climb(Match *m, const AttentionStep *steps, int32_t tensor, const char *end)
{
    int32_t op = maker_of(m, tensor);
    if (op < 0 || is_op(m, op, end))
        return op;
    for (const AttentionStep *step = steps; step->operator; step++) {
        Match before = *m;
        if (!is_op(m, op, step->operator) || m->graph->ops[op].n_inputs <= step->from)
            continue;
        int32_t found = keep(m, op) && apply_step(m, step, op)
                            ? climb(m, steps, op_inputs(m->graph, op)[step->from], end)
                            : -1;
        if (found >= 0)
            return found;
        *m = before;
    }
    return -1;
}

/* Removes scales from an operand of the product; returns the operand before them. */
static int32_t without_scale(Match *m, int32_t tensor)
{
    for (const AttentionStep *step = factor_steps; step->operator; step++) {
        int32_t op = maker_of(m, tensor);
        if (is_op(m, op, step->operator) && apply_step(m, step, op))
            return without_scale(m, op_inputs(m->graph, op)[step->from]);
    }
    return tensor;
}

/* ---- shapes ---- */

static const Shape *shape_of(const Match *m, int32_t tensor)
{
    return tensor < 0 ? NULL : inferred_sizes(m->inferred, tensor);
}

/* The same of a tensor whose shape is known, as those of the matched products are. */
static const Shape *known_shape_of(const Match *m, int32_t tensor)
{
    const Shape *shape = shape_of(m, tensor);
    assert(shape);
    return shape;
}

static bool is_last_axis(const Match *m, int32_t op)
{
    const Shape *shape = shape_of(m, op_outputs(m->graph, op)[0]);
    int64_t axis = op_attr_int(m->graph, op, "axis", op_opset(m->graph, op) < 13 ? 1 : -1);
    return shape && (axis == -1 || axis == shape->n_dims - 1);
}

/* Goes up from the tensor through Reshape and similar ops, n at most; returns the tensor if its
 * shape is the wanted one. */
static int32_t same_by_shape(const Match *m, int32_t tensor, const char *const *names, int n,
                             const Shape *want)
{
    for (int i = 0; i < n; i++) {
        int32_t op = maker_of(m, tensor);
        if (!is_op(m, op, names[i]))
            return -1;
        tensor = op_inputs(m->graph, op)[0];
    }
    const Shape *shape = shape_of(m, tensor);
    return shape && shape_equal(shape, want) ? tensor : -1;
}

/* Ops that repeat the heads of keys or values, [b,g,t,d] -> [b,g,1,t,d] -> [b,g,r,t,d] -> [b,g
 * r,t,d], from the last op to the first. */
static const char *const repeats[][3] = {
    {"Reshape", "Expand", "Unsqueeze"},
    {"Reshape", "Expand", "Reshape"},
    {"Reshape", "Tile", "Unsqueeze"},
    {"Reshape", "Tile", "Reshape"},
};

static int32_t without_repeat(const Match *m, int32_t tensor)
{
    const Shape *shape = shape_of(m, tensor);
    int32_t reshape = maker_of(m, tensor);
    const Shape *five = reshape < 0 ? NULL : shape_of(m, op_inputs(m->graph, reshape)[0]);
    if (!is_op(m, reshape, "Reshape") || !shape || !five || shape->n_dims != 4 ||
        five->n_dims != 5 || five->dim[1] < 1 || five->dim[2] < 1 ||
        five->dim[0] != shape->dim[0] || five->dim[1] * five->dim[2] != shape->dim[1] ||
        five->dim[3] != shape->dim[2] || five->dim[4] != shape->dim[3])
        return tensor;
    Shape want = *shape;
    want.dim[1] = five->dim[1];
    int32_t expand = maker_of(m, op_inputs(m->graph, reshape)[0]);
    const Shape *one = expand < 0 ? NULL : shape_of(m, op_inputs(m->graph, expand)[0]);
    if (!one || one->n_dims != 5 || one->dim[2] != 1 || one->dim[1] != five->dim[1])
        return tensor;
    for (size_t i = 0; i < sizeof repeats / sizeof *repeats; i++) {
        int32_t found = same_by_shape(m, tensor, repeats[i], 3, &want);
        if (found >= 0)
            return found;
    }
    return tensor;
}

/* ---- the fused op ---- */

/* Keys as [.., t, d]: a tensor of the graph, or the result of a new Transpose. */
typedef struct {
    int32_t source;
    bool moves;
    int64_t perm[DIMS_MAX];
    Shape shape;
} Keys;

/* Keys from the operand of the product, [.., d, t]. */
static Keys keys_of(const Match *m)
{
    int32_t op = maker_of(m, m->k_transposed);
    Keys keys = {.shape = *known_shape_of(m, m->k_transposed)};
    int n = (int)keys.shape.n_dims;
    static const char *const flattened[] = {"Reshape", "Transpose", "Reshape"};
    int64_t d = keys.shape.dim[n - 2];
    keys.shape.dim[n - 2] = keys.shape.dim[n - 1];
    keys.shape.dim[n - 1] = d;
    keys.source = same_by_shape(m, m->k_transposed, flattened, 3, &keys.shape);
    const Attr *inner =
        keys.source < 0 ? NULL : op_attr(m->graph, maker_of(m, op_inputs(m->graph, op)[0]), "perm");
    if (inner && inner->n == 3 && inner->ints[0] == 0 && inner->ints[1] == 2)
        return keys;
    const Attr *old = is_op(m, op, "Transpose") ? op_attr(m->graph, op, "perm") : NULL;
    keys.source = old ? op_inputs(m->graph, op)[0] : m->k_transposed;
    for (int i = 0; i < n; i++) {
        int from = i < n - 2 ? i : 2 * n - 3 - i;
        keys.perm[i] = old ? old->ints[from] : from;
        keys.moves |= keys.perm[i] != i;
    }
    return keys;
}

/* The bias that is added to the scores: the masks from the innermost to the outermost. A Where()
 * gets the bias so far in place of the scores. -1 if there is no mask. */
static int32_t bias_of(const Match *m, Rewrite *rewrite, int32_t before)
{
    int32_t bias = -1, zero = -1;
    for (int i = m->n_masks - 1; i >= 0; i--) {
        const int32_t *in = op_inputs(m->graph, m->mask[i].op);
        if (m->mask[i].explained)
            continue;
        NewOp op = {.before = before, .operator= "Where", .n_inputs = 3};
        if (m->mask[i].meaning == STEP_BIAS) {
            int32_t added = in[1 - m->mask[i].from];
            op = (NewOp){.before = before, .operator= "Add", .n_inputs = 2, .input = {bias, added}};
            bias = bias == -1 ? added : rewrite_add(rewrite, op);
            continue;
        }
        int hidden = m->mask[i].meaning == STEP_HIDE ? 1 : 2;
        Dtype dtype = (Dtype)m->inferred->dtype[in[hidden]];
        static const char zeros[8];
        if (bias == -1)
            zero = rewrite_constant(rewrite, dtype, 0, zeros, (size_t)dtype_bytes(dtype, 1));
        op.input[0] = in[0];
        op.input[hidden] = in[hidden];
        op.input[3 - hidden] = bias == -1 ? zero : bias;
        bias = rewrite_add(rewrite, op);
    }
    return bias;
}

/* ---- masks that are constants ---- */

typedef Vec(AttentionMask) AttentionMasks; /* those that were read: layers share them */

static AttentionMask read_mask(const Match *m, const Mask *mask, Arena *scratch,
                               AttentionMasks *masks)
{
    const int32_t *in = op_inputs(m->graph, mask->op);
    bool added = mask->meaning == STEP_BIAS;
    AttentionMask out = {.tensor = added ? in[1 - mask->from] : in[0],
                         .meaning = added                        ? MASK_ADDED
                                    : mask->meaning == STEP_HIDE ? MASK_HIDES
                                                                 : MASK_SHOWS};
    for (int i = 0; i < masks->n; i++)
        if (masks->at[i].tensor == out.tensor && masks->at[i].meaning == out.meaning)
            return masks->at[i];
    attention_mask_read(m->inferred, &out);
    vec_push(scratch, masks, out);
    return out;
}

/* Makes attributes of the masks if all are known, so that each query sees the key at its own place:
 * a query that sees no key has weights of its own kind. */
static void explain_masks(Match *m, Arena *scratch, AttentionMasks *masks)
{
    const Shape *scores = known_shape_of(m, op_outputs(m->graph, m->product)[0]);
    int64_t n_keys = scores->dim[scores->n_dims - 1];
    AttentionMask mask[MASKS_MAX];
    bool causal = false;
    int64_t left = n_keys - 1;
    for (int i = 0; i < m->n_masks; i++) {
        mask[i] = read_mask(m, &m->mask[i], scratch, masks);
        if (!mask[i].known)
            return;
        causal |= mask[i].causal;
        left = mask[i].left < left ? mask[i].left : left;
    }
    if (!causal)
        return;
    m->causal = true;
    m->left = left < n_keys - 1 ? left : -1;
    for (int i = 0; i < m->n_masks; i++)
        m->mask[i].explained = mask[i].is_plain;
}

/* ---- what fits ---- */

/* Whether the operands of the masks broadcast to the scores, and one has an element for each
 * key. */
static bool masks_fit(const Match *m, const Shape *scores)
{
    bool each = m->n_masks == 0;
    for (int i = 0; i < m->n_masks; i++) {
        const Mask *mask = &m->mask[i];
        const int32_t *in = op_inputs(m->graph, mask->op);
        const Shape *shape = shape_of(m, mask->meaning == STEP_BIAS ? in[1 - mask->from] : in[0]);
        if (!shape || shape->n_dims > scores->n_dims)
            return false;
        for (int64_t d = 0; d < shape->n_dims; d++) {
            int64_t at = scores->n_dims - shape->n_dims + d, size = shape->dim[d];
            bool heads_of_batch = scores->n_dims == 3 && at == 0;
            if (size != 1 && (heads_of_batch || size != scores->dim[at]))
                return false;
        }
        each |=
            shape->n_dims > 0 && shape->dim[shape->n_dims - 1] == scores->dim[scores->n_dims - 1];
    }
    return each;
}

static bool operands_fit(const Match *m, const Shape *k, int32_t v, int32_t y)
{
    const Shape *q = shape_of(m, m->q), *values = shape_of(m, v);
    const uint8_t *dtype = m->inferred->dtype;
    if (!q || !values || k->n_dims != q->n_dims || values->n_dims != q->n_dims ||
        q->dim[0] != k->dim[0] || q->dim[0] != values->dim[0] || dtype[m->q] != dtype[y] ||
        dtype[v] != dtype[y])
        return false;
    return q->n_dims == 3 ||
           (k->dim[1] > 0 && k->dim[1] == values->dim[1] && q->dim[1] % k->dim[1] == 0);
}

/* Whether nothing else reads a value between the product and the last MatMul. */
static bool is_closed(const Match *m, int32_t last)
{
    const Graph *graph = m->graph;
    for (int c = 0; c < m->n_chain; c++)
        for (int o = 0; o < graph->ops[m->chain[c]].n_outputs; o++) {
            int32_t tensor = op_outputs(graph, m->chain[c])[o];
            for (int u = 0; tensor >= 0 && u < tensor_n_uses(graph, tensor); u++) {
                int32_t reader = graph->uses[graph->tensors[tensor].use + u];
                bool inside = reader == last;
                for (int i = 0; i < m->n_chain; i++)
                    inside |= m->chain[i] == reader;
                if (!inside)
                    return false;
            }
            if (tensor >= 0 && graph->tensors[tensor].output)
                return false;
        }
    return true;
}

/* Matches attention from the MatMul of weights and values. Returns NULL, or why it is not fused;
 * NULL with m->softmax < 0 means that there is no softmax above it. */
static const char *match(Match *m, const Inferred *inferred, int32_t last)
{
    *m = (Match){
        .inferred = inferred, .graph = inferred->graph, .scale = 1, .softmax = -1, .left = -1};
    const int32_t *in = op_inputs(m->graph, last);
    int32_t softmax = climb(m, weight_steps, in[0], "Softmax");
    if (softmax < 0 || !is_last_axis(m, softmax))
        return NULL;
    m->softmax = softmax;
    m->product = climb(m, score_steps, op_inputs(m->graph, softmax)[0], "MatMul");
    if (m->product < 0 || !keep(m, m->softmax) || !keep(m, m->product))
        return "an op between its scores and its softmax is not known";
    const Shape *scores = shape_of(m, op_outputs(m->graph, m->product)[0]);
    m->q = without_scale(m, op_inputs(m->graph, m->product)[0]);
    m->k_transposed = without_scale(m, op_inputs(m->graph, m->product)[1]);
    m->v = in[1];
    if (!scores || scores->n_dims < 3 || scores->n_dims > 4 || !masks_fit(m, scores))
        return "its scores are not [batch, heads, queries, keys], or its mask does not fit them";
    return is_closed(m, last) ? NULL : "other ops read its scores or weights";
}

/* Replaces keys and values by the tensors before repetition, if both were repeated. */
static void share_heads(const Match *m, Keys *keys, int32_t *v)
{
    int32_t k = keys->moves ? keys->source : without_repeat(m, keys->source);
    int32_t values = without_repeat(m, *v);
    if (k == keys->source || values == *v)
        return;
    keys->source = k;
    keys->shape = *known_shape_of(m, k);
    *v = values;
}

static bool fuse_match(const Match *m, Rewrite *rewrite, int32_t last)
{
    Keys keys = keys_of(m);
    int32_t v = m->v, y = op_outputs(m->graph, last)[0];
    share_heads(m, &keys, &v);
    if (!operands_fit(m, &keys.shape, v, y))
        return false;
    NewOp turn = {.before = last, .operator= "Transpose", .n_inputs = 1, .n_attrs = 1};
    turn.input[0] = keys.source;
    turn.attr[0] = rewrite_ints(rewrite, "perm", keys.perm, (int)keys.shape.n_dims);
    int32_t k = keys.moves ? rewrite_add(rewrite, turn) : keys.source;
    int32_t bias = bias_of(m, rewrite, last);
    NewOp op = {.before = last, .replaces = true, .operator= "Attention" };
    op.n_inputs = bias == -1 ? 3 : 4;
    memcpy(op.input, (int32_t[]){m->q, k, v, bias}, sizeof op.input);
    op.attr[op.n_attrs++] =
        rewrite_float(rewrite, "scale", m->limited ? m->scale * m->cap : m->scale);
    if (m->limited)
        op.attr[op.n_attrs++] = rewrite_float(rewrite, "softcap", m->cap);
    if (m->causal)
        op.attr[op.n_attrs++] = rewrite_int(rewrite, "is_causal", 1);
    if (m->left >= 0)
        op.attr[op.n_attrs++] = rewrite_int(rewrite, "left_window_size", m->left);
    if (keys.shape.n_dims == 3) { /* each matrix is a batch of one head */
        op.attr[op.n_attrs++] = rewrite_int(rewrite, "q_num_heads", 1);
        op.attr[op.n_attrs++] = rewrite_int(rewrite, "kv_num_heads", 1);
    }
    rewrite_add(rewrite, op);
    return true;
}

static void add_note(const Inferred *inferred, Findings *notes, int32_t op, const char *text)
{
    Finding note = {.level = LEVEL_NOTE, .code = "fused", .text = text, .hint = ""};
    note.op = op;
    note.tensor = -1;
    vec_push(inferred->graph->arena, notes, note);
}

bool fuse_attention(const Inferred *inferred, Progress *progress, Findings *notes, Graph **fused,
                    Error *err)
{
    const Graph *graph = inferred->graph;
    Arena *arena = graph->arena;
    Rewrite *rewrite = rewrite_new(graph);
    Arena *scratch = arena_new();
    AttentionMasks masks = {0};
    int n_fused = 0, n_left = 0;
    const char *first = NULL;
    progress_stage(progress, "fusing attention", graph->n_ops);
    for (int32_t op = 0; op < graph->n_ops; op++) {
        progress_add(progress, 1);
        if (strcmp(op_operator(graph, op), "MatMul") != 0)
            continue;
        Match m;
        const char *why = match(&m, inferred, op);
        if (m.softmax < 0)
            continue;
        if (!why)
            explain_masks(&m, scratch, &masks);
        if (!why && !fuse_match(&m, rewrite, op))
            why = "its queries, keys and values differ in batch, heads or type";
        n_fused += !why;
        n_left += why != NULL;
        if (why && !first)
            first = arena_printf(arena, "'%s': %s", op_name(graph, m.softmax), why);
    }
    arena_free(scratch);
    add_note(inferred, notes, -1,
             arena_printf(arena, "attention: %d fused into Attention%s", n_fused,
                          n_fused + n_left == 0 ? ": the model has no softmax of a product" : ""));
    if (n_left > 0)
        add_note(
            inferred, notes, -1,
            arena_printf(arena, "attention: %d stay as they are; the first is %s", n_left, first));
    *fused = n_fused > 0 ? rewrite_seal(rewrite, err) : NULL;
    return n_fused == 0 || *fused;
}
