#include "core/run/feed.h"

#include "core/run/verify/gradient_test.h"

#include <assert.h>
#include <inttypes.h>

/* ---- filling a part ---- */

/* Converts elements between float types. */
static void convert_stretch(const Feed *feed, const Stretch *s, Local *part)
{
    Number number = dtype_number(part->dtype);
    const char *from = (const char *)feed->bytes + s->from * element_bytes(feed->held);
    for (int64_t i = 0; i < s->n; i += ELEMENT_BLOCK) {
        NumberBlock block;
        int64_t n = s->n - i < ELEMENT_BLOCK ? s->n - i : ELEMENT_BLOCK;
        elements_load(feed->held, from + i * s->step * element_bytes(feed->held), s->step, n,
                      number, &block);
        local_store(part, s->to + i, n, number, &block);
    }
}

static void fill_bytes(const Feed *feed, Local *part, Arena *scratch)
{
    Picks picks = picks_whole(scratch, part);
    int64_t size = element_bytes(part->dtype);
    Stretch s;
    for (PickScan scan = picks_scan(&picks); picks_next(&scan, &s);)
        if (feed->held == part->dtype)
            elements_copy(part->dtype, local_at(part, s.to),
                          (const char *)feed->bytes + s.from * size, s.step, s.n);
        else
            convert_stretch(feed, &s, part);
}

static void fill_held(const Value *value, Local *part, Arena *scratch)
{
    Picks picks = picks_whole(scratch, part);
    Dtype held = value->ints ? DT_I64 : DT_F64;
    Number number = dtype_number(held);
    Stretch s;
    for (PickScan scan = picks_scan(&picks); picks_next(&scan, &s);)
        for (int64_t i = 0; i < s.n; i += ELEMENT_BLOCK) {
            NumberBlock block;
            int64_t n = s.n - i < ELEMENT_BLOCK ? s.n - i : ELEMENT_BLOCK;
            int64_t at = s.from + i * s.step;
            const void *from = value->ints ? (const void *)&value->ints[at] : &value->floats[at];
            elements_load(held, from, s.step, n, number, &block);
            local_store(part, s.to + i, n, number, &block);
        }
}

/* Fills elements with offset + sum of coef * global index; elements for which picks have PICK_NONE
 * are skipped. */
static void fill_row(const Affine *row, const Picks *picks, Local *part)
{
    Stretch s;
    for (PickScan scan = picks_scan(picks); picks_next(&scan, &s);)
        for (int64_t i = 0; i < s.n; i++) {
            int64_t x = row->offset + s.from + i * s.step;
            local_store(part, s.to + i, 1, NUMBER_I64, &x);
        }
}

/* There is one row for the whole value, or one per place of the last dim. */
static void fill_affine(const Value *value, Local *part, Arena *scratch)
{
    int last = (int)part->shape.n_dims - 1;
    int n_rows = value->affine ? 1 : value->n_components;
    for (int c = 0; c < n_rows; c++) {
        Affine row = value->row;
        if (!value->affine && !value_component(value, c, &row))
            return;
        Picks picks = picks_new(scratch, &part->shape);
        for (int d = 0; d < picks.n_dims; d++)
            picks_global(&picks, d, &part->runs[d], row.coef[d]);
        for (int64_t i = 0, at = 0; !value->affine && at < part->runs[last].n; at++)
            for (int64_t k = 0; k < part->runs[last].at[at].length; k++, i++)
                if (part->runs[last].at[at].start + k != c)
                    picks.from[last][i] = PICK_NONE;
        fill_row(&row, &picks, part);
    }
}

static void fill_drawn(const Feed *feed, uint64_t key, Local *part, Arena *scratch)
{
    if (!dtype_is_float(part->dtype) || !dtype_is_computed(part->dtype))
        return;
    Picks picks = picks_whole(scratch, part);
    Stretch s;
    for (PickScan scan = picks_scan(&picks); picks_next(&scan, &s);)
        for (int64_t i = 0; i < s.n; i += ELEMENT_BLOCK) {
            NumberBlock block;
            int64_t n = s.n - i < ELEMENT_BLOCK ? s.n - i : ELEMENT_BLOCK;
            for (int64_t k = 0; k < n; k++)
                block.f64[k] = feed->scale * draw_uniform(key, s.from + (i + k) * s.step);
            local_store(part, s.to + i, n, NUMBER_F64, &block);
        }
}

