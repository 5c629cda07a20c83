/* rows_matrix.c - torch's operators on diagonals, triangles and whole matrices. */
#include "core/peers/torch_export/windows.h"

/* ---- two dims as a matrix ---- */

typedef struct {
    int64_t perm[DIMS_MAX], back[DIMS_MAX]; /* the two dims last, and where they were */
    int64_t rows, columns;
    int64_t row, column, length; /* of the diagonal: where it begins */
    ExportTerm x;                /* permuted */
} Matrix;

static void set_diagonal(Matrix *m, int64_t offset)
{
    m->row = offset < 0 ? -offset : 0;
    m->column = offset > 0 ? offset : 0;
    int64_t down = m->rows - m->row, along = m->columns - m->column;
    m->length = down < along ? down : along;
    m->length = m->length < 0 ? 0 : m->length;
}

static void set_order(Matrix *m, int rank, int64_t a, int64_t b)
{
    int n = 0;
    for (int d = 0; d < rank; d++)
        if (d != a && d != b)
            m->perm[n++] = d;
    m->perm[rank - 2] = a;
    m->perm[rank - 1] = b;
    for (int d = 0; d < rank; d++)
        m->back[m->perm[d]] = d;
}

/* Dims dim1 and dim2 of x; false with an error if they are not two of known sizes. */
static bool read_matrix(Call *c, ExportTerm x, Matrix *m)
{
    if (x.rank < 2)
        return call_fail(c, "it has %d dims", x.rank);
    int64_t a = call_axis(c, "dim1", x.rank), b = call_axis(c, "dim2", x.rank);
    ExportTerm rows = size_of(c, x, a), columns = size_of(c, x, b);
    if (a == b || rows.kind != TERM_NUMBER || columns.kind != TERM_NUMBER)
        return call_fail(c, "its rows or columns are not known");
    m->rows = rows.i;
    m->columns = columns.i;
    set_order(m, x.rank, a, b);
    bool turned = a != x.rank - 2 || b != x.rank - 1;
    m->x = turned ? transpose(c, x, m->perm) : x;
    m->x.meta = -1;
    set_diagonal(m, call_int(c, "offset"));
    return true;
}

/* ---- diagonals ---- */

/* The diagonal of the last two dims of x; `lead`: the sizes of the others. */
static ExportTerm pick_diagonal(Call *c, ExportTerm x, const Terms *lead, const Matrix *m)
{
    int64_t *places = arena_array(c->e->scratch, int64_t, m->length + 1);
    Terms flat = {0};
    for (int64_t i = 0; i < m->length; i++)
        places[i] = (m->row + i) * m->columns + m->column + i;
    for (int i = 0; i < lead->n; i++)
        add_size(c, &flat, lead->at[i]);
    add_size(c, &flat, term_int(-1));
    Attr last = attr_int(c->e, "axis", -1);
    ExportTerm in[] = {reshape(c, x, &flat), emit_ints(c->e, places, (int)m->length)};
    return emit(c, "Gather", in, 2, &last, 1);
}

static bool diagonal_of(Call *c, ExportTerm x, ExportTerm *out)
{
    Matrix m;
    Terms lead = {0};
    if (!read_matrix(c, x, &m))
        return false;
    for (int d = 0; d < x.rank - 2; d++)
        add_size(c, &lead, size_of(c, x, m.perm[d]));
    *out = pick_diagonal(c, m.x, &lead, &m);
    return true;
}

static void make_diagonal(Call *c)
{
    ExportTerm out;
    if (diagonal_of(c, call_tensor(c, "self"), &out))
        call_results(c, &out, 1);
}

static void make_trace(Call *c)
{
    ExportTerm line, x = call_tensor(c, "self");
    if (!diagonal_of(c, x, &line))
        return;
    Attr drop = attr_int(c->e, "keepdims", 0);
    bool whole = dtype_is_int((Dtype)x.dtype) || x.dtype == DT_BOOL;
    line = whole ? emit_cast(c, line, DT_I64) : line;
    ExportTerm out = emit(c, "ReduceSum", &line, 1, &drop, 1);
    call_results(c, &out, 1);
}

