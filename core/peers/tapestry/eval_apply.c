#include "core/peers/tapestry/eval_template.h"

#include "core/space/einsum.h"
#include "core/peers/tapestry/eval_forms.h"
#include "core/peers/tapestry/range.h"

#include <inttypes.h>

/* A result as the answer shows it: index dims may be folded into the windows of all operands. */
typedef struct {
    Arena *arena;
    const Json *request;
    OpSpace *space;
    const char **slot; /* per operand */
    const TemplateOperand *operand;
    bool folded[X_MAX];
    int n_shown, shown[X_MAX]; /* the index dims that are not folded */
    int64_t chunk[X_MAX];
    Error *err;
} Applied;

/* ---- reading the request ---- */

static bool read_tensor(Arena *arena, const Json *json, TemplateTensor *out, Error *err)
{
    const Json *start = json_get(json, "start");
    int n = 0;
    *out = (TemplateTensor){0};
    if (!json_is_object(json))
        return error_set(err, "a tensor must be an object with a shape");
    if (!form_shape(json_get(json, "shape"), &out->shape, err))
        return false;
    if (start && !form_ints(start, "start", DIMS_MAX, out->start, &n, err))
        return false;
    if (start && n != out->shape.n_dims)
        return error_kind(err, ERROR_RANK, "the shape has %d dims, its start %d coordinates",
                          (int)out->shape.n_dims, n);
    for (int d = 0; d < n; d++)
        if (out->start[d] < -(INT64_C(1) << 60) || out->start[d] > INT64_C(1) << 60)
            return error_kind(err, ERROR_OUT_OF_RANGE, "a start is larger than 2^60");
    out->dtype = str_from(arena_str(arena, json_str(json_get(json, "dtype"), "f32")));
    return true;
}

/* The tensors of a slot: a list, or one. */
static bool read_tensors(Arena *arena, const Json *json, const TemplateTensor **out, int *n,
                         Error *err)
{
    int n_given = json_is_array(json) ? json_size(json) : json_is_object(json) ? 1 : 0;
    TemplateTensor *tensor = arena_array(arena, TemplateTensor, n_given);
    *out = tensor;
    *n = 0;
    if (json && !json_is_array(json) && !json_is_object(json) && !json_is_null(json))
        return error_set(err, "a slot must be a list of tensors");
    if (n_given > OPERANDS_MAX)
        return error_kind(err, ERROR_UNSUPPORTED, "more than %d tensors", OPERANDS_MAX);
    for (int i = 0; i < n_given; i++) {
        const Json *item = json_is_array(json) ? json_at(json, i) : json;
        if (!json_is_null(item) && !read_tensor(arena, item, &tensor[(*n)++], err))
            return false;
    }
    return true;
}

static bool read_arg(Arena *arena, const char *name, const Json *value, TemplateArg *out,
                     Error *err)
{
    int n = 1;
    int64_t *ints = arena_array(arena, int64_t, json_size(value) + 1);
    *out = (TemplateArg){.name = arena_str(arena, str_from(name)), .ints = ints};
    if (json_is_string(value)) {
        out->is_text = true;
        out->text = str_from(arena_str(arena, json_str(value, "")));
        return true;
    }
    out->is_list = json_is_array(value);
    if (out->is_list && !form_ints(value, name, LIST_MAX, ints, &n, err))
        return false;
    if (!out->is_list && !json_is_int(value) && !json_is_bool(value))
        return error_set(err, "attribute '%s' must be an integer, a string or a list", name);
    if (!out->is_list)
        ints[0] = json_is_bool(value) ? json_bool(value, false) : json_int(value, 0);
    out->n = n;
    return true;
}

static bool read_args(Arena *arena, const Json *attrs, TemplateCall *call, Error *err)
{
    TemplateArg *args = arena_array(arena, TemplateArg, json_size(attrs));
    if (attrs && !json_is_object(attrs))
        return error_set(err, "`attrs` must be an object");
    for (int i = 0; i < json_size(attrs); i++) {
        const char *name = json_key_at(attrs, i);
        const Json *value = json_get(attrs, name);
        if (!json_is_null(value) && !read_arg(arena, name, value, &args[call->n_args++], err))
            return false;
    }
    call->args = args;
    return true;
}

