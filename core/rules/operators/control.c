/* control.c - branches, loops, sequences and optionals.
 *
 *     If     c, d0 d1, d0 d1 -> d0 d1     the branches' results; one, where the condition is known
 *     LoopResult   d0 d1, d0 d1 -> d0 d1  the initial value, or what the last iteration leaves
 *     LoopCarry    d0 d1 -> d0 d1         what an iteration finds
 *     LoopSlice    n^ d0 -> d0            one step of what is scanned
 *     LoopStack    d0 -> n^ d0            what iterations yield; n: how many there are
 *
 * The reader makes these ops of the control ops of a file (core/model/onnx.h). Sizes that differ
 * are known only at run time. The dims of a sequence are those of each of its elements, which
 * inference tracks (core/rules/infer_sequence.c); an op on elements of several shapes is
 * replicated.
 *
 *     SequenceInsert      d0 d1, d0 d1, at -> d0 d1   so all that return elements as they are
 *     SequenceLength      d0 d1 -> ()                 each part has the length: the largest of all
 *     SplitToSequence     n^ d0 -> d0
 *     ConcatFromSequence  d0 -> n^ d0
 */

#include "core/rules/args.h"
#include "core/rules/at_load.h"

/* Checks operands that are alternatives for one value; sizes that differ become unknown. */
static bool tie(RuleCall *call, int first, Error *err)
{
    const Shape *shared = NULL;
    for (int i = first; i < call->n_inputs; i++) {
        const Shape *shape = call->shape[i];
        if (!shape || shape->n_dims < 0) /* an empty sequence */
            continue;
        if (!shared)
            call->out_shape[0] = *shape;
        else if (shared->n_dims != shape->n_dims)
            call->out_shape[0] = (Shape){.n_dims = -1};
        for (int64_t d = 0; shared && d < call->out_shape[0].n_dims; d++)
            if (shared->dim[d] != shape->dim[d])
                call->out_shape[0].dim[d] = -1;
        if (!shared)
            call->out_dtype[0] = call->dtype[i];
        else if (call->out_dtype[0] != call->dtype[i])
            return error_kind(err, ERROR_DTYPE, "its values are of type %s and %s",
                              dtype_name(call->out_dtype[0]), dtype_name(call->dtype[i]));
        shared = shape;
    }
    if (!shared)
        return error_set(err, "it has no values");
    OpSpace *space = rule_space(call, err);
    for (int64_t d = 0; space && d < call->out_shape[0].n_dims; d++) {
        int64_t size = call->out_shape[0].dim[d];
        if (size < 0)
            continue;
        int index = rule_index_at(call, 'd', d, size);
        for (int i = first; i < call->n_inputs; i++)
            if (call->shape[i] && !space->operand[i].ignored)
                rule_unit(&space->operand[i], d, index);
        rule_unit(rule_output(space, 0), d, index);
    }
    return space != NULL;
}

static bool branch(RuleCall *call, Error *err)
{
    return tie(call, 1, err);
}

static bool carried(RuleCall *call, Error *err)
{
    return tie(call, 0, err);
}

static bool iteration(RuleCall *call, Error *err)
{
    call->out_dtype[0] = DT_I64;
    return rule_space(call, err) != NULL;
}

/* Gives both operands rows for all dims except `axis` of the one that has one dim more. */
static void share_but(RuleCall *call, Operand *more, Operand *less, int axis)
{
    for (int64_t d = 0; d < less->shape.n_dims; d++) {
        int index = rule_index_at(call, 'd', d, less->shape.dim[d]);
        rule_unit(less, d, index);
        rule_unit(more, d + (d >= axis), index);
    }
}

static bool slice(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    int axis;
    if (!args_axis(args_int(call, "axis", 0), from->n_dims, &axis, err))
        return false;
    call->out_shape[0].n_dims = from->n_dims - 1;
    for (int64_t d = 0; d < from->n_dims - 1; d++)
        call->out_shape[0].dim[d] = from->dim[d + (d >= axis)];
    call->out_dtype[0] = call->dtype[0];
    args_int(call, "count_axis", 0);
    args_int(call, "reverse", 0); /* from the last step on: the kernel's */
    OpSpace *space = rule_space(call, err);
    if (space)
        share_but(call, &space->operand[0], rule_output(space, 0), axis);
    return space != NULL;
}

/* The number of iterations; for a Scan, the number of steps of operand 3, which is scanned. */
static bool count(const RuleCall *call, int64_t *out, Error *err)
{
    int axis;
    if (!args_has(call, 3)) {
        const Value *of[5] = {NULL};
        for (int i = 1; i < 5; i++)
            of[i] = args_has(call, i) ? call->value[i] : NULL;
        *out = loop_trips(of[1], of[4], of[2]);
        return true;
    }
    if (!args_axis(args_int(call, "count_axis", 0), call->shape[3]->n_dims, &axis, err))
        return false;
    *out = call->shape[3]->dim[axis];
    return true;
}

