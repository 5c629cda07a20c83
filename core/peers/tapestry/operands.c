#include "core/peers/tapestry/apply.h"

#include <inttypes.h>

/* ---- outputs ---- */

static bool read_shape(Apply *apply, const LoadedSlot *slot, Shape *out)
{
    const Phrase *phrase = slot->shape ? slot->shape : slot->own;
    Datum sizes;
    if (!slot->shape)
        sizes = datum_ints(apply->arena, apply->index.size, apply->index.n_main);
    else if (!evaluate(&apply->scope, slot->shape->root, &sizes))
        return false;
    *out = (Shape){.n_dims = sizes.n};
    if (sizes.kind != DATUM_LIST)
        return phrase_fail(phrase, 0, E_TYPE, apply->err, "a shape must be a list of sizes");
    if (sizes.n > DIMS_MAX)
        return phrase_fail(phrase, 0, E_LIMIT, apply->err, "a tensor has at most %d dims, not %d",
                           DIMS_MAX, sizes.n);
    for (int d = 0; d < sizes.n; d++) {
        out->dim[d] = sizes.item[d].number;
        if (sizes.item[d].kind != DATUM_INT)
            return phrase_fail(phrase, 0, E_TYPE, apply->err, "size %d is not a number", d);
        if (out->dim[d] < 0)
            return phrase_fail(phrase, 0, E_SHAPE, apply->err, "size %d is %" PRId64, d,
                               out->dim[d]);
    }
    return shape_check(out, NULL) ||
           phrase_fail(phrase, 0, E_OVERFLOW, apply->err, "the tensor has 2^60 elements or more");
}

static Str output_dtype(const Apply *apply, const LoadedSlot *slot)
{
    if (slot->dtype.n > 0 && !slot->dtype_is_name)
        return slot->dtype;
    const Binding *bound = slot->dtype.n > 0 ? scope_find(&apply->scope, slot->dtype) : NULL;
    if (bound && bound->value.kind == DATUM_TEXT)
        return bound->value.text;
    return apply->n_inputs > 0 ? template_dtype(apply->operands.at[0].tensor->dtype) : (Str){0};
}

static bool add_output(Apply *apply, int slot, int place)
{
    TemplateTensor *tensor = arena_make(apply->arena, TemplateTensor);
    const LoadedSlot *output = &apply->template->output[slot];
    apply->scope.position = place;
    if (!read_shape(apply, output, &tensor->shape))
        return false;
    tensor->dtype = output_dtype(apply, output);
    vec_push(apply->arena, &apply->operands, (TemplateOperand){slot, place, tensor});
    return true;
}

/* Binds `$i` to the position among the tensors of the slot. */
static void enter_output(Apply *apply, const LoadedSlot *slot)
{
    apply->scope.position_name = slot->each ? &slot->each->root->name : NULL;
    apply->scope.n_positions = slot->each ? 1 : 0;
}

static bool add_outputs(Apply *apply, int slot)
{
    const LoadedSlot *output = &apply->template->output[slot];
    int64_t n = 1;
    if (output->each && !evaluate_int(&apply->scope, output->each->root->arg[0], &n))
        return false;
    if (n < 0 || n > OPERANDS_MAX - apply->operands.n)
        return phrase_fail(output->each ? output->each : output->own, 0, E_LIMIT, apply->err,
                           "%" PRId64 " outputs", n);
    enter_output(apply, output);
    bool ok = true;
    for (int64_t k = 0; k < n && ok; k++)
        ok = add_output(apply, slot, (int)k);
    apply->scope.n_positions = 0;
    return ok;
}

bool apply_outputs(Apply *apply)
{
    for (int i = 0; i < apply->template->text.n_outputs; i++)
        if (!add_outputs(apply, i))
            return false;
    return true;
}

/* ---- the op space ---- */

static const LoadedSlot *slot_of(const Apply *apply, int i)
{
    const LoadedSlot *slots =
        i < apply->n_inputs ? apply->template->input : apply->template->output;
    return &slots[apply->operands.at[i].slot];
}

static bool set_operand(Apply *apply, int i, Operand *operand)
{
    const TemplateOperand *at = &apply->operands.at[i];
    const LoadedSlot *slot = slot_of(apply, i);
    operand->shape = at->tensor->shape;
    if (i < apply->n_inputs) {
        apply->scope.position_name = slot->pattern->index;
        apply->scope.n_positions = slot->pattern->n_indices;
    } else {
        enter_output(apply, slot);
    }
    apply->scope.position = at->place;
    apply->scope.index = &apply->index;
    IpfTensor tensor = {slot->own, (int)operand->shape.n_dims, &operand->shape};
    if (!ipf_build(&apply->scope, &slot->ipf, &tensor, &operand->projection))
        return false;
    operand->projection.clip = slot->text->clip;
    return ipf_is_small(&operand->projection, apply->index.size, apply->index.n) ||
           phrase_fail(slot->own, 0, E_OVERFLOW, apply->err, "its projection extends beyond 2^60");
}

