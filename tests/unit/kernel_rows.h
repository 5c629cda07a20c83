/* kernel_rows.h - a kernel on whole tensors as a row: one op as text (graph_text.h), the elements
 * of its inputs, and what comes out, worked out by hand. */
#ifndef TESTS_UNIT_KERNEL_ROWS_H
#define TESTS_UNIT_KERNEL_ROWS_H

#include "tests/unit/unit.h"

#include "tests/unit/graph_text.h"

#include "core/run/feed.h"

#include <inttypes.h>
#include <math.h>

enum { INPUTS_MAX = 10 };

typedef struct {
    const char *name, *op;
    const char *input[INPUTS_MAX]; /* elements of the graph's inputs */
    const char *want;              /* "f32[2] 1 2", an output each, or the error */
    int64_t opset;                 /* 0: 18 */
} OpRow;

/* ---- elements from text and back ---- */

static inline void read_elements(const char *text, Local *out)
{
    char *end;
    int64_t n = shape_elements(&out->shape);
    for (int64_t i = 0; i < n; i++, text = end) {
        bool is_float = dtype_is_float(out->dtype);
        double real = strtod(text, &end);
        int64_t integer = is_float               ? 0
                          : out->dtype == DT_U64 ? (int64_t)strtoull(text, &end, 10)
                                                 : strtoll(text, &end, 10);
        assert_true(end > text);
        elements_store(out->dtype, local_at(out, i), 1, is_float ? NUMBER_F64 : NUMBER_I64,
                       is_float ? (const void *)&real : (const void *)&integer);
    }
    assert_true(strspn(text, " ") == strlen(text));
}

static inline void format_local(const Local *local, Buf *out)
{
    buf_printf(out, "%s[", dtype_name(local->dtype));
    for (int64_t d = 0; d < local->shape.n_dims; d++)
        buf_printf(out, "%s%" PRId64, d > 0 ? "," : "", local->shape.dim[d]);
    buf_puts(out, "]");
    for (int64_t i = 0; i < shape_elements(&local->shape); i++) {
        double real;
        int64_t integer;
        elements_load(local->dtype, local_at(local, i), 1, 1, NUMBER_F64, &real);
        elements_load(local->dtype, local_at(local, i), 1, 1, NUMBER_I64, &integer);
        if (local->dtype == DT_U64)
            buf_printf(out, " %" PRIu64, (uint64_t)integer);
        else if (!dtype_is_float(local->dtype))
            buf_printf(out, " %" PRId64, integer);
        else if (isnan(real))
            buf_puts(out, " nan");
        else
            buf_printf(out, " %g", real == 0 ? 0.0 : real);
    }
}

/* ---- rows ---- */

static inline void give_inputs(const Inferred *inferred, const char *const *elements,
                               const Feeds *feeds, Local **value)
{
    const Graph *graph = inferred->graph;
    Arena *scratch = arena_new();
    for (int i = 0; i < graph->n_inputs; i++) {
        int32_t tensor = graph->inputs[i];
        value[tensor] =
            local_new_whole((Dtype)inferred->dtype[tensor], inferred_shape(inferred, tensor));
        read_elements(elements[i], value[tensor]);
    }
    for (int i = 0; i < graph->ops[0].n_inputs; i++) {
        int32_t tensor = op_inputs(graph, 0)[i];
        if (tensor < 0 || value[tensor])
            continue;
        value[tensor] =
            local_new_whole((Dtype)inferred->dtype[tensor], inferred_shape(inferred, tensor));
        feed_fill(feeds, tensor, 0, value[tensor], scratch);
    }
    arena_free(scratch);
}

static inline const char *compute(Arena *arena, const OpRow *row, pthread_mutex_t *blas)
{
    DimBindings none = {0};
    Error err = {0};
    Graph *graph = graph_from_text(arena, row->op, row->opset ? row->opset : 18);
    Inferred *inferred = infer(arena, graph, registry_new(arena), &none, false, &err);
    const Kernel *kernel =
        kernel_find(inferred ? inferred_space(inferred, 0) : NULL, op_operator(graph, 0));
    if (!kernel)
        fail_msg("there is no kernel of %s", op_operator(graph, 0));
    if (!inferred || (inferred->findings.n > 0 && kernel->first_value != KERNEL_DECIDES))
        fail_msg("%s: %s", row->op, inferred ? inferred->findings.at[0].text : err.text);
    Feeds feeds;
    bool *wanted = arena_array(arena, bool, graph->n_tensors);
    for (int i = 0; i < graph->ops[0].n_inputs; i++)
        if (op_inputs(graph, 0)[i] >= 0)
            wanted[op_inputs(graph, 0)[i]] = true;
    assert_true(feeds_open(arena, inferred, wanted, &(Given){.seed = 0}, &feeds, &err));
    Local **value = arena_array(arena, Local *, graph->n_tensors);
    give_inputs(inferred, row->input, &feeds, value);

    Buf out = buf_new(arena);
    bool ok = kernel_run_whole(inferred, 0, kernel, blas, 0, 0, value, &err);
    for (int i = 0; ok && i < graph->ops[0].n_outputs; i++) {
        buf_puts(&out, i > 0 ? "; " : "");
        if (op_outputs(graph, 0)[i] >= 0)
            format_local(value[op_outputs(graph, 0)[i]], &out);
    }
    for (int t = 0; t < graph->n_tensors; t++)
        local_free(value[t]);
    feeds_close(&feeds);
    const char *what = strstr(err.text, "): ");
    return ok ? out.s : arena_str(arena, str_from(what ? what + 3 : err.text));
}

static inline void op_is(void **state)
{
    const OpRow *row = *state;
    pthread_mutex_t blas = PTHREAD_MUTEX_INITIALIZER;
    Arena *arena = arena_new();
    assert_string_equal(compute(arena, row, &blas), row->want);
    assert_string_equal(compute(arena, row, NULL), row->want);
    arena_free(arena);
}

#endif