static void fill_generated(const Feed *feed, uint64_t key, Local *part, Arena *scratch)
{
    Picks picks = picks_whole(scratch, part);
    Stretch s;
    for (PickScan scan = picks_scan(&picks); picks_next(&scan, &s);)
        for (int64_t i = 0; i < s.n; i++) {
            double number =
                generated_number(feed->generated, part->dtype, key, s.from + i * s.step);
            local_store(part, s.to + i, 1, NUMBER_F64, &number);
        }
}

/* Element i of a row of made-up text is the token that its Markov chain reaches after i turns. The
 * labels of a language model are one turn ahead. */
static void fill_text(const Feed *feed, uint64_t key, Local *part, Arena *scratch)
{
    int64_t width = part->whole.n_dims > 0 ? part->whole.dim[part->whole.n_dims - 1] : 1;
    int64_t n = shape_elements(&part->whole), *tokens = arena_array(scratch, int64_t, n);
    for (int64_t i = 0; i < n; i++)
        if (i % width == 0)
            text_draw(key, i / width, feed->bound, feed->ahead, width, tokens + i);
    Picks picks = picks_whole(scratch, part);
    Stretch s;
    for (PickScan scan = picks_scan(&picks); picks_next(&scan, &s);)
        for (int64_t i = 0; i < s.n; i++)
            local_store(part, s.to + i, 1, NUMBER_I64, &tokens[s.from + i * s.step]);
}

uint64_t batch_seed(uint64_t seed, int64_t batch)
{
    return batch == 0 ? seed : seed ^ ((uint64_t)batch * 0x9e3779b97f4a7c15);
}

/* Fills a part of the copied tensor, then converts it. */
static void fill_copy(const Feeds *feeds, int32_t copied, Local *part, Arena *scratch)
{
    int64_t n_elements = shape_elements(&part->shape);
    Local from = *part;
    from.dtype = (Dtype)feeds->inferred->dtype[copied];
    from.data = arena_alloc(scratch, (size_t)(dtype_bytes(from.dtype, n_elements) + 8));
    feed_fill(feeds, copied, 0, &from, scratch);
    Number number = dtype_number(part->dtype);
    for (int64_t i = 0; i < n_elements; i += ELEMENT_BLOCK) {
        NumberBlock block;
        int64_t n = n_elements - i < ELEMENT_BLOCK ? n_elements - i : ELEMENT_BLOCK;
        local_load(&from, i, 1, n, number, &block);
        local_store(part, i, n, number, &block);
    }
}

void feed_fill(const Feeds *feeds, int32_t tensor, int64_t batch, Local *part, Arena *scratch)
{
    const Feed *feed = &feeds->at[tensor];
    bool input = feeds->inferred->graph->tensors[tensor].kind == TENSOR_INPUT;
    uint64_t key = batch_seed(feed->key, input ? batch : 0);
    assert(feed->kind != FEED_NONE);
    if (feed->kind == FEED_COPY)
        fill_copy(feeds, feed->copied, part, scratch);
    else if (feed->kind == FEED_DRAWN && feed->bound > 1)
        fill_text(feed, key, part, scratch);
    else if (feed->kind == FEED_BYTES)
        fill_bytes(feed, part, scratch);
    else if (feed->kind == FEED_DRAWN && feed->generated && dtype_is_computed(part->dtype))
        fill_generated(feed, key, part, scratch);
    else if (feed->kind == FEED_DRAWN)
        fill_drawn(feed, key, part, scratch);
    else if (feed->value->ints || feed->value->floats)
        fill_held(feed->value, part, scratch);
    else
        fill_affine(feed->value, part, scratch);
}

const Local *feed_listed(const Feeds *feeds, int32_t tensor)
{
    return feeds->at[tensor].kind == FEED_LISTED ? feeds->computed[tensor] : NULL;
}

/* ---- making feeds ---- */

static Feed drawn(const Feeds *feeds, int32_t tensor, uint64_t seed)
{
    const Graph *graph = feeds->inferred->graph;
    Feed feed = {.kind = FEED_DRAWN, .scale = 1};
    feed.key = draw_key(seed, names_str(graph->names, graph->tensors[tensor].name));
    if (feeds->generated[tensor].kind != GENERATED_NOTHING)
        feed.generated = &feeds->generated[tensor];
    if (graph->tensors[tensor].kind == TENSOR_INITIALIZER)
        feed.scale = draw_weight_scale(inferred_shape(feeds->inferred, tensor));
    return feed;
}