/* The operands behind the first only say how often a loop runs, which the loop itself reads. */
static void leave_counted(OpSpace *space)
{
    for (int i = 1; i < space->n_inputs; i++)
        space->operand[i].absent = true;
}

static bool stack(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    Shape *to = &call->out_shape[0];
    int64_t n;
    int axis;
    if (from->n_dims == DIMS_MAX)
        return error_kind(err, ERROR_RANK, "its output has more than %d dims", DIMS_MAX);
    if (!args_axis(args_int(call, "axis", 0), from->n_dims + 1, &axis, err) ||
        !count(call, &n, err))
        return false;
    args_int(call, "reverse", 0); /* the kernel orders them */
    to->n_dims = from->n_dims + 1;
    for (int64_t d = 0; d < to->n_dims; d++)
        to->dim[d] = d == axis ? n : from->dim[d - (d > axis)];
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    if (space && n >= 0)
        share_but(call, rule_output(space, 0), &space->operand[0], axis);
    if (space)
        leave_counted(space);
    return space != NULL;
}

/* Refuses an op whose body should have been inlined: the reader keeps those whose bodies do not
 * fit. */
static bool no_body(RuleCall *call, Error *err)
{
    (void)call;
    return error_set(err, "it has no body that fits its operands");
}

/* ---- sequences: shapes are those of each element ---- */

/* The op space of a call whose results inference knows; NULL for other calls, which have tensors in
 * place of sequences. */
static OpSpace *sequence_space(RuleCall *call, Error *err)
{
    if (call->out_dtype[0] != DT_NONE)
        return rule_space(call, err);
    error_set(err, "its operands are no sequences");
    return NULL;
}

/* All operands that have the shape of the output's elements are elements, or hold them. */
static bool elements(RuleCall *call, Error *err)
{
    OpSpace *space = sequence_space(call, err);
    const Shape *element = &call->out_shape[0];
    int n = 0;
    for (int i = 0; space && i < call->n_inputs; i++)
        n += call->shape[i] && shape_equal(call->shape[i], element);
    for (int64_t d = 0; n > 0 && d < element->n_dims; d++) {
        int index = rule_index_at(call, 'd', d, element->dim[d]);
        for (int i = 0; i < call->n_inputs; i++)
            if (call->shape[i] && shape_equal(call->shape[i], element))
                rule_unit(&space->operand[i], d, index);
        rule_unit(rule_output(space, 0), d, index);
    }
    return n > 0 || (space && error_set(err, "its operands have no element of that shape"));
}

static bool mapped(RuleCall *call, Error *err)
{
    bool done = elements(call, err);
    if (done)
        leave_counted(call->space);
    return done;
}

/* Every rank knows how many elements there are, of each a part. */
static bool counted(RuleCall *call, Error *err)
{
    OpSpace *space = sequence_space(call, err);
    const Shape *element = call->n_inputs > 0 ? call->shape[0] : NULL;
    for (int64_t d = 0; space && element && d < element->n_dims; d++) {
        const char *name = arena_printf(call->arena, "d%d", (int)d);
        rule_unit(&space->operand[0], d,
                  rule_index(space, name, element->dim[d], ROLE_REDUCE, REDUCE_MAX));
    }
    return space != NULL;
}

/* The dims except `axis` of a tensor that is split into elements, or of which they are joined:
 * elements have a dim for the axis too, or one dim less. */
static bool along(RuleCall *call, Operand *tensor, Operand *element, Error *err)
{
    int64_t n = tensor->shape.n_dims, less = n - element->shape.n_dims;
    int axis;
    if (!args_axis(args_int(call, "axis", 0), n, &axis, err))
        return false;
    for (int64_t d = 0; d < n; d++) {
        if (d == axis)
            continue;
        int index = rule_index_at(call, 'd', d, tensor->shape.dim[d]);
        rule_unit(tensor, d, index);
        rule_unit(element, d - (less && d > axis), index);
    }
    return true;
}

static bool taken_apart(RuleCall *call, Error *err)
{
    args_int(call, "keepdims", 1);
    OpSpace *space = sequence_space(call, err);
    return space && along(call, &space->operand[0], rule_output(space, 0), err);
}

static bool joined(RuleCall *call, Error *err)
{
    args_int(call, "new_axis", 0);
    OpSpace *space = sequence_space(call, err);
    if (space && space->operand[0].ignored)
        return error_set(err, "its elements have no shape");
    return space && along(call, rule_output(space, 0), &space->operand[0], err);
}

