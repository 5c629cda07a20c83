#include "core/rules/infer_state.h"

#include "core/rules/args.h"
#include "core/rules/at_load.h"

#include <inttypes.h>

/* What is known of a sequence or an optional: the number of elements, and the shape code of each if
 * all are listed, else one code that holds for all of them. Interned as bytes. */
struct Sequence {
    int32_t n; /* elements; -1: known only at run time */
    int32_t dtype;
    int32_t is_sequence, is_optional;
    int32_t has; /* of an optional: 0 empty, 1 it holds something, -1 known only at run time */
    int32_t n_listed;
    int32_t shape[]; /* n_listed of them, 1 at least */
};

enum { LISTED_MAX = 256 };

struct SequenceCall {
    InferState *state;
    const RuleCall *call;
    const int32_t *code; /* per input; -1: nothing known, or a sequence */
    InferAnswer *answers;
};

/* ---- making ---- */

static const Value *put_sequence(InferState *state, const Sequence *sequence)
{
    int n = sequence->n_listed > 0 ? sequence->n_listed : 1;
    size_t n_bytes = sizeof *sequence + (size_t)n * sizeof(int32_t);
    int32_t id = intern_put(state->sequences, sequence, n_bytes);
    if (id == state->sequence_values.n) {
        Value *value = arena_make(state->scratch, Value);
        value->id = id;
        value->dtype = (Dtype)sequence->dtype;
        value->sequence = intern_key(state->sequences, id, NULL);
        vec_push(state->scratch, &state->sequence_values, value);
    }
    state->has_inner = true;
    return state->sequence_values.at[id];
}

/* A sequence of n elements; -1 if the number is known only at run time. */
static Sequence *new_sequence(InferState *state, int64_t length, Dtype dtype)
{
    int n = length < INT32_MAX ? (int)length : -1;
    int n_listed = n >= 0 && n <= LISTED_MAX ? n : 0;
    size_t room = (size_t)(n_listed > 0 ? n_listed : 1) * sizeof(int32_t);
    Sequence *sequence = arena_alloc(state->scratch, sizeof *sequence + room);
    *sequence = (Sequence){.n = n, .dtype = (int32_t)dtype, .is_sequence = 1, .n_listed = n_listed};
    sequence->shape[0] = -1;
    return sequence;
}

const Value *infer_declared_sequence(InferState *state, int32_t tensor, int32_t element)
{
    const GraphTensor *declared = &state->graph->tensors[tensor];
    Sequence *sequence = new_sequence(state, -1, (Dtype)declared->dtype);
    sequence->is_sequence = declared->sequence;
    sequence->is_optional = declared->optional;
    sequence->has = declared->optional ? -1 : 0;
    sequence->shape[0] = element;
    return put_sequence(state, sequence);
}

/* The code that holds for both: dims that differ become unknown. */
static int32_t merge(InferState *state, int32_t a, int32_t b)
{
    const Shape *x = code_shape(state, a), *y = code_shape(state, b);
    if (a == b || !x || !y || x->n_dims != y->n_dims)
        return a == b ? a : -1;
    Shape both = *x;
    for (int64_t d = 0; d < both.n_dims; d++)
        if (x->dim[d] != y->dim[d])
            both.dim[d] = SIZE_UNNAMED;
    return infer_code(state, &both);
}

static int32_t element_code(InferState *state, const Sequence *sequence)
{
    int32_t code = sequence->shape[0];
    for (int i = 1; i < sequence->n_listed; i++)
        code = merge(state, code, sequence->shape[i]);
    return code;
}

const char *infer_sequence_text(InferState *state, const Value *value)
{
    const Sequence *sequence = value->sequence;
    Buf text = buf_new(state->arena);
    if (sequence->is_optional)
        buf_puts(&text, sequence->has == 0 ? "empty optional" : "optional");
    if (sequence->is_sequence) {
        buf_printf(&text, "%ssequence of ", sequence->is_optional ? " " : "");
        if (sequence->n < 0)
            buf_putc(&text, '?');
        else
            buf_printf(&text, "%d", (int)sequence->n);
    }
    if (sequence->is_sequence ? sequence->n != 0 : sequence->has != 0) {
        buf_puts(&text, ": ");
        infer_put_code(state->result, element_code(state, sequence), &text);
    }
    return text.s;
}

