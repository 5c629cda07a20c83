#include "core/space/opspace.h"

#include <assert.h>
#include <inttypes.h>

static const int64_t arithmetic_max = INT64_C(1) << 60;

const char *reduce_name(ReduceOp reduce)
{
    static const char *const names[] = {/* ORDER REDUCE_OP */
                                        "none", "sum", "avg", "max", "min", "prod", "any", "all"};
    return names[reduce];
}

const char *role_name(IndexRole role)
{
    static const char *const names[] = {"map", "reduce", "frozen"}; /* ORDER INDEX_ROLE */
    return names[role];
}

const char *row_ends_name(RowEnds ends)
{
    static const char *const names[] = {/* ORDER ROW_ENDS */
                                        "clipped", "edges repeated", "reflected", "around"};
    return names[ends];
}

/* ---- making ---- */

OpSpace *opspace_new(Arena *arena, int n_inputs, int n_outputs)
{
    assert(n_inputs >= 0 && n_outputs >= 0 && n_inputs + n_outputs <= OPERANDS_MAX);
    OpSpace *space = arena_make(arena, OpSpace);
    space->n_inputs = n_inputs;
    space->n_outputs = n_outputs;
    space->operand = arena_array(arena, Operand, n_inputs + n_outputs);
    return space;
}

int opspace_add_index(OpSpace *space, const char *name, int64_t size, IndexRole role,
                      ReduceOp reduce)
{
    if (space->n_index == X_MAX)
        return -1;
    IndexDim *dim = &space->index[space->n_index];
    dim->name = name;
    dim->size = size;
    dim->role = role;
    dim->reduce = reduce;
    return space->n_index++;
}

int opspace_add_number(Arena *arena, OpSpace *space, int64_t size, int nth)
{
    Buf name = buf_new(arena);
    buf_printf(&name, "%" PRId64, size);
    for (int i = 0; i < nth; i++)
        buf_putc(&name, '\'');
    int index = opspace_find_index(space, buf_str(&name));
    return index >= 0 ? index : opspace_add_index(space, name.s, size, ROLE_FROZEN, REDUCE_NONE);
}

void row_whole(Row *row, int64_t size)
{
    *row = (Row){.window = size};
}

void row_one(Row *row)
{
    *row = (Row){.window = 1};
}

void row_unit(Row *row, int index)
{
    *row = (Row){.window = 1};
    row->coef[index] = 1;
}

void row_radix(Row *row, const OpSpace *space, const int *index, int n)
{
    *row = (Row){.window = 1};
    int64_t stride = 1;
    for (int i = n - 1; i >= 0; i--) {
        row->coef[index[i]] = stride;
        stride *= space->index[index[i]].size;
    }
}

/* ---- arithmetic ---- */

static int64_t row_divisor(const Row *row)
{
    return row->divisor > 1 ? row->divisor : 1;
}

static int64_t divide_down(int64_t value, int64_t divisor)
{
    int64_t quotient = value / divisor;
    return quotient - (value % divisor < 0);
}

static int64_t divide_up(int64_t value, int64_t divisor)
{
    return -divide_down(-value, divisor);
}

/* An index dim as a row uses it. */
typedef struct {
    int index;
    int64_t coef, extent;
} RowTerm;

static int64_t magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

static bool less(const RowTerm *a, const RowTerm *b)
{
    if (magnitude(a->coef) != magnitude(b->coef))
        return magnitude(a->coef) < magnitude(b->coef);
    return a->extent == 1 && b->extent != 1;
}

/* The index dims a row uses, minor first: by rising coefficient; among equal ones a dim of size 1
 * first, since it does not raise the next coefficient. */
static int row_terms(const Row *row, const int64_t *extent, int n_index, RowTerm *term)
{
    int n = 0;
    for (int j = 0; j < n_index; j++) {
        if (row->coef[j] == 0)
            continue;
        RowTerm new = {j, row->coef[j], extent[j]};
        int at = n++;
        for (; at > 0 && less(&new, &term[at - 1]); at--)
            term[at] = term[at - 1];
        term[at] = new;
    }
    return n;
}

