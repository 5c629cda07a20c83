/* rows_matmul.c - strategies of products written with letters: matmuls, attention, expert matmuls.
 *
 * A letter in all tensors, or in one input and the output, may be sharded; a letter missing in the
 * output leaves a partial sum. A product is linear in each input.
 */
#include "core/peers/torch/family.h"

/* "+mk,kn->mn": with a leading `+`, input 0 is an addend that broadcasts to the output. */
typedef struct {
    bool addend;
    int n_inputs;
    Str input[2], output;
} Equation;

static bool read_equation(Str text, Equation *out, Error *err)
{
    *out = (Equation){0};
    out->addend = str_starts(text, STR("+"));
    if (out->addend)
        text = (Str){text.s + 1, text.n - 1};
    int64_t arrow = str_find(text, STR("->"));
    if (arrow < 0)
        return error_kind(err, ERROR_SYNTAX, "write an equation as 'mk,kn->mn'");
    out->output = str_trim((Str){text.s + arrow + 2, text.n - (size_t)arrow - 2});
    Str rest = {text.s, (size_t)arrow};
    for (bool more = true; more;) {
        int64_t comma = str_find(rest, STR(","));
        size_t n = comma >= 0 ? (size_t)comma : rest.n;
        if (out->n_inputs == 2)
            return error_kind(err, ERROR_UNSUPPORTED, "an equation may have at most two inputs");
        out->input[out->n_inputs++] = str_trim((Str){rest.s, n});
        more = comma >= 0;
        rest = more ? (Str){rest.s + n + 1, rest.n - n - 1} : rest;
    }
    return true;
}

static bool has_letter(Str letters, char letter)
{
    return str_find(letters, (Str){&letter, 1}) >= 0;
}

/* Batch letters, summed ones, those of one input: the order of the rows. */
static int class_of(const Equation *equation, char letter)
{
    bool out = has_letter(equation->output, letter);
    bool first = has_letter(equation->input[0], letter);
    bool both = equation->n_inputs < 2 || has_letter(equation->input[1], letter);
    return !out ? 1 : first && both ? 0 : first ? 2 : 3;
}

static bool check_letters(Str letters, const Shape *shape, Error *err)
{
    if (shape && shape->n_dims != (int64_t)letters.n)
        return error_kind(err, ERROR_RANK, "'%.*s' names %d dims but the tensor has %d",
                          STR_ARG(letters), (int)letters.n, (int)shape->n_dims);
    if (letters.n > DIMS_MAX)
        return error_kind(err, ERROR_OUT_OF_RANGE, "more than %d letters", DIMS_MAX);
    for (size_t d = 0; d < letters.n; d++)
        if (letters.s[d] < 'a' || letters.s[d] > 'z')
            return error_kind(err, ERROR_SYNTAX, "'%c' is not a letter",
                              (unsigned char)letters.s[d]);
    return true;
}

/* The dims of a tensor with this letter follow its index dim, which is added at the first
 * occurrence. */
static bool place_letter(OpSpace *space, Str letters, const Shape *shape, int operand, char letter,
                         bool summed, int *index)
{
    for (size_t d = 0; d < letters.n; d++) {
        if (letters.s[d] != letter)
            continue;
        if (*index < 0)
            *index =
                strategy_index(space, shape ? shape->dim[d] : 1, summed ? REDUCE_SUM : REDUCE_NONE);
        if (*index < 0)
            return false;
        strategy_unit(space, operand, (int)d, *index);
    }
    return true;
}

static bool equation_space(const StrategyCall *call, const Equation *equation, OpSpace **out,
                           Error *err)
{
    const Shape *shape[2] = {NULL, NULL};
    for (int i = 0; i < equation->n_inputs; i++) {
        shape[i] = strategy_shape_of(call, equation->addend + i);
        if (!check_letters(equation->input[i], shape[i], err))
            return false;
    }
    if (!check_letters(equation->output, NULL, err))
        return false;
    *out = strategy_space(call, 1);
    for (int class = 0; class < 4; class ++)
        for (int c = 'a'; c <= 'z'; c++) {
            char letter = (char)c;
            int index = -1;
            bool fits = class_of(equation, letter) == class;
            for (int i = 0; fits && i < equation->n_inputs; i++)
                fits = place_letter(*out, equation->input[i], shape[i], equation->addend + i,
                                    letter, class == 1, &index);
            if (fits && !place_letter(*out, equation->output, NULL, strategy_output(*out, 0),
                                      letter, false, &index))
                return error_kind(err, ERROR_OUT_OF_RANGE, "more than %d letters", X_MAX);
        }
    return true;
}