int infer_sequence_length(const Value *value)
{
    return value->sequence->is_sequence ? value->sequence->n : 1;
}

int32_t infer_sequence_shape(InferState *state, const Value *value)
{
    int32_t code = element_code(state, value->sequence);
    return code_is_partly(code) ? -1 : code;
}

/* Whether the run alone tells a size in which elements may differ. */
static bool has_late_elements(InferState *state, const Sequence *sequence)
{
    int n = sequence->n_listed > 0 ? sequence->n_listed : 1;
    for (int i = 0; i < n; i++) {
        const Shape *shape = code_shape(state, sequence->shape[i]);
        for (int64_t d = 0; shape && d < shape->n_dims; d++)
            if (shape->dim[d] == SIZE_UNNAMED)
                return true;
    }
    return false;
}

const Value *infer_bind_elements(InferState *state, int32_t op, int output, const Value *value)
{
    const Sequence *sequence = value->sequence;
    const Shape *shape = code_shape(state, element_code(state, sequence));
    if (!shape || !has_late_elements(state, sequence))
        return value;
    Shape bound = *shape;
    for (int64_t d = 0; d < bound.n_dims; d++)
        if (bound.dim[d] == SIZE_UNNAMED)
            bound.dim[d] = infer_bound_size(state, op, infer_made_name(state, op, output, d));
    for (int64_t d = 0; d < bound.n_dims; d++)
        if (bound.dim[d] < 0)
            return value;
    Sequence *made = arena_alloc(state->scratch, sizeof *made + sizeof(int32_t));
    *made = *sequence;
    made->n_listed = 0;
    made->shape[0] = infer_code(state, &bound);
    return put_sequence(state, made);
}

/* Where two elements differ: a dim, or -1: in their number of dims; false: nowhere, as far as is
 * known. */
static bool find_difference(InferState *state, const Sequence *sequence, int64_t *dim)
{
    const Shape *first = code_shape(state, sequence->shape[0]);
    for (int i = 1; i < sequence->n_listed; i++) {
        const Shape *other = code_shape(state, sequence->shape[i]);
        *dim = -1;
        if (!first || !other)
            continue;
        if (first->n_dims != other->n_dims)
            return true;
        for (int64_t d = 0; d < first->n_dims; d++)
            if (first->dim[d] != other->dim[d] && first->dim[d] >= 0 && other->dim[d] >= 0) {
                *dim = d;
                return true;
            }
    }
    return false;
}

const char *infer_put_varying(InferState *state, int32_t tensor, Buf *out)
{
    const Value *value = inferred_value(state->result, tensor);
    const Sequence *sequence = value ? value->sequence : NULL;
    int32_t maker = state->graph->tensors[tensor].maker;
    int64_t dim;
    if (sequence && find_difference(state, sequence, &dim)) {
        if (dim < 0)
            buf_puts(out, "differ in their number of dims");
        else
            buf_printf(out, "differ in dim %" PRId64, dim);
        return NULL;
    }
    const Shape *shape = sequence ? code_shape(state, element_code(state, sequence)) : NULL;
    for (int64_t d = 0; shape && d < shape->n_dims; d++) {
        if (shape->dim[d] >= 0)
            continue;
        buf_printf(out, "have a size in dim %" PRId64 " that is known only at run time", d);
        if (shape->dim[d] != SIZE_UNNAMED)
            return sizes_at(state->sizes, shape->dim[d])->name;
        return maker < 0 ? NULL : infer_made_name(state, maker, 0, d).s;
    }
    buf_puts(out, "have an unknown shape");
    return NULL;
}