#define FAMILY "control"
/* Those that are known are taken apart before a step is derived (core/fuse/sequences.h). */
#define OF_SEQUENCE                                                                                \
    GRADIENT("all: refused gradients pass a sequence only if its length and all positions are "    \
             "known before the run, and no branch or loop is left")

#define LIST(name, rule, sequence, min, max)                                                       \
    OP(name, rule, 0, min, max), SEQUENCE(sequence), .reads = OPERATOR_ANY, .kernel = name

const Operator operators_control[] = {
    {OP("If", branch, 0, 1, 3), GRADIENT("1 2: branch"), SEQUENCE(pass),
     .flags = OPERATOR_EARLY | OPERATOR_BRANCH, .reads = 1 << 0,
     ONNX("else_branch then_branch", ".b"), .kernel = "If", .examples = "scalar:bool,5x6,5x6",
     .paddle = "tie"},
    {OP("Loop", no_body, 0, 0, OPERATOR_ANY), EARLY, .outputs_max = OPERATOR_MANY,
     ONNX("body", ".i .b")},
    {OP("Scan", no_body, 0, 0, OPERATOR_ANY), EARLY, .outputs_max = OPERATOR_MANY,
     ONNX("body directions num_scan_inputs scan_input_axes scan_input_directions scan_output_axes "
          "scan_output_directions",
          "")},
    {OP("LoopResult", carried, 0, 1, 2),
     GRADIENT("0 1: refused gradients pass a loop only if its number of iterations is known before "
              "the run and not too large"),
     SEQUENCE(pass), EARLY, OWN("", ""), .kernel = "LoopResult", .examples = "5x6,5x6",
     .paddle = "tie"},
    {OP("LoopIndex", iteration, 0, 0, 1), EARLY, OWN("", ""), .kernel = "LoopIndex",
     .examples = "()"},
    {OP("LoopCarry", carried, 0, 1, 1),
     GRADIENT("0: refused gradients pass a loop only if its number of iterations is known before "
              "the run and not too large"),
     SEQUENCE(pass), .flags = OPERATOR_EARLY | OPERATOR_CARRY, OWN("", ""), .kernel = "LoopCarry",
     .examples = "5x6", .paddle = "carry"},
    {OP("LoopSlice", slice, 0, 1, 1),
     GRADIENT("0: refused gradients pass a loop only if its number of iterations is known before "
              "the run and not too large"),
     EARLY, OWN("axis count_axis reverse", ""), .kernel = "LoopSlice", .examples = "5x6x4 axis=1"},
    {OP("LoopStack", stack, 0, 1, 5),
     GRADIENT("0: refused gradients pass a loop only if its number of iterations is known before "
              "the run and not too large"),
     EARLY, .reads = 1 << 1 | 1 << 2 | 1 << 4, OWN("axis count_axis reverse", ""),
     .kernel = "LoopStack", .examples = "5x4,-,-,3x6 axis=1 count_axis=1"},
    {LIST("SequenceConstruct", elements, construct, 0, OPERATOR_ANY), OF_SEQUENCE, ONNX("", "A+")},
    {LIST("SequenceEmpty", elements, empty, 0, 0), ONNX("dtype", "")},
    {LIST("SequenceInsert", elements, insert, 2, 3), OF_SEQUENCE, ONNX("", ". . .i")},
    {LIST("SequenceErase", elements, erase, 1, 2), OF_SEQUENCE, ONNX("", ". .i")},
    {LIST("SequenceAt", elements, at, 2, 2), OF_SEQUENCE, ONNX("", ". .i")},
    {LIST("SequenceLength", counted, length, 1, 1), ONNX("", "")},
    {LIST("SequenceElement", elements, element, 1, 1), OF_SEQUENCE, OWN("", "")},
    {LIST("SequenceMap", mapped, map, 1, 2), OF_SEQUENCE, ONNX("body", "")},
    {LIST("SplitToSequence", taken_apart, split, 1, 2), OF_SEQUENCE, ONNX("axis keepdims", ". .i")},
    {LIST("ConcatFromSequence", joined, concat, 1, 1), OF_SEQUENCE, ONNX("axis new_axis", "")},
    {LIST("Optional", elements, optional, 0, 1),
     GRADIENT("all: refused gradients do not pass optionals"), ONNX("type", "")},
    {LIST("OptionalHasElement", counted, has_element, 0, 1), ONNX("", "")},
    {LIST("OptionalGetElement", elements, get_element, 1, 1),
     GRADIENT("all: refused gradients do not pass optionals"), ONNX("", "")},
    {0},
};