static bool box_is_empty(const Box *box)
{
    for (int j = 0; j < box->n; j++)
        if (box->lo[j] >= box->hi[j])
            return true;
    return false;
}

/* The places inside a dim of n that a row reads in place of [lo, hi), which are all before the
 * start: p is mirrored by `turn` - p, or what lies n behind it. */
static void take_inside(const Row *row, int64_t n, int64_t *lo, int64_t *hi)
{
    int64_t first = *lo, end = *hi;
    switch ((RowEnds)row->ends) {
    case ENDS_NONE:
        *hi = *lo;
        return;
    case ENDS_EDGE:
        *lo = 0, *hi = 1;
        return;
    case ENDS_REFLECT:
        *lo = 1 - end, *hi = 1 - first;
        break;
    case ENDS_WRAP:
        *lo = n + first, *hi = n + end;
        break;
    }
    if (*lo < 0 || *hi > n) /* more than once around */
        *lo = 0, *hi = n;
}

/* The interval [lo, hi) of a clipped dim of n, with what the row reads from inside for elements
 * before its start and behind its end. */
static void clip_interval(const Row *row, int64_t n, int64_t *lo, int64_t *hi)
{
    int64_t first = clamp(*lo, 0, n), end = clamp(*hi, 0, n);
    int64_t before[2] = {*lo, *hi < 0 ? *hi : 0}, behind[2] = {n - *hi, n - (*lo > n ? *lo : n)};
    bool inside = first < end;
    for (int side = 0; side < 2 && row->ends != ENDS_NONE && n > 0; side++) {
        int64_t *at = side == 0 ? before : behind;
        if (at[0] >= at[1])
            continue;
        take_inside(row, n, &at[0], &at[1]);
        int64_t from = side == 0 ? at[0] : n - at[1], to = side == 0 ? at[1] : n - at[0];
        first = !inside || from < first ? from : first;
        end = !inside || to > end ? to : end;
        inside = true;
    }
    *lo = first;
    *hi = end;
}

/* Each term at the end of its interval that makes it least, or most: exact where signs are mixed,
 * which two opposite corners of the box are not. */
void projection_range(const Projection *projection, const Shape *shape, const Box *index, Box *out)
{
    bool empty = box_is_empty(index);
    out->n = projection->n_dims;
    for (int d = 0; d < out->n; d++) {
        const Row *row = &projection->row[d];
        int64_t lo = row->offset, hi = lo;
        for (int j = 0; j < index->n; j++) {
            int64_t at_first = row->coef[j] * index->lo[j];
            int64_t at_last = row->coef[j] * (index->hi[j] - 1);
            lo += empty || row->coef[j] > 0 ? at_first : at_last;
            hi += row->coef[j] > 0 ? at_last : at_first;
        }
        lo = divide_down(lo, row_divisor(row));
        hi = divide_down(hi, row_divisor(row));
        hi = empty ? lo : hi + row->window;
        if (projection->clip)
            clip_interval(row, shape->dim[d], &lo, &hi);
        out->lo[d] = lo;
        out->hi[d] = hi;
    }
}

/* An index dim that moves along two tensor dims at once covers only their diagonal. */
static bool has_diagonal(const Projection *projection, const int64_t *extent, int n_index)
{
    for (int j = 0; j < n_index; j++) {
        int n_rows = 0;
        for (int d = 0; d < projection->n_dims; d++)
            n_rows += projection->row[d].coef[j] != 0;
        if (n_rows > 1 && extent[j] > 1)
            return true;
    }
    return false;
}

/* No step leaves a gap: each coefficient is at most what the smaller terms cover. */
static bool row_exact(const Row *row, const int64_t *extent, int n_index)
{
    RowTerm term[X_MAX];
    int n = row_terms(row, extent, n_index, term);
    int64_t cover = row->window * row_divisor(row);
    for (int i = 0; i < n; i++) {
        if (term[i].extent > 1 && magnitude(term[i].coef) > cover)
            return false;
        cover += magnitude(term[i].coef) * (term[i].extent - 1);
    }
    return true;
}