int infer_assumed_length(InferState *state, int32_t tensor)
{
    Str name = str_from(arena_printf(state->scratch, "%s.n", tensor_name(state->graph, tensor)));
    int64_t n = infer_bound_size(state, state->graph->tensors[tensor].maker, name);
    return n < INT32_MAX ? (int)n : INT32_MAX;
}

/* ---- operands ---- */

static const Sequence *sequence_input(const SequenceCall *ops, int i)
{
    const Value *value = i < ops->call->n_inputs ? ops->call->value[i] : NULL;
    return value ? value->sequence : NULL;
}

/* The sequence in input 0; NULL with an error if nothing is known of it. */
static const Sequence *given_sequence(const SequenceCall *ops, Error *err)
{
    const Sequence *given = sequence_input(ops, 0);
    if (!given)
        error_set(err, "its input 0 is not a known sequence");
    return given;
}

static bool int_operand(const SequenceCall *ops, int i, int64_t *out)
{
    return i < ops->call->n_inputs && value_one_int(ops->call->value[i], out);
}

static bool has_operand(const SequenceCall *ops, int i)
{
    return i < ops->call->n_inputs && op_inputs(ops->call->graph, ops->call->op)[i] >= 0;
}

static void give_sequence(const SequenceCall *ops, const Sequence *sequence)
{
    const Value *value = put_sequence(ops->state, sequence);
    ops->answers[0] = (InferAnswer){infer_sequence_shape(ops->state, value), value->dtype, value};
}

static void give_int(const SequenceCall *ops, Dtype dtype, int64_t number, bool known)
{
    Value value = {.dtype = dtype, .ints = &number};
    Shape scalar = {0};
    ops->answers[0] = (InferAnswer){shapes_put(ops->state->result->shapes, &scalar), dtype,
                                    known ? values_put(ops->state->values, &value) : NULL};
}

/* ---- sequences ---- */

bool sequence_construct(const SequenceCall *ops, Error *err)
{
    const RuleCall *call = ops->call;
    Sequence *made =
        new_sequence(ops->state, call->n_inputs, call->n_inputs > 0 ? call->dtype[0] : DT_NONE);
    for (int i = 0; i < call->n_inputs; i++) {
        if (call->dtype[i] != call->dtype[0])
            return error_kind(err, ERROR_DTYPE, "its elements are of different types");
        if (i < made->n_listed || i == 0)
            made->shape[i] = ops->code[i];
        else
            made->shape[0] = merge(ops->state, made->shape[0], ops->code[i]);
    }
    give_sequence(ops, made);
    return true;
}

bool sequence_empty(const SequenceCall *ops, Error *err)
{
    Dtype dtype;
    if (!args_dtype(ops->call, "dtype", DT_F32, &dtype, err))
        return false;
    give_sequence(ops, new_sequence(ops->state, 0, dtype));
    return true;
}

/* The sequence without the element at `at`; or with `add`, with a new one before it. */
static Sequence *edited(const SequenceCall *ops, const Sequence *from, int64_t at, bool add,
                        int32_t code)
{
    int64_t n = (int64_t)from->n + (add ? 1 : -1);
    int k = 0;
    Sequence *made = new_sequence(ops->state, n, (Dtype)from->dtype);
    for (int i = 0; i <= from->n && n == made->n_listed; i++) {
        if (add && i == at)
            made->shape[k++] = code;
        if (i < from->n && (add || i != at))
            made->shape[k++] = from->shape[i];
    }
    return made;
}

