/* rows_join.c - torch's operators that take tensors apart, or put them side by side, by other
 * words than Split and Concat. */
#include "core/peers/torch_export/shapes.h"

/* ---- apart ---- */

/* Parts that end at places of the dim, the last at its end. */
static void parts_until(Call *c, ExportTerm x, int64_t dim, const int64_t *end, int n)
{
    ExportTerm out[CALL_OUTPUTS_MAX];
    if (n + 1 > CALL_OUTPUTS_MAX) {
        call_fail(c, "it has more than %d parts", CALL_OUTPUTS_MAX);
        return;
    }
    for (int i = 0; i <= n; i++)
        out[i] = slice(c, x, dim, i == 0 ? no_term() : term_int(end[i - 1]),
                       i == n ? no_term() : term_int(end[i]), 1);
    call_results(c, out, n + 1);
}

/* As many parts as are asked for, the first ones longer by one; or parts that end at places. */
static void split_tensor(Call *c, ExportTerm x, int64_t dim)
{
    int64_t end[CALL_OUTPUTS_MAX], at = 0;
    if (call_given(c, "indices")) {
        int n_places = call_ints(c, "indices", end, CALL_OUTPUTS_MAX - 1);
        if (n_places >= 0)
            parts_until(c, x, dim, end, n_places);
        return;
    }
    int64_t n = call_int(c, "sections");
    ExportTerm size = size_of(c, x, dim);
    if (size.kind != TERM_NUMBER || n < 1 || n >= CALL_OUTPUTS_MAX) {
        call_fail(c, "the size of its parts is not known");
        return;
    }
    for (int64_t i = 0; i < n; i++)
        end[i] = at += size.i / n + (i < size.i % n);
    parts_until(c, x, dim, end, (int)n - 1);
}

static void make_tensor_split(Call *c)
{
    ExportTerm x = call_tensor(c, "self");
    split_tensor(c, x, call_axis(c, "dim", x.rank));
}

/* Along the first, second and third dim; hsplit of a line along it. */
static void make_named_split(Call *c)
{
    ExportTerm x = call_tensor(c, "self");
    char first = c->op.s[0];
    split_tensor(c, x, first == 'd' ? 2 : first == 'h' && x.rank > 1);
}

/* ---- together ---- */

/* A tensor with so many dims at least, new ones where torch puts them. */
static ExportTerm at_least(Call *c, ExportTerm x, int rank)
{
    x = x.rank == 0 ? unsqueeze(c, x, 0) : x;
    x = x.rank == 1 && rank >= 2 ? unsqueeze(c, x, 0) : x;
    return x.rank == 2 && rank >= 3 ? unsqueeze(c, x, 2) : x;
}

static void make_at_least(Call *c)
{
    int rank = c->op.s[c->op.n - 2] - '0'; /* atleast_2d */
    Terms list = {0};
    ExportTerm out[CALL_OUTPUTS_MAX];
    if (call_given(c, "tensors"))
        call_terms(c, "tensors", &list);
    else
        vec_push(c->e->scratch, &list, call_tensor(c, "self"));
    int n = list.n < CALL_OUTPUTS_MAX ? list.n : CALL_OUTPUTS_MAX;
    for (int i = 0; i < n; i++)
        out[i] = at_least(c, list.at[i], rank);
    call_results(c, out, n);
}

enum { PARTS_MAX = 256 };

/* vstack, row_stack; hstack; dstack; column_stack, of which lines become columns. */
static void make_named_stack(Call *c)
{
    Terms list = {0};
    ExportTerm parts[PARTS_MAX];
    call_terms(c, "tensors", &list);
    if (list.n == 0 || list.n > PARTS_MAX) {
        call_fail(c, "it joins %d tensors, at most %d are read", list.n, PARTS_MAX);
        return;
    }
    char first = c->op.s[0];
    Dtype dtype = terms_promoted(list.at, list.n);
    int64_t dim = first == 'd' ? 2 : first == 'h' ? list.at[0].rank > 1 : first == 'c';
    for (int i = 0; i < list.n; i++) {
        ExportTerm x = emit_cast(c, list.at[i], dtype);
        if (first == 'c')
            parts[i] = x.rank < 2 ? unsqueeze(c, at_least(c, x, 1), 1) : x;
        else
            parts[i] = at_least(c, x, first == 'd' ? 3 : first == 'h' ? 1 : 2);
    }
    ExportTerm out = concat(c, parts, list.n, dim);
    call_results(c, &out, 1);
}