/* No step lands on a cell again: each coefficient is at least what the smaller terms span. */
static bool row_injective(const Row *row, const int64_t *extent, int n_index)
{
    RowTerm term[X_MAX];
    int n = row_terms(row, extent, n_index, term);
    int64_t span = row->window * row_divisor(row);
    for (int i = 0; i < n; i++) {
        if (term[i].extent > 1 && magnitude(term[i].coef) < span)
            return false;
        span += magnitude(term[i].coef) * (term[i].extent - 1);
    }
    return true;
}

static bool any_empty(const int64_t *extent, int n_index)
{
    for (int j = 0; j < n_index; j++)
        if (extent[j] <= 0)
            return true;
    return false;
}

bool projection_exact(const Projection *projection, const int64_t *extent, int n_index)
{
    if (any_empty(extent, n_index))
        return true;
    if (has_diagonal(projection, extent, n_index))
        return false;
    for (int d = 0; d < projection->n_dims; d++)
        if (!row_exact(&projection->row[d], extent, n_index))
            return false;
    return true;
}

bool projection_uses(const Projection *projection, int index)
{
    for (int d = 0; d < projection->n_dims; d++)
        if (projection->row[d].coef[index] != 0)
            return true;
    return false;
}

bool projection_injective(const Projection *projection, const int64_t *extent, int n_index)
{
    if (any_empty(extent, n_index))
        return true;
    for (int j = 0; j < n_index; j++)
        if (extent[j] > 1 && !projection_uses(projection, j))
            return false;
    if (has_diagonal(projection, extent, n_index))
        return false;
    for (int d = 0; d < projection->n_dims; d++)
        if (!row_injective(&projection->row[d], extent, n_index))
            return false;
    return true;
}

void projection_absorb(Projection *projection, int index, int64_t extent)
{
    assert(extent >= 1);
    for (int d = 0; d < projection->n_dims; d++) {
        Row *row = &projection->row[d];
        int64_t reach = row->coef[index] * (extent - 1);
        row->window += divide_up(magnitude(reach), row_divisor(row));
        row->offset += reach < 0 ? reach : 0;
        row->coef[index] = 0;
    }
}

int64_t row_overlap(const Row *row, int index)
{
    int64_t overlap = row->window - divide_down(magnitude(row->coef[index]), row_divisor(row));
    return overlap > 0 ? overlap : 0;
}

int64_t row_waste(const Row *row, int index)
{
    int64_t waste = divide_up(magnitude(row->coef[index]), row_divisor(row)) - row->window;
    return waste > 0 ? waste : 0;
}

int row_main_index(const OpSpace *space, const Row *row, Row *folded)
{
    int main = -1;
    for (int j = 0; j < space->n_index; j++)
        if (row->coef[j] != 0 && (main < 0 || space->index[j].role == ROLE_MAP))
            main = j;
    *folded = *row;
    for (int j = 0; j < space->n_index; j++) {
        int64_t reach = folded->coef[j] * (space->index[j].size - 1);
        if (j == main || folded->coef[j] == 0 || space->index[j].size == 0)
            continue;
        folded->window += divide_up(magnitude(reach), row_divisor(row));
        folded->offset += reach < 0 ? reach : 0;
        folded->coef[j] = 0;
    }
    return main;
}

/* ---- the factor view ---- */

static void index_extents(const OpSpace *space, int64_t *extent)
{
    for (int j = 0; j < space->n_index; j++)
        extent[j] = space->index[j].size;
}

/* Terms that step over the whole tensor select one of several clipped tensors (a split's part, a
 * concat's operand) and cut nothing of it. Takes them off the major end and gives the offset that
 * is left at the coordinates where this tensor is met. */
static int drop_selectors(const RowTerm *term, int n, int64_t size, int64_t *offset)
{
    for (; n > 0 && magnitude(term[n - 1].coef) >= size; n--) {
        const RowTerm *selector = &term[n - 1];
        if (*offset < 0 && selector->coef > 0)
            *offset += selector->coef * clamp(-*offset / selector->coef, 0, selector->extent - 1);
    }
    return n;
}

/* Several terms that are no mixed radix, as in oh*stride + kh: the dim goes with its only map
 * dim, the others widen what is read. */