/* SequenceInsert (sequence, tensor, at), SequenceErase (sequence, at). */
static bool edit(const SequenceCall *ops, bool add, Error *err)
{
    const Sequence *from = given_sequence(ops, err);
    if (!from)
        return false;
    int operand = add ? 2 : 1;
    int64_t n_places = (int64_t)from->n + add, at = n_places - 1;
    int32_t code = add ? ops->code[1] : -1;
    bool listed = from->n >= 0 && from->n_listed == from->n &&
                  (!has_operand(ops, operand) || int_operand(ops, operand, &at));
    at += at < 0 ? from->n : 0;
    if (listed && (at < 0 || at >= n_places))
        return error_kind(err, ERROR_OUT_OF_RANGE, "its position is out of range for %d elements",
                          from->n);
    if (listed) {
        give_sequence(ops, edited(ops, from, at, add, code));
        return true;
    }
    int32_t held = element_code(ops->state, from);
    Sequence *made = new_sequence(ops->state, -1, (Dtype)from->dtype);
    if (from->n >= 0 && n_places < INT32_MAX)
        made->n = (int32_t)n_places - !add;
    made->shape[0] = !add ? held : from->n == 0 ? code : merge(ops->state, held, code);
    give_sequence(ops, made);
    return true;
}

bool sequence_insert(const SequenceCall *ops, Error *err)
{
    return edit(ops, true, err);
}

bool sequence_erase(const SequenceCall *ops, Error *err)
{
    return edit(ops, false, err);
}

bool sequence_at(const SequenceCall *ops, Error *err)
{
    const Sequence *from = given_sequence(ops, err);
    int64_t place;
    if (!from)
        return false;
    int32_t code = element_code(ops->state, from);
    if (from->n >= 0 && int_operand(ops, 1, &place)) {
        place += place < 0 ? from->n : 0;
        if (place < 0 || place >= from->n)
            return error_kind(err, ERROR_OUT_OF_RANGE,
                              "its position is out of range for %d elements", from->n);
        if (from->n_listed == from->n)
            code = from->shape[place];
    }
    ops->answers[0] = (InferAnswer){code, (Dtype)from->dtype, NULL};
    return true;
}

bool sequence_length(const SequenceCall *ops, Error *err)
{
    const Sequence *from = given_sequence(ops, err);
    if (!from)
        return false;
    give_int(ops, DT_I64, from->n, from->n >= 0);
    return true;
}

/* How a tensor is split along an axis. */
typedef struct {
    int64_t size;         /* of the axis; -1: not known */
    int64_t n;            /* parts; -1: not known */
    int64_t each;         /* what all but the last have; 0: not known, or listed */
    const int64_t *sizes; /* n of them; NULL: `each` says it */
} ElementCodes;

static bool listed_parts(const Value *split, ElementCodes *parts, Error *err)
{
    int64_t sum = 0;
    parts->n = shape_elements(&split->shape);
    parts->sizes = split->ints;
    for (int64_t i = 0; i < parts->n; i++)
        if (split->ints[i] < 0 || __builtin_add_overflow(sum, split->ints[i], &sum))
            return error_kind(err, ERROR_OUT_OF_RANGE, "its part %" PRId64 " has the size %" PRId64,
                              i, split->ints[i]);
    if (parts->size >= 0 && sum != parts->size)
        return error_kind(err, ERROR_OUT_OF_RANGE, "its parts add up to %" PRId64 ", not %" PRId64,
                          sum, parts->size);
    return true;
}

static bool find_parts(const SequenceCall *ops, int64_t size, ElementCodes *parts, Error *err)
{
    const Value *split = has_operand(ops, 1) ? ops->call->value[1] : NULL;
    *parts = (ElementCodes){.size = size, .n = -1};
    if (has_operand(ops, 1) && (!split || !split->ints || split->partly))
        return true;
    if (split && split->shape.n_dims > 0)
        return listed_parts(split, parts, err);
    parts->each = split ? split->ints[0] : 1;
    if (parts->each <= 0)
        return error_kind(err, ERROR_OUT_OF_RANGE, "its parts have the size %" PRId64, parts->each);
    if (size >= 0)
        parts->n = size / parts->each + (size % parts->each != 0);
    return true;
}