/* Rows with one input partial and the other replicated. */
static void add_linear(const Equation *equation, StrategyRows *rows)
{
    for (ReduceOp reduce = REDUCE_SUM; reduce <= REDUCE_AVG; reduce++)
        for (int i = 0; i < equation->n_inputs; i++) {
            StrategyCell *row = strategy_row(rows);
            row[0] = *row_input(rows, row, equation->addend + i) = cell_partial(reduce);
        }
}

/* The addend is sharded like the output, in the dims that it has. */
static void add_addend(const StrategyCall *call, const Equation *equation, StrategyRows *rows)
{
    const Shape *shape = strategy_shape_of(call, 0);
    int64_t shift = (int64_t)equation->output.n - shape->n_dims;
    for (int r = 0; r < rows->row.n; r++) {
        StrategyCell *row = rows->row.at[r], *addend = row_input(rows, row, 0);
        *addend = row[0];
        if (row[0].kind != CELL_ANY_SHARD)
            continue;
        int64_t dim = row[0].placement.dim - shift;
        *addend = dim < 0 || shape->dim[dim] == 1 ? (StrategyCell){0} : cell_shard(dim);
    }
}

/* data: the equation. */
static bool product(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows, Error *err)
{
    Equation equation;
    OpSpace *space;
    if (!read_equation(str_from(op->data), &equation, err) ||
        !strategy_need(call, equation.n_inputs + equation.addend, err) ||
        !equation_space(call, &equation, &space, err))
        return false;
    strategy_rows_begin(call, 1, rows);
    strategy_rows_of_space(space, rows);
    add_linear(&equation, rows);
    if (equation.addend)
        add_addend(call, &equation, rows);
    return true;
}

/* Answers an equation for the given inputs without moving them. */
static bool einsum(const Strategies *strategies, const StrategyCall *call, const StrategyOp *op,
                   StrategyAnswer *out, Error *err)
{
    (void)strategies, (void)op;
    const Attr *attr = op_attr(call->graph, call->graph_op, "equation");
    Equation equation;
    OpSpace *space;
    if (!attr || attr->type != ATTR_STRING)
        return error_set(err, "einsum needs an equation");
    if (!read_equation(attr->s, &equation, err) ||
        !strategy_need(call, equation.n_inputs + equation.addend, err) ||
        !equation_space(call, &equation, &space, err))
        return false;
    StrategyRows rows = {.uneven = true, .out = -1};
    strategy_rows_begin(call, 1, &rows);
    strategy_rows_of_space(space, &rows);
    if (strategy_int(call, "linearity", 0))
        strategy_rows_pass(&rows, 1u << REDUCE_SUM);
    StrategyCall still = *call;
    still.no_redistribute = true;
    still.profile = STRATEGY_VESCALE;
    return strategy_choose(call, &rows, false, out, err) && strategy_permit(&still, out, err);
}

/* ---- attention ---- */

/* data: the number of outputs, then a letter for each input: `s` if sharded by batch or heads like
 * the outputs, `R` if replicated, as are all later ones. */
static bool attention(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                      Error *err)
{
    if (!strategy_need(call, 3, err))
        return false;
    strategy_rows_begin(call, op->data[0] - '0', rows);
    const char *letters = op->data + 1;
    for (int dim = 1; dim >= 0; dim--) {
        StrategyCell *row = strategy_row(rows);
        for (int i = 0; i < rows->n_outputs; i++)
            row[i] = cell_shard(dim);
        for (int i = 0; i < rows->n_inputs && letters[i]; i++)
            if (letters[i] == 's')
                *row_input(rows, row, i) = cell_shard(dim);
        if (!strategy_int(call, "compute_log_sumexp", 1) && rows->n_outputs > 1)
            row[1] = (StrategyCell){0};
        if (rows->n_outputs == 4 && !strategy_has_input(call, 4))
            row[3] = cell_none();
    }
    return true;
}

/* ---- matmuls of experts, scaled matmuls ---- */

/* The kernel reads 128 bits at once: rows of a rank's part must begin at multiples of that. */
static bool is_aligned(const StrategyCall *call, int input, const Placement *placements)
{
    static const int order[MESH_AXES_MAX] = {0, 1, 2, 3, 4, 5, 6, 7};
    const StrategyTensor *tensor = &call->input[input];
    int last = (int)tensor->shape.n_dims - 1;
    Runs runs;
    if (!placements_runs(call->arena, placements, order, call->mesh, last, tensor->shape.dim[last],
                         0, &runs, NULL))
        return false;
    return runs.local_size * dtype_bits(tensor->dtype) % 128 == 0;
}