static DimFactors main_term(const OpSpace *space, const RowTerm *term, int n)
{
    DimFactors factors = {0};
    for (int i = 0; i < n; i++)
        if (space->index[term[i].index].role == ROLE_MAP) {
            if (factors.n > 0 || term[i].coef < 0)
                return (DimFactors){0};
            factors.index[factors.n++] = (uint8_t)term[i].index;
        }
    return factors;
}

/* The table from rows to factors. */
static DimFactors row_factors(const OpSpace *space, const Operand *operand, int d)
{
    const Row *row = &operand->projection.row[d];
    int64_t extent[X_MAX], size = operand->shape.dim[d], offset = row->offset;
    RowTerm term[X_MAX];
    index_extents(space, extent);
    int n = row_terms(row, extent, space->n_index, term);
    if (operand->projection.clip)
        n = drop_selectors(term, n, size, &offset);
    if (n == 1 && term[0].coef < 0)
        return (DimFactors){0};
    if (row_divisor(row) > 1)
        return main_term(space, term, n);

    int64_t cover = row->window;
    DimFactors factors = {.n = (uint8_t)n};
    for (int i = 0; i < n; i++) {
        if (n > FACTORS_MAX || (n > 1 && term[i].coef != cover))
            return main_term(space, term, n);
        factors.index[n - 1 - i] = (uint8_t)term[i].index;
        cover = term[i].coef * term[i].extent;
    }
    factors.exact = offset == 0 && cover == size && (n == 0 || row->window == 1) &&
                    (n == 0 || term[0].coef == 1);
    return factors;
}

bool operand_has_index(const Operand *operand, int index)
{
    for (int d = 0; d < operand->projection.n_dims; d++)
        for (int i = 0; i < operand->factors[d].n; i++)
            if (operand->factors[d].index[i] == index)
                return true;
    return false;
}

/* ---- checks ---- */

static bool operand_present(const Operand *operand)
{
    return !operand->absent && !operand->ignored;
}

static bool is_output(const OpSpace *space, int i)
{
    return i >= space->n_inputs;
}

static bool fail_operand(const OpSpace *space, int i, int d, const char *what, Error *err)
{
    bool output = is_output(space, i);
    return error_set(err, "%s %d, dim %d: %s", output ? "output" : "input",
                     output ? i - space->n_inputs : i, d, what);
}

static bool check_index(const OpSpace *space, Error *err)
{
    for (int j = 0; j < space->n_index; j++) {
        const IndexDim *dim = &space->index[j];
        if (opspace_find_index(space, str_from(dim->name)) != j)
            return error_kind(err, ERROR_DUPLICATE, "two index dims are named '%s'", dim->name);
        if (dim->size < 0 || dim->size > arithmetic_max)
            return error_set(err, "index dim '%s' has size %" PRId64, dim->name, dim->size);
        if (dim->role == ROLE_REDUCE && dim->reduce == REDUCE_NONE)
            return error_set(err, "the reduced index dim '%s' does not say how", dim->name);
    }
    return true;
}

/* Bounds what the arithmetic above may meet. */
static bool row_is_small(const OpSpace *space, const Row *row)
{
    if (row->window < 0 || row->window > arithmetic_max / row_divisor(row) || row->divisor < 0 ||
        row->divisor > arithmetic_max || row->offset < -arithmetic_max ||
        row->offset > arithmetic_max)
        return false;
    int64_t reach = row->window;
    for (int j = 0; j < space->n_index; j++) {
        int64_t term;
        if (__builtin_mul_overflow(row->coef[j], space->index[j].size, &term) ||
            term < -arithmetic_max || term > arithmetic_max || row->coef[j] < -arithmetic_max ||
            row->coef[j] > arithmetic_max)
            return false;
        reach += magnitude(term);
        if (reach > arithmetic_max)
            return false;
    }
    return true;
}

static bool shape_is_empty(const Shape *shape)
{
    for (int d = 0; d < shape->n_dims; d++)
        if (shape->dim[d] == 0)
            return true;
    return false;
}

static Box full_index(const OpSpace *space)
{
    Box box = {.n = space->n_index};
    index_extents(space, box.hi);
    return box;
}