/* `line` [.., length] along the diagonal of matrices that are else `rest`. */
static ExportTerm on_diagonal(Call *c, const Matrix *m, ExportTerm line, ExportTerm rest)
{
    int64_t before[DIMS_MAX] = {0}, after[DIMS_MAX] = {0};
    before[line.rank - 1] = m->row;
    after[line.rank - 1] = m->rows - m->row - m->length;
    ExportTerm each = pad_dims(c, line, before, after, "constant");
    int64_t shift = m->column - m->row;
    ExportTerm rows = range(c, term_int(shift), term_int(m->rows + shift), term_int(1), DT_I64);
    ExportTerm columns = range(c, term_int(0), term_int(m->columns), term_int(1), DT_I64);
    ExportTerm in[] = {emit2(c, "Equal", unsqueeze(c, rows, 1), columns),
                       unsqueeze(c, each, line.rank), rest};
    return emit(c, "Where", in, 3, NULL, 0);
}

static void make_diagonal_scatter(Call *c)
{
    ExportTerm x = call_tensor(c, "self");
    Matrix m;
    if (!read_matrix(c, x, &m))
        return;
    ExportTerm src = emit_cast(c, call_tensor(c, "src"), (Dtype)x.dtype);
    ExportTerm out = on_diagonal(c, &m, src, m.x);
    out.rank = x.rank;
    out = transpose(c, out, m.back);
    call_results(c, &out, 1);
}

/* Matrices whose diagonal is the last dim of a tensor, else 0. */
static bool embedded(Call *c, ExportTerm x, int64_t offset, Matrix *m, ExportTerm *out)
{
    ExportTerm length = x.rank > 0 ? size_of(c, x, x.rank - 1) : no_term();
    if (length.kind != TERM_NUMBER)
        return call_fail(c, "the length of its diagonal is not known");
    m->rows = m->columns = length.i + (offset < 0 ? -offset : offset);
    set_diagonal(m, offset);
    *out = on_diagonal(c, m, x, emit_constant(c, term_int(0), (Dtype)x.dtype));
    out->rank = legal_rank(c, x.rank + 1);
    return true;
}

static void make_diag_embed(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), out;
    Matrix m;
    if (!embedded(c, x, call_int(c, "offset"), &m, &out))
        return;
    int rank = x.rank + 1;
    set_order(&m, rank, call_axis(c, "dim1", rank), call_axis(c, "dim2", rank));
    out = transpose(c, out, m.back);
    call_results(c, &out, 1);
}

/* Of a line the matrix, of a matrix the line. */
static void make_diag(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), out;
    Matrix m;
    Terms lead = {0};
    int64_t offset = call_int(c, "diagonal");
    if (x.rank == 1) {
        if (embedded(c, x, offset, &m, &out))
            call_results(c, &out, 1);
        return;
    }
    ExportTerm rows = size_of(c, x, 0), columns = size_of(c, x, 1);
    if (x.rank != 2 || rows.kind != TERM_NUMBER || columns.kind != TERM_NUMBER) {
        call_fail(c, "its rows or columns are not known");
        return;
    }
    m = (Matrix){.rows = rows.i, .columns = columns.i};
    set_diagonal(&m, offset);
    out = pick_diagonal(c, x, &lead, &m);
    call_results(c, &out, 1);
}

/* Matrices down a diagonal: each between zeros, one below the other. */
static void make_block_diag(Call *c)
{
    enum { BLOCKS_MAX = 64 };
    Terms list = {0};
    ExportTerm block[BLOCKS_MAX];
    int64_t columns[BLOCKS_MAX], all = 0, before = 0;
    call_terms(c, "tensors", &list);
    if (list.n == 0 || list.n > BLOCKS_MAX) {
        call_fail(c, "it has %d blocks", list.n);
        return;
    }
    Dtype dtype = terms_promoted(list.at, list.n);
    for (int i = 0; i < list.n; i++) {
        ExportTerm x = list.at[i];
        ExportTerm width = x.rank == 0 ? term_int(1) : size_of(c, x, x.rank - 1);
        if (width.kind != TERM_NUMBER || x.rank > 2) {
            call_fail(c, "the columns of a block are not known");
            return;
        }
        columns[i] = width.i;
        all += width.i;
        block[i] = emit_cast(c, x, dtype);
        while (block[i].rank < 2)
            block[i] = unsqueeze(c, block[i], 0);
    }
    for (int i = 0; i < list.n; before += columns[i++])
        block[i] = pad_dims(c, block[i], (int64_t[]){0, before},
                            (int64_t[]){0, all - before - columns[i]}, "constant");
    ExportTerm out = concat(c, block, list.n, 0);
    call_results(c, &out, 1);
}

