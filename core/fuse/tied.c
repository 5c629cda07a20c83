#include "core/fuse/tied.h"

#include "core/base/units.h"

#include <string.h>

static bool reads_as(const Graph *graph, int32_t tensor, const char *const *operators, int input)
{
    for (int u = 0; u < tensor_n_uses(graph, tensor); u++) {
        int32_t op = graph->uses[graph->tensors[tensor].use + u];
        for (int i = 0; operators[i]; i++)
            if (strcmp(op_operator(graph, op), operators[i]) == 0 &&
                graph->ops[op].n_inputs > input && op_inputs(graph, op)[input] == tensor)
                return true;
    }
    return false;
}

static bool is_matrix(const Inferred *inferred, int32_t tensor)
{
    const Shape *shape = inferred_shape(inferred, tensor);
    return tensor_is_parameter(inferred, tensor) && shape && shape->n_dims == 2 &&
           shape->dim[0] > 1 && shape->dim[1] > 1 && dtype_is_float((Dtype)inferred->dtype[tensor]);
}

/* The elements of an initializer as the file has them; {NULL, 0}: not in the file. */
static Str elements_of(const Inferred *inferred, int32_t tensor, int64_t *size)
{
    const Graph *graph = inferred->graph;
    int32_t at = graph->tensors[tensor].data;
    const TensorData *data = at < 0 ? NULL : &graph->data[at];
    int64_t n = shape_elements(program_shape(inferred, tensor));
    if (!data || data->form != DATA_RAW || !data->bytes.s || (int64_t)data->bytes.n % n != 0)
        return (Str){0};
    *size = (int64_t)data->bytes.n / n;
    return data->bytes;
}

/* Two matrices, whose elements are compared row by row of the first. */
typedef struct {
    const char *table, *copy;
    int64_t rows, width, size; /* of the table; bytes of an element */
    bool transposed;
    bool varied; /* elements that were compared are not all one number */
} Comparing;

/* Rows r, r + step, .. of the table. A copy that is transposed has `n` of them beside each other.
 */
static bool same_rows(Comparing *of, int64_t r, int64_t step, int64_t n)
{
    size_t size = (size_t)of->size;
    for (int64_t c = 0; c < of->width; c++)
        for (int64_t i = r; i < r + n * step; i += step) {
            const char *a = of->table + (i * of->width + c) * of->size;
            const char *b =
                of->copy + (of->transposed ? c * of->rows + i : i * of->width + c) * of->size;
            if (memcmp(a, b, size) != 0)
                return false;
            of->varied = of->varied || memcmp(a, of->table, size) != 0;
        }
    return true;
}

/* Whether the matrices of `shape` and of that, or of its transpose, are equal and not one number.
 * False, too, where a stop was asked for.
 */
static bool same_elements(Str table, Str copy, const Shape *shape, int64_t size, int64_t most,
                          Progress *progress, TiedPair *pair)
{
    enum { ROWS = 64 };
    Comparing of = {table.s, copy.s, shape->dim[0], shape->dim[1], size, pair->transposed, false};
    int64_t wanted = most / of.width < 1 ? 1 : most / of.width;
    int64_t step = of.rows / wanted < 1 ? 1 : of.rows / wanted;
    int64_t n_rows = (of.rows + step - 1) / step;
    pair->n_elements = of.rows * of.width;
    pair->n_compared = 0;
    progress_stage(progress, "comparing weights with the embedding", n_rows * of.width);
    for (int64_t at = 0; at < n_rows && !progress_stopped(progress); at += ROWS) {
        int64_t n = at + ROWS < n_rows ? ROWS : n_rows - at;
        if (!same_rows(&of, at * step, step, n))
            return false;
        pair->n_compared += n * of.width;
        progress_add(progress, n * of.width);
    }
    return of.varied && !progress_stopped(progress);
}

/* Whether the file says where the elements are. What a config or a script builds has none. */
static bool is_stored(const Graph *graph, int32_t tensor)
{
    int32_t at = graph->tensors[tensor].data;
    return at >= 0 && graph->data[at].location;
}

static bool pairs(const Inferred *inferred, TiedPair *pair, int64_t most, Progress *progress)
{
    static const char *const products[] = {"MatMul", "Gemm", NULL};
    const Shape *a = program_shape(inferred, pair->table), *b = program_shape(inferred, pair->copy);
    bool same = shape_equal(a, b), turned = a->dim[0] == b->dim[1] && a->dim[1] == b->dim[0];
    int64_t size = 0, other = 0;
    if ((!same && !turned) || inferred->dtype[pair->table] != inferred->dtype[pair->copy])
        return false;
    Str table = elements_of(inferred, pair->table, &size),
        copy = elements_of(inferred, pair->copy, &other);
    pair->transposed = !same;
    pair->unknown = !table.s || !copy.s;
    if (pair->unknown)
        return a->dim[0] != a->dim[1] && is_stored(inferred->graph, pair->copy) &&
               reads_as(inferred->graph, pair->copy, products, 1);
    if (size != other)
        return false;
    if (same && same_elements(table, copy, a, size, most, progress, pair))
        return true;
    pair->transposed = true;
    return turned && same_elements(table, copy, a, size, most, progress, pair);
}

int tied_find(Arena *arena, const Inferred *inferred, int64_t most, Progress *progress,
              TiedPair **out)
{
    static const char *const lookups[] = {"Gather", NULL};
    const Graph *graph = inferred->graph;
    Vec(int32_t) matrices = {0};
    Vec(TiedPair) found = {0};
    bool *paired = arena_array(arena, bool, graph->n_tensors);
    for (int32_t t = 0; t < graph->n_tensors; t++)
        if (is_matrix(inferred, t) && tensor_n_uses(graph, t) > 0)
            vec_push(arena, &matrices, t);
    for (int i = 0; i < matrices.n; i++) {
        if (paired[matrices.at[i]] || !reads_as(graph, matrices.at[i], lookups, 0))
            continue;
        for (int k = 0; k < matrices.n; k++) {
            TiedPair pair = {.table = matrices.at[i], .copy = matrices.at[k]};
            if (k == i || paired[pair.copy] || !pairs(inferred, &pair, most, progress))
                continue;
            paired[pair.copy] = true;
            vec_push(arena, &found, pair);
        }
    }
    *out = found.at;
    return progress_stopped(progress) ? -1 : found.n;
}

void tied_format(const TiedPair *pair, const char *table, const char *copy, Buf *out)
{
    buf_printf(out, "'%s' %s '%s'%s", copy,
               pair->unknown ? "may have the elements of" : "has the elements of", table,
               pair->transposed ? ", transposed" : "");
    if (pair->n_compared == pair->n_elements)
        return;
    buf_puts(out, " (compared: ");
    units_format_count(pair->n_compared, out);
    buf_puts(out, " of ");
    units_format_count(pair->n_elements, out);
    buf_putc(out, ')');
}