static bool check_rows(const OpSpace *space, int i, Error *err)
{
    const Operand *operand = &space->operand[i];
    if (operand->projection.n_dims != operand->shape.n_dims)
        return error_set(err, "%s %d has %d rows for %d dims",
                         is_output(space, i) ? "output" : "input",
                         is_output(space, i) ? i - space->n_inputs : i, operand->projection.n_dims,
                         (int)operand->shape.n_dims);
    for (int d = 0; d < operand->projection.n_dims; d++)
        if (!row_is_small(space, &operand->projection.row[d]))
            return fail_operand(space, i, d, "its row reaches too far", err);
    return true;
}

static bool check_input(const OpSpace *space, int i, Error *err)
{
    const Operand *operand = &space->operand[i];
    Box index = full_index(space), range;
    projection_range(&operand->projection, &operand->shape, &index, &range);
    for (int d = 0; d < range.n; d++)
        if (range.lo[d] < range.hi[d] && (range.lo[d] < 0 || range.hi[d] > operand->shape.dim[d]))
            return error_set(err,
                             "input %d, dim %d: %" PRId64 " to %" PRId64
                             " is read, outside its size %" PRId64,
                             i, d, range.lo[d], range.hi[d], operand->shape.dim[d]);
    return true;
}

/* Covered exactly, once per point of the index dims used. A clipped output is a part of something
 * larger, which is covered exactly and contains it. */
static bool check_output(const OpSpace *space, int i, Error *err)
{
    const Operand *operand = &space->operand[i];
    if (shape_is_empty(&operand->shape))
        return true;
    Projection whole = operand->projection;
    whole.clip = false;
    Box used = full_index(space), range;
    for (int j = 0; j < space->n_index; j++)
        if (!projection_uses(&whole, j))
            used.hi[j] = 1;

    projection_range(&whole, &operand->shape, &used, &range);
    for (int d = 0; d < range.n; d++) {
        int64_t before = -range.lo[d], after = range.hi[d] - operand->shape.dim[d];
        bool fits =
            operand->projection.clip ? before >= 0 && after >= 0 : before == 0 && after == 0;
        if (!fits)
            return fail_operand(space, i, d, "its index dims do not cover it exactly", err);
    }
    if (!projection_exact(&whole, used.hi, space->n_index) ||
        !projection_injective(&whole, used.hi, space->n_index))
        return error_set(err, "output %d is not covered once by its index dims",
                         i - space->n_inputs);
    return true;
}

/* Roles against outputs; the factors are known by now. */
static bool check_roles(const OpSpace *space, Error *err)
{
    for (int j = 0; j < space->n_index; j++) {
        const IndexDim *dim = &space->index[j];
        bool carried = space->n_outputs == 0 || dim->role != ROLE_MAP || dim->size <= 1;
        bool lacking = dim->role != ROLE_REDUCE || space->n_outputs == 0;
        for (int i = space->n_inputs; i < space->n_inputs + space->n_outputs; i++) {
            const Operand *output = &space->operand[i];
            if (!operand_present(output) || shape_is_empty(&output->shape)) {
                carried = lacking = true;
                continue;
            }
            if (!projection_uses(&output->projection, j)) {
                lacking = true;
                continue;
            }
            if (dim->role != ROLE_FROZEN && dim->size > 1 && !operand_has_index(output, j))
                return error_set(err, "output %d cannot be cut along index dim '%s': freeze it",
                                 i - space->n_inputs, dim->name);
            carried = true;
        }
        if (!carried)
            return error_set(err, "index dim '%s' is in no output: reduce or freeze it", dim->name);
        if (!lacking)
            return error_set(err, "the reduced index dim '%s' is in every output", dim->name);
    }
    return true;
}

bool opspace_finish(OpSpace *space, Error *err)
{
    if (!check_index(space, err))
        return false;
    for (int i = 0; i < space->n_inputs + space->n_outputs; i++) {
        Operand *operand = &space->operand[i];
        if (!operand_present(operand))
            continue;
        if (!check_rows(space, i, err))
            return false;
        if (!operand->projection.clip && !is_output(space, i) && !check_input(space, i, err))
            return false;
        if (is_output(space, i) && !check_output(space, i, err))
            return false;
        for (int d = 0; d < operand->projection.n_dims; d++)
            operand->factors[d] = row_factors(space, operand, d);
    }
    return check_roles(space, err);
}