/* The places of a triangle, row by row: [2, n]. */
static void make_triangle(Call *c)
{
    int64_t rows = call_int(c, "row"), columns = call_int(c, "col"), offset = call_int(c, "offset");
    bool lower = str_starts(c->op, STR("tril"));
    if (rows < 0 || columns < 0 || (rows > 0 && columns > (1 << 22) / rows)) {
        call_fail(c, "it has too many places");
        return;
    }
    int64_t *places = arena_array(c->e->scratch, int64_t, 2 * rows * columns + 1), n = 0;
    for (int half = 0; half < 2; half++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t k = 0; k < columns; k++)
                if (lower ? k - i <= offset : k - i >= offset)
                    places[n++] = half ? k : i;
    Terms sizes = {0};
    add_size(c, &sizes, term_int(2));
    add_size(c, &sizes, term_int(n / 2));
    ExportTerm out = reshape(c, emit_ints(c->e, places, (int)n), &sizes);
    call_results(c, &out, 1);
}

/* ---- turns ---- */

static ExportTerm flip(Call *c, ExportTerm x, const int64_t *dims, int n)
{
    Attr attr = attr_ints(c->e, "axes", dims, n);
    return emit(c, "Flip", &x, 1, &attr, 1);
}

/* By quarters from the first dim to the second. */
static void make_rot90(Call *c)
{
    int64_t dims[2], turns = call_int(c, "k") % 4;
    ExportTerm x = call_tensor(c, "self"), out = x;
    if (!call_given(c, "dims")) {
        dims[0] = 0;
        dims[1] = 1;
    } else if (call_ints(c, "dims", dims, 2) != 2) {
        call_fail(c, "it turns in another plane");
        return;
    }
    for (int i = 0; i < 2; i++)
        dims[i] += dims[i] < 0 ? x.rank : 0;
    turns += turns < 0 ? 4 : 0;
    if (turns == 2)
        out = flip(c, x, dims, 2);
    else if (turns != 0)
        out = swap_dims(c, flip(c, x, &dims[turns == 1], 1), dims[0], dims[1]);
    call_results(c, &out, 1);
}

static void make_flip_one(Call *c)
{
    int64_t dim = str_eq(c->op, STR("fliplr"));
    ExportTerm out = flip(c, call_tensor(c, "self"), &dim, 1);
    call_results(c, &out, 1);
}

/* ---- products ---- */

static ExportTerm rolled(Call *c, ExportTerm x, int64_t dim, int64_t by)
{
    Attr attrs[] = {attr_ints(c->e, "shifts", &by, 1), attr_ints(c->e, "axes", &dim, 1)};
    return emit(c, "Roll", &x, 1, attrs, 2);
}

/* a x b = b turned by two times a turned by one, less the other way around. */
static void make_cross(Call *c)
{
    ExportTerm a = call_tensor(c, "self"), b = call_tensor(c, "other");
    int rank = a.rank > b.rank ? a.rank : b.rank;
    int64_t dim = call_axis(c, "dim", rank);
    int64_t at_a = dim - (rank - a.rank), at_b = dim - (rank - b.rank);
    if (at_a < 0 || at_b < 0) {
        call_fail(c, "an operand lacks the dim");
        return;
    }
    ExportTerm left = emit2(c, "Mul", rolled(c, a, at_a, -1), rolled(c, b, at_b, -2));
    ExportTerm right = emit2(c, "Mul", rolled(c, a, at_a, -2), rolled(c, b, at_b, -1));
    ExportTerm out = emit2(c, "Sub", left, right);
    call_results(c, &out, 1);
}

/* The inverse, and a zero for each matrix. */
static void make_inverse_checked(Call *c)
{
    ExportTerm x = call_tensor(c, "A");
    Terms lead = {0};
    add_sizes(c, &lead, x, 0, x.rank - 2);
    ExportTerm out[] = {emit1(c, "Inverse", x),
                        emit_filled(c, emit_sizes(c, &lead), term_int(0), DT_I32, lead.n)};
    call_results(c, out, 2);
}