static bool check_slots(const TemplateText *text, const Json *inputs, Error *err)
{
    if (!json_is_object(inputs))
        return error_set(err, "`inputs` must be an object with a list of tensors per slot");
    for (int i = 0; i < json_size(inputs); i++) {
        int k = 0;
        while (k < text->n_inputs && strcmp(text->inputs[k].name, json_key_at(inputs, i)) != 0)
            k++;
        if (k == text->n_inputs)
            return error_set(err, "E_EXTRA: there is no slot '%s' (%s)", json_key_at(inputs, i),
                             text->name);
    }
    return true;
}

static bool run_template(Applied *applied, const Template *template)
{
    const TemplateText *text = template_text(template);
    const Json *inputs = json_get(applied->request, "inputs");
    Arena *arena = applied->arena;
    int *n = arena_array(arena, int, text->n_inputs);
    const TemplateTensor **tensor = arena_array(arena, const TemplateTensor *, text->n_inputs);
    TemplateCall call = {.n_tensors = n, .tensor = tensor};
    TemplateResult result;
    if (!check_slots(text, inputs, applied->err))
        return false;
    for (int i = 0; i < text->n_inputs; i++)
        if (!read_tensors(arena, json_get(inputs, text->inputs[i].name), &tensor[i], &n[i],
                          applied->err))
            return false;
    if (!read_args(arena, json_get(applied->request, "attrs"), &call, applied->err) ||
        !template_apply(arena, template, &call, &result, applied->err))
        return false;
    int n_operands = result.space->n_inputs + result.space->n_outputs;
    applied->space = result.space;
    applied->operand = result.operand;
    applied->slot = arena_array(arena, const char *, n_operands);
    for (int i = 0; i < n_operands; i++) {
        const TemplateSlot *slots = i < result.space->n_inputs ? text->inputs : text->outputs;
        applied->slot[i] = slots[result.operand[i].slot].name;
    }
    return true;
}

/* ---- reshape, whose index dims follow from common divisors of the sizes ---- */

static bool read_target(const Json *attrs, const Shape *from, Shape *out, Error *err)
{
    int n = 0, open = -1;
    int64_t known = 1, elements = shape_elements(from);
    *out = (Shape){0};
    if (!form_ints(json_get(attrs, "shape"), "shape", DIMS_MAX, out->dim, &n, err))
        return false;
    out->n_dims = n;
    for (int d = 0; d < n; d++) {
        if (out->dim[d] == -1 && open < 0) {
            open = d;
            continue;
        }
        if (out->dim[d] < 0)
            return error_kind(err, ERROR_OUT_OF_RANGE, "size %d of the target shape is %" PRId64, d,
                              out->dim[d]);
        if (__builtin_mul_overflow(known, out->dim[d], &known))
            return error_kind(err, ERROR_OUT_OF_RANGE, "the target shape has too many elements");
    }
    if (open >= 0 && (known == 0 || elements % known != 0))
        return error_kind(err, ERROR_NOT_DIVISIBLE, "no size for dim %d gives %" PRId64 " elements",
                          open, elements);
    if (open >= 0)
        out->dim[open] = elements / known;
    return shape_check(out, err);
}

static void fold(Applied *applied, int index)
{
    OpSpace *space = applied->space;
    applied->folded[index] = true;
    for (int i = 0; i < space->n_inputs + space->n_outputs; i++)
        projection_absorb(&space->operand[i].projection, index, space->index[index].size);
}

static bool run_reshape(Applied *applied)
{
    const Json *inputs = json_get(applied->request, "inputs");
    Arena *arena = applied->arena;
    const TemplateTensor *from;
    TemplateTensor *to = arena_make(arena, TemplateTensor);
    TemplateOperand *operand = arena_array(arena, TemplateOperand, 2);
    const char *name =
        json_is_object(inputs) && json_size(inputs) == 1 ? json_key_at(inputs, 0) : NULL;
    int n = 0;
    if (!name || !read_tensors(arena, json_get(inputs, name), &from, &n, applied->err) || n != 1)
        return error_set(applied->err, "reshape needs exactly one input tensor");
    if (!read_target(json_get(applied->request, "attrs"), &from->shape, &to->shape, applied->err))
        return false;
    applied->space = reshape_opspace(arena, &from->shape, &to->shape, applied->err);
    if (!applied->space)
        return false;
    operand[0] = (TemplateOperand){0, 0, from};
    operand[1] = (TemplateOperand){0, 0, to};
    applied->operand = operand;
    applied->slot = arena_array(arena, const char *, 2);
    applied->slot[0] = arena_str(arena, str_from(name));
    applied->slot[1] = "result";
    for (int j = 0; j < applied->space->n_index; j++)
        if (applied->space->index[j].role == ROLE_FROZEN && applied->space->index[j].size > 0)
            fold(applied, j);
    return true;
}