/* ---- asking ---- */

int opspace_find_index(const OpSpace *space, Str name)
{
    for (int j = 0; j < space->n_index; j++)
        if (str_eq(str_from(space->index[j].name), name))
            return j;
    return -1;
}

static void format_index(const IndexDim *dim, Buf *out)
{
    bool number = dim->name[0] >= '0' && dim->name[0] <= '9';
    if (number)
        buf_printf(out, "%" PRId64, dim->size);
    else
        buf_printf(out, "%s%s", dim->name,
                   dim->role == ROLE_REDUCE   ? "+"
                   : dim->role == ROLE_FROZEN ? "^"
                                              : "");
}

/* "{2*h+r-1}", "{b:+4}", "{(o-k+1)/2}" */
static void format_affine(const OpSpace *space, const Row *row, Buf *out)
{
    buf_puts(out, row_divisor(row) > 1 ? "{(" : "{");
    const char *plus = "";
    for (int j = 0; j < space->n_index; j++) {
        int64_t coef = row->coef[j];
        if (coef == 0)
            continue;
        buf_puts(out, coef < 0 ? "-" : plus);
        if (magnitude(coef) != 1)
            buf_printf(out, "%" PRId64 "*", magnitude(coef));
        buf_puts(out, space->index[j].name);
        plus = "+";
    }
    if (row->offset != 0 || *plus == '\0')
        buf_printf(out, *plus ? "%+" PRId64 : "%" PRId64, row->offset);
    if (row_divisor(row) > 1)
        buf_printf(out, ")/%" PRId64, row->divisor);
    if (row->window != 1)
        buf_printf(out, ":+%" PRId64, row->window);
    buf_putc(out, '}');
}

void opspace_format_dim(const OpSpace *space, const Operand *operand, int d, Buf *out)
{
    const DimFactors *factors = &operand->factors[d];
    if (!factors->exact) {
        format_affine(space, &operand->projection.row[d], out);
        return;
    }
    if (factors->n == 0)
        buf_printf(out, "%" PRId64, operand->shape.dim[d]);
    if (factors->n > 1)
        buf_putc(out, '(');
    for (int i = 0; i < factors->n; i++) {
        buf_puts(out, i > 0 ? " " : "");
        format_index(&space->index[factors->index[i]], out);
    }
    if (factors->n > 1)
        buf_putc(out, ')');
}

static void format_operand(const OpSpace *space, const Operand *operand, Buf *out)
{
    if (!operand_present(operand)) {
        buf_putc(out, '?');
        return;
    }
    for (int d = 0; d < operand->projection.n_dims; d++) {
        buf_puts(out, d > 0 ? " " : "");
        opspace_format_dim(space, operand, d, out);
    }
    if (operand->no_grad_reduce == UINT16_MAX)
        buf_puts(out, " : /");
    else if (operand->no_grad_reduce)
        buf_puts(out, " :");
    for (int j = 0; operand->no_grad_reduce != UINT16_MAX && j < space->n_index; j++)
        if (operand->no_grad_reduce >> j & 1)
            buf_printf(out, " /%s", space->index[j].name);
}

void opspace_format(const OpSpace *space, Buf *out)
{
    for (int i = 0; i < space->n_inputs; i++) {
        buf_puts(out, i > 0 ? ", " : "");
        format_operand(space, &space->operand[i], out);
    }
    buf_puts(out, " -> ");
    for (int i = 0; i < space->n_outputs; i++) {
        buf_puts(out, i > 0 ? ", " : "");
        format_operand(space, opspace_output(space, i), out);
    }
    for (int j = 0; j < space->n_index; j++)
        if (space->index[j].role == ROLE_REDUCE && space->index[j].reduce != REDUCE_SUM)
            buf_printf(out, "  %s:%s", space->index[j].name, reduce_name(space->index[j].reduce));
}