static bool feed_data(Feeds *feeds, int32_t tensor, const TensorData *data, Error *err)
{
    Feed *feed = &feeds->at[tensor];
    int64_t n = shape_elements(inferred_shape(feeds->inferred, tensor));
    feed->kind = FEED_BYTES;
    feed->held = (Dtype)feeds->inferred->dtype[tensor];
    feed->bytes = data_elements(feeds->arena, data, feed->held, n, err);
    return feed->bytes != NULL;
}

/* Reads external data, if the file exists. */
static bool feed_external(Feeds *feeds, int32_t tensor, const TensorData *data, uint64_t seed,
                          Error *err)
{
    const Graph *graph = feeds->inferred->graph;
    const char *folder = data->location ? path_dir(feeds->arena, graph->file) : NULL;
    if (!folder || file_is_absent(path_join(feeds->arena, folder, data->location))) {
        feeds->at[tensor] = drawn(feeds, tensor, seed);
        if (feeds->n_missing++ == 0)
            feeds->missing = data->parts ? data->parts : tensor_name(graph, tensor);
        return true;
    }
    FileMap map;
    TensorData found = {.form = DATA_RAW, .stored = data->stored};
    if (!onnx_external(graph, data, &map, &found.bytes, err))
        return false;
    vec_push(feeds->arena, &feeds->maps, map);
    return feed_data(feeds, tensor, &found, err);
}

/* Float types are converted; other types must match the model. shape: what the model needs. */
static bool weight_fits(const Inferred *inferred, int32_t tensor, const Shape *shape,
                        const SafeTensor *weight, const char *path, Error *err)
{
    Dtype dtype = (Dtype)inferred->dtype[tensor];
    bool converts = dtype_is_float(dtype) && dtype_is_float(weight->dtype) &&
                    dtype_is_computed(dtype) && dtype_is_computed(weight->dtype);
    if ((dtype == weight->dtype || converts) && shape_equal(shape, &weight->shape))
        return true;
    Arena *scratch = arena_new();
    Buf want = buf_new(scratch), have = buf_new(scratch);
    shape_format(shape, &want);
    shape_format(&weight->shape, &have);
    error_kind(err, ERROR_USAGE, "'%s' is %s %.*s in the model, %s %.*s in '%s'", weight->name,
               dtype_name(dtype), STR_ARG(buf_str(&want)), dtype_name(weight->dtype),
               STR_ARG(buf_str(&have)), path);
    error_hint(err, "the weights are of another model");
    arena_free(scratch);
    return false;
}

static bool feed_weight(Feeds *feeds, int32_t tensor, const SafeTensor *weight, const char *path,
                        Error *err)
{
    feeds->at[tensor] = (Feed){.kind = FEED_BYTES, .held = weight->dtype, .bytes = weight->bytes.s};
    feeds->n_weights++;
    return weight_fits(feeds->inferred, tensor, inferred_shape(feeds->inferred, tensor), weight,
                       path, err);
}

/* The tensor that `parts` names with * replaced by i, as "experts.3.w1.weight" of
 * "experts.*.w1.weight"; NULL if the checkpoint does not have it. */
static const SafeTensor *find_part(Arena *scratch, const SafeTensors *weights, const char *parts,
                                   int64_t i)
{
    Str tail = str_from(parts), head = str_take(&tail, '*');
    return safetensors_find(
        weights, arena_printf(scratch, "%.*s%" PRId64 "%.*s", STR_ARG(head), i, STR_ARG(tail)));
}

/* Stacks the tensors of a checkpoint that `parts` names. *found is false if the checkpoint lacks
 * one of them. */
