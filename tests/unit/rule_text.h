/* rule_text.h - what an operator's rule says of an op written as text, as text.
 *
 *     {"transpose", "y <- Transpose f32[2,4]", "d0 d1 -> d1 d0 | f32[4,2]", 0}
 *
 * The op space, the outputs' types and shapes (`?` for what only the run knows), the kernel; or
 * what the finding says. Rows of a table of RuleCase are tests of their own: run_rule_rows().
 */
#ifndef TESTS_UNIT_RULE_TEXT_H
#define TESTS_UNIT_RULE_TEXT_H

#include "core/rules/registry.h"
#include "tests/unit/unit.h"
#include "tests/unit/graph_text.h"

#include "core/rules/infer.h"

#include <inttypes.h>

typedef struct {
    const char *name, *text, *want;
    int64_t opset; /* 0: 24 */
} RuleCase;

/* Runs the rule of the graph's last op; the answers are in *call. */
static inline bool apply_rule(Arena *arena, const char *text, int64_t opset, RuleCall *call,
                              Error *err)
{
    Registry *registry = registry_new(arena);
    DimBindings none = {0};
    Graph *graph = graph_from_text(arena, text, opset);
    Inferred *inferred = infer(arena, graph, registry, &none, false, err);
    if (!inferred)
        fail_msg("%s: %s", text, err->text);
    int32_t op = graph->n_ops - 1;
    const Operator *row = registry_find(registry, str_from(op_operator(graph, op)));
    if (!row)
        return error_set(err, "no operator %s", op_operator(graph, op));
    int n_in = graph->ops[op].n_inputs, n_out = graph->ops[op].n_outputs;
    const Shape **shape = arena_array(arena, const Shape *, n_in);
    Dtype *dtype = arena_array(arena, Dtype, n_in);
    const Value **value = arena_array(arena, const Value *, n_in);
    for (int i = 0; i < n_in; i++) {
        int32_t t = op_inputs(graph, op)[i];
        if (t < 0)
            continue;
        shape[i] = inferred_shape(inferred, t);
        dtype[i] = (Dtype)inferred->dtype[t];
        value[i] = i < 16 && row->reads >> i & 1 ? inferred_value(inferred, t) : NULL;
    }
    *call = (RuleCall){.arena = arena,
                       .graph = graph,
                       .op = op,
                       .alias = registry_alias(registry, str_from(op_operator(graph, op))),
                       .n_inputs = n_in,
                       .n_outputs = n_out,
                       .shape = shape,
                       .dtype = dtype,
                       .value = value,
                       .opset = graph->opset,
                       .out_shape = arena_array(arena, Shape, n_out),
                       .out_dtype = arena_array(arena, Dtype, n_out)};
    return registry_apply(row, call, err);
}

static inline void put_answer(Buf *out, const RuleCall *call, int o)
{
    const Shape *shape = &call->out_shape[o];
    buf_printf(out, " %s[", dtype_name(call->out_dtype[o]));
    for (int64_t d = 0; d < shape->n_dims; d++) {
        buf_puts(out, d > 0 ? "," : "");
        if (shape->dim[d] < 0)
            buf_putc(out, '?');
        else
            buf_printf(out, "%" PRId64, shape->dim[d]);
    }
    buf_puts(out, shape->n_dims < 0 ? "..]" : "]");
}

static inline const char *rule_text(Arena *arena, const char *text, int64_t opset)
{
    RuleCall call;
    Error err = {0};
    Buf out = buf_new(arena);
    if (!apply_rule(arena, text, opset, &call, &err)) {
        buf_puts(&out, err.text);
        return out.s;
    }
    opspace_format(call.space, &out);
    buf_puts(&out, " |");
    for (int o = 0; o < call.n_outputs; o++)
        put_answer(&out, &call, o);
    if (call.space->kernel)
        buf_printf(&out, " %s", call.space->kernel);
    return out.s;
}

static inline void rule_says(void **state)
{
    const RuleCase *row = *state;
    Arena *arena = arena_new();
    assert_string_equal(rule_text(arena, row->text, row->opset ? row->opset : 24), row->want);
    arena_free(arena);
}

#endif