/* The size of part i; the size of all parts if they are not listed. */
static int64_t part_size(const ElementCodes *parts, int i)
{
    if (parts->n < 0 || parts->n > LISTED_MAX)
        return parts->each == 1 ? 1 : SIZE_UNNAMED;
    if (parts->sizes)
        return i < parts->n ? parts->sizes[i] : SIZE_UNNAMED;
    return clamp(parts->size - i * parts->each, 0, parts->each);
}

bool sequence_split(const SequenceCall *ops, Error *err)
{
    const Shape *from = code_shape(ops->state, ops->code[0]);
    Dtype dtype = ops->call->dtype[0];
    int axis;
    ElementCodes parts;
    if (!from) {
        give_sequence(ops, new_sequence(ops->state, -1, dtype));
        return true;
    }
    if (!args_axis(args_int(ops->call, "axis", 0), from->n_dims, &axis, err) ||
        !find_parts(ops, from->dim[axis] < 0 ? -1 : from->dim[axis], &parts, err))
        return false;
    bool keeps = has_operand(ops, 1) || args_int(ops->call, "keepdims", 1) != 0;
    Sequence *made = new_sequence(ops->state, parts.n, dtype);
    for (int i = 0; i == 0 || i < made->n_listed; i++) {
        Shape element = {.n_dims = from->n_dims - !keeps};
        for (int64_t d = 0; d < element.n_dims; d++)
            element.dim[d] = from->dim[d + (!keeps && d >= axis)];
        if (keeps)
            element.dim[axis] = part_size(&parts, i);
        made->shape[i] = infer_code(ops->state, &element);
    }
    give_sequence(ops, made);
    return true;
}

/* The sum of the elements' sizes along the axis. Returns false if it overflows an int64_t. */
static bool joined_size(const SequenceCall *ops, const Sequence *from, const Shape *element,
                        int axis, int64_t *out)
{
    bool listed = from->n_listed == from->n;
    int64_t dim = element->dim[axis];
    *out = 0;
    if (!listed && (from->n < 0 || dim < 0))
        *out = SIZE_UNNAMED;
    else if (!listed)
        return !__builtin_mul_overflow(from->n, dim, out);
    for (int i = 0; i < from->n_listed && *out >= 0; i++) {
        const Shape *one = code_shape(ops->state, from->shape[i]);
        dim = one ? one->dim[axis] : -1;
        if (dim < 0)
            *out = SIZE_UNNAMED;
        else if (__builtin_add_overflow(*out, dim, out))
            return false;
    }
    return true;
}

/* The shape with one more dim, before dim `axis`. */
static Shape stacked(const Shape *element, int axis, int64_t size)
{
    Shape out = {.n_dims = element->n_dims + 1};
    for (int64_t d = 0; d < out.n_dims; d++)
        out.dim[d] = d == axis ? size : element->dim[d - (d > axis)];
    return out;
}

bool sequence_concat(const SequenceCall *ops, Error *err)
{
    const Sequence *from = given_sequence(ops, err);
    if (!from)
        return false;
    const Shape *element = code_shape(ops->state, element_code(ops->state, from));
    bool stack = args_int(ops->call, "new_axis", 0) != 0;
    ops->answers[0] = (InferAnswer){-1, (Dtype)from->dtype, NULL};
    if (!element || element->n_dims + stack > DIMS_MAX)
        return true;
    int axis;
    if (!args_axis(args_int(ops->call, "axis", 0), element->n_dims + stack, &axis, err))
        return false;
    Shape out = stack ? stacked(element, axis, from->n) : *element;
    if (!stack && !joined_size(ops, from, element, axis, &out.dim[axis]))
        return error_kind(err, ERROR_OUT_OF_RANGE, "its output is too large");
    if (!shape_check_known(&out, err))
        return false;
    ops->answers[0].shape = infer_code(ops->state, &out);
    return true;
}

/* ---- a body run once per element ---- */

bool sequence_element(const SequenceCall *ops, Error *err)
{
    const Sequence *from = sequence_input(ops, 0);
    (void)err;
    ops->answers[0] = from ? (InferAnswer){element_code(ops->state, from), (Dtype)from->dtype, NULL}
                           : (InferAnswer){ops->code[0], ops->call->dtype[0], NULL};
    return true;
}