static bool feed_parts(Feeds *feeds, int32_t tensor, const char *parts, const SafeTensors *weights,
                       bool *found, Error *err)
{
    Shape part = *program_shape(feeds->inferred, tensor);
    int64_t n = part.dim[0];
    for (int64_t d = 1; d < part.n_dims; d++)
        part.dim[d - 1] = part.dim[d];
    part.n_dims--;
    const SafeTensor *first = find_part(feeds->arena, weights, parts, 0);
    size_t n_bytes = first ? first->bytes.n : 0;
    *found = first != NULL;
    if (!first || n == 0)
        return true;
    char *bytes = arena_alloc(feeds->arena, arena_array_bytes((size_t)n, n_bytes));
    for (int64_t i = 0; i < n; i++) {
        const SafeTensor *weight = find_part(feeds->arena, weights, parts, i);
        *found = weight != NULL;
        if (!weight)
            return true;
        if (!weight_fits(feeds->inferred, tensor, &part, weight, weights->path, err))
            return false;
        if (weight->dtype != first->dtype)
            return error_kind(err, ERROR_USAGE, "'%s' is %s, but '%s' is %s in '%s'", weight->name,
                              dtype_name(weight->dtype), first->name, dtype_name(first->dtype),
                              weights->path);
        memcpy(bytes + (size_t)i * n_bytes, weight->bytes.s, n_bytes);
    }
    feeds->at[tensor] = (Feed){.kind = FEED_BYTES, .held = first->dtype, .bytes = bytes};
    feeds->n_weights++;
    return true;
}

static bool is_listed(const Graph *graph, int32_t tensor)
{
    return graph->tensors[tensor].sequence || graph->tensors[tensor].optional;
}

/* Checks the known sizes against the file. */
static bool shape_fits(const Inferred *inferred, int32_t tensor, const Shape *shape)
{
    const Shape *known = inferred_sizes(inferred, tensor);
    if (!known || is_listed(inferred->graph, tensor))
        return true;
    for (int64_t d = 0; known->n_dims == shape->n_dims && d < shape->n_dims; d++)
        if (known->dim[d] >= 0 && known->dim[d] != shape->dim[d])
            return false;
    return known->n_dims == shape->n_dims;
}

/* 0, 1/n .. as f32, in host byte order. */
static bool count_up(Arena *arena, const Inferred *inferred, int32_t tensor, Vectors *out,
                     Error *err)
{
    const Shape *shape = inferred_shape(inferred, tensor);
    if (!shape || inferred->dtype[tensor] != DT_F32)
        return error_kind(
            err, ERROR_USAGE,
            "no data set is beside the model, and input '%s' is not f32 of known sizes: "
            "MODEL --vectors DIR takes one from elsewhere",
            tensor_name(inferred->graph, tensor));
    int64_t n = shape_elements(shape);
    float *elements = arena_array(arena, float, n);
    for (int64_t i = 0; i < n; i++)
        elements[i] = (float)((double)i / (double)n);
    OnnxTensor made = {.name = str_from(tensor_name(inferred->graph, tensor)), .dtype = DT_F32};
    made.shape = *shape;
    made.data.form = DATA_RAW;
    made.data.bytes = (Str){(const char *)elements, (size_t)n * sizeof *elements};
    vec_push(arena, &out->tensors, made);
    return true;
}

bool inputs_open(Arena *arena, const Inferred *inferred, const char *data_set, Vectors *out,
                 Error *err)
{
    const Graph *graph = inferred->graph;
    bool counted = str_ends(str_from(data_set), STR(".onnx")), any = false, ok = true;
    *out = (Vectors){.maps = {.n = 0}};
    for (int i = 0; ok && i < graph->n_inputs; i++) {
        int32_t t = graph->inputs[i];
        bool cotangent = graph->gradient_of && graph->gradient_of[t] >= 0;
        bool given = graph->tensors[t].kind != TENSOR_INITIALIZER && !cotangent;
        any |= given;
        ok = !given || !counted || count_up(arena, inferred, t, out, err);
    }
    return ok && (counted || ((!any || vectors_open(arena, data_set, "input", graph, out, err)) &&
                              cotangents_add(arena, graph, data_set, out, err)));
}

bool vector_fits(const Inferred *inferred, int32_t tensor, const OnnxTensor *vector, Error *err)
{
    const Shape *shape = inferred_shape(inferred, tensor);
    Dtype dtype = (Dtype)inferred->dtype[tensor];
    bool typed = !vector->nothing && (!vector->sequence || vector->n_items > 0);
    bool same = vector->dtype == dtype || (vector->dtype == DT_U16 && dtype == DT_BF16) ||
                (inferred->graph->widened && vector->dtype == DT_F32 && dtype == DT_F64);
    if ((same || !typed) && shape_fits(inferred, tensor, &vector->shape))
        return true;
    Arena *scratch = arena_new();
    Buf want = buf_new(scratch), have = buf_new(scratch);
    if (shape)
        shape_format(shape, &want);
    else
        inferred_put_shape(inferred, tensor, &want);
    if (vector->sequence)
        buf_printf(&have, "sequence of %d", vector->n_items);
    else
        shape_format(&vector->shape, &have);
    error_kind(err, ERROR_USAGE, "'%s' is %s %s in the model, %s %s in its file",
               tensor_name(inferred->graph, tensor), dtype_name(dtype), want.s,
               dtype_name(vector->dtype), have.s);
    error_hint(err, "bind the model's free dims to the sizes in the file");
    arena_free(scratch);
    return false;
}