/* All combinations of elements, one from each list: [n, lists]. */
static void make_cartesian(Call *c)
{
    Terms list = {0}, sizes = {0}, flat = {0};
    ExportTerm parts[DIMS_MAX];
    call_terms(c, "tensors", &list);
    if (list.n == 0 || list.n > DIMS_MAX) {
        call_fail(c, "it has %d lists", list.n);
        return;
    }
    for (int d = 0; d < list.n; d++)
        add_size(c, &sizes, size_of(c, list.at[d], 0));
    add_size(c, &flat, term_int(-1));
    add_size(c, &flat, term_int(1));
    ExportTerm shape = emit_sizes(c, &sizes);
    for (int d = 0; d < list.n; d++) {
        ExportTerm line = reshape_along(c, list.at[d], d, list.n);
        parts[d] = reshape(c, expand(c, line, shape, list.n), &flat);
    }
    ExportTerm out = list.n == 1 ? list.at[0] : concat(c, parts, list.n, 1);
    call_results(c, &out, 1);
}

/* The length of the longest; -1: not known. */
static int64_t longest(Call *c, const Terms *list)
{
    int64_t most = 0;
    for (int i = 0; i < list->n && most >= 0; i++) {
        ExportTerm n = size_of(c, list->at[i], 0);
        most = n.kind != TERM_NUMBER ? -1 : n.i > most ? n.i : most;
    }
    return most;
}

/* Sequences padded to the longest: [batch, length, ..], or the length first. */
static void make_pad_sequence(Call *c)
{
    Terms list = {0};
    ExportTerm parts[PARTS_MAX];
    call_terms(c, "sequences", &list);
    int64_t most = longest(c, &list), dim = call_bool(c, "batch_first") ? 0 : 1, axis = 0;
    if (list.n == 0 || list.n > PARTS_MAX || most < 0) {
        call_fail(c, "the length of a sequence is not known");
        return;
    }
    bool left = str_eq(call_text(c, "padding_side"), STR("left"));
    ExportTerm value = call_term(c, "padding_value");
    for (int i = 0; i < list.n; i++) {
        ExportTerm x = list.at[i];
        int64_t more = most - size_of(c, x, 0).i;
        int64_t pads[] = {left ? more : 0, left ? 0 : more};
        ExportTerm in[] = {x, emit_ints(c->e, pads, 2), emit_constant(c, value, (Dtype)x.dtype),
                           emit_ints(c->e, &axis, 1)};
        ExportTerm padded = emit(c, "Pad", in, 4, NULL, 0);
        padded.rank = x.rank;
        parts[i] = unsqueeze(c, padded, dim);
    }
    ExportTerm out = concat(c, parts, list.n, dim);
    call_results(c, &out, 1);
}

const TorchRow rows_join[] = {
    {"tensor_split.sections", "self sections dim=0", NULL, make_tensor_split},
    {"tensor_split.indices", "self indices dim=0", NULL, make_tensor_split},
    {"vsplit.int hsplit.int dsplit.int", "self sections", NULL, make_named_split},
    {"vsplit.array hsplit.array dsplit.array", "self indices", NULL, make_named_split},
    {"atleast_1d.Sequence atleast_2d.Sequence atleast_3d.Sequence", "tensors", NULL, make_at_least},
    {"atleast_1d atleast_2d atleast_3d", "self", NULL, make_at_least},
    {"vstack row_stack hstack dstack column_stack", "tensors", NULL, make_named_stack},
    {"cartesian_prod", "tensors", NULL, make_cartesian},
    {"pad_sequence", "sequences batch_first=False padding_value=0 padding_side=right", NULL,
     make_pad_sequence},
    {0},
};