/* ---- absorb and split ---- */

/* Finds an index dim by its name or by its position, since some are anonymous. */
static bool find_index(const Applied *applied, const char *name, int *out)
{
    const OpSpace *space = applied->space;
    int64_t place;
    *out = opspace_find_index(space, str_from(name));
    if (*out < 0 && str_to_int(str_from(name), &place) && place >= 0 && place < applied->n_shown)
        *out = applied->shown[place];
    return (*out >= 0 && !applied->folded[*out]) ||
           error_kind(applied->err, ERROR_UNBOUND, "there is no index dim '%s'", name);
}

static bool read_absorb(Applied *applied)
{
    const Json *names = json_get(applied->request, "absorb");
    if (names && !json_is_array(names))
        return error_set(applied->err, "`absorb` must be a list of index dims");
    for (int i = 0; i < json_size(names); i++) {
        int index;
        const char *name = arena_str(applied->arena, json_str(json_at(names, i), ""));
        if (!find_index(applied, name, &index))
            return false;
        if (applied->space->index[index].size == 0)
            return error_kind(applied->err, ERROR_OUT_OF_RANGE, "index dim '%s' is empty", name);
        fold(applied, index);
    }
    return true;
}

static bool read_split(Applied *applied)
{
    const Json *split = json_get(applied->request, "split");
    if (split && !json_is_object(split))
        return error_set(applied->err,
                         "`split` must be an object that maps index dims to chunk sizes");
    for (int j = 0; j < applied->space->n_index; j++)
        applied->chunk[j] = applied->space->index[j].size;
    for (int i = 0; i < json_size(split); i++) {
        int index;
        const char *name = json_key_at(split, i);
        int64_t chunk = json_int(json_get(split, name), 0);
        if (!find_index(applied, name, &index))
            return false;
        if (chunk <= 0)
            return error_kind(applied->err, ERROR_INVALID,
                              "the chunk size of '%s' must be at least 1", name);
        if (chunk < applied->chunk[index])
            applied->chunk[index] = chunk;
    }
    return true;
}

/* ---- shards ---- */

static bool fail_split(const Applied *applied, int output, int d, const int64_t *extent)
{
    const OpSpace *space = applied->space;
    const Row *row = &opspace_output(space, output)->projection.row[d];
    int minor = 0, major = -1;
    for (int j = 0; j < space->n_index; j++)
        if (row->coef[j] != 0 && applied->chunk[j] < space->index[j].size)
            minor = j;
    for (int j = 0; j < space->n_index; j++)
        if (j != minor && row->coef[j] != 0 && extent[j] > 1)
            major = j;
    return error_kind(applied->err, ERROR_FROZEN,
                      "E_SPLIT: a shard writes dim %d of output %s with gaps: %s is minor in "
                      "%" PRId64 "%s + %" PRId64 "%s; split %s to 1 first",
                      d, applied->slot[space->n_inputs + output], space->index[minor].name,
                      major < 0 ? 0 : row->coef[major], major < 0 ? "" : space->index[major].name,
                      row->coef[minor], space->index[minor].name,
                      major < 0 ? "the others" : space->index[major].name);
}

/* Checks that the shard writes a contiguous box of each output, without gaps. */
static bool check_shard(const Applied *applied, const Box *index)
{
    const OpSpace *space = applied->space;
    int64_t extent[X_MAX] = {0};
    for (int j = 0; j < space->n_index; j++)
        extent[j] = index->hi[j] - index->lo[j];
    for (int o = 0; o < space->n_outputs; o++) {
        const Projection *projection = &opspace_output(space, o)->projection;
        for (int d = 0; d < projection->n_dims; d++) {
            Projection one = {.n_dims = 1, .row = {projection->row[d]}};
            if (!projection_exact(&one, extent, space->n_index))
                return fail_split(applied, o, d, extent);
        }
    }
    return true;
}

/* The box of the index dims that are not folded. */
static Box shown_part(const Applied *applied, const Box *index)
{
    Box out = {0};
    for (int j = 0; j < index->n; j++)
        if (!applied->folded[j]) {
            out.lo[out.n] = index->lo[j];
            out.hi[out.n++] = index->hi[j];
        }
    return out;
}