/* A sequence or an optional from its file. */
static bool feed_list(Feeds *feeds, int32_t tensor, const OnnxTensor *vector, Error *err)
{
    const GraphTensor *at = &feeds->inferred->graph->tensors[tensor];
    Dtype dtype = (Dtype)feeds->inferred->dtype[tensor];
    feeds->at[tensor] = (Feed){.kind = FEED_LISTED};
    if (vector)
        feeds->computed[tensor] = vector_value(feeds->arena, vector, dtype, err);
    else
        feeds->computed[tensor] =
            at->optional ? local_new_nothing(dtype) : local_new_sequence(dtype);
    return feeds->computed[tensor] != NULL;
}

/* The number of tokens among which the op chooses by the values of its input: rows of a table, or
 * the scores of TokenLoss. 0: the op reads the values otherwise. */
static int64_t n_tokens(const Inferred *inferred, int32_t op, int32_t input)
{
    const Graph *graph = inferred->graph;
    const int32_t *inputs = op_inputs(graph, op);
    bool labels = strcmp(op_operator(graph, op), "TokenLoss") == 0;
    if (!labels && strcmp(op_operator(graph, op), "Gather") != 0)
        return 0;
    const Shape *shape = inputs[0] < 0 ? NULL : inferred_shape(inferred, inputs[0]);
    if (!shape || shape->n_dims == 0 || inputs[0] == input)
        return 0;
    int64_t axis = labels ? -1 : op_attr_int(graph, op, "axis", 0);
    return shape->dim[axis < 0 ? axis + shape->n_dims : axis];
}

static bool keeps_elements(const char *operator_name)
{
    static const char *const names[] = {"Cast",    "Flatten", "Identity",
                                        "Reshape", "Squeeze", "Unsqueeze"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(operator_name, names[i]) == 0)
            return true;
    return false;
}

/* Whole numbers are tokens where an op says how many there are, also behind ops that only change
 * their shape or type. */
static void draw_tokens(Feeds *feeds, int32_t tensor, uint64_t seed)
{
    const Graph *graph = feeds->inferred->graph;
    Feed *feed = &feeds->at[tensor];
    Vec(int32_t) same = {0};
    vec_push(feeds->arena, &same, tensor);
    for (int i = 0; i < same.n; i++)
        for (int u = 0; u < tensor_n_uses(graph, same.at[i]); u++) {
            int32_t op = graph->uses[graph->tensors[same.at[i]].use + u];
            const char *operator_name = op_operator(graph, op);
            int32_t made = op_outputs(graph, op)[0]; /* listed once, also by Reshape(x, x) */
            if (keeps_elements(operator_name) && op_inputs(graph, op)[0] == same.at[i] &&
                same.at[same.n - 1] != made)
                vec_push(feeds->arena, &same, made);
            int64_t bound = n_tokens(feeds->inferred, op, same.at[i]);
            if (bound == 0)
                continue;
            feed->bound = feed->bound == 0 || bound < feed->bound ? bound : feed->bound;
            feed->ahead = strcmp(operator_name, "TokenLoss") == 0;
            feed->key = draw_key(seed, STR("tokens"));
        }
}

static bool feed_input(Feeds *feeds, int32_t tensor, uint64_t seed, const Vectors *inputs,
                       Error *err)
{
    const Graph *graph = feeds->inferred->graph;
    const OnnxTensor *vector = NULL;
    for (int i = 0; inputs && i < graph->n_inputs; i++)
        if (graph->inputs[i] == tensor)
            vector = vectors_find(inputs, names_str(graph->names, graph->tensors[tensor].name), i);
    if (vector && !vector_fits(feeds->inferred, tensor, vector, err))
        return false;
    if (is_listed(graph, tensor))
        return feed_list(feeds, tensor, vector, err);
    if (vector) {
        TensorData data = vector_data(vector);
        return feed_data(feeds, tensor, &data, err);
    }
    feeds->at[tensor] = drawn(feeds, tensor, seed);
    if (!dtype_is_float((Dtype)feeds->inferred->dtype[tensor]))
        draw_tokens(feeds, tensor, seed);
    return true;
}