static bool both_aligned(const StrategyCall *call, const StrategyRows *rows,
                         const Placement *const *inputs)
{
    (void)rows;
    return is_aligned(call, 0, inputs[0]) && is_aligned(call, 1, inputs[1]);
}

static bool grouped(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows, Error *err)
{
    (void)op;
    static const char *const texts[2][2] = {
        {"R,s(1)->s(2); s(0),R->s(1)", "R,s(2)->s(1); s(1),s(1)->P(sum)"},
        {"s(2),s(0)->P(sum); s(1),R->s(0)",
         "R,s(2)->s(2); s(1),R->s(1); s(2),s(1)->P(sum); s(0),s(0)->s(0)"}};
    if (!strategy_need(call, 2, err))
        return false;
    int64_t a = strategy_shape_of(call, 0)->n_dims, b = strategy_shape_of(call, 1)->n_dims;
    if (a < 2 || a > 3 || b < 2 || b > 3)
        return error_kind(err, ERROR_RANK, "%s needs matrices or lists of matrices", call->op);
    StrategyCall two = *call;
    two.n_inputs = 2;
    strategy_rows_begin(&two, 1, rows);
    strategy_rows_text(rows, "P(sum),R->P(sum); R,P(sum)->P(sum)");
    strategy_rows_text(rows, texts[a - 2][b - 2]);
    for (int r = 0; r < rows->row.n; r++) {
        StrategyCell *row = arena_array(call->arena, StrategyCell, 1 + call->n_inputs);
        memcpy(row, rows->row.at[r], 3 * sizeof *row);
        rows->row.at[r] = row;
    }
    rows->n_inputs = call->n_inputs;
    rows->filter = both_aligned;
    return true;
}

/* A scale of one element is replicated; one of rows or columns follows its matrix. Returns false
 * for block scales whose matrix is sharded along the blocks. */
static bool scale_cell(const StrategyCall *call, int scale, const StrategyCell *matrix,
                       int contracted, StrategyCell *out)
{
    const Shape *shape = strategy_shape_of(call, scale);
    *out = (StrategyCell){0};
    if (shape_elements(shape) == 1)
        return true;
    *out = *matrix;
    if (shape->n_dims != 1)
        return true;
    *out = (StrategyCell){0};
    if (matrix->kind != CELL_ANY_SHARD)
        return true;
    *out = cell_shard(0);
    return matrix->placement.dim != contracted;
}

static bool scaled(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows, Error *err)
{
    StrategyRows all = {0};
    if (!strategy_need(call, 4, err))
        return false;
    StrategyCall two = *call;
    two.n_inputs = 2;
    if (!product(&two, op, &all, err))
        return false;
    strategy_rows_begin(call, 1, rows);
    for (int r = 0; r < all.row.n; r++) {
        const StrategyCell *from = all.row.at[r];
        StrategyCell a, b;
        if (!scale_cell(call, 2, &from[1], 1, &a) || !scale_cell(call, 3, &from[2], 0, &b))
            continue;
        StrategyCell *row = strategy_row(rows);
        memcpy(row, from, 3 * sizeof *row);
        row[3] = a;
        row[4] = b;
    }
    return true;
}

const StrategyOp ops_matmul[] = {
    {"mm _foreach_mm", product, "mk,kn->mn", NULL, 0, NULL},
    {"bmm", product, "bmk,bkn->bmn", NULL, 0, NULL},
    {"dot", product, "i,i->", NULL, 0, NULL},
    {"addmm", product, "+mk,kn->mn", NULL, 0, NULL},
    {"baddbmm", product, "+bmk,bkn->bmn", NULL, 0, NULL},
    {"einsum", NULL, NULL, NULL, 0, einsum},
    {"grouped_mm _grouped_mm", grouped, NULL, NULL, 0, NULL},
    {"_scaled_mm.rows", scaled, "mk,kn->mn", NULL, 0, NULL},
    {"scaled_dot_product_attention", attention, "2ssss", NULL, 0, NULL},
    {"_scaled_dot_product_flash_attention _scaled_dot_product_efficient_attention "
     "_scaled_dot_product_cudnn_attention",
     attention, "2ssss", NULL, 0, NULL},
    {"_scaled_dot_product_flash_attention_backward", attention, "3ssssss", NULL, 0, NULL},
    {"_scaled_dot_product_cudnn_attention_backward", attention, "3ssssssRRs", NULL, 0, NULL},
    {"_scaled_dot_product_efficient_attention_backward", attention, "4sssssss", NULL, 0, NULL},
    {0},
};