/* By squaring: the n-th power of each matrix. */
static void make_matrix_power(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), out = no_term();
    int64_t n = call_int(c, "n");
    if (n == 0 || n > 1 << 20 || n < -(1 << 20)) {
        call_fail(c, "its power is %d", (int)n);
        return;
    }
    x = n < 0 ? emit1(c, "Inverse", x) : x;
    for (n = n < 0 ? -n : n; n > 0; n >>= 1) {
        if (n & 1)
            out = term_is(out) ? emit2(c, "MatMul", out, x) : x;
        if (n > 1)
            x = emit2(c, "MatMul", x, x);
    }
    call_results(c, &out, 1);
}

/* One product after the other. */
static void make_multi_dot(Call *c)
{
    Terms list = {0};
    call_terms(c, call_given(c, "tensors") ? "tensors" : "matrices", &list);
    ExportTerm out = list.n > 0 ? list.at[0] : no_term();
    for (int i = 1; i < list.n; i++)
        out = emit2(c, "MatMul", out, list.at[i]);
    call_results(c, &out, 1);
}

/* Dims (a b): those of the first outside, those of the second inside. */
static void make_kron(Call *c)
{
    ExportTerm x[2] = {call_tensor(c, "self"), call_tensor(c, "other")};
    int rank = x[0].rank > x[1].rank ? x[0].rank : x[1].rank;
    Terms apart[2] = {{0}, {0}}, together = {0};
    if (2 * rank > DIMS_MAX) {
        call_fail(c, "it has %d dims", rank);
        return;
    }
    for (int d = 0; d < rank; d++) {
        ExportTerm size[2] = {term_int(1), term_int(1)};
        for (int i = 0; i < 2; i++)
            if (d >= rank - x[i].rank)
                size[i] = size_of(c, x[i], d - (rank - x[i].rank));
        if (size[0].kind != TERM_NUMBER || size[1].kind != TERM_NUMBER) {
            call_fail(c, "a size is not known");
            return;
        }
        for (int i = 0; i < 2; i++) {
            add_size(c, &apart[i], i == 0 ? size[0] : term_int(1));
            add_size(c, &apart[i], i == 1 ? size[1] : term_int(1));
        }
        add_size(c, &together, term_int(size[0].i * size[1].i));
    }
    ExportTerm product = emit2(c, "Mul", reshape(c, x[0], &apart[0]), reshape(c, x[1], &apart[1]));
    ExportTerm out = reshape(c, product, &together);
    call_results(c, &out, 1);
}

/* [n, n], as many columns as x has. */
static ExportTerm identity_like(Call *c, ExportTerm x)
{
    ExportTerm size = size_of(c, x, x.rank - 1);
    ExportTerm line = range(c, term_int(0), size, term_int(1), DT_I64);
    return emit_cast(c, emit2(c, "Equal", unsqueeze(c, line, 1), line), (Dtype)x.dtype);
}

/* X of A X = B, or of X A = B; of a triangle of A. */
static void make_solve(Call *c)
{
    ExportTerm a = call_tensor(c, call_given(c, "A") ? "A" : "self");
    ExportTerm b = call_tensor(c, call_given(c, "B") ? "B" : "self"), whole = a;
    bool triangle = str_find(c->op, STR("triangular")) >= 0, line = b.rank == 1 || b.rank < a.rank;
    if (triangle) {
        Attr upper = attr_int(c->e, "upper", call_bool(c, "upper"));
        bool unit = call_bool(c, "unitriangular");
        int64_t diagonal = unit ? (call_bool(c, "upper") ? 1 : -1) : 0;
        ExportTerm in[] = {a, emit_scalar_int(c->e, diagonal)};
        a = emit(c, "Trilu", in, 2, &upper, 1);
        a = unit ? emit2(c, "Add", a, identity_like(c, whole)) : a;
    }
    a = call_bool(c, "transpose") ? swap_dims(c, a, a.rank - 2, a.rank - 1) : a;
    ExportTerm inverse = emit1(c, "Inverse", a);
    bool left = call_bool(c, "left");
    ExportTerm x = line && !triangle ? unsqueeze(c, b, b.rank) : b;
    ExportTerm out = left ? emit2(c, "MatMul", inverse, x) : emit2(c, "MatMul", x, inverse);
    out.rank = x.rank > a.rank ? x.rank : a.rank;
    out = line && !triangle ? squeeze(c, out, out.rank - 1) : out;
    ExportTerm results[] = {out, whole};
    call_results(c, results, 2);
}