/* The parameter that a tensor is the master copy of: what the update makes of the copy is cast to
 * the parameter's next value. -1: it is none. */
static int32_t parameter_of_master(const Graph *graph, int32_t tensor)
{
    if (!graph->next_of || graph->tensors[tensor].kind != TENSOR_INITIALIZER)
        return -1;
    for (int u = 0; u < tensor_n_uses(graph, tensor); u++) {
        int32_t update = graph->uses[graph->tensors[tensor].use + u];
        int32_t next = graph->ops[update].n_outputs > 0 ? op_outputs(graph, update)[0] : -1;
        if (next < 0 || graph->next_of[next] != tensor)
            continue;
        for (int k = 0; k < tensor_n_uses(graph, next); k++) {
            int32_t cast = graph->uses[graph->tensors[next].use + k];
            int32_t made = op_outputs(graph, cast)[0];
            if (strcmp(op_operator(graph, cast), "Cast") == 0 && made >= 0)
                return graph->next_of[made];
        }
    }
    return -1;
}

/* The weight under a name of the tensor: a tied one may have another in a checkpoint; or NULL. */
static const SafeTensor *find_weight(const Graph *graph, int32_t tensor, const SafeTensors *weights)
{
    const SafeTensor *found =
        weights ? safetensors_find(weights, tensor_name(graph, tensor)) : NULL;
    for (int i = 0; weights && !found && i < graph->n_also; i++)
        if (graph->also[i].tensor == tensor)
            found = safetensors_find(weights, names_text(graph->names, graph->also[i].name));
    return found;
}

/* Sets the feed if it is available before anything is computed; a constant too large to hold stays
 * FEED_NONE. */
static bool feed_given(Feeds *feeds, int32_t tensor, const Given *given, Error *err)
{
    int32_t copied = parameter_of_master(feeds->inferred->graph, tensor);
    if (copied >= 0 && feeds->at[copied].kind != FEED_NONE) {
        feeds->at[tensor] = (Feed){.kind = FEED_COPY, .copied = copied};
        return true;
    }
    const Graph *graph = feeds->inferred->graph;
    const GraphTensor *at = &graph->tensors[tensor];
    const Value *value = inferred_value(feeds->inferred, tensor);
    if (value && !value_is_deferred(value)) {
        feeds->at[tensor] = (Feed){.kind = FEED_VALUE, .value = value};
        return true;
    }
    if (at->kind == TENSOR_INITIALIZER && at->data >= 0) {
        const TensorData *data = &graph->data[at->data];
        const SafeTensor *weight = find_weight(graph, tensor, given->weights);
        if (weight)
            return feed_weight(feeds, tensor, weight, given->weights->path, err);
        if (data->form != DATA_ABSENT)
            return feed_data(feeds, tensor, data, err);
        bool found = false;
        if (given->weights && data->parts &&
            !feed_parts(feeds, tensor, data->parts, given->weights, &found, err))
            return false;
        return found || feed_external(feeds, tensor, data, given->seed, err);
    }
    return at->maker >= 0 || feed_input(feeds, tensor, given->seed, given->inputs, err);
}

/* ---- computing constants ---- */

/* Adds the inputs of host ops whose outputs are wanted and not held to the wanted tensors. */
static void want_inputs(const Inferred *inferred, bool *wanted)
{
    const Graph *graph = inferred->graph;
    for (int op = graph->n_ops - 1; op >= 0; op--) {
        bool runs = false;
        if (!inferred_is_host(inferred, op))
            continue;
        for (int i = 0; i < graph->ops[op].n_outputs; i++) {
            int32_t tensor = op_outputs(graph, op)[i];
            const Value *value = tensor < 0 ? NULL : inferred_value(inferred, tensor);
            runs |= tensor >= 0 && wanted[tensor] && (!value || value_is_deferred(value));
        }
        for (int i = 0; runs && i < graph->ops[op].n_inputs; i++)
            if (op_inputs(graph, op)[i] >= 0)
                wanted[op_inputs(graph, op)[i]] = true;
    }
}