bool sequence_map(const SequenceCall *ops, Error *err)
{
    const Sequence *over = sequence_input(ops, 1);
    (void)err;
    Sequence *made = new_sequence(ops->state, -1, ops->call->dtype[0]);
    made->n = over ? over->n : -1;
    made->shape[0] = ops->code[0];
    give_sequence(ops, made);
    return true;
}

/* ---- optionals ---- */

bool sequence_optional(const SequenceCall *ops, Error *err)
{
    const Sequence *held = sequence_input(ops, 0);
    bool has = has_operand(ops, 0);
    (void)err;
    Sequence *made = new_sequence(ops->state, -1, has ? ops->call->dtype[0] : DT_NONE);
    made->is_sequence = held && held->is_sequence;
    if (held)
        made->n = held->n;
    made->shape[0] = held ? element_code(ops->state, held) : has ? ops->code[0] : -1;
    made->is_optional = 1;
    made->has = has;
    give_sequence(ops, made);
    return true;
}

bool sequence_has_element(const SequenceCall *ops, Error *err)
{
    const Sequence *from = sequence_input(ops, 0);
    (void)err;
    int64_t has = !has_operand(ops, 0) ? 0 : from && from->is_optional ? from->has : 1;
    give_int(ops, DT_BOOL, has, has >= 0);
    return true;
}

bool sequence_get_element(const SequenceCall *ops, Error *err)
{
    const Sequence *from = sequence_input(ops, 0);
    if (!from || !from->is_sequence)
        return sequence_element(ops, err);
    Sequence *made = new_sequence(ops->state, -1, (Dtype)from->dtype);
    made->n = from->n;
    made->shape[0] = element_code(ops->state, from);
    give_sequence(ops, made);
    return true;
}

/* ---- sequences through branches and loops ---- */

const Value *infer_merge_sequences(InferState *state, const Value *a, const Value *b)
{
    const Sequence *one = a->sequence, *other = b->sequence;
    if (one == other)
        return a;
    Sequence *made = new_sequence(state, -1, (Dtype)one->dtype);
    int32_t x = element_code(state, one), y = element_code(state, other);
    made->n = one->n == other->n ? one->n : -1;
    made->is_sequence = one->is_sequence;
    made->is_optional = one->is_optional || other->is_optional;
    made->has = one->has == other->has ? one->has : -1;
    made->shape[0] = one->n == 0     ? y
                     : other->n == 0 ? x
                                     : merge(state, x, y); /* an empty sequence has no elements */
    return put_sequence(state, made);
}

bool sequence_pass(const SequenceCall *ops, Error *err)
{
    const Value *both = NULL;
    (void)err;
    for (int i = 0; i < ops->call->n_inputs; i++) {
        const Value *one = sequence_input(ops, i) ? ops->call->value[i] : NULL;
        if (one)
            both = both ? infer_merge_sequences(ops->state, both, one) : one;
    }
    if (both)
        ops->answers[0] = (InferAnswer){infer_sequence_shape(ops->state, both), both->dtype, both};
    return both != NULL;
}

bool infer_sequence_op(InferState *state, int32_t op, const InferKind *kind, InferAnswer *answers,
                       Error *err)
{
    RuleCall call = infer_call(state, op, kind);
    int32_t *code = arena_array(state->scratch, int32_t, call.n_inputs + 1);
    for (int i = 0; i < call.n_inputs; i++) {
        int32_t t = op_inputs(state->graph, op)[i];
        code[i] = t < 0 ? -1 : state->result->shape[t];
    }
    SequenceCall ops = {state, &call, code, answers};
    const Operator *row = operator_find(op_operator(state->graph, op));
    if (row && row->sequence)
        return call.n_outputs == 1 && row->sequence(&ops, err);
    return error_set(err, "it reads a sequence, but takes only tensors");
}