static Json *json_shard(const Applied *applied, const Box *index)
{
    const OpSpace *space = applied->space;
    Json *shard = json_object(), *operands = json_array();
    Box at = shown_part(applied, index), range;
    json_set(shard, "range", json_range(&at));
    for (int i = 0; i < space->n_inputs + space->n_outputs; i++) {
        const Operand *operand = &space->operand[i];
        projection_range(&operand->projection, &operand->shape, index, &range);
        for (int d = 0; d < range.n; d++) {
            range.lo[d] += applied->operand[i].tensor->start[d];
            range.hi[d] += applied->operand[i].tensor->start[d];
        }
        json_add(operands, json_range(&range));
    }
    json_set(shard, "operands", operands);
    return shard;
}

/* The next shard, row-major; false after the last. */
static bool next_shard(const Applied *applied, Box *index)
{
    const OpSpace *space = applied->space;
    for (int j = space->n_index - 1; j >= 0; j--) {
        int64_t size = applied->folded[j] ? 1 : space->index[j].size;
        bool more = index->hi[j] < size;
        index->lo[j] = more ? index->hi[j] : 0;
        index->hi[j] = index->lo[j] + applied->chunk[j];
        index->hi[j] = index->hi[j] < size ? index->hi[j] : size;
        if (more)
            return true;
    }
    return false;
}

static bool answer_shards(const Applied *applied, Json *answer)
{
    const OpSpace *space = applied->space;
    Json *shards = json_array();
    Box index = {.n = space->n_index};
    int64_t n = 0;
    json_set(answer, "shards", shards);
    for (int j = 0; j < index.n; j++)
        index.hi[j] = applied->folded[j] ? 1 : applied->chunk[j];
    do {
        if (n++ == RANGE_PIECES_MAX)
            return error_kind(applied->err, ERROR_UNSUPPORTED, "more than %d shards",
                              RANGE_PIECES_MAX);
        if (!check_shard(applied, &index))
            return false;
        json_add(shards, json_shard(applied, &index));
    } while (next_shard(applied, &index));
    return true;
}

/* ---- the answer ---- */

static Json *json_index(const Applied *applied)
{
    Json *out = json_array();
    for (int j = 0; j < applied->space->n_index; j++) {
        const IndexDim *index = &applied->space->index[j];
        if (applied->folded[j])
            continue;
        Json *row = json_object();
        json_set_str(row, "name", index->name);
        json_set_int(row, "size", index->size);
        json_set(row, "reduce",
                 index->role == ROLE_REDUCE ? json_from_str(str_from(reduce_name(index->reduce)))
                                            : json_null());
        json_add(out, row);
    }
    return out;
}

static Json *json_operand(const Applied *applied, int i)
{
    const OpSpace *space = applied->space;
    const Operand *operand = &space->operand[i];
    const TemplateOperand *at = &applied->operand[i];
    Projection kept = operand->projection;
    int n = 0;
    for (int j = 0; j < space->n_index; j++) {
        if (applied->folded[j])
            continue;
        for (int d = 0; d < kept.n_dims; d++)
            kept.row[d].coef[n] = operand->projection.row[d].coef[j];
        n++;
    }
    for (int d = 0; d < kept.n_dims; d++)
        kept.row[d].offset += at->tensor->start[d];
    Json *out = json_object();
    json_set_str(out, "slot", applied->slot[i]);
    json_set_int(out, "k", at->place);
    json_set_bool(out, "output", i >= space->n_inputs);
    json_set(out, "shape", json_ints(operand->shape.dim, (int)operand->shape.n_dims));
    json_set(out, "ipf", json_ipf(&kept, n));
    return out;
}

bool eval_template_apply(Arena *arena, const Template *template, const Json *request, Json *answer,
                         Error *err)
{
    Error own = {0};
    Applied applied = {.arena = arena, .request = request, .err = err ? err : &own};
    Str op = json_str(json_get(request, "op"), "");
    if (!template && !str_eq(op, STR("reshape")))
        return error_kind(applied.err, ERROR_UNKNOWN_OP, "there is no template generator '%.*s'",
                          STR_ARG(op));
    if (template ? !run_template(&applied, template) : !run_reshape(&applied))
        return false;
    for (int j = 0; j < applied.space->n_index; j++)
        if (!applied.folded[j])
            applied.shown[applied.n_shown++] = j;
    if (!read_absorb(&applied) || !read_split(&applied))
        return false;
    json_set(answer, "index", json_index(&applied));
    Json *operands = json_array();
    for (int i = 0; i < applied.space->n_inputs + applied.space->n_outputs; i++)
        json_add(operands, json_operand(&applied, i));
    json_set(answer, "operands", operands);
    json_set(answer, "lints", template_lints(arena, applied.space));
    return !json_get(request, "split") || answer_shards(&applied, answer);
}