/* The inverse of L L^T, or of U^T U, of which one factor is given; of a right side its solution. */
static void make_cholesky_use(Call *c)
{
    bool solves = call_given(c, "input2");
    ExportTerm l = call_tensor(c, solves ? "input2" : "self");
    ExportTerm turned = swap_dims(c, l, l.rank - 2, l.rank - 1);
    bool upper = call_bool(c, "upper");
    ExportTerm out =
        emit1(c, "Inverse", upper ? emit2(c, "MatMul", turned, l) : emit2(c, "MatMul", l, turned));
    out = solves ? emit2(c, "MatMul", out, call_tensor(c, "self")) : out;
    call_results(c, &out, 1);
}

/* The Taylor series of a matrix divided by 2^6, squared six times. */
static void make_matrix_exp(Call *c)
{
    enum { SQUARES = 6, TERMS = 12 };
    ExportTerm x = call_tensor(c, "self"), sum, term;
    sum = identity_like(c, x);
    x = emit2(c, "Div", x, term_number(1 << SQUARES));
    term = x;
    for (int k = 2; k <= TERMS; k++) {
        sum = emit2(c, "Add", sum, term);
        term = emit2(c, "Div", emit2(c, "MatMul", term, x), term_int(k));
    }
    for (int k = 0; k < SQUARES; k++)
        sum = emit2(c, "MatMul", sum, sum);
    call_results(c, &sum, 1);
}

#define DIAGONAL "offset=0 dim1=0 dim2=1"

const TorchRow rows_matrix[] = {
    {"diagonal diagonal_copy", "self " DIAGONAL, NULL, make_diagonal},
    {"linalg_diagonal", "self offset=0 dim1=-2 dim2=-1", NULL, make_diagonal},
    {"diagonal_scatter", "self src " DIAGONAL, NULL, make_diagonal_scatter},
    {"diag_embed", "self offset=0 dim1=-2 dim2=-1", NULL, make_diag_embed},
    {"diag", "self diagonal=0", NULL, make_diag},
    {"trace", "self offset=0 dim1=0 dim2=1", NULL, make_trace},
    {"block_diag", "tensors", NULL, make_block_diag},
    {"tril_indices triu_indices", "row col offset=0", NULL, make_triangle},
    {"rot90", "self k=1 dims=", NULL, make_rot90},
    {"fliplr flipud", "self", NULL, make_flip_one},
    {"linalg_cross", "self other dim=-1", NULL, make_cross},
    {"linalg_inv", "A", "Inverse(A)", NULL},
    {"inverse", "self", "Inverse(self)", NULL},
    {"linalg_inv_ex", "A check_errors=False", NULL, make_inverse_checked},
    {"linalg_det", "A", "Det(A)", NULL},
    {"det", "self", "Det(self)", NULL},
    {"matrix_power linalg_matrix_power", "self n", NULL, make_matrix_power},
    {"linalg_multi_dot", "tensors", NULL, make_multi_dot},
    {"chain_matmul", "matrices", NULL, make_multi_dot},
    {"logdet", "self", "Log(Det(self))", NULL},
    {"linalg_slogdet", "A", "Sign(Det(A)) | Log(Abs(Det(A)))", NULL},
    {"slogdet", "self", "Sign(Det(self)) | Log(Abs(Det(self)))", NULL},
    {"linalg_solve", "A B left=True", NULL, make_solve},
    {"linalg_solve_triangular", "self B upper left=True unitriangular=False", NULL, make_solve},
    {"triangular_solve", "self A upper=True transpose=False unitriangular=False left=True", NULL,
     make_solve},
    {"cholesky_inverse", "self upper=False", NULL, make_cholesky_use},
    {"cholesky_solve", "self input2 upper=False", NULL, make_cholesky_use},
    {"linalg_matrix_exp matrix_exp", "self", NULL, make_matrix_exp},
    {"addbmm", "self batch1 batch2 beta=1 alpha=1",
     "Add(scaled(self, beta), scaled(ReduceSum(MatMul(batch1, batch2), ints(0); keepdims=0), "
     "alpha))",
     NULL},
    {"kron", "self other", NULL, make_kron},
    {0},
};