OpSpace *apply_space(Apply *apply)
{
    const IndexSpace *index = &apply->index;
    OpSpace *space =
        opspace_new(apply->arena, apply->n_inputs, apply->operands.n - apply->n_inputs);
    for (int j = 0; j < index->n; j++) {
        bool main = j < index->n_main;
        opspace_add_index(space, index->display[j], index->size[j], main ? ROLE_MAP : ROLE_REDUCE,
                          main ? REDUCE_NONE : apply->template->reduce_op);
    }
    for (int i = 0; i < apply->operands.n; i++)
        if (!set_operand(apply, i, &space->operand[i]))
            return NULL;
    space->kernel = apply->template->text.kernel;
    return space;
}

/* ---- checks ---- */

static bool any_zero(const int64_t *sizes, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (sizes[i] == 0)
            return true;
    return false;
}

static const Phrase *phrase_of(const Apply *apply, int i)
{
    const LoadedSlot *slot = slot_of(apply, i);
    return slot->ipf.map ? slot->ipf.map : slot->own;
}

static bool check_input(const Apply *apply, const OpSpace *space, int i)
{
    const Operand *operand = &space->operand[i];
    Box index = {.n = space->n_index}, range;
    memcpy(index.hi, apply->index.size, sizeof index.hi);
    if (operand->projection.clip || any_zero(apply->index.size, space->n_index))
        return true;
    projection_range(&operand->projection, &operand->shape, &index, &range);
    for (int d = 0; d < range.n; d++)
        if (range.lo[d] < range.hi[d] && (range.lo[d] < 0 || range.hi[d] > operand->shape.dim[d]))
            return phrase_fail(phrase_of(apply, i), 0, E_RANGE, apply->err,
                               "dim %d of %s[%d] is read from %" PRId64 " to %" PRId64
                               ", and has size %" PRId64,
                               d, slot_of(apply, i)->text->name, apply->operands.at[i].place,
                               range.lo[d], range.hi[d], operand->shape.dim[d]);
    return true;
}

/* Checks that the output's projection depends on every main dim and on no reduce dim. */
static bool check_dims_used(const Apply *apply, const OpSpace *space, int i)
{
    const Projection *projection = &space->operand[i].projection;
    Buf missing = buf_new(apply->arena);
    for (int j = 0; j < space->n_index; j++) {
        bool main = j < apply->index.n_main, used = projection_uses(projection, j);
        if (space->index[j].size > 1 && main && !used)
            buf_printf(&missing, "%s%s", missing.n > 0 ? ", " : "", space->index[j].name);
        if (space->index[j].size > 1 && !main && used)
            return phrase_fail(phrase_of(apply, i), 0, E_OVERLAP, apply->err,
                               "output %s depends on the reduce dim %s",
                               slot_of(apply, i)->text->name, space->index[j].name);
    }
    if (missing.n == 0)
        return true;
    phrase_fail(phrase_of(apply, i), 0, E_OVERLAP, apply->err,
                "output %s is written more than once, along the index dims %.100s",
                slot_of(apply, i)->text->name, missing.s);
    error_hint(apply->err, "list them under `reduce`");
    return false;
}

static bool check_filled(const Apply *apply, const OpSpace *space, int i, const Box *range,
                         bool exact)
{
    const Operand *operand = &space->operand[i];
    for (int d = 0; d < range->n; d++) {
        int64_t size = operand->shape.dim[d];
        bool covers = range->lo[d] <= 0 && range->hi[d] >= size;
        bool inside = range->lo[d] >= 0 && range->hi[d] <= size;
        if (!covers || (!inside && !operand->projection.clip))
            return phrase_fail(phrase_of(apply, i), 0, E_COVER, apply->err,
                               "dim %d of output %s is written from %" PRId64 " to %" PRId64
                               ", and has size %" PRId64,
                               d, slot_of(apply, i)->text->name, range->lo[d], range->hi[d], size);
    }
    return exact || phrase_fail(phrase_of(apply, i), 0, E_COVER, apply->err,
                                "output %s is written with gaps", slot_of(apply, i)->text->name);
}

static bool check_output(const Apply *apply, const OpSpace *space, int i)
{
    const Operand *operand = &space->operand[i];
    Projection whole = operand->projection;
    Box index = {.n = space->n_index}, range;
    whole.clip = false;
    for (int j = 0; j < space->n_index; j++)
        index.hi[j] = j < apply->index.n_main ? apply->index.size[j] : 1;
    if (any_zero(operand->shape.dim, operand->shape.n_dims))
        return true;
    if (!check_dims_used(apply, space, i))
        return false;
    projection_range(&whole, &operand->shape, &index, &range);
    if (!check_filled(apply, space, i, &range, projection_exact(&whole, index.hi, index.n)))
        return false;
    return projection_injective(&whole, index.hi, index.n) ||
           phrase_fail(phrase_of(apply, i), 0, E_OVERLAP, apply->err,
                       "cells of output %s are written twice", slot_of(apply, i)->text->name);
}

bool apply_check(const Apply *apply, const OpSpace *space)
{
    for (int i = 0; i < apply->operands.n; i++)
        if (i < apply->n_inputs ? !check_input(apply, space, i) : !check_output(apply, space, i))
            return false;
    return true;
}