static bool compute_op(Feeds *feeds, int32_t op, Error *err)
{
    const Inferred *inferred = feeds->inferred;
    const Graph *graph = inferred->graph;
    const Kernel *kernel = kernel_find(NULL, op_operator(graph, op));
    if (!kernel)
        return error_kind(err, ERROR_USAGE, "op '%s' cannot be run: no kernel for %s",
                          op_name(graph, op), op_operator(graph, op));
    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t tensor = op_inputs(graph, op)[i];
        const Shape *shape = tensor < 0 ? NULL : inferred_shape(inferred, tensor);
        if (!shape || kernel_reads_value(kernel, i) || feeds->computed[tensor])
            continue;
        if (feeds->at[tensor].kind == FEED_NONE)
            return error_kind(err, ERROR_RUN, "constant '%s' is not known",
                              tensor_name(graph, tensor));
        Arena *scratch = arena_new();
        feeds->computed[tensor] = local_new_whole((Dtype)inferred->dtype[tensor], shape);
        feed_fill(feeds, tensor, 0, feeds->computed[tensor], scratch);
        arena_free(scratch);
    }
    if (!kernel_run_whole(inferred, op, kernel, NULL, feeds->seed, 0, feeds->computed, err))
        return false;
    for (int i = 0; i < graph->ops[op].n_outputs; i++) {
        int32_t tensor = op_outputs(graph, op)[i];
        if (tensor >= 0)
            feeds->at[tensor] = (Feed){.kind = FEED_BYTES,
                                       .held = feeds->computed[tensor]->dtype,
                                       .bytes = feeds->computed[tensor]->data};
    }
    return true;
}

static bool compute_constants(Feeds *feeds, const bool *wanted, Error *err)
{
    const Graph *graph = feeds->inferred->graph;
    for (int op = 0; op < graph->n_ops; op++) {
        bool runs = false;
        if (!inferred_is_host(feeds->inferred, op))
            continue;
        for (int i = 0; i < graph->ops[op].n_outputs; i++) {
            int32_t tensor = op_outputs(graph, op)[i];
            runs |= tensor >= 0 && wanted[tensor] && feeds->at[tensor].kind == FEED_NONE;
        }
        if (runs && !compute_op(feeds, op, err))
            return false;
    }
    return true;
}

/* Fails if a checkpoint lacks a weight: drawing it would make the outputs meaningless. */
static bool check_weights(const Feeds *feeds, const Given *given, Error *err)
{
    const SafeTensors *weights = given->weights;
    if (!weights || (feeds->n_weights > 0 && (feeds->n_missing == 0 || given->draw_missing)))
        return true;
    if (feeds->n_weights == 0) {
        error_kind(err, ERROR_USAGE, "no weight of the model is in '%s'", weights->path);
        if (weights->tensors.n > 0)
            error_hint(err, "names must be the same; there is '%s'", weights->tensors.at[0].name);
        return false;
    }
    error_kind(err, ERROR_USAGE, "%d weight%s of the model %s not in '%s'; the first is '%s'",
               feeds->n_missing, feeds->n_missing == 1 ? "" : "s",
               feeds->n_missing == 1 ? "is" : "are", weights->path, feeds->missing);
    return error_hint(err, "--draw-missing draws them at random");
}

bool feeds_open(Arena *arena, const Inferred *inferred, const bool *wanted, const Given *given,
                Feeds *out, Error *err)
{
    int n = inferred->graph->n_tensors;
    *out = (Feeds){.arena = arena, .inferred = inferred, .seed = given->seed};
    out->at = arena_array(arena, Feed, n);
    out->computed = arena_array(arena, Local *, n);
    bool *all = arena_array(arena, bool, n);
    for (int t = 0; t < n; t++)
        all[t] = wanted[t];
    out->generated = generate_of_all(arena, inferred, err);
    if (!out->generated)
        return false;
    want_inputs(inferred, all);
    for (int t = 0; t < n; t++)
        if (all[t] && !feed_given(out, t, given, err))
            return false;
    if (!check_weights(out, given, err) || !compute_constants(out, all, err))
        return false;
    for (int t = 0; t < n; t++) /* dependencies of wanted tensors */
        if (!wanted[t]) {
            local_free(out->computed[t]);
            out->computed[t] = NULL;
            out->at[t] = (Feed){.kind = FEED_NONE};
        }
    return true;
}

void feeds_close(Feeds *feeds)
{
    for (int t = 0; feeds->computed && t < feeds->inferred->graph->n_tensors; t++)
        local_free(feeds->computed[t]);
    for (int i = 0; i < feeds->maps.n; i++)
        file_unmap(&feeds->maps.at[i]);
    *feeds = (Feeds){.maps = {.n = 0}};
}
